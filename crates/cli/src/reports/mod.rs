//! What commands report, as JSON and in words: for the command line, and for the Python package.

pub(crate) mod compression;
pub(crate) mod doctor;
pub mod documents;
pub mod index;
pub mod merged;
pub(crate) mod perf;
pub(crate) mod rewritten;
mod shell;
