//! From the bytes of a page to numbers in memory, and back.
//!
//! Source: `RColumnElement.hxx`. Every page is encoded by itself.

use std::ops::Range;

use super::column_type::{Arrangement, ColumnType};
use super::descriptor::ColumnDescriptor;
use crate::column::Number;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of `elements` elements before compression.
pub(crate) fn page_bytes(bits: u16, elements: u64) -> u64 {
    elements.saturating_mul(u64::from(bits)).div_ceil(8)
}

/// Decodes elements `want` of a page that holds `elements` of them to native-endian numbers of type `to`.
///
/// # Errors
///
/// [`Mismatch`](ErrorKind::Mismatch) where a number is beyond the range of its field's type,
/// [`Internal`](ErrorKind::Internal) where `page` or `out` have another size.
pub(crate) fn decode(
    column: &ColumnDescriptor,
    page: &[u8],
    elements: usize,
    want: Range<usize>,
    to: Number,
    out: &mut [u8],
) -> Result<()> {
    let Some(kind) = column.kind else { return Err(Error::internal("a column of unknown type is decoded")) };
    let Some(number) = kind.number() else { return Err(Error::internal("a switch is decoded as numbers")) };
    if page.len() as u64 != page_bytes(column.bits, elements as u64)
        || want.end > elements
        || out.len() != want.len() * to.bytes()
    {
        return Err(Error::internal("a page, its elements and their destination do not agree"));
    }
    if kind == ColumnType::Real32Quant {
        return unquantise(column, page, want, to, out);
    }
    if number == to {
        return decode_native(kind, column.bits, page, elements, want, out);
    }
    let mut native = vec![0; want.len() * number.bytes()];
    decode_native(kind, column.bits, page, elements, want, &mut native)?;
    convert(number, &native, to, out)
}

/// Whether the bytes of a page are the numbers themselves.
pub(crate) fn is_verbatim(kind: ColumnType, to: Number) -> bool {
    cfg!(target_endian = "little")
        && kind.arrangement() == Arrangement::Plain
        && kind != ColumnType::Real16
        && kind.number() == Some(to)
}

fn decode_native(
    kind: ColumnType,
    bits: u16,
    page: &[u8],
    elements: usize,
    want: Range<usize>,
    out: &mut [u8],
) -> Result<()> {
    let wide = usize::from(bits / 8);
    match (kind, kind.arrangement()) {
        (ColumnType::Bit, _) => {
            for (out, at) in out.iter_mut().zip(want) {
                *out = page[at / 8] >> (at % 8) & 1;
            }
        }
        (ColumnType::Real32Trunc, _) => {
            let mut reader = BitReader::new(page, want.start, u32::from(bits));
            for out in out.as_chunks_mut::<4>().0 {
                *out = (reader.next() << (32 - u32::from(bits))).to_ne_bytes();
            }
        }
        (ColumnType::Real16, _) => {
            let halves = page[2 * want.start..2 * want.end].as_chunks::<2>().0;
            for (out, half) in out.as_chunks_mut::<4>().0.iter_mut().zip(halves) {
                *out = widen_half(u16::from_le_bytes(*half)).to_ne_bytes();
            }
        }
        (ColumnType::SplitReal16, _) => {
            let (low, high) = (&page[want.clone()], &page[elements + want.start..elements + want.end]);
            for ((out, low), high) in out.as_chunks_mut::<4>().0.iter_mut().zip(low).zip(high) {
                *out = widen_half(u16::from_le_bytes([*low, *high])).to_ne_bytes();
            }
        }
        (_, Arrangement::Plain) => {
            out.copy_from_slice(&page[want.start * wide..want.end * wide]);
            if cfg!(target_endian = "big") {
                out.chunks_exact_mut(wide).for_each(<[u8]>::reverse);
            }
        }
        (_, Arrangement::Split) => match wide {
            2 => unsplit16(page, elements, want, out, |value| value),
            4 => unsplit32(page, elements, want, out, |value| value),
            _ => unsplit64(page, elements, want, out, |value| value),
        },
        (_, Arrangement::ZigzagSplit) => match wide {
            2 => unsplit16(page, elements, want, out, |value| value >> 1 ^ 0_u16.wrapping_sub(value & 1)),
            4 => unsplit32(page, elements, want, out, |value| value >> 1 ^ 0_u32.wrapping_sub(value & 1)),
            _ => unsplit64(page, elements, want, out, |value| value >> 1 ^ 0_u64.wrapping_sub(value & 1)),
        },
        (_, Arrangement::DeltaSplit) => match wide {
            4 => {
                let mut sum = (0..want.start).fold(0_u32, |sum, at| {
                    sum.wrapping_add(u32::from_le_bytes(std::array::from_fn(|plane| page[plane * elements + at])))
                });
                unsplit32(page, elements, want, out, |value| {
                    sum = sum.wrapping_add(value);
                    sum
                });
            }
            _ => {
                let mut sum = (0..want.start).fold(0_u64, |sum, at| {
                    sum.wrapping_add(u64::from_le_bytes(std::array::from_fn(|plane| page[plane * elements + at])))
                });
                unsplit64(page, elements, want, out, |value| {
                    sum = sum.wrapping_add(value);
                    sum
                });
            }
        },
        (_, Arrangement::Bits) => return Err(Error::internal("a bit stream of another type is decoded")),
    }
    Ok(())
}

