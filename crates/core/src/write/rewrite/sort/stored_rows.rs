//! Rows of columns as bytes, one after another, and back: so that they can be put in another order whatever their type.

use bytes::Bytes;

use crate::column::{BufferId, Cast, Kind};
use crate::error::{Error, Result};
use crate::read::Column;
use crate::write::basket::raw_entries::RawEntries;

/// Values of a column, by their type.
enum Node {
    Numbers {
        bytes: Bytes,
        width: usize,
    },
    Text {
        ends: Bytes,
        bytes: Bytes,
    },
    List {
        ends: Bytes,
        item: Box<Self>,
    },
    Fixed {
        len: usize,
        item: Box<Self>,
    },
    Record(Vec<Self>),
    /// For each row its type, and how many rows before have the same type.
    OneOf {
        tags: Bytes,
        ranks: Vec<u32>,
        of: Vec<Self>,
    },
}

fn broken() -> Error {
    Error::internal("a column ends before its rows")
}

/// The rows of a column as bytes.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for pointers.
pub(crate) fn to_rows(column: &Column) -> Result<RawEntries> {
    let node = Node::new(column, &column.kind)?;
    let mut rows = RawEntries { width: node.width(), ..RawEntries::default() };
    rows.starts.reserve_exact(column.len + 1);
    rows.starts.push(0);
    for row in 0..column.len {
        node.append(row..row + 1, &mut rows.data)?;
        rows.starts.push(rows.data.len());
    }
    Ok(rows)
}

