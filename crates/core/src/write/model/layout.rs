//! What a branch that is written holds: values of its own, a part of an object, or what was there before.

use std::sync::Arc;

use super::branch::BranchSpec;
use super::split::{Plan, Split};

/// What a branch is.
#[derive(Clone, Debug)]
pub(crate) enum BranchLayout {
    /// A branch of its own.
    Plain(BranchSpec),
    /// An object or a part of it: how it streams, which of the object's branches this is, and where these begin in the tree.
    Split(Arc<Plan>, usize, usize),
    /// A branch that is there, of whatever kind: its name, and whether it has baskets.
    Found(Arc<str>, bool),
}

impl BranchLayout {
    /// The branch that it is below.
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
