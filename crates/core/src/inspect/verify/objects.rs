//! Objects by key: whether they can be decoded, and what histograms say of themselves.

use super::directories::Listed;
use super::{Finding, Report};
use crate::error::ErrorKind;
use crate::file::File;
use crate::object::{Members, Object, Value};

/// Larger ones are left out: decoded objects take several times the room of their bytes.
const MOST_BYTES: u32 = 64 << 20;

/// Decodes all objects but trees, RNTuples and directories.
pub(super) fn check_objects(file: &File, listed: &[Listed], report: &mut Report) {
    for found in listed {
        let key = &found.key;
        let elsewhere = key.is_directory() || key.has_entries() || &*key.class == "TBasket";
        if elsewhere || key.objlen > MOST_BYTES {
            continue;
        }
        let place = |finding: Finding| finding.within(format!("{};{}", found.path, key.cycle)).at(key.seek_key);
        match file.object_at(key) {
            Ok(object) => {
                for finding in check_histogram(&object) {
                    report.add(place(finding));
                }
            }
            // Payloads that cannot be inflated were reported with their records.
            Err(error) if error.kind() == ErrorKind::Malformed => {
                report.add(place(Finding::unusual("an object cannot be decoded").because(&error)));
            }
            Err(_) => {}
        }
    }
}

/// Numbers of bins, of cells and of contents fit each other.
fn check_histogram(object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(members) = object.members() else { return findings };
    let number = |path: &str| members.get(path).and_then(|value| value.as_int());
    let axes = ["fXaxis", "fYaxis", "fZaxis"];
    let bins: Vec<i64> = axes.iter().filter_map(|axis| number(&format!("{axis}.fNbins"))).collect();
    let (Some(cells), 3) = (number("fNcells"), bins.len()) else { return findings };
    let mut differ = |words: &str, expected: i64, found: i64| {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        findings.push(Finding::unusual(words).wanted(count(expected), count(found)));
    };
    // Axes that a histogram does not have count one bin, and no cells beside it.
    let class = object.class();
    let dimensions = match class.as_bytes() {
        [b'T', b'H', b'1' | b'K', ..] => 1,
        [b'T', b'H', b'2', ..] if class != "TH2Poly" => 2,
        [b'T', b'H', b'3', ..] => 3,
        _ if class == "TProfile" => 1,
        _ if class == "TProfile2D" => 2,
        _ if class == "TProfile3D" => 3,
        _ => return findings,
    };
    let expected =
        bins.iter().take(dimensions).fold(1_i64, |cells, &bins| cells.saturating_mul(bins.saturating_add(2)));
    if expected != cells {
        differ("a histogram has another number of cells than its axes make", expected, cells);
    }
    for (axis, &bins) in axes.iter().zip(&bins) {
        let edges = length(&members, &format!("{axis}.fXbins")).filter(|&edges| edges != 0);
        if let Some(edges) = edges.filter(|&edges| edges != bins.saturating_add(1)) {
            differ("an axis has another number of edges than its bins need", bins.saturating_add(1), edges);
        }
    }
    if let Some(errors) = length(&members, "fSumw2").filter(|&errors| errors != 0 && errors != cells) {
        differ("a histogram has another number of errors than of cells", cells, errors);
    }
    for (_, value) in members.array_bases() {
        if let Some(contents) = counted(&value).filter(|&contents| contents != cells) {
            differ("a histogram has another number of contents than of cells", cells, contents);
        }
    }
    if class.starts_with("TProfile") {
        for name in ["fBinEntries", "fSumw2"] {
            if let Some(found) = length(&members, name).filter(|&found| found != cells) {
                differ("a profile has another number of sums than of cells: ROOT crashes on it", cells, found);
            }
        }
    }
    findings
}

/// How many numbers a member has.
fn length(members: &Members<'_>, path: &str) -> Option<i64> {
    counted(&members.get(path)?)
}

fn counted(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Numbers(number, bytes) => i64::try_from(bytes.len() / number.bytes()).ok(),
        Value::List(items) => i64::try_from(items.len()).ok(),
        _ => None,
    }
}
