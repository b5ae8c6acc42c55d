//! The file: container, classes and objects joined.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock};

use bytes::Bytes;

use crate::codec::{self, Scratch};
use crate::container::{Directory, Free, Header, Key, Record, read_key_list};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{ByteRange, Identity, LocalFile, Store, load};
use crate::object::Object;
use crate::schema::{Registry, StreamerInfo, read_infos};
use crate::session::Session;
use crate::tree::Tree;
use crate::wire::{Limits, Reader};

/// How a file is opened.
///
/// # Example
///
/// ```
/// use sapwood::{OpenOptions, Session};
/// let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
/// assert_eq!(options.session.threads(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Bounds against hostile or broken files.
    pub limits: Limits,
    /// Threads and memory, shared with other files.
    pub session: Session,
}

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
#[derive(Clone)]
pub struct File(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    identity: Identity,
    options: OpenOptions,
    header: Header,
    head: Bytes,
    tail: Bytes,
    root: Directory,
    root_key: Key,
    keys: Vec<Key>,
    recovered: bool,
    registry: OnceLock<Result<Arc<Registry>, String>>,
    trees: RwLock<HashMap<u64, Arc<Tree>>>,
}

/// A key and where it stands.
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
    /// [`NotFound`](ErrorKind::NotFound), [`Denied`](ErrorKind::Denied), and [`Malformed`](ErrorKind::Malformed) for what
    /// is no ROOT file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a local file.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        Self::from_store(Arc::new(LocalFile::open(path)?), options)
    }

    /// Opens a file in any store: two round trips at most, where the tail holds what is usually there.
    pub fn from_store(store: Arc<dyn Store>, options: OpenOptions) -> Result<Self> {
        let ends = store.ends(HEAD_BYTES, TAIL_BYTES)?;
        let name = Arc::clone(&ends.identity.name);
        let within = |error: Error| error.in_file(Arc::clone(&name));
        let header = Header::read(&ends.head).map_err(within)?;
        let mut inner = Inner {
            store,
            identity: ends.identity,
            options,
            header,
            head: ends.head,
            tail: ends.tail,
            root: Directory::default(),
            root_key: Key::default(),
            keys: Vec::new(),
            recovered: false,
            registry: OnceLock::new(),
            trees: RwLock::default(),
        };
        inner.load_root().map_err(within)?;
        Ok(Self(Arc::new(inner)))
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// Name, length and validator of what is open.
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// How it was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.0.options
    }

    /// Where its bytes come from.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Whether the list of keys had to be found by walking the records: the file was never closed, and shows what was
    /// saved last.
    pub fn is_recovered(&self) -> bool {
        self.0.recovered
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
        let mut found = Vec::new();
        self.gather("", &self.0.keys, recursive, 0, &mut found).map_err(|error| self.name(error))?;
        Ok(found)
    }

    /// The keys of one directory; the empty path is the root.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) where no directory has that path.
    pub fn keys_in(&self, path: &str, recursive: bool) -> Result<Vec<KeyPath>> {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return self.keys(recursive);
        }
        let key = self.key(path)?;
        let keys = self.0.directory_keys(&key).map_err(|error| self.name(error).in_object(path))?;
        let mut found = Vec::new();
        self.gather("", &keys, recursive, 0, &mut found).map_err(|error| self.name(error))?;
        Ok(found)
    }

    fn gather(&self, prefix: &str, keys: &[Key], recursive: bool, depth: u32, into: &mut Vec<KeyPath>) -> Result<()> {
        let limits = &self.0.options.limits;
        if depth > limits.depth {
            return Err(Error::limit("directories nest too deep", u64::from(limits.depth), u64::from(depth)));
        }
        for key in keys {
            let path = format!("{prefix}{}", key.name);
            let inside = (recursive && is_directory(&key.class)).then(|| self.0.directory_keys(key));
            into.push(KeyPath { path: path.clone(), key: key.clone() });
            // One directory that cannot be read never hides the rest.
            if let Some(Ok(inside)) = inside {
                self.gather(&format!("{path}/"), &inside, recursive, depth + 1, into)?;
            }
        }
        Ok(())
    }

    /// The key of `path`, which may end in `;cycle`: without one, the highest.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound), naming keys that look alike.
    pub fn key(&self, path: &str) -> Result<Key> {
        let (name, cycle) = split_cycle(path);
        let mut keys = self.0.keys.clone();
        let mut rest = name.trim_start_matches('/');
        let mut depth = 0;
        loop {
            // A name may hold a slash itself: the whole rest is tried first.
            if let Some(key) = best(&keys, rest, cycle) {
                return Ok(key.clone());
            }
            let step = rest.match_indices('/').find_map(|(at, _)| {
                let (folder, folder_cycle) = split_cycle(&rest[..at]);
                best(&keys, folder, folder_cycle).filter(|key| is_directory(&key.class)).map(|key| (key.clone(), at))
            });
            depth += 1;
            let Some((folder, at)) = step.filter(|_| depth <= self.0.options.limits.depth) else {
                return Err(self.missing(path, &keys));
            };
            keys = self.0.directory_keys(&folder).map_err(|error| self.name(error).in_object(&folder.name))?;
            rest = rest[at + 1..].trim_start_matches('/');
        }
    }

    fn missing(&self, path: &str, keys: &[Key]) -> Error {
        let wanted = path.rsplit('/').next().unwrap_or(path);
        let mut near: Vec<_> = keys.iter().map(|key| (distance(wanted, &key.name), &key.name)).collect();
        near.sort();
        near.dedup();
        let names: Vec<_> = near.iter().take(5).map(|(_, name)| format!("{name:?}")).collect();
        let hint = if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) };
        self.name(Error::not_found(format!("no key {path:?}{hint}")))
    }

    /// The inflated payload of a record.
    pub fn payload(&self, key: &Key) -> Result<Bytes> {
        self.0.payload(key).map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Bytes of the file as they are.
    pub fn read_raw(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        load(&*self.0.store, ranges).map_err(|error| self.name(error))
    }

    /// The classes that the file describes; read on first use.
    pub fn registry(&self) -> Result<Arc<Registry>> {
        let loaded = self.0.registry.get_or_init(|| match self.0.load_registry() {
            Ok(registry) => Ok(Arc::new(registry)),
            Err(error) => Err(error.to_string()),
        });
        match loaded {
            Ok(registry) => Ok(Arc::clone(registry)),
            Err(message) => Err(self.name(Error::malformed(format!("the StreamerInfo record: {message}")))),
        }
    }

    /// The infos in the file's StreamerInfo record, in its order.
    pub fn infos(&self) -> Result<Vec<StreamerInfo>> {
        self.0.load_infos().map_err(|error| self.name(error))
    }

    /// Reads an object by `path;cycle`, as named members.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound); [`Unsupported`](ErrorKind::Unsupported) for classes that nothing describes, and
    /// for RNTuples.
    pub fn object(&self, path: &str) -> Result<Object> {
        let key = self.key(path)?;
        self.object_at(&key)
    }

    /// Reads the object of a key.
    pub fn object_at(&self, key: &Key) -> Result<Object> {
        refuse_rntuple(key).map_err(|error| self.name(error))?;
        let payload = self.payload(key)?;
        let registry = self.registry()?;
        Object::read(&registry, &key.class, &payload, usize::from(key.keylen), &self.0.options.limits)
            .map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Opens a tree by `path;cycle`. A tree is read once and shared.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound); [`Mismatch`](ErrorKind::Mismatch) for what is no tree.
    pub fn tree(&self, path: &str) -> Result<Arc<Tree>> {
        let key = self.key(path)?;
        self.tree_at(&key)
    }

    /// Opens the tree of a key.
    pub fn tree_at(&self, key: &Key) -> Result<Arc<Tree>> {
        if let Ok(trees) = self.0.trees.read()
            && let Some(tree) = trees.get(&key.seek_key)
        {
            return Ok(Arc::clone(tree));
        }
        let object = self.object_at(key)?;
        let tree = Tree::new(self, key, object).map_err(|error| self.name(error).in_object(&key.name))?;
        let tree = Arc::new(tree);
        if let Ok(mut trees) = self.0.trees.write() {
            trees.insert(key.seek_key, Arc::clone(&tree));
        }
        Ok(tree)
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
        self.0.walk().map_err(|error| self.name(error))
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

impl Inner {
    /// Finds the root directory and its keys; walks the records where the list was never written.
    fn load_root(&mut self) -> Result<()> {
        let begin = u64::from(self.header.begin);
        self.root_key = self.key_at(begin)?;
        let at = begin + u64::from(self.header.nbytes_name);
        let bytes = self.read_up_to(at, 80)?;
        self.root = Directory::read(&mut Reader::new(&bytes)).map_err(|error| error.at(at))?;
        let closed = self.root.seek_keys != 0 && self.header.end <= self.identity.len.max(self.header.end);
        let listed = if closed && self.root.seek_keys < self.identity.len {
            self.load_keys(self.root.seek_keys, self.root.nbytes_keys)
        } else {
            Err(Error::malformed("the list of keys was never written"))
        };
        match listed {
            Ok(keys) => self.keys = keys,
            Err(error) => {
                let found = self.recover();
                if found.is_empty() && self.root.seek_keys != 0 {
                    return Err(error);
                }
                self.keys = found;
                self.recovered = true;
            }
        }
        Ok(())
    }

    fn load_keys(&self, seek: u64, nbytes: u32) -> Result<Vec<Key>> {
        let key = self.key_at(seek)?;
        let payload = if nbytes == key.nbytes || key.nbytes > 0 {
            self.payload(&key)?
        } else {
            return Err(Error::malformed("the list of keys is empty").at(seek));
        };
        let mut reader = Reader::with_origin(&payload, usize::from(key.keylen));
        read_key_list(&mut reader, &self.options.limits).map_err(|error| error.in_object("list of keys"))
    }

    /// The keys below a directory's key.
    fn directory_keys(&self, key: &Key) -> Result<Vec<Key>> {
        let payload = self.payload(key)?;
        let directory = Directory::read(&mut Reader::with_origin(&payload, usize::from(key.keylen)))?;
        if directory.seek_keys == 0 {
            return Ok(Vec::new());
        }
        self.load_keys(directory.seek_keys, directory.nbytes_keys)
    }

    /// The key at an offset.
    fn key_at(&self, at: u64) -> Result<Key> {
        const USUAL_BYTES: u64 = 512;
        let first = self.read_up_to(at, USUAL_BYTES)?;
        match Key::read(&first) {
            Ok(key) => Ok(key),
            // Three long strings: at most 64 KiB, since `fKeylen` is a 16-bit number.
            Err(_) => {
                let more = self.read_up_to(at, 1 << 16)?;
                Key::read(&more).map_err(|error| error.at(at))
            }
        }
    }

    fn payload(&self, key: &Key) -> Result<Bytes> {
        let start = key.seek_key.saturating_add(u64::from(key.keylen));
        let stored = u64::from(key.stored_bytes());
        let limits = &self.options.limits;
        if u64::from(key.objlen) > limits.object_bytes {
            return Err(Error::limit("an object is larger than the limit", limits.object_bytes, u64::from(key.objlen)));
        }
        let bytes = self.read(start..start.saturating_add(stored))?;
        if !key.is_compressed() {
            return Ok(bytes);
        }
        if u64::from(key.objlen) > stored.saturating_mul(limits.expansion) {
            return Err(Error::limit(
                "an object inflates too far",
                stored.saturating_mul(limits.expansion),
                u64::from(key.objlen),
            )
            .at(start));
        }
        let mut inflated = vec![0; key.objlen as usize];
        codec::inflate(&bytes, &mut inflated, &mut Scratch::default()).map_err(|error| error.at(start))?;
        Ok(inflated.into())
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.start > range.end || range.end > self.identity.len {
            return Err(Error::malformed("a record reaches beyond the end of the file")
                .at(range.start)
                .wanted(range.end, self.identity.len));
        }
        let slice = |bytes: &Bytes, start: u64| {
            let from = range.start.checked_sub(start)? as usize;
            let to = (range.end - start) as usize;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        let tail_start = self.identity.len - self.tail.len() as u64;
        if let Some(known) = slice(&self.head, 0).or_else(|| slice(&self.tail, tail_start)) {
            return Ok(known);
        }
        let mut read = load(&*self.store, std::slice::from_ref(&range))?;
        read.pop().ok_or_else(|| Error::new(ErrorKind::Io, "the store delivered nothing").at(range.start))
    }

    /// At most `bytes` bytes: fewer at the end of the file.
    fn read_up_to(&self, at: u64, bytes: u64) -> Result<Bytes> {
        let end = at.saturating_add(bytes).min(self.identity.len);
        self.read(at.min(end)..end)
    }

    fn load_infos(&self) -> Result<Vec<StreamerInfo>> {
        let header = &self.header;
        let mut seek = header.seek_info;
        if self.recovered {
            // The newest info record found by the walk counts.
            let found = self.walk()?.into_iter().rev().find_map(|(at, record)| match record {
                Record::Key(key) if &*key.name == "StreamerInfo" && &*key.class == "TList" => Some(at),
                _ => None,
            });
            seek = found.unwrap_or(seek);
        }
        if seek == 0 || seek >= self.identity.len {
            return Ok(Vec::new());
        }
        let key = self.key_at(seek)?;
        let payload = self.payload(&key)?;
        read_infos(&payload, usize::from(key.keylen), &self.options.limits)
            .map_err(|error| error.in_object("StreamerInfo"))
    }

    fn load_registry(&self) -> Result<Registry> {
        Ok(Registry::new(self.load_infos()?, self.header.version))
    }

    fn walk(&self) -> Result<Vec<(u64, Record)>> {
        let mut records = Vec::new();
        let mut at = u64::from(self.header.begin);
        let end = if self.recovered { self.identity.len } else { self.header.end.min(self.identity.len) };
        while at + 4 <= end {
            let first = self.read_up_to(at, 512)?;
            let parsed = Key::parse_record(&first)
                .or_else(|_| self.read_up_to(at, 1 << 16).and_then(|more| Key::parse_record(&more)));
            let record = match parsed {
                Ok(record) => record,
                Err(_) if self.recovered => break,
                Err(error) => return Err(error.at(at)),
            };
            let nbytes = match &record {
                Record::Key(key) => u64::from(key.nbytes),
                Record::Gap(bytes) => *bytes,
            };
            if nbytes == 0 {
                break;
            }
            records.push((at, record));
            at += nbytes;
        }
        Ok(records)
    }

    /// The keys of the root directory, by walking the records as `TFile::Recover` does.
    fn recover(&mut self) -> Vec<Key> {
        self.recovered = true;
        let root = self.root.seek_dir.max(u64::from(self.header.begin));
        let walked = self.walk().unwrap_or_default();
        let mut keys: Vec<Key> = Vec::new();
        for (at, record) in walked {
            if let Record::Key(mut key) = record
                && key.seek_pdir == root
                && !matches!(&*key.class, "TFile" | "TBasket" | "")
                && !(&*key.name == "StreamerInfo" && &*key.class == "TList")
                && at != root
            {
                key.seek_key = at;
                keys.retain(|known| !(known.name == key.name && known.cycle == key.cycle));
                keys.push(key);
            }
        }
        keys
    }
}

/// Whether a class is a directory: subclasses of `TFile` are, too.
pub(crate) fn is_directory(class: &str) -> bool {
    matches!(class, "TDirectory" | "TDirectoryFile" | "TFile") || (class.starts_with('T') && class.ends_with("File"))
}

fn refuse_rntuple(key: &Key) -> Result<()> {
    if matches!(&*key.class, "ROOT::RNTuple" | "ROOT::Experimental::RNTuple") {
        return Err(Error::unsupported(format!("{:?} is an RNTuple: not yet readable", key.name)).in_object(&key.name));
    }
    Ok(())
}

fn split_cycle(path: &str) -> (&str, Option<u16>) {
    match path.rsplit_once(';') {
        Some((name, cycle)) => match cycle.parse() {
            Ok(cycle) => (name, Some(cycle)),
            Err(_) => (path, None),
        },
        None => (path, None),
    }
}

fn best<'k>(keys: &'k [Key], name: &str, cycle: Option<u16>) -> Option<&'k Key> {
    let named = keys.iter().filter(|key| &*key.name == name && cycle.is_none_or(|cycle| key.cycle == cycle));
    named.max_by_key(|key| key.cycle)
}

/// Edit distance, for names that look alike.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
