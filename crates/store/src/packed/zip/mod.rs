//! Members of zip archives. A stored one is read where it is; a deflated one through [checkpoints](deflated).

mod deflated;
mod directory;

use sapwood::io::{Ends, Store, load};
use sapwood::{Error, Result};

use self::deflated::Deflated;
use self::directory::Entry;
use super::blocks::Content;

pub(super) use self::directory::TAIL_BYTES;

const LOCAL_MAGIC: u32 = 0x0403_4B50;
/// In front of a member's bytes: this, its name, and what is extra.
const LOCAL_BYTES: u64 = 30;

/// Finds a member of an archive.
pub(super) fn open(inner: &dyn Store, ends: &Ends, name: &str) -> Result<Content> {
    let entry = directory::find(inner, ends, name)?;
    content(inner, &entry).map_err(|error| error.in_object(name))
}

fn content(inner: &dyn Store, entry: &Entry) -> Result<Content> {
    const IS_ENCRYPTED: u16 = 1;
    if entry.flags & IS_ENCRYPTED != 0 {
        return Err(Error::unsupported("the member is encrypted: extract it with its password first"));
    }
    let beyond = |end: u64| {
        let error = Error::malformed("the member is not in front of the archive's directory");
        error.at(entry.local_at).wanted(entry.most_end, end)
    };
    let header_end = entry.local_at.saturating_add(LOCAL_BYTES);
    if header_end > entry.most_end {
        return Err(beyond(header_end));
    }
    let header = load(inner, &[entry.local_at..header_end])?.pop().unwrap_or_default();
    let u16_at = |at: usize| header.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let magic = u32::from(u16_at(0)) | u32::from(u16_at(2)) << 16;
    if magic != LOCAL_MAGIC {
        let error = Error::malformed("no member begins where the archive's directory says");
        return Err(error.at(entry.local_at).wanted(LOCAL_MAGIC.into(), magic.into()));
    }
    let start = header_end + u64::from(u16_at(26)) + u64::from(u16_at(28));
    let end = start.saturating_add(entry.packed_bytes);
    if end > entry.most_end {
        return Err(beyond(end));
    }
    match entry.method {
        0 if entry.packed_bytes != entry.bytes => {
            let error = Error::malformed("a stored member has two lengths");
            Err(error.at(entry.local_at).wanted(entry.bytes, entry.packed_bytes))
        }
        0 => Ok(Content::Part(start..end)),
        8 => Ok(Content::Blocks(Box::new(Deflated::new(start..end, entry.bytes, entry.crc)?))),
        other => {
            let words = format!(
                "the member is compressed by method {other}: stored and deflated ones are read; extract it, and pack \
                 it again (sapwood pack, or zip -0)"
            );
            Err(Error::unsupported(words).at(entry.local_at))
        }
    }
}
