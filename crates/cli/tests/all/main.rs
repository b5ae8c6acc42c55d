//! The command line, in this process.

mod checksum;
mod draw;
mod ntuple;
mod pack;
mod printable;
mod several;
