//! Blocks of packed files: what each format says of them, and how those that do not depend on each other are inflated.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Flow, Receive, Store};
use sapwood::memory::Memory;
use sapwood::{Error, ErrorKind, Result};

use super::codec::Codec;

/// A block that is longer cannot be read in place: a single byte of it would cost as much memory.
pub(super) const MOST_BLOCK_BYTES: u64 = 256 << 20;
/// A range of the packed file that is asked for at once.
const MOST_FETCH_BYTES: u64 = 8 << 20;
/// Inflated bytes for which a thread pays: it costs a third of a millisecond, with its context and its memory.
const THREAD_BYTES: usize = 2 << 20;

/// What blocks are inflated with.
#[derive(Clone, Copy)]
pub(super) struct Workers<'a> {
    /// Where the bytes go.
    pub(super) memory: &'a Memory,
    /// Threads at most; 0 for one per processor that the process may use.
    pub(super) most_threads: usize,
}

impl Workers<'_> {
    fn threads(&self) -> usize {
        match self.most_threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// The content of a packed file in blocks.
pub(super) trait Blocks: Send + Sync {
    /// Length of the content.
    fn content_bytes(&self) -> u64;

    /// The block with this byte of the content, which is inside.
    fn find(&self, offset: u64) -> u64;

    /// What a block holds of the content.
    fn plain(&self, block: u64) -> ByteRange;

    /// Inflates blocks, ascending and each once, and gives them in this order.
    fn inflate(&self, inner: &dyn Store, wanted: &[u64], with: Workers<'_>, asking: &dyn Receive)
    -> Result<Vec<Bytes>>;
}

/// Content in blocks of equal length, but for a shorter last one.
pub(super) struct EqualBlocks {
    /// Of the content.
    pub(super) bytes: u64,
    pub(super) block_bytes: u64,
}

impl EqualBlocks {
    /// The block with this byte of the content.
    pub(super) fn find(&self, offset: u64) -> u64 {
        offset / self.block_bytes
    }

    /// What a block holds of the content.
    pub(super) fn plain(&self, block: u64) -> ByteRange {
        let start = block.saturating_mul(self.block_bytes).min(self.bytes);
        start..self.bytes.min(start + self.block_bytes)
    }
}

/// Where the content of a packed file is.
pub(super) enum Content {
    Blocks(Box<dyn Blocks>),
    /// As it is, in this part of the packed file.
    Part(ByteRange),
}

impl Content {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Blocks(blocks) => blocks.content_bytes(),
            Self::Part(range) => range.end - range.start,
        }
    }
}

/// Where a block is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// Nowhere: it is all zeros.
    Zeros,
    Part(Part),
}

/// A stored block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// In the packed file.
    pub(super) range: ByteRange,
    pub(super) codec: Codec,
    /// How many bytes it holds, or may hold at most where the format does not say.
    pub(super) room: usize,
    pub(super) exact: bool,
    /// What of them is the block.
    pub(super) within: Range<usize>,
    /// Lower half of the xxh64 of all of them.
    pub(super) checksum: Option<u32>,
}

/// The index of a format whose blocks do not depend on each other.
pub(super) trait Index: Send + Sync {
    fn content_bytes(&self) -> u64;
    fn find(&self, offset: u64) -> u64;
    fn plain(&self, block: u64) -> ByteRange;
    fn stored(&self, block: u64) -> Result<Stored>;
}

impl<I: Index> Blocks for I {
    fn content_bytes(&self) -> u64 {
        Index::content_bytes(self)
    }

    fn find(&self, offset: u64) -> u64 {
        Index::find(self, offset)
    }

    fn plain(&self, block: u64) -> ByteRange {
        Index::plain(self, block)
    }

