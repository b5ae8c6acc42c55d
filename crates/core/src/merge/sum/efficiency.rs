//! Efficiencies: passed and all, each added.
//!
//! Source: `TEfficiency::Merge`, `TH1::Add`.

use super::combine;
use crate::error::Result;
use crate::hist::{EFFICIENCY_HISTOGRAMS, Histogram};
use crate::schema::draft_members::{float, put, whole};
use crate::schema::{Datum, Draft};

/// Bit of `fBits` of a histogram: bins hold averages.
const AVERAGE: i64 = 1 << 18;

/// Adds the histograms of an efficiency. The weight of the sum is the product of both over their sum.
pub(super) fn add(sum: &mut Draft, next: &Draft) -> Result<()> {
    let histogram = |draft: &Draft, name: &str| draft.member(name).and_then(Datum::as_draft).cloned();
    let mut new = Vec::new();
    for name in EFFICIENCY_HISTOGRAMS {
        match (histogram(sum, name), histogram(next, name)) {
            (Some(mine), Some(other)) => {
                let mut mine = Histogram::from_draft(mine).map_err(|error| error.in_object(name))?;
                let other = Histogram::from_draft(other).map_err(|error| error.in_object(name))?;
                combine::add(&mut mine, other).map_err(|error| error.in_object(name))?;
                let mut draft = mine.into_draft();
                let bits = whole(&draft, "fBits")? & !AVERAGE;
                put(&mut draft, "fBits", bits);
                // As after adding: they are found anew.
                put(&mut draft, "fMinimum", -1111.0);
                put(&mut draft, "fMaximum", -1111.0);
                new.push((name, draft));
            }
            (_, None) => return Ok(()),
            (None, Some(_)) => {
                *sum = next.clone();
                return Ok(());
            }
        }
    }
    let (one, two) = (float(sum, "fWeight")?, float(next, "fWeight")?);
    put(sum, "fWeight", one * two / (one + two));
    for (name, draft) in new {
        if let Some(member) = sum.member_mut(name).and_then(Datum::as_draft_mut) {
            *member = draft;
        }
    }
    Ok(())
}
