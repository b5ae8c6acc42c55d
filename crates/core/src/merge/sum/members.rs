//! Members of drafts as numbers. A missing member is zero or empty, as when a draft is written.

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::{Datum, Draft};

/// A member that is a whole number.
pub(super) fn whole(draft: &Draft, name: &str) -> Result<i64> {
    match draft.member(name) {
        None => Ok(0),
        Some(Datum::Int(value)) => Ok(*value),
        Some(_) => Err(unfit(draft, name)),
    }
}

/// A member that is a number.
pub(super) fn float(draft: &Draft, name: &str) -> Result<f64> {
    match draft.member(name) {
        None => Ok(0.0),
        Some(Datum::Float(value)) => Ok(*value),
        Some(Datum::Int(value)) => Ok(*value as f64),
        Some(_) => Err(unfit(draft, name)),
    }
}

/// A member that is a list of floating-point numbers.
pub(super) fn floats(draft: &Draft, name: &str) -> Result<Vec<f64>> {
    match draft.member(name) {
        None | Some(Datum::Null) => Ok(Vec::new()),
        Some(datum) => floats_of(datum).ok_or_else(|| unfit(draft, name)),
    }
}

/// A value that is a list of floating-point numbers.
pub(super) fn floats_of(datum: &Datum) -> Option<Vec<f64>> {
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
pub(super) fn put(draft: &mut Draft, name: &str, value: impl Into<Datum>) {
    if let Some(member) = draft.member_mut(name) {
        *member = value.into();
    }
}

/// The name of an object, or nothing.
pub(super) fn name_of(draft: &Draft) -> &str {
    match draft.member("fName") {
        Some(Datum::Text(name)) => name,
        _ => "",
    }
}

/// A member is not what its class says.
pub(super) fn unfit(draft: &Draft, name: &str) -> Error {
    Error::malformed(format!("member {name} of a {} is not what it should be", draft.class()))
}
