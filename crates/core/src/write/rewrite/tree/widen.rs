//! Stores numbers as a wider type: entries, their order, basket boundaries and values stay the same.

use crate::column::Number;
use crate::error::{Error, Result};
use crate::tree::{Basket, BasketHeader};

/// From which type to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widening {
    pub(crate) from: Number,
    pub(crate) to: Number,
    /// Whether the numbers are list lengths: the largest is noted.
    pub(crate) counts: bool,
}

/// The result of widening a basket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grown {
    /// Bytes before compression.
    pub(crate) bytes: u64,
    /// The largest of its numbers, if they are list lengths.
    pub(crate) most: u64,
}

impl Widening {
    /// A widening that keeps every value; none if there is none.
    pub(crate) fn new(from: Number, to: Number) -> Option<Self> {
        use Number::{F32, F64, I64, U64};
        let is_float = |number| matches!(number, F32 | F64);
        let (narrow, wide) = (from.bytes(), to.bytes());
        let keeps = match (is_float(from), is_float(to)) {
            (true, true) => narrow < wide,
            (true, false) => false,
            // A float has 24 bits for whole numbers, a double has 53.
            (false, true) => narrow < wide && !matches!(from, I64 | U64),
            _ if to == Number::Bool => false,
            _ if from == Number::Bool => true,
            _ => narrow < wide && (from.is_unsigned() || !to.is_unsigned()),
        };
        keeps.then_some(Self { from, to, counts: false })
    }

    /// The narrowest type that keeps all values of these types; none if no number does.
    pub(crate) fn common(types: &[Number]) -> Option<Number> {
        let holds = |wide: Number, narrow: Number| wide == narrow || Self::new(narrow, wide).is_some();
        Number::ALL.into_iter().find(|&wide| types.iter().all(|&narrow| holds(wide, narrow)))
    }

    /// Bytes of the wide type per byte of the narrow one.
    pub(crate) fn ratio(self) -> usize {
        self.to.bytes() / self.from.bytes()
    }

    /// Widens the payload of a basket, and updates its header in `head`, which holds the key and the basket header.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for baskets that do not hold whole numbers, or whose offsets are
    /// outside of their entries; [`Limit`](crate::ErrorKind::Limit) for results of more than `limit` bytes.
    pub(crate) fn widen(
        self,
        basket: &Basket,
        payload: &[u8],
        limit: u64,
        head: &mut [u8],
    ) -> Result<(Vec<u8>, Grown)> {
        let ratio = self.ratio();
        let (data, rest) = payload.split_at_checked(basket.data_bytes()).unwrap_or((payload, &[]));
        let bytes = data.len().saturating_mul(ratio).saturating_add(rest.len());
        let keylen = usize::from(basket.key.keylen);
        let most = limit.min(i32::MAX as u64 - keylen as u64);
        if bytes as u64 > most {
            return Err(Error::limit("a basket is too large with wider numbers", most, bytes as u64));
        }
        let of_entries = basket.entry_bytes as usize * basket.entries as usize;
        let is_even = basket.has_offsets() || basket.offsets_left_out || of_entries == data.len();
        if !data.len().is_multiple_of(self.from.bytes()) || !is_even {
            let error = Error::malformed("a basket's entries are not as long as its numbers");
            return Err(error.wanted(of_entries as u64, data.len() as u64));
        }
        let mut wide = Vec::with_capacity(bytes);
        let mut largest = 0;
        for value in data.chunks_exact(self.from.bytes()) {
            largest = largest.max(self.one(value, &mut wide));
        }
        self.offsets(basket, rest, &mut wide)?;
        let entry_bytes = match basket.has_offsets() || basket.offsets_left_out {
            true => basket.entry_bytes as usize,
            false => (basket.entry_bytes as usize).saturating_mul(ratio),
        };
        let word = |number: usize| {
            i32::try_from(number).map_err(|_| Error::malformed("a basket's header contradicts its record"))
        };
        let (buffer_bytes, entry_bytes) = (word(keylen + wide.len())?, word(entry_bytes)?);
        let last = word(keylen + data.len() * ratio)?;
        BasketHeader::update(head, |header| {
            *header = BasketHeader { buffer_bytes, entry_bytes, last, ..*header };
        })?;
        let most = if self.counts { largest.max(0) as u64 } else { 0 };
        Ok((wide, Grown { bytes: bytes.saturating_sub(payload.len()) as u64, most }))
    }

