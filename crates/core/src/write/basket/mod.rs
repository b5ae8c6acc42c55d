//! Baskets: finished records in memory, and their offsets in the file.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket`.

pub(crate) mod blocks;
pub(crate) mod buffer;
pub(crate) mod leaf_payload;
pub(crate) mod object_payload;
pub(crate) mod offsets;
pub(crate) mod pointee;
pub(crate) mod raw_entries;
pub(crate) mod recycle;
pub(crate) mod reused_bytes;
pub(crate) mod seal;

use std::ops::Range;

use crate::container::Key;
use crate::error::Result;
use crate::write::basket::buffer::RowBuffer;

/// Baskets of at least this size are copied by the system; many small ones need fewer calls when written from memory.
pub(crate) const LARGE_BYTES: u32 = 16 << 10;

/// A finished basket record; only the location in its key is patched later.
#[derive(Debug)]
pub(crate) struct SealedBasket {
    /// The whole record; or only its key, if the rest is still in another file; or all but its numbers.
    pub(crate) record: Vec<u8>,
    /// Numbers that stay in the buffered rows until they are written.
    pub(crate) in_rows: Option<InRows>,
    /// Bytes of the rest in the other file.
    pub(crate) elsewhere: u32,
    /// Bytes of key and payload before compression.
    pub(crate) unsealed_bytes: u64,
}

/// Numbers of a basket that are not copied into its record.
#[derive(Debug)]
pub(crate) struct InRows {
    /// Where they belong in the record.
    pub(crate) at: usize,
    /// Where they lie in what the rows have stored.
    pub(crate) bytes: Range<usize>,
}

impl SealedBasket {
    /// Bytes of its whole record.
    pub(crate) fn nbytes(&self) -> u32 {
        (self.record.len() + self.in_rows.as_ref().map_or(0, |rows| rows.bytes.len())) as u32 + self.elsewhere
    }

    /// Its record in parts, with numbers of the rows that it was sealed from.
    pub(crate) fn parts<'a>(&'a self, rows: Option<&'a RowBuffer>) -> impl Iterator<Item = &'a [u8]> {
        let at = self.in_rows.as_ref().map_or(self.record.len(), |numbers| numbers.at);
        let numbers = self.in_rows.as_ref().zip(rows);
        let numbers = numbers.and_then(|(numbers, rows)| rows.stored().get(numbers.bytes.clone())).unwrap_or_default();
        let (head, tail) = self.record.split_at(at);
        [head, numbers, tail].into_iter().filter(|part| !part.is_empty())
    }

    /// Patches the location in its key; see [`Key::patch_location`].
    pub(crate) fn patch_location(&mut self, at: u64, directory: u64, number: usize) -> Result<()> {
        Key::patch_location(&mut self.record, at, directory, cycle_of(number))
    }
}

/// `fCycle` of a basket's key: its number in its branch, of which ROOT keeps the lower 16 bits.
fn cycle_of(number: usize) -> u16 {
    number as u16
}

/// The location of a basket, and its first entry.
#[derive(Debug)]
pub(crate) struct PlacedBasket {
    pub(crate) seek: u64,
    pub(crate) nbytes: u32,
    pub(crate) first_entry: u64,
}

impl PlacedBasket {
    /// Its range in the file.
    pub(crate) fn room(&self) -> Range<u64> {
        self.seek..self.seek + u64::from(self.nbytes)
    }
}
