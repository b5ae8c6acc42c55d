//! The directory of an archive, which is at its end.

use bytes::Bytes;
use sapwood::io::{Ends, Store, load};
use sapwood::{Error, Result};

/// What is read of the end: the end record with the longest comment, and what is in front of it.
pub(in crate::packed) const TAIL_BYTES: usize = 128 << 10;

const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const LOCATOR_MAGIC: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
const END64_MAGIC: [u8; 4] = *b"PK\x06\x06";
const END64_BYTES: u64 = 56;
const ENTRY_MAGIC: [u8; 4] = *b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
/// A directory that is read: of some million members.
const MOST_BYTES: u64 = 256 << 20;
/// Names that an error shows.
const MOST_SHOWN: usize = 5;

/// A member, as the directory knows it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed_bytes: u64,
    pub(super) bytes: u64,
    /// Where its own header is.
    pub(super) local_at: u64,
    /// Where members end, and the directory begins.
    pub(super) most_end: u64,
}

/// A record of little-endian numbers, of which those beyond its end are zero.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn u16(&self, at: usize) -> u16 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn u32(&self, at: usize) -> u32 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(&self, at: usize) -> u64 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Where the directory is.
struct Directory {
    at: u64,
    bytes: u64,
    /// Bytes in front of the archive, such as a program that extracts it.
    shift: u64,
}

/// Finds a member by its name.
pub(super) fn find(inner: &dyn Store, ends: &Ends, name: &str) -> Result<Entry> {
    let len = ends.identity.len;
    let directory = locate(inner, ends)?;
    let tail_at = len - ends.tail.len() as u64;
    let range = directory.at..directory.at + directory.bytes;
    let records = match usize::try_from(range.start.wrapping_sub(tail_at)).ok().filter(|_| range.start >= tail_at) {
        Some(from) => ends.tail.slice(from..from + directory.bytes as usize),
        None => load(inner, std::slice::from_ref(&range))?.pop().unwrap_or_default(),
    };
    search(&records, &directory, name)
}

fn locate(inner: &dyn Store, ends: &Ends) -> Result<Directory> {
    let (tail, len) = (&ends.tail[..], ends.identity.len);
    let tail_at = len - tail.len() as u64;
    // The last one whose comment reaches to the end of the file.
    let is_end = |at: &usize| {
        let record = Record(tail.get(*at..).unwrap_or_default());
        record.0.starts_with(&END_MAGIC) && at + END_BYTES + usize::from(record.u16(20)) == tail.len()
    };
    let Some(end) = (0..=tail.len().saturating_sub(END_BYTES)).rev().find(is_end) else {
        return Err(Error::malformed("this is no zip archive: it has no end of a directory"));
    };
    let record = Record(tail.get(end..).unwrap_or_default());
    let end_at = tail_at + end as u64;
    let disks = (record.u16(4), record.u16(6));
    if ![(0, 0), (0xFFFF, 0xFFFF), (0, 0xFFFF), (0xFFFF, 0)].contains(&disks) {
        return Err(Error::unsupported("an archive in several files: join them first").at(end_at));
    }
    let (mut bytes, mut at) = (u64::from(record.u32(12)), u64::from(record.u32(16)));
    let mut directory_end = end_at;
    let locator = end.checked_sub(LOCATOR_BYTES).and_then(|at| tail.get(at..end)).unwrap_or_default();
    if locator.starts_with(&LOCATOR_MAGIC) {
        let said = Record(locator).u64(8);
        // Where it is if nothing is in front of the archive; else it ends where its locator begins.
        let end64_at = (end_at - LOCATOR_BYTES as u64).checked_sub(END64_BYTES);
        let candidates = [Some(said), end64_at];
        let mut end64 = None;
        for from in candidates.into_iter().flatten() {
            if from.checked_add(END64_BYTES).is_some_and(|to| to <= end_at) {
                let found = load(inner, &[from..from + END64_BYTES])?.pop().unwrap_or_default();
                if found.starts_with(&END64_MAGIC) {
                    end64 = Some((from, found));
                    break;
                }
            }
        }
        let Some((from, found)) = end64 else {
            return Err(Error::malformed("the archive's 64-bit end record is not where it should be").at(said));
        };
        (bytes, at, directory_end) = (Record(&found).u64(40), Record(&found).u64(48), from);
    }
    if bytes > MOST_BYTES {
        return Err(Error::limit("the archive's directory is too long", MOST_BYTES, bytes).at(end_at));
    }
    let Some(found_at) = directory_end.checked_sub(bytes) else {
        let error = Error::malformed("the archive's directory is longer than what is in front of its end");
        return Err(error.at(end_at).wanted(directory_end, bytes));
    };
    let Some(shift) = found_at.checked_sub(at) else {
        let error = Error::malformed("the archive's directory is not where its end says");
        return Err(error.at(end_at).wanted(found_at, at));
    };
    Ok(Directory { at: found_at, bytes, shift })
}

