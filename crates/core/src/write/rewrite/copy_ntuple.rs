//! RNTuples that are copied, or get another name: their pages are not decoded, and what describes them is written anew.

use std::ops::Range;
use std::sync::Arc;

use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::ntuple::{AttributeSet, Header, Locator, NTuple};
use crate::write::file::state::{Output, State};
use crate::write::page::state::{CommittedCluster, NTupleState};
use crate::write::rewrite::pages::MovedPages;

impl Output {
    /// Copies an RNTuple into a directory under a name. Where pages stay in place, it is of this very file, and its old
    /// header, footer and page lists are released.
    pub(crate) fn copy_ntuple(
        &self,
        state: &mut State,
        file: &File,
        key: &Key,
        (folder, name): (usize, &str),
        with_pages: bool,
    ) -> Result<()> {
        let from = file.ntuple_at(key)?;
        if state.folders[folder].named(name, None).any(|key| key.is_directory()) {
            return Err(self.in_file(Error::new(ErrorKind::Exists, format!("{name:?} is a directory"))));
        }
        let old = if with_pages { Vec::new() } else { from.envelope_rooms() };
        let mut rooms = Vec::new();
        let outcome = self.copied_ntuple(state, &from, (folder, name), with_pages, &mut rooms).and_then(|copy| {
            state.ntuples.push(copy);
            let saved = self.save_ntuple(state, state.ntuples.len() - 1);
            // It is in its directory now, and does not change any more.
            state.ntuples.pop();
            saved
        });
        match outcome {
            Ok(()) => old.into_iter().for_each(|room| state.free_list.release(room)),
            Err(error) => {
                rooms.into_iter().for_each(|room| self.release_as_gap(state, room));
                return Err(error);
            }
        }
        state.describe(file.infos()?.into_iter().map(Arc::new));
        Ok(())
    }

    /// A copy of which all but page list, footer and anchor is written. The records go into `rooms`.
    fn copied_ntuple(
        &self,
        state: &mut State,
        from: &NTuple,
        (folder, name): (usize, &str),
        with_pages: bool,
        rooms: &mut Vec<Range<u64>>,
    ) -> Result<NTupleState> {
        let header = if *from.name == *name {
            from.header().clone()
        } else {
            let header = Header::read(from.header()).map_err(|error| from.place(error))?;
            Header { name: name.into(), ..header }.seal()?
        };
        let (link, room) = self.write_envelope(state, &header, self.compression)?;
        rooms.push(room);
        let mut copy = NTupleState::new(folder, name.into(), header, link, 0);
        copy.is_open = false;
        copy.added = from.added()?;
        copy.features = from.footer().features;
        copy.entries = from.entries;
        let with_pages = with_pages || has_spread_pages(from)?;
        let bits: Vec<u16> = from.schema().columns.iter().map(|column| column.bits).collect();
        for number in 0..from.clusters()?.len() {
            let (entries, mut columns) = from.cluster_pages(number)?;
            if with_pages {
                let mut moved = MovedPages::default();
                let outcome = self.move_pages(state, from, &mut columns, &bits, None, &mut moved);
                rooms.append(&mut moved.rooms);
                outcome?;
            }
            copy.clusters.push(CommittedCluster { entries, columns });
        }
        copy.attribute_sets = if with_pages {
            let sets = from.footer().attribute_sets.iter().enumerate();
            sets.map(|(number, set)| self.copied_attributes(state, from, number, set, rooms)).collect::<Result<_>>()?
        } else {
            from.footer().attribute_sets.clone()
        };
        Ok(copy)
    }

    /// Copies a set of attributes: an RNTuple whose anchor no directory lists.
    fn copied_attributes(
        &self,
        state: &mut State,
        from: &NTuple,
        number: usize,
        set: &AttributeSet,
        rooms: &mut Vec<Range<u64>>,
    ) -> Result<AttributeSet> {
        let attributes = from.attribute_set(number)?;
        if !attributes.footer().attribute_sets.is_empty() {
            let error = Error::unsupported("a set of attributes has attributes itself: such an RNTuple is not copied");
            return Err(from.place(error.in_object(&set.name)));
        }
        let copy = self.copied_ntuple(state, &attributes, (0, &attributes.name), true, rooms)?;
        state.ntuples.push(copy);
        let outcome = self.write_footer(state, state.ntuples.len() - 1);
        let copy = state.ntuples.pop();
        rooms.extend(copy.into_iter().flat_map(|copy| copy.groups).map(|group| group.room));
        let (anchor, room) = outcome?;
        rooms.push(room);
        let payload = anchor.write()?;
        let key = Key { cycle: 1, ..self.key(state, "ROOT::RNTuple", &attributes.name, &"".into()) };
        let key = self.put_stored(state, 0, key, payload.len(), &payload)?;
        rooms.push(key.room());
        let bytes = payload.len() as u64;
        let anchor = Locator::File { at: key.seek_key + u64::from(key.keylen), bytes };
        Ok(AttributeSet { anchor, anchor_bytes: bytes as u32, ..set.clone() })
    }
}

/// Whether a page is spread over several keys. The anchor says how, for envelopes as well: such pages are moved.
fn has_spread_pages(from: &NTuple) -> Result<bool> {
    for number in 0..from.clusters()?.len() {
        let (_, columns) = from.cluster_pages(number)?;
        for page in columns.iter().flat_map(|column| &column.pages) {
            let (_, bytes) = page.locator.in_file().map_err(|error| from.place(error))?;
            if from.is_spread(bytes.saturating_add(if page.has_checksum { 8 } else { 0 })) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
