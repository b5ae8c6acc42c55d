//! Trees: baskets against their index, clusters, counters.

use std::ops::Range;
use std::sync::Arc;

use super::directories::Listed;
use super::payload::{Bench, Checked, check_all, payload_severity, severity, slack};
use super::records::Seen;
use super::{Finding, Report};
use crate::codec::BlockTable;
use crate::error::ErrorKind;
use crate::file::File;
use crate::object::Value;
use crate::read::{counters, has_offsets, largest_count};
use crate::tree::{Basket, BasketBytes, Branch, Tree};

/// A basket that a branch lists.
struct Claim {
    /// Branch and number of the basket in it.
    branch: usize,
    basket: usize,
    seek: u64,
    nbytes: u32,
    entries: u64,
}

/// Checks all trees, each cycle separately; returns the starts of their baskets, in order.
pub(super) fn check_trees(file: &File, listed: &[Listed], seen: &Seen, report: &mut Report) -> Vec<u64> {
    let mut claimed = Vec::new();
    for found in listed.iter().filter(|found| found.key.is_tree()) {
        let path = format!("{};{}", found.path, found.key.cycle);
        let tree = match file.tree_at(&found.key) {
            Ok(tree) => tree,
            Err(error) => {
                let finding = Finding::of(severity(&error), &error).within(path).at(found.key.seek_key);
                report.add(finding);
                continue;
            }
        };
        report.trees += 1;
        check_tree(&tree, &path, report);
        check_baskets(&tree, &path, seen, report, &mut claimed);
    }
    claimed.sort_unstable();
    claimed.dedup();
    claimed
}

/// What the record says of itself.
fn check_tree(tree: &Tree, path: &str, report: &mut Report) {
    let number = |name: &str| tree.object.member(name).ok().and_then(|value| value.as_int()).map(|n| n.max(0) as u64);
    for name in ["fFlushedBytes", "fSavedBytes"] {
        if let Some(bytes) = number(name).filter(|&bytes| bytes > tree.zip_bytes) {
            let words = format!("{name} passes the bytes of all baskets");
            report.add(Finding::note(words).within(path).wanted(tree.zip_bytes, bytes));
        }
    }
    let mut before = -1;
    for (end, size) in tree.cluster_ranges() {
        if end <= before || end >= 0 && end as u64 >= tree.entries.max(1) {
            let finding = Finding::unusual("ranges of clusters do not rise within the tree's entries");
            report.add(finding.within(path).wanted(tree.entries, end.max(0) as u64));
        }
        if size < 0 {
            report.add(Finding::unusual("a range of clusters has a negative size").within(path));
        }
        before = end;
    }
    check_clusters(tree, path, report);
    for branch in tree.branches() {
        check_branch(tree, branch, &format!("{path}/{}", branch.path), report);
    }
    check_counters(tree, path, report);
}

/// Clusters that a tree records end where baskets do.
fn check_clusters(tree: &Tree, path: &str, report: &mut Report) {
    if tree.auto_flush <= 0 && tree.cluster_ranges().next().is_none() {
        return;
    }
    let clusters = tree.clusters();
    let spans = |entries: &Range<u64>| {
        let first = clusters.partition_point(|cluster| cluster.end <= entries.start);
        clusters.get(first).is_some_and(|cluster| cluster.end < entries.end)
    };
    let baskets = tree.branches().iter().flat_map(|branch| branch.baskets());
    let spanning = baskets.filter(|basket| spans(&basket.entries)).count();
    if spanning > 0 {
        let words = format!("{spanning} baskets hold entries of more than one of the clusters that the tree records");
        report.add(Finding::note(words).within(path));
    }
}

