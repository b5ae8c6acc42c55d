//! Some of the rows of a place, by their positions among those that pass the filters above.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::read::Selection;

/// Steps from one row to the next from which on baskets may lie between them: only the chosen rows are read then.
const WIDE_STEP: u64 = 1_000;

/// Rows `start`, `start + step` and so on, before `stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Positions {
    pub(crate) start: u64,
    pub(crate) stop: Option<u64>,
    pub(crate) step: u64,
}

impl Positions {
    fn has(self, position: u64) -> bool {
        position >= self.start && (position - self.start).is_multiple_of(self.step) && !self.ends_before(position)
    }

    /// Whether no row from this position on is one of them.
    fn ends_before(self, position: u64) -> bool {
        self.stop.is_some_and(|stop| position >= stop)
    }

    /// Its words in descriptions.
    pub(crate) fn words(self) -> String {
        let stop = self.stop.map_or_else(|| "end".to_owned(), |stop| stop.to_string());
        match self.step {
            1 => format!("{} to {stop}", self.start),
            step => format!("{} to {stop} by {step}", self.start),
        }
    }
}

/// A range of a graph, and its rows in the entries that are read now.
#[derive(Debug)]
pub(super) struct Ranged {
    pub(super) place: usize,
    pub(super) positions: Positions,
    now: Mutex<Arc<Chosen>>,
}

/// Entries from a position on.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Entries that pass the filters above, from `start` to `stop` of the range.
    pub(super) entries: Selection,
    /// The position of the first of them.
    pub(super) first: u64,
}

impl Ranged {
    pub(super) fn new(place: usize, positions: Positions) -> Self {
        let none = Chosen { entries: Selection::none(), first: 0 };
        Self { place, positions, now: Mutex::new(Arc::new(none)) }
    }

    /// Sets its rows in the entries that are read next.
    pub(super) fn set(&self, chosen: Chosen) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(chosen);
    }

    fn now(&self) -> Arc<Chosen> {
        Arc::clone(&self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The entries of the range among some.
    pub(super) fn among(&self, entries: &Selection) -> Result<Selection> {
        let chosen = self.now();
        let Positions { start, step, .. } = self.positions;
        if step < WIDE_STEP || chosen.entries.is_empty() {
            return entries.within(&chosen.entries);
        }
        let first = (step - chosen.first.saturating_sub(start) % step) % step;
        let rows = (first..chosen.entries.len()).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        entries.within(&Selection::of_entries(rows.filter_map(|row| chosen.entries.entry(row)))?)
    }

    /// The rows of a part that are in the range, of those that are in the place above it.
    pub(super) fn picked(&self, part: &Selection, above: Option<&[usize]>) -> Vec<usize> {
        let chosen = self.now();
        let is_in = |entry: u64| {
            let row = chosen.entries.row(entry);
            row.is_some_and(|row| self.positions.has(chosen.first + row))
        };
        match above {
            None => {
                part.ranges().flatten().enumerate().filter(|(_, entry)| is_in(*entry)).map(|(row, _)| row).collect()
            }
            Some(above) => {
                let of_row = |row: &usize| part.entry(*row as u64).is_some_and(is_in);
                above.iter().copied().filter(of_row).collect()
            }
        }
    }
}
