//! The entries that are wanted, and the baskets that hold them.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::tree::BasketPlace;

/// Entries of a tree: ascending ranges that do not overlap. Cheap to clone.
///
/// A range, a list of ranges, a list of entries or a mask become one. What is read for it is in one plan, however many
/// ranges there are, and its rows are the entries in ascending order.
///
/// # Example
///
/// ```
/// use sapwood::read::Selection;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let wanted = Selection::of_entries([3, 4, 41])?;
/// assert_eq!(wanted.ranges().collect::<Vec<_>>(), [3..5, 41..42]);
/// let columns = sapwood::read::columns(&tree, &[tree.branch("d")?.id], wanted)?;
/// assert_eq!(columns[0].numbers::<f64>()?, [1.5, 2.0, 20.5]);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// use sapwood::read::Selection;
/// let wanted = Selection::of_ranges([3..5, 40..42])?;
/// assert_eq!((wanted.len(), wanted.is_empty(), wanted.span()), (4, false, 3..42));
/// assert_eq!((wanted.entry(2), wanted.row(40)), (Some(40), Some(2)));
/// assert_eq!(wanted.part(1..3), Selection::of_entries([4, 40])?);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Selection {
    runs: Arc<[Run]>,
    len: u64,
}

/// Consecutive entries.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    entries: Range<u64>,
    /// The row of the first of them.
    row: u64,
}

/// What is wanted of one basket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which of the branch's baskets.
    pub(crate) basket: usize,
    /// Which runs of the selection have entries in it.
    runs: Range<usize>,
    /// How many entries are wanted.
    pub(crate) rows: usize,
}