/// A plane of wanted elements.
fn plane<'p>(page: &'p [u8], elements: usize, want: &Range<usize>, plane: usize) -> &'p [u8] {
    &page[plane * elements + want.start..plane * elements + want.end]
}

fn unsplit16(page: &[u8], elements: usize, want: Range<usize>, out: &mut [u8], mut then: impl FnMut(u16) -> u16) {
    let (low, high) = (plane(page, elements, &want, 0), plane(page, elements, &want, 1));
    for ((out, low), high) in out.as_chunks_mut::<2>().0.iter_mut().zip(low).zip(high) {
        *out = then(u16::from_le_bytes([*low, *high])).to_ne_bytes();
    }
}

fn unsplit32(page: &[u8], elements: usize, want: Range<usize>, out: &mut [u8], mut then: impl FnMut(u32) -> u32) {
    let count = want.len();
    let planes: [&[u8]; 4] = std::array::from_fn(|at| plane(page, elements, &want, at));
    let [a, b, c, d] = planes.map(|plane| &plane[..count]);
    for (at, out) in out.as_chunks_mut::<4>().0[..count].iter_mut().enumerate() {
        let value = u32::from(a[at]) | u32::from(b[at]) << 8 | u32::from(c[at]) << 16 | u32::from(d[at]) << 24;
        *out = then(value).to_ne_bytes();
    }
}

fn unsplit64(page: &[u8], elements: usize, want: Range<usize>, out: &mut [u8], mut then: impl FnMut(u64) -> u64) {
    /// Elements that are joined half by half: the compiler makes vector instructions of each step.
    const BLOCK: usize = 64;
    let planes: [&[u8]; 8] = std::array::from_fn(|at| plane(page, elements, &want, at));
    let (mut low, mut high) = ([0_u32; BLOCK], [0_u32; BLOCK]);
    for (number, out) in out.as_chunks_mut::<8>().0.chunks_mut(BLOCK).enumerate() {
        let (start, count) = (number * BLOCK, out.len());
        let of = |at: usize| &planes[at][start..start + count];
        join32([of(0), of(1), of(2), of(3)], &mut low[..count]);
        join32([of(4), of(5), of(6), of(7)], &mut high[..count]);
        for ((out, low), high) in out.iter_mut().zip(&low).zip(&high) {
            *out = then(u64::from(*low) | u64::from(*high) << 32).to_ne_bytes();
        }
    }
}

