//! Baskets: finished records in memory, and where they are in the file.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket`.

pub(crate) mod buffer;
pub(crate) mod leaf_payload;
pub(crate) mod object_payload;
pub(crate) mod offsets;
pub(crate) mod raw_entries;
pub(crate) mod recycle;
pub(crate) mod seal;

use std::ops::Range;

use crate::container::Key;
use crate::error::Result;

/// Baskets that are as large are copied by the system; many small ones are written with fewer calls from memory.
pub(crate) const LARGE_BYTES: u32 = 16 << 10;

/// A basket as on storage, but for the place in its key.
#[derive(Debug)]
pub(crate) struct SealedBasket {
    /// All of it; or its key, where the rest still stands in another file.
    pub(crate) record: Vec<u8>,
    /// Bytes of that rest.
    pub(crate) elsewhere: u32,
    /// Bytes of key and payload before compression.
    pub(crate) unsealed_bytes: u64,
}

impl SealedBasket {
    /// Bytes of its record, wherever they are.
    pub(crate) fn nbytes(&self) -> u32 {
        self.record.len() as u32 + self.elsewhere
    }

    /// Writes the words of its key that its place decides; see [`Key::patch_location`].
    pub(crate) fn patch_location(&mut self, at: u64, directory: u64, number: usize) -> Result<()> {
        Key::patch_location(&mut self.record, at, directory, cycle_of(number))
    }
}

/// `fCycle` of a basket's key: its number in its branch, of which ROOT keeps the lower 16 bits.
fn cycle_of(number: usize) -> u16 {
    number as u16
}

/// Where a basket is, and its first entry.
#[derive(Debug)]
pub(crate) struct PlacedBasket {
    pub(crate) seek: u64,
    pub(crate) nbytes: u32,
    pub(crate) first_entry: u64,
}

impl PlacedBasket {
    /// Where it stands.
    pub(crate) fn room(&self) -> Range<u64> {
        self.seek..self.seek + u64::from(self.nbytes)
    }
}
