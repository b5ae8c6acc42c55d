//! Some entries of a basket, inflated without the others.
//!
//! A basket is a chain of blocks, each of which inflates alone. ROOT ends a block after 16 MiB; baskets made for
//! [random access](crate::codec::RandomAccess) have blocks that end after a few entries.

use std::ops::Range;

use super::basket::{Basket, Unsealed};
use super::basket_header::GENERATE_OFFSETS;
use crate::codec::{self, BlockHeader, BlockTable, MAX_BLOCK_BYTES, Scratch};
use crate::error::{Error, Result};

impl Basket {
    /// Whether it has several blocks, as far as its first one tells.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_sealed()
            && BlockHeader::read(self.sealed()).is_ok_and(|first| first.unsealed_bytes() < self.key.objlen as usize)
    }

    /// Where its blocks end in the inflated payload, if it has several.
    ///
    /// # Errors
    ///
    /// Those of the headers of its blocks.
    pub(crate) fn block_ends(&self) -> Result<Option<Vec<usize>>> {
        if !self.is_divided() {
            return Ok(None);
        }
        let table = BlockTable::walk(self.sealed(), self.key.objlen as usize).map_err(|error| self.behind(error))?;
        Ok(Some(table.blocks().iter().map(|block| block.unsealed.end).collect()))
    }

    /// How many entries its first block holds, if it has several: about as many as each. One where entries differ in
    /// length, since only the offsets tell.
    pub(crate) fn block_entries(&self) -> Option<u64> {
        let first = BlockHeader::read(self.sealed()).ok().filter(|_| self.is_divided())?;
        match self.has_offsets() {
            true => Some(1),
            false => Some((first.unsealed_bytes() as u64).checked_div(self.entry_bytes.into())?.max(1)),
        }
    }

    /// After how many entries its writer ended a block, if it chose where blocks end.
    ///
    /// # Errors
    ///
    /// Those of [`unseal`](Self::unseal).
    pub(crate) fn chosen_block_entries(&self) -> Result<Option<u32>> {
        let first = BlockHeader::read(self.sealed()).ok().filter(|_| self.is_divided());
        // Every writer ends a block that holds as many bytes as a block can.
        let Some(first) = first.filter(|first| first.unsealed_bytes() < MAX_BLOCK_BYTES) else { return Ok(None) };
        let (mut memory, mut starts) = (Vec::new(), Vec::new());
        self.unseal(&mut memory, &mut Scratch::default())?.starts(&mut starts)?;
        let ends = starts.iter().skip(1);
        let entries = ends.take_while(|&&end| end as usize <= first.unsealed_bytes()).count();
        Ok(u32::try_from(entries).ok().filter(|&entries| entries > 0))
    }

    /// As [`unseal`](Self::unseal), where only some entries are wanted: ascending ranges. Of a basket of several blocks
    /// those are inflated that hold them. The bytes of other entries are anything, and so are their offsets. With
    /// `width`, entries are taken by that many bytes each, and not by what the basket says.
    ///
    /// # Errors
    ///
    /// Those of [`unseal`](Self::unseal), as far as the wanted entries meet them.
    pub(crate) fn unseal_entries<'m>(
        &'m self,
        wanted: impl Iterator<Item = Range<usize>> + Clone,
        width: Option<usize>,
        memory: &'m mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<Unsealed<'m>> {
        let (entries, data_bytes) = (self.entries as usize, self.data_bytes());
        let is_in = |want: &Range<usize>| want.start <= want.end && want.end <= entries;
        let is_whole = wanted.clone().next() == Some(0..entries) || !wanted.clone().all(|want| is_in(&want));
        let is_simple = !self.offsets_left_out && self.io_bits & GENERATE_OFFSETS == 0;
        if is_whole || !is_simple || !self.is_divided() {
            return self.unseal(memory, scratch);
        }
        let bytes = self.key.objlen as usize;
        if !codec::headers_add_up(self.sealed(), bytes).map_err(|error| self.behind(error))? {
            return self.unseal(memory, scratch); // which inflates each block, and compares its length
        }
        if memory.len() < bytes {
            memory.resize(bytes, 0);
        }
        let ranges: Vec<Range<usize>> = if self.has_offsets() && width.is_none() {
            let Some(ranges) = self.byte_ranges(wanted, &mut memory[..bytes], scratch)? else {
                return self.unseal(memory, scratch);
            };
            ranges
        } else {
            let width = width.unwrap_or(self.entry_bytes as usize);
            if width.checked_mul(entries) != Some(data_bytes) {
                return self.unseal(memory, scratch);
            }
            wanted.map(|want| want.start * width..want.end * width).collect()
        };
        let inflated = &mut memory[..bytes];
        codec::inflate_parts(self.sealed(), inflated, ranges.into_iter(), scratch)
            .map_err(|error| self.behind(error))?;
        match width {
            Some(width) => Ok(self.strided(inflated, width)),
            None => self.open(inflated).map_err(|error| self.place(error)),
        }
    }

    /// Where the wanted entries are, by the array of offsets, of which only what tells this is inflated. None where
    /// more than the offsets follows the entries.
    fn byte_ranges(
        &self,
        wanted: impl Iterator<Item = Range<usize>> + Clone,
        inflated: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<Option<Vec<Range<usize>>>> {
        /// An offset, and the number of them before the first.
        const WORD: usize = 4;
        let (entries, data_bytes) = (self.entries as usize, self.data_bytes());
        let offsets = data_bytes + WORD;
        let end = offsets + WORD * entries;
        if inflated.len() < end {
            return Ok(None);
        }
        let words = wanted.clone().map(|want| offsets + WORD * want.start..end.min(offsets + WORD * (want.end + 1)));
        let head = std::iter::once(data_bytes..offsets);
        codec::inflate_parts(self.sealed(), inflated, head.chain(words), scratch)
            .map_err(|error| self.behind(error))?;
        let word = |at: usize| inflated[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word) as usize);
        let (count, rest) = (word(data_bytes), inflated.len() - offsets);
        if count < entries || rest.checked_sub(WORD.saturating_mul(count)).is_none_or(|behind| behind >= WORD) {
            return Ok(None);
        }
        let keylen = usize::from(self.key.keylen);
        let place = |entry: usize| match entry < entries {
            true => word(offsets + WORD * entry).wrapping_sub(keylen),
            false => data_bytes,
        };
        let mut last = 0;
        let range = |want: Range<usize>| {
            let range = place(want.start)..place(want.end);
            // Also from one to the next: blocks are inflated in their order.
            match last <= range.start && range.start <= range.end && range.end <= data_bytes {
                true => {
                    last = range.end;
                    Ok(range)
                }
                false => Err(self.place(Error::malformed("a basket's entry offsets do not rise within its data"))),
            }
        };
        wanted.map(range).collect::<Result<_>>().map(Some)
    }

    /// Says where in the file an error is that has its offset in the payload.
    fn behind(&self, error: Error) -> Error {
        error.behind(self.key.payload_at())
    }

    /// Adds to an error where the payload is.
    fn place(&self, error: Error) -> Error {
        error.at(self.key.payload_at())
    }
}
