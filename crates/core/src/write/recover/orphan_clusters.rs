//! Clusters of RNTuples that were committed after the last save: each is followed by a page list, which names its
//! RNTuple by the checksum of the header.

use crate::container::Key;
use crate::error::{Error, Result};
use crate::ntuple::{Cluster, NTuple};
use crate::write::file::state::{Output, State};
use crate::write::recover::Recovered;
use crate::write::rewrite::pages::check_pages;

impl Output {
    /// Adds to the RNTuples of the file the clusters of page lists among some blobs.
    pub(crate) fn add_clusters(&self, state: &mut State, blobs: &[Key], found: &mut Recovered) -> Result<()> {
        let Some(file) = &self.before else { return Ok(()) };
        let lists: Vec<&Key> = blobs.iter().filter(|key| may_be_page_list(file, key)).collect();
        if lists.is_empty() {
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
            let (more, rooms) = clusters_behind(&ntuple, &lists, &path, self, found);
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
    lists: &[&Key],
    path: &str,
    output: &Output,
    found: &mut Recovered,
) -> (Vec<Cluster>, Vec<std::ops::Range<u64>>) {
    let bits: Vec<u16> = ntuple.schema().columns.iter().map(|column| column.bits).collect();
    let (mut all, mut rooms) = (Vec::new(), Vec::new());
    for key in lists {
        let at = key.payload_at();
        let Ok(mut stored) = ntuple.payloads(&[(at, u64::from(key.stored_bytes()))]) else { continue };
        let clusters = stored.pop().and_then(|stored| ntuple.clusters_of_list(at, stored, u64::from(key.objlen)));
        let Some(clusters) = clusters else { continue };
        rooms.push(key.room());
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

/// Whether a blob may be a page list, by its first bytes: pages are not read.
fn may_be_page_list(file: &crate::file::File, key: &Key) -> bool {
    if key.is_compressed() {
        return true;
    }
    let at = key.payload_at();
    let head = file.read_one(at..at.saturating_add(8)).ok();
    let word = head.and_then(|head| head.first_chunk().map(|word| u64::from_le_bytes(*word)));
    word == Some(u64::from(key.objlen) << 16 | 3)
}
