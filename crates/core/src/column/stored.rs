//! Numbers between a file and memory.
//!
//! Source: `TBufferFile::ReadFastArray`, `ReadWithFactor`, `ReadWithNbits` and their counterparts.

use super::{Number, Packing, Prim};

/// Decodes consecutive numbers of a file into native-endian memory. Both slices hold the same number of items; what one
/// has more is left alone.
pub(crate) fn decode_numbers(prim: Prim, from: &[u8], into: &mut [u8]) {
    match prim {
        Prim::Plain(number) => match number.bytes() {
            1 if number == Number::Bool => each(from, into, |[byte]| [u8::from(byte != 0)]),
            1 => into.copy_from_slice(from),
            2 => swap::<2>(from, into),
            4 => swap::<4>(from, into),
            _ => swap::<8>(from, into),
        },
        Prim::Double32(packing) => match packing {
            Packing::Float => each(from, into, |stored| f64::from(f32::from_be_bytes(stored)).to_ne_bytes()),
            Packing::Range { min, factor, .. } => {
                each(from, into, |stored| unpack_range(stored, min, factor).to_ne_bytes())
            }
            Packing::Mantissa { bits } => {
                each(from, into, |stored| f64::from(unpack_mantissa(stored, bits)).to_ne_bytes())
            }
        },
        Prim::Float16(packing) => match packing {
            Packing::Float => swap::<4>(from, into),
            Packing::Range { min, factor, .. } => {
                each(from, into, |stored| (unpack_range(stored, min, factor) as f32).to_ne_bytes());
            }
            Packing::Mantissa { bits } => each(from, into, |stored| unpack_mantissa(stored, bits).to_ne_bytes()),
        },
    }
}

#[inline]
fn each<const FROM: usize, const INTO: usize>(from: &[u8], into: &mut [u8], with: impl Fn([u8; FROM]) -> [u8; INTO]) {
    let (from, _) = from.as_chunks::<FROM>();
    let (into, _) = into.as_chunks_mut::<INTO>();
    for (out, stored) in into.iter_mut().zip(from) {
        *out = with(*stored);
    }
}

/// Big-endian to native, `W` bytes a value.
#[inline]
pub(crate) fn swap<const W: usize>(from: &[u8], into: &mut [u8]) {
    each::<W, W>(from, into, |mut value| {
        if cfg!(target_endian = "little") {
            value.reverse();
        }
        value
    });
}

/// Encodes native-endian numbers in file format. Both slices hold the same number of items.
pub(crate) fn encode_numbers(prim: Prim, from: &[u8], into: &mut [u8]) {
    // A value in memory is a double or a float, and of the bytes that it has in a file each packing knows how many.
    match (prim, prim.number()) {
        (Prim::Plain(number), _) => match number.bytes() {
            1 if number == Number::Bool => each(from, into, |[byte]| [u8::from(byte != 0)]),
            1 => into.copy_from_slice(from),
            2 => swap::<2>(from, into),
            4 => swap::<4>(from, into),
            _ => swap::<8>(from, into),
        },
        (Prim::Double32(packing) | Prim::Float16(packing), Number::F64) => {
            pack(packing, from, into, f64::from_ne_bytes)
        }
        (Prim::Double32(packing) | Prim::Float16(packing), _) => {
            pack(packing, from, into, |value| f64::from(f32::from_ne_bytes(value)));
        }
    }
}

fn pack<const W: usize>(packing: Packing, from: &[u8], into: &mut [u8], float: impl Fn([u8; W]) -> f64) {
    match packing {
        Packing::Float => each(from, into, |value| (float(value) as f32).to_be_bytes()),
        Packing::Range { min, max, factor } => {
            // As ROOT: what is above the range is its end, and what is no number its begin.
            let within = |value: f64| if value > max { max } else { value };
            each(from, into, |value| pack_range(within(float(value)), min, factor));
        }
        Packing::Mantissa { bits } => each(from, into, |value| pack_mantissa(float(value) as f32, bits)),
    }
}

/// One packed value.
#[inline]
pub(crate) fn unpack_range(stored: [u8; 4], min: f64, factor: f64) -> f64 {
    f64::from(u32::from_be_bytes(stored)) / factor + min
}

/// One value of exponent byte and mantissa word.
#[inline]
pub(crate) fn unpack_mantissa(stored: [u8; 3], bits: u32) -> f32 {
    let mantissa = u32::from(u16::from_be_bytes([stored[1], stored[2]]));
    let word = u32::from(stored[0]) << 23 | (mantissa & ((1 << (bits + 1)) - 1)) << (23 - bits);
    let value = f32::from_bits(word);
    if mantissa & 1 << (bits + 1) != 0 { -value } else { value }
}

/// The counterpart of [`unpack_range`], of a value that is not above the largest one.
#[inline]
pub(crate) fn pack_range(value: f64, min: f64, factor: f64) -> [u8; 4] {
    // Too small values saturate.
    (((value - min) * factor + 0.5) as u32).to_be_bytes()
}

/// The counterpart of [`unpack_mantissa`]: rounded to the nearest, and down where that would reach the next exponent.
#[inline]
pub(crate) fn pack_mantissa(value: f32, bits: u32) -> [u8; 3] {
    let word = value.to_bits();
    let kept = (word & 0x007f_ffff) >> (22 - bits);
    let rounded = ((kept + 1) >> 1).min((1 << bits) - 1);
    let sign = if value < 0.0 { 1 << (bits + 1) } else { 0 };
    let [high, low] = ((rounded | sign) as u16).to_be_bytes();
    [(word >> 23) as u8, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_unpacked_packs_into_the_same_bytes() {
        for prim in [Prim::double32("[-2,3,9]"), Prim::double32("[0,0,7]"), Prim::float16(""), Prim::float16("[0,1]")] {
            for value in [0.0_f64, 0.125, 0.7, -1.5, 2.9, 1e-3] {
                let native = |value: f64| match prim.number() {
                    Number::F64 => value.to_ne_bytes().to_vec(),
                    _ => (value as f32).to_ne_bytes().to_vec(),
                };
                let mut first = vec![0; prim.bytes()];
                encode_numbers(prim, &native(value), &mut first);
                let mut back = vec![0; prim.number().bytes()];
                decode_numbers(prim, &first, &mut back);
                let mut again = vec![0; prim.bytes()];
                encode_numbers(prim, &back, &mut again);
                assert_eq!(first, again, "{prim:?} {value}");
            }
        }
    }

    #[test]
    fn mantissas_unpack() {
        // 1.5 has exponent 127 and mantissa 0b100…: with 12 bits that is 1 << 11 in front of the hidden exponent bit.
        let word = 1.5_f32.to_bits();
        let exponent = (word >> 23) as u8;
        let mantissa = ((word >> 11) & 0xfff) as u16;
        let [high, low] = mantissa.to_be_bytes();
        assert_eq!(unpack_mantissa([exponent, high, low], 12), 1.5);
        let [high, low] = (mantissa | 1 << 13).to_be_bytes();
        assert_eq!(unpack_mantissa([exponent, high, low], 12), -1.5);
    }
}
