//! The blocks of a file.

use sapwood::io::ByteRange;
use sapwood::{Error, Result};

use super::image::Image;
use super::inode::Regular;
use super::metadata::Cursor;
use crate::packed::blocks::{EqualBlocks, Index, Part, Stored};
use crate::packed::codec::Codec;

/// Set in the length of a block that is not compressed.
const IS_STORED: u32 = 1 << 24;
/// Blocks of a file: of 4 KiB each they hold 64 GiB, of 1 MiB each 16 TiB.
const MOST_BLOCKS: u64 = 1 << 24;
/// An entry of the index of fragment blocks: where it is, its length, and four bytes of nothing.
const FRAGMENT_BYTES: u64 = 16;
/// Entries in a block of that index.
const FRAGMENTS: u64 = 512;

/// Where the blocks of a file are.
pub(super) struct FileBlocks {
    content: EqualBlocks,
    codec: Codec,
    /// Where each block begins, and where the last one ends.
    starts: Vec<u64>,
    /// Whether each is stored as it is.
    stored: Vec<bool>,
    /// The end of the file, where it is stored together with those of others.
    end: Option<Part>,
}

impl FileBlocks {
    pub(super) fn new(image: &Image<'_>, mut file: Regular<'_>) -> Result<Self> {
        let block_bytes = u64::from(image.block_bytes);
        let (whole, rest) = (file.bytes / block_bytes, file.bytes % block_bytes);
        let count = whole + u64::from(rest > 0 && file.fragment.is_none());
        if count > MOST_BLOCKS {
            return Err(Error::limit("the file has too many blocks", MOST_BLOCKS, count));
        }
        let (mut starts, mut stored) = (vec![file.start], Vec::new());
        let mut end = file.start;
        for index in 0..count {
            let size = file.blocks.u32()?;
            let length = size & !IS_STORED;
            if length > image.block_bytes {
                let error = Error::malformed("a block is stored in more bytes than it has");
                return Err(error.at(end).wanted(block_bytes, length.into()).in_object(&format!("block {index}")));
            }
            let next = end.checked_add(length.into()).filter(|next| *next <= image.bytes);
            let Some(next) = next else {
                let error = Error::malformed("a block reaches beyond the end of the image");
                let error = error.at(end).wanted(image.bytes, end.saturating_add(length.into()));
                return Err(error.in_object(&format!("block {index}")));
            };
            end = next;
            starts.push(end);
            stored.push(size & IS_STORED != 0);
        }
        let end = match file.fragment.filter(|_| rest > 0) {
            Some((index, offset)) => Some(fragment(image, index, offset, rest)?),
            None => None,
        };
        let content = EqualBlocks { bytes: file.bytes, block_bytes };
        Ok(Self { content, codec: image.codec, starts, stored, end })
    }
}

/// The part of a fragment block that is the end of a file.
fn fragment(image: &Image<'_>, index: u32, offset: u32, bytes: u64) -> Result<Part> {
    let Some((table, _)) = image.fragments.filter(|(_, count)| index < *count) else {
        let count = image.fragments.map_or(0, |(_, count)| count);
        let error = Error::malformed("the end of the file is in a fragment that the image does not have");
        return Err(error.wanted(count.into(), index.into()));
    };
    let within = u64::from(offset)..u64::from(offset) + bytes;
    if within.end > u64::from(image.block_bytes) {
        let error = Error::malformed("the end of the file reaches beyond its fragment");
        return Err(error.wanted(image.block_bytes.into(), within.end));
    }
    let pointer = table.saturating_add(u64::from(index) / FRAGMENTS * 8);
    let block = image.read(pointer, 8)?.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let at = (u64::from(index) % FRAGMENTS * FRAGMENT_BYTES) as usize;
    let mut cursor = Cursor::new(image, &(block..table), 0, at).map_err(|error| error.at(pointer))?;
    let (start, size) = (cursor.u64()?, cursor.u32()?);
    let length = u64::from(size & !IS_STORED);
    let end = start.checked_add(length).filter(|end| *end <= image.bytes);
    let Some(end) = end.filter(|_| length > 0 && length <= u64::from(image.block_bytes)) else {
        let error = Error::malformed("a fragment is not within the image");
        return Err(error.at(start).wanted(image.bytes, start.saturating_add(length)));
    };
    Ok(Part {
        range: start..end,
        codec: if size & IS_STORED == 0 { image.codec } else { Codec::Stored },
        room: image.block_bytes as usize,
        exact: false,
        within: within.start as usize..within.end as usize,
        checksum: None,
    })
}

impl Index for FileBlocks {
    fn content_bytes(&self) -> u64 {
        self.content.bytes
    }

    fn find(&self, offset: u64) -> u64 {
        self.content.find(offset)
    }

    fn plain(&self, block: u64) -> ByteRange {
        self.content.plain(block)
    }

    fn stored(&self, block: u64) -> Result<Stored> {
        let index = block as usize;
        let (Some(start), Some(end)) = (self.starts.get(index), self.starts.get(index + 1)) else {
            let part = self.end.clone().ok_or_else(|| Error::internal("a block that the file does not have"))?;
            return Ok(Stored::Part(part));
        };
        if start == end {
            return Ok(Stored::Zeros);
        }
        let plain = self.plain(block);
        let room = (plain.end - plain.start) as usize;
        let is_stored = self.stored.get(index) == Some(&true);
        Ok(Stored::Part(Part {
            range: *start..*end,
            codec: if is_stored { Codec::Stored } else { self.codec },
            room,
            exact: true,
            within: 0..room,
            checksum: None,
        }))
    }
}
