//! Rows of columns in another order: what a friend has for the entries of its tree.

use std::ops::Range;

use bytes::Bytes;

use super::loaded::Loaded;
use super::ranks::ranks_of;
use crate::column::{Cast as _, Kind, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// Rows that follow one another.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Run {
    /// Rows of one of the columns.
    Of(usize, Range<usize>),
    /// So many rows that no column has: zeros, and empty lists.
    Missing(usize),
}

impl Run {
    fn len(&self) -> usize {
        match self {
            Self::Of(_, rows) => rows.len(),
            Self::Missing(rows) => *rows,
        }
    }
}

/// Adds a run, or lengthens the last one.
pub(super) fn push(runs: &mut Vec<Run>, next: Run) {
    match (runs.last_mut(), &next) {
        (Some(Run::Of(a, last)), Run::Of(b, rows)) if a == b && last.end == rows.start => last.end = rows.end,
        (Some(Run::Missing(last)), Run::Missing(more)) => *last += more,
        _ if next.len() == 0 => {}
        _ => runs.push(next),
    }
}

/// One column of rows of several, which have the same type.
pub(super) fn gather(columns: &[Column], runs: &[Run], most_bytes: u64) -> Result<Column> {
    let rows = runs.iter().map(Run::len).sum();
    let kinds: Vec<&Kind> = columns.iter().map(|column| &column.kind).collect();
    let mut gathered = Gathered { columns, buffers: Vec::new(), left_bytes: most_bytes };
    let kind = gathered.kind(&kinds, runs)?;
    Ok(Column::from_buffers(kind, rows, gathered.buffers))
}

struct Gathered<'c> {
    columns: &'c [Column],
    buffers: Vec<Bytes>,
    left_bytes: u64,
}

/// A column that ends before its rows.
fn broken() -> Error {
    Error::internal("a column of a friend ends before its rows")
}

fn other_type() -> Error {
    Error::mismatch("the trees of a friend have columns of different types")
}