impl Node {
    fn new(column: &Column, kind: &Kind) -> Result<Self> {
        Ok(match kind {
            Kind::Number { buffer, number } => Self::Numbers { bytes: column.buffer(*buffer), width: number.bytes() },
            Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. } => {
                Self::Text { ends: column.buffer(*offsets), bytes: column.buffer(*bytes) }
            }
            Kind::List { offsets, item, .. } => {
                Self::List { ends: column.buffer(*offsets), item: Box::new(Self::new(column, item)?) }
            }
            Kind::Fixed { len, item } => Self::Fixed { len: *len, item: Box::new(Self::new(column, item)?) },
            Kind::Record { fields, .. } => {
                Self::Record(fields.iter().map(|field| Self::new(column, &field.kind)).collect::<Result<_>>()?)
            }
            Kind::OneOf { tags, of } => {
                let tags = column.buffer(*tags);
                let mut counts = [0_u32; 256];
                let rank = |tag: &u8| {
                    let count = &mut counts[usize::from(*tag)];
                    *count += 1;
                    *count - 1
                };
                let ranks = tags.iter().map(rank).collect();
                let of = of.iter().map(|kind| Self::new(column, kind)).collect::<Result<_>>()?;
                Self::OneOf { tags, ranks, of }
            }
            Kind::Pointer { class, .. } => {
                return Err(Error::unsupported(format!("pointers to {class} cannot be put in another order")));
            }
        })
    }

    /// The bytes of each row; none if rows differ.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Numbers { width, .. } => Some(*width),
            Self::Fixed { len, item } => item.width()?.checked_mul(*len),
            Self::Record(members) => members.iter().map(Self::width).sum(),
            Self::Text { .. } | Self::List { .. } | Self::OneOf { .. } => None,
        }
    }

    fn append(&self, rows: std::ops::Range<usize>, into: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Numbers { bytes, width } => {
                into.extend_from_slice(bytes.get(rows.start * width..rows.end * width).ok_or_else(broken)?);
            }
            Self::Fixed { len, item } => item.append(rows.start * len..rows.end * len, into)?,
            Self::Text { ends, bytes } => {
                for row in rows {
                    let text = bounds(ends, row)?;
                    into.extend_from_slice(&(text.len() as u64).to_ne_bytes());
                    into.extend_from_slice(bytes.get(text).ok_or_else(broken)?);
                }
            }
            Self::List { ends, item } => {
                for row in rows {
                    let items = bounds(ends, row)?;
                    into.extend_from_slice(&(items.len() as u64).to_ne_bytes());
                    item.append(items, into)?;
                }
            }
            Self::Record(members) => {
                for row in rows {
                    members.iter().try_for_each(|member| member.append(row..row + 1, into))?;
                }
            }
            Self::OneOf { tags, ranks, of } => {
                for row in rows {
                    let (Some(&tag), Some(&rank)) = (tags.get(row), ranks.get(row)) else { return Err(broken()) };
                    into.push(tag);
                    if let Some(of) = of.get(usize::from(tag)) {
                        of.append(rank as usize..rank as usize + 1, into)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The bounds of a list or a string.
fn bounds(ends: &Bytes, row: usize) -> Result<std::ops::Range<usize>> {
    let ends = i64::cast(ends).and_then(|ends| ends.get(row..row + 2)).ok_or_else(broken)?;
    match [ends.first(), ends.last()].map(|end| end.and_then(|&end| usize::try_from(end).ok())) {
        [Some(start), Some(end)] if start <= end => Ok(start..end),
        _ => Err(broken()),
    }
}

/// Values of a column while it grows.
enum Growing {
    Numbers { buffer: BufferId, bytes: Vec<u8>, width: usize },
    Text { offsets: BufferId, ends: Vec<i64>, buffer: BufferId, bytes: Vec<u8> },
    List { offsets: BufferId, ends: Vec<i64>, item: Box<Self> },
    Fixed { len: usize, item: Box<Self> },
    Record(Vec<Self>),
    OneOf { buffer: BufferId, tags: Vec<u8>, of: Vec<Self> },
}

/// A column of a type whose rows these are.
pub(crate) fn from_rows(kind: &Kind, rows: &RawEntries) -> Result<Column> {
    let mut growing = Growing::new(kind)?;
    let mut left = &rows.data[..];
    let len = rows.starts.len().saturating_sub(1);
    growing.take(len, &mut left)?;
    if !left.is_empty() {
        return Err(Error::internal("rows of a column are longer than their type"));
    }
    let mut buffers = Vec::new();
    growing.finish(&mut buffers);
    let column = Column::from_buffers(kind.clone(), len, buffers);
    column.check(len as u64)?;
    Ok(column)
}

fn cut<'b>(from: &mut &'b [u8], bytes: usize) -> Result<&'b [u8]> {
    let (taken, rest) = from.split_at_checked(bytes).ok_or_else(broken)?;
    *from = rest;
    Ok(taken)
}

fn count(from: &mut &[u8]) -> Result<usize> {
    let count = cut(from, 8)?.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    usize::try_from(count).map_err(|_| broken())
}

/// Adds the end of a list of `items`.
fn push_end(ends: &mut Vec<i64>, items: usize) {
    let before = ends.last().copied().unwrap_or(0);
    ends.push(before.saturating_add_unsigned(items as u64));
}

impl Growing {
    fn new(kind: &Kind) -> Result<Self> {
        Ok(match kind {
            Kind::Number { buffer, number } => {
                Self::Numbers { buffer: *buffer, bytes: Vec::new(), width: number.bytes() }
            }
            Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. } => {
                Self::Text { offsets: *offsets, ends: vec![0], buffer: *bytes, bytes: Vec::new() }
            }
            Kind::List { offsets, item, .. } => {
                Self::List { offsets: *offsets, ends: vec![0], item: Box::new(Self::new(item)?) }
            }
            Kind::Fixed { len, item } => Self::Fixed { len: *len, item: Box::new(Self::new(item)?) },
            Kind::Record { fields, .. } => {
                Self::Record(fields.iter().map(|field| Self::new(&field.kind)).collect::<Result<_>>()?)
            }
            Kind::OneOf { tags, of } => {
                let of = of.iter().map(Self::new).collect::<Result<_>>()?;
                Self::OneOf { buffer: *tags, tags: Vec::new(), of }
            }
            Kind::Pointer { .. } => return Err(Error::internal("rows of a column hold pointers")),
        })
    }

    fn take(&mut self, rows: usize, from: &mut &[u8]) -> Result<()> {
        match self {
            Self::Numbers { bytes, width, .. } => {
                bytes.extend_from_slice(cut(from, rows.checked_mul(*width).ok_or_else(broken)?)?);
            }
            Self::Fixed { len, item } => item.take(rows.checked_mul(*len).ok_or_else(broken)?, from)?,
            Self::Text { ends, bytes, .. } => {
                for _ in 0..rows {
                    let length = count(from)?;
                    bytes.extend_from_slice(cut(from, length)?);
                    push_end(ends, length);
                }
            }
            Self::List { ends, item, .. } => {
                for _ in 0..rows {
                    let items = count(from)?;
                    item.take(items, from)?;
                    push_end(ends, items);
                }
            }
            Self::Record(members) => {
                for _ in 0..rows {
                    members.iter_mut().try_for_each(|member| member.take(1, from))?;
                }
            }
            Self::OneOf { tags, of, .. } => {
                for _ in 0..rows {
                    let tag = cut(from, 1)?.first().copied().unwrap_or(0);
                    tags.push(tag);
                    if let Some(of) = of.get_mut(usize::from(tag)) {
                        of.take(1, from)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self, buffers: &mut Vec<Bytes>) {
        let mut put = |id: BufferId, bytes: Bytes| {
            let id = id as usize;
            if buffers.len() <= id {
                buffers.resize(id + 1, Bytes::new());
            }
            buffers[id] = bytes;
        };
        let words = |ends: Vec<i64>| Bytes::copy_from_slice(i64::memory(&ends));
        match self {
            Self::Numbers { buffer, bytes, .. } => put(buffer, bytes.into()),
            Self::Text { offsets, ends, buffer, bytes } => {
                put(offsets, words(ends));
                put(buffer, bytes.into());
            }
            Self::List { offsets, ends, item } => {
                put(offsets, words(ends));
                item.finish(buffers);
            }
            Self::Fixed { item, .. } => item.finish(buffers),
            Self::Record(members) => members.into_iter().for_each(|member| member.finish(buffers)),
            Self::OneOf { buffer, tags, of } => {
                put(buffer, tags.into());
                of.into_iter().for_each(|of| of.finish(buffers));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Field, ListOf, Number};

    #[test]
    fn values_of_all_shapes_come_back_in_another_order() {
        let number = |buffer| Kind::Number { buffer, number: Number::I16 };
        let field = |name: &str, kind| Field { name: name.into(), kind, base: false };
        let list = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(number(1)) };
        let pair = Kind::Fixed { len: 2, item: Box::new(number(2)) };
        let choice = Kind::OneOf { tags: 3, of: vec![number(4), Kind::Text { offsets: 5, bytes: 6 }] };
        let kind = Kind::Record {
            class: "".into(),
            fields: vec![field("list", list), field("pair", pair), field("choice", choice)],
        };
        let words = |ends: &[i64]| Bytes::copy_from_slice(i64::memory(ends));
        let shorts = |numbers: &[i16]| Bytes::copy_from_slice(i16::memory(numbers));
        let buffers = vec![
            words(&[0, 2, 2, 3]),
            shorts(&[1, 2, 3]),
            shorts(&[10, 11, 20, 21, 30, 31]),
            vec![1, 0xff, 0].into(),
            shorts(&[7]),
            words(&[0, 2]),
            Bytes::from_static(b"ab"),
        ];
        let column = Column::from_buffers(kind.clone(), 3, buffers.clone());
        let rows = to_rows(&column).unwrap();
        assert_eq!(from_rows(&kind, &rows).unwrap().buffers(), buffers);
        let turned = from_rows(&kind, &rows.in_order(&[2, 0, 1]).unwrap()).unwrap();
        assert_eq!(turned.buffers()[0], words(&[0, 1, 3, 3]));
        assert_eq!(turned.buffers()[1], shorts(&[3, 1, 2]));
        assert_eq!(turned.buffers()[2], shorts(&[30, 31, 10, 11, 20, 21]));
        assert_eq!(turned.buffers()[3], vec![0, 1, 0xff]);
    }

    #[test]
    fn rows_that_end_early_are_an_error() {
        let kind = Kind::Number { buffer: 0, number: Number::I32 };
        let rows = RawEntries { data: vec![1, 2, 3], starts: vec![0, 3], width: Some(3) };
        assert!(from_rows(&kind, &rows).is_err());
    }
}
