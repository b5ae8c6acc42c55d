//! Events by their numbers: entries of a tree, and files of chosen events.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sapwood::Error;
use sapwood::column::Number;
use sapwood::io::AtomicFile;
use sapwood::merge;
use sapwood::query::{EventList, Lookup, Source};
use sapwood::read::Selection;

use crate::buffer::array_of_object;
use crate::errors::{raise, run};
use crate::file::File;
use crate::sessions;
use crate::table::Table;

/// The entries of which columns have these whole numbers, as an array.
#[pyfunction]
pub(crate) fn find(py: Python<'_>, table: Py<Table>, columns: Vec<String>, numbers: Vec<i128>) -> PyResult<Py<PyAny>> {
    let engine = &table.get().engine;
    let bytes = run(py, || {
        let lookup = Lookup::new(columns.len(), [numbers])?;
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let found = lookup.find(&Source::from(engine), 0..engine.entries(), &columns)?;
        Ok(found.into_iter().flat_map(|found| (found.entry as i64).to_ne_bytes()).collect::<Vec<u8>>())
    })?;
    array_of_object(py, Number::I64, bytes)
}

/// Copies chosen events of many files into one.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Pick(Mutex<Option<merge::Pick>>);

impl Pick {
    fn held<T>(&self, work: impl FnOnce(&mut merge::Pick) -> sapwood::Result<T>) -> sapwood::Result<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(held.as_mut().ok_or_else(|| Error::mismatch("the events have been written"))?)
    }
}

#[pymethods]
impl Pick {
    /// `events` are the lines of a list, the path of a file with them, or the numbers of each event.
    #[new]
    fn new(
        events: &Bound<'_, PyAny>,
        is_path: bool,
        columns: Option<Vec<String>>,
        output: PathBuf,
        replaces: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let list = match events.extract::<String>() {
            Ok(path) if is_path => EventList::open(path),
            Ok(text) => EventList::parse(&text),
            Err(_) => EventList::new(events.extract::<Vec<Vec<i128>>>()?),
        };
        let made = || {
            let list = match &columns {
                Some(columns) => list?.with_columns(columns.iter().map(String::as_str))?,
                None => list?,
            };
            Ok(merge::Pick::new(list, AtomicFile::new(output, replaces)?, sessions::shared(threads)))
        };
        made().map(|pick| Self(Mutex::new(Some(pick)))).map_err(raise)
    }

    /// Takes the events of some ranges of entries of a tree or RNTuple; returns how many entries these are.
    fn add(&self, py: Python<'_>, file: &File, path: &str, ranges: Vec<(u64, u64)>) -> PyResult<usize> {
        let file = &file.0;
        let entries = || Selection::of_ranges(ranges.iter().map(|(start, stop)| *start..*stop));
        run(py, || self.held(|pick| pick.add(file, path, Some(entries()?))))
    }

    /// Gives up: nothing stays of it.
    fn discard(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes the output. Returns the events that were not found, those that were found more than once, and notices
    /// about columns.
    fn finish(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>, Vec<String>)> {
        run(py, || {
            let pick = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let pick = pick.ok_or_else(|| Error::mismatch("the events have been written"))?;
            let missing = pick.missing();
            let repeated = pick.repeated();
            Ok((missing, repeated, pick.finish()?.notices))
        })
    }
}