    /// One big-endian value. Gives it, where it is a whole number.
    fn one(self, value: &[u8], wide: &mut Vec<u8>) -> i64 {
        let is_negative =
            !self.from.is_unsigned() && self.from != Number::Bool && value.first().is_some_and(|byte| byte >> 7 == 1);
        let mut whole = [if is_negative { 0xff } else { 0 }; 8];
        let start = whole.len().saturating_sub(value.len());
        whole[start..].copy_from_slice(value);
        let whole = i64::from_be_bytes(whole);
        match self.to {
            Number::F64 if self.from == Number::F32 => {
                wide.extend_from_slice(&f64::from(f32::from_bits(whole as u32)).to_be_bytes());
            }
            Number::F64 => wide.extend_from_slice(&(whole as f64).to_be_bytes()),
            Number::F32 => wide.extend_from_slice(&(whole as f32).to_be_bytes()),
            to => wide.extend_from_slice(&whole.to_be_bytes()[8 - to.bytes()..]),
        }
        whole
    }

    /// What follows the entries: nothing, or a count and the start of each. Positions count from the key's first byte,
    /// or are differences.
    fn offsets(self, basket: &Basket, rest: &[u8], wide: &mut Vec<u8>) -> Result<()> {
        let wrong = || Error::malformed("offsets of a basket lie outside of its entries");
        let Some((count, mut rest)) = rest.split_first_chunk::<4>() else { return Ok(()) };
        wide.extend_from_slice(count);
        let keylen = if basket.io_bits == 0 { u32::from(basket.key.keylen) } else { 0 };
        for _ in 0..u32::from_be_bytes(*count) {
            let (offset, behind) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
            let offset = u32::from_be_bytes(*offset);
            // The one after the last may be 0.
            let moved = match offset.checked_sub(keylen) {
                Some(place) if place as usize <= basket.data_bytes() => place
                    .checked_mul(self.ratio() as u32)
                    .and_then(|place| place.checked_add(keylen))
                    .ok_or_else(wrong)?,
                None if offset == 0 => 0,
                _ => return Err(wrong()),
            };
            wide.extend_from_slice(&moved.to_be_bytes());
            rest = behind;
        }
        match rest {
            [] | [0, 0, 0, 0] => {
                wide.extend_from_slice(rest);
                Ok(())
            }
            _ => Err(Error::unsupported("entries of a basket that were moved cannot be widened")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widened(from: Number, to: Number, value: &[u8]) -> Option<Vec<u8>> {
        let mut wide = Vec::new();
        Widening::new(from, to)?.one(value, &mut wide);
        Some(wide)
    }

    #[test]
    fn types_have_a_narrowest_one_in_common() {
        use Number::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let common = [
            ((I32, I64), Some(I64)),
            ((I64, I32), Some(I64)),
            ((I8, U8), Some(I16)),
            ((U16, I16), Some(I32)),
            ((U32, I32), Some(I64)),
            ((U8, U16), Some(U16)),
            ((Bool, I8), Some(I8)),
            ((I16, F32), Some(F32)),
            ((I32, F32), Some(F64)),
            ((I64, F64), None),
            ((U64, I8), None),
        ];
        for ((one, other), wide) in common {
            assert_eq!(
                (Widening::common(&[one, other]), Widening::common(&[other, one])),
                (wide, wide),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn every_value_is_kept() {
        use Number::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        for value in i8::MIN..=i8::MAX {
            let from = value.to_be_bytes();
            assert_eq!(widened(I8, I16, &from), Some(i16::from(value).to_be_bytes().to_vec()));
            assert_eq!(widened(I8, F32, &from), Some(f32::from(value).to_be_bytes().to_vec()));
            assert_eq!(widened(I8, I64, &from), Some(i64::from(value).to_be_bytes().to_vec()));
            let from = value.cast_unsigned().to_be_bytes();
            assert_eq!(widened(U8, I16, &from), Some(i16::from(value.cast_unsigned()).to_be_bytes().to_vec()));
            assert_eq!(widened(U8, U64, &from), Some(u64::from(value.cast_unsigned()).to_be_bytes().to_vec()));
        }
        for value in [u32::MAX, 0, 1 << 31] {
            assert_eq!(widened(U32, F64, &value.to_be_bytes()), Some(f64::from(value).to_be_bytes().to_vec()));
            assert_eq!(widened(U32, I64, &value.to_be_bytes()), Some(i64::from(value).to_be_bytes().to_vec()));
        }
        for value in [f32::MIN_POSITIVE, -0.0, f32::INFINITY, 1.1] {
            assert_eq!(widened(F32, F64, &value.to_be_bytes()), Some(f64::from(value).to_be_bytes().to_vec()));
        }
        assert_eq!(widened(Bool, I32, &[1]), Some(vec![0, 0, 0, 1]));
        let lossy = [(I64, F64), (U64, I64), (I32, F32), (I16, U32), (F64, F32), (F32, I64), (I8, Bool), (U64, F64)];
        assert!(lossy.iter().all(|&(from, to)| Widening::new(from, to).is_none()));
        assert!(Widening::new(U16, F32).is_some() && Widening::new(I32, I32).is_none());
    }
}
