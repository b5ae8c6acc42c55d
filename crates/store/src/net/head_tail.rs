//! Both ends of a file whose length is known.

use bytes::Bytes;
use sapwood::Result;
use sapwood::io::{ByteRange, Ends, Identity, Store, load};

/// Reads them in one go; where they overlap, all that is between them once.
pub(crate) fn ends_of(store: &dyn Store, identity: Identity, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
    let len = identity.len;
    let head = 0..len.min(head_bytes as u64);
    let tail = len - len.min(tail_bytes as u64)..len;
    if tail.start < head.end {
        let whole = load(store, &[0..len])?.pop().unwrap_or_default();
        let cut = |range: &ByteRange| {
            let place = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            place.filter(|(_, end)| *end <= whole.len()).map_or_else(Bytes::new, |(from, to)| whole.slice(from..to))
        };
        return Ok(Ends { identity, head: cut(&head), tail: cut(&tail) });
    }
    let mut both = load(store, &[head, tail])?.into_iter();
    let (head, tail) = (both.next().unwrap_or_default(), both.next().unwrap_or_default());
    Ok(Ends { identity, head, tail })
}
