//! The tree's record: `TTree`, its branches and leaves.
//!
//! Format page: `docs/format/tree.md`. Source: `TTree::TTree`, `TBranch::TBranch`, `TLeaf`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::Number;
use crate::error::Result;
use crate::schema::{Datum, Draft, Mark};
use crate::tree::element_kind;
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::layout::BranchLayout;
use crate::write::model::number_codes::COUNTER;
use crate::write::model::split::{Split, name_checksum};
use crate::write::record::figure::{OfBranch, OfTree};
use crate::write::record::figures::{BranchFigures, TreeFigures};
use crate::write::record::state::TreeState;

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
    let figures = TreeFigures::new(tree);
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
        .with("fEntries", figures.one(OfTree::Entries))
        .with("fTotBytes", figures.one(OfTree::TotBytes))
        .with("fZipBytes", figures.one(OfTree::ZipBytes))
        .with("fSavedBytes", figures.one(OfTree::ZipBytes))
        .with("fFlushedBytes", figures.one(OfTree::FlushedBytes))
        .with("fWeight", 1.0)
        .with("fScanField", 25)
        .with("fDefaultEntryOffsetLen", 1000)
        .with("fNClusterRange", figures.one(OfTree::Ranges))
        .with("fMaxEntries", 1_000_000_000_000_i64)
        .with("fMaxEntryLoop", 1_000_000_000_000_i64)
        .with("fAutoSave", tree.auto_save.to_root())
        .with("fAutoFlush", figures.one(OfTree::AutoFlush))
        .with("fEstimate", 1_000_000_i64)
        .with("fClusterRangeEnd", figures.range_ends().to_vec())
        .with("fClusterSize", figures.range_sizes().to_vec())
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

/// The leaf of a part of an object, if it has one.
fn split_leaf(split: &Split, counter: Option<Arc<Draft>>) -> Option<Draft> {
    if !split.has_leaf() {
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

fn branch(
    tree: &TreeState,
    index: usize,
    leaves: &[Vec<Arc<Draft>>],
    marks: &[Mark],
    children: Vec<Datum>,
) -> Result<Draft> {
    let branch = &tree.branches[index];
    let figures = BranchFigures::new(tree, branch);
    let whole = |which| figures.one(which);
    let title = match (&branch.layout, branch.layout.split()) {
        (BranchLayout::Plain(spec), _) => spec.title(),
        (_, Some(split)) => split.title.clone(),
        _ => String::new(),
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
        .with("fBasketSize", whole(OfBranch::BasketSize))
        .with("fEntryOffsetLen", if branch.layout.has_offsets() == Some(true) { 1000 } else { 0 })
        .with("fWriteBasket", whole(OfBranch::WriteBasket))
        .with("fEntryNumber", whole(OfBranch::Entries))
        .with("fMaxBaskets", whole(OfBranch::MaxBaskets))
        .with("fEntries", whole(OfBranch::Entries))
        .with("fTotBytes", whole(OfBranch::TotBytes))
        .with("fZipBytes", whole(OfBranch::ZipBytes))
        .with("fBranches", list(children))
        .with("fLeaves", list(leaves.collect()))
        .with("fBaskets", list(Vec::new()))
        .with("fBasketBytes", Datum::numbers(Number::I32, figures.bytes().map(|bytes| (bytes as i32).to_ne_bytes())))
        .with("fBasketEntry", figures.firsts().collect::<Vec<_>>())
        .with("fBasketSeek", figures.seeks().collect::<Vec<_>>());
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
            let counters = [("fBranchCount", split.counter), ("fBranchCount2", split.counter2)];
            let marked = |counter: usize| marks.get(first + counter);
            let draft = counters.into_iter().fold(draft, |draft, (name, counter)| match counter.and_then(marked) {
                Some(counter) => draft.with(name, Datum::Same(counter.clone())),
                None => draft,
            });
            match (split.kind, marks.get(index)) {
                (element_kind::COLLECTION | element_kind::CLONES, Some(mark)) => {
                    draft.with("fMaximum", whole(OfBranch::Most)).marked(mark.clone())
                }
                (element_kind::LEAF, Some(mark)) if split.code == COUNTER => {
                    draft.with("fMaximum", whole(OfBranch::Most)).marked(mark.clone())
                }
                (_, Some(mark)) if split.code == COUNTER => draft.marked(mark.clone()),
                _ => Ok(draft),
            }
        }
        BranchLayout::Found(..) => Ok(draft),
    }
}

fn leaf(spec: &BranchSpec, most: u64, leaves: &HashMap<&str, Arc<Draft>>) -> Draft {
    let kind = &spec.kind;
    if matches!(kind, BranchKind::Vector(..)) {
        let title = spec.leaf_title();
        return Draft::new("TLeafElement")
            .with("fName", &*spec.leaf_name())
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
        .with("fName", &*spec.leaf_name())
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
    use super::name_checksum;

    #[test]
    fn checksums_of_collections_are_those_of_root() {
        // As ROOT 6.40 wrote them.
        assert_eq!(name_checksum("vector<float>"), 89_790_107);
        assert_eq!(name_checksum("vector<vector<vector<int> > >"), 1_960_736_872);
    }
}
