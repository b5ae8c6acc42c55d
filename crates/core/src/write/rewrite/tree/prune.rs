//! Tree records with fewer branches, without entries, or with moved baskets.
//!
//! Source: `TTree::CloneTree`, `TTreeCloner::CopyMemoryBaskets`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::object::Value;
use crate::schema::{Datum, Draft, Mark};
use crate::tree::{Branch, Tree};
use crate::write::basket::PlacedBasket;
use crate::write::basket::raw_entries::offsets_once_written;
use crate::write::record::edit::{self, each_branch, set_index, whole};
use crate::write::record::state::BranchState;
use crate::write::rewrite::tree::relocate::{Sealed, Source};

/// Removes top-level branches, and their leaves.
pub(crate) fn keep_branches(draft: &mut Draft, kept: &HashSet<Arc<str>>) {
    let mut is_whole = true;
    if let Some(items) = items(draft, "fBranches") {
        let before = items.len();
        items.retain(|branch| match branch.as_draft().and_then(|branch| branch.member("fName")) {
            Some(Datum::Text(name)) => kept.contains(name),
            _ => true,
        });
        is_whole = items.len() == before;
    }
    if is_whole {
        return;
    }
    let mut marks = Vec::new();
    if let Some(branches) = draft.member_mut("fBranches").and_then(Datum::as_draft_mut) {
        branches.visit_mut(&mut |object| marks.extend(object.mark().cloned()));
    }
    if let Some(items) = items(draft, "fLeaves") {
        let known: HashSet<usize> = marks.iter().map(Mark::address).collect();
        items.retain(|leaf| !matches!(leaf, Datum::Same(mark) if !known.contains(&mark.address())));
    }
    let (mut total, mut zipped) = (0_i64, 0_i64);
    each_branch(draft, &mut |branch| {
        total = whole(branch, "fTotBytes").saturating_add(total);
        zipped = whole(branch, "fZipBytes").saturating_add(zipped);
    });
    set_bytes(draft, total, zipped);
}

/// Clears how entries were stored: they are stored again, with their offsets.
pub(crate) fn forget_features(draft: &mut Draft) {
    each_branch(draft, &mut |branch| {
        if let Some(features) = branch.member_mut("fIOFeatures").and_then(Datum::as_draft_mut) {
            features.set("fIOBits", 0);
        }
    });
}

/// Clears all entries.
pub(crate) fn forget_entries(draft: &mut Draft) {
    each_branch(draft, &mut |branch| {
        for name in ["fTotBytes", "fZipBytes", "fWriteBasket", "fEntries", "fEntryNumber"] {
            branch.set(name, 0);
        }
        forget_open_baskets(branch);
    });
    for name in ["fEntries", "fTotBytes", "fZipBytes"] {
        draft.set(name, 0);
    }
    if draft.member("fClusterRangeEnd").is_some() {
        draft.set("fNClusterRange", 0);
        draft.set("fClusterRangeEnd", Vec::<i64>::new());
        draft.set("fClusterSize", Vec::<i64>::new());
    }
}

/// What a tree without its index lacks.
pub(crate) const NO_INDEX: &str = "its index (TTreeIndex) is left out, since it holds the old numbers of entries: build \
                                   it again";

/// Removes an index of entries, which holds their old numbers. Returns whether there was one.
pub(crate) fn forget_index(draft: &mut Draft) -> bool {
    let index = draft.member_mut("fTreeIndex").map(|index| std::mem::replace(index, Datum::Null));
    index.is_some_and(|index| !matches!(index, Datum::Null))
}

/// Removes the list of friends, whose entries are in the old order. Returns whether there were any.
pub(crate) fn forget_friends(draft: &mut Draft) -> bool {
    let friends = draft.member_mut("fFriends").map(|friends| std::mem::replace(friends, Datum::Null));
    friends.is_some_and(|friends| !matches!(friends, Datum::Null))
}

/// The note on a sorted tree without its friends.
pub(crate) fn no_friends(tree: &Tree) -> String {
    let names = tree.friends.iter().map(|friend| &*friend.tree).collect::<Vec<_>>().join(", ");
    format!(
        "its friends ({names}) are left out, since their entries are in the old order: only one with an index can be \
         added again"
    )
}

/// What a tree without its table of references lacks.
pub(crate) const NO_REFERENCES: &str = "its table of references (TBranchRef) is left out: references resolve once the \
                                        branches of their objects are read";

/// Whether a tree has a table of the branches that hold referenced objects.
pub(crate) fn has_references(tree: &Tree) -> bool {
    is_there(tree, "fBranchRef")
}

/// Whether a tree has an index of its entries.
pub(crate) fn has_index(tree: &Tree) -> bool {
    is_there(tree, "fTreeIndex")
}

fn is_there(tree: &Tree, member: &str) -> bool {
    tree.object.member(member).is_ok_and(|object| !matches!(object, Value::Null))
}

