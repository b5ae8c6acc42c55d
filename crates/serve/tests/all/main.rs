//! The proxy and the browser's server on loopback.

mod common;
mod prefetch;
mod serving;
mod silent_upstream;
mod upstream;
mod xrootd;
mod xrootd_hostile;
