//! The split encoding of RNTuple: all first bytes of a page's elements, then all second bytes, and so on.

/// Elements from their planes. With `zigzag`, the sign comes back from the lowest bit.
///
/// # Safety
///
/// `to` must have room for `elements` of `width` bytes.
pub unsafe fn join(from: &[u8], elements: usize, width: usize, zigzag: bool, to: *mut u8) {
    assert_eq!(from.len(), elements * width);
    // SAFETY: the caller's promise, and what was just looked at
    let done = unsafe {
        match width {
            #[cfg(target_arch = "x86_64")]
            4 => vectors::join4(from, elements, zigzag, to),
            #[cfg(target_arch = "x86_64")]
            8 if !zigzag => vectors::join8(from, elements, to),
            _ => 0,
        }
    };
    for i in done..elements {
        let mut word = (0..width).fold(0u64, |word, k| word | u64::from(from[k * elements + i]) << (8 * k));
        if zigzag {
            word = (word >> 1) ^ (word & 1).wrapping_neg();
        }
        // SAFETY: the caller's promise
        unsafe { std::ptr::copy_nonoverlapping(word.to_le_bytes().as_ptr(), to.add(width * i), width) };
    }
}

/// Planes from elements: the way back.
pub fn split(from: &[u8], width: usize, zigzag: bool, to: &mut [u8]) {
    let elements = from.len() / width;
    match width {
        4 => {
            let (a, rest) = to.split_at_mut(elements);
            let (b, rest) = rest.split_at_mut(elements);
            let (c, d) = rest.split_at_mut(elements);
            for (i, x) in from.chunks_exact(4).enumerate() {
                let x = i32::from_le_bytes(x.try_into().unwrap());
                let [w, x, y, z] = if zigzag { (x << 1) ^ (x >> 31) } else { x }.to_le_bytes();
                (a[i], b[i], c[i], d[i]) = (w, x, y, z);
            }
        }
        _ => {
            for (k, plane) in to.chunks_exact_mut(elements.max(1)).enumerate() {
                for (to, x) in plane.iter_mut().zip(from.chunks_exact(width)) {
                    *to = x[k];
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    /// Sixteen elements of four bytes at a time; how many were done.
    pub unsafe fn join4(from: &[u8], elements: usize, zigzag: bool, to: *mut u8) -> usize {
        let whole = elements & !15;
        for i in (0..whole).step_by(16) {
            // SAFETY: planes are `elements` long, and `to` has room for all of them
            unsafe {
                let plane = |k: usize| _mm_loadu_si128(from.as_ptr().add(k * elements + i).cast());
                let (a, b, c, d) = (plane(0), plane(1), plane(2), plane(3));
                let low = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
                let high = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
                let words = [
                    _mm_unpacklo_epi16(low.0, low.1),
                    _mm_unpackhi_epi16(low.0, low.1),
                    _mm_unpacklo_epi16(high.0, high.1),
                    _mm_unpackhi_epi16(high.0, high.1),
                ];
                for (k, mut word) in words.into_iter().enumerate() {
                    if zigzag {
                        let sign = _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(word, _mm_set1_epi32(1)));
                        word = _mm_xor_si128(_mm_srli_epi32(word, 1), sign);
                    }
                    _mm_storeu_si128(to.add(4 * i + 16 * k).cast(), word);
                }
            }
        }
        whole
    }

    /// Sixteen elements of eight bytes at a time; how many were done.
    pub unsafe fn join8(from: &[u8], elements: usize, to: *mut u8) -> usize {
        let whole = elements & !15;
        for i in (0..whole).step_by(16) {
            // SAFETY: planes are `elements` long, and `to` has room for all of them
            unsafe {
                let pair = |k: usize| {
                    let at = from.as_ptr().add(k * elements + i);
                    let (a, b) = (_mm_loadu_si128(at.cast()), _mm_loadu_si128(at.add(elements).cast()));
                    (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b))
                };
                let (ab, cd, ef, gh) = (pair(0), pair(2), pair(4), pair(6));
                for (half, (a, b, c, d)) in [(ab.0, cd.0, ef.0, gh.0), (ab.1, cd.1, ef.1, gh.1)].into_iter().enumerate()
                {
                    let low = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
                    let high = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d));
                    let to = to.add(8 * i + 64 * half).cast::<__m128i>();
                    _mm_storeu_si128(to, _mm_unpacklo_epi32(low.0, low.1));
                    _mm_storeu_si128(to.add(1), _mm_unpackhi_epi32(low.0, low.1));
                    _mm_storeu_si128(to.add(2), _mm_unpacklo_epi32(high.0, high.1));
                    _mm_storeu_si128(to.add(3), _mm_unpackhi_epi32(high.0, high.1));
                }
            }
        }
        whole
    }
}
