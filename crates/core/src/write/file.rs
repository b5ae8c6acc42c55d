//! The file that is written: its directories, keys, classes and header.
//!
//! Format page: `docs/format/container.md`. Source: `TFile::Init`, `TDirectoryFile::WriteKeys`, `TFile::WriteFree`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::IoSlice;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::branch::BranchSpec;
use super::record;
use super::space::Space;
use super::tree::{TreeOptions, TreeState, TreeWriter};
use crate::codec::{self, Compression, Scratch};
use crate::container::{BIG_FILE, Directory, Free, Header, Key, datime, write_key_list};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{LocalFile, Sink};
use crate::schema::{Draft, Encoder, StreamerInfo, write_infos};
use crate::session::Session;

/// How a file is written.
///
/// # Example
///
/// ```
/// use sapwood::write::WriteOptions;
/// let options = WriteOptions { compression: "zstd:5".parse()?, ..WriteOptions::default() };
/// assert_eq!(options.compression.to_root(), 505);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Compression of objects, and of trees that name none.
    pub compression: Compression,
    /// Threads that compress.
    pub session: Session,
    /// The same input gives the same bytes: no date, and a UUID of zeros.
    pub reproducible: bool,
    /// Wait at each save until the bytes are on storage: for power loss, not for the death of the process.
    pub sync: bool,
}

/// A file that is being written. What was saved is seen by every reader, whatever happens to the process.
///
/// # Example
///
/// ```
/// use sapwood::schema::Draft;
/// use sapwood::write::{FileWriter, WriteOptions};
/// let path = std::env::temp_dir().join("sapwood-file-writer.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// file.write("notes/answer", Draft::new("TObjString").with("fString", "42"))?;
/// file.close()?;
/// let read = sapwood::File::open(&path)?;
/// assert_eq!(read.object("notes/answer")?.member("fString")?.as_text().as_deref(), Some("42"));
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    shared: Arc<Shared>,
}

/// What a file and its trees share.
pub(super) struct Shared {
    pub(super) sink: Box<dyn Sink>,
    pub(super) options: WriteOptions,
    pub(super) name: Arc<str>,
    state: Mutex<State>,
}

/// What changes under the lock.
pub(super) struct State {
    pub(super) space: Space,
    header: Header,
    folders: Vec<Folder>,
    infos: Vec<Arc<StreamerInfo>>,
    infos_changed: bool,
    pub(super) trees: Vec<TreeState>,
    closed: bool,
}

/// A directory of the file; the first is the root.
struct Folder {
    /// Names from the root on, joined by `/`; empty for the root.
    path: String,
    name: Arc<str>,
    title: Arc<str>,
    class: &'static str,
    record: Directory,
    keys: Vec<Key>,
    changed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Objects below that many bytes are not worth compressing (`TKey`).
const LEAST_COMPRESSED_BYTES: usize = 256;
/// Where the first record begins.
const BEGIN: u64 = 100;

impl FileWriter {
    /// A new file in place of what is there.
    ///
    /// # Errors
    ///
    /// [`Denied`](crate::ErrorKind::Denied) and [`Io`](crate::ErrorKind::Io).
    pub fn recreate(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::to_sink(LocalFile::create(path)?, name, options)
    }

    /// A new file in any sink.
    pub fn to_sink(sink: impl Sink, name: impl Into<Arc<str>>, options: WriteOptions) -> Result<Self> {
        let name: Arc<str> = name.into();
        let now = if options.reproducible { datime(0) } else { datime(seconds()) };
        let uuid = if options.reproducible { [0; 16] } else { new_uuid() };
        let mut header = Header { compress: options.compression.to_root(), uuid, ..Header::default() };
        let mut record = Directory { created: now, modified: now, seek_dir: BEGIN, uuid, ..Directory::default() };
        let key =
            Key { class: "TFile".into(), name: Arc::clone(&name), datime: now, seek_key: BEGIN, ..Key::default() };
        let mut payload = crate::wire::Writer::default();
        payload.string(name.as_bytes());
        payload.string(b"");
        let names = payload.as_bytes().len();
        let key = key.sized((names + record.to_bytes().len()) as u32);
        let key = Key { objlen: key.stored_bytes(), ..key };
        record.nbytes_name = u32::from(key.keylen) + names as u32;
        header.nbytes_name = record.nbytes_name;
        payload.bytes(&record.to_bytes());
        let state = State {
            space: Space::new(BEGIN + u64::from(key.nbytes), Vec::new()),
            header,
            folders: vec![Folder {
                path: String::new(),
                name: Arc::clone(&name),
                title: "".into(),
                class: "TFile",
                record,
                keys: Vec::new(),
                changed: true,
            }],
            infos: Vec::new(),
            infos_changed: true,
            trees: Vec::new(),
            closed: false,
        };
        let shared = Shared { sink: Box::new(sink), options, name, state: Mutex::new(state) };
        shared.put(BEGIN, &[&key.to_bytes(), payload.as_bytes()])?;
        let file = Self { shared: Arc::new(shared) };
        file.save()?;
        Ok(file)
    }

