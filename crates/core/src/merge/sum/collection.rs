//! Lists of objects, and stacks of histograms: item by item.
//!
//! Source: `TSeqCollection::Merge`, `THStack::Merge`.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::schema::draft_members::{name_of, push_item, unfit};
use crate::schema::{Datum, Draft};

/// Adds an object to another of its class.
pub(super) type AddFn = fn(&mut Draft, &Draft) -> Result<()>;

/// Adds the items of a list to those of another at the same index. Items of classes that cannot be added are appended.
pub(super) fn add_list(sum: &mut Draft, next: &Draft, adder: impl Fn(&str) -> Option<AddFn>) -> Result<()> {
    let class = Arc::<str>::from(sum.class());
    let items = |list: &Draft| list.member("items").and_then(Datum::as_list).map(<[Datum]>::len);
    let (Some(count), Some(_)) = (items(sum), items(next)) else { return Err(unfit(sum, "items")) };
    let others = next.member("items").and_then(Datum::as_list).unwrap_or_default();
    let mine = sum.member_mut("items").and_then(Datum::as_list_mut).ok_or_else(|| Error::malformed("no items"))?;
    let mut new: Vec<(usize, Datum)> = Vec::new();
    let mut behind = Vec::new();
    for (place, (one, other)) in mine.iter().zip(others).enumerate().take(count) {
        let (Some(item), Some(other_item)) = (one.as_draft(), other.as_draft()) else { continue };
        if item.class() != other_item.class() {
            let words =
                format!("item {place} of a {class} is a {} here and a {} there", item.class(), other_item.class());
            return Err(Error::mismatch(words));
        }
        match adder(item.class()) {
            Some(add) => {
                let mut item = item.clone();
                add(&mut item, other_item).map_err(|error| error.in_object(name_of(other_item)))?;
                new.push((place, Datum::Object(Arc::new(item))));
            }
            None => behind.push(other.clone()),
        }
    }
    for (place, item) in new {
        mine[place] = item;
    }
    behind.into_iter().for_each(|item| push_item(sum, item));
    Ok(())
}

/// Adds the histograms of a stack to those of another.
pub(super) fn add_stack(sum: &mut Draft, next: &Draft, adder: impl Fn(&str) -> Option<AddFn>) -> Result<()> {
    let Some(others) = next.member("fHists").and_then(Datum::as_draft) else { return Ok(()) };
    match sum.member_mut("fHists").and_then(Datum::as_draft_mut) {
        Some(mine) => add_list(mine, others, adder),
        None => Ok(()),
    }
}
