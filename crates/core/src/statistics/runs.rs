//! From columns of values to summaries of their runs.

use std::sync::Arc;

use bytes::Bytes;

use super::summary::{Extremes, Summary};
use crate::column::{BufferId, Cast, Kind, Native, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// Numbers of a column that statistics are made of: the column itself, or a member of its records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Members that lead to it.
    pub(crate) members: Vec<Arc<str>>,
    pub(crate) number: Number,
    /// Levels of lists.
    pub(crate) depth: usize,
}

/// The numbers of a type: none for texts, pointers and what is of several types.
pub(crate) fn parts_of(kind: &Kind) -> Vec<Part> {
    let mut parts = Vec::new();
    gather(kind, &mut Vec::new(), 0, &mut parts);
    parts
}

fn gather(kind: &Kind, members: &mut Vec<Arc<str>>, depth: usize, into: &mut Vec<Part>) {
    match kind {
        Kind::Number { number, .. } => into.push(Part { members: members.clone(), number: *number, depth }),
        Kind::List { item, .. } | Kind::Fixed { item, .. } => gather(item, members, depth + 1, into),
        Kind::Record { .. } => {
            let all = kind.members();
            for (place, (name, member)) in all.iter().enumerate() {
                // Of several members of one name expressions see the first.
                if all.iter().take(place).any(|(before, _)| before == name) {
                    continue;
                }
                members.push(Arc::clone(name));
                gather(member, members, depth, into);
                members.pop();
            }
        }
        Kind::OneOf { of, .. } => {
            if let [Kind::Number { number, .. }] = &of[..] {
                into.push(Part { members: members.clone(), number: *number, depth });
            }
        }
        Kind::Text { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } => {}
    }
}

fn broken() -> Error {
    Error::internal("a column ends before its rows")
}

/// How items of one level follow from those above.
enum Level {
    Lists(Bytes),
    Fixed(usize),
}

/// The way from the rows of a column to its innermost items.
struct Way {
    levels: Vec<Level>,
    /// Tags of its items, if they are optional.
    tags: Option<Bytes>,
    values: BufferId,
    number: Number,
}

