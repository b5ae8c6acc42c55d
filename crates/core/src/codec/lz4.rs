//! `L4`: the XXH64 of what follows (8 bytes, big-endian, seed 0), then one LZ4 block.

use ::lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use twox_hash::XxHash64;

use crate::{Error, ErrorKind, Result};

const CHECKSUM_BYTES: usize = 8;

/// From this level on ROOT uses the slow search (HC), which packs tighter and inflates as fast.
const HC_FROM_LEVEL: u8 = 4;

/// Verifies the checksum and inflates; returns how many bytes the block held.
pub(super) fn inflate(stored: &[u8], into: &mut [u8]) -> Result<usize> {
    let Some((checksum, packed)) = stored.split_first_chunk::<CHECKSUM_BYTES>() else {
        return Err(Error::malformed("lz4: the block is too short for its checksum")
            .wanted(CHECKSUM_BYTES as u64, stored.len() as u64));
    };
    let expected = u64::from_be_bytes(*checksum);
    let found = XxHash64::oneshot(0, packed);
    if expected != found {
        return Err(Error::new(ErrorKind::Checksum, "lz4: the checksum differs").wanted(expected, found));
    }
    // Both lengths have 24 bits, so neither conversion nor the library's own limit can fail for a block of a chain.
    let room = i32::try_from(into.len()).map_err(|_| Error::mismatch("lz4: the block is too long"))?;
    decompress_to_buffer(packed, Some(room), into).map_err(|_| Error::malformed("lz4: the block is damaged"))
}

/// Deflates, checksum before it; returns the length of both, or None if they do not fit `into`.
pub(super) fn deflate(bytes: &[u8], level: u8, into: &mut [u8]) -> Option<usize> {
    let mode = match level {
        0..HC_FROM_LEVEL => CompressionMode::DEFAULT,
        _ => CompressionMode::HIGHCOMPRESSION(i32::from(level.min(9))),
    };
    let (checksum, room) = into.split_first_chunk_mut::<CHECKSUM_BYTES>()?;
    let length = compress_to_buffer(bytes, Some(mode), false, room).ok()?;
    *checksum = XxHash64::oneshot(0, room.get(..length)?).to_be_bytes();
    Some(CHECKSUM_BYTES + length)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn blocks_come_back_at_each_level_and_hc_packs_tighter() {
        let bytes = samples::numbers(100_000);
        let mut packed = vec![0; 200_000];
        let mut back = vec![0; bytes.len()];
        let mut lengths = Vec::new();
        for level in 1..=9 {
            let length = deflate(&bytes, level, &mut packed).unwrap();
            assert_eq!(inflate(&packed[..length], &mut back).unwrap(), bytes.len());
            assert_eq!(back, bytes);
            lengths.push(length);
        }
        assert_eq!(lengths[0], lengths[2], "levels 1 to 3 are the fast search");
        assert!(lengths[3] < lengths[2], "level 4 is HC: {lengths:?}");
    }

    #[test]
    fn the_checksum_is_big_endian_with_seed_0() {
        assert_eq!(XxHash64::oneshot(0, b"abc"), 0x44BC_2CF5_AD77_0999, "the published value");
        let mut packed = [0; 64];
        let length = deflate(b"A", 1, &mut packed).unwrap();
        assert_eq!(&packed[8..length], b"\x10A");
        assert_eq!(packed[..8], XxHash64::oneshot(0, b"\x10A").to_be_bytes());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = samples::numbers(300);
        let mut packed = [0; 600];
        let length = deflate(&bytes, 1, &mut packed).unwrap();
        for bit in 0..length * 8 {
            packed[bit / 8] ^= 1 << (bit % 8);
            let error = inflate(&packed[..length], &mut vec![0; bytes.len()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Checksum, "bit {bit}");
            packed[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn short_and_long_blocks_are_malformed() {
        assert_eq!(inflate(&[0; 7], &mut [0; 4]).unwrap_err().kind(), ErrorKind::Malformed);
        let mut packed = [0; 600];
        let length = deflate(&samples::numbers(300), 1, &mut packed).unwrap();
        assert_eq!(inflate(&packed[..length], &mut [0; 299]).unwrap_err().kind(), ErrorKind::Malformed);
        assert_eq!(inflate(&packed[..length], &mut [0; 301]).unwrap(), 300);
        assert_eq!(deflate(&[1; 100], 1, &mut [0; 7]), None);
    }
}
