//! Finds the entries for which a cut has to be computed: statistics decide on all others.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::bound::{Bound, Op};
use super::estimate::Known;
use super::interval::{Decision, Interval};
use super::path::Path;
use super::source::Source;
use crate::column::Number;
use crate::error::Result;
use crate::read::Selection;
use crate::statistics::{ColumnStatistics, Summary};

/// Runs that are decided together before each of them is looked at, and such groups in a larger one.
const GROUP: usize = 16;

/// Decisions on entries that statistics make without reading any.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("decided.root");
/// # std::fs::copy(sapwood_testkit::example("nano.root"), &path)?;
/// use sapwood::{File, query::Query, statistics::SideFile};
/// let made = sapwood::inspect::index::make(&File::open(&path)?, &Default::default())?;
/// made.side_file.write(&SideFile::path_of(&path))?;
/// let tree = File::open(&path)?.tree("Events")?;
/// let decided = Query::new(&tree).cut("nJet > 1000")?.decided(0..10)?.expect("there are statistics");
/// assert_eq!((decided.none.len(), decided.all.len(), decided.look.len()), (10, 0, 0));
/// assert_eq!((decided.runs_none, decided.runs_all, decided.runs_look), (1, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Entries that cannot pass.
    pub none: Selection,
    /// Entries that all pass.
    pub all: Selection,
    /// Entries for which the cut is computed.
    pub look: Selection,
    /// Runs of entries that cannot pass. Runs end with the baskets or pages of all columns of the cut.
    pub runs_none: usize,
    /// Runs of entries that all pass.
    pub runs_all: usize,
    /// Runs of entries for which the cut is computed.
    pub runs_look: usize,
}

impl Decided {
    /// Entries that may pass.
    pub(super) fn wanted(&self) -> Result<Selection> {
        self.all.and(&self.look)
    }
}

/// Statistics of the columns of a cut, by their places.
type Columns = HashMap<usize, Vec<(Path, Arc<ColumnStatistics>)>>;

/// Decides on entries by the statistics of the columns of a cut; none without statistics.
pub(super) fn decide(source: &Source, cut: &Bound, needed: &[usize], entries: &Selection) -> Result<Option<Decided>> {
    let of_cut = |intervals: &[Interval]| intervals.first().map_or(Decision::Look, Interval::decide);
    decide_by(source, &[cut], needed, entries, &of_cut)
}

/// Decides on entries by intervals that hold all values of some expressions; none without statistics.
pub(super) fn decide_by(
    source: &Source,
    of: &[&Bound],
    needed: &[usize],
    entries: &Selection,
    decide: &dyn Fn(&[Interval]) -> Decision,
) -> Result<Option<Decided>> {
    if of.iter().any(|of| of.in_loop) || entries.is_empty() {
        return Ok(None);
    }
    let mut columns = Columns::new();
    let mut met = HashSet::new();
    of.iter().for_each(|of| gather(source, of, needed, &mut met, &mut columns));
    if columns.is_empty() {
        return Ok(None);
    }
    let starts = borders(&columns, entries.span());
    let of_range = |range: Range<u64>| {
        let column = |place: usize, path: &Path| of_column(&columns, place, path, range.clone());
        let entries = (range.start, range.end.saturating_sub(1));
        let known = Known { column: &column, entries, total: source.entries(), remembered: RefCell::default() };
        decide(&of.iter().map(|of| known.interval(of)).collect::<Vec<_>>())
    };
    let mut found = Found { starts: &starts, entries, parts: Vec::new() };
    let runs = starts.len().saturating_sub(1);
    for large in (0..runs).step_by(GROUP * GROUP) {
        let end = (large + GROUP * GROUP).min(runs);
        if found.note(large..end, &of_range) {
            continue;
        }
        for small in (large..end).step_by(GROUP) {
            let end = (small + GROUP).min(end);
            if !found.note(small..end, &of_range) {
                (small..end).for_each(|run| found.add(run..run + 1, of_range(found.range(run..run + 1))));
            }
        }
    }
    found.decided().map(Some)
}

