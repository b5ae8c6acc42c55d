//! Sealed baskets that go to another file as they are: nothing is inflated, and nobody has to understand what is in them.
//!
//! Source: `TTreeCloner`, `TBasket::CopyTo`.

use std::sync::Arc;

use super::pending::Pending;
use super::raw::How;
use super::rewrite::Order;
use super::seal::{SealedBasket, Sealing, Workspace, seal};
use super::shared::{Shared, State};
use super::state::{PlacedBasket, What};
use crate::codec::Compression;
use crate::container::{Key, Record};
use crate::error::{Error, Result};
use crate::file::File;
use crate::read::{embedded, is_displaced};
use crate::tree::{BasketBytes, Branch, Tree};

/// A basket that is to be moved.
#[derive(Debug)]
pub(super) struct Sealed {
    /// Which of the branches it is of.
    pub(super) branch: usize,
    /// Path of that branch.
    path: Arc<str>,
    /// Which basket of its branch it becomes: the cycle of its key.
    pub(super) number: usize,
    /// Number of its first entry, where it goes.
    pub(super) first_entry: u64,
    pub(super) source: Source,
}

/// Where a sealed basket is.
#[derive(Debug)]
pub(super) enum Source {
    /// A record of the other file.
    Stored { seek: u64, nbytes: u32 },
    /// It stood in the tree's record, without compression: this is the record that it gets.
    Made {
        record: Vec<u8>,
        /// Bytes of key and payload before compression.
        unsealed_bytes: u64,
    },
}

/// All baskets of these branches, in the order in which they are to stand.
///
/// The order has ROOT's meanings: `SortBasketsByBranch`, `SortBasketsByEntry` (by their first entries, so that clusters follow one
/// another), `SortBasketsByOffset` (those that stood in the tree's record come last). Those that stand in the tree's record get records
/// of this date; without one they are left out.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for baskets in other files, and for those in the tree's record that cannot get a
/// record of their own.
pub(super) fn sealed(tree: &Tree, branches: &[&Branch], order: Order, datime: Option<u32>) -> Result<Vec<Sealed>> {
    let mut all = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
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
                    Record::Gap(_) => return Err(place(Error::malformed("a basket stands in a gap").at(seek))),
                },
                BasketBytes::Stored { seek, nbytes } => Source::Stored { seek, nbytes },
                BasketBytes::Embedded(id) => match datime {
                    Some(datime) => {
                        made(tree, branch, id, datime).map_err(|error| place(error.in_basket(number as u32)))?
                    }
                    None => continue,
                },
            };
            let path = Arc::clone(&branch.path);
            all.push(Sealed { branch: index, path, number, first_entry: basket.entries.start, source });
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

/// A record for a basket that stands in its tree's record.
fn made(tree: &Tree, branch: &Branch, id: u32, datime: u32) -> Result<Source> {
    let unsealed = embedded(tree, id)?;
    if branch.io_bits != 0 && branch.entry_offset_len > 0 || is_displaced(tree, id) {
        return Err(Error::unsupported(
            "a basket in the tree's record leaves out offsets, or was moved by a circular tree",
        ));
    }
    let (how, whole) = (How::of(tree, branch), 0..unsealed.entries);
    let pending = Pending::from(how.in_place().take(&unsealed, std::slice::from_ref(&whole))?);
    let sealing = Sealing { tree: &tree.name, datime, basket_bytes: branch.basket_bytes as usize };
    let what = What::Found(branch.name.clone(), true);
    let compression = Compression::from_root(branch.compress).unwrap_or_default();
    let basket = seal(&what, &pending, &whole, compression, &sealing, Vec::new(), &mut Workspace::default())?;
    // Objects refer to each other by places that count from the key's first byte: they stay true where the key stays as long.
    let mut starts = Vec::new();
    unsealed.starts(&mut starts)?;
    if u32::from(Key::read(&basket.record)?.keylen) != unsealed.keylen || starts.first() != Some(&0) {
        how.take(&unsealed, std::slice::from_ref(&whole))?;
    }
    Ok(Source::Made { record: basket.record, unsealed_bytes: basket.unsealed_bytes })
}

impl Shared {
    /// Moves baskets to the end of this file, in the order given, and says where each is now. `directory` is the place of the record of
    /// the directory that holds their tree, `process_ids` what references in them have to be shifted by. Where it fails, their room is
    /// given up.
    ///
    /// The tree's record is not touched: whoever calls tells it.
    pub(super) fn relocate(
        &self,
        from: &File,
        baskets: &[Sealed],
        directory: u64,
        process_ids: u16,
    ) -> Result<Vec<PlacedBasket>> {
        /// Bytes that are in memory at a time, unless one basket has more.
        const STEP_BYTES: u64 = 16 << 20;
        let mut placed: Vec<PlacedBasket> = Vec::with_capacity(baskets.len());
        let mut rest = baskets;
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let many = rest.iter().take_while(|basket| {
                let fits = bytes == 0 || bytes.saturating_add(basket.bytes()) <= STEP_BYTES;
                bytes = bytes.saturating_add(basket.bytes());
                fits
            });
            let (step, behind) = rest.split_at(many.count());
            rest = behind;
            if let Err(error) = self.relocate_step(from, step, directory, process_ids, &mut placed) {
                let mut state = self.open_state()?;
                self.give_back(&mut state, &placed);
                return Err(error);
            }
        }
        Ok(placed)
    }

    fn relocate_step(
        &self,
        from: &File,
        step: &[Sealed],
        directory: u64,
        process_ids: u16,
        placed: &mut Vec<PlacedBasket>,
    ) -> Result<()> {
        let ranges: Vec<_> = step
            .iter()
            .filter_map(|basket| match basket.source {
                Source::Stored { seek, nbytes } => Some(seek..seek.saturating_add(u64::from(nbytes))),
                Source::Made { .. } => None,
            })
            .collect();
        let mut stored = from.read_raw(&ranges)?.into_iter();
        let mut records = Vec::with_capacity(step.len());
        for basket in step {
            let mut sealed = match &basket.source {
                Source::Made { record, unsealed_bytes } => {
                    SealedBasket { record: record.clone(), unsealed_bytes: *unsealed_bytes }
                }
                Source::Stored { seek, .. } => {
                    let record = stored.next().unwrap_or_default();
                    let own = whole(&record).map_err(|error| from.name(basket.within(error.at(*seek))))?;
                    SealedBasket { record: own.to_vec(), unsealed_bytes: 0 }
                }
            };
            sealed.shift_process_ids(process_ids).map_err(|error| from.name(basket.within(error)))?;
            records.push(sealed);
        }
        let number = |_: &State, index: usize| step.get(index).map_or(0, |basket| basket.number);
        let places = self.append(self.open_state()?, directory, &mut records, number)?;
        placed.extend(step.iter().zip(&records).zip(places).map(|((basket, sealed), seek)| PlacedBasket {
            seek,
            nbytes: sealed.record.len() as u32,
            first_entry: basket.first_entry,
        }));
        Ok(())
    }
}

impl Sealed {
    /// Says which basket it was.
    fn within(&self, error: Error) -> Error {
        error.in_basket(self.number as u32).in_object(&self.path)
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
