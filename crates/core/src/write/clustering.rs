//! When a cluster ends.
//!
//! Source: `TTree::Fill`, `TTree::SetAutoFlush`, `TTree::SetAutoSave`. ROOT counts what it has compressed and closes
//! the cluster once that is enough. Here rows are kept until their cluster is whole, so the first cluster is sized by
//! samples: some rows are sealed to see how far they shrink. All borders follow from the rows alone, not from the steps
//! in which they came.

use std::sync::Arc;

/// How often something is done, as `TTree::SetAutoFlush` and `SetAutoSave` take it.
///
/// # Example
///
/// ```
/// use sapwood::write::Every;
/// assert_eq!(Every::from_root(-30_000_000), Every::Bytes(30_000_000));
/// assert_eq!(Every::Entries(1000).to_root(), 1000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After so many bytes, compressed.
    Bytes(u64),
    /// After so many entries.
    Entries(u64),
    /// Never on its own.
    Never,
}

impl Every {
    /// ROOT's number: bytes below zero, entries above.
    pub fn from_root(number: i64) -> Self {
        match number {
            0 => Self::Never,
            entries if entries > 0 => Self::Entries(entries as u64),
            bytes => Self::Bytes(bytes.unsigned_abs()),
        }
    }

    /// The number that ROOT keeps for it.
    pub fn to_root(self) -> i64 {
        match self {
            Self::Bytes(bytes) => -(bytes.min(i64::MAX as u64) as i64),
            Self::Entries(entries) => entries.min(i64::MAX as u64) as i64,
            Self::Never => 0,
        }
    }

    /// Whether the next one is due, so many bytes and entries after the last.
    pub(super) fn is_due(self, bytes: u64, entries: u64) -> bool {
        match self {
            Self::Bytes(every) => bytes >= every,
            Self::Entries(every) => entries >= every,
            Self::Never => false,
        }
    }
}

/// The buffered rows, as far as clustering depends on them.
pub(super) trait Waiting {
    /// How many rows of the same writer are in clusters that ended.
    fn before(&self) -> u64;
    /// How many.
    fn rows(&self) -> usize;
    /// Bytes of the first rows in memory: never less for more of them.
    fn bytes(&self, rows: usize) -> usize;
}

/// One of so many chunks is sealed as a sample: one in the middle, so that a tree that ends before pays for none.
const SAMPLED: usize = 16;
/// Bytes of a chunk before compression: large enough to compress as a basket does.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = (4 << 10)..=(2 << 20);
/// Chunks in the bytes of a cluster, if nothing could be compressed.
const CHUNKS: u64 = 16;

/// Decides where clusters end.
#[derive(Clone, Debug)]
pub(super) struct Clustering {
    flush: Every,
    most_bytes: usize,
    /// Entries of a cluster, once they are known.
    entries: Option<usize>,
    /// Where clusters end instead.
    borders: Option<Arc<[u64]>>,
    /// Chunks of the first cluster that were looked at, and the first row behind them.
    chunks: usize,
    looked_at: usize,
    /// Bytes of the samples before and after compression.
    sampled: (u64, u64),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More rows are needed.
    Wait,
    /// Seal these rows, to see how far they shrink.
    Sample(std::ops::Range<usize>),
    /// So many rows are a cluster.
    Cluster(usize),
}

impl Clustering {
    pub(super) fn new(flush: Every, most_bytes: usize) -> Self {
        let entries = match flush {
            Every::Entries(entries) => Some(usize::try_from(entries).unwrap_or(usize::MAX).max(1)),
            _ => None,
        };
        Self { flush, most_bytes: most_bytes.max(1), entries, borders: None, chunks: 0, looked_at: 0, sampled: (0, 0) }
    }

    /// Ends clusters at these entries, which rise, instead.
    pub(super) fn along(self, borders: Arc<[u64]>) -> Self {
        Self { borders: Some(borders), ..self }
    }

    /// Entries of a cluster, if they were measured by its bytes.
    pub(super) fn measured(&self) -> Option<u64> {
        let is_measured = matches!(self.flush, Every::Bytes(_)) && self.borders.is_none();
        self.entries.filter(|_| is_measured).map(|entries| entries as u64)
    }

    /// Entries of the next cluster, as far as they are known.
    fn wanted(&self, waiting: &impl Waiting) -> Option<usize> {
        let Some(borders) = &self.borders else { return self.entries };
        let before = waiting.before();
        let next = borders.get(borders.partition_point(|&border| border <= before));
        Some(next.map_or(usize::MAX, |&next| usize::try_from(next - before).unwrap_or(usize::MAX)))
    }

    /// Notes what a sample took before and after compression.
    pub(super) fn sampled(&mut self, before: u64, after: u64) {
        self.sampled.0 += before;
        self.sampled.1 += after;
    }

    /// Agrees with other writers on the entries of a cluster: takes theirs, or offers what was found here.
    pub(super) fn agree(&mut self, told: impl FnOnce(Option<usize>) -> Option<usize>) {
        if matches!(self.flush, Every::Bytes(_)) {
            self.entries = told(self.entries).or(self.entries);
        }
    }

    /// Rows with which the next cluster is whole, as far as that is known; none if it is already.
    pub(super) fn rows_left(&self, waiting: &impl Waiting) -> Option<usize> {
        self.wanted(waiting).and_then(|entries| entries.checked_sub(waiting.rows())).filter(|&left| left > 0)
    }