impl Way {
    fn to(part: &Part, column: &Column) -> Result<Self> {
        let mut kind = &column.kind;
        let mut members = part.members.iter();
        let mut levels = Vec::new();
        loop {
            match kind {
                Kind::Number { buffer, number } => {
                    return Ok(Self { levels, tags: None, values: *buffer, number: *number });
                }
                Kind::OneOf { tags, of } => {
                    let [Kind::Number { buffer, number }] = &of[..] else { return Err(broken()) };
                    let tags = Some(column.buffer(*tags));
                    return Ok(Self { levels, tags, values: *buffer, number: *number });
                }
                Kind::List { offsets, item, .. } => {
                    levels.push(Level::Lists(column.buffer(*offsets)));
                    kind = item;
                }
                Kind::Fixed { len, item } => {
                    levels.push(Level::Fixed(*len));
                    kind = item;
                }
                Kind::Record { .. } => {
                    let name = members.next().ok_or_else(broken)?;
                    let found = kind.members().into_iter().find(|(known, _)| *known == name);
                    kind = found.ok_or_else(broken)?.1;
                }
                Kind::Text { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(broken()),
            }
        }
    }

    /// The first innermost item of each row, and the end of the last.
    fn starts(&self, rows: usize) -> Result<Vec<usize>> {
        let mut starts: Vec<usize> = (0..=rows).collect();
        for level in &self.levels {
            match level {
                Level::Fixed(len) => starts.iter_mut().for_each(|start| *start = start.saturating_mul(*len)),
                Level::Lists(offsets) => {
                    let offsets = i64::cast(offsets).ok_or_else(broken)?;
                    for start in &mut starts {
                        let offset = offsets.get(*start).and_then(|offset| usize::try_from(*offset).ok());
                        *start = offset.ok_or_else(broken)?;
                    }
                }
            }
        }
        if starts.is_sorted() { Ok(starts) } else { Err(broken()) }
    }
}

/// A summary for each run of rows of a column, of which `borders` are the first rows and the end of the last. Adds to
/// `item_starts`, if it is given, the first item of each row.
pub(crate) fn summaries(
    column: &Column,
    part: &Part,
    borders: &[usize],
    item_starts: Option<&mut Vec<usize>>,
) -> Result<Vec<Summary>> {
    let way = Way::to(part, column)?;
    let starts = way.starts(column.len)?;
    let mut found = Vec::with_capacity(borders.len());
    // Values before the run: absent items have none.
    let mut values_before = match (&way.tags, borders.first()) {
        (Some(_), Some(first)) if *first > 0 => return Err(broken()),
        (_, first) => first.and_then(|first| starts.get(*first)).copied().unwrap_or(0),
    };
    for pair in borders.windows(2) {
        let &[first, end] = pair else { return Err(broken()) };
        let rows = starts.get(first..=end).ok_or_else(broken)?;
        let mut summary = Summary { entries: (end - first) as u64, ..Summary::default() };
        for pair in rows.windows(2) {
            let items = (pair[1] - pair[0]) as u64;
            summary.shortest = summary.shortest.min(items);
            summary.longest = summary.longest.max(items);
            summary.empty += u64::from(items == 0);
        }
        let items = rows.first().copied().unwrap_or(0)..rows.last().copied().unwrap_or(0);
        summary.items = items.len() as u64;
        let values = match &way.tags {
            None => items,
            Some(tags) => {
                let tags = tags.get(items).ok_or_else(broken)?;
                let present = tags.iter().filter(|tag| **tag == 0).count();
                summary.absent = (tags.len() - present) as u64;
                values_before..values_before + present
            }
        };
        values_before = values.end;
        let width = way.number.bytes();
        let bytes = column.buffer(way.values);
        let at = values.start.saturating_mul(width)..values.end.saturating_mul(width);
        let bytes = bytes.get(at).ok_or_else(broken)?;
        (summary.extremes, summary.nans) = extremes(bytes, way.number)?;
        found.push(summary);
    }
    if let Some(into) = item_starts {
        *into = starts;
    }
    Ok(found)
}

/// The extremes of native-endian numbers, and how many are NaN.
fn extremes(bytes: &[u8], number: Number) -> Result<(Option<Extremes>, u64)> {
    fn slice<T: Native>(bytes: &[u8]) -> Result<&[T]> {
        T::cast(bytes).ok_or_else(broken)
    }
    macro_rules! whole {
        ($type:ty, $kind:ident, $wide:ty) => {{
            let values = slice::<$type>(bytes)?;
            let bounds = values
                .iter()
                .fold((<$type>::MAX, <$type>::MIN), |(least, largest), &value| (least.min(value), largest.max(value)));
            let found = Extremes::$kind(<$wide>::from(bounds.0), <$wide>::from(bounds.1));
            Ok(((!values.is_empty()).then_some(found), 0))
        }};
    }
    macro_rules! real {
        ($type:ty) => {{
            let mut nans = 0;
            let mut least = <$type>::INFINITY;
            let mut largest = <$type>::NEG_INFINITY;
            for &value in slice::<$type>(bytes)? {
                // NaN is neither less nor larger.
                least = if value < least { value } else { least };
                largest = if value > largest { value } else { largest };
                nans += u64::from(value.is_nan());
            }
            // All of them may be the infinity that the search begins with.
            let is_any = nans < (bytes.len() / size_of::<$type>()) as u64;
            Ok((is_any.then(|| Extremes::Real(f64::from(least), f64::from(largest))), nans))
        }};
    }
    match number {
        Number::Bool => {
            let values = slice::<bool>(bytes)?;
            let bounds = Extremes::Unsigned(u64::from(!values.contains(&false)), u64::from(values.contains(&true)));
            Ok(((!values.is_empty()).then_some(bounds), 0))
        }
        Number::I8 => whole!(i8, Signed, i64),
        Number::I16 => whole!(i16, Signed, i64),
        Number::I32 => whole!(i32, Signed, i64),
        Number::I64 => whole!(i64, Signed, i64),
        Number::U8 => whole!(u8, Unsigned, u64),
        Number::U16 => whole!(u16, Unsigned, u64),
        Number::U32 => whole!(u32, Unsigned, u64),
        Number::U64 => whole!(u64, Unsigned, u64),
        Number::F32 => real!(f32),
        Number::F64 => real!(f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_infinities_and_signed_zeros_are_counted_right() {
        let of = |values: &[f64]| extremes(f64::memory(values), Number::F64).unwrap();
        assert_eq!(of(&[]), (None, 0));
        assert_eq!(of(&[f64::NAN]), (None, 1));
        assert_eq!(of(&[f64::INFINITY]), (Some(Extremes::Real(f64::INFINITY, f64::INFINITY)), 0));
        let low = f64::NEG_INFINITY;
        assert_eq!(of(&[low, f64::NAN, low]), (Some(Extremes::Real(low, low)), 1));
        assert_eq!(of(&[0.0, -0.0, 2.0]), (Some(Extremes::Real(0.0, 2.0)), 0));
    }

    #[test]
    fn runs_of_lists_know_their_lengths() {
        let offsets = [0_i64, 2, 2, 5, 6];
        let item = Box::new(Kind::Number { buffer: 1, number: Number::I16 });
        let kind = Kind::List { offsets: 0, of: crate::column::ListOf::Sequence, item };
        let values = [3_i16, -4, 5, 6, 7, 1];
        let buffers = [i64::memory(&offsets), i16::memory(&values)].map(Bytes::copy_from_slice).to_vec();
        let column = Column::from_buffers(kind, 4, buffers);
        let parts = parts_of(&column.kind);
        assert_eq!(parts, [Part { members: Vec::new(), number: Number::I16, depth: 1 }]);
        let mut starts = Vec::new();
        let found = summaries(&column, &parts[0], &[0, 2, 4], Some(&mut starts)).unwrap();
        let first = Summary {
            entries: 2,
            extremes: Some(Extremes::Signed(-4, 3)),
            items: 2,
            empty: 1,
            shortest: 0,
            longest: 2,
            ..Summary::default()
        };
        assert_eq!(found[0], first);
        assert_eq!((found[1].extremes, found[1].shortest, found[1].longest), (Some(Extremes::Signed(1, 7)), 1, 3));
        assert_eq!(starts, [0, 2, 2, 5, 6]);
        assert!(summaries(&column, &parts[0], &[0, 5], None).is_err());
    }

    #[test]
    fn absent_values_shift_those_after_them() {
        let kind = Kind::OneOf { tags: 0, of: vec![Kind::Number { buffer: 1, number: Number::U64 }] };
        let tags = vec![0, 255, 0, 0, 255, 255];
        let values = [u64::MAX, 5, 7];
        let column = Column::from_buffers(kind, 6, vec![tags.into(), Bytes::copy_from_slice(u64::memory(&values))]);
        let parts = parts_of(&column.kind);
        let found = summaries(&column, &parts[0], &[0, 2, 4, 6], None).unwrap();
        let extremes: Vec<_> = found.iter().map(|run| (run.extremes, run.absent)).collect();
        let max = u64::MAX;
        let wanted = [(Some(Extremes::Unsigned(max, max)), 1), (Some(Extremes::Unsigned(5, 7)), 0), (None, 2)];
        assert_eq!(extremes, wanted);
    }
}
