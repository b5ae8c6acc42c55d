//! From columns to values of some of their rows, and from values to columns: no number is copied on the way in.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::number::Numbers;
use super::value::{Data, Frame, Level, Offsets, Texts, Value};
use crate::column::{BufferId, Cast as _, Kind, ListOf, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// The values of some rows of a column, or of a member of its records.
pub(super) fn load(column: &Column, members: &[Arc<str>], rows: Range<usize>) -> Result<Value> {
    let broken = || Error::internal("a column ends before its rows");
    let mut frame = Frame::flat(rows.len());
    let (mut kind, mut members, mut items) = (&column.kind, members.iter(), rows);
    loop {
        match kind {
            Kind::List { offsets, item, .. } => {
                let part = part(&column.buffer(*offsets), items.start, items.len() + 1, size_of::<i64>())?;
                let level = Level::Lists(Offsets::borrowed(part));
                let ends = level.offsets()?;
                let (first, last) = (ends[0], ends[ends.len() - 1]);
                items = usize::try_from(first).map_err(|_| broken())?..usize::try_from(last).map_err(|_| broken())?;
                frame.levels.push(level);
                kind = item;
            }
            Kind::Fixed { len, item } => {
                frame.levels.push(Level::Fixed(*len));
                items = items.start * len..items.end * len;
                kind = item;
            }
            Kind::Record { .. } => {
                let wanted = members.next().ok_or_else(broken)?;
                let known = kind.members();
                let (_, member) = known.iter().find(|(name, _)| *name == wanted).ok_or_else(broken)?;
                kind = member;
            }
            Kind::Number { buffer, number } => {
                let bytes = part(&column.buffer(*buffer), items.start, items.len(), number.bytes())?;
                let data = Data::Numbers(Numbers::borrowed(*number, bytes));
                return Ok(Value { frame, data, present: None });
            }
            Kind::Text { offsets, bytes } => {
                let part_of = part(&column.buffer(*offsets), items.start, items.len() + 1, size_of::<i64>())?;
                let offsets = Offsets::borrowed(part_of);
                let ends = offsets.all()?;
                let (first, last) = (ends[0], ends[ends.len() - 1]);
                let bytes = part(&column.buffer(*bytes), first as usize, (last - first).max(0) as usize, 1)?;
                return Ok(Value { frame, data: Data::Texts(Texts { offsets, bytes }), present: None });
            }
            Kind::Opaque { .. } | Kind::Pointer { .. } | Kind::OneOf { .. } => return Err(broken()),
        }
    }
}

/// Some numbers of a buffer.
fn part(buffer: &Bytes, first: usize, len: usize, width: usize) -> Result<Bytes> {
    let broken = || Error::internal("a buffer of a column ends before its rows");
    let start = first.checked_mul(width).ok_or_else(broken)?;
    let end = len.checked_mul(width).and_then(|len| start.checked_add(len)).ok_or_else(broken)?;
    if end > buffer.len() {
        return Err(broken());
    }
    Ok(buffer.slice(start..end))
}

/// How the lists of one level are stored.
enum Form {
    /// The buffer of their offsets.
    Lists(BufferId),
    /// Their length.
    Fixed(usize),
}

/// One column of values that follow one another. All have the same depth and type.
pub(super) fn column(values: &[Value], depth: usize, number: Option<Number>) -> Result<Column> {
    let rows = values.iter().map(|value| value.frame.rows).sum();
    let mut buffers = Vec::new();
    let mut levels = Vec::with_capacity(depth);
    for level in 0..depth {
        // Lists of one length everywhere stay such.
        let fixed = |value: &Value| match value.frame.levels.get(level) {
            Some(Level::Fixed(len)) => Some(*len),
            _ => None,
        };
        let len = values.first().and_then(fixed);
        if let Some(len) = len.filter(|len| values.iter().all(|value| fixed(value) == Some(*len))) {
            levels.push(Form::Fixed(len));
            continue;
        }
        let mut ends = vec![0_i64];
        for value in values {
            let lists = value.frame.items_above(level)?;
            let of = value.frame.levels.get(level).ok_or_else(|| Error::internal("a value is not deep enough"))?;
            let offsets = of.offsets()?;
            let mut end = ends.last().copied().unwrap_or(0);
            for list in 0..lists {
                end += of.bounds(offsets, list).1 as i64;
                ends.push(end);
            }
        }
        buffers.push(Bytes::copy_from_slice(i64::memory(&ends)));
        levels.push(Form::Lists(buffers.len() as u32 - 1));
    }
    let mut kind = match number {
        Some(number) => {
            let mut bytes = Vec::with_capacity(values.iter().map(|value| size(value, number)).sum());
            for value in values {
                match &value.data {
                    Data::Numbers(numbers) if numbers.number == number => bytes.extend_from_slice(numbers.bytes()),
                    Data::Numbers(numbers) => bytes.extend_from_slice(numbers.cast(number)?.bytes()),
                    _ => return Err(Error::internal("a value that should be numbers is none")),
                }
            }
            buffers.push(bytes.into());
            Kind::Number { buffer: buffers.len() as u32 - 1, number }
        }
        None => {
            let (mut ends, mut bytes) = (vec![0_i64], Vec::new());
            for value in values {
                let Data::Texts(texts) = &value.data else {
                    return Err(Error::internal("a value that should be texts is none"));
                };
                for text in texts.iter()? {
                    bytes.extend_from_slice(text);
                    ends.push(bytes.len() as i64);
                }
            }
            buffers.push(Bytes::copy_from_slice(i64::memory(&ends)));
            buffers.push(bytes.into());
            Kind::Text { offsets: buffers.len() as u32 - 2, bytes: buffers.len() as u32 - 1 }
        }
    };
    for level in levels.into_iter().rev() {
        let item = Box::new(kind);
        kind = match level {
            Form::Lists(offsets) => Kind::List { offsets, of: ListOf::Sequence, item },
            Form::Fixed(len) => Kind::Fixed { len, item },
        };
    }
    Ok(Column::from_buffers(kind, rows, buffers))
}

fn size(value: &Value, number: Number) -> usize {
    match &value.data {
        Data::Numbers(numbers) => numbers.len() * number.bytes(),
        _ => 0,
    }
}