/// A branch's index of baskets.
fn check_branch(tree: &Tree, branch: &Branch, path: &str, report: &mut Report) {
    let baskets = branch.baskets();
    if let Some((first, last)) = baskets.first().zip(baskets.last()) {
        if first.entries.start != branch.first_entry {
            let finding = Finding::unusual("the first basket does not begin at the branch's first entry");
            report.add(finding.within(path).wanted(branch.first_entry, first.entries.start));
        }
        for (index, pair) in baskets.windows(2).enumerate() {
            if pair[0].entries.is_empty() {
                let words = "a basket without entries stands before others: ROOT reads it in place of the next one, and \
                             `sapwood rewrite` leaves it out";
                report.add(Finding::unusual(words).within(path).in_basket(index));
            }
            if pair[0].entries.end != pair[1].entries.start {
                let finding = Finding::damage("baskets do not follow one another: one is missing, or is listed twice");
                let (expected, found) = (pair[0].entries.end, pair[1].entries.start);
                report.add(finding.within(path).in_basket(index + 1).wanted(expected, found));
            }
        }
        let held: u64 =
            baskets.iter().fold(0, |sum, basket| sum.saturating_add(basket.entries.end - basket.entries.start));
        if held != branch.entries {
            let finding = Finding::damage("the baskets hold another number of entries than the branch has");
            report.add(finding.within(path).wanted(branch.entries, held));
        } else if last.entries.end != branch.entry_number {
            let finding = Finding::unusual("the last basket does not end at the branch's last entry");
            report.add(finding.within(path).wanted(branch.entry_number, last.entries.end));
        }
    } else if branch.entries > 0 && branch.has_data() && branch.tot_bytes > 0 {
        let finding = Finding::damage("a branch has entries and no basket");
        report.add(finding.within(path).wanted(branch.entries, 0));
    }
    if branch.has_data() && branch.entries != tree.entries && !baskets.is_empty() {
        let finding = Finding::note("a branch has another number of entries than its tree");
        report.add(finding.within(path).wanted(tree.entries, branch.entries));
    }
    let number = |name: &str| branch.record().and_then(|record| record.member(name).ok()?.as_int());
    if let (Some(most), Some(written)) = (number("fMaxBaskets"), number("fWriteBasket")) {
        if most <= written && written > 0 {
            let finding = Finding::unusual("a branch has no room for its open basket in its index");
            report.add(finding.within(path).wanted(written as u64 + 1, most.max(0) as u64));
        }
        for name in ["fBasketBytes", "fBasketEntry", "fBasketSeek"] {
            let value = branch.record().and_then(|record| record.member(name).ok());
            let Some(Value::Numbers(of, bytes)) = value else { continue };
            let held = (bytes.len() / of.bytes()) as u64;
            if held != most.max(0) as u64 && held != 0 {
                let words = format!("{name} has another length than fMaxBaskets says");
                report.add(Finding::unusual(words).within(path).wanted(most.max(0) as u64, held));
            }
        }
    }
    if branch.entry_offset_len == 0 && has_offsets(tree, branch) == Some(true) {
        let words = "the baskets of a branch hold offsets of entries, and its fEntryOffsetLen is 0: ROOT reads other \
                     values, and `sapwood rewrite` corrects it";
        report.add(Finding::damage(words).within(path));
    }
    for leaf in branch.leaves.iter().filter(|leaf| &*leaf.class == "TLeafC") {
        if i64::from(leaf.len) > leaf.maximum && leaf.maximum > 0 {
            let finding = Finding::unusual("a string's room is larger than its longest string");
            report.add(finding.within(path).wanted(leaf.maximum as u64, leaf.len.max(0) as u64));
        }
    }
}

/// Leaves that count others: ROOT sizes its buffers by their `fMaximum`, and cuts what is larger.
fn check_counters(tree: &Tree, path: &str, report: &mut Report) {
    for (id, leaf) in counters(tree) {
        let Some((branch, leaf)) = tree.branches().get(id).and_then(|branch| Some((branch, branch.leaves.get(leaf)?)))
        else {
            continue;
        };
        if branch.leaves.len() != 1 || branch.element.is_some() {
            continue; // Their largest count stands elsewhere, and ROOT goes by it when it reads.
        }
        let place = |finding: Finding| finding.within(format!("{path}/{}", branch.path));
        if !leaf.is_range {
            report.add(place(Finding::note("a leaf that counts another is not marked as one")));
        }
        // If counts cannot be read, the findings about their baskets say why.
        let largest = largest_count(tree, branch);
        if largest > leaf.maximum {
            let words = "a leaf counts more than its fMaximum: ROOT cuts such lists, and `sapwood rewrite` corrects it";
            let finding = Finding::unusual(words);
            report.add(place(finding).wanted(leaf.maximum.max(0) as u64, largest as u64));
        }
    }
}

