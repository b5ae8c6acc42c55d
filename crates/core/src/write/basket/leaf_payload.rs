//! Entries of plain branches in the format of baskets.
//!
//! Format page: `docs/format/basket.md`. Source: `TLeaf*::FillBasket`, `TBasket::WriteBuffer`.

use std::ops::Range;

use crate::column::{Prim, decode_numbers};
use crate::wire::Writer;
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::offsets::{Shape, offsets, stored};
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::columns::Column;

/// Largest count, or bytes of the longest string.
pub(crate) fn most(spec: &BranchSpec, pending: &RowBuffer, rows: &Range<usize>) -> u64 {
    match &spec.kind {
        BranchKind::Counter(number) => {
            let counts = &pending.stored()[rows.start * number.bytes()..rows.end * number.bytes()];
            let mut native = [0; 4 << 10];
            let most_of = |counts: &[u8]| {
                decode_numbers(Prim::Plain(*number), counts, &mut native[..counts.len()]);
                number.wholes(&native[..counts.len()]).max()
            };
            counts.chunks(4 << 10).filter_map(most_of).max().unwrap_or(0).max(0) as u64
        }
        BranchKind::Text => rows.clone().map(|row| pending.span(&(row..row + 1)).len() as u64).max().unwrap_or(0),
        _ => 0,
    }
}

/// Appends entries in the format of a basket, but for their [`numbers`] where these stay in the rows; none if they
/// exceed 32-bit offsets.
pub(crate) fn payload(
    spec: &BranchSpec,
    pending: &RowBuffer,
    rows: &Range<usize>,
    keylen: usize,
    numbers_stay: bool,
    into: &mut Vec<u8>,
) -> Option<Shape> {
    match &spec.kind {
        BranchKind::Vector(..) => return vectors(spec, pending, rows, keylen, into),
        BranchKind::Leaves(class) => return leaves(&spec.leaves_of(class), pending, rows, into),
        _ => {}
    }
    let Some(numbers) = numbers(spec, pending, rows) else { return texts(pending, rows, keylen, into) };
    let (data_bytes, width) = (numbers.len(), spec.stored_width());
    if !numbers_stay {
        into.extend_from_slice(&pending.stored()[numbers]);
    }
    if matches!(spec.kind, BranchKind::Jagged(..)) {
        offsets(into, keylen, pending.ends(rows).map(|end| end * width))?;
    }
    Some(Shape { data_bytes, width })
}

/// Where the numbers of entries lie in the buffered rows, as they are stored; none if entries are more than numbers.
pub(crate) fn numbers(spec: &BranchSpec, pending: &RowBuffer, rows: &Range<usize>) -> Option<Range<usize>> {
    let span = match &spec.kind {
        BranchKind::Numbers(_) | BranchKind::Counter(_) => rows.clone(),
        BranchKind::Jagged(..) => pending.span(rows),
        _ => return None,
    };
    let width = spec.stored_width();
    Some(span.start * width..span.end * width)
}

/// The leaves of each entry, one after another.
fn leaves(leaves: &[BranchSpec], pending: &RowBuffer, rows: &Range<usize>, into: &mut Vec<u8>) -> Option<Shape> {
    let Some(Column::Record(_, columns)) = pending.objects() else { return None };
    let width = leaves.iter().map(BranchSpec::width).sum();
    let (before, mut at, mut one) = (into.len(), 0, Vec::new());
    into.resize(before + rows.len() * width, 0);
    for (column, leaf) in columns.iter().zip(leaves) {
        let Column::Numbers(each, memory) = column else { return None };
        one.clear();
        stored(leaf.prim()?, memory.get(rows.start * each..rows.end * each)?, &mut one);
        for (entry, value) in into[before..].chunks_exact_mut(width).zip(one.chunks_exact(*each)) {
            entry[at..at + each].copy_from_slice(value);
        }
        at += each;
    }
    Some(Shape { data_bytes: into.len() - before, width })
}

fn texts(pending: &RowBuffer, rows: &Range<usize>, keylen: usize, into: &mut Vec<u8>) -> Option<Shape> {
    let mut writer = Writer::behind(std::mem::take(into));
    let before = writer.position();
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows.clone() {
        writer.string(&pending.stored()[pending.span(&(row..row + 1))]);
        ends.push(writer.position() - before);
    }
    with_offsets(writer, before, keylen, ends, into)
}

/// Returns the appended bytes to `into`, with the offsets of the entries.
fn with_offsets(writer: Writer, before: usize, keylen: usize, ends: Vec<usize>, into: &mut Vec<u8>) -> Option<Shape> {
    *into = writer.into_bytes();
    let data_bytes = into.len() - before;
    offsets(into, keylen, ends.into_iter())?;
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
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows.clone() {
        writer.framed(VERSION, |writer| vector(spec, pending, 0, row, writer));
        ends.push(writer.position() - before);
    }
    with_offsets(writer, before, keylen, ends, into)
}

/// List `index` of a level: its length and its items.
fn vector(spec: &BranchSpec, pending: &RowBuffer, level: usize, index: usize, writer: &mut Writer) {
    let below = pending.lists(level, &(index..index + 1));
    writer.u32(below.len() as u32);
    match spec.number_type() {
        Some(number) if level + 1 == pending.depth() => {
            let width = number.bytes();
            writer.bytes(&pending.stored()[below.start * width..below.end * width]);
        }
        None if level + 2 == pending.depth() => {
            for text in below {
                writer.string(&pending.stored()[pending.lists(level + 1, &(text..text + 1))]);
            }
        }
        _ => below.for_each(|index| vector(spec, pending, level + 1, index, writer)),
    }
}
