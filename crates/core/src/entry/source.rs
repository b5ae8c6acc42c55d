//! The source of values that were read: whole columns, or objects behind pointers.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::column::{BufferId, Part};
use crate::error::{Error, Result};
use crate::schema::{ObjectRow, Objects};

/// The buffers that a [`Kind`](crate::column::Kind) names.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Those of columns, and for each the table of objects that its numbers mean.
    Columns(&'a [Bytes], &'a [Option<Arc<Objects>>]),
    /// Those of objects.
    Objects(&'a Part, &'a Arc<Objects>),
}

impl<'a> Source<'a> {
    /// A buffer of numbers, or of the bytes of strings.
    pub(super) fn bytes(self, buffer: BufferId) -> &'a [u8] {
        match self {
            Self::Columns(buffers, _) => buffers.get(buffer as usize).map_or(&[], |bytes| bytes),
            Self::Objects(part, _) => part.bytes(buffer),
        }
    }

    /// Some of them, each of so many bytes.
    pub(super) fn slice(self, buffer: BufferId, rows: &Range<usize>, width: usize) -> Result<&'a [u8]> {
        let bounds = rows.start.checked_mul(width).zip(rows.end.checked_mul(width));
        bounds.and_then(|(start, end)| self.bytes(buffer).get(start..end)).ok_or_else(lost)
    }

    /// Where a list begins that is the `index`th of a buffer, in what lists hold.
    fn start(self, offsets: BufferId, index: usize) -> Option<usize> {
        match self {
            Self::Columns(..) => {
                let offset = self.bytes(offsets).get(index.checked_mul(8)?..)?.first_chunk()?;
                usize::try_from(i64::from_ne_bytes(*offset)).ok()
            }
            Self::Objects(part, _) => match index.checked_sub(1) {
                None => Some(0),
                Some(before) => part.words(offsets).get(before).map(|&end| end as usize),
            },
        }
    }

    /// What consecutive lists hold, together; `ends` gets the length of all up to the end of each, from `before` on.
    pub(super) fn lists(self, offsets: BufferId, rows: &Range<usize>, ends: &mut Vec<u64>) -> Result<Range<usize>> {
        let first = self.start(offsets, rows.start).ok_or_else(lost)?;
        let (before, mut last) = (ends.last().copied().unwrap_or(0), first);
        for row in rows.clone() {
            let end = self.start(offsets, row + 1).filter(|&end| end >= last).ok_or_else(lost)?;
            ends.push(before + (end - first) as u64);
            last = end;
        }
        Ok(first..last)
    }

    /// The object that a pointer points at, and its table; none for null.
    ///
    /// # Errors
    ///
    /// Why it could not be decoded.
    pub(super) fn object(self, buffer: BufferId, row: usize) -> Result<Option<(ObjectRow<'a>, &'a Arc<Objects>)>> {
        let (id, table) = match self {
            Self::Columns(buffers, tables) => {
                let bytes = buffers.get(buffer as usize).and_then(|bytes| bytes.get(row.checked_mul(4)?..));
                let id = bytes.and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_ne_bytes(*bytes));
                (id, tables.get(buffer as usize).and_then(Option::as_ref))
            }
            Self::Objects(part, table) => (part.words(buffer).get(row).copied(), Some(table)),
        };
        let (id, table) = id.zip(table).ok_or_else(lost)?;
        match (id, table.get(id)) {
            (0, _) => Ok(None),
            (_, Some(object)) => Ok(Some((object, table))),
            _ => Err(table.failure(id).map_or_else(lost, Error::clone)),
        }
    }
}

fn lost() -> Error {
    Error::malformed("a column ends before its values do")
}
