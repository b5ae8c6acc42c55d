//! Elements of columns that wait for the end of their cluster.

use std::ops::Range;

use crate::column::BufferId;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::read::Column;
use crate::write::page::buffered::Buffered;
use crate::write::page::field::{ColumnPlan, Node, SWITCH_BYTES};

/// The elements of all columns of a cluster that is being filled, as in memory: ends of lists count from the beginning
/// of the cluster.
#[derive(Debug)]
pub(crate) struct ClusterBuffer {
    pub(crate) columns: Vec<Buffered>,
    wide: Vec<usize>,
    pub(crate) rows: u64,
    /// Where memory comes from.
    memory: Memory,
}

/// How far the columns of a buffer were filled.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    rows: u64,
    /// Of each column.
    bytes: Vec<usize>,
}

impl Mark {
    /// That of an empty buffer.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.bytes.clear();
    }
}

impl ClusterBuffer {
    pub(crate) fn new(plans: &[ColumnPlan], memory: Memory) -> Self {
        let wide: Vec<usize> = plans.iter().map(|plan| plan.wide).collect();
        let columns = plans.iter().map(|_| Buffered::default()).collect();
        Self { columns, wide, rows: 0, memory }
    }

    /// Columns that follow those that are there; no rows wait.
    pub(crate) fn add_columns(&mut self, plans: &[ColumnPlan]) {
        self.columns.extend(plans.iter().map(|_| Buffered::default()));
        self.wide.extend(plans.iter().map(|plan| plan.wide));
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Buffered::len).sum()
    }

    /// Forgets the rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Buffered::clear);
        self.rows = 0;
    }

    /// Notes how far the columns are filled.
    pub(crate) fn mark(&self, mark: &mut Mark) {
        mark.rows = self.rows;
        mark.bytes.clear();
        mark.bytes.extend(self.columns.iter().map(Buffered::len));
    }

    /// Removes what follows a mark, and gives the number of these rows.
    pub(crate) fn truncate(&mut self, mark: &Mark) -> u64 {
        let kept = mark.bytes.iter().copied().chain(std::iter::repeat(0));
        self.columns.iter_mut().zip(kept).for_each(|(column, bytes)| column.truncate(bytes));
        let rows = self.rows - mark.rows.min(self.rows);
        self.rows -= rows;
        rows
    }

    fn elements(&self, column: usize) -> u64 {
        (self.columns[column].len() / self.wide[column]) as u64
    }

    /// Adds rows of a field. `is_full` says that the cluster ends with them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where buffers are too short: check a column with
    /// [`check`](Self::check) first, so that no part of a row is added.
    pub(crate) fn append(&mut self, node: &Node, values: &Column, rows: Range<usize>, is_full: bool) -> Result<()> {
        match node {
            Node::Numbers { buffer, stored, column, .. } => {
                let wide = stored.bytes();
                self.append_bytes(*column, values, *buffer, rows.start * wide..rows.end * wide, is_full)
            }
            Node::Text { offsets, bytes, ends, chars } => {
                let items = self.append_ends(values, *offsets, *ends, self.elements(*chars), rows)?;
                self.append_bytes(*chars, values, *bytes, items, is_full)
            }
            Node::List { offsets, ends, item } => {
                let before = self.last_end(*ends);
                let items = self.append_ends(values, *offsets, *ends, before, rows)?;
                self.append(item, values, items, is_full)
            }
            Node::Optional { tags, ends, item } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                let first = before.iter().filter(|&&tag| tag as i8 >= 0).count();
                let mut end = self.last_end(*ends);
                let start = end;
                for &tag in here {
                    end += u64::from(tag as i8 >= 0);
                    self.columns[*ends].tail().extend_from_slice(&end.to_ne_bytes());
                }
                self.append(item, values, first..first + (end - start) as usize, is_full)
            }
            Node::Variant { tags, switch, items } => self.append_variant(values, *tags, *switch, items, &rows, is_full),
            Node::Fixed { len, item } => self.append(item, values, rows.start * len..rows.end * len, is_full),
            Node::Record { members } => {
                members.iter().try_for_each(|member| self.append(member, values, rows.clone(), is_full))
            }
            Node::Streamed { .. } => Err(not_streamed()),
        }
    }

    /// Adds a range of the bytes of a buffer to a column.
    fn append_bytes(
        &mut self,
        column: usize,
        values: &Column,
        buffer: BufferId,
        range: Range<usize>,
        is_full: bool,
    ) -> Result<()> {
        let bytes = values.buffer(buffer);
        if range.end > bytes.len() {
            return Err(short());
        }
        self.columns[column].append(&bytes, range, is_full);
        Ok(())
    }

    fn append_variant(
        &mut self,
        values: &Column,
        tags: BufferId,
        switch: usize,
        items: &[Node],
        rows: &Range<usize>,
        is_full: bool,
    ) -> Result<()> {
        let bytes = values.buffer(tags);
        let (before, here) = split_tags(&bytes, rows)?;
        let mut first = vec![0; items.len()];
        for &tag in before {
            if let Some(count) = first.get_mut(usize::from(tag)) {
                *count += 1;
            }
        }
        // How many values of each type the cluster has is seen from its switch column.
        let mut places = vec![0_u64; items.len()];
        for element in self.columns[switch].tail().as_chunks::<SWITCH_BYTES>().0 {
            let tag = u32::from_le_bytes([element[8], element[9], element[10], element[11]]);
            if let Some(place) = (tag as usize).checked_sub(1).and_then(|tag| places.get_mut(tag)) {
                *place += 1;
            }
        }
        let mut counts = vec![0; items.len()];
        for &tag in here {
            let (place, number) = match places.get_mut(usize::from(tag)) {
                Some(place) => {
                    *place += 1;
                    counts[usize::from(tag)] += 1;
                    (*place - 1, u32::from(tag) + 1)
                }
                None => (0, 0),
            };
            let elements = self.columns[switch].tail();
            elements.extend_from_slice(&place.to_le_bytes());
            elements.extend_from_slice(&number.to_le_bytes());
        }
        for ((item, first), count) in items.iter().zip(first).zip(counts) {
            self.append(item, values, first..first + count, is_full)?;
        }
        Ok(())
    }

    /// The last end of a column of ends.
    fn last_end(&self, column: usize) -> u64 {
        self.columns[column].last_chunk().map_or(0, |end| u64::from_ne_bytes(*end))
    }

    /// Adds ends of lists, and returns which items these have in their column.
    fn append_ends(
        &mut self,
        values: &Column,
        offsets: BufferId,
        column: usize,
        before: u64,
        rows: Range<usize>,
    ) -> Result<Range<usize>> {
        let bytes = values.buffer(offsets);
        let (first, ends) = ends_of(&bytes, &rows)?;
        let last = checked_last(first, ends)?;
        self.columns[column].append_with(8 * ends.len(), &self.memory, |room| {
            for (out, end) in room.as_chunks_mut().0.iter_mut().zip(ends) {
                *out = (before + (i64::from_ne_bytes(*end) - first) as u64).to_ne_bytes();
            }
        });
        Ok(first as usize..last as usize)
    }

    /// Checks that a column has all values of its rows, so that adding them cannot fail.
    pub(crate) fn check(node: &Node, values: &Column, rows: Range<usize>) -> Result<()> {
        let has = |buffer: BufferId, bytes: usize| {
            if values.buffer(buffer).len() < bytes { Err(short()) } else { Ok(()) }
        };
        match node {
            Node::Numbers { buffer, stored, .. } => has(*buffer, rows.end.saturating_mul(stored.bytes())),
            Node::Text { offsets, bytes, .. } => {
                let items = checked_items(values, *offsets, &rows)?;
                has(*bytes, items.end)
            }
            Node::List { offsets, item, .. } => Self::check(item, values, checked_items(values, *offsets, &rows)?),
            Node::Optional { tags, item, .. } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                if here.iter().any(|&tag| !matches!(tag as i8, -1 | 0)) {
                    return Err(Error::mismatch("a value is of a type that its field does not have"));
                }
                let count = |tags: &[u8]| tags.iter().filter(|&&tag| tag as i8 >= 0).count();
                Self::check(item, values, count(before)..count(before) + count(here))
            }
            Node::Variant { tags, items, .. } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                if here.iter().any(|&tag| tag as i8 != -1 && usize::from(tag) >= items.len()) {
                    return Err(Error::mismatch("a value is of a type that its field does not have"));
                }
                items.iter().enumerate().try_for_each(|(number, item)| {
                    let count = |tags: &[u8]| tags.iter().filter(|&&tag| usize::from(tag) == number).count();
                    Self::check(item, values, count(before)..count(before) + count(here))
                })
            }
            Node::Fixed { len, item } => {
                Self::check(item, values, rows.start.saturating_mul(*len)..rows.end.saturating_mul(*len))
            }
            Node::Record { members } => members.iter().try_for_each(|member| Self::check(member, values, rows.clone())),
            Node::Streamed { .. } => Err(not_streamed()),
        }
    }

    /// Bytes that rows of a field take in a cluster.
    pub(crate) fn bytes_of(node: &Node, values: &Column, rows: Range<usize>) -> Result<usize> {
        Ok(match node {
            Node::Numbers { stored, .. } => rows.len() * stored.bytes(),
            Node::Text { offsets, .. } => 8 * rows.len() + checked_bounds(values, *offsets, &rows)?.len(),
            Node::List { offsets, item, .. } => {
                8 * rows.len() + Self::bytes_of(item, values, checked_bounds(values, *offsets, &rows)?)?
            }
            Node::Optional { tags, item, .. } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                let count = |tags: &[u8]| tags.iter().filter(|&&tag| tag as i8 >= 0).count();
                8 * rows.len() + Self::bytes_of(item, values, count(before)..count(before) + count(here))?
            }
            Node::Variant { tags, items, .. } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                let mut sum = SWITCH_BYTES * rows.len();
                for (number, item) in items.iter().enumerate() {
                    let count = |tags: &[u8]| tags.iter().filter(|&&tag| usize::from(tag) == number).count();
                    sum += Self::bytes_of(item, values, count(before)..count(before) + count(here))?;
                }
                sum
            }
            Node::Fixed { len, item } => Self::bytes_of(item, values, rows.start * len..rows.end * len)?,
            Node::Record { members } => {
                let mut sum = 0;
                for member in members {
                    sum += Self::bytes_of(member, values, rows.clone())?;
                }
                sum
            }
            Node::Streamed { .. } => return Err(not_streamed()),
        })
    }
}

