//! The header, and every record from the first to the end.

use super::payload::{self, BATCH_BYTES, BATCH_PAYLOADS, check_all};
use super::{Finding, Report};
use crate::container::{BIG_FILE, Key, Record};
use crate::file::File;
use crate::file::walk::{Stop, Walk};

/// What the record walk found, in file order.
#[derive(Default)]
pub(super) struct Seen {
    /// Records: first byte, and the byte after the last.
    pub(super) records: Vec<(u64, u64)>,
    /// Those of them that are baskets; their payloads are not checked yet.
    pub(super) baskets: Vec<u64>,
    /// Gaps: first byte, and the byte after the last.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Whether the walk reached the end.
    pub(super) whole: bool,
}

impl Seen {
    /// Whether a record begins there.
    pub(super) fn has(&self, at: u64) -> bool {
        self.records.binary_search_by_key(&at, |record| record.0).is_ok()
    }

    /// The gap that holds any of these bytes.
    pub(super) fn gap_within(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.gaps.partition_point(|gap| gap.1 <= start);
        self.gaps.get(first).copied().filter(|gap| gap.0 < end)
    }
}

/// Words of the header that must fit each other and the file.
pub(super) fn check_header(file: &File, report: &mut Report) {
    let (header, len) = (file.header(), file.identity().len);
    let least = if header.is_big() { 75 } else { 63 };
    if header.end > len {
        report.add(Finding::damage("the file is shorter than its header says").at(12).wanted(header.end, len));
    } else if header.end < len {
        report.add(Finding::note("bytes after the end that the header names").at(header.end).wanted(header.end, len));
    }
    if u64::from(header.begin) > header.end {
        report.add(
            Finding::damage("the first record begins behind the end").at(8).wanted(header.end, header.begin.into()),
        );
    }
    // Files of ROOT 2 have a shorter header.
    if header.version >= 30000 && header.begin < least {
        report.add(
            Finding::unusual("the first record begins inside of the header")
                .at(8)
                .wanted(least.into(), header.begin.into()),
        );
    }
    if header.is_big() != (header.end > BIG_FILE) {
        report.add(Finding::note("the header's width is not that of its end").at(4).wanted(BIG_FILE, header.end));
    }
    if !(10..=10_000).contains(&header.nbytes_name) {
        report.add(Finding::unusual("fNbytesName is out of its range").wanted(10_000, header.nbytes_name.into()));
    }
    if file.is_recovered() && file.is_cut_off() {
        report.add(Finding::unusual("the list of keys cannot be read: keys were found by walking the records"));
    } else if file.is_recovered() {
        report.add(Finding::unusual("the file was never closed: its keys were found by walking the records"));
    } else if header.seek_free == 0 {
        report.add(Finding::unusual("the file was saved, and never closed: it has no list of free segments"));
    }
    for (what, seek, nbytes) in [
        ("free segments", header.seek_free, header.nbytes_free),
        ("StreamerInfo", header.seek_info, header.nbytes_info),
    ] {
        if seek == 0 {
            continue;
        }
        if seek >= header.end {
            if !file.is_recovered() {
                report.add(Finding::unusual(format!("the record of {what} is after the end")).at(seek));
            }
            continue;
        }
        match file.key_at(seek) {
            Ok(key) if key.nbytes != nbytes => {
                let words = format!("the record of {what} is not as long as the header says");
                report.add(Finding::unusual(words).at(seek).wanted(nbytes.into(), key.nbytes.into()));
            }
            Ok(_) => {}
            Err(error) => {
                let finding = Finding::damage(format!("no record of {what} at the offset that the header names"));
                report.add(Finding { offset: Some(seek), ..finding }.because(&error));
            }
        }
    }
}

/// Follows the records, and inflates the payloads of all but baskets: those are checked with their trees.
pub(super) fn check_records(file: &File, report: &mut Report) -> Seen {
    let mut seen = Seen::default();
    let mut walk = Walk::new(file);
    let (mut waiting, mut bytes): (Vec<(u64, Key)>, u64) = (Vec::new(), 0);
    for placed in walk.by_ref() {
        let end = placed.end();
        let key = match placed.record {
            Record::Gap(bytes) => {
                report.gaps += 1;
                report.gap_bytes += bytes;
                seen.gaps.push((placed.at, end));
                continue;
            }
            Record::Key(key) => key,
        };
        report.records += 1;
        seen.records.push((placed.at, end));
        if key.seek_key != placed.at {
            let finding = Finding::unusual("a record's key names another offset").within(&*key.name);
            report.add(finding.at(placed.at).wanted(placed.at, key.seek_key));
        }
        if &*key.class == "TBasket" {
            seen.baskets.push(placed.at);
            continue;
        }
        bytes += u64::from(key.stored_bytes());
        waiting.push((placed.at, key));
        if bytes > BATCH_BYTES || waiting.len() >= BATCH_PAYLOADS {
            check_all(file, report, &waiting, stored_bytes, |(at, key), bench| payload::check(file, *at, key, bench));
            waiting.clear();
            bytes = 0;
        }
    }
    check_all(file, report, &waiting, stored_bytes, |(at, key), bench| payload::check(file, *at, key, bench));
    let (at, end) = (walk.at(), walk.end());
    let finding = match walk.stop() {
        None | Some(Stop::End) => {
            seen.whole = true;
            return seen;
        }
        // If a file was never closed, the last reserved space is zeros, of unknown length.
        Some(Stop::Zeros) if file.is_recovered() => Finding::note("zeros where the next record should begin"),
        Some(Stop::Zeros) => Finding::unusual("the records cannot be followed: zeros where one should begin"),
        Some(Stop::Short) => Finding::unusual("the records end short of the end"),
        Some(Stop::Beyond(placed)) => {
            Finding::unusual("the records cannot be followed: one reaches beyond the end").wanted(end, placed.end())
        }
        Some(Stop::Unreadable(error)) => {
            Finding::unusual("the records cannot be followed: no key where one should begin").because(error)
        }
    };
    report.add(finding.at(at));
    seen
}

fn stored_bytes((_, key): &(u64, Key)) -> u64 {
    u64::from(key.stored_bytes())
}

/// Inflates baskets that no tree refers to, known by where they begin.
pub(super) fn check_orphans(file: &File, report: &mut Report, orphans: &[u64]) {
    if orphans.is_empty() {
        return;
    }
    let words = format!("{} baskets belong to no tree that the file lists", orphans.len());
    report.add(Finding::note(words).at(orphans.first().copied().unwrap_or(0)));
    let keys = orphans.iter().filter_map(|&at| file.key_at(at).ok().map(|key| (at, key)));
    let keys: Vec<(u64, Key)> = keys.collect();
    check_all(file, report, &keys, stored_bytes, |(at, key), bench| payload::check(file, *at, key, bench));
}
