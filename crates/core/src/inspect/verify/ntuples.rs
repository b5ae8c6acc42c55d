//! RNTuples: envelopes, pages, and the values that these make.

use std::collections::HashSet;

use super::directories::Listed;
use super::payload::{Bench, Checked, check_all, payload_severity, severity, slack};
use super::records::Seen;
use super::{Finding, Report};
use crate::error::Error;
use crate::file::File;
use crate::ntuple::{FieldId, ListedPage, NTuple, columns};

/// Checks all RNTuples, each cycle separately.
pub(super) fn check_ntuples(file: &File, listed: &[Listed], seen: &Seen, report: &mut Report) {
    for found in listed.iter().filter(|found| found.key.is_ntuple()) {
        let path = format!("{};{}", found.path, found.key.cycle);
        match file.ntuple_at(&found.key) {
            Ok(ntuple) => {
                report.ntuples += 1;
                check_ntuple(&ntuple, &path, seen, report);
            }
            Err(error) => report.add(Finding::of(severity(&error), &error).within(path).at(found.key.seek_key)),
        }
    }
}

fn check_ntuple(ntuple: &NTuple, path: &str, seen: &Seen, report: &mut Report) {
    for name in &ntuple.attribute_sets {
        let path = format!("{path}:{name}");
        match ntuple.attributes(name) {
            // ROOT writes no attributes of attributes.
            Ok(set) if !set.attribute_sets.is_empty() => {
                report.add(
                    Finding::unusual("a set of attributes has attributes itself: it was not verified").within(path),
                );
            }
            Ok(set) => check_ntuple(&set, &path, seen, report),
            Err(error) => report.add(Finding::of(severity(&error), &error).within(path)),
        }
    }
    let listed = ntuple.unknown_clusters().and_then(|unknown| Ok((unknown, ntuple.listed_pages()?)));
    let (unknown, (mut pages, faults)) = match listed {
        Ok(found) => found,
        Err(error) => return report.add(Finding::of(severity(&error), &error).within(inside(ntuple, path, &error))),
    };
    // Fields with something wrong in a cluster: reading their values would say it again.
    let mut bad: HashSet<(FieldId, usize)> = HashSet::new();
    for (cluster, error) in unknown {
        let object = error.place().object.as_deref().unwrap_or("").to_owned();
        report.add(Finding::of(severity(&error), &error).within(format!("{path}/{object}")));
        bad.extend(ntuple.top().iter().map(|&id| (id, cluster)));
    }
    for fault in faults {
        let finding = match fault.is_harmless {
            true => Finding::of(super::Severity::Unusual, &fault.error),
            false => Finding::of(severity(&fault.error), &fault.error),
        };
        let field = ntuple.fields().get(fault.field).map_or("", |field| &field.path);
        let inner = fault.error.place().object.as_deref().map_or_else(String::new, |inner| format!(", {inner}"));
        let place = format!("{path}/{field}/cluster {}/column {}{inner}", fault.cluster, fault.column);
        report.add(finding.within(place));
        if !fault.is_harmless {
            bad.insert((top_of(ntuple, fault.field), fault.cluster));
        }
    }
    pages.sort_by_key(|listed| (listed.place, listed.cluster, listed.column));
    let name = |listed: &ListedPage| {
        let field = ntuple.fields().get(listed.field).map_or("", |field| &field.path);
        format!("{path}/{field}/cluster {}/column {}, page {}", listed.cluster, listed.column, listed.number)
    };
    for pair in pages.windows(2) {
        let end = pair[0].place.0.saturating_add(pair[0].first_bytes);
        if end > pair[1].place.0 && pair[0].place != pair[1].place {
            let finding = Finding::damage("two pages overlap").within(name(&pair[1])).at(pair[1].place.0);
            report.add(finding.wanted(end, pair[1].place.0));
        }
    }
    for listed in &pages {
        let (at, bytes) = (listed.place.0, listed.first_bytes);
        if let Some(gap) = seen.gap_within(at, at.saturating_add(bytes)) {
            let finding = Finding::damage("a page lies in a gap").within(name(listed)).at(at);
            report.add(finding.wanted(gap.0, gap.1));
        }
    }
    // Equal pages of a cluster are stored once: the same bytes, read in the same way.
    let key = |listed: &ListedPage| (listed.place, listed.page.elements, listed.page.has_checksum);
    let mut once = pages.clone();
    once.dedup_by_key(|listed| key(listed));
    report.pages += once.len() as u64;
    let broken = std::sync::Mutex::new(HashSet::new());
    let bytes = |listed: &ListedPage| listed.place.1;
    check_all(ntuple.file(), report, &once, bytes, |listed, bench| {
        let (findings, bytes) = check_page(ntuple, listed, bench);
        if findings.iter().any(|finding| finding.severity == super::Severity::Damage) {
            broken.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(key(listed));
        }
        let place = |finding: Finding| finding.within(name(listed)).at(listed.place.0);
        (findings.into_iter().map(place).collect(), bytes)
    });
    let broken = broken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let hit = pages.iter().filter(|listed| broken.contains(&key(listed)));
    bad.extend(hit.map(|listed| (top_of(ntuple, listed.field), listed.cluster)));
    check_values(ntuple, path, &bad, report);
}

/// A page: checksum, length, blocks.
fn check_page(ntuple: &NTuple, listed: &ListedPage, bench: &mut Bench) -> Checked {
    let of = |error: &Error| Finding::of(payload_severity(error), error);
    let page = match ntuple.stored_page(listed) {
        Ok(page) => page,
        Err(error) => return (vec![of(&error)], 0),
    };
    let bytes = page.inflated_bytes as u64;
    if page.stored.len() == page.inflated_bytes {
        return (Vec::new(), bytes);
    }
    match slack(&page.stored, page.inflated_bytes, bench) {
        Ok(0) => (Vec::new(), bytes),
        Ok(slack) => {
            let stored = page.stored.len() as u64;
            let finding = Finding::unusual("bytes after the last block of a page");
            (vec![finding.wanted(stored - slack, stored)], bytes)
        }
        Err(error) => (vec![of(&error)], bytes),
    }
}

/// Reads all values, cluster by cluster: ends of lists, switches and streamed values must fit what they lead to.
fn check_values(ntuple: &NTuple, path: &str, bad: &HashSet<(FieldId, usize)>, report: &mut Report) {
    // The page lists were read before.
    let Ok(clusters) = ntuple.clusters() else { return };
    for &id in ntuple.top() {
        let field = ntuple.fields().get(id).map_or("", |field| &field.path);
        if let Err(error) = ntuple.kind(id) {
            let finding = Finding::unusual("a field cannot be read").because(&error);
            report.add(finding.within(format!("{path}/{field}")));
            continue;
        }
        for (number, entries) in clusters.iter().enumerate() {
            if bad.contains(&(id, number)) {
                continue;
            }
            if let Err(error) = columns(ntuple, &[id], entries.clone()) {
                report.add(Finding::of(severity(&error), &error).within(inside(ntuple, path, &error)));
            }
        }
    }
}

/// Where an error is, with the path of the RNTuple in place of its name.
fn inside(ntuple: &NTuple, path: &str, error: &Error) -> String {
    let object = error.place().object.as_deref().unwrap_or("");
    match object.strip_prefix(&*ntuple.name) {
        Some(inner) => format!("{path}{inner}"),
        None => path.to_owned(),
    }
}

fn top_of(ntuple: &NTuple, mut id: FieldId) -> FieldId {
    while let Some(parent) = ntuple.fields().get(id).and_then(|field| field.parent) {
        id = parent;
    }
    id
}
