//! Assembles the requested ranges from bytes that arrive in any order and in pieces of any length.

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Flow, Receive};
use sapwood::{Error, Result};

use crate::stopped::stopped;

/// A read in progress: the wanted ranges, what has arrived of them, and their receiver.
pub(crate) struct Assembly<'a> {
    into: &'a mut dyn Receive,
    /// What is wanted and not empty, by start.
    wanted: Vec<Wanted>,
    /// The same without overlaps: what has to be asked for.
    spans: Vec<Span>,
}

struct Wanted {
    index: usize,
    range: ByteRange,
    /// Taken from the receiver when the first byte comes.
    buffer: Option<BytesMut>,
    delivered: bool,
}

struct Span {
    range: ByteRange,
    /// Which of `wanted` are in it.
    members: std::ops::Range<usize>,
    /// What has come: apart from one another, in order. One, as a rule.
    have: Vec<ByteRange>,
}

impl<'a> Assembly<'a> {
    /// Ranges that are known to lie within the file. Empty ones are delivered at once.
    pub(crate) fn new(ranges: &[ByteRange], into: &'a mut dyn Receive) -> Result<Self> {
        if into.stopped() {
            return Err(stopped());
        }
        let mut wanted = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            if range.start < range.end {
                wanted.push(Wanted { index, range: range.clone(), buffer: None, delivered: false });
            } else if into.deliver(index, Bytes::new()) == Flow::Stop {
                return Err(stopped());
            }
        }
        wanted.sort_by_key(|wanted| (wanted.range.start, wanted.range.end));
        let mut spans: Vec<Span> = Vec::new();
        for (place, Wanted { range, .. }) in wanted.iter().enumerate() {
            match spans.last_mut() {
                // Neighbours stay apart: each is delivered as soon as it is there, and asked for again alone.
                Some(span) if range.start < span.range.end => {
                    span.range.end = span.range.end.max(range.end);
                    span.members.end = place + 1;
                }
                _ => spans.push(Span { range: range.clone(), members: place..place + 1, have: Vec::new() }),
            }
        }
        Ok(Self { into, wanted, spans })
    }

    /// What has to be asked for still, in order and without overlaps.
    pub(crate) fn missing(&self) -> Vec<ByteRange> {
        self.spans.iter().flat_map(Span::missing).collect()
    }

    /// What of `ranges` has to be asked for still.
    pub(crate) fn missing_of(&self, ranges: &[ByteRange]) -> Vec<ByteRange> {
        let mut found = Vec::new();
        for range in ranges {
            let first = self.spans.partition_point(|span| span.range.end <= range.start);
            for span in self.spans.iter().skip(first).take_while(|span| span.range.start < range.end) {
                let cut = |hole: ByteRange| hole.start.max(range.start)..hole.end.min(range.end);
                found.extend(span.missing().into_iter().map(cut).filter(|hole| hole.start < hole.end));
            }
        }
        found
    }

    /// Whether the receiver has enough.
    pub(crate) fn check(&self) -> Result<()> {
        if self.into.stopped() { Err(stopped()) } else { Ok(()) }
    }

    /// Takes bytes of the file from `offset` on; gives how many of them were missing. Bytes outside of the wanted
    /// ranges are dropped.
    pub(crate) fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<u64> {
        let Some(end) = offset.checked_add(bytes.len() as u64) else { return Ok(0) };
        let mut news = 0;
        let first = self.spans.partition_point(|span| span.range.end <= offset);
        for span in self.spans.iter_mut().skip(first) {
            if span.range.start >= end {
                break;
            }
            let part = span.range.start.max(offset)..span.range.end.min(end);
            let fresh = span.add(part.clone());
            if fresh == 0 {
                continue;
            }
            news += fresh;
            for wanted in self.wanted.get_mut(span.members.clone()).unwrap_or_default() {
                if wanted.delivered || wanted.range.end <= part.start || wanted.range.start >= part.end {
                    continue;
                }
                let length =
                    usize::try_from(wanted.range.end - wanted.range.start).map_err(|_| too_long(&wanted.range))?;
                let into = &*self.into;
                let buffer = wanted.buffer.get_or_insert_with(|| {
                    let mut buffer = into.buffer(length);
                    buffer.resize(length, 0);
                    buffer
                });
                let here = part.start.max(wanted.range.start)..part.end.min(wanted.range.end);
                // All of these are differences within the range or within the bytes that came, which fit memory.
                let to = (here.start - wanted.range.start) as usize..(here.end - wanted.range.start) as usize;
                let from = (here.start - offset) as usize..(here.end - offset) as usize;
                if let (Some(to), Some(from)) = (buffer.get_mut(to), bytes.get(from)) {
                    to.copy_from_slice(from);
                }
                if span.have.iter().any(|have| have.start <= wanted.range.start && wanted.range.end <= have.end) {
                    wanted.delivered = true;
                    let whole = wanted.buffer.take().unwrap_or_default().freeze();
                    if self.into.stopped() || self.into.deliver(wanted.index, whole) == Flow::Stop {
                        return Err(stopped());
                    }
                }
            }
        }
        Ok(news)
    }
}

