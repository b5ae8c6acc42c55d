//! Tables: blocks of at most 8 KiB, each with its length in front, read as one stream of bytes.

use sapwood::io::ByteRange;
use sapwood::{Error, Result};

use super::image::Image;
use crate::packed::codec::Codec;

/// What a block of a table holds at most.
const BLOCK_BYTES: usize = 8 << 10;
/// Set in the length of a block that is not compressed.
const IS_STORED: u16 = 0x8000;

/// Reads on in a table.
pub(super) struct Cursor<'a> {
    image: &'a Image<'a>,
    /// Where the next block is, and where the table ends.
    rest: ByteRange,
    block: Vec<u8>,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// From a byte of the block that begins so many bytes into the table.
    pub(super) fn new(image: &'a Image<'a>, table: &ByteRange, block: u64, offset: usize) -> Result<Self> {
        let start = table.start.checked_add(block).filter(|start| *start < table.end);
        let Some(start) = start else {
            let error = Error::malformed("a table is referred to beyond its end");
            return Err(error.at(table.start).wanted(table.end.saturating_sub(table.start), block));
        };
        let mut cursor = Self { image, rest: start..table.end, block: Vec::new(), at: 0 };
        cursor.next_block()?;
        if offset > cursor.block.len() {
            let error = Error::malformed("a block of a table is referred to beyond its end");
            return Err(error.at(start).wanted(cursor.block.len() as u64, offset as u64));
        }
        cursor.at = offset;
        Ok(cursor)
    }

    fn next_block(&mut self) -> Result<()> {
        let at = self.rest.start;
        if at >= self.rest.end {
            return Err(Error::malformed("a table ends too early").at(at));
        }
        let header = self.image.read(at, 2)?;
        let header = header.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        let length = usize::from(header & !IS_STORED);
        if length == 0 || length > BLOCK_BYTES {
            let error = Error::malformed("a block of a table has an impossible length");
            return Err(error.at(at).wanted(BLOCK_BYTES as u64, length as u64));
        }
        let stored = self.image.read(at + 2, length)?;
        let codec = if header & IS_STORED == 0 { self.image.codec } else { Codec::Stored };
        self.block.resize(BLOCK_BYTES, 0);
        let found = codec.inflate(&stored, &mut self.block).map_err(|error| error.at(at))?;
        self.block.truncate(found);
        self.at = 0;
        self.rest.start = at + 2 + length as u64;
        Ok(())
    }

    /// The next bytes, at most as many as asked for and at least one.
    fn some(&mut self, bytes: usize) -> Result<&[u8]> {
        while self.at >= self.block.len() {
            self.next_block()?;
        }
        let to = self.block.len().min(self.at.saturating_add(bytes));
        let from = std::mem::replace(&mut self.at, to);
        Ok(self.block.get(from..to).unwrap_or_default())
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut taken = [0; N];
        let mut done = 0;
        while let Some(place) = taken.get_mut(done..).filter(|place| !place.is_empty()) {
            let some = self.some(place.len())?;
            if let Some(place) = place.get_mut(..some.len()) {
                place.copy_from_slice(some);
            }
            done += some.len();
        }
        Ok(taken)
    }

    /// A name or a target: the format has no longer ones than 64 KiB.
    pub(super) fn text(&mut self, bytes: u16) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < usize::from(bytes) {
            let missing = usize::from(bytes) - text.len();
            text.extend_from_slice(self.some(missing)?);
        }
        Ok(text)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Where the next block of the table is: for messages.
    pub(super) fn offset(&self) -> u64 {
        self.rest.start
    }
}
