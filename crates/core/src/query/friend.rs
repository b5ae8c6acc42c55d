//! Friends of a tree, and the two expressions that say which of their entries belong to it.

use std::sync::Arc;

use super::gather::{Run, gather, of_parts, present, push};
use super::loaded::Loaded;
use super::select::Query;
use super::source::{Friend, Join, Keys, Source};
use super::tree_index::TreeIndex;
use crate::column::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Progress, Selection};
use crate::tree::Tree;

impl Source {
    /// The same with a friend, whose columns are `name.column`, or `column` where no other has that name.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) for a second friend of a name, and for a friend by index those of
    /// [`Query::value`](super::Query::value): the tree must have what the index is of.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Draw, Friend, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let source = Source::from(&tree).with_friend(Friend::new("other", &tree))?;
    /// assert!(Draw::new(source, "other.Jet_pt", "nJet > 2")?.run(0..10)?.entries() > 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_friend(self, friend: Friend) -> Result<Self> {
        if self.has_friend(friend.name()) {
            let words = format!("there is a friend {:?} already: give this one another name", friend.name());
            return Err(self.place(Error::new(ErrorKind::Exists, words)));
        }
        let Some(index) = friend.index() else { return Ok(self.and(friend)) };
        let (major, minor) = (index.major(), index.minor());
        let keys = Pair::new(self.alone(), major, minor).map_err(|error| {
            let words = format!(
                "{} (the friend {:?} has an index of {major:?} and {minor:?}, which the tree needs, too)",
                error.message(),
                friend.name(),
            );
            Error::new(error.kind(), words)
        })?;
        Ok(self.and(friend.with_keys(Arc::new(keys))))
    }
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
    /// Those of [`by_stored_index`](Self::by_stored_index).
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
    pub fn stored(name: &str, tree: &Arc<Tree>) -> Result<Self> {
        Self::new(name, tree).by_stored_index()
    }

    /// The same by the indexes that its trees bring along; by number of entry where none has one.
    ///
    /// # Errors
    ///
    /// Those of [`TreeIndex::stored`], and [`Mismatch`](crate::ErrorKind::Mismatch) where only some trees have an
    /// index, or these are of different expressions.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Friend, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let parts = vec![Source::from(&tree), Source::from(&tree)];
    /// assert!(Friend::of_parts("twice", parts, 0)?.by_stored_index().is_ok());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn by_stored_index(self) -> Result<Self> {
        let stored = |part: &Source| {
            let Some(tree) = part.tree() else { return Ok(None) };
            let index = TreeIndex::stored(tree)?;
            if let Some(index) = &index {
                check_large_values(index, part).map_err(|error| part.place(error))?;
            }
            Ok(index)
        };
        let mut found = self.parts.iter().map(stored).collect::<Result<Vec<_>>>()?;
        let Some(first) = found.iter().flatten().next() else { return Ok(self) };
        let (major, minor) = (first.major().to_owned(), first.minor().to_owned());
        let (mut rows, mut before) = (Vec::new(), 0_u64);
        for (part, index) in self.parts.iter().zip(&mut found) {
            let Some(index) = index.take().filter(|index| (index.major(), index.minor()) == (&*major, &*minor)) else {
                let words = format!(
                    "one tree of the friend {:?} has an index of {major:?} and {minor:?}, and this one has none like \
                     it: say which expressions count, or that entries are matched by number",
                    self.name
                );
                return Err(part.place(Error::mismatch(words)));
            };
            rows.extend(index.into_rows().into_iter().map(|(major, minor, entry)| (major, minor, before + entry)));
            before = before.saturating_add(part.entries());
        }
        self.by_index(TreeIndex::of(&major, &minor, rows))
    }

    /// The same, one of whose trees has one more friend of its own: expressions find its branches, too.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a tree that the friend does not have, and those of
    /// [`Source::with_friend`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Friend, Query, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let friend = Friend::new("twin", &tree).with_friend_of(0, Friend::new("third", &tree))?;
    /// let query = Query::new(Source::from(&tree).with_friend(friend)?).value("third.nJet")?;
    /// assert_eq!(query.read(0..10)?.columns[0].len, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_friend_of(mut self, tree: usize, friend: Self) -> Result<Self> {
        let words = || Error::not_found(format!("the friend {:?} has no tree {tree}", self.name));
        let part = self.parts.get(tree).ok_or_else(words)?.clone().with_friend(friend)?;
        self.parts[tree] = part;
        Ok(self)
    }

    /// Its index, if it has one, and its name.
    pub(super) fn index(&self) -> Option<&TreeIndex> {
        match &self.join {
            Join::Entry(_) => None,
            Join::Index(index, _) => Some(index),
        }
    }

    /// The name by which expressions know it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same, with what the two expressions of its index are for the entries of a tree.
    pub(super) fn with_keys(self, keys: Arc<dyn Keys>) -> Self {
        match self.join {
            Join::Index(index, _) => Self { join: Join::Index(index, Some(keys)), ..self },
            Join::Entry(_) => self,
        }
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
            // Rows are taken of what pointers lead to, each of which knows its own column's objects alone.
            let columns: Vec<_> = of.iter().map(|loaded| loaded.column.followed()).collect::<Result<_>>()?;
            let runs = of_parts(&rows, &columns.iter().map(|column| column.len).collect::<Vec<_>>());
            let column = gather(&columns, &runs, most_bytes).map_err(|error| error.in_object(&self.name))?;
            let is_whole = of.iter().all(|loaded| loaded.present.is_none());
            let present = match is_whole && runs.iter().all(|run| matches!(run, Run::Of(..))) {
                true => None,
                false => Some(runs.iter().flat_map(|run| present(run, &of)).collect::<Arc<[bool]>>()),
            };
            found.push(Loaded::new(column, present));
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
        let keys = keys.of(entries)?;
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

    /// Its trees, one after another.
    pub(super) fn parts(&self) -> &[Source] {
        &self.parts
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
            found.push(part.columns(&ids, &own, progress).map_err(|error| error.in_object(&self.name))?);
            first = end;
        }
        Ok(found)
    }

    /// The number of a column of the first tree in another one.
    fn id_in(&self, part: &Source, number: usize, id: usize) -> Result<usize> {
        let Some(first) = self.first().filter(|_| number > 0) else { return Ok(id) };
        let name = first.name_of(id)?;
        match part.find_exact(&name)? {
            Some(found) if found.member.is_none() => {
                // Expressions are bound to the types of the first.
                let (first, other) = (first.kind(id)?, part.kind(found.id)?);
                if first == other {
                    return Ok(found.id);
                }
                let words = format!(
                    "the friend {:?} has branches {name:?} of different types: {first:?}, {other:?}",
                    self.name
                );
                Err(part.place(Error::mismatch(words)))
            }
            _ => {
                let words = format!("the friend {:?} lacks the branch {name:?} in one of its trees", self.name);
                Err(part.place(Error::not_found(words)))
            }
        }
    }
}

