//! The command line, in this process.

mod draw;
mod ntuple;
mod pack;
mod printable;
mod several;
