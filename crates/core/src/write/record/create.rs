//! The tree's record: `TTree`, its branches and leaves.
//!
//! Format page: `docs/format/tree.md`. Source: `TTree::TTree`, `TBranch::TBranch`, `TLeaf`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::schema::{Datum, Draft, Mark};
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::layout::BranchLayout;
use crate::write::model::split::{Split, kinds, name_checksum};
use crate::write::record::state::{BranchState, TreeState};

/// Branches of a tree, and their leaves.
pub(crate) fn branches(tree: &TreeState) -> Result<(Vec<Datum>, Vec<Datum>)> {
    let leaves = leaves(tree);
    let marks: Vec<Mark> = tree.branches.iter().map(|_| Mark::new()).collect();
    // Sub-branches come after their parents: build from the last.
    let mut below: Vec<Vec<Datum>> = tree.branches.iter().map(|_| Vec::new()).collect();
    let mut top = Vec::new();
    for (index, parent) in tree.parents().collect::<Vec<_>>().into_iter().rev() {
        let children = std::mem::take(&mut below[index]);
        let draft = branch(tree, index, &leaves, &marks, children.into_iter().rev().collect())?;
        let into = match parent {
            Some(parent) => &mut below[parent],
            None => &mut top,
        };
        into.push(Datum::Object(Arc::new(draft)));
    }
    top.reverse();
    Ok((top, leaves.into_iter().flatten().map(Datum::Object).collect()))
}

/// The record of a new tree.
pub(crate) fn create(tree: &TreeState) -> Result<Draft> {
    let (top, leaves) = branches(tree)?;
    let sum = |of: fn(&BranchState) -> u64| tree.branches.iter().map(of).sum::<u64>() as i64;
    let (total, zipped) = (sum(|branch| branch.tot_bytes), sum(|branch| branch.zip_bytes));
    let (range_ends, range_sizes, auto_flush) = clusters(&tree.clusters, tree.auto_flush.to_root());
    let draft = Draft::new("TTree")
        .with("fName", Arc::clone(&tree.name))
        .with("fTitle", Arc::clone(&tree.title))
        .with("fBits", 8)
        .with("fLineColor", 602)
        .with("fLineStyle", 1)
        .with("fLineWidth", 1)
        .with("fFillColor", 0)
        .with("fFillStyle", 1001)
        .with("fMarkerColor", 1)
        .with("fMarkerStyle", 1)
        .with("fMarkerSize", 1.0)
        .with("fEntries", tree.entries as i64)
        .with("fTotBytes", total)
        .with("fZipBytes", zipped)
        .with("fSavedBytes", zipped)
        .with("fFlushedBytes", zipped)
        .with("fWeight", 1.0)
        .with("fScanField", 25)
        .with("fDefaultEntryOffsetLen", 1000)
        .with("fNClusterRange", range_ends.len() as i64)
        .with("fMaxEntries", 1_000_000_000_000_i64)
        .with("fMaxEntryLoop", 1_000_000_000_000_i64)
        .with("fAutoSave", tree.auto_save.to_root())
        .with("fAutoFlush", auto_flush)
        .with("fEstimate", 1_000_000_i64)
        .with("fClusterRangeEnd", range_ends)
        .with("fClusterSize", range_sizes)
        .with("fBranches", list(top))
        .with("fLeaves", list(leaves));
    Ok(draft)
}

/// The leaves of all branches.
fn leaves(tree: &TreeState) -> Vec<Vec<Arc<Draft>>> {
    let mut leaves: Vec<Vec<Arc<Draft>>> = Vec::with_capacity(tree.branches.len());
    let mut counters: HashMap<&str, Arc<Draft>> = HashMap::new();
    for branch in &tree.branches {
        let leaf = match &branch.layout {
            BranchLayout::Plain(spec) => {
                if let BranchKind::Leaves(class) = &spec.kind {
                    listed(&spec.leaves_of(class))
                } else {
                    let leaf = Arc::new(leaf(spec, branch.most, &counters));
                    counters.insert(&spec.name, Arc::clone(&leaf));
                    vec![leaf]
                }
            }
            BranchLayout::Split(_, _, first) => branch.layout.split().map_or_else(Vec::new, |split| {
                let counter = split.counter.and_then(|counter| leaves.get(first + counter)?.first().cloned());
                split_leaf(split, counter).map(Arc::new).into_iter().collect()
            }),
            BranchLayout::Found(..) => Vec::new(),
        };
        leaves.push(leaf);
    }
    leaves
}

