//! Number types of Rust, and the memory of columns as slices of them.

use bytes::Bytes;
use zerocopy::{FromBytes, IntoBytes, TryFromBytes};

use super::Number;

/// Number types of Rust that columns hold: `bool`, whole numbers of 8 to 64 bits, `f32` and `f64`.
///
/// # Example
///
/// ```
/// use sapwood::column::{Native, Number};
/// fn type_of<T: Native>(_: &[T]) -> Number {
///     T::NUMBER
/// }
/// assert_eq!(type_of(&[1.5_f32]), Number::F32);
/// ```
///
/// ```
/// use sapwood::column::Native;
/// let bytes = bytes::Bytes::from_static(&[1, 0]);
/// assert_eq!(bool::read(&bytes), [true, false]);
/// ```
pub trait Native: Copy + sealed::Cast + 'static {
    /// Its type.
    const NUMBER: Number;

    /// A copy of native-endian bytes as values; bytes after the last whole value are left out.
    fn read(bytes: &[u8]) -> Vec<Self>;
}

/// What only this crate calls: the memory of values, as values and as bytes.
pub(crate) mod sealed {
    pub trait Cast: Sized {
        /// The values in aligned memory; none where it is not aligned, ends within a value, or holds something else.
        fn cast(bytes: &[u8]) -> Option<&[Self]>;

        /// The memory of values.
        fn memory(values: &[Self]) -> &[u8];
    }
}

macro_rules! native {
    ($($type:ty: $number:ident),* $(,)?) => {$(
        impl Native for $type {
            const NUMBER: Number = Number::$number;

            fn read(bytes: &[u8]) -> Vec<Self> {
                bytes.as_chunks().0.iter().map(|chunk| Self::from_ne_bytes(*chunk)).collect()
            }
        }

        impl sealed::Cast for $type {
            fn cast(bytes: &[u8]) -> Option<&[Self]> {
                <[Self]>::ref_from_bytes(bytes).ok()
            }

            fn memory(values: &[Self]) -> &[u8] {
                values.as_bytes()
            }
        }
    )*};
}

native!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);

impl Native for bool {
    const NUMBER: Number = Number::Bool;

    fn read(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

impl sealed::Cast for bool {
    fn cast(bytes: &[u8]) -> Option<&[Self]> {
        <[Self]>::try_ref_from_bytes(bytes).ok()
    }

    fn memory(values: &[Self]) -> &[u8] {
        values.as_bytes()
    }
}

/// The same bytes where any number may begin: allocators align nearly all memory so, and the rest is copied.
pub(crate) fn aligned(bytes: Bytes) -> Bytes {
    /// Memory of numbers as bytes.
    struct Words(Vec<u64>, usize);
    impl AsRef<[u8]> for Words {
        fn as_ref(&self) -> &[u8] {
            &self.0.as_bytes()[..self.1]
        }
    }
    if bytes.as_ptr().align_offset(align_of::<u64>()) == 0 {
        return bytes;
    }
    let mut words = vec![0_u64; bytes.len().div_ceil(size_of::<u64>())];
    words.as_mut_bytes()[..bytes.len()].copy_from_slice(&bytes);
    Bytes::from_owner(Words(words, bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::sealed::Cast;
    use super::*;

    #[test]
    fn memory_casts_to_slices_of_its_values() {
        let values = [1.5_f64, -2.0];
        assert_eq!(f64::cast(f64::memory(&values)), Some(&values[..]));
        assert_eq!(f64::cast(&f64::memory(&values)[..12]), None, "one and a half");
        assert_eq!(bool::cast(&[0, 1, 1]), Some(&[false, true, true][..]));
        assert_eq!(bool::cast(&[0, 2]), None, "no bool has this byte");
    }

    #[test]
    fn unaligned_bytes_are_copied_to_where_numbers_may_begin() {
        let bytes = aligned(Bytes::from(vec![7_u8; 40]));
        let place = bytes.as_ptr();
        assert_eq!(aligned(bytes.clone()).as_ptr(), place, "aligned memory stays");
        for start in 1..8 {
            let moved = aligned(bytes.slice(start..start + 17));
            assert_eq!(moved.as_ptr().align_offset(8), 0);
            assert_eq!(moved[..], [7; 17]);
        }
    }
}
