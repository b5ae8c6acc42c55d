//! Finds entries by whole numbers that identify them, such as a run and an event number.

use std::collections::BTreeSet;
use std::ops::Range;

use super::interval::{Decision, Interval};
use super::select::Query;
use super::skip::decide_by;
use super::source::Source;
use super::span::Span;
use super::step::STEP_BYTES;
use super::tree_index::TreeIndex;
use crate::column::{Kind, Number};
use crate::error::{Error, Result};
use crate::read::Selection;

/// Different values of one column that statistics are compared with one by one. A range with more is read.
const MAX_VALUES: usize = 256;

/// Keys of some whole numbers each, such as events by run, luminosity section and number.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{FoundEntry, Lookup, Source};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// // Here the number of an entry stands in for that of its event.
/// let lookup = Lookup::new(2, [vec![1, 7], vec![2, 7], vec![1, 3]])?;
/// let found = lookup.find(&Source::from(&tree), 0..tree.entries, &["1", "Entry$"])?;
/// assert_eq!(found, [FoundEntry { entry: 3, key: 2 }, FoundEntry { entry: 7, key: 0 }]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lookup {
    width: usize,
    /// Keys with their numbers, ascending.
    keys: Vec<(Vec<i128>, usize)>,
    /// Values of the first column.
    first: BTreeSet<i128>,
}

/// An entry that has one of the keys of a [`Lookup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// The entry.
    pub entry: u64,
    /// The number of the key, from 0 on in the order in which keys were given.
    pub key: usize,
}

impl Lookup {
    /// Keys with `width` whole numbers each.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a key of another length, naming it, and for a width of 0.
    pub fn new(width: usize, keys: impl IntoIterator<Item = Vec<i128>>) -> Result<Self> {
        if width == 0 {
            return Err(Error::mismatch("a key has one whole number or more"));
        }
        let mut numbered = Vec::new();
        for (number, key) in keys.into_iter().enumerate() {
            if key.len() != width {
                let words = format!("key {number} has {} numbers, and there are {width} columns", key.len());
                return Err(Error::mismatch(words));
            }
            numbered.push((key, number));
        }
        numbered.sort_unstable();
        let first = numbered.iter().filter_map(|(key, _)| key.first().copied()).collect();
        Ok(Self { width, keys: numbered, first })
    }

    /// How many keys there are.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::query::Lookup::new(1, [vec![7], vec![8]])?.len(), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it is empty.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood::query::Lookup::new(1, [])?.is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The entries of which all columns have the numbers of a key, in their order. Columns are branches, fields or
    /// expressions with one whole number per entry.
    ///
    /// A stored index of two of the columns has the entries. Without one, statistics rule out what they can, and of
    /// the rest the first column is read before the others.
    ///
    /// # Errors
    ///
    /// Errors of [`Query::read`], and [`Mismatch`](crate::ErrorKind::Mismatch) for another number of columns, and for a
    /// column with lists, texts or fractions.
    pub fn find(
        &self,
        source: &Source,
        entries: impl TryInto<Selection, Error: Into<Error>>,
        columns: &[&str],
    ) -> Result<Vec<FoundEntry>> {
        if columns.len() != self.width {
            let words = format!("keys have {} numbers, and there are {} columns", self.width, columns.len());
            return Err(Error::mismatch(words));
        }
        let entries: Selection = entries.try_into().map_err(Into::into)?;
        if self.is_empty() || entries.is_empty() {
            return Ok(Vec::new());
        }
        let all = columns.iter().try_fold(Query::new(source.clone()), |query, text| query.value(text))?;
        check(&all)?;
        let candidates = match self.by_index(source, &entries, columns)? {
            Some(found) => found,
            None => self.by_statistics(source, entries, &all)?,
        };
        let first = Query::new(source.clone()).value(columns.first().copied().unwrap_or_default())?;
        let mut found = Vec::new();
        let _stepping = source.stepping();
        for step in source.steps(&all.needed(), &candidates, STEP_BYTES, source.threads() == 1)? {
            let [values] = &values_of(&first, &step)?[..] else { continue };
            let is_in = step.ranges().flatten().zip(values).filter(|(_, value)| self.first.contains(value));
            let narrowed = Selection::of_entries(is_in.map(|(entry, _)| entry))?;
            if narrowed.is_empty() {
                continue;
            }
            let columns = values_of(&all, &narrowed)?;
            let mut key = vec![0; self.width];
            for (row, entry) in narrowed.ranges().flatten().enumerate() {
                for (part, column) in key.iter_mut().zip(&columns) {
                    *part = column.get(row).copied().unwrap_or_default();
                }
                found.extend(self.equal(&key).map(|key| FoundEntry { entry, key }));
            }
        }
        Ok(found)
    }

    /// The numbers of the keys that are equal to one.
    fn equal(&self, key: &[i128]) -> impl Iterator<Item = usize> {
        let from = self.keys.partition_point(|(known, _)| known.as_slice() < key);
        let end = self.keys.partition_point(|(known, _)| known.as_slice() <= key);
        self.keys.get(from..end).unwrap_or_default().iter().map(|(_, number)| *number)
    }

