//! One exception tree: every error is a `SapwoodError`, and also what Python calls its kind. What Python raises below
//! the engine becomes an error of the engine on its way up, and is the cause of the exception.

use std::cell::Cell;
use std::fmt;

use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyImportError, PyIsADirectoryError, PyKeyboardInterrupt, PyNotImplementedError,
    PyPermissionError, PyTimeoutError,
};
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind, caught};

use crate::interrupt::{find_main_thread, is_main_thread, is_stopped};
use crate::notices;

/// The words of an error that stands for an interrupt in a thread of the engine, which Python did not call.
const INTERRUPTED: &str = "interrupted";

thread_local! {
    /// What has to reach the caller of this thread as it is, whatever the engine makes of it: Ctrl-C, an exit.
    static INTERRUPT: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// An exception of Python that lies beneath an error.
#[derive(Debug)]
struct Raised {
    /// Looked up when it was raised: an error is shown where Python may be no more.
    words: String,
    error: PyErr,
}

impl Raised {
    fn new(py: Python<'_>, error: PyErr) -> Self {
        let class = error.get_type(py).name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = text_of(py, &error);
        Self { words: if text.is_empty() { class } else { format!("{class}: {text}") }, error }
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Raised {}

pyo3::create_exception!(
    _core,
    SapwoodError,
    PyException,
    "Any error of the engine; `kind`, `file`, `object` and so on say where."
);

/// Runs the engine while other threads have Python's lock.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> sapwood::Result<T> + Send) -> PyResult<T> {
    find_main_thread(py);
    // Of a call that could not give it on.
    INTERRUPT.set(None);
    // Ctrl-C ends a wait for a server or for threads, which do not call Python.
    let interrupted = || match (is_stopped(), is_main_thread()) {
        (true, _) => Err(Error::new(ErrorKind::Cancelled, INTERRUPTED)),
        (false, true) => with_python_unchanged(|py| py.check_signals()),
        (false, false) => Ok(()),
    };
    let outcome = py.detach(|| sapwood::interrupt::heeding(interrupted, || caught(work)));
    match INTERRUPT.take() {
        Some(interrupt) => Err(interrupt),
        // Ctrl-C while an error was on its way goes before it, or would break what shows the error.
        None => {
            let found = outcome.map_err(|error| py.check_signals().err().unwrap_or_else(|| raise(error)))?;
            notices::warn(py)?;
            Ok(found)
        }
    }
}

/// Works with Python where the engine has none: the other way round than [`run`]. What is raised becomes an error.
pub(crate) fn with_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> sapwood::Result<T> {
    let done = Python::try_attach(|py| work(py).map_err(|error| lowered(py, error)));
    done.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "python is shutting down")))
}

/// Works with Python in the thread that called [`run`]. What is raised reaches the caller as it is.
pub(crate) fn with_python_unchanged<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> sapwood::Result<T> {
    let interrupted = |error| {
        INTERRUPT.set(Some(error));
        Error::new(ErrorKind::Cancelled, INTERRUPTED)
    };
    let done = Python::try_attach(|py| work(py).map_err(interrupted));
    done.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "python is shutting down")))
}

/// Calls a function of the user, which the engine asked for. What it raises becomes an error, and stays its cause.
pub(crate) fn with_function<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> sapwood::Result<T> {
    let lowered = |py: Python<'_>, error: PyErr| {
        if !error.is_instance_of::<PyException>(py) {
            return lowered(py, error);
        }
        if error.is_instance_of::<SapwoodError>(py) {
            return Error::mismatch(text_of(py, &error));
        }
        Error::mismatch("it raised").because(Raised::new(py, error))
    };
    let done = Python::try_attach(|py| work(py).map_err(|error| lowered(py, error)));
    done.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "python is shutting down")))
}

/// The text of an exception.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    error.value(py).str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What Python raised, as an error of the engine.
pub(crate) fn lowered(py: Python<'_>, error: PyErr) -> Error {
    if !error.is_instance_of::<PyException>(py) {
        INTERRUPT.set(Some(error));
        return Error::new(ErrorKind::Cancelled, INTERRUPTED);
    }
    let (kind, words) = if error.is_instance_of::<PyFileNotFoundError>(py) {
        (ErrorKind::NotFound, "there is no such file")
    } else if error.is_instance_of::<PyPermissionError>(py) {
        (ErrorKind::Denied, "the file system refused")
    } else if error.is_instance_of::<PyTimeoutError>(py) {
        (ErrorKind::TimedOut, "the file system did not answer in time")
    } else if error.is_instance_of::<PyIsADirectoryError>(py) {
        (ErrorKind::Mismatch, "it is a directory, and no file")
    } else if error.is_instance_of::<PyNotImplementedError>(py) || error.is_instance_of::<PyImportError>(py) {
        (ErrorKind::Unsupported, "the file system cannot do it")
    } else {
        (ErrorKind::Io, "the file system failed")
    };
    if error.is_instance_of::<SapwoodError>(py) {
        // Words of our own package, which are good as they are.
        let said = text_of(py, &error);
        let said = said.strip_prefix(kind.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&said);
        return Error::new(kind, said.to_owned());
    }
    Error::new(kind, words).because(Raised::new(py, error))
}

/// Turns an error into the exception that `sapwood.errors` has for its kind.
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| match build(py, &error) {
        Ok(exception) => exception,
        Err(other) => other,
    })
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if error.kind() == ErrorKind::Cancelled && error.message() == INTERRUPTED {
        return Ok(PyKeyboardInterrupt::new_err(()));
    }
    let name = match error.kind() {
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Malformed | ErrorKind::Checksum => "MalformedError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Exists => "ExistsError",
        ErrorKind::Expression => "ExpressionError",
        ErrorKind::Mismatch => "MismatchError",
        ErrorKind::Internal => "InternalError",
        _ => "IOError",
    };
    let class = py.import("sapwood.errors")?.getattr(name)?;
    let value = class.call1((error.to_string(),))?;
    let place = error.place();
    value.setattr("kind", error.kind().as_str())?;
    value.setattr("file", place.file.as_deref())?;
    value.setattr("object", place.object.as_deref())?;
    value.setattr("basket", place.basket)?;
    value.setattr("block", place.block)?;
    value.setattr("offset", place.offset)?;
    value.setattr("expected", place.expected)?;
    value.setattr("found", place.found)?;
    let raised = PyErr::from_value(value);
    if let Some(beneath) = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Raised>()) {
        raised.set_cause(py, Some(beneath.error.clone_ref(py)));
    }
    Ok(raised)
}
