//! READING: which baskets, in which order, and from their bytes to columns.
//!
//! A scan is cut into windows of baskets that belong to the same entries. While one window is decoded, the bytes of the
//! next are in flight. In a window, sizes are determined first (from entries, from headers, or by decoding); then any
//! free thread fills each piece of the result in its final position.

pub mod arrow;
mod batch;
mod column;
mod decode;
mod embedded;
mod follow;
mod reader;
mod row_prefetch;
pub(crate) use embedded::{embedded, is_displaced};
mod scan;
mod window;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::tree::{BranchId, Tree};
pub use batch::{Batch, Batches, Row, Rows};
pub use column::Column;
pub use follow::declared;
pub use reader::Reader;
use scan::{Answer, Scan};
use window::{Ahead, Segment, Workbench};

/// The most stored bytes of a window if one thread reads and decodes alternately: the bytes are still in the
/// processor's cache when they are decoded. Otherwise the tree cache's budget applies: one window is decoded while the
/// next is in flight.
const INLINE_WINDOW_BYTES: u64 = 1 << 20;
/// A store with a higher latency is remote: a single thread would wait more than decode, so bytes are prefetched for
/// it, too.
const FAR_NS: u64 = 1_000_000;

/// Reads columns of a tree: branches `ids`, entries `entries`.
///
/// Only baskets that hold wanted entries are read.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) if a branch lacks some of the entries; what decoding reports otherwise.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let ids = [tree.branch("Jet_pt")?.id, tree.branch("Jet_eta")?.id];
/// let columns = sapwood::read::columns(&tree, &ids, 0..tree.entries)?;
/// let (pt, eta): (&[f32], &[f32]) = (columns[0].as_slice()?, columns[1].as_slice()?);
/// assert_eq!(pt.len(), eta.len());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn columns(tree: &Tree, ids: &[BranchId], entries: Range<u64>) -> Result<Vec<Column>> {
    if entries.start > entries.end {
        return Err(Error::mismatch("a range of entries ends before it starts").wanted(entries.start, entries.end));
    }
    let session = &tree.file().options().session;
    let scans = ids.iter().map(|&id| Scan::new(tree, id, &entries, one)).collect::<Result<Vec<_>>>()?;
    let start = |scan| Answer::new(scan, session.memory(), &entries).map_err(|error| scan.name(error));
    let mut answers = scans.iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut segments: Vec<Segment> = Vec::new();
    for (index, scan) in scans.iter().enumerate() {
        let of_scan = scan.segments.iter().enumerate();
        segments.extend(of_scan.map(|(position, &(basket, _))| Segment { scan: index, position, basket }));
    }
    // In entry order, so that a window holds baskets of the same entries.
    segments.sort_by_key(|segment| (scans[segment.scan].place(segment.basket).entries.start, segment.scan));
    let budget = tree.cache().budget();
    let is_ahead = is_ahead(tree);
    let most = if is_ahead { budget } else { budget.min(INLINE_WINDOW_BYTES) };
    let windows = cut(
        &segments,
        most,
        |segment| scans[segment.scan].stored_bytes(segment.basket),
        |segment| scans[segment.scan].place(segment.basket).entries.start,
        tree.cluster_borders(),
    );
    let mut bench = Workbench::new(session);
    let mut ahead = Ahead::new(tree, &scans, is_ahead);
    let mut coming = windows.iter();
    if is_ahead {
        ahead.ask(coming.next().copied().unwrap_or(&[]))?;
    }
    for window in &windows {
        let records = if is_ahead {
            let records = ahead.take(window)?;
            ahead.ask(coming.next().copied().unwrap_or(&[]))?;
            records
        } else {
            ahead.ask(window)?;
            ahead.take(window)?
        };
        window::decode(&scans, &mut answers, window, records, &mut bench)?;
    }
    answers.into_iter().zip(&scans).map(|(answer, scan)| answer.finish(scan)).collect()
}

