//! The free list of a file: where new records go, and when the space of replaced records is reused.

use std::collections::HashSet;
use std::ops::Range;

use crate::container::{BIG_FILE, Free};

/// Bytes of a gap marker: a remainder cannot be smaller.
const MARK_BYTES: u64 = 4;

/// Free and used bytes of a file.
#[derive(Clone, Debug)]
pub(crate) struct FreeList {
    end: u64,
    /// Gaps that may be used, sorted and not adjacent.
    gaps: Vec<Range<u64>>,
    /// Space released since the last save: the header on storage still refers to what is in it.
    released: Vec<Range<u64>>,
}

impl FreeList {
    pub(crate) fn new(end: u64, gaps: Vec<Range<u64>>) -> Self {
        Self { end, gaps, released: Vec::new() }
    }

    /// The end of the last record.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Whether the file has a record that begins at an offset and has so many bytes.
    pub(crate) fn has(&self, seek: u64, bytes: u32) -> bool {
        seek.saturating_add(bytes.into()) <= self.end
    }

    /// Forgets a record that the file does not have, and tells whether it did. What a file that was cut off has lost is
    /// in no space that could be released later.
    pub(crate) fn forget_lost(&self, seek: &mut u64, bytes: &mut u32) -> bool {
        let is_lost = !self.has(*seek, *bytes);
        if is_lost {
            (*seek, *bytes) = (0, 0);
        }
        is_lost
    }

    /// Allocates at the end of the file: for large records that are read in the order in which they are written.
    pub(crate) fn allocate_at_end(&mut self, bytes: u64) -> u64 {
        let at = self.end;
        self.end += bytes;
        at
    }

    /// Allocates in the first gap that fits, else at the end. Also returns the rest of the gap, which the caller must
    /// mark.
    pub(crate) fn allocate(&mut self, bytes: u64) -> (u64, Option<Range<u64>>) {
        let fits = |gap: &Range<u64>| {
            let length = gap.end - gap.start;
            length == bytes || length >= bytes + MARK_BYTES
        };
        let Some(index) = self.gaps.iter().position(fits) else { return (self.allocate_at_end(bytes), None) };
        let gap = &mut self.gaps[index];
        let at = gap.start;
        gap.start += bytes;
        if gap.start == gap.end {
            self.gaps.remove(index);
            return (at, None);
        }
        (at, Some(gap.clone()))
    }

    /// Undoes an [`allocate`](Self::allocate) of which nothing was written: returns the space to its gap.
    pub(crate) fn undo_allocate(&mut self, room: Range<u64>) {
        match self.gaps.iter_mut().find(|gap| gap.start == room.end) {
            Some(gap) => gap.start = room.start,
            None => {
                let index = self.gaps.partition_point(|gap| gap.start < room.start);
                self.gaps.insert(index, room);
            }
        }
    }

    /// Releases the space of a record. It is reused after the next save.
    pub(crate) fn release(&mut self, room: Range<u64>) {
        if !room.is_empty() {
            self.released.push(room);
        }
    }

    /// The gaps including the released space.
    fn merged(&self) -> Vec<Range<u64>> {
        let mut all: Vec<_> = self.gaps.iter().chain(&self.released).cloned().collect();
        all.sort_by_key(|gap| gap.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for gap in all {
            match merged.last_mut() {
                Some(last) if last.end >= gap.start => last.end = last.end.max(gap.end),
                _ => merged.push(gap),
            }
        }
        merged
    }

    /// Makes the released space available; returns the gaps that the caller must mark.
    pub(crate) fn apply_releases(&mut self) -> Vec<Range<u64>> {
        let merged = self.merged();
        let before = std::mem::replace(&mut self.gaps, merged);
        self.released.clear();
        let known: HashSet<Range<u64>> = before.into_iter().collect();
        self.gaps.iter().filter(|gap| !known.contains(gap)).cloned().collect()
    }

    /// The list of free segments for the next header: the gaps, and everything after the end.
    pub(crate) fn list(&self) -> Vec<Free> {
        /// ROOT extends the last segment of a large file in steps of this many bytes.
        const STEP: u64 = 1_000_000_000;
        let gaps = self.merged().into_iter().map(|gap| Free { first: gap.start, last: gap.end - 1 });
        let last = if self.end < BIG_FILE { BIG_FILE } else { (self.end / STEP + 1) * STEP };
        gaps.chain([Free { first: self.end, last }]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_space_is_reused_only_after_the_next_save() {
        let mut free_list = FreeList::new(1000, Vec::new());
        free_list.release(200..300);
        assert_eq!(free_list.allocate(100), (1000, None));
        assert_eq!(free_list.list()[0], Free { first: 200, last: 299 });
        free_list.apply_releases();
        assert_eq!(free_list.allocate(98), (1100, None), "two bytes cannot be marked as a gap");
        assert_eq!(free_list.allocate(60), (200, Some(260..300)));
        assert_eq!(free_list.allocate(40), (260, None));
        assert_eq!(free_list.end(), 1198);
    }

    #[test]
    fn undone_allocations_are_allocated_again() {
        let mut free_list = FreeList::new(1000, vec![100..200, 300..400]);
        assert_eq!(free_list.allocate(60), (100, Some(160..200)));
        free_list.undo_allocate(100..160);
        assert_eq!(free_list.allocate(100), (100, None));
        free_list.undo_allocate(100..200);
        assert_eq!(free_list.gaps, [100..200, 300..400]);
    }

    #[test]
    fn neighbours_become_one_gap() {
        let mut free_list = FreeList::new(1000, vec![100..200]);
        free_list.release(300..400);
        free_list.release(200..300);
        assert_eq!(free_list.apply_releases(), [100..400]);
        assert_eq!(free_list.list(), [Free { first: 100, last: 399 }, Free { first: 1000, last: BIG_FILE }]);
    }
}
