//! Friends of a tree, and the two expressions that say which of their entries belong to it.

use std::sync::Arc;

use super::select::Query;
use super::source::{Friend, Keys, Source};
use super::tree_index::TreeIndex;
use crate::error::{Error, ErrorKind, Result};
use crate::read::Selection;

impl Source {
    /// The same with a friend, whose columns are `name.column`, or `column` where no other has that name.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) for a second friend of a name, and for a friend by index those of
    /// [`Query::value`](super::Query::value): the tree must have what the index is of.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Draw, Friend, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let source = Source::from(&tree).with_friend(Friend::new("other", &tree))?;
    /// assert!(Draw::new(source, "other.Jet_pt", "nJet > 2")?.run(0..10)?.entries() > 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_friend(self, friend: Friend) -> Result<Self> {
        if self.has_friend(friend.name()) {
            let words = format!("there is a friend {:?} already: give this one another name", friend.name());
            return Err(self.place(Error::new(ErrorKind::Exists, words)));
        }
        let Some(index) = friend.index() else { return Ok(self.and(friend)) };
        let (major, minor) = (index.major(), index.minor());
        let keys = Pair::new(self.alone(), major, minor).map_err(|error| {
            let words = format!(
                "{} (the friend {:?} has an index of {major:?} and {minor:?}, which the tree needs, too)",
                error.message(),
                friend.name(),
            );
            Error::new(error.kind(), words)
        })?;
        Ok(self.and(friend.with_keys(Arc::new(keys))))
    }
}

impl TreeIndex {
    /// Reads both values of all entries of trees that follow one another: branches or expressions, whose fractions are
    /// cut off. Of several entries with the same values the first counts.
    ///
    /// # Errors
    ///
    /// Those of [`Query::read`], and [`Mismatch`](crate::ErrorKind::Mismatch) for lists.
    pub fn build(parts: &[Source], major: &str, minor: &str) -> Result<Self> {
        let (mut rows, mut first) = (Vec::new(), 0_u64);
        for part in parts {
            let keys = Pair::new(part.clone(), major, minor)?.read(&(0..part.entries()).try_into()?)?;
            rows.extend(keys.into_iter().enumerate().map(|(row, (major, minor))| (major, minor, first + row as u64)));
            first = first.saturating_add(part.entries());
        }
        Ok(Self::of(major, minor, rows))
    }
}

/// Two expressions with a whole number for each entry of a tree.
#[derive(Clone, Debug)]
pub(super) struct Pair(Query);

impl Pair {
    pub(super) fn new(source: Source, major: &str, minor: &str) -> Result<Self> {
        let query = Query::new(source).value(major)?.value(if minor.is_empty() { "0" } else { minor })?;
        for value in &query.values {
            if value.bound.depth > 0 || value.bound.number().is_none() {
                let words = format!("{:?} is not one number an entry, which is needed to match entries", value.text);
                return Err(Error::mismatch(words));
            }
        }
        Ok(Self(query))
    }

    /// Columns that it needs.
    pub(super) fn needed(&self) -> Vec<usize> {
        self.0.needed()
    }

    /// Its two values of some entries.
    pub(super) fn read(&self, entries: &Selection) -> Result<Vec<(i64, i64)>> {
        let found = self.0.read(entries.clone())?;
        let wholes = |place: usize| match found.columns.get(place).map(|column| (&column.kind, column)) {
            Some((crate::column::Kind::Number { buffer, number }, column)) => {
                Ok(number.wholes(&column.buffer(*buffer)).collect::<Vec<i64>>())
            }
            _ => Err(Error::internal("a value that entries are matched by is no number")),
        };
        Ok(wholes(0)?.into_iter().zip(wholes(1)?).collect())
    }
}

impl Keys for Pair {
    fn of(&self, entries: &Selection) -> Result<Vec<(i64, i64)>> {
        self.read(entries)
    }
}
