//! The records of a file one after another, as far as they can be followed.

use super::{File, Inner};
use crate::container::{Key, Record};
use crate::error::{Error, Result};

/// A record and its range.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let first = sapwood::inspect::walk::Walk::new(&file).next().expect("a record");
/// assert!(first.end() > u64::from(file.header().begin));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Offset of its first byte.
    pub at: u64,
    /// Its key, or the length of the gap.
    pub record: Record,
}

impl Placed {
    /// Offset of the first byte after it.
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
    /// The last record ends at the expected end.
    End,
    /// Fewer bytes are left than a record's first word has.
    Short,
    /// A word of zeros where a record should begin: space that was reserved and never written.
    Zeros,
    /// The record reaches beyond the end.
    Beyond(Placed),
    /// Neither a key nor a gap.
    Unreadable(Error),
}

/// Walks from record to record, as `TFile::Map` does. Records are read lazily, and one that cannot be read ends the
/// walk without an error: [`stop`](Self::stop) says why.
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
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let mut walk = sapwood::inspect::walk::Walk::new(&file);
/// let first = walk.next().expect("a record");
/// assert_eq!((walk.at(), walk.end()), (first.end(), file.header().end));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Walk<'f> {
    file: &'f Inner,
    at: u64,
    end: u64,
    stop: Option<Stop>,
}

impl File {
    /// Whether records stand behind the end that its header names: those of a writer that was killed, or is at work.
    /// What ROOT leaves there of a file that became shorter are none.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// assert!(!sapwood::File::open(path)?.has_unsaved());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn has_unsaved(&self) -> bool {
        Walk::behind(self).any(|placed| matches!(&placed.record, Record::Key(key) if key.seek_key == placed.at))
    }
}

impl<'f> Walk<'f> {
    /// From `fBEGIN` to `fEND`; where a file was never closed, or is shorter than its header says, to the last byte.
    pub fn new(file: &'f File) -> Self {
        Self::of(&file.0)
    }

    pub(super) fn of(file: &'f Inner) -> Self {
        let len = file.identity.len;
        let end = if file.recovered { len } else { file.header.end.min(len) };
        Self { file, at: u64::from(file.header.begin), end, stop: None }
    }

    /// From the end that the header knows to the last byte; where the file was never closed, from the first record.
    pub(crate) fn behind(file: &'f File) -> Self {
        let header = file.header();
        let at = if file.is_recovered() { u64::from(header.begin) } else { header.end };
        Self { file: &file.0, at, end: file.identity().len, stop: None }
    }

    /// The offset at which the next record would begin.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The offset at which the last record should end.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Why it ended; none while it continues.
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
        let record = self.file.record_at(self.at).map_err(Stop::Unreadable)?;
        let placed = Placed { at: self.at, record };
        match placed.end() {
            end if end == self.at => Err(Stop::Zeros),
            end if end > self.end => Err(Stop::Beyond(placed)),
            // A gap's own marker has four bytes; a shorter gap would lead back into itself.
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

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("at", &self.at).field("end", &self.end).field("stop", &self.stop).finish()
    }
}

impl Inner {
    /// Reads the record at an offset: a key, or the marker of a gap.
    pub(super) fn record_at(&self, at: u64) -> Result<Record> {
        /// Most keys are shorter. None is longer than 64 KiB, for `fKeylen` has 16 bits.
        const USUAL_BYTES: u64 = 512;
        const MOST_BYTES: u64 = 1 << 16;
        let first = self.read_up_to(at, USUAL_BYTES)?;
        Key::parse_record(&first)
            .or_else(|_| Key::parse_record(&self.read_up_to(at, MOST_BYTES)?))
            .map_err(|error| error.at(at))
    }

    /// The key at an offset.
    pub(super) fn key_at(&self, at: u64) -> Result<Key> {
        match self.record_at(at)? {
            Record::Key(key) => Ok(key),
            Record::Gap(_) => Err(Error::malformed("a gap where a record was expected").at(at)),
        }
    }

    /// All records, and the one that the file was cut in. Where a file was never closed they end where no record
    /// stands.
    pub(super) fn records(&self) -> Result<Vec<Placed>> {
        let mut walk = Walk::of(self);
        let mut records: Vec<Placed> = walk.by_ref().collect();
        match walk.stop {
            Some(Stop::Unreadable(error)) if !self.recovered || !error.is_about_bytes() => return Err(error),
            Some(Stop::Beyond(placed)) => records.push(placed),
            _ => {}
        }
        Ok(records)
    }
}
