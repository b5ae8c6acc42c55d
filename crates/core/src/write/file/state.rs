//! What a file and its trees share: the sink, the space, the directories, and how a record is put in its place.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::IoSlice;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use crate::codec::{self, Compression, Scratch};
use crate::container::{BIG_FILE, Directory, Header, Key};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, split_cycle};
use crate::io::Sink;
use crate::schema::{Draft, Encoder, StreamerInfo};
use crate::wire::Reader;
use crate::write::basket::{PlacedBasket, SealedBasket};
use crate::write::commit::sync::{Condvar, Mutex, MutexGuard, yield_now};
use crate::write::file::directory::Folder;
use crate::write::file::free_list::Space;
use crate::write::options::WriteOptions;
use crate::write::record::state::TreeState;

/// What a file and its trees share.
pub(crate) struct Shared {
    pub(crate) sink: Box<dyn Sink>,
    pub(crate) options: WriteOptions,
    pub(crate) compression: Compression,
    pub(crate) name: Arc<str>,
    /// The file as it was before, where one is updated.
    pub(crate) before: Option<File>,
    pub(crate) state: Mutex<State>,
    /// Told when a cluster has landed.
    pub(crate) landed: Condvar,
    /// Rooms that could not be marked as gaps: until they are, whoever walks the records stops there.
    unmarked: Mutex<Vec<Range<u64>>>,
    /// The process that opened the file. A child that was forked has none of its threads, and its rows are not ours.
    process: u32,
}

/// What changes under the lock.
pub(crate) struct State {
    pub(crate) space: Space,
    pub(crate) header: Header,
    pub(crate) folders: Vec<Folder>,
    /// Places of directories by their path.
    pub(crate) places: HashMap<String, usize>,
    pub(crate) infos: Vec<Arc<StreamerInfo>>,
    /// Rules of schema evolution that the file had.
    pub(crate) rules: Vec<String>,
    pub(crate) infos_changed: bool,
    pub(crate) trees: Vec<TreeState>,
    /// Whether a cluster is on its way.
    pub(crate) in_air: bool,
    /// Clusters of trees that many threads fill, which have room and are not written yet.
    pub(crate) writing: usize,
    /// Who waits for them; nobody gets room meanwhile.
    pub(crate) holds: usize,
    /// What became of clusters that nobody waited for.
    pub(crate) lost: Option<Error>,
    pub(crate) closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Objects below that many bytes are not worth compressing (`TKey`).
const LEAST_COMPRESSED_BYTES: usize = 256;

impl State {
    /// The state of a file with this root directory.
    pub(crate) fn new(space: Space, header: Header, root: Folder) -> Self {
        Self {
            space,
            header,
            folders: vec![root],
            places: HashMap::from([(String::new(), 0)]),
            infos: Vec::new(),
            rules: Vec::new(),
            infos_changed: false,
            trees: Vec::new(),
            in_air: false,
            writing: 0,
            holds: 0,
            lost: None,
            closed: false,
        }
    }

    /// Where a directory's record is.
    pub(crate) fn folder_seek(&self, folder: usize) -> u64 {
        self.folders[folder].record.seek_dir
    }

    /// Adds a directory to those that are known.
    fn know(&mut self, folder: Folder) -> usize {
        self.places.insert(folder.path.clone(), self.folders.len());
        self.folders.push(folder);
        self.folders.len() - 1
    }

    /// The tree whose record a key of this session is.
    pub(crate) fn tree_of(&self, key: &Key) -> Option<&TreeState> {
        self.trees.iter().find(|tree| tree.key.as_ref().is_some_and(|known| known.seek_key == key.seek_key))
    }

    /// Gives up a tree, or what was added to it: nobody will see it, and its room is free.
    pub(crate) fn abandon(&mut self, index: usize) {
        let Some(tree) = self.trees.get_mut(index) else { return };
        tree.changed = false;
        tree.is_open = false;
        // One that was there before keeps its record.
        if let Some(key) = tree.key.take().filter(|_| tree.base.is_none()) {
            self.folders[tree.folder].remove(std::slice::from_ref(&key));
            self.space.give_up(key.room());
        }
        for basket in tree.branches.iter_mut().flat_map(|branch| branch.baskets.drain(..)) {
            self.space.give_up(basket.room());
        }
    }

