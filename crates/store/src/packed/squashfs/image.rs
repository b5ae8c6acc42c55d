//! An image: its superblock, and the bytes of its tables.

use std::cell::RefCell;

use bytes::Bytes;
use sapwood::io::{ByteRange, Ends, Store, load};
use sapwood::{Error, Result};

use crate::packed::codec::Codec;

/// The superblock.
pub(in crate::packed) const HEAD_BYTES: usize = 96;
/// What is read of the end: the tables are there, and those of some thousand files all of them.
pub(in crate::packed) const TAIL_BYTES: usize = 256 << 10;
/// What is read of tables that reach further back, at a time.
const STEP_BYTES: u64 = 64 << 10;

const MAGIC: &[u8] = b"hsqs";
/// The longest blocks that the format has.
const MOST_BLOCK_LOG: u16 = 20;
/// Where a table is that an image does not have.
const NO_TABLE: u64 = u64::MAX;

/// An image whose superblock makes sense.
pub(super) struct Image<'a> {
    inner: &'a dyn Store,
    tail: Bytes,
    tail_at: u64,
    /// What was read last, and where it begins.
    last: RefCell<(u64, Bytes)>,
    /// Bytes of the image; the file may have padding behind it.
    pub(super) bytes: u64,
    pub(super) block_bytes: u32,
    pub(super) codec: Codec,
    /// Block and offset of the inode of the top directory.
    pub(super) root: u64,
    pub(super) inodes: ByteRange,
    pub(super) directories: ByteRange,
    /// Where the index of fragment blocks is, and how many there are.
    pub(super) fragments: Option<(u64, u32)>,
}

impl<'a> Image<'a> {
    pub(super) fn new(inner: &'a dyn Store, ends: &Ends) -> Result<Self> {
        let head = &ends.head[..];
        let Some(head) = head.first_chunk::<HEAD_BYTES>().filter(|head| head.starts_with(MAGIC)) else {
            return Err(Error::malformed("this is no SquashFS image"));
        };
        let u16_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let (major, minor) = (u16_at(28), u16_at(30));
        if (major, minor) != (4, 0) {
            let words = format!("SquashFS images of version 4.0 are read, and this one has {major}.{minor}");
            return Err(Error::unsupported(words).at(28));
        }
        let codec = match u16_at(20) {
            1 => Codec::Zlib,
            4 => Codec::Xz,
            5 => Codec::Lz4,
            6 => Codec::Zstd,
            other => {
                let name = ["", "", "lzma", "lzo"].get(usize::from(other)).copied().unwrap_or("an unknown codec");
                let words = format!("the image is compressed with {name} ({other}): gzip, xz, lz4 and zstd are read");
                return Err(Error::unsupported(words).at(20));
            }
        };
        let (block_bytes, block_log) = (u32_at(12), u16_at(22));
        if !(12..=MOST_BLOCK_LOG).contains(&block_log) || block_bytes != 1 << block_log {
            let error = Error::malformed("the length of blocks is no power of two from 4 KiB to 1 MiB");
            return Err(error.at(12).wanted(1 << block_log.min(63), block_bytes.into()));
        }
        let (len, bytes) = (ends.identity.len, u64_at(40));
        if bytes > len {
            let error = Error::malformed("the image is cut off: it is shorter than its superblock says");
            return Err(error.at(40).wanted(bytes, len));
        }
        let (inodes, directories, fragments) = (u64_at(64), u64_at(72), u64_at(80));
        // Directories are followed by fragments, or by what is behind them.
        let further = [fragments, u64_at(88), u64_at(48)].into_iter().filter(|at| *at != NO_TABLE);
        let directories_end = further.filter(|at| *at >= directories).min().unwrap_or(bytes);
        if inodes < HEAD_BYTES as u64 || inodes > directories || directories_end > bytes {
            let error = Error::malformed("the tables of the image are not within it, one after another");
            return Err(error.at(64).wanted(bytes, inodes.max(directories).max(directories_end)));
        }
        let count = u32_at(16);
        Ok(Self {
            inner,
            tail: ends.tail.clone(),
            tail_at: len - ends.tail.len() as u64,
            last: RefCell::new((0, ends.head.clone())),
            bytes,
            block_bytes,
            codec,
            root: u64_at(32),
            inodes: inodes..directories,
            directories: directories..directories_end,
            fragments: (fragments != NO_TABLE && count > 0).then_some((fragments, count)),
        })
    }

    /// Bytes of a table; `bytes` is no more than one of its blocks has.
    pub(super) fn read(&self, at: u64, bytes: usize) -> Result<Bytes> {
        let end = at.checked_add(bytes as u64).filter(|end| *end <= self.bytes);
        let Some(end) = end else {
            let error = Error::malformed("a table reaches beyond the end of the image");
            return Err(error.at(at).wanted(self.bytes, at.saturating_add(bytes as u64)));
        };
        let slice = |from: u64, bytes: &Bytes| {
            let start = usize::try_from(at.checked_sub(from)?).ok()?;
            let end = usize::try_from(end.checked_sub(from)?).ok().filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(start..end))
        };
        if let Some(found) = slice(self.tail_at, &self.tail) {
            return Ok(found);
        }
        let mut last = self.last.borrow_mut();
        if let Some(found) = slice(last.0, &last.1) {
            return Ok(found);
        }
        let to = self.bytes.min(end.max(at.saturating_add(STEP_BYTES)));
        *last = (at, load(self.inner, &[at..to])?.pop().unwrap_or_default());
        slice(last.0, &last.1).ok_or_else(|| Error::mismatch("the store of the image gave too little").at(at))
    }
}
