//! One exception tree: every error is a `SapwoodError`, and also what Python calls its kind.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind};

pyo3::create_exception!(
    _core,
    SapwoodError,
    PyException,
    "Any error of the engine; `kind`, `file`, `object` and so on say where."
);

/// Turns an error into the exception that `sapwood.errors` has for its kind.
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| match build(py, &error) {
        Ok(exception) => exception,
        Err(other) => other,
    })
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let name = match error.kind() {
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Malformed | ErrorKind::Checksum => "MalformedError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Mismatch => "MismatchError",
        _ => "IOError",
    };
    let class = py.import("sapwood.errors")?.getattr(name)?;
    let value = class.call1((error.to_string(),))?;
    let place = error.place();
    value.setattr("kind", error.kind().as_str())?;
    value.setattr("file", place.file.as_deref())?;
    value.setattr("object", place.object.as_deref())?;
    value.setattr("basket", place.basket)?;
    value.setattr("offset", place.offset)?;
    value.setattr("expected", place.expected)?;
    value.setattr("found", place.found)?;
    Ok(PyErr::from_value(value))
}
