//! RNTuples that grow by RNTuples of other files: their pages are moved unchanged, or recompressed, and one page list
//! leads to them all.
//!
//! Source: `RNTupleMerger`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::codec::{Compression, Scratch, deflate};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::ntuple::{
    Cluster, ColumnDescriptor, ColumnPages, ColumnType, ExtraTypeInfo, FieldId, Locator, NTuple, Page, Role,
};
use crate::write::file::compatible::same_rules;
use crate::write::file::state::{Output, State};
use crate::write::options::MAX_KEY_BYTES;
use crate::write::page::state::{CommittedCluster, NTupleState};
use crate::write::rewrite::figures::Figures;
use crate::write::rewrite::ntuple::late_fields::late_fields;
use crate::write::rewrite::ntuple::pages::MovedPages;
use crate::write::rewrite::ntuple::schema::{ColumnMatches, Unmatched};
use crate::write::rewrite::stated_types;
use crate::write::writer::FileWriter;

/// An RNTuple of the file being written, which grows by RNTuples of other files.
#[derive(Debug)]
pub(crate) struct GrowingNTuple {
    written: NTupleState,
    /// The RNTuple that decides the schema.
    first: Arc<NTuple>,
    /// Records that nothing leads to once it is settled.
    old: Vec<Range<u64>>,
    /// Bytes of all elements, before compression.
    unpacked: u64,
    /// What was moved so far.
    pub(crate) moved: MovedPages,
}

/// The size of a growing RNTuple, to cut it back to when an input fails.
#[derive(Debug)]
pub(crate) struct NTupleCheckpoint {
    entries: u64,
    clusters: usize,
    elements: Vec<u64>,
    /// The RNTuple that decided the schema, and how much the footer added to it: fields, columns; and infos.
    first: Arc<NTuple>,
    added: [usize; 2],
    infos: Vec<ExtraTypeInfo>,
    rooms: usize,
    stored: u64,
    unpacked: u64,
    counts: [(u64, u64); 2],
}

impl FileWriter {
    /// Begins an RNTuple like one of another file, without its entries, in a directory.
    pub(crate) fn join_ntuple(&mut self, from: &Arc<NTuple>, key: &Key, folder: &str) -> Result<GrowingNTuple> {
        let mut state = self.output.open_state()?;
        let folder = self.output.folder(&mut state, folder)?;
        let header = from.header().clone();
        let (link, room) = self.output.write_envelope(&mut state, &header, self.output.compression, MAX_KEY_BYTES)?;
        let columns = from.schema().columns.len();
        let mut written = NTupleState::new(folder, Arc::clone(&key.name), header, link, columns);
        written.is_open = false;
        written.added = from.added()?;
        written.features = from.footer().features;
        let mut moved = MovedPages::new(written.max_key_bytes);
        moved.rooms.push(room);
        Ok(GrowingNTuple { written, first: Arc::clone(from), old: Vec::new(), unpacked: 0, moved })
    }

    /// Opens an RNTuple of the updated file, to add RNTuples of others to it.
    pub(crate) fn join_more_ntuple(&mut self, key: &Key) -> Result<GrowingNTuple> {
        let mut state = self.output.open_state()?;
        self.output.grown_ntuple(&mut state, key, Vec::new())
    }

    /// Adds all entries of an RNTuple whose fields match.
    ///
    /// # Errors
    ///
    /// What reading and writing report. The caller shrinks it back then.
    pub(crate) fn grow_ntuple(
        &mut self,
        joined: &mut GrowingNTuple,
        from: &NTuple,
        matches: &ColumnMatches,
        again: Option<Compression>,
    ) -> Result<()> {
        let mut state = self.output.open_state()?;
        if from.fields().iter().any(|field| field.role == Role::Streamer) {
            same_rules(from.file(), &state).map_err(|error| from.place(error))?;
        }
        for info in &from.schema().infos {
            joined.add_info(info, from)?;
        }
        let bits: Vec<u16> = from.schema().columns.iter().map(|column| column.bits).collect();
        for number in 0..from.clusters()?.len() {
            let (entries, mut pages) = from.cluster_pages(number)?;
            if entries.is_empty() {
                continue;
            }
            matches.drop_others(&mut pages);
            let conversions = matches.conversions();
            self.output.move_pages(&mut state, from, &mut pages, &bits, conversions, again, &mut joined.moved)?;
            self.output.add_cluster(&mut state, joined, from, matches, (entries, pages), again)?;
        }
        Ok(())
    }

