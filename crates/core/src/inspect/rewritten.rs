//! What a tree that was written again costs to read, before and after.

use super::doctor::{ReadingKind, diagnose_tree};
use super::io_cost::{Cost, Reader, plan};
use crate::error::Result;
use crate::file::File;

/// What a way to read a tree cost, and costs now.
#[derive(Clone, Debug)]
pub struct ReadingChange {
    /// Which branches and entries are read.
    pub kind: ReadingKind,
    /// Branches, where only some are read.
    pub branches: Vec<String>,
    /// In the old file.
    pub before: Cost,
    /// In the new one.
    pub after: Cost,
}

/// The readings of [`doctor`](super::doctor), planned for a tree of the same path in two files. The three columns are
/// those of the new tree, since the old one has them, too.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) where one of the files has no such tree.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::{io_cost::Reader, rewritten::reading_changes};
/// let file = sapwood::File::open(path)?;
/// let changes = reading_changes(&file, &file, "t", &Reader::default())?;
/// assert!(changes.iter().all(|change| change.before.requests == change.after.requests));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn reading_changes(from: &File, to: &File, path: &str, reader: &Reader) -> Result<Vec<ReadingChange>> {
    let before = diagnose_tree(path, &*from.tree(path)?, reader);
    let after = diagnose_tree(path, &*to.tree(path)?, reader);
    let clusters: Vec<_> = before.layout.clusters.iter().map(|cluster| cluster.entries.clone()).collect();
    let branches = &before.layout.branches;
    let changes = before.readings.iter().zip(after.readings).map(|(old, new)| {
        let is_wanted = |place: usize| branches.get(place).is_some_and(|branch| new.branches.contains(&branch.path));
        let now = match new.kind {
            ReadingKind::ThreeColumns => {
                plan(&before.layout.baskets, &clusters, is_wanted, &[0..before.layout.entries], reader)
            }
            _ => old.now,
        };
        ReadingChange { kind: new.kind, branches: new.branches, before: now, after: new.now }
    });
    Ok(changes.collect())
}
