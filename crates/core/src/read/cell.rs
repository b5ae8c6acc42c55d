//! One value of a column at a time, whatever its type: for tables, JSON and other texts.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::column::{BufferId, Kind, Number};
use crate::read::Column;

/// One value of a column. Lists and records lead to further values, which [`Cells::at`] returns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cell<'k> {
    /// No value: an optional value that is missing, or a null pointer.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number of any width.
    Whole(i128),
    /// A number of 32 bits.
    F32(f32),
    /// A number of 64 bits.
    F64(f64),
    /// The bytes of a text.
    Text(Bytes),
    /// The number of bytes of a value that nothing here decodes.
    Opaque(usize),
    /// A pointer that was not followed, with the class that it is declared with.
    Pointer(&'k str),
    /// The rows of the items of a list, and their type.
    List(&'k Kind, Range<usize>),
    /// The members of a record, at the same row.
    Record(Vec<(Arc<str>, &'k Kind)>),
}

/// Reads the values of a column one by one.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::read::{self, Cell, Cells};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let columns = read::columns(&tree, &[tree.branch("nJet")?.id, tree.branch("Jet_pt")?.id], 0..10)?;
/// let mut counts = Cells::new(&columns[0]);
/// let mut lists = Cells::new(&columns[1]);
/// for row in 0..10 {
///     let Cell::Whole(count) = counts.at(&columns[0].kind, row) else { panic!("a count is a whole number") };
///     let Cell::List(item, rows) = lists.at(&columns[1].kind, row) else { panic!("a list is expected") };
///     assert_eq!(rows.len() as i128, count);
///     assert!(rows.into_iter().all(|row| matches!(lists.at(item, row), Cell::F32(pt) if pt > 0.0)));
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Cells<'c> {
    column: &'c Column,
    /// For each buffer of tags, the place of each row among the values of its type. Without these, the place of a row
    /// would have to be counted from the first row on.
    places: HashMap<BufferId, Vec<usize>>,
}

impl<'c> Cells<'c> {
    /// Reads this column.
    pub fn new(column: &'c Column) -> Self {
        Self { column, places: HashMap::new() }
    }

    /// The value at a row of a type of this column: [`Column::kind`], or one that another value led to. Rows that do
    /// not exist are null.
    pub fn at<'k>(&mut self, kind: &'k Kind, row: usize) -> Cell<'k> {
        match kind {
            Kind::Number { buffer, number } => self.number(*buffer, *number, row),
            Kind::Text { offsets, bytes } => {
                let all = self.column.buffer(*bytes);
                let bounds = self.column.bounds(*offsets, row);
                Cell::Text(if bounds.end <= all.len() { all.slice(bounds) } else { Bytes::new() })
            }
            Kind::Opaque { offsets, .. } => Cell::Opaque(self.column.bounds(*offsets, row).len()),
            Kind::List { offsets, item, .. } => Cell::List(item, self.column.bounds(*offsets, row)),
            Kind::Fixed { len, item } => Cell::List(item, row * len..(row + 1) * len),
            Kind::Record { .. } => Cell::Record(kind.shown_members()),
            Kind::Pointer { class, .. } => Cell::Pointer(class),
            Kind::OneOf { tags, of } => {
                let tag = self.column.buffer(*tags).get(row).copied();
                let Some(kind) = tag.and_then(|tag| of.get(usize::from(tag))) else { return Cell::Null };
                let place = self.place(*tags, row);
                self.at(kind, place)
            }
        }
    }

    fn place(&mut self, tags: BufferId, row: usize) -> usize {
        let column = self.column;
        let places = self.places.entry(tags).or_insert_with(|| {
            let mut counts = [0; 256];
            let count = |&tag: &u8| {
                counts[usize::from(tag)] += 1;
                counts[usize::from(tag)] - 1
            };
            column.buffer(tags).iter().map(count).collect()
        });
        places.get(row).copied().unwrap_or(usize::MAX)
    }

    fn number<'k>(&self, buffer: BufferId, number: Number, row: usize) -> Cell<'k> {
        let bytes = self.column.buffer(buffer);
        macro_rules! read {
            ($type:ty) => {
                match row.checked_mul(size_of::<$type>()).and_then(|at| bytes.get(at..)?.first_chunk()) {
                    Some(chunk) => <$type>::from_ne_bytes(*chunk),
                    None => return Cell::Null,
                }
            };
        }
        match number {
            Number::Bool => Cell::Bool(read!(u8) != 0),
            Number::I8 => Cell::Whole(read!(i8).into()),
            Number::U8 => Cell::Whole(read!(u8).into()),
            Number::I16 => Cell::Whole(read!(i16).into()),
            Number::U16 => Cell::Whole(read!(u16).into()),
            Number::I32 => Cell::Whole(read!(i32).into()),
            Number::U32 => Cell::Whole(read!(u32).into()),
            Number::I64 => Cell::Whole(read!(i64).into()),
            Number::U64 => Cell::Whole(read!(u64).into()),
            Number::F32 => Cell::F32(read!(f32)),
            Number::F64 => Cell::F64(read!(f64)),
        }
    }
}
