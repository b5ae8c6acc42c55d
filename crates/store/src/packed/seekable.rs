//! The seekable format of zstd: frames one after another, and behind them their sizes in a frame that plain zstd skips.
//!
//! The seek table: `0x184D2A5E`, its length (u32), for each frame its packed and its plain length (u32 each) and, if
//! the descriptor says so, the lower half of the xxh64 of its plain bytes; then the number of frames (u32), the
//! descriptor (u8), and `0x8F92EAB1`. All numbers are little-endian.

use bytes::Bytes;
use sapwood::io::{ByteRange, Ends, Store, load};
use sapwood::{Error, Result};
use zstd::zstd_safe::compress_bound;

use super::blocks::{Content, Index, MOST_BLOCK_BYTES, Part, Stored};
use super::codec::Codec;

/// What is read of the beginning: the magic number of the first frame.
pub(super) const HEAD_BYTES: usize = 4;
/// What is read of the end. It has the seek table of 5,000 frames: 320 MB in frames of 64 kB.
pub(super) const TAIL_BYTES: usize = 64 << 10;

pub(super) const FRAME_MAGIC: u32 = 0xFD2F_B528;
/// Frames with a magic number from here on, sixteen of them, are skipped.
pub(super) const SKIPPED_MAGIC: u32 = 0x184D_2A50;
pub(super) const TABLE_MAGIC: u32 = 0x184D_2A5E;
pub(super) const FOOTER_MAGIC: u32 = 0x8F92_EAB1;
pub(super) const FOOTER_BYTES: u64 = 9;
/// In front of the table: magic number and length.
pub(super) const FRAME_HEADER_BYTES: u64 = 8;
pub(super) const HAS_CHECKSUMS: u8 = 0x80;
/// Bits of the descriptor that must be zero.
const RESERVED: u8 = 0x7C;
/// Frames of a file: of 64 kB each they hold a terabyte, and their table here takes 320 MB.
pub(super) const MOST_FRAMES: u64 = 1 << 24;
/// A byte of a frame gives at most so many: four bytes are the shortest block, and 128 KiB the longest that they give.
const MOST_RATIO: u64 = 32 << 10;
/// What a frame may be longer than blocks of its content: its header, its checksum, and empty or split blocks.
const FRAME_SLACK: u64 = 64 << 10;

/// Reads and checks the seek table.
pub(super) fn open(inner: &dyn Store, ends: &Ends) -> Result<Content> {
    let len = ends.identity.len;
    let first = ends.head.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    if !first.is_some_and(|magic| magic == FRAME_MAGIC || magic & !0xF == SKIPPED_MAGIC) {
        return Err(Error::malformed("this is no zstd file").at(0));
    }
    let footer = ends.tail.last_chunk::<9>().filter(|footer| number(&footer[5..]) == FOOTER_MAGIC);
    let Some(footer) = footer else {
        let words = "this zstd file has no seek table at its end, so that it cannot be read in place. If `sapwood \
                     pack` wrote it, it was cut off: copy it again. Otherwise inflate it (zstd -d FILE), and pack the \
                     result (sapwood pack FILE) if it is to stay compressed";
        return Err(Error::unsupported(words));
    };
    let (frames, descriptor) = (u64::from(number(&footer[..4])), footer[4]);
    if descriptor & RESERVED != 0 {
        return Err(Error::unsupported("a seek table of a later version of the format").at(len - 5));
    }
    if frames > MOST_FRAMES {
        return Err(Error::limit("the file has too many frames", MOST_FRAMES, frames).at(len - FOOTER_BYTES));
    }
    let entry_bytes = if descriptor & HAS_CHECKSUMS == 0 { 8 } else { 12 };
    let table_bytes = FRAME_HEADER_BYTES + frames * entry_bytes + FOOTER_BYTES;
    let Some(table_at) = len.checked_sub(table_bytes) else {
        let error = Error::malformed("the seek table is longer than the file");
        return Err(error.at(len - FOOTER_BYTES).wanted(len, table_bytes));
    };
    let table = match usize::try_from(table_bytes).ok().and_then(|bytes| ends.tail.len().checked_sub(bytes)) {
        Some(from) => ends.tail.slice(from..),
        None => load(inner, &[table_at..len])?.pop().unwrap_or_default(),
    };
    Ok(Content::Blocks(Box::new(SeekTable::parse(&table, table_at, entry_bytes as usize)?)))
}