    /// Writes an object. The last part of `path` is its name, the parts before it are directories, made where they are
    /// missing. An object that has the name already stays, with a lower cycle.
    ///
    /// # Errors
    ///
    /// Those of [`Encoder::record`], and what the sink reports.
    pub fn write(&mut self, path: &str, object: Draft) -> Result<()> {
        let object = Arc::new(object);
        let mut state = self.shared.open_state()?;
        let (folder, name) = self.shared.folder_of(&mut state, path)?;
        let title = match object.member("fTitle") {
            Some(crate::schema::Datum::Text(title)) => Arc::clone(title),
            _ => "".into(),
        };
        self.shared.write_object(&mut state, folder, name, &title, &object, None).map(drop)
    }

    /// Makes a directory and those above it; nothing where it is there.
    pub fn mkdir(&mut self, path: &str) -> Result<()> {
        let mut state = self.shared.open_state()?;
        self.shared.folder(&mut state, path.trim_matches('/')).map(drop)
    }

    /// Begins a tree. Its record is written at once, without entries, so that [recovery](crate::File::is_recovered) finds
    /// it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for branches that ROOT cannot hold, or that count and are not there;
    /// [`Exists`](crate::ErrorKind::Exists) for two of one name.
    pub fn tree(&mut self, path: &str, branches: Vec<BranchSpec>, options: TreeOptions) -> Result<TreeWriter> {
        let mut state = self.shared.open_state()?;
        let (folder, name) = self.shared.folder_of(&mut state, path)?;
        let compression = options.compression.unwrap_or(self.shared.options.compression);
        let tree = TreeState::new(folder, name.into(), branches, compression, &options)?;
        state.trees.push(tree);
        let index = state.trees.len() - 1;
        self.shared.save(&mut state)?;
        Ok(TreeWriter::new(Arc::clone(&self.shared), index, &state.trees[index], options))
    }

    /// Makes all that was written visible to every reader.
    pub fn save(&self) -> Result<()> {
        let mut state = self.shared.open_state()?;
        self.shared.save(&mut state)
    }

    /// Saves and ends. Rows that a [`TreeWriter`] still holds are not written: close or flush it first.
    pub fn close(self) -> Result<()> {
        self.finish()
    }

    fn finish(&self) -> Result<()> {
        let mut state = self.shared.open_state()?;
        self.shared.save(&mut state)?;
        state.closed = true;
        self.shared.sink.sync().map_err(|error| self.shared.placed(error))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Whoever wants to know whether it was written calls `close`.
        let _ = self.finish();
    }
}

impl State {
    /// Where a directory's record is.
    pub(super) fn folder_seek(&self, folder: usize) -> u64 {
        self.folders[folder].record.seek_dir
    }
}

impl Shared {
    fn placed(&self, error: Error) -> Error {
        error.in_file(Arc::clone(&self.name))
    }

    /// The state, for as long as the file is open.
    pub(super) fn open_state(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(self.placed(Error::new(ErrorKind::Mismatch, "the file is closed")));
        }
        Ok(state)
    }

    pub(super) fn now(&self) -> u32 {
        if self.options.reproducible { datime(0) } else { datime(seconds()) }
    }

    pub(super) fn put(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        self.sink.write_at(at, &parts).map_err(|error| self.placed(error.at(at)))
    }

