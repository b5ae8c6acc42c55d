//! Elements of columns that wait for the end of their cluster.

use std::ops::Range;

use crate::column::BufferId;
use crate::error::{Error, Result};
use crate::read::Column;
use crate::write::page::field::{ColumnPlan, Node, SWITCH_BYTES};

/// The elements of all columns of a cluster that is being filled, as in memory: ends of lists count from the beginning
/// of the cluster.
#[derive(Debug)]
pub(crate) struct ClusterBuffer {
    pub(crate) columns: Vec<Vec<u8>>,
    wide: Vec<usize>,
    pub(crate) rows: u64,
}

impl ClusterBuffer {
    pub(crate) fn new(plans: &[ColumnPlan]) -> Self {
        let wide: Vec<usize> = plans.iter().map(|plan| plan.wide).collect();
        Self { columns: vec![Vec::new(); plans.len()], wide, rows: 0 }
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Forgets the rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.rows = 0;
    }

    fn elements(&self, column: usize) -> u64 {
        (self.columns[column].len() / self.wide[column]) as u64
    }

    /// Adds rows of a field.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where buffers are too short: check a column with
    /// [`check`](Self::check) first, so that no part of a row is added.
    pub(crate) fn append(&mut self, node: &Node, values: &Column, rows: Range<usize>) -> Result<()> {
        match node {
            Node::Numbers { buffer, number, column } => {
                let wide = number.bytes();
                let bytes = values.buffer(*buffer);
                let bytes = bytes.get(rows.start * wide..rows.end * wide).ok_or_else(short)?;
                self.columns[*column].extend_from_slice(bytes);
                Ok(())
            }
            Node::Text { offsets, bytes, ends, chars } => {
                let items = self.append_ends(values, *offsets, *ends, self.elements(*chars), rows)?;
                let bytes = values.buffer(*bytes);
                self.columns[*chars].extend_from_slice(bytes.get(items).ok_or_else(short)?);
                Ok(())
            }
            Node::List { offsets, ends, item } => {
                let before = self.last_end(*ends);
                let items = self.append_ends(values, *offsets, *ends, before, rows)?;
                self.append(item, values, items)
            }
            Node::Optional { tags, ends, item } => {
                let bytes = values.buffer(*tags);
                let (before, here) = split_tags(&bytes, &rows)?;
                let first = before.iter().filter(|&&tag| tag as i8 >= 0).count();
                let mut end = self.last_end(*ends);
                let start = end;
                for &tag in here {
                    end += u64::from(tag as i8 >= 0);
                    self.columns[*ends].extend_from_slice(&end.to_ne_bytes());
                }
                self.append(item, values, first..first + (end - start) as usize)
            }
            Node::Variant { tags, switch, items } => self.append_variant(values, *tags, *switch, items, &rows),
            Node::Fixed { len, item } => self.append(item, values, rows.start * len..rows.end * len),
            Node::Record { members } => members.iter().try_for_each(|member| self.append(member, values, rows.clone())),
        }
    }

    fn append_variant(
        &mut self,
        values: &Column,
        tags: BufferId,
        switch: usize,
        items: &[Node],
        rows: &Range<usize>,
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
        for element in self.columns[switch].as_chunks::<SWITCH_BYTES>().0 {
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
            self.columns[switch].extend_from_slice(&place.to_le_bytes());
            self.columns[switch].extend_from_slice(&number.to_le_bytes());
        }
        for ((item, first), count) in items.iter().zip(first).zip(counts) {
            self.append(item, values, first..first + count)?;
        }
        Ok(())
    }

    /// The last end of a column of ends.
    fn last_end(&self, column: usize) -> u64 {
        self.columns[column].last_chunk::<8>().map_or(0, |end| u64::from_ne_bytes(*end))
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
        let mut last = first;
        let out = &mut self.columns[column];
        out.reserve(8 * ends.len());
        for end in ends {
            let end = i64::from_ne_bytes(*end);
            if end < last {
                return Err(Error::mismatch("the offsets of lists or strings fall"));
            }
            last = end;
            out.extend_from_slice(&(before + (end - first) as u64).to_ne_bytes());
        }
        Ok(first as usize..last as usize)
    }

    /// Checks that a column has all values of its rows, so that adding them cannot fail.
    pub(crate) fn check(node: &Node, values: &Column, rows: Range<usize>) -> Result<()> {
        let has = |buffer: BufferId, bytes: usize| {
            if values.buffer(buffer).len() < bytes { Err(short()) } else { Ok(()) }
        };
        match node {
            Node::Numbers { buffer, number, .. } => has(*buffer, rows.end.saturating_mul(number.bytes())),
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
        }
    }

    /// Bytes that rows of a field take in a cluster.
    pub(crate) fn bytes_of(node: &Node, values: &Column, rows: Range<usize>) -> Result<usize> {
        Ok(match node {
            Node::Numbers { number, .. } => rows.len() * number.bytes(),
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
        })
    }
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
    let mut last = first;
    for end in ends {
        let end = i64::from_ne_bytes(*end);
        if end < last {
            return Err(Error::mismatch("the offsets of lists or strings fall"));
        }
        last = end;
    }
    Ok(first as usize..last as usize)
}

/// Tags of the rows before, and of the rows.
fn split_tags<'b>(bytes: &'b [u8], rows: &Range<usize>) -> Result<(&'b [u8], &'b [u8])> {
    let here = bytes.get(rows.clone()).ok_or_else(short)?;
    Ok((&bytes[..rows.start], here))
}