impl Gathered<'_> {
    fn kind(&mut self, kinds: &[&Kind], runs: &[Run]) -> Result<Kind> {
        let Some(first) = kinds.first() else { return Err(Error::internal("nothing is gathered")) };
        Ok(match first {
            Kind::Number { number, .. } => self.numbers(*number, kinds, runs)?,
            Kind::Text { .. } => {
                let of = kinds.iter().map(|kind| match kind {
                    Kind::Text { offsets, bytes } => {
                        Ok((*offsets, Kind::Number { buffer: *bytes, number: Number::U8 }))
                    }
                    _ => Err(other_type()),
                });
                let (offsets, bytes): (Vec<_>, Vec<_>) = of.collect::<Result<Vec<_>>>()?.into_iter().unzip();
                let (offsets, runs) = self.lists(&offsets, runs)?;
                let Kind::Number { buffer, .. } = self.numbers(Number::U8, &bytes.iter().collect::<Vec<_>>(), &runs)?
                else {
                    return Err(broken());
                };
                Kind::Text { offsets, bytes: buffer }
            }
            Kind::List { of: meaning, .. } => {
                let of = kinds.iter().map(|kind| match kind {
                    Kind::List { offsets, item, .. } => Ok((*offsets, &**item)),
                    _ => Err(other_type()),
                });
                let (offsets, items): (Vec<_>, Vec<_>) = of.collect::<Result<Vec<_>>>()?.into_iter().unzip();
                let (offsets, runs) = self.lists(&offsets, runs)?;
                Kind::List { offsets, of: *meaning, item: Box::new(self.kind(&items, &runs)?) }
            }
            Kind::Fixed { len, .. } => {
                let items = kinds.iter().map(|kind| match kind {
                    Kind::Fixed { len: other, item } if other == len => Ok(&**item),
                    _ => Err(other_type()),
                });
                let items = items.collect::<Result<Vec<_>>>()?;
                let times = |count: usize| count.checked_mul(*len).ok_or_else(broken);
                let scaled = |run: &Run| {
                    Ok(match run {
                        Run::Of(column, rows) => Run::Of(*column, times(rows.start)?..times(rows.end)?),
                        Run::Missing(rows) => Run::Missing(times(*rows)?),
                    })
                };
                let runs = runs.iter().map(scaled).collect::<Result<Vec<_>>>()?;
                Kind::Fixed { len: *len, item: Box::new(self.kind(&items, &runs)?) }
            }
            Kind::Record { class, fields } => {
                let mut gathered = Vec::with_capacity(fields.len());
                for (place, field) in fields.iter().enumerate() {
                    let of = kinds.iter().map(|kind| match kind {
                        Kind::Record { fields, .. } => {
                            fields.get(place).filter(|other| other.name == field.name).map(|other| &other.kind)
                        }
                        _ => None,
                    });
                    let of = of.collect::<Option<Vec<_>>>().ok_or_else(other_type)?;
                    gathered.push(crate::column::Field { kind: self.kind(&of, runs)?, ..field.clone() });
                }
                Kind::Record { class: class.clone(), fields: gathered }
            }
            Kind::OneOf { .. } => self.one_of(kinds, runs)?,
            Kind::Opaque { .. } | Kind::Pointer { .. } => {
                return Err(Error::unsupported("bytes whose type is not known, in a column of a friend"));
            }
        })
    }

    /// Values that may be absent, or of one of several types: rows of each type, and which row has which.
    fn one_of(&mut self, kinds: &[&Kind], runs: &[Run]) -> Result<Kind> {
        let of = kinds.iter().zip(self.columns).map(|(kind, column)| match kind {
            Kind::OneOf { tags, of } => Ok((column.buffer(*tags), &of[..])),
            _ => Err(other_type()),
        });
        let (tags, types): (Vec<Bytes>, Vec<&[Kind]>) = of.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let ranks: Vec<Vec<u32>> = tags.iter().map(|tags| ranks_of(tags)).collect();
        let (mut all, numbers) = all_types(&types);
        if all.len() > i8::MAX as usize {
            return Err(Error::limit("types of values in a column of a friend", i8::MAX as u64, all.len() as u64));
        }
        let mut gathered: Vec<u8> = self.room(runs.iter().map(Run::len).fold(0, usize::saturating_add), 1)?;
        for run in runs {
            let Run::Of(column, rows) = run else {
                gathered.resize(gathered.len() + run.len(), NULL);
                continue;
            };
            let (Some(tags), Some(ranks)) = (tags[*column].get(rows.clone()), ranks[*column].get(rows.clone())) else {
                return Err(broken());
            };
            for (&tag, &rank) in tags.iter().zip(ranks) {
                let Some(&(number, place)) = numbers[*column].get(usize::from(tag)) else {
                    gathered.push(NULL);
                    continue;
                };
                push(&mut all[number].1, Run::Of(place, rank as usize..rank as usize + 1));
                gathered.push(number as u8);
            }
        }
        let tags = self.add(gathered.into());
        let of = all.into_iter().map(|(kinds, runs)| {
            // Only of the columns that have the type.
            let columns: Vec<Column> = kinds.iter().map(|&(column, _)| self.columns[column].clone()).collect();
            let kinds: Vec<&Kind> = kinds.iter().map(|(_, kind)| *kind).collect();
            let buffers = std::mem::take(&mut self.buffers);
            let mut inner = Gathered { columns: &columns, buffers, left_bytes: self.left_bytes };
            let kind = inner.kind(&kinds, &runs)?;
            (self.buffers, self.left_bytes) = (inner.buffers, inner.left_bytes);
            Ok(kind)
        });
        Ok(Kind::OneOf { tags, of: of.collect::<Result<_>>()? })
    }

    fn numbers(&mut self, number: Number, kinds: &[&Kind], runs: &[Run]) -> Result<Kind> {
        let width = number.bytes();
        let of = kinds.iter().zip(self.columns).map(|(kind, column)| match kind {
            Kind::Number { buffer, number: other } if *other == number => Ok(column.buffer(*buffer)),
            _ => Err(other_type()),
        });
        let of = of.collect::<Result<Vec<_>>>()?;
        let items: usize = runs.iter().map(Run::len).fold(0, usize::saturating_add);
        let mut gathered: Vec<u8> = self.room(items, width)?;
        for run in runs {
            match run {
                Run::Of(column, rows) => {
                    let bytes = of.get(*column).and_then(|bytes| bytes.get(rows.start * width..rows.end * width));
                    gathered.extend_from_slice(bytes.ok_or_else(broken)?);
                }
                Run::Missing(rows) => gathered.resize(gathered.len() + rows * width, 0),
            }
        }
        Ok(Kind::Number { buffer: self.add(gathered.into()), number })
    }

    /// Offsets of the lists of some rows, and the runs of their items.
    fn lists(&mut self, offsets: &[u32], runs: &[Run]) -> Result<(u32, Vec<Run>)> {
        let of: Vec<Bytes> = offsets.iter().zip(self.columns).map(|(&id, column)| column.buffer(id)).collect();
        let lists: usize = runs.iter().map(Run::len).fold(1, usize::saturating_add);
        let mut ends: Vec<i64> = self.room(lists, size_of::<i64>())?;
        let (mut end, mut items) = (0_i64, Vec::new());
        ends.push(end);
        for run in runs {
            match run {
                Run::Missing(rows) => ends.resize(ends.len() + rows, end),
                Run::Of(column, rows) => {
                    let all = of.get(*column).and_then(|bytes| i64::cast(bytes)).ok_or_else(broken)?;
                    let part = all.get(rows.start..=rows.end).ok_or_else(broken)?;
                    let (first, last) = (part[0], part[part.len() - 1]);
                    ends.extend(part[1..].iter().map(|at| end + (at - first)));
                    end = end.checked_add(last - first).ok_or_else(broken)?;
                    let place = |at: i64| usize::try_from(at).map_err(|_| broken());
                    push(&mut items, Run::Of(*column, place(first)?..place(last)?));
                }
            }
        }
        let bytes = Bytes::copy_from_slice(i64::memory(&ends));
        Ok((self.add(bytes), items))
    }

    /// Memory for so many items: a row of a friend may be wanted again and again.
    fn room<T>(&mut self, items: usize, width: usize) -> Result<Vec<T>> {
        let bytes = (items as u64).saturating_mul(width as u64);
        let words = "what a friend has for the entries of its tree";
        self.left_bytes =
            self.left_bytes.checked_sub(bytes).ok_or_else(|| Error::limit(words, self.left_bytes, bytes))?;
        let mut room = Vec::new();
        let count = bytes as usize / size_of::<T>().max(1);
        room.try_reserve_exact(count).map_err(|_| Error::limit(words, 0, bytes))?;
        Ok(room)
    }

    fn add(&mut self, buffer: Bytes) -> u32 {
        self.buffers.push(buffer);
        self.buffers.len() as u32 - 1
    }
}

