//! Numbers as lanes of bytes: types that columns hold, and types that batches hold.

/// A number with a fixed size. It may begin at any byte of a memory.
pub(super) trait Lane: Copy + Send + Sync + 'static {
    /// Its bytes.
    type Bytes: Copy + Send + Sync;

    fn load(bytes: Self::Bytes) -> Self;

    fn store(self) -> Self::Bytes;

    /// Memory as lanes, without an incomplete last one.
    fn lanes(bytes: &[u8]) -> &[Self::Bytes];

    /// The same, to write.
    fn lanes_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
}

/// A number as bits.
pub(super) trait Bits: Lane {
    /// This one if `is_kept`, else the other: without a branch, which the processor would often guess wrong.
    fn or(self, other: Self, is_kept: bool) -> Self;
}

macro_rules! bits {
    ($($type:ty),* $(,)?) => {$(
        impl Bits for $type {
            #[inline]
            fn or(self, other: Self, is_kept: bool) -> Self {
                let mask = <$type>::from(is_kept).wrapping_neg();
                (self & mask) | (other & !mask)
            }
        }
    )*};
}

bits!(u8, u16, u32, u64);

/// A number of a column.
pub(super) trait Stored: Lane {
    /// Whether scaling keeps the precision of `f32`, as NumPy does.
    const IS_SINGLE: bool = false;
    /// Whether `f32` loses digits of it that a conversion to fewer bits has to see.
    const IS_DOUBLE: bool = false;

    fn single(self) -> f32;

    fn double(self) -> f64;
}

/// A number of a batch.
pub(super) trait Element: Lane {
    /// Rounds to the nearest, as NumPy and `ml_dtypes` do.
    fn of<S: Stored>(value: S) -> Self;
}

/// A number of two bytes with 5 bits of exponent: `float16`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct F16(u16);

/// A number of two bytes with 8 bits of exponent: `bfloat16`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bf16(u16);

macro_rules! lane {
    ($($type:ty: $bytes:literal),* $(,)?) => {$(
        impl Lane for $type {
            type Bytes = [u8; $bytes];

            #[inline]
            fn load(bytes: Self::Bytes) -> Self {
                Self::from_ne_bytes(bytes)
            }

            #[inline]
            fn store(self) -> Self::Bytes {
                self.to_ne_bytes()
            }

            fn lanes(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            fn lanes_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }
        }
    )*};
}

lane!(u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8);

macro_rules! stored {
    ($($type:ty),* $(,)?) => {$(
        impl Stored for $type {
            #[inline]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline]
            fn double(self) -> f64 {
                self as f64
            }
        }
    )*};
}

stored!(u8, i8, u16, i16, u32, i32, u64, i64);

impl Stored for f32 {
    const IS_SINGLE: bool = true;

    #[inline]
    fn single(self) -> f32 {
        self
    }

    #[inline]
    fn double(self) -> f64 {
        f64::from(self)
    }
}

impl Stored for f64 {
    const IS_DOUBLE: bool = true;

    #[inline]
    fn single(self) -> f32 {
        self as f32
    }

    #[inline]
    fn double(self) -> f64 {
        self
    }
}

impl Element for f32 {
    #[inline]
    fn of<S: Stored>(value: S) -> Self {
        value.single()
    }
}

impl Element for f64 {
    #[inline]
    fn of<S: Stored>(value: S) -> Self {
        value.double()
    }
}

macro_rules! half {
    ($type:ty) => {
        impl Lane for $type {
            type Bytes = [u8; 2];

            #[inline]
            fn load(bytes: Self::Bytes) -> Self {
                Self(u16::from_ne_bytes(bytes))
            }

            #[inline]
            fn store(self) -> Self::Bytes {
                self.0.to_ne_bytes()
            }

            fn lanes(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            fn lanes_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }
        }
    };
}

half!(F16);
half!(Bf16);

impl Element for F16 {
    #[inline]
    fn of<S: Stored>(value: S) -> Self {
        // NumPy converts whole numbers to `f32` before.
        Self(half_bits(if S::IS_DOUBLE { value.double() } else { f64::from(value.single()) }))
    }
}

impl Element for Bf16 {
    #[inline]
    fn of<S: Stored>(value: S) -> Self {
        let value = value.single();
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        if value.is_nan() {
            return Self(sign | 0x7fc0);
        }
        // Half of the last place that stays, less a little if that is even: the nearest, and the even one of two.
        Self(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
}

/// A number as `float16`, rounded once.
fn half_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let exponent = (bits >> 52) as i32 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0x7ff {
        let payload = (fraction >> 42) as u16;
        // NaN stays NaN, also if all bits of its payload are cut off.
        return sign | 0x7c00 | if fraction == 0 { 0 } else { payload.max(1) };
    }
    let exponent = exponent - 1023;
    match exponent {
        16.. => sign | 0x7c00,
        // Carries of the fraction go into the exponent, up to infinity.
        -14..16 => sign | rounded(((exponent + 15) as u64) << 52 | fraction, 42),
        // Below the normal numbers, fewer bits are left.
        -25..-14 => sign | rounded(1 << 52 | fraction, (28 - exponent) as u32),
        _ => sign,
    }
}

/// A number without its last bits, rounded to the nearest, of two to the even one.
fn rounded(bits: u64, cut: u32) -> u16 {
    let kept = bits >> cut;
    let rest = bits & ((1 << cut) - 1);
    let half = 1 << (cut - 1);
    let is_up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u64::from(is_up)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_to_the_nearest_and_to_the_even_one_of_two() {
        let cases: [(f64, u16); 16] = [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.999, 0x7bff),
            (65520.0, 0x7c00),
            (f64::INFINITY, 0x7c00),
            (f64::NEG_INFINITY, 0xfc00),
            (f64::NAN, 0x7e00),
            (2.0_f64.powi(-24), 1),
            (2.0_f64.powi(-25), 0),
            (2.0_f64.powi(-25) * 1.0001, 1),
            (2.0_f64.powi(-14), 0x0400),
            (1.0 + 2.0_f64.powi(-11), 0x3c00),
            (1.0 + 3.0 * 2.0_f64.powi(-11), 0x3c02),
        ];
        for (value, bits) in cases {
            assert_eq!(F16::of(value), F16(bits), "{value}");
        }
        assert_eq!(F16::of(2049_i64), F16(0x6800));
    }

    #[test]
    fn brain_floats_are_rounded_to_the_nearest_and_to_the_even_one_of_two() {
        let cases: [(f32, u16); 6] = [
            (1.0, 0x3f80),
            (1.0 + 1.0 / 256.0, 0x3f80),
            (1.0 + 3.0 / 256.0, 0x3f82),
            (f32::MAX, 0x7f80),
            (f32::NEG_INFINITY, 0xff80),
            (f32::NAN, 0x7fc0),
        ];
        for (value, bits) in cases {
            assert_eq!(Bf16::of(value), Bf16(bits), "{value}");
        }
    }
}
