//! Which entries of a tree have which values: an index that grows with its tree.
//!
//! Source: `TTreeIndex`, `TTreeIndex::Append`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::{Datum, Draft};

/// An index of a tree.
#[derive(Clone, Debug)]
pub(crate) struct TreeIndex {
    /// The object as it was read.
    like: Draft,
    /// Major value, minor value, entry.
    rows: Vec<(i64, i64, i64)>,
}

impl TreeIndex {
    /// The index that a tree's record holds; none where it has none, or one of another class or of before ROOT 3.05.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where its lists are not of one length.
    pub(crate) fn of(tree: &Draft) -> Result<Option<Self>> {
        let Some(Datum::Object(index)) = tree.member("fTreeIndex") else { return Ok(None) };
        if index.class() != "TTreeIndex" || index.member("fIndexValuesMinor").is_none() {
            return Ok(None);
        }
        let list = |name: &str| match index.member(name) {
            Some(Datum::Numbers(Number::I64, bytes)) => {
                Ok(bytes.as_chunks().0.iter().map(|value| i64::from_ne_bytes(*value)).collect())
            }
            None | Some(Datum::Null) => Ok(Vec::new()),
            Some(_) => Err(Error::malformed(format!("member {name} of a TTreeIndex is not a list of numbers"))),
        };
        let (majors, minors, entries) = (list("fIndexValues")?, list("fIndexValuesMinor")?, list("fIndex")?);
        if majors.len() != entries.len() || minors.len() != entries.len() {
            let error = Error::malformed("the lists of a TTreeIndex are not of one length");
            return Err(error.wanted(majors.len() as u64, entries.len() as u64));
        }
        let rows = majors.into_iter().zip(minors).zip(entries).map(|((major, minor), entry)| (major, minor, entry));
        Ok(Some(Self { like: Draft::clone(index), rows: rows.collect() }))
    }

    /// The same without entries.
    pub(crate) fn emptied(self) -> Self {
        Self { rows: Vec::new(), ..self }
    }

    /// Adds the entries of another one, which begin behind `before` others. Says whether it is one of the same values.
    pub(crate) fn append(&mut self, other: &Self, before: u64) -> bool {
        let name = |index: &Self, which: &str| match index.like.member(which) {
            Some(Datum::Text(name)) => Some(Arc::clone(name)),
            _ => None,
        };
        let is_same = ["fMajorName", "fMinorName"].iter().all(|which| name(self, which) == name(other, which));
        let before = before as i64; // trees have fewer entries than that
        let moved = other.rows.iter().map(|&(major, minor, entry)| (major, minor, entry.saturating_add(before)));
        if is_same {
            self.rows.extend(moved);
        }
        is_same
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
