//! The copy of a whole file, whose parts are compared with their checksums when they are first read.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};

use sapwood::Result;
use sapwood::io::{ByteRange, Ends, LocalFile, Receive, Store, load};
use twox_hash::XxHash64;

use super::about::{About, PART_BYTES};

/// The part was not read since the copy was opened.
const UNREAD: u8 = 0;
/// Its checksum was right.
const GOOD: u8 = 1;
/// It is damaged and could not be repaired: it is read where it came from.
const DAMAGED: u8 = 2;

/// A copy that is open.
#[derive(Debug)]
pub(crate) struct CheckedCopy {
    file: LocalFile,
    path: PathBuf,
    about: About,
    parts: Vec<AtomicU8>,
}

impl CheckedCopy {
    pub(crate) fn new(file: LocalFile, path: PathBuf, about: About) -> Self {
        let parts = about.sums.iter().map(|_| AtomicU8::new(UNREAD)).collect();
        Self { file, path, about, parts }
    }

    /// Both ends. Damaged parts are fetched from `source` again.
    pub(crate) fn ends(&self, head: usize, tail: usize, source: &dyn Store) -> Result<Ends> {
        let len = self.about.state.len;
        let ranges = [0..len.min(head as u64), len - len.min(tail as u64)..len];
        if self.is_good(&ranges, source)? { self.file.ends(head, tail) } else { source.ends(head, tail) }
    }

    /// Reads ranges. Damaged parts are fetched from `source` again.
    pub(crate) fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive, source: &dyn Store) -> Result<()> {
        if self.is_good(ranges, source)? {
            self.file.read_ranges(ranges, into)
        } else {
            source.read_ranges(ranges, into)
        }
    }

    /// Whether the copy has the right bytes of all these ranges, once what is damaged was repaired.
    fn is_good(&self, ranges: &[ByteRange], source: &dyn Store) -> Result<bool> {
        let mut good = true;
        for range in ranges.iter().filter(|range| range.start < range.end) {
            for number in range.start / PART_BYTES..range.end.min(self.about.state.len).div_ceil(PART_BYTES) {
                good &= self.part(number, source)?;
            }
        }
        Ok(good)
    }

    fn part(&self, number: u64, source: &dyn Store) -> Result<bool> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let (Some(state), Some(sum)) = (self.parts.get(index), self.about.sums.get(index)) else { return Ok(false) };
        match state.load(Ordering::Relaxed) {
            GOOD => return Ok(true),
            DAMAGED => return Ok(false),
            _ => {}
        }
        let start = number * PART_BYTES;
        let range = start..(start + PART_BYTES).min(self.about.state.len);
        let is_right = |bytes: &[u8]| XxHash64::oneshot(0, bytes) == *sum;
        // A copy that cannot be read, or is cut off, is damaged as well.
        let kept_is_right = || {
            load(&self.file, std::slice::from_ref(&range))
                .is_ok_and(|kept| kept.first().is_some_and(|kept| is_right(kept)))
        };
        let mut good = kept_is_right();
        if !good {
            let fetched = load(source, std::slice::from_ref(&range))?;
            // Where the source has other bytes, or the copy cannot be written, it stays as it is.
            good = fetched.first().is_some_and(|bytes| {
                let write = || OpenOptions::new().write(true).open(&self.path)?.write_all_at(bytes, start);
                is_right(bytes) && write().is_ok()
            }) && kept_is_right();
        }
        state.store(if good { GOOD } else { DAMAGED }, Ordering::Relaxed);
        Ok(good)
    }
}
