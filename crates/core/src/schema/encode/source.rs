//! The row of columns that a program reads while it writes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::framing_trace::Replay;
use super::super::program::Counter;
use super::super::versions::convert;
use super::fill::Link;
use crate::column::{BufferId, Kind, Number, Part};
use crate::error::{Error, Result};

/// Rows that are being written: each buffer is consumed in order, as it was filled.
pub(super) struct Source<'a> {
    pub(super) part: &'a Part,
    pub(super) links: &'a [Link],
    pub(super) replay: Replay<'a>,
    /// How far each buffer is consumed.
    pub(super) at: Vec<usize>,
    /// Where the numbers of a buffer are that an older version of a class decodes into: the buffer of the newer
    /// version, and its type.
    pub(super) instead: HashMap<BufferId, (BufferId, Number, Number)>,
    /// Whether a step asked for more than the columns hold: then what was written is not what they say.
    is_exceeded: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(part: &'a Part, links: &'a [Link], replay: Replay<'a>, buffers: usize) -> Self {
        Self { part, links, replay, at: vec![0; buffers], instead: HashMap::new(), is_exceeded: false }
    }

    /// To be called after the last step.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal) where a step asked for more than the columns hold.
    pub(super) fn check(&self) -> Result<()> {
        match self.is_exceeded {
            true => Err(Error::internal("a program writes more values than its columns hold")),
            false => Ok(()),
        }
    }

    /// What a step asked for; nothing where the columns end before it, which [`check`](Self::check) reports.
    fn held<T: Default>(&mut self, found: Option<T>) -> T {
        self.is_exceeded |= found.is_none();
        found.unwrap_or_default()
    }

    pub(super) fn advance(&mut self, buffer: BufferId, items: usize) -> usize {
        match self.at.get_mut(buffer as usize) {
            Some(at) => {
                *at += items;
                *at - items
            }
            None => {
                self.is_exceeded = true;
                0
            }
        }
    }

    /// The next numbers of a buffer.
    pub(super) fn numbers(&mut self, buffer: BufferId, number: Number, items: usize) -> Cow<'a, [u8]> {
        if let Some(&(other, theirs, ours)) = self.instead.get(&buffer) {
            let mut converted = Vec::new();
            convert(&self.numbers(other, theirs, items), theirs, ours, &mut converted);
            return Cow::Owned(converted);
        }
        let wide = number.bytes();
        let from = self.advance(buffer, items);
        match self.part.bytes(buffer).get(from * wide..(from + items) * wide) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                self.is_exceeded = true;
                Cow::Owned(vec![0; items * wide])
            }
        }
    }

    pub(super) fn number(&mut self, buffer: BufferId, number: Number) -> i64 {
        number.whole(&self.numbers(buffer, number, 1))
    }

    /// Items of the next list.
    pub(super) fn list(&mut self, ends: BufferId) -> usize {
        let row = self.advance(ends, 1);
        let words = self.part.words(ends);
        let start = match row.checked_sub(1) {
            Some(before) => words.get(before).copied(),
            None => Some(0),
        };
        let end = words.get(row).copied();
        self.held(start.zip(end).and_then(|(start, end)| end.checked_sub(start))) as usize
    }

    pub(super) fn text(&mut self, ends: BufferId, bytes: BufferId) -> &'a [u8] {
        let length = self.list(ends);
        let from = self.advance(bytes, length);
        self.held(self.part.bytes(bytes).get(from..from + length))
    }

    pub(super) fn link(&mut self, buffer: BufferId) -> Option<&'a Link> {
        let row = self.advance(buffer, 1);
        let id = self.held(self.part.words(buffer).get(row).copied()) as usize;
        let link = self.links.get(id.checked_sub(1)?);
        self.is_exceeded |= link.is_none();
        link
    }

    /// The counter of item `index` of `n`, which was consumed before.
    pub(super) fn counter(&self, counter: &Counter, n: usize, index: usize) -> Option<usize> {
        let Counter::Member(buffer, number) = *counter else { return None };
        let (buffer, number) = match self.instead.get(&buffer) {
            Some(&(other, theirs, _)) => (other, theirs),
            None => (buffer, number),
        };
        let at = self.at.get(buffer as usize)?.checked_sub(n - index)? * number.bytes();
        let bytes = self.part.bytes(buffer).get(at..at + number.bytes())?;
        // ROOT takes a negative count as none.
        Some(usize::try_from(number.whole(bytes)).unwrap_or(0))
    }

    /// The last number that was consumed.
    pub(super) fn last(&mut self, buffer: BufferId, number: Number) -> i64 {
        let wide = number.bytes();
        let at = self.at.get(buffer as usize).and_then(|at| at.checked_sub(1)).map(|at| at * wide);
        let bytes = at.and_then(|at| self.part.bytes(buffer).get(at..at + wide));
        self.held(bytes.map(|bytes| number.whole(bytes)))
    }

    /// Passes over a member that this version of a class does not have.
    pub(super) fn skip(&mut self, kind: &Kind, n: usize) {
        match kind {
            Kind::Number { buffer, .. } | Kind::Pointer { buffer, .. } => drop(self.advance(*buffer, n)),
            Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. } => {
                for _ in 0..n {
                    self.text(*offsets, *bytes);
                }
            }
            Kind::List { offsets, item, .. } => {
                for _ in 0..n {
                    let items = self.list(*offsets);
                    self.skip(item, items);
                }
            }
            Kind::Fixed { len, item } => self.skip(item, n.saturating_mul(*len)),
            Kind::Record { fields, .. } => fields.iter().for_each(|field| self.skip(&field.kind, n)),
            // A program has no such members.
            Kind::OneOf { .. } => {}
        }
    }
}