    /// The directory that holds `path`, and the name in it.
    fn folder_of<'p>(&self, state: &mut State, path: &'p str) -> Result<(usize, &'p str)> {
        let path = path.trim_matches('/');
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(self.placed(Error::mismatch("an object needs a name")));
        }
        Ok((self.folder(state, folder)?, name))
    }

    /// The directory of a path, made where it is missing.
    fn folder(&self, state: &mut State, path: &str) -> Result<usize> {
        let mut at = 0;
        let mut done = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !done.is_empty() {
                done.push('/');
            }
            done.push_str(name);
            at = match state.folders.iter().position(|folder| folder.path == done) {
                Some(known) => known,
                None => self.make_folder(state, at, name, done.clone())?,
            };
        }
        Ok(at)
    }

    fn make_folder(&self, state: &mut State, parent: usize, name: &str, path: String) -> Result<usize> {
        if state.folders[parent].keys.iter().any(|key| &*key.name == name) {
            return Err(self.placed(Error::new(ErrorKind::Exists, format!("{path:?} is an object, and no directory"))));
        }
        let now = self.now();
        let uuid = if self.options.reproducible { [0; 16] } else { new_uuid() };
        let mut record = Directory {
            created: now,
            modified: now,
            seek_parent: state.folders[parent].record.seek_dir,
            uuid,
            ..Directory::default()
        };
        let key = self.key(state, "TDirectory", &name.into(), &"".into());
        let bytes = record.to_bytes().len();
        let key = self.reserve(state, parent, key, bytes, bytes)?;
        record.seek_dir = key.seek_key;
        record.nbytes_name = u32::from(key.keylen);
        self.put(key.seek_key, &[&key.to_bytes(), &record.to_bytes()])?;
        let folder = Folder {
            path,
            name: name.into(),
            title: "".into(),
            class: "TDirectory",
            record,
            keys: Vec::new(),
            changed: true,
        };
        state.folders[parent].keys.push(key);
        state.folders[parent].changed = true;
        state.folders.push(folder);
        Ok(state.folders.len() - 1)
    }

    /// A key without place and lengths. Whether its offsets are wide is decided here, since its length moves positions in the
    /// payload: no record is longer than the margin.
    fn key(&self, state: &State, class: &str, name: &Arc<str>, title: &Arc<str>) -> Key {
        const MARGIN: u64 = 1 << 30;
        Key {
            version: if state.space.end() > BIG_FILE - MARGIN { 1004 } else { 4 },
            class: class.into(),
            name: Arc::clone(name),
            title: Arc::clone(title),
            datime: self.now(),
            ..Key::default()
        }
    }

    /// Room for a record: the key with place and lengths.
    fn reserve(&self, state: &mut State, folder: usize, key: Key, objlen: usize, stored: usize) -> Result<Key> {
        let key = Key { objlen: objlen as u32, seek_pdir: state.folders[folder].record.seek_dir, ..key };
        let key = key.sized(stored as u32);
        let (at, rest) = state.space.take(u64::from(key.nbytes));
        if let Some(rest) = rest {
            self.put(rest.start, &[&gap_mark(rest.end - rest.start)])?;
        }
        Ok(Key { seek_key: at, ..key })
    }

    /// Writes a record: compressed where that makes it smaller and it is large enough.
    fn put_record(&self, state: &mut State, folder: usize, key: Key, payload: &[u8]) -> Result<Key> {
        let mut packed = Vec::new();
        let is_packed = payload.len() > LEAST_COMPRESSED_BYTES
            && codec::deflate(payload, self.options.compression, &mut packed, &mut Scratch::default())?;
        let stored = if is_packed { &packed } else { payload };
        let key = self.reserve(state, folder, key, payload.len(), stored.len())?;
        self.put(key.seek_key, &[&key.to_bytes(), stored])?;
        Ok(key)
    }

    /// Writes an object under a name, with the next cycle, or in place of `old`.
    fn write_object(
        &self,
        state: &mut State,
        folder: usize,
        name: &str,
        title: &Arc<str>,
        object: &Arc<Draft>,
        old: Option<&Key>,
    ) -> Result<Key> {
        let cycle = old.map_or_else(
            || {
                let cycles = state.folders[folder].keys.iter().filter(|key| &*key.name == name).map(|key| key.cycle);
                cycles.max().unwrap_or(0).saturating_add(1)
            },
            |old| old.cycle,
        );
        let key = Key { cycle, ..self.key(state, object.class(), &name.into(), title) };
        let keylen = usize::from(key.clone().sized(0).keylen);
        let (payload, classes) = Encoder::record(keylen, object).map_err(|error| self.placed(error.in_object(name)))?;
        let key = self.put_record(state, folder, key, &payload)?;
        for class in classes {
            let tells = |info: &StreamerInfo| (Arc::clone(&info.name), info.version, info.checksum);
            if !state.infos.iter().any(|known| tells(known) == tells(&class)) {
                state.infos.push(class);
                state.infos_changed = true;
            }
        }
        let folder = &mut state.folders[folder];
        folder.changed = true;
        match old.and_then(|old| folder.keys.iter().position(|key| key.seek_key == old.seek_key)) {
            Some(place) => folder.keys[place] = key.clone(),
            None => folder.keys.push(key.clone()),
        }
        if let Some(old) = old {
            state.space.give_up(old.seek_key..old.seek_key + u64::from(old.nbytes));
        }
        Ok(key)
    }

    /// Writes what refers to all that is there: records of trees, classes, lists of keys, the header last.
    pub(super) fn save(&self, state: &mut State) -> Result<()> {
        self.save_trees(state)?;
        self.save_infos(state)?;
        self.save_keys(state)?;
        self.save_header(state)?;
        if self.options.sync {
            self.sink.sync().map_err(|error| self.placed(error))?;
        }
        // The header on storage names none of it any more.
        let gaps = state.space.settle().to_vec();
        for gap in gaps {
            self.put(gap.start, &[&gap_mark(gap.end - gap.start)])?;
        }
        Ok(())
    }

    fn save_trees(&self, state: &mut State) -> Result<()> {
        for index in 0..state.trees.len() {
            let tree = &state.trees[index];
            if !tree.changed {
                continue;
            }
            let object = Arc::new(record::draft(tree));
            let (folder, name, title, old) =
                (tree.folder, Arc::clone(&tree.name), Arc::clone(&tree.title), tree.key.clone());
            let key = self.write_object(state, folder, &name, &title, &object, old.as_ref())?;
            state.trees[index].key = Some(key);
            state.trees[index].changed = false;
        }
        Ok(())
    }

    fn save_infos(&self, state: &mut State) -> Result<()> {
        if !state.infos_changed {
            return Ok(());
        }
        let key = self.key(state, "TList", &"StreamerInfo".into(), &"Doubly linked list".into());
        let keylen = usize::from(key.clone().sized(0).keylen);
        let payload = write_infos(state.infos.iter().map(|info| &**info), keylen);
        let key = self.put_record(state, 0, key, &payload)?;
        let old = state.header.seek_info..state.header.seek_info + u64::from(state.header.nbytes_info);
        state.space.give_up(old);
        state.header.seek_info = key.seek_key;
        state.header.nbytes_info = key.nbytes;
        state.infos_changed = false;
        Ok(())
    }

    fn save_keys(&self, state: &mut State) -> Result<()> {
        // Directories below first: what refers comes after what it refers to.
        for index in (0..state.folders.len()).rev() {
            if !state.folders[index].changed {
                continue;
            }
            let folder = &state.folders[index];
            // The newest come first, as in ROOT, so that the first of a name is the one with the highest cycle.
            let mut keys = folder.keys.clone();
            let mut places: HashMap<&str, usize> = HashMap::new();
            for (place, key) in folder.keys.iter().enumerate() {
                places.entry(&key.name).or_insert(place);
            }
            keys.sort_by_key(|key| (places.get(&*key.name).copied(), Reverse(key.cycle)));
            let payload = write_key_list(&keys);
            let key = self.key(state, folder.class, &folder.name, &folder.title);
            let old = folder.record.seek_keys..folder.record.seek_keys + u64::from(folder.record.nbytes_keys);
            let key = self.reserve(state, index, key, payload.len(), payload.len())?;
            self.put(key.seek_key, &[&key.to_bytes(), &payload])?;
            state.space.give_up(old);
            let now = self.now();
            let folder = &mut state.folders[index];
            folder.record.seek_keys = key.seek_key;
            folder.record.nbytes_keys = key.nbytes;
            folder.record.modified = now;
            folder.changed = false;
            let at = folder.record.seek_dir + u64::from(folder.record.nbytes_name);
            self.put(at, &[&folder.record.to_bytes()])?;
        }
        Ok(())
    }

    /// The list of free segments and the header.
    fn save_header(&self, state: &mut State) -> Result<()> {
        let old = state.header.seek_free..state.header.seek_free + u64::from(state.header.nbytes_free);
        state.space.give_up(old);
        let root = &state.folders[0];
        let key = self.key(state, "TFile", &root.name, &root.title);
        // At the end: taking a gap would change the list that is being written.
        let bytes = Free::write_list(&state.space.list()).len();
        let key = Key { objlen: bytes as u32, seek_pdir: state.folders[0].record.seek_dir, ..key }.sized(bytes as u32);
        let key = Key { seek_key: state.space.append(u64::from(key.nbytes)), ..key };
        let list = state.space.list();
        let mut payload = Free::write_list(&list);
        if payload.len() > bytes {
            return Err(self.placed(Error::limit(
                "the list of free segments grew",
                bytes as u64,
                payload.len() as u64,
            )));
        }
        payload.resize(bytes, 0);
        self.put(key.seek_key, &[&key.to_bytes(), &payload])?;
        let end = state.space.end();
        let header = &mut state.header;
        header.end = end;
        header.units = if end > BIG_FILE { 8 } else { 4 };
        header.seek_free = key.seek_key;
        header.nbytes_free = key.nbytes;
        header.free_segments = list.len() as u32;
        let mut bytes = header.to_bytes();
        bytes.resize(BEGIN as usize, 0);
        self.put(0, &[&bytes])
    }
}

/// The mark of a gap: its length, negative.
fn gap_mark(bytes: u64) -> [u8; 4] {
    (-(bytes.min(i32::MAX as u64) as i64) as i32).to_be_bytes()
}

/// Seconds since 1970.
fn seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A UUID that no other file has: the random kind of RFC 9562.
fn new_uuid() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut uuid = [0; 16];
    for half in uuid.chunks_mut(8) {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(seconds());
        hasher.write_u32(std::process::id());
        half.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}
