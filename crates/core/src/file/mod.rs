//! The file: container, classes and objects joined.

mod beside;
mod listing;
mod load;
mod objects;
mod options;
mod statistics;
pub mod walk;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock, Weak};

use bytes::Bytes;

use crate::container::{Directory, Free, Header, Key, Record};
pub(crate) use crate::error::distance;
use crate::error::{Error, ErrorKind, Result, nearest};
use crate::io::{ByteRange, Identity, Joined, LocalFile, Store, load};
use crate::ntuple::NTuple;
use crate::perf::Perf;
use crate::schema::{Registry, StreamerInfo};
use crate::tree::Tree;
use beside::Beside;
use listing::Listing;
pub(crate) use listing::split_cycle;
pub use options::{OnNotice, OpenOptions, UseStatistics};

/// A ROOT file, open for reading. Cheap to clone; metadata never changes once it is open.
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// for key in file.keys(true)? {
///     println!("{};{} {}", key.path, key.key.cycle, key.key.class);
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::{File, OpenOptions};
/// let file = File::open_with(path, OpenOptions::default())?;
/// assert!(file.identity().name.ends_with("nano.root") && !file.is_recovered());
/// assert_eq!(file.keys_in("", false)?.len(), 2);
/// assert_eq!(file.key("Events;1")?.class.as_ref(), "TTree");
/// assert_eq!(file.tree("Events")?.entries, 10);
/// // How it is stored.
/// assert_eq!((file.root_key().class.as_ref(), file.root().seek_dir), ("TFile", 100));
/// let payload = file.payload(&file.key("Runs")?)?;
/// assert_eq!(payload.len() as u32, file.key("Runs")?.objlen);
/// assert_eq!(file.read_raw(&[0..4])?[0][..], *b"root");
/// assert!(file.store().profile().latency_ns < 1_000_000 && file.options().cache_bytes > 0);
/// let gaps = file.free_segments()?.len();
/// assert!(file.records()?.len() > gaps);
/// // The classes that it describes.
/// assert!(file.infos()?.iter().any(|info| &*info.name == "TBranch"));
/// assert!(file.registry()?.info("TBranch", None, None).is_some());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone)]
pub struct File(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    perf: Perf,
    identity: Identity,
    options: OpenOptions,
    header: Header,
    head: Bytes,
    tail: Bytes,
    root: Directory,
    root_key: Key,
    keys: Arc<Listing>,
    recovered: bool,
    registry: OnceLock<Arc<Registry>>,
    /// Directories below the root that were read, by the place of their record.
    directories: RwLock<HashMap<u64, Arc<Listing>>>,
    /// Trees in use, by the place of their record. They hold the file, so that it does not hold them.
    trees: RwLock<HashMap<u64, Weak<Tree>>>,
    /// RNTuples in use, by the place of their anchor.
    ntuples: RwLock<HashMap<u64, Weak<NTuple>>>,
    /// The side file of statistics, and notices about it.
    beside: Arc<Beside>,
}

/// A key and its path.
#[derive(Clone, Debug)]
pub struct KeyPath {
    /// Directories and name, joined by `/`.
    pub path: String,
    /// The key.
    pub key: Key,
}

/// Bytes that are read from both ends when a file is opened.
const HEAD_BYTES: usize = 4 << 10;
const TAIL_BYTES: usize = 64 << 10;

