//! A tree as far as it was written: branches, baskets, clusters.

use std::collections::HashSet;
use std::sync::Arc;

use crate::codec::{Compression, RandomAccess};
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Draft, Template};
use crate::write::basket::PlacedBasket;
use crate::write::clustering::Every;
use crate::write::commit::queue::ClusterQueue;
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::layout::BranchLayout;
use crate::write::model::split::Plan;
use crate::write::options::TreeOptions;
use crate::write::record::figure::Figure;

/// A tree as far as it was published.
#[derive(Debug)]
pub(crate) struct TreeState {
    pub(crate) folder: usize,
    pub(crate) name: Arc<str>,
    pub(crate) title: Arc<str>,
    /// The specifications of the branches, in the order of their values.
    pub(crate) specs: Arc<[BranchSpec]>,
    /// All branches; sub-branches after their parents.
    pub(crate) branches: Vec<BranchState>,
    /// How the objects of its branches stream.
    pub(crate) plans: Vec<Arc<Plan>>,
    pub(crate) entries: u64,
    /// Entries of each cluster that was added.
    pub(crate) clusters: Vec<u64>,
    /// The tree as it was, if it existed before.
    pub(crate) base: Option<Base>,
    pub(crate) auto_flush: Every,
    /// Entries of a cluster that a number of bytes ended: the size of the following ones.
    pub(crate) measured: Option<u64>,
    pub(crate) auto_save: Every,
    /// Key of its last record.
    pub(crate) key: Option<Key>,
    /// What its next record is written by, if only numbers have changed since the last one.
    pub(crate) template: Option<Template<Figure>>,
    pub(crate) changed: bool,
    /// Whether its last record was compressed at the first level, until it is replaced.
    pub(crate) is_interim: bool,
    /// Whether a writer may still add rows.
    pub(crate) is_open: bool,
    /// Compressed bytes and entries of the last save.
    pub(crate) saved: (u64, u64),
    /// Clusters that are not published yet, if many threads fill the tree.
    pub(crate) queue: Option<ClusterQueue>,
}

/// A tree that existed before.
#[derive(Debug)]
pub(crate) struct Base {
    /// Its record.
    pub(crate) draft: Draft,
    pub(crate) entries: u64,
    /// Baskets of each branch if entries are added; none if branches are added.
    pub(crate) baskets: Option<Vec<usize>>,
    /// The ends of its clusters, if branches are added: their baskets end there, too.
    pub(crate) borders: Option<Arc<[u64]>>,
}

/// A branch as far as it was published.
#[derive(Debug)]
pub(crate) struct BranchState {
    pub(crate) name: Arc<str>,
    pub(crate) layout: BranchLayout,
    /// The index of the tree's value that it holds, or holds a part of.
    pub(crate) value: usize,
    pub(crate) compression: Compression,
    /// None for what its file says.
    pub(crate) random_access: Option<RandomAccess>,
    pub(crate) baskets: Vec<PlacedBasket>,
    pub(crate) tot_bytes: u64,
    pub(crate) zip_bytes: u64,
    /// Bytes of the largest basket before compression.
    pub(crate) largest_bytes: u64,
    /// Largest count, or bytes of the longest string.
    pub(crate) most: u64,
    /// Whether its leaf counts the items of others.
    pub(crate) counts: bool,
    /// Whether its baskets hold the offsets of entries; none as long as it has no entries.
    pub(crate) has_offsets: Option<bool>,
}

impl BranchState {
    /// A branch without baskets.
    pub(crate) fn new(name: Arc<str>, layout: BranchLayout, value: usize, compression: Compression) -> Self {
        Self {
            name,
            counts: matches!(&layout, BranchLayout::Plain(spec) if matches!(spec.kind, BranchKind::Counter(_))),
            has_offsets: layout.has_offsets(),
            layout,
            value,
            compression,
            random_access: None,
            baskets: Vec::new(),
            tot_bytes: 0,
            zip_bytes: 0,
            largest_bytes: 0,
            most: 0,
        }
    }

    /// Adds a basket, and its bytes to the totals of the branch. `unsealed_bytes` are those of its key and its payload
    /// before compression (`fTotBytes` counts both); 0 if the caller adds them up itself.
    pub(crate) fn add(&mut self, basket: PlacedBasket, unsealed_bytes: u64) {
        self.tot_bytes = self.tot_bytes.saturating_add(unsealed_bytes);
        self.zip_bytes += u64::from(basket.nbytes);
        self.largest_bytes = self.largest_bytes.max(unsealed_bytes);
        self.baskets.push(basket);
    }

