//! Advice on cuts: how many baskets statistics skip, and how many more after sorting.

use super::index::{MAX_PART, part_of, parts_for, statistics_of};
use crate::error::{ErrorKind, Result};
use crate::progress;
use crate::statistics::{ColumnStatistics, Extremes, Summary};
use crate::table::Table;

/// The part of the entries that the cut keeps.
const KEPT: f64 = 0.01;

/// Advice on a column: the baskets that a cut on its largest values skips, if it keeps 1 % of the entries.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::{doctor::diagnose, io_cost::Reader};
/// let file = sapwood::File::open(path)?;
/// let mut diagnosis = diagnose(&file, None, &Reader::default())?;
/// diagnosis.add_cuts(&file)?;
/// let cuts = &diagnosis.trees[0].cuts;
/// assert!(cuts.iter().all(|cut| cut.skipped <= cut.runs && cut.gain() <= cut.runs));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CutAdvice {
    /// The column's name in expressions.
    pub column: String,
    /// Its baskets or pages.
    pub runs: usize,
    /// The part of its range that a basket has on average.
    pub part: f64,
    /// Whether statistics of it help at all, as `sapwood index` decides it for wide trees.
    pub is_useful: bool,
    /// Baskets that the cut skips. Values are taken to be spread evenly within each basket.
    pub skipped: usize,
    /// Baskets that it would skip if the entries were sorted by the column.
    pub skipped_if_sorted: usize,
}

impl CutAdvice {
    /// Baskets that only sorting lets the cut skip.
    pub fn gain(&self) -> usize {
        self.skipped_if_sorted.saturating_sub(self.skipped)
    }
}

/// Advice on each column with one number per entry and several baskets; those that gain most by sorting come first.
pub(super) fn of_table(table: &Table) -> Result<Vec<CutAdvice>> {
    let columns = table.columns();
    let mut found = Vec::new();
    for (done, column) in columns.iter().enumerate() {
        progress::at(done as u64, columns.len() as u64)?;
        // Columns of unknown types have no numbers.
        let Ok(kind) = table.stored_kind(column.id) else { continue };
        let [part] = &parts_for(table, &kind)[..] else { continue };
        if part.depth > 0 || !part.members.is_empty() {
            continue;
        }
        let statistics = match table.statistics(column.id, &[]) {
            Some(stored) => ColumnStatistics::clone(&stored),
            None => match statistics_of(table, column.id) {
                Err(error) if error.kind() == ErrorKind::Unsupported => continue,
                made => match made?.pop() {
                    Some((_, made)) => made,
                    None => continue,
                },
            },
        };
        found.extend(advice(table.path(column.id).unwrap_or_default(), &statistics));
    }
    found.sort_by(|a, b| b.gain().cmp(&a.gain()).then(a.part.total_cmp(&b.part)));
    Ok(found)
}

/// The advice on a column; none if it has one basket, one value, or values without a scale.
fn advice(column: &str, statistics: &ColumnStatistics) -> Option<CutAdvice> {
    let runs = statistics.summaries();
    let (least, largest) = bounds(&statistics.all())?;
    if runs.len() < 2 || !(largest - least).is_finite() || largest <= least {
        return None;
    }
    let wanted = KEPT * statistics.all().entries as f64;
    // Entries at or above the threshold fall as it rises.
    let mut low = least;
    let mut high = largest;
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if runs.iter().map(|run| entries_above(run, middle)).sum::<f64>() > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    let is_skipped = |run: &&Summary| bounds(run).is_none_or(|(_, largest)| largest < low);
    // Equal values may lie on both sides of a border.
    let read_if_sorted = (KEPT * runs.len() as f64).ceil() as usize + 1;
    let skipped = runs.iter().filter(is_skipped).count();
    let part = part_of(statistics);
    Some(CutAdvice {
        column: column.to_owned(),
        runs: runs.len(),
        part,
        is_useful: part < MAX_PART,
        skipped,
        skipped_if_sorted: runs.len().saturating_sub(read_if_sorted).max(skipped),
    })
}

fn bounds(run: &Summary) -> Option<(f64, f64)> {
    Some(match run.extremes? {
        Extremes::Signed(least, largest) => (least as f64, largest as f64),
        Extremes::Unsigned(least, largest) => (least as f64, largest as f64),
        Extremes::Real(least, largest) => (least, largest),
    })
}

/// Entries of a run with values of at least the threshold, if its values are spread evenly.
fn entries_above(run: &Summary, threshold: f64) -> f64 {
    let Some((least, largest)) = bounds(run) else { return 0.0 };
    let part =
        if largest > least { (largest - threshold) / (largest - least) } else { f64::from(largest >= threshold) };
    part.clamp(0.0, 1.0) * run.entries as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Number;

    fn statistics(runs: impl IntoIterator<Item = (i64, i64)>) -> ColumnStatistics {
        let run = |(least, largest)| Summary {
            entries: 100,
            items: 100,
            extremes: Some(Extremes::Signed(least, largest)),
            shortest: 1,
            longest: 1,
            ..Summary::default()
        };
        ColumnStatistics::new(Number::I64, 0, 0, runs.into_iter().map(run).collect()).unwrap()
    }

    #[test]
    fn a_rising_column_skips_all_but_the_end_and_a_scattered_one_nothing() {
        let rising = advice("run", &statistics((0..200).map(|run| (100 * run, 100 * run + 99)))).unwrap();
        assert_eq!((rising.skipped, rising.skipped_if_sorted, rising.gain()), (197, 197, 0));
        assert!(rising.is_useful && rising.part < 0.01);
        let scattered = advice("x", &statistics((0..200).map(|run| (run % 3, 20_000 - run % 5)))).unwrap();
        assert_eq!((scattered.skipped, scattered.gain(), scattered.is_useful), (0, 197, false));
        // Blocks of files that were merged in no order.
        let blocks = advice("t", &statistics((0..200).map(|run| (run * 77 % 200 * 100, run * 77 % 200 * 100 + 99))));
        assert_eq!(blocks.map(|blocks| blocks.skipped), Some(197));
    }

    #[test]
    fn one_basket_or_one_value_has_no_advice() {
        assert_eq!(advice("x", &statistics([(0, 5)])), None);
        assert_eq!(advice("x", &statistics([(5, 5), (5, 5)])), None);
    }
}
