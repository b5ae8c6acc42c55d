//! The numbers of a new tree's record that change from save to save.
//!
//! Source: `TTree`, `TBranch`, `TLeaf`.

use crate::schema::{Place, Put};
use crate::tree::element_kind;
use crate::write::basket::PlacedBasket;
use crate::write::model::branch::BranchKind;
use crate::write::model::layout::BranchLayout;
use crate::write::model::number_codes::COUNTER;
use crate::write::record::cluster_ranges::cluster_ranges;
use crate::write::record::figure::{Figure, OfBranch, OfTree};
use crate::write::record::state::{BranchState, TreeState};

/// Members of trees by name, and what they are.
const TREE: ([&str; 9], [OfTree; 9]) = (
    [
        "fEntries",
        "fTotBytes",
        "fZipBytes",
        "fSavedBytes",
        "fFlushedBytes",
        "fNClusterRange",
        "fAutoFlush",
        "fClusterRangeEnd",
        "fClusterSize",
    ],
    [
        OfTree::Entries,
        OfTree::TotBytes,
        OfTree::ZipBytes,
        OfTree::ZipBytes,
        OfTree::FlushedBytes,
        OfTree::Ranges,
        OfTree::AutoFlush,
        OfTree::RangeEnds,
        OfTree::RangeSizes,
    ],
);

/// Members of branches.
const BRANCH: ([&str; 11], [OfBranch; 11]) = (
    [
        "fBasketSize",
        "fWriteBasket",
        "fEntryNumber",
        "fMaxBaskets",
        "fEntries",
        "fTotBytes",
        "fZipBytes",
        "fBasketBytes",
        "fBasketEntry",
        "fBasketSeek",
        "fMaximum",
    ],
    [
        OfBranch::BasketSize,
        OfBranch::WriteBasket,
        OfBranch::Entries,
        OfBranch::MaxBaskets,
        OfBranch::Entries,
        OfBranch::TotBytes,
        OfBranch::ZipBytes,
        OfBranch::BasketBytes,
        OfBranch::BasketEntry,
        OfBranch::BasketSeek,
        OfBranch::Most,
    ],
);

/// Members of leaves.
const LEAF: [&str; 2] = ["fLen", "fMaximum"];

/// Which members of which classes may change.
pub(crate) fn watched(class: &str) -> Option<(usize, &'static [&'static str])> {
    match class {
        "TTree" => Some((0, &TREE.0)),
        "TBranch" | "TBranchElement" => Some((1, &BRANCH.0)),
        _ if class.starts_with("TLeaf") => Some((2, &LEAF)),
        _ => None,
    }
}

/// The names of numbers by their place in a new tree's record; none if its branches are not written in the order in
/// which the tree has them.
pub(crate) fn names(tree: &TreeState) -> Option<impl Fn(Place) -> Option<Figure>> {
    let mut above: Vec<usize> = Vec::new();
    for (index, parent) in tree.parents() {
        match parent {
            Some(parent) => above.truncate(above.iter().position(|&above| above == parent)? + 1),
            None => above.clear(),
        }
        above.push(index);
    }
    let leaves = tree.branches.iter().enumerate().flat_map(|(index, branch)| vec![index; branch.layout.leaves()]);
    let leaves: Vec<usize> = leaves.collect();
    Some(move |place: Place| match place.kind {
        0 => TREE.1.get(place.member).copied().map(Figure::Tree),
        1 => {
            let figure = *BRANCH.1.get(place.member)?;
            let branch = tree.branches.get(place.object)?;
            let is_kept = figure == OfBranch::Most && !counts_items(branch);
            (!is_kept).then_some(Figure::Branch(place.object as u32, figure))
        }
        _ => {
            let index = *leaves.get(place.object)?;
            let BranchLayout::Plain(spec) = &tree.branches.get(index)?.layout else { return None };
            let figure = match (&spec.kind, place.member) {
                (BranchKind::Counter(_), 1) => OfBranch::Most,
                (BranchKind::Text, _) => OfBranch::MostAndOne,
                _ => return None,
            };
            Some(Figure::Branch(index as u32, figure))
        }
    })
}

/// Whether a branch has the counts of a collection whose items have branches of their own, or of arrays.
fn counts_items(branch: &BranchState) -> bool {
    branch.layout.split().is_some_and(|split| match split.kind {
        element_kind::COLLECTION | element_kind::CLONES => true,
        kind => kind == element_kind::LEAF && split.code == COUNTER,
    })
}

/// `fFlushedBytes` of a tree: zero as long as a number of bytes is to end its first cluster, because ROOT measures it
/// only then.
///
/// Source: `TTree::Fill`.
pub(crate) fn flushed_bytes(zipped: i64, auto_flush: i64) -> i64 {
    if auto_flush < 0 { 0 } else { zipped }
}

/// The numbers of a tree that change.
pub(crate) struct TreeFigures<'t> {
    tree: &'t TreeState,
    total: i64,
    zipped: i64,
    range_ends: Vec<i64>,
    range_sizes: Vec<i64>,
    auto_flush: i64,
}

