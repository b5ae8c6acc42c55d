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

use crate::container::BIG_FILE;
use crate::error::{Error, Result};

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

    /// Writes the words that the place decides: `fCycle`, `fSeekKey` and `fSeekPdir`; the ProcessID offset in it stays.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where a key of another writer has no room for 64 bits.
    pub(crate) fn place(&mut self, at: u64, directory: u64, cycle: u16) -> Result<()> {
        let is_big = self.is_big()?;
        let short = || Error::malformed("a basket is shorter than its key");
        let mut put = |place: usize, word: &[u8]| {
            self.record.get_mut(place..place + word.len()).ok_or_else(short).map(|room| room.copy_from_slice(word))
        };
        put(16, &cycle.to_be_bytes())?;
        if is_big {
            put(18, &at.to_be_bytes())?;
            // Behind the ProcessID offset.
            return put(28, &directory.to_be_bytes()[2..]);
        }
        if at > BIG_FILE || directory > BIG_FILE {
            return Err(Error::unsupported("a basket of an old file has no room for an offset of 64 bits").at(at));
        }
        put(18, &(at as u32).to_be_bytes())?;
        put(22, &(directory as u32).to_be_bytes())
    }

    /// Lets references in it count from another ProcessID on.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where its key has no room for that, [`Limit`](crate::ErrorKind::Limit) above
    /// 65,535.
    pub(crate) fn shift_process_ids(&mut self, more: u16) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        if !self.is_big()? {
            return Err(Error::unsupported("a basket of an old file has no room to say whose objects it refers to"));
        }
        let short = || Error::malformed("a basket is shorter than its key");
        let word: &mut [u8; 2] = self.record.get_mut(26..28).and_then(|word| word.try_into().ok()).ok_or_else(short)?;
        let sum = u16::from_be_bytes(*word).checked_add(more);
        *word = sum.ok_or_else(too_many_processes)?.to_be_bytes();
        Ok(())
    }

    /// Whether places in its key have 64 bits.
    fn is_big(&self) -> Result<bool> {
        let version = self.record.get(4..6).and_then(|word| word.try_into().ok()).map(i16::from_be_bytes);
        version.map(|version| version > 1000).ok_or_else(|| Error::malformed("a basket is shorter than its key"))
    }
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

/// The error of references to objects of too many processes.
pub(crate) fn too_many_processes() -> Error {
    Error::limit("references name objects of too many processes", u16::MAX.into(), u64::from(u16::MAX) + 1)
}
