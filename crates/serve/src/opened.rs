//! A file of an upstream that is open.

use std::sync::{Arc, Mutex};

use sapwood_store::{BlockCache, Checksum};

use crate::file_prefetch::FilePrefetch;
use crate::upstream::Counted;
use crate::upstream_reads::FileReads;

/// A file in one state, through the cache.
pub(crate) struct Opened {
    pub(crate) cache: Arc<BlockCache<Counted>>,
    pub(crate) len: u64,
    /// A strong one, in quotes.
    pub(crate) etag: String,
    /// As the upstream said it.
    pub(crate) modified: Option<String>,
    /// When it was changed, in seconds since 1970; 0 if the upstream does not say.
    pub(crate) changed: i64,
    /// Checksums that clients asked for.
    pub(crate) sums: Mutex<Vec<Checksum>>,
    /// What is to be fetched next.
    pub(crate) prefetch: FilePrefetch,
    /// How many reads of it the upstream may get.
    pub(crate) reads: FileReads,
}
