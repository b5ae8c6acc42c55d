//! A deflated member: one stream, which can only be inflated from its beginning, or from where its state was kept.
//!
//! The state of the inflater is kept every few MiB of the content. It takes 43 KiB: 32 KiB of content that the stream
//! may repeat, and tables. So the first read of a byte inflates all in front of it, and each later one a block.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use libdeflater::Crc;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use sapwood::io::{ByteRange, Receive, Store};
use sapwood::memory::Memory;
use sapwood::{Error, ErrorKind, Result};

use crate::packed::blocks::{Blocks, MOST_BLOCK_BYTES, load};
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
    bytes: u64,
    block_bytes: u64,
    crc: u32,
    states: Mutex<States>,
}

/// The states of the inflater at the beginning of the first so many blocks.
struct States {
    known: Vec<State>,
    /// Of the blocks in front of the last known one.
    crc: Crc,
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
        let states = States { known: vec![first], crc: Crc::new() };
        Ok(Self { stored, bytes, block_bytes, crc, states: Mutex::new(states) })
    }

    /// Inflates one block; its bytes and the state behind it. `ahead` are bytes that were read and not needed.
    fn run(
        &self,
        block: u64,
        mut state: State,
        end: Option<u64>,
        ahead: &mut Ahead,
        (inner, memory, asking): (&dyn Store, &Memory, &dyn Receive),
    ) -> Result<(Bytes, State)> {
        let plain = self.plain(block);
        let is_last = plain.end == self.bytes;
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
                Err(error.wanted(self.bytes, plain.start + (filled - before) as u64))
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
        self.bytes
    }

    fn find(&self, offset: u64) -> u64 {
        offset / self.block_bytes
    }

    fn plain(&self, block: u64) -> ByteRange {
        let start = block.saturating_mul(self.block_bytes).min(self.bytes);
        start..self.bytes.min(start + self.block_bytes)
    }

    fn inflate(&self, inner: &dyn Store, wanted: &[u64], memory: &Memory, asking: &dyn Receive) -> Result<Vec<Bytes>> {
        let mut inflated = Vec::with_capacity(wanted.len());
        let mut ahead = Ahead::default();
        for wanted in wanted {
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            // The last known state is that in front of what was never inflated.
            let last = states.known.len() as u64 - 1;
            let mut block = last.min(*wanted);
            loop {
                let Some(state) = states.known.get(block as usize).cloned() else {
                    return Err(Error::internal("a state of the inflater is missing"));
                };
                let end = states.known.get(block as usize + 1).map(|next| next.at);
                let in_block = |error: Error| error.in_object(&format!("block {block}"));
                let (bytes, next) =
                    self.run(block, state, end, &mut ahead, (inner, memory, asking)).map_err(in_block)?;
                if block as usize + 1 == states.known.len() {
                    states.crc.update(&bytes);
                    let found = states.crc.sum();
                    if self.plain(block).end == self.bytes && found != self.crc {
                        let error =
                            Error::new(ErrorKind::Checksum, "the member's bytes are not those that were packed");
                        return Err(error.at(self.stored.start).wanted(self.crc.into(), found.into()));
                    }
                    states.known.push(next);
                }
                if block == *wanted {
                    inflated.push(bytes);
                    break;
                }
                block += 1;
            }
        }
        Ok(inflated)
    }
}
