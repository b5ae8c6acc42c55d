//! Friends: trees whose values are those of the entries of another tree, by number or by an index.

use std::sync::Arc;

use super::gather::{Run, gather, push};
use super::source::{Loaded, Source};
use super::tree_index::{Keys, TreeIndex};
use crate::column::Kind;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Progress, Selection};

/// A tree, or trees that follow one another, whose values belong to the entries of another tree: `TTree::AddFriend`.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Friend, Query, Source};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let source = Source::from(&tree).with_friend(Friend::new("twin", &tree))?;
/// let found = Query::new(source).value("twin.nJet - nJet")?.read(0..tree.entries)?;
/// assert_eq!(found.columns[0].numbers::<i64>()?, [0; 10]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Friend {
    pub(super) name: Arc<str>,
    /// Trees of the same columns, one after another.
    parts: Vec<Source>,
    join: Join,
}

/// Which entry of a friend belongs to one of its tree.
#[derive(Clone, Debug)]
enum Join {
    /// The one with the same number, counted from this one.
    Entry(u64),
    /// The one for which two expressions have the same values; those of the tree once it is known.
    Index(Arc<TreeIndex>, Option<Box<Keys>>),
}

impl Friend {
    /// A friend by number of entry, or by the index that its tree brings along: see [`stored`](Self::stored).
    pub fn new(name: &str, source: impl Into<Source>) -> Self {
        Self { name: name.into(), parts: vec![source.into()], join: Join::Entry(0) }
    }