/// Joins four planes to numbers.
fn join32([a, b, c, d]: [&[u8]; 4], out: &mut [u32]) {
    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *out = u32::from(*a) | u32::from(*b) << 8 | u32::from(*c) << 16 | u32::from(*d) << 24;
    }
}

/// Reads elements of a few bits each, lowest bits first.
struct BitReader<'p> {
    page: &'p [u8],
    bit: usize,
    bits: u32,
}

impl<'p> BitReader<'p> {
    fn new(page: &'p [u8], element: usize, bits: u32) -> Self {
        Self { page, bit: element * bits as usize, bits }
    }

    fn next(&mut self) -> u32 {
        // At most 32 bits that begin anywhere in a byte are in five bytes.
        let first = self.bit / 8;
        let mut word = [0; 8];
        let last = (first + 5).min(self.page.len());
        word[..last - first].copy_from_slice(&self.page[first..last]);
        let value = u64::from_le_bytes(word) >> (self.bit % 8) & ((1 << self.bits) - 1);
        self.bit += self.bits as usize;
        value as u32
    }
}

fn unquantise(column: &ColumnDescriptor, page: &[u8], want: Range<usize>, to: Number, out: &mut [u8]) -> Result<()> {
    let Some((min, max)) = column.range else { return Err(Error::internal("quantised numbers have no range")) };
    let bits = u32::from(column.bits);
    let step = (max - min) / ((1_u64 << bits) - 1) as f64;
    let mut reader = BitReader::new(page, want.start, bits);
    // In double precision, as ROOT does, and only then to the field's type.
    let mut next = || (min + f64::from(reader.next()) * step).min(max);
    match to {
        Number::F32 => out.as_chunks_mut::<4>().0.iter_mut().for_each(|out| *out = (next() as f32).to_ne_bytes()),
        Number::F64 => out.as_chunks_mut::<8>().0.iter_mut().for_each(|out| *out = next().to_ne_bytes()),
        other => return Err(Error::malformed(format!("quantised numbers belong to a field of type {other}"))),
    }
    Ok(())
}

/// An IEEE half as a float: exact.
fn widen_half(half: u16) -> f32 {
    let (sign, exponent, mantissa) = (u32::from(half >> 15) << 31, half >> 10 & 0x1f, u32::from(half & 0x3ff));
    match exponent {
        0 => {
            // Zero and subnormal numbers: multiples of 2^-24.
            let value = mantissa as f32 * (1.0 / 16_777_216.0);
            f32::from_bits(value.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | mantissa << 13),
        exponent => f32::from_bits(sign | (u32::from(exponent) + 112) << 23 | mantissa << 13),
    }
}

/// Converts numbers of a column to the type of their field, as ROOT does: any whole number to any that holds its value,
/// bits and characters included; reals to reals.
pub(crate) fn convert(from: Number, values: &[u8], to: Number, out: &mut [u8]) -> Result<()> {
    use Number::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    macro_rules! reals {
        ($from:ty, $to:ty) => {
            for (out, value) in out.as_chunks_mut().0.iter_mut().zip(values.as_chunks().0) {
                *out = (<$from>::from_ne_bytes(*value) as $to).to_ne_bytes();
            }
        };
    }
    macro_rules! wholes {
        ($($to:ident $type:ty),*) => {
            match to {
                Bool => {
                    for (out, value) in out.iter_mut().zip(wide_wholes(from, values)) {
                        *out = u8::from(value != 0);
                    }
                }
                $($to => {
                    for (out, value) in out.as_chunks_mut().0.iter_mut().zip(wide_wholes(from, values)) {
                        *out = <$type>::try_from(value).map_err(|_| beyond(to, value))?.to_ne_bytes();
                    }
                })*
                F32 | F64 => return Err(unsuitable(from, to)),
            }
        };
    }
    match (from, to) {
        (F32, F64) => reals!(f32, f64),
        (F64, F32) => reals!(f64, f32),
        (F32 | F64, _) => return Err(unsuitable(from, to)),
        _ => wholes!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64),
    }
    Ok(())
}

