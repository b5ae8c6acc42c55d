//! Moves sealed baskets to another file unchanged: nothing is inflated or decoded.
//!
//! Source: `TTreeCloner`, `TBasket::CopyTo`.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{self, Compression, RandomAccess, Scratch};
use crate::container::{Key, Record};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::io::runs;
use crate::progress;
use crate::read::{embedded, is_displaced};
use crate::tree::{Basket, BasketBytes, Branch, Tree};
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::raw_entries::EntryEncoding;
use crate::write::basket::recycle::Workspace;
use crate::write::basket::seal::{Sealing, seal};
use crate::write::basket::{LARGE_BYTES, PlacedBasket, SealedBasket};
use crate::write::file::state::{Output, State};
use crate::write::model::layout::BranchLayout;
use crate::write::options::Order;
use crate::write::rewrite::tree::widen::{Grown, Widening};

/// A basket to move.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Which of the branches it is of.
    pub(crate) branch: usize,
    /// Name of the tree, and path of that branch.
    path: Arc<str>,
    /// Which basket of its branch it is in its file.
    slot: usize,
    /// Its number in the target branch: the cycle of its key.
    pub(crate) number: usize,
    /// Its first entry in the target.
    pub(crate) first_entry: u64,
    pub(crate) source: Source,
    /// Its new compression; none if it is moved unchanged.
    pub(crate) again: Option<Compression>,
    /// The type that its numbers are widened to.
    pub(crate) widening: Option<Widening>,
    /// The result of widening.
    pub(crate) grown: Grown,
}

/// The location of a sealed basket.
#[derive(Debug)]
pub(crate) enum Source {
    /// A record of the other file.
    Stored { seek: u64, nbytes: u32 },
    /// It was in the tree's record, uncompressed: this is its new record.
    Made {
        record: Bytes,
        /// Bytes of key and payload before compression.
        unsealed_bytes: u64,
    },
}

/// All baskets of these branches, in the order of the target.
///
/// The order has ROOT's meanings: `SortBasketsByBranch`, `SortBasketsByEntry` (by their first entries, so that clusters
/// follow one another), `SortBasketsByOffset` (those in the tree's record come last). Baskets in the tree's record get
/// records of this date; without a date they are skipped. Branches with a compression other than `again` are
/// recompressed.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for baskets in other files, and for those in the tree's record that
/// cannot get a record of their own.
pub(crate) fn sealed(
    tree: &Tree,
    branches: &[&Branch],
    order: Order,
    datime: Option<u32>,
    again: &dyn Fn(&Branch) -> Option<Compression>,
) -> Result<Vec<Sealed>> {
    let mut all = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let path: Arc<str> = format!("{}/{}", tree.name, branch.path).into();
        let again = again(branch).filter(|again| again.to_root() != branch.compress);
        let place = |error: Error| error.in_object(&branch.path);
        if !branch.file_name.is_empty() {
            return Err(place(Error::unsupported("its baskets are in another file")));
        }
        branch.refuse_holes().map_err(place)?;
        for basket in branch.baskets() {
            let number = basket.slot;
            let source = match basket.bytes {
                BasketBytes::Stored { seek, nbytes: 0 } => match tree.file().record_at(seek).map_err(place)? {
                    Record::Key(key) => Source::Stored { seek, nbytes: key.nbytes },
                    Record::Gap(_) => return Err(place(Error::malformed("a basket lies in a gap").at(seek))),
                },
                BasketBytes::Stored { seek, nbytes } => Source::Stored { seek, nbytes },
                BasketBytes::Embedded(id) => match datime {
                    Some(datime) => {
                        let made = make_record(tree, branch, id, datime, again);
                        made.map_err(|error| place(error.in_basket(number as u32)))?
                    }
                    None => continue,
                },
            };
            let path = Arc::clone(&path);
            let again = again.filter(|_| matches!(source, Source::Stored { .. }));
            let first_entry = basket.entries.start;
            let (widening, grown) = (None, Grown::default());
            all.push(Sealed { branch: index, path, slot: number, number, first_entry, source, again, widening, grown });
        }
    }
    match order {
        Order::Branch => {}
        Order::Entry => all.sort_by_key(|basket| basket.first_entry),
        Order::Offset => all.sort_by_key(|basket| match basket.source {
            Source::Stored { seek, .. } => seek,
            Source::Made { .. } => u64::MAX,
        }),
    }
    Ok(all)
}

