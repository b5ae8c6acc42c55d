//! From the numbers of a column to those of batches: scaled, of another type, each row at its place.

use super::lane::{Bf16, Element, F16, Lane, Stored};
use crate::column::Number;

/// The type of the numbers in batches.
///
/// # Example
///
/// ```
/// use sapwood::batch::NumberType;
/// use sapwood::column::Number;
/// assert_eq!(NumberType::BF16.bytes(Number::F64), 2);
/// assert_eq!(NumberType::AsStored.bytes(Number::F64), 8);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberType {
    /// The type of the column.
    #[default]
    AsStored,
    /// `float16`.
    F16,
    /// `bfloat16`: a `float32` without its last two bytes.
    BF16,
    /// `float32`.
    F32,
    /// `float64`.
    F64,
}

impl NumberType {
    /// Bytes of a number that a column holds as `stored`.
    pub fn bytes(self, stored: Number) -> usize {
        match self {
            Self::AsStored => stored.bytes(),
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The change of each number of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Conversion {
    pub(super) to: NumberType,
    /// A mean that is subtracted, and a width to divide by.
    pub(super) scale: Option<(f64, f64)>,
}

impl Conversion {
    /// Whether the bytes of a column stay as they are.
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Rows of a column, and their place in rows of batches.
pub(super) struct Cells<'a> {
    /// Numbers of these rows, one after another.
    pub(super) source: &'a [u8],
    pub(super) number: Number,
    /// Numbers of a row.
    pub(super) width: usize,
    /// The first byte of these numbers in a row of the batch.
    pub(super) at: usize,
    pub(super) conversion: Conversion,
}

impl Cells<'_> {
    /// Writes the numbers to rows of `row_bytes` each.
    pub(super) fn write(&self, out: &mut [u8], row_bytes: usize) {
        match self.number {
            Number::Bool | Number::U8 => self.write_as::<u8>(out, row_bytes),
            Number::I8 => self.write_as::<i8>(out, row_bytes),
            Number::U16 => self.write_as::<u16>(out, row_bytes),
            Number::I16 => self.write_as::<i16>(out, row_bytes),
            Number::U32 => self.write_as::<u32>(out, row_bytes),
            Number::I32 => self.write_as::<i32>(out, row_bytes),
            Number::U64 => self.write_as::<u64>(out, row_bytes),
            Number::I64 => self.write_as::<i64>(out, row_bytes),
            Number::F32 => self.write_as::<f32>(out, row_bytes),
            Number::F64 => self.write_as::<f64>(out, row_bytes),
        }
    }

    fn write_as<S: Stored>(&self, out: &mut [u8], row_bytes: usize) {
        match self.conversion.to {
            NumberType::AsStored => self.put::<S, S>(out, row_bytes, |value| value),
            NumberType::F16 => self.scaled::<S, F16>(out, row_bytes),
            NumberType::BF16 => self.scaled::<S, Bf16>(out, row_bytes),
            NumberType::F32 => self.scaled::<S, f32>(out, row_bytes),
            NumberType::F64 => self.scaled::<S, f64>(out, row_bytes),
        }
    }

    fn scaled<S: Stored, D: Element>(&self, out: &mut [u8], row_bytes: usize) {
        match self.conversion.scale {
            None => self.put::<S, D>(out, row_bytes, D::of),
            // As NumPy does it: a scaled `float32` is one again before it becomes something else.
            Some((mean, width)) if S::IS_SINGLE => {
                self.put::<S, D>(out, row_bytes, |value| D::of(((value.double() - mean) / width) as f32))
            }
            Some((mean, width)) => self.put::<S, D>(out, row_bytes, |value| D::of((value.double() - mean) / width)),
        }
    }

    fn put<S: Lane, D: Lane>(&self, out: &mut [u8], row_bytes: usize, convert: impl Fn(S) -> D) {
        let source = S::lanes(self.source);
        if self.at == 0 && self.width * size_of::<D::Bytes>() == row_bytes {
            for (place, value) in D::lanes_mut(out).iter_mut().zip(source) {
                *place = convert(S::load(*value)).store();
            }
            return;
        }
        if self.width == 1
            && row_bytes.is_multiple_of(size_of::<D::Bytes>())
            && self.at.is_multiple_of(size_of::<D::Bytes>())
        {
            let step = row_bytes / size_of::<D::Bytes>();
            let at = self.at / size_of::<D::Bytes>();
            for (row, value) in D::lanes_mut(out).chunks_exact_mut(step).zip(source) {
                if let Some(place) = row.get_mut(at) {
                    *place = convert(S::load(*value)).store();
                }
            }
            return;
        }
        for (row, values) in out.chunks_exact_mut(row_bytes).zip(source.chunks_exact(self.width.max(1))) {
            let places = D::lanes_mut(row.get_mut(self.at..).unwrap_or_default());
            for (place, value) in places.iter_mut().zip(values) {
                *place = convert(S::load(*value)).store();
            }
        }
    }
}

/// Writes the numbers of several columns to the same rows. Four columns at a time if they are alike: memory arrives
/// faster if several places of it are read at once.
pub(super) fn write_all(cells: &[Cells<'_>], out: &mut [u8], row_bytes: usize) {
    let mut rest = cells;
    while let Some((first, others)) = rest.split_first() {
        if let Some((four, more)) = rest.split_first_chunk()
            && write_four(four, out, row_bytes)
        {
            rest = more;
            continue;
        }
        first.write(out, row_bytes);
        rest = others;
    }
}

/// Writes four columns of one number a row, if they are alike and of a common type.
fn write_four(cells: &[Cells<'_>; 4], out: &mut [u8], row_bytes: usize) -> bool {
    let [first, ..] = cells;
    let is_like = |one: &Cells<'_>| {
        one.width == 1
            && one.number == first.number
            && one.conversion == first.conversion
            && one.source.len() == first.source.len()
    };
    if first.conversion.scale.is_some() || !cells.iter().all(is_like) {
        return false;
    }
    match (first.conversion.to, first.number) {
        (NumberType::AsStored, Number::F32 | Number::I32 | Number::U32) => {
            put_four::<u32, u32>(cells, out, row_bytes, |value| value)
        }
        (NumberType::AsStored, Number::F64 | Number::I64 | Number::U64) => {
            put_four::<u64, u64>(cells, out, row_bytes, |value| value)
        }
        (NumberType::F32, Number::F64) => put_four::<f64, f32>(cells, out, row_bytes, f32::of),
        (NumberType::F32, Number::I32) => put_four::<i32, f32>(cells, out, row_bytes, f32::of),
        _ => false,
    }
}

fn put_four<S: Lane, D: Lane>(
    cells: &[Cells<'_>; 4],
    out: &mut [u8],
    row_bytes: usize,
    convert: impl Fn(S) -> D,
) -> bool {
    let size = size_of::<D::Bytes>();
    let [first, ..] = cells;
    let are_adjacent = (0..).zip(cells).all(|(place, one)| one.at == first.at + place * size);
    if !are_adjacent || !row_bytes.is_multiple_of(size) || !first.at.is_multiple_of(size) {
        return false;
    }
    let at = first.at / size;
    let [a, b, c, d] = cells.each_ref().map(|one| S::lanes(one.source));
    let rows = D::lanes_mut(out).chunks_exact_mut(row_bytes / size);
    for ((((row, a), b), c), d) in rows.zip(a).zip(b).zip(c).zip(d) {
        if let Some(places) = row.get_mut(at..at + 4) {
            places.copy_from_slice(&[a, b, c, d].map(|value| convert(S::load(*value)).store()));
        }
    }
    true
}

/// How many numbers are infinite or none; 0 for whole numbers.
pub(super) fn not_finite(number: Number, bytes: &[u8]) -> u64 {
    /// Numbers that are counted in 32 bits.
    const BLOCK: usize = 1 << 16;
    match number {
        Number::F32 => {
            let special = |lane: &[u8; 4]| u32::from(u32::from_ne_bytes(*lane) & 0x7f80_0000 == 0x7f80_0000);
            let blocks = f32::lanes(bytes).chunks(BLOCK);
            blocks.map(|block| u64::from(block.iter().map(special).sum::<u32>())).sum()
        }
        Number::F64 => {
            let special = |lane: &[u8; 8]| u64::from(u64::from_ne_bytes(*lane) >> 52 & 0x7ff == 0x7ff);
            f64::lanes(bytes).iter().map(special).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Native;

    #[test]
    fn numbers_are_converted_to_their_places() {
        let source = [1_i32, -2, 3, -4];
        let memory: Vec<u8> = source.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let conversion = Conversion { to: NumberType::F32, scale: Some((1.0, 2.0)) };
        // Two numbers a row, after one of four bytes.
        let cells = Cells { source: &memory, number: Number::I32, width: 2, at: 4, conversion };
        let mut out = [0; 24];
        cells.write(&mut out, 12);
        assert_eq!(f32::read(&out), [0.0, 0.0, -1.5, 0.0, 1.0, -2.5]);
        let one = Cells { width: 1, at: 2, ..cells };
        let mut out = [0; 24];
        // A place that is not a multiple of the number's bytes.
        Cells { ..one }.write(&mut out, 6);
        let found: Vec<f32> = out.chunks(6).flat_map(|row| f32::read(&row[2..])).collect();
        assert_eq!(found, [0.0, -1.5, 1.0, -2.5]);
    }

    #[test]
    fn four_columns_at_a_time_are_the_same_as_one_by_one() {
        let columns: Vec<Vec<u8>> = (0..7_u8).map(|first| (first..first + 48).collect()).collect();
        for (number, to) in [
            (Number::F32, NumberType::AsStored),
            (Number::U64, NumberType::AsStored),
            (Number::F64, NumberType::F32),
            (Number::I32, NumberType::F32),
            (Number::I16, NumberType::F64),
        ] {
            let size = to.bytes(number);
            let cell = |(place, source)| {
                let conversion = Conversion { to, scale: None };
                Cells { source, number, width: 1, at: place * size, conversion }
            };
            let cells: Vec<_> = columns.iter().map(Vec::as_slice).enumerate().map(cell).collect();
            let rows = 48 / number.bytes();
            let mut one_by_one = vec![0; rows * 7 * size];
            cells.iter().for_each(|one| one.write(&mut one_by_one, 7 * size));
            let mut together = vec![0; rows * 7 * size];
            write_all(&cells, &mut together, 7 * size);
            assert_eq!(one_by_one, together, "{number} to {to:?}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_counted() {
        let numbers = [0.0, f32::NAN, f32::INFINITY, f32::MAX, f32::NEG_INFINITY];
        let bytes: Vec<u8> = numbers.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(not_finite(Number::F32, &bytes), 3);
        let bytes: Vec<u8> = numbers.iter().flat_map(|&value| f64::from(value).to_ne_bytes()).collect();
        assert_eq!(not_finite(Number::F64, &bytes), 3);
        assert_eq!(not_finite(Number::I32, &bytes), 0);
    }
}
