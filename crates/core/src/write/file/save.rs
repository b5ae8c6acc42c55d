//! A save: a record is written after the records it refers to, and the header last.
//!
//! Format page: `docs/format/container.md`. Source: `TDirectoryFile::WriteKeys`, `TFile::WriteFree`,
//! `TFile::WriteHeader`.

use crate::codec::{Algorithm, Compression};
use crate::container::{BIG_FILE, Free, Header, Key, write_key_list};
use crate::error::{Error, Result};
use crate::schema::write_infos;
use crate::write::file::directory::Moved;
use crate::write::file::state::{Output, State};
use crate::write::record::payload::payload;

impl Output {
    /// Writes the records that refer to everything written so far. New records never overwrite what the header on
    /// storage refers to; only the directory records and the header are replaced in place. The list of free segments is
    /// always at the end, so that a file is longer than its header says for as long as the two disagree.
    pub(crate) fn save(&self, state: &mut State) -> Result<()> {
        self.save_trees(state)?;
        self.save_ntuples(state)?;
        self.save_infos(state)?;
        let folders = self.save_keys(state)?;
        self.save_free(state)?;
        if self.options.sync {
            self.sink.sync().map_err(|error| self.in_file(error))?;
        }
        self.show_infos(state)?;
        // Moved objects are listed in their new directory before the old one drops them, even if the power fails.
        let (lose, keep): (Vec<usize>, Vec<usize>) =
            folders.into_iter().partition(|&folder| state.folders[folder].moved == Moved::Out);
        self.save_directories(state, &keep)?;
        if self.options.sync && !lose.is_empty() {
            self.sink.sync().map_err(|error| self.in_file(error))?;
        }
        self.save_directories(state, &lose)?;
        self.save_header(state)?;
        if self.options.sync {
            self.sink.sync().map_err(|error| self.in_file(error))?;
        }
        // The header on storage refers to none of it any more. Markers that fail are written before the next record.
        state.free_list.apply_releases().into_iter().for_each(|gap| self.mark_or_defer_gap(gap));
        self.mark_deferred_gaps()
    }

    /// Makes the header on storage name the new descriptions of classes, and nothing else that is new. Directories are
    /// replaced before the header: if the writer dies in between, a reader needs the classes of what they list.
    fn show_infos(&self, state: &mut State) -> Result<()> {
        let Some(stored) = &state.stored_header else { return Ok(()) };
        if stored.seek_info == state.header.seek_info {
            return Ok(());
        }
        state.stored_header = Some(self.put_header(Header {
            seek_info: state.header.seek_info,
            nbytes_info: state.header.nbytes_info,
            ..stored.clone()
        })?);
        if self.options.sync {
            self.sink.sync().map_err(|error| self.in_file(error))?;
        }
        Ok(())
    }

    /// Replaces directory records in place.
    fn save_directories(&self, state: &mut State, folders: &[usize]) -> Result<()> {
        for &folder in folders {
            let folder = &mut state.folders[folder];
            let at = folder.record.seek_dir + u64::from(folder.record.nbytes_name);
            let record = folder.record.to_bytes_within(folder.room).ok_or_else(|| {
                let words = "the new record of an old directory does not fit its space";
                self.in_file(Error::unsupported(words).in_object(&folder.path))
            })?;
            self.put(at, &[&record])?;
            folder.changed = false;
            folder.was_saved = true;
            folder.moved = Moved::Nothing;
        }
        Ok(())
    }

    fn save_trees(&self, state: &mut State) -> Result<()> {
        for index in 0..state.trees.len() {
            state.trees[index].update_branches().map_err(|error| self.in_file(error))?;
            let tree = &state.trees[index];
            // The last record of a tree is compressed as its file asks.
            let is_last = tree.is_interim && !tree.is_open && tree.key.is_some();
            if !tree.changed && !is_last {
                if !tree.is_open {
                    state.trees[index].template = None;
                }
                continue;
            }
            let infos: Vec<_> = tree.plans.iter().flat_map(|plan| plan.infos.iter().cloned()).collect();
            let (folder, old) = (tree.folder, tree.key.clone());
            let key = self.key(state, tree.class(), &tree.name, &tree.title);
            let key = key.with_pid_offset(old.as_ref().map_or(0, |old| old.pid_offset));
            let key = self.with_cycle(state, folder, key, old.as_ref())?;
            let made = payload(&mut state.trees[index], usize::from(key.clone().sized(0).keylen));
            let (payload, classes) = made.map_err(|error| self.in_file(error.in_object(&key.name)))?;
            state.describe(infos);
            state.describe(classes);
            let interim = interim(self.compression);
            let is_interim =
                state.trees[index].is_open && payload.len() >= LEAST_INTERIM_BYTES && interim != self.compression;
            let compression = if is_interim { interim } else { self.compression };
            let key = self.put_object(state, folder, key, &payload, compression, old.as_ref())?;
            let tree = &mut state.trees[index];
            tree.is_interim = is_interim;
            tree.key = Some(key);
            tree.changed = false;
            tree.saved = (tree.zip_bytes(), tree.entries);
        }
        Ok(())
    }