impl<'t> TreeFigures<'t> {
    pub(crate) fn new(tree: &'t TreeState) -> Self {
        let sum = |of: fn(&BranchState) -> u64| tree.branches.iter().map(of).sum::<u64>() as i64;
        let (total, zipped) = (sum(|branch| branch.tot_bytes), sum(|branch| branch.zip_bytes));
        let auto_flush = tree.flush(tree.auto_flush.to_root());
        let (range_ends, range_sizes) = cluster_ranges(&tree.clusters, auto_flush);
        Self { tree, total, zipped, range_ends, range_sizes, auto_flush }
    }

    /// A number.
    pub(crate) fn one(&self, which: OfTree) -> i64 {
        match which {
            OfTree::Entries => self.tree.entries as i64,
            OfTree::TotBytes => self.total,
            OfTree::ZipBytes => self.zipped,
            OfTree::FlushedBytes => flushed_bytes(self.zipped, self.auto_flush),
            OfTree::Ranges => self.range_ends.len() as i64,
            OfTree::AutoFlush => self.auto_flush,
            // Lists.
            OfTree::RangeEnds | OfTree::RangeSizes => 0,
        }
    }

    /// The last entry of each range of clusters of one size.
    pub(crate) fn range_ends(&self) -> &[i64] {
        &self.range_ends
    }

    /// Their sizes.
    pub(crate) fn range_sizes(&self) -> &[i64] {
        &self.range_sizes
    }

    /// Bytes of all lists.
    pub(crate) fn list_bytes(&self) -> usize {
        // A length, an entry and an offset.
        const EACH: usize = 4 + 8 + 8;
        let slots: usize = self.tree.branches.iter().map(|branch| BranchFigures::new(self.tree, branch).slots).sum();
        EACH * slots + size_of_val(&self.range_ends[..]) + size_of_val(&self.range_sizes[..])
    }

    /// Writes a number, or a list, in its place in the record.
    pub(crate) fn put(&self, figure: Figure, into: Put<'_>) {
        match figure {
            Figure::Tree(OfTree::RangeEnds) => into.list(self.range_ends.iter().copied()),
            Figure::Tree(OfTree::RangeSizes) => into.list(self.range_sizes.iter().copied()),
            Figure::Tree(which) => into.one(self.one(which)),
            Figure::Branch(index, which) => {
                let Some(branch) = self.tree.branches.get(index as usize) else { return };
                let of = BranchFigures::new(self.tree, branch);
                match which {
                    OfBranch::BasketBytes => into.list(of.bytes()),
                    OfBranch::BasketEntry => into.list(of.firsts()),
                    OfBranch::BasketSeek => into.list(of.seeks()),
                    which => into.one(of.one(which)),
                }
            }
        }
    }
}

/// The numbers of a branch that change.
#[derive(Clone, Copy)]
pub(crate) struct BranchFigures<'t> {
    branch: &'t BranchState,
    entries: i64,
    slots: usize,
}

impl<'t> BranchFigures<'t> {
    pub(crate) fn new(tree: &TreeState, branch: &'t BranchState) -> Self {
        /// ROOT's value for a new branch.
        const LEAST_BASKETS: usize = 10;
        let slots = (branch.baskets.len() + 1).max(LEAST_BASKETS);
        Self { branch, entries: tree.entries as i64, slots }
    }

    /// A number.
    pub(crate) fn one(&self, which: OfBranch) -> i64 {
        /// ROOT's value for a new branch.
        const LEAST_BYTES: u64 = 32_000;
        let branch = self.branch;
        match which {
            OfBranch::BasketSize => branch.largest_bytes.max(LEAST_BYTES) as i64,
            OfBranch::WriteBasket => branch.baskets.len() as i64,
            OfBranch::Entries => self.entries,
            OfBranch::MaxBaskets => self.slots as i64,
            OfBranch::TotBytes => branch.tot_bytes as i64,
            OfBranch::ZipBytes => branch.zip_bytes as i64,
            OfBranch::Most => branch.most as i64,
            // A string has a terminating zero.
            OfBranch::MostAndOne => branch.most as i64 + 1,
            // Lists.
            OfBranch::BasketBytes | OfBranch::BasketEntry | OfBranch::BasketSeek => 0,
        }
    }

    /// Bytes of its baskets, as far as there are slots for them.
    pub(crate) fn bytes(self) -> impl ExactSizeIterator<Item = i64> {
        self.each(|basket| basket.nbytes as i32 as i64, None)
    }

    /// Where they are.
    pub(crate) fn seeks(self) -> impl ExactSizeIterator<Item = i64> {
        self.each(|basket| basket.seek as i64, None)
    }

    /// The first entry of each, and the end of the last.
    pub(crate) fn firsts(self) -> impl ExactSizeIterator<Item = i64> {
        let end = self.branch.layout.has_data().then_some(self.entries);
        self.each(|basket| basket.first_entry as i64, end)
    }

    /// A number for each slot: those of baskets, and `end` behind the last.
    fn each(self, of: fn(&PlacedBasket) -> i64, end: Option<i64>) -> impl ExactSizeIterator<Item = i64> {
        let baskets = &self.branch.baskets;
        (0..self.slots).map(move |slot| match baskets.get(slot) {
            Some(basket) => of(basket),
            None => end.filter(|_| slot == baskets.len()).unwrap_or(0),
        })
    }
}
