//! Rows that are buffered until their cluster is full.

use crate::column::{Prim, encode_numbers, ends};
use crate::error::Result;
use crate::memory::Memory;
use crate::write::basket::raw_entries::RawEntries;
use crate::write::basket::reused_bytes::ReusedBytes;
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::class::Type;
use crate::write::model::columns::{Column, move_ends};
use crate::write::model::values::{ValueMemory, Values};
use std::ops::Range;
use std::sync::Arc;

/// Rows of one branch that are buffered until their cluster is full.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// Numbers as they are stored in baskets, or bytes of strings.
    bytes: ReusedBytes,
    /// For each level of lists, the end of each list, in items of the level below.
    levels: Vec<Vec<u64>>,
    /// Objects.
    objects: Option<Column>,
    /// The most bytes of objects that it has held.
    most_bytes: usize,
    /// Entries as opaque bytes.
    raw: RawEntries,
}

impl From<RawEntries> for RowBuffer {
    fn from(raw: RawEntries) -> Self {
        Self { raw, ..Self::default() }
    }
}

impl RowBuffer {
    /// No rows of a branch.
    pub(crate) fn of(spec: &BranchSpec) -> Self {
        let objects = match &spec.kind {
            BranchKind::Object(kind, _) => Some(Column::of(kind)),
            BranchKind::Leaves(class) => Some(Column::of(&Type::Object(Arc::clone(class)))),
            _ => None,
        };
        Self { objects, ..Self::default() }
    }

