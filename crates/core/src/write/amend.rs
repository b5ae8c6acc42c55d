//! The record of a tree that was there before, with what was added to it. Whoever wrote it, all else stays as it was.
//!
//! Source: `TTree::Fill`, `TTree::MarkEventCluster`, `TBranch::WriteBasketImpl`.

use std::collections::HashMap;

use super::record;
use super::state::{Base, BranchState, TreeState};
use crate::error::{Error, Result};
use crate::schema::{Datum, Draft, Mark};

/// The record as it is now.
pub(super) fn amend(tree: &TreeState, base: &Base) -> Result<Draft> {
    let mut draft = base.draft.clone();
    match &base.baskets {
        Some(baskets) => append(tree, base, baskets, &mut draft)?,
        None => {
            let (branches, leaves) = record::branches(tree)?;
            push(&mut draft, "fBranches", branches)?;
            push(&mut draft, "fLeaves", leaves)?;
        }
    }
    let more = |of: fn(&BranchState) -> u64| tree.branches.iter().map(of).sum::<u64>() as i64;
    let total = whole(&draft, "fTotBytes").saturating_add(more(|branch| branch.tot_bytes));
    let zipped = whole(&draft, "fZipBytes").saturating_add(more(|branch| branch.zip_bytes));
    draft.set("fTotBytes", total);
    draft.set("fZipBytes", zipped);
    for name in ["fSavedBytes", "fFlushedBytes"] {
        if draft.member(name).is_some() {
            draft.set(name, zipped);
        }
    }
    Ok(draft)
}

/// Adds entries.
fn append(tree: &TreeState, base: &Base, baskets: &[usize], draft: &mut Draft) -> Result<()> {
    let mut index = 0;
    let mut outcome = Ok(());
    // Leaves by what they are: names of leaves need not be those of branches, nor be unique.
    let mut most: HashMap<usize, i64> = HashMap::new();
    each_branch(draft, &mut |branch| {
        if let (Some(state), Some(&before), Ok(())) = (tree.branches.get(index), baskets.get(index), &outcome) {
            outcome = add_baskets(tree, state, before, branch);
            let leaves = branch.member("fLeaves").and_then(Datum::as_draft).and_then(|leaves| leaves.member("items"));
            let mark = |leaf: &Datum| match leaf {
                Datum::Same(mark) => Some(mark.address()),
                leaf => leaf.as_draft()?.mark().map(Mark::address),
            };
            let marks = leaves.and_then(Datum::as_list).into_iter().flatten().filter_map(mark);
            most.extend(marks.map(|mark| (mark, state.most as i64)));
        }
        index += 1;
    });
    outcome?;
    if index != tree.branches.len() {
        let words = "the tree has other branches than were found when it was opened";
        return Err(Error::mismatch(words).wanted(tree.branches.len() as u64, index as u64));
    }
    draft.visit_mut(&mut |leaf| {
        let Some(&most) = leaf.mark().and_then(|mark| most.get(&mark.address())) else { return };
        // A string has a zero behind it.
        let most = if leaf.class() == "TLeafC" { most + 1 } else { most };
        if leaf.class() == "TLeafC" && whole(leaf, "fLen") < most {
            leaf.set("fLen", most);
        }
        let counts = leaf.class() == "TLeafC" || whole(leaf, "fIsRange") != 0;
        if counts && leaf.member("fMaximum").is_some() && whole(leaf, "fMaximum") < most {
            leaf.set("fMaximum", most);
        }
    });
    draft.set("fEntries", tree.entries as i64);
    clusters(tree, base, draft);
    Ok(())
}

/// Closes the clusters that were there, and lists those that came.
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
    let (more_ends, more_sizes, auto_flush) = record::clusters(&tree.clusters, auto_flush);
    ends.extend(more_ends.iter().map(|end| entries + end));
    sizes.extend(more_sizes);
    draft.set("fNClusterRange", ends.len() as i64);
    set_wholes(draft, "fClusterRangeEnd", &ends);
    set_wholes(draft, "fClusterSize", &sizes);
    draft.set("fAutoFlush", auto_flush);
}