fn wide_wholes(from: Number, values: &[u8]) -> impl Iterator<Item = i128> + '_ {
    values.chunks_exact(from.bytes()).map(move |value| match from {
        Number::U64 => value.first_chunk().map_or(0, |value| i128::from(u64::from_ne_bytes(*value))),
        _ => i128::from(from.whole(value)),
    })
}

#[cold]
fn beyond(to: Number, value: i128) -> Error {
    Error::new(ErrorKind::Mismatch, format!("the number {value} is beyond the range of its field's type, {to}"))
}

#[cold]
fn unsuitable(from: Number, to: Number) -> Error {
    Error::malformed(format!("a field of numbers of type {to} has a column of type {from}"))
}

/// Whether a page has the elements of such a column as they are in memory, as [`encode`] takes them.
pub(crate) fn is_plain(kind: ColumnType) -> bool {
    use ColumnType::{Char, Int8, Switch, UInt8};
    // Halves are floats in memory.
    let is_little = cfg!(target_endian = "little") && kind != ColumnType::Real16;
    kind.arrangement() == Arrangement::Plain && (is_little || matches!(kind, Char | Int8 | UInt8 | Switch))
}

/// Appends elements, native-endian as in memory, the way a page of their column has them before compression.
///
/// Ends of lists are as wide in memory as in the page, and switches as there. Halves and truncated reals are floats in
/// memory, quantised ones doubles: what [`decode`] made of such elements gives the same bits again.
pub(crate) fn encode(kind: ColumnType, bits: u16, range: Option<(f64, f64)>, elements: &[u8], page: &mut Vec<u8>) {
    use ColumnType::{
        Bit, Index32, Index64, Int16, Int32, Int64, Real16, Real32, Real32Quant, Real32Trunc, Real64, SplitIndex32,
        SplitIndex64, SplitInt16, SplitInt32, SplitInt64, SplitReal16, SplitReal32, SplitReal64, SplitUInt16,
        SplitUInt32, SplitUInt64, UInt16, UInt32, UInt64,
    };
    match kind {
        Bit => page.extend(
            elements
                .chunks(8)
                .map(|bits| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit != 0) << at)),
        ),
        SplitInt16 => split(elements, page, i16::from_ne_bytes, |value| (value << 1 ^ value >> 15).to_le_bytes()),
        SplitInt32 => split(elements, page, i32::from_ne_bytes, |value| (value << 1 ^ value >> 31).to_le_bytes()),
        SplitInt64 => split(elements, page, i64::from_ne_bytes, |value| (value << 1 ^ value >> 63).to_le_bytes()),
        SplitUInt16 => split(elements, page, u16::from_ne_bytes, u16::to_le_bytes),
        SplitUInt32 | SplitReal32 => split(elements, page, u32::from_ne_bytes, u32::to_le_bytes),
        SplitUInt64 | SplitReal64 => split(elements, page, u64::from_ne_bytes, u64::to_le_bytes),
        SplitIndex32 => {
            let mut before = 0_u32;
            split(elements, page, u32::from_ne_bytes, |value| {
                let difference = value.wrapping_sub(before);
                before = value;
                difference.to_le_bytes()
            });
        }
        SplitIndex64 => {
            let mut before = 0_u64;
            split(elements, page, u64::from_ne_bytes, |value| {
                let difference = value.wrapping_sub(before);
                before = value;
                difference.to_le_bytes()
            });
        }
        Real16 => page.extend(halves(elements).flatten()),
        SplitReal16 => {
            let halves: Vec<u8> = halves(elements).flatten().collect();
            split(&halves, page, u16::from_le_bytes, u16::to_le_bytes);
        }
        Real32Trunc => {
            let tops = elements.as_chunks().0.iter().map(|real| u32::from_ne_bytes(*real) >> (32 - u32::from(bits)));
            write_bits(tops, u32::from(bits), page);
        }
        Real32Quant => {
            let (min, max) = range.unwrap_or((0.0, 1.0));
            let most = ((1_u64 << bits) - 1) as f64;
            let of = |real: &[u8; 8]| (0.5 + (f64::from_ne_bytes(*real) - min) * most / (max - min)).clamp(0.0, most);
            write_bits(elements.as_chunks().0.iter().map(|real| of(real) as u32), u32::from(bits), page);
        }
        Int16 | UInt16 => plain(elements, page, u16::from_ne_bytes, u16::to_le_bytes),
        Int32 | UInt32 | Real32 | Index32 => plain(elements, page, u32::from_ne_bytes, u32::to_le_bytes),
        Int64 | UInt64 | Real64 | Index64 => plain(elements, page, u64::from_ne_bytes, u64::to_le_bytes),
        _ => page.extend_from_slice(elements),
    }
}

