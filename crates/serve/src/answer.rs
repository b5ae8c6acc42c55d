//! The body of an answer: ranges of a file, fetched in large steps and sent in small ones, so that a client that reads
//! nothing holds little memory. What is in the cache is read without a permit for the upstream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, load};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::files::Supply;
use crate::metrics::Protocol;
use crate::opened::Opened;
use crate::upstream_reads::ending;

/// So much is asked of the upstream in one read.
const FETCH_BYTES: u64 = 4 << 20;
/// So much is in memory for a client.
const PIECE_BYTES: u64 = 128 << 10;
/// Pieces end where blocks of the cache do, which are read whole.
const BLOCK_BYTES: u64 = 64 << 10;

/// A part of a body.
#[derive(Debug)]
pub(crate) enum Part {
    /// Between ranges.
    Text(Bytes),
    /// Of the file.
    Range(ByteRange),
}

/// A body that is being sent.
pub(crate) struct Answer {
    opened: Arc<Opened>,
    supply: Arc<Supply>,
    protocol: Protocol,
    parts: VecDeque<Part>,
    /// Ranges that are not fetched.
    far: VecDeque<ByteRange>,
    /// Bytes that are fetched and not sent.
    near: u64,
    coming: Option<Coming>,
    /// False once the client has left: a fetch then ends early.
    wanted: Arc<AtomicBool>,
    /// Whether all came from the cache so far.
    hit: bool,
}

/// A fetch, and how many bytes it brings.
type Coming = (u64, JoinHandle<sapwood::Result<Step>>);

/// How a fetch went.
struct Step {
    /// All of it was in the cache.
    hit: bool,
    /// Blocks that another client had asked for.
    joined: u64,
}

impl Answer {
    pub(crate) fn new(opened: Arc<Opened>, supply: Arc<Supply>, protocol: Protocol, parts: VecDeque<Part>) -> Self {
        let ranges = parts.iter().filter_map(|part| match part {
            Part::Range(range) => Some(range.clone()),
            Part::Text(_) => None,
        });
        let far = ranges.collect();
        let wanted = Arc::new(AtomicBool::new(true));
        Self { opened, supply, protocol, parts, far, near: 0, coming: None, wanted, hit: true }
    }

    /// Fetches what comes first, so that an error can still be told in the head of the answer.
    pub(crate) async fn begin(&mut self) -> sapwood::Result<()> {
        self.ready(1).await
    }

    /// Fetches until the next `bytes` of the file can be read from the cache.
    pub(crate) async fn ready(&mut self, bytes: u64) -> sapwood::Result<()> {
        while self.near < bytes && (self.coming.is_some() || !self.far.is_empty()) {
            self.fetched().await?;
        }
        Ok(())
    }

    /// Counts a hit or a miss, once the first step is fetched.
    pub(crate) fn count(&self) {
        let clients = self.supply.metrics.of(self.protocol);
        if self.hit { clients.hits.add(1) } else { clients.misses.add(1) }
    }

    /// The next bytes; none at the end.
    pub(crate) async fn next(&mut self) -> Option<sapwood::Result<Bytes>> {
        self.parts.front()?;
        Some(self.piece().await)
    }

    async fn piece(&mut self) -> sapwood::Result<Bytes> {
        self.ready(1).await?;
        // While this is sent, the next comes.
        if self.coming.is_none() && !self.far.is_empty() {
            self.coming = Some(self.fetch());
        }
        let (mut pieces, mut ranges, mut room) = (Vec::new(), Vec::new(), PIECE_BYTES.min(self.near));
        while let Some(part) = self.parts.pop_front() {
            match part {
                Part::Text(text) => pieces.push(Some(text)),
                Part::Range(range) => {
                    if room == 0 {
                        self.parts.push_front(Part::Range(range));
                        break;
                    }
                    let end = cut(&range, room);
                    if end < range.end {
                        self.parts.push_front(Part::Range(end..range.end));
                        room = 0;
                    } else {
                        room -= end - range.start;
                    }
                    self.near -= end - range.start;
                    pieces.push(None);
                    ranges.push(range.start..end);
                }
            }
        }
        let mut read = match ranges.is_empty() {
            true => Vec::new(),
            false => self.load(ranges).await?,
        }
        .into_iter();
        let bytes = read.as_slice().iter().map(|bytes| bytes.len() as u64).sum();
        self.supply.metrics.of(self.protocol).served_bytes.add(bytes);
        if let (1, Some(bytes)) = (pieces.len(), read.as_slice().first()) {
            return Ok(bytes.clone());
        }
        let mut whole = BytesMut::new();
        for piece in pieces {
            whole.extend_from_slice(&piece.or_else(|| read.next()).unwrap_or_default());
        }
        Ok(whole.freeze())
    }

    /// Waits for what is coming.
    async fn fetched(&mut self) -> sapwood::Result<()> {
        let (bytes, coming) = match self.coming.take() {
            Some(coming) => coming,
            None => self.fetch(),
        };
        let step = coming.await.map_err(|_| ending())??;
        self.supply.metrics.joined_blocks.add(step.joined);
        self.hit &= step.hit;
        self.near += bytes;
        Ok(())
    }

    /// Reads bytes that were fetched. The upstream is asked again only where the cache could not keep them, or has
    /// removed them since.
    async fn load(&self, ranges: Vec<ByteRange>) -> sapwood::Result<Vec<Bytes>> {
        let (opened, of_cache) = (Arc::clone(&self.opened), ranges.clone());
        let kept = spawn_blocking(move || opened.cache.load_kept(&of_cache)).await.map_err(|_| ending())?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let opened = Arc::clone(&self.opened);
        let reads = opened.reads.clone();
        self.supply.reads.run(&reads, move || load(&*opened.cache, &ranges)).await
    }

    /// Starts to bring the next step into the cache.
    fn fetch(&mut self) -> Coming {
        let (mut ranges, mut bytes) = (Vec::new(), 0);
        while bytes < FETCH_BYTES
            && let Some(range) = self.far.pop_front()
        {
            let end = cut(&range, FETCH_BYTES - bytes);
            if end < range.end && !end.is_multiple_of(BLOCK_BYTES) && bytes > 0 {
                // The next step begins with it, and ends with a block.
                self.far.push_front(range);
                break;
            }
            bytes += end - range.start;
            ranges.push(range.start..end);
            if end < range.end {
                self.far.push_front(end..range.end);
                break;
            }
        }
        let (opened, supply, wanted) = (Arc::clone(&self.opened), Arc::clone(&self.supply), Arc::clone(&self.wanted));
        let work = async move {
            let (of_cache, wanted_of_cache) = (Arc::clone(&opened), ranges.clone());
            let hit = spawn_blocking(move || of_cache.cache.has(&wanted_of_cache)).await.map_err(|_| ending())?;
            if hit {
                return Ok(Step { hit, joined: 0 });
            }
            let reads = opened.reads.clone();
            let fetch = move || opened.cache.fetch(&ranges, &|| wanted.load(Ordering::Relaxed));
            let fetched = supply.reads.run(&reads, fetch).await?;
            let hit = fetched.asked == 0 && fetched.joined == 0 && fetched.kept > 0;
            Ok(Step { hit, joined: fetched.joined })
        };
        (bytes, tokio::spawn(work))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

/// The end of the first part of a range that has room. It is cut between blocks, if it has as many, and so between the
/// pages in them, each of which clients check by itself.
fn cut(range: &ByteRange, room: u64) -> u64 {
    let end = range.end.min(range.start + room);
    let floor = end / BLOCK_BYTES * BLOCK_BYTES;
    if end < range.end && floor > range.start { floor } else { end }
}