/// Where each frame is, and what it holds.
struct SeekTable {
    /// Where each begins, in the packed file and in its content; and the end of the last one.
    starts: Vec<(u64, u64)>,
    /// One for each frame, or none at all.
    checksums: Vec<u32>,
}

impl SeekTable {
    /// Takes a table that is stored at `table_at`, behind all frames.
    fn parse(table: &Bytes, table_at: u64, entry_bytes: usize) -> Result<Self> {
        let (Some(header), Some(entries)) = (
            table.first_chunk::<8>(),
            table.len().checked_sub(FOOTER_BYTES as usize).and_then(|end| table.get(FRAME_HEADER_BYTES as usize..end)),
        ) else {
            return Err(Error::malformed("the seek table is cut off").at(table_at));
        };
        let (magic, said) = (number(&header[..4]), number(&header[4..]));
        if magic != TABLE_MAGIC {
            let error = Error::malformed("no seek table begins where it should, by the number of frames");
            return Err(error.at(table_at).wanted(TABLE_MAGIC.into(), magic.into()));
        }
        let found = table.len() as u64 - FRAME_HEADER_BYTES;
        if u64::from(said) != found {
            let error = Error::malformed("the seek table has another length than its frame says");
            return Err(error.at(table_at + 4).wanted(found, said.into()));
        }
        let count = entries.len() / entry_bytes.max(1);
        let mut starts = Vec::with_capacity(count + 1);
        let mut checksums = Vec::with_capacity(if entry_bytes == 12 { count } else { 0 });
        let (mut packed, mut plain) = (0_u64, 0_u64);
        for (index, entry) in entries.chunks_exact(entry_bytes).enumerate() {
            let at = table_at + FRAME_HEADER_BYTES + (index * entry_bytes) as u64;
            let wrong = |error: Error| Err(error.at(at).in_object(&format!("block {index}")));
            let (stored, holds) = (u64::from(number(&entry[..4])), u64::from(number(&entry[4..8])));
            starts.push((packed, plain));
            checksums.extend(entry.get(8..12).map(number));
            (packed, plain) = (packed + stored, plain + holds);
            if packed > table_at {
                let error = Error::malformed("a frame reaches into the seek table");
                return wrong(error.wanted(table_at, packed));
            }
            if holds > MOST_BLOCK_BYTES {
                return wrong(Error::limit(
                    "a frame is too long to be read in place: pack the file again, in smaller blocks",
                    MOST_BLOCK_BYTES,
                    holds,
                ));
            }
            let most_stored = compress_bound(holds as usize) as u64 + FRAME_SLACK;
            if stored > most_stored {
                let error = Error::malformed("a frame is longer than what it holds can need");
                return wrong(error.wanted(most_stored, stored));
            }
            if holds > stored * MOST_RATIO {
                let error = Error::malformed("a frame is said to hold more than zstd can put into it");
                return wrong(error.wanted(stored * MOST_RATIO, holds));
            }
        }
        if packed != table_at {
            let error = Error::malformed("the frames of the seek table are not all that is in front of it");
            return Err(error.at(table_at).wanted(table_at, packed));
        }
        starts.push((packed, plain));
        Ok(Self { starts, checksums })
    }
}

impl Index for SeekTable {
    fn content_bytes(&self) -> u64 {
        self.starts.last().map_or(0, |(_, plain)| *plain)
    }

    fn find(&self, offset: u64) -> u64 {
        // Of frames that hold nothing the last one begins there, too; so the frame of a byte is never one of them.
        self.starts.partition_point(|(_, plain)| *plain <= offset).saturating_sub(1) as u64
    }

    fn plain(&self, block: u64) -> ByteRange {
        let at = |index: usize| self.starts.get(index).map_or(0, |(_, plain)| *plain);
        at(block as usize)..at(block as usize + 1)
    }

    fn stored(&self, block: u64) -> Result<Stored> {
        let index = block as usize;
        let (Some((from, plain)), Some((to, plain_end))) = (self.starts.get(index), self.starts.get(index + 1)) else {
            return Err(Error::internal("a block that is not in the table"));
        };
        let room = (plain_end - plain) as usize;
        Ok(Stored::Part(Part {
            range: *from..*to,
            codec: Codec::Zstd,
            room,
            exact: true,
            within: 0..room,
            checksum: self.checksums.get(index).copied(),
        }))
    }
}

/// A number of up to four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
