//! What it costs to read: which requests a reader makes, planned with the engine's own merging of ranges.

use std::ops::Range;

use super::layout::Extent;
use crate::io::{Profile, Want, coalesce};

/// The reading pattern: whole clusters ahead, as with a `TTreeCache`.
///
/// The default has ROOT's 30 MB of cache, and a server on the same site: an answer takes 1 ms, 100 MB/s flow, and a
/// request is one range. So a gap of up to 100 kB is read rather than left out.
///
/// # Example
///
/// ```
/// use sapwood::inspect::io_cost::Reader;
/// let patient = Reader { window_bytes: 300_000_000, ..Reader::default() };
/// assert_eq!(patient.profile, Reader::default().profile);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Bytes that it reads ahead: clusters are added as long as they fit.
    pub window_bytes: u64,
    /// How its store likes to be read.
    pub profile: Profile,
}

impl Default for Reader {
    fn default() -> Self {
        let profile = Profile {
            latency_ns: 1_000_000,
            bandwidth_bytes: 100_000_000,
            request_bytes: 16 << 20,
            ranges: 1,
            parallel: 1,
        };
        Self { window_bytes: 30_000_000, profile }
    }
}

/// What a reading costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requested ranges.
    pub requests: u64,
    /// Bytes that are read, gaps included.
    pub bytes: u64,
    /// Bytes of the baskets that are wanted.
    pub wanted_bytes: u64,
    /// How many baskets these are.
    pub baskets: u64,
    /// Windows that these are planned in.
    pub windows: u64,
    /// Requests that begin before the end of the one before: none within a window, at most one a window.
    pub backward: u64,
}

impl Cost {
    /// How long it takes a reader that waits for each request, in seconds.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::inspect::io_cost::{Cost, Reader};
    /// let cost = Cost { requests: 100, bytes: 50_000_000, ..Cost::default() };
    /// assert_eq!(cost.seconds(&Reader::default()), 0.6);
    /// ```
    pub fn seconds(&self, reader: &Reader) -> f64 {
        let wait = self.requests as f64 * reader.profile.latency_ns as f64 / 1e9;
        wait + self.bytes as f64 / reader.profile.bandwidth_bytes.max(1) as f64
    }
}

/// Plans a reading: the baskets of some branches that hold any of the wanted entries, window by window.
///
/// `entries` are ascending ranges. A basket is read with the first cluster that needs it and kept for the others. A
/// window takes whole clusters; where one alone is larger, it is cut in the order of entries.
///
/// # Example
///
/// ```
/// use sapwood::inspect::layout::Extent;
/// use sapwood::inspect::io_cost::{Reader, plan};
/// let basket = |number: u64, at| Extent { branch: 0, entries: 10 * number..10 * number + 10, at, bytes: 1_000 };
/// let near = [basket(0, 100), basket(1, 1_100)];
/// let far = [basket(0, 9_000_100), basket(1, 100)];
/// let clusters = [0..10, 10..20];
/// let read = |baskets: &[Extent]| plan(baskets, &clusters, |_| true, &[0..20], &Reader::default());
/// assert_eq!((read(&near).requests, read(&far).requests), (1, 2));
/// ```
pub fn plan(
    baskets: &[Extent],
    clusters: &[Range<u64>],
    wanted: impl Fn(usize) -> bool,
    entries: &[Range<u64>],
    reader: &Reader,
) -> Cost {
    let pieces = pieces(clusters, entries);
    let mut sorted: Vec<(usize, &Extent)> = baskets
        .iter()
        .filter(|basket| wanted(basket.branch))
        .filter_map(|basket| {
            let first = pieces.partition_point(|(_, piece)| piece.end <= basket.entries.start);
            let (cluster, piece) = pieces.get(first)?;
            (piece.start < basket.entries.end).then_some((*cluster, basket))
        })
        .collect();
    sorted.sort_by_key(|(cluster, basket)| (*cluster, basket.entries.start, basket.at));
    let mut cost = Cost::default();
    let mut last_end = 0;
    for window in windows(&sorted, reader.window_bytes) {
        let wants: Vec<Want> = window
            .iter()
            .map(|(_, basket)| Want { id: 0, range: basket.at..basket.at.saturating_add(basket.bytes), first_entry: 0 })
            .collect();
        cost.windows += 1;
        cost.baskets += wants.len() as u64;
        cost.wanted_bytes += window.iter().map(|(_, basket)| basket.bytes).sum::<u64>();
        let mut requests = coalesce(&wants, &reader.profile);
        requests.sort_by_key(|request| request.ranges.first().map_or(0, |range| range.start));
        for request in &requests {
            cost.bytes += request.bytes();
            for range in &request.ranges {
                cost.requests += 1;
                cost.backward += u64::from(range.start < last_end);
                last_end = range.end;
            }
        }
    }
    cost
}

