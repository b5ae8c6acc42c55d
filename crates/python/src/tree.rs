//! Trees: the record, and baskets as they are stored.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::run;
use crate::object::{Object, Origin};
use crate::table::Table;

/// A tree.
#[pyclass(frozen, extends = Table, module = "sapwood._core")]
pub(crate) struct Tree(pub(crate) Arc<sapwood::tree::Tree>);

impl Tree {
    pub(crate) fn new(py: Python<'_>, tree: Arc<sapwood::tree::Tree>) -> PyResult<Py<Self>> {
        let table = Table::new(sapwood::table::Table::from(&tree));
        Py::new(py, PyClassInitializer::from(table).add_subclass(Self(tree)))
    }
}

#[pymethods]
impl Tree {
    /// Cycle of the key.
    #[getter]
    fn cycle(&self) -> u16 {
        self.0.cycle
    }

    /// The record as an object.
    #[getter]
    fn object(&self) -> Object {
        let file = Arc::clone(&self.0.file().identity().name);
        let origin = Origin { file, object: Arc::from(&*self.0.name), record: None, trees: None };
        Object { object: self.0.object.clone(), place: Some(Arc::new(origin)) }
    }

    /// A basket: bytes of its entries, where each begins, and of its key nbytes, objlen, keylen, cycle, seek, parent.
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    fn basket<'py>(
        &self,
        py: Python<'py>,
        id: usize,
        number: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Vec<u32>>, Option<(u32, u32, u16, u16, u64, u64)>)> {
        let found = run(py, || sapwood::read::RawBasket::read(&self.0, id, number))?;
        let key = found.key.map(|key| (key.nbytes, key.objlen, key.keylen, key.cycle, key.seek_key, key.seek_pdir));
        Ok((PyBytes::new(py, &found.data), found.starts, key))
    }
}
