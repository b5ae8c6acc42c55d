//! The entries of a tree that are kept, and the baskets that hold them.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::tree::{BasketPlace, wanted};

/// Entries that are kept: ascending ranges that do not overlap.
#[derive(Debug)]
pub(crate) struct Selection {
    ranges: Vec<Range<u64>>,
    /// Entries in front of each range.
    before: Vec<u64>,
    entries: u64,
}

/// Rows of one basket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which of the branch's baskets.
    pub(crate) basket: usize,
    /// Ascending ranges, counted from the basket's first entry.
    pub(crate) rows: Vec<Range<usize>>,
}

impl Selection {
    /// These ranges of a tree's entries; all of them where there are none.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for missing entries, and for ranges that are not ascending.
    pub(crate) fn new(wanted: Option<&[Range<u64>]>, entries: u64) -> Result<Self> {
        let all = [0..entries];
        let (mut ranges, mut before, mut sum, mut end) = (Vec::new(), Vec::new(), 0, 0);
        for range in wanted.unwrap_or(&all) {
            if range.start > range.end || range.end > entries {
                let words = "entries that the tree does not have are to be kept";
                return Err(Error::mismatch(words).wanted(entries, range.end.max(range.start)));
            }
            if range.start < end {
                let words = "ranges of entries that are kept have to rise, and must not overlap";
                return Err(Error::mismatch(words).wanted(end, range.start));
            }
            end = range.end;
            if !range.is_empty() {
                ranges.push(range.clone());
                before.push(sum);
                sum += range.end - range.start;
            }
        }
        Ok(Self { ranges, before, entries: sum })
    }

    /// How many entries there are.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Entries of the tree that have these numbers among those that are kept.
    pub(crate) fn part(&self, rows: &Range<u64>) -> Vec<Range<u64>> {
        let first = self.before.partition_point(|&before| before <= rows.start).saturating_sub(1);
        let held = self.ranges.iter().zip(&self.before).skip(first).take_while(|(_, before)| **before < rows.end);
        held.filter_map(|(range, &before)| {
            let start = range.start + rows.start.saturating_sub(before);
            let end = range.end.min(range.start + (rows.end - before));
            (start < end).then_some(start..end)
        })
        .collect()
    }
}

/// The baskets that hold entries, each once, and their rows. `part` are ascending ranges; one pass over them and the
/// baskets.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) if baskets are not consecutive;
/// [`Unsupported`](crate::ErrorKind::Unsupported) if the branch ends before the entries do.
pub(crate) fn pieces(baskets: &[BasketPlace], part: &[Range<u64>]) -> Result<Vec<Piece>> {
    let Some(start) = part.first().map(|range| range.start) else { return Ok(Vec::new()) };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut index = baskets.partition_point(|basket| basket.entries.end <= start);
    for want in part {
        let mut next = want.start;
        while next < want.end {
            let Some(basket) = baskets.get(index) else {
                let words = "the branch has fewer entries than its tree";
                return Err(Error::new(ErrorKind::Unsupported, words).wanted(want.end, next));
            };
            if basket.entries.end <= next {
                index += 1;
                continue;
            }
            // A range may begin within a basket, but goes on with the first entry of the next one.
            let follows = if next == want.start { basket.entries.start <= next } else { basket.entries.start == next };
            if !follows {
                let words = "a branch's baskets do not follow one another: one is missing, or is listed twice";
                return Err(Error::malformed(words).in_basket(index as u32).wanted(next, basket.entries.start));
            }
            let rows = wanted(&basket.entries, &(next..want.end));
            next = want.end.min(basket.entries.end);
            match pieces.last_mut().filter(|piece| piece.basket == index) {
                Some(piece) => piece.rows.push(rows),
                None => pieces.push(Piece { basket: index, rows: vec![rows] }),
            }
        }
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::BasketBytes;

    #[test]
    fn parts_of_a_selection_are_its_entries_in_order() {
        let selection = Selection::new(Some(&[2..5, 5..5, 7..8, 10..20]), 20).unwrap();
        assert_eq!(selection.entries(), 14);
        assert_eq!(selection.part(&(0..14)), [2..5, 7..8, 10..20]);
        assert_eq!(selection.part(&(1..5)), [3..5, 7..8, 10..11]);
        assert_eq!(selection.part(&(3..4)), [7..8]);
        assert_eq!(selection.part(&(12..14)), [18..20]);
        assert!(selection.part(&(14..14)).is_empty());
        assert_eq!(Selection::new(None, 3).unwrap().part(&(0..3)), [0..3]);
        assert_eq!(Selection::new(None, 0).unwrap().entries(), 0);
    }

    #[test]
    fn ranges_that_do_not_rise_are_refused() {
        for ranges in [&[3..5, 4..6][..], &[3..5, 0..2], &[0..21], &[Range { start: 3, end: 2 }]] {
            let error = Selection::new(Some(ranges), 20).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        }
    }

    #[test]
    fn each_basket_is_met_once() {
        let place = |entries| BasketPlace { slot: 0, entries, bytes: BasketBytes::Stored { seek: 0, nbytes: 1 } };
        let baskets: Vec<_> = [0..10, 10..10, 10..20, 20..30].map(place).into();
        // Every second entry: ten ranges, three baskets.
        let part: Vec<_> = (0..15).map(|n| 2 * n + 1..2 * n + 2).collect();
        let found = pieces(&baskets, &part).unwrap();
        assert_eq!(found.iter().map(|piece| piece.basket).collect::<Vec<_>>(), [0, 2, 3]);
        assert!(found.iter().all(|piece| piece.rows == [1..2, 3..4, 5..6, 7..8, 9..10]));
        let one = |range| pieces(&baskets, &[range]).unwrap();
        assert_eq!(one(5..25).iter().map(|piece| piece.rows.clone()).collect::<Vec<_>>(), [[5..10], [0..10], [0..5]]);
        assert_eq!(one(10..11), [Piece { basket: 2, rows: vec![0..1] }]);
        assert_eq!(pieces(&baskets, &[29..31]).unwrap_err().kind(), ErrorKind::Unsupported);
        for broken in [[0..10, 11..20], [0..10, 9..20]] {
            let baskets: Vec<_> = broken.map(place).into();
            assert_eq!(pieces(&baskets, &[0..20]).unwrap_err().kind(), ErrorKind::Malformed);
        }
    }
}
