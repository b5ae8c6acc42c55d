//! Entry ranges of an iteration, made when they are asked for: a file may claim any number of entries.

use std::ops::Range;

/// Ranges of so many entries, one after another. A range ends with a cluster if one fits.
///
/// # Example
///
/// ```
/// use sapwood::read::Steps;
/// let steps: Vec<_> = Steps::new(0..10, 4, vec![3, 10]).collect();
/// assert_eq!(steps, [0..3, 3..7, 7..10]);
/// ```
#[derive(Clone, Debug)]
pub struct Steps {
    left: Range<u64>,
    size: u64,
    borders: Vec<u64>,
}

impl Steps {
    /// Steps of `size` entries; `borders` are the ends of clusters, in order.
    pub fn new(entries: Range<u64>, size: u64, borders: Vec<u64>) -> Self {
        Self { left: entries, size: size.max(1), borders }
    }
}

impl Iterator for Steps {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let Range { start, end: stop } = self.left;
        if start >= stop {
            return None;
        }
        let mut end = start.saturating_add(self.size).min(stop);
        if end < stop {
            let fits = self.borders.partition_point(|&border| border <= end);
            end = fits
                .checked_sub(1)
                .and_then(|at| self.borders.get(at))
                .copied()
                .filter(|&at| at > start)
                .unwrap_or(end);
        }
        self.left.start = end;
        Some(start..end)
    }
}
