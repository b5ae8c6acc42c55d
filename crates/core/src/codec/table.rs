//! A table of the blocks of a chain, for readers that return to parts of it.

use std::ops::Range;

use super::chain::{check_range, inflate_part};
use super::{Block, Scratch, blocks};
use crate::Result;

/// The offsets of the blocks of a chain: kept by callers that read several parts of it.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, BlockTable, Compression, Scratch};
/// let mut scratch = Scratch::default();
/// let mut chain = Vec::new();
/// for part in [[1; 400], [2; 400], [3; 400]] {
///     codec::deflate_block(&part, Compression::default(), 400, &mut chain, &mut scratch)?;
/// }
/// let table = BlockTable::walk(&chain, 1_200)?;
/// assert_eq!(table.blocks().len(), 3);
/// assert_eq!(table.covering(&(500..700)).len(), 1); // one block is all it takes
///
/// let mut middle = [0; 200];
/// table.inflate_range(&chain, 500..700, &mut middle, &mut scratch)?;
/// assert_eq!(middle, [2; 200]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTable {
    blocks: Box<[Block]>,
}

impl BlockTable {
    /// Walks the headers of the chain that `bytes` start with, until `unsealed_bytes` are covered. What it allocates
    /// is bounded by the headers that are there, not by the sizes they claim.
    ///
    /// # Errors
    ///
    /// Those of [`blocks`].
    pub fn walk(bytes: &[u8], unsealed_bytes: usize) -> Result<Self> {
        Ok(Self { blocks: blocks(bytes, unsealed_bytes).collect::<Result<_>>()? })
    }

    /// The blocks, in order. None are empty; each starts where the one before ends, unsealed and (but for its header)
    /// stored.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The blocks that hold a byte of `want`, a range of the unsealed object.
    pub fn covering(&self, want: &Range<usize>) -> &[Block] {
        let first = self.blocks.partition_point(|block| block.unsealed.end <= want.start);
        let rest = self.blocks.get(first..).unwrap_or_default();
        let count = rest.partition_point(|block| block.unsealed.start < want.end);
        rest.get(..count).unwrap_or_default()
    }

    /// Length of the chain in bytes, headers among them and slack left out.
    pub fn stored_bytes(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.stored.end)
    }

    /// What the chain holds, in bytes.
    pub fn unsealed_bytes(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.unsealed.end)
    }

    /// As [`inflate_range`](super::inflate_range), without another walk: `chain` must be the one that was walked.
    ///
    /// # Errors
    ///
    /// Those of [`inflate_range`](super::inflate_range).
    pub fn inflate_range(
        &self,
        chain: &[u8],
        want: Range<usize>,
        into: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        check_range(&want, self.unsealed_bytes(), into)?;
        self.covering(&want).iter().try_for_each(|block| inflate_part(chain, block, &want, into, scratch))
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::deflate_block;
    use super::super::{Compression, samples};
    use super::*;

    /// A chain of 40 bytes in blocks of 10.
    fn chain() -> Vec<u8> {
        let (mut chain, mut scratch) = (Vec::new(), Scratch::default());
        for piece in samples::numbers(40).chunks(10) {
            assert!(deflate_block(piece, Compression::default(), usize::MAX, &mut chain, &mut scratch).unwrap());
        }
        chain
    }

    #[test]
    fn the_table_knows_which_blocks_cover_a_range() {
        let table = BlockTable::walk(&chain(), 40).unwrap();
        let covering = |want: Range<usize>| -> Vec<_> {
            table.covering(&want).iter().map(|block| block.unsealed.start / 10).collect()
        };
        assert_eq!(covering(0..40), [0, 1, 2, 3]);
        assert_eq!(covering(0..1), [0]);
        assert_eq!(covering(10..20), [1]);
        assert_eq!(covering(9..21), [0, 1, 2]);
        assert_eq!(covering(39..99), [3]);
        assert_eq!(covering(40..99), [] as [usize; 0]);
        assert_eq!((table.stored_bytes(), table.unsealed_bytes()), (chain().len(), 40));
    }

    #[test]
    fn sizes_that_do_not_add_up_are_errors() {
        let chain = chain();
        let walk = |unsealed_bytes| BlockTable::walk(&chain, unsealed_bytes);
        assert_eq!(walk(39).unwrap_err().message(), "a block holds more than is left");
        assert_eq!(walk(41).unwrap_err().message(), "the chain of blocks ends too early");
        assert_eq!(walk(41).unwrap_err().place().offset, Some(chain.len() as u64));
        assert_eq!(walk(usize::MAX).unwrap_err().place().found, Some(40));
        assert_eq!(walk(30).unwrap().blocks().len(), 3);
        let error = BlockTable::walk(b"ZL\x08\x00\x00\x00\x00\x00\x00", 5).unwrap_err();
        assert_eq!(error.message(), "a block holds nothing");
        assert_eq!(blocks(b"ZL\x08\x00\x00\x00\x00\x00\x00", 5).count(), 1, "the first error ends the walk");
    }
}
