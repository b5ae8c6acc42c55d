//! Updates the record of an existing tree with what was added to it. Everything else stays as it was, no matter which
//! program wrote it.
//!
//! Source: `TTree::Fill`, `TTree::MarkEventCluster`, `TBranch::WriteBasketImpl`.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::schema::{Datum, Draft, Mark};
use crate::write::record::cluster_ranges::cluster_ranges;
use crate::write::record::create;
use crate::write::record::edit::{declare_offsets, each_branch, set_index, set_wholes, whole, wholes};
use crate::write::record::figures::flushed_bytes;
use crate::write::record::state::{Base, BranchState, TreeState};

/// The record as it is now.
pub(crate) fn update(tree: &TreeState, base: &Base) -> Result<Draft> {
    let mut draft = base.draft.clone();
    match &base.baskets {
        Some(baskets) => append(tree, base, baskets, &mut draft)?,
        None => {
            let (branches, leaves) = create::branches(tree)?;
            push(&mut draft, "fBranches", branches)?;
            push(&mut draft, "fLeaves", leaves)?;
        }
    }
    let more = |of: fn(&BranchState) -> u64| tree.branches.iter().map(of).sum::<u64>() as i64;
    let total = whole(&draft, "fTotBytes").saturating_add(more(|branch| branch.tot_bytes));
    let zipped = whole(&draft, "fZipBytes").saturating_add(more(|branch| branch.zip_bytes));
    draft.set("fTotBytes", total);
    draft.set("fZipBytes", zipped);
    let flushed = flushed_bytes(zipped, whole(&draft, "fAutoFlush"));
    for (name, bytes) in [("fSavedBytes", zipped), ("fFlushedBytes", flushed)] {
        if draft.member(name).is_some() {
            draft.set(name, bytes);
        }
    }
    Ok(draft)
}

/// Adds entries.
fn append(tree: &TreeState, base: &Base, baskets: &[usize], draft: &mut Draft) -> Result<()> {
    let mut index = 0;
    let mut outcome = Ok(());
    // Find leaves by position: their names need not match the branches, nor be unique.
    let mut most: HashMap<usize, (i64, bool)> = HashMap::new();
    each_branch(draft, &mut |branch| {
        if let (Some(state), Some(&before), Ok(())) = (tree.branches.get(index), baskets.get(index), &outcome) {
            outcome = add_baskets(tree, base, state, before, branch);
            let leaves = branch.member("fLeaves").and_then(Datum::as_draft).and_then(|leaves| leaves.member("items"));
            let mark = |leaf: &Datum| match leaf {
                Datum::Same(mark) => Some(mark.address()),
                leaf => leaf.as_draft()?.mark().map(Mark::address),
            };
            let marks = leaves.and_then(Datum::as_list).into_iter().flatten().filter_map(mark);
            most.extend(marks.map(|mark| (mark, (state.most as i64, state.counts))));
        }
        index += 1;
    });
    outcome?;
    if index != tree.branches.len() {
        let words = "the tree has other branches than were found when it was opened";
        return Err(Error::mismatch(words).wanted(tree.branches.len() as u64, index as u64));
    }
    draft.visit_mut(&mut |leaf| {
        let Some(&(most, counts)) = leaf.mark().and_then(|mark| most.get(&mark.address())) else { return };
        // A string has a terminating zero.
        let most = if leaf.class() == "TLeafC" { most + 1 } else { most };
        if leaf.class() == "TLeafC" && whole(leaf, "fLen") < most {
            leaf.set("fLen", most);
        }
        let has_maximum = leaf.class() == "TLeafC" || counts || whole(leaf, "fIsRange") != 0;
        if has_maximum && leaf.member("fMaximum").is_some() && whole(leaf, "fMaximum") < most {
            leaf.set("fMaximum", most);
        }
    });
    draft.set("fEntries", tree.entries as i64);
    clusters(tree, base, draft);
    Ok(())
}

