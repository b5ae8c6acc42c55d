//! Lists of numbers, and how they are padded.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::deal::{Deal, append};
use super::field::{Input, Source};
use super::lane::{Bits, Lane};
use super::threads::{TOGETHER, each, fetch};
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::session::Session;

/// Items that one thread converts at a time.
const CHUNK_ITEMS: usize = 64 << 10;

/// Lists of numbers: those of row `i` are the items from `offsets[i]` to `offsets[i + 1]`.
#[derive(Debug)]
pub(super) struct Lists {
    offsets: Bytes,
    pub(super) values: Bytes,
    pub(super) item_bytes: usize,
}

impl Lists {
    /// The lists of a column, and how many of their numbers are not finite.
    pub(super) fn new(session: &Session, input: &Input) -> Result<(Self, u64)> {
        let items = input.pieces.iter().map(crate::read::Column::items).collect::<Result<Vec<_>>>()?;
        let source = Source::new(input, &items)?;
        let rows = input.pieces.iter().map(|piece| piece.len).sum();
        let offsets = offsets(input)?;
        check(&offsets, rows, source.rows())?;
        let values = match source.as_it_is() {
            Some(values) => values,
            None => converted(session, &source)?,
        };
        let found = Self { offsets, values, item_bytes: source.bytes };
        Ok((found, source.not_finite()))
    }

    /// The lists as they are dealt.
    pub(super) fn dealt(self, session: &Session, deal: &Deal, rows: usize) -> Result<Self> {
        const WIDE: usize = size_of::<i64>();
        let mut lengths = session.memory().try_take(rows * WIDE)?;
        deal.run(
            session,
            &mut lengths,
            |rows| rows * WIDE,
            |first, buckets, mut parts| {
                for (row, &bucket) in (first..).zip(buckets) {
                    let (start, stop) = self.ends(row);
                    append(&mut parts, bucket, &((stop - start) as i64).to_ne_bytes());
                }
            },
        );
        let mut offsets = session.memory().try_take((rows + 1) * WIDE)?;
        offsets[..WIDE].fill(0);
        let mut end = 0;
        for (place, length) in i64::lanes_mut(&mut offsets).iter_mut().skip(1).zip(i64::lanes(&lengths)) {
            end += i64::from_ne_bytes(*length);
            *place = end.to_ne_bytes();
        }
        session.memory().give_back(lengths);
        let offsets = session.memory().lend(offsets);
        let size = (end as usize).checked_mul(self.item_bytes).ok_or_else(|| Error::mismatch("lists are too long"))?;
        let mut values = session.memory().try_take(size)?;
        let at = |row: usize| i64::lanes(&offsets).get(row).map_or(0, |end| i64::from_ne_bytes(*end) as usize);
        let mut before = 0;
        let bytes = |rows: usize| {
            let first = at(before);
            before += rows;
            (at(before) - first) * self.item_bytes
        };
        deal.run(session, &mut values, bytes, |first, buckets, mut parts| {
            for (row, &bucket) in (first..).zip(buckets) {
                let (start, stop) = self.ends(row);
                append(&mut parts, bucket, self.items(start, stop));
            }
        });
        Ok(Self { offsets, values: session.memory().lend(values), item_bytes: self.item_bytes })
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.offsets.len() + self.values.len()
    }

    /// The first item of a row, and the one after its last.
    #[inline]
    pub(super) fn ends(&self, row: usize) -> (usize, usize) {
        match i64::lanes(&self.offsets).get(row..row + 2) {
            // They were checked: none is negative.
            Some([start, stop]) => (i64::from_ne_bytes(*start) as usize, i64::from_ne_bytes(*stop) as usize),
            _ => (0, 0),
        }
    }

    /// The bytes of the ends of some lists.
    pub(super) fn offsets_of(&self, rows: &Range<usize>) -> &[u8] {
        const WIDE: usize = size_of::<i64>();
        self.offsets.get(rows.start * WIDE..(rows.end + 1) * WIDE).unwrap_or_default()
    }

    /// The bytes of items.
    #[inline]
    pub(super) fn items(&self, start: usize, stop: usize) -> &[u8] {
        self.values.get(start * self.item_bytes..stop * self.item_bytes).unwrap_or_default()
    }
}

