//! How files are opened.

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
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            session: Session::default(),
            cache_bytes: CACHE_BYTES,
            other_files: OtherFiles::default(),
        }
    }
}