impl Span {
    fn missing(&self) -> Vec<ByteRange> {
        let (mut at, mut found) = (self.range.start, Vec::new());
        for have in &self.have {
            if at < have.start {
                found.push(at..have.start);
            }
            at = have.end;
        }
        if at < self.range.end {
            found.push(at..self.range.end);
        }
        found
    }

    /// Notes that `part` has come; gives how many bytes of it are news.
    fn add(&mut self, part: ByteRange) -> u64 {
        let first = self.have.partition_point(|have| have.end < part.start);
        let last = self.have.partition_point(|have| have.start <= part.end);
        let touched = self.have.get(first..last).unwrap_or_default();
        let known: u64 =
            touched.iter().map(|have| have.end.min(part.end).saturating_sub(have.start.max(part.start))).sum();
        let start = touched.first().map_or(part.start, |have| have.start.min(part.start));
        let end = touched.last().map_or(part.end, |have| have.end.max(part.end));
        self.have.splice(first..last.max(first), [start..end]);
        part.end - part.start - known
    }
}

fn too_long(range: &ByteRange) -> Error {
    Error::limit("a range is longer than memory", usize::MAX as u64, range.end - range.start).at(range.start)
}

#[cfg(test)]
mod tests {
    use sapwood::ErrorKind;

    use super::*;

    struct Basin(Vec<Option<Bytes>>, usize);

    impl Receive for Basin {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }
        fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
            assert!(self.0[index].replace(bytes).is_none(), "once");
            self.1 = self.1.saturating_sub(1);
            if self.1 == 0 { Flow::Stop } else { Flow::Go }
        }
        fn stopped(&self) -> bool {
            self.1 == 0
        }
    }

    #[test]
    fn ranges_come_whole_from_pieces_in_any_order() {
        let content: Vec<u8> = (0..100).collect();
        let ranges = [10..20, 15..30, 0..0, 15..16, 50..60, 60..61];
        let mut basin = Basin(vec![None; ranges.len()], usize::MAX);
        let mut assembly = Assembly::new(&ranges, &mut basin).unwrap();
        assert_eq!(assembly.missing(), [10..30, 50..60, 60..61]);
        assert_eq!(assembly.put(20, &content[20..30]).unwrap(), 10);
        assert_eq!(assembly.missing(), [10..20, 50..60, 60..61]);
        assert_eq!(assembly.put(12, &content[12..14]).unwrap(), 2);
        assert_eq!(assembly.missing_of(&[0..55]), [10..12, 14..20, 50..55]);
        assert_eq!(assembly.put(0, &content).unwrap(), 19);
        assert_eq!(assembly.missing(), []);
        assert_eq!(assembly.put(0, &content).unwrap(), 0);
        assert_eq!(assembly.put(u64::MAX, &content).unwrap(), 0);
        for (range, got) in ranges.iter().zip(basin.0) {
            assert_eq!(got.unwrap(), content[range.start as usize..range.end as usize]);
        }
    }

    #[test]
    fn a_stopped_receiver_gets_no_more() {
        let mut basin = Basin(vec![None; 3], 2);
        let mut assembly = Assembly::new(&[0..1, 1..2, 2..3], &mut basin).unwrap();
        assert_eq!(assembly.put(0, b"abc").unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(assembly.check().is_err());
        assert_eq!(basin.0.iter().flatten().count(), 2);
    }

    #[test]
    fn notes_of_what_came_are_right_for_any_order() {
        let mut state = 7_u64;
        for _ in 0..300 {
            let mut span = Span { range: 0..64, members: 0..0, have: Vec::new() };
            let mut truth = [false; 64];
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let start = (state >> 33) % 63;
                let end = start + 1 + (state >> 50) % (64 - start);
                let news = (start..end).filter(|at| !std::mem::replace(&mut truth[*at as usize], true)).count();
                assert_eq!(span.add(start..end), news as u64);
                let missing: Vec<u64> = span.missing().into_iter().flatten().collect();
                let expected: Vec<u64> = (0..64).filter(|at| !truth[*at as usize]).collect();
                assert_eq!(missing, expected);
            }
        }
    }
}
