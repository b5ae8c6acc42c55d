//! Directories, their lists of keys, and the free segments.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::payload::severity;
use super::records::Seen;
use super::{Finding, Report};
use crate::container::{Directory, Key, read_key_list};
use crate::file::File;
use crate::wire::Reader;

/// A key that a directory lists, and its path.
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) key: Key,
}

/// Visits all directories; returns what they list, each record once, and the offsets of their lists.
pub(super) fn check_directories(file: &File, seen: &Seen, report: &mut Report) -> (Vec<Listed>, Vec<u64>) {
    let mut walk = Folders {
        file,
        seen,
        report,
        gone_through: HashSet::new(),
        waiting: Vec::new(),
        listed: Vec::new(),
        lists: Vec::new(),
    };
    let root = file.root_key().clone();
    if file.is_recovered() {
        // There is no list to compare with: what was found is what there is.
        match file.keys(false) {
            Ok(keys) => {
                let keys = keys.into_iter().map(|found| found.key).collect();
                walk.keys("", u64::from(file.header().begin), keys);
            }
            Err(error) => walk.report.add(Finding::of(severity(&error), &error)),
        }
    } else {
        let at = u64::from(file.header().begin);
        walk.gone_through.insert(at);
        walk.list("", at, file.root(), &root);
    }
    while let Some((path, key)) = walk.waiting.pop() {
        walk.below(&path, &key);
    }
    (walk.listed, walk.lists)
}

struct Folders<'a> {
    file: &'a File,
    seen: &'a Seen,
    report: &'a mut Report,
    gone_through: HashSet<u64>,
    /// Directories that are still to be gone through.
    waiting: Vec<(String, Key)>,
    listed: Vec<Listed>,
    /// Offsets of the lists of keys.
    lists: Vec<u64>,
}

impl Folders<'_> {
    /// The list of keys of a directory whose record begins at `at`.
    fn list(&mut self, path: &str, at: u64, directory: &Directory, own: &Key) {
        let place = |finding: Finding| finding.within(if path.is_empty() { "/" } else { path });
        if directory.seek_keys == 0 {
            return;
        }
        self.lists.push(directory.seek_keys);
        let key = match self.file.key_at(directory.seek_keys) {
            Ok(key) => key,
            Err(error) => {
                let finding = Finding::damage("no list of keys at the offset that its directory names").because(&error);
                return self.report.add(place(finding).at(directory.seek_keys));
            }
        };
        if key.nbytes != directory.nbytes_keys {
            let finding = Finding::unusual("a list of keys is not as long as its directory says");
            let (expected, found) = (directory.nbytes_keys.into(), key.nbytes.into());
            self.report.add(place(finding).at(directory.seek_keys).wanted(expected, found));
        }
        if directory.seek_dir != at {
            let finding = Finding::unusual("a directory names another offset as its own");
            self.report.add(place(finding).at(at).wanted(at, directory.seek_dir));
        }
        if own.seek_key != 0 && key.seek_pdir != at {
            let finding = Finding::note("the key of a list of keys names another directory");
            self.report.add(place(finding).at(directory.seek_keys).wanted(at, key.seek_pdir));
        }
        let payload = match self.file.payload(&Key { seek_key: directory.seek_keys, ..key.clone() }) {
            Ok(payload) => payload,
            Err(error) => {
                let finding = Finding::damage("a list of keys cannot be read").because(&error);
                return self.report.add(place(finding).at(directory.seek_keys));
            }
        };
        let mut reader = Reader::with_origin(&payload, usize::from(key.keylen));
        match read_key_list(&mut reader, &self.file.options().limits) {
            Ok(keys) => self.keys(path, at, keys),
            Err(error) => {
                let finding = Finding::damage("a list of keys cannot be read").because(&error);
                self.report.add(place(finding).at(directory.seek_keys));
            }
        }
    }

    fn keys(&mut self, path: &str, directory: u64, keys: Vec<Key>) {
        self.check_cycles(path, &keys);
        for key in keys {
            let path = if path.is_empty() { key.name.to_string() } else { format!("{path}/{}", key.name) };
            let sound = self.check_image(&path, directory, &key);
            if sound && key.is_directory() && self.gone_through.insert(key.seek_key) {
                self.waiting.push((path.clone(), key.clone()));
            }
            if sound {
                self.listed.push(Listed { path, key });
            }
        }
    }

    /// A directory's own record, and what it lists.
    fn below(&mut self, path: &str, key: &Key) {
        let read = self.file.payload(key);
        let read =
            read.and_then(|payload| Directory::read(&mut Reader::with_origin(&payload, usize::from(key.keylen))));
        match read {
            Ok(directory) => self.list(path, key.seek_key, &directory, key),
            Err(error) => {
                let finding = Finding::damage("a directory cannot be read").because(&error);
                self.report.add(finding.within(path).at(key.seek_key));
            }
        }
    }

    /// Of several keys of a name the highest cycle comes first, none is 0 and none is repeated.
    fn check_cycles(&mut self, path: &str, keys: &[Key]) {
        let mut last: HashMap<&Arc<str>, u16> = HashMap::new();
        for key in keys {
            // A negative number is a cycle that is to be kept.
            let cycle = (key.cycle as i16).unsigned_abs();
            let place = |finding: Finding| finding.within(format!("{path}/{}", key.name)).at(key.seek_key);
            if cycle == 0 {
                self.report.add(place(Finding::unusual("a key has the cycle 0")));
            }
            match last.insert(&key.name, cycle) {
                Some(before) if before == cycle => {
                    let finding = Finding::unusual("two keys of a directory have the same name and cycle");
                    self.report.add(place(finding).wanted(before.into(), cycle.into()));
                }
                Some(before) if before < cycle => {
                    let finding = Finding::unusual("a newer cycle is listed after an older one: ROOT takes the older");
                    self.report.add(place(finding).wanted(before.into(), cycle.into()));
                }
                _ => {}
            }
            if &*key.class == "TBasket" {
                self.report.add(place(Finding::unusual("a directory lists a basket")));
            }
        }
    }

    /// Compares a key of a list with its record. False if there is none.
    fn check_image(&mut self, path: &str, directory: u64, image: &Key) -> bool {
        let at = image.seek_key;
        let place = |finding: Finding| finding.within(format!("{path};{}", image.cycle)).at(at);
        let key = match self.file.key_at(at) {
            Ok(key) => key,
            Err(error) => {
                self.report.add(place(Finding::damage("no record at the offset that its key names").because(&error)));
                return false;
            }
        };
        if let Some(gap) = self.seen.gap_within(at, at.saturating_add(key.nbytes.into())) {
            self.report.add(place(Finding::damage("a record lies in a gap")).wanted(gap.0, gap.1));
        }
        let mut sound = true;
        // ROOT reads by the image in the list: where these differ it reads something else.
        for (what, listed, found) in [
            ("length", u64::from(image.nbytes), u64::from(key.nbytes)),
            ("inflated length", image.objlen.into(), key.objlen.into()),
            ("place", at, key.seek_key),
        ] {
            if listed != found {
                sound = false;
                let words = format!("a key in a list and its record differ in their {what}");
                self.report.add(place(Finding::damage(words)).wanted(listed, found));
            }
        }
        // Until ROOT 5.32 the list named a directory's class in fewer letters than the record did.
        if image.keylen != key.keylen && !key.is_directory() {
            let finding = Finding::unusual("a key in a list and its record differ in the length of the key");
            self.report.add(place(finding).wanted(image.keylen.into(), key.keylen.into()));
        }
        if (&image.name, image.cycle) != (&key.name, key.cycle) {
            let words = format!("a key in a list and its record differ in name or cycle: {:?};{}", key.name, key.cycle);
            self.report.add(place(Finding::unusual(words)));
        }
        if key.seek_pdir != directory {
            let finding = Finding::note("a record names another directory than the one that lists it");
            self.report.add(place(finding).wanted(directory, key.seek_pdir));
        }
        sound
    }
}