/// The leaves of a list, each where the one before it ends.
fn listed(leaves: &[BranchSpec]) -> Vec<Arc<Draft>> {
    let mut offset = 0;
    let one = |spec: &BranchSpec| {
        let draft = leaf(spec, 0, &HashMap::new()).with("fOffset", offset);
        offset += spec.width() as i64;
        Arc::new(draft)
    };
    leaves.iter().map(one).collect()
}

/// The leaf of a part of an object; bases and objects have none.
fn split_leaf(split: &Split, counter: Option<Arc<Draft>>) -> Option<Draft> {
    if matches!(split.kind, kinds::BASE | kinds::OBJECT) {
        return None;
    }
    let (len, bytes) = split.leaf;
    let draft = Draft::new("TLeafElement")
        .with("fName", &*split.leaf_name)
        .with("fTitle", &*split.title)
        .with("fLen", len)
        .with("fLenType", bytes)
        .with("fID", i64::from(split.id))
        .with("fType", i64::from(split.code));
    Some(match counter {
        Some(counter) => draft.with("fLeafCount", counter),
        None => draft,
    })
}

fn list(items: Vec<Datum>) -> Draft {
    Draft::new("TObjArray").with("items", items)
}

/// Ranges of clusters of one size: the last entry of each and its size, and the size of the clusters after the last
/// range; `unknown` if there is none yet.
///
/// Source: `TTree::MarkEventCluster`, `TTree::TClusterIterator`.
pub(crate) fn clusters(sizes: &[u64], unknown: i64) -> (Vec<i64>, Vec<i64>, i64) {
    let (mut ends, mut range_sizes) = (Vec::new(), Vec::new());
    let Some((&last, before)) = sizes.split_last() else { return (ends, range_sizes, unknown) };
    let mut entries = 0;
    for (index, &size) in before.iter().enumerate() {
        entries += size;
        // The last cluster may be shorter and still belong to the range before it.
        let next = sizes.get(index + 1).copied().unwrap_or(size);
        let goes_on = next == size || index + 2 == sizes.len() && next < size;
        if !goes_on {
            ends.push(entries as i64 - 1);
            range_sizes.push(size as i64);
        }
    }
    let size = before.last().copied().filter(|&size| last <= size).unwrap_or(last);
    (ends, range_sizes, size as i64)
}

fn branch(
    tree: &TreeState,
    index: usize,
    leaves: &[Vec<Arc<Draft>>],
    marks: &[Mark],
    children: Vec<Datum>,
) -> Result<Draft> {
    /// ROOT's values for a new branch.
    const LEAST_BASKETS: usize = 10;
    const LEAST_BYTES: u64 = 32_000;
    let branch = &tree.branches[index];
    let written = branch.baskets.len();
    let slots = (written + 1).max(LEAST_BASKETS);
    let mut bytes: Vec<i32> = branch.baskets.iter().map(|basket| basket.nbytes as i32).collect();
    let mut seeks: Vec<i64> = branch.baskets.iter().map(|basket| basket.seek as i64).collect();
    let mut firsts: Vec<i64> = branch.baskets.iter().map(|basket| basket.first_entry as i64).collect();
    bytes.resize(slots, 0);
    seeks.resize(slots, 0);
    if branch.layout.has_data() {
        firsts.push(tree.entries as i64);
    }
    firsts.resize(slots, 0);
    let (title, varies) = match (&branch.layout, branch.layout.split()) {
        (BranchLayout::Plain(spec), _) => {
            let is_fixed = matches!(spec.kind, BranchKind::Numbers(_) | BranchKind::Counter(_) | BranchKind::Leaves(_));
            (spec.title(), !is_fixed)
        }
        (_, Some(split)) => (split.title.clone(), split.single().is_none()),
        _ => (String::new(), false),
    };
    let class = match &branch.layout {
        BranchLayout::Plain(spec) if spec.class().is_none() => "TBranch",
        _ => "TBranchElement",
    };
    let leaves = leaves.get(index).cloned().unwrap_or_default().into_iter().map(Datum::Object);
    let draft = Draft::new(class)
        .with("fName", Arc::clone(&branch.name))
        .with("fTitle", &*title)
        .with("fFillColor", 0)
        .with("fFillStyle", 1001)
        .with("fCompress", branch.compression.to_root())
        .with("fBasketSize", branch.largest_bytes.max(LEAST_BYTES) as i64)
        .with("fEntryOffsetLen", if varies { 1000 } else { 0 })
        .with("fWriteBasket", written as i64)
        .with("fEntryNumber", tree.entries as i64)
        .with("fMaxBaskets", slots as i64)
        .with("fEntries", tree.entries as i64)
        .with("fTotBytes", branch.tot_bytes as i64)
        .with("fZipBytes", branch.zip_bytes as i64)
        .with("fBranches", list(children))
        .with("fLeaves", list(leaves.collect()))
        .with("fBaskets", list(Vec::new()))
        .with("fBasketBytes", bytes)
        .with("fBasketEntry", firsts)
        .with("fBasketSeek", seeks);
    match &branch.layout {
        BranchLayout::Plain(spec) => Ok(match spec.class() {
            // A whole object: neither split nor a member.
            Some(class) => draft
                .with("fSplitLevel", 99)
                .with("fCheckSum", name_checksum(&class))
                .with("fClassName", &*class)
                .with("fClassVersion", 6)
                .with("fID", -1)
                .with("fStreamerType", -1),
            None => draft,
        }),
        BranchLayout::Split(_, _, first) => {
            let Some(split) = branch.layout.split() else { return Ok(draft) };
            let draft = draft
                .with("fSplitLevel", i64::from(split.split_level))
                .with("fClassName", Arc::clone(&split.class))
                .with("fParentName", Arc::clone(&split.parent_class))
                .with("fClonesName", Arc::clone(&split.items_class))
                .with("fCheckSum", i64::from(split.checksum))
                .with("fClassVersion", i64::from(split.version))
                .with("fID", i64::from(split.id))
                .with("fType", i64::from(split.kind))
                .with("fStreamerType", i64::from(split.code));
            let counter = split.counter.and_then(|counter| marks.get(first + counter));
            let draft = match counter {
                Some(counter) => draft.with("fBranchCount", Datum::Same(counter.clone())),
                None => draft,
            };
            match (split.kind, marks.get(index)) {
                (kinds::COLLECTION, Some(mark)) => draft.with("fMaximum", branch.most as i64).marked(mark.clone()),
                _ => Ok(draft),
            }
        }
        BranchLayout::Found(..) => Ok(draft),
    }
}

