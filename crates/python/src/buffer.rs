//! Memory of an answer, for NumPy: no copy.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Bytes that NumPy can look at: `numpy.asarray(buffer)` gives `uint8` without a copy.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Buffer {
    bytes: Bytes,
    read_only: bool,
}

impl Buffer {
    /// Memory of a column: made for one answer, and writable, because nothing else uses it.
    pub(crate) fn of_answer(bytes: Bytes) -> Self {
        Self { bytes, read_only: false }
    }

    /// Memory of an object, which all holders of the object share.
    pub(crate) fn of_object(bytes: Bytes) -> Self {
        Self { bytes, read_only: true }
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        about.set_item("version", 3)?;
        about.set_item("shape", (self.bytes.len(),))?;
        about.set_item("typestr", "|u1")?;
        // Address and read-only mark: NumPy keeps this object alive as long as it looks.
        about.set_item("data", (self.bytes.as_ptr() as usize, self.read_only))?;
        Ok(about)
    }
}
