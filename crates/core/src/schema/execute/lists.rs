//! Collections, item by item and member by member.

use super::super::framing_trace::Stamp;
use super::super::program::{Program, Span, Step, Versions};
use super::{Machine, Order};
use crate::column::{BufferId, Part};
use crate::error::{Error, Result};
use crate::wire::{Frame, Reader};

/// Items that a collection may have where no bytes bound their number.
const MOST_WITHOUT_BYTES: u32 = 1 << 24;

impl Machine<'_> {
    pub(super) fn lists(
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

    /// Collections within one frame.
    #[expect(clippy::too_many_arguments, reason = "the fields of one step")]
    pub(super) fn framed_lists(
        &mut self,
        program: &Program,
        reader: &mut Reader<'_>,
        lists: usize,
        item: Span,
        (columns, value_version_from): (Option<&Versions>, i16),
        ends: BufferId,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        // A column of an empty collection may have no bytes at all, not even a frame.
        if lists == 0 && reader.left() == 0 {
            return Ok(());
        }
        let frame = reader.frame()?;
        let mut ahead = reader.clone();
        let body = match frame.is_member_wise() {
            true => Some(self.value_body(frame, columns, value_version_from, reader)?),
            false => None,
        };
        self.objects.note(at, || {
            let version = if reader.at() > ahead.at() { ahead.i16().ok() } else { None };
            let checksum = if reader.at() > ahead.at() { ahead.u32().ok() } else { None };
            Stamp { items: version.map(|version| (version, checksum)), ..Stamp::of(frame) }
        });
        for _ in 0..lists {
            self.one_list(program, reader, frame, item, body, ends, part)?;
        }
        reader.finish(frame, "a collection")
    }

    /// The columns of a member-wise collection, by the version after its frame.
    pub(super) fn value_body(
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
    pub(super) fn one_list(
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
            None if self.bare_items(program, item, reader, frame, items, part)? => {}
            None => self.each(program, item, reader, items, part)?,
        }
        part.end_list(ends, items)
    }

    /// Decodes the objects of a collection without headers, if its frame has room for their members only.
    fn bare_items(
        &self,
        program: &Program,
        item: Span,
        reader: &mut Reader<'_>,
        frame: Frame,
        items: usize,
        part: &mut Part,
    ) -> Result<bool> {
        match (&program.steps[item.start as usize..item.end as usize], frame.end) {
            ([Step::Class { versions, .. }], Some(end)) => self.bare(program, versions, reader, end, items, part),
            _ => Ok(false),
        }
    }
}