    /// Removes what was added since: the space of its pages becomes a gap.
    pub(crate) fn shrink_ntuple(&mut self, joined: &mut GrowingNTuple, mark: NTupleCheckpoint) -> Result<()> {
        let mut state = self.output.open_state()?;
        for room in joined.moved.rooms.drain(mark.rooms..) {
            self.output.release_as_gap(&mut state, room);
        }
        let written = &mut joined.written;
        (written.entries, written.elements) = (mark.entries, mark.elements);
        written.clusters.truncate(mark.clusters);
        written.stored = mark.stored;
        let [fields, columns] = mark.added;
        written.added.fields.truncate(fields);
        written.added.columns.truncate(columns);
        written.added.infos = mark.infos;
        joined.first = mark.first;
        joined.unpacked = mark.unpacked;
        [joined.moved.copied, joined.moved.recompressed] = mark.counts;
        Ok(())
    }

    /// Removes an RNTuple that was begun, with all that it has.
    pub(crate) fn forget_ntuple(&mut self, joined: GrowingNTuple) -> Result<()> {
        let mut state = self.output.open_state()?;
        joined.moved.rooms.into_iter().for_each(|room| self.output.release_as_gap(&mut state, room));
        Ok(())
    }

    /// Passes a grown RNTuple to the file: the next save writes its page list, footer and anchor.
    pub(crate) fn settle_ntuple(&mut self, joined: GrowingNTuple) -> Result<()> {
        let mut state = self.output.open_state()?;
        joined.settle(&mut state);
        Ok(())
    }
}

impl GrowingNTuple {
    /// Whether it has fields.
    pub(crate) fn has_fields(&self) -> bool {
        !self.first.top().is_empty()
    }

    /// Passes it to the file: the next save writes its page list, footer and anchor.
    pub(crate) fn settle(self, state: &mut State) {
        state.ntuples.push(self.written);
        self.old.into_iter().for_each(|room| state.free_list.release(room));
    }

    /// The same, but open for more entries; gives its number among the RNTuples of the file.
    pub(crate) fn open(mut self, state: &mut State) -> usize {
        let first = Arc::clone(&self.first);
        for field in first.fields().iter().filter(|field| field.source.is_none()) {
            // Entries from before a late field count among its elements.
            if let Some(per_entry) = first.per_entry(field.id) {
                let elements = self.written.entries.saturating_mul(per_entry);
                if let Some(count) = self.count(&field.representations, 0) {
                    *count = elements;
                }
            }
        }
        self.written.is_open = true;
        self.settle(state);
        state.ntuples.len() - 1
    }

    pub(crate) fn entries(&self) -> u64 {
        self.written.entries
    }

    /// Its entries and clusters, and the most bytes of a record.
    pub(crate) fn written(&self) -> &NTupleState {
        &self.written
    }

    /// The columns of another RNTuple that go on with those of this one.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming the field that is missing or of another type.
    pub(crate) fn match_columns(&self, other: &NTuple, unmatched: &mut Unmatched) -> Result<ColumnMatches> {
        if other.entries > 0 {
            let ours = self.first.fields().iter().map(|field| &*field.path);
            let theirs = other.fields().iter().map(|field| &*field.path);
            stated_types::check((&self.first.description, ours), (&other.description, theirs))
                .map_err(|error| other.place(error))?;
        }
        ColumnMatches::find(&self.first, other, unmatched)
    }

    /// Adds top-level fields of another RNTuple, of which the entries so far have zeros.
    pub(crate) fn add_fields(&mut self, other: &NTuple, fields: &[FieldId]) -> Result<()> {
        for field in fields.iter().filter_map(|&id| other.fields().get(id)) {
            if let Some(path) = stated_types::of_column(&other.description, &field.path) {
                let words = format!(
                    "{path:?} is a date, a time or bytes, which the description of the first input does not list: put \
                     this input first"
                );
                return Err(other.place(Error::mismatch(words)));
            }
        }
        let late = late_fields(&self.first, other, fields, self.written.entries)?;
        let first = self.first.extended(&late)?;
        self.written.elements.resize(first.schema().columns.len(), 0);
        self.written.added.fields.extend(late.fields);
        self.written.added.columns.extend(late.columns);
        self.first = Arc::new(first);
        Ok(())
    }

    /// Adds the classes that another RNTuple describes for its streamed fields: ROOT reads one record of them.
    fn add_info(&mut self, info: &ExtraTypeInfo, from: &NTuple) -> Result<()> {
        let limits = from.file().options().limits;
        let is_like = |known: &&mut ExtraTypeInfo| known.content == info.content && known.type_name == info.type_name;
        if let Some(known) = self.written.added.infos.iter_mut().find(is_like) {
            if let Some(united) = known.with_classes_of(info, &limits).map_err(|error| from.place(error))? {
                *known = united;
            }
            return Ok(());
        }
        let in_header = self.first.schema().infos.iter().find(|known| known.content == info.content);
        match in_header {
            None => self.written.added.infos.push(info.clone()),
            Some(known) if known.with_classes_of(info, &limits).map_err(|error| from.place(error))?.is_some() => {
                let words = "its streamed fields have classes that the header of the output lacks: rewrite that first";
                return Err(from.place(Error::unsupported(words)));
            }
            Some(_) => {}
        }
        Ok(())
    }

