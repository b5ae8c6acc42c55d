//! Columns while they grow: what a program decodes into.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::later::Later;
use super::{BufferId, Number, Prim, decode_numbers, ends};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::wire::Reader;

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Numbers.
    Numbers(Number),
    /// Ends of lists or strings, counted in items from 0.
    Ends,
    /// Bytes of strings.
    Bytes,
    /// Numbers of objects.
    Objects,
}

/// One growing buffer.
#[derive(Clone, Debug)]
pub enum Growing {
    /// Native-endian numbers, or bytes.
    Bytes(Vec<u8>),
    /// Ends of lists, or numbers of objects.
    Words(Vec<u32>),
    /// Numbers or bytes that grow no more and may be shared.
    Whole(Bytes),
    /// Numbers of lists that stay in the record until they are asked for.
    Later(Box<Later>),
}

impl Growing {
    /// Decodes numbers that stay in the record: rarely, and never while entries are decoded.
    #[cold]
    #[inline(never)]
    fn settle(&mut self) {
        if let Self::Later(later) = self {
            *self = Self::Bytes(later.settle());
        }
    }
}

/// Rows of a column, or of a class, decoded so far. Recycled: clearing keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct Part {
    buffers: Vec<Growing>,
    /// Rows at the root.
    pub rows: usize,
    /// Bytes of members that are not in the file: nothing else bounds them.
    pub(crate) absent_bytes: usize,
}

impl Part {
    /// An empty part with these buffers.
    pub fn new(kinds: &[BufferKind]) -> Self {
        Self::with_room(kinds, 0, &mut 0)
    }

    /// An empty part with room for so many rows, or for as many as `room_bytes` hold, from which it takes its share:
    /// growing step by step would touch twice the memory.
    pub(crate) fn with_room(kinds: &[BufferKind], rows: usize, room_bytes: &mut usize) -> Self {
        const TEXT_BYTES: usize = 16;
        let width = |kind: &BufferKind| match kind {
            BufferKind::Numbers(number) => number.bytes(),
            BufferKind::Bytes => TEXT_BYTES,
            BufferKind::Ends | BufferKind::Objects => 4,
        };
        let row_bytes = kinds.iter().map(width).sum::<usize>().max(1);
        let rows = rows.min(*room_bytes / row_bytes);
        *room_bytes -= rows * row_bytes;
        let buffers = kinds.iter().map(|kind| match kind {
            BufferKind::Numbers(_) | BufferKind::Bytes => Growing::Bytes(Vec::with_capacity(rows * width(kind))),
            BufferKind::Ends | BufferKind::Objects => Growing::Words(Vec::with_capacity(rows)),
        });
        Self { buffers: buffers.collect(), rows: 0, absent_bytes: 0 }
    }

    /// Becomes an empty part with these buffers, in the memory that it has.
    pub(crate) fn reshape(&mut self, kinds: &[BufferKind]) {
        self.clear();
        self.buffers.resize_with(kinds.len(), || Growing::Bytes(Vec::new()));
        for (buffer, kind) in self.buffers.iter_mut().zip(kinds) {
            match (kind, &buffer) {
                (BufferKind::Numbers(_) | BufferKind::Bytes, Growing::Bytes(_)) => {}
                (BufferKind::Ends | BufferKind::Objects, Growing::Words(_)) => {}
                (BufferKind::Numbers(_) | BufferKind::Bytes, _) => *buffer = Growing::Bytes(Vec::new()),
                (BufferKind::Ends | BufferKind::Objects, _) => *buffer = Growing::Words(Vec::new()),
            }
        }
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.absent_bytes = 0;
        for buffer in &mut self.buffers {
            match buffer {
                Growing::Bytes(bytes) => bytes.clear(),
                Growing::Words(words) => words.clear(),
                Growing::Whole(_) | Growing::Later(_) => *buffer = Growing::Bytes(Vec::new()),
            }
        }
    }

    /// Forgets rows, ends and numbers of objects; numbers and texts stay, and those of further rows follow them.
    pub(crate) fn keep_bytes(&mut self) {
        self.rows = 0;
        self.absent_bytes = 0;
        for buffer in &mut self.buffers {
            if let Growing::Words(words) = buffer {
                words.clear();
            }
        }
    }

    /// Moves numbers or texts into memory of so many bytes, where more of them follow.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) where the system has no such memory.
    pub(crate) fn reserve(&mut self, id: BufferId, memory: &Memory, bytes: usize) -> Result<()> {
        memory.try_grow(self.bytes_mut(id), bytes)
    }