    /// Forgets what keys of a directory held: they were deleted.
    pub(crate) fn forget(&mut self, folder: usize, keys: &[Key]) {
        let of = |key: &Key| self.trees.iter().position(|tree| tree.key.as_ref() == Some(key));
        for index in keys.iter().filter_map(of).collect::<Vec<_>>() {
            self.trees[index].key = None;
            self.trees[index].changed = false;
        }
        for key in keys.iter().filter(|key| key.is_directory()) {
            let path = self.folders[folder].path_of(&key.name);
            let below = format!("{path}/");
            for folder in
                self.folders.iter_mut().filter(|folder| folder.path == path || folder.path.starts_with(&below))
            {
                self.places.remove(&folder.path);
                folder.changed = false;
            }
        }
    }

    /// Notes classes that an object takes to be read.
    pub(crate) fn describe(&mut self, classes: impl IntoIterator<Item = Arc<StreamerInfo>>) {
        for class in classes {
            let same = |known: &StreamerInfo| {
                known.name == class.name && known.version == class.version && known.checksum == class.checksum
            };
            if !self.infos.iter().any(|known| Arc::ptr_eq(known, &class) || same(known)) {
                self.infos.push(class);
                self.infos_changed = true;
            }
        }
    }

    /// Notes the classes of another file, and the rules of their evolution.
    pub(crate) fn learn(&mut self, infos: Vec<StreamerInfo>, rules: Vec<String>) {
        self.describe(infos.into_iter().map(Arc::new));
        for rule in rules {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
                self.infos_changed = true;
            }
        }
    }
}

impl Shared {
    pub(crate) fn new(
        sink: Box<dyn Sink>,
        options: WriteOptions,
        compression: Compression,
        name: Arc<str>,
        before: Option<File>,
        state: State,
    ) -> Self {
        let (state, landed, unmarked) = (Mutex::new(state), Condvar::new(), Mutex::new(Vec::new()));
        Self { sink, options, compression, name, before, state, landed, unmarked, process: std::process::id() }
    }

    /// What a file is changed through: its root directory with these keys and this record, and what lies in its space.
    pub(crate) fn over(
        file: File,
        sink: Box<dyn Sink>,
        options: WriteOptions,
        record: Directory,
        space: Space,
    ) -> Result<Self> {
        let (header, root) = (file.header().clone(), file.root_key());
        let at = u64::from(header.begin) + u64::from(header.nbytes_name);
        let room = root.room().end.saturating_sub(at) as usize;
        let keys = file.keys(false)?.into_iter().map(|found| found.key).collect();
        let compression = options.compression.or_else(|| Compression::from_root(header.compress)).unwrap_or_default();
        let mut state = State::new(space, header, Folder::new(String::new(), root, record, room, keys));
        let (infos, rules) = file.infos_and_rules()?;
        state.infos = infos.into_iter().map(Arc::new).collect();
        state.rules = rules;
        let name = Arc::clone(&file.identity().name);
        Ok(Self::new(sink, options, compression, name, Some(file), state))
    }

    pub(crate) fn placed(&self, error: Error) -> Error {
        error.in_file(Arc::clone(&self.name))
    }

