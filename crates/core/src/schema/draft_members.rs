//! Members of drafts as numbers. A missing member is zero or empty, as when a draft is written.

use super::draft::{Datum, Draft};
use crate::column::Number;
use crate::error::{Error, Result};

/// A member that is a whole number.
pub(crate) fn whole(draft: &Draft, name: &str) -> Result<i64> {
    match draft.member(name) {
        None => Ok(0),
        Some(Datum::Int(value)) => Ok(*value),
        Some(_) => Err(unfit(draft, name)),
    }
}

/// A member that is a number.
pub(crate) fn float(draft: &Draft, name: &str) -> Result<f64> {
    match draft.member(name) {
        None => Ok(0.0),
        Some(Datum::Float(value)) => Ok(*value),
        Some(Datum::Int(value)) => Ok(*value as f64),
        Some(_) => Err(unfit(draft, name)),
    }
}

/// A member that is a list of floating-point numbers.
pub(crate) fn floats(draft: &Draft, name: &str) -> Result<Vec<f64>> {
    match draft.member(name) {
        None | Some(Datum::Null) => Ok(Vec::new()),
        Some(datum) => floats_of(datum).ok_or_else(|| unfit(draft, name)),
    }
}

/// A value that is a list of floating-point numbers.
pub(crate) fn floats_of(datum: &Datum) -> Option<Vec<f64>> {
    match datum {
        Datum::Numbers(Number::F64, bytes) => {
            Some(bytes.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x)).collect())
        }
        Datum::Numbers(Number::F32, bytes) => {
            Some(bytes.as_chunks().0.iter().map(|x| f32::from_ne_bytes(*x).into()).collect())
        }
        _ => None,
    }
}

/// Sets an existing member. A member that this class version lacks is ignored.
pub(crate) fn put(draft: &mut Draft, name: &str, value: impl Into<Datum>) {
    if let Some(member) = draft.member_mut(name) {
        *member = value.into();
    }
}

/// The name of an object, or nothing.
pub(crate) fn name_of(draft: &Draft) -> &str {
    match draft.member("fName") {
        Some(Datum::Text(name)) => name,
        _ => "",
    }
}

/// A member that is a string, or nothing.
pub(crate) fn text_of(draft: &Draft, name: &str) -> String {
    match draft.member(name) {
        Some(Datum::Text(text)) => text.to_string(),
        Some(Datum::Bytes(bytes)) => crate::wire::text(bytes),
        _ => String::new(),
    }
}

/// Appends an item to a list, without an option.
pub(crate) fn push_item(list: &mut Draft, item: Datum) {
    if let Some(items) = list.member_mut("items").and_then(Datum::as_list_mut) {
        items.push(item);
    }
    if let Some(options) = list.member_mut("options").and_then(Datum::as_list_mut) {
        options.push(Datum::from(""));
    }
}

/// Keeps the items of a list that `keep` says, with their options.
pub(crate) fn retain_items(list: &mut Draft, keep: impl Fn(&Datum) -> bool) {
    let items = list.member("items").and_then(Datum::as_list).unwrap_or_default();
    let kept: Vec<bool> = items.iter().map(keep).collect();
    for name in ["items", "options"] {
        if let Some(items) = list.member_mut(name).and_then(Datum::as_list_mut) {
            let mut kept = kept.iter();
            items.retain(|_| kept.next().copied().unwrap_or(false));
        }
    }
}

/// A member is not what its class says.
pub(crate) fn unfit(draft: &Draft, name: &str) -> Error {
    Error::malformed(format!("member {name} of a {} is not what it should be", draft.class()))
}