    /// Moves all numbers and texts into larger memory, where `expected` says of their bytes how many there will be.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) where the system has no such memory.
    pub(crate) fn reserve_all(&mut self, memory: &Memory, expected: impl Fn(usize) -> usize) -> Result<()> {
        for id in 0..self.buffers.len() as BufferId {
            if let Some(Growing::Bytes(bytes)) = self.buffers.get(id as usize) {
                self.reserve(id, memory, expected(bytes.len()))?;
            }
        }
        Ok(())
    }

    /// Takes all numbers or texts out, in the memory that they lie in.
    pub(crate) fn take_bytes(&mut self, id: BufferId) -> Vec<u8> {
        std::mem::take(self.bytes_mut(id))
    }

    /// Makes what is large readable by many: no more rows follow.
    pub(crate) fn share(&mut self, memory: &Memory) {
        const LARGE: usize = 64 << 10;
        for buffer in &mut self.buffers {
            if let Growing::Bytes(bytes) = buffer
                && bytes.len() >= LARGE
            {
                *buffer = Growing::Whole(memory.lend_vec(std::mem::take(bytes)));
            }
        }
    }

    /// Bytes of a buffer without a copy, if it can be shared and most of it is meant: a slice holds all of its memory.
    pub(crate) fn shared(&self, id: BufferId, range: Range<usize>) -> Option<Bytes> {
        match self.buffers.get(id as usize) {
            Some(Growing::Whole(bytes)) if range.len() >= bytes.len() / 2 && range.end <= bytes.len() => {
                Some(bytes.slice(range))
            }
            _ => None,
        }
    }

    /// Values of a buffer of numbers, or bytes of a buffer of strings; empty for others.
    #[inline]
    pub fn bytes(&self, id: BufferId) -> &[u8] {
        match self.buffers.get(id as usize) {
            Some(Growing::Bytes(bytes)) => bytes,
            Some(Growing::Whole(bytes)) => bytes,
            Some(Growing::Later(later)) => later.all(),
            _ => &[],
        }
    }

    /// How many bytes [`bytes`](Self::bytes) gives.
    pub(crate) fn byte_len(&self, id: BufferId) -> usize {
        match self.buffers.get(id as usize) {
            Some(Growing::Later(later)) => later.bytes(),
            _ => self.bytes(id).len(),
        }
    }

