//! Writing: files that are updated in place, and trees whose baskets fit their clusters.
//!
//! A cluster is written in four steps: *seal* its baskets, *reserve* room, *write* there, *publish* the baskets in the
//! tree. A save writes what refers to them: tree records, lists of keys, and the header last.
//!
//! The modules below are listed in their order of use: each imports only those above it (`tools/layers.py` checks
//! that).

mod clustering;
mod options;

mod model;

mod basket;

mod page;

mod commit;

mod record;

mod file;

mod tree;

mod ntuple;

mod writer;

mod parallel;

mod rewrite;

mod recover;

pub(crate) use basket::blocks::Payload;
pub use clustering::Every;
pub use model::branch::{BranchKind, BranchSpec, Item};
pub(crate) use model::class::ARRAY_MEMBER;
pub use model::class::{Class, Clones, Member, Type};
pub use model::columns::Column;
pub use model::tobject::NEW_OBJECT;
pub use model::values::{Foreign, Values};
pub use ntuple::NTupleWriter;
pub use ntuple::numbered::NumberedNTupleContext;
pub use ntuple::parallel::ParallelNTupleWriter;
pub use options::{Baskets, NTupleOptions, Order, Pages, TreeOptions, WriteOptions};
pub use page::field::FieldSpec;
pub(crate) use page::typed::members_of;
pub use parallel::{NumberedContext, ParallelWriter};
pub use recover::{Recovered, recover};
pub use rewrite::between::Unsupported;
pub use rewrite::figures::Figures;
pub use rewrite::ntuple::NTupleRewrite;
pub(crate) use rewrite::ntuple::concat::{GrowingNTuple, NTupleCheckpoint};
pub(crate) use rewrite::ntuple::schema::{ColumnMatches, Unmatched};
pub use rewrite::sort::SortBy;
pub use rewrite::tree::Rewrite;
pub(crate) use rewrite::tree::compatibility::{Notes, WiderBranch};
pub(crate) use rewrite::tree::concat::{BranchMatches, Checkpoint, GrowingTree, MovedBaskets};
pub(crate) use rewrite::tree::entries_of_cluster;
pub(crate) use rewrite::tree::index::TreeIndex;
pub(crate) use rewrite::tree::widen::Widening;
pub use rewrite::whole_file::{Format, Remade, Remake};
pub use tree::TreeWriter;
pub use writer::FileWriter;
pub(crate) use writer::update::check_closed;
