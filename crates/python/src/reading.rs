//! What reading trees and RNTuples shares: which entries are read, and how far a read is.

use std::time::{Duration, Instant};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use sapwood::read::{Column, Progress, Selection};

use crate::errors::with_python_unchanged;

/// How often a read asks whether Ctrl-C was pressed.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Entries `start..stop`, or ascending `entries`.
pub(crate) struct Wanted(Option<Vec<i64>>, u64, u64);

impl Wanted {
    pub(crate) fn new(py: Python<'_>, entries: Option<PyBuffer<i64>>, start: u64, stop: u64) -> PyResult<Self> {
        Ok(Self(entries.map(|entries| entries.to_vec(py)).transpose()?, start, stop))
    }

    pub(crate) fn selection(self) -> sapwood::Result<Selection> {
        match self.0 {
            // A negative number would be a very large one, which nothing has.
            Some(entries) => Selection::of_entries(entries.into_iter().map(|entry| entry as u64)),
            None => Selection::try_from(self.1..self.2),
        }
    }
}

/// Passes on how far a read is: bytes that are done, and those of all. Ctrl-C ends the read.
pub(crate) fn watched(progress: Option<Py<PyAny>>) -> impl FnMut(Progress) -> sapwood::Result<()> {
    let mut checked = Instant::now();
    move |now| {
        if progress.is_none() && checked.elapsed() < CHECK_EVERY {
            return Ok(());
        }
        checked = Instant::now();
        with_python_unchanged(|py| {
            if let Some(progress) = &progress {
                progress.call1(py, (now.done_bytes, now.total_bytes))?;
            }
            py.check_signals()
        })
    }
}

/// A column with objects in place of pointers; with pointers where objects point back at one another.
pub(crate) fn followed(column: Column) -> sapwood::Result<Column> {
    match column.followed() {
        Err(error) if error.kind() == sapwood::ErrorKind::Unsupported => Ok(column),
        followed => followed,
    }
}
