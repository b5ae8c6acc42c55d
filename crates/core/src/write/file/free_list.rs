//! The space of a file: where records go, and what becomes of the room of those that were replaced.

use std::collections::HashSet;
use std::ops::Range;

use crate::container::{BIG_FILE, Free};

/// Bytes of a gap's mark: less cannot be left over.
const MARK_BYTES: u64 = 4;

/// Free and used bytes of a file.
#[derive(Clone, Debug)]
pub(crate) struct FreeList {
    end: u64,
    /// Gaps that may be used, in order and apart from each other.
    gaps: Vec<Range<u64>>,
    /// Room that was given up since the last save: the header on storage still names what is in it.
    released: Vec<Range<u64>>,
}

impl FreeList {
    pub(crate) fn new(end: u64, gaps: Vec<Range<u64>>) -> Self {
        Self { end, gaps, released: Vec::new() }
    }

    /// Where the last record ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Room at the end: for what is large, and read in the order in which it was written.
    pub(crate) fn allocate_at_end(&mut self, bytes: u64) -> u64 {
        let at = self.end;
        self.end += bytes;
        at
    }

    /// Room in the first gap that fits, else at the end; and what is left of the gap, which has to be marked.
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

    /// Undoes a [`allocate`](Self::allocate) of which nothing was written: the room belongs to its gap again.
    pub(crate) fn undo_allocate(&mut self, room: Range<u64>) {
        match self.gaps.iter_mut().find(|gap| gap.start == room.end) {
            Some(gap) => gap.start = room.start,
            None => {
                let index = self.gaps.partition_point(|gap| gap.start < room.start);
                self.gaps.insert(index, room);
            }
        }
    }

    /// Gives up a record's room. It is used again after the next save.
    pub(crate) fn release(&mut self, room: Range<u64>) {
        if !room.is_empty() {
            self.released.push(room);
        }
    }

    /// The gaps as they are once what was given up is free.
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

    /// Makes what was given up free; gives the gaps that have to be marked.
    pub(crate) fn apply_releases(&mut self) -> Vec<Range<u64>> {
        let merged = self.merged();
        let before = std::mem::replace(&mut self.gaps, merged);
        self.released.clear();
        let known: HashSet<Range<u64>> = before.into_iter().collect();
        self.gaps.iter().filter(|gap| !known.contains(gap)).cloned().collect()
    }

    /// The list of free segments for the header that comes next: gaps, and what lies behind the end.
    pub(crate) fn list(&self) -> Vec<Free> {
        /// By so many bytes ROOT extends the last segment of a large file.
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
    fn room_is_used_again_after_the_next_save_only() {
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
    fn room_that_is_put_back_is_taken_again() {
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
