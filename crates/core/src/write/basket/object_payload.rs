//! Entries of object branches in the format of baskets.
//!
//! Source: `TBranchElement::FillLeavesMember`, `FillLeavesCollection`, `FillLeavesCollectionMember`.

use std::ops::Range;
use std::sync::Arc;

use crate::column::{BufferId, Field, Kind, Part, Prim, check};
use crate::error::{Error, Result};
use crate::schema::{Encoder, Entries, IS_REFERENCED, Pointees, Program, Registry};
use crate::write::basket::offsets::{Shape, offsets, stored, words};
use crate::write::basket::pointee::{draft, too_few};
use crate::write::model::class::Type;
use crate::write::model::columns::Column;
use crate::write::model::number_codes::COUNTER;
use crate::write::model::split::{Data, Plan, Split};
use crate::write::model::tobject::BITS_CODE;

/// The column of a member of members.
fn inside<'c>(column: &'c Column, path: &[usize]) -> Option<&'c Column> {
    path.iter().try_fold(column, |column, &member| match column {
        Column::Record(_, columns) => columns.get(member),
        _ => None,
    })
}

/// The ends of lists, and their items.
fn lists<'c>(column: &'c Column, path: &[usize]) -> Option<(&'c [u64], &'c Column)> {
    match inside(column, path)? {
        Column::Lists(ends, items) => Some((ends, items)),
        _ => None,
    }
}

/// How many items each of consecutive lists has.
fn lengths(ends: &[u64], lists: &Range<usize>) -> impl ExactSizeIterator<Item = usize> {
    let mut before = Column::span(ends, &(0..lists.start)).end as u64;
    ends[lists.clone()].iter().map(move |&end| (end - std::mem::replace(&mut before, end)) as usize)
}

/// Bytes of memory of rows of a branch. A column that is not laid out as its class has none: writing it is an error.
pub(crate) fn bytes_of(split: &Split, column: &Column, rows: &Range<usize>) -> usize {
    match &split.data {
        Data::None => 0,
        Data::Counts(..) => 4 * rows.len(),
        Data::Rows(path, ..) => inside(column, path).map_or(0, |column| column.bytes_of(rows)),
        Data::Items(path, member, ..) => lists(column, path).map_or(0, |(ends, items)| {
            inside(items, member).map_or(0, |column| column.bytes_of(&Column::span(ends, rows)))
        }),
    }
}