impl Selection {
    /// These ranges. Empty ones are left out, adjacent ones joined.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if they overlap, are not ascending, or if one ends before it starts.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Selection;
    /// assert_eq!(Selection::of_ranges([2..5, 5..6, 8..8, 10..20])?.len(), 14);
    /// assert!(Selection::of_ranges([3..5, 4..6]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Result<Self> {
        let (mut runs, mut len) = (Vec::<Run>::new(), 0);
        let mut end = 0;
        for range in ranges {
            if range.start > range.end {
                let words = "a range of entries ends before it starts";
                return Err(Error::mismatch(words).wanted(range.start, range.end));
            }
            if range.start < end {
                let words = "ranges of entries have to rise, and must not overlap";
                return Err(Error::mismatch(words).wanted(end, range.start));
            }
            end = range.end;
            if range.is_empty() {
                continue;
            }
            let row = len;
            len += range.end - range.start;
            match runs.last_mut().filter(|last| last.entries.end == range.start) {
                Some(last) => last.entries.end = range.end,
                None => runs.push(Run { entries: range, row }),
            }
        }
        Ok(Self { runs: runs.into(), len })
    }

    /// These entries, as an entry list has them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if each is not larger than the one before.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Selection;
    /// assert_eq!(Selection::of_entries([7, 8, 9])?, Selection::try_from(7..10)?);
    /// assert!(Selection::of_entries([8, 7]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_entries(entries: impl IntoIterator<Item = u64>) -> Result<Self> {
        // The largest number of 64 bits is refused: its range has no end.
        let one = |entry: u64| entry..entry.wrapping_add(1);
        Self::of_ranges(entries.into_iter().map(one))
    }

    /// The entries whose item is true; the first item is that of entry `first`.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the numbers of entries would exceed 64 bits.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Selection;
    /// let passed = Selection::of_mask(100, &[false, true, true, false])?;
    /// assert_eq!(passed, Selection::try_from(101..103)?);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_mask(first: u64, mask: &[bool]) -> Result<Self> {
        if first.checked_add(mask.len() as u64).is_none() {
            return Err(Error::mismatch("a mask ends beyond 64 bits").wanted(u64::MAX - first, mask.len() as u64));
        }
        Self::of_entries((first..).zip(mask).filter(|(_, is_wanted)| **is_wanted).map(|(entry, _)| entry))
    }

    /// How many entries there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ranges.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.runs.iter().map(|run| run.entries.clone())
    }

    /// From the first entry to the last one; `0..0` if there are none.
    pub fn span(&self) -> Range<u64> {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => first.entries.start..last.entries.end,
            _ => 0..0,
        }
    }

    /// The entry of a row.
    pub fn entry(&self, row: u64) -> Option<u64> {
        let run = self.runs.get(self.runs.partition_point(|run| run.row <= row).checked_sub(1)?)?;
        let entry = run.entries.start + (row - run.row);
        run.entries.contains(&entry).then_some(entry)
    }

    /// The row of an entry.
    pub fn row(&self, entry: u64) -> Option<u64> {
        let run = self.runs.get(self.runs.partition_point(|run| run.entries.end <= entry))?;
        run.entries.contains(&entry).then(|| run.row + (entry - run.entries.start))
    }

    /// How many of the entries are before this one.
    pub(crate) fn before(&self, entry: u64) -> u64 {
        match self.runs.get(self.runs.partition_point(|run| run.entries.end <= entry)) {
            Some(run) => run.row + entry.saturating_sub(run.entries.start),
            None => self.len,
        }
    }

    /// The entries of some rows.
    #[must_use]
    pub fn part(&self, rows: Range<u64>) -> Self {
        let first = self.runs.partition_point(|run| run.row + (run.entries.end - run.entries.start) <= rows.start);
        let held = self.runs.iter().skip(first).take_while(|run| run.row < rows.end);
        let mut len = 0;
        let cut = |run: &Run| {
            let start = run.entries.start + rows.start.saturating_sub(run.row);
            let end = run.entries.end.min(run.entries.start + (rows.end - run.row));
            let row = len;
            len += end - start;
            Run { entries: start..end, row }
        };
        let runs = held.map(cut).collect();
        Self { runs, len }
    }

    /// No entries.
    pub(crate) fn none() -> Self {
        Self { runs: Arc::new([]), len: 0 }
    }

    /// The entries that the other one has, too.
    pub(crate) fn within(&self, other: &Self) -> Result<Self> {
        let mut found = Vec::new();
        for range in self.ranges() {
            let first = other.runs.partition_point(|run| run.entries.end <= range.start);
            let held = other.runs.iter().skip(first).take_while(|run| run.entries.start < range.end);
            found.extend(held.map(|run| range.start.max(run.entries.start)..range.end.min(run.entries.end)));
        }
        Self::of_ranges(found)
    }

    /// The entries of both.
    pub(crate) fn and(&self, other: &Self) -> Result<Self> {
        if self == other {
            return Ok(self.clone());
        }
        let mut ranges: Vec<Range<u64>> = self.ranges().chain(other.ranges()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut end = 0;
        Self::of_ranges(ranges.into_iter().map(|range| {
            let start = range.start.max(end);
            end = range.end.max(end);
            start..end
        }))
    }

    /// Whether the other one has all of these entries.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.ranges().all(|range| match (other.row(range.start), other.row(range.end - 1)) {
            (Some(first), Some(last)) => last - first == range.end - 1 - range.start,
            _ => false,
        })
    }

    /// What is wanted of a piece's basket, which has `entries`: ascending ranges, counted from its first entry.
    pub(crate) fn rows<'s>(
        &'s self,
        piece: &Piece,
        entries: &Range<u64>,
    ) -> impl DoubleEndedIterator<Item = Range<usize>> + Clone + use<'s> {
        let Range { start, end } = *entries;
        let runs = self.runs.get(piece.runs.clone()).unwrap_or_default();
        runs.iter().map(move |run| {
            let from = run.entries.start.max(start) - start;
            from as usize..(run.entries.end.min(end) - start) as usize
        })
    }

    /// The baskets that hold the entries, each once. Takes time for the baskets and runs that meet, and for no others.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if an entry is in no basket, or in several.
    pub(crate) fn pieces(&self, baskets: &[BasketPlace]) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let (mut run, mut basket) = (0, 0);
        // The first entry that has no basket yet.
        let mut next = self.span().start;
        while let Some(Run { entries: wanted, .. }) = self.runs.get(run) {
            let ahead = baskets.get(basket..).unwrap_or_default();
            basket += ahead.partition_point(|basket| basket.entries.end <= next);
            let Some(BasketPlace { entries: held, .. }) = baskets.get(basket) else {
                return Err(Error::malformed("a branch lacks baskets").wanted(wanted.end, next));
            };
            let others = [basket.checked_sub(1), basket.checked_add(1)].into_iter().flatten();
            let overlaps = others.filter_map(|other| baskets.get(other)).any(|other| {
                let (start, end) = (held.start.max(other.entries.start), held.end.min(other.entries.end));
                start < end && self.runs_within(run, start..end) > 0
            });
            // A run may begin within a basket, but goes on with the first entry of the next one.
            let follows = held.contains(&next) && (next <= wanted.start || next == held.start);
            if !follows || overlaps {
                let words = "a branch's baskets do not follow one another: one is missing, or is listed twice";
                return Err(Error::malformed(words).in_basket(basket as u32).wanted(next, held.start));
            }
            let runs = run..run + self.runs_within(run, next..held.end);
            let of_run = |run: &Run| (run.entries.end.min(held.end) - run.entries.start.max(held.start)) as usize;
            let rows = self.runs.get(runs.clone()).unwrap_or_default().iter().map(of_run).sum();
            // The last run may go on in the next basket.
            run = runs.end;
            match self.runs.get(run - 1).filter(|last| last.entries.end > held.end) {
                Some(_) => (run, next) = (run - 1, held.end),
                None => next = self.runs.get(run).map_or(next, |following| following.entries.start),
            }
            pieces.push(Piece { basket, runs, rows });
            basket += 1;
        }
        Ok(pieces)
    }

    /// How many runs from number `run` on begin before the end of `entries`, and end after their start.
    fn runs_within(&self, run: usize, entries: Range<u64>) -> usize {
        let rest = self.runs.get(run..).unwrap_or_default();
        let first = rest.partition_point(|run| run.entries.end <= entries.start);
        rest.partition_point(|run| run.entries.start < entries.end).saturating_sub(first)
    }
}

