//! Numbers of a file as numbers of another type.

use crate::column::Number;
use crate::error::{Error, Result};
use crate::write::Type;

/// A number, whatever its type.
#[derive(Clone, Copy)]
enum Wide {
    Int(i128),
    Float(f64),
}

/// Appends numbers as numbers of another type.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for the first that has no value there: whole numbers out of range,
/// fractions and what is not finite where whole numbers are wanted, and finite numbers that would become infinite.
/// Rounding is no error.
pub(super) fn convert(from: Number, bytes: &[u8], to: Number, into: &mut Vec<u8>) -> Result<()> {
    if from == to {
        into.extend_from_slice(bytes);
        return Ok(());
    }
    into.reserve(bytes.len() / from.bytes() * to.bytes());
    for value in bytes.chunks_exact(from.bytes()) {
        let value = wide(from, value);
        if !push(value, to, into) {
            let value = match value {
                Wide::Int(value) => value.to_string(),
                Wide::Float(value) => value.to_string(),
            };
            let (from, to) = (Type::Number(from).name(), Type::Number(to).name());
            return Err(Error::mismatch(format!("{value}, stored as {from}, does not fit into {to}")));
        }
    }
    Ok(())
}

fn wide(number: Number, bytes: &[u8]) -> Wide {
    match number {
        Number::F32 => Wide::Float(bytes.first_chunk().map_or(0.0, |bytes| f32::from_ne_bytes(*bytes).into())),
        Number::F64 => Wide::Float(bytes.first_chunk().map_or(0.0, |bytes| f64::from_ne_bytes(*bytes))),
        Number::U64 => Wide::Int(bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes).into())),
        number => Wide::Int(number.whole(bytes).into()),
    }
}

/// Appends a number, where it fits.
fn push(value: Wide, to: Number, into: &mut Vec<u8>) -> bool {
    let whole = match value {
        Wide::Int(value) => Some(value),
        // What is too large becomes the largest of 128 bits, which fits nowhere.
        Wide::Float(value) if value.fract() == 0.0 => Some(value as i128),
        Wide::Float(_) => None,
    };
    macro_rules! whole {
        ($type:ty) => {
            whole
                .and_then(|value| <$type>::try_from(value).ok())
                .map(|value| into.extend_from_slice(&value.to_ne_bytes()))
        };
    }
    let pushed = match to {
        Number::Bool => whole.filter(|value| (0..2).contains(value)).map(|value| into.push(value as u8)),
        Number::I8 => whole!(i8),
        Number::U8 => whole!(u8),
        Number::I16 => whole!(i16),
        Number::U16 => whole!(u16),
        Number::I32 => whole!(i32),
        Number::U32 => whole!(u32),
        Number::I64 => whole!(i64),
        Number::U64 => whole!(u64),
        Number::F32 => {
            let (narrow, is_finite) = match value {
                Wide::Int(value) => (value as f32, true),
                Wide::Float(value) => (value as f32, value.is_finite()),
            };
            (narrow.is_finite() || !is_finite).then(|| into.extend_from_slice(&narrow.to_ne_bytes()))
        }
        Number::F64 => {
            let value = match value {
                Wide::Int(value) => value as f64,
                Wide::Float(value) => value,
            };
            into.extend_from_slice(&value.to_ne_bytes());
            Some(())
        }
    };
    pushed.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(from: Number, bytes: &[u8], to: Number) -> Result<Vec<u8>> {
        let mut into = Vec::new();
        convert(from, bytes, to, &mut into).map(|()| into)
    }

    #[test]
    fn wider_types_take_all() {
        assert_eq!(converted(Number::I16, &(-3_i16).to_ne_bytes(), Number::I64).unwrap(), (-3_i64).to_ne_bytes());
        assert_eq!(
            converted(Number::U64, &u64::MAX.to_ne_bytes(), Number::F64).unwrap(),
            (u64::MAX as f64).to_ne_bytes()
        );
        assert_eq!(
            converted(Number::F32, &0.1_f32.to_ne_bytes(), Number::F64).unwrap(),
            f64::from(0.1_f32).to_ne_bytes()
        );
        assert_eq!(converted(Number::Bool, &[1], Number::I32).unwrap(), 1_i32.to_ne_bytes());
    }

    #[test]
    fn narrower_types_take_what_fits() {
        assert_eq!(converted(Number::I64, &300_i64.to_ne_bytes(), Number::I16).unwrap(), 300_i16.to_ne_bytes());
        let error = converted(Number::I32, &70_000_i32.to_ne_bytes(), Number::I16).unwrap_err();
        assert_eq!(error.message(), "70000, stored as int, does not fit into short");
        for (value, to) in
            [(0.5, Number::I32), (1e30, Number::I64), (f64::NAN, Number::I8), (-1.0, Number::U64), (1e300, Number::F32)]
        {
            assert!(converted(Number::F64, &value.to_ne_bytes(), to).is_err(), "{value}");
        }
        assert!(converted(Number::F64, &1e40_f64.to_ne_bytes(), Number::I64).is_err());
        assert_eq!(
            converted(Number::F64, &f64::INFINITY.to_ne_bytes(), Number::F32).unwrap(),
            f32::INFINITY.to_ne_bytes()
        );
        assert!(converted(Number::U8, &[2], Number::Bool).is_err());
    }
}
