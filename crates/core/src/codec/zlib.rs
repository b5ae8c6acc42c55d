//! `ZL`, a zlib stream, and the old `CS`, the same without wrapper and checksum.

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use crate::{Error, Result};

/// libdeflate's contexts: one to inflate, one a level to deflate, each created on first use.
#[derive(Default)]
pub(super) struct Contexts {
    inflate: Option<Decompressor>,
    deflate: [Option<Compressor>; LEVELS],
}

/// libdeflate's levels, from 0 to 12.
const LEVELS: usize = 13;

/// Inflates a zlib stream; returns how many bytes it held. Its Adler-32 is verified.
pub(super) fn inflate(stored: &[u8], into: &mut [u8], contexts: &mut Contexts) -> Result<usize> {
    let context = contexts.inflate.get_or_insert_with(Decompressor::new);
    context.zlib_decompress(stored, into).map_err(|error| damaged("zlib", &error))
}

/// Inflates raw deflate; returns how many bytes it held. There is no checksum.
pub(super) fn inflate_raw(stored: &[u8], into: &mut [u8], contexts: &mut Contexts) -> Result<usize> {
    let context = contexts.inflate.get_or_insert_with(Decompressor::new);
    context.deflate_decompress(stored, into).map_err(|error| damaged("old", &error))
}

/// Deflates to a zlib stream; returns its length, or None if it does not fit `into`.
pub(super) fn deflate(bytes: &[u8], level: u8, into: &mut [u8], contexts: &mut Contexts) -> Option<usize> {
    compressor(level, contexts)?.zlib_compress(bytes, into).ok()
}

/// Deflates without wrapper; returns the length, or None if it does not fit `into`.
pub(super) fn deflate_raw(bytes: &[u8], level: u8, into: &mut [u8], contexts: &mut Contexts) -> Option<usize> {
    compressor(level, contexts)?.deflate_compress(bytes, into).ok()
}

fn compressor(level: u8, contexts: &mut Contexts) -> Option<&mut Compressor> {
    let level = libdeflate_level(level);
    let lvl = CompressionLvl::new(i32::from(level)).ok()?;
    contexts.deflate.get_mut(usize::from(level)).map(|slot| slot.get_or_insert_with(|| Compressor::new(lvl)))
}

/// ROOT's level, which is zlib's, as a level of libdeflate.
///
/// No level packs less tight than ROOT's does. Packed bytes as a share of ROOT 6.40's at its level 1, of the same
/// values in baskets of 512 KB (`bench/write/writing.py`): 250 whole events, 250 split ones, 50,000 entries with lists,
/// 100,000 flat ones.
///
/// | libdeflate | whole | split | lists | flat | CPU time against level 1 |
/// |---|---|---|---|---|---|
/// | 1 | 1.037 | 0.980 | 0.941 | 0.969 | 1 |
/// | 2 | 0.962 | 0.972 | 0.907 | 0.950 | 1.2 to 1.4 |
/// | 3 | 0.958 | 0.970 | 0.905 | 0.947 | 1.3 to 1.6 |
///
/// So level 1 is libdeflate's level 2, which is still faster than zlib's level 1. From 2 on the numbers agree: on 1,147
/// baskets of files of all ages level 6 packs to 0.156 of the bytes where zlib packs to 0.159, three times as fast, and
/// level 9 to 0.155 and 0.158. Levels 10 to 12 gain another 2 % for four to ten times the work, so that no level of
/// ROOT leads there.
fn libdeflate_level(level: u8) -> u8 {
    level.clamp(2, 9)
}

fn damaged(codec: &str, error: &DecompressionError) -> Error {
    Error::malformed(match error {
        DecompressionError::BadData => format!("{codec}: the stream is damaged"),
        DecompressionError::InsufficientSpace => format!("{codec}: the block holds more bytes than it says"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn both_forms_come_back_at_each_level() {
        let mut contexts = Contexts::default();
        let mut packed = vec![0; 200_000];
        for bytes in [samples::numbers(1), samples::numbers(100_000), samples::noise(1_000)] {
            let mut back = vec![0; bytes.len()];
            for level in 1..=9 {
                let length = deflate(&bytes, level, &mut packed, &mut contexts).unwrap();
                assert_eq!(inflate(&packed[..length], &mut back, &mut contexts).unwrap(), bytes.len());
                assert_eq!(back, bytes);
                let length = deflate_raw(&bytes, level, &mut packed, &mut contexts).unwrap();
                assert_eq!(inflate_raw(&packed[..length], &mut back, &mut contexts).unwrap(), bytes.len());
                assert_eq!(back, bytes);
            }
        }
    }

    #[test]
    fn what_does_not_fit_says_so() {
        let mut contexts = Contexts::default();
        let bytes = samples::noise(1_000);
        assert_eq!(deflate(&bytes, 1, &mut [0; 999], &mut contexts), None);
        assert_eq!(deflate_raw(&bytes, 1, &mut [], &mut contexts), None);
        let mut packed = [0; 2_000];
        let length = deflate(&bytes, 1, &mut packed, &mut contexts).unwrap();
        let error = inflate(&packed[..length], &mut [0; 999], &mut contexts).unwrap_err();
        assert_eq!(error.to_string(), "malformed: zlib: the block holds more bytes than it says");
    }

    #[test]
    fn every_flipped_bit_of_a_zlib_stream_is_noticed() {
        let mut contexts = Contexts::default();
        let bytes = samples::numbers(300);
        let mut packed = [0; 600];
        let length = deflate(&bytes, 6, &mut packed, &mut contexts).unwrap();
        for bit in 16..length * 8 {
            packed[bit / 8] ^= 1 << (bit % 8);
            let mut back = vec![0; bytes.len()];
            let read = inflate(&packed[..length], &mut back, &mut contexts);
            assert!(read.is_err() || back == bytes, "bit {bit}");
            packed[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
