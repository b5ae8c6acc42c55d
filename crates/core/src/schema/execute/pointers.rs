//! Objects behind pointers and class names, and whole objects.

use std::sync::Arc;

use super::super::framing_trace::{Stamp, WHOLE};
use super::super::objects::Resolved;
use super::super::program::Step;
use super::super::registry::Registry;
use super::{Machine, Order};
use crate::column::Part;
use crate::error::{Error, Result};
use crate::wire::{Reader, Slot};

impl Machine<'_> {
    /// Decodes the object of a record, and everything that it points to. Returns its number.
    pub fn root(&mut self, class: &str, reader: &mut Reader<'_>) -> Result<u32> {
        let class: Arc<str> = class.into();
        // Tag 1 and the position of the record's first byte both refer to it.
        let id = self.objects.at_position(reader.position());
        if !self.undescribed(id, &class, reader)? {
            self.object(id, &class, reader, None)?;
        }
        self.settle(reader)?;
        Ok(id)
    }

    /// The whole record as bytes, if nothing describes its class and the object does not begin with its length.
    fn undescribed(&mut self, id: u32, class: &Arc<str>, reader: &mut Reader<'_>) -> Result<bool> {
        if reader.clone().frame().is_ok_and(|frame| frame.end.is_some()) {
            return Ok(false);
        }
        let resolved = self.objects.resolve(self.registry, class, reader)?;
        let root = resolved.program.root;
        let [Step::Opaque { ends, bytes, .. }] = resolved.program.steps[root.start as usize..root.end as usize] else {
            return Ok(false);
        };
        let (table, mut part) = self.objects.open_resolved(&resolved);
        let row = part.rows as u32;
        let outer = self.objects.begin_trace();
        let place = reader.position() as u32;
        self.objects.note(root.start, || Stamp { id: place, ..Stamp::default() });
        let outcome = reader.take(reader.left()).and_then(|raw| part.push_text(ends, bytes, raw));
        part.rows += 1;
        self.objects.end_trace(id, outer);
        self.objects.close(table, part);
        outcome?;
        self.objects.set(id, table, row);
        Ok(true)
    }

    /// The object slot of a pointer: returns the number of the object, 0 for null.
    pub(in crate::schema) fn slot(&mut self, reader: &mut Reader<'_>) -> Result<u32> {
        let at = reader.position() as u64;
        match reader.slot(self.displacement)? {
            Slot::Null => Ok(0),
            Slot::Reference(position) => Ok(self.objects.at_position(position)),
            // It hides nothing but itself: most pointers are followed by few readers.
            Slot::Nowhere(tag) => Ok(self
                .objects
                .lost(Error::malformed("an object reference points nowhere").at(at).wanted(at, u64::from(tag)))),
            Slot::Object { class, position, end } => {
                let id = self.objects.at_position(position);
                let class = self.objects.class(class);
                match end {
                    Some(end) => {
                        self.objects.defer(id, class, reader.at(), end);
                        reader.seek(end)?;
                    }
                    None => self.inline(id, &class, reader)?,
                }
                Ok(id)
            }
        }
    }

    /// A framed object by value that is kept in the table of objects.
    pub(super) fn boxed(&mut self, class: &Arc<str>, reader: &mut Reader<'_>) -> Result<u32> {
        let at = reader.at();
        let frame = reader.frame()?;
        let id = self.objects.fresh();
        match frame.end {
            Some(end) => {
                self.objects.defer(id, Arc::clone(class), at, end);
                reader.seek(end)?;
            }
            None => {
                reader.seek(at)?;
                self.inline(id, class, reader)?;
            }
        }
        Ok(id)
    }

    /// An object without a byte count: its end is unknown until it is decoded.
    fn inline(&mut self, id: u32, class: &Arc<str>, reader: &mut Reader<'_>) -> Result<()> {
        if self.depth >= self.limits.depth {
            return Err(Error::limit("objects nest too deep", u64::from(self.limits.depth), u64::from(self.depth) + 1));
        }
        self.depth += 1;
        let outcome = self.object(id, class, reader, None);
        self.depth -= 1;
        outcome
    }

    /// Decodes one framed object of `class` as object `id`.
    pub(in crate::schema) fn object(
        &mut self,
        id: u32,
        class: &Arc<str>,
        reader: &mut Reader<'_>,
        end: Option<usize>,
    ) -> Result<()> {
        let resolved = self.objects.resolve(self.registry, class, reader)?;
        let (table, mut part) = self.objects.open_resolved(&resolved);
        let row = part.rows;
        let outer = self.objects.begin_trace();
        let outcome = self.framed_row(&resolved, class, reader, end, &mut part);
        self.objects.end_trace(id, outer);
        self.objects.close(table, part);
        match &outcome {
            Ok(()) => self.objects.set(id, table, row as u32),
            Err(_) => self.objects.spoil(table, class, &resolved.target),
        }
        outcome
    }

    fn framed_row(
        &mut self,
        resolved: &Resolved,
        class: &Arc<str>,
        reader: &mut Reader<'_>,
        end: Option<usize>,
        part: &mut Part,
    ) -> Result<()> {
        let mut frame = None;
        if resolved.framed {
            let read = reader.frame()?;
            let mut checksum = None;
            if read.version <= 0 && needs_checksum(self.registry, class, reader) {
                checksum = Some(reader.u32()?);
            }
            self.objects.note(WHOLE, || Stamp { checksum, ..Stamp::of(read) });
            frame = Some(read);
        }
        self.decode(&resolved.program, reader, 1, Order::Rows, part).map_err(|error| error.in_object(class))?;
        if let Some(frame) = frame {
            reader.finish(frame, class)?;
        }
        match end {
            Some(end) if reader.at() != end => {
                Err(Error::malformed(format!("class {class} does not end where its byte count says"))
                    .at(reader.position() as u64)
                    .wanted((reader.origin() + end) as u64, reader.position() as u64))
            }
            _ => Ok(()),
        }
    }

    /// Decodes all objects that pointers named so far, and those that they name in turn.
    pub fn settle(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        while let Some(pending) = self.objects.next_pending() {
            reader.seek(pending.at)?;
            let depth = self.depth;
            let whole = reader.whole();
            let mut inner = Reader::with_origin(&whole[..pending.end.min(whole.len())], reader.origin());
            inner.seek(pending.at)?;
            if let Err(error) = self.object(pending.id, &pending.class, &mut inner, Some(pending.end)) {
                self.objects.fail(pending.id, &pending.class, error)?;
            }
            self.depth = depth;
        }
        Ok(())
    }

    /// An object behind its class name: what a `TLeafObject` of varying class holds.
    pub fn virtual_object(&mut self, reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
        let length = usize::from(reader.u8()?);
        let name = reader.take(length + 1)?;
        let class: Arc<str> = crate::wire::text(name.strip_suffix(&[0]).unwrap_or(name)).into();
        let id = self.objects.fresh();
        self.object(id, &class, reader, None)?;
        part.words_mut(0).push(id);
        part.rows += 1;
        Ok(())
    }
}

/// Whether a checksum follows a version word of 0.
pub(super) fn needs_checksum(registry: &Registry, class: &str, reader: &Reader<'_>) -> bool {
    let versions = registry.versions(class);
    let next = reader.peek_or_zero();
    versions.iter().any(|info| info.checksum == next) || !versions.iter().any(|info| info.version == 0)
}