impl File {
    /// Opens a local file with default options.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Denied`](crate::ErrorKind::Denied), and
    /// [`Malformed`](crate::ErrorKind::Malformed) for what is no ROOT file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a local file.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        Self::from_store(Arc::new(LocalFile::find(path)?), options)
    }

    /// Opens a file in any store: two round trips at most, where the tail holds what is usually there.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::io::MemoryStore;
    /// # let path = sapwood_testkit::example("nano.root");
    /// let bytes = std::fs::read(path)?;
    /// let store = Arc::new(MemoryStore::new("nano.root", bytes));
    /// let file = sapwood::File::from_store(store, sapwood::OpenOptions::default())?;
    /// assert_eq!(file.tree("Events")?.entries, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_store(store: Arc<dyn Store>, options: OpenOptions) -> Result<Self> {
        let perf = Perf::default();
        let store = perf.watch(store);
        let ends = store.ends(HEAD_BYTES, TAIL_BYTES)?;
        let name = Arc::clone(&ends.identity.name);
        let within = |error: Error| error.in_file(Arc::clone(&name));
        let header = Header::read(&ends.head).map_err(within)?;
        let mut inner = Inner {
            store,
            perf,
            identity: ends.identity,
            options,
            header,
            head: ends.head,
            tail: ends.tail,
            root: Directory::default(),
            root_key: Key::default(),
            keys: Arc::default(),
            recovered: false,
            registry: OnceLock::new(),
            directories: RwLock::default(),
            trees: RwLock::default(),
            ntuples: RwLock::default(),
            beside: Arc::default(),
        };
        inner.load_root().map_err(within)?;
        Ok(Self(Arc::new(inner)))
    }

    /// The same file with others behind it that it names: see [`offset_in`](crate::io::offset_in). They are opened when
    /// they are first read.
    pub(crate) fn with_others(&self, names: Vec<Arc<str>>) -> Self {
        let inner = &*self.0;
        let own = Arc::clone(&inner.store);
        let store = Joined::new(own, Arc::clone(&inner.identity.name), names, inner.options.other_files.clone());
        Self(Arc::new(Inner {
            store: Arc::new(store),
            perf: inner.perf.clone(),
            identity: inner.identity.clone(),
            options: inner.options.clone(),
            header: inner.header.clone(),
            head: inner.head.clone(),
            tail: inner.tail.clone(),
            root: inner.root.clone(),
            root_key: inner.root_key.clone(),
            keys: Arc::clone(&inner.keys),
            recovered: inner.recovered,
            registry: inner.registry.clone(),
            directories: RwLock::default(),
            trees: RwLock::default(),
            ntuples: RwLock::default(),
            beside: Arc::clone(&inner.beside),
        }))
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// Name, length and validator of what is open.
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// The record of what reading costs; nothing is recorded before it is started.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// file.perf().start();
    /// let tree = file.tree("Events")?;
    /// sapwood::read::columns(&tree, &[tree.branch("Jet_pt")?.id], 0..10)?;
    /// file.perf().stop();
    /// assert_eq!(file.perf().baskets().len(), 1);
    /// assert!(file.perf().times().0 >= file.perf().waited());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn perf(&self) -> &Perf {
        &self.0.perf
    }

    /// How it was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.0.options
    }

    /// The store of its bytes.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Whether the keys had to be found by walking the records: the file was never closed and shows what was saved
    /// last, or it [is cut off](Self::is_cut_off) and shows what is left.
    pub fn is_recovered(&self) -> bool {
        self.0.recovered
    }

    /// Whether the file is shorter than its header says: an incomplete copy.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::{File, OpenOptions, io::MemoryStore};
    /// let whole = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root"));
    /// let open = |bytes| File::from_store(Arc::new(MemoryStore::new("plain.root", bytes)), OpenOptions::default());
    /// assert!(!open(&whole[..])?.is_cut_off());
    /// assert!(open(&whole[..19_000])?.is_cut_off());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_cut_off(&self) -> bool {
        self.0.is_cut_off()
    }

    /// Whether its writer closed it. One that was not closed shows what was saved last, and every reader has to find
    /// that again where not even the list of keys was saved.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert!(sapwood::File::open(path)?.is_closed());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        self.header().seek_free != 0 && (!self.is_recovered() || self.is_cut_off())
    }

    /// The key of the root directory: its name and title are the file's.
    pub fn root_key(&self) -> &Key {
        &self.0.root_key
    }

    /// The root directory.
    pub fn root(&self) -> &Directory {
        &self.0.root
    }

    /// The keys of the root directory, or of all directories below it too, in the order of the file.
    pub fn keys(&self, recursive: bool) -> Result<Vec<KeyPath>> {
        self.below(&self.0.keys, recursive)
    }

    /// The keys of one directory; the empty path is the root.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where no directory has that path.
    pub fn keys_in(&self, path: &str, recursive: bool) -> Result<Vec<KeyPath>> {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return self.keys(recursive);
        }
        let key = self.key(path)?;
        if !key.is_directory() {
            return Err(self.name(Error::mismatch(format!("{path:?} is a {}, and no directory", key.class))));
        }
        let listing = self.0.directory_keys(&key).map_err(|error| self.name(error).in_object(path))?;
        self.below(&listing, recursive)
    }

    fn below(&self, listing: &Arc<Listing>, recursive: bool) -> Result<Vec<KeyPath>> {
        // One directory that cannot be read never hides the rest.
        let skip = |_: &str, _: Error| Ok(());
        self.gather(listing, recursive, skip).map_err(|error| self.name(error))
    }

    /// The keys of all directories, for callers that copy all of them: a directory that cannot be read is an error.
    ///
    /// # Errors
    ///
    /// What reading a directory reports, naming it.
    pub(crate) fn all_keys(&self) -> Result<Vec<KeyPath>> {
        let fail = |path: &str, error: Error| Err(error.in_object(path));
        self.gather(&self.0.keys, true, fail).map_err(|error| self.name(error))
    }

    /// Keys in the order of the file, those of a directory behind its own. A directory is gone through once: one that
    /// holds itself would never end, and one that stands below many would come again and again.
    fn gather(
        &self,
        listing: &Arc<Listing>,
        recursive: bool,
        mut unreadable: impl FnMut(&str, Error) -> Result<()>,
    ) -> Result<Vec<KeyPath>> {
        let limits = &self.0.options.limits;
        let mut found: Vec<KeyPath> = Vec::new();
        let mut seen = HashSet::new();
        let mut path_bytes = 0;
        let mut open = vec![(String::new(), Arc::clone(listing), 0)];
        while let Some((prefix, listing, next)) = open.last_mut() {
            let Some(key) = listing.keys.get(*next) else {
                open.pop();
                continue;
            };
            *next += 1;
            if found.len() >= limits.keys as usize {
                return Err(Error::limit("too many keys", u64::from(limits.keys), found.len() as u64 + 1));
            }
            let path = format!("{prefix}{}", key.name);
            // Deep directories have long paths: a small file could ask for much memory.
            path_bytes += path.len() as u64;
            if path_bytes > limits.object_bytes {
                return Err(Error::limit("the paths of keys are too long in all", limits.object_bytes, path_bytes));
            }
            let key = key.clone();
            let goes_below = recursive && key.is_directory() && seen.insert(key.seek_key);
            found.push(KeyPath { path: path.clone(), key: key.clone() });
            if goes_below {
                match self.0.directory_keys(&key) {
                    Ok(inside) => open.push((format!("{path}/"), inside, 0)),
                    Err(error) => unreadable(&path, error)?,
                }
            }
        }
        Ok(found)
    }

    /// The key of `path`, which may end in `;cycle`: without one, the highest.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), naming keys that look alike.
    pub fn key(&self, path: &str) -> Result<Key> {
        let mut listing = Arc::clone(&self.0.keys);
        let mut rest = path.trim_start_matches('/');
        loop {
            // A name may hold a slash itself: the whole rest is tried first.
            if let Some(key) = listing.find(rest) {
                return Ok(key.clone());
            }
            let step = rest.match_indices('/').find_map(|(at, _)| {
                listing.find(&rest[..at]).filter(|key| key.is_directory()).map(|key| (key.clone(), at))
            });
            let Some((folder, at)) = step else { break };
            listing = self.0.directory_keys(&folder).map_err(|error| self.name(error).in_object(&folder.name))?;
            rest = rest[at + 1..].trim_start_matches('/');
        }
        Err(self.missing(path, rest, &listing))
    }

    fn missing(&self, path: &str, rest: &str, listing: &Listing) -> Error {
        let cycles: Vec<_> = listing.named(split_cycle(rest).0).map(|key| key.cycle.to_string()).collect();
        let hint = if cycles.is_empty() {
            let wanted = path.rsplit('/').next().unwrap_or(path);
            nearest(wanted, listing.keys.iter().map(|key| (&*key.name, &*key.name)))
        } else {
            format!("; it has cycles {}", cycles.join(", "))
        };
        let cut = if self.is_cut_off() {
            let (end, found) = (self.header().end, self.identity().len);
            format!(
                " (the file is cut off: {found} of {end} bytes are there, and what they hold is found by `recover`)"
            )
        } else {
            String::new()
        };
        self.name(Error::not_found(format!("no key {path:?}{hint}{cut}")))
    }

    /// The inflated payload of a record.
    pub fn payload(&self, key: &Key) -> Result<Bytes> {
        self.0.payload(key).map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Bytes of the file as they are.
    pub fn read_raw(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        load(&*self.0.store, ranges).map_err(|error| self.name(error))
    }

    /// Reads one range of bytes.
    pub(crate) fn read_one(&self, range: ByteRange) -> Result<Bytes> {
        let read = self.read_raw(&[range])?.pop();
        read.ok_or_else(|| self.name(Error::internal("the store gave no bytes and no error")))
    }

    /// The classes that the file describes; read on first use, and once for all files of a session that describe the
    /// same.
    pub fn registry(&self) -> Result<Arc<Registry>> {
        if let Some(known) = self.0.registry.get() {
            return Ok(Arc::clone(known));
        }
        // What fails is tried again: the next time the store may answer.
        let loaded = self.0.load_registry().map_err(|error| self.name(error))?;
        Ok(Arc::clone(self.0.registry.get_or_init(|| loaded)))
    }

    /// The payload of the file's StreamerInfo record as it is stored; files with the same have the same classes.
    pub(crate) fn stored_infos(&self) -> Result<Option<Bytes>> {
        self.0.stored_infos().map_err(|error| self.name(error))
    }

    /// The infos in the file's StreamerInfo record, in its order.
    pub fn infos(&self) -> Result<Vec<StreamerInfo>> {
        self.0.load_infos().map_err(|error| self.name(error))
    }

    /// The infos, and the rules of schema evolution that stand beside them.
    pub(crate) fn infos_and_rules(&self) -> Result<(Vec<StreamerInfo>, Vec<String>)> {
        self.0.load_infos_and_rules().map_err(|error| self.name(error))
    }

    /// Reads classes of ROOT's own that the file does not describe as ROOT 6.40 writes them: for files whose writer
    /// died before it described them. Does nothing once classes of the file were asked for.
    ///
    /// # Errors
    ///
    /// Those of the store: a description that could not be fetched now may say something else than ROOT 6.40.
    pub(crate) fn assume_root_classes(&self) -> Result<()> {
        use ErrorKind::{Checksum, Limit, Malformed, Unsupported};
        let mut infos = match self.infos() {
            // A list whose bytes are damaged describes nothing.
            Err(error) if matches!(error.kind(), Checksum | Limit | Malformed | Unsupported) => Vec::new(),
            infos => infos?,
        };
        let known: HashSet<Arc<str>> = infos.iter().map(|info| Arc::clone(&info.name)).collect();
        infos.extend(
            StreamerInfo::all_of_root().filter(|info| !known.contains(&info.name)).map(|info| (**info).clone()),
        );
        let _ = self.0.registry.set(Arc::new(Registry::new(infos, self.header().version)));
        Ok(())
    }

    /// The keys that the directory of a key lists.
    pub(crate) fn keys_of(&self, directory: &Key) -> Result<Vec<Key>> {
        self.0.directory_keys(directory).map(|listing| listing.keys.clone()).map_err(|error| self.name(error))
    }

    /// The newest key of a name in the root directory.
    pub(crate) fn newest(&self, name: &str) -> Option<&Key> {
        self.0.keys.best(name, None)
    }

    /// Reads the record at an offset: a key, or the marker of a gap.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if there is neither.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::container::Record;
    /// let file = sapwood::File::open(path)?;
    /// let infos = file.record_at(file.header().seek_info)?;
    /// assert!(matches!(infos, Record::Key(key) if &*key.name == "StreamerInfo"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn record_at(&self, at: u64) -> Result<Record> {
        self.0.record_at(at).map_err(|error| self.name(error))
    }

    /// The key at an offset.
    pub(crate) fn key_at(&self, at: u64) -> Result<Key> {
        self.0.key_at(at).map_err(|error| self.name(error))
    }

    /// The free segments.
    pub fn free_segments(&self) -> Result<Vec<Free>> {
        let header = &self.0.header;
        if header.seek_free == 0 || header.nbytes_free == 0 {
            return Ok(Vec::new());
        }
        let key = self.0.key_at(header.seek_free).map_err(|error| self.name(error))?;
        Free::read_list(&self.payload(&key)?).map_err(|error| self.name(error))
    }

    /// Every record from the first to the end: keys, and gaps with their length.
    pub fn records(&self) -> Result<Vec<(u64, Record)>> {
        let records = self.0.records().map_err(|error| self.name(error))?;
        Ok(records.into_iter().map(|placed| (placed.at, placed.record)).collect())
    }

    pub(crate) fn name(&self, error: Error) -> Error {
        error.in_file(Arc::clone(&self.0.identity.name))
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("name", &self.0.identity.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::io::{Ends, MemoryStore, Profile, Receive};
    use crate::session::Session;

    /// A store that gives no tail, and fails while it is broken.
    struct Flaky {
        inner: MemoryStore,
        is_broken: Arc<AtomicBool>,
    }

    impl Store for Flaky {
        fn ends(&self, head_bytes: usize, _: usize) -> Result<Ends> {
            self.inner.ends(head_bytes.min(1 << 10), 0)
        }

        fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
            match self.is_broken.load(Ordering::Relaxed) {
                true => Err(Error::new(ErrorKind::Io, "the disk is gone")),
                false => self.inner.read_ranges(ranges, into),
            }
        }

        fn profile(&self) -> Profile {
            self.inner.profile()
        }
    }

    #[test]
    fn root_classes_are_assumed_only_where_the_file_has_no_readable_description() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/nano.root");
        let content = std::fs::read(path).unwrap();
        let open = |content: &[u8]| {
            let is_broken = Arc::new(AtomicBool::new(false));
            let inner = MemoryStore::new("nano.root", content.to_vec());
            let store = Flaky { inner, is_broken: Arc::clone(&is_broken) };
            (File::from_store(Arc::new(store), OpenOptions::default()).unwrap(), is_broken)
        };
        let (file, is_broken) = open(&content);
        is_broken.store(true, Ordering::Relaxed);
        assert_eq!(file.assume_root_classes().unwrap_err().kind(), ErrorKind::Io);
        is_broken.store(false, Ordering::Relaxed);
        assert!(file.assume_root_classes().is_ok());

        let seek = file.header().seek_info as usize;
        let mut damaged = content;
        damaged[seek..seek + 64].fill(0);
        let (file, _) = open(&damaged);
        assert!(file.infos().is_err() && file.assume_root_classes().is_ok());
        assert!(file.registry().unwrap().info("TTree", None, None).is_some());
    }

    #[test]
    fn files_of_a_session_that_describe_the_same_classes_share_them() {
        let path = |name: &str| format!("{}/../../examples/data/{name}", env!("CARGO_MANIFEST_DIR"));
        let session = Session::with_threads(1);
        let registry = |path: String, session: &Session| {
            let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
            File::open_with(path, options).unwrap().registry().unwrap()
        };
        let first = registry(path("nano.root"), &session);
        assert!(Arc::ptr_eq(&first, &registry(path("nano.root"), &session)));
        assert!(!Arc::ptr_eq(&first, &registry(path("nano.root"), &Session::with_threads(1))));
        let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root").to_owned();
        assert!(!Arc::ptr_eq(&first, &registry(other, &session)));
    }
}
