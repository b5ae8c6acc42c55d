//! Graphs: appends the points of one to those of the other.
//!
//! Source: `TGraph::Merge`, and `DoMerge` of the classes that are derived from it.

use crate::error::{Error, Result};
use crate::schema::draft_members::{floats, floats_of, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Classes of graphs that ROOT merges.
pub(super) const CLASSES: [&str; 8] = [
    "TGraph",
    "TGraphErrors",
    "TGraphAsymmErrors",
    "TGraphBentErrors",
    "TGraphMultiErrors",
    "TGraphPolar",
    "TGraphQQ",
    "TCutG",
];
/// Members with an error for each point. A graph has those of its class.
const ERRORS: [&str; 12] = [
    "fEX", "fEY", "fEXlow", "fEXhigh", "fEYlow", "fEYhigh", "fEXlowd", "fEXhighd", "fEYlowd", "fEYhighd", "fExL",
    "fExH",
];
/// Members with errors for each point, of several kinds.
const LISTS_OF_ERRORS: [&str; 2] = ["fEyL", "fEyH"];
/// Bit of `fBits`: the histogram of the axes is to be made again.
const RESET_HISTOGRAM: i64 = 1 << 17;

/// Adds the points of a graph, with their errors.
pub(super) fn add(sum: &mut Draft, next: &Draft) -> Result<()> {
    let (old, more) = (points(sum)?, points(next)?);
    let all = old + more;
    if all > i32::MAX as usize {
        return Err(Error::limit("a graph has too many points", i32::MAX as u64, all as u64));
    }
    let mut new: Vec<(&str, Datum)> = Vec::new();
    for name in ["fX", "fY"] {
        let mut values = column(sum, name, old)?;
        values.extend(column(next, name, more)?);
        new.push((name, values.into()));
    }
    let here = |name: &&&str| sum.member(name).is_some();
    for name in ERRORS.iter().filter(here) {
        let mut errors = column(sum, name, old)?;
        errors.extend(column(next, name, more)?);
        new.push((name, errors.into()));
    }
    for name in LISTS_OF_ERRORS.iter().filter(here) {
        let mut kinds = columns(sum, name, old)?;
        let others = columns(next, name, more)?;
        if others.len() > kinds.len() {
            return Err(Error::mismatch("a graph has more kinds of errors than the sum")
                .wanted(kinds.len() as u64, others.len() as u64));
        }
        for (place, kind) in kinds.iter_mut().enumerate() {
            match others.get(place) {
                Some(other) => kind.extend(other),
                None => kind.resize(all, 0.0),
            }
        }
        let mut list = sum.member(name).cloned().unwrap_or(Datum::Null);
        for (item, kind) in list.as_list_mut().into_iter().flatten().zip(kinds) {
            *item = kind.into();
        }
        new.push((name, list));
    }
    for (name, value) in new {
        put(sum, name, value);
    }
    put(sum, "fNpoints", all as i64);
    if more > 0 && sum.member("fHistogram").is_some_and(|histogram| histogram.as_draft().is_some()) {
        let bits = whole(sum, "fBits")? | RESET_HISTOGRAM;
        put(sum, "fBits", bits);
    }
    Ok(())
}

fn points(graph: &Draft) -> Result<usize> {
    usize::try_from(whole(graph, "fNpoints")?).map_err(|_| unfit(graph, "fNpoints"))
}

fn column(graph: &Draft, name: &str, points: usize) -> Result<Vec<f64>> {
    let values = floats(graph, name)?;
    if values.len() == points {
        return Ok(values);
    }
    let words = format!("member {name} of a {} has not one number for each point", graph.class());
    Err(Error::malformed(words).wanted(points as u64, values.len() as u64))
}

fn columns(graph: &Draft, name: &str, points: usize) -> Result<Vec<Vec<f64>>> {
    let list = graph.member(name).and_then(Datum::as_list).unwrap_or_default();
    let fits = |values: &Vec<f64>| values.len() == points;
    list.iter().map(|item| floats_of(item).filter(fits).ok_or_else(|| unfit(graph, name))).collect()
}
