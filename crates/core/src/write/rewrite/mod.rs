//! Trees, RNTuples and whole files written again.

pub(crate) mod copy;
pub(crate) mod figures;
pub(crate) mod stated_types;
pub(crate) mod windows;

pub(crate) mod sort;

pub(crate) mod tree;

pub(crate) mod ntuple;

pub(crate) mod between;

pub(crate) mod whole_file;