fn leaf(spec: &BranchSpec, most: u64, leaves: &HashMap<&str, Arc<Draft>>) -> Draft {
    let BranchSpec { name, kind, .. } = spec;
    if matches!(kind, BranchKind::Vector(..)) {
        let title = spec.leaf_title();
        return Draft::new("TLeafElement")
            .with("fName", Arc::clone(name))
            .with("fTitle", &*title)
            .with("fLen", 1)
            .with("fID", -1)
            .with("fType", -1);
    }
    let number = spec.number_type();
    let (len, len_type) = match number {
        Some(number) => (spec.each() as i64, number.bytes() as i64),
        // Characters of the longest string, and the terminating zero.
        None => (most as i64 + 1, 1),
    };
    let draft = Draft::new(spec.leaf_class())
        .with("fName", Arc::clone(name))
        .with("fTitle", &*spec.leaf_title())
        .with("fLen", len)
        .with("fLenType", len_type)
        .with("fIsRange", matches!(kind, BranchKind::Counter(_)))
        .with("fIsUnsigned", number.is_some_and(|number| number.is_unsigned()));
    match kind {
        BranchKind::Counter(_) => draft.with("fMaximum", most as i64),
        BranchKind::Text => draft.with("fMinimum", 0).with("fMaximum", most as i64 + 1),
        BranchKind::Jagged(_, counter) => match leaves.get(&**counter) {
            Some(counter) => draft.with("fLeafCount", Arc::clone(counter)),
            None => draft,
        },
        BranchKind::Numbers(_) | BranchKind::Vector(..) | BranchKind::Object(..) | BranchKind::Leaves(_) => draft,
    }
}

#[cfg(test)]
mod tests {
    use super::{clusters, name_checksum};

    #[test]
    fn checksums_of_collections_are_those_of_root() {
        // As ROOT 6.40 wrote them.
        assert_eq!(name_checksum("vector<float>"), 89_790_107);
        assert_eq!(name_checksum("vector<vector<vector<int> > >"), 1_960_736_872);
    }

    #[test]
    fn clusters_of_one_size_are_one_range() {
        let sizes = |sizes: &[u64]| clusters(sizes, -30_000_000);
        assert_eq!(sizes(&[]), (vec![], vec![], -30_000_000));
        assert_eq!(sizes(&[7]), (vec![], vec![], 7));
        assert_eq!(sizes(&[10, 10, 10, 4]), (vec![], vec![], 10));
        assert_eq!(sizes(&[10, 10, 20, 20, 5]), (vec![19], vec![10], 20));
        assert_eq!(sizes(&[10, 20]), (vec![9], vec![10], 20));
        assert_eq!(sizes(&[20, 10, 10]), (vec![19], vec![20], 10));
        assert_eq!(sizes(&[5, 3, 9, 2]), (vec![4, 7], vec![5, 3], 9));
    }
}