    fn inflate(
        &self,
        inner: &dyn Store,
        wanted: &[u64],
        with: Workers<'_>,
        asking: &dyn Receive,
    ) -> Result<Vec<Bytes>> {
        let memory = with.memory;
        let stored: Vec<Stored> = wanted.iter().map(|block| self.stored(*block)).collect::<Result<_>>()?;
        let fetched = fetch(inner, &stored, memory, asking)?;
        let parts = &fetched.parts;
        let jobs: Vec<_> = wanted.iter().zip(stored.iter().zip(parts)).collect();
        let bytes_of = |block: u64| {
            let plain = Index::plain(self, block);
            (plain.end - plain.start) as usize
        };
        let all_bytes: usize = wanted.iter().map(|block| bytes_of(*block)).sum();
        let threads = with.threads().min(all_bytes / THREAD_BYTES);
        let inflated = in_parallel(&jobs, threads, |(block, (stored, bytes))| {
            let plain_bytes = bytes_of(**block);
            one(stored, bytes, plain_bytes, memory).map_err(|error| {
                let error = match stored {
                    Stored::Part(part) => error.at(part.range.start),
                    Stored::Zeros => error,
                };
                error.in_object(&format!("block {block}"))
            })
        });
        drop(jobs);
        fetched.give_back(memory);
        inflated
    }
}

/// Inflates one block.
fn one(stored: &Stored, bytes: &Bytes, plain_bytes: usize, memory: &Memory) -> Result<Bytes> {
    let part = match stored {
        Stored::Zeros => {
            let mut zeros = memory.take(plain_bytes);
            zeros.fill(0);
            return Ok(memory.lend(zeros));
        }
        Stored::Part(part) => part,
    };
    let is_whole = if part.exact { bytes.len() == part.room } else { part.within.end <= bytes.len() };
    if part.codec == Codec::Stored && part.checksum.is_none() && is_whole {
        // A copy: it would keep alive all that was fetched with it.
        let part = bytes.get(part.within.clone()).unwrap_or_default();
        let mut room = memory.take(part.len());
        room.copy_from_slice(part);
        return Ok(memory.lend(room));
    }
    let mut room = memory.take(part.room);
    let length = part.codec.inflate(bytes, &mut room)?;
    if length < part.within.end || (part.exact && length != part.room) {
        let error = Error::malformed("a compressed block holds fewer bytes than the index says");
        return Err(error.wanted(part.within.end.max(if part.exact { part.room } else { 0 }) as u64, length as u64));
    }
    if let Some(expected) = part.checksum {
        // A frame that has the same checksum at its end was compared with it while it was inflated.
        let inside = part.codec.checksum(bytes);
        let found =
            inside.unwrap_or_else(|| twox_hash::XxHash64::oneshot(0, room.get(..length).unwrap_or_default()) as u32);
        if found != expected {
            let error = Error::new(ErrorKind::Checksum, "the bytes of a block are not those that were packed");
            return Err(error.wanted(expected.into(), found.into()));
        }
    }
    room.truncate(length);
    Ok(memory.lend(room).slice(part.within.clone()))
}

/// Stored bytes of blocks.
struct Fetched {
    /// As they were read.
    whole: Vec<Bytes>,
    /// One for each block.
    parts: Vec<Bytes>,
}

impl Fetched {
    /// Lets the memory be used again, but for blocks that are stored as they are.
    fn give_back(self, memory: &Memory) {
        drop(self.parts);
        for bytes in self.whole {
            if let Ok(buffer) = bytes.try_into_mut() {
                memory.give_back(buffer);
            }
        }
    }
}

