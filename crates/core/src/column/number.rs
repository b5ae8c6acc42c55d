//! Numbers: their format in memory, and their format in a file.

use std::fmt;

use arrow_schema::DataType;

/// Type of a number in memory.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// assert_eq!((Number::F32.bytes(), Number::U64.to_string()), (4, "uint64".to_owned()));
/// ```
///
/// ```
/// use sapwood::column::Number;
/// assert_eq!((Number::U16.numpy_name(), Number::U16.cpp_name()), ("uint16", "uint16_t"));
/// assert!(Number::U16.is_unsigned());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Number {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// All types: whole numbers first, the narrow ones before the wide ones.
    pub(crate) const ALL: [Self; 11] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Bytes in memory. A `Bool` takes one.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether it has no negative values.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Native-endian values as whole numbers: fractions are cut off.
    pub(crate) fn wholes(self, bytes: &[u8]) -> impl Iterator<Item = i64> + use<'_> {
        bytes.chunks_exact(self.bytes()).map(move |value| self.whole(value))
    }

    /// The first native-endian value as a whole number; 0 where the bytes are too few.
    #[inline]
    pub(crate) fn whole(self, bytes: &[u8]) -> i64 {
        macro_rules! read {
            ($type:ty) => {
                bytes.first_chunk().map_or(0, |bytes| <$type>::from_ne_bytes(*bytes) as i64)
            };
        }
        match self {
            Self::Bool | Self::U8 => read!(u8),
            Self::I8 => read!(i8),
            Self::I16 => read!(i16),
            Self::U16 => read!(u16),
            Self::I32 => read!(i32),
            Self::U32 => read!(u32),
            Self::I64 => read!(i64),
            Self::U64 => read!(u64),
            Self::F32 => read!(f32),
            Self::F64 => read!(f64),
        }
    }

    /// NumPy's name.
    pub fn numpy_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// The type that NumPy calls so.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// assert_eq!(Number::from_numpy_name("float64"), Some(Number::F64));
    /// ```
    pub fn from_numpy_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.numpy_name() == name)
    }

    /// Its type in Arrow.
    pub(crate) fn arrow_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::I8 => DataType::Int8,
            Self::U8 => DataType::UInt8,
            Self::I16 => DataType::Int16,
            Self::U16 => DataType::UInt16,
            Self::I32 => DataType::Int32,
            Self::U32 => DataType::UInt32,
            Self::I64 => DataType::Int64,
            Self::U64 => DataType::UInt64,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
        }
    }

    /// The number that a type of Arrow holds.
    pub(crate) fn from_arrow_type(kind: &DataType) -> Option<Self> {
        Self::ALL.into_iter().find(|number| number.arrow_type() == *kind)
    }

    /// Name in C++, as type names of branches spell it.
    pub fn cpp_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8_t",
            Self::U8 => "uint8_t",
            Self::I16 => "int16_t",
            Self::U16 => "uint16_t",
            Self::I32 => "int32_t",
            Self::U32 => "uint32_t",
            Self::I64 => "int64_t",
            Self::U64 => "uint64_t",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.numpy_name())
    }
}

/// How a `Double32_t` or `Float16_t` is packed. Decided by the member's title.
///
/// Source: `TBufferFile::WriteDouble32`, `TStreamerElement::GetRange`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Packing {
    /// Four bytes of `float`.
    Float,
    /// `u32 = (value - min) * factor`.
    Range {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Steps per unit.
        factor: f64,
    },
    /// One byte of exponent and two of sign and mantissa.
    Mantissa {
        /// Bits of the mantissa.
        bits: u32,
    },
}

/// Type of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prim {
    /// Big-endian, as wide as in memory.
    Plain(Number),
    /// `Double32_t`, an `F64` in memory.
    Double32(Packing),
    /// `Float16_t`, an `F32` in memory.
    Float16(Packing),
}

impl Prim {
    /// Bytes in the file.
    pub fn bytes(self) -> usize {
        match self {
            Self::Plain(number) => number.bytes(),
            Self::Double32(packing) | Self::Float16(packing) => match packing {
                Packing::Float | Packing::Range { .. } => 4,
                Packing::Mantissa { .. } => 3,
            },
        }
    }

