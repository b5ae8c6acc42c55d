//! The columns of some entries, read for one or more queries, and computed in parts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use rayon::prelude::*;

use super::align::Lengths;
use super::bound::Bound;
use super::evaluate::Rows;
use super::loaded::Loaded;
use super::source::Source;
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::read::{Column, Progress, Selection};

/// Memory that the columns of a step take, about, if a source is read in steps.
pub(super) const STEP_BYTES: u64 = 32 << 20;

/// Items of the largest column in a part: what is computed of them stays in the processor's cache.
const PART_ITEMS: usize = 8 << 10;

/// Columns of some entries of a source.
#[derive(Clone)]
pub(super) struct Step<'s> {
    source: &'s Source,
    pub(super) entries: Selection,
    columns: HashMap<usize, Loaded>,
    /// The first entry at the time of a look, if what else is needed was found by one.
    pub(super) looked_at: Option<u64>,
}

impl<'s> Step<'s> {
    /// Nothing has been read yet.
    pub(super) fn new(source: &'s Source, entries: Selection) -> Self {
        Self { source, entries, columns: HashMap::new(), looked_at: None }
    }

    /// Reads columns that are not there yet.
    pub(super) fn read(&mut self, ids: &[usize], progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<()> {
        let mut met = HashSet::new();
        let is_missing = |id: &usize| !self.columns.contains_key(id) && met.insert(*id);
        let missing: Vec<usize> = ids.iter().copied().filter(is_missing).collect();
        let read = self.source.columns(&missing, &self.entries, progress)?;
        self.columns.extend(missing.into_iter().zip(read));
        Ok(())
    }

    /// Whether a column was read or computed.
    pub(super) fn has(&self, id: usize) -> bool {
        self.columns.contains_key(&id)
    }

    /// Adds a column.
    pub(super) fn insert(&mut self, id: usize, loaded: Loaded) {
        self.columns.insert(id, loaded);
    }

    /// The entries whose row is true.
    pub(super) fn passing(&self, mask: &[bool]) -> Result<Selection> {
        let (mut ranges, mut row) = (Vec::new(), 0);
        for range in self.entries.ranges() {
            let end = row + (range.end - range.start) as usize;
            let passes = mask.get(row..end).ok_or_else(|| Error::internal("a mask is too short"))?;
            let mut entry = range.start;
            for run in passes.chunk_by(|a, b| a == b) {
                let next = entry + run.len() as u64;
                if run.first() == Some(&true) {
                    ranges.push(entry..next);
                }
                entry = next;
            }
            row = end;
        }
        Selection::of_ranges(ranges)
    }

    /// Keeps some of the entries, and what is cheaply kept of the columns.
    pub(super) fn narrow(&mut self, chosen: Selection) -> Result<()> {
        let mut kept = HashMap::with_capacity(self.columns.len());
        for (id, loaded) in self.columns.drain().filter(|(_, loaded)| loaded.present.is_none()) {
            if let Some(column) = loaded.column.narrowed(&self.entries, &chosen)? {
                kept.insert(id, Loaded::new(column, None));
            }
        }
        (self.columns, self.entries) = (kept, chosen);
        Ok(())
    }

    /// A column that was read.
    pub(super) fn column(&self, id: usize) -> Result<Column> {
        let loaded = self.columns.get(&id).ok_or_else(|| Error::internal("a column of a query was not read"))?;
        Ok(loaded.column.clone())
    }

    /// Computes something for parts of the rows, on all threads, and takes it in their order. There is at least one
    /// part, so that a value has a form even where there are no rows.
    ///
    /// Parts are computed a few at a time: what is taken is still in the processor's cache, and its memory is used
    /// again.
    pub(super) fn each_part<T: Send>(
        &self,
        needed: &[usize],
        lengths: Lengths,
        of: &[&Bound],
        compute: impl Fn(&Rows<'_>) -> Result<T> + Sync,
        take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let (mut places, mut followed) = (Vec::new(), Vec::new());
        of.iter().for_each(|of| of.followed(&mut followed));
        of.iter().for_each(|of| of.columns(&mut places));
        // Only those of these values: there may be thousands of others.
        let columns = places.into_iter().map(|place| (place, followed.contains(&place)));
        self.each_part_of(needed, lengths, columns, compute, take)
    }

    /// Computes something of columns by their places. Each comes with whether its pointers are followed.
    pub(super) fn each_part_of<T: Send>(
        &self,
        needed: &[usize],
        lengths: Lengths,
        of: impl IntoIterator<Item = (usize, bool)>,
        compute: impl Fn(&Rows<'_>) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        const PARTS_OF_A_THREAD: usize = 4;
        let mut columns = HashMap::new();
        for (place, follows) in of {
            if let Some(loaded) = needed.get(place).and_then(|id| self.columns.get(id)) {
                columns.insert(place, loaded.ready(follows).map_err(|error| self.source.place(error))?);
            }
        }
        let parts = parts(columns.values().map(|ready| &ready.column), self.entries.len() as usize);
        let one = |part: &Range<usize>| {
            let rows = Rows {
                columns: &columns,
                rows: part.clone(),
                picked: None,
                entries: &self.entries,
                total: self.source.entries(),
                lengths,
                frame: None,
                remembered: Rc::default(),
                shared: None,
            };
            compute(&rows)
        };
        let pool = self.source.session().and_then(crate::Session::pool).filter(|_| parts.len() > 1);
        let Some(pool) = pool else {
            return parts.iter().try_for_each(|part| {
                interrupt::check()?;
                take(one(part)?)
            });
        };
        for wave in parts.chunks(PARTS_OF_A_THREAD * pool.current_num_threads()) {
            interrupt::check()?;
            // All of them, so that the first error by rows is told, and not the first by time.
            let computed: Vec<Result<T>> = pool.install(|| wave.par_iter().map(one).collect());
            computed.into_iter().try_for_each(|one| take(one?))?;
        }
        Ok(())
    }
}

/// Rows that are computed together.
fn parts<'c>(columns: impl Iterator<Item = &'c Column>, rows: usize) -> Vec<Range<usize>> {
    let items = columns.map(|column| column.memory_bytes() / width(&column.kind)).max().unwrap_or(0).max(rows);
    let step = (rows * PART_ITEMS / items.max(1)).max(1);
    match rows {
        0 => vec![0..0],
        _ => (0..rows).step_by(step).map(|start| start..(start + step).min(rows)).collect(),
    }
}

/// Bytes of the numbers that the items of a column have, at least.
fn width(kind: &Kind) -> usize {
    match kind {
        Kind::Number { number, .. } => number.bytes(),
        Kind::List { item, .. } | Kind::Fixed { item, .. } => width(item),
        Kind::Record { .. } => kind.members().iter().map(|(_, member)| width(member)).sum::<usize>().max(1),
        Kind::Text { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } | Kind::OneOf { .. } => 8,
    }
}