/// [`stored_values`](super::stored::stored_values) come first.
#[cold]
fn not_streamed() -> Error {
    Error::internal("values of a class are buffered before its streamer has written them")
}

#[cold]
fn short() -> Error {
    Error::mismatch("a column has fewer values than rows")
}

/// The offset before the first row, and the ends of all rows.
fn ends_of<'b>(bytes: &'b [u8], rows: &Range<usize>) -> Result<(i64, &'b [[u8; 8]])> {
    let all = bytes.as_chunks::<8>().0;
    if rows.is_empty() {
        return Ok((0, &[]));
    }
    let first = all.get(rows.start).map(|end| i64::from_ne_bytes(*end)).filter(|&first| first >= 0);
    let ends = all.get(rows.start + 1..=rows.end);
    first.zip(ends).ok_or_else(short)
}

/// The items of rows of lists.
fn checked_bounds(values: &Column, offsets: BufferId, rows: &Range<usize>) -> Result<Range<usize>> {
    let bytes = values.buffer(offsets);
    let (first, ends) = ends_of(&bytes, rows)?;
    let last = ends.last().map_or(first, |end| i64::from_ne_bytes(*end));
    if last < first {
        return Err(Error::mismatch("the offsets of lists or strings fall"));
    }
    Ok(first as usize..last as usize)
}

/// The same, once it is checked that no offset falls.
fn checked_items(values: &Column, offsets: BufferId, rows: &Range<usize>) -> Result<Range<usize>> {
    let bytes = values.buffer(offsets);
    let (first, ends) = ends_of(&bytes, rows)?;
    Ok(first as usize..checked_last(first, ends)? as usize)
}

/// The last of ends that follow `first`, once it is checked that none falls.
fn checked_last(first: i64, ends: &[[u8; 8]]) -> Result<i64> {
    let (mut last, mut falls) = (first, false);
    for end in ends {
        let end = i64::from_ne_bytes(*end);
        falls |= end < last;
        last = end;
    }
    if falls { Err(Error::mismatch("the offsets of lists or strings fall")) } else { Ok(last) }
}

/// Tags of the rows before, and of the rows.
fn split_tags<'b>(bytes: &'b [u8], rows: &Range<usize>) -> Result<(&'b [u8], &'b [u8])> {
    let here = bytes.get(rows.clone()).ok_or_else(short)?;
    Ok((&bytes[..rows.start], here))
}
