//! The records of a file one after another, as far as they can be followed.

use crate::container::{Key, Record};
use crate::error::{Error, Result};
use crate::file::File;

/// A record and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Offset of its first byte.
    pub at: u64,
    /// Its key, or the length of the gap.
    pub record: Record,
}

impl Placed {
    /// Offset of the first byte behind it.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(match &self.record {
            Record::Key(key) => u64::from(key.nbytes),
            Record::Gap(bytes) => *bytes,
        })
    }
}

/// Why a [`Walk`] ended.
#[derive(Debug)]
pub enum Stop {
    /// The last record ends where the records should.
    End,
    /// Fewer bytes are left than a record's first word has.
    Short,
    /// A word of zeros stands where a record should begin: space that was reserved and never written.
    Zeros,
    /// The record reaches beyond the end.
    Beyond {
        /// Where it would end.
        end: u64,
    },
    /// No key and no gap stands there.
    Unreadable(Error),
}

/// Walks from record to record, as `TFile::Map` does. Records are not listed before they are asked for, and what cannot be
/// followed ends the walk and is no error: [`stop`](Self::stop) says why.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::walk::{Stop, Walk};
/// let file = sapwood::File::open(path)?;
/// let mut walk = Walk::new(&file);
/// let records = walk.by_ref().count();
/// println!("{records} records, then {:?} at {}", walk.stop(), walk.at());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Walk<'f> {
    file: &'f File,
    at: u64,
    end: u64,
    stop: Option<Stop>,
}

impl<'f> Walk<'f> {
    /// From `fBEGIN` to `fEND`; where a file was never closed, or is shorter than its header says, to the last byte.
    pub fn new(file: &'f File) -> Self {
        let (header, len) = (file.header(), file.identity().len);
        let end = if file.is_recovered() { len } else { header.end.min(len) };
        Self { file, at: u64::from(header.begin), end, stop: None }
    }

    /// Where the next record would begin.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Where the last record should end.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Why it ended; none while it goes on.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    fn step(&mut self) -> Result<Placed, Stop> {
        if self.at == self.end {
            return Err(Stop::End);
        }
        if self.at > self.end || self.end - self.at < 4 {
            return Err(Stop::Short);
        }
        let record = record_at(self.file, self.at, self.end).map_err(Stop::Unreadable)?;
        let placed = Placed { at: self.at, record };
        match placed.end() {
            end if end == self.at => Err(Stop::Zeros),
            end if end > self.end => Err(Stop::Beyond { end }),
            // A gap's own mark takes four bytes; a shorter one would lead back into itself.
            end if end - self.at < 4 => Err(Stop::Unreadable(Error::malformed("a record of less than four bytes"))),
            end => {
                self.at = end;
                Ok(placed)
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Placed;

    fn next(&mut self) -> Option<Placed> {
        if self.stop.is_some() {
            return None;
        }
        match self.step() {
            Ok(placed) => Some(placed),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }
}

/// The key or gap at an offset; `end` bounds what is read.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where neither stands there.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::walk::record_at;
/// let file = sapwood::File::open(path)?;
/// let first = record_at(&file, u64::from(file.header().begin), file.identity().len)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn record_at(file: &File, at: u64, end: u64) -> Result<Record> {
    /// Most keys are shorter. None is longer than 64 KiB, for `fKeylen` has 16 bits.
    const USUAL_BYTES: u64 = 512;
    const MOST_BYTES: u64 = 1 << 16;
    let end = end.min(file.identity().len);
    let read = |bytes: u64| {
        let range = at.min(end)..at.saturating_add(bytes).min(end);
        file.read_raw(&[range]).map(|read| read.into_iter().next().unwrap_or_default())
    };
    Key::parse_record(&read(USUAL_BYTES)?)
        .or_else(|_| Key::parse_record(&read(MOST_BYTES)?))
        .map_err(|error| error.at(at))
}

/// The key at an offset.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where none stands there.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let infos = sapwood::inspect::walk::key_at(&file, file.header().seek_info)?;
/// assert_eq!(&*infos.name, "StreamerInfo");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn key_at(file: &File, at: u64) -> Result<Key> {
    match record_at(file, at, u64::MAX)? {
        Record::Key(key) => Ok(key),
        Record::Gap(_) => Err(Error::malformed("a gap stands where a record should").at(at)),
    }
}
