//! A record to be written again with other numbers: what stays the same is copied, and byte counts and tags follow.

use super::limit::{MOST_BYTES, checked};
use crate::column::Number;
use crate::error::{Error, Result};
use crate::wire::{Fixup, Writer};

/// A record that was written, whose numbers named `F` can be replaced.
#[derive(Debug)]
pub(crate) struct Template<F> {
    /// The bytes that are neither numbers to be replaced nor depend on their length.
    kept: Vec<u8>,
    /// What stands between them, each behind so many.
    pieces: Vec<(u32, Piece<F>)>,
}

/// What stands between bytes that are kept.
#[derive(Debug)]
enum Piece<F> {
    /// A byte count begins.
    Open,
    /// What the last open byte count counts ends.
    Close,
    /// A position that tags name: each has the next number.
    Named,
    /// A tag that names a position by its number, with these bits.
    Tag(u32, u32),
    /// A number.
    One(F, Number),
    /// Counted numbers, without the count.
    List(F, Number),
}

/// A number, or a list of them, in a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberAt {
    pub(super) place: Place,
    pub(super) number: Number,
    pub(super) is_list: bool,
}

/// Which member of which object a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which kind of object, as the caller numbers them.
    pub(crate) kind: usize,
    /// Which object of the kind, in the order in which they are written.
    pub(crate) object: usize,
    /// Which member, in the order of their names.
    pub(crate) member: usize,
}

/// Where numbers are written.
pub(crate) struct Put<'w> {
    writer: &'w mut Writer,
    number: Number,
    is_list: bool,
}

impl<F: Copy> Template<F> {
    /// A template of the bytes of a record. Numbers that `name` has no name for are kept.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal) where the fixups do not fit the bytes.
    pub(super) fn new(
        written: &Writer,
        fixups: &[(usize, Fixup)],
        numbers: &[NumberAt],
        mut name: impl FnMut(Place) -> Option<F>,
    ) -> Result<Self> {
        let bytes = written.as_bytes();
        let origin = written.position() - bytes.len();
        let names: Vec<Option<F>> = numbers.iter().map(|number_at| name(number_at.place)).collect();
        let named = |number: u32| {
            let number_at = numbers.get(number as usize)?;
            Some((*number_at, (*names.get(number as usize)?)?))
        };
        let follows = following(fixups, |number| named(number).is_some_and(|(number_at, _)| number_at.is_list));
        let mut positions: Vec<usize> = fixups.iter().filter_map(|(_, fixup)| position(*fixup)).collect();
        positions.sort_unstable();
        positions.dedup();
        let mut next = positions.iter().map(|position| position.saturating_sub(origin)).peekable();
        let (mut kept, mut pieces) = (Vec::new(), Vec::new());
        let mut from = 0;
        let mut piece = |at: usize, wide: usize, piece: Piece<F>| {
            let bytes = bytes.get(from..at).ok_or_else(misplaced)?;
            kept.extend_from_slice(bytes);
            pieces.push((bytes.len() as u32, piece));
            from = at + wide;
            Ok::<(), Error>(())
        };
        for (&(at, fixup), follows) in fixups.iter().zip(follows) {
            while let Some(position) = next.next_if(|position| *position <= at) {
                piece(position, 0, Piece::Named)?;
            }
            match fixup {
                Fixup::Open if follows => piece(at, 4, Piece::Open)?,
                Fixup::Close if follows => piece(at, 0, Piece::Close)?,
                Fixup::Open | Fixup::Close => {}
                Fixup::Tag { bits, position } => {
                    let number = positions.binary_search(&(position as usize)).map_err(|_| misplaced())?;
                    piece(at, 4, Piece::Tag(number as u32, bits))?;
                }
                Fixup::Value { number, bytes } => match named(number) {
                    Some((number_at, name)) if number_at.is_list => {
                        piece(at, bytes as usize, Piece::List(name, number_at.number))?
                    }
                    Some((number_at, name)) => piece(at, bytes as usize, Piece::One(name, number_at.number))?,
                    None => {}
                },
            }
        }
        kept.extend_from_slice(bytes.get(from..).ok_or_else(misplaced)?);
        Ok(Self { kept, pieces })
    }

