//! Little-endian numbers and texts of side files.

use crate::error::{Error, Result};

/// Reads from the front; every length is compared with what is left before it is used.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'b [u8]> {
        let end = self.at.checked_add(bytes);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or_else(|| {
            Error::malformed("it ends too early").at(self.at as u64).wanted(bytes as u64, self.left() as u64)
        })?;
        self.at += bytes;
        Ok(found)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or(0))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(self.take(4)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(self.take(8)?.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// A number of items, of which each takes at least `item_bytes`.
    pub(super) fn count(&mut self, item_bytes: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.left() / item_bytes {
            let words = "it has fewer bytes than its number of items takes";
            return Err(Error::malformed(words).at(self.at as u64).wanted(count as u64, self.left() as u64));
        }
        Ok(count)
    }

    pub(super) fn text(&mut self) -> Result<&'b str> {
        let len = self.count(1)?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Error::malformed("a name is not UTF-8").at(self.at as u64))
    }
}

/// Appends a text.
pub(super) fn push_text(into: &mut Vec<u8>, text: &str) -> Result<()> {
    push_count(into, text.len())?;
    into.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Appends a number of items.
pub(super) fn push_count(into: &mut Vec<u8>, count: usize) -> Result<()> {
    let count = u32::try_from(count)
        .map_err(|_| Error::limit("a side file has too many items", u32::MAX.into(), count as u64))?;
    into.extend_from_slice(&count.to_le_bytes());
    Ok(())
}
