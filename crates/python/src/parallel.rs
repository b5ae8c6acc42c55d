//! Trees that many threads fill.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::prelude::*;

use crate::errors::raise;
use crate::tree::Tree;
use crate::tree_writer::{TreeWriter, closed, locked};

/// A tree that many threads fill.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct ParallelWriter(RwLock<Option<sapwood::write::ParallelWriter>>);

/// Brings numbered units of work.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct NumberedContext(Mutex<Option<sapwood::write::NumberedContext>>);

impl From<sapwood::write::ParallelWriter> for ParallelWriter {
    fn from(writer: sapwood::write::ParallelWriter) -> Self {
        Self(RwLock::new(Some(writer)))
    }
}

impl ParallelWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&sapwood::write::ParallelWriter) -> T + Send,
    ) -> PyResult<T> {
        py.detach(|| self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work))
            .ok_or_else(|| closed("the tree is closed"))
    }
}

#[pymethods]
impl ParallelWriter {
    /// A writer for one thread.
    fn context(&self, py: Python<'_>) -> PyResult<TreeWriter> {
        self.with(py, |writer| writer.context().into())
    }

    /// Brings numbered units of work.
    fn numbered(&self, py: Python<'_>) -> PyResult<NumberedContext> {
        self.with(py, |writer| NumberedContext(Mutex::new(Some(writer.numbered()))))
    }

    /// Entries that are part of the tree by now.
    fn entries(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |writer| writer.entries())?.map_err(raise)
    }

    /// Makes what is committed visible to every reader; gives the entries of the tree.
    fn save(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |writer| writer.save())?.map_err(raise)
    }

    /// Takes all entries of a finished tree as they are; gives their number.
    fn adopt(&self, py: Python<'_>, tree: &Tree, ignore_rest: bool) -> PyResult<u64> {
        let tree = Arc::clone(&tree.0);
        let adopt = |writer: &sapwood::write::ParallelWriter| {
            if ignore_rest { writer.adopt_only(&tree) } else { writer.adopt(&tree) }
        };
        self.with(py, adopt)?.map_err(raise)
    }

    /// Ends the tree.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let take = || self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| take().map_or(Ok(()), sapwood::write::ParallelWriter::close)).map_err(raise)
    }
}

#[pymethods]
impl NumberedContext {
    /// Begins a unit of work.
    fn unit(&self, py: Python<'_>, number: u64) -> PyResult<TreeWriter> {
        let unit = py.detach(|| locked(&self.0).as_mut().map(|context| context.unit(number)));
        unit.ok_or_else(|| closed("the context is closed"))?.map(Into::into).map_err(raise)
    }

    /// Takes all entries of a finished tree as a unit of work; gives their number.
    fn adopt(&self, py: Python<'_>, number: u64, tree: &Tree, ignore_rest: bool) -> PyResult<u64> {
        let tree = Arc::clone(&tree.0);
        let adopt = |context: &mut sapwood::write::NumberedContext| {
            if ignore_rest { context.adopt_only(number, &tree) } else { context.adopt(number, &tree) }
        };
        let adopted = py.detach(|| locked(&self.0).as_mut().map(adopt));
        adopted.ok_or_else(|| closed("the context is closed"))?.map_err(raise)
    }

    /// Brings no more.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(locked(&self.0).take()));
    }
}
