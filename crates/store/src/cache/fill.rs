//! One read through the cache: what is kept comes from there, what is missing is asked for by blocks, kept, and handed
//! on.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Flow, Receive};
use sapwood::{Error, ErrorKind, Result};

use super::block_index::BlockIndex;
use super::in_flight::Claim;
use super::segment::{BLOCK_BYTES, blocks};
use crate::stopped::stopped;

/// Missing neighbours are asked for together, up to so many blocks: 16 MB.
const RUN_BLOCKS: u64 = (16 << 20) / BLOCK_BYTES;

/// A range that waits for missing blocks.
struct Want {
    index: usize,
    range: ByteRange,
    buffer: BytesMut,
    /// Blocks that have not come.
    waits: usize,
}

/// Ranges that are not all kept.
pub(crate) struct Fill<'a> {
    into: &'a mut dyn Receive,
    block_index: &'a BlockIndex<'a>,
    /// By start.
    wants: Vec<Want>,
    /// The furthest end of each and those before it.
    reach: Vec<u64>,
    /// Missing blocks, in order.
    missing: Vec<u64>,
    /// What is asked for.
    runs: Vec<ByteRange>,
    /// Others wait for these as well.
    claim: Option<Claim>,
    stopped: bool,
}

impl<'a> Fill<'a> {
    /// Delivers all that is kept; the ranges lie within the file.
    pub(crate) fn new(
        ranges: &[ByteRange],
        block_index: &'a BlockIndex<'a>,
        into: &'a mut dyn Receive,
    ) -> Result<Self> {
        let mut order: Vec<(usize, &ByteRange)> = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            if into.stopped() {
                return Err(stopped());
            }
            if range.start < range.end {
                order.push((index, range));
            } else if into.deliver(index, Bytes::new()) == Flow::Stop {
                return Err(stopped());
            }
        }
        order.sort_by_key(|(_, range)| (range.start, range.end));
        let (mut wants, mut missing) = (Vec::new(), Vec::new());
        let mut reader = block_index.reader();
        for (index, range) in order {
            if into.stopped() {
                return Err(stopped());
            }
            let length = usize::try_from(range.end - range.start).map_err(|_| {
                Error::limit("a range is longer than memory", usize::MAX as u64, range.end - range.start)
            })?;
            let mut buffer = into.buffer(length);
            buffer.resize(length, 0);
            let before = missing.len();
            reader.read(range, &mut buffer, &mut missing);
            if missing.len() > before {
                wants.push(Want { index, range: range.clone(), buffer, waits: 0 });
            } else if into.deliver(index, buffer.freeze()) == Flow::Stop {
                return Err(stopped());
            }
        }
        missing.sort_unstable();
        missing.dedup();
        let mut reach = Vec::with_capacity(wants.len());
        for want in &mut wants {
            want.waits = part(&missing, &want.range).len();
            reach.push(want.range.end.max(reach.last().copied().unwrap_or(0)));
        }
        Ok(Self { into, block_index, wants, reach, missing, runs: Vec::new(), claim: None, stopped: false })
    }

    /// Blocks that were not kept.
    pub(crate) fn missing(&self) -> &[u64] {
        &self.missing
    }

    /// What is to be asked for next, for these blocks.
    pub(crate) fn ask(&mut self, blocks: &[u64], claim: Option<Claim>) -> Vec<ByteRange> {
        self.claim = claim;
        self.runs = runs(blocks, self.block_index.len);
        self.runs.clone()
    }

    /// Hands on those of the blocks that are kept by now; gives the others.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](ErrorKind::Cancelled) where the receiver stops.
    pub(crate) fn take_kept(&mut self, blocks: &[u64]) -> Result<Vec<u64>> {
        let mut absent = Vec::new();
        let mut reader = self.block_index.reader();
        for run in runs(blocks, self.block_index.len).into_iter().flat_map(|run| split(&run)) {
            // At most the length of a block.
            let mut bytes = vec![0; (run.end - run.start) as usize];
            let before = absent.len();
            reader.read(&run, &mut bytes, &mut absent);
            if absent.len() == before && self.spread(&run, &bytes) == Flow::Stop {
                return Err(stopped());
            }
        }
        Ok(absent)
    }

    /// Whether all was delivered, once all was asked for.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.stopped {
            return Err(stopped());
        }
        match self.wants.iter().find(|want| want.waits > 0) {
            Some(want) => {
                let words = "the store did not deliver what was asked for";
                Err(Error::new(ErrorKind::Mismatch, words).at(want.range.start))
            }
            None => Ok(()),
        }
    }

    /// Hands bytes on to the ranges that wait for them.
    fn spread(&mut self, run: &ByteRange, bytes: &[u8]) -> Flow {
        let first = self.reach.partition_point(|reach| *reach <= run.start);
        for want in self.wants.iter_mut().skip(first) {
            if want.range.start >= run.end {
                break;
            }
            let here = run.start.max(want.range.start)..run.end.min(want.range.end);
            if here.start >= here.end || want.waits == 0 {
                continue;
            }
            // Both are differences within what is in memory.
            let to = (here.start - want.range.start) as usize..(here.end - want.range.start) as usize;
            let from = (here.start - run.start) as usize..(here.end - run.start) as usize;
            if let (Some(to), Some(from)) = (want.buffer.get_mut(to), bytes.get(from)) {
                to.copy_from_slice(from);
            }
            want.waits = want.waits.saturating_sub(part(&self.missing, &here).len());
            if want.waits == 0 {
                let whole = std::mem::take(&mut want.buffer).freeze();
                if self.into.deliver(want.index, whole) == Flow::Stop {
                    self.stopped = true;
                    return Flow::Stop;
                }
            }
        }
        Flow::Go
    }
}

