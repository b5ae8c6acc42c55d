//! Windows of baskets or pages: cut by bytes and clusters, requested ahead of their use.

use std::ops::Range;

use bytes::Bytes;

use super::in_flight::{InFlight, Origin};
use crate::error::{Error, Result};
use crate::file::File;
use crate::tree::{CACHE_BYTES, TreeCache};

/// A store with a higher latency is remote: a single thread would wait more than decode, so bytes are prefetched for
/// it, too.
const FAR_NS: u64 = 1_000_000;

/// The most stored bytes of a window if one thread reads and decodes alternately: the bytes are still in the
/// processor's cache when they are decoded.
const INLINE_WINDOW_BYTES: u64 = 1 << 20;

/// The most stored bytes of a window for each of several threads, where the store is near: what is read ahead is still
/// in a shared cache. A budget above the default is meant to save requests, and has its way.
const NEAR_WINDOW_BYTES: u64 = 2 << 20;

/// On average so small, pieces are those of many columns, and lie among one another: then windows have the whole
/// budget, since small ones would take more requests, and more bytes between what is wanted.
const SMALL_PIECE_BYTES: u64 = 4 << 10;

/// Pieces that begin with the same entry are read together up to this many bytes, even beyond the budget: on a remote
/// store, a request for each costs more (`TTreeCache` reads whole clusters then, of any size).
const TOGETHER_BYTES: u64 = 256 << 10;

/// Whether other threads read while this one decodes.
pub(crate) fn is_ahead(file: &File, cache: &TreeCache) -> bool {
    cache.budget() > 0 && (file.options().session.threads() > 1 || file.store().profile().latency_ns > FAR_NS)
}

/// Windows of pieces, one after another: if other threads read, one is in flight while the one before is used.
pub(crate) struct Windows<'f> {
    file: &'f File,
    cache: &'f TreeCache,
    is_ahead: bool,
    windows: std::vec::IntoIter<Range<usize>>,
    requested: Option<(Range<usize>, InFlight)>,
    /// Why the next window could not be requested: told once those before it were used.
    failed: Option<Error>,
}

impl<'f> Windows<'f> {
    /// Cuts `pieces` into windows. Of each piece the stored bytes and the first entry are given, in the order of
    /// entries; `borders` are the entries where clusters begin.
    pub(crate) fn new(
        file: &'f File,
        cache: &'f TreeCache,
        pieces: impl ExactSizeIterator<Item = (u64, u64)> + Clone,
        borders: &[u64],
    ) -> Self {
        let mut is_ahead = is_ahead(file, cache);
        let is_far = file.store().profile().latency_ns > FAR_NS;
        let workers = if is_ahead { file.options().session.workers() } else { 0 };
        let bytes = pieces.clone().fold(0_u64, |sum, (more, _)| sum.saturating_add(more));
        let is_costly = is_far || bytes / (pieces.len().max(1) as u64) < SMALL_PIECE_BYTES;
        let most = window_bytes(cache.budget(), workers, is_costly);
        let windows = cut_windows(pieces, most, borders);
        // There is nothing to decode meanwhile, and another thread takes longer to wake up than these take to read.
        if windows.len() == 1 && bytes <= TOGETHER_BYTES && !is_far {
            is_ahead = false;
        }
        Self { file, cache, is_ahead, windows: windows.into_iter(), requested: None, failed: None }
    }

    /// Waits for the bytes of the next window, and requests those of the one after it. `origin` says where the bytes of
    /// a piece come from, `place` adds to an error of the store what was read.
    ///
    /// # Errors
    ///
    /// Those of `origin`, and what the store reports.
    pub(crate) fn next(
        &mut self,
        origin: impl Fn(usize) -> Result<Origin>,
        place: impl Fn(Error) -> Error,
    ) -> Result<Option<(Range<usize>, Vec<Bytes>)>> {
        let Some((window, coming)) = (match (self.requested.take(), self.failed.take()) {
            (_, Some(error)) => return Err(error),
            (Some(requested), _) => Some(requested),
            (None, None) => self.request(&origin, &place)?,
        }) else {
            return Ok(None);
        };
        let pieces = coming.take(self.file).map_err(&place)?;
        if self.is_ahead {
            match self.request(&origin, &place) {
                Ok(requested) => self.requested = requested,
                Err(error) => self.failed = Some(error),
            }
        }
        Ok(Some((window, pieces)))
    }