impl TryFrom<Range<u64>> for Selection {
    type Error = Error;

    fn try_from(range: Range<u64>) -> Result<Self> {
        Self::of_ranges([range])
    }
}

impl From<&Selection> for Selection {
    fn from(selection: &Selection) -> Self {
        selection.clone()
    }
}

/// What never happens is no error: a [`Selection`] is wanted where one is given.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A list of ranges.
impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ranges()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::tree::BasketBytes;

    fn of(ranges: &[Range<u64>]) -> Selection {
        Selection::of_ranges(ranges.iter().cloned()).unwrap()
    }

    #[test]
    fn parts_of_a_selection_are_its_entries_in_order() {
        let selection = of(&[2..5, 5..5, 7..8, 10..20]);
        assert_eq!(selection.len(), 14);
        assert_eq!(selection.part(0..14), selection);
        assert_eq!(selection.part(1..5), of(&[3..5, 7..8, 10..11]));
        assert_eq!(selection.part(3..4), of(&[7..8]));
        assert_eq!(selection.part(12..14), of(&[18..20]));
        assert!(selection.part(14..14).is_empty() && selection.part(13..99) == of(&[19..20]));
        assert_eq!((of(&[0..3]).part(0..3), of(&[]).len()), (of(&[0..3]), 0));
        assert_eq!((of(&[]).span(), selection.span()), (0..0, 2..20));
        assert_eq!(selection.and(&of(&[0..3, 4..6, 11..12])).unwrap(), of(&[0..6, 7..8, 10..20]));
        assert_eq!(selection.and(&of(&[])).unwrap(), selection);
        assert!(of(&[3..5, 10..11]).is_within(&selection) && of(&[]).is_within(&selection));
        assert!(!of(&[3..8]).is_within(&selection) && !of(&[6..7]).is_within(&selection));
    }

    #[test]
    fn rows_and_entries_are_two_sides() {
        let selection = of(&[2..5, 7..8, 10..20]);
        for (row, entry) in selection.ranges().flatten().enumerate() {
            assert_eq!((selection.entry(row as u64), selection.row(entry)), (Some(entry), Some(row as u64)));
        }
        assert_eq!((selection.entry(14), of(&[]).entry(0)), (None, None));
        assert!([0, 1, 5, 6, 8, 9, 20].iter().all(|&entry| selection.row(entry).is_none()));
    }

    #[test]
    fn ranges_that_do_not_rise_are_refused() {
        for ranges in [&[3..5, 4..6][..], &[3..5, 0..2], &[Range { start: 3, end: 2 }]] {
            let error = Selection::of_ranges(ranges.iter().cloned()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        }
        assert!(Selection::of_entries([1, 1]).is_err() && Selection::of_mask(u64::MAX, &[true]).is_err());
    }

    fn pieces(baskets: &[BasketPlace], selection: &Selection) -> Result<Vec<(usize, Vec<Range<usize>>)>> {
        let found = selection.pieces(baskets)?;
        let rows = |piece: &Piece| selection.rows(piece, &baskets[piece.basket].entries).collect::<Vec<_>>();
        assert!(found.iter().all(|piece| rows(piece).iter().map(|rows| rows.len()).sum::<usize>() == piece.rows));
        Ok(found.iter().map(|piece| (piece.basket, rows(piece))).collect())
    }

    #[test]
    fn each_basket_is_met_once() {
        let place = |entries| BasketPlace { slot: 0, entries, bytes: BasketBytes::Stored { seek: 0, nbytes: 1 } };
        let baskets: Vec<_> = [0..10, 10..10, 10..20, 20..30].map(place).into();
        // Every second entry: ten ranges, three baskets.
        let odd = Selection::of_entries((0..15).map(|n| 2 * n + 1)).unwrap();
        let rows = vec![1..2, 3..4, 5..6, 7..8, 9..10];
        assert_eq!(pieces(&baskets, &odd).unwrap(), [(0, rows.clone()), (2, rows.clone()), (3, rows)]);
        let one = |range: Range<u64>| pieces(&baskets, &of(&[range])).unwrap();
        assert_eq!(one(5..25), [(0, vec![5..10]), (2, vec![0..10]), (3, vec![0..5])]);
        assert_eq!(one(10..11), [(2, vec![0..1])]);
        assert_eq!(
            pieces(&baskets, &of(&[2..3, 8..22, 29..30])).unwrap(),
            [(0, vec![2..3, 8..10]), (2, vec![0..10]), (3, vec![0..2, 9..10])]
        );
        assert_eq!(pieces(&baskets, &of(&[3..4, 29..30])).unwrap(), [(0, vec![3..4]), (3, vec![9..10])]);
        assert_eq!((one(0..0), one(30..30)), (vec![], vec![]));
        assert_eq!(pieces(&baskets, &of(&[29..31])).unwrap_err().kind(), ErrorKind::Malformed);
        for broken in [[0..10, 11..20], [0..10, 9..20], [0..10, 0..10], [5..10, 10..20]] {
            let baskets: Vec<_> = broken.map(place).into();
            assert_eq!(pieces(&baskets, &of(&[0..20])).unwrap_err().kind(), ErrorKind::Malformed);
        }
        let baskets: Vec<_> = [0..10, 9..20].map(place).into();
        assert_eq!(pieces(&baskets, &of(&[0..5, 15..16])).unwrap(), [(0, vec![0..5]), (1, vec![6..7])]);
    }
}
