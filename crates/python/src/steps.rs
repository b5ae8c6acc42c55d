//! Steps of an iteration, for Python.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use sapwood::read;
use sapwood::tree::Stepping;

/// Entry ranges one after another. While it lives, reads carry over what they cut.
#[derive(Clone)]
#[pyclass(module = "sapwood._core")]
pub(crate) struct Steps {
    pub(crate) ranges: read::Steps,
    /// Of the tree, and of the friends of a query.
    stepping: Vec<Arc<Stepping>>,
}

impl Steps {
    /// Steps of `entries`; `borders` are in order.
    pub(crate) fn new(entries: Range<u64>, size: u64, borders: Vec<u64>, stepping: Stepping) -> Self {
        Self { ranges: read::Steps::new(entries, size, borders), stepping: vec![Arc::new(stepping)] }
    }

    /// Has more trees carry over what is cut.
    pub(crate) fn and(&mut self, stepping: Stepping) {
        self.stepping.push(Arc::new(stepping));
    }
}

#[pymethods]
impl Steps {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> Option<(u64, u64)> {
        self.ranges.next().map(|step| (step.start, step.end))
    }
}
