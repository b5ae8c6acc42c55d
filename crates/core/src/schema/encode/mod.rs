//! Objects as bytes: the counterpart of the executor.
//!
//! The members of a draft become a row of its class's columns (`fill`), and the class's program is run over them, writing
//! where the executor reads (`steps`, `streamers`). So one compilation serves both directions.
//!
//! Format pages: `docs/format/framing.md`, `docs/format/streamerinfo.md`. Source: `TBufferFile::WriteObjectAny`,
//! `TStreamerInfo::WriteBuffer`.

mod classes;
mod entries;
mod fill;
mod steps;
mod streamers;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

pub(crate) use self::entries::{Entries, Pointees, Style};
use self::fill::{Fill, Link};
use self::steps::Source;
use super::draft::Draft;
use super::info::StreamerInfo;
use super::program::Program;
use super::program::Target;
use super::registry::Registry;
use super::trace::{Replay, Stamp, WHOLE};
use crate::column::{Kind, Part};
use crate::error::{Error, Result};
use crate::wire::Writer;

/// The largest byte count that a frame holds; a record cannot be longer.
const MOST_BYTES: usize = 0x3fff_fffe;
/// The tag of the record's own object (`TKey` maps it at 1).
const RECORD: u32 = 1;
/// Objects and bodies of programs within each other.
const DEEPEST: u32 = 512;

/// Classes as ROOT 6.40 has them.
static ROOT: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    const VERSION: i32 = 64000;
    Arc::new(Registry::new(StreamerInfo::all_of_root().map(|info| (**info).clone()).collect(), VERSION))
});

/// Writes objects into the payload of one record.
pub struct Encoder {
    writer: Writer,
    /// Objects that were written, by where they or their marks are in memory, and where they stand in the file; the record's own
    /// object, which no tag stands in front of, is at no place.
    written: HashMap<usize, (Option<usize>, Link)>,
    /// Classes that were met.
    classes: classes::Met,
    /// Parts to be filled again, by their program.
    parts: HashMap<usize, (Arc<Program>, Vec<Part>)>,
    depth: u32,
    /// Of classes made here; none for what was read, and for ROOT's own.
    style: Option<Arc<Style>>,
}

impl Encoder {
    /// An encoder for a record whose key has `keylen` bytes.
    pub fn new(keylen: usize) -> Self {
        Self {
            writer: Writer::with_origin(keylen),
            written: HashMap::new(),
            classes: classes::Met::default(),
            parts: HashMap::new(),
            depth: 0,
            style: None,
        }
    }

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

    /// An object with its frame.
    fn object(&mut self, draft: &Draft) -> Result<()> {
        self.enter()?;
        self.object_in(draft).map_err(|error| error.in_object(draft.class()))?;
        self.depth -= 1;
        Ok(())
    }

    /// Counts one level of nesting.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("objects nest too deep", u64::from(DEEPEST), u64::from(self.depth)));
        }
        Ok(())
    }

    fn object_in(&mut self, draft: &Draft) -> Result<()> {
        let (registry, target, trace) = match &draft.origin {
            Some(origin) => (&origin.registry, origin.target.clone(), origin.trace.as_deref()),
            None => (&*ROOT, target(&draft.class)?, None),
        };
        let program = registry.program(&target)?;
        let info = self.classes.note(registry, &draft.class, &target);
        let mut replay = Replay::new(trace);
        let frame = match (&target, info) {
            (Target::Members { class, .. }, Some(info)) if !super::streamers::forwards(class) => {
                let usual = self.stamp(&info);
                Some(self.open(replay.next(WHOLE).unwrap_or(&usual)))
            }
            _ => None,
        };
        self.rows(&program, registry, &[draft], replay, false)?;
        self.close(frame.flatten());
        Ok(())
    }

    /// Objects of one class and version: one after the other, or member by member.
    fn rows(
        &mut self,
        program: &Arc<Program>,
        registry: &Arc<Registry>,
        drafts: &[&Draft],
        replay: Replay<'_>,
        in_columns: bool,
    ) -> Result<()> {
        let address = Arc::as_ptr(program) as usize;
        let known = self.parts.get_mut(&address).and_then(|(_, parts)| parts.pop());
        let mut part = known.unwrap_or_else(|| Part::new(&program.buffers));
        part.clear();
        let mut fill = Fill::new(&mut part);
        for draft in drafts {
            fill.row(&program.kind, draft)?;
        }
        let links = fill.links();
        let outcome = {
            let mut source = Source::new(&part, &links, replay, program.buffers.len());
            self.run_all(program, registry, &mut source, drafts.len(), in_columns)
        };
        self.parts.entry(address).or_insert_with(|| (Arc::clone(program), Vec::new())).1.push(part);
        outcome
    }

    /// The place of a pointer.
    fn slot(&mut self, link: &Link) -> Result<()> {
        if let Some((position, _)) = self.written.get(&link.address()) {
            match position {
                Some(position) => self.writer.reference(*position),
                None => self.writer.u32(RECORD),
            }
            return Ok(());
        }
        let Link::Object(draft) = link else {
            return Err(Error::mismatch("a pointer names an object that is not written before it"));
        };
        let (position, slot) = self.writer.open_object(draft.class());
        self.written.insert(link.address(), (Some(position), link.clone()));
        self.object(draft)?;
        self.writer.close(slot);
        Ok(())
    }

    /// The frame of an object that was never read.
    fn stamp(&self, info: &StreamerInfo) -> Stamp {
        let is_foreign = self.style.as_ref().is_some_and(|style| style.foreign.contains(&info.name));
        classes::stamp(info, is_foreign)
    }

    /// Byte count, version, checksum.
    fn open(&mut self, stamp: &Stamp) -> Option<usize> {
        let frame = stamp.counted.then(|| self.writer.open());
        self.writer.i16(stamp.version);
        if let Some(checksum) = stamp.checksum {
            self.writer.u32(checksum);
        }
        frame
    }

    fn close(&mut self, frame: Option<usize>) {
        if let Some(frame) = frame {
            self.writer.close(frame);
        }
    }
}

/// What the members of a class made here are compiled for.
fn target(class: &Arc<str>) -> Result<Target> {
    if super::streamers::is_custom(class) || matches!(&**class, "TString" | "TObject" | "string") {
        return Ok(Target::Value { name: Arc::clone(class) });
    }
    if ROOT.versions(class).is_empty() {
        return Err(Error::unsupported(format!("class {class} is not known")));
    }
    Ok(Target::Members { class: Arc::clone(class), version: None, checksum: None })
}

/// Whether a class's value has members.
fn is_record(kind: &Kind) -> bool {
    matches!(kind, Kind::Record { .. })
}

#[cfg(test)]
mod tests;
