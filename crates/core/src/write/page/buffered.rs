//! Elements of one column that wait for the end of their cluster.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::memory::Memory;

/// Elements of a column as in memory: large stretches that were given stay where they are, others are copied.
#[derive(Debug, Default)]
pub(crate) struct Buffered {
    /// Complete stretches, each with the position of its first byte.
    stretches: Vec<(usize, Bytes)>,
    /// What follows them.
    tail: Vec<u8>,
    /// Where the tail begins.
    tail_start: usize,
}

impl Buffered {
    /// Shorter stretches are copied: that costs less than to keep track of them.
    const LEAST_SHARED_BYTES: usize = 64 << 10;

    /// Bytes of all elements.
    pub(crate) fn len(&self) -> usize {
        self.tail_start + self.tail.len()
    }

    /// Forgets the elements.
    pub(crate) fn clear(&mut self) {
        self.stretches.clear();
        self.tail.clear();
        self.tail_start = 0;
    }

    /// Forgets the elements after the first `bytes`.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        if bytes >= self.tail_start {
            return self.tail.truncate(bytes - self.tail_start);
        }
        self.tail.clear();
        self.stretches.retain(|(start, _)| *start < bytes);
        if let Some((start, last)) = self.stretches.last_mut() {
            last.truncate(bytes - *start);
        }
        self.tail_start = bytes;
    }

    /// Where single elements are appended.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Appends a range of given bytes, without a copy where the range is large. `is_full` says that the cluster ends
    /// with it: if not, the given bytes are kept for as long as the cluster is buffered, and most must be needed.
    pub(crate) fn append(&mut self, given: &Bytes, range: Range<usize>, is_full: bool) {
        let most_is_needed = is_full || range.len() >= given.len() / 2;
        if range.len() < Self::LEAST_SHARED_BYTES || !most_is_needed {
            return self.tail.extend_from_slice(&given[range]);
        }
        self.append_whole(given.slice(range));
    }

    /// Appends so many bytes, which `fill` writes into memory of arbitrary content.
    pub(crate) fn append_with(&mut self, bytes: usize, memory: &Memory, fill: impl FnOnce(&mut [u8])) {
        if bytes < Self::LEAST_SHARED_BYTES {
            let before = self.tail.len();
            self.tail.resize(before + bytes, 0);
            return fill(&mut self.tail[before..]);
        }
        let mut stretch = memory.take(bytes);
        fill(&mut stretch);
        self.append_whole(memory.lend(stretch));
    }

    /// The last element, of 8 bytes.
    pub(crate) fn last_chunk(&self) -> Option<&[u8; 8]> {
        let before = self.stretches.last().map(|(_, bytes)| &bytes[..]).unwrap_or_default();
        if self.tail.is_empty() { before.last_chunk() } else { self.tail.last_chunk() }
    }

    fn append_whole(&mut self, stretch: Bytes) {
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.push(tail.into());
        }
        self.push(stretch);
    }

    fn push(&mut self, stretch: Bytes) {
        let start = self.tail_start;
        self.tail_start += stretch.len();
        self.stretches.push((start, stretch));
    }

    /// A range of the elements, part by part where it reaches over several stretches.
    pub(crate) fn parts(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let first = self.stretches.partition_point(|(start, bytes)| start + bytes.len() <= range.start);
        let stretches = self.stretches[first..].iter().map(|(start, bytes)| (*start, &bytes[..]));
        stretches
            .chain(std::iter::once((self.tail_start, &self.tail[..])))
            .map(move |(start, bytes)| {
                let wanted = range.start.max(start) - start..range.end.min(start + bytes.len()).max(start) - start;
                bytes.get(wanted).unwrap_or_default()
            })
            .take_while(|part| !part.is_empty())
    }

    /// A range of the elements; joined where it reaches over several stretches.
    pub(crate) fn range(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let bytes = range.len();
        let mut parts = self.parts(range);
        let first = parts.next().unwrap_or_default();
        if first.len() == bytes {
            return Cow::Borrowed(first);
        }
        let mut joined = Vec::with_capacity(bytes);
        joined.extend_from_slice(first);
        parts.for_each(|part| joined.extend_from_slice(part));
        Cow::Owned(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_one_column_whether_copied_or_not() {
        let given: Bytes = (0..400_000_u32).map(|byte| byte as u8).collect::<Vec<_>>().into();
        let (mut column, mut expected) = (Buffered::default(), Vec::new());
        for (range, is_full) in
            [(0..100, false), (100..300_000, false), (7..80_000, true), (0..70_000, false), (5..9, true)]
        {
            column.append(&given, range.clone(), is_full);
            expected.extend_from_slice(&given[range]);
        }
        column.tail().extend_from_slice(&[1, 2, 3]);
        expected.extend_from_slice(&[1, 2, 3]);
        assert_eq!((column.len(), column.stretches.len()), (expected.len(), 3));
        let memory = Memory::new(64 << 20);
        for bytes in [8, 100_000, 16] {
            column.append_with(bytes, &memory, |room| room.copy_from_slice(&given[..bytes]));
            expected.extend_from_slice(&given[..bytes]);
            assert_eq!(column.last_chunk(), expected.last_chunk());
        }
        assert_eq!((column.len(), column.stretches.len()), (expected.len(), 5));
        for start in (0..expected.len()).step_by(9_973) {
            for end in [start, start + 1, start + 100_000, expected.len()] {
                let end = end.min(expected.len());
                assert_eq!(column.range(start..end), &expected[start..end], "{start}..{end}");
                assert_eq!(
                    column.parts(start..end).collect::<Vec<_>>().concat(),
                    &expected[start..end],
                    "{start}..{end}"
                );
            }
        }
        assert!(matches!(column.range(200..1_000), Cow::Borrowed(_)), "a stretch is not copied");
        let into_stretch = expected.len() - 16 - 50_000;
        column.truncate(into_stretch);
        assert_eq!(column.last_chunk(), expected[..into_stretch].last_chunk());
        column.tail().extend_from_slice(&[9; 8]);
        assert_eq!((column.len(), column.last_chunk()), (into_stretch + 8, Some(&[9; 8])));
        column.truncate(into_stretch);
        expected.truncate(into_stretch);
        for bytes in [expected.len(), expected.len() - 1, 400_000, 300_100, 300_000, 50, 0] {
            column.truncate(bytes);
            assert_eq!((column.len(), &column.range(0..bytes)[..]), (bytes, &expected[..bytes]), "the first {bytes}");
        }
        column.tail().extend_from_slice(&[1]);
        column.clear();
        assert_eq!((column.len(), column.range(0..0).len()), (0, 0));
    }
}