/// Does something with the items of each list: from which to which. Where lists are scattered in memory, that of some
/// is asked for together.
pub(super) fn visit<'a>(
    mut rows: impl Iterator<Item = (&'a Lists, usize)>,
    are_scattered: bool,
    mut work: impl FnMut(&'a Lists, usize, usize),
) {
    let mut block = Vec::with_capacity(TOGETHER);
    loop {
        block.extend(rows.by_ref().take(TOGETHER).map(|(lists, row)| (lists, lists.ends(row))));
        if block.is_empty() {
            return;
        }
        if are_scattered {
            fetch(block.iter().map(|&(lists, (start, stop))| lists.items(start, stop)));
        }
        block.drain(..).for_each(|(lists, (start, stop))| work(lists, start, stop));
    }
}

/// The offsets of the lists of all pieces.
fn offsets(input: &Input) -> Result<Bytes> {
    let of = |column: &crate::read::Column| match &column.kind {
        Kind::List { offsets, .. } => Ok(column.buffer(*offsets)),
        other => Err(Error::mismatch(format!("lists are padded, and a column holds {other}"))),
    };
    if let [piece] = &input.pieces[..] {
        return of(piece);
    }
    let rows: usize = input.pieces.iter().map(|piece| piece.len).sum();
    let mut joined = BytesMut::with_capacity((rows + 1) * size_of::<i64>());
    joined.extend_from_slice(&0_i64.to_ne_bytes());
    let mut before = 0_i64;
    for piece in &input.pieces {
        let ends = of(piece)?;
        let mut last = 0;
        for end in i64::lanes(&ends).iter().skip(1).take(piece.len) {
            last = i64::from_ne_bytes(*end);
            joined.extend_from_slice(&before.wrapping_add(last).to_ne_bytes());
        }
        before = before.wrapping_add(last);
    }
    Ok(joined.freeze())
}

/// Checks that lists follow one another, and that their items exist.
fn check(offsets: &[u8], rows: usize, items: usize) -> Result<()> {
    let offsets = i64::lanes(offsets).get(..=rows).unwrap_or_default();
    let rise = |ends: &[[u8; 8]; 2]| i64::from_ne_bytes(ends[0]) <= i64::from_ne_bytes(ends[1]);
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return Err(Error::mismatch("a column of lists has fewer offsets than rows"));
    };
    let are_inside = i64::from_ne_bytes(*first) >= 0 && i64::from_ne_bytes(*last) <= items as i64;
    // No short cut: so the comparison takes several at a time.
    let falls = offsets.windows(2).filter_map(|ends| ends.first_chunk::<2>()).filter(|ends| !rise(ends)).count();
    if are_inside && falls == 0 { Ok(()) } else { Err(Error::mismatch("lists of a column end before they begin")) }
}

/// The numbers of all pieces as batches have them.
fn converted(session: &Session, source: &Source) -> Result<Bytes> {
    let size = source.rows().checked_mul(source.bytes).ok_or_else(|| Error::mismatch("lists are too long"))?;
    let mut out = session.memory().try_take(size)?;
    if source.bytes > 0 {
        let mut tasks = Vec::new();
        let mut rest = &mut out[..];
        for piece in &source.pieces {
            let (places, others) = rest.split_at_mut(piece.rows * source.bytes);
            rest = others;
            let values = piece.bytes.chunks((CHUNK_ITEMS * piece.row_bytes()).max(1));
            tasks.extend(places.chunks_mut(CHUNK_ITEMS * source.bytes).zip(values).map(|pair| (piece, pair)));
        }
        each(session, tasks, |(piece, (places, values))| {
            piece.cells(values, 0, source.conversion).write(places, source.bytes);
        });
    }
    Ok(session.memory().lend(out))
}

/// Fills a row with the first `held` of some numbers. Those after the list are read as well and left out: so this loop
/// has no branch, and takes several items at a time. Only in a separate function the compiler knows that the slices do
/// not overlap.
#[inline(never)]
fn choose<L: Bits>(out: &mut [L::Bytes], values: &[L::Bytes], places: &[u32], held: u32, fill: L) {
    for ((place, value), at) in out.iter_mut().zip(values).zip(places) {
        *place = L::load(*value).or(fill, *at < held).store();
    }
}

