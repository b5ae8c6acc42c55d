//! The steps of a program, writing.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::draft::Draft;
use super::super::execute::Order;
use super::super::framing_trace::{Replay, Stamp, WHOLE};
use super::super::info;
use super::super::program::{Body, Program, Role, Span, Step, Target, TextForm, Versions};
use super::super::registry::Registry;
use super::super::streamers::{Encode, write};
use super::classes;
use super::encoder::{Encoder, Known, RECORD, ROOT};
use super::fill::{Fill, Link};
use super::source::Source;
use crate::column::{BufferId, Number, Part, Prim, check};
use crate::error::{Error, Result};
use crate::wire::Writer;

/// Version of the frames of collections in ROOT 6.40: that of `TStreamerInfo`.
const COLLECTION: i16 = 10;
/// The same of a string: that of the class `string`, which has none.
const COLUMN: i16 = 10;

impl Encoder {
    /// An object with its frame.
    pub(super) fn object(&mut self, draft: &Draft) -> Result<()> {
        self.enter()?;
        self.object_in(draft).map_err(|error| error.in_object(draft.class()))?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn object_in(&mut self, draft: &Draft) -> Result<()> {
        match &draft.origin {
            Some(origin) => {
                let program = origin.registry.program(&origin.target)?;
                let usual = self.usual_frame(&origin.registry, &draft.class, &origin.target);
                let replay = Replay::new(origin.trace.as_deref());
                self.framed(draft, &origin.registry, &program, usual.as_ref(), replay)
            }
            None => {
                let known = self.known(&draft.class)?;
                self.framed(draft, &ROOT, &known.program, known.stamp.as_ref(), Replay::default())
            }
        }
    }

    /// An object in the frame that was recorded, or the usual one.
    fn framed(
        &mut self,
        draft: &Draft,
        registry: &Arc<Registry>,
        program: &Arc<Program>,
        usual: Option<&Stamp>,
        mut replay: Replay<'_>,
    ) -> Result<()> {
        let frame = usual.and_then(|usual| self.open(replay.next(WHOLE).unwrap_or(usual)));
        let outer = self.watch.as_mut().and_then(|watch| watch.object(&draft.class, program));
        self.rows(program, registry, &[draft], replay, false)?;
        if let Some(watch) = &mut self.watch {
            watch.outer(outer);
        }
        self.close(frame);
        Ok(())
    }

    /// Notes the class of an object; returns its usual frame, where it has one of its own.
    fn usual_frame(&mut self, registry: &Arc<Registry>, class: &Arc<str>, target: &Target) -> Option<Stamp> {
        let info = self.classes.note(registry, class, target)?;
        match target {
            Target::Members { class, .. } if !super::super::streamers::forwards(class) => Some(self.stamp(&info)),
            _ => None,
        }
    }

    /// How objects of a class made here are written.
    fn known(&mut self, class: &Arc<str>) -> Result<Arc<Known>> {
        /// Classes that are remembered: more than records have.
        const MOST: usize = 64;
        if let Some(known) = self.known.iter().find(|known| known.class == *class) {
            return Ok(Arc::clone(known));
        }
        let target = target(class)?;
        let program = ROOT.program(&target)?;
        let stamp = self.usual_frame(&ROOT, class, &target);
        let known = Arc::new(Known { class: Arc::clone(class), program, stamp });
        if self.known.len() < MOST {
            self.known.push(Arc::clone(&known));
        }
        Ok(known)
    }

    /// Objects of one class and version: one after the other, or member by member.
    pub(super) fn rows(
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
        // What lags behind would be written as zeros.
        check(&program.kind, drafts.len(), &part)?;
        let outcome = {
            let mut source = Source::new(&part, &links, replay, program.buffers.len());
            self.run_all(program, registry, &mut source, drafts.len(), in_columns)
        };
        self.parts.entry(address).or_insert_with(|| (Arc::clone(program), Vec::new())).1.push(part);
        outcome
    }

    /// The place of a pointer.
    pub(super) fn slot(&mut self, link: &Link) -> Result<()> {
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

    pub(super) fn run_all(
        &mut self,
        program: &Arc<Program>,
        registry: &Arc<Registry>,
        source: &mut Source<'_>,
        n: usize,
        in_columns: bool,
    ) -> Result<()> {
        let mut run = Run { encoder: self, program, registry };
        match in_columns {
            true => run.span(program.root, source, n, Order::Columns)?,
            false => run.each(program.root, source, n)?,
        }
        source.check()
    }
}

/// One program that is run.
pub(super) struct Run<'r> {
    pub(super) encoder: &'r mut Encoder,
    pub(super) program: &'r Program,
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

    pub(super) fn span(&mut self, span: Span, source: &mut Source<'_>, n: usize, order: Order) -> Result<()> {
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
                    if rows == 1 && field.count == 1 {
                        self.encoder.watch_numbers(field.buffer, field.prim, None);
                    }
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
                    if *flagged && *lists == 1 && *len == 1 {
                        self.encoder.watch_numbers(*values, *prim, Some(count));
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
            Step::Clones { form, item, ends } => self.clones(form, *item, *ends, source, n)?,
            Step::Missing { .. } | Step::Convert { .. } => {}
            Step::Opaque { ends, bytes, .. } => {
                for _ in 0..n {
                    let raw = source.text(*ends, *bytes);
                    let stood = source.replay.next(at).map(|stamp| stamp.id as usize);
                    if stood != Some(self.encoder.writer.position()) && has_tags(raw) {
                        return Err(Error::unsupported("bytes of unknown layout hold positions that have changed"));
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
                return Err(Error::unsupported("no description of a collection that is streamed member by member"));
            }
            if let Some((version, checksum)) = stamp.items {
                self.encoder.writer.i16(version);
                if version <= 0 {
                    let missing = || Error::internal("a collection of a class without a number has no checksum");
                    self.encoder.writer.u32(checksum.ok_or_else(missing)?);
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
            body.ok_or_else(|| Error::unsupported(format!("no description of this version of {}", versions.class)))?;
        let usual;
        let stamp = match known {
            Some(stamp) => stamp,
            None => {
                usual = self.usual(versions, body);
                &usual
            }
        };
        let frame = self.encoder.open(stamp);
        self.span(body.span, source, 1, Order::Rows)?;
        self.encoder.close(frame);
        Ok(())
    }
}

impl Run<'_> {
    /// The frame of an object by value that was never read.
    fn usual(&mut self, versions: &Versions, body: Body) -> Stamp {
        // Programs of ROOT's own classes stay where they are.
        let address = Arc::ptr_eq(self.registry, &ROOT).then_some(std::ptr::from_ref(versions) as usize);
        if let Some((_, stamp)) = self.encoder.usual.iter().find(|(known, _)| Some(*known) == address) {
            return stamp.clone();
        }
        let stamp = match self.registry.info(&versions.class, Some(body.version), Some(body.checksum)) {
            Some(info) => self.encoder.stamp(info),
            // A pair or another class that is known by its name only.
            None => Stamp { counted: true, checksum: Some(body.checksum), ..Stamp::default() },
        };
        self.encoder.usual.extend(address.map(|address| (address, stamp.clone())));
        stamp
    }
}

/// Whether bytes seem to hold an object slot: a byte count, and a class by the place of its name.
fn has_tags(raw: &[u8]) -> bool {
    raw.windows(8).any(|slot| slot[0] & 0xf0 == 0x40 && (slot[4] & 0xf0 == 0x80 || slot[4..] == [0xff; 4]))
}

impl Encoder {
    pub(super) fn link(&mut self, link: Option<&Link>) -> Result<()> {
        match link {
            Some(link) => self.slot(link),
            None => {
                self.writer.null();
                Ok(())
            }
        }
    }
}

/// What the members of a class made here are compiled for.
pub(super) fn target(class: &Arc<str>) -> Result<Target> {
    if super::super::streamers::is_custom(class) || matches!(&**class, "TString" | "TObject" | "string") {
        return Ok(Target::Value { name: Arc::clone(class) });
    }
    if ROOT.versions(class).is_empty() {
        return Err(Error::unsupported(format!("class {class} is not known")));
    }
    Ok(Target::Members { class: Arc::clone(class), version: None, checksum: None })
}

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

    fn last(&mut self, buffer: BufferId, number: Number) -> i64 {
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
