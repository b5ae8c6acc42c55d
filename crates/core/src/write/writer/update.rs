//! Opens an existing file to change it in place, and deletes from it.
//!
//! Source: `TFile::Init` (mode `UPDATE`), `TKey::Delete`, `TDirectoryFile::ReadKeys`.

use std::ops::Range;
use std::sync::Arc;

use crate::container::{Key, Record};
use crate::error::{Error, Result};
use crate::file::walk::{Placed, Stop, Walk};
use crate::file::{File, OpenOptions};
use crate::io::{Sink, Store};
use crate::tree::BasketBytes;
use crate::write::basket::PlacedBasket;
use crate::write::file::free_list::FreeList;
use crate::write::file::state::{Output, State};
use crate::write::options::WriteOptions;
use crate::write::writer::FileWriter;

impl Output {
    /// The writer of an existing file.
    pub(crate) fn open(store: Arc<dyn Store>, sink: Box<dyn Sink>, options: WriteOptions) -> Result<Self> {
        let file = File::from_store(store, OpenOptions { session: options.session.clone(), ..OpenOptions::default() })?;
        let header = file.header().clone();
        check_version(&file)?;
        check_closed(&file)?;
        let (record, free_list) = (file.root().clone(), FreeList::new(header.end, gaps(&file)?));
        Self::over(file, sink, options, record, free_list)
    }

    /// Whether a tree or an RNTuple that is being written has this key.
    fn is_being_written(state: &State, key: &Key) -> bool {
        state.tree_of(key).is_some_and(|tree| tree.is_open) || state.ntuple_of(key).is_some_and(|ntuple| ntuple.is_open)
    }

    /// The ranges of what keys of `folder` hold, and of everything below them. Cycles of a tree share their baskets,
    /// which are released with the last cycle.
    fn rooms_of(&self, state: &mut State, folder: usize, keys: &[Key], rooms: &mut Vec<Range<u64>>) -> Result<()> {
        for key in keys {
            if Self::is_being_written(state, key) {
                return Err(self.in_file(Error::mismatch("it is being written").in_object(&key.name)));
            }
            rooms.push(key.room());
            if key.is_directory() {
                let path = state.folders[folder].path_of(&key.name);
                let Some(inside) = self.find_folder(state, &path, None)? else { continue };
                let record = &state.folders[inside].record;
                rooms.push(record.seek_keys..record.seek_keys + u64::from(record.nbytes_keys));
                let below = state.folders[inside].keys().cloned().collect::<Vec<_>>();
                self.rooms_of(state, inside, &below, rooms)?;
            } else if key.is_tree() {
                let goes = |other: &Key| keys.iter().any(|gone| gone.seek_key == other.seek_key);
                let is_newest = |other: &Key| other.cycle <= key.cycle;
                let mut cycles = state.folders[folder].named(&key.name, None);
                if cycles.all(|other| goes(other) && is_newest(other)) {
                    rooms.extend(self.baskets(state, key)?);
                }
            } else if key.is_ntuple() {
                let goes = |other: &Key| keys.iter().any(|gone| gone.seek_key == other.seek_key);
                let stay: Vec<&Key> =
                    state.folders[folder].named(&key.name, None).filter(|other| !goes(other)).collect();
                rooms.extend(self.rooms_of_ntuple(state, key, &stay));
            }
        }
        Ok(())
    }

    /// Ranges of the baskets of a tree, as far as they match its record.
    fn baskets(&self, state: &State, key: &Key) -> Result<Vec<Range<u64>>> {
        let mut rooms = Vec::new();
        if let Some(tree) = state.tree_of(key) {
            let baskets = tree.branches.iter().flat_map(|branch| &branch.baskets);
            rooms.extend(baskets.map(PlacedBasket::room));
            return Ok(rooms);
        }
        let Some(file) = &self.before else { return Ok(rooms) };
        // What cannot be read cannot be freed; delete its key anyway.
        let Ok(tree) = file.tree_at(key) else { return Ok(rooms) };
        for branch in tree.branches() {
            for basket in branch.baskets() {
                let BasketBytes::Stored { seek, nbytes } = basket.bytes else { continue };
                let is_one = |record: Record| match record {
                    Record::Key(key) => &*key.class == "TBasket" && key.seek_key == seek && key.nbytes == nbytes,
                    Record::Gap(_) => false,
                };
                if nbytes > 0 && file.record_at(seek).is_ok_and(is_one) {
                    rooms.push(seek..seek.saturating_add(u64::from(nbytes)));
                }
            }
        }
        Ok(rooms)
    }
}

