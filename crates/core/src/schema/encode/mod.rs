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
mod limit;
mod source;
mod steps;
mod template;
mod watch;

use std::sync::Arc;

pub use self::encoder::Encoder;
pub(crate) use self::encoder::Style;
pub(crate) use self::entries::{Entries, Pointees};
use self::fill::Link;
use self::limit::checked;
pub(crate) use self::template::{Place, Put, Template};
use self::watch::Watch;
pub(crate) use self::watch::Watched;
use super::draft::Draft;
use super::info::StreamerInfo;
use crate::error::Result;

/// The payload of a record, and the classes that it takes to read it.
pub(crate) type Written = (Vec<u8>, Vec<Arc<StreamerInfo>>);

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
        encoder.root(draft)?;
        Ok((checked(encoder.writer.into_bytes())?, encoder.classes.infos))
    }

    /// The same, with a template by which the record is written again, if there can be one: `name` names the numbers of
    /// watched members that it can replace.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    pub(crate) fn record_and_template<F: Copy>(
        keylen: usize,
        draft: &Arc<Draft>,
        watched: Watched,
        name: impl FnMut(Place) -> Option<F>,
    ) -> Result<(Written, Option<Template<F>>)> {
        let mut encoder = Self::new(keylen);
        encoder.watch = Some(Watch::new(watched));
        encoder.writer.note_fixups();
        encoder.root(draft)?;
        let fixups = encoder.writer.take_fixups();
        let numbers = encoder.watch.map_or_else(Vec::new, |watch| watch.numbers);
        // Without one the record is made of its draft the next time, too.
        let template = Template::new(&encoder.writer, &fixups, &numbers, name);
        debug_assert!(template.is_ok(), "fixups of a record do not fit it");
        let template = template.ok();
        Ok(((checked(encoder.writer.into_bytes())?, encoder.classes.infos), template))
    }

    /// The record's own object.
    fn root(&mut self, draft: &Arc<Draft>) -> Result<()> {
        let link = Link::Object(Arc::clone(draft));
        self.written.insert(link.address(), (None, link));
        self.object(draft)
    }
}

#[cfg(test)]
mod tests;
