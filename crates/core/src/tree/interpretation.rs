//! What the bytes of a branch mean.

use std::sync::Arc;

use super::branch::BranchId;
use crate::column::{BufferId, BufferKind, Kind, Prim};
use crate::schema::Program;

/// How the entries of a basket are to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// One row of the program per entry.
    Rows,
    /// One row per entry, and none if the entry has no bytes: strings and whole objects that were never filled.
    RowsOrNothing,
    /// Contiguous numbers, as many as the entry's bytes hold: counted leaves, members of split collections.
    Jagged {
        /// Ends of the lists.
        ends: BufferId,
        /// Type of the numbers.
        prim: Prim,
        /// Numbers an item.
        per_item: usize,
    },
    /// As many items as the entry's bytes hold: members of split collections that are no numbers.
    Column {
        /// Ends of the lists.
        ends: BufferId,
    },
    /// One row whose counted array fills the rest of the entry after a flag byte: counted members of split objects.
    Counted {
        /// Bytes of a number.
        item_bytes: usize,
    },
    /// One row, or a column of them, whose counted arrays are counted by another branch.
    CountedBy {
        /// The branch that counts.
        counter: BranchId,
        /// Ends of the items of a split collection; none for a member of a split object.
        ends: Option<BufferId>,
    },
    /// One object per entry, after its class name: `TBranchObject` of varying classes.
    Virtual,
}

/// A branch's meaning: a program, how its entries are laid out, and the type of the column.
#[derive(Clone, Debug)]
pub struct Interpretation {
    /// The program for one entry, or one item.
    pub program: Arc<Program>,
    /// How entries are read.
    pub form: Form,
    /// Type of the column.
    pub kind: Kind,
    /// Its buffers.
    pub buffers: Vec<BufferKind>,
    /// Type in C++ words.
    pub type_name: String,
}
