//! Any bytes as a packed file, read whole and in parts: no panic, no endless loop, no memory beyond what is there. The
//! tests of the crate and the fuzz targets share it.
#![allow(dead_code, reason = "a fuzz target is one of the functions")]

use bytes::Bytes;
use sapwood::io::{MemoryStore, Store, load};
use sapwood_store::PackedStore;

/// As a file in the seekable format of zstd.
pub fn zstd(data: &[u8]) {
    read(&PackedStore::seekable(memory(data)));
}

/// As a SquashFS image, with files of the seeds.
pub fn squashfs(data: &[u8]) {
    for path in ["d/x", "hole", "link", "loop", "d"] {
        read(&PackedStore::squashfs(memory(data), path));
    }
}

/// As a zip archive, with a member of the seeds.
pub fn zip(data: &[u8]) {
    read(&PackedStore::zip(memory(data), "d/x"));
}

/// A target: it must accept any bytes.
pub type Target = fn(&[u8]);

/// The targets by the names of their seeds.
pub const TARGETS: &[(&str, Target)] = &[("packed_zstd", zstd), ("packed_squashfs", squashfs), ("packed_zip", zip)];

fn memory(data: &[u8]) -> MemoryStore {
    MemoryStore::new("packed", Bytes::copy_from_slice(data))
}

fn read(store: &PackedStore) {
    /// What a damaged file may be said to hold is read in part.
    const MOST_BYTES: u64 = 4 << 20;
    let Ok(ends) = store.ends(100, 100) else { return };
    let len = ends.identity.len;
    let _ = load(store, &[len / 2..len.min(len / 2 + 10), len - len.min(MOST_BYTES)..len, 0..len.min(MOST_BYTES)]);
    let _ = load(store, &[0..len.min(1), len - len.min(1)..len]);
}
