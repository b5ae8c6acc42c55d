//! Entries of plain branches in the format of baskets.
//!
//! Format page: `docs/format/basket.md`. Source: `TLeaf*::FillBasket`, `TBasket::WriteBuffer`.

use std::ops::Range;

use crate::column::{Prim, encode_numbers};
use crate::wire::Writer;
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::offsets::{Shape, offsets, swapped};
use crate::write::model::branch::{BranchKind, BranchSpec};

/// Largest count, or bytes of the longest string.
pub(crate) fn most(spec: &BranchSpec, pending: &RowBuffer, rows: &Range<usize>) -> u64 {
    match &spec.kind {
        BranchKind::Counter(number) => {
            let counts = pending.values().chunks_exact(number.bytes()).skip(rows.start).take(rows.len());
            counts.map(|count| number.whole(count)).max().unwrap_or(0).max(0) as u64
        }
        BranchKind::Text => rows.clone().map(|row| pending.span(&(row..row + 1)).len() as u64).max().unwrap_or(0),
        _ => 0,
    }
}

/// Appends entries in the format of a basket; none if they exceed 32-bit offsets.
pub(crate) fn payload(
    spec: &BranchSpec,
    pending: &RowBuffer,
    rows: &Range<usize>,
    keylen: usize,
    into: &mut Vec<u8>,
) -> Option<Shape> {
    let width = spec.width();
    let (span, number) = match (&spec.kind, spec.number_type()) {
        (BranchKind::Vector(..), _) => return vectors(spec, pending, rows, keylen, into),
        (_, None) => return texts(pending, rows, keylen, into),
        (BranchKind::Numbers(_) | BranchKind::Counter(_), Some(number)) => (rows.clone(), number),
        (_, Some(number)) => (pending.span(rows), number),
    };
    let from = &pending.values()[span.start * width..span.end * width];
    swapped(number, from, into);
    if matches!(spec.kind, BranchKind::Jagged(..)) {
        let start = |row: usize| pending.span(&(rows.start..row)).len() * width;
        offsets(into, keylen, (rows.start..rows.end + 1).map(start))?;
    }
    Some(Shape { data_bytes: from.len(), width })
}

fn texts(pending: &RowBuffer, rows: &Range<usize>, keylen: usize, into: &mut Vec<u8>) -> Option<Shape> {
    let mut writer = Writer::behind(std::mem::take(into));
    let before = writer.position();
    let mut starts = vec![0];
    for row in rows.clone() {
        writer.string(&pending.values()[pending.span(&(row..row + 1))]);
        starts.push(writer.position() - before);
    }
    with_offsets(writer, before, keylen, starts, into)
}

/// Returns the appended bytes to `into`, with the offsets of the entries.
fn with_offsets(writer: Writer, before: usize, keylen: usize, starts: Vec<usize>, into: &mut Vec<u8>) -> Option<Shape> {
    *into = writer.into_bytes();
    let data_bytes = into.len() - before;
    offsets(into, keylen, starts.into_iter())?;
    Some(Shape { data_bytes, width: 0 })
}

/// Vectors: each entry has a frame of its own, nested vectors have none.
fn vectors(
    spec: &BranchSpec,
    pending: &RowBuffer,
    rows: &Range<usize>,
    keylen: usize,
    into: &mut Vec<u8>,
) -> Option<Shape> {
    /// The version that ROOT 6.40 writes before a collection.
    const VERSION: i16 = 10;
    let mut writer = Writer::behind(std::mem::take(into));
    let before = writer.position();
    let mut starts = vec![0];
    for row in rows.clone() {
        writer.framed(VERSION, |writer| vector(spec, pending, 0, row, writer));
        starts.push(writer.position() - before);
    }
    with_offsets(writer, before, keylen, starts, into)
}

/// List `index` of a level: its length and its items.
fn vector(spec: &BranchSpec, pending: &RowBuffer, level: usize, index: usize, writer: &mut Writer) {
    let below = pending.lists(level, &(index..index + 1));
    writer.u32(below.len() as u32);
    match spec.number_type() {
        Some(number) if level + 1 == pending.depth() => {
            let width = number.bytes();
            let from = &pending.values()[below.start * width..below.end * width];
            encode_numbers(Prim::Plain(number), from, writer.room(from.len()));
        }
        None if level + 2 == pending.depth() => {
            for text in below {
                writer.string(&pending.values()[pending.lists(level + 1, &(text..text + 1))]);
            }
        }
        _ => below.for_each(|index| vector(spec, pending, level + 1, index, writer)),
    }
}