    /// Numbers as they are stored in baskets, or bytes of strings.
    pub(crate) fn stored(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// How deep its lists nest.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Entries as opaque bytes.
    pub(crate) fn raw(&self) -> &RawEntries {
        &self.raw
    }

    /// Objects, if it has any.
    pub(crate) fn objects(&self) -> Option<&Column> {
        self.objects.as_ref()
    }

    /// Objects, to append to.
    pub(crate) fn objects_mut(&mut self) -> Option<&mut Column> {
        self.objects.as_mut()
    }

    /// Sees to it that `times` as many values as there are have room: growing step by step would copy most of them, and
    /// touch twice the memory.
    pub(crate) fn reserve(&mut self, times: f64, memory: &Memory) {
        let wanted = |len: usize| (len as f64 * times) as usize;
        self.bytes.reserve(wanted(self.bytes.as_slice().len()), memory);
        self.levels.iter_mut().for_each(|ends| ends.reserve_exact(wanted(ends.len()).saturating_sub(ends.len())));
        self.objects.iter_mut().for_each(|objects| objects.reserve(times, memory));
    }

    /// Gives memory back that no row will need.
    pub(crate) fn give_back(&mut self, memory: &Memory) {
        memory.give_back_vec(self.bytes.take());
        if let Some(objects) = self.objects.take() {
            let bytes = objects.bytes_of(&(0..objects.len()));
            objects.give_back(self.most_bytes.max(bytes) as f64 / bytes.max(1) as f64, memory);
        }
    }

    /// Appends rows of checked values.
    ///
    /// # Errors
    ///
    /// What keeps the memory of another language from being copied: part of the rows was appended.
    pub(crate) fn append(&mut self, spec: &BranchSpec, values: &Values<'_>, rows: &Range<usize>) -> Result<()> {
        if let (Some(objects), Some(more)) = (&mut self.objects, values.column()) {
            objects.append(more, rows);
            return Ok(());
        }
        self.levels.resize_with(values.depth(), Vec::new);
        let mut span = rows.clone();
        for (level, known) in self.levels.iter_mut().enumerate() {
            let ends = values.ends(level);
            let (first, last) = (ends::start(ends, span.start) as u64, ends::start(ends, span.end) as u64);
            let before = ends::total(known);
            known.extend(ends[span.clone()].iter().map(|&end| before + (end as u64 - first)));
            span = first as usize..last as usize;
        }
        let width = spec.width();
        let span = span.start * width..span.end * width;
        match spec.prim() {
            Some(prim) => self.append_numbers(prim, values.memory(), span),
            None => values.memory().read(span, |bytes| self.bytes.extend_from_slice(bytes)),
        }
    }

    /// Appends numbers of a range of bytes.
    fn append_numbers(&mut self, prim: Prim, from: &ValueMemory<'_>, range: Range<usize>) -> Result<()> {
        /// Bytes that stay in the L1 cache where the memory is fresh, and filled with zeros first.
        const STEP: usize = 8 << 10;
        from.read(range, |bytes| {
            for bytes in bytes.chunks(STEP) {
                let room = self.bytes.grow(bytes.len() / prim.number().bytes() * prim.bytes());
                encode_numbers(prim, bytes, room);
            }
        })
    }

    /// Appends the lengths of lists, as integers of `width` bytes.
    pub(crate) fn append_lengths(&mut self, ends: &[i64], rows: &Range<usize>, width: usize) {
        let mut before = ends::start(ends, rows.start);
        let lengths = ends[rows.clone()].iter().map(|&end| end - std::mem::replace(&mut before, end));
        let room = self.bytes.grow(rows.len() * width);
        if width == 4 {
            room.as_chunks_mut().0.iter_mut().zip(lengths).for_each(|(to, length)| *to = (length as u32).to_be_bytes());
        } else {
            for (to, length) in room.chunks_exact_mut(width).zip(lengths) {
                to.copy_from_slice(&length.to_be_bytes()[size_of::<i64>() - width..]);
            }
        }
    }

    /// Bytes of memory of consecutive rows.
    pub(crate) fn bytes_of(&self, spec: &BranchSpec, rows: &Range<usize>) -> usize {
        if let Some(objects) = &self.objects {
            return objects.bytes_of(rows);
        }
        let (mut span, mut bytes) = (rows.clone(), 0);
        for level in 0..self.levels.len() {
            bytes += 8 * span.len();
            span = self.lists(level, &span);
        }
        bytes + span.len() * spec.width()
    }

    /// Moves everything after the first rows to an empty buffer.
    pub(crate) fn move_rest(&mut self, spec: &BranchSpec, rows: usize, into: &mut Self) {
        if let (Some(objects), Some(into)) = (&mut self.objects, &mut into.objects) {
            return objects.move_rest(rows, into);
        }
        let mut front = rows;
        into.levels.resize_with(self.levels.len(), Vec::new);
        for level in 0..self.levels.len() {
            let below = self.lists(level, &(0..front)).end;
            move_ends(&mut self.levels[level], front, &mut into.levels[level]);
            front = below;
        }
        let front = front * spec.stored_width();
        into.bytes.extend_from_slice(&self.bytes.as_slice()[front..]);
        self.bytes.truncate(front);
    }

    /// Removes everything after the first rows.
    pub(crate) fn truncate(&mut self, spec: &BranchSpec, rows: usize) {
        self.move_rest(spec, rows, &mut Self::of(spec));
    }

    /// Removes all rows, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(0);
        self.levels.iter_mut().for_each(Vec::clear);
        if let Some(objects) = &mut self.objects {
            self.most_bytes = self.most_bytes.max(objects.bytes_of(&(0..objects.len())));
            objects.clear();
        }
    }

    /// The range of items or bytes of rows.
    pub(crate) fn span(&self, rows: &Range<usize>) -> Range<usize> {
        self.lists(0, rows)
    }

    /// Where the list of each of consecutive rows ends, in items from the first.
    pub(crate) fn ends(&self, rows: &Range<usize>) -> impl ExactSizeIterator<Item = usize> {
        let ends = self.levels.first().map(Vec::as_slice).unwrap_or_default();
        let first = if rows.is_empty() { 0 } else { ends::start(ends, rows.start) };
        let ends = if rows.is_empty() { &[] } else { &ends[rows.clone()] };
        ends.iter().map(move |end| (end - first) as usize)
    }

    /// The range of items of consecutive lists of a level.
    pub(crate) fn lists(&self, level: usize, lists: &Range<usize>) -> Range<usize> {
        match self.levels.get(level) {
            Some(ends) => ends::start(ends, lists.start) as usize..ends::start(ends, lists.end) as usize,
            // A branch without lists.
            None => 0..0,
        }
    }
}
