//! Where files are read from beyond plain files: a [`Store`](sapwood::io::Store) for each way to reach them. Finished
//! files are [sent](target) to the same places.
//!
//! All of the network is in here, and nothing of it shows: the surface is synchronous, as the engine is. Threads that
//! move bytes belong to this crate; callers wait in their own.

#![forbid(unsafe_code)]

mod beside;
mod cache;
mod checksum;
#[cfg(feature = "clouds")]
mod cloud;
mod dcap;
pub mod environment;
mod http;
mod listed;
mod listing;
mod metalink;
mod net;
mod open;
mod open_once;
mod options;
mod packed;
mod private_file;
mod provider;
mod replicas;
mod secrets;
mod stopped;
mod target;
mod upload;
mod url;
mod x509;
mod xrootd;

pub use beside::{beside, found_beside};
pub use cache::{
    BlockCache, CachedFile, Cleared, Fetched, WholeCache, clear_cache, evictions, in_front_of, list_cache, verify_cache,
};
pub use checksum::{Checksum, ChecksumKind, checksums};
#[cfg(feature = "clouds")]
pub use cloud::CloudStore;
pub use dcap::DcapStore;
pub use http::HttpStore;
pub use listed::Listed;
pub use listing::{below_url, is_folder_url, list};
pub use metalink::{Metalink, is_metalink};
pub use net::LinkStats;
pub use open::{open, open_replicas, open_stored};
pub use options::{CacheKind, CacheOptions, NetOptions, Notices};
pub use packed::{
    Inflated, PackOptions, PackReport, PackedStore, check_output, member_end, pack, packed_name, unpack, unpacked,
    unpacked_name,
};
pub use provider::Provider;
pub use replicas::Replicas;
pub use secrets::redact;
pub use target::{fetch, is_writable, target};
pub use url::{file_path, is_url, path_start};
pub use xrootd::{SharedKeys, XrootdStore, numbers as xrootd_numbers, unknown_proofs};

/// The examples of the guide compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
