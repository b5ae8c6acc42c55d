//! Finds the rows of ranges.
//!
//! A position depends on all rows before. So the rows of a range are found before a read: then threads need not wait
//! for each other, and entries outside of all ranges are not read.

use super::in_step::mask;
use super::looks::Phase;
use super::part::{Counted, Part};
use super::plan::Graph;
use super::range::{Chosen, Positions};
use super::run::entries_of;
use crate::error::{Error, Result};
use crate::query::evaluate::Rows;
use crate::query::source::Source;
use crate::query::step::Step;
use crate::query::steps::{Reads, Waits, each_step_of};
use crate::read::{Progress, Selection};

/// Entries of the first look for those of a range. Each further look takes twice the number.
const FIRST_LOOK: u64 = 100_000;

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
            ranged.set(chosen);
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
