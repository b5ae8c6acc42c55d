//! The steps of a program, writing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::super::execute::Order;
use super::super::info;
use super::super::program::{Counter, Program, Role, Span, Step, TextForm, Versions};
use super::super::registry::Registry;
use super::super::streamers::write;
use super::super::trace::{Replay, Stamp};
use super::super::versions::convert;
use super::fill::Link;
use super::streamers::Writing;
use super::{Encoder, classes};
use crate::column::{BufferId, Kind, Number, Part, Prim, encode_numbers};
use crate::error::{Error, Result};

/// Rows that are being written: each buffer is consumed in order, as it was filled.
pub(super) struct Source<'a> {
    part: &'a Part,
    pub(super) links: &'a [Link],
    pub(super) replay: Replay<'a>,
    /// How far each buffer is consumed.
    at: Vec<usize>,
    /// Where the numbers of a buffer are that an older version of a class decodes into: the buffer of the newer version, and its
    /// type.
    instead: HashMap<BufferId, (BufferId, Number, Number)>,
}

/// Version of the frames of collections in ROOT 6.40: that of `TStreamerInfo`.
const COLLECTION: i16 = 10;
/// The same of a string: that of the class `string`, which has none.
const COLUMN: i16 = 10;

impl<'a> Source<'a> {
    pub(super) fn new(part: &'a Part, links: &'a [Link], replay: Replay<'a>, buffers: usize) -> Self {
        Self { part, links, replay, at: vec![0; buffers], instead: HashMap::new() }
    }

    fn advance(&mut self, buffer: BufferId, items: usize) -> usize {
        match self.at.get_mut(buffer as usize) {
            Some(at) => {
                *at += items;
                *at - items
            }
            None => 0,
        }
    }

    /// The next numbers of a buffer. What an object does not have is zero.
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
            None => Cow::Owned(vec![0; items * wide]),
        }
    }

    pub(super) fn number(&mut self, buffer: BufferId, number: Number) -> i64 {
        number.whole(&self.numbers(buffer, number, 1))
    }

    /// Items of the next list.
    pub(super) fn list(&mut self, ends: BufferId) -> usize {
        let row = self.advance(ends, 1);
        let words = self.part.words(ends);
        let start = row.checked_sub(1).and_then(|before| words.get(before)).copied().unwrap_or(0);
        words.get(row).map_or(0, |&end| end.saturating_sub(start) as usize)
    }

    pub(super) fn text(&mut self, ends: BufferId, bytes: BufferId) -> &'a [u8] {
        let length = self.list(ends);
        let from = self.advance(bytes, length);
        self.part.bytes(bytes).get(from..from + length).unwrap_or(&[])
    }

    pub(super) fn link(&mut self, buffer: BufferId) -> Option<&'a Link> {
        let row = self.advance(buffer, 1);
        let id = self.part.words(buffer).get(row).copied().unwrap_or(0) as usize;
        self.links.get(id.checked_sub(1)?)
    }

    /// The counter of item `index` of `n`, which was consumed before.
    fn counter(&self, counter: &Counter, n: usize, index: usize) -> Option<usize> {
        let Counter::Member(buffer, number) = *counter else { return None };
        let (buffer, number) = match self.instead.get(&buffer) {
            Some(&(other, theirs, _)) => (other, theirs),
            None => (buffer, number),
        };
        let at = self.at.get(buffer as usize)?.checked_sub(n - index)? * number.bytes();
        let bytes = self.part.bytes(buffer).get(at..at + number.bytes())?;
        Some(usize::try_from(number.whole(bytes)).unwrap_or(0))
    }

    /// The last number that was consumed.
    pub(super) fn last(&self, buffer: BufferId, number: Number) -> i64 {
        let at = self.at.get(buffer as usize).and_then(|at| at.checked_sub(1)).unwrap_or(0) * number.bytes();
        self.part.bytes(buffer).get(at..).map_or(0, |bytes| number.whole(bytes))
    }

    /// Passes over a member that this version of a class does not have.
    fn skip(&mut self, kind: &Kind, n: usize) {
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

impl Encoder {
    pub(super) fn run_all(
        &mut self,
        program: &Arc<Program>,
        registry: &Arc<Registry>,
        source: &mut Source<'_>,
        n: usize,
        in_columns: bool,
    ) -> Result<()> {
        let mut run = Run { encoder: self, program, registry };
        if in_columns { run.span(program.root, source, n, Order::Columns) } else { run.each(program.root, source, n) }
    }
}

/// One program that is run.
pub(super) struct Run<'r> {
    pub(super) encoder: &'r mut Encoder,
    program: &'r Program,
    pub(super) registry: &'r Arc<Registry>,
}

