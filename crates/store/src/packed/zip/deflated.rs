//! A deflated member: one stream, which can only be inflated from its beginning, or from where its state was kept.
//!
//! The state of the inflater is kept every few MiB of the content. It takes 43 KiB: 32 KiB of content that the stream
//! may repeat, and tables. So the first read of a byte inflates all in front of it, and each later one a block.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use libdeflater::Crc;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use sapwood::io::{ByteRange, Receive, Store};
use sapwood::memory::Memory;
use sapwood::{Error, ErrorKind, Result, interrupt};

use crate::packed::blocks::{Blocks, EqualBlocks, MOST_BLOCK_BYTES, Workers, load};
use crate::packed::kept::LOOK;
use crate::stopped::stopped;

/// A block, and so what a read inflates at least, of members that are not very long.
const LEAST_BLOCK_BYTES: u64 = 1 << 20;
/// States that are kept: 22 MiB.
const MOST_STATES: u64 = 512;
/// How far back a stream may refer.
const WINDOW_BYTES: usize = 32 << 10;
/// What is read of the stream at a time, where it is not known how much a block takes.
const STEP_BYTES: u64 = 1 << 20;
/// What a byte of a stream gives at most: 258 bytes for two bits, and somewhat less.
const MOST_RATIO: u64 = 1_032;

/// A deflated member.
pub(super) struct Deflated {
    stored: ByteRange,
    content: EqualBlocks,
    crc: u32,
    states: Mutex<States>,
    /// A state was added, or the thread that would add one has ended.
    changed: Condvar,
}

/// The states of the inflater at the beginning of the first so many blocks.
struct States {
    known: Vec<State>,
    /// Of the blocks in front of the last known one.
    crc: Crc,
    /// Whether a thread inflates what was never inflated. Others wait for it, since each block needs the one before.
    growing: bool,
}

/// The inflater between two blocks.
#[derive(Clone)]
struct State {
    inflater: Box<DecompressorOxide>,
    window: Bytes,
    /// The next byte of the archive that it reads.
    at: u64,
}

