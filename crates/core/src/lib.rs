//! Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT.

#![forbid(unsafe_code)]

pub mod column;
pub mod container;
mod error;
pub mod schema;
pub mod wire;

pub mod codec;

pub use error::{Error, ErrorKind, Place, Result};
