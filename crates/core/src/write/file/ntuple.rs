//! RNTuples in a file that is written: blobs, page lists, footer and anchor.
//!
//! Source: `RNTupleFileWriter`.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Compression, Scratch};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::ntuple::{Anchor, Envelope, Link, Locator, VERSION};
use crate::write::file::state::{Output, State};
use crate::write::page::seal::SealedCluster;
use crate::write::page::state::{CommittedCluster, NTupleState, WrittenGroup};

/// The most bytes of a key, as ROOT has it: what is larger goes into several.
pub(crate) const MAX_KEY_BYTES: u64 = 1 << 30;

impl Output {
    /// Writes a blob: a record that no directory lists. Returns its record.
    pub(crate) fn write_blob(&self, state: &mut State, parts: &[&[u8]], objlen: u64) -> Result<(u64, Range<u64>)> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        if bytes > MAX_KEY_BYTES {
            return Err(self.in_file(Error::limit("a record of an RNTuple is too large", MAX_KEY_BYTES, bytes)));
        }
        let key = Key {
            version: 1004,
            class: "RBlob".into(),
            datime: self.now(),
            objlen: objlen.min(u64::from(u32::MAX)) as u32,
            seek_pdir: state.folder_seek(0),
            ..Key::default()
        };
        let key = key.sized(bytes as u32);
        let at = state.free_list.allocate_at_end(u64::from(key.nbytes));
        let key = Key { seek_key: at, ..key };
        let head = key.to_bytes();
        let mut all: Vec<&[u8]> = vec![&head];
        all.extend_from_slice(parts);
        self.write_or_release(state, at, &all)?;
        Ok((at + u64::from(key.keylen), key.room()))
    }

    /// Writes an envelope.
    pub(crate) fn write_envelope(
        &self,
        state: &mut State,
        envelope: &Envelope,
        compression: Compression,
    ) -> Result<(Link, Range<u64>)> {
        let stored = envelope.stored(compression, &mut Scratch::default())?;
        let length = envelope.bytes().len() as u64;
        let (at, room) = self.write_blob(state, &[&stored], length)?;
        Ok((Link::new(at, stored.len() as u64, length), room))
    }

    /// Writes the pages of a cluster and adds it to its RNTuple. A page list of its own follows, so that recovery finds
    /// it.
    pub(crate) fn commit_cluster(
        &self,
        state: &mut State,
        index: usize,
        rows: u64,
        sealed: SealedCluster,
        compression: Compression,
    ) -> Result<()> {
        let mut columns = sealed.columns;
        // As many pages in a blob as a key can hold.
        let (mut next, mut start) = (0, 0_u64);
        while next < sealed.pages.len() {
            let (first, mut bytes) = (next, 0_u64);
            while let Some(page) = sealed.pages.get(next)
                && (next == first || bytes + page.len() as u64 <= MAX_KEY_BYTES)
            {
                bytes += page.len() as u64;
                next += 1;
            }
            let parts: Vec<&[u8]> = sealed.pages[first..next].iter().map(Vec::as_slice).collect();
            let (at, _) = self.write_blob(state, &parts, bytes)?;
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
        let ntuple = ntuple(state, index)?;
        for (column, elements) in columns.iter_mut().zip(&mut ntuple.elements) {
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
        let list = ntuple.page_list(clusters.clone())?;
        let (link, room) = self.write_envelope(state, &list, compression)?;
        let ntuple = self::ntuple(state, index)?;
        let group = ntuple.group(&clusters, link);
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
        let list = ntuple.page_list(all.clone())?;
        let (link, room) = self.write_envelope(state, &list, compression)?;
        let ntuple = self::ntuple(state, index)?;
        let group = ntuple.group(&all, link);
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
        let (header, footer) = (ntuple.header_link, ntuple.seal_footer()?);
        let (footer, room) = self.write_envelope(state, &footer, self.compression)?;
        Ok((Anchor { version: VERSION, header, footer, max_key_bytes: MAX_KEY_BYTES }, room))
    }
}

/// Marks places that are final already.
const PLACED: u64 = 1 << 63;

fn ntuple(state: &mut State, index: usize) -> Result<&mut NTupleState> {
    state.ntuples.get_mut(index).ok_or_else(|| Error::internal("an RNTuple has no state"))
}
