//! What a read does: which baskets, in which order, in which windows.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::decode::Counts;
use super::pipeline::pipelined;
use super::scan::Scan;
use super::task::{self, Segment};
use super::windows::Windows;
use super::{Column, Selection};
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::tree::{BranchId, Tree};

/// A branch that counts for another one may itself be counted, and no deeper.
const MOST_COUNTERS: usize = 4;

/// A read that is planned: entries of branches, and the baskets that hold them.
///
/// However many ranges of entries and branches there are, each basket is requested and inflated once, and requests of
/// all of them are merged by cost, window by window. Making a plan reads nothing but the lists of baskets.
///
/// # Example
///
/// ```
/// use sapwood::read::{Plan, Selection};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let ids = [tree.branch("n")?.id, tree.branch("d")?.id];
/// let plan = Plan::new(&tree, &ids, Selection::of_ranges([0..5, 50..60])?)?;
/// println!("{} bytes in {} baskets", plan.stored_bytes(), plan.baskets());
/// let columns = plan.columns()?;
/// assert_eq!(columns[1].len, 15);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Plan<'t> {
    tree: &'t Tree,
    selection: Selection,
    scans: Vec<Scan<'t>>,
    /// Baskets in the order of entries.
    segments: Vec<Segment>,
    /// Where each column of the answer comes from.
    sources: Vec<Source>,
    /// Branches that count for others, which are read before.
    counters: Vec<Counters<'t>>,
}

/// Branches that count for others, for the same entries.
struct Counters<'t> {
    ids: Vec<BranchId>,
    plan: Plan<'t>,
}

/// Where a column of the answer comes from.
#[derive(Clone, Copy)]
enum Source {
    Scan(usize),
    /// It was read as a counter: of these, that one.
    Counter(usize, usize),
}

impl<'t> Plan<'t> {
    /// Plans to read branches `ids`, for the entries of a range or of a [`Selection`].
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if a branch lacks some of the entries,
    /// [`Malformed`](crate::ErrorKind::Malformed) if a basket of theirs is missing.
    pub fn new(tree: &'t Tree, ids: &[BranchId], entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Self> {
        let selection = entries.try_into().map_err(Into::into)?;
        Self::below(tree, ids, &selection, 0)
    }

    /// The same, for branches that count for others, which count for others ...
    fn below(tree: &'t Tree, ids: &[BranchId], selection: &Selection, depth: usize) -> Result<Self> {
        if depth > MOST_COUNTERS {
            return Err(tree.place(Error::malformed("branches count for each other").in_object(&tree.name)));
        }
        let mut distinct = Vec::with_capacity(ids.len());
        let mut places = HashMap::with_capacity(ids.len());
        for &id in ids {
            places.entry(id).or_insert_with(|| {
                distinct.push(id);
                distinct.len() - 1
            });
        }
        let scans = distinct.iter().map(|&id| Scan::new(tree, id, selection)).collect::<Result<Vec<_>>>()?;
        let counters = counters_of(tree, &scans, depth)?;
        // What counts for others is not read again for itself.
        let counts = |id: BranchId| {
            let of =
                |(at, counters): (usize, &Counters<'_>)| Some(Source::Counter(at, counters.position(id, selection)?));
            counters.iter().enumerate().find_map(of)
        };
        let mut kept = Vec::with_capacity(scans.len());
        let mut sources = Vec::with_capacity(scans.len());
        for (scan, &id) in scans.into_iter().zip(&distinct) {
            sources.push(counts(id).unwrap_or_else(|| {
                kept.push(scan);
                Source::Scan(kept.len() - 1)
            }));
        }
        let place = |id: &BranchId| sources.get(*places.get(id)?).copied();
        let missing = || Error::internal("a branch is in no part of the plan");
        let sources = ids.iter().map(|id| place(id).ok_or_else(missing)).collect::<Result<_>>()?;
        let segments = in_order(&kept);
        Ok(Self { tree, selection: selection.clone(), scans: kept, segments, sources, counters })
    }

    /// How many baskets are read.
    pub fn baskets(&self) -> usize {
        self.segments.len() + self.counters.iter().map(|counters| counters.plan.baskets()).sum::<usize>()
    }

    /// Bytes of these baskets, as stored. Baskets in the tree's own record have none.
    pub fn stored_bytes(&self) -> u64 {
        let of_counters = self.counters.iter().map(|counters| counters.plan.stored_bytes());
        let own = self.segments.iter().map(|segment| self.bytes(segment));
        own.chain(of_counters).fold(0, u64::saturating_add)
    }

    fn bytes(&self, segment: &Segment) -> u64 {
        self.scans.get(segment.scan).map_or(0, |scan| scan.stored_bytes(segment.basket))
    }

    /// Reads what is planned: a column for each branch, a row for each entry.
    ///
    /// # Errors
    ///
    /// What the store and decoding report.
    pub fn columns(self) -> Result<Vec<Column>> {
        self.read(&mut |_| Ok(()))
    }

    /// Reads what is planned, and says how far it is each time that some baskets are decoded. An error of `progress`
    /// ends the read.
    ///
    /// # Errors
    ///
    /// As [`columns`](Self::columns), and what `progress` returns.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Plan;
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let plan = Plan::new(&tree, &[tree.branch("d")?.id], 0..tree.entries)?;
    /// let columns = plan.columns_with(|progress| {
    ///     eprintln!("{} of {} bytes", progress.done_bytes, progress.total_bytes);
    ///     Ok(())
    /// })?;
    /// assert_eq!(columns[0].len as u64, tree.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn columns_with(self, mut progress: impl FnMut(Progress) -> Result<()>) -> Result<Vec<Column>> {
        let mut now = Progress { done_bytes: 0, total_bytes: self.stored_bytes() };
        self.read(&mut |bytes| {
            now.done_bytes = now.done_bytes.saturating_add(bytes);
            progress(now)
        })
    }