    /// An existing branch of any kind, without baskets.
    pub(crate) fn found(name: Arc<str>, has_data: bool, compression: Compression) -> Self {
        Self::new(Arc::clone(&name), BranchLayout::Found(name, has_data), 0, compression)
    }
}

impl TreeState {
    /// A tree of these branches, without entries.
    pub(crate) fn new(
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
                    format!("branch {:?} is counted by {counter:?}, and no counter comes before it", spec.name);
                return Err(Error::mismatch(message));
            }
        }
        let (mut all, mut plans): (Vec<BranchState>, Vec<Arc<Plan>>) = (Vec::new(), Vec::new());
        let state = |name: &Arc<str>, layout: BranchLayout, value: usize, spec: &BranchSpec| BranchState {
            random_access: spec.random_access.or(options.random_access),
            ..BranchState::new(Arc::clone(name), layout, value, spec.compression.unwrap_or(compression))
        };
        for (value, spec) in branches.iter().enumerate() {
            let BranchKind::Object(kind, split_level) = &spec.kind else {
                all.push(state(&spec.name, BranchLayout::Plain(spec.clone()), value, spec));
                continue;
            };
            let plan = Arc::new(Plan::new(&spec.name, kind, *split_level, options.member_wise)?);
            let first = all.len();
            for (index, split) in plan.branches.iter().enumerate() {
                all.push(state(&split.name, BranchLayout::Split(Arc::clone(&plan), index, first), value, spec));
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
            measured: None,
            auto_save: options.auto_save,
            key: None,
            template: None,
            changed: true,
            is_interim: false,
            is_open: true,
            saved: (0, 0),
            queue: None,
        })
    }

    /// Its `fAutoFlush`: entries of a cluster once they were measured, and before that what it was.
    pub(crate) fn flush(&self, before: i64) -> i64 {
        self.measured.and_then(|measured| i64::try_from(measured).ok()).unwrap_or(before)
    }

    /// Baskets that a branch has.
    pub(crate) fn baskets_of(&self, index: usize) -> usize {
        // A tree that is new has none from before.
        let before = self.base.as_ref().and_then(|base| base.baskets.as_ref()).map_or(0, |before| before[index]);
        before + self.branches[index].baskets.len()
    }

    /// Its record was deleted: none is written before it has more entries.
    pub(crate) fn forget_record(&mut self) {
        (self.key, self.template, self.changed) = (None, None, false);
    }

    /// The class of its record.
    pub(crate) fn class(&self) -> &str {
        self.base.as_ref().map_or("TTree", |base| base.draft.class())
    }

    /// Whether its record can be written: added branches have a value for each entry.
    pub(crate) fn is_whole(&self) -> bool {
        self.base.as_ref().is_none_or(|base| base.baskets.is_some() || base.entries == self.entries)
    }

    /// All branches, with the parent of each; those without one are in the tree's list.
    pub(crate) fn parents(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        self.branches.iter().enumerate().map(|(index, branch)| (index, branch.layout.parent()))
    }

    /// Bytes of its baskets, compressed.
    pub(crate) fn zip_bytes(&self) -> u64 {
        self.branches.iter().map(|branch| branch.zip_bytes).sum()
    }
}

impl TreeState {
    /// Adds the written clusters with no unwritten one before them.
    pub(crate) fn advance(&mut self) {
        // Without a queue, clusters are counted as they are written.
        let Some(queue) = &mut self.queue else { return };
        let (rows, measured) = queue.advance();
        self.changed |= !rows.is_empty();
        self.entries += rows.iter().sum::<u64>();
        self.clusters.extend(rows);
        self.measured = measured.or(self.measured);
    }

    /// Adds the baskets of the new clusters to their branches.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal) for a basket of a branch that the tree does not have.
    pub(crate) fn update_branches(&mut self) -> Result<()> {
        let Some(queue) = &mut self.queue else { return Ok(()) };
        let mut ready = std::mem::take(&mut queue.ready);
        let mut entries = self.entries - ready.iter().map(|cluster| cluster.rows).sum::<u64>();
        for cluster in ready.drain(..) {
            for (branch, most) in self.branches.iter_mut().zip(&cluster.most) {
                branch.most = branch.most.max(*most);
            }
            for basket in cluster.baskets {
                let branch = self.branches.get_mut(basket.branch as usize);
                let branch = branch.ok_or_else(|| Error::internal("a basket belongs to no branch of its tree"))?;
                let first_entry = entries + basket.placed.first_entry;
                branch.add(PlacedBasket { first_entry, ..basket.placed }, basket.unsealed_bytes);
            }
            entries += cluster.rows;
        }
        Ok(())
    }
}
