//! RNTuples: the anchor, and sets of attributes.

use std::sync::Arc;

use pyo3::prelude::*;
use sapwood::ntuple::NTuple as Engine;

use crate::errors::run;
use crate::table::Table;

/// An RNTuple.
#[pyclass(frozen, extends = Table, module = "sapwood._core")]
pub(crate) struct NTuple(Arc<Engine>);

impl NTuple {
    pub(crate) fn new(py: Python<'_>, ntuple: Arc<Engine>) -> PyResult<Py<Self>> {
        let table = Table::new(sapwood::table::Table::from(&ntuple));
        Py::new(py, PyClassInitializer::from(table).add_subclass(Self(ntuple)))
    }
}

#[pymethods]
impl NTuple {
    /// Version of the format, and the program that wrote it.
    #[getter]
    fn origin(&self) -> ([u16; 4], &str) {
        (self.0.version, &self.0.writer)
    }

    /// Members of its anchor by ROOT's names.
    #[getter]
    fn anchor(&self) -> Vec<(&'static str, u64)> {
        self.0.anchor_members()
    }

    /// Names of its sets of attributes.
    #[getter]
    fn attribute_sets(&self) -> Vec<&str> {
        self.0.attribute_sets.iter().map(|name| &**name).collect()
    }

    /// A set of attributes: an RNTuple itself.
    fn attribute_set(&self, py: Python<'_>, name: &str) -> PyResult<Py<Self>> {
        let set = run(py, || self.0.attributes(name))?;
        Self::new(py, Arc::new(set))
    }
}
