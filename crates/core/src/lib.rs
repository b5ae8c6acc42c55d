//! Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT.

#![forbid(unsafe_code)]

mod error;

pub mod codec;
pub mod io;
pub mod memory;

pub use error::{Error, ErrorKind, Place, Result};