impl TreeIndex {
    /// Reads both values of all entries of trees that follow one another: branches or expressions, whose fractions are
    /// cut off. Of several entries with the same values the first counts.
    ///
    /// # Errors
    ///
    /// Those of [`Query::read`], and [`Mismatch`](crate::ErrorKind::Mismatch) for lists.
    pub fn build(parts: &[Source], major: &str, minor: &str) -> Result<Self> {
        let (mut rows, mut first) = (Vec::new(), 0_u64);
        for part in parts {
            let keys = Pair::new(part.clone(), major, minor)?.read(&(0..part.entries()).try_into()?)?;
            rows.extend(keys.into_iter().enumerate().map(|(row, (major, minor))| (major, minor, first + row as u64)));
            first = first.saturating_add(part.entries());
        }
        Ok(Self::of(major, minor, rows))
    }
}

/// Checks that a stored index keeps its values apart: ROOT stores all unsigned ones from 2^63 on as one number.
fn check_large_values(index: &TreeIndex, part: &Source) -> Result<()> {
    let texts = [index.major(), index.minor()];
    for (text, _) in texts.iter().zip(index.has_smallest()).filter(|(_, has_smallest)| *has_smallest) {
        let query = Query::new(part.clone()).value(text)?;
        if query.values.iter().any(|value| value.bound.number() == Some(Number::U64)) {
            return Err(Error::unsupported(format!(
                "the index that is stored with this tree does not keep values of {text} from 2^63 on apart: match \
                 entries by an index that is built from {:?} and {:?}",
                texts[0], texts[1]
            )));
        }
    }
    Ok(())
}

/// Two expressions with a whole number for each entry of a tree.
#[derive(Clone, Debug)]
pub(super) struct Pair(Query);

impl Pair {
    pub(super) fn new(source: Source, major: &str, minor: &str) -> Result<Self> {
        let query = Query::new(source).value(major)?.value(if minor.is_empty() { "0" } else { minor })?;
        for value in &query.values {
            if value.bound.depth > 0 || value.bound.number().is_none() {
                let words = format!("{:?} is not one number an entry, which is needed to match entries", value.text);
                return Err(Error::mismatch(words));
            }
        }
        Ok(Self(query))
    }

    /// Columns that it needs.
    pub(super) fn needed(&self) -> Vec<usize> {
        self.0.needed()
    }

    /// Its two values of some entries.
    pub(super) fn read(&self, entries: &Selection) -> Result<Vec<(i64, i64)>> {
        let found = self.0.read(entries.clone())?;
        let wholes = |place: usize| match found.columns.get(place).map(|column| (&column.kind, column)) {
            Some((crate::column::Kind::Number { buffer, number }, column)) => {
                Ok(number.wholes(&column.buffer(*buffer)).collect::<Vec<i64>>())
            }
            _ => Err(Error::internal("a value that entries are matched by is no number")),
        };
        Ok(wholes(0)?.into_iter().zip(wholes(1)?).collect())
    }
}

impl Keys for Pair {
    fn of(&self, entries: &Selection) -> Result<Vec<(i64, i64)>> {
        self.read(entries)
    }
}
