//! Single entries: what will be needed is fetched ahead, and decoded by the package.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;

use crate::dataset::Dataset;
use crate::errors::run;

/// Reads entry by entry and learns which branches to fetch ahead.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Reader {
    reader: Mutex<sapwood::read::Reader>,
    /// Of an RNTuple: the fields by the numbers that Python has for them.
    fields: Option<Vec<usize>>,
}

#[pymethods]
impl Reader {
    /// A reader of entries as they come, or of these in this order.
    #[new]
    #[pyo3(signature = (of, entries = None))]
    fn new(py: Python<'_>, of: Dataset<'_>, entries: Option<Vec<u64>>) -> PyResult<Self> {
        let (reader, fields) = match of {
            Dataset::Tree(tree) => {
                let tree = Arc::clone(&tree.0);
                let reader = run(py, move || match entries {
                    Some(entries) => tree.reader_along(entries),
                    None => Ok(tree.reader()),
                })?;
                (reader, None)
            }
            Dataset::NTuple(ntuple) => {
                let (engine, fields) = (Arc::clone(&ntuple.engine), ntuple.named.clone());
                let reader = run(py, move || match entries {
                    Some(entries) => engine.reader_along(entries),
                    None => engine.reader(),
                })?;
                (reader, Some(fields))
            }
        };
        Ok(Self { reader: Mutex::new(reader), fields })
    }

    /// Branches are looked at: has what will be needed fetched, and gives the entries whose values of all of them are
    /// in one basket each.
    fn touch(&self, py: Python<'_>, ids: Vec<usize>, entry: u64) -> PyResult<(u64, u64)> {
        let ids = match &self.fields {
            Some(fields) => ids.into_iter().filter_map(|id| fields.get(id).copied()).collect(),
            None => ids,
        };
        run(py, || {
            let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let common = reader.touch(&ids)?;
            Ok((common.start, common.end))
        })
    }
}
