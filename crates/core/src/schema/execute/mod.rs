//! Runs programs over bytes.

mod columns;
mod pointers;
mod streamers;

use super::framing_trace::Stamp;
use super::info;
use super::objects::Objects;
use super::program::{Counter, Program, Role, Span, Step, TextForm, Versions};
use super::registry::Registry;
use crate::column::{BufferId, Part};
use crate::error::{Error, Result};
use crate::wire::{Frame, Limits, Reader};

/// What a run needs besides program, bytes and part.
pub struct Machine<'a> {
    /// Classes of the file, for objects whose class is named in the bytes.
    pub registry: &'a Registry,
    /// Where objects behind pointers go.
    pub objects: &'a mut Objects,
    /// Bounds.
    pub limits: &'a Limits,
    /// Correction of tags in entries that a circular tree moved.
    pub displacement: i64,
    /// Counts that a sibling branch holds, one for each item.
    pub outside: &'a [i64],
    /// How deep the run is.
    pub depth: u32,
}

/// Items that a collection may have where no bytes bound their number.
const MOST_WITHOUT_BYTES: u32 = 1 << 24;

const NO_ROWS: &str = "a column of collections whose items the file does not describe has no rows";

/// Which layout `n` items have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Item by item.
    Rows,
    /// All items of one member, then all of the next.
    Columns,
}

