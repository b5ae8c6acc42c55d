//! The state that a file and its trees share: the sink, the free list, the directories.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use crate::codec::Compression;
use crate::container::{Directory, Header, Key};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::io::Sink;
use crate::schema::StreamerInfo;
use crate::write::commit::sync::{Condvar, Mutex, MutexGuard, yield_now};
use crate::write::file::directory::DirectoryState;
use crate::write::file::free_list::FreeList;
use crate::write::options::WriteOptions;
use crate::write::page::state::NTupleState;
use crate::write::record::state::TreeState;

/// The state that a file and its trees share.
pub(crate) struct Output {
    pub(crate) sink: Box<dyn Sink>,
    pub(crate) options: WriteOptions,
    pub(crate) compression: Compression,
    pub(crate) name: Arc<str>,
    /// The file as it was before, where one is updated.
    pub(crate) before: Option<File>,
    pub(crate) state: Mutex<State>,
    /// Notified when a cluster was committed.
    pub(crate) commit_done: Condvar,
    /// Ranges whose gap marker failed to write; a record walk stops there until it is retried.
    pub(crate) unmarked: Mutex<Vec<Range<u64>>>,
    /// The process that opened the file. A forked child has none of its threads, and must not write its rows.
    process: u32,
}

/// What changes under the lock.
pub(crate) struct State {
    pub(crate) free_list: FreeList,
    pub(crate) header: Header,
    /// The header as it is on storage; nothing before the first save of a new file.
    pub(crate) stored_header: Option<Header>,
    pub(crate) folders: Vec<DirectoryState>,
    /// Indices of directories by path.
    pub(crate) places: HashMap<String, usize>,
    pub(crate) infos: Vec<Arc<StreamerInfo>>,
    /// Schema evolution rules of the file.
    pub(crate) rules: Vec<String>,
    pub(crate) infos_changed: bool,
    pub(crate) trees: Vec<TreeState>,
    pub(crate) ntuples: Vec<NTupleState>,
    /// Whether a cluster is being written.
    pub(crate) in_flight: bool,
    /// Clusters of shared trees with reserved space that are not written yet.
    pub(crate) writing: usize,
    /// Threads that wait for them; no space is reserved meanwhile.
    pub(crate) holds: usize,
    /// The first error of clusters that no caller waited for.
    pub(crate) lost: Option<Error>,
    pub(crate) closed: bool,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("name", &self.name).finish_non_exhaustive()
    }
}