/// Compares the list of free segments with the gaps that the record walk found; `used` are sorted offsets of records
/// that something in the file refers to.
pub(super) fn check_free(file: &File, seen: &Seen, used: &[u64], report: &mut Report) {
    let header = file.header();
    if file.is_recovered() || header.seek_free == 0 {
        return;
    }
    let segments = match file.free_segments() {
        Ok(segments) => segments,
        Err(error) => {
            let finding = Finding::damage("the list of free segments cannot be read").because(&error);
            return report.add(finding.at(header.seek_free));
        }
    };
    if segments.len() != header.free_segments as usize {
        let finding = Finding::unusual("the header counts other free segments than the list has");
        report.add(finding.at(header.seek_free).wanted(header.free_segments.into(), segments.len() as u64));
    }
    let Some((last, inner)) = segments.split_last() else {
        return report.add(Finding::unusual("the list of free segments is empty").at(header.seek_free));
    };
    if last.first != header.end {
        let finding = Finding::unusual("the last free segment does not begin at the end of the file");
        report.add(finding.at(header.seek_free).wanted(header.end, last.first));
    }
    if last.last <= header.end {
        let finding = Finding::unusual("the last free segment has no room: the next writer would overwrite data");
        report.add(finding.at(header.seek_free).wanted(header.end.saturating_add(1), last.last));
    }
    let mut free = Vec::new();
    for segment in inner {
        let (first, end) = (segment.first, segment.last.saturating_add(1));
        let bytes = end.saturating_sub(first);
        if bytes < 4 {
            report
                .add(Finding::unusual("a free segment is too short for the mark of a gap").at(first).wanted(4, bytes));
        }
        let inside = seen.records.partition_point(|record| record.1 <= first);
        let inside = seen.records.get(inside..).unwrap_or_default();
        let mut inside = inside.iter().take_while(|record| record.0 < end).map(|record| record.0).peekable();
        if let Some(&freed) = inside.peek() {
            let finding = match inside.find(|at| used.binary_search(at).is_ok() || is_page(file, *at)) {
                Some(at) => {
                    Finding::unusual("a free segment holds a record: the next writer would overwrite it").at(at)
                }
                // A writer that dies may have saved the list of free segments, and not yet marked the last of them.
                None => Finding::note("a record that was freed is not marked as a gap").at(freed),
            };
            report.add(finding.wanted(first, end));
        } else if seen.whole && seen.gap_within(first, end) != Some((first, end)) {
            report.add(Finding::note("a free segment is no gap of the same length").at(first).wanted(first, end));
        }
        free.push((first, end));
    }
    if seen.whole {
        free.sort_unstable();
        for gap in &seen.gaps {
            let last = free.partition_point(|segment| segment.0 <= gap.0);
            if last.checked_sub(1).and_then(|last| free.get(last)).is_none_or(|segment| segment.1 < gap.1) {
                report.add(Finding::note("a gap is not in the list of free segments").at(gap.0).wanted(gap.0, gap.1));
            }
        }
    }
}

/// Whether a record holds pages or lists of an RNTuple, which no list of keys names.
fn is_page(file: &File, at: u64) -> bool {
    file.key_at(at).is_ok_and(|key| key.is_blob())
}
