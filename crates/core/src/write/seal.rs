//! From rows to baskets as they stand on storage, but for the words that their place decides.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::WriteBuffer`, `TBasket::Streamer`.

use std::ops::Range;
use std::sync::Arc;

use super::pending::Pending;
use super::state::What;
use super::{objects, payload};
use crate::codec::{self, Compression, Scratch};
use crate::container::{BIG_FILE, Key};
use crate::error::{Error, Result};
use crate::wire::Writer;

/// How baskets are sealed.
#[derive(Clone, Debug)]
pub(super) struct Sealing<'a> {
    pub(super) tree: &'a str,
    pub(super) datime: u32,
    /// Bytes that a basket holds before compression, unless one entry has more.
    pub(super) basket_bytes: usize,
}

/// A basket as on storage, but for the place in its key.
#[derive(Debug)]
pub(super) struct SealedBasket {
    /// All of it; or its key, where the rest still stands in another file.
    pub(super) record: Vec<u8>,
    /// Bytes of that rest.
    pub(super) elsewhere: u32,
    /// Bytes of key and payload before compression.
    pub(super) unsealed_bytes: u64,
}

impl SealedBasket {
    /// Bytes of its record, wherever they are.
    pub(super) fn nbytes(&self) -> u32 {
        self.record.len() as u32 + self.elsewhere
    }

    /// Writes the words that the place decides: `fCycle`, `fSeekKey` and `fSeekPdir`; the ProcessID offset in it stays.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where a key of another writer has no room for 64 bits.
    pub(super) fn place(&mut self, at: u64, directory: u64, cycle: u16) -> Result<()> {
        let is_big = self.is_big()?;
        let short = || Error::malformed("a basket is shorter than its key");
        let mut put = |place: usize, word: &[u8]| {
            self.record.get_mut(place..place + word.len()).ok_or_else(short).map(|room| room.copy_from_slice(word))
        };
        put(16, &cycle.to_be_bytes())?;
        if is_big {
            put(18, &at.to_be_bytes())?;
            // Behind the ProcessID offset.
            return put(28, &directory.to_be_bytes()[2..]);
        }
        if at > BIG_FILE || directory > BIG_FILE {
            return Err(Error::unsupported("a basket of an old file has no room for an offset of 64 bits").at(at));
        }
        put(18, &(at as u32).to_be_bytes())?;
        put(22, &(directory as u32).to_be_bytes())
    }

    /// Lets references in it count from another ProcessID on.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where its key has no room for that, [`Limit`](crate::ErrorKind::Limit) above
    /// 65,535.
    pub(super) fn shift_process_ids(&mut self, more: u16) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        if !self.is_big()? {
            return Err(Error::unsupported("a basket of an old file has no room to say whose objects it refers to"));
        }
        let short = || Error::malformed("a basket is shorter than its key");
        let word: &mut [u8; 2] = self.record.get_mut(26..28).and_then(|word| word.try_into().ok()).ok_or_else(short)?;
        let sum = u16::from_be_bytes(*word).checked_add(more);
        *word = sum.ok_or_else(too_many_processes)?.to_be_bytes();
        Ok(())
    }

    /// Whether places in its key have 64 bits.
    fn is_big(&self) -> Result<bool> {
        let version = self.record.get(4..6).and_then(|word| word.try_into().ok()).map(i16::from_be_bytes);
        version.map(|version| version > 1000).ok_or_else(|| Error::malformed("a basket is shorter than its key"))
    }
}

/// The error of references to objects of too many processes.
pub(super) fn too_many_processes() -> Error {
    Error::limit("references name objects of too many processes", u16::MAX.into(), u64::from(u16::MAX) + 1)
}

/// What a thread that seals keeps between baskets.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    codec: Scratch,
    /// Entries before compression.
    payload: Vec<u8>,
}

/// How the rows of a branch are cut into baskets.
pub(super) struct Cuts<R> {
    /// The rows of each.
    pub(super) rows: R,
    /// Bytes of all, about.
    pub(super) bytes: usize,
    /// Largest count, or bytes of the longest string.
    pub(super) most: u64,
}

