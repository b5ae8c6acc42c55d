//! Single entries: what will be needed is fetched ahead, and decoded by the package.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;

use crate::column::Column;
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
        let ids: Vec<usize> = ids.into_iter().filter_map(|id| self.engine_id(id)).collect();
        run(py, || {
            let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let common = reader.touch(&ids)?;
            Ok((common.start, common.end))
        })
    }

    /// A branch is looked at: as `touch`, with its values. Gives the entry of the first of them, too.
    fn read(&self, py: Python<'_>, id: usize, entry: u64) -> PyResult<(u64, Column)> {
        let id = self.engine_id(id);
        run(py, || {
            let id = id.ok_or_else(|| sapwood::Error::internal("a field has no number"))?;
            let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let (column, row) = reader.column_of(id)?;
            Ok((entry - row as u64, Column(column.clone())))
        })
    }
}

impl Reader {
    /// The engine's number of a branch or field.
    fn engine_id(&self, id: usize) -> Option<usize> {
        match &self.fields {
            Some(fields) => fields.get(id).copied(),
            None => Some(id),
        }
    }
}