    /// Some values of a buffer of numbers; empty if it has not all of them. What stays in the record is decoded for
    /// them alone.
    pub(crate) fn some(&self, id: BufferId, number: Number, values: Range<usize>) -> Cow<'_, [u8]> {
        match self.buffers.get(id as usize) {
            Some(Growing::Later(later)) => later.some(values),
            _ => {
                let wide = number.bytes();
                Cow::Borrowed(self.bytes(id).get(values.start * wide..values.end * wide).unwrap_or(&[]))
            }
        }
    }

    /// Ends, or numbers of objects; empty for other buffers.
    #[inline]
    pub fn words(&self, id: BufferId) -> &[u32] {
        match self.buffers.get(id as usize) {
            Some(Growing::Words(words)) => words,
            _ => &[],
        }
    }

    /// All buffers in order.
    pub fn buffers(&self) -> &[Growing] {
        &self.buffers
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        let used = self.buffers.iter().map(|buffer| match buffer {
            Growing::Bytes(bytes) => bytes.len(),
            Growing::Words(words) => 4 * words.len(),
            Growing::Whole(bytes) => bytes.len(),
            Growing::Later(later) => later.memory_bytes(),
        });
        used.sum()
    }

    /// Bytes of the numbers that stay in the record.
    pub(crate) fn later_bytes(&self) -> usize {
        let later = self.buffers.iter().map(|buffer| match buffer {
            Growing::Later(later) => later.bytes(),
            _ => 0,
        });
        later.sum()
    }

    /// Decodes the numbers that stay in the record, and lets go of it.
    pub(crate) fn settle(&mut self) {
        self.buffers.iter_mut().for_each(Growing::settle);
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self, id: BufferId) -> &mut Vec<u8> {
        let buffer = &mut self.buffers[id as usize];
        if matches!(buffer, Growing::Later(_)) {
            buffer.settle();
        }
        match buffer {
            Growing::Bytes(bytes) => bytes,
            Growing::Words(_) | Growing::Whole(_) | Growing::Later(_) => {
                unreachable!("a program writes numbers only where its buffers are declared so")
            }
        }
    }

    #[inline]
    pub(crate) fn words_mut(&mut self, id: BufferId) -> &mut Vec<u32> {
        match &mut self.buffers[id as usize] {
            Growing::Words(words) => words,
            Growing::Bytes(_) | Growing::Whole(_) | Growing::Later(_) => {
                unreachable!("a program writes words only where its buffers are declared so")
            }
        }
    }

    /// Truncates to `bytes` bytes.
    pub(crate) fn cut(&mut self, id: BufferId, bytes: usize) {
        self.bytes_mut(id).truncate(bytes);
    }

    /// Truncates to `words` words.
    pub(crate) fn cut_words(&mut self, id: BufferId, words: usize) {
        self.words_mut(id).truncate(words);
    }

    /// Ends a list of `items` more items.
    #[inline]
    pub(crate) fn end_list(&mut self, id: BufferId, items: usize) -> Result<()> {
        let words = self.words_mut(id);
        let last = ends::total(words);
        match u32::try_from(items).ok().and_then(|items| last.checked_add(items)) {
            Some(end) => {
                words.push(end);
                Ok(())
            }
            None => Err(too_many(items)),
        }
    }

    /// Appends one string.
    #[inline]
    pub(crate) fn push_text(&mut self, offsets: BufferId, bytes: BufferId, text: &[u8]) -> Result<()> {
        self.bytes_mut(bytes).extend_from_slice(text);
        self.end_list(offsets, text.len())
    }

    /// Appends lists of numbers: each a count, and so many times `per_item` numbers.
    pub(crate) fn push_lists(
        &mut self,
        numbers: (BufferId, Prim, usize),
        ends: BufferId,
        lists: usize,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let (values, prim, _) = numbers;
        let first_byte = self.bytes(values).len();
        self.gather_lists(numbers, ends, lists, reader)?;
        self.order_gathered(values, prim, first_byte);
        Ok(())
    }

    /// The same, whose numbers [`order_gathered`](Self::order_gathered) puts in order. Lists are short: their bytes are
    /// gathered first, and swapped all at once.
    pub(crate) fn gather_lists(
        &mut self,
        (values, prim, per_item): (BufferId, Prim, usize),
        ends: BufferId,
        lists: usize,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let wide = prim.bytes() * per_item;
        let pair = self.buffers.get_disjoint_mut([values as usize, ends as usize]);
        let (Prim::Plain(_), Ok([Growing::Bytes(into), Growing::Words(words)])) = (prim, pair) else {
            for _ in 0..lists {
                let items = reader.count()?;
                let from = reader.take(items.saturating_mul(wide))?;
                self.push_numbers(values, prim, from, 1, items * per_item, from.len());
                self.end_list(ends, items)?;
            }
            return Ok(());
        };
        let mut end = ends::total(words);
        for _ in 0..lists {
            let items = reader.count()?;
            into.extend_from_slice(reader.take(items.saturating_mul(wide))?);
            end = u32::try_from(items).ok().and_then(|items| end.checked_add(items)).ok_or_else(|| too_many(items))?;
            words.push(end);
        }
        Ok(())
    }

    /// Appends the bytes of so many numbers, which [`order_gathered`](Self::order_gathered) puts in order: for many
    /// short lists at once that is faster. None if there are not just so many: then nothing is appended.
    #[inline]
    pub(crate) fn gather(&mut self, (values, prim): (BufferId, Prim), count: usize, from: &[u8]) -> Option<()> {
        if count.checked_mul(prim.bytes()) != Some(from.len()) {
            return None;
        }
        match prim {
            Prim::Plain(_) => self.bytes_mut(values).extend_from_slice(from),
            _ => self.push_numbers(values, prim, from, 1, count, from.len()),
        }
        Some(())
    }

    /// Puts the numbers from a byte on, whose bytes were [gathered](Self::gather), into this machine's order.
    pub(crate) fn order_gathered(&mut self, values: BufferId, prim: Prim, first_byte: usize) {
        if let Prim::Plain(number) = prim
            && let Some(numbers) = self.bytes_mut(values).get_mut(first_byte..)
        {
            swap_in_place(number, numbers);
        }
    }

    /// Appends `count` numbers that stay in `record`, from its byte `at` on, until they are asked for.
    pub(crate) fn push_later(&mut self, id: BufferId, number: Number, record: &Bytes, at: usize, count: usize) -> bool {
        let Some(buffer) = self.buffers.get_mut(id as usize) else { return false };
        match buffer {
            Growing::Later(later) => later.push(record, number, at, count),
            Growing::Bytes(bytes) if bytes.is_empty() => {
                let mut later = Later::new(record, number);
                let is_added = later.push(record, number, at, count);
                if is_added {
                    *buffer = Growing::Later(Box::new(later));
                }
                is_added
            }
            _ => false,
        }
    }

    /// Appends `rows` times `count` numbers: row `i` begins at byte `i * stride` of `from`.
    ///
    /// The caller has checked that `from` holds `(rows - 1) * stride + count * prim.bytes()` bytes.
    #[inline]
    pub(crate) fn push_numbers(
        &mut self,
        id: BufferId,
        prim: Prim,
        from: &[u8],
        rows: usize,
        count: usize,
        stride: usize,
    ) {
        let into = self.bytes_mut(id);
        if rows == 1 && count == 1 {
            return append_one(into, prim, from);
        }
        if stride == count * prim.bytes() || rows == 1 {
            return append(into, prim, &from[..rows * count * prim.bytes()]);
        }
        let width = prim.bytes();
        if count == 1 && matches!(prim, Prim::Plain(_)) {
            return match width {
                1 => append_strided::<1>(into, from, rows, stride, prim),
                2 => append_strided::<2>(into, from, rows, stride, prim),
                4 => append_strided::<4>(into, from, rows, stride, prim),
                _ => append_strided::<8>(into, from, rows, stride, prim),
            };
        }
        for row in 0..rows {
            append(into, prim, &from[row * stride..row * stride + count * width]);
        }
    }
}

