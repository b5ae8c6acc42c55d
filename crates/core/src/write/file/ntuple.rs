//! RNTuples in a file that is written: blobs, page lists, footer and anchor.
//!
//! Source: `RNTupleFileWriter`.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Compression, Scratch};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::io::runs;
use crate::ntuple::{Anchor, ColumnPages, Envelope, Link, Locator, NTuple, VERSION, chunks};
use crate::write::file::state::{Output, State};
use crate::write::page::seal::SealedCluster;
use crate::write::page::state::{CommittedCluster, NTupleState, WrittenGroup};

impl Output {
    /// Writes a payload to a record that no directory lists, or to several side by side where it is larger than `most`.
    /// Returns where it begins, and the room of all records.
    pub(crate) fn write_blob(
        &self,
        state: &mut State,
        parts: &[&[u8]],
        objlen: u64,
        most: u64,
    ) -> Result<(u64, Range<u64>)> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let Some(chunks) = chunks(bytes, most) else {
            let key = self.blob_key(state, bytes, objlen)?;
            let at = state.free_list.allocate_at_end(u64::from(key.nbytes));
            let key = Key { seek_key: at, ..key };
            let head = key.to_bytes();
            let mut all: Vec<&[u8]> = vec![&head];
            all.extend_from_slice(parts);
            self.write_or_release(state, at, &all)?;
            return Ok((at + u64::from(key.keylen), key.room()));
        };
        if chunks.position_bytes > most {
            let words = "a payload is too large for keys of so few bytes: their positions do not fit into the first";
            return Err(self.in_file(Error::limit(words, most, chunks.position_bytes)));
        }
        // Which bytes each key has; the first has the positions of the others behind them.
        let first = most - chunks.position_bytes;
        let mut ranges = vec![0..first];
        while let Some(end) = ranges.last().map(|last| last.end).filter(|&end| end < bytes) {
            ranges.push(end..end.saturating_add(most).min(bytes));
        }
        // As many keys as readers expect, even if the last one is empty.
        ranges.resize(chunks.count as usize, bytes..bytes);
        let mut keys = Vec::with_capacity(ranges.len());
        for (number, range) in ranges.iter().enumerate() {
            let len = range.end - range.start + if number == 0 { chunks.position_bytes } else { 0 };
            keys.push(self.blob_key(state, len, if number == 0 { objlen } else { len })?);
        }
        let start = state.free_list.allocate_at_end(keys.iter().map(|key| u64::from(key.nbytes)).sum());
        let mut next = start;
        for key in &mut keys {
            key.seek_key = next;
            next += u64::from(key.nbytes);
        }
        let positions = keys.iter().skip(1).map(|key| key.payload_at());
        let positions: Vec<u8> = positions.flat_map(u64::to_le_bytes).collect();
        let heads: Vec<Vec<u8>> = keys.iter().map(Key::to_bytes).collect();
        let mut all: Vec<&[u8]> = Vec::new();
        for (number, (head, range)) in heads.iter().zip(&ranges).enumerate() {
            all.push(head);
            push_range(parts, range, &mut all);
            if number == 0 {
                all.push(&positions);
            }
        }
        self.write_or_release(state, start, &all)?;
        let at = keys.first().map_or(start, |key| key.payload_at());
        Ok((at, start..next))
    }

    /// Writes pages of another file, which the system copies, to a record that no directory lists. Returns where they
    /// begin, and its room. None of them is larger than a key may be.
    pub(crate) fn copy_blob(
        &self,
        state: &mut State,
        from: &NTuple,
        ranges: &[Range<u64>],
        objlen: u64,
    ) -> Result<(u64, Range<u64>)> {
        let bytes = ranges.iter().map(|range| range.end - range.start).sum();
        let key = self.blob_key(state, bytes, objlen)?;
        let start = state.free_list.allocate_at_end(u64::from(key.nbytes));
        let key = Key { seek_key: start, ..key };
        let (room, payload_at) = (key.room(), key.payload_at());
        let copy = || {
            self.mark_deferred_gaps()?;
            self.mark_gap(&room)?;
            let mut at = payload_at;
            for run in runs(ranges) {
                let copied = self.sink.copy_at(at, &**from.file().store(), run.clone());
                copied.map_err(|error| self.in_file(error.at(at).in_object(&from.name)))?;
                at += run.end - run.start;
            }
            self.fill_gap(start, &[&key.to_bytes()])
        };
        match copy() {
            Ok(()) => Ok((payload_at, room)),
            Err(error) => {
                self.mark_or_defer_gap(room.clone());
                state.free_list.release(room);
                Err(error)
            }
        }
    }

    /// A key of a payload, without its place.
    fn blob_key(&self, state: &State, bytes: u64, objlen: u64) -> Result<Key> {
        let len = u32::try_from(bytes).ok().filter(|&bytes| bytes <= i32::MAX as u32 - KEY_MARGIN);
        let len = len
            .ok_or_else(|| self.in_file(Error::limit("a record of an RNTuple is too large", i32::MAX as u64, bytes)))?;
        Ok(Key::blob(self.now(), state.folder_seek(0), len, objlen.min(u64::from(u32::MAX)) as u32))
    }

    /// Writes an envelope.
    pub(crate) fn write_envelope(
        &self,
        state: &mut State,
        envelope: &Envelope,
        compression: Compression,
        most: u64,
    ) -> Result<(Link, Range<u64>)> {
        let stored = envelope.stored(compression, &mut Scratch::default())?;
        let length = envelope.bytes().len() as u64;
        let (at, room) = self.write_blob(state, &[&stored], length, most)?;
        Ok((Link::new(at, stored.len() as u64, length), room))
    }

    /// Writes the pages of a cluster. Returns the pages of each column, and adds the records that hold them to `rooms`,
    /// also if it fails.
    pub(crate) fn write_pages(
        &self,
        state: &mut State,
        sealed: &SealedCluster<'_>,
        most: u64,
        rooms: &mut Vec<Range<u64>>,
    ) -> Result<Vec<ColumnPages>> {
        let mut columns = sealed.columns.clone();
        let stored = sealed.pages.iter().map(|page| page.stored(sealed.with_checksums));
        let mut start = 0_u64;
        for blob in blobs(stored, most) {
            let pages = &sealed.pages[blob];
            let bytes: u64 = pages.iter().map(|page| page.stored(sealed.with_checksums)).sum();
            let parts: Vec<&[u8]> = pages.iter().flat_map(|page| page.written(sealed.with_checksums)).collect();
            let (at, room) = self.write_blob(state, &parts, bytes, most)?;
            rooms.push(room);
            let moved = start..start + bytes;
            for page in columns.iter_mut().flat_map(|column| &mut column.pages) {
                if let Locator::File { at: place, bytes } = page.locator
                    && place & PLACED == 0
                    && moved.contains(&place)
                {
                    page.locator = Locator::File { at: (place - start + at) | PLACED, bytes };
                }
            }
            start += bytes;
        }
        for page in columns.iter_mut().flat_map(|column| &mut column.pages) {
            if let Locator::File { at, bytes } = page.locator {
                page.locator = Locator::File { at: at & !PLACED, bytes };
            }
        }
        Ok(columns)
    }

    /// Writes the pages of a cluster and adds it to its RNTuple. The cluster's own page list follows, so that recovery
    /// finds it.
    pub(crate) fn commit_cluster(
        &self,
        state: &mut State,
        index: usize,
        rows: u64,
        sealed: &SealedCluster<'_>,
        compression: Compression,
    ) -> Result<()> {
        let most = ntuple(state, index)?.max_key_bytes;
        let mut columns = self.write_pages(state, sealed, most, &mut Vec::new())?;
        let ntuple = ntuple(state, index)?;
        let in_use = columns.iter_mut().zip(&mut ntuple.elements).filter(|(column, _)| column.first_element.is_some());
        for (column, elements) in in_use {
            column.first_element = Some(*elements);
            *elements += column.elements();
        }
        let entries = ntuple.entries..ntuple.entries + rows;
        ntuple.entries = entries.end;
        ntuple.stored += sealed.stored;
        ntuple.clusters.push(CommittedCluster { entries, columns });
        ntuple.changed = true;
        // The rows are committed. What fails here is written, and reported, by the next save.
        let _ = self.write_page_list(state, index, compression);
        Ok(())
    }

    /// Writes the page list of clusters that have none.
    pub(crate) fn write_page_list(&self, state: &mut State, index: usize, compression: Compression) -> Result<()> {
        let ntuple = ntuple(state, index)?;
        let clusters = ntuple.unlisted();
        if clusters.is_empty() {
            return Ok(());
        }
        let (list, most) = (ntuple.page_list(clusters.clone())?, ntuple.max_key_bytes);
        let (link, room) = self.write_envelope(state, &list, compression, most)?;
        let ntuple = self::ntuple(state, index)?;
        let group = ntuple.group(&clusters, link)?;
        ntuple.groups.push(WrittenGroup { clusters, group, room });
        Ok(())
    }

    /// Replaces all page lists by one, so that readers need one request.
    pub(crate) fn join_page_lists(&self, state: &mut State, index: usize, compression: Compression) -> Result<()> {
        let ntuple = ntuple(state, index)?;
        if ntuple.groups.len() < 2 {
            return Ok(());
        }
        let all = 0..ntuple.clusters.len();
        let (list, most) = (ntuple.page_list(all.clone())?, ntuple.max_key_bytes);
        let (link, room) = self.write_envelope(state, &list, compression, most)?;
        let ntuple = self::ntuple(state, index)?;
        let group = ntuple.group(&all, link)?;
        let old = std::mem::replace(&mut ntuple.groups, vec![WrittenGroup { clusters: all, group, room }]);
        ntuple.changed = true;
        old.into_iter().for_each(|old| state.free_list.release(old.room));
        Ok(())
    }

    /// Ends an RNTuple: one page list, and no more rows.
    pub(crate) fn end_ntuple(&self, state: &mut State, index: usize, compression: Compression) -> Result<()> {
        let joined = self.join_page_lists(state, index, compression);
        ntuple(state, index)?.is_open = false;
        joined
    }

    /// Writes footers and anchors of RNTuples that changed.
    pub(crate) fn save_ntuples(&self, state: &mut State) -> Result<()> {
        for index in 0..state.ntuples.len() {
            if state.ntuples[index].changed {
                self.save_ntuple(state, index)?;
            }
        }
        Ok(())
    }

    /// Writes footer and anchor of an RNTuple, and lists the anchor in its directory.
    pub(crate) fn save_ntuple(&self, state: &mut State, index: usize) -> Result<()> {
        let (anchor, room) = self.write_footer(state, index)?;
        let payload = anchor.write()?;
        let ntuple = ntuple(state, index)?;
        let (folder, name, old) = (ntuple.folder, Arc::clone(&ntuple.name), ntuple.key.clone());
        let key = self.key(state, "ROOT::RNTuple", &name, &"".into());
        let cycle = match &old {
            Some(old) => old.cycle,
            None => state.folders[folder].next_cycle(&name)?,
        };
        let key = self.put_stored(state, folder, Key { cycle, ..key }, payload.len(), &payload)?;
        match &old {
            Some(old) => {
                state.folders[folder].replace(old, key.clone());
                state.free_list.release(old.room());
            }
            None => state.folders[folder].add(key.clone()),
        }
        let ntuple = self::ntuple(state, index)?;
        let old_footer = ntuple.footer.replace(room);
        ntuple.key = Some(key);
        ntuple.changed = false;
        if let Some(old) = old_footer {
            state.free_list.release(old);
        }
        Ok(())
    }

    /// Writes the page list of clusters that have none, and the footer. Returns the anchor that leads to it, and the
    /// footer's record.
    pub(crate) fn write_footer(&self, state: &mut State, index: usize) -> Result<(Anchor, Range<u64>)> {
        self.write_page_list(state, index, self.compression)?;
        let ntuple = ntuple(state, index)?;
        let (header, footer, max_key_bytes) = (ntuple.header_link, ntuple.seal_footer()?, ntuple.max_key_bytes);
        let (footer, room) = self.write_envelope(state, &footer, self.compression, max_key_bytes)?;
        Ok((Anchor { version: VERSION, header, footer, max_key_bytes }, room))
    }
}