/// Baskets that hold `basket_bytes` each, of as many rows each.
pub(super) fn cuts(
    what: &What,
    pending: &Pending,
    rows: &Range<usize>,
    basket_bytes: usize,
) -> Cuts<impl ExactSizeIterator<Item = Range<usize>>> {
    let (bytes, most) = match (what, what.split(), pending.objects()) {
        (What::Plain(spec), ..) => (pending.bytes_of(spec, rows), payload::most(spec, pending, rows)),
        (What::Found(..), ..) => (pending.raw().bytes_of(rows), 0),
        (_, Some(split), Some(column)) => (objects::bytes_of(split, column, rows), objects::most(split, column, rows)),
        _ => (0, 0),
    };
    let baskets = bytes.div_ceil(basket_bytes.max(1)).clamp(1, rows.len().max(1));
    let step = rows.len().div_ceil(baskets).max(1);
    let end = rows.end;
    let rows = rows.clone().step_by(step).map(move |start| start..end.min(start + step));
    Cuts { rows, bytes, most }
}

/// How entries of a branch stand in a basket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes of the entries, without their offsets.
    pub(super) data_bytes: usize,
    /// Bytes of one entry, where there are no offsets.
    pub(super) width: usize,
}

/// Seals a basket into memory that is given. Pure: the same rows give the same bytes.
pub(super) fn seal(
    what: &What,
    pending: &Pending,
    rows: &Range<usize>,
    compression: Compression,
    how: &Sealing<'_>,
    memory: Vec<u8>,
    work: &mut Workspace,
) -> Result<SealedBasket> {
    /// `TBasket`'s own fields behind the key.
    const HEADER_BYTES: usize = 19;
    let name: &Arc<str> = match (what, what.split()) {
        (What::Plain(spec), _) => &spec.name,
        (What::Found(name, _), _) => name,
        (_, Some(split)) => &split.name,
        _ => return Err(Error::mismatch("a branch without a description")),
    };
    let too_large = |bytes: usize| Error::limit("a basket is too large", i32::MAX as u64, bytes as u64).in_object(name);
    let mut key = Key {
        version: 1004,
        datime: how.datime,
        class: "TBasket".into(),
        name: Arc::clone(name),
        title: how.tree.into(),
        ..Key::default()
    };
    let keylen = key.to_bytes().len() + HEADER_BYTES;
    key.keylen = u16::try_from(keylen).map_err(|_| Error::mismatch("the names of tree and branch are too long"))?;
    let mut writer = Writer::behind(memory);
    writer.bytes(&key.to_bytes());
    writer.i16(3);
    writer.i32(how.basket_bytes as i32);
    let entry_bytes_at = writer.position();
    writer.bytes(&[0; 4]);
    writer.i32(rows.len() as i32);
    let last_at = writer.position();
    writer.bytes(&[0; 5]);
    let mut record = writer.into_bytes();
    let head = record.len();
    // What is not compressed goes straight to its place.
    let is_packed = compression.level > 0;
    let (entries, before) = if is_packed { (&mut work.payload, 0) } else { (&mut record, head) };
    entries.truncate(before);
    let shape = match (what, what.split(), pending.objects()) {
        (What::Plain(spec), ..) => payload::payload(spec, pending, rows, keylen, entries),
        (What::Found(..), ..) => pending.raw().payload(rows, keylen, entries),
        (What::Split(plan, ..), Some(split), Some(column)) => {
            objects::payload(plan, split, column, rows, keylen, entries).map_err(|error| error.in_object(name))?
        }
        _ => None,
    };
    let Shape { data_bytes, width } = shape.ok_or_else(|| too_large(how.basket_bytes))?;
    let bytes = entries.len() - before;
    let last = i32::try_from(keylen + data_bytes).map_err(|_| too_large(data_bytes))?;
    let objlen = i32::try_from(bytes).map_err(|_| too_large(bytes))?;
    let entry_bytes = if bytes > data_bytes { rows.len() as i32 + 1 } else { width as i32 };
    if is_packed && !codec::deflate(&work.payload, compression, &mut record, &mut work.codec)? {
        record.extend_from_slice(&work.payload);
    }
    let nbytes = u32::try_from(record.len()).map_err(|_| too_large(record.len()))?;
    // Words of the key, and of the basket behind it, that are known by now.
    for (at, word) in [(0, nbytes), (6, objlen as u32), (entry_bytes_at, entry_bytes as u32), (last_at, last as u32)] {
        record[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
    Ok(SealedBasket { record, elsewhere: 0, unsealed_bytes: (keylen + bytes) as u64 })
}
