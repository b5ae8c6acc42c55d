//! Columns: a type as nested tuples, and buffers.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use sapwood::column::{Kind, ListOf};

use crate::arrow;
use crate::buffer::Buffer;
use crate::object::{Object, Place};

/// A column of a tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Column(pub(crate) sapwood::read::Column);

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.0.len
    }

    /// Type as nested tuples, as `sapwood._read.layout` reads them.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        kind(py, &self.0.kind)
    }

    /// A buffer by its number.
    fn buffer(&self, id: u32) -> Buffer {
        Buffer::of_answer(self.0.buffer(id))
    }

    /// Object `id` of the column's pointers; `None` for null.
    fn object(&self, id: u32) -> Option<Object> {
        let objects = self.0.objects.as_ref()?;
        sapwood::Object::of(objects, id).map(|object| Object { object, place: Place::default() })
    }

    /// Its type, for Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_of(py, &self.0.kind)
    }

    /// Its values, for Arrow; another type that is asked for is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        arrow::array_of(py, &self.0)
    }

    /// Number of objects that its pointers point to.
    #[getter]
    fn objects(&self) -> usize {
        self.0.objects.as_ref().map_or(0, |objects| objects.len())
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

/// A type as nested tuples.
pub(crate) fn kind(py: Python<'_>, of: &Kind) -> PyResult<Py<PyAny>> {
    match of {
        Kind::Number { buffer, number } => ("number", *buffer, number.numpy_name()).into_py_any(py),
        Kind::Text { offsets, bytes } => ("text", *offsets, *bytes).into_py_any(py),
        Kind::Opaque { offsets, bytes, class } => ("opaque", *offsets, *bytes, &**class).into_py_any(py),
        Kind::List { offsets, of, item } => {
            let means = match of {
                ListOf::Sequence => "sequence",
                ListOf::Set => "set",
                ListOf::Map => "map",
            };
            ("list", *offsets, means, kind(py, item)?).into_py_any(py)
        }
        Kind::Fixed { len, item } => ("fixed", *len, kind(py, item)?).into_py_any(py),
        Kind::Record { class, fields } => {
            let list = PyList::empty(py);
            for field in fields {
                list.append((&*field.name, field.base, kind(py, &field.kind)?))?;
            }
            ("record", &**class, list).into_py_any(py)
        }
        Kind::Pointer { buffer, class } => ("pointer", *buffer, &**class).into_py_any(py),
        Kind::OneOf { tags, of } => {
            let of = of.iter().map(|one| kind(py, one)).collect::<PyResult<Vec<_>>>()?;
            ("oneof", *tags, of).into_py_any(py)
        }
    }
}