fn add_baskets(tree: &TreeState, state: &BranchState, before: usize, branch: &mut Draft) -> Result<()> {
    let (mut bytes, mut firsts, mut seeks) =
        (wholes(branch, "fBasketBytes"), wholes(branch, "fBasketEntry"), wholes(branch, "fBasketSeek"));
    if bytes.len() < before || firsts.len() < before || seeks.len() < before {
        let words = "a branch lists fewer baskets than it has";
        return Err(Error::malformed(words).wanted(before as u64, seeks.len() as u64).in_object(&state.name));
    }
    [&mut bytes, &mut firsts, &mut seeks].into_iter().for_each(|list| list.truncate(before));
    for basket in &state.baskets {
        bytes.push(i64::from(basket.nbytes));
        firsts.push(basket.first_entry as i64);
        seeks.push(basket.seek as i64);
    }
    let end = state.what.has_data().then_some(tree.entries);
    set_index(branch, bytes, firsts, seeks, end);
    branch.set("fEntries", tree.entries as i64);
    if state.what.has_data() {
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

/// Gives a branch its index of baskets, and the entry behind them where it has values of its own.
pub(super) fn set_index(
    branch: &mut Draft,
    mut bytes: Vec<i64>,
    mut firsts: Vec<i64>,
    mut seeks: Vec<i64>,
    end: Option<u64>,
) {
    let written = bytes.len();
    firsts.extend(end.map(|end| end as i64));
    // One place more than there are baskets: that of the basket which would be filled next.
    let slots = wholes(branch, "fBasketSeek").len().max(written + 1);
    [&mut bytes, &mut firsts, &mut seeks].into_iter().for_each(|list| list.resize(slots, 0));
    branch.set("fMaxBaskets", slots as i64);
    set_wholes(branch, "fBasketBytes", &bytes);
    set_wholes(branch, "fBasketEntry", &firsts);
    set_wholes(branch, "fBasketSeek", &seeks);
    branch.set("fWriteBasket", written as i64);
}

/// Each branch, those below it behind it; in front of those of a `TBranchClones` the one that counts for them, which no list names.
pub(super) fn each_branch(draft: &mut Draft, each: &mut impl FnMut(&mut Draft)) {
    let branches = draft.member_mut("fBranches").and_then(Datum::as_draft_mut);
    let items = branches.and_then(|branches| branches.member_mut("items")).and_then(Datum::as_list_mut);
    for branch in items.into_iter().flatten().filter_map(Datum::as_draft_mut) {
        each(branch);
        if branch.class() == "TBranchClones"
            && let Some(count) = branch.member_mut("fBranchCount").and_then(Datum::as_draft_mut)
        {
            each(count);
        }
        each_branch(branch, each);
    }
}

fn push(draft: &mut Draft, list: &str, more: Vec<Datum>) -> Result<()> {
    let array = draft.member_mut(list).and_then(Datum::as_draft_mut);
    let items = array.and_then(|array| array.member_mut("items")).and_then(Datum::as_list_mut);
    let items = items.ok_or_else(|| Error::malformed(format!("the tree has no list {list}")))?;
    items.extend(more);
    Ok(())
}

/// A member as a whole number; 0 where it is not there.
pub(super) fn whole(draft: &Draft, name: &str) -> i64 {
    match draft.member(name) {
        Some(Datum::Int(value)) => *value,
        Some(Datum::Float(value)) => *value as i64,
        _ => 0,
    }
}

/// A member as whole numbers; none where it is not there.
fn wholes(draft: &Draft, name: &str) -> Vec<i64> {
    match draft.member(name) {
        Some(Datum::Numbers(number, bytes)) => number.wholes(bytes).collect(),
        _ => Vec::new(),
    }
}

/// Gives an array other numbers, of the type that it has: older versions have other types.
fn set_wholes(draft: &mut Draft, name: &'static str, values: &[i64]) {
    use crate::column::Number;
    let number = match draft.member(name) {
        Some(Datum::Numbers(number, _)) => *number,
        _ => Number::I64,
    };
    let bytes = match number.bytes() {
        4 => values.iter().flat_map(|value| (*value as i32).to_ne_bytes()).collect(),
        _ => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
    };
    draft.set(name, Datum::Numbers(number, bytes));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn branches_are_met_in_the_order_of_their_numbers() {
        let list = |items: Vec<Draft>| {
            let items: Vec<Datum> = items.into_iter().map(|item| Datum::Object(Arc::new(item))).collect();
            Draft::new("TObjArray").with("items", items)
        };
        let branch =
            |class: &str, name: &str, below| Draft::new(class).with("fName", name).with("fBranches", list(below));
        let clones = branch("TBranchClones", "c", vec![branch("TBranch", "c.x", vec![])]);
        let clones = clones.with("fBranchCount", branch("TBranch", "c_", vec![]));
        let top =
            vec![branch("TBranch", "a", vec![branch("TBranch", "b", vec![])]), clones, branch("TBranch", "d", vec![])];
        let mut names = Vec::new();
        each_branch(&mut Draft::new("TTree").with("fBranches", list(top)), &mut |branch| {
            if let Some(Datum::Text(name)) = branch.member("fName") {
                names.push(name.to_string());
            }
        });
        assert_eq!(names, ["a", "b", "c", "c_", "c.x", "d"]);
    }
}
