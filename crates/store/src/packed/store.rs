//! A file within a packed one, as a store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Identity, Profile, Receive, Store, check_ranges};
use sapwood::memory::Memory;
use sapwood::{Error, Result};

use super::blocks::{Blocks, Content, Workers};
use super::kept::{Found, Kept};
use super::place::Layer;
use super::{seekable, squashfs, zip};
use crate::open_once::OpenOnce;
use crate::stopped::stopped;

/// Inflated blocks that are kept where nothing else is said.
const KEPT_BYTES: usize = 32 << 20;
/// Blocks that are fetched and inflated together have so many bytes, or there is one.
const BATCH_BYTES: u64 = 16 << 20;

/// A file that lies compressed in another one, read in place: in the [seekable format of zstd](Self::seekable), in a
/// [SquashFS image](Self::squashfs) or in a [zip archive](Self::zip), wherever that is. A read asks the store of the
/// packed file for the blocks that it needs, in one vector read, and inflates each once, side by side; some inflated
/// blocks are kept. Nothing is read before it is asked for.
///
/// # Example
///
/// ```
/// # let (plain, packed) = (sapwood_testkit::scratch("plain"), sapwood_testkit::scratch("plain.zst"));
/// use sapwood::io::{LocalFile, load};
/// use sapwood_store::{PackOptions, PackedStore, pack};
/// std::fs::write(&plain, "hello world".repeat(10_000))?;
/// pack(&LocalFile::open(&plain)?, &packed, &PackOptions::default())?;
///
/// let store = PackedStore::seekable(LocalFile::open(&packed)?);
/// assert_eq!(load(&store, &[99_006..99_011])?, ["world"]);
/// assert_eq!(store.inflated().blocks, 1);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct PackedStore {
    inner: Arc<dyn Store>,
    layer: Layer,
    opened: OpenOnce<Opened>,
    kept: Kept,
    memory: Memory,
    most_threads: usize,
    blocks: AtomicU64,
    bytes: AtomicU64,
}

/// What is known once the index is read.
struct Opened {
    identity: Identity,
    content: Content,
}

/// What a [`PackedStore`] has inflated so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inflated {
    /// Blocks, each as often as it was inflated.
    pub blocks: u64,
    /// Bytes of them, inflated.
    pub bytes: u64,
}

impl PackedStore {
    /// The content of a file in the seekable format of zstd, as `sapwood pack` writes it.
    pub fn seekable(packed: impl Store) -> Self {
        Self::new(Arc::new(packed), Layer::Seekable)
    }

    /// The file at `path` in a SquashFS image.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{MemoryStore, Store};
    /// use sapwood_store::PackedStore;
    /// let store = PackedStore::squashfs(MemoryStore::new("image.sqfs", "no image"), "run1/x.root");
    /// let error = store.ends(0, 0).unwrap_err();
    /// assert_eq!(error.to_string(), "malformed: this is no SquashFS image (file image.sqfs)");
    /// ```
    pub fn squashfs(image: impl Store, path: &str) -> Self {
        Self::new(Arc::new(image), Layer::Squashfs(path.to_owned()))
    }

    /// The member of this name in a zip archive, stored or deflated.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{MemoryStore, Store};
    /// use sapwood_store::PackedStore;
    /// let store = PackedStore::zip(MemoryStore::new("a.zip", "no archive"), "x.root");
    /// let error = store.ends(0, 0).unwrap_err();
    /// assert_eq!(error.to_string(), "malformed: this is no zip archive: it has no end of a directory (file a.zip)");
    /// ```
    pub fn zip(archive: impl Store, name: &str) -> Self {
        Self::new(Arc::new(archive), Layer::Zip(name.to_owned()))
    }