impl State {
    /// The state of a file with this root directory.
    pub(crate) fn new(free_list: FreeList, header: Header, root: DirectoryState) -> Self {
        Self {
            free_list,
            header,
            stored_header: None,
            folders: vec![root],
            places: HashMap::from([(String::new(), 0)]),
            infos: Vec::new(),
            rules: Vec::new(),
            infos_changed: false,
            trees: Vec::new(),
            ntuples: Vec::new(),
            in_flight: false,
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

    /// Adds a directory; returns its index.
    pub(crate) fn know(&mut self, folder: DirectoryState) -> usize {
        self.places.insert(folder.path.clone(), self.folders.len());
        self.folders.push(folder);
        self.folders.len() - 1
    }

    /// The tree whose record a key of this session is.
    pub(crate) fn tree_of(&self, key: &Key) -> Option<&TreeState> {
        self.trees.iter().find(|tree| tree.key.as_ref().is_some_and(|known| known.seek_key == key.seek_key))
    }

    /// The RNTuple of this session that a key leads to.
    pub(crate) fn ntuple_of(&self, key: &Key) -> Option<&NTupleState> {
        self.ntuples.iter().find(|ntuple| ntuple.key.as_ref().is_some_and(|known| known.seek_key == key.seek_key))
    }

    /// Abandons a tree, or what was added to it: no reader will see it, and its space is released.
    pub(crate) fn abandon(&mut self, index: usize) {
        let Some(tree) = self.trees.get_mut(index) else { return };
        (tree.changed, tree.is_open, tree.template) = (false, false, None);
        // A tree that existed before keeps its record.
        if let Some(key) = tree.key.take().filter(|_| tree.base.is_none()) {
            self.folders[tree.folder].remove(std::slice::from_ref(&key));
            self.free_list.release(key.room());
        }
        for basket in tree.branches.iter_mut().flat_map(|branch| branch.baskets.drain(..)) {
            self.free_list.release(basket.room());
        }
    }

    /// Forgets the trees, RNTuples and directories of deleted keys.
    pub(crate) fn forget(&mut self, folder: usize, keys: &[Key]) {
        let of = |key: &Key| self.trees.iter().position(|tree| tree.key.as_ref() == Some(key));
        for index in keys.iter().filter_map(of).collect::<Vec<_>>() {
            self.trees[index].forget_record();
        }
        for ntuple in self.ntuples.iter_mut().filter(|ntuple| ntuple.key.as_ref().is_some_and(|key| keys.contains(key)))
        {
            (ntuple.key, ntuple.footer, ntuple.changed) = (None, None, false);
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
            let is_below = |tree: &&mut TreeState| {
                let of = &self.folders[tree.folder].path;
                *of == path || of.starts_with(&below)
            };
            for tree in self.trees.iter_mut().filter(is_below) {
                tree.forget_record();
            }
        }
    }

    /// Adds the classes needed to read an object.
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

    /// Adds the classes of another file, and their schema evolution rules.
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

impl Output {
    pub(crate) fn new(
        sink: Box<dyn Sink>,
        options: WriteOptions,
        compression: Compression,
        name: Arc<str>,
        before: Option<File>,
        state: State,
    ) -> Self {
        let (state, commit_done, unmarked) = (Mutex::new(state), Condvar::new(), Mutex::new(Vec::new()));
        Self { sink, options, compression, name, before, state, commit_done, unmarked, process: std::process::id() }
    }

    /// Opens an existing file for changes, with this record of its root directory and this free list.
    pub(crate) fn over(
        file: File,
        sink: Box<dyn Sink>,
        options: WriteOptions,
        record: Directory,
        free_list: FreeList,
    ) -> Result<Self> {
        let (mut header, mut record, root) = (file.header().clone(), record, file.root_key());
        free_list.forget_lost(&mut header.seek_free, &mut header.nbytes_free);
        let lost_infos = free_list.forget_lost(&mut header.seek_info, &mut header.nbytes_info);
        let lost_keys = free_list.forget_lost(&mut record.seek_keys, &mut record.nbytes_keys);
        let at = u64::from(header.begin) + u64::from(header.nbytes_name);
        let room = root.room().end.saturating_sub(at) as usize;
        let keys = file.keys(false)?.into_iter().map(|found| found.key).collect();
        let compression = options.compression.or_else(|| Compression::from_root(header.compress)).unwrap_or_default();
        let mut state = State::new(free_list, header, DirectoryState::new(String::new(), root, record, room, keys));
        state.stored_header = Some(file.header().clone()).filter(|_| !file.is_recovered());
        let (infos, rules) = file.infos_and_rules()?;
        state.infos = infos.into_iter().map(Arc::new).collect();
        state.rules = rules;
        state.infos_changed = lost_infos;
        state.folders[0].changed = lost_keys;
        let name = Arc::clone(&file.identity().name);
        Ok(Self::new(sink, options, compression, name, Some(file), state))
    }

    pub(crate) fn in_file(&self, error: Error) -> Error {
        error.in_file(Arc::clone(&self.name))
    }

    /// Locks the state of an open file once no cluster is being written. None starts while the lock is held.
    pub(crate) fn open_state(&self) -> Result<MutexGuard<'_, State>> {
        self.check_process()?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.unless_closed(self.at_rest(state, false))
    }

    /// Waits until everything with reserved space is written: a save covers no unfilled space, so that recovery need
    /// not look before the end that the header records. `in_flight` is set if the caller is the cluster being written.
    pub(crate) fn at_rest<'s>(&'s self, mut state: MutexGuard<'s, State>, in_flight: bool) -> MutexGuard<'s, State> {
        state.holds += 1;
        while state.writing > 0 || state.in_flight && !in_flight {
            state = if rayon::current_thread_index().is_some() {
                // A pool thread may be the one that the cluster waits for, and may pick up work that reserves space.
                state.holds -= 1;
                self.commit_done.notify_all();
                drop(state);
                yield_now();
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.holds += 1;
                state
            } else {
                self.commit_done.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
        state.holds -= 1;
        self.commit_done.notify_all();
        state
    }

    /// Locks the state for a cluster that is being written.
    pub(crate) fn lock_state(&self) -> Result<MutexGuard<'_, State>> {
        self.check_process()?;
        self.unless_closed(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the first error that no caller waited for: closing the file returns it.
    pub(crate) fn defer_error(&self, lost: Option<Error>) {
        if let (Some(lost), Ok(mut state)) = (lost, self.lock_state()) {
            state.lost.get_or_insert(lost);
        }
    }

    /// Refuses child processes forked while the file was open.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) in them.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(self.in_file(Error::mismatch("the file was opened by another process, which writes it alone")))
    }

    fn unless_closed<'s>(&self, state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>> {
        if state.closed {
            return Err(self.in_file(Error::new(ErrorKind::Mismatch, "the file is closed")));
        }
        Ok(state)
    }
}
