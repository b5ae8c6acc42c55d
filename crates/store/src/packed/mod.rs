//! Files that lie compressed in other files, read in place: the seekable format of zstd, SquashFS images, zip archives.

mod blocks;
mod codec;
mod kept;
mod pack;
mod place;
mod seekable;
mod squashfs;
mod store;
mod zip;

use std::sync::Arc;

use sapwood::Result;
use sapwood::io::Store;

pub use pack::{PackOptions, PackReport, pack, packed_name, unpack, unpacked_name};
pub(crate) use place::member_start;
pub use place::{check_output, member_end};
pub use store::{Inflated, PackedStore};

/// Opens a place that may lie in a packed file: `x.root.zst`, `image.sqfs:path/x.root`, `archive.zip:path/x.root`, and
/// these within each other. `open` opens the outermost file, as it is stored; `threads` inflate at most, 0 for one per
/// processor that the process may use.
///
/// # Errors
///
/// [`Mismatch`](sapwood::ErrorKind::Mismatch) for an archive without a file in it;
/// [`Limit`](sapwood::ErrorKind::Limit) for more than four files within each other; those of `open`.
///
/// # Example
///
/// ```
/// use sapwood::io::MemoryStore;
/// use sapwood_store::unpacked;
/// let mut opened = String::new();
/// unpacked("https://example.org/a.zip:run1/x.root", 0, |outer| {
///     opened = outer.to_owned();
///     Ok(std::sync::Arc::new(MemoryStore::new("a.zip", "")))
/// })?;
/// assert_eq!(opened, "https://example.org/a.zip");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn unpacked(
    place: &str,
    threads: usize,
    open: impl FnOnce(&str) -> Result<Arc<dyn Store>>,
) -> Result<Arc<dyn Store>> {
    let (outer, layers) = place::parse(place)?;
    let mut store = open(&outer)?;
    for layer in layers {
        store = Arc::new(PackedStore::new(store, layer).with_threads(threads));
    }
    Ok(store)
}
