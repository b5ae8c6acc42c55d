//! Copies objects from file to file, or moves them within one, without decoding their classes.
//!
//! Source: `TTreeCloner`, for baskets that are copied as they are.

use std::sync::Arc;

use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::{File, split_cycle};
use crate::schema::{Datum, Draft};
use crate::tree::Tree;
use crate::write::basket::PlacedBasket;
use crate::write::file::compatible::same_rules;
use crate::write::file::directory::{DirectoryState, Moved};
use crate::write::file::process_id::is_process_id;
use crate::write::file::state::State;
use crate::write::options::Order;
use crate::write::record::edit::each_branch;
use crate::write::rewrite::ntuple::copy::Copying;
use crate::write::rewrite::tree::prune::{declare_offsets, forget_references};
use crate::write::rewrite::tree::relocate::sealed;
use crate::write::writer::FileWriter;

/// An object that was copied.
#[derive(Debug)]
pub(crate) struct Copied {
    folder: usize,
    key: Key,
}

impl FileWriter {
    /// Copies an object, a tree with its baskets, an RNTuple with its pages, or a directory with all below it, from
    /// another file or from this one as it was when it was opened. `to` is the new path; missing directories are
    /// created. Payloads are copied unchanged, so that unknown classes are copied, too, with their descriptions.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Unsupported`](crate::ErrorKind::Unsupported) if an object of an
    /// unknown class would get another name; for an RNTuple of the time before the format was released.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::Draft;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # let place = |name: &str| std::env::temp_dir().join(name);
    /// let mut file = FileWriter::recreate(place("sapwood-copy-1.root"), WriteOptions::default())?;
    /// file.write("a/note", Draft::new("TNamed").with("fName", "note").with("fTitle", "42"))?;
    /// file.close()?;
    /// let from = sapwood::File::open(place("sapwood-copy-1.root"))?;
    /// let mut file = FileWriter::recreate(place("sapwood-copy-2.root"), WriteOptions::default())?;
    /// file.copy(&from, "a", "b/c")?;
    /// file.close()?;
    /// assert!(sapwood::File::open(place("sapwood-copy-2.root"))?.object("b/c/note").is_ok());
    /// # for name in ["sapwood-copy-1.root", "sapwood-copy-2.root"] { std::fs::remove_file(place(name)).ok(); }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn copy(&mut self, file: &File, from: &str, to: &str) -> Result<()> {
        let key = file.key(from)?;
        self.copy_key(file, &key, to.trim_matches('/'), true)
    }

    /// Gives an object another name or directory. Baskets of a tree, and pages of an RNTuple, are not moved.
    ///
    /// # Errors
    ///
    /// Those of [`copy`](Self::copy) and [`remove`](Self::remove); [`Exists`](crate::ErrorKind::Exists) if a directory
    /// would be moved into itself.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let Some(file) = self.output.before.clone() else {
            return Err(self.output.in_file(Error::mismatch("only what was in a file before can be moved")));
        };
        let tidy = |path: &str| path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let (from, to) = (&*tidy(from), &*tidy(to));
        let bare = split_cycle(from).0;
        if to == from || to == bare || to.starts_with(&format!("{bare}/")) {
            let words = format!("{from:?} cannot go to {to:?}");
            return Err(self.output.in_file(Error::new(crate::ErrorKind::Exists, words)));
        }
        self.check_unchanged(&file, from)?;
        let key = file.key(from)?;
        self.keep_moves_apart(from, to)?;
        self.copy_key(&file, &key, to, false)?;
        self.remove_keeping_baskets(from)?;
        let mut state = self.output.open_state()?;
        let (source, target) = (parent(from), parent(to));
        for folder in &mut state.folders {
            if folder.path == source {
                folder.moved = Moved::Out;
            } else if is_at_or_above(&folder.path, target) {
                folder.moved = Moved::In;
            }
        }
        Ok(())
    }

    /// Saves first if an earlier move makes a directory the opposite side of this one: see [`Moved`].
    fn keep_moves_apart(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.output.open_state()?;
        let (source, target) = (parent(from), parent(to));
        let is_in_the_way = |folder: &DirectoryState| match folder.moved {
            Moved::Nothing => false,
            Moved::In => folder.path == source,
            Moved::Out => folder.path != source && is_at_or_above(&folder.path, target),
        };
        if state.folders.iter().any(is_in_the_way) { self.output.save(&mut state) } else { Ok(()) }
    }

    /// Refuses objects that changed since the file was opened: what is moved is read as it was then.
    fn check_unchanged(&self, file: &File, path: &str) -> Result<()> {
        let mut state = self.output.open_state()?;
        let changed = || {
            let words = "it was changed since the file was opened: close the file first";
            self.output.in_file(Error::mismatch(words).in_object(path))
        };
        let (folder, keys) = self.output.find(&mut state, path)?;
        let Some(live) = keys.into_iter().next() else { return Err(changed()) };
        if file.key(path)? != live || state.tree_of(&live).is_some() {
            return Err(changed());
        }
        if live.is_tree() && state.folders[folder].named(&live.name, None).count() > 1 {
            let words = "the tree has several cycles, which share baskets: delete the older ones first";
            return Err(self.output.in_file(Error::mismatch(words).in_object(path)));
        }
        if live.is_directory() {
            let bare = split_cycle(path).0;
            let below = format!("{bare}/");
            let is_inside = |index: usize| {
                state.folders.get(index).is_some_and(|folder| folder.path == bare || folder.path.starts_with(&below))
            };
            let is_changed = |index: usize| state.folders[index].changed || state.folders[index].was_saved;
            if (0..state.folders.len()).any(|index| is_inside(index) && is_changed(index))
                || state.trees.iter().any(|tree| is_inside(tree.folder))
            {
                return Err(changed());
            }
        }
        Ok(())
    }

    fn copy_key(&mut self, file: &File, key: &Key, to: &str, with_baskets: bool) -> Result<()> {
        if key.is_directory() {
            self.mkdir_like(to, key)?;
            let mut keys = file.keys_of(key)?;
            // The oldest first, so that cycles keep their order.
            keys.sort_by_key(|key| key.cycle);
            return keys
                .iter()
                .try_for_each(|below| self.copy_key(file, below, &format!("{to}/{}", below.name), with_baskets));
        }
        let output = Arc::clone(&self.output);
        let mut state = output.open_state()?;
        let (folder, name) = output.folder_of(&mut state, to)?;
        if folder == 0 && is_process_id(key) {
            return output.process_ids(&mut state, file).map(drop);
        }
        let is_renamed = name != &*key.name;
        // Only its header has the name of an RNTuple: where that and the pages stay, the anchor leads to all of it.
        if key.is_ntuple() && (with_baskets || is_renamed) {
            let from = file.ntuple_at(key)?;
            let how = Copying { with_pages: with_baskets, ..Copying::whole(&from)? };
            return output.copy_ntuple(&mut state, &from, (folder, name), &how);
        }
        let process_ids = output.process_ids(&mut state, file)?;
        if !key.is_tree() && !is_renamed {
            self.copy_record(&mut state, file, key, folder, process_ids)?;
            state.describe(file.infos()?.into_iter().map(Arc::new));
            return Ok(());
        }
        let draft = file.draft_at(key);
        let mut draft = match draft {
            Ok(draft) => draft,
            Err(_) if !key.is_tree() && name.len() == key.name.len() => {
                let key = Key { name: name.into(), ..key.clone() };
                self.copy_record(&mut state, file, &key, folder, process_ids)?;
                state.describe(file.infos()?.into_iter().map(Arc::new));
                return Ok(());
            }
            Err(error) => return Err(error.in_object(to)),
        };
        if is_renamed && matches!(draft.member("fName"), Some(Datum::Text(known)) if *known == key.name) {
            draft.set("fName", name);
        }
        let mut placed = Vec::new();
        if key.is_tree() && with_baskets {
            same_rules(file, &state).map_err(|error| error.in_object(to))?;
            let tree = file.tree_at(key)?;
            let directory = state.folder_seek(folder);
            // Large reads and writes happen without the lock.
            drop(state);
            placed = self.copy_baskets(file, &tree, directory, process_ids, &mut draft)?;
            forget_references(&mut draft);
            state = output.open_state()?;
            // Only the source file describes the classes of the branches.
            state.describe(file.infos()?.into_iter().map(Arc::new));
        }
        let key = output.copied_key(&state, key, name, process_ids)?;
        let outcome = output.write_object(&mut state, folder, key, &Arc::new(draft), None);
        if outcome.is_err() {
            output.release_baskets(&mut state, &placed);
        }
        outcome.map(drop)
    }

    /// Copies a record as it is, without a description of its class.
    fn copy_record(&self, state: &mut State, file: &File, from: &Key, folder: usize, process_ids: u16) -> Result<()> {
        let output = &self.output;
        let start = from.payload_at();
        let stored = file.read_raw(&[start..start.saturating_add(u64::from(from.stored_bytes()))])?;
        let stored = stored.first().map_or(&[][..], |bytes| bytes);
        let key = output.copied_key(state, from, &from.name, process_ids)?;
        // References in the payload count from the key's first byte.
        if key.clone().sized(0).keylen != from.keylen {
            let payload = match file.draft_at(from) {
                // Unknown class: copy it unchanged, with its reference offsets.
                Err(_) if process_ids > 0 => return self.copy_record(state, file, from, folder, 0),
                payload => payload?,
            };
            return output.write_object(state, folder, key, &Arc::new(payload), None).map(drop);
        }
        let key = Key { cycle: state.folders[folder].next_cycle(&from.name)?, ..key };
        let key = output.put_stored(state, folder, key, from.objlen as usize, stored)?;
        state.folders[folder].add(key);
        Ok(())
    }

    /// Copies an object that is not a tree into a directory, under its own name; returns its key, unless it is one that
    /// all files share. The caller adds its class description.
    pub(crate) fn copy_object(&mut self, file: &File, key: &Key, folder: &str) -> Result<Option<Copied>> {
        let output = Arc::clone(&self.output);
        let mut state = output.open_state()?;
        let folder = output.folder(&mut state, folder)?;
        let process_ids = output.process_ids(&mut state, file)?;
        if folder == 0 && is_process_id(key) {
            return Ok(None);
        }
        self.copy_record(&mut state, file, key, folder, process_ids)?;
        let key = state.folders[folder].newest(&key.name).cloned();
        Ok(key.map(|key| Copied { folder, key }))
    }

    /// Removes what was copied, the last first.
    pub(crate) fn remove_copied(&mut self, copied: Vec<Copied>) -> Result<()> {
        let mut state = self.output.open_state()?;
        for Copied { folder, key } in copied.into_iter().rev() {
            state.folders[folder].remove(std::slice::from_ref(&key));
            self.output.release_as_gap(&mut state, key.room());
        }
        Ok(())
    }

    /// Moves the baskets of a tree unchanged, in file order, and updates its record. Baskets in the record stay there.
    /// Returns the ranges of the others.
    fn copy_baskets(
        &self,
        file: &File,
        tree: &Tree,
        directory: u64,
        process_ids: u16,
        draft: &mut Draft,
    ) -> Result<Vec<PlacedBasket>> {
        let branches: Vec<_> = tree.branches().iter().collect();
        let mut baskets = sealed(tree, &branches, Order::Offset, None, &|_| None).map_err(|error| file.name(error))?;
        let mut seeks: Vec<Vec<(usize, u64)>> = vec![Vec::new(); branches.len()];
        let placed = self.output.relocate(file, &mut baskets, directory, process_ids)?;
        for (basket, placed) in baskets.iter().zip(&placed) {
            if let Some(seeks) = seeks.get_mut(basket.branch) {
                seeks.push((basket.number, placed.seek));
            }
        }
        let mut seeks = seeks.into_iter();
        each_branch(draft, &mut |branch| {
            for (number, seek) in seeks.next().into_iter().flatten() {
                set_seek(branch, number, seek);
            }
        });
        declare_offsets(draft, tree, &branches);
        Ok(placed)
    }

    /// Deletes keys, but not the baskets of trees: other records refer to them now.
    fn remove_keeping_baskets(&mut self, path: &str) -> Result<()> {
        let mut state = self.output.open_state()?;
        let state = &mut *state;
        let (folder, mut keys) = self.output.find(state, path)?;
        // Without a cycle the newest is meant.
        keys.truncate(1);
        state.folders[folder].remove(&keys);
        state.forget(folder, &keys);
        for key in keys {
            state.free_list.release(key.room());
        }
        Ok(())
    }
}

/// Sets the offset of a basket, in the number type that the record uses.
fn set_seek(branch: &mut Draft, number: usize, seek: u64) {
    let Some(Datum::Numbers(kind, bytes)) = branch.member_mut("fBasketSeek") else { return };
    let wide = kind.bytes();
    let Some(word) = bytes.get_mut(number * wide..(number + 1) * wide) else { return };
    match wide {
        8 => word.copy_from_slice(&(seek as i64).to_ne_bytes()),
        _ => word.copy_from_slice(&(seek as i32).to_ne_bytes()),
    }
}

/// The directory of a path; empty for the root.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether a directory is another one, or holds it.
fn is_at_or_above(path: &str, folder: &str) -> bool {
    path.is_empty() || folder.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
