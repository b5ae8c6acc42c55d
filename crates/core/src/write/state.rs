//! A tree as far as it was written: branches, baskets, clusters.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::branch::{BranchKind, BranchSpec};
use super::clustering::Every;
use super::line::Line;
use super::split::{Plan, Split};
use super::tree::TreeOptions;
use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Draft;

/// A tree as far as it was published.
#[derive(Debug)]
pub(super) struct TreeState {
    pub(super) folder: usize,
    pub(super) name: Arc<str>,
    pub(super) title: Arc<str>,
    /// What the branches were asked for as, in the order of the values that they are filled with.
    pub(super) specs: Arc<[BranchSpec]>,
    /// All branches; those below others behind them.
    pub(super) branches: Vec<BranchState>,
    /// How the objects of its branches stream.
    pub(super) plans: Vec<Arc<Plan>>,
    pub(super) entries: u64,
    /// Entries of each cluster that was added.
    pub(super) clusters: Vec<u64>,
    /// The tree as it was, where it was there before.
    pub(super) base: Option<Base>,
    pub(super) auto_flush: Every,
    pub(super) auto_save: Every,
    /// Key of its last record.
    pub(super) key: Option<Key>,
    pub(super) changed: bool,
    /// Whether somebody may still add rows.
    pub(super) is_open: bool,
    /// Compressed bytes and entries of the last save.
    pub(super) saved: (u64, u64),
    /// Clusters on their way, where many threads fill it.
    pub(super) line: Option<Line>,
}

/// A tree that was there before.
#[derive(Debug)]
pub(super) struct Base {
    /// Its record.
    pub(super) draft: Draft,
    pub(super) entries: u64,
    /// Baskets of each branch, where entries are added; none where branches are.
    pub(super) baskets: Option<Vec<usize>>,
}

/// A branch as far as it was published.
#[derive(Debug)]
pub(super) struct BranchState {
    pub(super) name: Arc<str>,
    pub(super) what: What,
    /// Which of the tree's values it has, or has a part of.
    pub(super) value: usize,
    pub(super) compression: Compression,
    pub(super) baskets: Vec<PlacedBasket>,
    pub(super) tot_bytes: u64,
    pub(super) zip_bytes: u64,
    /// Bytes of the largest basket before compression.
    pub(super) largest_bytes: u64,
    /// Largest count, or bytes of the longest string.
    pub(super) most: u64,
}

/// What a branch is.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A branch of its own.
    Plain(BranchSpec),
    /// An object or a part of it: how it streams, which of the object's branches this is, and where these begin in the tree.
    Split(Arc<Plan>, usize, usize),
    /// A branch that is there, of whatever kind: its name, and whether it has baskets.
    Found(Arc<str>, bool),
}

/// Where a basket is, and its first entry.
#[derive(Debug)]
pub(super) struct PlacedBasket {
    pub(super) seek: u64,
    pub(super) nbytes: u32,
    pub(super) first_entry: u64,
}

impl PlacedBasket {
    /// Where it stands.
    pub(super) fn room(&self) -> Range<u64> {
        self.seek..self.seek + u64::from(self.nbytes)
    }
}

impl BranchState {
    /// A branch without baskets.
    pub(super) fn new(name: Arc<str>, what: What, value: usize, compression: Compression) -> Self {
        Self {
            name,
            what,
            value,
            compression,
            baskets: Vec::new(),
            tot_bytes: 0,
            zip_bytes: 0,
            largest_bytes: 0,
            most: 0,
        }
    }

    /// A branch that is there, of whatever kind, without baskets.
    pub(super) fn found(name: Arc<str>, has_data: bool, compression: Compression) -> Self {
        Self::new(Arc::clone(&name), What::Found(name, has_data), 0, compression)
    }
}

impl TreeState {
    /// A tree of these branches, without entries.
    pub(super) fn new(
        folder: usize,
        name: Arc<str>,
        branches: &[BranchSpec],
        compression: Compression,
        options: &TreeOptions,
    ) -> Result<Self> {
        let (mut names, mut counters) = (HashSet::new(), HashSet::new());
        for spec in branches {
            spec.check()?;
            if !names.insert(&spec.name) {
                return Err(Error::new(ErrorKind::Exists, format!("two branches have the name {:?}", spec.name)));
            }
            if matches!(spec.kind, BranchKind::Counter(_)) {
                counters.insert(&spec.name);
            }
            if let BranchKind::Jagged(_, counter) = &spec.kind
                && !counters.contains(counter)
            {
                let message =
                    format!("branch {:?} is counted by {counter:?}, and no counter stands before it", spec.name);
                return Err(Error::mismatch(message));
            }
        }
        let (mut all, mut plans): (Vec<BranchState>, Vec<Arc<Plan>>) = (Vec::new(), Vec::new());
        let state = |name: &Arc<str>, what: What, value: usize, own: Option<Compression>| {
            BranchState::new(Arc::clone(name), what, value, own.unwrap_or(compression))
        };
        for (value, spec) in branches.iter().enumerate() {
            let BranchKind::Object(kind, split_level) = &spec.kind else {
                all.push(state(&spec.name, What::Plain(spec.clone()), value, spec.compression));
                continue;
            };
            let plan = Arc::new(Plan::new(&spec.name, kind, *split_level, options.member_wise)?);
            let first = all.len();
            for (index, split) in plan.branches.iter().enumerate() {
                all.push(state(&split.name, What::Split(Arc::clone(&plan), index, first), value, spec.compression));
            }
            plans.push(plan);
        }
        Ok(Self {
            folder,
            name,
            title: Arc::clone(&options.title),
            specs: branches.into(),
            branches: all,
            plans,
            entries: 0,
            clusters: Vec::new(),
            base: None,
            auto_flush: options.auto_flush,
            auto_save: options.auto_save,
            key: None,
            changed: true,
            is_open: true,
            saved: (0, 0),
            line: None,
        })
    }

    /// Baskets that a branch has.
    pub(super) fn baskets_of(&self, index: usize) -> usize {
        let before = self.base.as_ref().and_then(|base| base.baskets.as_ref()?.get(index)).copied().unwrap_or(0);
        before + self.branches.get(index).map_or(0, |branch| branch.baskets.len())
    }

    /// Whether its record can be written: branches that are added have a value for each entry.
    pub(super) fn is_whole(&self) -> bool {
        self.base.as_ref().is_none_or(|base| base.baskets.is_some() || base.entries == self.entries)
    }

    /// The branches that the tree's list names: those that are below no other.
    pub(super) fn parents(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        self.branches.iter().enumerate().map(|(index, branch)| (index, branch.what.parent()))
    }

    /// Bytes of its baskets, compressed.
    pub(super) fn zip_bytes(&self) -> u64 {
        self.branches.iter().map(|branch| branch.zip_bytes).sum()
    }
}

impl What {
    /// The branch that it is below.
    pub(super) fn parent(&self) -> Option<usize> {
        match self {
            Self::Plain(_) | Self::Found(..) => None,
            Self::Split(_, _, first) => self.split().and_then(|split| split.parent).map(|parent| first + parent),
        }
    }

    /// The part of an object that it is.
    pub(super) fn split(&self) -> Option<&Split> {
        match self {
            Self::Plain(_) | Self::Found(..) => None,
            Self::Split(plan, index, _) => plan.branches.get(*index),
        }
    }

    /// Whether it has baskets.
    pub(super) fn has_data(&self) -> bool {
        match self {
            Self::Found(_, has_data) => *has_data,
            _ => self.split().is_none_or(Split::has_data),
        }
    }
}
