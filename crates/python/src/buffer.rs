//! Memory of an answer, for NumPy: no copy.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use sapwood::column::Number;

/// Memory that NumPy can look at: `numpy.asarray(buffer)` gives its numbers without a copy.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Buffer {
    bytes: Bytes,
    number: Number,
    read_only: bool,
}

impl Buffer {
    /// Memory of a column: made for one answer, and writable, because nothing else uses it.
    pub(crate) fn of_answer(bytes: Bytes) -> Self {
        Self { bytes, number: Number::U8, read_only: false }
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
        about.set_item("shape", (self.bytes.len() / self.number.bytes(),))?;
        about.set_item("typestr", typestr(self.number))?;
        // Address and read-only mark: NumPy keeps this object alive as long as it looks.
        about.set_item("data", (self.bytes.as_ptr() as usize, self.read_only))?;
        Ok(about)
    }
}

/// A NumPy array of an object's numbers, in native order: read-only, since all holders of the object share it.
pub(crate) fn array_of_object(py: Python<'_>, number: Number, bytes: impl Into<Bytes>) -> PyResult<Py<PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let as_array = AS_ARRAY.get_or_try_init(py, || py.import("numpy")?.getattr("asarray").map(Bound::unbind))?;
    as_array.call1(py, (Buffer { bytes: bytes.into(), number, read_only: true },))
}

/// NumPy's word for a type of numbers, in native order.
fn typestr(number: Number) -> &'static str {
    let (little, big) = match number {
        Number::Bool => ("|b1", "|b1"),
        Number::I8 => ("|i1", "|i1"),
        Number::U8 => ("|u1", "|u1"),
        Number::I16 => ("<i2", ">i2"),
        Number::U16 => ("<u2", ">u2"),
        Number::I32 => ("<i4", ">i4"),
        Number::U32 => ("<u4", ">u4"),
        Number::I64 => ("<i8", ">i8"),
        Number::U64 => ("<u8", ">u8"),
        Number::F32 => ("<f4", ">f4"),
        Number::F64 => ("<f8", ">f8"),
    };
    if cfg!(target_endian = "little") { little } else { big }
}