    /// How many times the buffered rows the cluster will have, as far as these tell: before its entries are known, as
    /// if nothing shrank.
    pub(super) fn times(&self, waiting: &impl Waiting) -> Option<f64> {
        let (rows, bytes) = (waiting.rows(), waiting.bytes(waiting.rows()));
        let most = self.most_bytes as f64 / bytes.max(1) as f64;
        let times = match (self.wanted(waiting), self.flush) {
            (Some(entries), _) => entries as f64 / rows.max(1) as f64,
            (None, Every::Bytes(flush)) => flush as f64 / bytes.max(1) as f64,
            (None, _) => return None,
        };
        Some(times.min(most))
    }

    /// What to do with the buffered rows. Call it again after anything but [`Next::Wait`].
    pub(super) fn next(&mut self, waiting: &impl Waiting) -> Next {
        let rows = waiting.rows();
        // One entry may be larger than all bounds.
        let capped = rows_of(waiting, self.most_bytes).map(|rows| rows.max(1));
        let found = match (self.wanted(waiting), self.flush) {
            (Some(entries), _) => {
                let entries = capped.map_or(entries, |capped| entries.min(capped));
                return if rows >= entries { Next::Cluster(entries) } else { Next::Wait };
            }
            (None, Every::Bytes(bytes)) => {
                let chunk = (bytes / CHUNKS).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()) as usize;
                loop {
                    let end = rows_of(waiting, chunk.saturating_mul(self.chunks + 1));
                    let Some(end) = end.filter(|&end| capped.is_none_or(|capped| end <= capped)) else { break capped };
                    let start = std::mem::replace(&mut self.looked_at, end);
                    self.chunks += 1;
                    if self.chunks % SAMPLED == SAMPLED / 2 && end > start {
                        return Next::Sample(start..end);
                    }
                    let (before, after) = self.sampled;
                    let packed = waiting.bytes(end) as u128 * u128::from(after) / u128::from(before.max(1));
                    if packed >= u128::from(bytes) {
                        break Some(end);
                    }
                }
            }
            (None, _) => capped,
        };
        let Some(rows) = found else { return Next::Wait };
        if matches!(self.flush, Every::Bytes(_)) {
            self.entries = Some(rows);
        }
        Next::Cluster(rows)
    }
}

/// The fewest rows that have at least so many bytes; none if all buffered rows have fewer.
fn rows_of(waiting: &impl Waiting, bytes: usize) -> Option<usize> {
    let (mut low, mut high) = (0, waiting.rows());
    if waiting.bytes(high) < bytes {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if waiting.bytes(middle) >= bytes { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of ten bytes, and how many were before them.
    struct Rows(usize, u64);

    impl Waiting for Rows {
        fn before(&self) -> u64 {
            self.1
        }

        fn rows(&self) -> usize {
            self.0
        }

        fn bytes(&self, rows: usize) -> usize {
            10 * rows
        }
    }

    /// Clusters of rows that come in steps and shrink to a half.
    fn clusters(mut policy: Clustering, step: usize, all: usize) -> Vec<usize> {
        let (mut waiting, mut found) = (Rows(0, 0), Vec::new());
        for _ in 0..all / step {
            waiting.0 += step;
            loop {
                match policy.next(&waiting) {
                    Next::Wait => break,
                    Next::Sample(rows) => policy.sampled(10 * rows.len() as u64, 5 * rows.len() as u64),
                    Next::Cluster(rows) => {
                        found.push(rows);
                        waiting.0 -= rows;
                        waiting.1 += rows as u64;
                    }
                }
            }
        }
        found
    }

    #[test]
    fn borders_do_not_depend_on_the_steps() {
        for policy in [
            Clustering::new(Every::Bytes(100_000), 1 << 20),
            Clustering::new(Every::Bytes(100_000), 90_000),
            Clustering::new(Every::Entries(777), 1 << 20),
            Clustering::new(Every::Entries(77_777), 10_000),
            Clustering::new(Every::Never, 123_456),
        ] {
            let whole = clusters(policy.clone(), 90_000, 90_000);
            assert!(whole.len() > 1);
            for step in [1, 1000, 4500] {
                assert_eq!(clusters(policy.clone(), step, 90_000), whole, "{policy:?}");
            }
        }
    }

    #[test]
    fn the_first_cluster_has_the_bytes_after_compression() {
        let found = clusters(Clustering::new(Every::Bytes(100_000), 1 << 30), 90_000, 90_000);
        assert_eq!(found[0], found[1]);
        assert!((20_000..21_000).contains(&found[0]), "{found:?}");
    }

    #[test]
    fn clusters_end_at_given_entries() {
        let along = |bytes| Clustering::new(Every::Bytes(100), bytes).along([1, 4, 1000, 5000].into());
        assert_eq!(clusters(along(1 << 20), 100, 5000), [1, 3, 996, 4000]);
        assert_eq!(clusters(along(9000), 1, 5000), [1, 3, 900, 96, 900, 900, 900, 900, 400]);
        assert_eq!(along(1 << 20).measured(), None);
    }

    #[test]
    fn given_entries_end_clusters_also_after_one_that_was_ended_early() {
        let mut policy = Clustering::new(Every::Never, 1 << 20).along([100, 200].into());
        assert_eq!(policy.rows_left(&Rows(0, 30)), Some(70));
        assert_eq!(policy.next(&Rows(80, 30)), Next::Cluster(70));
        assert_eq!(policy.next(&Rows(10, 100)), Next::Wait);
    }

    #[test]
    fn a_row_above_the_bound_is_a_cluster() {
        assert_eq!(clusters(Clustering::new(Every::Never, 3), 5, 5), [1; 5]);
    }
}
