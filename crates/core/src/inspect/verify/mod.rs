//! Whether a file is whole: structure, checksums, and whether its parts agree with each other.
//!
//! The header comes first, then every record from the first to the end, directories and their keys against the records,
//! free segments against gaps, the classes, objects, each tree: its baskets against its index, clusters, counters; and
//! each RNTuple: its envelopes, pages and values. Every block of every payload is inflated, which verifies the
//! checksums of zlib, LZ4 and xz; old deflate and Zstandard as ROOT writes it have none. Payloads that are not
//! compressed have none either: of those only the structure can be verified. Statistics that are stored for the file
//! are computed again.

mod classes;
mod directories;
mod finding;
mod ntuples;
mod objects;
mod payload;
mod records;
mod statistics;
mod trees;

use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::file::{File, OpenOptions};
use crate::io::{LocalFile, Store};
use crate::progress;

pub use finding::{Finding, MOST_FINDINGS, Report, Severity};

/// Verifies a local file. Payloads are checked on the threads of the session.
///
/// # Errors
///
/// What the medium reports: no such file, not allowed. A file that is no ROOT file, or too damaged to be opened, is
/// reported as damaged.
///
/// # Example
///
/// ```
/// use sapwood::inspect::verify::verify;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let report = verify(path, sapwood::OpenOptions::default())?;
/// for finding in &report.findings {
///     println!("{finding}");
/// }
/// assert!(!report.is_damaged());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, options: OpenOptions) -> Result<Report> {
    verify_store(Arc::new(LocalFile::find(path)?), options)
}

/// Verifies what any store holds.
///
/// # Errors
///
/// Those of [`verify`].
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::inspect::verify::verify_store;
/// use sapwood::io::MemoryStore;
/// let store = Arc::new(MemoryStore::new("junk.root", "junk"));
/// assert!(verify_store(store, sapwood::OpenOptions::default())?.is_damaged());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn verify_store(store: Arc<dyn Store>, options: OpenOptions) -> Result<Report> {
    let mut report = Report::default();
    match File::from_store(store, options) {
        Ok(file) => Ok(verify_file(&file)),
        Err(error) => match error.kind() {
            ErrorKind::Malformed | ErrorKind::Checksum | ErrorKind::Limit | ErrorKind::Unsupported => {
                report.add(Finding::of(Severity::Damage, &error));
                Ok(report)
            }
            _ => Err(error),
        },
    }
}

/// Verifies a file that is open. It tells how far it [is](crate::progress::telling).
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// assert!(!sapwood::inspect::verify::verify_file(&file).is_damaged());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn verify_file(file: &File) -> Report {
    let mut report = Report::default();
    records::check_header(file, &mut report);
    let seen = records::check_records(file, &mut report);
    let (listed, lists) = directories::check_directories(file, &seen, &mut report);
    classes::check_classes(file, &mut report);
    // What the record walk did not reach.
    let missed: Vec<_> = listed.iter().filter(|listed| !seen.has(listed.key.seek_key)).collect();
    let bytes = |listed: &&directories::Listed| u64::from(listed.key.stored_bytes());
    payload::check_all(file, &mut report, &missed, bytes, |listed, bench| {
        payload::check(file, listed.key.seek_key, &listed.key, bench)
    });
    objects::check_objects(file, &listed, &mut report);
    let claimed = trees::check_trees(file, &listed, &seen, &mut report);
    ntuples::check_ntuples(file, &listed, &seen, &mut report);
    statistics::check_statistics(file, &mut report);
    let orphans: Vec<u64> = seen.baskets.iter().copied().filter(|at| claimed.binary_search(at).is_err()).collect();
    records::check_orphans(file, &mut report, &orphans);
    let header = file.header();
    let mut used = vec![u64::from(header.begin), header.seek_free, header.seek_info];
    used.extend(listed.iter().map(|listed| listed.key.seek_key).chain(lists).chain(claimed));
    used.sort_unstable();
    directories::check_free(file, &seen, &used, &mut report);
    let bytes = file.identity().len;
    // Where the caller has enough, `telling` says so.
    let _ = progress::at(bytes, bytes);
    report
}
