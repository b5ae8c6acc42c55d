//! `ZS`: a Zstandard frame. One context each way, kept by the thread: making one costs more than a small basket.

use ::zstd::zstd_safe::{CCtx, DCtx, get_error_name};

use crate::{Error, ErrorKind, Result};

/// libzstd's contexts, created on first use.
#[derive(Default)]
pub(super) struct Contexts {
    inflate: Option<DCtx<'static>>,
    deflate: Option<CCtx<'static>>,
}

/// libzstd's code for "the destination is too small" (`ZSTD_error_dstSize_tooSmall`), as its functions return it.
const TOO_SMALL: usize = 70_usize.wrapping_neg();

/// Inflates; returns how many bytes the frame held.
pub(super) fn inflate(stored: &[u8], into: &mut [u8], contexts: &mut Contexts) -> Result<usize> {
    let context = match &mut contexts.inflate {
        Some(context) => context,
        empty => empty.insert(DCtx::try_create().ok_or_else(out_of_memory)?),
    };
    context.decompress(into, stored).map_err(|code| match code {
        TOO_SMALL => Error::malformed("zstd: the block holds more bytes than it says"),
        _ => Error::malformed(format!("zstd: {}", get_error_name(code))),
    })
}

/// Deflates; returns the length, or None if it does not fit `into`.
///
/// # Errors
///
/// If the library gives up for another reason, such as no memory.
pub(super) fn deflate(bytes: &[u8], level: u8, into: &mut [u8], contexts: &mut Contexts) -> Result<Option<usize>> {
    let context = match &mut contexts.deflate {
        Some(context) => context,
        empty => empty.insert(CCtx::try_create().ok_or_else(out_of_memory)?),
    };
    match context.compress(into, bytes, libzstd_level(level)) {
        Ok(length) => Ok(Some(length)),
        Err(TOO_SMALL) => Ok(None),
        Err(code) => Err(Error::new(ErrorKind::Io, format!("zstd: {}", get_error_name(code)))),
    }
}

/// ROOT's level as libzstd's: twice as high (505 writes the bytes of libzstd 10), up to libzstd's last, 22.
fn libzstd_level(level: u8) -> i32 {
    (2 * i32::from(level)).clamp(1, 22)
}

fn out_of_memory() -> Error {
    Error::new(ErrorKind::Io, "zstd: no memory for a context")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn frames_come_back_at_each_level() {
        let mut contexts = Contexts::default();
        let bytes = samples::numbers(50_000);
        let mut packed = vec![0; 100_000];
        let mut back = vec![0; bytes.len()];
        for level in 1..=11 {
            let length = deflate(&bytes, level, &mut packed, &mut contexts).unwrap().unwrap();
            assert_eq!(inflate(&packed[..length], &mut back, &mut contexts).unwrap(), bytes.len());
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn roots_level_is_twice_as_high_in_libzstd() {
        let bytes = samples::numbers(50_000);
        let mut packed = vec![0; 100_000];
        let length = deflate(&bytes, 5, &mut packed, &mut Contexts::default()).unwrap().unwrap();
        let mut reference = vec![0; 100_000];
        let wanted = CCtx::create().compress(&mut reference[..], &bytes, 10).unwrap();
        assert_eq!(packed[..length], reference[..wanted]);
    }

    #[test]
    fn contexts_outlive_damage() {
        let mut contexts = Contexts::default();
        let bytes = samples::noise(1_000);
        let mut packed = [0; 2_000];
        assert_eq!(deflate(&bytes, 5, &mut packed[..500], &mut contexts).unwrap(), None);
        let length = deflate(&bytes, 5, &mut packed, &mut contexts).unwrap().unwrap();
        let mut back = vec![0; 1_000];
        assert!(inflate(&packed[..length - 1], &mut back, &mut contexts).is_err());
        let error = inflate(&packed[..length], &mut back[..999], &mut contexts).unwrap_err();
        assert_eq!(error.to_string(), "malformed: zstd: the block holds more bytes than it says");
        assert_eq!(inflate(&packed[..length], &mut back, &mut contexts).unwrap(), 1_000);
        assert_eq!(back, bytes);
    }
}
