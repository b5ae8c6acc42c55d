//! The space that an RNTuple takes in a file: its pages, and what describes them.

use std::ops::Range;

use crate::container::{Key, Record};
use crate::ntuple::{Link, NTuple, Page};
use crate::write::file::state::{Output, State};
use crate::write::page::state::NTupleState;

impl Output {
    /// The records of an RNTuple that is deleted, but for its anchor. Nothing is released of one that shares its header
    /// with a key that stays, and no record that does not look as expected.
    pub(crate) fn rooms_of_ntuple(&self, state: &State, key: &Key, stay: &[&Key]) -> Vec<Range<u64>> {
        if let Some(written) = state.ntuple_of(key) {
            return self.rooms_of_written(written);
        }
        // What cannot be read cannot be freed; its key is deleted anyway.
        let Some(from) = self.before.as_ref().and_then(|file| file.ntuple_at(key).ok()) else { return Vec::new() };
        let header = from.anchor().header.locator;
        let others = stay.iter().filter_map(|other| self.before.as_ref()?.ntuple_at(other).ok());
        if others.into_iter().any(|other| other.anchor().header.locator == header) {
            return Vec::new();
        }
        let mut rooms = self.rooms_of_read(&from);
        for set in 0..from.footer().attribute_sets.len() {
            rooms.extend(from.attribute_set(set).iter().flat_map(|set| self.rooms_of_read(set)));
        }
        rooms
    }

    fn rooms_of_read(&self, from: &NTuple) -> Vec<Range<u64>> {
        let clusters = from.clusters().map_or(0, |clusters| clusters.len());
        let pages = (0..clusters).filter_map(|number| from.cluster_pages(number).ok());
        let pages = pages.flat_map(|(_, columns)| columns).flat_map(|column| column.pages);
        let pages = pages.filter(|page| page.locator.in_file().is_ok_and(|(_, bytes)| !from.is_spread(bytes + 8)));
        let mut rooms = self.rooms_of_pages(pages);
        rooms.extend(from.envelope_rooms());
        rooms
    }

    fn rooms_of_written(&self, written: &NTupleState) -> Vec<Range<u64>> {
        let is_whole = |page: &Page| page.locator.in_file().is_ok_and(|(_, bytes)| bytes + 8 <= written.max_key_bytes);
        let pages = written.clusters.iter().flat_map(|cluster| &cluster.columns).flat_map(|column| &column.pages);
        let mut rooms = self.rooms_of_pages(pages.copied().filter(is_whole));
        rooms.extend(written.groups.iter().map(|group| group.room.clone()));
        rooms.extend(written.footer.clone());
        rooms.extend(self.room_of_header(&written.header_link, written.max_key_bytes));
        rooms
    }

    fn room_of_header(&self, link: &Link, most: u64) -> Option<Range<u64>> {
        let (at, bytes) = link.locator.in_file().ok().filter(|&(_, bytes)| bytes <= most)?;
        self.room(at.checked_sub(Key::BLOB_BYTES)?..at + bytes)
    }

    /// Records that hold pages: those of a record lie side by side, behind its key.
    fn rooms_of_pages(&self, pages: impl Iterator<Item = Page>) -> Vec<Range<u64>> {
        let range = |page: Page| {
            let (at, bytes) = page.locator.in_file().ok()?;
            Some(at..at.checked_add(bytes)?.checked_add(if page.has_checksum { 8 } else { 0 })?)
        };
        let mut ranges: Vec<Range<u64>> = pages.filter_map(range).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut runs: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match runs.last_mut().filter(|run| range.start <= run.end) {
                Some(run) => run.end = run.end.max(range.end),
                None => runs.push(range),
            }
        }
        runs.into_iter().filter_map(|run| self.room(run.start.checked_sub(Key::BLOB_BYTES)?..run.end)).collect()
    }

    /// A record as it should be: as it is, where it was in the file before.
    fn room(&self, expected: Range<u64>) -> Option<Range<u64>> {
        let before = self.before.as_ref().filter(|file| expected.end <= file.identity().len);
        let Some(file) = before else { return Some(expected) };
        match file.record_at(expected.start).ok()? {
            Record::Key(key) if key.is_blob_at(expected.start) && key.room().end >= expected.end => Some(key.room()),
            _ => None,
        }
    }
}
