//! A file that is open, with the trees and objects of it that were looked at last.

use std::sync::{Arc, Mutex, PoisonError};

use sapwood::container::Key;
use sapwood::table::Table;
use sapwood::{File, Object, Result};

use super::counted::Counts;
use super::stamp::Stamp;

/// Objects of a file that are kept decoded.
const MOST_OBJECTS: usize = 4;
/// Trees and RNTuples of a file that are kept.
const MOST_TABLES: usize = 8;

/// An open file.
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) file: File,
    pub(super) counts: Arc<Counts>,
    /// A number of its content: the same whenever it is opened, and another one where it has changed.
    pub(super) state: u64,
    pub(super) stamp: Option<Stamp>,
    pub(super) objects: Mutex<Vec<(u64, Object)>>,
    pub(super) tables: Mutex<Vec<(u64, Table)>>,
}

impl Opened {
    /// An object, decoded once as long as few others are looked at.
    pub(super) fn object(&self, key: &Key) -> Result<Object> {
        kept(&self.objects, key.seek_key, MOST_OBJECTS, || self.file.object_at(key))
    }

    /// A tree or RNTuple, read once as long as few others are looked at.
    pub(super) fn table(&self, key: &Key) -> Result<Table> {
        kept(&self.tables, key.seek_key, MOST_TABLES, || self.file.table_at(key))
    }

    /// The tree or RNTuple of a path.
    pub(super) fn table_of(&self, path: &str) -> Result<Table> {
        self.table(&self.file.key(path)?)
    }
}

/// What is kept under a number, or made and kept in place of what was made first.
fn kept<T: Clone>(
    among: &Mutex<Vec<(u64, T)>>,
    number: u64,
    most: usize,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let all = || among.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = all().iter().find(|(known, _)| *known == number) {
        return Ok(found.clone());
    }
    let made = make()?;
    let mut all = all();
    if all.len() >= most {
        all.remove(0);
    }
    all.push((number, made.clone()));
    Ok(made)
}
