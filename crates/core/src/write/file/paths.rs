//! Directories and keys by their paths.
//!
//! Source: `TDirectoryFile::mkdir`, `TDirectoryFile::GetKey`.

use std::cmp::Reverse;

use crate::container::{Directory, Key};
use crate::error::{Error, ErrorKind, Result, nearest};
use crate::file::split_cycle;
use crate::wire::Reader;
use crate::write::file::directory::DirectoryState;
use crate::write::file::state::{Output, State};

impl Output {
    /// The directory that holds `path`, and the name in it.
    pub(crate) fn folder_of<'p>(&self, state: &mut State, path: &'p str) -> Result<(usize, &'p str)> {
        let path = path.trim_matches('/');
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(self.in_file(Error::mismatch("an object needs a name")));
        }
        /// The length of a key, title and class included, is a 16-bit number.
        const LONGEST: usize = 1_000;
        if path.split('/').any(|name| name.len() > LONGEST || name.contains('\0')) {
            let words = "a name is too long, or has a zero in it";
            return Err(self.in_file(Error::limit(words, LONGEST as u64, path.len() as u64)));
        }
        Ok((self.folder(state, folder)?, name))
    }

    /// The directory of a path, created if missing.
    pub(crate) fn folder(&self, state: &mut State, path: &str) -> Result<usize> {
        self.folder_titled(state, path, "")
    }

    /// The directory of a path, created with a title if missing.
    pub(crate) fn folder_titled(&self, state: &mut State, path: &str, title: &str) -> Result<usize> {
        self.find_folder(state, path, Some(title))?
            .ok_or_else(|| self.in_file(Error::not_found(format!("no key {path:?}"))))
    }

    /// The directory of a path; if it does not exist it is created with the title `make`, and the directories above it
    /// without a title. Returns `None` without `make`.
    pub(crate) fn find_folder(&self, state: &mut State, path: &str, make: Option<&str>) -> Result<Option<usize>> {
        let mut at = 0;
        let mut done = String::new();
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
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
                    return Err(self.in_file(Error::new(ErrorKind::Exists, words)));
                }
                None => {
                    let Some(title) = make else { return Ok(None) };
                    let title = if names.peek().is_none() { title } else { "" };
                    self.make_folder(state, at, (name, title), done.clone())?
                }
            };
        }
        Ok(Some(at))
    }

    /// Finds what `path` names, with an optional `;cycle`: the directory that holds it, and its keys, the newest first.
    /// A name itself may end like a cycle.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound).
    pub(crate) fn find(&self, state: &mut State, path: &str) -> Result<(usize, Vec<Key>)> {
        let (folder, text) = path.rsplit_once('/').unwrap_or(("", path));
        let missing = |hint: String| self.in_file(Error::not_found(format!("no key {path:?}{hint}")));
        let folder = self.find_folder(state, folder, None)?.ok_or_else(|| missing(String::new()))?;
        let (name, cycle) = split_cycle(text);
        let named = |name, cycle| state.folders[folder].named(name, cycle).cloned().collect();
        let mut keys: Vec<Key> = named(name, cycle);
        if keys.is_empty() {
            keys = named(text, None);
        }
        keys.sort_by_key(|key| Reverse(key.cycle));
        if keys.is_empty() {
            let names = state.folders[folder].keys().map(|key| (&*key.name, &*key.name));
            return Err(missing(nearest(name, names)));
        }
        Ok((folder, keys))
    }

    /// Loads a directory that the file had before.
    pub(crate) fn load_folder(&self, state: &mut State, key: &Key, path: String) -> Result<usize> {
        let Some(file) = &self.before else {
            return Err(self.in_file(Error::not_found(format!("no key {path:?}"))));
        };
        let payload = file.payload(key)?;
        let mut record =
            Directory::read(&mut Reader::new(&payload)).map_err(|error| self.in_file(error.in_object(&path)))?;
        let lost_keys = state.free_list.forget_lost(&mut record.seek_keys, &mut record.nbytes_keys);
        let keys = if lost_keys { Vec::new() } else { file.keys_of(key)? };
        let mut folder = DirectoryState::new(path, key, record, payload.len(), keys);
        folder.changed = lost_keys;
        Ok(state.know(folder))
    }

    fn make_folder(
        &self,
        state: &mut State,
        parent: usize,
        (name, title): (&str, &str),
        path: String,
    ) -> Result<usize> {
        let now = self.now();
        let record = Directory {
            created: now,
            modified: now,
            seek_parent: state.folder_seek(parent),
            uuid: self.uuid(),
            ..Directory::default()
        };
        let key = self.key(state, "TDirectory", &name.into(), &title.into());
        let bytes = record.to_bytes().len();
        let key = self.reserve(state, parent, key, bytes, bytes)?;
        let record = Directory { seek_dir: key.seek_key, nbytes_name: u32::from(key.keylen), ..record };
        self.write_or_release(state, key.seek_key, &[&key.to_bytes(), &record.to_bytes()])?;
        let mut folder = DirectoryState::new(path, &key, record, bytes, Vec::new());
        folder.changed = true;
        state.folders[parent].add(key);
        Ok(state.know(folder))
    }
}
