//! A file of blocks: a head that says of which state of which file, a table of checksums, and a place for each block.
//!
//! Any number of processes write to the same segment without a lock: a block has one place and, in one state of a file,
//! one content; it counts as kept once its checksum is in the table, and is compared with it whenever it is read.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use sapwood::io::ByteRange;
use twox_hash::XxHash3_64;

use super::folder::Folder;
use super::state::State;

/// Bytes of a block. Of baskets that lie apart, not much more than they are is asked for.
pub(crate) const BLOCK_BYTES: u64 = 1 << 10;
/// Blocks of a segment: 16 MB. What is removed goes by segments.
pub(crate) const BLOCKS: u64 = (16 << 20) / BLOCK_BYTES;

const MAGIC: &[u8; 8] = b"SWBLOCK3";
pub(crate) const HEAD_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 16;
const TABLE_BYTES: usize = BLOCKS as usize * ENTRY_BYTES;
/// Where the first block is.
pub(crate) const DATA_AT: u64 = (HEAD_BYTES + TABLE_BYTES) as u64;
/// Seconds before a segment that is read is marked as used again.
const MARK_SECONDS: u64 = 60;

/// Entries that are read at once, a page: those of 256 KiB.
const PART: usize = 256;

/// Blocks that a range touches.
pub(crate) fn blocks(range: &ByteRange) -> Range<u64> {
    range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)
}

/// Checksums of the blocks of a segment, as they were when one of their page was first looked up.
#[derive(Debug)]
pub(crate) struct Table([Option<Box<[Option<u64>; PART]>>; BLOCKS as usize / PART]);

impl Default for Table {
    fn default() -> Self {
        Self([const { None }; BLOCKS as usize / PART])
    }
}

impl Table {
    /// The checksum of a block; none where it is not kept.
    pub(crate) fn sum(&mut self, segment: &Segment, slot: u64) -> Option<u64> {
        let (part, entry) = (slot as usize / PART, slot as usize % PART);
        *self.0.get_mut(part)?.get_or_insert_with(|| segment.entries(part)).get(entry)?
    }
}

/// A segment that is open.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    number: u64,
    seed: u64,
    writes: bool,
    opened: Instant,
    /// Seconds after `opened`.
    marked: AtomicU64,
}

/// The file name of a segment, behind the number of its state.
pub(crate) fn ending(number: u64) -> String {
    format!("{number:08x}.blocks")
}

/// The head of a segment.
fn head(state: &State, number: u64) -> Option<Vec<u8>> {
    let text = state.text()?;
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&number.to_le_bytes());
    head.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    (head.len() <= HEAD_BYTES).then(|| {
        head.resize(HEAD_BYTES, 0);
        head
    })
}

/// What the head of a segment says.
pub(crate) fn parse_head(found: &[u8]) -> Option<(State, u64)> {
    let rest = found.strip_prefix(MAGIC)?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let text = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let state = State::parse(std::str::from_utf8(text).ok()?)?;
    let number = u64::from_le_bytes(*number);
    (head(&state, number)? == found).then_some((state, number))
}

