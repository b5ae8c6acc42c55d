//! Steps of an iteration: entry ranges, made when they are asked for, for a file may claim any number of entries.

use std::ops::Range;

use pyo3::prelude::*;

/// Entry ranges one after another, of so many entries; a step ends where a border is, if one fits.
#[derive(Clone)]
#[pyclass(module = "sapwood._core")]
pub(crate) struct Steps {
    left: Range<u64>,
    size: u64,
    borders: Vec<u64>,
}

impl Steps {
    /// Steps of `entries`; `borders` are in order.
    pub(crate) fn new(entries: Range<u64>, size: u64, borders: Vec<u64>) -> Self {
        Self { left: entries, size: size.max(1), borders }
    }
}

impl Iterator for Steps {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let Range { start, end: stop } = self.left;
        if start >= stop {
            return None;
        }
        let mut end = start.saturating_add(self.size).min(stop);
        if end < stop {
            let fits = self.borders.partition_point(|&border| border <= end);
            end = fits
                .checked_sub(1)
                .and_then(|at| self.borders.get(at))
                .copied()
                .filter(|&at| at > start)
                .unwrap_or(end);
        }
        self.left.start = end;
        Some(start..end)
    }
}

#[pymethods]
impl Steps {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> Option<(u64, u64)> {
        self.next().map(|step| (step.start, step.end))
    }
}
