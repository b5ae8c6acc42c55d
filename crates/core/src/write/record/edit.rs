//! Reads and changes members of a tree's record and of its branches.
//!
//! Source: `TTree`, `TBranch`.

use crate::column::Number;
use crate::schema::{Datum, Draft};
use crate::tree::Branch;

/// Sets the basket index of a branch, and its end entry if it has values of its own.
pub(crate) fn set_index(
    branch: &mut Draft,
    mut bytes: Vec<i64>,
    mut firsts: Vec<i64>,
    mut seeks: Vec<i64>,
    end: Option<u64>,
) {
    let written = bytes.len();
    firsts.extend(end.map(|end| end as i64));
    // One slot more than there are baskets: for the basket that would be filled next.
    let slots = wholes(branch, "fBasketSeek").len().max(written + 1);
    [&mut bytes, &mut firsts, &mut seeks].into_iter().for_each(|list| list.resize(slots, 0));
    branch.set("fMaxBaskets", slots as i64);
    set_wholes(branch, "fBasketBytes", &bytes);
    set_wholes(branch, "fBasketEntry", &firsts);
    set_wholes(branch, "fBasketSeek", &seeks);
    branch.set("fWriteBasket", written as i64);
}

/// Visits each branch, then its sub-branches; for a `TBranchClones` the counter first, which is in no list.
pub(crate) fn each_branch(draft: &mut Draft, each: &mut impl FnMut(&mut Draft)) {
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

/// A member as an integer; 0 if it is missing.
pub(crate) fn whole(draft: &Draft, name: &str) -> i64 {
    match draft.member(name) {
        Some(Datum::Int(value)) => *value,
        Some(Datum::Float(value)) => *value as i64,
        _ => 0,
    }
}

/// A member as integers; none if it is missing.
pub(crate) fn wholes(draft: &Draft, name: &str) -> Vec<i64> {
    match draft.member(name) {
        Some(Datum::Numbers(number, bytes)) => number.wholes(bytes).collect(),
        _ => Vec::new(),
    }
}

/// Replaces the numbers of an array and keeps its type: older versions have other types.
pub(crate) fn set_wholes(draft: &mut Draft, name: &'static str, values: &[i64]) {
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

/// The largest count that a branch knows, or the bytes of its longest string. Not every writer marks the leaves that
/// count (`fIsRange`).
pub(crate) fn most(branch: &Branch, counts: bool) -> u64 {
    let of_leaf = |leaf: &crate::tree::Leaf| match &*leaf.class {
        // Includes the terminating zero.
        "TLeafC" => leaf.maximum.max(i64::from(leaf.len)) - 1,
        _ if leaf.is_range || counts => leaf.maximum,
        _ => 0,
    };
    let leaves = branch.leaves.iter().map(of_leaf).max().unwrap_or(0);
    let own = branch.element.as_ref().map_or(0, |element| i64::from(element.maximum));
    leaves.max(own).max(0) as u64
}

/// Makes a branch declare whether its baskets hold offsets of entries: ROOT asks the branch, not the basket.
pub(crate) fn declare_offsets(branch: &mut Draft, has_offsets: bool) {
    /// ROOT's value for a new branch.
    const DEFAULT: i64 = 1000;
    if (whole(branch, "fEntryOffsetLen") > 0) != has_offsets {
        branch.set("fEntryOffsetLen", if has_offsets { DEFAULT } else { 0 });
    }
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
