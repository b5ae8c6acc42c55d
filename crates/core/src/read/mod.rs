//! READING: which baskets, in which order, and from their bytes to columns.
//!
//! A scan is cut into windows of baskets that belong to the same entries. While one window is decoded, the bytes of the
//! next are on their way. In a window, sizes come first (from entries, from headers, or from decoding), then each piece
//! of the answer is filled in its final place by whichever thread is free.

pub mod arrow;
mod batch;
mod column;
mod decode;
mod embedded;
pub(crate) use embedded::{embedded, is_displaced};
mod scan;
mod window;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::tree::{BranchId, Tree};
pub use batch::{Batch, Batches, Row, Rows};
pub use column::{Column, Native};
use scan::{Answer, Scan};
use window::{Ahead, Segment, Workbench};

/// Bytes of stored baskets that a window holds, unless a basket alone is larger: enough for all threads while the next
/// window is on its way.
const WINDOW_BYTES: u64 = 16 << 20;
/// The same where one thread reads and decodes in turn: what was read is still in the cache when it is decoded.
const INLINE_WINDOW_BYTES: u64 = 1 << 20;
/// From this latency on a store is far: whoever decodes alone would wait more than work, so that bytes are fetched ahead for him,
/// too.
const FAR_NS: u64 = 2_000_000;

/// Reads columns of a tree: branches `ids`, entries `entries`.
///
/// Only baskets that hold wanted entries are read.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) where a branch has not all of the entries; what decoding finds otherwise.
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// let tree = file.tree("events")?;
/// let id = tree.branch("energy")?.id;
/// let columns = sapwood::read::columns(&tree, &[id], 0..tree.entries)?;
/// let energies: Vec<f32> = columns[0].numbers()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn columns(tree: &Tree, ids: &[BranchId], entries: Range<u64>) -> Result<Vec<Column>> {
    if entries.start > entries.end {
        return Err(Error::mismatch("a range of entries ends before it starts").wanted(entries.start, entries.end));
    }
    let session = &tree.file().options().session;
    let scans = ids.iter().map(|&id| Scan::new(tree, id, &entries)).collect::<Result<Vec<_>>>()?;
    let start = |scan| Answer::new(scan, session.memory(), &entries).map_err(|error| scan.name(error));
    let mut answers = scans.iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut segments: Vec<Segment> = Vec::new();
    for (index, scan) in scans.iter().enumerate() {
        let of_scan = scan.segments.iter().enumerate();
        segments.extend(of_scan.map(|(position, &(basket, _))| Segment { scan: index, position, basket }));
    }
    // In the order of entries, so that a window holds what belongs together.
    segments.sort_by_key(|segment| (scans[segment.scan].place(segment.basket).entries.start, segment.scan));
    let fetches = session.reads_ahead() || tree.file().store().profile().latency_ns >= FAR_NS;
    let most = if fetches { WINDOW_BYTES } else { INLINE_WINDOW_BYTES };
    let windows = cut(&segments, most, |segment| scans[segment.scan].stored_bytes(segment.basket));
    let mut bench = Workbench::new(session);
    let mut ahead = Ahead::new(tree, &scans, fetches);
    let mut coming = windows.iter();
    if fetches {
        ahead.ask(coming.next().copied().unwrap_or(&[]))?;
    }
    for window in &windows {
        let records = if fetches {
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

/// Cuts segments into windows of at most `most` stored bytes, or one basket.
fn cut(segments: &[Segment], most: u64, bytes: impl Fn(&Segment) -> u64) -> Vec<&[Segment]> {
    let mut windows = Vec::new();
    let (mut start, mut sum) = (0, 0_u64);
    for (index, segment) in segments.iter().enumerate() {
        let more = bytes(segment);
        if index > start && sum.saturating_add(more) > most {
            windows.push(&segments[start..index]);
            (start, sum) = (index, 0);
        }
        sum = sum.saturating_add(more);
    }
    if start < segments.len() {
        windows.push(&segments[start..]);
    }
    windows
}
