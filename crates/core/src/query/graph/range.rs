//! Some of the rows of a place, by their positions among those that pass the filters above.
//!
//! A position depends on all rows before. So the rows of a range are found before a read: then threads need not wait
//! for each other, and what is outside of all ranges is not read.

use std::sync::{Arc, Mutex, PoisonError};

use super::in_step::mask;
use super::looks::Phase;
use super::part::{Counted, Part};
use super::plan::Graph;
use super::run::entries_of;
use crate::error::{Error, Result};
use crate::query::evaluate::Rows;
use crate::query::source::Source;
use crate::query::step::Step;
use crate::query::steps::{Reads, Waits, each_step_of};
use crate::read::{Progress, Selection};

/// Entries of the first look for those of a range. Each further look takes twice the number.
const FIRST_LOOK: u64 = 100_000;
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
struct Chosen {
    /// Entries that pass the filters above, from `start` to `stop` of the range.
    entries: Selection,
    /// The position of the first of them.
    first: u64,
}

impl Ranged {
    pub(super) fn new(place: usize, positions: Positions) -> Self {
        let none = Chosen { entries: Selection::none(), first: 0 };
        Self { place, positions, now: Mutex::new(Arc::new(none)) }
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

impl Graph {
    /// Finds the rows of each range in the entries that are read next. `met` are the rows that passed the filters above
    /// each in earlier reads: those of this one are added.
    pub(crate) fn find_ranges(
        &self,
        entries: &Selection,
        met: &mut [u64],
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<()> {
        for (ranged, met) in self.ranges.iter().zip(met) {
            let first = *met;
            let Positions { start, stop, .. } = ranged.positions;
            let above = self.places.get(ranged.place).map_or(0, |place| place.parent);
            let passing = if stop.is_some_and(|stop| first >= stop) {
                Selection::none()
            } else {
                let wanted = stop.map_or(u64::MAX, |stop| stop - first);
                self.rows_of(above, entries, wanted, progress)?
            };
            *met = first.saturating_add(passing.len());
            let skipped = start.saturating_sub(first).min(passing.len());
            let end = stop.map_or(u64::MAX, |stop| stop.saturating_sub(first)).min(passing.len());
            let chosen = Chosen { entries: passing.part(skipped..end.max(skipped)), first: first + skipped };
            *ranged.now.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(chosen);
        }
        Ok(())
    }

    /// Entries that are in a place, from the first one on: at least `wanted`, if there are enough.
    fn rows_of(
        &self,
        place: usize,
        entries: &Selection,
        wanted: u64,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Selection> {
        let may_pass = self.may_pass_down_to(place, entries)?;
        if !self.has_filter_in_range(place) {
            return self.exact_ranges(place, may_pass);
        }
        let reads = RowsOf { graph: self, place };
        let mut found = Vec::new();
        let mut count = 0;
        let mut at = 0;
        let mut look = FIRST_LOOK.max(wanted.min(may_pass.len()));
        while at < may_pass.len() && count < wanted {
            let window = may_pass.part(at..at.saturating_add(look));
            let compute = |step: &Step<'_>, take: &mut dyn FnMut(Passed) -> Result<()>| take(reads.passed(step)?);
            let mut take = |Passed(passed): Passed| {
                count += passed.len();
                found.extend(passed.ranges());
                Ok(())
            };
            each_step_of(&reads, &window, progress, &compute, &mut take)?;
            at += window.len();
            look = look.saturating_mul(2);
        }
        Selection::of_ranges(found)
    }

    /// Whether a filter lies between a place and the next range above it.
    fn has_filter_in_range(&self, place: usize) -> bool {
        let mut at = place;
        while let Some(place) = self.places.get(at).filter(|_| at > 0) {
            if place.range.is_some() {
                return false;
            }
            if place.filter.is_some() {
                return true;
            }
            at = place.parent;
        }
        false
    }

    /// The rows of a range, of entries that hold all of them.
    fn exact_ranges(&self, place: usize, entries: Selection) -> Result<Selection> {
        let range = self.places.get(place).and_then(|place| place.range);
        let Some(ranged) = range.and_then(|range| self.ranges.get(range)) else { return Ok(entries) };
        let rows = ranged.picked(&entries, None);
        Selection::of_entries(rows.into_iter().filter_map(|row| entries.entry(row as u64)))
    }
}

/// Reads what the filters down to a place need.
struct RowsOf<'g> {
    graph: &'g Graph,
    place: usize,
}

/// Entries of a step.
struct Passed(Selection);

impl Waits for Passed {
    fn bytes(&self) -> usize {
        3 * size_of::<u64>() * self.0.ranges().len()
    }
}

impl RowsOf<'_> {
    fn passed(&self, step: &Step<'_>) -> Result<Passed> {
        let Self { graph, place } = self;
        let mut step = step.clone();
        graph.call_functions(&mut step, Phase::Look)?;
        let mut all = Vec::new();
        let compute = |rows: &Rows<'_>| {
            let picked = Part::new(graph, rows, Counted::None).picked(*place)?;
            Ok(mask(picked.as_deref(), rows.rows.len()))
        };
        let take = |mask: Vec<bool>| {
            all.extend(mask);
            Ok(())
        };
        step.each_part_of(&graph.needed, graph.lengths, graph.looks.columns.iter().copied(), compute, take)?;
        Ok(Passed(entries_of(&step.entries, &all)?))
    }
}

impl Reads for RowsOf<'_> {
    fn source(&self) -> &Source {
        &self.graph.source
    }

    fn of_cuts(&self) -> Option<Vec<usize>> {
        None
    }

    fn all(&self) -> Vec<usize> {
        self.graph.ids(&self.graph.looks.columns)
    }

    fn may_pass(&self, entries: &Selection) -> Result<Selection> {
        Ok(entries.clone())
    }

    fn passing(&self, _: &mut Step<'_>) -> Result<Vec<bool>> {
        Err(Error::internal("all rows of a step are asked for"))
    }
}
