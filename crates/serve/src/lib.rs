//! Two servers: a caching range proxy ([`Proxy`]), and a browser for ROOT files ([`Browser`]).
//!
//! The proxy serves files of a server or a folder to any client that reads ranges over http, or speaks XRootD's
//! protocol.
//! Blocks that were read once are kept on disk by the [cache of `sapwood-store`](sapwood_store::BlockCache). A block
//! that many wait for is asked for once. And since trees are known here, the next cluster of the branches that a client
//! reads is fetched ahead.

#![forbid(unsafe_code)]

mod access;
mod answer;
mod browse;
mod connections;
mod file_prefetch;
mod files;
mod folder;
mod handler;
mod http;
mod metrics;
mod opened;
mod options;
mod path;
mod prefetch;
mod ranges;
mod server;
mod tls;
mod upstream;
mod upstream_reads;
mod write_timeout;
mod xrootd;

pub use browse::{BrowseOptions, Browser, Browsing, Lister, Opener, Work};
pub use options::{ProxyOptions, XrootdOptions};
pub use server::{Proxy, raise_open_files};
