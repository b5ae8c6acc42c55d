//! One exception tree: every error is a `SapwoodError`, and also what Python calls its kind.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind};

pyo3::create_exception!(
    _core,
    SapwoodError,
    PyException,
    "Any error of the engine; `kind`, `file`, `object` and so on say where."
);

/// Runs the engine while other threads have Python's lock.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> sapwood::Result<T> + Send) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(raise)
}

/// A panic in the engine is a fault of its own, and an error like any other: it must not end the process.
pub(crate) fn caught<T>(work: impl FnOnce() -> sapwood::Result<T>) -> sapwood::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words");
        Err(Error::unsupported(format!("a fault in Sapwood itself ({text}): please report it")))
    })
}

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
        ErrorKind::Exists => "ExistsError",
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
