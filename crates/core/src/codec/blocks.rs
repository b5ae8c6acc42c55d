//! Iterates over the block headers of a chain.
//!
//! Format page: `docs/format/compression.md`. Source: `R__unzip_header`.

use std::iter::FusedIterator;

use super::{Block, BlockHeader, HEADER_BYTES};
use crate::{Error, Result};

/// Walks the headers of a chain that holds `unsealed_bytes`; inflates and allocates nothing.
///
/// Each block's sizes are compared with the bytes that are left, stored and unsealed. The walk ends when
/// `unsealed_bytes` are covered, so that bytes after the last block are no error (records may carry slack). The first
/// error is the last item.
///
/// # Errors
///
/// Items are [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) where the chain ends too early, a block is empty, or
/// it holds more than is left; other errors are those of `BlockHeader::read`. The offset is that of the header in
/// the chain.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Compression, Scratch};
/// let mut scratch = Scratch::default();
/// let mut chain = Vec::new();
/// for part in [[1; 400], [2; 400]] {
///     codec::deflate_block(&part, Compression::default(), 400, &mut chain, &mut scratch)?;
/// }
/// let places = codec::blocks(&chain, 800).map(|block| Ok(block?.unsealed));
/// assert_eq!(places.collect::<sapwood::Result<Vec<_>>>()?, [0..400, 400..800]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn blocks(bytes: &[u8], unsealed_bytes: usize) -> Blocks<'_> {
    Blocks { bytes, number: 0, at: 0, covered: 0, unsealed_bytes }
}

/// Iterator over the blocks of a chain, created by [`blocks`].
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    bytes: &'a [u8],
    number: usize,
    /// Where the next header is.
    at: usize,
    /// Unsealed bytes that the blocks so far hold.
    covered: usize,
    unsealed_bytes: usize,
}

impl Blocks<'_> {
    fn read(&self) -> Result<Block> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Err(Error::malformed("the chain of blocks ends too early")
                .wanted(self.unsealed_bytes as u64, self.covered as u64));
        }
        let header = BlockHeader::read(rest)?;
        let (here, wanted) = (rest.len() - HEADER_BYTES, header.stored_bytes());
        if wanted > here {
            return Err(Error::malformed("the chain ends inside a block").wanted(wanted as u64, here as u64));
        }
        let (left, found) = (self.unsealed_bytes - self.covered, header.unsealed_bytes());
        if found == 0 {
            // No writer produces one, and ROOT treats it as the end.
            return Err(Error::malformed("a block holds nothing").wanted(left as u64, 0));
        }
        if found > left {
            return Err(Error::malformed("a block holds more than is left").wanted(left as u64, found as u64));
        }
        let first = self.at + HEADER_BYTES;
        Ok(Block { header, stored: first..first + wanted, unsealed: self.covered..self.covered + found })
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Result<Block>> {
        if self.covered >= self.unsealed_bytes {
            return None;
        }
        let block = self.read();
        let number = self.number;
        self.number += 1;
        match &block {
            Ok(block) => (self.at, self.covered) = (block.stored.end, block.unsealed.end),
            Err(_) => self.covered = self.unsealed_bytes,
        }
        Some(block.map_err(|error| error.at(self.at as u64).in_block(number)))
    }
}

impl FusedIterator for Blocks<'_> {}
