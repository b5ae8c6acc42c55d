//! Single entries: what will be needed is fetched ahead, and decoded by the package.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;

use crate::errors::run;
use crate::tree::Tree;

/// Reads entry by entry and learns which branches to fetch ahead.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Reader(Mutex<sapwood::read::Reader>);

#[pymethods]
impl Reader {
    /// A reader of entries as they come, or of these in this order.
    #[new]
    #[pyo3(signature = (tree, entries = None))]
    fn new(py: Python<'_>, tree: &Tree, entries: Option<Vec<u64>>) -> PyResult<Self> {
        let tree = Arc::clone(&tree.0);
        let reader = run(py, move || match entries {
            Some(entries) => tree.reader_along(entries),
            None => Ok(tree.reader()),
        })?;
        Ok(Self(Mutex::new(reader)))
    }

    /// Branches are looked at: has what will be needed fetched, and gives the entries whose values of all of them are
    /// in one basket each.
    fn touch(&self, py: Python<'_>, ids: Vec<usize>, entry: u64) -> PyResult<(u64, u64)> {
        run(py, || {
            let mut reader = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let common = reader.touch(&ids)?;
            Ok((common.start, common.end))
        })
    }
}
