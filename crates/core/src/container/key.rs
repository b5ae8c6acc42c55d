//! The key, which precedes every record.
//!
//! Format page: `docs/format/container.md`. Source: `TKey::ReadKeyBuffer`, `TKey::Streamer`.

use std::sync::Arc;

use super::header::BIG_FILE;
use crate::error::{Error, Result};
use crate::wire::{Reader, Writer, text};

/// Added to the version of a key with 64-bit offsets.
const BIG_KEY: i16 = 1000;
/// `fSeekPdir` carries the ProcessID offset above this bit.
const PID_SHIFT: u32 = 48;
// Offsets of the fields of a key in its record.
const VERSION_AT: usize = 4;
const OBJLEN_AT: usize = 6;
const CYCLE_AT: usize = 16;
const SEEK_KEY_AT: usize = 18;
const SMALL_SEEK_PDIR_AT: usize = 22;
const BIG_SEEK_PDIR_AT: usize = 26;

/// `TKey`: name, class, place and length of a record.
///
/// # Example
///
/// ```
/// use sapwood::container::Key;
/// let key = Key { class: "TNamed".into(), name: "n".into(), objlen: 20, ..Key::default() }.sized(20);
/// assert_eq!(Key::read(&key.to_bytes())?, key);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let key = sapwood::File::open(path)?.key("Events")?;
/// assert_eq!((key.class.as_ref(), key.is_compressed()), ("TTree", true));
/// assert_eq!(key.stored_bytes(), key.nbytes - u32::from(key.keylen));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// `fNbytes`: bytes of the whole record, key included.
    pub nbytes: u32,
    /// `fVersion`, above 1000 with 64-bit offsets.
    pub version: i16,
    /// `fObjlen`: bytes of the payload once inflated.
    pub objlen: u32,
    /// `fDatime`, packed as ROOT packs it.
    pub datime: u32,
    /// `fKeylen`: bytes of the key itself.
    pub keylen: u16,
    /// `fCycle`.
    pub cycle: u16,
    /// `fSeekKey`: the offset of the record.
    pub seek_key: u64,
    /// `fSeekPdir`: the offset of its directory's record.
    pub seek_pdir: u64,
    /// ProcessID offset, the top 16 bits of a 64-bit `fSeekPdir`.
    pub pid_offset: u16,
    /// `fClassName`.
    pub class: Arc<str>,
    /// `fName`.
    pub name: Arc<str>,
    /// `fTitle`.
    pub title: Arc<str>,
}

impl Default for Key {
    fn default() -> Self {
        Self {
            nbytes: 0,
            version: 4,
            objlen: 0,
            datime: 0,
            keylen: 0,
            cycle: 1,
            seek_key: 0,
            seek_pdir: 0,
            pid_offset: 0,
            class: "".into(),
            name: "".into(),
            title: "".into(),
        }
    }
}

/// What a record's first word says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A key and its payload.
    Key(Key),
    /// A gap of so many bytes (negative length).
    Gap(u64),
}

