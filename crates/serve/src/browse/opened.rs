//! A file that is open, with the trees and objects of it that were looked at last.

use std::sync::{Arc, Mutex, PoisonError};

use sapwood::container::Key;
use sapwood::ntuple::NTuple;
use sapwood::query::Source;
use sapwood::tree::Tree;
use sapwood::{Error, File, Object, Result};

use super::counted::Counts;
use super::stamp::Stamp;

/// Objects of a file that are kept decoded.
const MOST_OBJECTS: usize = 4;
/// Trees and RNTuples of a file that are kept.
const MOST_DATASETS: usize = 8;

/// An open file.
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) file: File,
    pub(super) counts: Arc<Counts>,
    /// A number of its content: the same whenever it is opened, and another one where it has changed.
    pub(super) state: u64,
    pub(super) stamp: Option<Stamp>,
    pub(super) objects: Mutex<Vec<(u64, Object)>>,
    pub(super) datasets: Mutex<Vec<(u64, Dataset)>>,
}

/// What has entries.
#[derive(Clone)]
pub(super) enum Dataset {
    Tree(Arc<Tree>),
    NTuple(Arc<NTuple>),
}

impl Dataset {
    /// The tree or RNTuple of a key.
    pub(super) fn of(file: &File, key: &Key) -> Result<Self> {
        Ok(match key.is_ntuple() {
            true => Self::NTuple(file.ntuple_at(key)?),
            false => Self::Tree(file.tree_at(key)?),
        })
    }

    pub(super) fn entries(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.entries,
            Self::NTuple(ntuple) => ntuple.entries,
        }
    }

    pub(super) fn source(&self) -> Source {
        match self {
            Self::Tree(tree) => tree.into(),
            Self::NTuple(ntuple) => ntuple.into(),
        }
    }
}

impl Opened {
    /// An object, decoded once as long as few others are looked at.
    pub(super) fn object(&self, key: &Key) -> Result<Object> {
        kept(&self.objects, key.seek_key, MOST_OBJECTS, || self.file.object_at(key))
    }

    /// A tree or RNTuple, read once as long as few others are looked at.
    pub(super) fn dataset(&self, key: &Key) -> Result<Dataset> {
        kept(&self.datasets, key.seek_key, MOST_DATASETS, || Dataset::of(&self.file, key))
    }

    /// The tree or RNTuple of a path.
    pub(super) fn dataset_of(&self, path: &str) -> Result<Dataset> {
        let key = self.file.key(path)?;
        if !key.has_entries() {
            let words = format!("{path:?} is a {}, and has no entries", key.class);
            return Err(Error::mismatch(words).in_file(Arc::clone(&self.file.identity().name)));
        }
        self.dataset(&key)
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