/// Items that lists are padded to, at most.
const MAX_WIDTH: usize = 1 << 24;

/// How lists are padded.
#[derive(Debug)]
pub(super) struct Padding {
    pub(super) width: usize,
    /// The bytes of an item.
    fill: Vec<u8>,
    /// 0, 1, 2 ...: the places of a row.
    places: Vec<u32>,
    /// `width` ones, followed by `width` zeros: each mask of a row is a part of it.
    masks: Vec<u8>,
}

impl Padding {
    pub(super) fn new(width: usize, fill: Vec<u8>, item_bytes: usize) -> Result<Self> {
        if !(1..=MAX_WIDTH).contains(&width) {
            return Err(Error::limit("items that a list is padded to", MAX_WIDTH as u64, width as u64));
        }
        if fill.len() != item_bytes {
            return Err(Error::mismatch("lists are padded with a number of their type"));
        }
        let masks = [vec![1; width], vec![0; width]].concat();
        Ok(Self { width, fill, places: (0..width as u32).collect(), masks })
    }

    /// Fills rows of items and of masks; returns how many lists were cut.
    pub(super) fn pad<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Lists, usize)>,
        are_scattered: bool,
        item_bytes: usize,
        out: &mut [u8],
        mask: &mut [u8],
    ) -> u64 {
        match item_bytes {
            1 => self.pad_lanes::<u8>(rows, are_scattered, out, mask),
            2 => self.pad_lanes::<u16>(rows, are_scattered, out, mask),
            4 => self.pad_lanes::<u32>(rows, are_scattered, out, mask),
            8 => self.pad_lanes::<u64>(rows, are_scattered, out, mask),
            _ => self.pad_bytes(rows, are_scattered, item_bytes, out, mask),
        }
    }

    fn pad_lanes<'a, L: Bits>(
        &self,
        rows: impl Iterator<Item = (&'a Lists, usize)>,
        are_scattered: bool,
        out: &mut [u8],
        mask: &mut [u8],
    ) -> u64 {
        let Some(fill) = L::lanes(&self.fill).first().map(|fill| L::load(*fill)) else { return 0 };
        let width = self.width;
        self.pad_rows(rows, are_scattered, (out, size_of::<L::Bytes>()), mask, |out, lists, start, held| {
            let out = L::lanes_mut(out);
            let values = L::lanes(&lists.values);
            if let Some(values) = values.get(start..start + width) {
                choose::<L>(out, values, &self.places, held as u32, fill);
            } else {
                let values = values.get(start..start + held).unwrap_or_default();
                for (at, place) in out.iter_mut().enumerate() {
                    *place = values.get(at).copied().unwrap_or_else(|| fill.store());
                }
            }
        })
    }

    /// For items of several numbers, or of numbers that are longer than any of Rust's.
    fn pad_bytes<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Lists, usize)>,
        are_scattered: bool,
        item_bytes: usize,
        out: &mut [u8],
        mask: &mut [u8],
    ) -> u64 {
        self.pad_rows(rows, are_scattered, (out, item_bytes), mask, |out, lists, start, held| {
            let (items, others) = out.split_at_mut(held * item_bytes);
            items.copy_from_slice(lists.items(start, start + held));
            others.chunks_exact_mut(item_bytes.max(1)).for_each(|place| place.copy_from_slice(&self.fill));
        })
    }

    /// Fills masks, and lets `put` fill rows: from the first item of a list, and how many of its items they hold.
    fn pad_rows<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Lists, usize)>,
        are_scattered: bool,
        (out, item_bytes): (&mut [u8], usize),
        mask: &mut [u8],
        mut put: impl FnMut(&mut [u8], &'a Lists, usize, usize),
    ) -> u64 {
        let width = self.width;
        let mut cut = 0;
        let mut places = out.chunks_exact_mut((width * item_bytes).max(1)).zip(mask.chunks_exact_mut(width));
        visit(rows, are_scattered, |lists, start, stop| {
            let Some((out, mask)) = places.next() else { return };
            let held = (stop - start).min(width);
            cut += u64::from(stop - start > width);
            put(out, lists, start, held);
            if let Some(ones) = self.masks.get(width - held..2 * width - held) {
                mask.copy_from_slice(ones);
            }
        });
        cut
    }
}