    pub(super) fn new(inner: Arc<dyn Store>, layer: Layer) -> Self {
        Self {
            inner,
            layer,
            opened: OpenOnce::default(),
            kept: Kept::new(KEPT_BYTES),
            memory: Memory::new(KEPT_BYTES),
            most_threads: 0,
            blocks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The same with another limit for inflated blocks that are kept: 32 MiB are usual.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::PackedStore;
    /// let store = PackedStore::seekable(MemoryStore::new("x.root.zst", "")).keeping(0);
    /// ```
    pub fn keeping(mut self, bytes: usize) -> Self {
        self.kept = Kept::new(bytes);
        self
    }

    /// The same with so many threads at most that inflate blocks; 0, the usual, for one per processor that the process
    /// may use. One is the thread that reads.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::PackedStore;
    /// let store = PackedStore::seekable(MemoryStore::new("x.root.zst", "")).with_threads(1);
    /// ```
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.most_threads = threads;
        self
    }

    /// What was inflated so far.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::PackedStore;
    /// let store = PackedStore::seekable(MemoryStore::new("x.root.zst", ""));
    /// assert_eq!(store.inflated().bytes, 0);
    /// ```
    pub fn inflated(&self) -> Inflated {
        Inflated { blocks: self.blocks.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    /// The path within the archive; none where the packed file is the file.
    fn member(&self) -> Option<&str> {
        match &self.layer {
            Layer::Seekable => None,
            Layer::Squashfs(path) | Layer::Zip(path) => Some(path),
        }
    }

    fn opened(&self) -> Result<&Opened> {
        self.opened.get_or_open(|| self.open())
    }

    fn open(&self) -> Result<Opened> {
        let (head_bytes, tail_bytes) = match &self.layer {
            Layer::Seekable => (seekable::HEAD_BYTES, seekable::TAIL_BYTES),
            Layer::Squashfs(_) => (squashfs::HEAD_BYTES, squashfs::TAIL_BYTES),
            Layer::Zip(_) => (0, zip::TAIL_BYTES),
        };
        let ends = self.inner.ends(head_bytes, tail_bytes)?;
        let packed = ends.identity.clone();
        let content = match &self.layer {
            Layer::Seekable => seekable::open(&self.inner, &ends),
            Layer::Squashfs(path) => squashfs::open(&self.inner, &ends, path),
            Layer::Zip(name) => zip::open(&self.inner, &ends, name),
        };
        let content = content.map_err(|error| error.in_file(Arc::clone(&packed.name)))?;
        let name = match self.member() {
            None => Arc::clone(&packed.name),
            Some(member) => format!("{}:{member}", packed.name).into(),
        };
        // As the packed file under its own name: it has another length, or the same bytes.
        let validator = packed.validator.as_ref().map(|validator| format!("{validator} in {} bytes", packed.len));
        let identity = Identity { name, len: content.bytes(), validator: validator.map(Into::into) };
        Ok(Opened { identity, content })
    }

    fn read(&self, opened: &Opened, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, opened.identity.len)?;
        match &opened.content {
            Content::Part(part) => {
                let moved: Vec<_> = ranges.iter().map(|one| part.start + one.start..part.start + one.end).collect();
                self.inner.read_ranges(&moved, into)
            }
            Content::Blocks(blocks) => self.read_blocks(&**blocks, ranges, into),
        }
    }

    fn read_blocks(&self, blocks: &dyn Blocks, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let mut order: Vec<usize> = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            if range.start < range.end {
                order.push(index);
            } else if into.stopped() || into.deliver(index, Bytes::new()) == Flow::Stop {
                return Err(stopped());
            }
        }
        let range = |index: usize| ranges.get(index).cloned().unwrap_or_default();
        order.sort_by_key(|index| range(*index).start);
        let mut waiting = order.into_iter().peekable();
        let mut open: Vec<Begun> = Vec::new();
        let mut batch: Vec<u64> = Vec::new();
        // The end of the last block that is in a batch, or was.
        let mut planned_to = 0;
        loop {
            batch.clear();
            let mut batch_bytes = 0;
            // Ranges that go beyond the last batch come first: the next blocks are theirs.
            let begun_to = open.iter().map(|begun| begun.range.end).max().unwrap_or(0);
            let mut wanted_to = begun_to;
            let mut ahead = waiting.clone();
            while batch_bytes < BATCH_BYTES {
                if planned_to >= wanted_to {
                    let Some(index) = ahead.next() else { break };
                    let next = range(index);
                    wanted_to = wanted_to.max(next.end);
                    if next.end > planned_to {
                        planned_to = planned_to.max(blocks.plain(blocks.find(next.start)).start);
                    }
                    continue;
                }
                let block = blocks.find(planned_to);
                let plain = blocks.plain(block);
                if plain.start >= plain.end || plain.end <= planned_to {
                    return Err(Error::internal("a block ends before it starts"));
                }
                batch.push(block);
                batch_bytes += plain.end - plain.start;
                planned_to = plain.end;
            }
            if batch.is_empty() {
                return Ok(());
            }
            if into.stopped() {
                return Err(stopped());
            }
            let found = self.blocks(blocks, &batch, into)?;
            for (block, bytes) in batch.iter().zip(found) {
                let plain = blocks.plain(*block);
                if bytes.len() as u64 != plain.end - plain.start {
                    return Err(Error::internal("a block has another length than it should have"));
                }
                while let Some(index) = waiting.next_if(|index| range(*index).start < plain.end) {
                    let range = range(index);
                    // A range of large blocks must not keep one alive for a few bytes.
                    let length = (range.end - range.start) as usize;
                    if range.end <= plain.end && length.saturating_mul(4) >= bytes.len() {
                        let from = (range.start - plain.start) as usize;
                        if into.stopped() || into.deliver(index, bytes.slice(from..from + length)) == Flow::Stop {
                            return Err(stopped());
                        }
                        continue;
                    }
                    let mut buffer = into.buffer(length);
                    buffer.resize(length, 0);
                    open.push(Begun { index, range, buffer });
                }
                let mut at = 0;
                let mut is_taken = false;
                while at < open.len() {
                    let Some(begun) = open.get_mut(at) else { break };
                    begun.take(&plain, &bytes);
                    is_taken |= begun.range.start <= plain.start && plain.end <= begun.range.end;
                    if begun.range.end > plain.end {
                        at += 1;
                        continue;
                    }
                    let done = open.swap_remove(at);
                    if into.stopped() || into.deliver(done.index, done.buffer.freeze()) == Flow::Stop {
                        return Err(stopped());
                    }
                }
                // The reader has all of it, and its memory is better used for the next one.
                if is_taken {
                    self.kept.forget(*block);
                }
            }
        }
    }

    /// Blocks, ascending and each once: kept ones, those that this thread inflates, and those that others do.
    fn blocks(&self, blocks: &dyn Blocks, wanted: &[u64], asking: &dyn Receive) -> Result<Vec<Bytes>> {
        let mut found: Vec<Option<Bytes>> = Vec::with_capacity(wanted.len());
        let mut claims = self.kept.claims();
        for block in wanted {
            found.push(match self.kept.find(*block, &mut claims) {
                Found::Here(bytes) => Some(bytes),
                Found::Ours | Found::Theirs => None,
            });
        }
        let mut ours = self.inflate(blocks, claims.blocks(), asking)?.into_iter();
        let mut next = claims.blocks().iter().copied().peekable();
        for (block, place) in wanted.iter().zip(&mut found) {
            if next.next_if_eq(block).is_some() {
                *place = ours.next();
            }
        }
        drop(claims);
        // Own blocks first, then those of others: so no two threads wait for each other.
        let all = wanted.iter().zip(found).map(|(block, found)| match found {
            Some(bytes) => Ok(bytes),
            None => self.theirs(blocks, *block, asking),
        });
        all.collect()
    }

    /// A block that another thread inflates, or did and failed.
    fn theirs(&self, blocks: &dyn Blocks, block: u64, asking: &dyn Receive) -> Result<Bytes> {
        loop {
            if let Some(bytes) = self.kept.wait(block, asking)? {
                return Ok(bytes);
            }
            let mut claims = self.kept.claims();
            match self.kept.find(block, &mut claims) {
                Found::Here(bytes) => return Ok(bytes),
                Found::Theirs => {}
                Found::Ours => {
                    let bytes = self.inflate(blocks, &[block], asking)?.pop();
                    return bytes.ok_or_else(|| Error::internal("a block was not inflated"));
                }
            }
        }
    }

    fn inflate(&self, blocks: &dyn Blocks, wanted: &[u64], asking: &dyn Receive) -> Result<Vec<Bytes>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let with = Workers { memory: &self.memory, most_threads: self.most_threads };
        let inflated = blocks.inflate(&self.inner, wanted, with, asking)?;
        for (block, bytes) in wanted.iter().zip(&inflated) {
            self.kept.put(*block, bytes);
        }
        self.blocks.fetch_add(inflated.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(inflated.iter().map(|bytes| bytes.len() as u64).sum(), Ordering::Relaxed);
        Ok(inflated)
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        match self.opened.get() {
            Some(opened) => result.map_err(|error| error.in_file(Arc::clone(&opened.identity.name))),
            None => result,
        }
    }

    fn both_ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let opened = self.opened()?;
        let len = opened.identity.len;
        let (head, tail) = (len.min(head_bytes as u64), len.min(tail_bytes as u64));
        let mut into = InOrder([Bytes::new(), Bytes::new()]);
        self.read(opened, &[0..head, len - tail..len], &mut into)?;
        let InOrder([head, tail]) = into;
        Ok(Ends { identity: opened.identity.clone(), head, tail })
    }
}

