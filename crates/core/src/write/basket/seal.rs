//! Produces finished basket records; only fCycle, fSeekKey and fSeekPdir are patched once the offset is known.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::WriteBuffer`, `TBasket::Streamer`.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Compression, RandomAccess};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::tree::BasketHeader;
use crate::wire::Writer;
use crate::write::basket::blocks::Payload;
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::object_payload::Room;
use crate::write::basket::offsets::Shape;
use crate::write::basket::recycle::Workspace;
use crate::write::basket::{InRows, SealedBasket, leaf_payload, object_payload};
use crate::write::model::layout::BranchLayout;

/// How baskets are sealed.
#[derive(Clone, Debug)]
pub(crate) struct Sealing<'a> {
    pub(crate) tree: &'a str,
    pub(crate) datime: u32,
    /// Target bytes of a basket before compression; a single larger entry exceeds it.
    pub(crate) basket_bytes: usize,
    /// Where blocks end.
    pub(crate) random_access: RandomAccess,
    /// Whether numbers that are not compressed may stay in the rows, from where they are written.
    pub(crate) from_rows: bool,
}

/// How the rows of a branch are cut into baskets.
pub(crate) struct Cuts<R> {
    /// The rows of each.
    pub(crate) rows: R,
    /// Largest count, or bytes of the longest string.
    pub(crate) most: u64,
}

/// Cuts rows into baskets of about `basket_bytes` with the same number of rows each.
pub(crate) fn cuts(
    layout: &BranchLayout,
    pending: &RowBuffer,
    rows: &Range<usize>,
    basket_bytes: usize,
) -> Cuts<impl ExactSizeIterator<Item = Range<usize>>> {
    let (bytes, most) = match (layout, layout.split(), pending.objects()) {
        (BranchLayout::Plain(spec), ..) => (pending.bytes_of(spec, rows), leaf_payload::most(spec, pending, rows)),
        (BranchLayout::Found(..), ..) => (pending.raw().bytes_of(rows), 0),
        (_, Some(split), Some(column)) => {
            (object_payload::bytes_of(split, column, rows), object_payload::most(split, column, rows))
        }
        _ => (0, 0),
    };
    let baskets = bytes.div_ceil(basket_bytes.max(1)).clamp(1, rows.len().max(1));
    let step = rows.len().div_ceil(baskets).max(1);
    let end = rows.end;
    let rows = rows.clone().step_by(step).map(move |start| start..end.min(start + step));
    Cuts { rows, most }
}

/// Seals a basket into `memory`. Deterministic: the same rows give the same bytes.
pub(crate) fn seal(
    layout: &BranchLayout,
    pending: &RowBuffer,
    rows: &Range<usize>,
    compression: Compression,
    how: &Sealing<'_>,
    memory: Vec<u8>,
    work: &mut Workspace,
) -> Result<SealedBasket> {
    let name: &Arc<str> = match (layout, layout.split()) {
        (BranchLayout::Plain(spec), _) => &spec.name,
        (BranchLayout::Found(name, _), _) => name,
        (_, Some(split)) => &split.name,
        _ => return Err(Error::mismatch("a branch without a description")),
    };
    let too_large = |bytes: usize| Error::limit("a basket is too large", i32::MAX as u64, bytes as u64).in_object(name);
    let mut key = Key {
        version: 1004,
        datime: how.datime,
        class: "TBasket".into(),
        name: Arc::clone(name),
        title: how.tree.into(),
        ..Key::default()
    };
    let keylen = key.to_bytes().len() + BasketHeader::BYTES;
    key.keylen = u16::try_from(keylen).map_err(|_| Error::mismatch("the names of tree and branch are too long"))?;
    let mut writer = Writer::behind(memory);
    writer.bytes(&key.to_bytes());
    let (buffer_bytes, entries) = (how.basket_bytes as i32, rows.len() as i32);
    let version = BasketHeader::VERSION;
    BasketHeader { version, buffer_bytes, entry_bytes: 0, io_bits: 0, entries, last: 0, flag: 0 }.write(&mut writer);
    let mut record = writer.into_bytes();
    let head = record.len();
    // Uncompressed entries go straight into the record.
    let is_packed = compression.level > 0;
    let (entries, before) = if is_packed { (&mut work.payload, 0) } else { (&mut record, head) };
    entries.truncate(before);
    let numbers = match layout {
        BranchLayout::Plain(spec) if how.from_rows && !is_packed => leaf_payload::numbers(spec, pending, rows),
        _ => None,
    };
    let shape = match (layout, layout.split(), pending.objects()) {
        (BranchLayout::Plain(spec), ..) => {
            leaf_payload::payload(spec, pending, rows, keylen, numbers.is_some(), entries)
        }
        (BranchLayout::Found(..), ..) => pending.raw().payload(rows, keylen, entries),
        (BranchLayout::Split(plan, ..), Some(split), Some(column)) => {
            let room = Room { keylen, into: entries, part: &mut work.part };
            object_payload::payload(plan, split, column, rows, room).map_err(|error| error.in_object(name))?
        }
        _ => None,
    };
    let Shape { data_bytes, width } = shape.ok_or_else(|| too_large(how.basket_bytes))?;
    let in_rows = numbers.map(|bytes| InRows { at: head, bytes });
    let bytes = entries.len() - before + in_rows.as_ref().map_or(0, |numbers| numbers.bytes.len());
    let last = i32::try_from(keylen + data_bytes).map_err(|_| too_large(data_bytes))?;
    let objlen = i32::try_from(bytes).map_err(|_| too_large(bytes))?;
    let entry_bytes = if bytes > data_bytes { rows.len() as i32 + 1 } else { width as i32 };
    if is_packed {
        let payload = Payload { bytes: &work.payload, data_bytes, entries: rows.len(), keylen };
        if !payload.deflate(compression, how.random_access, &mut record, &mut work.codec)? {
            record.extend_from_slice(&work.payload);
        }
    }
    let header = record.get_mut(head - BasketHeader::BYTES..head).and_then(|header| header.try_into().ok());
    let header = header.ok_or_else(|| Error::mismatch("a basket is shorter than its header"))?;
    BasketHeader::patch(header, entry_bytes, last);
    let mut sealed = SealedBasket { record, in_rows, elsewhere: 0, unsealed_bytes: (keylen + bytes) as u64 };
    let nbytes = if is_packed { sealed.record.len() } else { head + bytes };
    let nbytes = u32::try_from(nbytes).map_err(|_| too_large(nbytes))?;
    Key::patch_lengths(&mut sealed.record, nbytes, objlen as u32)?;
    Ok(sealed)
}