/// The most items of a collection, or the largest length of an array.
pub(crate) fn most(split: &Split, column: &Column, rows: &Range<usize>) -> u64 {
    match &split.data {
        Data::Counts(path, _) => {
            let Some((ends, _)) = lists(column, path) else { return 0 };
            lengths(ends, rows).max().unwrap_or(0) as u64
        }
        Data::Rows(path, Type::Number(number), _) if split.code == COUNTER => {
            let Some(Column::Numbers(width, bytes)) = inside(column, path) else { return 0 };
            let bytes = bytes.get(rows.start * width..rows.end * width).unwrap_or_default();
            number.wholes(bytes).filter_map(|count| u64::try_from(count).ok()).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Where entries are written, and memory for it.
pub(crate) struct Room<'r> {
    /// Bytes of the basket's key.
    pub(crate) keylen: usize,
    /// What the entries are appended to.
    pub(crate) into: &'r mut Vec<u8>,
    /// For values on their way, of whatever content.
    pub(crate) part: &'r mut Part,
}

/// Appends entries in the format of a basket; none if they exceed 32-bit offsets.
pub(crate) fn payload(
    plan: &Plan,
    split: &Split,
    column: &Column,
    rows: &Range<usize>,
    room: Room<'_>,
) -> Result<Option<Shape>> {
    let Room { keylen, into, .. } = room;
    let lost = || Error::mismatch("values are not laid out as their class is");
    match &split.data {
        Data::None => Ok(None),
        Data::Counts(path, has_offsets) => {
            let (ends, _) = lists(column, path).ok_or_else(lost)?;
            words(into, lengths(ends, rows).map(|count| count as u32));
            if !has_offsets {
                return Ok(Some(Shape { data_bytes: 4 * rows.len(), width: 4 }));
            }
            Ok(with_offsets(4 * rows.len(), keylen, (1..rows.len() + 1).map(|row| 4 * row), into))
        }
        Data::Rows(path, kind, program) => {
            let column = inside(column, path).ok_or_else(lost)?;
            match (numbers(split, kind, column, rows, into), kind) {
                (Some(width), Type::Number(_)) if split.single().is_some() => {
                    Ok(Some(Shape { data_bytes: width * rows.len(), width }))
                }
                (Some(width), _) => {
                    let ends = (1..rows.len() + 1).map(|row| width * row);
                    Ok(with_offsets(width * rows.len(), keylen, ends, into))
                }
                _ => run(plan, program, column, rows, Entries::Rows(rows.len()), Room { into, ..room }),
            }
        }
        Data::Items(path, member, kind, program) => {
            let (ends, items) = lists(column, path).ok_or_else(lost)?;
            let column = inside(items, member).ok_or_else(lost)?;
            let span = Column::span(ends, rows);
            match numbers(split, kind, column, &span, into) {
                Some(width) => {
                    let ends = ends[rows.clone()].iter().map(|&end| width * (end as usize - span.start));
                    Ok(with_offsets(width * span.len(), keylen, ends, into))
                }
                None => {
                    let counts: Vec<usize> = lengths(ends, rows).collect();
                    run(plan, program, column, &span, Entries::Items(&counts), Room { into, ..room })
                }
            }
        }
    }
}

fn with_offsets(
    data_bytes: usize,
    keylen: usize,
    ends: impl ExactSizeIterator<Item = usize>,
    into: &mut Vec<u8>,
) -> Option<Shape> {
    offsets(into, keylen, ends)?;
    Some(Shape { data_bytes, width: 0 })
}

/// Appends numbers or arrays of them as they stand in a file, and gives the bytes of each; none for other values.
fn numbers(split: &Split, kind: &Type, column: &Column, rows: &Range<usize>, into: &mut Vec<u8>) -> Option<usize> {
    let (Type::Number(number) | Type::Array(number, _), Column::Numbers(width, bytes)) = (kind, column) else {
        return None;
    };
    let bytes = bytes.get(rows.start * width..rows.end * width)?;
    let is_referenced = |word: &[u8; 4]| u32::from_ne_bytes(*word) & IS_REFERENCED != 0;
    if split.code == BITS_CODE && bytes.as_chunks().0.iter().any(is_referenced) {
        // The number of a process is behind it.
        return None;
    }
    stored(Prim::Plain(*number), bytes, into);
    Some(*width)
}

/// Entries by the program that reads them.
fn run(
    plan: &Plan,
    program: &Arc<Program>,
    column: &Column,
    span: &Range<usize>,
    entries: Entries<'_>,
    room: Room<'_>,
) -> Result<Option<Shape>> {
    let Room { keylen, into, part } = room;
    part.reshape(&program.buffers);
    let mut fill = Fill { part, pointees: Pointees::default(), registry: &plan.registry };
    fill.rows(&program.kind, column, span)?;
    let Fill { part, pointees, .. } = fill;
    // What lags behind would be written as zeros.
    check(&program.kind, span.len(), part)?;
    let before = into.len();
    let mut encoder = Encoder::styled(keylen, Arc::clone(&plan.style)).behind(std::mem::take(into));
    let starts = encoder.entries(program, &plan.registry, part, &pointees, entries)?;
    *into = encoder.into_writer().into_bytes();
    Ok(with_offsets(into.len() - before, keylen, starts.into_iter().skip(1), into))
}

/// From columns as they were given to the buffers of a program.
struct Fill<'r> {
    part: &'r mut Part,
    pointees: Pointees,
    registry: &'r Arc<Registry>,
}

impl Fill<'_> {
    fn rows(&mut self, kind: &Kind, column: &Column, rows: &Range<usize>) -> Result<()> {
        match (kind, column) {
            (Kind::Number { buffer, .. }, Column::Numbers(..)) => self.bytes(*buffer, column, rows),
            (Kind::Fixed { item, .. }, Column::Numbers(..)) => self.rows(item, column, rows),
            (Kind::Text { offsets, bytes }, Column::Lists(ends, items)) => {
                self.ends(*offsets, ends, rows)?;
                self.bytes(*bytes, items, &Column::span(ends, rows))
            }
            (Kind::List { offsets, item, .. }, Column::Lists(ends, items)) => {
                self.ends(*offsets, ends, rows)?;
                self.rows(item, items, &Column::span(ends, rows))
            }
            (Kind::Record { fields, .. }, Column::Record(_, columns)) => {
                // A `TObject` that a class leaves out is no field.
                let leaves_out = fields.len() < columns.len();
                let mut columns = columns.iter().filter(|column| !(leaves_out && column.is_hollow()));
                let mut one = |field: &Field| {
                    let column = columns.next().ok_or_else(too_few)?;
                    self.rows(&field.kind, column, rows)
                };
                fields.iter().try_for_each(&mut one)?;
                if columns.next().is_some() { Err(too_few()) } else { Ok(()) }
            }
            // An array that is an object, in a container.
            (Kind::Record { fields, .. }, Column::Numbers(..)) if let [array] = &fields[..] => {
                self.rows(&array.kind, column, rows)
            }
            (Kind::Pointer { buffer, class }, Column::Lists(ends, items)) => {
                for row in rows.clone() {
                    let id = match Column::span(ends, &(row..row + 1)) {
                        one if one.is_empty() => 0,
                        one => {
                            let draft = draft(self.registry, class, items, one.start)?;
                            self.pointees.push(draft)
                        }
                    };
                    self.part.words_mut(*buffer).push(id);
                }
                Ok(())
            }
            _ => Err(Error::mismatch("values are not laid out as their class is")),
        }
    }

    fn bytes(&mut self, buffer: BufferId, column: &Column, rows: &Range<usize>) -> Result<()> {
        let Column::Numbers(width, bytes) = column else {
            return Err(Error::mismatch("values are not laid out as their class is"));
        };
        let from = bytes.get(rows.start * width..rows.end * width).ok_or_else(too_few)?;
        self.part.bytes_mut(buffer).extend_from_slice(from);
        Ok(())
    }

    fn ends(&mut self, buffer: BufferId, ends: &[u64], rows: &Range<usize>) -> Result<()> {
        lengths(ends, rows).try_for_each(|length| self.part.end_list(buffer, length))
    }
}
