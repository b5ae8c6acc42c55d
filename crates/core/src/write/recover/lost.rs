//! What a file that was cut off has lost: the end of its last record, objects that its lists still name, and the
//! description of its classes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::container::Key;
use crate::error::Error;
use crate::file::File;
use crate::file::walk::{Stop, Walk};
use crate::schema::Encoder;
use crate::write::file::state::State;

/// Whether a walk ended at the record that a file of so many bytes was cut in. `listed` are the offsets of records that
/// the file names.
pub(super) fn is_cut_here(walk: &Walk<'_>, listed: &HashSet<u64>, len: u64) -> bool {
    /// No key is longer: its length has 16 bits.
    const KEY_BYTES: u64 = 1 << 16;
    match walk.stop() {
        Some(Stop::Beyond(_) | Stop::Short) => true,
        Some(Stop::Unreadable(error)) => {
            let is_behind = |seek: &u64| (walk.at()..len).contains(seek);
            error.is_about_bytes() && len - walk.at() < KEY_BYTES && !listed.iter().any(is_behind)
        }
        _ => false,
    }
}

/// Takes objects from their directories whose records are in the part that is missing; tells which.
pub(super) fn drop_objects(state: &mut State) -> Vec<String> {
    let mut dropped = Vec::new();
    for folder in &mut state.folders {
        let is_lost = |key: &&Key| !state.free_list.has(key.seek_key, key.nbytes);
        let lost: Vec<Key> = folder.keys().filter(is_lost).cloned().collect();
        if lost.is_empty() {
            continue;
        }
        let words = "its record is in the part of the file that is missing";
        let note = |key: &Key| format!("{}: {words}, at {}", folder.path_of(&key.name), key.seek_key);
        dropped.extend(lost.iter().map(note));
        folder.remove(&lost);
    }
    dropped
}

/// Describes the classes of listed objects, as ROOT 6.40 has them, in the place of a description that is lost. Returns
/// the paths of those that cannot be described, and why.
pub(super) fn describe_classes(file: &File, state: &mut State) -> Vec<(String, Error)> {
    let (mut described, mut others) = (Vec::new(), Vec::new());
    for folder in &state.folders {
        for key in folder.keys().filter(|key| !key.is_directory() && !key.is_ntuple()) {
            match file.draft_at(key).and_then(|draft| Encoder::record(key.keylen.into(), &Arc::new(draft))) {
                Ok((_, classes)) => described.push(classes),
                Err(error) => others.push((folder.path_of(&key.name), error)),
            }
        }
    }
    described.into_iter().for_each(|classes| state.describe(classes));
    others
}