    pub(crate) fn checkpoint(&self) -> NTupleCheckpoint {
        let added = &self.written.added;
        NTupleCheckpoint {
            entries: self.written.entries,
            clusters: self.written.clusters.len(),
            elements: self.written.elements.clone(),
            first: Arc::clone(&self.first),
            added: [added.fields.len(), added.columns.len()],
            infos: added.infos.clone(),
            rooms: self.moved.rooms.len(),
            stored: self.written.stored,
            unpacked: self.unpacked,
            counts: [self.moved.copied, self.moved.recompressed],
        }
    }

    /// Its entries, pages, clusters and bytes.
    pub(crate) fn figures(&self) -> Figures {
        let clusters = &self.written.clusters;
        let columns = || clusters.iter().flat_map(|cluster| &cluster.columns);
        Figures {
            entries: self.written.entries,
            baskets: columns().map(|column| column.pages.len() as u64).sum(),
            clusters: clusters.len() as u64,
            zip_bytes: self.written.stored,
            tot_bytes: self.unpacked,
        }
    }

    /// Elements of a field's column in the clusters before, whatever the representation.
    fn count(&mut self, field: &[Vec<usize>], place: usize) -> Option<&mut u64> {
        // That of the first representation counts for all.
        let column = *field.first()?.get(place)?;
        self.written.elements.get_mut(column)
    }
}

impl Output {
    /// An RNTuple of the updated file as one that grows, with clusters whose pages are in the file already.
    pub(crate) fn grown_ntuple(&self, state: &mut State, key: &Key, more: Vec<Cluster>) -> Result<GrowingNTuple> {
        let before = self.before.as_ref();
        let before = before.ok_or_else(|| Error::internal("an RNTuple of a new file was there before"))?;
        let from = before.ntuple_at(key)?;
        let folder = state.folders.iter().position(|folder| folder.keys().any(|known| known == key));
        let folder = folder.ok_or_else(|| from.place(Error::internal("an RNTuple is in no directory")))?;
        let columns = from.schema().columns.len();
        let (header, link) = (from.header().clone(), from.anchor().header);
        let mut written = NTupleState::new(folder, Arc::clone(&key.name), header, link, columns);
        written.is_open = false;
        written.added = from.added()?;
        written.features = from.footer().features;
        written.attribute_sets.clone_from(&from.footer().attribute_sets);
        written.key = Some(key.clone());
        // The old header stays in use.
        let (header, header_bytes) = from.anchor().header.locator.in_file()?;
        let mut old = from.envelope_rooms();
        old.retain(|room| !room.contains(&header));
        let mut known =
            (0..from.clusters()?.len()).map(|number| from.cluster_pages(number)).collect::<Result<Vec<_>>>()?;
        known.extend(more);
        // How payloads are spread over several keys follows from the bytes of a key: these stay as they are then.
        let pages = known.iter().flat_map(|(_, columns)| columns).flat_map(|column| &column.pages);
        let (most, mut spread) = (from.anchor().max_key_bytes, pages.filter(|page| is_spread(&from, page)));
        let is_kept = from.is_spread(header_bytes) || spread.next().is_some();
        written.max_key_bytes = if is_kept { most } else { most.max(MAX_KEY_BYTES) };
        let moved = MovedPages::new(written.max_key_bytes);
        let mut grown = GrowingNTuple { written, first: Arc::clone(&from), old, unpacked: 0, moved };
        let matches = ColumnMatches::own(&from);
        for (entries, pages) in known {
            self.add_cluster(state, &mut grown, &from, &matches, (entries, pages), None)?;
        }
        Ok(grown)
    }

