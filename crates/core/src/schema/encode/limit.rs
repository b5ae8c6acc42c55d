//! How long a record can be.

use crate::error::{Error, Result};

/// The largest byte count that a frame holds; a record cannot be longer.
pub(super) const MOST_BYTES: usize = 0x3fff_fffe;

/// The bytes of a record, where they are no more than one can have.
///
/// # Errors
///
/// [`Limit`](crate::ErrorKind::Limit) where they are.
pub(super) fn checked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if bytes.len() > MOST_BYTES {
        return Err(Error::limit("an object is too large for a record", MOST_BYTES as u64, bytes.len() as u64));
    }
    Ok(bytes)
}