impl Key {
    /// Reads a key from its first byte on.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        Self::parse(&mut Reader::new(bytes))
    }

    /// Reads one key and leaves the reader behind its title: in lists of keys of ROOT 5.32 and earlier that is not
    /// where `keylen` says.
    #[doc(hidden)]
    pub fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        Self::parse_with(reader, |name| text(name).into())
    }

    /// Reads one key and leaves its names empty: allocates nothing. For baskets, whose branch knows them.
    pub(crate) fn parse_nameless(reader: &mut Reader<'_>) -> Result<Self> {
        Self::parse_with(reader, |_| Arc::default())
    }

    fn parse_with(reader: &mut Reader<'_>, name: fn(&[u8]) -> Arc<str>) -> Result<Self> {
        let at = reader.position() as u64;
        let nbytes = reader.i32()?;
        let version = reader.i16()?;
        let objlen = reader.i32()?;
        let datime = reader.u32()?;
        let keylen = reader.u16()?;
        let cycle = reader.u16()?;
        let (seek_key, seek_pdir) = if version > BIG_KEY {
            (reader.u64()?, reader.u64()?)
        } else {
            (u64::from(reader.u32()?), u64::from(reader.u32()?))
        };
        let key = Self {
            nbytes: u32::try_from(nbytes).map_err(|_| Error::malformed("a key has a negative length").at(at))?,
            version,
            objlen: u32::try_from(objlen).map_err(|_| Error::malformed("a key has a negative object length").at(at))?,
            datime,
            keylen,
            cycle,
            seek_key,
            seek_pdir: if version > BIG_KEY { seek_pdir & ((1 << PID_SHIFT) - 1) } else { seek_pdir },
            pid_offset: if version > BIG_KEY { (seek_pdir >> PID_SHIFT) as u16 } else { 0 },
            class: name(reader.string()?),
            name: name(reader.string()?),
            title: name(reader.string()?),
        };
        // A basket in its tree's record was never written: its key has no length.
        if (key.nbytes != 0 && key.nbytes < u32::from(keylen)) || version < 0 {
            return Err(Error::malformed("a record is shorter than its key")
                .at(at)
                .wanted(u64::from(keylen), u64::from(key.nbytes)));
        }
        Ok(key)
    }

    /// Reads the beginning of a record: a key, or the marker of a gap.
    #[doc(hidden)]
    pub fn parse_record(bytes: &[u8]) -> Result<Record> {
        let mut reader = Reader::new(bytes);
        let nbytes = reader.i32()?;
        if nbytes < 0 {
            return Ok(Record::Gap(u64::from(nbytes.unsigned_abs())));
        }
        Self::read(bytes).map(Record::Key)
    }

    /// The marker of a gap of so many bytes: a negative length.
    pub(crate) fn gap_marker(bytes: u32) -> [u8; 4] {
        0_u32.wrapping_sub(bytes).to_be_bytes()
    }

    /// The length that a record begins with; none where the record is shorter than that.
    pub(crate) fn length_of(record: &[u8]) -> Option<u64> {
        record.first_chunk().map(|word| u64::from(u32::from_be_bytes(*word)))
    }

    /// Bytes of the payload as stored.
    pub fn stored_bytes(&self) -> u32 {
        self.nbytes.saturating_sub(u32::from(self.keylen))
    }

    /// Whether the payload is compressed. An inequality: some payloads are followed by unused bytes.
    pub fn is_compressed(&self) -> bool {
        self.objlen > self.stored_bytes()
    }

    /// Whether offsets take 64 bits.
    pub fn is_big(&self) -> bool {
        self.version > BIG_KEY
    }

    /// The key with `keylen` and `nbytes` set for a payload of `stored` bytes.
    #[must_use]
    pub fn sized(mut self, stored: u32) -> Self {
        self.keylen = self.to_bytes().len() as u16;
        self.nbytes = u32::from(self.keylen) + stored;
        self
    }

    /// The key with references that count from another ProcessID on: only a key with offsets of 64 bits can say so.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::container::Key;
    /// let key = Key::default().with_pid_offset(3);
    /// assert!(key.is_big() && key.pid_offset == 3);
    /// assert!(!Key::default().with_pid_offset(0).is_big());
    /// ```
    #[must_use]
    pub fn with_pid_offset(mut self, offset: u16) -> Self {
        if offset > 0 && !self.is_big() {
            self.version += BIG_KEY;
        }
        self.pid_offset = offset;
        self
    }

    /// Whether it holds a directory: subclasses of `TFile` are directories, too.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::container::Key;
    /// assert!(Key { class: "TDirectoryFile".into(), ..Key::default() }.is_directory());
    /// ```
    pub fn is_directory(&self) -> bool {
        let class = &*self.class;
        matches!(class, "TDirectory" | "TDirectoryFile" | "TFile")
            || (class.starts_with('T') && class.ends_with("File"))
    }

    /// Whether it holds a tree.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::container::Key;
    /// assert!(Key { class: "TNtuple".into(), ..Key::default() }.is_tree());
    /// ```
    pub fn is_tree(&self) -> bool {
        matches!(&*self.class, "TTree" | "TNtuple" | "TNtupleD")
    }

    /// Whether it is an RNTuple, whose pages are no records of its own.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::container::Key;
    /// assert!(Key { class: "ROOT::RNTuple".into(), ..Key::default() }.is_ntuple());
    /// ```
    pub fn is_ntuple(&self) -> bool {
        matches!(&*self.class, "ROOT::RNTuple" | "ROOT::Experimental::RNTuple")
    }

    /// Whether it holds what has entries: a tree or an RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::container::Key;
    /// assert!(Key { class: "ROOT::RNTuple".into(), ..Key::default() }.has_entries());
    /// assert!(!Key { class: "TH1D".into(), ..Key::default() }.has_entries());
    /// ```
    pub fn has_entries(&self) -> bool {
        self.is_tree() || self.is_ntuple()
    }

    /// Bytes of the key of a blob: a record of an RNTuple, which no directory lists.
    pub(crate) const BLOB_BYTES: u64 = 42;
    const BLOB_CLASS: &str = "RBlob";

    /// The key of a blob of `stored` bytes, without its location.
    pub(crate) fn blob(datime: u32, seek_pdir: u64, stored: u32, objlen: u32) -> Self {
        Self { version: 1004, class: Self::BLOB_CLASS.into(), datime, objlen, seek_pdir, ..Self::default() }
            .sized(stored)
    }

    /// Whether the record is a blob: a part of an RNTuple, which no directory lists.
    pub(crate) fn is_blob(&self) -> bool {
        &*self.class == Self::BLOB_CLASS
    }

    /// Whether the record is a blob at `start` in the form that ROOT and this engine write.
    pub(crate) fn is_blob_at(&self, start: u64) -> bool {
        self.is_blob() && self.seek_key == start && u64::from(self.keylen) == Self::BLOB_BYTES
    }

    /// The range of the file with the key and its payload.
    pub(crate) fn room(&self) -> std::ops::Range<u64> {
        self.seek_key..self.seek_key.saturating_add(u64::from(self.nbytes))
    }

    /// Where its payload begins.
    pub(crate) fn payload_at(&self) -> u64 {
        self.seek_key.saturating_add(u64::from(self.keylen))
    }

    /// The key in its stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u32(self.nbytes);
        writer.i16(self.version);
        writer.u32(self.objlen);
        writer.u32(self.datime);
        writer.u16(self.keylen);
        writer.u16(self.cycle);
        if self.is_big() {
            writer.u64(self.seek_key);
            writer.u64(self.seek_pdir | u64::from(self.pid_offset) << PID_SHIFT);
        } else {
            writer.u32(self.seek_key as u32);
            writer.u32(self.seek_pdir as u32);
        }
        writer.string(self.class.as_bytes());
        writer.string(self.name.as_bytes());
        writer.string(self.title.as_bytes());
        writer.into_bytes()
    }

    /// Bytes of a key up to the end of the last word that [`patch_location`](Self::patch_location) writes.
    pub(crate) const PATCHED_BYTES: usize = 34;

    /// Writes `fCycle`, `fSeekKey` and `fSeekPdir` into a finished record; the ProcessID offset in it stays.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the key has 32-bit offsets and these are larger,
    /// [`Malformed`](crate::ErrorKind::Malformed) where the record is shorter than a key.
    pub(crate) fn patch_location(record: &mut [u8], seek_key: u64, seek_pdir: u64, cycle: u16) -> Result<()> {
        let is_big = Self::is_big_record(record)?;
        let mut put = |at: usize, word: &[u8]| {
            let room = record.get_mut(at..at + word.len()).ok_or_else(Self::short);
            room.map(|room| room.copy_from_slice(word))
        };
        put(CYCLE_AT, &cycle.to_be_bytes())?;
        if is_big {
            put(SEEK_KEY_AT, &seek_key.to_be_bytes())?;
            // The upper two bytes are the ProcessID offset.
            return put(BIG_SEEK_PDIR_AT + 2, &seek_pdir.to_be_bytes()[2..]);
        }
        if seek_key > BIG_FILE || seek_pdir > BIG_FILE {
            return Err(Error::unsupported("a key with 32-bit offsets cannot be placed after 2 GB").at(seek_key));
        }
        put(SEEK_KEY_AT, &(seek_key as u32).to_be_bytes())?;
        put(SMALL_SEEK_PDIR_AT, &(seek_pdir as u32).to_be_bytes())
    }

    /// Adds to the ProcessID offset in a finished record, from which the references in it count.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the key has 32-bit offsets and so no ProcessID offset,
    /// [`Limit`](crate::ErrorKind::Limit) above 65,535.
    pub(crate) fn shift_pid_offset(record: &mut [u8], more: u16) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        if !Self::is_big_record(record)? {
            return Err(Error::unsupported("a key with 32-bit offsets has no ProcessID offset for its references"));
        }
        let word = record.get_mut(BIG_SEEK_PDIR_AT..BIG_SEEK_PDIR_AT + 2).ok_or_else(Self::short)?;
        let offset = u16::from_be_bytes([word[0], word[1]]);
        let sum = offset.checked_add(more).ok_or_else(|| {
            let words = "references name objects of too many processes";
            Error::limit(words, u16::MAX.into(), u64::from(offset) + u64::from(more))
        })?;
        word.copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// Writes the lengths of a finished record: `fNbytes` and `fObjlen`.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where the record is shorter than a key.
    pub(crate) fn patch_lengths(record: &mut [u8], nbytes: u32, objlen: u32) -> Result<()> {
        for (at, word) in [(0, nbytes), (OBJLEN_AT, objlen)] {
            record.get_mut(at..at + 4).ok_or_else(Self::short)?.copy_from_slice(&word.to_be_bytes());
        }
        Ok(())
    }

    /// Whether the offsets in the key of a record have 64 bits.
    fn is_big_record(record: &[u8]) -> Result<bool> {
        let version = record.get(VERSION_AT..VERSION_AT + 2).and_then(|word| word.try_into().ok());
        version.map(|word| i16::from_be_bytes(word) > BIG_KEY).ok_or_else(Self::short)
    }

    fn short() -> Error {
        Error::malformed("a record is shorter than its key")
    }
}

