//! From rows to baskets as they stand on storage, but for the words that their place decides.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::WriteBuffer`, `TBasket::Streamer`.

use std::ops::Range;

use super::branch::{BranchKind, BranchSpec, Values};
use crate::codec::{self, Compression, Scratch};
use crate::column::{Prim, decode_numbers};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::wire::Writer;

/// Rows of one branch that wait for their cluster to be whole.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Native-endian numbers, or bytes of strings.
    bytes: Vec<u8>,
    /// For each level of lists, where each of them ends, in what they hold.
    levels: Vec<Vec<u64>>,
}

impl Pending {
    /// Adds values that were checked.
    pub(super) fn append(&mut self, values: &Values<'_>) {
        match values {
            Values::Numbers(bytes) => self.bytes.extend_from_slice(bytes),
            Values::Lists(ends, bytes) | Values::Texts(ends, bytes) => self.append_levels(&[ends], bytes),
            Values::Vectors(levels, bytes) => self.append_levels(levels, bytes),
        }
    }

    fn append_levels(&mut self, levels: &[&[i64]], bytes: &[u8]) {
        self.levels.resize_with(levels.len(), Vec::new);
        for (known, ends) in self.levels.iter_mut().zip(levels) {
            let before = known.last().copied().unwrap_or(0);
            known.extend(ends.iter().map(|&end| before + end as u64));
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the lengths of lists.
    pub(super) fn append_lengths(&mut self, ends: &[i64]) {
        let mut before = 0;
        for &end in ends {
            self.bytes.extend_from_slice(&((end - before) as i32).to_ne_bytes());
            before = end;
        }
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + 8 * self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// Bytes of memory that consecutive rows take.
    pub(super) fn bytes_of(&self, spec: &BranchSpec, rows: &Range<usize>) -> usize {
        let (mut span, mut bytes) = (rows.clone(), 0);
        for level in 0..self.levels.len() {
            bytes += 8 * span.len();
            span = self.lists(level, &span);
        }
        bytes + span.len() * spec.width()
    }

    /// Forgets the first rows.
    pub(super) fn drop_front(&mut self, spec: &BranchSpec, rows: usize) {
        let mut front = rows;
        for ends in &mut self.levels {
            let below = front.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
            ends.drain(..front);
            ends.iter_mut().for_each(|end| *end -= below);
            front = below as usize;
        }
        self.bytes.drain(..front * spec.width());
    }

    /// What rows hold, in items or bytes.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        self.lists(0, rows)
    }

    /// What consecutive lists of a level hold.
    fn lists(&self, level: usize, lists: &Range<usize>) -> Range<usize> {
        let ends = self.levels.get(level).map_or(&[][..], |ends| ends);
        let end = |list: usize| list.checked_sub(1).and_then(|list| ends.get(list)).copied().unwrap_or(0) as usize;
        end(lists.start)..end(lists.end)
    }
}

/// How baskets are sealed.
#[derive(Clone, Debug)]
pub(super) struct Sealing<'a> {
    pub(super) tree: &'a str,
    pub(super) compression: Compression,
    pub(super) datime: u32,
    /// Bytes that a basket holds before compression, unless one entry has more.
    pub(super) basket_bytes: usize,
}

/// The baskets of one branch in a cluster.
#[derive(Debug, Default)]
pub(super) struct SealedBranch {
    pub(super) baskets: Vec<SealedBasket>,
    /// Largest count, or bytes of the longest string.
    pub(super) most: u64,
}

/// A basket as on storage, but for the place in its key.
#[derive(Debug)]
pub(super) struct SealedBasket {
    pub(super) record: Vec<u8>,
    pub(super) entries: u32,
    /// Bytes of key and payload before compression.
    pub(super) unsealed_bytes: u64,
}

impl SealedBasket {
    /// Writes the words that the place decides: `fCycle`, `fSeekKey` and `fSeekPdir`.
    pub(super) fn place(&mut self, at: u64, directory: u64, cycle: u16) {
        self.record[16..18].copy_from_slice(&cycle.to_be_bytes());
        self.record[18..26].copy_from_slice(&at.to_be_bytes());
        self.record[26..34].copy_from_slice(&directory.to_be_bytes());
    }
}

/// Seals rows of a branch. Pure: the same rows give the same bytes.
pub(super) fn seal(
    spec: &BranchSpec,
    pending: &Pending,
    rows: Range<usize>,
    how: &Sealing<'_>,
    scratch: &mut Scratch,
) -> Result<SealedBranch> {
    let baskets = pending.bytes_of(spec, &rows).div_ceil(how.basket_bytes.max(1)).clamp(1, rows.len().max(1));
    let step = rows.len().div_ceil(baskets).max(1);
    let mut sealed = SealedBranch::default();
    for start in rows.clone().step_by(step) {
        sealed.baskets.push(basket(spec, pending, start..rows.end.min(start + step), how, scratch)?);
    }
    sealed.most = match &spec.kind {
        BranchKind::Counter => {
            let counts = pending.bytes.as_chunks::<4>().0.get(rows).unwrap_or(&[]);
            counts.iter().map(|count| i32::from_ne_bytes(*count)).max().unwrap_or(0).max(0) as u64
        }
        BranchKind::Text => rows.map(|row| pending.span(&(row..row + 1)).len() as u64).max().unwrap_or(0),
        _ => 0,
    };
    Ok(sealed)
}

fn basket(
    spec: &BranchSpec,
    pending: &Pending,
    rows: Range<usize>,
    how: &Sealing<'_>,
    scratch: &mut Scratch,
) -> Result<SealedBasket> {
    /// `TBasket`'s own fields behind the key.
    const HEADER_BYTES: usize = 19;
    let too_large =
        |bytes: usize| Error::limit("a basket is too large", i32::MAX as u64, bytes as u64).in_object(&spec.name);
    let mut key = Key {
        version: 1004,
        datime: how.datime,
        class: "TBasket".into(),
        name: spec.name.clone(),
        title: how.tree.into(),
        ..Key::default()
    };
    let keylen = key.to_bytes().len() + HEADER_BYTES;
    key.keylen = u16::try_from(keylen).map_err(|_| Error::mismatch("the names of tree and branch are too long"))?;
    let (payload, data_bytes) = payload(spec, pending, &rows, keylen).ok_or_else(|| too_large(pending.bytes()))?;
    let last = i32::try_from(keylen + data_bytes).map_err(|_| too_large(data_bytes))?;
    key.objlen = u32::try_from(payload.len())
        .ok()
        .filter(|&bytes| bytes <= i32::MAX as u32)
        .ok_or_else(|| too_large(payload.len()))?;
    let entry_bytes = if payload.len() > data_bytes { rows.len() as i32 + 1 } else { spec.width() as i32 };
    let mut writer = Writer::default();
    writer.bytes(&key.to_bytes());
    writer.i16(3);
    writer.i32(how.basket_bytes as i32);
    writer.i32(entry_bytes);
    writer.i32(rows.len() as i32);
    writer.i32(last);
    writer.u8(0);
    let mut record = writer.into_bytes();
    if !codec::deflate(&payload, how.compression, &mut record, scratch)? {
        record.extend_from_slice(&payload);
    }
    let nbytes = u32::try_from(record.len()).map_err(|_| too_large(record.len()))?;
    record[..4].copy_from_slice(&nbytes.to_be_bytes());
    Ok(SealedBasket { record, entries: rows.len() as u32, unsealed_bytes: (keylen + payload.len()) as u64 })
}

/// The payload of a basket, and how many bytes of it are entries; none where these are too many for 32 bits.
fn payload(spec: &BranchSpec, pending: &Pending, rows: &Range<usize>, keylen: usize) -> Option<(Vec<u8>, usize)> {
    let width = spec.width();
    let (span, number) = match (&spec.kind, spec.number_type()) {
        (BranchKind::Vector(..), _) => return vectors(spec, pending, rows, keylen),
        (_, None) => return texts(pending, rows, keylen),
        (BranchKind::Numbers(_) | BranchKind::Counter, Some(number)) => (rows.clone(), number),
        (_, Some(number)) => (pending.span(rows), number),
    };
    let from = &pending.bytes[span.start * width..span.end * width];
    let mut payload = vec![0; from.len()];
    // Swapping bytes is its own counterpart.
    decode_numbers(Prim::Plain(number), from, &mut payload);
    let data_bytes = payload.len();
    if matches!(spec.kind, BranchKind::Jagged(..)) {
        let start = |row: usize| pending.span(&(rows.start..row)).len() * width;
        offsets(&mut payload, keylen, (rows.start..rows.end + 1).map(start))?;
    }
    Some((payload, data_bytes))
}

fn texts(pending: &Pending, rows: &Range<usize>, keylen: usize) -> Option<(Vec<u8>, usize)> {
    let mut writer = Writer::default();
    let mut starts = vec![0];
    for row in rows.clone() {
        writer.string(&pending.bytes[pending.span(&(row..row + 1))]);
        starts.push(writer.position());
    }
    let mut payload = writer.into_bytes();
    let data_bytes = payload.len();
    offsets(&mut payload, keylen, starts.into_iter())?;
    Some((payload, data_bytes))
}

/// Vectors: each entry in a frame of its own, the vectors in it without.
fn vectors(spec: &BranchSpec, pending: &Pending, rows: &Range<usize>, keylen: usize) -> Option<(Vec<u8>, usize)> {
    /// What ROOT 6.40 writes in front of a collection.
    const VERSION: i16 = 10;
    let mut writer = Writer::default();
    let mut starts = vec![0];
    for row in rows.clone() {
        writer.framed(VERSION, |writer| vector(spec, pending, 0, row, writer));
        starts.push(writer.position());
    }
    let mut payload = writer.into_bytes();
    let data_bytes = payload.len();
    offsets(&mut payload, keylen, starts.into_iter())?;
    Some((payload, data_bytes))
}

/// List `index` of a level: how many it holds, and what.
fn vector(spec: &BranchSpec, pending: &Pending, level: usize, index: usize, writer: &mut Writer) {
    let below = pending.lists(level, &(index..index + 1));
    writer.u32(below.len() as u32);
    match spec.number_type() {
        Some(number) if level + 1 == pending.levels.len() => {
            let width = number.bytes();
            let from = &pending.bytes[below.start * width..below.end * width];
            decode_numbers(Prim::Plain(number), from, writer.room(from.len()));
        }
        None if level + 2 == pending.levels.len() => {
            for text in below {
                writer.string(&pending.bytes[pending.lists(level + 1, &(text..text + 1))]);
            }
        }
        _ => below.for_each(|index| vector(spec, pending, level + 1, index, writer)),
    }
}

/// Appends the array of entry offsets: one for each entry, and the end.
fn offsets(payload: &mut Vec<u8>, keylen: usize, starts: impl ExactSizeIterator<Item = usize>) -> Option<()> {
    let count = u32::try_from(starts.len()).ok()?;
    payload.reserve(4 * starts.len() + 4);
    payload.extend_from_slice(&count.to_be_bytes());
    for start in starts {
        let offset = i32::try_from(keylen + start).ok()?;
        payload.extend_from_slice(&offset.to_be_bytes());
    }
    Some(())
}