    /// Reads what is planned; `note` is told the bytes of each window.
    fn read(mut self, note: &mut dyn FnMut(u64) -> Result<()>) -> Result<Vec<Column>> {
        let mut counted = Vec::with_capacity(self.counters.len());
        for Counters { ids, plan } in std::mem::take(&mut self.counters) {
            let selection = plan.selection.clone();
            let columns = plan.read(note)?;
            for (&id, column) in ids.iter().zip(&columns) {
                let mut counts = None;
                for scan in self.scans.iter_mut().filter(|scan| scan.is_counted_by(id, &selection)) {
                    let counts = match &counts {
                        Some(counts) => Arc::clone(counts),
                        None => Arc::clone(counts.insert(Arc::new(Counts::new(&selection, column)?))),
                    };
                    scan.counts = Some(counts);
                }
            }
            counted.push((selection, columns));
        }
        let own = self.read_scans(note)?;
        let missing = || Error::internal("a branch was read and gave no column");
        let column = |source: &Source| match *source {
            Source::Scan(at) => own.get(at).cloned().ok_or_else(missing),
            Source::Counter(at, of) => {
                let (held, columns) = counted.get(at).ok_or_else(missing)?;
                columns.get(of).ok_or_else(missing)?.of_entries(held, &self.selection)
            }
        };
        self.sources.iter().map(column).collect()
    }

    /// Reads the branches that count for no other one, window by window.
    fn read_scans(&self, note: &mut dyn FnMut(u64) -> Result<()>) -> Result<Vec<Column>> {
        let Self { tree, scans, .. } = self;
        let session = &tree.file().options().session;
        let pieces = self.segments.iter().map(|segment| {
            let scan = &scans[segment.scan];
            (scan.stored_bytes(segment.basket), scan.place(segment.basket).entries.start)
        });
        let mut windows = Windows::new(tree.file(), tree.cache(), pieces, tree.cluster_borders());
        let origin = |index: usize| task::origin(scans, &self.segments[index]);
        let of = |segment: &Segment| scans[segment.scan].all_bytes(segment.basket);
        let all_bytes = self.segments.iter().map(of).fold(0, u64::saturating_add);
        let answers = pipelined(session, scans, all_bytes, |mut pipeline| {
            loop {
                let next = windows.next(origin, |error| tree.place(error));
                if !matches!(next, Ok(Some(_))) {
                    // Also before an error: those of baskets in earlier windows come first.
                    pipeline.drain()?;
                    note(pipeline.done_bytes())?;
                }
                let Some((window, records)) = next? else { return Ok(pipeline.answers()) };
                pipeline.push(&self.segments[window], records)?;
                note(pipeline.done_bytes())?;
            }
        })?;
        answers.into_iter().zip(scans).map(|(answer, scan)| answer.finish(scan)).collect()
    }
}

impl Counters<'_> {
    /// Which of them a branch is, if its column can be that of `selection`.
    fn position(&self, id: BranchId, selection: &Selection) -> Option<usize> {
        let found = self.ids.iter().position(|&counter| counter == id)?;
        let is_same = self.plan.selection == *selection;
        let is_plain = self.plan.tree.interpretation(id).is_ok_and(|found| matches!(found.kind, Kind::Number { .. }));
        (is_same || is_plain && selection.is_within(&self.plan.selection)).then_some(found)
    }
}

/// Plans to read the branches that count for others: each once, and those of the same entries together.
fn counters_of<'t>(tree: &'t Tree, scans: &[Scan<'t>], depth: usize) -> Result<Vec<Counters<'t>>> {
    let mut needed: Vec<(BranchId, Selection)> = Vec::new();
    for (id, selection) in scans.iter().filter_map(|scan| scan.counted_by.as_ref()) {
        match needed.iter_mut().find(|(counter, _)| counter == id) {
            Some((_, before)) => *before = before.and(selection)?,
            None => needed.push((*id, selection.clone())),
        }
    }
    let mut together: Vec<(Vec<BranchId>, Selection)> = Vec::new();
    for (id, selection) in needed {
        match together.iter_mut().find(|(_, others)| *others == selection) {
            Some((ids, _)) => ids.push(id),
            None => together.push((vec![id], selection)),
        }
    }
    let plan = |(ids, selection): (Vec<BranchId>, Selection)| {
        let plan = Plan::below(tree, &ids, &selection, depth + 1)?;
        Ok(Counters { ids, plan })
    };
    together.into_iter().map(plan).collect()
}

/// The baskets of branches in the order of entries, so that a window holds baskets of the same entries.
fn in_order(scans: &[Scan<'_>]) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(scans.iter().map(|scan| scan.pieces.len()).sum());
    for (index, scan) in scans.iter().enumerate() {
        let pieces = scan.pieces.iter().enumerate();
        segments.extend(pieces.map(|(position, piece)| Segment { scan: index, position, basket: piece.basket }));
    }
    segments.sort_by_key(|segment| (scans[segment.scan].place(segment.basket).entries.start, segment.scan));
    segments
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("tree", &self.tree.name)
            .field("baskets", &self.baskets())
            .field("stored_bytes", &self.stored_bytes())
            .finish()
    }
}
