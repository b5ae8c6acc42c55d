//! Numbers as expressions compute with them.

use std::borrow::Cow;

use bytes::Bytes;

use super::fault::outside;
use crate::column::{Native, Number};
use crate::error::{Error, Result};

/// The four types that values are computed in. Columns of other numbers become these where something is computed of
/// them: whole numbers keep all their bits, and everything else is a double, as in ROOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    Bool,
    I64,
    U64,
    F64,
}

impl Wide {
    pub(super) fn of(number: Number) -> Self {
        match number {
            Number::Bool => Self::Bool,
            Number::U64 => Self::U64,
            Number::F32 | Number::F64 => Self::F64,
            _ => Self::I64,
        }
    }

    pub(super) fn is_whole(self) -> bool {
        self != Self::F64
    }
}

/// A type that a value can be turned into: `(int)x`, `float(x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cast(pub(super) Number);

impl Cast {
    /// The type of a name of C or ROOT.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(Self(match name {
            "bool" | "Bool_t" => Number::Bool,
            "char" | "signed char" | "Char_t" | "int8_t" => Number::I8,
            "unsigned char" | "UChar_t" | "uint8_t" => Number::U8,
            "short" | "Short_t" | "int16_t" => Number::I16,
            "unsigned short" | "UShort_t" | "uint16_t" => Number::U16,
            "int" | "Int_t" | "int32_t" => Number::I32,
            "unsigned" | "unsigned int" | "UInt_t" | "uint32_t" => Number::U32,
            "long" | "long long" | "Long_t" | "Long64_t" | "int64_t" => Number::I64,
            "unsigned long" | "unsigned long long" | "ULong_t" | "ULong64_t" | "uint64_t" | "size_t" => Number::U64,
            "float" | "Float_t" => Number::F32,
            "double" | "Double_t" => Number::F64,
            _ => return None,
        }))
    }
}

/// Numbers of one type that lie in memory. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) number: Number,
    bytes: Bytes,
}

/// One side of an operation: a number each, or one for all.
pub(super) enum Side<'n, T: Clone> {
    Each(Cow<'n, [T]>),
    One(T),
}

/// Runs a piece of code with `$T` as the type of a number.
macro_rules! with_native {
    ($number:expr, $T:ident => $code:expr) => {
        match $number {
            Number::Bool => {
                type $T = bool;
                $code
            }
            Number::I8 => {
                type $T = i8;
                $code
            }
            Number::U8 => {
                type $T = u8;
                $code
            }
            Number::I16 => {
                type $T = i16;
                $code
            }
            Number::U16 => {
                type $T = u16;
                $code
            }
            Number::I32 => {
                type $T = i32;
                $code
            }
            Number::U32 => {
                type $T = u32;
                $code
            }
            Number::I64 => {
                type $T = i64;
                $code
            }
            Number::U64 => {
                type $T = u64;
                $code
            }
            Number::F32 => {
                type $T = f32;
                $code
            }
            Number::F64 => {
                type $T = f64;
                $code
            }
        }
    };
}

/// Numbers in the types that values are computed in.
trait Widen: Copy {
    fn double(self) -> f64;
    fn whole(self) -> i64;
}

macro_rules! widen {
    ($($type:ty),*) => {$(
        impl Widen for $type {
            fn double(self) -> f64 {
                self as f64
            }

            fn whole(self) -> i64 {
                self as i64
            }
        }
    )*};
}

