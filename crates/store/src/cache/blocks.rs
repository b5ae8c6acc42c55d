//! A store whose blocks, once read, are on this machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Profile, Receive, Store, check_ranges};
use sapwood::{Error, ErrorKind, Result};

use super::block_index::{BlockIndex, Opened};
use super::fill::Fill;
use super::folder::Folder;
use super::head_tail::{KeptEnds, look};
use super::in_flight::{Claim, InFlight, in_flight};
use super::segment::blocks;
use super::state::State;
use crate::CacheOptions;
use crate::secrets::cache_name;

/// What [`BlockCache::fetch`] found and did, in blocks of 1 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Kept already.
    pub kept: u64,
    /// Brought by another thread meanwhile.
    pub joined: u64,
    /// Asked for.
    pub asked: u64,
}

/// A receiver that drops the bytes: blocks are kept for later.
struct Discard<'a>(&'a dyn Fn() -> bool);

impl Receive for Discard<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        BytesMut::zeroed(bytes)
    }

    fn deliver(&mut self, _: usize, _: Bytes) -> Flow {
        Flow::Go
    }

    fn stopped(&self) -> bool {
        !(self.0)()
    }
}

/// Keeps blocks of another store on this machine, for the next reader of the same file, in whatever process.
///
/// The state of the file is asked for once, in one round trip; blocks of another state are not used. Each block has a
/// checksum, which is compared whenever it is read: what is damaged is asked for again. Where nothing can be kept,
/// reading goes on without. What several threads of a process miss at the same time is asked for once, whichever store
/// of this file they read.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Recorded, Store, load};
/// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
/// # let folder = std::env::temp_dir().join(format!("sapwood-doc-blocks-{}", std::process::id()));
/// let options = CacheOptions::new(CacheKind::Blocks, &folder);
/// for requests in [1, 0] {
///     let far = std::sync::Arc::new(Recorded::new(MemoryStore::new("greeting", "hello world")));
///     let store = BlockCache::new(far.clone(), "greeting", &options);
///     store.ends(5, 5)?;
///     far.take_calls();
///     assert_eq!(load(&store, &[6..11])?, ["world"]);
///     assert_eq!(far.take_calls().len(), requests);
/// }
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct BlockCache<S> {
    inner: S,
    /// Without secrets.
    name: String,
    folder: Folder,
    /// Ends, as they were seen last.
    ends: Mutex<Option<KeptEnds>>,
    state: OnceLock<State>,
    opened: Opened,
    in_flight: OnceLock<Option<Arc<InFlight>>>,
    /// The last read had to ask.
    asked: AtomicBool,
}

impl<S: Store> BlockCache<S> {
    /// A cache in front of `inner`, which is known by `name`: its URL. Nothing is read before it is asked for.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
    /// let options = CacheOptions::new(CacheKind::Blocks, "cache");
    /// let store = BlockCache::new(MemoryStore::new("x", "hello"), "https://example.org/x", &options);
    /// ```
    pub fn new(inner: S, name: &str, options: &CacheOptions) -> Self {
        Self {
            inner,
            name: cache_name(name),
            folder: Folder::new(options),
            ends: Mutex::default(),
            state: OnceLock::new(),
            opened: Mutex::default(),
            in_flight: OnceLock::new(),
            asked: AtomicBool::new(true),
        }
    }