/// One column.
fn one(tree: &Tree, id: BranchId, entries: Range<u64>) -> Result<Column> {
    columns(tree, &[id], entries)?.pop().ok_or_else(|| Error::internal("a branch was read and gave no column"))
}

/// Whether other threads read while this one decodes.
fn is_ahead(tree: &Tree) -> bool {
    let (file, budget) = (tree.file(), tree.cache().budget());
    budget > 0 && (file.options().session.threads() > 1 || file.store().profile().latency_ns > FAR_NS)
}

/// Baskets that begin with the same entry are read together up to this many bytes, even beyond the budget: on a remote
/// store, a request for each costs more (`TTreeCache` reads whole clusters then, of any size).
const TOGETHER_BYTES: u64 = 256 << 10;

/// Cuts segments, in entry order, into windows of at most `most` stored bytes, or a single basket, or a few that begin
/// with the same entry. If a cluster begins within a window that would get too large, the window ends there, so that
/// clusters are read whole.
fn cut<'s>(
    segments: &'s [Segment],
    most: u64,
    bytes: impl Fn(&Segment) -> u64,
    first_entry: impl Fn(&Segment) -> u64,
    borders: &[u64],
) -> Vec<&'s [Segment]> {
    let mut windows = Vec::new();
    let (mut start, mut sum, mut last_entry) = (0, 0_u64, None);
    // The start of the last cluster of this window, and the bytes after it.
    let (mut border, mut behind) = (0, 0_u64);
    for (index, segment) in segments.iter().enumerate() {
        let (more, entry) = (bytes(segment), first_entry(segment));
        let is_together = last_entry.replace(entry) == Some(entry);
        if !is_together && borders.binary_search(&entry).is_ok() {
            (border, behind) = (index, 0);
        }
        if border > start && sum.saturating_add(more) > most {
            windows.push(&segments[start..border]);
            (start, sum) = (border, behind);
        }
        let most = if is_together && most > 0 { most.max(TOGETHER_BYTES) } else { most };
        if index > start && sum.saturating_add(more) > most {
            windows.push(&segments[start..index]);
            (start, sum) = (index, 0);
        }
        sum = sum.saturating_add(more);
        behind = behind.saturating_add(more);
    }
    if start < segments.len() {
        windows.push(&segments[start..]);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_with_clusters_where_these_fit() {
        // Two branches; baskets of 10 entries and 100 bytes; clusters of 20 entries.
        let segments: Vec<Segment> =
            (0..8).flat_map(|basket| (0..2).map(move |scan| Segment { scan, position: basket, basket })).collect();
        let borders: Vec<u64> = (1..=4).map(|cluster| cluster * 20).collect();
        let cut = |most| -> Vec<usize> {
            let windows = cut(&segments, most, |_| 100, |segment| 10 * segment.basket as u64, &borders);
            windows.iter().map(|window| window.len()).collect()
        };
        assert_eq!(cut(1_600), [16]);
        assert_eq!(cut(1_000), [8, 8], "five baskets of each fit, two clusters are four");
        assert_eq!(cut(500), [4, 4, 4, 4]);
        assert_eq!(cut(300), [4; 4], "what begins with one entry is together");
        assert_eq!(cut(100), [2; 8]);
        assert_eq!(cut(0), [1; 16], "switched off");
        let large = super::cut(&segments, 300, |_| 200_000, |segment| 10 * segment.basket as u64, &borders);
        assert_eq!(large.len(), 16, "as long as there are few bytes of it");
        // What follows the last boundary may be too much by itself.
        let segments: Vec<Segment> = (0..4).map(|basket| Segment { scan: 0, position: basket, basket }).collect();
        let bytes = |segment: &Segment| [100, 450, 450, 900][segment.basket];
        let windows = super::cut(&segments, 1_000, bytes, |segment| 10 * segment.basket as u64, &[10]);
        assert_eq!(windows.iter().map(|window| window.len()).collect::<Vec<_>>(), [1, 2, 1]);
    }
}
