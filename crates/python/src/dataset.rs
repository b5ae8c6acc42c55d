//! A tree or an RNTuple, where either will do.

use pyo3::prelude::*;

use crate::ntuple::NTuple;
use crate::tree::Tree;

/// A tree or an RNTuple.
#[derive(FromPyObject)]
pub(crate) enum Dataset<'py> {
    Tree(PyRef<'py, Tree>),
    NTuple(PyRef<'py, NTuple>),
}