    /// The entries that a stored index of two of the columns names; none without one that covers all entries.
    fn by_index(&self, source: &Source, entries: &Selection, columns: &[&str]) -> Result<Option<Selection>> {
        // An index that cannot be read is not a reason to fail: the columns are enough.
        let index = source.tree().and_then(|tree| TreeIndex::stored(tree).ok().flatten());
        let Some(index) = index.filter(|index| index.len() as u64 == source.entries()) else { return Ok(None) };
        let place = |name: &str| columns.iter().position(|column| *column == name);
        let (Some(major), Some(minor)) = (place(index.major()), place(index.minor())) else { return Ok(None) };
        let mut found = Vec::new();
        for (key, _) in &self.keys {
            // ROOT computes them as `long double`, which has 53 bits on some machines.
            let is_exact = |value: &&i128| value.unsigned_abs() <= 1 << 53;
            let number = |place: usize| key.get(place).filter(is_exact).and_then(|value| i64::try_from(*value).ok());
            let (Some(major), Some(minor)) = (number(major), number(minor)) else { return Ok(None) };
            found.extend(index.entries(major, minor));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|entry| entries.before(entry + 1) > entries.before(*entry));
        Selection::of_entries(found).map(Some)
    }

    /// The entries that may have a key, by statistics.
    fn by_statistics(&self, source: &Source, entries: Selection, columns: &Query) -> Result<Selection> {
        let bounds: Vec<_> = columns.values.iter().map(|value| &value.bound).collect();
        let decide = |intervals: &[Interval]| {
            if self.may_have(0..self.keys.len(), 0, intervals) { Decision::Look } else { Decision::Nothing }
        };
        match decide_by(source, &bounds, &columns.needed, &entries, &decide)? {
            Some(decided) => Ok(decided.look),
            None => Ok(entries),
        }
    }

    /// Whether some of the keys, which have equal numbers before `place`, have numbers in the intervals from there on.
    fn may_have(&self, keys: Range<usize>, place: usize, intervals: &[Interval]) -> bool {
        let Some(interval) = intervals.get(place) else { return !keys.is_empty() };
        let (least, largest) = match interval.span {
            Span::Nothing => return false,
            Span::Whole(_, least, largest) => (least, largest),
            Span::Real(..) | Span::Any => (i128::MIN, i128::MAX),
        };
        let Some(within) = self.keys.get(keys.clone()) else { return false };
        let value = |(key, _): &(Vec<i128>, usize)| key.get(place).copied().unwrap_or_default();
        let mut at = within.partition_point(|key| value(key) < least);
        for _ in 0..MAX_VALUES {
            let Some(one) = within.get(at).map(value).filter(|one| *one <= largest) else { return false };
            let end = at + within.get(at..).unwrap_or_default().partition_point(|key| value(key) == one);
            if self.may_have(keys.start + at..keys.start + end, place + 1, intervals) {
                return true;
            }
            at = end;
        }
        true
    }
}

/// Refuses columns that have not one whole number per entry.
fn check(columns: &Query) -> Result<()> {
    for value in &columns.values {
        let number = value.bound.number().filter(|number| !matches!(number, Number::F32 | Number::F64));
        if value.bound.depth > 0 || value.bound.may_lack() || number.is_none() {
            let words = format!("{:?} has not one whole number per entry, by which entries can be found", value.text);
            return Err(Error::mismatch(words));
        }
    }
    Ok(())
}

/// The whole numbers of each value of a query.
fn values_of(query: &Query, entries: &Selection) -> Result<Vec<Vec<i128>>> {
    let found = query.read(entries.clone())?;
    let wholes = |column: &crate::read::Column| match &column.kind {
        Kind::Number { buffer, number } => {
            let bytes = column.buffer(*buffer);
            let is_unsigned = *number == Number::U64;
            let whole = |value: i64| if is_unsigned { i128::from(value as u64) } else { i128::from(value) };
            Ok(number.wholes(&bytes).map(whole).collect())
        }
        _ => Err(Error::internal("a value that entries are found by is not a number")),
    };
    found.columns.iter().map(wholes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(least: i128, largest: i128) -> Interval {
        Interval::single(Span::Whole(super::super::number::Wide::I64, least, largest))
    }

    #[test]
    fn intervals_without_a_key_are_ruled_out() {
        let lookup = Lookup::new(2, [vec![1, 100], vec![1, 5], vec![3, 7]]).unwrap();
        let may = |a: (i128, i128), b: (i128, i128)| lookup.may_have(0..3, 0, &[single(a.0, a.1), single(b.0, b.1)]);
        assert!(may((1, 1), (5, 5)) && may((0, 9), (6, 7)) && may((1, 3), (50, 200)));
        assert!(!may((2, 2), (0, 200)) && !may((1, 1), (6, 99)) && !may((3, 9), (8, 100)));
        assert!(lookup.may_have(0..3, 0, &[Interval::any(0), single(7, 7)]));
        assert!(!lookup.may_have(0..3, 0, &[single(1, 1), Interval::single(Span::Nothing)]));
    }

    #[test]
    fn more_values_than_are_looked_at_are_read() {
        let lookup = Lookup::new(2, (0..1000).map(|number| vec![number, 0])).unwrap();
        assert!(lookup.may_have(0..1000, 0, &[single(0, 999), single(1, 1)]));
        assert!(!lookup.may_have(0..1000, 0, &[single(0, 100), single(1, 1)]));
    }

    #[test]
    fn keys_of_another_length_are_refused() {
        assert!(Lookup::new(2, [vec![1, 2], vec![1]]).unwrap_err().message().contains("key 1 has 1 numbers"));
        assert!(Lookup::new(0, []).is_err());
    }

    #[test]
    fn equal_keys_are_all_found() {
        let lookup = Lookup::new(1, [vec![4], vec![2], vec![4]]).unwrap();
        assert_eq!(lookup.equal(&[4]).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(lookup.equal(&[3]).count(), 0);
    }
}
