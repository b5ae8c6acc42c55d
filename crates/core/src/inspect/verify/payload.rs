//! Payloads of records: every block of them is inflated, which verifies the checksums that codecs have.

use rayon::prelude::*;

use super::{Finding, Report, Severity};
use crate::codec::{BlockTable, Scratch};
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::progress;

/// Stored bytes of the payloads that are checked at a time: enough for all threads, and no more than that in memory.
pub(super) const BATCH_BYTES: u64 = 64 << 20;
/// The same in payloads, which may be empty.
pub(super) const BATCH_PAYLOADS: usize = 4096;

/// What one thread needs.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) scratch: Scratch,
    pub(super) memory: Vec<u8>,
    pub(super) starts: Vec<u32>,
}

/// What a check of one payload found, and how many bytes it has once inflated.
pub(super) type Checked = (Vec<Finding>, u64);

/// Checks many on the threads of the file's session, batch by batch of so many stored bytes, and tells how far it is.
pub(super) fn check_all<T: Sync>(
    file: &File,
    report: &mut Report,
    items: &[T],
    bytes: impl Fn(&T) -> u64,
    check: impl Fn(&T, &mut Bench) -> Checked + Sync,
) {
    let whole = file.identity().len;
    for batch in batches(items, &bytes) {
        // Nothing more is looked into once the caller has enough: `telling` says so.
        if progress::at(report.stored_bytes, whole).is_err() {
            return;
        }
        check_batch(file, report, batch, &check);
        report.stored_bytes += batch.iter().map(&bytes).sum::<u64>();
    }
}

fn check_batch<T: Sync>(
    file: &File,
    report: &mut Report,
    items: &[T],
    check: &(impl Fn(&T, &mut Bench) -> Checked + Sync),
) {
    let all: Vec<Checked> = match file.options().session.pool() {
        Some(pool) if items.len() > 1 => {
            pool.install(|| items.par_iter().map_init(Bench::default, |bench, item| check(item, bench)).collect())
        }
        _ => {
            let mut bench = Bench::default();
            items.iter().map(|item| check(item, &mut bench)).collect()
        }
    };
    for (findings, bytes) in all {
        report.payloads += 1;
        report.inflated_bytes += bytes;
        findings.into_iter().for_each(|finding| report.add(finding));
    }
}

/// Cuts what has stored bytes into batches.
fn batches<T>(items: &[T], bytes: impl Fn(&T) -> u64) -> Vec<&[T]> {
    let mut cut = Vec::new();
    let (mut start, mut sum) = (0, 0_u64);
    for (index, item) in items.iter().enumerate() {
        let more = bytes(item);
        if index > start && (sum.saturating_add(more) > BATCH_BYTES || index - start >= BATCH_PAYLOADS) {
            cut.push(&items[start..index]);
            (start, sum) = (index, 0);
        }
        sum = sum.saturating_add(more);
    }
    if start < items.len() {
        cut.push(&items[start..]);
    }
    cut
}

/// Inflates the payload of the record at `at`, block by block.
pub(super) fn check(file: &File, at: u64, key: &Key, bench: &mut Bench) -> Checked {
    let name = || format!("{};{}", key.name, key.cycle);
    // Pages of an RNTuple have a header of their own inside of the record, and no block of ours.
    if key.is_blob() {
        return (Vec::new(), 0);
    }
    let start = at.saturating_add(u64::from(key.keylen));
    let stored = u64::from(key.stored_bytes());
    let mut findings = Vec::new();
    match inflate(file, start, key, bench) {
        Ok(slack) if slack > 0 => findings.push(
            Finding::unusual("bytes after the last block of a record")
                .within(name())
                .at(start)
                .wanted(stored - slack, stored),
        ),
        Ok(_) => {}
        Err(error) => {
            let finding = Finding::of(payload_severity(&error), &error).within(name());
            findings.push(finding.at(start.saturating_add(error.place().offset.unwrap_or(0))));
        }
    }
    (findings, u64::from(key.objlen))
}

/// Inflates and discards; returns the bytes after the last block.
fn inflate(file: &File, start: u64, key: &Key, bench: &mut Bench) -> Result<u64> {
    let stored = u64::from(key.stored_bytes());
    let unnamed = |error: Error| match error.place() {
        // Offsets of the store are those of the file; here they count from the payload.
        place if place.offset.is_some_and(|offset| offset >= start) => {
            let bare = Error::new(error.kind(), error.message().to_owned());
            bare.at(place.offset.unwrap_or(start) - start)
        }
        _ => error,
    };
    let bytes = file.read_one(start..start.saturating_add(stored)).map_err(unnamed)?;
    if !key.is_compressed() {
        return Ok(0);
    }
    slack(&bytes, key.objlen as usize, bench)
}

/// Inflates a chain block by block, so that it needs at most 16 MiB; returns the bytes after the last block.
pub(super) fn slack(chain: &[u8], inflated_bytes: usize, bench: &mut Bench) -> Result<u64> {
    let table = BlockTable::walk(chain, inflated_bytes)?;
    for block in table.blocks() {
        let bytes = block.unsealed.len();
        if bench.memory.len() < bytes {
            bench.memory.resize(bytes, 0);
        }
        block.inflate(chain, &mut bench.memory[..bytes], &mut bench.scratch)?;
    }
    Ok((chain.len() - table.stored_bytes()) as u64)
}

/// Of what describes data: classes and features of later versions, and limits of the reader, are no damage.
pub(super) fn severity(error: &Error) -> Severity {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::Limit => Severity::Unusual,
        _ => Severity::Damage,
    }
}

/// Of the data themselves: what no reader can inflate is damage, whether or not a later codec could be the reason.
pub(super) fn payload_severity(error: &Error) -> Severity {
    match error.kind() {
        ErrorKind::Limit => Severity::Unusual,
        _ => Severity::Damage,
    }
}
