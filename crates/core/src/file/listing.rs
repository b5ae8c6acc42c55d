//! The keys of a directory, and how they are found by name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::container::Key;

/// The keys of one directory, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) keys: Vec<Key>,
    /// Places of the keys of a name.
    places: HashMap<Arc<str>, Vec<usize>>,
}

impl Listing {
    pub(crate) fn new(keys: Vec<Key>) -> Self {
        let mut places: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (place, key) in keys.iter().enumerate() {
            places.entry(Arc::clone(&key.name)).or_default().push(place);
        }
        Self { keys, places }
    }

    /// The keys of a name.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Key> {
        self.places.get(name).into_iter().flatten().filter_map(|&place| self.keys.get(place))
    }

    /// The key of a name and cycle; without a cycle the highest, of several the last.
    pub(crate) fn best(&self, name: &str, cycle: Option<u16>) -> Option<&Key> {
        let wanted = cycle.map_or(0..=u16::MAX, |cycle| cycle..=cycle);
        self.named(name).filter(|key| wanted.contains(&key.cycle)).max_by_key(|key| key.cycle)
    }

    /// The key that a text names, which may end in a cycle; a name may itself look as if it did.
    pub(crate) fn find(&self, text: &str) -> Option<&Key> {
        let (name, cycle) = split_cycle(text);
        self.best(name, cycle).or_else(|| self.best(text, None))
    }
}

pub(crate) fn split_cycle(path: &str) -> (&str, Option<u16>) {
    match path.rsplit_once(';') {
        Some((name, cycle)) => match cycle.parse() {
            Ok(cycle) => (name, Some(cycle)),
            Err(_) => (path, None),
        },
        None => (path, None),
    }
}
