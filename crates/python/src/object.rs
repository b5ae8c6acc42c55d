//! Objects: a class name, bases and members, converted when they are looked at.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use sapwood::schema::Registry;
use sapwood::wire::Limits;
use sapwood::{Error, ErrorKind, Members, Value, caught};

use crate::buffer::array_of_object;
use crate::draft::Draft;
use crate::errors::{raise, run};

/// An object of a file.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Object {
    pub(crate) object: sapwood::Object,
    pub(crate) place: Place,
}

/// Where an object is from, where that is known.
pub(crate) type Place = Option<Arc<Origin>>;

/// The file and the key's name, for errors; and the record, from which the object can be written again.
pub(crate) struct Origin {
    pub(crate) file: Arc<str>,
    pub(crate) object: Arc<str>,
    pub(crate) record: Option<Record>,
    pub(crate) trees: Option<Trees>,
}

/// The trees among the objects of a record.
pub(crate) struct Trees {
    /// The classes of the record's objects that are trees.
    pub(crate) classes: Vec<Arc<str>>,
    /// The function of Python that opens such an object.
    pub(crate) open: Py<PyAny>,
}

/// A record as it was read.
pub(crate) struct Record {
    pub(crate) registry: Arc<Registry>,
    pub(crate) class: Arc<str>,
    pub(crate) payload: Bytes,
    pub(crate) keylen: usize,
    pub(crate) limits: Limits,
}

/// A record by value: class name, bases, members.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Struct {
    #[pyo3(get)]
    pub(crate) classname: String,
    #[pyo3(get)]
    pub(crate) bases: Py<PyList>,
    #[pyo3(get)]
    pub(crate) members: Py<PyDict>,
}

#[pymethods]
impl Struct {
    #[new]
    fn new(classname: String, bases: Py<PyList>, members: Py<PyDict>) -> Self {
        Self { classname, bases, members }
    }
}

#[pymethods]
impl Object {
    /// Its class.
    #[getter]
    fn classname(&self) -> &str {
        self.object.class()
    }

    /// Its number among the objects of its record: equal for the same object.
    #[getter]
    fn id(&self) -> u32 {
        self.object.id()
    }

    /// Name of the file that it is from, where that is known.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.place.as_ref().map(|origin| &*origin.file)
    }

    /// Its value: a `Struct` for records, something plain for strings and arrays. Objects behind its pointers wait
    /// until they are asked in turn: one that is damaged raises its own error then, and hides no other.
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(failure) = self.object.failure() {
            return Err(raise(self.placed(failure)));
        }
        let value = caught(|| Ok(self.object.value())).map_err(raise)?;
        convert(py, value, &self.place)
    }

    /// The opened tree, if the object is a tree in a record of an open file.
    fn tree(this: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let Self { object, place } = this.get();
        let Some(trees) = place.as_ref().and_then(|origin| origin.trees.as_ref()) else { return Ok(None) };
        if !trees.classes.iter().any(|class| **class == *object.class()) {
            return Ok(None);
        }
        trees.open.call1(this.py(), (this,)).map(Some)
    }

    /// The object to be written into another file, with all that it points at.
    fn draft(&self, py: Python<'_>) -> PyResult<Draft> {
        let Some(record) = self.place.as_ref().and_then(|origin| origin.record.as_ref()) else {
            let message = format!("a {} that is no object of a key cannot be written", self.object.class());
            return Err(raise(Error::new(ErrorKind::Unsupported, message)));
        };
        let Record { registry, class, payload, keylen, limits } = record;
        let id = self.object.id();
        run(py, || sapwood::schema::Draft::read_one(registry, class, payload, *keylen, limits, id)).map(Draft::from)
    }
}

impl Object {
    /// What is known of a failure, and which object it is in.
    fn placed(&self, failure: &Error) -> Error {
        let inner = failure.place();
        let mut error = Error::new(failure.kind(), failure.message().to_owned());
        if let Some(offset) = inner.offset {
            error = error.at(offset);
        }
        if let (Some(expected), Some(found)) = (inner.expected, inner.found) {
            error = error.wanted(expected, found);
        }
        if let Some(object) = &inner.object {
            error = error.in_object(object);
        }
        match self.place.as_deref() {
            Some(origin) => error.in_file(Arc::clone(&origin.file)).in_object(&origin.object),
            None => error,
        }
    }
}

fn structure(py: Python<'_>, members: &Members<'_>, place: &Place) -> PyResult<Struct> {
    let bases = PyList::empty(py);
    let mut known: HashSet<&str> = members.own().map(|(name, _)| name).collect();
    for base in members.bases().iter().filter(|base| !base.class().is_empty()) {
        known.extend(base.iter().map(|(name, _)| name));
        bases.append(structure(py, base, place)?)?;
    }
    // A base that is a list (`TArrayD`, a vector) has no members: it gets ROOT's names for them.
    for (name, value) in members.iter().filter(|(name, _)| !known.contains(name)) {
        let inside = PyDict::new(py);
        let items = convert(py, value, place)?;
        if let Ok(count) = items.bind(py).len() {
            inside.set_item("fN", count)?;
        }
        inside.set_item("fArray", items)?;
        let empty = PyList::empty(py).unbind();
        bases.append(Struct { classname: name.to_owned(), bases: empty, members: inside.unbind() })?;
    }
    let own = PyDict::new(py);
    for (name, value) in members.own() {
        own.set_item(name, convert(py, value, place)?)?;
    }
    for (_, value) in members.array_bases() {
        // The bins of a histogram: ROOT's name for them.
        own.set_item("fArray", convert(py, value, place)?)?;
    }
    Ok(Struct { classname: members.class().to_owned(), bases: bases.unbind(), members: own.unbind() })
}

fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    // What is no UTF-8 survives a round trip, as file names do in Python.
    PyString::from_encoded_object(&PyBytes::new(py, bytes), Some(c"utf-8"), Some(c"surrogateescape"))
}

fn convert(py: Python<'_>, value: Value<'_>, place: &Place) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Int(value) => value.into_py_any(py),
        Value::Uint(value) => value.into_py_any(py),
        Value::Float(value) => value.into_py_any(py),
        Value::Text(bytes) => text(py, bytes)?.into_py_any(py),
        Value::Opaque(bytes, class) => ("opaque", &**class, PyBytes::new(py, bytes)).into_py_any(py),
        Value::Numbers(number, bytes) => array_of_object(py, number, Bytes::copy_from_slice(bytes)),
        Value::List(items) => {
            let list = PyList::empty(py);
            let is_map = items.is_map;
            for item in items.iter() {
                match item {
                    Value::Record(pair) if is_map => {
                        let both =
                            pair.own().map(|(_, value)| convert(py, value, place)).collect::<PyResult<Vec<_>>>()?;
                        list.append(pyo3::types::PyTuple::new(py, both)?)?;
                    }
                    item => list.append(convert(py, item, place)?)?,
                }
            }
            if is_map { ("map", list).into_py_any(py) } else { list.into_py_any(py) }
        }
        Value::Record(members) => structure(py, &members, place)?.into_py_any(py),
        Value::Object(object) => Object { object, place: place.clone() }.into_py_any(py),
    }
}
