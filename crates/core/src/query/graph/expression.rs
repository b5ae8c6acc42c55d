//! Expressions of a graph.

use std::sync::Arc;

use crate::query::bound::Bound;

/// An expression, as written and as computed.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) bound: Arc<Bound>,
}
