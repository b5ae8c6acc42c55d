//! Runs programs over bytes.

mod bare;
mod columns;
mod counted;
mod lists;
mod pointers;
mod streamers;

use super::framing_trace::Stamp;
use super::info;
use super::objects::Objects;
use super::program::{Program, Role, RunField, Span, Step, TextForm, Versions};
use super::registry::Registry;
use crate::column::{BufferId, Number, Part};
use crate::error::{Error, Result};
use crate::wire::{Limits, Reader};

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
    /// [`Malformed`](crate::ErrorKind::Malformed) where bytes and program do not fit; `part` is then in no useful
    /// state.
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

    pub(super) fn run(
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
        match step {
            Step::Run { fields, bytes } => numbers(fields, *bytes as usize, reader, n, order, part)?,
            Step::Counted { prim, flagged, lists, len, counter, ends, values } => {
                let into = (*ends, *values);
                self.counted((*prim, *len as usize), (*flagged, *lists), counter, into, reader, n, part)?;
            }
            Step::Text { form, ends, bytes } => texts(*form, *ends, *bytes, reader, n, part)?,
            Step::SharedFrame { body, count } => {
                let at = self.objects.step;
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
                let columns = (columns.as_ref(), *value_version_from);
                self.framed_lists(program, reader, lists, *item, columns, *ends, part)?;
            }
            Step::Class { versions, role } => match (role, order) {
                (Role::Base, Order::Columns) => {
                    let body = versions.bodies.first().map_or(program.root, |body| body.span);
                    self.run(program, body, reader, n, order, part)?;
                }
                _ => self.classes(program, versions, reader, n, part)?,
            },
            Step::Loop { counter, array, ends, raw: Some(raw), .. } => {
                self.raw_loop(counter, *array, *ends, *raw, reader, n, part)?;
            }
            Step::Loop { counter, array, body, ends, raw: None } => {
                self.counted_loop(program, counter, *array, *body, *ends, reader, n, part)?;
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
            Step::Object { id, bits } => self.tobjects(*id, *bits, reader, n, part)?,
            Step::Bits { buffer } => self.bits(*buffer, reader, n, part)?,
            Step::Custom { which, buffers } => self.custom(*which, buffers, reader, n, part)?,
            Step::Clones { .. } => return Err(Error::internal("a program that only writes is run over bytes")),
            Step::Missing { kind, count } => self.empty(kind, times(n, *count, reader)?, part)?,
            Step::Convert { from, to, count } => convert(*from, *to, *count, n, part)?,
            Step::Opaque { shared: true, .. } if order == Order::Columns && n > 1 => {
                return Err(Error::unsupported(NO_ROWS).at(reader.position() as u64));
            }
            Step::Opaque { ends, bytes, .. } => self.opaque(*ends, *bytes, reader, n, part)?,
        }
        Ok(())
    }

    /// `TObject`s.
    fn tobjects(
        &mut self,
        id: BufferId,
        bits: BufferId,
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        for _ in 0..n {
            let (unique, flags, pid) = info::referenced(reader)?;
            self.objects.note(at, || Stamp { pid, ..Stamp::default() });
            part.bytes_mut(id).extend_from_slice(&unique.to_ne_bytes());
            part.bytes_mut(bits).extend_from_slice(&flags.to_ne_bytes());
        }
        Ok(())
    }

    /// `fBits` of `TObject`s that are split: the ProcessID offset follows where one is referenced.
    fn bits(&mut self, buffer: BufferId, reader: &mut Reader<'_>, n: usize, part: &mut Part) -> Result<()> {
        let at = self.objects.step;
        for _ in 0..n {
            let flags = reader.u32()?;
            let pid = if flags & info::IS_REFERENCED != 0 { reader.u16()? } else { 0 };
            self.objects.note(at, || Stamp { pid, ..Stamp::default() });
            part.bytes_mut(buffer).extend_from_slice(&flags.to_ne_bytes());
        }
        Ok(())
    }

    /// Framed bytes whose layout is unknown.
    fn opaque(
        &mut self,
        ends: BufferId,
        bytes: BufferId,
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        for _ in 0..n {
            let start = reader.at();
            let frame = reader.frame()?;
            let end = match frame.end {
                Some(end) => end,
                // Classes whose streamer only calls that of `TObject` have its bytes.
                None if frame.version == TOBJECT_VERSION => {
                    reader.seek(start)?;
                    info::referenced(reader)?;
                    reader.at()
                }
                None => {
                    let error = Error::unsupported("bytes of unknown layout have no length");
                    return Err(error.at(reader.position() as u64));
                }
            };
            reader.seek(start)?;
            let place = reader.position() as u32;
            let raw = reader.take(end - start)?;
            self.objects.note(at, || Stamp { id: place, ..Stamp::default() });
            part.push_text(ends, bytes, raw)?;
        }
        Ok(())
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
        if self.bare(program, versions, reader, reader.whole().len(), n, part)? {
            return Ok(());
        }
        let at = self.objects.step;
        let mut left = n;
        while left > 0 {
            let start = reader.position();
            let frame = reader.frame()?;
            let before = reader.clone();
            let body = self.body(versions, frame.version, reader);
            let body = body.map_err(|error| Self::explained(error, versions, frame, start))?;
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
                    self.run(program, body, reader, 1, Order::Rows, part)
                        .map_err(|error| Self::explained(error, versions, frame, start))?;
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

/// The version of `TObject`, whose bytes have no byte count.
const TOBJECT_VERSION: i16 = 1;

/// Members that are numbers, one after the other: `stride` bytes an item.
fn numbers(
    fields: &[RunField],
    stride: usize,
    reader: &mut Reader<'_>,
    n: usize,
    order: Order,
    part: &mut Part,
) -> Result<()> {
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
    Ok(())
}

/// Strings.
fn texts(
    form: TextForm,
    ends: BufferId,
    bytes: BufferId,
    reader: &mut Reader<'_>,
    n: usize,
    part: &mut Part,
) -> Result<()> {
    for _ in 0..n {
        let text = match form {
            TextForm::Counted => reader.string()?,
            TextForm::CharStar => {
                let length = reader.count()?;
                reader.take(length)?
            }
        };
        part.push_text(ends, bytes, text)?;
    }
    Ok(())
}

/// Converts numbers that were read as another type: the last `count` of each of `n` items, or all there are.
fn convert(
    (from, stored): (BufferId, Number),
    (to, wanted): (BufferId, Number),
    count: Option<u32>,
    n: usize,
    part: &mut Part,
) -> Result<()> {
    let bytes = part.bytes(from);
    let start = match count {
        None => 0,
        Some(count) => {
            let last = n.saturating_mul(count as usize).saturating_mul(stored.bytes());
            let start = bytes.len().checked_sub(last);
            start.ok_or_else(|| Error::internal("numbers are converted before they are read"))?
        }
    };
    let decoded = bytes[start..].to_vec();
    if count.is_none() {
        part.bytes_mut(from).clear();
    }
    super::versions::convert(&decoded, stored, wanted, part.bytes_mut(to));
    Ok(())
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
