//! The columns of some entries, read for one or more queries, and computed in parts.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::align::Lengths;
use super::bound::Bound;
use super::evaluate::Rows;
use super::source::Source;
use crate::error::{Error, Result};
use crate::read::{Column, Progress, Selection};

/// Items of the largest column in a part: what is computed of them stays in the processor's cache.
const PART_ITEMS: usize = 8 << 10;

/// Columns of some entries of a source.
pub(super) struct Step<'s> {
    source: &'s Source,
    pub(super) entries: Selection,
    columns: HashMap<usize, Column>,
}

impl<'s> Step<'s> {
    /// Nothing has been read yet.
    pub(super) fn new(source: &'s Source, entries: Selection) -> Self {
        Self { source, entries, columns: HashMap::new() }
    }

    /// Reads columns that are not there yet.
    pub(super) fn read(&mut self, ids: &[usize], progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<()> {
        let mut missing = Vec::new();
        for id in ids {
            if !self.columns.contains_key(id) && !missing.contains(id) {
                missing.push(*id);
            }
        }
        let read = self.source.columns(&missing, &self.entries, progress)?;
        self.columns.extend(missing.into_iter().zip(read));
        Ok(())
    }

    /// Keeps the entries whose row is true, and what is cheaply kept of the columns.
    pub(super) fn narrow(&mut self, mask: &[bool]) -> Result<()> {
        let chosen = if mask.iter().all(|passes| *passes) {
            self.entries.clone()
        } else {
            let numbers = self.entries.ranges().flatten().zip(mask).filter(|(_, passes)| **passes);
            Selection::of_entries(numbers.map(|(entry, _)| entry))?
        };
        let mut kept = HashMap::with_capacity(self.columns.len());
        for (id, column) in self.columns.drain() {
            if let Some(column) = column.narrowed(&self.entries, &chosen)? {
                kept.insert(id, column);
            }
        }
        (self.columns, self.entries) = (kept, chosen);
        Ok(())
    }

    /// A column that was read.
    pub(super) fn column(&self, id: usize) -> Result<Column> {
        self.columns.get(&id).cloned().ok_or_else(|| Error::internal("a column of a query was not read"))
    }

    /// Computes something for parts of the rows, on all threads. There is at least one part, so that a value has a
    /// form even where there are no rows.
    pub(super) fn each_part<T: Send>(
        &self,
        needed: &[usize],
        lengths: Lengths,
        of: &[&Bound],
        compute: impl Fn(&Rows<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let columns: Vec<Option<Column>> = needed.iter().map(|id| self.columns.get(id).cloned()).collect();
        let mut places = Vec::new();
        of.iter().for_each(|of| of.columns(&mut places));
        let used = places.iter().filter_map(|&place| columns.get(place)?.as_ref());
        let parts = parts(used, self.entries.len() as usize);
        let one = |part: Range<usize>| {
            let rows = Rows {
                columns: &columns,
                rows: part,
                entries: &self.entries,
                total: self.source.entries(),
                lengths,
                frame: None,
            };
            compute(&rows)
        };
        match self.source.session().and_then(crate::Session::pool) {
            Some(pool) if parts.len() > 1 => pool.install(|| parts.into_par_iter().map(one).collect()),
            _ => parts.into_iter().map(one).collect(),
        }
    }
}

/// Rows that are computed together.
fn parts<'c>(columns: impl Iterator<Item = &'c Column>, rows: usize) -> Vec<Range<usize>> {
    let items = columns.map(|column| column.memory_bytes() / 8).max().unwrap_or(0).max(rows);
    let step = (rows * PART_ITEMS / items.max(1)).max(1);
    match rows {
        0 => vec![0..0],
        _ => (0..rows).step_by(step).map(|start| start..(start + step).min(rows)).collect(),
    }
}
