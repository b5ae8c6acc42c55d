//! A directory of the file being written.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::container::{Directory, Key};
use crate::error::{Error, Result};

/// A directory; the first of a file is its root.
#[derive(Debug)]
pub(crate) struct DirectoryState {
    /// Names from the root on, joined by `/`; empty for the root.
    pub(crate) path: String,
    pub(crate) name: Arc<str>,
    pub(crate) title: Arc<str>,
    pub(crate) class: Arc<str>,
    pub(crate) record: Directory,
    /// Bytes available to the record at its offset.
    pub(crate) room: usize,
    keys: Vec<Key>,
    /// Highest cycle of each name.
    cycles: HashMap<Arc<str>, u16>,
    /// Whether the list on storage is out of date.
    pub(crate) changed: bool,
    /// Whether it was written since the file was opened.
    pub(crate) was_saved: bool,
    /// Whether something was moved out of it, or into it or below it, since the last save.
    pub(crate) moved: Moved,
}

/// How moves of objects between directories have affected one of them since the last save.
///
/// An object must be listed in its new directory before the old one drops it, and directory records are written one by
/// one. So at a save no directory is both a source and a target of moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Moved {
    #[default]
    Nothing,
    /// Something was moved into it, or below it.
    In,
    /// Something was moved out of it.
    Out,
}

impl DirectoryState {
    /// The directory of a key; `keys` are those it lists on storage.
    pub(crate) fn new(path: String, key: &Key, record: Directory, room: usize, keys: Vec<Key>) -> Self {
        let mut folder = Self {
            path,
            name: Arc::clone(&key.name),
            title: Arc::clone(&key.title),
            class: Arc::clone(&key.class),
            record,
            room,
            keys: Vec::with_capacity(keys.len()),
            cycles: HashMap::new(),
            changed: false,
            was_saved: false,
            moved: Moved::Nothing,
        };
        keys.into_iter().for_each(|key| folder.add(key));
        folder.changed = false;
        folder
    }

    /// The path of an object in it.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// Its keys, in order of arrival.
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys with a name, or the one with that cycle.
    pub(crate) fn named(&self, name: &str, cycle: Option<u16>) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| &*key.name == name && cycle.is_none_or(|cycle| key.cycle == cycle))
    }

    /// The key of a name with the highest cycle.
    pub(crate) fn newest(&self, name: &str) -> Option<&Key> {
        self.named(name, None).max_by_key(|key| key.cycle)
    }

    /// The cycle that the next object of a name gets.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if none is left.
    pub(crate) fn next_cycle(&self, name: &str) -> Result<u16> {
        /// A cycle is a signed 16-bit number.
        const LAST: u16 = i16::MAX as u16;
        match self.cycles.get(name) {
            None => Ok(1),
            Some(&cycle) if cycle < LAST => Ok(cycle + 1),
            Some(&cycle) => Err(Error::limit("no cycle is left", u64::from(LAST), u64::from(cycle)).in_object(name)),
        }
    }

    pub(crate) fn add(&mut self, key: Key) {
        let highest = self.cycles.entry(Arc::clone(&key.name)).or_insert(key.cycle);
        *highest = key.cycle.max(*highest);
        self.keys.push(key);
        self.changed = true;
    }

    /// Replaces a key by one with the same name and cycle.
    pub(crate) fn replace(&mut self, old: &Key, key: Key) {
        match self.keys.iter_mut().find(|key| key.seek_key == old.seek_key) {
            Some(place) => {
                *place = key;
                self.changed = true;
            }
            None => self.add(key),
        }
    }

    /// Removes keys.
    pub(crate) fn remove(&mut self, keys: &[Key]) {
        self.keys.retain(|key| !keys.iter().any(|gone| gone.seek_key == key.seek_key));
        for gone in keys {
            match self.newest(&gone.name).map(|key| key.cycle) {
                Some(cycle) => self.cycles.insert(Arc::clone(&gone.name), cycle),
                None => self.cycles.remove(&gone.name),
            };
        }
        self.changed = true;
    }

    /// The keys in the order of the key list: names in order of arrival, the newest cycle of each first, as in ROOT, so
    /// that the first key of a name has the highest cycle.
    pub(crate) fn listed(&self) -> Vec<Key> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, key) in self.keys.iter().enumerate() {
            places.entry(&key.name).or_insert(place);
        }
        let mut keys = self.keys.clone();
        keys.sort_by_key(|key| (places.get(&*key.name).copied(), Reverse(key.cycle)));
        keys
    }
}