/// All baskets of a tree that are records of the file.
fn check_baskets(tree: &Arc<Tree>, path: &str, seen: &Seen, report: &mut Report, claimed: &mut Vec<u64>) {
    let mut claims = Vec::new();
    for branch in tree.branches().iter().filter(|branch| branch.file_name.is_empty()) {
        for (basket, place) in branch.baskets().iter().enumerate() {
            report.baskets += 1;
            if let BasketBytes::Stored { seek, nbytes } = place.bytes {
                let entries = place.entries.end - place.entries.start;
                claims.push(Claim { branch: branch.id, basket, seek, nbytes, entries });
            }
        }
    }
    claims.sort_by_key(|claim| (claim.seek, claim.nbytes));
    let named = |finding: Finding, claim: &Claim| {
        let branch = tree.branches().get(claim.branch).map_or("", |branch| &branch.path);
        finding.within(format!("{path}/{branch}")).in_basket(claim.basket).at(claim.seek)
    };
    for pair in claims.windows(2) {
        let end = pair[0].seek.saturating_add(pair[0].nbytes.into());
        if end > pair[1].seek {
            let finding = Finding::damage("two baskets overlap");
            report.add(named(finding, &pair[1]).wanted(end, pair[1].seek));
        }
    }
    for claim in &claims {
        if let Some(gap) = seen.gap_within(claim.seek, claim.seek.saturating_add(claim.nbytes.into())) {
            report.add(named(Finding::damage("a basket lies in a gap"), claim).wanted(gap.0, gap.1));
        }
    }
    let bytes = |claim: &Claim| u64::from(claim.nbytes);
    check_all(tree.file(), report, &claims, bytes, |claim, bench| {
        let (findings, bytes) = check_basket(tree, claim, bench);
        (findings.into_iter().map(|finding| named(finding, claim)).collect(), bytes)
    });
    claimed.extend(claims.iter().map(|claim| claim.seek));
}

/// One basket: its record, its key against the index, its payload, its offsets.
fn check_basket(tree: &Tree, claim: &Claim, bench: &mut Bench) -> Checked {
    /// Larger ones are inflated block by block, and their offsets are not looked at: memory stays bounded.
    const MOST_BYTES: u32 = 64 << 20;
    let file = tree.file();
    let mut findings = Vec::new();
    let range = claim.seek..claim.seek.saturating_add(claim.nbytes.into());
    let record = match file.read_one(range) {
        Ok(record) => record,
        Err(error) => return (vec![Finding::damage("a basket cannot be read").because(&error)], 0),
    };
    let basket = match Basket::read(record, &file.options().limits) {
        Ok(basket) => basket,
        Err(error) => return (vec![Finding::of(payload_severity(&error), &error)], 0),
    };
    let key = &basket.key;
    for (words, expected, found) in [
        ("a basket's key names another offset than its branch", claim.seek, key.seek_key),
        ("a basket is not as long as its branch says", claim.nbytes.into(), key.nbytes.into()),
        ("a basket has another number of entries than its branch says", claim.entries, basket.entries.into()),
    ] {
        if expected != found {
            findings.push(Finding::damage(words).wanted(expected, found));
        }
    }
    let inflated = u64::from(key.objlen);
    let is_large = key.objlen > MOST_BYTES;
    if key.is_compressed() {
        let stored = u64::from(key.stored_bytes());
        let behind = match is_large {
            true => slack(basket.sealed(), key.objlen as usize, bench),
            // Inflated below, as a whole.
            false => {
                BlockTable::walk(basket.sealed(), key.objlen as usize).map(|table| stored - table.stored_bytes() as u64)
            }
        };
        match behind {
            Ok(0) => {}
            Ok(bytes) => {
                let finding = Finding::unusual("bytes after the last block of a basket");
                findings.push(finding.wanted(stored - bytes, stored));
            }
            Err(error) => {
                findings.push(Finding::of(payload_severity(&error), &error));
                return (findings, inflated);
            }
        }
    }
    // What is not smaller than what it holds counts as raw: no reader looks for blocks in it.
    let is_chain =
        || BlockTable::walk(basket.sealed(), key.objlen as usize).is_ok_and(|table| !table.blocks().is_empty());
    if !key.is_compressed() && is_chain() {
        let words = "a basket's blocks are not smaller than what they hold: readers take them for raw entries";
        findings.push(Finding::damage(words).wanted(inflated, u64::from(key.stored_bytes())));
    }
    if is_large {
        return (findings, inflated);
    }
    let Bench { scratch, memory, starts } = bench;
    match basket.unseal(memory, scratch) {
        Ok(unsealed) => match unsealed.starts(starts) {
            Ok(()) => {}
            // Offsets that were left out are computed from the counts.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            // Where there are none, nothing reads by the length of an entry that the basket names.
            Err(error) if unsealed.fixed_bytes().is_some() => findings.push(Finding::note(error.message())),
            Err(error) => findings.push(Finding::damage(error.message())),
        },
        Err(error) => findings.push(Finding::of(payload_severity(&error), &error)),
    }
    let declared = tree.branches().get(claim.branch).map_or(0, |branch| branch.entry_offset_len);
    let offsets_expected = declared != 0;
    // A whole branch without its offsets is one finding, not one per basket.
    let is_known = !offsets_expected && basket.has_offsets();
    if basket.has_offsets() != offsets_expected && basket.entries > 0 && !basket.offsets_left_out && !is_known {
        let finding = Finding::note("a basket has offsets against what its branch says, or lacks them");
        findings.push(finding.wanted(offsets_expected.into(), basket.has_offsets().into()));
    }
    (findings, inflated)
}
