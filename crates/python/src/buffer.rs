//! Memory of an answer, for NumPy: no copy, read-only.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Bytes that NumPy can look at: `numpy.asarray(buffer)` gives `uint8` without a copy.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Buffer(pub(crate) Bytes);

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        about.set_item("version", 3)?;
        about.set_item("shape", (self.0.len(),))?;
        about.set_item("typestr", "|u1")?;
        // Address and read-only mark: NumPy keeps this object alive as long as it looks.
        about.set_item("data", (self.0.as_ptr() as usize, true))?;
        Ok(about)
    }
}