    /// Trees that follow one another, of which entry `first` belongs to the first entry of the tree.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for no trees.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Friend, Query, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let part = || Source::from(&tree);
    /// let two = Friend::of_parts("two", vec![part(), part()], 5)?;
    /// let found = Query::new(part().with_friend(two)?).value("two.nJet")?.read(0..10)?;
    /// let jets = Query::new(&tree).value("nJet")?.read(0..10)?.columns[0].numbers::<u32>()?;
    /// assert_eq!(found.columns[0].numbers::<u32>()?, [&jets[5..], &jets[..5]].concat());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_parts(name: &str, parts: Vec<Source>, first: u64) -> Result<Self> {
        match parts.is_empty() {
            true => Err(Error::mismatch(format!("the friend {name:?} has no tree"))),
            false => Ok(Self { name: name.into(), parts, join: Join::Entry(first) }),
        }
    }

    /// The same by an index: an entry of the friend belongs to those of the tree for which the two expressions of the
    /// index have the same values.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for an index with entries that the friend does not have.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Friend, Query, Source, TreeIndex};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let index = TreeIndex::build(&[Source::from(&tree)], "nJet", "0")?;
    /// let friend = Friend::new("first", &tree).by_index(index)?;
    /// let query = Query::new(Source::from(&tree).with_friend(friend)?).value("first.nJet == nJet")?;
    /// assert!(query.read(0..10)?.columns[0].numbers::<bool>()?.iter().all(|is_same| *is_same));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn by_index(self, index: TreeIndex) -> Result<Self> {
        let entries = self.entries();
        if let Some(last) = index.last().filter(|last| *last >= entries) {
            let words = format!("the index of the friend {:?} has entries that it lacks", self.name);
            return Err(Error::mismatch(words).wanted(entries, last + 1));
        }
        Ok(Self { join: Join::Index(Arc::new(index), None), ..self })
    }

    /// A tree by the index that is stored with it, and without one by number of entry: what ROOT does.
    ///
    /// # Errors
    ///
    /// Those of [`TreeIndex::stored`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Friend, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// assert!(Source::from(&tree).with_friend(Friend::stored("twin", &tree)?).is_ok());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stored(name: &str, tree: &Arc<crate::tree::Tree>) -> Result<Self> {
        let friend = Self::new(name, tree);
        match TreeIndex::stored(tree)? {
            Some(index) => friend.by_index(index),
            None => Ok(friend),
        }
    }

    /// The same, as a friend of a tree.
    pub(super) fn of(mut self, tree: &Source) -> Result<Self> {
        if let Join::Index(index, keys) = &mut self.join {
            let made = Keys::new(tree.clone(), index.major(), index.minor()).map_err(|error| {
                let words = format!(
                    "{} (the friend {:?} has an index of {:?} and {:?}, which the tree needs, too)",
                    error.message(),
                    self.name,
                    index.major(),
                    index.minor()
                );
                Error::new(error.kind(), words)
            })?;
            *keys = Some(Box::new(made));
        }
        Ok(self)
    }

    /// Whose columns its own are, by number.
    pub(super) fn first(&self) -> Option<&Source> {
        self.parts.first()
    }

    /// Entries of all of its trees.
    fn entries(&self) -> u64 {
        self.parts.iter().map(Source::entries).fold(0, u64::saturating_add)
    }

    /// Columns for entries of the tree.
    pub(super) fn columns(
        &self,
        ids: &[usize],
        entries: &Selection,
        most_bytes: u64,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Loaded>> {
        let (wanted, rows) = self.wanted(entries)?;
        let mut parts = self.read(ids, &wanted, progress)?;
        // Columns of the parts, by part: as columns by number.
        let count = parts.len();
        let is_same = count == 1 && rows.iter().all(|run| matches!(run, Run::Of(..))) && rows.len() <= 1;
        let is_same = is_same && wanted.len() == entries.len();
        let mut found = Vec::with_capacity(ids.len());
        if is_same {
            return Ok(parts.pop().unwrap_or_default());
        }
        for place in 0..ids.len() {
            let of: Vec<&Loaded> = parts.iter().filter_map(|part| part.get(place)).collect();
            let columns: Vec<_> = of.iter().map(|loaded| loaded.column.clone()).collect();
            let runs = of_parts(&rows, &columns.iter().map(|column| column.len).collect::<Vec<_>>());
            let column = gather(&columns, &runs, most_bytes).map_err(|error| self.place(error))?;
            let is_whole = of.iter().all(|loaded| loaded.present.is_none());
            let present = match is_whole && runs.iter().all(|run| matches!(run, Run::Of(..))) {
                true => None,
                false => Some(runs.iter().flat_map(|run| present(run, &of)).collect::<Arc<[bool]>>()),
            };
            found.push(Loaded { column, present });
        }
        Ok(found)
    }

    /// The entries of the friend that belong to some of the tree, and which of their rows belong to each of these.
    fn wanted(&self, entries: &Selection) -> Result<(Selection, Vec<Run>)> {
        let total = self.entries();
        let mut runs = Vec::new();
        let (index, keys) = match &self.join {
            Join::Entry(first) => {
                let mut row = 0;
                let mut ranges = Vec::new();
                for range in entries.ranges() {
                    let place = |entry: u64| entry.saturating_add(*first).min(total);
                    let there = place(range.start)..place(range.end);
                    let count = (there.end - there.start) as usize;
                    push(&mut runs, Run::Of(0, row..row + count));
                    push(&mut runs, Run::Missing((range.end - range.start) as usize - count));
                    row += count;
                    ranges.push(there);
                }
                return Ok((Selection::of_ranges(ranges)?, runs));
            }
            Join::Index(index, keys) => (index, keys),
        };
        let keys = keys.as_ref().ok_or_else(|| Error::internal("a friend has no tree"))?;
        let keys = keys.of(entries.clone())?;
        let found: Vec<Option<u64>> = keys.into_iter().map(|(major, minor)| index.entry(major, minor)).collect();
        let mut all: Vec<u64> = found.iter().copied().flatten().collect();
        all.sort_unstable();
        all.dedup();
        let wanted = Selection::of_entries(all)?;
        for entry in found {
            push(
                &mut runs,
                match entry.and_then(|entry| wanted.row(entry)) {
                    Some(row) => Run::Of(0, row as usize..row as usize + 1),
                    None => Run::Missing(1),
                },
            );
        }
        Ok((wanted, runs))
    }

    /// Columns of some of its entries, for each of its trees that has any; of the first one where none has.
    fn read(
        &self,
        ids: &[usize],
        wanted: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Vec<Loaded>>> {
        let mut found = Vec::new();
        let mut first = 0;
        for (number, part) in self.parts.iter().enumerate() {
            let end = first + part.entries();
            let rows = wanted.before(first)..wanted.before(end);
            if rows.is_empty() && !(wanted.is_empty() && number == 0) {
                first = end;
                continue;
            }
            let ranges = wanted.part(rows);
            let own = Selection::of_ranges(ranges.ranges().map(|range| range.start - first..range.end - first))?;
            let ids = ids.iter().map(|&id| self.id_in(part, number, id)).collect::<Result<Vec<_>>>()?;
            found.push(part.columns(&ids, &own, progress).map_err(|error| self.place(error))?);
            first = end;
        }
        Ok(found)
    }

    /// The number of a column of the first tree in another one.
    fn id_in(&self, part: &Source, number: usize, id: usize) -> Result<usize> {
        let Some(first) = self.first().filter(|_| number > 0) else { return Ok(id) };
        let name = first.name_of(id)?;
        match part.find_exact(&name)? {
            Some(found) if found.member.is_none() => Ok(found.id),
            _ => {
                let words = format!("the friend {:?} lacks the branch {name:?} in one of its trees", self.name);
                Err(part.place(Error::not_found(words)))
            }
        }
    }

    /// The type of a column.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
        self.first().ok_or_else(|| Error::internal("a friend has no tree"))?.kind(id)
    }

    fn place(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Mismatch | ErrorKind::Limit | ErrorKind::Unsupported => error.in_object(&self.name),
            _ => error,
        }
    }
}

/// Runs over the rows of all parts, one after another, as runs over each.
fn of_parts(rows: &[Run], lens: &[usize]) -> Vec<Run> {
    let mut runs = Vec::new();
    for run in rows {
        let Run::Of(_, rows) = run else {
            push(&mut runs, run.clone());
            continue;
        };
        let mut first = 0;
        for (part, len) in lens.iter().enumerate() {
            let end = first + len;
            let (start, stop) = (rows.start.max(first), rows.end.min(end));
            if start < stop {
                push(&mut runs, Run::Of(part, start - first..stop - first));
            }
            first = end;
        }
    }
    runs
}

/// Which rows of a run are there.
fn present(run: &Run, of: &[&Loaded]) -> Vec<bool> {
    match run {
        Run::Missing(rows) => vec![false; *rows],
        Run::Of(part, rows) => {
            let there = of.get(*part).and_then(|loaded| loaded.present.as_ref());
            match there.and_then(|there| there.get(rows.clone())) {
                Some(there) => there.to_vec(),
                None => vec![true; rows.len()],
            }
        }
    }
}