impl Segment {
    /// The segment of that number, if there is one; else a new one if that is wanted.
    pub(crate) fn open(folder: &Folder, state: &State, number: u64, create: bool) -> io::Result<Option<Self>> {
        let Some(head) = head(state, number) else { return Ok(None) };
        let path = folder.of_state(state, &ending(number));
        // Twice: another process may be first, or remove what we found.
        for _ in 0..2 {
            if let Some((file, writes)) = open_file(&path)? {
                let segment = Self::new(file, state, number, writes);
                let mut found = vec![0; HEAD_BYTES];
                if segment.file.read_exact_at(&mut found, 0).is_ok() && found == head {
                    segment.mark();
                    return Ok(Some(segment));
                }
                // Damaged, or of another state with the same number.
                if !create {
                    return Ok(None);
                }
                std::fs::remove_file(&path)?;
            }
            if !create {
                return Ok(None);
            }
            let staged = folder.stage(&path)?;
            staged.file.write_all_at(&head, 0)?;
            staged.file.set_len(DATA_AT)?;
            let file = staged.file.try_clone()?;
            match staged.publish_new() {
                Ok(()) => return Ok(Some(Self::new(file, state, number, true))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn new(file: File, state: &State, number: u64, writes: bool) -> Self {
        let seed = state.number() as u64;
        Self { file, number, seed, writes, opened: Instant::now(), marked: AtomicU64::new(0) }
    }

    /// A segment that is only looked at.
    pub(crate) fn of_file(file: File, state: &State, number: u64) -> Self {
        Self::new(file, state, number, false)
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether blocks can be written to it and will be found: the file may have been removed.
    pub(crate) fn takes(&self) -> bool {
        self.writes && self.file.metadata().is_ok_and(|about| about.nlink() > 0)
    }

    /// Notes that it is used, so that it stays.
    fn mark(&self) {
        // Where it cannot be noted, it goes earlier.
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// A part of the table. An entry is a checksum and its complement: what was written in part is no entry.
    fn entries(&self, part: usize) -> Box<[Option<u64>; PART]> {
        const PART_BYTES: usize = PART * ENTRY_BYTES;
        let mut entries = Box::new([None; PART]);
        let mut bytes = [0; PART_BYTES];
        if self.file.read_exact_at(&mut bytes, (HEAD_BYTES + part * PART_BYTES) as u64).is_err() {
            return entries;
        }
        for (entry, bytes) in entries.iter_mut().zip(bytes.chunks_exact(ENTRY_BYTES)) {
            if let Some((sum, rest)) = bytes.split_first_chunk::<8>()
                && let Some((complement, _)) = rest.split_first_chunk::<8>()
            {
                let (sum, complement) = (u64::from_le_bytes(*sum), u64::from_le_bytes(*complement));
                *entry = (sum == !complement).then_some(sum);
            }
        }
        let seconds = self.opened.elapsed().as_secs();
        if seconds >= self.marked.load(Ordering::Relaxed) + MARK_SECONDS {
            self.marked.store(seconds, Ordering::Relaxed);
            self.mark();
        }
        entries
    }

    /// The checksum of a block. Blocks that were mixed up do not pass for one another.
    fn sum(&self, slot: u64, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed ^ (self.number.wrapping_mul(BLOCKS).wrapping_add(slot)), bytes)
    }

    /// Reads neighbouring blocks; gives for each whether it is what it was. The last may be shorter.
    pub(crate) fn read(&self, slot: u64, table: &mut Table, into: &mut [u8]) -> Vec<bool> {
        let whole = self.file.read_exact_at(into, DATA_AT + slot * BLOCK_BYTES).is_ok();
        let blocks = into.chunks_mut(BLOCK_BYTES as usize).zip(slot..);
        let good = |(bytes, slot): (&mut [u8], u64)| {
            // Where the file ends in one of them, those before it may be good.
            let read = whole || self.file.read_exact_at(bytes, DATA_AT + slot * BLOCK_BYTES).is_ok();
            read && table.sum(self, slot) == Some(self.sum(slot, bytes))
        };
        blocks.map(good).collect()
    }

    /// Keeps neighbouring blocks. Their checksums are written after them: a process that dies between leaves none.
    pub(crate) fn write(&self, slot: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, DATA_AT + slot * BLOCK_BYTES)?;
        let mut entries = Vec::new();
        for (block, slot) in bytes.chunks(BLOCK_BYTES as usize).zip(slot..) {
            let sum = self.sum(slot, block);
            entries.extend_from_slice(&sum.to_le_bytes());
            entries.extend_from_slice(&(!sum).to_le_bytes());
        }
        self.file.write_all_at(&entries, HEAD_BYTES as u64 + slot * ENTRY_BYTES as u64)
    }
}

/// Opens a file, to write as well where that is allowed.
fn open_file(path: &std::path::Path) -> io::Result<Option<(File, bool)>> {
    let opened = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => File::open(path).map(|file| (file, false)),
    };
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
