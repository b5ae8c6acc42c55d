//! What reading entry by entry needs to know of a tree or an RNTuple.

use std::ops::Range;

use super::Column;
use crate::error::{Error, Result};
use crate::file::File;
use crate::tree::{Needed, TreeCache};

/// A tree, or an RNTuple with fields for branches.
pub(crate) trait RowSource: Send + Sync {
    fn file(&self) -> &File;

    fn cache(&self) -> &TreeCache;

    fn entries(&self) -> u64;

    /// Entries at which clusters end.
    fn cluster_ends(&self) -> &[u64];

    /// Adds to an error what it is about.
    fn place(&self, error: Error) -> Error;

    /// The number of a branch.
    fn id(&self, name: &str) -> Result<usize>;

    /// What a branch has at an entry.
    fn spot(&self, id: usize, entry: u64) -> Result<Spot>;

    /// Gives the stored bytes that hold values of a branch for any of these entries.
    fn each_needed(&self, id: usize, entries: &Range<u64>, each: &mut dyn FnMut(Needed));

    /// How many entries can be inflated without the others of what [`spot`](Self::spot) gives, counted from its first;
    /// none if that is all or nothing. What is said of one entry holds for others as well as not at all: it decides how
    /// many are read together.
    fn block_entries(&self, _id: usize, _entry: u64) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The values of a branch.
    fn column(&self, id: usize, entries: Range<u64>) -> Result<Column>;
}

/// What a branch has at an entry.
pub(crate) struct Spot {
    /// Entries that are decoded together.
    pub(crate) entries: Range<u64>,
    /// The branch that counts for it.
    pub(crate) counter: Option<usize>,
    /// Whether its bytes are there, or in flight.
    pub(crate) is_there: bool,
}
