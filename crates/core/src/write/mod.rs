//! WRITING: files as small file systems that are updated in place, and trees whose baskets fit their clusters.
//!
//! All writing ends in four steps: *seal* in the caller's thread, *reserve* space, *write* where it was reserved, *publish*.
//! A save writes what refers to it: records of trees, lists of keys, and the header last.

mod branch;
mod clustering;
mod column;
mod file;
mod folder;
mod model;
mod objects;
mod payload;
mod pending;
mod record;
mod save;
mod seal;
mod shared;
mod space;
mod spare;
mod split;
mod state;
mod tree;
mod update;

pub use branch::{BranchKind, BranchSpec, Item, Values};
pub use clustering::Every;
pub use column::Column;
pub use file::{FileWriter, WriteOptions};
pub use model::{Class, Member, Type};
pub use tree::{TreeOptions, TreeWriter};
