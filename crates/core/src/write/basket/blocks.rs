//! Where the blocks of a basket end, so that its entries can be inflated alone.
//!
//! ROOT has no such option. Its readers follow a chain of blocks until `fObjlen` bytes are there, wherever each ends.

use std::ops::Range;

use crate::codec::{self, Compression, RandomAccess, Scratch};
use crate::error::Result;

/// Bytes of the array of offsets in one block: an entry needs one block of it, and its own.
const OFFSETS_BYTES: usize = 4 << 10;

/// The least bytes of entries in a block that `Auto` chooses, and into how many it divides a large basket: an entry then
/// costs a small part of its basket, and all entries little more than before. A codec begins anew with each block, so
/// that smaller ones cost more to read as a whole than they save for one entry.
const LEAST_BYTES: usize = 4 << 10;
const PARTS: usize = 32;

/// The bytes of a basket that `Auto` tries blocks on: twice what the oldest codec looks back.
const SAMPLE_BYTES: usize = 64 << 10;

/// A basket's payload: entries, then the array of their offsets.
pub(crate) struct Payload<'p> {
    pub(crate) bytes: &'p [u8],
    /// Bytes of the entries.
    pub(crate) data_bytes: usize,
    pub(crate) entries: usize,
    /// Bytes of the key: offsets count from its start.
    pub(crate) keylen: usize,
}

impl Payload<'_> {
    /// Appends its chain of blocks. False where that is no smaller than the payload: then `into` is as it was.
    pub(crate) fn deflate(
        &self,
        how: Compression,
        random_access: RandomAccess,
        into: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let entries = match random_access {
            RandomAccess::Off => None,
            RandomAccess::Entries(entries) => Some(entries.get() as usize),
            RandomAccess::Auto => self.best_entries(how, scratch)?,
        };
        match entries {
            Some(entries) => codec::deflate_parts(self.bytes, self.ends(entries), how, into, scratch),
            None => codec::deflate(self.bytes, how, into, scratch),
        }
    }

    /// Where an entry starts; that of one more than there are is the end of the last.
    fn start(&self, entry: usize) -> usize {
        if entry >= self.entries {
            return self.data_bytes;
        }
        if self.bytes.len() == self.data_bytes {
            return entry * self.data_bytes / self.entries;
        }
        let offsets = self.bytes[self.data_bytes..].as_chunks::<4>().0;
        // The first word is their number.
        (u32::from_be_bytes(offsets[entry + 1]) as usize - self.keylen).min(self.data_bytes)
    }

    /// Ends of blocks of so many entries, then of those of the offsets.
    fn ends(&self, entries: usize) -> impl Iterator<Item = usize> {
        let of_entries = (1..=self.entries.div_ceil(entries)).map(move |block| self.start(block * entries));
        let offsets = self.bytes.len() - self.data_bytes;
        let of_offsets = (1..=offsets.div_ceil(OFFSETS_BYTES)).map(|block| self.data_bytes + block * OFFSETS_BYTES);
        of_entries.chain(of_offsets.map(|end| end.min(self.bytes.len())))
    }

    /// Entries of a block that is a small part of the basket, or the next larger one with which a sample does not grow
    /// too much; none where that is all of it.
    fn best_entries(&self, how: Compression, scratch: &mut Scratch) -> Result<Option<usize>> {
        let sample = self.bytes.get(self.sample()).unwrap_or_default();
        let each = self.data_bytes.checked_div(self.entries).unwrap_or(0).max(1);
        let mut chain = Vec::new();
        if self.entries < 2 || !codec::deflate(sample, how, &mut chain, scratch)? {
            return Ok(None);
        }
        let most = chain.len() * RandomAccess::MOST_GROWTH / 100;
        let mut block = ((self.data_bytes / PARTS).max(LEAST_BYTES) / each).max(1);
        while 2 * block <= self.entries {
            let blocks = self.entries_within(sample.len()).div_ceil(block);
            // What is longer than the sample cannot be judged by it, and has lost little.
            if blocks < 2 {
                return Ok(Some(block));
            }
            chain.clear();
            let ends = (1..=blocks).map(|at| self.start(at * block).min(sample.len()));
            if codec::deflate_parts(sample, ends, how, &mut chain, scratch)? && chain.len() <= most {
                return Ok(Some(block));
            }
            block *= 2;
        }
        Ok(None)
    }

    /// The first entries of the basket, as many as make a sample.
    fn sample(&self) -> Range<usize> {
        0..self.start(self.entries_within(SAMPLE_BYTES))
    }

    /// How many of the first entries end within so many bytes; at least one.
    fn entries_within(&self, bytes: usize) -> usize {
        let (mut fits, mut beyond) = (0, self.entries + 1);
        while fits + 1 < beyond {
            let middle = fits + (beyond - fits) / 2;
            (fits, beyond) = if self.start(middle) <= bytes { (middle, beyond) } else { (fits, middle) };
        }
        fits.max(1).min(self.entries)
    }
}
