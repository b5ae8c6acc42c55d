//! Notices of the engine while it works, which become warnings of Python once it has returned.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use sapwood::OnNotice;

/// Notices that wait. They may come from any thread; of these, one returns to Python.
static WAITING: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Frames between the function that a user called and the engine.
const STACK_LEVEL: usize = 3;

/// Receives notices.
pub(crate) fn receiver() -> OnNotice {
    Arc::new(|words: &str| WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(words.to_owned()))
}

/// Warns of all that were received.
pub(crate) fn warn(py: Python<'_>) -> PyResult<()> {
    let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    for words in waiting {
        let category = py.get_type::<PyRuntimeWarning>();
        py.import("sapwood._notices")?.call_method1("warn", (words, category, STACK_LEVEL))?;
    }
    Ok(())
}
