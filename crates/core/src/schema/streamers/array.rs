//! `TArrayD` and its kin, and the elements of `TMatrixTSym`.

use super::interface::{Encode, columns_of};
use crate::column::{BufferId, Number, Part, Prim};
use crate::error::{Error, Result};
use crate::wire::Reader;

/// `TArrayD::Streamer`: a count and the values, no frame.
pub(super) fn read(number: Number, buffers: &[BufferId], reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    let [ends, values] = columns_of("TArray", buffers)?;
    let items = reader.count()?;
    numbers(reader, part, number, items, ends, values)
}

pub(super) fn write(to: &mut impl Encode, number: Number, buffers: &[BufferId]) -> Result<()> {
    let [ends, values] = columns_of("TArray", buffers)?;
    let items = to.list(ends);
    to.writer().u32(items as u32);
    to.put(values, number, items);
    Ok(())
}

/// `TMatrixTSym::Streamer`: behind the base's members, one row after the other, each from the diagonal on. The last
/// buffer is the base's `fNrows`.
pub(super) fn read_triangle(
    number: Number,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [ends, values, rows] = columns_of("TMatrixTSym", buffers)?;
    let rows = part.bytes(rows).last_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes));
    let rows = rows.ok_or_else(|| Error::internal("a matrix is read before its base"))?;
    let rows = usize::try_from(rows)
        .map_err(|_| Error::malformed(format!("a matrix has {rows} rows")).at(reader.position() as u64))?;
    numbers(reader, part, number, triangle(rows), ends, values)
}

pub(super) fn write_triangle(to: &mut impl Encode, number: Number, buffers: &[BufferId]) -> Result<()> {
    let [ends, values, rows] = columns_of("TMatrixTSym", buffers)?;
    let rows = to.last(rows, Number::I32);
    let rows = usize::try_from(rows).map_err(|_| Error::mismatch(format!("a matrix has {rows} rows")))?;
    let (items, wanted) = (to.list(ends), triangle(rows));
    if items != wanted {
        return Err(Error::mismatch("a symmetric matrix has another number of elements than its rows say")
            .wanted(wanted as u64, items as u64));
    }
    to.put(values, number, items);
    Ok(())
}

/// Elements of the upper triangle.
fn triangle(rows: usize) -> usize {
    rows.saturating_mul(rows.saturating_add(1)) / 2
}

/// A list of numbers.
pub(super) fn numbers(
    reader: &mut Reader<'_>,
    part: &mut Part,
    number: Number,
    items: usize,
    ends: BufferId,
    values: BufferId,
) -> Result<()> {
    let from = reader.take(items.saturating_mul(number.bytes()))?;
    part.push_numbers(values, Prim::Plain(number), from, 1, items, from.len());
    part.end_list(ends, items)
}
