//! How files are opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::io::OtherFiles;
use crate::session::Session;
use crate::tree::CACHE_BYTES;
use crate::wire::Limits;

/// How a file is opened.
///
/// # Example
///
/// ```
/// use sapwood::{OpenOptions, Session};
/// let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
/// assert_eq!(options.session.threads(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Bounds against hostile or broken files.
    pub limits: Limits,
    /// Threads and memory, shared with other files.
    pub session: Session,
    /// Budget of each tree's cache in bytes; 0 switches it off.
    pub cache_bytes: u64,
    /// How files are opened that this one names for baskets of its branches.
    pub other_files: OtherFiles,
    /// Whether and where to look for [statistics](crate::statistics) of the file.
    pub statistics: UseStatistics,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            session: Session::default(),
            cache_bytes: CACHE_BYTES,
            other_files: OtherFiles::default(),
            statistics: UseStatistics::default(),
        }
    }
}

/// Receives notices.
pub type OnNotice = Arc<dyn Fn(&str) + Send + Sync>;

/// Whether and where to look for the [statistics](crate::statistics) of a file.
///
/// # Example
///
/// ```
/// use sapwood::{OpenOptions, UseStatistics};
/// let options = OpenOptions { statistics: UseStatistics::off(), ..OpenOptions::default() };
/// assert!(!options.statistics.is_on && UseStatistics::default().is_on);
/// ```
#[derive(Clone)]
pub struct UseStatistics {
    /// Whether to look at all.
    pub is_on: bool,
    /// Folder of side files, for files on servers and in folders that nobody may write to. Without it the side file is
    /// next to a local file.
    pub folder: Option<PathBuf>,
    /// Receives notices about statistics that are not used; without it they wait for
    /// [`File::statistics_notice`](crate::File::statistics_notice).
    pub on_notice: Option<OnNotice>,
}

impl Default for UseStatistics {
    fn default() -> Self {
        Self { is_on: true, folder: None, on_notice: None }
    }
}

impl UseStatistics {
    /// Ignores statistics.
    pub fn off() -> Self {
        Self { is_on: false, ..Self::default() }
    }
}

impl fmt::Debug for UseStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UseStatistics")
            .field("is_on", &self.is_on)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
