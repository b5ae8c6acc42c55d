//! RNTuples that are copied, or get another name: their pages are not decoded, and what describes them is written anew.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::ntuple::{AttributeSet, Locator, NTuple};
use crate::progress;
use crate::write::file::state::{Output, State};
use crate::write::options::{MAX_KEY_BYTES, Order};
use crate::write::page::state::{CommittedCluster, NTupleState};
use crate::write::rewrite::ntuple::kept_fields::KeptFields;
use crate::write::rewrite::ntuple::pages::MovedPages;

/// What of an RNTuple is copied, and how its pages are.
#[derive(Debug)]
pub(crate) struct Copying {
    pub(crate) kept: KeptFields,
    /// Whether pages are moved. Otherwise the copy is in the same file, and they stay in place.
    pub(crate) with_pages: bool,
    /// The order of pages that are moved.
    pub(crate) order: Order,
    /// Their new compression; none to keep them as they are.
    pub(crate) again: Option<Compression>,
}

impl Output {
    /// Copies an RNTuple into a directory under a name. Where pages stay in place, it is of this very file, and its old
    /// header, footer and page lists are released.
    pub(crate) fn copy_ntuple(
        &self,
        state: &mut State,
        from: &NTuple,
        (folder, name): (usize, &str),
        how: &Copying,
    ) -> Result<()> {
        if state.folders[folder].named(name, None).any(|key| key.is_directory()) {
            return Err(self.in_file(Error::new(ErrorKind::Exists, format!("{name:?} is a directory"))));
        }
        let old = if how.with_pages { Vec::new() } else { from.envelope_rooms() };
        let mut rooms = Vec::new();
        let outcome = self.copied_ntuple(state, from, (folder, name), how, &mut rooms).and_then(|copy| {
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
        state.describe(from.file().infos()?.into_iter().map(Arc::new));
        Ok(())
    }

    /// A copy of which all but page list, footer and anchor is written. The records go into `rooms`.
    fn copied_ntuple(
        &self,
        state: &mut State,
        from: &NTuple,
        (folder, name): (usize, &str),
        how: &Copying,
        rooms: &mut Vec<Range<u64>>,
    ) -> Result<NTupleState> {
        let (header, added) = how.kept.schema(from, name)?;
        let (link, room) = self.write_envelope(state, &header, self.compression, MAX_KEY_BYTES)?;
        rooms.push(room);
        let mut copy = NTupleState::new(folder, name.into(), header, link, 0);
        copy.is_open = false;
        copy.added = added;
        copy.features = from.footer().features;
        copy.entries = from.entries;
        for number in 0..from.clusters()?.len() {
            let (entries, columns) = from.cluster_pages(number)?;
            copy.clusters.push(CommittedCluster { entries, columns: how.kept.pages(columns) });
        }
        if how.with_pages || has_spread_pages(from)? {
            let bits = how.kept.columns().map(|column| from.column(column).map(|described| described.bits));
            let bits = bits.collect::<Result<Vec<_>>>()?;
            let parts = parts(from, &how.kept, &copy.clusters, how.order);
            let all = parts.len() as u64;
            for (done, part) in parts.into_iter().enumerate() {
                progress::at(done as u64, all)?;
                let cluster = &mut copy.clusters[part.cluster].columns;
                // Clusters of the time before late columns do not list these.
                let columns = part.columns.start.min(cluster.len())..part.columns.end.min(cluster.len());
                let (columns, bits) = (&mut cluster[columns.clone()], &bits[columns]);
                let mut moved = MovedPages::new(MAX_KEY_BYTES);
                let outcome = self.move_pages(state, from, columns, bits, &HashMap::new(), how.again, &mut moved);
                rooms.append(&mut moved.rooms);
                outcome?;
            }
            copy.attribute_sets = self.copied_attribute_sets(state, from, rooms)?;
        } else {
            copy.attribute_sets.clone_from(&from.footer().attribute_sets);
        }
        Ok(copy)
    }

    /// Copies the sets of attributes of an RNTuple to one that is being written.
    pub(crate) fn copy_attributes(&self, from: &NTuple, index: usize) -> Result<()> {
        let mut state = self.open_state()?;
        let mut rooms = Vec::new();
        let copied = self.copied_attribute_sets(&mut state, from, &mut rooms);
        if copied.is_err() {
            rooms.into_iter().for_each(|room| self.release_as_gap(&mut state, room));
        }
        let written = state.ntuples.get_mut(index).ok_or_else(|| Error::internal("an RNTuple has no state"))?;
        written.attribute_sets = copied?;
        Ok(())
    }

    fn copied_attribute_sets(
        &self,
        state: &mut State,
        from: &NTuple,
        rooms: &mut Vec<Range<u64>>,
    ) -> Result<Vec<AttributeSet>> {
        let sets = from.footer().attribute_sets.iter().enumerate();
        sets.map(|(number, set)| self.copied_attributes(state, from, number, set, rooms)).collect()
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
        let whole = Copying::whole(&attributes)?;
        let copy = self.copied_ntuple(state, &attributes, (0, &attributes.name), &whole, rooms)?;
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
        let anchor = Locator::File { at: key.payload_at(), bytes };
        Ok(AttributeSet { anchor, anchor_bytes: bytes as u32, ..set.clone() })
    }
}

impl Copying {
    /// All fields, and their pages as they are.
    pub(crate) fn whole(from: &NTuple) -> Result<Self> {
        let kept = KeptFields::of(from, None).map_err(|error| from.place(error))?;
        Ok(Self { kept, with_pages: true, order: Order::Entry, again: None })
    }
}

/// Columns of a cluster that are moved together.
struct MovedPart {
    cluster: usize,
    columns: Range<usize>,
}

/// In which order pages are moved.
fn parts(from: &NTuple, kept: &KeptFields, clusters: &[CommittedCluster], order: Order) -> Vec<MovedPart> {
    let all = 0..kept.columns().count();
    let whole = |cluster: usize| MovedPart { cluster, columns: all.clone() };
    match order {
        Order::Entry => (0..clusters.len()).map(whole).collect(),
        Order::Branch => {
            let of = |columns: Range<usize>| {
                (0..clusters.len()).map(move |cluster| MovedPart { cluster, columns: columns.clone() })
            };
            kept.columns_by_field(from).into_iter().flat_map(of).collect()
        }
        Order::Offset => {
            let first = |cluster: &usize| {
                let pages = clusters[*cluster].columns.iter().flat_map(|column| &column.pages);
                pages.filter_map(|page| page.locator.in_file().ok()).map(|(at, _)| at).min()
            };
            let mut order: Vec<usize> = (0..clusters.len()).collect();
            order.sort_by_key(first);
            order.into_iter().map(whole).collect()
        }
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
