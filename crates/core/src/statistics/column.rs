//! The statistics of one column.

use std::ops::Range;

use super::summary::Summary;
use crate::column::Number;
use crate::error::{Error, Result};

/// Runs that make one group, and groups that make one of the next level.
const FAN_OUT: usize = 16;

/// The statistics of a column: a summary for each run of entries, and for groups of runs.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::statistics::{ColumnStatistics, Extremes, Summary};
/// let run = |value| Summary {
///     extremes: Some(Extremes::Signed(value, value)),
///     ..Summary { entries: 10, items: 10, shortest: 1, longest: 1, ..Summary::default() }
/// };
/// let column = ColumnStatistics::new(Number::I32, 0, 0, (0..100).map(run).collect())?;
/// assert_eq!((column.range(), column.runs()), (0..1000, 100));
/// assert_eq!(column.starts()[1], 10);
/// assert_eq!(column.over(25..40).and_then(|found| found.extremes), Some(Extremes::Signed(2, 3)));
/// assert_eq!((column.over(990..1001), column.all().entries), (None, 1000));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// The type of its numbers.
    pub number: Number,
    /// Levels of lists.
    pub depth: usize,
    /// The first entry of each run, and the end of the last.
    starts: Vec<u64>,
    /// Summaries of runs, of groups of runs, of groups of these and so on.
    levels: Vec<Vec<Summary>>,
}

impl ColumnStatistics {
    /// The statistics of runs that follow one another from entry `first` on.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if the numbers of a run contradict each other, or entries exceed 63
    /// bits.
    pub fn new(number: Number, depth: usize, first: u64, runs: Vec<Summary>) -> Result<Self> {
        let mut starts = Vec::with_capacity(runs.len() + 1);
        starts.push(first);
        let mut end = first;
        for (place, run) in runs.iter().enumerate() {
            if !run.is_possible(number, depth) {
                return Err(Error::malformed(format!("the numbers of run {place} contradict each other")));
            }
            let next = end.checked_add(run.entries).filter(|next| i64::try_from(*next).is_ok());
            end = next.ok_or_else(|| Error::malformed(format!("run {place} ends beyond all entries")))?;
            starts.push(end);
        }
        let mut levels = vec![runs];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let above = last.chunks(FAN_OUT).map(|chunk| chunk.iter().copied().fold(Summary::default(), Summary::and));
            levels.push(above.collect());
        }
        Ok(Self { number, depth, starts, levels })
    }

    /// The entries that it covers.
    pub fn range(&self) -> Range<u64> {
        match (self.starts.first(), self.starts.last()) {
            (Some(first), Some(last)) => *first..*last,
            _ => 0..0,
        }
    }

    /// How many runs it has.
    pub fn runs(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The first entry of each run, and the end of the last.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The summaries of its runs.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::statistics::ColumnStatistics;
    /// let none = ColumnStatistics::new(sapwood::column::Number::F32, 1, 0, Vec::new())?;
    /// assert!(none.summaries().is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn summaries(&self) -> &[Summary] {
        self.levels.first().map_or(&[], Vec::as_slice)
    }

    /// The summary of all its entries.
    pub fn all(&self) -> Summary {
        self.levels.last().and_then(|last| last.first()).copied().unwrap_or_default()
    }

    /// A summary of some entries: that of all runs that have any of them. None if it does not cover all of them.
    pub fn over(&self, entries: Range<u64>) -> Option<Summary> {
        let all = self.range();
        if entries.start < all.start || entries.end > all.end || entries.is_empty() {
            return None;
        }
        let mut first = self.starts.partition_point(|start| *start <= entries.start).checked_sub(1)?;
        let mut end = self.starts.partition_point(|start| *start < entries.end).min(self.runs());
        let mut found = Summary::default();
        for level in &self.levels {
            while first < end && first % FAN_OUT != 0 {
                found = found.and(*level.get(first)?);
                first += 1;
            }
            while first < end && end % FAN_OUT != 0 {
                end -= 1;
                found = found.and(*level.get(end)?);
            }
            if first >= end {
                break;
            }
            if level.len() <= FAN_OUT {
                found = level.get(first..end)?.iter().copied().fold(found, Summary::and);
                break;
            }
            (first, end) = (first / FAN_OUT, end / FAN_OUT);
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Extremes;

    #[test]
    fn groups_answer_as_all_of_their_runs_do() {
        let run = |value: u64| Summary {
            entries: 1 + value % 3,
            items: 1 + value % 3,
            extremes: Some(Extremes::Unsigned(value * 7 % 1000, value * 7 % 1000)),
            shortest: 1,
            longest: 1,
            ..Summary::default()
        };
        for runs in [1, 2, 15, 16, 17, 255, 256, 257, 1000] {
            let all: Vec<Summary> = (0..runs).map(run).collect();
            let column = ColumnStatistics::new(Number::U32, 0, 5, all.clone()).unwrap();
            let end = column.range().end;
            for (start, stop) in (5..end).step_by(7).flat_map(|a| (a + 1..=end).step_by(31).map(move |b| (a, b))) {
                let starts = column.starts();
                let meets = |run: &usize| starts[*run] < stop && starts[run + 1] > start;
                let plain = (0..all.len()).filter(meets).map(|run| all[run]).fold(Summary::default(), Summary::and);
                assert_eq!(column.over(start..stop), Some(plain), "{runs} runs, {start}..{stop}");
            }
            assert_eq!(column.over(4..6), None);
            assert_eq!(column.over(5..end + 1), None);
        }
    }
}
