//! Friends of a chain: their files follow one another, and only those with entries of the file in use are open.

use std::collections::VecDeque;
use std::ops::Range;

use super::place::{Open, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::query::{Friend, Source, TreeIndex};
use crate::table::Table;

/// The way to find the entry of a friend that belongs to one of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// By the index that the friend's trees have, and without one by number, as ROOT does.
    Stored,
    /// By number.
    Entries,
    /// By the values of two expressions.
    Index(String, String),
}

/// A friend that was asked for.
#[derive(Clone, Debug)]
pub(super) struct ChainFriend {
    pub(super) name: String,
    pub(super) places: Vec<Place>,
    pub(super) matching: Matching,
}

/// A friend while the chain is read.
pub(super) enum OpenFriend {
    /// The tables that have entries for the file in use, in order.
    Entries(Entries),
    /// All tables, with an index.
    Index(Friend),
}

pub(super) struct Entries {
    open: VecDeque<(Range<u64>, Table)>,
    /// How many files were opened.
    begun: usize,
    /// Entries of these.
    end: u64,
}

impl ChainFriend {
    /// Opens what has to be known before the first file is read.
    pub(super) fn begin(&self, open: &Open) -> Result<OpenFriend> {
        self.named(self.begun(open))
    }

    fn begun(&self, open: &Open) -> Result<OpenFriend> {
        let mut entries = Entries { open: VecDeque::new(), begun: 0, end: 0 };
        let by_stored = match &self.matching {
            Matching::Index(major, minor) => {
                let parts = self.all(open)?;
                let index = TreeIndex::build(&parts, major, minor)?;
                return Ok(OpenFriend::Index(Friend::of_parts(&self.name, parts, 0)?.by_index(index)?));
            }
            Matching::Entries => false,
            Matching::Stored => {
                entries.grow(self, open)?;
                entries.open.front().is_some_and(|(_, table)| has_index(table))
            }
        };
        if !by_stored {
            return Ok(OpenFriend::Entries(entries));
        }
        Ok(OpenFriend::Index(Friend::of_parts(&self.name, self.all(open)?, 0)?.by_stored_index()?))
    }

    fn all(&self, open: &Open) -> Result<Vec<Source>> {
        self.places.iter().map(|place| Ok(Source::from(&open(place)?))).collect()
    }

    /// The friend of some entries of the chain.
    pub(super) fn over(&self, held: &mut OpenFriend, entries: Range<u64>, open: &Open) -> Result<Friend> {
        match held {
            OpenFriend::Index(friend) => Ok(friend.clone()),
            OpenFriend::Entries(held) => self.named(held.over(self, entries, open)),
        }
    }

    /// Names the friend: a missing file of a friend is not a missing file of the chain.
    fn named<T>(&self, found: Result<T>) -> Result<T> {
        found.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::mismatch(format!("the friend {:?} cannot be read: {error}", self.name)),
            _ => error,
        })
    }
}

impl Entries {
    fn over(&mut self, friend: &ChainFriend, entries: Range<u64>, open: &Open) -> Result<Friend> {
        while self.end < entries.end && self.begun < friend.places.len() {
            self.grow(friend, open)?;
        }
        // One stays, so that names have types.
        while self.open.len() > 1 && self.open.front().is_some_and(|(range, _)| range.end <= entries.start) {
            self.open.pop_front();
        }
        let first = self.open.front().map_or(0, |(range, _)| range.start);
        let parts = self.open.iter().map(|(_, table)| Source::from(table)).collect();
        Friend::of_parts(&friend.name, parts, entries.start - first.min(entries.start))
    }

    /// Opens the next file.
    fn grow(&mut self, friend: &ChainFriend, open: &Open) -> Result<()> {
        let Some(place) = friend.places.get(self.begun) else { return Ok(()) };
        let table = open(place)?;
        if self.begun > 0 && friend.matching == Matching::Stored && has_index(&table) {
            let words = format!(
                "the friend {:?} has a tree with an index here, and none in its first file: say which expressions \
                 count, or that entries are matched by number",
                friend.name
            );
            return Err(Error::mismatch(words).in_file(table.file().identity().name.clone()));
        }
        let end = self.end.saturating_add(table.entries());
        self.open.push_back((self.end..end, table));
        (self.end, self.begun) = (end, self.begun + 1);
        Ok(())
    }
}

fn has_index(table: &Table) -> bool {
    matches!(table, Table::Tree(tree) if tree.has_index())
}