/// Ends the existing cluster range, and adds the new clusters.
fn clusters(tree: &TreeState, base: &Base, draft: &mut Draft) {
    if tree.clusters.is_empty() || draft.member("fClusterRangeEnd").is_none() {
        return;
    }
    let auto_flush = whole(draft, "fAutoFlush");
    let (mut ends, mut sizes) = (wholes(draft, "fClusterRangeEnd"), wholes(draft, "fClusterSize"));
    let closed = ends.last().map_or(0, |last| last.saturating_add(1));
    let entries = base.entries as i64;
    if closed < entries {
        ends.push(entries - 1);
        sizes.push(if auto_flush > 0 { auto_flush } else { entries - closed });
    }
    let auto_flush = tree.flush(auto_flush);
    let (more_ends, more_sizes) = cluster_ranges(&tree.clusters, auto_flush);
    ends.extend(more_ends.iter().map(|end| entries + end));
    sizes.extend(more_sizes);
    draft.set("fNClusterRange", ends.len() as i64);
    set_wholes(draft, "fClusterRangeEnd", &ends);
    set_wholes(draft, "fClusterSize", &sizes);
    draft.set("fAutoFlush", auto_flush);
}

fn add_baskets(tree: &TreeState, base: &Base, state: &BranchState, before: usize, branch: &mut Draft) -> Result<()> {
    let (mut bytes, mut firsts, mut seeks) =
        (wholes(branch, "fBasketBytes"), wholes(branch, "fBasketEntry"), wholes(branch, "fBasketSeek"));
    if bytes.len() < before || firsts.len() < before || seeks.len() < before {
        let words = "a branch lists fewer baskets than it has";
        return Err(Error::malformed(words).wanted(before as u64, seeks.len() as u64).in_object(&state.name));
    }
    [&mut bytes, &mut firsts, &mut seeks].into_iter().for_each(|list| list.truncate(before));
    // ROOT looks for a basket by its first entry, and finds one without entries as well.
    let next_of = |index: usize| firsts.get(index + 1).copied().unwrap_or(base.entries as i64);
    let has_entries: Vec<bool> = (0..before).map(|index| next_of(index) > firsts[index]).collect();
    for list in [&mut bytes, &mut firsts, &mut seeks] {
        let mut kept = has_entries.iter();
        list.retain(|_| kept.next().copied().unwrap_or(true));
    }
    for basket in &state.baskets {
        bytes.push(i64::from(basket.nbytes));
        firsts.push(basket.first_entry as i64);
        seeks.push(basket.seek as i64);
    }
    if let Some(has_offsets) = state.has_offsets.filter(|_| state.layout.has_data()) {
        declare_offsets(branch, has_offsets);
    }
    let end = state.layout.has_data().then_some(tree.entries);
    set_index(branch, bytes, firsts, seeks, end);
    branch.set("fEntries", tree.entries as i64);
    if state.layout.has_data() {
        branch.set("fEntryNumber", tree.entries as i64);
        if let Some(open) = branch.member_mut("fBaskets").and_then(Datum::as_draft_mut) {
            open.set("items", Vec::<Datum>::new());
        }
    }
    for (name, more) in [("fTotBytes", state.tot_bytes), ("fZipBytes", state.zip_bytes)] {
        let sum = whole(branch, name).saturating_add(more as i64);
        branch.set(name, sum);
    }
    for (name, least) in [("fBasketSize", state.largest_bytes), ("fMaximum", state.most)] {
        if branch.member(name).is_some() && whole(branch, name) < least as i64 {
            branch.set(name, least as i64);
        }
    }
    Ok(())
}

fn push(draft: &mut Draft, list: &str, more: Vec<Datum>) -> Result<()> {
    let array = draft.member_mut(list).and_then(Datum::as_draft_mut);
    let items = array.and_then(|array| array.member_mut("items")).and_then(Datum::as_list_mut);
    let items = items.ok_or_else(|| Error::malformed(format!("the tree has no list {list}")))?;
    items.extend(more);
    Ok(())
}
