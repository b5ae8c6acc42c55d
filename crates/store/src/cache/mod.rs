//! Remote files on this machine: stores in front of other stores. Bytes only; nothing here knows of trees.

mod about;
mod block_index;
mod blocks;
mod checked_copy;
mod download;
mod fill;
mod folder;
mod head_tail;
mod in_flight;
mod inspect;
mod quota;
mod segment;
mod state;
mod whole;

use std::sync::Arc;

use sapwood::io::Store;

use crate::{CacheKind, NetOptions};

pub use blocks::{BlockCache, Fetched};
pub(crate) use head_tail::KeptEnds;
pub use inspect::{CachedFile, Cleared, clear_cache, list_cache, verify_cache};
pub use quota::evictions;
pub(crate) use state::{PROOF_HEAD, PROOF_TAIL, State};
pub use whole::WholeCache;

/// Puts the cache that `options` want in front of a store, if they want one. Files are known by their `url`, without
/// what is secret in it.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Store};
/// use sapwood_store::{NetOptions, in_front_of};
/// let store = in_front_of(MemoryStore::new("a", "hello"), "memory://a", &NetOptions::default());
/// assert_eq!(&store.ends(5, 0)?.head[..], b"hello");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn in_front_of<S: Store>(store: S, url: &str, options: &NetOptions) -> Arc<dyn Store> {
    match &options.cache {
        None => Arc::new(store),
        Some(cache) if cache.kind == CacheKind::Blocks => Arc::new(BlockCache::new(store, url, cache)),
        Some(cache) => Arc::new(WholeCache::new(store, url, cache)),
    }
}
