//! Steps of an iteration, for Python.

use std::ops::Range;

use pyo3::prelude::*;
use sapwood::read;

/// Entry ranges one after another.
#[derive(Clone)]
#[pyclass(module = "sapwood._core")]
pub(crate) struct Steps(pub(crate) read::Steps);

impl Steps {
    /// Steps of `entries`; `borders` are in order.
    pub(crate) fn new(entries: Range<u64>, size: u64, borders: Vec<u64>) -> Self {
        Self(read::Steps::new(entries, size, borders))
    }
}

#[pymethods]
impl Steps {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> Option<(u64, u64)> {
        self.0.next().map(|step| (step.start, step.end))
    }
}