impl Machine<'_> {
    /// Decodes `n` rows of a program and adds them to `part`.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where bytes and program do not fit; `part` is then in no useful state.
    pub fn decode(
        &mut self,
        program: &Program,
        reader: &mut Reader<'_>,
        n: usize,
        order: Order,
        part: &mut Part,
    ) -> Result<()> {
        match order {
            Order::Rows => self.each(program, program.root, reader, n, part)?,
            Order::Columns => self.run(program, program.root, reader, n, order, part)?,
        }
        part.rows += n;
        Ok(())
    }

    /// Runs a body `n` times, item by item.
    pub(super) fn each(
        &mut self,
        program: &Program,
        span: Span,
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        if span.end - span.start == 1 {
            return self.run(program, span, reader, n, Order::Rows, part);
        }
        for _ in 0..n {
            self.run(program, span, reader, 1, Order::Rows, part)?;
        }
        Ok(())
    }

    fn run(
        &mut self,
        program: &Program,
        span: Span,
        reader: &mut Reader<'_>,
        n: usize,
        order: Order,
        part: &mut Part,
    ) -> Result<()> {
        if self.depth >= self.limits.depth {
            return Err(Error::limit("objects nest too deep", u64::from(self.limits.depth), u64::from(self.depth) + 1)
                .at(reader.position() as u64));
        }
        self.depth += 1;
        let mut steps = (span.start..).zip(&program.steps[span.start as usize..span.end as usize]);
        let outcome = steps.try_for_each(|(index, step)| {
            self.objects.step = index;
            self.step(program, step, reader, n, order, part)
        });
        self.depth -= 1;
        outcome
    }

    fn step(
        &mut self,
        program: &Program,
        step: &Step,
        reader: &mut Reader<'_>,
        n: usize,
        order: Order,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        match step {
            Step::Run { fields, bytes } => {
                let stride = *bytes as usize;
                let Some(total) = n.checked_mul(stride) else { return Err(reader.short(usize::MAX)) };
                let from = reader.take(total)?;
                if n == 0 {
                    return Ok(());
                }
                let mut at = 0;
                for field in fields {
                    let count = field.count as usize;
                    let wide = count * field.prim.bytes();
                    if order == Order::Columns {
                        part.push_numbers(field.buffer, field.prim, &from[at..], n, count, wide);
                        at += n * wide;
                    } else {
                        part.push_numbers(field.buffer, field.prim, &from[field.at as usize..], n, count, stride);
                    }
                }
            }
            Step::Counted { prim, flagged, lists, len, counter, ends, values } => {
                // Null pointers have no bytes, so only their number bounds the lists.
                if n.saturating_mul(*lists as usize) > reader.whole().len().saturating_mul(64).max(1 << 12) {
                    return Err(reader.short(usize::MAX));
                }
                for index in 0..n {
                    let present = !flagged || reader.u8()? != 0;
                    let count = if present { self.count(counter, part, n, index)? } else { 0 };
                    let empty = *flagged && present && count == 0;
                    self.objects.note(at, || Stamp { counted: empty, ..Stamp::default() });
                    let items = times(count, *lists, reader)?;
                    let numbers = items.saturating_mul(*len as usize);
                    let from = reader.take(numbers.saturating_mul(prim.bytes()))?;
                    part.push_numbers(*values, *prim, from, 1, numbers, from.len());
                    for _ in 0..*lists {
                        part.end_list(*ends, count)?;
                    }
                }
            }
            Step::Text { form, ends, bytes } => {
                for _ in 0..n {
                    let text = match form {
                        TextForm::Counted => reader.string()?,
                        TextForm::CharStar => {
                            let length = reader.count()?;
                            reader.take(length)?
                        }
                    };
                    part.push_text(*ends, *bytes, text)?;
                }
            }
            Step::SharedFrame { body, count } => {
                let frame = reader.frame()?;
                self.objects.note(at, || Stamp::of(frame));
                self.each(program, *body, reader, times(n, *count, reader)?, part)?;
                reader.finish(frame, "a column")?;
            }
            Step::Repeat { body, count } => self.each(program, *body, reader, times(n, *count, reader)?, part)?,
            Step::Each { body } => {
                for _ in 0..n {
                    self.run(program, *body, reader, 1, Order::Rows, part)?;
                }
            }
            Step::Collection { framed, array, item, columns, value_version_from, ends } => {
                let lists = times(n, *array, reader)?;
                if !framed {
                    return self.lists(program, reader, lists, *item, *ends, part);
                }
                // A column of an empty collection may have no bytes at all, not even a frame.
                if lists == 0 && reader.left() == 0 {
                    return Ok(());
                }
                let frame = reader.frame()?;
                let mut ahead = reader.clone();
                let body = if frame.is_member_wise() {
                    Some(self.value_body(frame, columns.as_ref(), *value_version_from, reader)?)
                } else {
                    None
                };
                self.objects.note(at, || {
                    let version = if reader.at() > ahead.at() { ahead.i16().ok() } else { None };
                    let checksum = if reader.at() > ahead.at() { ahead.u32().ok() } else { None };
                    Stamp { items: version.map(|version| (version, checksum)), ..Stamp::of(frame) }
                });
                for _ in 0..lists {
                    self.one_list(program, reader, frame, *item, body, *ends, part)?;
                }
                reader.finish(frame, "a collection")?;
            }
            Step::Class { versions, role } => match (role, order) {
                (Role::Base, Order::Columns) => {
                    let body = versions.bodies.first().map_or(program.root, |body| body.span);
                    self.run(program, body, reader, n, order, part)?;
                }
                _ => self.classes(program, versions, reader, n, part)?,
            },
            Step::Loop { counter, array, ends, raw: Some((offsets, bytes)), .. } => {
                let frame = reader.frame()?;
                self.objects.note(at, || Stamp::of(frame));
                let mut total = 0;
                for index in 0..n {
                    let items = times(self.count(counter, part, n, index)?, *array, reader)?;
                    part.end_list(*ends, items)?;
                    total += items;
                }
                let left = frame.end.unwrap_or(reader.at()).saturating_sub(reader.at());
                if total > 0 && (left == 0 || left % total != 0) {
                    return Err(Error::unsupported("objects of unknown layout have no common size")
                        .at(reader.position() as u64)
                        .wanted(total as u64, left as u64));
                }
                for _ in 0..total {
                    part.push_text(*offsets, *bytes, reader.take(left / total)?)?;
                }
                reader.finish(frame, "a counted array of objects")?;
            }
            Step::Loop { counter, array, body, ends, raw: None } => {
                let frame = reader.frame()?;
                self.objects.note(at, || Stamp::of(frame));
                for index in 0..n {
                    let count = self.count(counter, part, n, index)?;
                    let items = times(count, *array, reader)?;
                    if items > reader.left() {
                        return Err(reader.short(items));
                    }
                    self.each(program, *body, reader, items, part)?;
                    part.end_list(*ends, items)?;
                }
                reader.finish(frame, "a counted array of objects")?;
            }
            Step::Pointer { buffer } => {
                for _ in 0..n {
                    let id = self.slot(reader)?;
                    part.words_mut(*buffer).push(id);
                }
            }
            Step::Boxed { buffer, class } => {
                for _ in 0..n {
                    let id = self.boxed(class, reader)?;
                    part.words_mut(*buffer).push(id);
                }
            }
            Step::Object { id, bits } => {
                for _ in 0..n {
                    let (unique, flags, pid) = info::referenced(reader)?;
                    self.objects.note(at, || Stamp { pid, ..Stamp::default() });
                    part.bytes_mut(*id).extend_from_slice(&unique.to_ne_bytes());
                    part.bytes_mut(*bits).extend_from_slice(&flags.to_ne_bytes());
                }
            }
            Step::Bits { buffer } => {
                const IS_REFERENCED: u32 = 1 << 4;
                for _ in 0..n {
                    let flags = reader.u32()?;
                    let pid = if flags & IS_REFERENCED != 0 { reader.u16()? } else { 0 };
                    self.objects.note(at, || Stamp { pid, ..Stamp::default() });
                    part.bytes_mut(*buffer).extend_from_slice(&flags.to_ne_bytes());
                }
            }
            Step::Custom { which, buffers } => {
                for _ in 0..n {
                    let mut reading = streamers::Reading { machine: &mut *self, step: at };
                    super::streamers::read(&mut reading, *which, buffers, reader, part)?;
                }
            }
            Step::Missing { kind, count } => self.empty(kind, times(n, *count, reader)?, part)?,
            Step::Convert { from: (from, a), to: (to, b), count } => {
                let bytes = part.bytes(*from);
                let start = match count {
                    // All of them.
                    None => 0,
                    Some(count) => {
                        let last = n.saturating_mul(*count as usize).saturating_mul(a.bytes());
                        let start = bytes.len().checked_sub(last);
                        start.ok_or_else(|| Error::internal("numbers are converted before they are read"))?
                    }
                };
                let decoded = bytes[start..].to_vec();
                if count.is_none() {
                    part.bytes_mut(*from).clear();
                }
                super::versions::convert(&decoded, *a, *b, part.bytes_mut(*to));
            }
            Step::Opaque { shared: true, .. } if order == Order::Columns && n > 1 => {
                return Err(Error::unsupported(NO_ROWS).at(reader.position() as u64));
            }
            Step::Opaque { ends, bytes, .. } => {
                for _ in 0..n {
                    let start = reader.at();
                    let frame = reader.frame()?;
                    let Some(end) = frame.end else {
                        return Err(
                            Error::unsupported("bytes of unknown layout have no length").at(reader.position() as u64)
                        );
                    };
                    reader.seek(start)?;
                    let place = reader.position() as u32;
                    let raw = reader.take(end - start)?;
                    self.objects.note(at, || Stamp { id: place, ..Stamp::default() });
                    part.push_text(*ends, *bytes, raw)?;
                }
            }
        }
        Ok(())
    }

    /// The count for item `index` of `n`.
    fn count(&self, counter: &Counter, part: &Part, n: usize, index: usize) -> Result<usize> {
        let count = match *counter {
            Counter::Member(buffer, number) => {
                let bytes = part.bytes(buffer);
                let wide = number.bytes();
                let at = bytes.len().checked_sub((n - index) * wide);
                let bytes = at.and_then(|at| bytes.get(at..at + wide));
                number.whole(bytes.ok_or_else(|| Error::internal("a counted array is read before its counter"))?)
            }
            Counter::Outside => self.outside.get(index).copied().ok_or_else(|| {
                Error::malformed("a counted array has no counter").wanted(n as u64, self.outside.len() as u64)
            })?,
        };
        // ROOT takes a negative count as none.
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn lists(
        &mut self,
        program: &Program,
        reader: &mut Reader<'_>,
        lists: usize,
        item: Span,
        ends: BufferId,
        part: &mut Part,
    ) -> Result<()> {
        // Lists of numbers are what most containers are: no step and no recursion for each of them.
        if let [Step::Run { fields, bytes }] = &program.steps[item.start as usize..item.end as usize]
            && let [field] = &**fields
        {
            debug_assert_eq!(*bytes as usize, field.prim.bytes() * field.count as usize);
            return part.push_lists((field.buffer, field.prim, field.count as usize), ends, lists, reader);
        }
        for _ in 0..lists {
            let items = reader.count()?;
            self.each(program, item, reader, items, part)?;
            part.end_list(ends, items)?;
        }
        Ok(())
    }

    /// The columns of a member-wise collection, by the version after its frame.
    fn value_body(
        &self,
        frame: Frame,
        columns: Option<&Versions>,
        value_version_from: i16,
        reader: &mut Reader<'_>,
    ) -> Result<Span> {
        let at = reader.position() as u64;
        let Some(columns) = columns else {
            return Err(Error::unsupported(
                "a collection is streamed member by member, and its items are of a class that holds such collections \
                 itself, or that the file does not describe: neither is read yet",
            )
            .at(at));
        };
        let body = if frame.class_version() >= value_version_from {
            let version = reader.i16()?;
            let checksum = if version <= 0 { Some(reader.u32()?) } else { None };
            columns.body(version, checksum)
        } else {
            columns.bodies.first().copied()
        };
        body.map(|body| body.span).ok_or_else(|| {
            Error::unsupported(format!("the file does not describe this version of class {}", columns.class)).at(at)
        })
    }

    /// One collection, after its frame and the version of its value.
    #[expect(clippy::too_many_arguments, reason = "the fields of one step")]
    fn one_list(
        &mut self,
        program: &Program,
        reader: &mut Reader<'_>,
        frame: Frame,
        item: Span,
        columns: Option<Span>,
        ends: BufferId,
        part: &mut Part,
    ) -> Result<()> {
        let items = match columns {
            // Objects of a class without members have no bytes, whatever their number.
            Some(body) if !program.has_bytes(body) => {
                let (at, items) = (reader.position() as u64, reader.u32()?);
                if items > MOST_WITHOUT_BYTES {
                    return Err(Error::limit(
                        "a collection has too many items without bytes",
                        MOST_WITHOUT_BYTES.into(),
                        items.into(),
                    )
                    .at(at));
                }
                items as usize
            }
            _ => reader.count()?,
        };
        match columns {
            // Before version 7 the columns were written for an empty collection too.
            Some(body) if items > 0 || frame.class_version() < 7 => {
                self.run(program, body, reader, items, Order::Columns, part)?;
            }
            Some(_) => {}
            None => self.each(program, item, reader, items, part)?,
        }
        part.end_list(ends, items)
    }

    /// `n` framed objects of a class.
    fn classes(
        &mut self,
        program: &Program,
        versions: &Versions,
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        let mut left = n;
        while left > 0 {
            let frame = reader.frame()?;
            let before = reader.clone();
            let body = self.body(versions, frame.version, reader)?;
            let is_traced = self.objects.trace.is_some();
            self.objects.note(at, || {
                let checksum = if reader.at() > before.at() { before.peek_u32().ok() } else { None };
                Stamp { checksum, ..Stamp::of(frame) }
            });
            let done = match &program.steps[body.start as usize..body.end as usize] {
                [Step::Run { fields, bytes }]
                    if left > 1
                        && !is_traced
                        && let Some(end) = frame.end =>
                {
                    let bytes = *bytes as usize;
                    if end > reader.at() + bytes {
                        return Err(wrong_length(versions, reader, end, bytes));
                    }
                    same_frames(reader, bytes, left, |from, rows, stride| {
                        for field in fields {
                            part.push_numbers(
                                field.buffer,
                                field.prim,
                                &from[field.at as usize..],
                                rows,
                                field.count as usize,
                                stride,
                            );
                        }
                    })?
                }
                _ => {
                    self.run(program, body, reader, 1, Order::Rows, part)?;
                    1
                }
            };
            if done == 1 {
                reader.finish(frame, &versions.class)?;
            }
            left -= done;
        }
        Ok(())
    }

    /// The body for a version word; reads the checksum of a foreign class.
    fn body(&self, versions: &Versions, version: i16, reader: &mut Reader<'_>) -> Result<Span> {
        let checksum =
            if version <= 0 && !versions.declares_zero() && reader.left() >= 4 { Some(reader.u32()?) } else { None };
        versions.body(version, checksum).map(|body| body.span).ok_or_else(|| {
            Error::unsupported(format!("the file does not describe version {version} of class {}", versions.class))
                .at(reader.position() as u64)
        })
    }
}

