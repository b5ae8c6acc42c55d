//! Checks what one file can take over from another unchanged.

use crate::error::{Error, Result};
use crate::file::File;
use crate::tree::Branch;
use crate::write::file::state::State;

/// Refuses files that are read by other rules than the file being written.
pub(crate) fn same_rules(from: &File, into: &State) -> Result<()> {
    /// Up to this version of ROOT, counted objects have another layout, and only the file's version says so.
    const OLD_LOOPS: i32 = 51_508;
    if (from.header().version <= OLD_LOOPS) == (into.header.version <= OLD_LOOPS) {
        return Ok(());
    }
    let words = "a tree of ROOT 5.15 or older is read by the rules of its file: sapwood rewrite takes the whole file";
    Err(Error::unsupported(words))
}

/// Refuses branches whose entries cannot be cut into clusters.
pub(crate) fn check(branches: &[&Branch], entries: u64) -> Result<()> {
    for branch in branches {
        if !branch.file_name.is_empty() {
            return Err(Error::unsupported("its baskets are in another file").in_object(&branch.path));
        }
        let range = branch.entry_range();
        if branch.has_data() && (range.start != 0 && range.end > range.start || range.end != entries) {
            let words = "a branch with other entries than its tree cannot be cut into clusters";
            return Err(Error::unsupported(words).wanted(entries, range.end).in_object(&branch.path));
        }
    }
    Ok(())
}