/// Creates a record for a basket in its tree's record.
fn make_record(tree: &Tree, branch: &Branch, id: u32, datime: u32, again: Option<Compression>) -> Result<Source> {
    let unsealed = embedded(tree, id)?;
    if branch.io_bits != 0 && branch.entry_offset_len > 0 || is_displaced(tree, id) {
        return Err(Error::unsupported(
            "a basket in the tree's record leaves out offsets, or was moved by a circular tree",
        ));
    }
    let (encoding, whole) = (EntryEncoding::of(tree, branch), 0..unsealed.entries);
    let pending = RowBuffer::from(encoding.in_place().take(&unsealed, std::iter::once(whole.clone()))?);
    let basket_bytes = branch.basket_bytes as usize;
    let sealing =
        Sealing { tree: &tree.name, datime, basket_bytes, random_access: RandomAccess::Off, from_rows: false };
    let layout = BranchLayout::Found(branch.name.clone(), true);
    let compression = again.or_else(|| Compression::from_root(branch.compress)).unwrap_or_default();
    let basket = seal(&layout, &pending, &whole, compression, &sealing, Vec::new(), &mut Workspace::default())?;
    // Objects refer to each other by positions counted from the key's first byte: they stay valid if the key keeps its
    // length.
    let mut starts = Vec::new();
    unsealed.starts(&mut starts)?;
    if u32::from(Key::read(&basket.record)?.keylen) != unsealed.keylen || starts.first() != Some(&0) {
        encoding.take(&unsealed, std::iter::once(whole))?;
    }
    Ok(Source::Made { record: basket.record.into(), unsealed_bytes: basket.unsealed_bytes })
}