/// More bytes than a key has before its payload.
const KEY_MARGIN: u32 = 1 << 10;

/// Which pages share a blob: as many as a key can hold, and at least one. Given are their stored bytes.
pub(crate) fn blobs(stored: impl Iterator<Item = u64>, most: u64) -> Vec<Range<usize>> {
    let (mut all, mut bytes): (Vec<Range<usize>>, u64) = (Vec::new(), 0);
    for (number, page) in stored.enumerate() {
        match all.last_mut().filter(|_| bytes + page <= most) {
            Some(last) => (last.end, bytes) = (number + 1, bytes + page),
            None => {
                all.push(number..number + 1);
                bytes = page;
            }
        }
    }
    all
}

/// Adds the slices that are a range of parts one after another.
fn push_range<'p>(parts: &[&'p [u8]], range: &Range<u64>, into: &mut Vec<&'p [u8]>) {
    let mut start = 0_u64;
    for part in parts {
        let end = start + part.len() as u64;
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            into.push(&part[(from - start) as usize..(to - start) as usize]);
        }
        start = end;
    }
}

/// Marks places that are final already.
const PLACED: u64 = 1 << 63;

fn ntuple(state: &mut State, index: usize) -> Result<&mut NTupleState> {
    state.ntuples.get_mut(index).ok_or_else(|| Error::internal("an RNTuple has no state"))
}
