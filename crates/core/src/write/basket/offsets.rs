//! Entries in a basket: their bytes in big-endian order, followed by the array of their offsets.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::WriteBuffer`.

use crate::column::{Prim, encode_numbers};

/// The layout of entries in a basket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Bytes of the entries, without their offsets.
    pub(crate) data_bytes: usize,
    /// Bytes of one entry, if there are no offsets.
    pub(crate) width: usize,
}

/// Appends numbers as they are stored.
pub(crate) fn stored(prim: Prim, from: &[u8], into: &mut Vec<u8>) {
    /// Bytes that stay in the L1 cache between filling and encoding.
    const STEP: usize = 8 << 10;
    let bytes_of = |memory: usize| memory / prim.number().bytes() * prim.bytes();
    // Reserve exactly: the memory is reused for the next cluster.
    into.reserve_exact(bytes_of(from.len()));
    for from in from.chunks(STEP) {
        let old = into.len();
        into.resize(old + bytes_of(from.len()), 0);
        encode_numbers(prim, from, &mut into[old..]);
    }
}

/// Appends the array of entry offsets: one for each entry, and the end.
pub(crate) fn offsets(
    payload: &mut Vec<u8>,
    keylen: usize,
    starts: impl ExactSizeIterator<Item = usize>,
) -> Option<()> {
    let count = u32::try_from(starts.len()).ok()?;
    payload.reserve_exact(4 * starts.len() + 4);
    payload.extend_from_slice(&count.to_be_bytes());
    // Starts only grow, so checking the last one is enough.
    let mut last = 0;
    payload.extend(starts.flat_map(|start| {
        last = keylen + start;
        (last as i32).to_be_bytes()
    }));
    i32::try_from(last).ok().map(drop)
}
