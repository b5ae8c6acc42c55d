//! Objects as bytes: the counterpart of the executor.
//!
//! The members of a draft become a row of its class's columns (`fill`), and the class's program is run over them,
//! writing where the executor reads (`steps`). So one compilation serves both directions.
//!
//! Format pages: `docs/format/framing.md`, `docs/format/streamerinfo.md`. Source: `TBufferFile::WriteObjectAny`,
//! `TStreamerInfo::WriteBuffer`.

mod classes;
mod clones;
mod encoder;
mod entries;
mod fill;
mod source;
mod steps;

use std::sync::Arc;

pub use self::encoder::Encoder;
pub(crate) use self::encoder::Style;
pub(crate) use self::entries::{Entries, Pointees};
use self::fill::Link;
use super::draft::Draft;
use super::info::StreamerInfo;
use crate::error::{Error, Result};

/// The largest byte count that a frame holds; a record cannot be longer.
const MOST_BYTES: usize = 0x3fff_fffe;

impl Encoder {
    /// The payload of a record that holds `draft`, and the classes that it takes to read it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where a class is not known,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where a member has a value of another kind than its class says,
    /// [`Limit`](crate::ErrorKind::Limit) where the object is larger than a record can be.
    pub fn record(keylen: usize, draft: &Arc<Draft>) -> Result<(Vec<u8>, Vec<Arc<StreamerInfo>>)> {
        let mut encoder = Self::new(keylen);
        let link = Link::Object(Arc::clone(draft));
        encoder.written.insert(link.address(), (None, link));
        encoder.object(draft)?;
        let bytes = encoder.writer.into_bytes();
        if bytes.len() > MOST_BYTES {
            return Err(Error::limit("an object is too large for a record", MOST_BYTES as u64, bytes.len() as u64));
        }
        Ok((bytes, encoder.classes.infos))
    }
}

#[cfg(test)]
mod tests;
