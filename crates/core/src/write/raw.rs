//! Entries as bytes: cut into other baskets without anybody understanding them.

use std::ops::Range;

use super::payload::offsets;
use super::seal::Shape;

/// Consecutive entries of one branch, as they stand in baskets.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// Bytes of all entries.
    pub(super) data: Vec<u8>,
    /// Where each begins, and where the last ends.
    pub(super) starts: Vec<usize>,
    /// Bytes of each, where the branch has no offsets.
    pub(super) width: Option<usize>,
}

impl Raw {
    /// Bytes that rows take.
    pub(super) fn bytes_of(&self, rows: &Range<usize>) -> usize {
        self.span(rows).len()
    }

    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        let at = |row: usize| self.starts.get(row).copied().unwrap_or(self.data.len());
        at(rows.start)..at(rows.end)
    }

    /// Appends entries as they stand in a basket; none where they are too many for 32 bits.
    pub(super) fn payload(&self, rows: &Range<usize>, keylen: usize, into: &mut Vec<u8>) -> Option<Shape> {
        let span = self.span(rows);
        let data_bytes = span.len();
        into.extend_from_slice(self.data.get(span.clone())?);
        if let Some(width) = self.width {
            return Some(Shape { data_bytes, width });
        }
        let start = |row: usize| self.starts.get(row).map_or(0, |start| start - span.start);
        offsets(into, keylen, (rows.start..rows.end + 1).map(start))?;
        Some(Shape { data_bytes, width: 0 })
    }
}