    /// Type in memory.
    pub fn number(self) -> Number {
        match self {
            Self::Plain(number) => number,
            Self::Double32(_) => Number::F64,
            Self::Float16(_) => Number::F32,
        }
    }

    /// `Double32_t` with a member's title.
    pub(crate) fn double32(title: &str) -> Self {
        Self::Double32(match range(title) {
            Range::Scaled { min, max, factor } => Packing::Range { min, max, factor },
            Range::Bits(bits) => Packing::Mantissa { bits },
            Range::None => Packing::Float,
        })
    }

    /// `Float16_t` with a member's title.
    pub(crate) fn float16(title: &str) -> Self {
        Self::Float16(match range(title) {
            Range::Scaled { min, max, factor } => Packing::Range { min, max, factor },
            Range::Bits(bits) => Packing::Mantissa { bits },
            Range::None => Packing::Mantissa { bits: 12 },
        })
    }
}

enum Range {
    None,
    Scaled { min: f64, max: f64, factor: f64 },
    Bits(u32),
}

/// Parses `[min,max]` or `[min,max,bits]` in a title; an array's dimensions may stand before.
fn range(title: &str) -> Range {
    let mut rest = title;
    while let Some(open) = rest.find('[') {
        let Some(length) = rest[open..].find(']') else { return Range::None };
        let inside = &rest[open + 1..open + length];
        rest = &rest[open + length + 1..];
        let parts: Vec<&str> = inside.split(',').collect();
        if parts.len() < 2 {
            continue;
        }
        let (Some(min), Some(max)) = (bound(parts[0]), bound(parts[1])) else { return Range::None };
        let bits = match parts.get(2).map(|text| text.trim().parse::<u32>()) {
            Some(Ok(bits @ 2..=32)) => bits,
            _ => 32,
        };
        let steps = if bits < 32 { (1_u64 << bits) as f64 } else { f64::from(u32::MAX) };
        return if min < max {
            Range::Scaled { min, max, factor: steps / (max - min) }
        } else if bits < 15 {
            Range::Bits(bits)
        } else {
            Range::None
        };
    }
    Range::None
}

/// Whether the title of a packed number says how it is packed.
pub(crate) fn has_range(title: &str) -> bool {
    !matches!(range(title), Range::None)
}

/// Whether this is a range as titles have it, alone: `[min,max]` or `[min,max,bits]`. ROOT takes any other for none.
pub(crate) fn is_range(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let parts: Vec<&str> = inside.split(',').collect();
    let bits = parts.get(2).map_or(Ok(32), |bits| bits.trim().parse::<u32>());
    let bounds = parts.get(..2).map(|bounds| [bound(bounds[0]), bound(bounds[1])]);
    match (bounds, bits) {
        (Some([Some(min), Some(max)]), Ok(2..=32)) => parts.len() <= 3 && min.is_finite() && max.is_finite(),
        _ => false,
    }
}

fn bound(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase().replace(' ', "");
    let pi = std::f64::consts::PI;
    let named = |text: &str| match text {
        "pi" => Some(pi),
        "2pi" | "2*pi" | "twopi" => Some(2.0 * pi),
        "pi/2" => Some(pi / 2.0),
        "pi/4" => Some(pi / 4.0),
        _ => None,
    };
    match named(text.trim_start_matches('-')) {
        Some(value) if text.starts_with('-') => Some(-value),
        Some(value) => Some(value),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_decide_the_packing() {
        assert_eq!(Prim::double32(""), Prim::Double32(Packing::Float));
        assert_eq!(Prim::double32("x [0,0,15]"), Prim::Double32(Packing::Float));
        assert_eq!(Prim::double32("[0,0,14]"), Prim::Double32(Packing::Mantissa { bits: 14 }));
        assert_eq!(Prim::float16(""), Prim::Float16(Packing::Mantissa { bits: 12 }));
        assert_eq!(Prim::double32("[fN] [0,4,2]"), Prim::Double32(Packing::Range { min: 0.0, max: 4.0, factor: 1.0 }));
        let pi = std::f64::consts::PI;
        let Prim::Double32(Packing::Range { min, factor, .. }) = Prim::double32("angle [-pi, 2*pi, 16]") else {
            panic!()
        };
        assert!((min + pi).abs() < 1e-15 && (factor - 65536.0 / (3.0 * pi)).abs() < 1e-9);
    }
}
