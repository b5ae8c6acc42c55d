//! The type of a field's values, and how they are made of columns.

use std::sync::Arc;

use super::descriptor::FieldId;
use crate::column::{BufferId, Kind, Number};
use crate::schema::Program;

/// What the values of a field look like, and how they are made of columns.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) kind: Kind,
    pub(crate) node: Node,
    pub(crate) buffers: usize,
}

/// Columns of a field, representation by representation.
pub(crate) type Representations = Vec<Vec<usize>>;

/// How the values of a field are made.
#[derive(Debug)]
pub(crate) struct Node {
    /// The field, for errors.
    pub(crate) field: FieldId,
    pub(crate) columns: Representations,
    pub(crate) shape: Shape,
}

#[derive(Debug)]
pub(crate) enum Shape {
    /// Elements of a column are the values.
    Numbers { to: Number, buffer: BufferId },
    /// Ends of runs of characters.
    Text { offsets: BufferId, bytes: BufferId },
    /// Ends of lists.
    List { offsets: BufferId, item: Box<Node> },
    /// Lists of one value or none.
    Optional { tags: BufferId, item: Box<Node> },
    /// A value of one of several fields.
    Variant { tags: BufferId, items: Vec<Node> },
    /// So many items a row.
    Fixed { len: u64, item: Box<Node> },
    /// A value of each.
    Record { members: Vec<Node> },
    /// How many items each list of a collection has.
    Counts { to: Number, buffer: BufferId },
    /// Runs of bytes, to be decoded by a class's program into buffers from `first` on.
    Streamed { first: BufferId, program: Arc<Program> },
}
