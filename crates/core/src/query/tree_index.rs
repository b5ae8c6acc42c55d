//! Entries of a tree by two of their values: `TTreeIndex`.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::object::Value;
use crate::tree::Tree;

/// Which entry has which two values, a run and an event number for instance: `TTree::BuildIndex`.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Source, TreeIndex};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let index = TreeIndex::build(&[Source::from(&tree)], "Entry$", "0")?;
/// assert_eq!((index.entry(7, 0), index.entry(7, 1)), (Some(7), None));
/// assert_eq!((index.major(), index.minor()), ("Entry$", "0"));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TreeIndex {
    major: Arc<str>,
    minor: Arc<str>,
    /// Both values and the entry, ascending.
    rows: Vec<(i64, i64, u64)>,
}

impl TreeIndex {
    /// An index of two expressions, from their values and the entries with these.
    pub(super) fn of(major: &str, minor: &str, mut rows: Vec<(i64, i64, u64)>) -> Self {
        rows.sort_unstable();
        Self { major: major.into(), minor: minor.into(), rows }
    }

    /// The index that a tree brings along, if it has one.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an index of another class than `TTreeIndex`, and
    /// [`Malformed`](crate::ErrorKind::Malformed) for one whose lists differ in length, or that names entries which the
    /// tree does not have.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// assert!(sapwood::query::TreeIndex::stored(&tree)?.is_none());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stored(tree: &Tree) -> Result<Option<Self>> {
        let Some(Value::Object(index)) = tree.object.members()?.get("fTreeIndex") else { return Ok(None) };
        let place = |error: Error| tree.place(error.in_object("fTreeIndex").in_object(&tree.name));
        if let Some(error) = index.failure() {
            return Err(place(error.clone()));
        }
        if index.class() != "TTreeIndex" {
            let words = format!("an index of class {}: build one over expressions", index.class());
            return Err(place(Error::unsupported(words)));
        }
        let members = index.members()?;
        let numbers = |name: &str| match members.get(name) {
            Some(Value::Null) | None => Some(Vec::new()),
            Some(value) => value.numbers::<i64>(),
        };
        let text = |name: &str| members.get(name).and_then(|value| value.as_text()).unwrap_or_default();
        let lists = (numbers("fIndexValues"), numbers("fIndexValuesMinor"), numbers("fIndex"));
        let (Some(majors), Some(minors), Some(entries)) = lists else {
            return Err(place(Error::malformed("the lists of an index are no whole numbers")));
        };
        if majors.len() != entries.len() || minors.len() != entries.len() {
            let words = "the lists of an index differ in length";
            return Err(place(
                Error::malformed(words).wanted(entries.len() as u64, majors.len().min(minors.len()) as u64),
            ));
        }
        let mut rows = Vec::with_capacity(entries.len());
        for ((major, minor), entry) in majors.into_iter().zip(minors).zip(entries) {
            let found = u64::try_from(entry).ok().filter(|entry| *entry < tree.entries);
            let Some(entry) = found else {
                let words = format!("an index names entry {entry}, and the tree has {}", tree.entries);
                return Err(place(Error::malformed(words)));
            };
            rows.push((major, minor, entry));
        }
        rows.sort_unstable();
        Ok(Some(Self { major: text("fMajorName").into(), minor: text("fMinorName").into(), rows }))
    }

    /// Whether its first or second values have the smallest one, as which ROOT stores all from 2^63 on.
    pub(super) fn has_smallest(&self) -> [bool; 2] {
        let of = |value: fn(&(i64, i64, u64)) -> i64| self.rows.iter().any(|row| value(row) == i64::MIN);
        [of(|row| row.0), of(|row| row.1)]
    }

    /// The first of its two expressions.
    pub fn major(&self) -> &str {
        &self.major
    }

    /// The second of them.
    pub fn minor(&self) -> &str {
        &self.minor
    }

    /// The entry with two values, if there is one.
    pub fn entry(&self, major: i64, minor: i64) -> Option<u64> {
        let at = self.rows.partition_point(|row| (row.0, row.1) < (major, minor));
        self.rows.get(at).filter(|row| (row.0, row.1) == (major, minor)).map(|row| row.2)
    }

    /// All entries with two values, in their order.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Source, TreeIndex};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let index = TreeIndex::build(&[Source::from(&tree)], "Entry$ % 4", "0")?;
    /// assert_eq!(index.entries(1, 0).collect::<Vec<_>>(), [1, 5, 9]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entries(&self, major: i64, minor: i64) -> impl Iterator<Item = u64> {
        let at = self.rows.partition_point(|row| (row.0, row.1) < (major, minor));
        let rows = self.rows.get(at..).unwrap_or_default().iter();
        rows.take_while(move |row| (row.0, row.1) == (major, minor)).map(|row| row.2)
    }

    /// How many entries it names.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Both values and the entry of each row.
    pub(super) fn into_rows(self) -> Vec<(i64, i64, u64)> {
        self.rows
    }

    /// Its largest entry.
    pub(super) fn last(&self) -> Option<u64> {
        self.rows.iter().map(|row| row.2).max()
    }
}