impl Output {
    /// Moves baskets to the end of this file, in the order given, and returns their new locations. `directory` is the
    /// offset of the record of the directory that holds their tree, `process_ids` the shift of the references in them.
    /// Releases their space on failure.
    ///
    /// The caller updates the tree's record.
    pub(crate) fn relocate(
        &self,
        from: &File,
        baskets: &mut [Sealed],
        directory: u64,
        process_ids: u16,
    ) -> Result<Vec<PlacedBasket>> {
        /// Bytes that are in memory at a time, unless one basket has more.
        const STEP_BYTES: u64 = 16 << 20;
        // What the system copies is not in memory, and cannot be checked.
        let is_local = from.store().as_file().is_some() && !self.options.verify;
        let all = baskets.len() as u64;
        let mut placed: Vec<PlacedBasket> = Vec::with_capacity(baskets.len());
        let mut rest = baskets;
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let is_carried = is_local && rest.first().is_some_and(Sealed::is_large);
            let belongs = |basket: &&Sealed| {
                let fits = bytes == 0 || bytes.saturating_add(basket.bytes()) <= STEP_BYTES;
                bytes = bytes.saturating_add(basket.bytes());
                fits && is_carried == (is_local && basket.is_large())
            };
            let many = rest.iter().take_while(belongs).count();
            let (step, behind) = std::mem::take(&mut rest).split_at_mut(many);
            rest = behind;
            let outcome = progress::at(placed.len() as u64, all).and_then(|()| match is_carried {
                true => self.carry(from, step, directory, process_ids),
                false => self.relocate_step(from, step, directory, process_ids),
            });
            match outcome {
                Ok(step) => placed.extend(step),
                Err(error) => {
                    let mut state = self.open_state()?;
                    self.release_baskets(&mut state, &placed);
                    return Err(error);
                }
            }
        }
        Ok(placed)
    }

    fn relocate_step(
        &self,
        from: &File,
        step: &mut [Sealed],
        directory: u64,
        process_ids: u16,
    ) -> Result<Vec<PlacedBasket>> {
        let ranges: Vec<_> = step.iter().filter_map(Sealed::range).collect();
        let mut stored = side_by_side(from, &ranges)?.into_iter();
        let mut next = |basket: &Sealed| match &basket.source {
            Source::Stored { .. } => stored.next().ok_or_else(|| Error::internal("a basket was not read")),
            Source::Made { record, .. } => Ok(record.clone()),
        };
        let sources = step.iter().map(&mut next).collect::<Result<Vec<_>>>()?;
        let pack = |scratch: &mut Packing, (basket, record): (&Sealed, &Bytes)| -> Result<(SealedBasket, Grown)> {
            let at = match basket.source {
                Source::Stored { seek, .. } => seek,
                Source::Made { .. } => 0,
            };
            let own = whole(record).and_then(|own| match basket.again {
                Some(again) => repack(record.slice(..own.len()), again, basket.widening, from, scratch),
                None if self.options.verify && matches!(basket.source, Source::Stored { .. }) => {
                    check(record.slice(..own.len()), from, scratch)?;
                    Ok((own.to_vec(), Grown::default()))
                }
                None => Ok((own.to_vec(), Grown::default())),
            });
            let (record, grown) = own.map_err(|error| from.name(basket.within(error.at(at))))?;
            let mut sealed = SealedBasket { record, in_rows: None, elsewhere: 0, unsealed_bytes: 0 };
            Key::shift_pid_offset(&mut sealed.record, process_ids).map_err(|error| from.name(basket.within(error)))?;
            Ok((sealed, grown))
        };
        let jobs: Vec<_> = step.iter().zip(&sources).collect();
        let is_packed = self.options.verify || step.iter().any(|basket| basket.again.is_some());
        let session = &self.options.session;
        let pool = session.pool().filter(|_| is_packed);
        let records = session.map_on(pool, &jobs, Packing::default, |scratch, &job| pack(scratch, job))?;
        let (mut records, grown): (Vec<SealedBasket>, Vec<Grown>) = records.into_iter().unzip();
        let number = |_: &State, index: usize| step[index].number;
        let places = self.append(self.open_state()?, directory, &mut records, |_| None, number)?;
        step.iter_mut().zip(grown).for_each(|(basket, grown)| basket.grown = grown);
        let placed = step.iter().zip(&records).zip(places);
        Ok(placed.map(|((basket, sealed), seek)| basket.at(seek, sealed.record.len() as u32)).collect())
    }

    /// The same without the bytes passing through memory: the system copies them, and the locations in their keys are
    /// overwritten.
    fn carry(&self, from: &File, step: &mut [Sealed], directory: u64, process_ids: u16) -> Result<Vec<PlacedBasket>> {
        let ranges: Vec<_> = step.iter().filter_map(Sealed::range).collect();
        let heads: Vec<_> =
            ranges.iter().map(|range| range.start..range.end.min(range.start + Key::PATCHED_BYTES as u64)).collect();
        let heads = from.read_raw(&heads)?;
        // An index may promise more bytes than a record has: such records are cut in memory.
        let is_true = |(range, head): (&Range<u64>, &Bytes)| Key::length_of(head) == Some(range.end - range.start);
        if !ranges.iter().zip(&heads).all(is_true) {
            return self.relocate_step(from, step, directory, process_ids);
        }
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let start = self.open_state()?.free_list.allocate_at_end(bytes);
        let (mut at, mut placed, mut keys) = (start, Vec::with_capacity(step.len()), Vec::with_capacity(step.len()));
        let carry = || {
            for ((basket, range), head) in step.iter().zip(&ranges).zip(heads) {
                let mut head = SealedBasket { record: head.to_vec(), in_rows: None, elsewhere: 0, unsealed_bytes: 0 };
                let moved = Key::shift_pid_offset(&mut head.record, process_ids)
                    .and_then(|()| head.patch_location(at, directory, basket.number));
                moved.map_err(|error| from.name(basket.within(error)))?;
                keys.push(head.record);
                placed.push(basket.at(at, (range.end - range.start) as u32));
                at += range.end - range.start;
            }
            self.mark_deferred_gaps()?;
            self.mark_gap(&(start..start + bytes))?;
            self.carry_to(start, from, &ranges, keys.iter().map(Vec::as_slice))
        };
        let outcome: Result<()> = carry();
        match outcome {
            Ok(()) => Ok(placed),
            Err(error) => {
                let room = start..start + bytes;
                self.mark_or_defer_gap(room.clone());
                if let Ok(mut state) = self.lock_state() {
                    state.free_list.release(room);
                }
                Err(error)
            }
        }
    }

    /// Copies records of another file, one after another, into space that is marked as a gap; each begins with the
    /// given key. It stays a gap until everything but the first word is written.
    pub(crate) fn carry_to<'k>(
        &self,
        start: u64,
        from: &File,
        ranges: &[Range<u64>],
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<()> {
        let copy = |at: u64, range: Range<u64>| {
            let skipped = if at == start { WORD as u64 } else { 0 };
            let copied = self.sink.copy_at(at + skipped, &**from.store(), range.start + skipped..range.end);
            copied.map_err(|error| self.in_file(error))
        };
        let mut at = start;
        for run in runs(ranges) {
            copy(at, run.clone())?;
            at += run.end - run.start;
        }
        let (mut at, mut first) = (start, None);
        for (range, key) in ranges.iter().zip(keys) {
            let skipped = if at == start { WORD } else { 0 };
            self.put(at + skipped as u64, &[key.get(skipped..).ok_or_else(no_key)?])?;
            first.get_or_insert(key);
            at += range.end - range.start;
        }
        match first {
            Some(key) => self.put(start, &[key.get(..WORD).ok_or_else(no_key)?]),
            None => Ok(()),
        }
    }
}