/// Packs seconds since 1970 as `TDatime` does: UTC, from 1995 on.
///
/// # Example
///
/// ```
/// use sapwood::container::{datime, datime_text};
/// assert_eq!(datime_text(datime(1_763_756_580)), "2025-11-21 20:23:00");
/// assert_eq!(datime_text(datime(0)), "1995-01-01 00:00:00");
/// ```
pub fn datime(seconds: u64) -> u32 {
    /// 1995-01-01.
    const FIRST: u64 = 788_918_400;
    let seconds = seconds.max(FIRST);
    let (days, second) = (seconds / 86_400, (seconds % 86_400) as u32);
    // Days since 0000-03-01: years begin in March, so that leap days come last.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (month, day) = ((shifted + 2) % 12 + 1, of_year - (153 * shifted + 2) / 5 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let year = year.saturating_sub(1995).min(63) as u32;
    let date = (year << 26) | ((month as u32) << 22) | ((day as u32) << 17);
    date | ((second / 3600) << 12) | ((second / 60 % 60) << 6) | (second % 60)
}

/// A packed `TDatime` as `2026-11-21 20:23:00`.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::container::datime_text(0), "1995-00-00 00:00:00");
/// ```
pub fn datime_text(packed: u32) -> String {
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        (packed >> 26) + 1995,
        packed >> 22 & 15,
        packed >> 17 & 31,
        packed >> 12 & 31,
        packed >> 6 & 63,
        packed & 63
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_offset_forms_come_back() {
        let small = Key { class: "TTree".into(), name: "t".into(), title: "x".into(), seek_key: 100, ..Key::default() };
        let small = small.sized(10);
        assert_eq!(Key::read(&small.to_bytes()).unwrap(), small);
        let big = Key { version: 1004, seek_key: 1 << 35, seek_pdir: 100, pid_offset: 3, ..small }.sized(10);
        assert_eq!(Key::read(&big.to_bytes()).unwrap(), big);
    }

    #[test]
    fn a_record_is_patched_as_if_it_had_been_written_so() {
        for version in [4, 1004] {
            let key = Key { version, class: "TBasket".into(), name: "b".into(), title: "t".into(), ..Key::default() };
            let mut record = key.clone().sized(0).to_bytes();
            Key::patch_location(&mut record, 1000, 100, 7).unwrap();
            Key::patch_lengths(&mut record, 90, 50).unwrap();
            let found = Key::read(&record).unwrap();
            assert_eq!((found.seek_key, found.seek_pdir, found.cycle), (1000, 100, 7));
            assert_eq!((found.nbytes, found.objlen, found.pid_offset), (90, 50, 0));
            assert!(Key::shift_pid_offset(&mut record, 0).is_ok());
            if version == 4 {
                assert!(Key::patch_location(&mut record, 1 << 33, 100, 7).is_err(), "32 bits hold no such offset");
                assert!(Key::shift_pid_offset(&mut record, 3).is_err(), "there is no such word");
                continue;
            }
            Key::shift_pid_offset(&mut record, 3).unwrap();
            Key::patch_location(&mut record, 1 << 33, 1 << 34, 8).unwrap();
            let found = Key::read(&record).unwrap();
            assert_eq!((found.seek_key, found.seek_pdir, found.pid_offset), (1 << 33, 1 << 34, 3));
            assert!(Key::shift_pid_offset(&mut record, u16::MAX).is_err(), "too many");
        }
        assert!(Key::patch_location(&mut [0; 20], 1, 1, 1).is_err(), "short");
    }

    #[test]
    fn the_key_of_a_blob_has_its_length() {
        let key = Key { seek_key: 1 << 35, ..Key::blob(1, 100, 5, 5) };
        assert_eq!(key.to_bytes().len() as u64, Key::BLOB_BYTES);
        let found = Key::read(&key.to_bytes()).unwrap();
        assert!(found.is_blob_at(1 << 35) && !found.is_blob_at(100));
        assert!(!Key { class: "TBasket".into(), ..found }.is_blob());
    }

    #[test]
    fn a_negative_length_is_a_gap() {
        assert_eq!(Key::parse_record(&(-40_i32).to_be_bytes()).unwrap(), Record::Gap(40));
        assert_eq!(Key::parse_record(&Key::gap_marker(2_000_000_000)).unwrap(), Record::Gap(2_000_000_000));
        let record = Key { name: "n".into(), ..Key::default() }.sized(4).to_bytes();
        assert_eq!(Key::length_of(&record), Some(u64::from(Key::read(&record).unwrap().nbytes)));
        assert_eq!(Key::length_of(&record[..3]), None);
    }

    #[test]
    fn a_record_shorter_than_its_key_is_refused() {
        let mut bytes = Key { name: "n".into(), ..Key::default() }.sized(4).to_bytes();
        bytes[..4].copy_from_slice(&3_u32.to_be_bytes());
        assert!(Key::read(&bytes).is_err());
    }
}