impl Store for PackedStore {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.name_error(self.both_ends(head_bytes, tail_bytes))
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        self.name_error(self.opened().and_then(|opened| self.read(opened, ranges, into)))
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

impl fmt::Debug for PackedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedStore").field("layer", &self.layer).field("inflated", &self.inflated()).finish()
    }
}

/// A range of which the first bytes may be there.
struct Begun {
    index: usize,
    range: ByteRange,
    buffer: BytesMut,
}

impl Begun {
    /// Takes what a block has of the range.
    fn take(&mut self, plain: &ByteRange, bytes: &Bytes) {
        let (from, to) = (self.range.start.max(plain.start), self.range.end.min(plain.end));
        let place = (from - self.range.start) as usize..(to - self.range.start) as usize;
        let part = (from - plain.start) as usize..(to - plain.start) as usize;
        if let (Some(place), Some(part)) = (self.buffer.get_mut(place), bytes.get(part)) {
            place.copy_from_slice(part);
        }
    }
}

/// Both ends of a file.
struct InOrder([Bytes; 2]);

impl Receive for InOrder {
    fn buffer(&self, bytes: usize) -> BytesMut {
        BytesMut::zeroed(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        if let Some(place) = self.0.get_mut(index) {
            *place = bytes;
        }
        Flow::Go
    }

    fn stopped(&self) -> bool {
        false
    }
}
