//! Branches of a tree's record that get numbers of another type.
//!
//! Source: `TBranch::TBranch`, `TLeaf::TLeaf`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::column::Number;
use crate::error::Result;
use crate::schema::{Datum, Draft};
use crate::tree::BranchId;
use crate::write::model::branch::plain_leaf;
use crate::write::record::edit::each_branch;

/// The letters of types in titles of branches.
const LETTERS: &str = "OBbSsIiLlGgFD";

/// Gives branches with one leaf numbers of other types, by the numbers of the branches.
pub(crate) fn retype(draft: &mut Draft, types: &BTreeMap<BranchId, Number>) -> Result<()> {
    if types.is_empty() {
        return Ok(());
    }
    // Leaves that the record defines elsewhere: in a leaf that they count for, if that comes first.
    let mut elsewhere = HashMap::new();
    let mut id = 0;
    let mut outcome = Ok(());
    each_branch(draft, &mut |branch| {
        let found = types.get(&id);
        id += 1;
        let Some(number) = found else { return };
        if let Some(Datum::Text(title)) = branch.member("fTitle")
            && let Some((names, letter)) = title.rsplit_once('/')
            // Titles may say anything else, such as a unit.
            && letter.len() == 1
            && LETTERS.contains(letter)
        {
            let title: Arc<str> = format!("{names}/{}", plain_leaf(*number).1).into();
            branch.set("fTitle", title);
        }
        let leaves = branch.member_mut("fLeaves").and_then(Datum::as_draft_mut);
        match leaves.and_then(|leaves| leaves.member_mut("items")).and_then(Datum::as_list_mut).map(Vec::as_mut_slice) {
            Some([Datum::Same(mark)]) => drop(elsewhere.insert(mark.address(), *number)),
            Some([leaf]) => {
                if let Some(leaf) = leaf.as_draft_mut() {
                    outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| retype_leaf(leaf, *number));
                }
            }
            _ => {}
        }
    });
    if elsewhere.is_empty() {
        return outcome;
    }
    draft.visit_mut(&mut |object| {
        if let Some(number) = object.mark().and_then(|mark| elsewhere.get(&mark.address())) {
            outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| retype_leaf(object, *number));
        }
    });
    outcome
}

fn retype_leaf(leaf: &mut Draft, number: Number) -> Result<()> {
    leaf.set("fLenType", number.bytes() as i64);
    leaf.set("fIsUnsigned", i64::from(number.is_unsigned()));
    let mark = leaf.mark().cloned();
    let of_class = std::mem::replace(leaf, Draft::new("TLeaf")).into_class(plain_leaf(number).0);
    // Other objects still point to it.
    *leaf = match mark {
        Some(mark) => of_class.marked(mark)?,
        None => of_class,
    };
    Ok(())
}