impl Receive for Fill<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        // Runs are longer than what the receiver has buffers for.
        BytesMut::zeroed(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        let Some(run) = self.runs.get(index).cloned() else { return Flow::Go };
        if bytes.len() as u64 != run.end - run.start {
            return Flow::Go; // `finish` reports what is missing
        }
        // Kept first, and even if the receiver has stopped: other threads may wait for it.
        self.block_index.keep(&run, &bytes);
        if let Some(claim) = &self.claim {
            claim.release(blocks(&run));
        }
        if self.stopped { Flow::Stop } else { self.spread(&run, &bytes) }
    }

    fn stopped(&self) -> bool {
        self.stopped || self.into.stopped()
    }
}

/// A run of blocks, block by block.
fn split(run: &ByteRange) -> impl Iterator<Item = ByteRange> + use<> {
    let end = run.end;
    blocks(run).map(move |block| block * BLOCK_BYTES..((block + 1) * BLOCK_BYTES).min(end))
}

/// Which of the missing blocks a range touches.
fn part<'a>(missing: &'a [u64], range: &ByteRange) -> &'a [u64] {
    let blocks = blocks(range);
    let start = missing.partition_point(|block| *block < blocks.start);
    let end = missing.partition_point(|block| *block < blocks.end);
    missing.get(start..end).unwrap_or_default()
}

/// Blocks as ranges: neighbours together, the last to the end of the file.
pub(crate) fn runs(missing: &[u64], len: u64) -> Vec<ByteRange> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &block in missing {
        match runs.last_mut() {
            Some(run) if run.end == block && run.end - run.start < RUN_BLOCKS => run.end += 1,
            _ => runs.push(block..block + 1),
        }
    }
    runs.into_iter().map(|run| run.start * BLOCK_BYTES..(run.end * BLOCK_BYTES).min(len)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_asked_for_together() {
        let b = BLOCK_BYTES;
        assert_eq!(runs(&[0, 1, 3, 9], 9 * b + 5), [0..2 * b, 3 * b..4 * b, 9 * b..9 * b + 5]);
        let many: Vec<u64> = (0..RUN_BLOCKS + 1).collect();
        assert_eq!(runs(&many, u64::MAX).len(), 2);
        assert_eq!(part(&[0, 1, 3, 9], &(b - 1..3 * b + 1)), [0, 1, 3]);
        assert_eq!(blocks(&(b..b + 1)), 1..2);
    }
}