#[cold]
fn too_many(items: usize) -> Error {
    Error::limit("more than 4 G items in one basket", u64::from(u32::MAX), items as u64)
}

fn append_strided<const W: usize>(into: &mut Vec<u8>, from: &[u8], rows: usize, stride: usize, prim: Prim) {
    let old = into.len();
    into.resize(old + rows * W, 0);
    let (out, _) = into[old..].as_chunks_mut::<W>();
    for (out, from) in out.iter_mut().zip(from.chunks(stride)) {
        if let Some(value) = from.first_chunk::<W>() {
            *out = *value;
            if cfg!(target_endian = "little") {
                out.reverse();
            }
        }
    }
    if prim.number() == Number::Bool {
        for byte in &mut into[old..] {
            *byte = u8::from(*byte != 0);
        }
    }
}

/// Appends the number that `from` begins with: members of single objects are so short that a call for each counts.
#[inline]
fn append_one(into: &mut Vec<u8>, prim: Prim, from: &[u8]) {
    fn push<const W: usize>(into: &mut Vec<u8>, from: &[u8]) -> Option<()> {
        let mut value = *from.first_chunk::<W>()?;
        if cfg!(target_endian = "little") {
            value.reverse();
        }
        into.extend_from_slice(&value);
        Some(())
    }
    let done = match prim {
        Prim::Plain(Number::Bool) => None,
        Prim::Plain(number) => match number.bytes() {
            1 => push::<1>(into, from),
            2 => push::<2>(into, from),
            4 => push::<4>(into, from),
            _ => push::<8>(into, from),
        },
        _ => None,
    };
    if done.is_none() {
        append(into, prim, &from[..prim.bytes()]);
    }
}

/// Appends consecutive numbers of a file in memory format.
#[inline]
fn append(into: &mut Vec<u8>, prim: Prim, from: &[u8]) {
    /// What is cleared first is still in the nearest cache when it is written; whole numbers of any width.
    const PIECE_BYTES: usize = 12 << 10;
    into.reserve(from.len() / prim.bytes() * prim.number().bytes());
    for from in from.chunks(PIECE_BYTES) {
        let old = into.len();
        let items = from.len() / prim.bytes();
        into.resize(old + items * prim.number().bytes(), 0);
        decode_numbers(prim, from, &mut into[old..]);
    }
}

