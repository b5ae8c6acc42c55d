//! ENTRIES: values of Rust types as entries of trees and RNTuples, both ways.
//!
//! Writing pushes a value straight into the columns buffered for their cluster. Reading turns what a file has into the
//! columns that the type would be written as (`evolve`), member by member: this is where schema evolution happens. Both
//! ways a type sees [`Column`]s of its own [`Type`] only.

mod containers;
mod convert;
mod evolve;
mod fields;
mod layout;
mod members;
mod ntuple_writer;
mod numbers;
mod reader;
mod root_classes;
mod source;
mod table;
mod writer;

use std::ops::Range;
use std::sync::Arc;

use crate::write::{Class, Column, Type};
use crate::{Error, Result};
pub use ntuple_writer::NTupleEntryWriter;
pub use numbers::ArrayItem;
pub use reader::{Columns, Entries};
#[doc(hidden)]
pub use root_classes::counted;
pub use root_classes::{TClonesArray, TObject, TRef};
pub use writer::EntryWriter;

/// A type whose values are entries of trees, or parts of them.
///
/// Numbers, `bool`, `String`, `Vec` (`std::vector`), `VecDeque`, `LinkedList`, `BTreeSet`, `HashSet` (`unordered_set`),
/// `BTreeMap`, `HashMap` (`unordered_map`), arrays of numbers (`std::array` in containers), `Option` of a class (a
/// pointer, or null) and `Box` are, and of ROOT's own classes [`TObject`], [`TRef`] and [`TClonesArray`]. Structs
/// become classes by `#[derive(Entry)]`:
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[entry(class = "ns::Track")]` | struct | its name in C++, where it is another |
/// | `#[entry(version = 3)]` | struct | the number of its `ClassDef`; without, the class has none |
/// | `#[entry(default)]` | struct | members that a file lacks are those of its `Default` |
/// | `#[entry(base)]` | member | it is a base class |
/// | `#[entry(counted = "n")]` | member | a `Vec` of numbers, as many as member `n` says: `float *x; //[n]` |
/// | `#[entry(name = "fPt")]` | member | its name in C++, where it is another |
/// | `#[entry(was = "old")]` | member | a name that it had before, for reading; may stand several times |
/// | `#[entry(skip)]` | member | is not written, and is its `Default` when read |
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
///
/// #[derive(Entry, Debug, PartialEq)]
/// struct Track {
///     pt: f32,
///     hits: Vec<i32>,
/// }
///
/// #[derive(Entry, Debug, PartialEq)]
/// #[entry(version = 2)]
/// struct Event {
///     number: u64,
///     tracks: Vec<Track>,
/// }
///
/// let path = std::env::temp_dir().join("sapwood-entry.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut events = file.entries::<Event>("events", "event", 99, TreeOptions::default())?;
/// events.fill(&Event { number: 7, tracks: vec![Track { pt: 1.5, hits: vec![1, 2] }] })?;
/// events.close()?;
/// file.close()?;
///
/// let tree = sapwood::File::open(&path)?.tree("events")?;
/// let events: Vec<Event> = tree.read_entries("event", 0..tree.entries)?;
/// assert_eq!(events, [Event { number: 7, tracks: vec![Track { pt: 1.5, hits: vec![1, 2] }] }]);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
// No function takes `self` under a name that `Vec` or `String` has: it would be called in place of theirs.
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::write::{Column, Type};
///
/// /// A momentum, stored as the number that it is.
/// #[derive(Debug, PartialEq)]
/// struct GeV(f32);
///
/// impl Entry for GeV {
///     fn kind() -> Type {
///         f32::kind()
///     }
///     fn push_to(&self, column: &mut Column) {
///         self.0.push_to(column);
///     }
///     fn from_row(column: &Column, row: usize) -> sapwood::Result<Self> {
///         f32::from_row(column, row).map(Self)
///     }
///     fn absent() -> Self {
///         Self(f32::absent())
///     }
/// }
///
/// let mut column = Column::of(&GeV::kind());
/// GeV::push_all(&[GeV(1.5), GeV(2.5)], &mut column);
/// assert_eq!(GeV::from_rows(&column, 0..2)?, [GeV(1.5), GeV(2.5)]);
/// assert!(GeV::from_row(&column, 2).is_err(), "there are two rows");
/// GeV::push_each([GeV(3.5)].iter(), &mut column);
/// let value = GeV::by_row(&column);
/// assert_eq!((value(0)?, value(2)?), (GeV(1.5), GeV(3.5)));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Entry: Sized {
    /// The type, as C++ has it. A class that holds itself has none.
    fn kind() -> Type;

    /// Appends this value, as one row, to a column of [`kind`](Self::kind).
    fn push_to(&self, column: &mut Column);

    /// The value of a row. Members that a record has no values for are [`absent`](Self::absent).
    ///
    /// # Errors
    ///
    /// A column of another kind than [`kind`](Self::kind), or one without this row.
    fn from_row(column: &Column, row: usize) -> Result<Self>;

    /// The value of what is not there: zero, empty, null, and of a class all members so.
    fn absent() -> Self;

    /// Appends values one after another, each as a row; derived classes append member after member.
    fn push_each<'e>(values: impl ExactSizeIterator<Item = &'e Self> + Clone, column: &mut Column)
    where
        Self: 'e,
    {
        values.for_each(|value| value.push_to(column));
    }

    /// Appends the values of a slice, as [`push_each`](Self::push_each) does.
    fn push_all(values: &[Self], column: &mut Column) {
        /// So that the values are still in the L1 cache for the next member.
        const NEAR_BYTES: usize = 16 << 10;
        let near = (NEAR_BYTES / size_of::<Self>().max(1)).max(1);
        values.chunks(near).for_each(|values| Self::push_each(values.iter(), column));
    }

    /// A function that does what [`from_row`](Self::from_row) does, for many rows of a column: what is the same for all
    /// of them is looked up once.
    fn by_row(column: &Column) -> impl Fn(usize) -> Result<Self> {
        move |row| Self::from_row(column, row)
    }

    /// The values of consecutive rows.
    ///
    /// # Errors
    ///
    /// Those of [`from_row`](Self::from_row).
    fn from_rows(column: &Column, rows: Range<usize>) -> Result<Vec<Self>> {
        let value = Self::by_row(column);
        let mut values = Vec::with_capacity(rows.len().min(column.len()));
        for row in rows {
            values.push(value(row)?);
        }
        Ok(values)
    }
}