/// Removes the table of branches that hold referenced objects (`TBranchRef`): it has baskets of its own, which are not
/// read here. References still resolve once the branches are loaded. Returns whether there was one.
pub(crate) fn forget_references(draft: &mut Draft) -> bool {
    let table = draft.member_mut("fBranchRef").map(|table| std::mem::replace(table, Datum::Null));
    table.is_some_and(|table| !matches!(table, Datum::Null))
}

/// Sets the compression of each branch.
pub(crate) fn set_compression(draft: &mut Draft, branches: &[BranchState]) {
    let mut states = branches.iter();
    each_branch(draft, &mut |branch| {
        if let Some(state) = states.next().filter(|_| branch.member("fCompress").is_some()) {
            branch.set("fCompress", i64::from(state.compression.to_root()));
        }
    });
}

/// Updates the offsets of moved baskets in all branches. Baskets that were in the record have their own records now.
pub(crate) fn settle(draft: &mut Draft, branches: &[&Branch], baskets: &[Sealed], placed: &[PlacedBasket]) {
    let mut of: Vec<Vec<(&Sealed, &PlacedBasket)>> = branches.iter().map(|_| Vec::new()).collect();
    for (basket, place) in baskets.iter().zip(placed) {
        if let Some(of) = of.get_mut(basket.branch) {
            of.push((basket, place));
        }
    }
    let mut states = branches.iter().zip(&mut of);
    let (mut gained, mut gained_zip) = (0, 0);
    each_branch(draft, &mut |record| {
        let Some((branch, baskets)) = states.next().filter(|(_, baskets)| !baskets.is_empty()) else { return };
        baskets.sort_by_key(|(basket, _)| basket.number);
        // ROOT looks for a basket by its first entry, and finds one without entries as well.
        let has_entries = |number: usize| branch.baskets().get(number).is_some_and(|basket| !basket.entries.is_empty());
        baskets.retain(|(basket, _)| has_entries(basket.number));
        let list = |of: fn(&PlacedBasket) -> u64| baskets.iter().map(|(_, place)| of(place) as i64).collect();
        let (bytes, seeks) = (list(|place| u64::from(place.nbytes)), list(|place| place.seek));
        set_index(record, bytes, list(|place| place.first_entry), seeks, Some(branch.entry_range().end));
        forget_open_baskets(record);
        if let Some(again) =
            baskets.iter().find_map(|(basket, _)| basket.again).filter(|_| record.member("fCompress").is_some())
        {
            record.set("fCompress", i64::from(again.to_root()));
        }
        // ROOT counts the bytes of a basket when it gets a record.
        let made = baskets.iter().filter_map(|(basket, place)| match &basket.source {
            Source::Made { unsealed_bytes, .. } => Some((*unsealed_bytes as i64, i64::from(place.nbytes))),
            // Compressed again: what it held before compression is the same.
            Source::Stored { nbytes, .. } => basket.again.map(|_| (0, i64::from(place.nbytes) - i64::from(*nbytes))),
        });
        let (more, more_zip) = made.fold((0, 0), |sum, made| (sum.0 + made.0, sum.1 + made.1));
        for (name, more) in [("fTotBytes", more), ("fZipBytes", more_zip)] {
            let sum = whole(record, name).saturating_add(more);
            record.set(name, sum);
        }
        gained += more;
        gained_zip += more_zip;
    });
    let total = whole(draft, "fTotBytes").saturating_add(gained);
    let zipped = whole(draft, "fZipBytes").saturating_add(gained_zip);
    set_bytes(draft, total, zipped);
}

/// Makes branches whose baskets hold offsets of entries declare them: these branches of a tree, in the order of the
/// record.
pub(crate) fn declare_offsets(draft: &mut Draft, tree: &Tree, branches: &[&Branch]) {
    let mut branches = branches.iter();
    each_branch(draft, &mut |record| {
        if let Some(branch) = branches.next()
            && offsets_once_written(tree, branch) == Some(true)
        {
            edit::declare_offsets(record, true);
        }
    });
}

fn set_bytes(draft: &mut Draft, total: i64, zipped: i64) {
    draft.set("fTotBytes", total);
    draft.set("fZipBytes", zipped);
    for name in ["fSavedBytes", "fFlushedBytes"] {
        if draft.member(name).is_some() {
            draft.set(name, zipped);
        }
    }
}

fn forget_open_baskets(branch: &mut Draft) {
    if let Some(baskets) = branch.member_mut("fBaskets").and_then(Datum::as_draft_mut) {
        baskets.set("items", Vec::<Datum>::new());
    }
}

fn items<'d>(draft: &'d mut Draft, list: &str) -> Option<&'d mut Vec<Datum>> {
    draft.member_mut(list)?.as_draft_mut()?.member_mut("items")?.as_list_mut()
}