/// Finds the statistics of all columns of an expression.
fn gather(source: &Source, bound: &Bound, needed: &[usize], met: &mut HashSet<usize>, into: &mut Columns) {
    if let Op::Column(place, path) = &bound.op
        && !path.follows
        && let Some(id) = needed.get(*place)
        && !into.get(place).is_some_and(|known| known.iter().any(|(known, _)| known.members == path.members))
        && let Some(found) = source.statistics(*id, &path.members)
    {
        into.entry(*place).or_default().push((path.clone(), found));
    }
    if let Op::Shared(shared) = &bound.op
        && met.insert(Arc::as_ptr(shared).addr())
    {
        gather(source, &shared.bound, needed, met, into);
    }
    bound.all_parts().into_iter().for_each(|part| gather(source, part, needed, met, into));
}

fn of_column(columns: &Columns, place: usize, path: &Path, range: Range<u64>) -> Option<(Summary, Number, usize)> {
    let (_, found) = columns.get(&place)?.iter().find(|(known, _)| known.members == path.members)?;
    found.over(range).map(|summary| (summary, found.number, found.depth))
}

/// Where runs of any of the columns begin within a range, its own ends included.
fn borders(columns: &Columns, span: Range<u64>) -> Vec<u64> {
    let mut starts = vec![span.start, span.end];
    for (_, column) in columns.values().flatten() {
        let own = column.starts();
        let first = own.partition_point(|start| *start <= span.start);
        let end = own.partition_point(|start| *start < span.end);
        starts.extend_from_slice(own.get(first..end).unwrap_or_default());
    }
    starts.sort();
    starts.dedup();
    starts
}

/// Runs of entries, and what was decided on them.
struct Found<'f> {
    starts: &'f [u64],
    entries: &'f Selection,
    /// Runs by their numbers, in order.
    parts: Vec<(Range<usize>, Decision)>,
}

impl Found<'_> {
    /// The entries of some runs.
    fn range(&self, runs: Range<usize>) -> Range<u64> {
        let at = |run: usize| self.starts.get(run).copied().unwrap_or(0);
        at(runs.start)..at(runs.end)
    }

    /// Decides on runs together; false if they have to be looked at one by one.
    fn note(&mut self, runs: Range<usize>, decide: &dyn Fn(Range<u64>) -> Decision) -> bool {
        let range = self.range(runs.clone());
        let is_wanted = self.entries.before(range.end) > self.entries.before(range.start);
        let decision = if is_wanted { decide(range) } else { Decision::Nothing };
        if decision == Decision::Look {
            return false;
        }
        self.add(runs, decision);
        true
    }

    fn add(&mut self, runs: Range<usize>, decision: Decision) {
        match self.parts.last_mut().filter(|(last, known)| *known == decision && last.end == runs.start) {
            Some((last, _)) => last.end = runs.end,
            None => self.parts.push((runs, decision)),
        }
    }

    /// The wanted entries by what was decided on them.
    fn decided(self) -> Result<Decided> {
        let mut ranges: [Vec<Range<u64>>; 3] = Default::default();
        let mut runs = [0; 3];
        let mut wanted = self.entries.ranges().peekable();
        for (of, decision) in &self.parts {
            let place = match decision {
                Decision::Nothing => 0,
                Decision::All => 1,
                Decision::Look => 2,
            };
            if let Some(count) = runs.get_mut(place) {
                *count += of.len();
            }
            let range = self.range(of.clone());
            let Some(into) = ranges.get_mut(place) else { continue };
            while let Some(next) = wanted.peek() {
                let start = next.start.max(range.start);
                let end = next.end.min(range.end);
                if start < end {
                    into.push(start..end);
                }
                if next.end > range.end {
                    break;
                }
                wanted.next();
            }
        }
        let [none, all, look] = ranges;
        let [runs_none, runs_all, runs_look] = runs;
        Ok(Decided {
            none: Selection::of_ranges(none)?,
            all: Selection::of_ranges(all)?,
            look: Selection::of_ranges(look)?,
            runs_none,
            runs_all,
            runs_look,
        })
    }
}
