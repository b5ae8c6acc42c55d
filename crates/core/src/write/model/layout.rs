//! What a written branch holds: values of its own, a part of an object, or existing baskets.

use std::sync::Arc;

use super::branch::BranchSpec;
use super::split::{Plan, Split};

/// What a branch holds.
#[derive(Clone, Debug)]
pub(crate) enum BranchLayout {
    /// A branch of its own.
    Plain(BranchSpec),
    /// An object or a part of it: its plan, the index of this branch in the plan, and the index of the plan's first
    /// branch in the tree.
    Split(Arc<Plan>, usize, usize),
    /// An existing branch of any kind: its name, and whether it has baskets.
    Found(Arc<str>, bool),
}

impl BranchLayout {
    /// Its parent branch.
    pub(crate) fn parent(&self) -> Option<usize> {
        match self {
            Self::Plain(_) | Self::Found(..) => None,
            Self::Split(_, _, first) => self.split().and_then(|split| split.parent).map(|parent| first + parent),
        }
    }

    /// The part of an object that it is.
    pub(crate) fn split(&self) -> Option<&Split> {
        match self {
            Self::Plain(_) | Self::Found(..) => None,
            Self::Split(plan, index, _) => plan.branches.get(*index),
        }
    }

    /// Whether it has baskets.
    pub(crate) fn has_data(&self) -> bool {
        match self {
            Self::Found(_, has_data) => *has_data,
            _ => self.split().is_none_or(Split::has_data),
        }
    }
}
