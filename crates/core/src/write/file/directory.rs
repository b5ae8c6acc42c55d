//! A directory of the file being written.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
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
    /// By the order in which they arrived.
    keys: BTreeMap<u64, Key>,
    names: HashMap<Arc<str>, Named>,
    /// How many keys have arrived.
    arrived: u64,
    /// Whether the list on storage is out of date.
    pub(crate) changed: bool,
    /// Whether it was written since the file was opened.
    pub(crate) was_saved: bool,
    /// Whether something was moved out of it, or into it or below it, since the last save.
    pub(crate) moved: Moved,
}

/// The keys of a name: directories of a million keys are searched by it.
#[derive(Debug, Default)]
struct Named {
    highest_cycle: u16,
    /// When they arrived, ascending.
    arrivals: Vec<u64>,
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
            keys: BTreeMap::new(),
            names: HashMap::with_capacity(keys.len()),
            arrived: 0,
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
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.values()
    }

    /// The keys with a name, or the one with that cycle.
    pub(crate) fn named<'s>(&'s self, name: &str, cycle: Option<u16>) -> impl Iterator<Item = &'s Key> + use<'s> {
        let arrivals = self.names.get(name).map_or(&[][..], |named| &named.arrivals);
        let keys = arrivals.iter().filter_map(|arrival| self.keys.get(arrival));
        keys.filter(move |key| cycle.is_none_or(|cycle| key.cycle == cycle))
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
        match self.names.get(name).map(|named| named.highest_cycle) {
            None => Ok(1),
            Some(cycle) if cycle < LAST => Ok(cycle + 1),
            Some(cycle) => Err(Error::limit("no cycle is left", u64::from(LAST), u64::from(cycle)).in_object(name)),
        }
    }

    pub(crate) fn add(&mut self, key: Key) {
        let named = self.names.entry(Arc::clone(&key.name)).or_default();
        named.highest_cycle = named.highest_cycle.max(key.cycle);
        named.arrivals.push(self.arrived);
        self.keys.insert(self.arrived, key);
        self.arrived += 1;
        self.changed = true;
    }

    /// Replaces a key by one with the same name and cycle.
    pub(crate) fn replace(&mut self, old: &Key, key: Key) {
        match self.arrival(old).and_then(|arrival| self.keys.get_mut(&arrival)) {
            Some(place) => {
                *place = key;
                self.changed = true;
            }
            None => self.add(key),
        }
    }

    /// Removes keys.
    pub(crate) fn remove(&mut self, keys: &[Key]) {
        for gone in keys {
            let Some(arrival) = self.arrival(gone) else { continue };
            self.keys.remove(&arrival);
            let newest = self.newest(&gone.name).map(|key| key.cycle);
            match (newest, self.names.get_mut(&gone.name)) {
                (Some(cycle), Some(named)) => {
                    named.highest_cycle = cycle;
                    named.arrivals.retain(|other| *other != arrival);
                }
                _ => drop(self.names.remove(&gone.name)),
            }
        }
        self.changed = true;
    }

    /// When a key arrived.
    fn arrival(&self, key: &Key) -> Option<u64> {
        let mut arrivals = self.names.get(&key.name)?.arrivals.iter().copied();
        arrivals.find(|arrival| self.keys.get(arrival).is_some_and(|known| known.seek_key == key.seek_key))
    }

    /// The keys in the order of the key list: names in order of arrival, the newest cycle of each first, as in ROOT, so
    /// that the first key of a name has the highest cycle.
    pub(crate) fn listed(&self) -> Vec<Key> {
        let first = |key: &Key| self.names.get(&key.name).and_then(|named| named.arrivals.first().copied());
        let mut keys: Vec<Key> = self.keys.values().cloned().collect();
        keys.sort_by_cached_key(|key| (first(key), Reverse(key.cycle)));
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, cycle: u16, seek_key: u64) -> Key {
        Key { name: name.into(), cycle, seek_key, ..Key::default() }
    }

    fn shown(keys: impl IntoIterator<Item = Key>) -> Vec<(String, u16)> {
        keys.into_iter().map(|key| (key.name.to_string(), key.cycle)).collect()
    }

    fn of(names: &[(&str, u16)]) -> Vec<(String, u16)> {
        names.iter().map(|(name, cycle)| (name.to_string(), *cycle)).collect()
    }

    #[test]
    fn keys_are_found_by_name_and_listed_in_the_order_of_names() {
        let keys = vec![key("a", 1, 10), key("b", 1, 20), key("a", 2, 30)];
        let mut folder = DirectoryState::new(String::new(), &Key::default(), Directory::default(), 0, keys);
        assert!(!folder.changed);
        assert_eq!(shown(folder.keys().cloned()), of(&[("a", 1), ("b", 1), ("a", 2)]));
        assert_eq!(shown(folder.listed()), of(&[("a", 2), ("a", 1), ("b", 1)]));
        assert_eq!(shown(folder.named("a", None).cloned()), of(&[("a", 1), ("a", 2)]));
        assert_eq!(shown(folder.named("a", Some(1)).cloned()), of(&[("a", 1)]));
        assert_eq!(folder.named("c", None).count(), 0);
        assert_eq!((folder.next_cycle("a").unwrap(), folder.next_cycle("c").unwrap()), (3, 1));

        // A key keeps its place when it is replaced, and a name when one of its keys goes.
        folder.replace(&key("a", 1, 10), key("a", 1, 40));
        assert_eq!(folder.named("a", Some(1)).next().unwrap().seek_key, 40);
        folder.remove(&[key("a", 2, 30), key("c", 1, 99)]);
        assert_eq!((folder.newest("a").unwrap().cycle, folder.next_cycle("a").unwrap()), (1, 2));
        assert_eq!(shown(folder.listed()), of(&[("a", 1), ("b", 1)]));
        folder.remove(&[key("a", 1, 40)]);
        assert_eq!((folder.newest("a"), folder.next_cycle("a").unwrap()), (None, 1));
        // A name that comes again is the last.
        folder.add(key("a", 1, 50));
        assert_eq!(shown(folder.listed()), of(&[("b", 1), ("a", 1)]));
        assert!(folder.changed);
    }

    #[test]
    fn the_last_cycle_is_an_error() {
        let keys = vec![key("a", i16::MAX as u16, 10)];
        let folder = DirectoryState::new(String::new(), &Key::default(), Directory::default(), 0, keys);
        let error = folder.next_cycle("a").unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }
}
