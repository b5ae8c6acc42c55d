//! A store whose blocks, once read, are on this machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use sapwood::io::{ByteRange, Ends, Profile, Receive, Store, check_ranges};
use sapwood::{Error, ErrorKind, Result};

use super::ends::{KeptEnds, look};
use super::fill::Fill;
use super::folder::Folder;
use super::near;
use super::options::CacheOptions;
use super::shelf::{Opened, Shelf};
use super::state::{State, public_name};

/// Keeps blocks of another store on this machine, for the next reader of the same file, in whatever process.
///
/// The state of the file is asked for once, in one round trip; blocks of another state are not used. Each block has a checksum, which
/// is compared whenever it is read: what is damaged is asked for again. Where nothing can be kept, reading goes on without.
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
            name: public_name(name),
            folder: Folder::new(options),
            ends: Mutex::default(),
            state: OnceLock::new(),
            opened: Mutex::default(),
            asked: AtomicBool::new(true),
        }
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
        let shelf = Shelf { folder: &self.folder, state, opened: &self.opened, len: state.len };
        let mut fill = Fill::new(ranges, &shelf, into)?;
        let runs = fill.runs();
        self.asked.store(!runs.is_empty(), Ordering::Relaxed);
        if runs.is_empty() {
            return Ok(());
        }
        self.inner.read_ranges(&runs, &mut fill)?;
        fill.finish()
    }

    fn profile(&self) -> Profile {
        if self.asked.load(Ordering::Relaxed) { self.inner.profile() } else { near() }
    }
}
