//! Columns by name and number: those of a table, or columns in memory.

use std::ops::Range;
use std::sync::Arc;

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::read::{Column, Progress, Selection};
use crate::table::{Found, Table};
use crate::tree::Stepping;

/// A table, or columns in memory.
#[derive(Clone, Debug)]
pub(super) enum Columns {
    Table(Table),
    Memory(Arc<[(String, Column)]>),
}

impl Columns {
    /// The table, if it is one.
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Memory(_) => None,
        }
    }

    /// Its entries. Without columns in memory there is one, for expressions that name none.
    pub(super) fn entries(&self) -> u64 {
        match self {
            Self::Table(table) => table.entries(),
            Self::Memory(columns) => columns.first().map_or(1, |(_, column)| column.len as u64),
        }
    }

    /// Whether both are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Table(a), Self::Table(b)) => a.is(b),
            (Self::Memory(a), Self::Memory(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Entries that were written together; none where nothing says so.
    pub(super) fn clusters(&self) -> Result<Vec<Range<u64>>> {
        self.table().map_or_else(|| Ok(Vec::new()), Table::clusters)
    }

    /// The meaning of a name, below a branch or field before all others.
    pub(super) fn find(&self, below: Option<usize>, name: &str) -> Option<Found> {
        match self {
            Self::Table(table) => table.named(below, name),
            Self::Memory(columns) => {
                let id = columns.iter().position(|(known, _)| known == name)?;
                Some(Found { id, member: None })
            }
        }
    }

    /// How many columns it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Memory(columns) => columns.len(),
        }
    }

    /// The name of a column, by which it is found among the same columns.
    pub(super) fn name_of(&self, id: usize) -> Result<String> {
        match self {
            Self::Table(table) => table.name_of(id),
            Self::Memory(columns) => {
                columns.get(id).map(|(name, _)| name.clone()).ok_or_else(|| Error::not_found("no such column"))
            }
        }
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Table(table) => table.names(),
            Self::Memory(columns) => columns.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The type of a column with its pointers.
    pub(super) fn stored_kind(&self, id: usize) -> Result<Kind> {
        match self {
            Self::Table(table) => table.stored_kind(id),
            Self::Memory(columns) => {
                columns.get(id).map(|(_, column)| column.kind.clone()).ok_or_else(|| Error::internal("no such column"))
            }
        }
    }

    /// The type of a column with its pointers followed, as far as it does not depend on the values.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
        match self {
            Self::Table(table) => table.kind(id),
            Self::Memory(_) => self.stored_kind(id),
        }
    }

    /// The type of the objects of a class, without those of classes derived from it.
    pub(super) fn objects(&self, class: &Arc<str>) -> Result<Kind> {
        match self {
            Self::Table(table) => table.objects(class),
            Self::Memory(_) => Err(Error::unsupported("columns in memory have no pointers that can be followed")),
        }
    }

    /// Bytes of memory that an entry of some columns takes, about.
    pub(super) fn entry_bytes(&self, ids: &[usize]) -> u64 {
        match self {
            Self::Table(table) => table.entry_bytes(ids),
            Self::Memory(_) => 16 * ids.len() as u64,
        }
    }

    /// Begins an iteration of what is in a file.
    pub(super) fn stepping(&self) -> Option<Stepping> {
        self.table().map(Table::stepping)
    }

    /// Reads columns.
    pub(super) fn read(
        &self,
        ids: &[usize],
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Column>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        match self {
            Self::Table(table) => table.read_with(ids, entries, progress),
            Self::Memory(columns) => {
                let held = Selection::try_from(0..self.entries())?;
                let narrowed = |id: &usize| match columns.get(*id) {
                    Some((_, column)) => column
                        .clone()
                        .narrowed(&held, entries)?
                        .ok_or_else(|| Error::unsupported("columns of lists in memory are queried whole")),
                    None => Err(Error::internal("no such column")),
                };
                ids.iter().map(narrowed).collect()
            }
        }
    }

    /// The most bytes that one answer may take.
    pub(super) fn most_bytes(&self) -> u64 {
        self.table().map_or(u64::MAX, |table| table.file().options().limits.answer_bytes)
    }

    /// Adds to an error which table it is about.
    pub(super) fn place(&self, error: Error) -> Error {
        match self {
            Self::Table(table) => table.place(error),
            Self::Memory(_) => error,
        }
    }

    /// Whether it is read from a local file.
    pub(super) fn is_near(&self) -> bool {
        self.table().is_some_and(|table| table.file().store().as_file().is_some())
    }

    /// The threads and memory of its file.
    pub(super) fn session(&self) -> Option<&crate::Session> {
        self.table().map(|table| &table.file().options().session)
    }
}
