//! From big-endian numbers in a basket to native ones in the answer.

/// Copy `from` to `to`, turning the bytes of each number of `width` bytes; with `widen`, floats become doubles.
///
/// # Safety
///
/// `to` must have room for all of it: `from.len()` bytes, with `widen` twice as many.
pub unsafe fn copy(from: &[u8], to: *mut u8, width: usize, widen: bool) {
    // loops over fixed-size chunks: the compiler turns them into shuffles of whole vectors
    macro_rules! turn {
        ($t:ty) => {
            for (i, c) in from.chunks_exact(size_of::<$t>()).enumerate() {
                let x = <$t>::from_be_bytes(c.try_into().unwrap());
                // SAFETY: the caller's promise
                unsafe { to.cast::<$t>().add(i).write_unaligned(x) };
            }
        };
    }
    match (width, widen) {
        (4, true) => {
            for (i, c) in from.chunks_exact(4).enumerate() {
                let x = f32::from_be_bytes(c.try_into().unwrap()) as f64;
                // SAFETY: the caller's promise
                unsafe { to.cast::<f64>().add(i).write_unaligned(x) };
            }
        }
        (2, _) => turn!(u16),
        (4, _) => turn!(u32),
        (8, _) => turn!(u64),
        // SAFETY: the caller's promise
        _ => unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) },
    }
}