/// `n * count`, refused where it cannot be.
fn times(n: usize, count: u32, reader: &Reader<'_>) -> Result<usize> {
    match n.checked_mul(count as usize) {
        Some(product) if product <= reader.whole().len().saturating_add(n) => Ok(product),
        _ => Err(reader.short(usize::MAX)),
    }
}

/// Takes as many rows as have the same frame as the one just read, whose `bytes` of members follow.
///
/// Objects of fixed size have equal frames, so that all their members can be taken with one stride.
fn same_frames(
    reader: &mut Reader<'_>,
    bytes: usize,
    most: usize,
    mut rows: impl FnMut(&[u8], usize, usize),
) -> Result<usize> {
    let whole = reader.whole();
    let first = reader.at();
    // The frame directly precedes it: byte count, version, and perhaps a checksum.
    let count = |at: usize| {
        whole.get(at..at + 4).and_then(|word| word.first_chunk::<4>()).map(|word| u32::from_be_bytes(*word))
    };
    let head = [6, 10].into_iter().find(|&head| {
        first >= head && count(first - head) == Some(crate::wire::BYTE_COUNT | (bytes + head - 4) as u32)
    });
    let mut taken = 1;
    let stride = match head {
        Some(head) => {
            let stride = bytes + head;
            let frame = &whole[first - head..first];
            while taken < most {
                let at = first - head + taken * stride;
                if whole.get(at..at + stride).is_none_or(|next| &next[..head] != frame) {
                    break;
                }
                taken += 1;
            }
            stride
        }
        None => bytes,
    };
    let from = reader.take((taken - 1) * stride + bytes)?;
    rows(from, taken, if taken == 1 { bytes } else { stride });
    Ok(taken)
}

#[cold]
fn wrong_length(versions: &Versions, reader: &Reader<'_>, end: usize, bytes: usize) -> Error {
    Error::malformed(format!("class {} does not end where its byte count says", versions.class))
        .at(reader.position() as u64)
        .wanted((reader.at() + bytes) as u64, end as u64)
}

#[cfg(test)]
mod tests;
