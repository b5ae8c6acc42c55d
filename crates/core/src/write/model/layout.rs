//! What a written branch holds: values of its own, a part of an object, or existing baskets.

use std::sync::Arc;

use super::branch::{BranchKind, BranchSpec};
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

    /// How many leaves it has.
    pub(crate) fn leaves(&self) -> usize {
        match self {
            Self::Plain(spec) => match &spec.kind {
                BranchKind::Leaves(class) => class.members.len(),
                _ => 1,
            },
            Self::Split(..) => usize::from(self.split().is_some_and(Split::has_leaf)),
            Self::Found(..) => 0,
        }
    }

    /// Whether its baskets hold the offsets of entries; none if that depends on the baskets that were found.
    pub(crate) fn has_offsets(&self) -> Option<bool> {
        match self {
            Self::Plain(spec) => {
                Some(!matches!(spec.kind, BranchKind::Numbers(_) | BranchKind::Counter(_) | BranchKind::Leaves(_)))
            }
            Self::Split(..) => self.split().map(Split::has_offsets),
            Self::Found(..) => None,
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