    /// The record with other numbers: `put` writes those of each name. `lists` is how many bytes the lists have, about.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) where it is larger than a record can be.
    pub(crate) fn record(&self, keylen: usize, lists: usize, mut put: impl FnMut(F, Put<'_>)) -> Result<Vec<u8>> {
        let mut writer = Writer::with_origin(keylen);
        writer.reserve((self.kept.len() + 8 * self.pieces.len() + lists).min(MOST_BYTES));
        let (mut kept, mut open, mut places) = (&self.kept[..], Vec::new(), Vec::new());
        for &(bytes, ref piece) in &self.pieces {
            let (now, rest) = kept.split_at_checked(bytes as usize).ok_or_else(misplaced)?;
            writer.bytes(now);
            kept = rest;
            match piece {
                Piece::Open => open.push(writer.open()),
                Piece::Close => writer.close(open.pop().ok_or_else(misplaced)?),
                Piece::Named => places.push(writer.position() as u32),
                Piece::Tag(number, bits) => {
                    writer.tag(*bits, *places.get(*number as usize).ok_or_else(misplaced)?);
                }
                Piece::One(name, number) => put(*name, Put { writer: &mut writer, number: *number, is_list: false }),
                Piece::List(name, number) => put(*name, Put { writer: &mut writer, number: *number, is_list: true }),
            }
        }
        writer.bytes(kept);
        checked(writer.into_bytes())
    }
}

impl Put<'_> {
    /// A number in a place of one. What does not fit its type is cut off.
    pub(crate) fn one(self, value: i64) {
        if self.is_list {
            return self.list(std::iter::once(value));
        }
        put_all(self.writer, self.number, std::iter::once(value));
    }

    /// Numbers in the place of a list.
    pub(crate) fn list(self, values: impl ExactSizeIterator<Item = i64>) {
        // A list has a byte in front that says whether anything follows.
        self.writer.u8(u8::from(values.len() > 0));
        put_all(self.writer, self.number, values);
    }
}

/// Numbers of one type.
fn put_all(writer: &mut Writer, number: Number, values: impl Iterator<Item = i64>) {
    match number {
        Number::Bool => values.for_each(|value| writer.u8(u8::from(value != 0))),
        Number::I8 | Number::U8 => values.for_each(|value| writer.u8(value as u8)),
        Number::I16 | Number::U16 => values.for_each(|value| writer.u16(value as u16)),
        Number::I32 | Number::U32 => values.for_each(|value| writer.u32(value as u32)),
        Number::I64 | Number::U64 => values.for_each(|value| writer.i64(value)),
        Number::F32 => values.for_each(|value| writer.f32(value as f32)),
        Number::F64 => values.for_each(|value| writer.f64(value as f64)),
    }
}

/// Which byte counts have a list in what they count: they follow its length.
fn following(fixups: &[(usize, Fixup)], is_list: impl Fn(u32) -> bool) -> Vec<bool> {
    let mut follows = vec![false; fixups.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, (_, fixup)) in fixups.iter().enumerate() {
        match fixup {
            Fixup::Open => open.push(index),
            Fixup::Close => follows[index] = open.pop().is_some_and(|open| follows[open]),
            Fixup::Value { number, .. } if is_list(*number) => open.iter().for_each(|&open| follows[open] = true),
            Fixup::Value { .. } | Fixup::Tag { .. } => {}
        }
    }
    follows
}

/// What a tag names.
fn position(fixup: Fixup) -> Option<usize> {
    match fixup {
        Fixup::Tag { position, .. } => Some(position as usize),
        _ => None,
    }
}

fn misplaced() -> Error {
    Error::internal("the fixups of a record do not fit its bytes")
}