fn search(records: &Bytes, directory: &Directory, name: &str) -> Result<Entry> {
    let mut rest = &records[..];
    let mut shown = Vec::new();
    while !rest.is_empty() {
        let at = directory.at + (records.len() - rest.len()) as u64;
        let record = Record(rest);
        let lengths = [28, 30, 32].map(|at| usize::from(record.u16(at)));
        let total = ENTRY_BYTES + lengths.iter().sum::<usize>();
        let (Some(this), true) = (rest.get(..total), rest.starts_with(&ENTRY_MAGIC)) else {
            return Err(Error::malformed("an entry of the archive's directory is damaged").at(at));
        };
        let [name_bytes, extra_bytes, _] = lengths;
        let found = this.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes).unwrap_or_default();
        if found == name.as_bytes() {
            let extra = this.get(ENTRY_BYTES + name_bytes..ENTRY_BYTES + name_bytes + extra_bytes);
            return entry(&record, extra.unwrap_or_default(), directory).map_err(|error| error.at(at).in_object(name));
        }
        if shown.len() < MOST_SHOWN && !found.ends_with(b"/") {
            shown.push(format!("{:?}", String::from_utf8_lossy(found)));
        }
        rest = rest.get(total..).unwrap_or_default();
    }
    let hint = if shown.is_empty() { "it is empty".to_owned() } else { format!("it begins with {}", shown.join(", ")) };
    Err(Error::not_found(format!("the archive has no member {name:?}; {hint}")))
}

fn entry(record: &Record<'_>, extra: &[u8], directory: &Directory) -> Result<Entry> {
    let (mut packed_bytes, mut bytes, mut local_at) =
        (u64::from(record.u32(20)), u64::from(record.u32(24)), u64::from(record.u32(42)));
    let mut wide = wide(extra);
    // Numbers that do not fit stand in this order in what is extra.
    for number in [&mut bytes, &mut packed_bytes, &mut local_at] {
        if *number == u64::from(u32::MAX) {
            let (eight, rest) =
                wide.split_first_chunk().ok_or_else(|| Error::malformed("a member's 64-bit lengths are missing"))?;
            (*number, wide) = (u64::from_le_bytes(*eight), rest);
        }
    }
    let shifted = local_at.checked_add(directory.shift);
    let local_at = shifted.ok_or_else(|| Error::malformed("a member begins beyond the end of all files"))?;
    Ok(Entry {
        flags: record.u16(8),
        method: record.u16(10),
        crc: record.u32(16),
        packed_bytes,
        bytes,
        local_at,
        most_end: directory.at,
    })
}

/// The 64-bit numbers among what is extra.
fn wide(mut extra: &[u8]) -> &[u8] {
    while let Some((header, rest)) = extra.split_first_chunk::<4>() {
        let (id, length) = (u16::from_le_bytes([header[0], header[1]]), u16::from_le_bytes([header[2], header[3]]));
        let Some((field, further)) = rest.split_at_checked(length.into()) else { break };
        if id == 1 {
            return field;
        }
        extra = further;
    }
    &[]
}
