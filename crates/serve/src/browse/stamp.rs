//! When a local file is another one.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use sapwood_store::is_url;

/// Length, time and number of a local file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Stamp {
    /// Of a local file; none of others.
    pub(super) fn of(path: &Path) -> Option<Self> {
        if path.to_str().is_some_and(is_url) {
            return None;
        }
        let found = std::fs::metadata(path).ok()?;
        Some(Self { bytes: found.len(), modified: found.modified().ok(), inode: found.ino() })
    }
}