impl Run<'_> {
    /// A body `n` times, item by item.
    fn each(&mut self, span: Span, source: &mut Source<'_>, n: usize) -> Result<()> {
        if span.end - span.start == 1 {
            return self.span(span, source, n, Order::Rows);
        }
        (0..n).try_for_each(|_| self.span(span, source, 1, Order::Rows))
    }

    fn span(&mut self, span: Span, source: &mut Source<'_>, n: usize, order: Order) -> Result<()> {
        let steps = &self.program.steps[span.start as usize..span.end as usize];
        // Reading ends with what a version lacks; writing begins with it.
        for step in steps {
            match step {
                Step::Missing { kind, count } => source.skip(kind, n.saturating_mul(*count as usize)),
                Step::Convert { from: (from, ours), to: (to, theirs), .. } => {
                    source.instead.insert(*from, (*to, *theirs, *ours));
                }
                _ => {}
            }
        }
        self.encoder.enter()?;
        for (index, step) in (span.start..).zip(steps) {
            self.step(index, step, source, n, order)?;
        }
        self.encoder.depth -= 1;
        Ok(())
    }

    fn step(&mut self, at: u32, step: &Step, source: &mut Source<'_>, n: usize, order: Order) -> Result<()> {
        match step {
            Step::Run { fields, .. } => {
                let mut put = |field: &super::super::program::RunField, rows: usize, source: &mut Source<'_>| {
                    let values = source.numbers(field.buffer, field.prim.number(), rows * field.count as usize);
                    self.encoder.numbers(field.prim, &values);
                };
                if order == Order::Columns {
                    fields.iter().for_each(|field| put(field, n, source));
                } else {
                    (0..n).for_each(|_| fields.iter().for_each(|field| put(field, 1, source)));
                }
            }
            Step::Counted { prim, flagged, lists, len, counter, ends, values } => {
                for index in 0..n {
                    let counts: Vec<usize> = (0..*lists).map(|_| source.list(*ends)).collect();
                    let count = counts.first().copied().unwrap_or(0);
                    let stamp = source.replay.next(at);
                    let wanted = source.counter(counter, n, index);
                    let is_whole = counts.iter().all(|&other| other == count)
                        && wanted.is_none_or(|wanted| wanted == count || *flagged && count == 0);
                    if !is_whole {
                        let found = counts.iter().copied().max().unwrap_or(0);
                        return Err(Error::mismatch("a counted array has another length than its counter says")
                            .wanted(wanted.unwrap_or(count) as u64, found as u64));
                    }
                    if *flagged {
                        let empty = count == 0 && stamp.is_some_and(|stamp| stamp.counted) && wanted == Some(0);
                        self.encoder.writer.u8(u8::from(count > 0 || empty));
                    }
                    let items = counts.iter().sum::<usize>() * *len as usize;
                    let values = source.numbers(*values, prim.number(), items);
                    self.encoder.numbers(*prim, &values);
                }
            }
            Step::Text { form, ends, bytes } => {
                for _ in 0..n {
                    let text = source.text(*ends, *bytes);
                    match form {
                        TextForm::Counted => self.encoder.writer.string(text),
                        TextForm::CharStar => {
                            self.encoder.writer.u32(text.len() as u32);
                            self.encoder.writer.bytes(text);
                        }
                    }
                }
            }
            Step::SharedFrame { body, count } => {
                let usual = classes::by_hand(COLUMN);
                let frame = self.encoder.open(source.replay.next(at).unwrap_or(&usual));
                self.each(*body, source, n * *count as usize)?;
                self.encoder.close(frame);
            }
            Step::Repeat { body, count } => self.each(*body, source, n * *count as usize)?,
            Step::Each { body } => (0..n).try_for_each(|_| self.span(*body, source, 1, Order::Rows))?,
            Step::Collection { framed, array, item, columns, ends, .. } => {
                self.collection(at, (*framed, *array, *item, columns.as_ref(), *ends), source, n)?;
            }
            Step::Class { versions, role } => match (role, order) {
                (Role::Base, Order::Columns) => {
                    let body = versions.bodies.first().map_or(self.program.root, |body| body.span);
                    self.span(body, source, n, order)?;
                }
                _ => (0..n).try_for_each(|_| self.class(at, versions, source))?,
            },
            Step::Loop { counter, array, body, ends, raw } => {
                let usual = classes::by_hand(COLLECTION);
                let frame = self.encoder.open(source.replay.next(at).unwrap_or(&usual));
                for index in 0..n {
                    let items = source.list(*ends);
                    let wanted = source.counter(counter, n, index).map(|count| count * *array as usize);
                    if wanted.is_some_and(|wanted| wanted != items) {
                        return Err(Error::mismatch("a counted array has another length than its counter says")
                            .wanted(wanted.unwrap_or(0) as u64, items as u64));
                    }
                    match raw {
                        Some((offsets, bytes)) => {
                            (0..items).for_each(|_| self.encoder.writer.bytes(source.text(*offsets, *bytes)));
                        }
                        None => self.each(*body, source, items)?,
                    }
                }
                self.encoder.close(frame);
            }
            Step::Pointer { buffer } => {
                for _ in 0..n {
                    self.encoder.link(source.link(*buffer))?;
                }
            }
            Step::Boxed { buffer, class } => {
                for _ in 0..n {
                    match source.link(*buffer) {
                        Some(Link::Object(draft)) => self.encoder.object(draft)?,
                        _ => return Err(Error::mismatch(format!("an object of class {class} by value is not there"))),
                    }
                }
            }
            Step::Object { id, bits } => {
                for _ in 0..n {
                    let (id, bits) = (source.number(*id, Number::U32), source.number(*bits, Number::U32));
                    let pid = source.replay.next(at).map_or(0, |stamp| stamp.pid);
                    self.encoder.tobject(id as u32, bits as u32, pid);
                }
            }
            Step::Bits { buffer } => {
                for _ in 0..n {
                    let bits = source.number(*buffer, Number::U32) as u32;
                    let pid = source.replay.next(at).map_or(0, |stamp| stamp.pid);
                    self.encoder.writer.u32(bits);
                    if bits & info::IS_REFERENCED != 0 {
                        self.encoder.writer.u16(pid);
                    }
                }
            }
            Step::Custom { which, buffers } => {
                for _ in 0..n {
                    write(&mut Writing { run: &mut *self, source: &mut *source, step: at }, *which, buffers)?;
                }
            }
            Step::Missing { .. } | Step::Convert { .. } => {}
            Step::Opaque { ends, bytes, .. } => {
                for _ in 0..n {
                    let raw = source.text(*ends, *bytes);
                    let stood = source.replay.next(at).map(|stamp| stamp.id as usize);
                    if stood != Some(self.encoder.writer.position()) && has_tags(raw) {
                        return Err(Error::unsupported("bytes that nobody can decode name places that are others now"));
                    }
                    self.encoder.writer.bytes(raw);
                }
            }
        }
        Ok(())
    }

    fn collection(
        &mut self,
        at: u32,
        (framed, array, item, columns, ends): (bool, u32, Span, Option<&Versions>, BufferId),
        source: &mut Source<'_>,
        n: usize,
    ) -> Result<()> {
        let lists = n * array as usize;
        if !framed {
            for _ in 0..lists {
                let items = source.list(ends);
                self.encoder.writer.u32(items as u32);
                self.each(item, source, items)?;
            }
            return Ok(());
        }
        let usual = self.new_collection(columns);
        let stamp = source.replay.next(at).unwrap_or(&usual);
        let frame = self.encoder.open(stamp);
        let mut body = None;
        if stamp.version > 0 && stamp.version & crate::wire::MEMBER_WISE != 0 {
            let found = match (columns, stamp.items) {
                (Some(columns), Some((version, checksum))) => columns.body(version, checksum.filter(|_| version <= 0)),
                (Some(columns), None) => columns.bodies.first().copied(),
                (None, _) => None,
            };
            body = found.map(|body| body.span);
            if body.is_none() {
                return Err(Error::unsupported("a collection is streamed member by member as nobody describes it"));
            }
            if let Some((version, checksum)) = stamp.items {
                self.encoder.writer.i16(version);
                if version <= 0 {
                    self.encoder.writer.u32(checksum.unwrap_or(0));
                }
            }
        }
        let old = stamp.version & !crate::wire::MEMBER_WISE < 7;
        for _ in 0..lists {
            let items = source.list(ends);
            self.encoder.writer.u32(items as u32);
            match body {
                Some(body) if items > 0 || old => self.span(body, source, items, Order::Columns)?,
                Some(_) => {}
                None => self.each(item, source, items)?,
            }
        }
        self.encoder.close(frame);
        Ok(())
    }

    /// The frame of a collection that was never read.
    fn new_collection(&self, columns: Option<&Versions>) -> Stamp {
        let usual = classes::by_hand(COLLECTION);
        let body = columns.and_then(|columns| Some((columns, columns.bodies.first()?)));
        let (Some(style), Some((columns, body))) = (&self.encoder.style, body) else { return usual };
        if !style.member_wise {
            return usual;
        }
        let is_pair = &*columns.class == "pair";
        let items = match is_pair || style.foreign.contains(&columns.class) {
            true => (0, Some(body.checksum)),
            false => (body.version as i16, None),
        };
        Stamp { version: COLLECTION | crate::wire::MEMBER_WISE, items: Some(items), ..usual }
    }

    /// One framed object of a class by value.
    fn class(&mut self, at: u32, versions: &Versions, source: &mut Source<'_>) -> Result<()> {
        let known = source.replay.next(at);
        let body = match known {
            Some(stamp) => versions.body(stamp.version, stamp.checksum),
            None => versions.bodies.first().copied(),
        };
        let body =
            body.ok_or_else(|| Error::unsupported(format!("nobody describes this version of {}", versions.class)))?;
        let usual;
        let stamp = match known {
            Some(stamp) => stamp,
            None => {
                let info = self.registry.info(&versions.class, Some(body.version), Some(body.checksum));
                usual = match info {
                    Some(info) => self.encoder.stamp(info),
                    // A pair or another class that is known by its name only.
                    None => Stamp { counted: true, checksum: Some(body.checksum), ..Stamp::default() },
                };
                &usual
            }
        };
        let frame = self.encoder.open(stamp);
        self.span(body.span, source, 1, Order::Rows)?;
        self.encoder.close(frame);
        Ok(())
    }
}

/// Whether bytes seem to hold an object slot: a byte count, and a class by the place of its name.
fn has_tags(raw: &[u8]) -> bool {
    raw.windows(8).any(|slot| slot[0] & 0xf0 == 0x40 && (slot[4] & 0xf0 == 0x80 || slot[4..] == [0xff; 4]))
}

impl Encoder {
    pub(super) fn numbers(&mut self, prim: Prim, values: &[u8]) {
        let items = values.len() / prim.number().bytes();
        encode_numbers(prim, values, self.writer.room(items * prim.bytes()));
    }

    pub(super) fn link(&mut self, link: Option<&Link>) -> Result<()> {
        match link {
            Some(link) => self.slot(link),
            None => {
                self.writer.null();
                Ok(())
            }
        }
    }

    /// `TObject`'s bytes.
    pub(super) fn tobject(&mut self, id: u32, bits: u32, pid: u16) {
        self.writer.i16(1);
        self.writer.u32(id);
        self.writer.u32(bits);
        if bits & info::IS_REFERENCED != 0 {
            self.writer.u16(pid);
        }
    }
}
