//! Classes that ROOT streams by hand, in a program that is written.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::draft::Draft;
use super::super::program::Target;
use super::super::streamers::Encode;
use super::super::trace::{Replay, Stamp};
use super::fill::Link;
use super::steps::{Run, Source};
use crate::column::{BufferId, Number, Prim};
use crate::error::{Error, Result};
use crate::wire::Writer;

/// A run at a step that a streamer writes.
pub(super) struct Writing<'w, 'r, 's> {
    pub(super) run: &'w mut Run<'r>,
    pub(super) source: &'w mut Source<'s>,
    pub(super) step: u32,
}

impl Encode for Writing<'_, '_, '_> {
    fn writer(&mut self) -> &mut Writer {
        &mut self.run.encoder.writer
    }

    fn stamp(&mut self) -> Option<Stamp> {
        self.source.replay.next(self.step).cloned()
    }

    fn open(&mut self, stamp: &Stamp) -> Option<usize> {
        self.run.encoder.open(stamp)
    }

    fn close(&mut self, frame: Option<usize>) {
        self.run.encoder.close(frame);
    }

    fn tobject(&mut self, id: u32, bits: u32, pid: u16) {
        self.run.encoder.tobject(id, bits, pid);
    }

    fn list(&mut self, ends: BufferId) -> usize {
        self.source.list(ends)
    }

    fn text(&mut self, ends: BufferId, bytes: BufferId) -> Cow<'_, [u8]> {
        self.source.text(ends, bytes).into()
    }

    fn number(&mut self, buffer: BufferId, number: Number) -> i64 {
        self.source.number(buffer, number)
    }

    fn last(&self, buffer: BufferId, number: Number) -> i64 {
        self.source.last(buffer, number)
    }

    fn put(&mut self, buffer: BufferId, number: Number, items: usize) {
        let values = self.source.numbers(buffer, number, items);
        self.run.encoder.numbers(Prim::Plain(number), &values);
    }

    fn link(&mut self, buffer: BufferId) -> Result<()> {
        let link = self.source.link(buffer);
        self.run.encoder.link(link)
    }

    fn objects(
        &mut self,
        buffer: BufferId,
        n: usize,
        class: &Arc<str>,
        target: &Target,
        in_columns: bool,
    ) -> Result<()> {
        let links: Vec<Option<&Link>> = (0..n).map(|_| self.source.link(buffer)).collect();
        let drafts = links.iter().map(|link| match link {
            Some(Link::Object(draft)) => Ok(Some(&**draft)),
            Some(Link::Same(_)) => Err(Error::mismatch(format!("an object of class {class} is another's, too"))),
            None => Ok(None),
        });
        let drafts = drafts.collect::<Result<Vec<Option<&Draft>>>>()?;
        let (encoder, registry) = (&mut *self.run.encoder, self.run.registry);
        encoder.classes.note(registry, class, target);
        if !in_columns {
            for draft in drafts {
                encoder.writer.u8(u8::from(draft.is_some()));
                if let Some(draft) = draft {
                    encoder.object(draft)?;
                }
            }
            return Ok(());
        }
        let drafts: Vec<&Draft> = drafts.into_iter().flatten().collect();
        if drafts.is_empty() {
            return Ok(());
        }
        let program = registry.program(target)?;
        let trace = drafts.first().and_then(|draft| draft.origin.as_ref()).and_then(|origin| origin.trace.clone());
        encoder.rows(&program, registry, &drafts, Replay::new(trace.as_deref()), true)
    }
}
