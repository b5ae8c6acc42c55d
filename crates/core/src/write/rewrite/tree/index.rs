//! An index of the entries of a tree by their values, which grows with the tree.
//!
//! Source: `TTreeIndex`, `TTreeIndex::Append`.

use std::sync::Arc;

use crate::column::Number;
use crate::schema::{Datum, Draft};

/// The most entries of an index that grows: half of what the record of a tree can hold.
const MOST_ROWS: usize = 20_000_000;

/// An index of a tree.
#[derive(Clone, Debug)]
pub(crate) struct TreeIndex {
    /// The object as it was read.
    like: Draft,
    /// Major value, minor value, entry.
    rows: Vec<(i64, i64, i64)>,
}

impl TreeIndex {
    /// The index in a tree's record; none if it has none or an unsupported one: of another class, from before ROOT
    /// 3.05, or with lists of different lengths.
    pub(crate) fn of(tree: &Draft) -> Option<Self> {
        let Some(Datum::Object(index)) = tree.member("fTreeIndex") else { return None };
        let list = |name: &str| match index.member(name)? {
            Datum::Numbers(Number::I64, bytes) => {
                Some(bytes.as_chunks().0.iter().map(|value| i64::from_ne_bytes(*value)).collect::<Vec<_>>())
            }
            Datum::Null => Some(Vec::new()),
            _ => None,
        };
        let (majors, minors, entries) = (list("fIndexValues")?, list("fIndexValuesMinor")?, list("fIndex")?);
        if index.class() != "TTreeIndex" || majors.len() != entries.len() || minors.len() != entries.len() {
            return None;
        }
        let rows = majors.into_iter().zip(minors).zip(entries).map(|((major, minor), entry)| (major, minor, entry));
        Some(Self { like: Draft::clone(index), rows: rows.collect() })
    }

    /// Adds the entries of another index, shifted by `before`. Returns whether that is possible: it is over the same
    /// values, and both fit into a tree's record.
    pub(crate) fn append(&mut self, other: &Self, before: u64) -> bool {
        let name = |index: &Self, which: &str| match index.like.member(which) {
            Some(Datum::Text(name)) => Some(Arc::clone(name)),
            _ => None,
        };
        let is_same = ["fMajorName", "fMinorName"].iter().all(|which| name(self, which) == name(other, which));
        if !is_same || self.rows.len().saturating_add(other.rows.len()) > MOST_ROWS {
            return false;
        }
        let before = before as i64; // trees have fewer entries than that
        self.rows.extend(other.rows.iter().map(|&(major, minor, entry)| (major, minor, entry.saturating_add(before))));
        true
    }

    /// The object that a tree's record holds.
    pub(crate) fn into_datum(mut self) -> Datum {
        self.rows.sort_by_key(|&(major, minor, _)| (major, minor));
        let mut index = self.like;
        index.set("fN", self.rows.len() as i64);
        index.set("fIndexValues", self.rows.iter().map(|row| row.0).collect::<Vec<_>>());
        index.set("fIndexValuesMinor", self.rows.iter().map(|row| row.1).collect::<Vec<_>>());
        index.set("fIndex", self.rows.iter().map(|row| row.2).collect::<Vec<_>>());
        Datum::Object(Arc::new(index))
    }
}
