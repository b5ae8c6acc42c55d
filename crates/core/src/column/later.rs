//! Lists of numbers that stay in their record, as they are stored, until they are asked for.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;

use super::{Number, Prim, decode_numbers};

/// Numbers of one buffer in a record that is kept. Any bytes are numbers, and that a list lies in the record is known
/// when it is added: so nothing can be wrong with it later.
#[derive(Clone, Debug)]
pub struct Later {
    record: Bytes,
    number: Number,
    /// Lists that have numbers.
    lists: Vec<Stored>,
    /// Numbers of all lists.
    count: u32,
    /// All of them in native order, once they were asked for together.
    decoded: OnceLock<Vec<u8>>,
}

/// One list.
#[derive(Clone, Copy, Debug)]
struct Stored {
    /// Which byte of the record it begins with.
    at: u32,
    /// The numbers of the lists before it.
    before: u32,
}

impl Later {
    pub(super) fn new(record: &Bytes, number: Number) -> Self {
        Self { record: record.clone(), number, lists: Vec::new(), count: 0, decoded: OnceLock::new() }
    }

    /// Adds a list of `count` numbers from byte `at` of the record on; gives false where it cannot.
    pub(super) fn push(&mut self, record: &Bytes, number: Number, at: usize, count: usize) -> bool {
        let lies_within = || at.checked_add(count.checked_mul(number.bytes())?).filter(|&end| end <= record.len());
        let (Ok(place), Ok(items)) = (u32::try_from(at), u32::try_from(count)) else { return false };
        let Some(total) = self.count.checked_add(items) else { return false };
        let is_same = record.as_ptr() == self.record.as_ptr() && record.len() == self.record.len();
        if !is_same || number != self.number || lies_within().is_none() {
            return false;
        }
        if count > 0 {
            self.lists.push(Stored { at: place, before: self.count });
            self.count = total;
            self.decoded.take();
        }
        true
    }

    /// Bytes of all numbers.
    pub(super) fn bytes(&self) -> usize {
        self.count as usize * self.number.bytes()
    }

    /// Bytes of memory in use, without the record.
    pub(super) fn memory_bytes(&self) -> usize {
        self.decoded.get().map_or(0, Vec::len) + self.lists.len() * size_of::<Stored>()
    }

    /// All numbers.
    pub(super) fn all(&self) -> &[u8] {
        self.decoded.get_or_init(|| self.decode())
    }

    /// All numbers, without the record.
    pub(super) fn settle(&mut self) -> Vec<u8> {
        self.decoded.take().unwrap_or_else(|| self.decode())
    }

    /// Some numbers: only these are decoded where they are of one list.
    pub(super) fn some(&self, numbers: Range<usize>) -> Cow<'_, [u8]> {
        if let (None, Some(stored)) = (self.decoded.get(), self.stored(&numbers)) {
            let mut into = vec![0; numbers.len() * self.number.bytes()];
            decode_numbers(Prim::Plain(self.number), stored, &mut into);
            return Cow::Owned(into);
        }
        let wide = self.number.bytes();
        Cow::Borrowed(self.all().get(numbers.start * wide..numbers.end * wide).unwrap_or(&[]))
    }

    /// Numbers of one list, as they are stored.
    fn stored(&self, numbers: &Range<usize>) -> Option<&[u8]> {
        let next = self.lists.partition_point(|list| list.before as usize <= numbers.start);
        let list = self.lists.get(next.checked_sub(1)?)?;
        let end = self.lists.get(next).map_or(self.count, |list| list.before);
        if numbers.end > end as usize {
            return None;
        }
        let wide = self.number.bytes();
        let from = list.at as usize + (numbers.start - list.before as usize) * wide;
        self.record.get(from..from + numbers.len() * wide)
    }

    fn decode(&self) -> Vec<u8> {
        let wide = self.number.bytes();
        let mut all = vec![0; self.bytes()];
        let ends = self.lists.iter().skip(1).map(|list| list.before).chain([self.count]);
        for (list, end) in self.lists.iter().zip(ends) {
            let into = all.get_mut(list.before as usize * wide..end as usize * wide);
            let from = self.record.get(list.at as usize..);
            if let (Some(into), Some(from)) = (into, from)
                && let Some(from) = from.get(..into.len())
            {
                decode_numbers(Prim::Plain(self.number), from, into);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers 1, 2, 3 at byte 3, and 4 at byte 1.
    fn lists() -> (Bytes, Later) {
        let record = Bytes::from_static(&[9, 0, 4, 0, 1, 0, 2, 0, 3]);
        let mut later = Later::new(&record, Number::U16);
        for (at, count) in [(3, 3), (9, 0), (1, 1)] {
            assert!(later.push(&record, Number::U16, at, count));
        }
        (record, later)
    }

    fn native(numbers: &[u16]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn lists_are_decoded_one_by_one_or_together() {
        let (_, later) = lists();
        assert_eq!(*later.some(1..3), native(&[2, 3]));
        assert_eq!(*later.some(3..4), native(&[4]));
        assert!(later.some(3..3).is_empty() && later.decoded.get().is_none(), "one list each");
        assert_eq!(*later.some(2..4), native(&[3, 4]), "parts of two");
        assert_eq!((later.all(), later.bytes()), (&*native(&[1, 2, 3, 4]), 8));
        assert_eq!(*later.some(0..1), native(&[1]));
        assert!(later.some(4..5).is_empty(), "there is no such number");
    }

    #[test]
    fn what_was_decoded_grows_with_the_lists() {
        let (record, mut later) = lists();
        assert_eq!(later.all().len(), 8);
        assert!(later.push(&record, Number::U16, 0, 1));
        assert_eq!(later.settle(), native(&[1, 2, 3, 4, 0x0900]));
    }

    #[test]
    fn lists_beyond_the_record_and_of_other_records_are_refused() {
        let (record, mut later) = lists();
        for (at, count) in [(8, 1), (usize::MAX, 1), (0, usize::MAX), (10, 1), (1 << 33, 0)] {
            assert!(!later.push(&record, Number::U16, at, count), "{at} {count}");
        }
        assert!(!later.push(&record, Number::U32, 0, 1), "another type");
        assert!(!later.push(&Bytes::from(record.to_vec()), Number::U16, 0, 1), "another record");
        assert_eq!(later.all(), native(&[1, 2, 3, 4]));
    }
}