    /// The state, for as long as the file is open, once no cluster is on its way. None sets off while it is held.
    pub(crate) fn open_state(&self) -> Result<MutexGuard<'_, State>> {
        self.check_process()?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.unless_closed(self.at_rest(state, false))
    }

    /// The state, once all that has room is written: a save covers no room that is still to be filled, so that recovery need not look
    /// before the end that the header knows. `in_flight` where the caller is the cluster that is on its way.
    pub(crate) fn at_rest<'s>(&'s self, mut state: MutexGuard<'s, State>, in_flight: bool) -> MutexGuard<'s, State> {
        state.holds += 1;
        while state.writing > 0 || state.in_air && !in_flight {
            state = if rayon::current_thread_index().is_some() {
                // A thread of the pool may be the one that the cluster waits for, and may take up work that wants room.
                state.holds -= 1;
                self.landed.notify_all();
                drop(state);
                yield_now();
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.holds += 1;
                state
            } else {
                self.landed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
        state.holds -= 1;
        self.landed.notify_all();
        state
    }

    /// The same for a cluster that is on its way.
    pub(crate) fn lock_state(&self) -> Result<MutexGuard<'_, State>> {
        self.check_process()?;
        self.unless_closed(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes what was lost while nobody waited: whoever closes the file is told the first.
    pub(crate) fn lose(&self, lost: Option<Error>) {
        if let (Some(lost), Ok(mut state)) = (lost, self.lock_state()) {
            state.lost.get_or_insert(lost);
        }
    }

    /// Refuses child processes that were forked while the file was open.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) in them.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(self.placed(Error::mismatch("the file was opened by another process, which writes it alone")))
    }

    fn unless_closed<'s>(&self, state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>> {
        if state.closed {
            return Err(self.placed(Error::new(ErrorKind::Mismatch, "the file is closed")));
        }
        Ok(state)
    }

    pub(crate) fn put(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        self.sink.write_at(at, &parts).map_err(|error| self.placed(error.at(at)))
    }

    /// Marks a range as a gap, so that whoever walks the records steps over it.
    pub(crate) fn mark_gap(&self, gap: &Range<u64>) -> Result<()> {
        /// A mark is a 32-bit number.
        const LONGEST: u64 = 2_000_000_000;
        let mut start = gap.start;
        while start < gap.end {
            let left = gap.end - start;
            // What is left over must hold a mark itself.
            let bytes = if left <= LONGEST { left } else { LONGEST.min(left - 4) };
            self.put(start, &[&(-(bytes as i64) as i32).to_be_bytes()])?;
            start += bytes;
        }
        Ok(())
    }

    /// Marks room that nobody uses as a gap, now or before anything else is written.
    pub(crate) fn leave_gap(&self, room: Range<u64>) {
        if self.mark_gap(&room).is_err() {
            self.unmarked.lock().unwrap_or_else(PoisonError::into_inner).push(room);
        }
    }

    /// Marks what could not be marked before.
    pub(crate) fn mark_left(&self) -> Result<()> {
        let mut unmarked = self.unmarked.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(room) = unmarked.last() {
            self.mark_gap(room)?;
            unmarked.pop();
        }
        Ok(())
    }

    /// Writes what stands at `at`: a gap until all of it but its first word is written, then records. Whoever finds the file
    /// after the death of this process finds either.
    ///
    /// # Errors
    ///
    /// What the sink reports. The room is a gap then; whoever called gives it up.
    pub(crate) fn place(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let room = at..at + bytes as u64;
        self.mark_left().and_then(|()| self.mark_gap(&room)).inspect_err(|_| self.leave_gap(room.clone()))?;
        self.fill(at, parts)
    }

    /// Fills room that is a gap with records: the first word, which makes them of it, comes last.
    pub(crate) fn fill(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        /// The length of the first record.
        const WORD: usize = 4;
        let Some((first, rest)) = parts.split_first().filter(|(first, _)| first.len() >= WORD) else {
            return Err(self.placed(Error::mismatch("a record without a key")));
        };
        let (word, behind) = first.split_at(WORD);
        let mut body = vec![behind];
        body.extend_from_slice(rest);
        self.put(at + WORD as u64, &body)?;
        self.put(at, &[word])
    }

    /// Writes baskets one behind another at the end of the file: `directory` is the place of the record of the directory that holds
    /// their tree, `number` says which of its branch each of them is. Gives their places. Only room and numbers are taken under the
    /// lock; where it fails, the room is a gap.
    pub(crate) fn append(
        &self,
        mut state: MutexGuard<'_, State>,
        directory: u64,
        baskets: &mut [SealedBasket],
        mut number: impl FnMut(&State, usize) -> usize,
    ) -> Result<Vec<u64>> {
        let bytes: u64 = baskets.iter().map(|basket| basket.record.len() as u64).sum();
        let start = state.space.append(bytes);
        let (mut at, mut places) = (start, Vec::with_capacity(baskets.len()));
        let mut outcome = Ok(());
        for (index, basket) in baskets.iter_mut().enumerate() {
            outcome = outcome.and(basket.place(at, directory, number(&state, index) as u16));
            places.push(at);
            at += basket.record.len() as u64;
        }
        drop(state);
        if places.is_empty() {
            return Ok(places);
        }
        let records: Vec<&[u8]> = baskets.iter().map(|basket| basket.record.as_slice()).collect();
        let outcome = match outcome {
            Ok(()) => self.place(start, &records),
            Err(error) => {
                self.leave_gap(start..at);
                Err(self.placed(error))
            }
        };
        if let Err(error) = outcome {
            self.lock_state()?.space.give_up(start..at);
            return Err(error);
        }
        Ok(places)
    }

    /// Gives up baskets that no header names and that nobody will see: each becomes a gap at once, so that nobody who looks for
    /// clusters of a writer that died takes it for one.
    pub(crate) fn give_back(&self, state: &mut State, baskets: &[PlacedBasket]) {
        baskets.iter().for_each(|basket| self.vacate(state, basket.room()));
    }

    /// Gives up room that no header names: it is a gap at once.
    pub(crate) fn vacate(&self, state: &mut State, room: Range<u64>) {
        self.leave_gap(room.clone());
        state.space.give_up(room);
    }

    /// [`place`](Self::place), and the room given up where that fails.
    fn place_or_give_up(&self, state: &mut State, at: u64, parts: &[&[u8]]) -> Result<()> {
        self.place(at, parts).inspect_err(|_| {
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            state.space.give_up(at..at + bytes as u64);
        })
    }

    /// The directory that holds `path`, and the name in it.
    pub(crate) fn folder_of<'p>(&self, state: &mut State, path: &'p str) -> Result<(usize, &'p str)> {
        let path = path.trim_matches('/');
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(self.placed(Error::mismatch("an object needs a name")));
        }
        /// The length of a key, title and class included, is a 16-bit number.
        const LONGEST: usize = 1_000;
        if path.split('/').any(|name| name.len() > LONGEST || name.contains('\0')) {
            let words = "a name is too long, or has a zero in it";
            return Err(self.placed(Error::limit(words, LONGEST as u64, path.len() as u64)));
        }
        Ok((self.folder(state, folder)?, name))
    }

    /// The directory of a path, made where it is missing.
    pub(crate) fn folder(&self, state: &mut State, path: &str) -> Result<usize> {
        self.find_folder(state, path, true)?.ok_or_else(|| self.placed(Error::not_found(format!("no key {path:?}"))))
    }

    /// The directory of a path; none where there is none and none is to be made.
    pub(crate) fn find_folder(&self, state: &mut State, path: &str, make: bool) -> Result<Option<usize>> {
        let mut at = 0;
        let mut done = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !done.is_empty() {
                done.push('/');
            }
            done.push_str(name);
            if let Some(&known) = state.places.get(&done) {
                at = known;
                continue;
            }
            at = match state.folders[at].newest(name).cloned() {
                Some(key) if key.is_directory() => self.load_folder(state, &key, done.clone())?,
                Some(_) => {
                    let words = format!("{done:?} is an object, and no directory");
                    return Err(self.placed(Error::new(ErrorKind::Exists, words)));
                }
                None if make => self.make_folder(state, at, name, done.clone())?,
                None => return Ok(None),
            };
        }
        Ok(Some(at))
    }

    /// What `path` names, `;cycle` included: the directory that holds it, and its keys, the newest first. A name may end like a
    /// cycle.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound).
    pub(crate) fn find(&self, state: &mut State, path: &str) -> Result<(usize, Vec<Key>)> {
        let (folder, text) = path.rsplit_once('/').unwrap_or(("", path));
        let missing = || self.placed(Error::not_found(format!("no key {path:?}")));
        let folder = self.find_folder(state, folder, false)?.ok_or_else(missing)?;
        let (name, cycle) = split_cycle(text);
        let named = |name, cycle| state.folders[folder].named(name, cycle).cloned().collect();
        let mut keys: Vec<Key> = named(name, cycle);
        if keys.is_empty() {
            keys = named(text, None);
        }
        keys.sort_by_key(|key| Reverse(key.cycle));
        if keys.is_empty() { Err(missing()) } else { Ok((folder, keys)) }
    }

    /// A directory that the file had before.
    pub(crate) fn load_folder(&self, state: &mut State, key: &Key, path: String) -> Result<usize> {
        let Some(file) = &self.before else {
            return Err(self.placed(Error::not_found(format!("no key {path:?}"))));
        };
        let payload = file.payload(key)?;
        let record =
            Directory::read(&mut Reader::new(&payload)).map_err(|error| self.placed(error.in_object(&path)))?;
        let keys = file.keys_of(key)?;
        Ok(state.know(Folder::new(path, key, record, payload.len(), keys)))
    }

    fn make_folder(&self, state: &mut State, parent: usize, name: &str, path: String) -> Result<usize> {
        let now = self.now();
        let record = Directory {
            created: now,
            modified: now,
            seek_parent: state.folder_seek(parent),
            uuid: self.uuid(),
            ..Directory::default()
        };
        let key = self.key(state, "TDirectory", &name.into(), &"".into());
        let bytes = record.to_bytes().len();
        let key = self.reserve(state, parent, key, bytes, bytes)?;
        let record = Directory { seek_dir: key.seek_key, nbytes_name: u32::from(key.keylen), ..record };
        self.place_or_give_up(state, key.seek_key, &[&key.to_bytes(), &record.to_bytes()])?;
        let mut folder = Folder::new(path, &key, record, bytes, Vec::new());
        folder.changed = true;
        state.folders[parent].add(key);
        Ok(state.know(folder))
    }

    /// A key without place and lengths. Whether its offsets are wide is decided here, since its length moves positions in the
    /// payload: no record is longer than the margin.
    pub(crate) fn key(&self, state: &State, class: &str, name: &Arc<str>, title: &Arc<str>) -> Key {
        const MARGIN: u64 = 1 << 30;
        /// `TKey` cuts titles at so many bytes: the length of a key is a 16-bit number.
        const LONGEST_TITLE: usize = 30_000;
        Key {
            version: if state.space.end() > BIG_FILE - MARGIN { 1004 } else { 4 },
            class: class.into(),
            name: Arc::clone(name),
            title: cut(title, LONGEST_TITLE),
            datime: self.now(),
            ..Key::default()
        }
    }

    /// Room for a record: the key with place and lengths.
    pub(crate) fn reserve(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        objlen: usize,
        stored: usize,
    ) -> Result<Key> {
        let key = Key { objlen: objlen as u32, seek_pdir: state.folder_seek(folder), ..key };
        let key = key.sized(stored as u32);
        let (at, rest) = state.space.take(u64::from(key.nbytes));
        if let Some(rest) = rest {
            self.mark_gap(&rest)?;
        }
        Ok(Key { seek_key: at, ..key })
    }

    /// Writes a record: compressed where that makes it smaller and it is large enough.
    pub(crate) fn put_record(&self, state: &mut State, folder: usize, key: Key, payload: &[u8]) -> Result<Key> {
        let mut packed = Vec::new();
        let is_packed = payload.len() > LEAST_COMPRESSED_BYTES
            && codec::deflate(payload, self.compression, &mut packed, &mut Scratch::default())?;
        let stored = if is_packed { &packed } else { payload };
        self.put_stored(state, folder, key, payload.len(), stored)
    }

    /// Writes a record whose payload is as it is to stand on storage.
    pub(crate) fn put_stored(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        objlen: usize,
        stored: &[u8],
    ) -> Result<Key> {
        let key = self.reserve(state, folder, key, objlen, stored.len())?;
        self.place_or_give_up(state, key.seek_key, &[&key.to_bytes(), stored])?;
        Ok(key)
    }

    /// Writes an object under the name in `key`, with the next cycle, or in place of `old`.
    pub(crate) fn write_object(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        object: &Arc<Draft>,
        old: Option<&Key>,
    ) -> Result<Key> {
        let name = &*Arc::clone(&key.name);
        if old.is_none() && state.folders[folder].named(name, None).any(|key| key.is_directory()) {
            let words = format!("{name:?} is a directory");
            return Err(self.placed(Error::new(ErrorKind::Exists, words)));
        }
        let cycle = old.map_or_else(|| state.folders[folder].next_cycle(name), |old| Ok(old.cycle))?;
        let key = Key { cycle, ..key };
        let keylen = usize::from(key.clone().sized(0).keylen);
        let (payload, classes) = Encoder::record(keylen, object).map_err(|error| self.placed(error.in_object(name)))?;
        let key = self.put_record(state, folder, key, &payload)?;
        state.describe(classes);
        match old {
            Some(old) => {
                state.folders[folder].replace(old, key.clone());
                state.space.give_up(old.room());
            }
            None => state.folders[folder].add(key.clone()),
        }
        Ok(key)
    }
}

/// The text, or as much of it as so many bytes hold.
fn cut(text: &Arc<str>, bytes: usize) -> Arc<str> {
    if text.len() <= bytes {
        return Arc::clone(text);
    }
    let end = (0..=bytes).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default().into()
}
