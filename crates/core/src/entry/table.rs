//! Entries of a table as values and columns of a Rust type.

use std::ops::Range;

use super::{Columns, Entries, Entry};
use crate::error::Result;
use crate::table::Table;
use crate::write::Type;

impl Table {
    /// Reads entries of a branch or field, or of all at the top as members of `T` if the path is empty.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for an unknown path, [`Mismatch`](crate::ErrorKind::Mismatch) if what
    /// is stored does not fit `T`.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// #[derive(sapwood::Entry)]
    /// struct Event {
    ///     #[entry(name = "nJet")]
    ///     jets: u32,
    /// }
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.read_entries::<Event>("", 1..3)?[0].jets, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_entries<T: Entry>(&self, path: &str, entries: Range<u64>) -> Result<Vec<T>> {
        match self {
            Self::Tree(tree) => tree.read_entries(path, entries),
            Self::NTuple(ntuple) => ntuple.read_entries(path, entries),
        }
    }

    /// All entries one after another, read cluster by cluster.
    ///
    /// # Errors
    ///
    /// As [`read_entries`](Self::read_entries); the iterator returns errors of values as it reads them.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.iter_entries::<u32>("nJet")?.next().expect("an entry")?, 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_entries<T: Entry>(&self, path: &str) -> Result<Entries<T>> {
        match self {
            Self::Tree(tree) => tree.iter_entries(path),
            Self::NTuple(ntuple) => ntuple.iter_entries(path),
        }
    }

    /// Some entries as columns of a type, read cluster by cluster.
    ///
    /// # Errors
    ///
    /// As [`iter_entries`](Self::iter_entries).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::column::Number;
    /// use sapwood::write::{Column, Type};
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let mut steps = table.iter_columns("nJet", Type::Number(Number::U32), 0..3)?;
    /// assert_eq!(steps.next().expect("a step")?, Column::from(&[2_u32, 3, 5]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_columns(&self, path: &str, kind: Type, entries: Range<u64>) -> Result<Columns> {
        match self {
            Self::Tree(tree) => tree.iter_columns(path, kind, entries),
            Self::NTuple(ntuple) => ntuple.iter_columns(path, kind, entries),
        }
    }
}
