//! Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT.

#![forbid(unsafe_code)]

pub mod codec;
pub mod column;
pub mod container;
pub mod entry;
mod error;
mod file;
pub mod hist;
pub mod inspect;
pub mod io;
pub mod memory;
pub mod merge;
pub mod ntuple;
mod object;
pub mod perf;
pub mod project;
pub mod read;
pub mod schema;
mod session;
pub mod tree;
#[doc(hidden)]
pub mod wire;
pub mod write;

pub use entry::Entry;
pub use error::{Error, ErrorKind, Place, Result};
pub use file::{File, KeyPath, OpenOptions};
pub use object::{Items, Members, Object, Value};
#[cfg(feature = "derive")]
pub use sapwood_derive::Entry;
pub use session::Session;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
