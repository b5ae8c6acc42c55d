//! Payloads of records: in one piece, or spread over several keys where a key cannot hold them.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::error::{Error, Result};
use crate::file::File;
use crate::io::ByteRange;

/// Positions that a payload larger than a key takes.
///
/// The first key holds data, and behind it the positions of the further ones. Source: `RNTupleFileWriter::WriteBlob`.
pub(crate) fn chunks(bytes: u64, max_key_bytes: u64) -> Option<Chunks> {
    const POSITION_BYTES: u64 = 8;
    if max_key_bytes == 0 || bytes <= max_key_bytes {
        return None;
    }
    let mut count = bytes.div_ceil(max_key_bytes);
    // The positions take room themselves.
    if max_key_bytes.saturating_mul(count) - bytes < (count - 1) * POSITION_BYTES {
        count += 1;
    }
    Some(Chunks { count, position_bytes: (count - 1).saturating_mul(POSITION_BYTES) })
}

/// The keys of a payload: how many, and the bytes of positions in the first.
pub(crate) struct Chunks {
    pub(crate) count: u64,
    pub(crate) position_bytes: u64,
}

/// Whether a payload is spread over several keys.
pub(super) fn is_spread(bytes: u64, max_key_bytes: u64) -> bool {
    chunks(bytes, max_key_bytes).is_some()
}

/// Reads payloads, given by position and stored bytes, in as few calls as can be.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) for what is outside of the file, and what the store reports.
pub(super) fn read_payloads(file: &File, places: &[(u64, u64)], max_key_bytes: u64) -> Result<Vec<Bytes>> {
    let ranges = places
        .iter()
        .map(|&(at, bytes)| {
            let first = if is_spread(bytes, max_key_bytes) { max_key_bytes } else { bytes };
            in_file(file, at, first)
        })
        .collect::<Result<Vec<ByteRange>>>()?;
    let mut payloads = file.read_raw(&ranges)?;
    for (payload, &(at, bytes)) in payloads.iter_mut().zip(places) {
        if let Some(chunks) = chunks(bytes, max_key_bytes) {
            *payload = join(file, payload, at, bytes, &chunks, max_key_bytes)?;
        }
    }
    Ok(payloads)
}

/// Reads the further keys of a payload and joins all.
fn join(file: &File, first: &Bytes, at: u64, bytes: u64, chunks: &Chunks, max_key_bytes: u64) -> Result<Bytes> {
    if bytes > file.identity().len {
        let error = Error::malformed("a payload is longer than its file");
        return Err(error.at(at).wanted(file.identity().len, bytes));
    }
    let data = (first.len() as u64)
        .checked_sub(chunks.position_bytes)
        .ok_or_else(|| Error::malformed("a key is too short for the positions of further ones").at(at))?
        as usize;
    let (data, positions) = first.split_at(data);
    let mut left = bytes - data.len() as u64;
    let mut ranges = Vec::with_capacity(chunks.count as usize);
    for position in positions.as_chunks::<8>().0 {
        let length = left.min(max_key_bytes);
        ranges.push(in_file(file, u64::from_le_bytes(*position), length)?);
        left -= length;
    }
    let mut whole = BytesMut::with_capacity(bytes as usize);
    whole.extend_from_slice(data);
    for part in file.read_raw(&ranges)? {
        whole.extend_from_slice(&part);
    }
    Ok(whole.freeze())
}

/// A range of the file.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where it is not in the file.
pub(super) fn in_file(file: &File, at: u64, bytes: u64) -> Result<Range<u64>> {
    let len = file.identity().len;
    match at.checked_add(bytes) {
        Some(end) if end <= len => Ok(at..end),
        end => {
            let message = "a payload reaches beyond the end of the file";
            Err(Error::malformed(message).at(at).wanted(len, end.unwrap_or(u64::MAX)))
        }
    }
}
