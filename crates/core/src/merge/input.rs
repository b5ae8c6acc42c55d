//! An input, and the checks before any of it is written.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;

use super::can_add;
use super::listed::Listed;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::ntuple::NTuple;
use crate::schema::Draft;
use crate::tree::Tree;
use crate::write::check_closed;

/// An open input and its content.
pub(super) struct Input {
    pub(super) file: File,
    /// Directories, before their content.
    pub(super) folders: Vec<(String, Key)>,
    /// The newest cycle of each tree, with its directory.
    pub(super) trees: Vec<(Place, Arc<Tree>)>,
    /// The newest cycle of each RNTuple, with its directory.
    pub(super) ntuples: Vec<(Place, Arc<NTuple>)>,
    /// The newest cycle of each object that is added to others, with its directory.
    pub(super) sums: Vec<(Place, Draft)>,
    /// All other objects with their directories, older cycles first.
    pub(super) objects: Vec<Place>,
    /// The description of its classes as it is stored: most inputs have the same.
    pub(super) classes: Bytes,
    /// Which entries of the object list it has.
    pub(super) listed: HashSet<usize>,
}

/// A key, and the path of its directory.
pub(super) struct Place {
    pub(super) folder: String,
    pub(super) key: Key,
}

impl Place {
    /// Its path. A name may hold slashes itself.
    pub(super) fn path(&self) -> String {
        if self.folder.is_empty() { self.key.name.to_string() } else { format!("{}/{}", self.folder, self.key.name) }
    }
}

impl Input {
    /// Checks an open file.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for files that were not closed or were cut, and for records that
    /// cannot be read; [`Unsupported`](crate::ErrorKind::Unsupported) for RNTuples of the time before the format was
    /// released.
    pub(super) fn look(file: File, trees: bool, listed: Option<&Listed>) -> Result<Self> {
        check_closed(&file)?;
        file.perf().start();
        let classes = match (file.header().nbytes_info, file.stored_infos()?) {
            (0, _) => Bytes::new(),
            (_, Some(stored)) => stored,
            (_, None) => {
                let error = Error::malformed("the description of its classes is not in the file");
                return Err(file.name(error.at(file.header().seek_info)));
            }
        };
        let root = file.keys(false)?.into_iter().map(|found| found.key).collect();
        let mut input = Self {
            file,
            folders: Vec::new(),
            trees: Vec::new(),
            ntuples: Vec::new(),
            sums: Vec::new(),
            objects: Vec::new(),
            classes,
            listed: HashSet::new(),
        };
        let mut seen = HashSet::new();
        input.gather("", root, (trees, listed, false), &mut seen, 0)?;
        Ok(input)
    }

    fn gather(
        &mut self,
        folder: &str,
        mut keys: Vec<Key>,
        (trees, listed, is_all): (bool, Option<&Listed>, bool),
        seen: &mut HashSet<u64>,
        depth: u32,
    ) -> Result<()> {
        let limits = self.file.options().limits;
        if depth > limits.depth {
            let error = Error::limit("directories are too deep", u64::from(limits.depth), u64::from(depth));
            return Err(self.file.name(error.in_object(folder)));
        }
        // Cycles in their order; what was listed first stays first.
        keys.sort_by_key(|key| key.cycle);
        let newest = |name: &str| keys.iter().filter(|key| *key.name == *name).map(|key| key.cycle).max();
        for key in &keys {
            let place = Place { folder: folder.to_owned(), key: key.clone() };
            let path = place.path();
            let found: Vec<usize> = listed.map(|listed| listed.find(&key.name, &path).collect()).unwrap_or_default();
            let is_whole = match listed {
                Some(Listed::Only(_)) => is_all || !found.is_empty(),
                Some(Listed::Skip(_)) => found.is_empty(),
                None => true,
            };
            // Keys skipped for another reason do not count as found.
            let has_entries = key.has_entries();
            if trees || !has_entries {
                self.listed.extend(found);
            }
            if key.is_directory() {
                // Listed directories include all their content.
                if let (Some(listed @ Listed::Skip(_)), false) = (listed, is_whole) {
                    self.listed.extend(listed.below(&path));
                    continue;
                }
                if newest(&key.name) != Some(key.cycle) || !seen.insert(key.seek_key) {
                    continue;
                }
                let inside = self.file.keys_of(key).map_err(|error| error.in_object(&path))?;
                self.folders.push((path.clone(), key.clone()));
                self.gather(&path, inside, (trees, listed, is_whole), seen, depth + 1)?;
            } else if !is_whole || has_entries && (!trees || newest(&key.name) != Some(key.cycle)) {
            } else if key.is_tree() {
                let tree = self.file.tree_at(key)?;
                // Read the lists of baskets here, concurrently with the merge.
                tree.branches().iter().for_each(|branch| _ = branch.baskets());
                self.trees.push((place, tree));
            } else if key.is_ntuple() {
                let ntuple = self.file.ntuple_at(key)?;
                // Read the page lists here, concurrently with the merge.
                ntuple.clusters()?;
                self.ntuples.push((place, ntuple));
            } else if can_add(&key.class) {
                if newest(&key.name) == Some(key.cycle) {
                    let object = self.file.draft_at(key).map_err(|error| error.in_object(folder))?;
                    self.sums.push((place, object));
                }
            } else {
                self.objects.push(place);
            }
        }
        Ok(())
    }
}
