//! Objects to be written.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use sapwood::column::Number;
use sapwood::schema::{Datum, Encoder};
use sapwood::{Error, ErrorKind};

use crate::errors::{raise, run};

/// An object to be written: a class, and members by name.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Draft(pub(crate) Arc<sapwood::schema::Draft>);

impl From<sapwood::schema::Draft> for Draft {
    fn from(draft: sapwood::schema::Draft) -> Self {
        Self(Arc::new(draft))
    }
}

#[pymethods]
impl Draft {
    /// A class and its members: numbers, text, bytes, NumPy arrays, lists, other drafts, or nothing.
    #[new]
    fn new(class: &str, members: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut draft = sapwood::schema::Draft::new(class);
        for (name, value) in members {
            let value = datum(&value, &name)?;
            draft = draft.with(name, value);
        }
        Ok(draft.into())
    }

    /// Its class.
    #[getter]
    fn classname(&self) -> &str {
        self.0.class()
    }

    /// Whether it has a member of that name.
    fn has_member(&self, name: &str) -> bool {
        self.0.member(name).is_some()
    }

    /// The same with another value of one member.
    fn replaced(&self, name: String, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut draft = sapwood::schema::Draft::clone(&self.0);
        let value = datum(value, &name)?;
        draft.set(name, value);
        Ok(draft.into())
    }

    /// The payload of a record that holds it.
    fn encoded<'py>(&self, py: Python<'py>, keylen: usize) -> PyResult<Bound<'py, PyBytes>> {
        let (payload, _) = run(py, || Encoder::record(keylen, &self.0))?;
        Ok(PyBytes::new(py, &payload))
    }

    fn __repr__(&self) -> String {
        format!("<{} to be written>", self.0.class())
    }
}

pub(crate) fn datum(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Datum> {
    if value.is_none() {
        return Ok(Datum::Null);
    }
    if let Ok(draft) = value.cast::<Draft>() {
        return Ok(Datum::Object(Arc::clone(&draft.get().0)));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Datum::from(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Datum::Int(value.extract()?));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Datum::Float(number.value()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(match value.extract::<&str>() {
            Ok(text) => Datum::from(text),
            // What was no UTF-8 when it was read.
            Err(_) => {
                let bytes = value.call_method1("encode", ("utf-8", "surrogateescape"))?;
                Datum::Bytes(bytes.extract::<Vec<u8>>()?.into())
            }
        });
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Datum::Bytes(bytes.as_bytes().into()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: Vec<Bound<'_, PyAny>> = value.extract()?;
        return items.iter().map(|item| datum(item, name)).collect::<PyResult<_>>().map(Datum::List);
    }
    if let Ok(dtype) = value.getattr("dtype") {
        // Not its name, which is computed in Python each time.
        let kind: String = dtype.getattr("kind")?.extract()?;
        let bytes: usize = dtype.getattr("itemsize")?.extract()?;
        let spelled = match &*kind {
            "b" => "bool".to_owned(),
            "i" => format!("int{}", 8 * bytes),
            "u" => format!("uint{}", 8 * bytes),
            "f" => format!("float{}", 8 * bytes),
            _ => kind,
        };
        if let Some(number) = Number::from_numpy_name(&spelled) {
            let is_native: bool = dtype.getattr("isnative")?.extract()?;
            let value = if is_native { value.clone() } else { value.call_method1("astype", (spelled,))? };
            let bytes = value.call_method0("tobytes")?;
            return Ok(Datum::Numbers(number, bytes.cast::<PyBytes>()?.as_bytes().to_vec()));
        }
    }
    let message = format!("member {name:?} cannot be a {}", value.get_type().name()?);
    Err(raise(Error::new(ErrorKind::Mismatch, message)))
}
