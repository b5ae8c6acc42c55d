//! WRITING: files as small file systems that are updated in place, and trees whose baskets fit their clusters.
//!
//! All writing ends in four steps: *seal*, *reserve* space, *write* where it was reserved, *publish*.
//! A save writes what refers to it: records of trees, lists of keys, and the header last.

mod adopt;
mod alike;
mod amend;
mod append;
mod branch;
mod clustering;
mod column;
mod commit;
mod copy;
mod direct;
mod file;
mod flight;
mod folder;
mod gate;
mod index;
mod join;
mod line;
mod listing;
mod model;
mod objects;
mod parallel;
mod payload;
mod pending;
mod process_ids;
mod raw;
mod record;
mod recover;
mod relocate;
mod remake;
mod reseal;
mod rewrite;
mod save;
mod seal;
mod selection;
mod shared;
mod space;
mod spare;
mod split;
mod stamp;
mod state;
mod stray;
mod strip;
mod sync;
mod tree;
mod turns;
mod update;
mod widen;

pub(crate) use alike::Notes;
pub use branch::{BranchKind, BranchSpec, Item, Values};
pub use clustering::Every;
pub use column::Column;
pub use file::{FileWriter, WriteOptions};
pub(crate) use index::TreeIndex;
pub(crate) use join::{Fit, Joined, Mark, Moved};
pub(crate) use model::ARRAY_MEMBER;
pub use model::{Class, Member, Type};
pub use parallel::{NumberedContext, ParallelWriter};
pub use recover::{Recovered, recover};
pub use remake::{Figures, Remade, Remake};
pub use rewrite::{Baskets, Order, Rewrite};
pub use tree::{TreeOptions, TreeWriter};
pub(crate) use update::check_closed;
pub(crate) use widen::Widening;
