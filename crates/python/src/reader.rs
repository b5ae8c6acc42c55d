//! Single entries: what will be needed is fetched ahead, and decoded by the package.

use std::sync::Mutex;

use pyo3::prelude::*;

use crate::column::Column;
use crate::errors::run;
use crate::table::Table;

/// Reads entry by entry and learns which branches to fetch ahead.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Reader {
    reader: Mutex<sapwood::read::Reader>,
    table: Py<Table>,
}

#[pymethods]
impl Reader {
    /// A reader of entries as they come, or of these in this order.
    #[new]
    #[pyo3(signature = (of, entries = None))]
    fn new(py: Python<'_>, of: &Bound<'_, Table>, entries: Option<Vec<u64>>) -> PyResult<Self> {
        let table = &of.get().engine;
        let reader = run(py, || table.reader(entries))?;
        Ok(Self { reader: Mutex::new(reader), table: of.clone().unbind() })
    }

    /// Branches are looked at: has what will be needed fetched, and gives the entries whose values of all of them are
    /// in one basket each.
    fn touch(&self, py: Python<'_>, ids: Vec<usize>, entry: u64) -> PyResult<(u64, u64)> {
        run(py, || {
            let ids = self.table.get().ids(&ids)?;
            let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let common = reader.touch(&ids)?;
            Ok((common.start, common.end))
        })
    }

    /// A branch is looked at: as `touch`, with its values. Gives the entry of the first of them, too.
    fn read(&self, py: Python<'_>, id: usize, entry: u64) -> PyResult<(u64, Column)> {
        run(py, || {
            let id = self.table.get().id(id)?;
            let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            reader.go_to(entry)?;
            let (column, row) = reader.column_of(id)?;
            Ok((entry - row as u64, Column(column.clone())))
        })
    }
}
