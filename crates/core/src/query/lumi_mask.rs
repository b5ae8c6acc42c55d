//! Luminosity masks: which entries belong to certified luminosity sections of a run.

use std::collections::BTreeMap;

use super::friend::Pair;
use super::source::Source;
use super::step::STEP_BYTES;
use crate::error::{Error, Result};
use crate::read::Selection;

/// Certified luminosity sections by run: what a "golden JSON" holds.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{LumiMask, Source};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let mask = LumiMask::new([(1, vec![(2, 3), (7, 7)])])?;
/// assert!(mask.contains(1, 7) && !mask.contains(1, 4) && !mask.contains(2, 2));
/// // Here the number of an entry stands in for its luminosity section.
/// let passing = mask.passing(&Source::from(&tree), 0..10, ["1", "Entry$"])?;
/// assert_eq!(passing.ranges().collect::<Vec<_>>(), [2..4, 7..8]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LumiMask {
    /// First and last section of each range, ascending, without overlaps.
    runs: BTreeMap<i64, Vec<(i64, i64)>>,
}

impl LumiMask {
    /// Ranges of sections, first and last, of each run: in any order.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a range that ends before it begins, naming it.
    pub fn new(runs: impl IntoIterator<Item = (i64, Vec<(i64, i64)>)>) -> Result<Self> {
        let mut mask = Self::default();
        for (run, ranges) in runs {
            if let Some((first, last)) = ranges.iter().find(|(first, last)| first > last) {
                let words = format!("the luminosity sections [{first}, {last}] of run {run} end before they begin");
                return Err(Error::mismatch(words));
            }
            mask.runs.entry(run).or_default().extend(ranges);
        }
        for ranges in mask.runs.values_mut() {
            ranges.sort_unstable();
            let mut joined: Vec<(i64, i64)> = Vec::with_capacity(ranges.len());
            for &(first, last) in &*ranges {
                match joined.last_mut().filter(|before| first <= before.1) {
                    Some(before) => before.1 = before.1.max(last),
                    None => joined.push((first, last)),
                }
            }
            *ranges = joined;
        }
        Ok(mask)
    }

    /// Whether a luminosity section of a run is in it.
    pub fn contains(&self, run: i64, section: i64) -> bool {
        self.runs.get(&run).is_some_and(|ranges| {
            let after = ranges.partition_point(|range| range.0 <= section);
            after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| section <= range.1)
        })
    }

    /// The entries whose run and section are in it. Only these two columns are read: branches or expressions, in CMS
    /// `run` and `luminosityBlock`.
    ///
    /// # Errors
    ///
    /// Those of [`Query::read`](super::Query::read), and [`Mismatch`](crate::ErrorKind::Mismatch) for columns of lists.
    pub fn passing(
        &self,
        source: &Source,
        entries: impl TryInto<Selection, Error: Into<Error>>,
        columns: [&str; 2],
    ) -> Result<Selection> {
        let entries: Selection = entries.try_into().map_err(Into::into)?;
        let [run, section] = columns;
        let pair = Pair::new(source.clone(), run, section)?;
        let mut passing = Vec::new();
        let _stepping = source.stepping();
        for step in source.steps(&pair.needed(), &entries, STEP_BYTES, source.threads() == 1)? {
            let mut keys = pair.read(&step)?.into_iter();
            for range in step.ranges() {
                let is_in = |(run, section): (i64, i64)| self.contains(run, section);
                passing.extend(range.zip(&mut keys).filter(|(_, key)| is_in(*key)).map(|(entry, _)| entry));
            }
        }
        Selection::of_entries(passing)
    }
}
