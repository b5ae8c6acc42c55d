//! Clusters of RNTuples that were committed after the last save: each is followed by a page list, which names its
//! RNTuple by the checksum of the header.

use std::ops::Range;

use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::ntuple::{Cluster, NTuple};
use crate::write::file::state::{Output, State};
use crate::write::recover::Recovered;
use crate::write::rewrite::ntuple::pages::check_pages;

impl Output {
    /// Adds to the RNTuples of the file the clusters of page lists among some blobs.
    pub(crate) fn add_clusters(&self, state: &mut State, blobs: &[Key], found: &mut Recovered) -> Result<()> {
        let Some(file) = &self.before else { return Ok(()) };
        let places: Vec<usize> = (0..blobs.len()).filter(|&place| may_be_page_list(file, &blobs[place])).collect();
        if places.is_empty() {
            return Ok(());
        }
        let mut anchors = Vec::new();
        for folder in &state.folders {
            let ntuples = folder.keys().filter(|key| key.is_ntuple());
            let newest = ntuples.filter(|key| folder.newest(&key.name) == Some(key));
            anchors.extend(newest.map(|key| (folder.path_of(&key.name), key.clone())));
        }
        for (path, key) in anchors {
            // What cannot be opened is as it was.
            let Ok(ntuple) = file.ntuple_at(&key) else { continue };
            let (more, rooms) =
                clusters_behind(&ntuple, &page_lists(&ntuple, file, blobs, &places), &path, self, found);
            if more.is_empty() {
                continue;
            }
            match self.grown_ntuple(state, &key, more) {
                Ok(grown) => {
                    found.trees.push((path, ntuple.entries, grown.entries()));
                    grown.settle(state);
                    rooms.into_iter().for_each(|room| state.free_list.release(room));
                }
                Err(error) => found.left.push(format!("{path}: {error}")),
            }
        }
        Ok(())
    }
}

/// The whole clusters that follow those of the footer, without a hole; and the records of their page lists.
fn clusters_behind(
    ntuple: &NTuple,
    lists: &[PageList],
    path: &str,
    output: &Output,
    found: &mut Recovered,
) -> (Vec<Cluster>, Vec<Range<u64>>) {
    let bits: Vec<u16> = ntuple.schema().columns.iter().map(|column| column.bits).collect();
    let (mut all, mut rooms) = (Vec::new(), Vec::new());
    for list in lists {
        let Ok(mut stored) = ntuple.payloads(&[(list.at, list.stored)]) else { continue };
        let clusters = stored.pop().and_then(|stored| ntuple.clusters_of_list(list.at, stored, list.length));
        let Some(clusters) = clusters else { continue };
        rooms.extend(list.rooms.iter().cloned());
        all.extend(clusters);
    }
    all.sort_by_key(|(entries, _)| entries.start);
    let (mut next, mut more, mut doubtful) = (ntuple.entries, Vec::new(), 0_u64);
    for (entries, columns) in all {
        // A list of all clusters repeats those of earlier lists.
        if entries.start != next || entries.is_empty() {
            continue;
        }
        match check_pages(ntuple, &columns, &bits, &output.options.session) {
            Ok(is_doubtful) => doubtful += u64::from(is_doubtful),
            Err(error) => {
                let error: Error = error;
                found.left.push(format!("{path} ends at entry {next}, for its next cluster is not whole: {error}"));
                break;
            }
        }
        next = entries.end;
        more.push((entries, columns));
    }
    if doubtful > 0 {
        found.doubtful.push(format!("{path}: pages of {doubtful} clusters have neither checksum nor compression"));
    }
    (more, rooms)
}

/// What may be a page list: where it begins, its stored bytes, those that it had before compression, and its records.
struct PageList {
    at: u64,
    stored: u64,
    length: u64,
    rooms: Vec<Range<u64>>,
}

/// The blobs that may be page lists. A full key may be the first of several, which it names at its end; a file may have
/// both kinds.
fn page_lists(ntuple: &NTuple, file: &File, blobs: &[Key], places: &[usize]) -> Vec<PageList> {
    let mut all = Vec::new();
    for (place, key) in places.iter().filter_map(|&place| Some((place, blobs.get(place)?))) {
        let (at, first) = (key.payload_at(), u64::from(key.stored_bytes()));
        let mut keys = &blobs[place..=place];
        if first == ntuple.anchor().max_key_bytes && first >= 8 {
            let word = file.read_one(at + first - 8..at + first).ok();
            let last = word.and_then(|word| word.first_chunk().map(|word| u64::from_le_bytes(*word)));
            // Blobs are in the order of the file.
            let last = last.and_then(|last| blobs.binary_search_by_key(&last, Key::payload_at).ok());
            keys = last.and_then(|last| blobs.get(place..=last)).unwrap_or(keys);
        }
        let (stored, positions) = (keys.iter().map(|key| u64::from(key.stored_bytes())), 8 * (keys.len() as u64 - 1));
        let stored = stored.sum::<u64>().saturating_sub(positions);
        let rooms = keys.iter().map(Key::room).collect();
        all.push(PageList { at, stored, length: u64::from(key.objlen), rooms });
    }
    all
}

/// Whether a blob may be a page list, by its first bytes: pages are not read.
fn may_be_page_list(file: &File, key: &Key) -> bool {
    if key.is_compressed() {
        return true;
    }
    let at = key.payload_at();
    let head = file.read_one(at..at.saturating_add(8)).ok();
    let word = head.and_then(|head| head.first_chunk().map(|word| u64::from_le_bytes(*word)));
    word == Some(u64::from(key.objlen) << 16 | 3)
}
