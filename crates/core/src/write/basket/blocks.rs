//! Where the blocks of a basket end, so that its entries can be inflated alone.
//!
//! ROOT has no such option. Its readers follow a chain of blocks until `fObjlen` bytes are there, wherever each ends.

use crate::codec::{self, Compression, RandomAccess, Scratch};
use crate::error::Result;

/// Bytes of the array of offsets in one block: an entry needs one block of it, and its own.
const OFFSETS_BYTES: usize = 4 << 10;

/// The least bytes of entries in a block that `Auto` chooses, and into how many it divides a large basket: an entry
/// then costs a small part of its basket, and all entries little more than before. A codec begins anew with each block,
/// so that smaller ones cost more to read as a whole than they save for one entry.
const LEAST_BYTES: usize = 4 << 10;
const PARTS: usize = 32;

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
        match random_access {
            RandomAccess::Off => codec::deflate(self.bytes, how, into, scratch),
            RandomAccess::Entries(entries) => {
                codec::deflate_parts(self.bytes, self.ends(entries.get() as usize), how, into, scratch)
            }
            RandomAccess::Auto => self.deflate_auto(how, into, scratch),
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

    /// In the smallest blocks that cost few bytes, or in one.
    fn deflate_auto(&self, how: Compression, into: &mut Vec<u8>, scratch: &mut Scratch) -> Result<bool> {
        let start = into.len();
        if !codec::deflate(self.bytes, how, into, scratch)? {
            return Ok(false);
        }
        let most = (into.len() - start) * RandomAccess::MOST_GROWTH / 100;
        let each = self.data_bytes.checked_div(self.entries).unwrap_or(0).max(1);
        let mut entries = ((self.data_bytes / PARTS).max(LEAST_BYTES) / each).max(1);
        let mut chain = Vec::new();
        while 2 * entries <= self.entries {
            chain.clear();
            if codec::deflate_parts(self.bytes, self.ends(entries), how, &mut chain, scratch)? && chain.len() <= most {
                into.truncate(start);
                into.extend_from_slice(&chain);
                break;
            }
            entries *= 4;
        }
        Ok(true)
    }
}