widen!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl Widen for bool {
    fn double(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn whole(self) -> i64 {
        i64::from(self)
    }
}

/// Memory of numbers as bytes.
struct Owned<T>(Vec<T>);

impl<T: Native> AsRef<[u8]> for Owned<T> {
    fn as_ref(&self) -> &[u8] {
        T::memory(&self.0)
    }
}

impl Numbers {
    /// Numbers that were computed, without a copy.
    pub(super) fn of<T: Native + Send + Sync>(values: Vec<T>) -> Self {
        Self { number: T::NUMBER, bytes: Bytes::from_owner(Owned(values)) }
    }

    /// So many zeros of a type.
    pub(super) fn zeros(number: Number, len: usize) -> Self {
        with_native!(number, T => Self::of(vec![T::default(); len]))
    }

    /// Numbers in the memory of a column, which is aligned.
    pub(super) fn borrowed(number: Number, bytes: Bytes) -> Self {
        Self { number, bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.number.bytes()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The numbers of some positions, in their own type.
    pub(super) fn gathered(&self, positions: &[usize]) -> Result<Self> {
        with_native!(self.number, T => {
            let from = self.slice::<T>()?;
            if positions.iter().any(|&at| at >= from.len()) {
                return Err(outside());
            }
            Ok(Self::of(positions.iter().map(|&at| from[at]).collect::<Vec<T>>()))
        })
    }

    pub(super) fn slice<T: Native>(&self) -> Result<&[T]> {
        let misplaced = || Error::internal("numbers of an expression are of another type");
        if self.number != T::NUMBER {
            return Err(misplaced());
        }
        T::cast(&self.bytes).ok_or_else(misplaced)
    }

    /// As doubles, without a copy where they are.
    pub(super) fn as_f64(&self) -> Result<Cow<'_, [f64]>> {
        match self.number {
            Number::F64 => Ok(Cow::Borrowed(self.slice()?)),
            number => with_native!(number, T => Ok(self.slice::<T>()?.iter().map(|&value| value.double()).collect())),
        }
    }

    /// As whole numbers of 64 bits: fractions are cut off, and what is beyond 63 bits wraps.
    pub(super) fn as_i64(&self) -> Result<Cow<'_, [i64]>> {
        match self.number {
            Number::I64 => Ok(Cow::Borrowed(self.slice()?)),
            number => with_native!(number, T => Ok(self.slice::<T>()?.iter().map(|&value| value.whole()).collect())),
        }
    }

    /// As unsigned whole numbers of 64 bits.
    pub(super) fn as_u64(&self) -> Result<Cow<'_, [u64]>> {
        Ok(match self.number {
            Number::U64 => Cow::Borrowed(self.slice::<u64>()?),
            _ => self.as_i64()?.iter().map(|&value| value as u64).collect(),
        })
    }

    /// Which of them are not zero; NaN is not.
    pub(super) fn as_bool(&self) -> Result<Cow<'_, [bool]>> {
        match self.number {
            Number::Bool => Ok(Cow::Borrowed(self.slice()?)),
            number => with_native!(number, T => {
                Ok(self.slice::<T>()?.iter().map(|&value| value != T::default()).collect())
            }),
        }
    }

    /// In another type.
    pub(super) fn cast(&self, to: Number) -> Result<Self> {
        if self.number == to {
            return Ok(self.clone());
        }
        // Narrow types keep the last bits of the whole part.
        macro_rules! whole {
            ($T:ty) => {
                if Wide::of(self.number) == Wide::F64 {
                    Self::of(self.as_f64()?.iter().map(|&value| value as i128 as $T).collect::<Vec<$T>>())
                } else {
                    Self::of(self.as_i64()?.iter().map(|&value| value as $T).collect::<Vec<$T>>())
                }
            };
        }
        Ok(match to {
            Number::Bool => Self::of(self.as_bool()?.into_owned()),
            Number::F64 => Self::of(self.as_f64()?.into_owned()),
            Number::F32 => Self::of(self.as_f64()?.iter().map(|&value| value as f32).collect::<Vec<f32>>()),
            Number::I8 => whole!(i8),
            Number::U8 => whole!(u8),
            Number::I16 => whole!(i16),
            Number::U16 => whole!(u16),
            Number::I32 => whole!(i32),
            Number::U32 => whole!(u32),
            Number::I64 => whole!(i64),
            Number::U64 => whole!(u64),
        })
    }
}

impl<T: Copy> Side<'_, T> {
    /// Applies a function to each pair; `len` of them.
    pub(super) fn zip<R>(&self, other: &Side<'_, T>, len: usize, join: impl Fn(T, T) -> R) -> Vec<R> {
        match (self, other) {
            (Self::Each(a), Side::Each(b)) => a.iter().zip(b.iter()).map(|(&a, &b)| join(a, b)).collect(),
            (Self::Each(a), Side::One(b)) => a.iter().map(|&a| join(a, *b)).collect(),
            (Self::One(a), Side::Each(b)) => b.iter().map(|&b| join(*a, b)).collect(),
            (Self::One(a), Side::One(b)) => (0..len).map(|_| join(*a, *b)).collect(),
        }
    }
}
