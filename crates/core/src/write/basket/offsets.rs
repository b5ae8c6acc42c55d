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

/// Appends the array of entry offsets: one for each entry, and the end. `ends` says where each entry ends, counted from
/// the first. None if that exceeds 32-bit offsets.
pub(crate) fn offsets(payload: &mut Vec<u8>, keylen: usize, ends: impl ExactSizeIterator<Item = usize>) -> Option<()> {
    let (count, first) = (u32::try_from(ends.len() + 1).ok()?, u32::try_from(keylen).ok()?);
    payload.reserve_exact(4 * ends.len() + 8);
    payload.extend([count, first].iter().flat_map(|word| word.to_be_bytes()));
    // Ends only grow, so checking the last one is enough.
    let mut last = keylen;
    let word = |end: usize| {
        last = keylen + end;
        last as u32
    };
    words(payload, ends.map(word));
    i32::try_from(last).ok().map(drop)
}

/// Appends 32-bit words in big-endian order.
pub(crate) fn words(into: &mut Vec<u8>, words: impl ExactSizeIterator<Item = u32>) {
    let before = into.len();
    into.resize(before + 4 * words.len(), 0);
    for (bytes, word) in into[before..].as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
}