/// The tag of a value that is absent.
const NULL: u8 = -1_i8 as u8;

/// A type with the columns that have it, and the runs over its rows.
type OfType<'k> = (Vec<(usize, &'k Kind)>, Vec<Run>);

/// The types of all columns, and for each column the number there of each of its own, and its place among those that
/// have it.
fn all_types<'k>(columns: &[&'k [Kind]]) -> (Vec<OfType<'k>>, Vec<Vec<(usize, usize)>>) {
    let mut all: Vec<(String, OfType<'_>)> = Vec::new();
    let numbers = columns.iter().enumerate().map(|(column, kinds)| {
        let mut free: Vec<bool> = vec![true; all.len()];
        kinds
            .iter()
            .map(|kind| {
                let shape = kind.to_string();
                // A variant may have one type twice.
                let known = (0..free.len()).find(|&number| free[number] && all[number].0 == shape);
                let number = known.unwrap_or_else(|| {
                    all.push((shape, (Vec::new(), Vec::new())));
                    free.push(true);
                    all.len() - 1
                });
                free[number] = false;
                let of = &mut all[number].1.0;
                of.push((column, kind));
                (number, of.len() - 1)
            })
            .collect()
    });
    let numbers = numbers.collect();
    (all.into_iter().map(|(_, of)| of).collect(), numbers)
}

/// Runs over the rows of all parts, one after another, as runs over each.
pub(super) fn of_parts(rows: &[Run], lens: &[usize]) -> Vec<Run> {
    let mut runs = Vec::new();
    for run in rows {
        let Run::Of(_, rows) = run else {
            push(&mut runs, run.clone());
            continue;
        };
        let mut first = 0;
        for (part, len) in lens.iter().enumerate() {
            let end = first + len;
            let (start, stop) = (rows.start.max(first), rows.end.min(end));
            if start < stop {
                push(&mut runs, Run::Of(part, start - first..stop - first));
            }
            first = end;
        }
    }
    runs
}

/// Which rows of a run are there.
pub(super) fn present(run: &Run, of: &[&Loaded]) -> Vec<bool> {
    match run {
        Run::Missing(rows) => vec![false; *rows],
        Run::Of(part, rows) => {
            let there = of.get(*part).and_then(|loaded| loaded.present.as_ref());
            match there.and_then(|there| there.get(rows.clone())) {
                Some(there) => there.to_vec(),
                None => vec![true; rows.len()],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ListOf;

    fn lists() -> Column {
        let ends = Bytes::copy_from_slice(i64::memory(&[0, 2, 2, 5]));
        let item = Box::new(Kind::Number { buffer: 1, number: Number::U8 });
        let kind = Kind::List { offsets: 0, of: ListOf::Sequence, item };
        Column::from_buffers(kind, 3, vec![ends, vec![1_u8, 2, 3, 4, 5].into()])
    }

    #[test]
    fn rows_are_taken_in_any_order_and_missing_ones_are_empty() {
        let columns = [lists(), lists()];
        let runs = [Run::Of(0, 2..3), Run::Missing(1), Run::Of(1, 0..2), Run::Of(0, 2..3)];
        let found = gather(&columns, &runs, 1 << 20).unwrap();
        assert_eq!(found.offsets(), [0, 3, 3, 5, 5, 8]);
        assert_eq!(found.items().unwrap().numbers::<u8>().unwrap(), [3, 4, 5, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_row_that_is_wanted_too_often_is_refused_before_memory_is_taken() {
        let runs = vec![Run::Of(0, 2..3); 1_000];
        let error = gather(&[lists()], &runs, 9_000).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
        assert!(gather(&[lists()], &runs, 20_000).is_ok());
    }

    #[test]
    fn columns_of_other_types_and_rows_that_are_not_there_are_errors() {
        let numbers = Column::from_numbers(&[1.0]);
        assert!(gather(&[lists(), numbers.clone()], &[Run::Of(0, 0..1)], 1 << 20).is_err());
        assert!(gather(&[numbers], &[Run::Of(0, 0..2)], 1 << 20).is_err());
    }
}