impl FileWriter {
    /// Deletes an object, or a directory and all below it; all cycles, if `path` does not end in `;cycle`. The space is
    /// reused after the next save.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Mismatch`](crate::ErrorKind::Mismatch) for a tree that is being
    /// written.
    pub fn remove(&mut self, path: &str) -> Result<()> {
        let output = &self.output;
        let mut state = output.open_state()?;
        let state = &mut *state;
        let (folder, keys) = output.find(state, path.trim_matches('/'))?;
        let mut rooms = Vec::new();
        output.rooms_of(state, folder, &keys, &mut rooms)?;
        state.folders[folder].remove(&keys);
        state.forget(folder, &keys);
        rooms.into_iter().for_each(|room| state.free_list.release(room));
        Ok(())
    }
}

/// Refuses files whose directory records are too small for the current format.
pub(crate) fn check_version(file: &File) -> Result<()> {
    /// Older files have no UUID.
    const OLDEST: i32 = 30_000;
    match file.header().version {
        OLDEST.. => Ok(()),
        _ => Err(file.name(Error::unsupported("files of ROOT 2 can be read, but not updated"))),
    }
}

/// Refuses files that were not closed, or were cut: their missing content is unknown.
pub(crate) fn check_closed(file: &File) -> Result<()> {
    let (there, end) = (file.identity().len, file.header().end);
    if file.is_recovered() || there < end || !is_nothing_behind(file) {
        let words = "the file was not closed, or was cut: `sapwood recover` brings back what it can";
        return Err(file.name(Error::malformed(words).wanted(end, there)));
    }
    Ok(())
}

/// Whether no record follows the end that the header names: gaps may, which ROOT leaves when it deletes the last
/// record, as may a writer that died before its first record was complete; and so may the rest of a deleted record
/// whose beginning was used again. A writer that died had its first record begin at that end.
fn is_nothing_behind(file: &File) -> bool {
    let mut walk = Walk::behind(file);
    let is_gap = |placed: &Placed| matches!(placed.record, Record::Gap(_));
    let is_record = |placed: &Placed| matches!(&placed.record, Record::Key(key) if key.seek_key == placed.at);
    match walk.by_ref().find(|placed| !is_gap(placed)) {
        Some(placed) => !is_record(&placed),
        None => match walk.stop() {
            Some(Stop::End | Stop::Short) => true,
            // A gap may be longer than the file.
            Some(Stop::Beyond(last)) => !is_record(last),
            Some(Stop::Unreadable(error)) => error.is_about_bytes(),
            _ => false,
        },
    }
}

/// The gaps of a file: from its list of free segments, or from its records if the two disagree.
fn gaps(file: &File) -> Result<Vec<Range<u64>>> {
    let end = file.header().end;
    let mut last = u64::from(file.header().begin);
    let mut gaps = Vec::new();
    for free in file.free_segments()? {
        if free.first >= end {
            break;
        }
        let gap = free.first..free.last.saturating_add(1);
        let is_marked = matches!(file.record_at(gap.start), Ok(Record::Gap(bytes)) if bytes <= gap.end - gap.start);
        if gap.start < last || gap.end > end || !is_marked {
            return Ok(marked_gaps(file));
        }
        last = gap.end;
        gaps.push(gap);
    }
    Ok(gaps)
}

/// The gaps that a record walk finds before the end that the header records, as far as it gets.
pub(crate) fn marked_gaps(file: &File) -> Vec<Range<u64>> {
    let is_gap = |placed: &Placed| matches!(placed.record, Record::Gap(_));
    let mut walk = Walk::new(file);
    let gaps = walk.by_ref().filter(is_gap).map(|gap| gap.at..gap.end()).collect();
    if matches!(walk.stop(), Some(Stop::End)) { gaps } else { Vec::new() }
}
