//! Keys that cut all entries into buckets of nearly equal numbers, found in bounded memory.
//!
//! Keys are sorted in runs, and each `step`-th key of a run is kept. How many keys are below a kept one is then known
//! up to `step` per run.
//!
//! Source: Shi and Schaeffer, "Parallel sorting by regular sampling" (1992).

use super::keys::{KeyColumns, Keys};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::read::Selection;
use crate::table::Table;

/// The lower bounds of all buckets but the first: keys, each followed by the row of its entry. No two are equal, so
/// that entries with equal keys fall into several buckets, too.
#[derive(Debug)]
pub(super) struct Quantiles {
    bounds: Keys,
}

/// Keys that were read once.
#[derive(Debug)]
pub(super) struct Survey {
    /// Whether the entries are in order already.
    pub(super) is_sorted: bool,
    sample: Keys,
}

impl Survey {
    /// Reads the keys of all entries, in runs that fit into `bytes`.
    pub(super) fn new(table: &Table, columns: &KeyColumns, selection: &Selection, bytes: u64) -> Result<Self> {
        /// Shorter runs would read parts of baskets too often.
        const MIN_RUN_ROWS: u64 = 1024;
        let width = columns.width();
        // Its numbers, its key, and its place in the order.
        let run_bytes = 16 * width as u64 + 4;
        let run_rows = (bytes / run_bytes).clamp(MIN_RUN_ROWS, u64::from(u32::MAX));
        let rows = selection.len();
        // The key, the row, and the place in the order.
        let sample_bytes = 8 * width as u64 + 12;
        let step = rows.saturating_mul(sample_bytes).div_ceil(bytes.max(1)).max(1) as usize;
        let mut sample = Keys { width: width + 1, words: Vec::new() };
        let mut is_sorted = true;
        let mut last = Vec::<u64>::new();
        let mut start = 0;
        while start < rows {
            interrupt::check()?;
            let end = rows.min(start + run_rows);
            let keys = columns.read(table, &selection.part(start..end))?;
            let read = keys.len();
            if read as u64 != end - start {
                return Err(Error::internal("keys of some entries were not read"));
            }
            is_sorted &= last.as_slice() <= keys.row(0) && (1..read).all(|row| keys.row(row - 1) <= keys.row(row));
            last = keys.row(read - 1).to_vec();
            for row in keys.order()?.into_iter().skip(step / 2).step_by(step) {
                sample.words.extend_from_slice(keys.row(row as usize));
                sample.words.push(start + u64::from(row));
            }
            start = end;
        }
        Ok(Self { is_sorted, sample })
    }

    /// Bounds of `buckets` buckets, or of fewer if there are few entries.
    pub(super) fn quantiles(self, buckets: usize) -> Result<Quantiles> {
        let order = self.sample.order()?;
        let mut bounds = Keys { width: self.sample.width, words: Vec::new() };
        let mut last = None;
        for bucket in 1..buckets {
            let at = (bucket as u128 * order.len() as u128 / buckets as u128) as usize;
            if let Some(&row) = order.get(at).filter(|row| last != Some(**row)) {
                bounds.words.extend_from_slice(self.sample.row(row as usize));
                last = Some(row);
            }
        }
        Ok(Quantiles { bounds })
    }
}

impl Quantiles {
    /// Buckets.
    pub(super) fn len(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The bucket of an entry, by its key and its row.
    pub(super) fn bucket(&self, key: &[u64], row: u64) -> usize {
        let mut low = 0;
        let mut high = self.bounds.len();
        while low < high {
            let middle = low.midpoint(high);
            let (bound, of) = self.bounds.row(middle).split_at(key.len());
            let is_below = bound.cmp(key).then_with(|| of.first().copied().unwrap_or(0).cmp(&row)).is_gt();
            if is_below { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_fall_into_several_buckets_by_their_rows() {
        let words = (0..100).flat_map(|row| [7, row * 10]).collect();
        let survey = Survey { is_sorted: true, sample: Keys { width: 2, words } };
        let quantiles = survey.quantiles(4).unwrap();
        assert_eq!(quantiles.len(), 4);
        assert_eq!(quantiles.bounds.words, [7, 250, 7, 500, 7, 750]);
        let buckets: Vec<usize> = [0, 249, 250, 750, 9_999].iter().map(|&row| quantiles.bucket(&[7], row)).collect();
        assert_eq!(buckets, [0, 0, 1, 3, 3]);
        assert_eq!((quantiles.bucket(&[6], 9_999), quantiles.bucket(&[8], 0)), (0, 3));
    }

    #[test]
    fn few_entries_have_few_buckets() {
        let survey = Survey { is_sorted: true, sample: Keys { width: 2, words: vec![1, 0, 2, 1] } };
        assert_eq!(survey.quantiles(5).unwrap().len(), 3);
    }
}