/// Big-endian numbers that are where they should be, to native ones.
fn swap_in_place(number: Number, numbers: &mut [u8]) {
    fn reverse<const W: usize>(numbers: &mut [u8]) {
        if cfg!(target_endian = "little") {
            numbers.as_chunks_mut::<W>().0.iter_mut().for_each(|value| value.reverse());
        }
    }
    match number.bytes() {
        1 if number == Number::Bool => numbers.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        1 => {}
        2 => reverse::<2>(numbers),
        4 => reverse::<4>(numbers),
        _ => reverse::<8>(numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_numbers_equal_consecutive_ones() {
        let kinds = [BufferKind::Numbers(Number::I16), BufferKind::Numbers(Number::I16)];
        let mut part = Part::new(&kinds);
        let prim = Prim::Plain(Number::I16);
        part.push_numbers(0, prim, &[0, 1, 9, 0, 2, 9, 0, 3], 3, 1, 3);
        part.push_numbers(1, prim, &[0, 1, 0, 2, 0, 3], 3, 1, 2);
        assert_eq!(part.bytes(0), part.bytes(1));
        assert_eq!(part.bytes(0)[..2], 1_i16.to_ne_bytes());
    }

    #[test]
    fn a_part_of_another_shape_is_as_a_new_one() {
        let (numbers, ends) = (BufferKind::Numbers(Number::I32), BufferKind::Ends);
        let shapes = [&[ends, numbers][..], &[numbers, BufferKind::Bytes], &[], &[ends, ends, numbers], &[numbers]];
        let mut part = Part::default();
        for kinds in shapes.iter().chain(shapes.iter().rev()) {
            part.reshape(kinds);
            assert_eq!(format!("{part:?}"), format!("{:?}", Part::new(kinds)));
            (part.rows, part.absent_bytes) = (3, 4);
            for (id, kind) in kinds.iter().enumerate() {
                match kind {
                    BufferKind::Ends => part.words_mut(id as BufferId).push(7),
                    _ => part.bytes_mut(id as BufferId).push(7),
                }
            }
        }
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let mut out = [9; 3];
        decode_numbers(Prim::Plain(Number::Bool), &[0, 1, 0x99], &mut out);
        assert_eq!(out, [0, 1, 1]);
    }

    #[test]
    fn gathered_lists_equal_lists_one_by_one() {
        let kinds = [BufferKind::Numbers(Number::U16), BufferKind::Ends];
        let bytes = [0, 0, 0, 2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1, 5, 6];
        let mut part = Part::new(&kinds);
        let mut reader = Reader::new(&bytes);
        part.push_lists((0, Prim::Plain(Number::U16), 1), 1, 3, &mut reader).unwrap();
        let expected: Vec<u8> = [0x0102_u16, 0x0304, 0x0506].iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!((part.bytes(0), part.words(1)), (&expected[..], &[2, 2, 3][..]));
        assert!(part.push_lists((0, Prim::Plain(Number::U16), 1), 1, 1, &mut reader).is_err(), "no count follows");
    }

    #[test]
    fn only_whole_numbers_are_gathered() {
        let mut part = Part::new(&[BufferKind::Numbers(Number::U16)]);
        let into = (0, Prim::Plain(Number::U16));
        part.gather(into, 2, &[0, 1, 0, 2]).unwrap();
        assert!(part.gather(into, 2, &[0, 3, 0]).is_none());
        part.order_gathered(0, into.1, 2);
        assert_eq!(part.bytes(0), [&[0, 1][..], &2_u16.to_ne_bytes()].concat());
    }

    #[test]
    fn what_grows_no_more_is_shared_if_most_of_it_is_meant() {
        let mut part = Part::new(&[BufferKind::Numbers(Number::U8), BufferKind::Bytes]);
        part.bytes_mut(0).extend(std::iter::repeat_n(7, 100_000));
        part.bytes_mut(1).extend([1; 100]);
        part.share(&Memory::new(1 << 20));
        assert_eq!(part.bytes(0).len(), 100_000);
        let most = part.shared(0, 10..90_000).unwrap();
        assert_eq!(most.as_ptr(), part.bytes(0)[10..].as_ptr());
        assert!(part.shared(0, 0..100).is_none(), "a few would keep all of it");
        assert!(part.shared(0, 50_000..100_001).is_none() && part.shared(1, 0..100).is_none());
    }

    #[test]
    fn lists_count_from_zero() {
        let mut part = Part::new(&[BufferKind::Ends]);
        for items in [2, 0, 3] {
            part.end_list(0, items).unwrap();
        }
        assert_eq!(part.words(0), [2, 2, 5]);
        assert!(part.end_list(0, usize::MAX).is_err());
    }
}