impl Deflated {
    pub(super) fn new(stored: ByteRange, bytes: u64, crc: u32) -> Result<Self> {
        let stored_bytes = stored.end - stored.start;
        let most = stored_bytes.saturating_mul(MOST_RATIO);
        if bytes > most {
            let error = Error::malformed("the member is said to hold more than its stored bytes can give");
            return Err(error.at(stored.start).wanted(most, bytes));
        }
        let block_bytes = bytes.div_ceil(MOST_STATES).max(LEAST_BLOCK_BYTES);
        if block_bytes > MOST_BLOCK_BYTES {
            let error = Error::limit(
                "a deflated member is too long to be read in place: extract it, and pack it with sapwood pack",
                MOST_BLOCK_BYTES * MOST_STATES,
                bytes,
            );
            return Err(error.at(stored.start));
        }
        let first = State { inflater: Box::default(), window: Bytes::new(), at: stored.start };
        let states = Mutex::new(States { known: vec![first], crc: Crc::new(), growing: false });
        Ok(Self { stored, content: EqualBlocks { bytes, block_bytes }, crc, states, changed: Condvar::new() })
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inflates one block, and where it was never reached all in front of it. Blocks that were reached before are
    /// inflated side by side by the threads that ask for them.
    fn block(&self, wanted: u64, ahead: &mut Ahead, context: (&dyn Store, &Memory, &dyn Receive)) -> Result<Bytes> {
        let mut states = self.states();
        loop {
            let mut from = states.known.iter().skip(wanted as usize);
            if let (Some(state), Some(next)) = (from.next(), from.next()) {
                let (state, end) = (state.clone(), next.at);
                drop(states);
                return Ok(self.run(wanted, state, Some(end), ahead, context)?.0);
            }
            if !states.growing {
                break;
            }
            // Not while the lock is held: what is asked may read this file itself.
            drop(states);
            if context.2.stopped() {
                return Err(stopped());
            }
            interrupt::check()?;
            states = self.states();
            if states.growing {
                states = self.changed.wait_timeout(states, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        states.growing = true;
        drop(states);
        let _growing = Growing(self);
        loop {
            let (block, bytes) = self.grow(ahead, context)?;
            if block == wanted {
                return Ok(bytes);
            }
        }
    }

    /// Inflates the first block that was never inflated, and keeps the state behind it.
    fn grow(&self, ahead: &mut Ahead, context: (&dyn Store, &Memory, &dyn Receive)) -> Result<(u64, Bytes)> {
        let last = self.states().known.last().cloned();
        let state = last.ok_or_else(|| Error::internal("the first state of the inflater is missing"))?;
        let block = self.states().known.len() as u64 - 1;
        let (bytes, next) = self.run(block, state, None, ahead, context)?;
        let mut states = self.states();
        states.crc.update(&bytes);
        let found = states.crc.sum();
        if self.content.plain(block).end == self.content.bytes && found != self.crc {
            let error = Error::new(ErrorKind::Checksum, "the member's bytes are not those that were packed");
            return Err(error.at(self.stored.start).wanted(self.crc.into(), found.into()));
        }
        states.known.push(next);
        drop(states);
        self.changed.notify_all();
        Ok((block, bytes))
    }

    /// [`inflate_from`](Self::inflate_from), whose errors name the block.
    fn run(
        &self,
        block: u64,
        state: State,
        end: Option<u64>,
        ahead: &mut Ahead,
        context: (&dyn Store, &Memory, &dyn Receive),
    ) -> Result<(Bytes, State)> {
        let inflated = self.inflate_from(block, state, end, ahead, context);
        inflated.map_err(|error| error.in_object(&format!("block {block}")))
    }

    /// Inflates one block; its bytes and the state behind it. `ahead` are bytes that were read and not needed.
    fn inflate_from(
        &self,
        block: u64,
        mut state: State,
        end: Option<u64>,
        ahead: &mut Ahead,
        (inner, memory, asking): (&dyn Store, &Memory, &dyn Receive),
    ) -> Result<(Bytes, State)> {
        let plain = self.content.plain(block);
        let is_last = plain.end == self.content.bytes;
        let (before, bytes) = (state.window.len(), (plain.end - plain.start) as usize);
        // A byte more at the end: a stream that goes on would fill it.
        let mut room = memory.take(before + bytes + usize::from(is_last));
        if let Some(place) = room.get_mut(..before) {
            place.copy_from_slice(&state.window);
        }
        let mut filled = before;
        loop {
            if asking.stopped() {
                return Err(stopped());
            }
            if ahead.at != state.at || ahead.bytes.is_empty() {
                // Where the block ended before; if that does not do, the stream goes on.
                let to = end.filter(|end| *end > state.at).unwrap_or(self.stored.end);
                let to = to.min(state.at.saturating_add(STEP_BYTES)).max(state.at);
                ahead.bytes = load(inner, &[state.at..to], memory, asking)?.pop().unwrap_or_default();
                ahead.at = state.at;
            }
            let goes_on = if state.at + ahead.bytes.len() as u64 == self.stored.end {
                0
            } else {
                inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
            };
            let flags = goes_on | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
            let (status, read, wrote) = decompress(&mut state.inflater, &ahead.bytes, &mut room, filled, flags);
            state.at += read as u64;
            ahead.skip(read);
            filled += wrote;
            let wrong = |words: &'static str| {
                let error = Error::malformed(words).at(state.at);
                Err(error.wanted(self.content.bytes, plain.start + (filled - before) as u64))
            };
            match status {
                TINFLStatus::NeedsMoreInput if state.at < self.stored.end => {}
                // Full: a last block has room for one byte more, and is done when its stream is.
                TINFLStatus::HasMoreOutput | TINFLStatus::NeedsMoreInput if !is_last && filled == room.len() => break,
                TINFLStatus::Done if is_last && filled == before + bytes => break,
                TINFLStatus::Done if !is_last || filled < before + bytes => {
                    return wrong("a deflated member ends early");
                }
                TINFLStatus::Done => return wrong("a deflated member goes on beyond its length"),
                TINFLStatus::HasMoreOutput => return wrong("a deflated member goes on beyond its length"),
                TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
                    return wrong("the stream of a deflated member is cut off");
                }
                _ => return wrong("the stream of a deflated member is damaged"),
            }
        }
        room.truncate(before + bytes);
        let from = room.len().saturating_sub(WINDOW_BYTES);
        state.window = Bytes::copy_from_slice(room.get(from..).unwrap_or_default());
        Ok((memory.lend(room).slice(before..), state))
    }
}

/// While it lives, one thread inflates what was never inflated.
struct Growing<'a>(&'a Deflated);

impl Drop for Growing<'_> {
    fn drop(&mut self) {
        self.0.states().growing = false;
        self.0.changed.notify_all();
    }
}

/// Bytes of the archive that were read and not inflated yet, and where they begin.
#[derive(Default)]
struct Ahead {
    at: u64,
    bytes: Bytes,
}

impl Ahead {
    fn skip(&mut self, bytes: usize) {
        self.at += bytes as u64;
        self.bytes = self.bytes.slice(bytes.min(self.bytes.len())..);
    }
}

impl Blocks for Deflated {
    fn content_bytes(&self) -> u64 {
        self.content.bytes
    }

    fn find(&self, offset: u64) -> u64 {
        self.content.find(offset)
    }

    fn plain(&self, block: u64) -> ByteRange {
        self.content.plain(block)
    }

    fn inflate(
        &self,
        inner: &dyn Store,
        wanted: &[u64],
        with: Workers<'_>,
        asking: &dyn Receive,
    ) -> Result<Vec<Bytes>> {
        let mut ahead = Ahead::default();
        wanted.iter().map(|block| self.block(*block, &mut ahead, (inner, with.memory, asking))).collect()
    }
}