/// The wanted entries, cut at the borders of clusters.
fn pieces(clusters: &[Range<u64>], entries: &[Range<u64>]) -> Vec<(usize, Range<u64>)> {
    let mut pieces = Vec::new();
    for range in entries {
        let first = clusters.partition_point(|cluster| cluster.end <= range.start);
        for (cluster, held) in clusters.iter().enumerate().skip(first) {
            if held.start >= range.end {
                break;
            }
            pieces.push((cluster, held.start.max(range.start)..held.end.min(range.end)));
        }
    }
    pieces
}

/// Cuts baskets into windows: between clusters where that is possible.
fn windows<'s, 'e>(sorted: &'s [(usize, &'e Extent)], most: u64) -> Vec<&'s [(usize, &'e Extent)]> {
    let mut windows = Vec::new();
    // Where the window began, where its last whole cluster ended, and the bytes from either on.
    let (mut start, mut whole, mut sum, mut since) = (0, 0, 0_u64, 0_u64);
    for (index, (cluster, basket)) in sorted.iter().enumerate() {
        if index > 0 && sorted[index - 1].0 != *cluster {
            (whole, since) = (index, 0);
        }
        if index > start && sum.saturating_add(basket.bytes) > most {
            let cut = if whole > start { whole } else { index };
            windows.push(&sorted[start..cut]);
            sum = if cut == whole { since } else { 0 };
            start = cut;
        }
        sum = sum.saturating_add(basket.bytes);
        since = since.saturating_add(basket.bytes);
    }
    if start < sorted.len() {
        windows.push(&sorted[start..]);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basket(branch: usize, entries: Range<u64>, at: u64, bytes: u64) -> Extent {
        Extent { branch, entries, at, bytes }
    }

    #[test]
    fn windows_end_where_clusters_do_unless_one_is_too_large() {
        let baskets: Vec<Extent> = (0..6).map(|n| basket(0, n..n + 1, 100 * n, 100)).collect();
        let sorted: Vec<_> = baskets.iter().enumerate().map(|(n, basket)| (n / 2, basket)).collect();
        let lengths = |most| windows(&sorted, most).iter().map(|window| window.len()).collect::<Vec<_>>();
        assert_eq!(lengths(1_000), [6]);
        assert_eq!(lengths(500), [4, 2]);
        assert_eq!(lengths(200), [2, 2, 2]);
        assert_eq!(lengths(100), [1; 6]);
        assert_eq!(lengths(0), [1; 6]);
    }

    #[test]
    fn a_basket_that_spans_clusters_is_read_once() {
        let baskets = [basket(0, 0..30, 0, 100), basket(1, 0..10, 100, 10), basket(1, 10..20, 110, 10)];
        let clusters = [0..10, 10..20, 20..30];
        let cost = plan(&baskets, &clusters, |_| true, &[0..30], &Reader::default());
        assert_eq!((cost.baskets, cost.wanted_bytes, cost.requests, cost.bytes), (3, 120, 1, 120));
    }

    #[test]
    fn only_wanted_branches_and_entries_are_read() {
        let far = 10_000_000;
        let baskets: Vec<Extent> =
            (0..10).map(|n| basket((n % 2) as usize, 10 * n..10 * n + 10, far * n, 50)).collect();
        let clusters: Vec<_> = (0..10).map(|n| 10 * n..10 * n + 10).collect();
        let read = |branch, entries: &[Range<u64>]| {
            plan(&baskets, &clusters, |found| found == branch, entries, &Reader::default())
        };
        assert_eq!(read(0, &[0..100]).requests, 5);
        assert_eq!(read(0, &[0..20, 35..41]).requests, 2);
        assert_eq!(read(1, &[0..5]).requests, 0);
    }
}