    /// Adds a cluster, whose pages are in this file. `again` is how pages of zeros are compressed.
    fn add_cluster(
        &self,
        state: &mut State,
        joined: &mut GrowingNTuple,
        from: &NTuple,
        matches: &ColumnMatches,
        (entries, mut pages): (Range<u64>, Vec<ColumnPages>),
        again: Option<Compression>,
    ) -> Result<()> {
        let first = Arc::clone(&joined.first);
        let (rows, start) = (entries.end - entries.start, joined.written.entries);
        let end = start.checked_add(rows).ok_or_else(|| from.place(Error::malformed("there are too many entries")))?;
        let listed = if matches.is_own() { pages.len() } else { first.schema().columns.len() };
        let mut columns = vec![ColumnPages::default(); first.schema().columns.len()];
        for (column, source) in matches.sources() {
            if let (Some(column), Some(source)) = (columns.get_mut(column), pages.get_mut(source)) {
                *column = std::mem::take(source);
            }
        }
        for field in first.fields().iter().filter(|field| field.source.is_none()) {
            let within = |error: Error| from.place(error.in_object(&field.path));
            let is_live = |set: &&Vec<usize>| set.iter().all(|&column| columns[column].first_element.is_some());
            let Some(set) = field.representations.iter().find(is_live).or(field.representations.first()) else {
                continue;
            };
            for (place, &column) in set.iter().enumerate() {
                let described = first.column(column)?;
                let in_pages = columns[column].elements();
                let mut offset = 0;
                if let Some(per_entry) = first.per_entry(field.id).filter(|_| place == 0) {
                    let all = rows.saturating_mul(per_entry);
                    let before = start.saturating_mul(per_entry);
                    let absent = described.first_element.map_or(0, i64::unsigned_abs).saturating_sub(before).min(all);
                    let missing = all.checked_sub(in_pages).and_then(|missing| missing.checked_sub(absent));
                    let missing = missing.ok_or_else(|| {
                        let words = "a column's pages do not have the elements of their cluster";
                        within(Error::malformed(words).wanted(all - absent, in_pages))
                    })?;
                    if missing > 0 {
                        if matches.is_own() || !matches.may_lack(from, column) {
                            let words = "a column's pages do not have the elements of their cluster";
                            return Err(within(Error::malformed(words).wanted(all, in_pages)));
                        }
                        let zeros = self.write_zeros(state, joined, described, missing, again).map_err(within)?;
                        columns[column].pages.splice(0..0, zeros);
                    }
                    offset = before.saturating_add(absent);
                }
                let elements = columns[column].elements();
                if let Some(count) = joined.count(&field.representations, place) {
                    if place > 0 || first.per_entry(field.id).is_none() {
                        offset = *count;
                    }
                    *count = count.saturating_add(elements);
                }
                let own = &mut columns[column];
                if own.first_element.is_none() {
                    own.compression = again.unwrap_or(self.compression).to_root() as u32;
                }
                own.first_element = Some(offset);
                let stored: u64 = own.pages.iter().filter_map(|page| page.locator.in_file().ok()).map(|at| at.1).sum();
                joined.written.stored = joined.written.stored.saturating_add(stored);
                let unpacked = (u128::from(elements) * u128::from(described.bits)).div_ceil(8);
                joined.unpacked = joined.unpacked.saturating_add(u64::try_from(unpacked).unwrap_or(u64::MAX));
            }
        }
        // Clusters of the time before late columns do not list these.
        columns.truncate(listed);
        joined.written.clusters.push(CommittedCluster { entries: start..end, columns });
        joined.written.entries = end;
        Ok(())
    }

    /// Pages of zeros: values of entries whose RNTuple did not have the field. Equal pages are stored once.
    fn write_zeros(
        &self,
        state: &mut State,
        joined: &mut GrowingNTuple,
        column: &ColumnDescriptor,
        elements: u64,
        again: Option<Compression>,
    ) -> Result<Vec<Page>> {
        const PAGE_ELEMENTS: u64 = 1 << 17;
        const MOST_PAGES: u64 = 1 << 20;
        if column.kind.is_none() || column.kind == Some(ColumnType::Real32Quant) {
            return Err(Error::unsupported(
                "zeros for entries without this field cannot be written in its column type",
            ));
        }
        if elements.div_ceil(PAGE_ELEMENTS) > MOST_PAGES {
            let most = MOST_PAGES * PAGE_ELEMENTS;
            return Err(Error::limit("too many entries without a field that others have", most, elements));
        }
        let mut known: HashMap<u64, Locator> = HashMap::new();
        let (mut pages, mut left) = (Vec::new(), elements);
        while left > 0 {
            let count = left.min(PAGE_ELEMENTS);
            left -= count;
            let locator = match known.get(&count) {
                Some(known) => *known,
                None => {
                    let zeros = vec![0; (count * u64::from(column.bits)).div_ceil(8) as usize];
                    let mut sealed = Vec::new();
                    let compression = again.unwrap_or(self.compression);
                    if !deflate(&zeros, compression, &mut sealed, &mut Scratch::default())? {
                        sealed = zeros;
                    }
                    let sum = XxHash3_64::oneshot(&sealed).to_le_bytes();
                    let bytes = sealed.len() as u64;
                    let (at, room) = self.write_blob(state, &[&sealed, &sum], bytes, joined.moved.max_key_bytes)?;
                    joined.moved.rooms.push(room);
                    Locator::File { at, bytes }
                }
            };
            known.insert(count, locator);
            pages.push(Page { elements: count as u32, has_checksum: true, locator });
        }
        Ok(pages)
    }
}

fn is_spread(ntuple: &NTuple, page: &Page) -> bool {
    page.locator.in_file().is_ok_and(|(_, bytes)| ntuple.is_spread(bytes.saturating_add(8)))
}
