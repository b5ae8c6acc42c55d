//! WRITING: files as small file systems that are updated in place, and trees whose baskets fit their clusters.
//!
//! All writing ends in four steps: *seal* in the caller's thread, *reserve* space, *write* where it was reserved, *publish*.
//! A save writes what refers to it: records of trees, lists of keys, and the header last.

mod branch;
mod file;
mod record;
mod seal;
mod space;
mod tree;

pub use branch::{BranchKind, BranchSpec, Item, Values};
pub use file::{FileWriter, WriteOptions};
pub use tree::{TreeOptions, TreeWriter};