    fn request(
        &mut self,
        origin: &impl Fn(usize) -> Result<Origin>,
        place: &impl Fn(Error) -> Error,
    ) -> Result<Option<(Range<usize>, InFlight)>> {
        let Some(window) = self.windows.next() else { return Ok(None) };
        let mut origins = Vec::with_capacity(window.len());
        for piece in window.clone() {
            origins.push(origin(piece)?);
        }
        let coming = InFlight::request(self.file, self.cache, self.is_ahead, origins).map_err(place)?;
        Ok(Some((window, coming)))
    }
}

/// The most stored bytes of a window that so many threads decode while others read; 0 for one that does both.
/// `is_costly` says that requests cost more than caches save.
fn window_bytes(budget: u64, workers: usize, is_costly: bool) -> u64 {
    match workers {
        0 => INLINE_WINDOW_BYTES.min(budget),
        _ if is_costly || budget > CACHE_BYTES => budget,
        _ => NEAR_WINDOW_BYTES.saturating_mul(workers as u64).min(budget),
    }
}

/// Cuts pieces, in the order of entries, into windows of at most `most` stored bytes, or a single piece, or a few that
/// begin with the same entry. If a cluster begins within a window that would get too large, the window ends there, so
/// that clusters are read whole.
fn cut_windows(pieces: impl Iterator<Item = (u64, u64)>, most: u64, borders: &[u64]) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let (mut start, mut sum, mut last_entry) = (0, 0_u64, None);
    // The start of the last cluster of this window, the bytes after it, and how many clusters have ended.
    let (mut border, mut behind, mut passed) = (0, 0_u64, 0);
    let mut count = 0;
    for (index, (more, entry)) in pieces.enumerate() {
        count = index + 1;
        let is_together = last_entry.replace(entry) == Some(entry);
        // A cluster begins here, or between this piece and the one before, of which nothing is wanted.
        let more_borders = borders.get(passed..).unwrap_or_default().partition_point(|&border| border <= entry);
        if more_borders > 0 && index > 0 {
            (border, behind) = (index, 0);
        }
        passed += more_borders;
        if border > start && sum.saturating_add(more) > most {
            windows.push(start..border);
            (start, sum) = (border, behind);
        }
        let most = if is_together && most > 0 { most.max(TOGETHER_BYTES) } else { most };
        if index > start && sum.saturating_add(more) > most {
            windows.push(start..index);
            (start, sum) = (index, 0);
        }
        sum = sum.saturating_add(more);
        behind = behind.saturating_add(more);
    }
    if start < count {
        windows.push(start..count);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_budget_makes_larger_windows() {
        for (workers, is_costly, wanted) in [
            (0, false, [100, 1 << 20, 1 << 20]),
            (2, false, [100, 4 << 20, 2 * CACHE_BYTES]),
            (100, false, [100, CACHE_BYTES, 2 * CACHE_BYTES]),
            (1, true, [100, CACHE_BYTES, 2 * CACHE_BYTES]),
        ] {
            let found = [100, CACHE_BYTES, 2 * CACHE_BYTES].map(|budget| window_bytes(budget, workers, is_costly));
            assert_eq!(found, wanted, "{workers} workers, costly: {is_costly}");
        }
    }

    #[test]
    fn windows_end_with_clusters_where_these_fit() {
        // Two branches; baskets of 10 entries and 100 bytes; clusters of 20 entries.
        let pieces: Vec<u64> = (0..8).flat_map(|basket| [10 * basket; 2]).collect();
        let borders: Vec<u64> = (1..=4).map(|cluster| cluster * 20).collect();
        let lengths = |most| -> Vec<usize> {
            let windows = cut_windows(pieces.iter().map(|&entry| (100, entry)), most, &borders);
            windows.iter().map(|window| window.len()).collect()
        };
        assert_eq!(lengths(1_600), [16]);
        assert_eq!(lengths(1_000), [8, 8], "five baskets of each fit, two clusters are four");
        assert_eq!(lengths(500), [4, 4, 4, 4]);
        assert_eq!(lengths(300), [4; 4], "what begins with one entry is together");
        assert_eq!(lengths(100), [2; 8]);
        assert_eq!(lengths(0), [1; 16], "switched off");
        let large = cut_windows(pieces.iter().map(|&entry| (200_000, entry)), 300, &borders);
        assert_eq!(large.len(), 16, "as long as there are few bytes of it");
        // What follows the last boundary may be too much by itself.
        let pieces = [(100, 0), (450, 10), (450, 20), (900, 30)];
        let windows = cut_windows(pieces.into_iter(), 1_000, &[10]);
        assert_eq!(windows.iter().map(|window| window.len()).collect::<Vec<_>>(), [1, 2, 1]);
    }
}
