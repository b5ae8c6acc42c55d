//! Objects: a class name, bases and members, converted when they are looked at.

use std::collections::HashSet;

use bytes::Bytes;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use sapwood::{Members, Value};

use crate::buffer::Buffer;
use crate::errors::raise;

/// An object of a file.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Object(pub(crate) sapwood::Object);

/// A record by value: class name, bases, members.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Struct {
    #[pyo3(get)]
    classname: String,
    #[pyo3(get)]
    bases: Py<PyList>,
    #[pyo3(get)]
    members: Py<PyDict>,
}

#[pymethods]
impl Object {
    /// Its class.
    #[getter]
    fn classname(&self) -> &str {
        self.0.class()
    }

    /// Its number among the objects of its record: equal for the same object.
    #[getter]
    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its value: a `Struct` for records, something plain for strings and arrays.
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        convert(py, self.0.value())
    }
}

fn structure(py: Python<'_>, members: &Members<'_>) -> PyResult<Struct> {
    let bases = PyList::empty(py);
    let mut known: HashSet<&str> = members.own().map(|(name, _)| name).collect();
    for base in members.bases().iter().filter(|base| !base.class().is_empty()) {
        known.extend(base.iter().map(|(name, _)| name));
        bases.append(structure(py, base)?)?;
    }
    // A base that is a list (`TArrayD`, a vector) has no members: it gets ROOT's names for them.
    for (name, value) in members.iter().filter(|(name, _)| !known.contains(name)) {
        let inside = PyDict::new(py);
        let items = convert(py, value)?;
        if let Ok(count) = items.bind(py).len() {
            inside.set_item("fN", count)?;
        }
        inside.set_item("fArray", items)?;
        let empty = PyList::empty(py).unbind();
        bases.append(Struct { classname: name.to_owned(), bases: empty, members: inside.unbind() })?;
    }
    let own = PyDict::new(py);
    for (name, value) in members.own() {
        own.set_item(name, convert(py, value)?)?;
    }
    for (_, value) in members.array_bases() {
        // The bins of a histogram: ROOT's name for them.
        own.set_item("fArray", convert(py, value)?)?;
    }
    Ok(Struct { classname: members.class().to_owned(), bases: bases.unbind(), members: own.unbind() })
}

fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    // What is no UTF-8 survives a round trip, as file names do in Python.
    PyString::from_encoded_object(&PyBytes::new(py, bytes), Some(c"utf-8"), Some(c"surrogateescape"))
}

fn convert(py: Python<'_>, value: Value<'_>) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Int(value) => value.into_py_any(py),
        Value::Uint(value) => value.into_py_any(py),
        Value::Float(value) => value.into_py_any(py),
        Value::Text(bytes) => text(py, bytes)?.into_py_any(py),
        Value::Opaque(bytes, class) => ("opaque", &**class, PyBytes::new(py, bytes)).into_py_any(py),
        Value::Numbers(number, bytes) => {
            let buffer = Buffer(Bytes::copy_from_slice(bytes)).into_py_any(py)?;
            let array = py.import("numpy")?.call_method1("asarray", (buffer,))?;
            array.call_method1("view", (number.numpy_name(),))?.into_py_any(py)
        }
        Value::List(items) => {
            let list = PyList::empty(py);
            let is_map = items.is_map;
            for item in items.iter() {
                match item {
                    Value::Record(pair) if is_map => {
                        let both = pair.own().map(|(_, value)| convert(py, value)).collect::<PyResult<Vec<_>>>()?;
                        list.append(pyo3::types::PyTuple::new(py, both)?)?;
                    }
                    item => list.append(convert(py, item)?)?,
                }
            }
            if is_map { ("map", list).into_py_any(py) } else { list.into_py_any(py) }
        }
        Value::Record(members) => structure(py, &members)?.into_py_any(py),
        Value::Object(object) => match object.failure() {
            Some(failure) => Err(raise(sapwood::Error::unsupported(failure.to_string()))),
            None => Object(object).into_py_any(py),
        },
    }
}
