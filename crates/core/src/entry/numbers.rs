//! Numbers as entries, and arrays of them.

use std::ops::Range;

use super::{Entry, no_row};
use crate::Result;
use crate::column::Number;
use crate::write::{Column, Type};

macro_rules! numbers {
    ($($type:ty: $number:ident),* $(,)?) => {$(
        impl Entry for $type {
            fn kind() -> Type {
                Type::Number(Number::$number)
            }

            #[inline]
            fn push_to(&self, column: &mut Column) {
                if let Column::Numbers(_, bytes) = column {
                    bytes.extend_from_slice(&self.to_ne_bytes());
                }
            }

            #[inline]
            fn from_row(column: &Column, row: usize) -> Result<Self> {
                let Column::Numbers(_, bytes) = column else { return Err(no_row::<Self>(column, row)) };
                let value = bytes.get(row * size_of::<Self>()..).and_then(|rest| rest.first_chunk());
                value.map(|value| Self::from_ne_bytes(*value)).ok_or_else(|| no_row::<Self>(column, row))
            }

            #[inline]
            fn absent() -> Self {
                Self::default()
            }

            #[inline]
            fn push_each<'e>(values: impl ExactSizeIterator<Item = &'e Self> + Clone, column: &mut Column) {
                if let Column::Numbers(_, bytes) = column {
                    let old = bytes.len();
                    bytes.resize(old + values.len() * size_of::<Self>(), 0);
                    let (_, new) = bytes.split_at_mut(old);
                    let (into, _) = new.as_chunks_mut();
                    into.iter_mut().zip(values).for_each(|(into, value)| *into = value.to_ne_bytes());
                }
            }

            #[inline]
            fn by_row(column: &Column) -> impl Fn(usize) -> Result<Self> {
                let values = match column {
                    Column::Numbers(_, bytes) => bytes.as_chunks().0,
                    _ => &[],
                };
                move |row| match values.get(row) {
                    Some(value) => Ok(Self::from_ne_bytes(*value)),
                    None => Err(no_row::<Self>(column, row)),
                }
            }

            #[inline]
            fn from_rows(column: &Column, rows: Range<usize>) -> Result<Vec<Self>> {
                let Column::Numbers(_, bytes) = column else { return Err(no_row::<Self>(column, rows.start)) };
                let (start, end) = (rows.start * size_of::<Self>(), rows.end * size_of::<Self>());
                let bytes = bytes.get(start..end).ok_or_else(|| no_row::<Self>(column, rows.end))?;
                let (values, _) = bytes.as_chunks();
                Ok(values.iter().map(|value| Self::from_ne_bytes(*value)).collect())
            }
        }

        impl ArrayItem for $type {}
    )*};
}

numbers!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);

impl Entry for bool {
    fn kind() -> Type {
        Type::Number(Number::Bool)
    }

    #[inline]
    fn push_to(&self, column: &mut Column) {
        u8::from(*self).push_to(column);
    }

    #[inline]
    fn from_row(column: &Column, row: usize) -> Result<Self> {
        Ok(u8::from_row(column, row)? != 0)
    }

    #[inline]
    fn by_row(column: &Column) -> impl Fn(usize) -> Result<Self> {
        let value = u8::by_row(column);
        move |row| Ok(value(row)? != 0)
    }

    fn absent() -> Self {
        false
    }
}

/// What arrays of fixed extents hold: numbers, and arrays of them down to five extents, which are as many as ROOT has.
///
/// # Example
///
/// ```
/// use sapwood::{Entry, column::Number, write::Type};
/// assert_eq!(<[[f32; 3]; 2]>::kind(), Type::Array(Number::F32, vec![2, 3]));
/// ```
pub trait ArrayItem: Entry {}

impl ArrayItem for bool {}

impl<T: ArrayItem, const N: usize> ArrayItem for [T; N] {}

impl<T: ArrayItem, const N: usize> Entry for [T; N] {
    fn kind() -> Type {
        let extent = u32::try_from(N).unwrap_or(u32::MAX);
        match T::kind() {
            Type::Array(number, inner) => Type::Array(number, [vec![extent], inner].concat()),
            Type::Number(number) => Type::Array(number, vec![extent]),
            other => other,
        }
    }

    #[inline]
    fn push_to(&self, column: &mut Column) {
        T::push_all(self, column);
    }

    #[inline]
    fn from_row(column: &Column, row: usize) -> Result<Self> {
        Self::by_row(column)(row)
    }

    #[inline]
    fn by_row(column: &Column) -> impl Fn(usize) -> Result<Self> {
        let value = T::by_row(column);
        move |row| {
            let mut items = Self::absent();
            for (index, item) in items.iter_mut().enumerate() {
                *item = value(row * N + index)?;
            }
            Ok(items)
        }
    }

    fn absent() -> Self {
        std::array::from_fn(|_| T::absent())
    }
}