/// Reads ranges, those that touch each other at once.
pub(crate) fn side_by_side(from: &File, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let read = from.read_raw(&runs(ranges))?;
    let mut rest = read.into_iter();
    let mut run = Bytes::new();
    let missing = || Error::internal("a run of baskets is shorter than these");
    let take = |range: &Range<u64>| {
        let bytes = (range.end - range.start) as usize;
        if run.is_empty() && bytes > 0 {
            run = rest.next().ok_or_else(missing)?;
        }
        if run.len() < bytes {
            return Err(missing());
        }
        Ok(run.split_to(bytes))
    };
    ranges.iter().map(take).collect()
}

/// The length of a record.
const WORD: usize = 4;

/// The key was read from the record before.
fn no_key() -> Error {
    Error::internal("a record is shorter than its key")
}

/// The workspace that a recompressing thread keeps between baskets.
#[derive(Default)]
struct Packing {
    scratch: Scratch,
    memory: Vec<u8>,
    starts: Vec<u32>,
}

/// Inflates a basket that is moved unchanged, and finds its entries, to verify it.
fn check(record: Bytes, from: &File, work: &mut Packing) -> Result<()> {
    let basket = Basket::read(record, &from.options().limits)?;
    let unsealed = basket.unseal(&mut work.memory, &mut work.scratch)?;
    match unsealed.starts(&mut work.starts) {
        // Offsets that were left out are computed from the counts; entries of one length need none.
        Err(error) if error.kind() != ErrorKind::Unsupported && unsealed.fixed_bytes().is_none() => Err(error),
        _ => Ok(()),
    }
}

/// Recompresses the payload of a record. Its content stays the same, except for widened numbers.
fn repack(
    record: Bytes,
    compression: Compression,
    widening: Option<Widening>,
    from: &File,
    work: &mut Packing,
) -> Result<(Vec<u8>, Grown)> {
    let basket = Basket::read(record.clone(), &from.options().limits)?;
    let keylen = usize::from(basket.key.keylen);
    let mut packed = record.get(..keylen).ok_or_else(no_key)?.to_vec();
    let mut payload = basket.inflate(&mut work.memory, &mut work.scratch)?;
    let limit = from.options().limits.object_bytes;
    let wide = widening.map(|widening| widening.widen(&basket, payload, limit, &mut packed)).transpose()?;
    let mut grown = Grown::default();
    if let Some((wide, found)) = &wide {
        (payload, grown) = (wide, *found);
    }
    let is_smaller = match basket.block_ends()?.filter(|_| wide.is_none()) {
        Some(ends) => codec::deflate_parts(payload, ends.into_iter(), compression, &mut packed, &mut work.scratch)?,
        None => codec::deflate(payload, compression, &mut packed, &mut work.scratch)?,
    };
    if !is_smaller {
        packed.truncate(keylen);
        packed.extend_from_slice(payload);
    }
    let nbytes = u32::try_from(packed.len()).ok().filter(|&nbytes| i32::try_from(nbytes).is_ok());
    let nbytes = nbytes.ok_or_else(|| Error::limit("a basket is too large", i32::MAX as u64, packed.len() as u64))?;
    Key::patch_lengths(&mut packed, nbytes, payload.len() as u32)?;
    Ok((packed, grown))
}

impl Sealed {
    /// Widens its numbers.
    pub(crate) fn widen(&mut self, widening: Widening, compression: Compression) {
        self.widening = Some(widening);
        self.again.get_or_insert(compression);
    }

    /// Adds which basket it was to an error.
    fn within(&self, error: Error) -> Error {
        error.in_basket(self.slot as u32).in_object(&self.path)
    }

    /// Its range in the other file, unless it gets its record only now.
    fn range(&self) -> Option<Range<u64>> {
        match self.source {
            Source::Stored { seek, nbytes } => Some(seek..seek.saturating_add(u64::from(nbytes))),
            Source::Made { .. } => None,
        }
    }

    /// Whether it is better copied by the system.
    fn is_large(&self) -> bool {
        self.again.is_none() && matches!(self.source, Source::Stored { nbytes, .. } if nbytes >= LARGE_BYTES)
    }

    fn at(&self, seek: u64, nbytes: u32) -> PlacedBasket {
        PlacedBasket { seek, nbytes, first_entry: self.first_entry }
    }

    /// Bytes of its record.
    fn bytes(&self) -> u64 {
        match &self.source {
            Source::Stored { nbytes, .. } => u64::from(*nbytes),
            Source::Made { record, .. } => record.len() as u64,
        }
    }
}

/// The bytes of a record that are its own: an index may promise more.
fn whole(record: &[u8]) -> Result<&[u8]> {
    let key = Key::read(record)?;
    let wrong = || Error::malformed("a basket is not as long as its branch says");
    let own = record.get(..key.nbytes as usize).filter(|own| !own.is_empty());
    own.ok_or_else(|| wrong().wanted(record.len() as u64, u64::from(key.nbytes)))
}