/// The stored bytes of blocks, in one vector read; blocks that are stored side by side are one range of it.
fn fetch(inner: &dyn Store, stored: &[Stored], memory: &Memory, asking: &dyn Receive) -> Result<Fetched> {
    let mut ranges: Vec<ByteRange> = Vec::new();
    let mut places: Vec<Option<(usize, Range<usize>)>> = Vec::with_capacity(stored.len());
    for stored in stored {
        let Stored::Part(Part { range, .. }) = stored else {
            places.push(None);
            continue;
        };
        let joins = |last: &ByteRange| {
            last.start <= range.start
                && range.start <= last.end
                && range.end.saturating_sub(last.start) <= MOST_FETCH_BYTES
        };
        match ranges.last_mut().filter(|last| joins(last)) {
            Some(last) => last.end = last.end.max(range.end),
            None => ranges.push(range.clone()),
        }
        let index = ranges.len() - 1;
        let start = ranges.get(index).map_or(0, |whole| range.start - whole.start) as usize;
        places.push(Some((index, start..start + (range.end - range.start) as usize)));
    }
    let whole = load(inner, &ranges, memory, asking)?;
    let part = |place: Option<(usize, Range<usize>)>| match place {
        None => Bytes::new(),
        Some((index, within)) => whole.get(index).map_or_else(Bytes::new, |bytes| bytes.slice(within)),
    };
    let parts = places.into_iter().map(part).collect();
    Ok(Fetched { whole, parts })
}

/// Reads ranges of the packed file, for as long as the reader wants them.
pub(super) fn load(
    inner: &dyn Store,
    ranges: &[ByteRange],
    memory: &Memory,
    asking: &dyn Receive,
) -> Result<Vec<Bytes>> {
    struct Gather<'a> {
        got: Vec<Option<Bytes>>,
        memory: &'a Memory,
        asking: &'a dyn Receive,
    }

    impl Receive for Gather<'_> {
        fn buffer(&self, bytes: usize) -> BytesMut {
            self.memory.take(bytes)
        }

        fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
            if let Some(place) = self.got.get_mut(index) {
                *place = Some(bytes);
            }
            if self.asking.stopped() { Flow::Stop } else { Flow::Go }
        }

        fn stopped(&self) -> bool {
            self.asking.stopped()
        }
    }

    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let mut gather = Gather { got: vec![None; ranges.len()], memory, asking };
    inner.read_ranges(ranges, &mut gather)?;
    let whole = |(range, bytes): (&ByteRange, Option<Bytes>)| {
        bytes.filter(|bytes| bytes.len() as u64 == range.end - range.start).ok_or_else(|| {
            Error::mismatch("the store of the packed file did not deliver what was asked for").at(range.start)
        })
    };
    ranges.iter().zip(gather.got).map(whole).collect()
}

/// Does jobs in so many threads at most; results in their order, or the error of the first that failed.
pub(super) fn in_parallel<T: Sync>(
    jobs: &[T],
    threads: usize,
    run: impl Fn(&T) -> Result<Bytes> + Sync,
) -> Result<Vec<Bytes>> {
    let threads = threads.min(jobs.len());
    if threads < 2 {
        return jobs.iter().map(run).collect();
    }
    let done: Vec<Mutex<Option<Result<Bytes>>>> = jobs.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(job), Some(place)) = (jobs.get(index), done.get(index)) else { return };
            let result = run(job);
            let failed = result.is_err();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            if failed {
                next.store(jobs.len(), Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system gives no more threads, those that are there do it.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut all = Vec::with_capacity(jobs.len());
    let mut missing = false;
    for place in done {
        match place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(bytes)) => all.push(bytes),
            Some(Err(error)) => return Err(error),
            None => missing = true,
        }
    }
    if missing { Err(Error::internal("a block was not inflated")) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_more_threads_than_wanted_inflate() {
        let memory = Memory::new(0);
        let jobs: Vec<usize> = (0..64).collect();
        for most_threads in [1, 2] {
            let threads = Workers { memory: &memory, most_threads }.threads();
            let seen = Mutex::new(HashSet::new());
            let run = |_: &usize| {
                seen.lock().unwrap().insert(thread::current().id());
                Ok(Bytes::new())
            };
            assert_eq!(in_parallel(&jobs, threads, run).unwrap().len(), jobs.len());
            let seen = seen.into_inner().unwrap();
            assert!(seen.len() <= most_threads);
            assert!(most_threads > 1 || seen.contains(&thread::current().id()), "one is the caller's own");
        }
    }
}