/// An [`Entry`] that is a class: what a pointer can point at, and what a tree's branch can be split into. Derived with
/// it.
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::entry::EntryClass;
/// #[derive(Entry)]
/// struct Pos {
///     x: f64,
///     y: f64,
/// }
/// assert_eq!(Pos::class().checksum(), 1_565_559_781, "what ROOT computes for struct Pos {{ double x, y; }}");
/// ```
pub trait EntryClass: Entry {
    /// Its name, version, bases and members.
    fn class() -> Arc<Class>;
}

/// The value of member `index` of a class, or what stands for one that it was stored without.
fn member<T: Entry>(columns: &[Column], index: usize, row: usize) -> Result<T> {
    match columns.get(index) {
        Some(column) if !column.is_empty() => T::from_row(column, row),
        _ => Ok(T::absent()),
    }
}

/// What gives the values of member `index` of a class, for derived code: none where the class was stored without the
/// member, which leaves its column empty.
#[doc(hidden)]
pub fn member_by_row<T: Entry>(columns: &[Column], index: usize) -> Option<impl Fn(usize) -> Result<T>> {
    columns.get(index).filter(|column| !column.is_empty()).map(T::by_row)
}

/// The error of a column that has no such row of a type, also for derived code.
#[doc(hidden)]
#[cold]
pub fn no_row<T: Entry>(column: &Column, row: usize) -> Error {
    let (what, rows) = (std::any::type_name::<T>(), column.len());
    Error::internal(format_args!("row {row} of {what} is not in its column, which has {rows} rows or another kind"))
}