/// Floats as halves, low byte first.
fn halves(elements: &[u8]) -> impl Iterator<Item = [u8; 2]> + '_ {
    elements.as_chunks().0.iter().map(|real| narrow_to_half(f32::from_ne_bytes(*real)).to_le_bytes())
}

/// A float as an IEEE half: the nearest one, and of two the even one.
fn narrow_to_half(real: f32) -> u16 {
    let bits = real.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let (exponent, mantissa) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    if exponent == 0xff {
        let kept = (mantissa >> 13) as u16;
        // What is no number stays none.
        return sign | 0x7c00 | if mantissa != 0 && kept == 0 { 1 } else { kept };
    }
    // Numbers below 2^-14 are multiples of 2^-24; below half of that they are zero.
    let (whole, dropped) = match exponent {
        0..=101 => return sign,
        102..=112 => (0x80_0000 | mantissa, 126 - exponent),
        _ => ((exponent - 112) << 23 | mantissa, 13),
    };
    let (kept, rest, middle) = (whole >> dropped, whole & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = rest > middle || rest == middle && kept & 1 == 1;
    sign | (kept + u32::from(up)).min(0x7c00) as u16
}

/// Appends numbers of a few bits each, lowest bits first.
fn write_bits(numbers: impl Iterator<Item = u32>, bits: u32, page: &mut Vec<u8>) {
    let (mut word, mut filled) = (0_u64, 0);
    for number in numbers {
        word |= u64::from(number) << filled;
        filled += bits;
        while filled >= 8 {
            page.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        page.push(word as u8);
    }
}

fn plain<const W: usize, T>(elements: &[u8], page: &mut Vec<u8>, from: fn([u8; W]) -> T, to: fn(T) -> [u8; W]) {
    if cfg!(target_endian = "little") {
        return page.extend_from_slice(elements);
    }
    page.extend(elements.as_chunks().0.iter().flat_map(|element| to(from(*element))));
}

/// Appends all first bytes of the elements, then all second bytes, and so on.
fn split<const W: usize, T>(
    elements: &[u8],
    page: &mut Vec<u8>,
    from: fn([u8; W]) -> T,
    mut to: impl FnMut(T) -> [u8; W],
) {
    /// Elements whose bytes are put into one plane after the other: the compiler makes vector instructions of that.
    const BLOCK: usize = 256;
    let (elements, start) = (elements.as_chunks::<W>().0, page.len());
    page.resize(start + W * elements.len(), 0);
    let mut planes = page[start..].chunks_exact_mut(elements.len().max(1));
    let mut planes: [&mut [u8]; W] = std::array::from_fn(|_| planes.next().unwrap_or_default());
    let mut block = [[0; W]; BLOCK];
    for (number, given) in elements.chunks(BLOCK).enumerate() {
        let block = &mut block[..given.len()];
        for (made, element) in block.iter_mut().zip(given) {
            *made = to(from(*element));
        }
        for (at, plane) in planes.iter_mut().enumerate() {
            let plane = &mut plane[number * BLOCK..number * BLOCK + given.len()];
            for (byte, made) in plane.iter_mut().zip(&*block) {
                *byte = made[at];
            }
        }
    }
}

/// An element of a switch: which of the types, and the place among its values in the cluster.
pub(crate) fn switches(page: &[u8]) -> impl Iterator<Item = (u64, u32)> + '_ {
    page.as_chunks::<12>().0.iter().map(|element| {
        let (place, tag) = element.split_at(8);
        let place = place.first_chunk().map_or(0, |place| u64::from_le_bytes(*place));
        (place, tag.first_chunk().map_or(0, |tag| u32::from_le_bytes(*tag)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnType, bits: u16) -> ColumnDescriptor {
        ColumnDescriptor {
            kind: Some(kind),
            code: kind.code(),
            bits,
            field: 0,
            representation: 0,
            first_element: None,
            range: None,
        }
    }

    fn decoded(column: &ColumnDescriptor, page: &[u8], elements: usize, want: Range<usize>, to: Number) -> Vec<u8> {
        let mut out = vec![0; want.len() * to.bytes()];
        decode(column, page, elements, want, to, &mut out).unwrap();
        out
    }

    fn bytes<const N: usize, T>(values: &[T], to: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(to).collect()
    }

    #[test]
    fn planes_zigzag_and_deltas_are_undone() {
        // 1, -2, 3 in zigzag: 2, 3, 6.
        let page = [2, 3, 6, 0, 0, 0];
        let of = |want| decoded(&column(ColumnType::SplitInt16, 16), &page, 3, want, Number::I16);
        assert_eq!(of(0..3), bytes(&[1_i16, -2, 3], |value| value.to_ne_bytes()));
        assert_eq!(of(1..2), bytes(&[-2_i16], |value| value.to_ne_bytes()));
        let mut page = vec![0; 3 * 8];
        (page[0], page[1], page[2], page[3 + 1]) = (5, 0, 1, 1); // 5, 256, 1 as differences
        let of = |want| decoded(&column(ColumnType::SplitIndex64, 64), &page, 3, want, Number::U64);
        assert_eq!(of(0..3), bytes(&[5_u64, 261, 262], |value| value.to_ne_bytes()));
        assert_eq!(of(2..3), bytes(&[262_u64], |value| value.to_ne_bytes()));
        let values = [1.5_f64, -0.0, f64::NAN, 1e300];
        let page: Vec<u8> = (0..8).flat_map(|plane| values.map(|value| value.to_le_bytes()[plane])).collect();
        let got = decoded(&column(ColumnType::SplitReal64, 64), &page, 4, 0..4, Number::F64);
        assert_eq!(got, bytes(&values, |value| value.to_ne_bytes()));
    }

    #[test]
    fn streams_of_bits_begin_anywhere() {
        assert_eq!(
            decoded(&column(ColumnType::Bit, 1), &[0b1010_0110, 1], 9, 1..9, Number::Bool),
            [1, 1, 0, 0, 1, 0, 1, 1]
        );
        let values = [1.0_f32, -2.5, 0.1, f32::INFINITY, 3.25e-20];
        for bits in 10..=31_u16 {
            let mut page = vec![0_u8; page_bytes(bits, 5) as usize];
            for (element, value) in values.iter().enumerate() {
                let top = value.to_bits() >> (32 - bits);
                for bit in 0..usize::from(bits) {
                    let at = element * usize::from(bits) + bit;
                    page[at / 8] |= ((top >> bit & 1) as u8) << (at % 8);
                }
            }
            let got = decoded(&column(ColumnType::Real32Trunc, bits), &page, 5, 2..5, Number::F32);
            let mask = u32::MAX << (32 - bits);
            assert_eq!(got, bytes(&values[2..], |value| (value.to_bits() & mask).to_ne_bytes()), "{bits}");
        }
        let quantised = ColumnDescriptor { range: Some((-1.0, 1.0)), ..column(ColumnType::Real32Quant, 3) };
        let got = decoded(&quantised, &[0b0011_1000], 2, 0..2, Number::F64);
        assert_eq!(got, bytes(&[-1.0_f64, 1.0], |value| value.to_ne_bytes()));
    }

    #[test]
    fn halves_keep_all_their_values() {
        let of = |half: u16| decoded(&column(ColumnType::Real16, 16), &half.to_le_bytes(), 1, 0..1, Number::F32);
        let value = |half| f32::from_ne_bytes(*of(half).first_chunk().unwrap());
        assert_eq!(
            (value(0x3c00), value(0xc000), value(0x7bff), value(0x0001)),
            (1.0, -2.0, 65504.0, 2.0_f32.powi(-24))
        );
        assert_eq!((value(0x7c00), value(0xfc00)), (f32::INFINITY, f32::NEG_INFINITY));
        assert_eq!(value(0x03ff), 1023.0 * 2.0_f32.powi(-24));
        assert!(value(0x7e01).is_nan() && value(0x8000).is_sign_negative());
    }

    #[test]
    fn elements_of_few_bits_are_written_as_they_were_read() {
        let again = |column: &ColumnDescriptor, page: &[u8], elements: usize, to: Number| {
            let memory = decoded(column, page, elements, 0..elements, to);
            let mut written = Vec::new();
            encode(column.kind.unwrap(), column.bits, column.range, &memory, &mut written);
            assert_eq!(written, page, "{column:?}");
        };
        let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        again(&column(ColumnType::Real16, 16), &halves, 1 << 16, Number::F32);
        again(&column(ColumnType::SplitReal16, 16), &halves, 1 << 16, Number::F32);
        // A page of eight elements takes as many bytes as an element has bits.
        let noise: Vec<u8> = (1..=32_u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for bits in 10..=31 {
            again(&column(ColumnType::Real32Trunc, bits), &noise[..usize::from(bits)], 8, Number::F32);
        }
        for bits in 1..=32 {
            let range = Some((-3.7, 11.9));
            let quantised = ColumnDescriptor { range, ..column(ColumnType::Real32Quant, bits) };
            again(&quantised, &noise[..usize::from(bits)], 8, Number::F64);
        }
        let nearest = [(1.0, 0x3c00), (65519.0, 0x7bff), (65520.0, 0x7c00), (1.0 + 1.5 / 1024.0, 0x3c02)];
        assert!(nearest.iter().all(|&(real, half)| narrow_to_half(real) == half), "{nearest:?}");
        assert_eq!((narrow_to_half(2.0_f32.powi(-25)), narrow_to_half(3.0e-8)), (0, 1));
    }

    #[test]
    fn numbers_fit_their_field_or_are_errors() {
        let page = bytes(&[1_i64, -7, 300], |value| value.to_le_bytes());
        let of = |to: Number| {
            let mut out = vec![0; 3 * to.bytes()];
            decode(&column(ColumnType::Int64, 64), &page, 3, 0..3, to, &mut out).map(|()| out)
        };
        assert_eq!(of(Number::I16).unwrap(), bytes(&[1_i16, -7, 300], |value| value.to_ne_bytes()));
        assert_eq!(of(Number::Bool).unwrap(), [1, 1, 1]);
        assert_eq!(of(Number::I8).unwrap_err().kind(), ErrorKind::Mismatch);
        assert!(of(Number::U64).unwrap_err().to_string().contains("-7"));
        assert_eq!(of(Number::F32).unwrap_err().kind(), ErrorKind::Malformed);
        let large = u64::MAX.to_le_bytes();
        let got = decoded(&column(ColumnType::UInt64, 64), &large, 1, 0..1, Number::U64);
        assert_eq!(got, u64::MAX.to_ne_bytes());
        assert!(decode(&column(ColumnType::UInt64, 64), &large, 1, 0..1, Number::I64, &mut [0; 8]).is_err());
    }
}
