//! From columns to values of some of their rows, and from values to columns: no number is copied on the way in.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::index;
use super::number::Numbers;
use super::ranks::Ranks;
use super::value::{Data, Frame, Level, Of, Offsets, Texts, Value};
use crate::column::{BufferId, Cast as _, Kind, ListOf, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// The values of some rows of a column, or of a member of its records; of several types in one of them.
pub(super) fn load(
    column: &Column,
    ranks: &Ranks,
    members: &[Arc<str>],
    wanted: Wanted,
    rows: Range<usize>,
) -> Result<Value> {
    load_of((column, ranks), &column.kind, members, wanted, rows)
}

/// What a column is loaded as.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Levels of lists.
    pub(super) depth: usize,
    pub(super) of: Of,
}

fn broken() -> Error {
    Error::internal("a column ends before its rows")
}

fn load_of(
    (column, ranks): (&Column, &Ranks),
    kind: &Kind,
    members: &[Arc<str>],
    wanted: Wanted,
    rows: Range<usize>,
) -> Result<Value> {
    let mut frame = Frame::flat(rows.len());
    let (mut kind, mut members, mut items) = (kind, members.iter(), rows);
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
                let name = members.next().ok_or_else(broken)?;
                let known = kind.members();
                let (_, member) = known.iter().find(|(known, _)| *known == name).ok_or_else(broken)?;
                kind = member;
            }
            Kind::OneOf { tags, of: kinds } => {
                let below = Wanted { depth: wanted.depth.saturating_sub(frame.levels.len()), ..wanted };
                let below = one_of((column, ranks), (*tags, kinds), members.as_slice(), below, items)?;
                frame.levels.extend(below.frame.levels);
                return Ok(Value { frame, ..below });
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
            Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(broken()),
        }
    }
}

/// Values of one of several types, or absent. What has no such member is absent, too.
fn one_of(
    (column, ranks): (&Column, &Ranks),
    (tags, kinds): (BufferId, &[Kind]),
    members: &[Arc<str>],
    wanted: Wanted,
    rows: Range<usize>,
) -> Result<Value> {
    let of = wanted.of;
    let all_tags = column.buffer(tags);
    let tags_of_rows = all_tags.get(rows.clone()).ok_or_else(broken)?;
    let ranks_of_rows = ranks.by_tags(tags).get(rows).ok_or_else(broken)?;
    // The values of a type from the first on that is in these rows.
    let range = |tag: usize| {
        let mut of_type = tags_of_rows
            .iter()
            .zip(ranks_of_rows)
            .filter(|(of, _)| usize::from(**of) == tag)
            .map(|(_, rank)| *rank as usize);
        let first = of_type.next();
        first.map_or(0..0, |first| first..first + 1 + of_type.count())
    };
    let mut values = Vec::with_capacity(kinds.len());
    // Where the values of each type begin among all that were loaded.
    let (mut starts, mut end) = (Vec::with_capacity(kinds.len()), 0);
    for (tag, kind) in kinds.iter().enumerate() {
        if !leads_to(kind, members, of) {
            starts.push(None);
            continue;
        }
        let value = load_of((column, ranks), kind, members, wanted, range(tag))?;
        let value = match of {
            Of::Number(number) if kinds.len() > 1 => value.cast(number)?,
            _ => value,
        };
        starts.push(Some(end));
        end += value.frame.rows;
        values.push(value);
    }
    let all = match values.len() {
        1 => values.swap_remove(0),
        0 => {
            let data = match of {
                Of::Number(number) => Data::Numbers(Numbers::zeros(number, 0)),
                Of::Text => Data::Texts(Texts { offsets: Offsets::of(vec![0]), bytes: Bytes::new() }),
            };
            let levels = vec![Level::Lists(Offsets::of(vec![0])); wanted.depth];
            Value { frame: Frame { rows: 0, levels }, data, present: None }
        }
        _ => {
            let may_lack = values.iter().any(|value| value.present.is_some());
            let number = match of {
                Of::Number(number) => Some(number),
                Of::Text => None,
            };
            let whole = self::column(&values, wanted.depth, number, may_lack)?;
            load(&whole, &Ranks::of(&whole), &[], wanted, 0..whole.len)?
        }
    };
    let mut next = starts;
    let chosen = tags_of_rows.iter().map(|&tag| {
        let place = next.get_mut(usize::from(tag))?.as_mut()?;
        *place += 1;
        Some(*place - 1)
    });
    index::rows_or_none(&all, chosen.collect())
}

/// Whether the members of a type lead to numbers or texts as they are wanted.
fn leads_to(kind: &Kind, members: &[Arc<str>], of: Of) -> bool {
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => leads_to(item, members, of),
        Kind::Record { .. } => members.split_first().is_some_and(|(wanted, members)| {
            kind.members().iter().any(|(name, member)| *name == wanted && leads_to(member, members, of))
        }),
        Kind::OneOf { of: kinds, .. } => kinds.is_empty() || kinds.iter().any(|kind| leads_to(kind, members, of)),
        Kind::Number { .. } => members.is_empty() && of != Of::Text,
        Kind::Text { .. } => members.is_empty() && of == Of::Text,
        Kind::Opaque { .. } | Kind::Pointer { .. } => false,
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

/// One column of values that follow one another. All have the same depth and type; items that may be absent are
/// optional ones.
pub(super) fn column(values: &[Value], depth: usize, number: Option<Number>, may_lack: bool) -> Result<Column> {
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
    let mut kind = if may_lack {
        let (there, tags) = without_absent(values)?;
        let kind = innermost(&there, number, &mut buffers)?;
        buffers.push(tags.into());
        Kind::OneOf { tags: buffers.len() as u32 - 1, of: vec![kind] }
    } else {
        innermost(values, number, &mut buffers)?
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

/// The innermost items of values one after another, without those that are absent, and the tag of each item.
fn without_absent(values: &[Value]) -> Result<(Vec<Value>, Vec<u8>)> {
    let (mut there, mut tags) = (Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        let items = value.frame.items()?;
        let data = match &value.present {
            None => {
                tags.extend(std::iter::repeat_n(0, items));
                value.data.clone()
            }
            Some(present) => {
                tags.extend(present.iter().map(|&is_there| if is_there { 0 } else { ABSENT }));
                let places: Vec<usize> = (0..items).filter(|&item| present.get(item) == Some(&true)).collect();
                value.data.gathered(&places)?
            }
        };
        there.push(Value { data, ..value.clone() });
    }
    Ok((there, tags))
}

/// The tag of what is absent: -1.
const ABSENT: u8 = u8::MAX;

/// The innermost items of values one after another, in new buffers.
fn innermost(values: &[Value], number: Option<Number>, buffers: &mut Vec<Bytes>) -> Result<Kind> {
    Ok(match number {
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
    })
}

fn size(value: &Value, number: Number) -> usize {
    match &value.data {
        Data::Numbers(numbers) => numbers.len() * number.bytes(),
        _ => 0,
    }
}