    /// Sees to it that the blocks of these ranges are kept, and reads none of those that are. Where nothing can be
    /// kept, nothing is fetched.
    ///
    /// `wanted` is asked while it waits: once it says no, the fetching ends.
    ///
    /// # Errors
    ///
    /// Those of [`Store::read_ranges`].
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
    /// # let folder = std::env::temp_dir().join(format!("sapwood-doc-fetch-{}", std::process::id()));
    /// let options = CacheOptions::new(CacheKind::Blocks, &folder);
    /// let store = BlockCache::new(MemoryStore::new("x", "hello world"), "x", &options);
    /// assert_eq!(store.fetch(&[6..11], &|| true)?.asked, 1);
    /// assert_eq!(store.fetch(&[0..11], &|| true)?.kept, 1);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fetch(&self, ranges: &[ByteRange], wanted: &dyn Fn() -> bool) -> Result<Fetched> {
        let state = self.state()?;
        check_ranges(ranges, state.len).map_err(|error| error.in_file(self.name.as_str()))?;
        if !self.folder.is_open() {
            return Ok(Fetched::default());
        }
        let mut all: Vec<u64> = ranges.iter().filter(|range| !range.is_empty()).flat_map(blocks).collect();
        all.sort_unstable();
        all.dedup();
        let block_index = self.block_index(state);
        let mut reader = block_index.reader();
        let missing: Vec<u64> = all.iter().copied().filter(|block| !reader.has(*block)).collect();
        let kept = (all.len() - missing.len()) as u64;
        if missing.is_empty() {
            return Ok(Fetched { kept, ..Fetched::default() });
        }
        let mut discard = Discard(wanted);
        let fill = Fill::new(&[], &block_index, &mut discard)?;
        Ok(Fetched { kept, ..self.fill(fill, state, &missing)? })
    }

    /// Whether all blocks of these ranges are kept, as their tables say. Reads the folder alone: the other store is not
    /// asked. False where the state of the file is not known yet.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
    /// # let folder = std::env::temp_dir().join(format!("sapwood-doc-kept-{}", std::process::id()));
    /// let options = CacheOptions::new(CacheKind::Blocks, &folder);
    /// let store = BlockCache::new(MemoryStore::new("x", "hello world"), "x", &options);
    /// assert!(!store.has(&[0..5]));
    /// store.fetch(&[0..5], &|| true)?;
    /// assert!(store.has(&[0..5]));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn has(&self, ranges: &[ByteRange]) -> bool {
        let Some(state) = self.state.get() else { return false };
        if check_ranges(ranges, state.len).is_err() {
            return false;
        }
        let block_index = self.block_index(state);
        let mut reader = block_index.reader();
        ranges.iter().filter(|range| !range.is_empty()).flat_map(blocks).all(|block| reader.has(block))
    }

    /// The bytes of these ranges, if all of them are kept and undamaged. Reads the folder alone: the other store is not
    /// asked.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
    /// # let folder = std::env::temp_dir().join(format!("sapwood-doc-load-kept-{}", std::process::id()));
    /// let options = CacheOptions::new(CacheKind::Blocks, &folder);
    /// let store = BlockCache::new(MemoryStore::new("x", "hello world"), "x", &options);
    /// assert_eq!(store.load_kept(&[0..5]), None);
    /// store.fetch(&[0..5], &|| true)?;
    /// assert_eq!(store.load_kept(&[0..5]).unwrap(), ["hello"]);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn load_kept(&self, ranges: &[ByteRange]) -> Option<Vec<Bytes>> {
        let state = self.state.get()?;
        check_ranges(ranges, state.len).ok()?;
        let block_index = self.block_index(state);
        let (mut reader, mut missing) = (block_index.reader(), Vec::new());
        let mut found = Vec::with_capacity(ranges.len());
        for range in ranges {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
            reader.read(range, &mut bytes, &mut missing);
            if !missing.is_empty() {
                return None;
            }
            found.push(bytes.into());
        }
        Some(found)
    }

    /// What tells this state of the file from others: what the server calls it, or what its ends look like. None before
    /// anything was read.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{MemoryStore, Store};
    /// use sapwood_store::{BlockCache, CacheKind, CacheOptions};
    /// # let folder = std::env::temp_dir().join(format!("sapwood-doc-proof-{}", std::process::id()));
    /// let options = CacheOptions::new(CacheKind::Blocks, &folder);
    /// let store = BlockCache::new(MemoryStore::new("x", "hello"), "x", &options);
    /// assert_eq!(store.proof(), None);
    /// store.ends(0, 0)?;
    /// assert!(store.proof().is_some());
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn proof(&self) -> Option<&str> {
        self.state.get().map(|state| state.proof.as_str())
    }

    fn block_index<'a>(&'a self, state: &'a State) -> BlockIndex<'a> {
        BlockIndex { folder: &self.folder, state, opened: &self.opened, len: state.len }
    }

    /// What is on its way for all stores of this state; none where each store fetches for itself.
    fn in_flight(&self, state: &State) -> Option<&Arc<InFlight>> {
        let in_flight = self.in_flight.get_or_init(|| in_flight(self.folder.dir(), state));
        in_flight.as_ref().filter(|in_flight| in_flight.is_ours() && self.folder.is_open())
    }

    /// Fetches missing blocks, and waits for those that other threads fetch. What those do not bring is fetched
    /// after all, and this time without looking at others: it must end.
    fn fill(&self, mut fill: Fill<'_>, state: &State, missing: &[u64]) -> Result<Fetched> {
        let mut fetched = Fetched::default();
        let Some(in_flight) = self.in_flight(state) else {
            self.ask(&mut fill, missing, None, &mut fetched)?;
            fill.finish()?;
            return Ok(fetched);
        };
        let claim = in_flight.claim(missing);
        let (mine, theirs) = (claim.mine.clone(), claim.theirs.clone());
        // Another thread may have kept it between our look and our claim.
        let absent = fill.take_kept(&mine)?;
        fetched.joined += (mine.len() - absent.len()) as u64;
        self.ask(&mut fill, &absent, Some(claim), &mut fetched)?;
        if !theirs.is_empty() {
            in_flight.wait(&theirs, &|| !fill.stopped())?;
            let absent = fill.take_kept(&theirs)?;
            fetched.joined += (theirs.len() - absent.len()) as u64;
            self.ask(&mut fill, &absent, None, &mut fetched)?;
        }
        fill.finish()?;
        Ok(fetched)
    }

    fn ask(&self, fill: &mut Fill<'_>, blocks: &[u64], claim: Option<Claim>, fetched: &mut Fetched) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        fetched.asked += blocks.len() as u64;
        let runs = fill.ask(blocks, claim);
        let done = self.inner.read_ranges(&runs, fill);
        fill.ask(&[], None); // gives up what did not come
        done
    }

    /// What is known of the ends; nothing where a thread has it, which a fork may have left behind.
    fn known(&self) -> Option<MutexGuard<'_, Option<KeptEnds>>> {
        match self.ends.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn look(&self, head: usize, tail: usize) -> Result<Ends> {
        let mut known = self.known().and_then(|known| known.clone());
        let was_known = known.is_some();
        let (ends, state) = look(&self.inner, &self.folder, &self.name, &mut known, head, tail)?;
        if let Some(mut place) = self.known() {
            *place = known;
        }
        if *self.state.get_or_init(|| state.clone()) != state {
            let words = "the file changed while it was open: another length, validator or content";
            return Err(Error::new(ErrorKind::Changed, words).in_file(ends.identity.name));
        }
        if !was_known {
            let kept = super::segment::Segment::open(&self.folder, &state, 0, false).ok().flatten();
            self.asked.store(kept.is_none(), Ordering::Relaxed);
        }
        Ok(ends)
    }

    fn state(&self) -> Result<&State> {
        if self.state.get().is_none() {
            self.look(0, 0)?;
        }
        self.state.get().ok_or_else(|| Error::unsupported("the length of the file is not known"))
    }
}

impl<S: Store> Store for BlockCache<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.look(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let state = self.state()?;
        check_ranges(ranges, state.len).map_err(|error| error.in_file(self.name.as_str()))?;
        let block_index = self.block_index(state);
        let fill = Fill::new(ranges, &block_index, into)?;
        let missing = fill.missing().to_vec();
        self.asked.store(!missing.is_empty(), Ordering::Relaxed);
        if !missing.is_empty() {
            self.fill(fill, state, &missing)?;
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        if self.asked.load(Ordering::Relaxed) { self.inner.profile() } else { Profile::NEAR }
    }
}
