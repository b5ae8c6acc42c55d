//! Arrays whose lengths another member or branch counts.

use super::super::framing_trace::Stamp;
use super::super::program::{Counter, Program, Span};
use super::{Machine, times};
use crate::column::{BufferId, Part, Prim};
use crate::error::{Error, Result};
use crate::wire::Reader;

impl Machine<'_> {
    /// Arrays of numbers whose lengths are counted elsewhere, each behind a byte that says whether it is there if
    /// `flagged`.
    #[expect(clippy::too_many_arguments, reason = "the fields of one step")]
    pub(super) fn counted(
        &mut self,
        (prim, len): (Prim, usize),
        (flagged, lists): (bool, u32),
        counter: &Counter,
        (ends, values): (BufferId, BufferId),
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        // Null pointers have no bytes, so only their number bounds the lists.
        if n.saturating_mul(lists as usize) > reader.whole().len().saturating_mul(64).max(1 << 12) {
            return Err(reader.short(usize::MAX));
        }
        for index in 0..n {
            let present = !flagged || reader.u8()? != 0;
            let count = if present { self.count(counter, part, n, index)? } else { 0 };
            let empty = flagged && present && count == 0;
            self.objects.note(at, || Stamp { counted: empty, ..Stamp::default() });
            let items = times(count, lists, reader)?;
            let numbers = items.saturating_mul(len);
            let from = reader.at();
            let bytes = reader.take(numbers.saturating_mul(prim.bytes()))?;
            let stays = match (&self.objects.record, prim) {
                (Some(record), Prim::Plain(number)) => part.push_later(values, number, record, from, numbers),
                _ => false,
            };
            if !stays {
                part.push_numbers(values, prim, bytes, 1, numbers, bytes.len());
            }
            for _ in 0..lists {
                part.end_list(ends, count)?;
            }
        }
        Ok(())
    }

    /// Counted arrays of objects.
    #[expect(clippy::too_many_arguments, reason = "the fields of one step")]
    pub(super) fn counted_loop(
        &mut self,
        program: &Program,
        counter: &Counter,
        array: u32,
        body: Span,
        ends: BufferId,
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        let frame = reader.frame()?;
        self.objects.note(at, || Stamp::of(frame));
        // ROOT writes no object if the pointer to the array is null, even if the length is not 0.
        let is_null = frame.end == Some(reader.at());
        for index in 0..n {
            let count = if is_null { 0 } else { self.count(counter, part, n, index)? };
            let items = times(count, array, reader)?;
            if items > reader.left() {
                return Err(reader.short(items));
            }
            self.each(program, body, reader, items, part)?;
            part.end_list(ends, items)?;
        }
        reader.finish(frame, "a counted array of objects")
    }

    /// Counted arrays of objects whose layout the file does not describe: all have the same size.
    #[expect(clippy::too_many_arguments, reason = "the fields of one step")]
    pub(super) fn raw_loop(
        &mut self,
        counter: &Counter,
        array: u32,
        ends: BufferId,
        (offsets, bytes): (BufferId, BufferId),
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let at = self.objects.step;
        let frame = reader.frame()?;
        self.objects.note(at, || Stamp::of(frame));
        let mut total = 0;
        for index in 0..n {
            let items = times(self.count(counter, part, n, index)?, array, reader)?;
            part.end_list(ends, items)?;
            total += items;
        }
        let left = frame.end.unwrap_or(reader.at()).saturating_sub(reader.at());
        if total > 0 && (left == 0 || left % total != 0) {
            return Err(Error::unsupported("objects of unknown layout have no common size")
                .at(reader.position() as u64)
                .wanted(total as u64, left as u64));
        }
        for _ in 0..total {
            part.push_text(offsets, bytes, reader.take(left / total)?)?;
        }
        reader.finish(frame, "a counted array of objects")
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
}