    fn save_infos(&self, state: &mut State) -> Result<()> {
        if !state.infos_changed {
            return Ok(());
        }
        let key = self.key(state, "TList", &"StreamerInfo".into(), &"Doubly linked list".into());
        let keylen = usize::from(key.clone().sized(0).keylen);
        let payload = write_infos(state.infos.iter().map(|info| &**info), &state.rules, keylen);
        let key = self.put_record(state, 0, key, &payload)?;
        let old = state.header.seek_info..state.header.seek_info + u64::from(state.header.nbytes_info);
        state.free_list.release(old);
        state.header.seek_info = key.seek_key;
        state.header.nbytes_info = key.nbytes;
        state.infos_changed = false;
        Ok(())
    }

    /// Writes the lists of keys; returns the directories whose records must be updated.
    fn save_keys(&self, state: &mut State) -> Result<Vec<usize>> {
        let mut saved = Vec::new();
        // Subdirectories first: a record comes after those it refers to.
        for index in (0..state.folders.len()).rev() {
            let folder = &state.folders[index];
            if !folder.changed {
                continue;
            }
            let payload = write_key_list(&folder.listed());
            let key = self.key(state, &folder.class, &folder.name, &folder.title);
            let old = folder.record.seek_keys..folder.record.seek_keys + u64::from(folder.record.nbytes_keys);
            let key = self.put_stored(state, index, key, payload.len(), &payload)?;
            state.free_list.release(old);
            let now = self.now();
            let record = &mut state.folders[index].record;
            record.seek_keys = key.seek_key;
            record.nbytes_keys = key.nbytes;
            record.modified = now;
            saved.push(index);
        }
        Ok(saved)
    }

    /// Writes the list of free segments as it will be once the header refers to it.
    fn save_free(&self, state: &mut State) -> Result<()> {
        let old = state.header.seek_free..state.header.seek_free + u64::from(state.header.nbytes_free);
        state.free_list.release(old);
        let root = &state.folders[0];
        let key = self.key(state, &root.class, &root.name, &root.title);
        // At the end: using a gap would change the list being written.
        let bytes = Free::write_list(&state.free_list.list()).len();
        let key = Key { objlen: bytes as u32, seek_pdir: state.folder_seek(0), ..key }.sized(bytes as u32);
        let key = Key { seek_key: state.free_list.allocate_at_end(u64::from(key.nbytes)), ..key };
        // The next header refers to it, or a later save releases it.
        state.header.seek_free = key.seek_key;
        state.header.nbytes_free = key.nbytes;
        let list = state.free_list.list();
        let mut payload = Free::write_list(&list);
        if payload.len() > bytes {
            let words = "the list of free segments grew";
            return Err(self.in_file(Error::limit(words, bytes as u64, payload.len() as u64)));
        }
        payload.resize(bytes, 0);
        state.header.free_segments = list.len() as u32;
        self.write_records(key.seek_key, &[&key.to_bytes(), &payload])
    }

    fn save_header(&self, state: &mut State) -> Result<()> {
        state.header.end = state.free_list.end();
        state.header = self.put_header(state.header.clone())?;
        state.stored_header = Some(state.header.clone());
        Ok(())
    }

    /// Writes a header with offsets as wide as it needs, and returns it.
    fn put_header(&self, header: Header) -> Result<Header> {
        let last = header.end.max(header.seek_info);
        let header = Header { units: if last > BIG_FILE { 8 } else { 4 }, ..header };
        let mut bytes = header.to_bytes();
        let room = header.begin as usize;
        if bytes.len() > room {
            let words = "the header of an old file has no room for offsets of 64 bits";
            return Err(self.in_file(Error::limit(words, room as u64, bytes.len() as u64)));
        }
        bytes.resize(room, 0);
        self.put(0, &[&bytes])?;
        Ok(header)
    }
}

/// Records of trees that are still written are compressed at the first level from so many bytes on: the next save
/// replaces them.
const LEAST_INTERIM_BYTES: usize = 1 << 20;

/// How a record is compressed that will be replaced: in as little time as every reader of the file can read.
fn interim(how: Compression) -> Compression {
    match how.algorithm {
        // At its first level it takes ten times as long as others.
        Algorithm::Lzma => Compression { algorithm: Algorithm::Zlib, level: how.level.min(1) },
        algorithm => Compression { algorithm, level: how.level.min(1) },
    }
}
