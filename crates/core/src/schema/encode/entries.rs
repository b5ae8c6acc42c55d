//! Entries of branches: rows of columns, by the program that reads them.

use std::sync::Arc;

use super::super::draft::{Datum, Draft, Mark, Origin};
use super::super::framing_trace::Replay;
use super::super::program::Program;
use super::super::program::Target;
use super::super::registry::Registry;
use super::encoder::{Encoder, ROOT, Style};
use super::fill::Link;
use super::source::Source;
use crate::column::Part;
use crate::error::Result;
use crate::wire::Writer;

/// What the entries of a branch are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries<'a> {
    /// So many rows, one an entry.
    Rows(usize),
    /// So many items an entry, member by member.
    Items(&'a [usize]),
}

/// What pointers in columns name: number 1 is the first, 0 is null.
#[derive(Default)]
pub(crate) struct Pointees(Vec<Link>);

impl Pointees {
    /// The number of an object that no other pointer names.
    pub(crate) fn push(&mut self, draft: Draft) -> u32 {
        self.0.push(Link::Object(Arc::new(draft)));
        self.0.len() as u32
    }
}

impl Encoder {
    /// An encoder for entries of a basket whose key has `keylen` bytes.
    pub(crate) fn styled(keylen: usize, style: Arc<Style>) -> Self {
        Self { style: Some(style), ..Self::new(keylen) }
    }

    /// Appends entries to bytes: there are none yet, or the whole key.
    pub(crate) fn behind(self, bytes: Vec<u8>) -> Self {
        let keylen = self.writer.position();
        debug_assert!(bytes.is_empty() || bytes.len() == keylen, "{} bytes before entries", bytes.len());
        let origin = if bytes.is_empty() { keylen } else { 0 };
        Self { writer: Writer::behind_at(origin, bytes), ..self }
    }

    /// Writes entries in sequence; returns the start of each, counted from the first, and the end of the last.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    pub(crate) fn entries(
        &mut self,
        program: &Arc<Program>,
        registry: &Arc<Registry>,
        part: &Part,
        pointees: &Pointees,
        entries: Entries<'_>,
    ) -> Result<Vec<usize>> {
        let mut source = Source::new(part, &pointees.0, Replay::default(), program.buffers.len());
        let begin = self.writer.position();
        let mut starts = vec![0];
        let mut one = |items: usize, in_columns: bool| {
            // No entry refers to what another one holds.
            self.written.clear();
            self.writer.forget_classes();
            self.run_all(program, registry, &mut source, items, in_columns)?;
            starts.push(self.writer.position() - begin);
            Ok::<(), crate::Error>(())
        };
        match entries {
            Entries::Rows(rows) => (0..rows).try_for_each(|_| one(1, false))?,
            Entries::Items(counts) => counts.iter().try_for_each(|&items| one(items, true))?,
        }
        Ok(starts)
    }

    /// Writes values in sequence that are payloads of their own: objects and classes are told apart within each, and
    /// positions count from its start. Returns all bytes, and the end of each value.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    pub(crate) fn values(
        mut self,
        program: &Arc<Program>,
        registry: &Arc<Registry>,
        part: &Part,
        values: usize,
    ) -> Result<(Vec<u8>, Vec<usize>)> {
        let mut source = Source::new(part, &[], Replay::default(), program.buffers.len());
        let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(values));
        for _ in 0..values {
            self.written.clear();
            self.run_all(program, registry, &mut source, 1, false)?;
            let mut value = std::mem::take(&mut self.writer).into_bytes();
            all.extend_from_slice(&value);
            ends.push(all.len());
            value.clear();
            self.writer = Writer::behind(value);
        }
        source.check()?;
        Ok((all, ends))
    }

    /// What was written.
    pub(crate) fn into_writer(self) -> Writer {
        self.writer
    }
}

impl Draft {
    /// An object of a class that a registry describes.
    pub(crate) fn described(registry: &Arc<Registry>, class: &Arc<str>, members: Vec<(Arc<str>, Datum)>) -> Self {
        let target = Target::Members { class: Arc::clone(class), version: None, checksum: None };
        let members = members.into_iter().map(|(name, value)| (name.to_string().into(), value)).collect();
        let origin = Origin { registry: Arc::clone(registry), target, trace: None, mark: Mark::new() };
        Self { class: Arc::clone(class), members, origin: Some(origin) }
    }

    /// The same, under a mark by which what it holds can point back at it.
    pub(crate) fn marked(mut self, mark: Mark) -> Result<Self> {
        let target = super::steps::target(&self.class)?;
        self.origin = Some(Origin { registry: Arc::clone(&ROOT), target, trace: None, mark });
        Ok(self)
    }
}

impl Mark {
    /// A mark that no other object has.
    pub(crate) fn new() -> Self {
        // Not empty: all empty ones may share a place.
        Self("object".into())
    }
}
