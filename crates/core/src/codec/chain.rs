//! The chain of blocks: inflated, whole or in part, and written.

use std::ops::Range;

use super::{Algorithm, Block, BlockHeader, Compression, HEADER_BYTES, MAX_BLOCK_BYTES, Scratch, blocks};
use super::{lz4, lzma, zlib, zstd};
use crate::{Error, Result};

/// Inflates a whole chain into exactly `into.len()` bytes. Bytes after the last block are left alone.
///
/// # Errors
///
/// Those of `blocks` and `Block::inflate`. What is in `into` after an error is not defined.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Scratch};
/// let chain = b"L4\x01\x0a\0\0\x01\0\0\x52\x4d\x1d\x7e\xc7\xbb\x7e\x1a\x10A";
/// let error = codec::inflate(chain, &mut [0; 1], &mut Scratch::default()).unwrap_err();
/// assert_eq!(error.kind(), sapwood::ErrorKind::Checksum);
/// assert_eq!(error.place().offset, Some(0)); // of the block in the chain
/// ```
pub fn inflate(bytes: &[u8], into: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    for (number, block) in blocks(bytes, into.len()).enumerate() {
        let block = block?;
        let place = into.get_mut(block.unsealed.clone()).ok_or_else(outside)?;
        block.inflate(bytes, place, scratch).map_err(|error| error.in_block(number))?;
    }
    Ok(())
}

/// Inflates the bytes `want` of the `unsealed_bytes` that a chain holds, touching only the blocks that cover them.
/// Blocks wanted as a whole go straight to `into`; at most the first and the last pass through the scratch.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if `want` is not within `unsealed_bytes` or not as long as
/// `into`, else those of [`inflate`]. Damage after the last block that is needed goes unnoticed.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Compression, Scratch};
/// let mut scratch = Scratch::default();
/// let mut chain = Vec::new();
/// let bytes: Vec<u8> = (0..=255).flat_map(|byte| [byte; 10]).collect();
/// codec::deflate(&bytes, Compression::default(), &mut chain, &mut scratch)?;
/// let mut part = [0; 4];
/// codec::inflate_range(&chain, bytes.len(), 108..112, &mut part, &mut scratch)?;
/// assert_eq!(part, [10, 10, 11, 11]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn inflate_range(
    bytes: &[u8],
    unsealed_bytes: usize,
    want: Range<usize>,
    into: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    check_range(&want, unsealed_bytes, into)?;
    if want.is_empty() {
        return Ok(());
    }
    for (number, block) in blocks(bytes, unsealed_bytes).enumerate() {
        let block = block?;
        if block.unsealed.end > want.start {
            inflate_part(bytes, &block, &want, into, scratch).map_err(|error| error.in_block(number))?;
        }
        if block.unsealed.end >= want.end {
            break;
        }
    }
    Ok(())
}

/// Whether the headers of a chain that holds `unsealed_bytes` follow each other to its end, and say so many in all. The
/// places of blocks are right then, also where only some are inflated; where bytes are left over, a length may lie.
///
/// # Errors
///
/// Those of `blocks`.
pub(crate) fn headers_add_up(bytes: &[u8], unsealed_bytes: usize) -> Result<bool> {
    blocks(bytes, unsealed_bytes).try_fold(0, |_, block| Ok(block?.stored.end)).map(|end| end == bytes.len())
}

/// Inflates the blocks of a chain that hold any byte of `wanted`, ascending ranges of the `into.len()` bytes that the
/// chain holds, each to its place in `into`. What else is in `into` stays as it is.
///
/// # Errors
///
/// Those of [`inflate`]. Damage to blocks that are not needed goes unnoticed; that of headers only in front of the last
/// one that is needed, unless [`headers_add_up`] was asked.
pub(crate) fn inflate_parts(
    bytes: &[u8],
    into: &mut [u8],
    wanted: impl Iterator<Item = Range<usize>>,
    scratch: &mut Scratch,
) -> Result<()> {
    let mut wanted = wanted.filter(|want| !want.is_empty()).peekable();
    for (number, block) in blocks(bytes, into.len()).enumerate() {
        let block = block?;
        while wanted.next_if(|want| want.end <= block.unsealed.start).is_some() {}
        let Some(want) = wanted.peek() else { break };
        if want.start < block.unsealed.end {
            let place = into.get_mut(block.unsealed.clone()).ok_or_else(outside)?;
            block.inflate(bytes, place, scratch).map_err(|error| error.in_block(number))?;
        }
    }
    Ok(())
}

pub(super) fn check_range(want: &Range<usize>, unsealed_bytes: usize, into: &[u8]) -> Result<()> {
    if want.end > unsealed_bytes || want.start > want.end {
        return Err(Error::mismatch("the range reaches outside of the unsealed object")
            .at(want.start as u64)
            .wanted(unsealed_bytes as u64, want.end as u64));
    }
    if into.len() != want.len() {
        return Err(Error::mismatch("a range and its destination differ in length")
            .wanted(want.len() as u64, into.len() as u64));
    }
    Ok(())
}

/// Blocks were checked against what their chain holds.
fn outside() -> Error {
    Error::internal("a block is outside of what its chain holds")
}

/// Copies the part of `want` in `block` to its position in `into`, which is as long as `want`.
pub(super) fn inflate_part(
    chain: &[u8],
    block: &Block,
    want: &Range<usize>,
    into: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let held = &block.unsealed;
    let common = held.start.max(want.start)..held.end.min(want.end);
    let Some(length) = common.end.checked_sub(common.start).filter(|length| *length > 0) else { return Ok(()) };
    let place = into.get_mut(common.start - want.start..).and_then(|rest| rest.get_mut(..length));
    let place = place.ok_or_else(outside)?;
    if length == held.len() {
        return block.inflate(chain, place, scratch);
    }
    let mut whole = std::mem::take(&mut scratch.partial);
    if whole.len() < held.len() {
        whole.resize(held.len(), 0); // a block: at most 16 MiB, whatever the chain claims
    }
    let target = &mut whole[..held.len()];
    let done = block.inflate(chain, target, scratch);
    if done.is_ok() {
        place.copy_from_slice(&target[common.start - held.start..common.end - held.start]);
    }
    scratch.partial = whole;
    done
}

/// Appends to `into` a chain that holds `bytes`, in blocks of at most 16 MiB.
///
/// False if the chain would not be smaller than `bytes`, or the level is 0: then `into` is as it was, and the caller
/// stores the bytes raw. ROOT tells a raw object from a chain by its size alone, and crashes on a chain that is longer.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if a codec's library has no memory; `into` is then as it was.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Compression, Scratch};
/// let mut scratch = Scratch::default();
/// let mut record = b"key".to_vec();
/// assert!(codec::deflate(&[0; 100], "zstd:5".parse()?, &mut record, &mut scratch)?);
/// assert!(record.starts_with(b"keyZS"));
///
/// let before = record.clone();
/// assert!(!codec::deflate(b"as small as can be", "zstd:5".parse()?, &mut record, &mut scratch)?);
/// assert_eq!(record, before);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn deflate(bytes: &[u8], how: Compression, into: &mut Vec<u8>, scratch: &mut Scratch) -> Result<bool> {
    let start = into.len();
    for piece in bytes.chunks(MAX_BLOCK_BYTES) {
        let room = bytes.len().saturating_sub(into.len() - start + 1);
        let smaller = deflate_block(piece, how, room, into, scratch);
        if !matches!(smaller, Ok(true)) {
            into.truncate(start);
            return smaller;
        }
    }
    Ok(into.len() > start)
}

/// Appends to `into` a chain that holds `bytes`, in blocks that end at `ends`, which rise to the length of `bytes`. A
/// block that would hold more than 16 MiB becomes several; one that would hold nothing is left out.
///
/// False as in [`deflate`]. A single block may be longer than what it holds.
///
/// # Errors
///
/// [`ErrorKind::Internal`](crate::ErrorKind::Internal) if `ends` fall or do not end where `bytes` do; those of
/// [`deflate`]. `into` is then as it was.
pub(crate) fn deflate_parts(
    bytes: &[u8],
    ends: impl Iterator<Item = usize>,
    how: Compression,
    into: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<bool> {
    /// What no codec packs takes a little more, and that must fit into a block as well: LZ4 adds a 255th.
    const PIECE_BYTES: usize = MAX_BLOCK_BYTES - MAX_BLOCK_BYTES / 128;
    let (before, mut start) = (into.len(), 0);
    let done = || {
        for end in ends {
            let part = bytes.get(start..end).ok_or_else(outside)?;
            start = end;
            for piece in part.chunks(PIECE_BYTES) {
                if !deflate_block(piece, how, usize::MAX, into, scratch)? || into.len() - before >= bytes.len() {
                    return Ok(false);
                }
            }
        }
        if start == bytes.len() { Ok(start > 0) } else { Err(outside()) }
    };
    let done = done();
    if !matches!(done, Ok(true)) {
        into.truncate(before);
    }
    done
}

/// Appends to `into` one block that holds `bytes`, if it takes at most `room` bytes with its header. For writers that
/// choose where blocks end.
///
/// False if it would take more, there are no bytes, or the level is 0: then `into` is as it was. A block may be longer
/// than what it holds; only the whole chain must be shorter (see [`deflate`]), so `room` is for the caller to say.
///
/// # Errors
///
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if `bytes` are more than 16 MiB,
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if a codec's library has no memory.
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Compression, Scratch};
/// let (mut chain, mut scratch) = (Vec::new(), Scratch::default());
/// assert!(codec::deflate_block(&[8; 99], Compression::default(), 99, &mut chain, &mut scratch)?);
/// assert!(!codec::deflate_block(&[8; 99], Compression::default(), 9, &mut chain, &mut scratch)?);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn deflate_block(
    bytes: &[u8],
    how: Compression,
    room: usize,
    into: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<bool> {
    if bytes.len() > MAX_BLOCK_BYTES {
        let found = bytes.len() as u64;
        return Err(Error::limit("a block holds at most 16 MiB less one byte", MAX_BLOCK_BYTES as u64, found));
    }
    let Some(room) = room.checked_sub(HEADER_BYTES).filter(|_| how.level > 0 && !bytes.is_empty()) else {
        return Ok(false);
    };
    // No codec adds more than this to what it cannot pack, and all are fastest when they need not look at the room.
    let room = room.min(bytes.len() + bytes.len() / 64 + 1024).min(MAX_BLOCK_BYTES);
    if scratch.packed.len() < room {
        scratch.packed.resize(room, 0);
    }
    let packed = &mut scratch.packed[..room];
    let length = match how.algorithm {
        Algorithm::Zlib => zlib::deflate(bytes, how.level, packed, &mut scratch.zlib),
        Algorithm::OldDeflate => zlib::deflate_raw(bytes, how.level, packed, &mut scratch.zlib),
        Algorithm::Lzma => lzma::deflate(bytes, how.level, packed)?,
        Algorithm::Lz4 => lz4::deflate(bytes, how.level, packed),
        Algorithm::Zstd => zstd::deflate(bytes, how.level, packed, &mut scratch.zstd)?,
    };
    let Some(packed) = length.and_then(|length| packed.get(..length)) else { return Ok(false) };
    let header = BlockHeader::new(how.algorithm, packed.len(), bytes.len())?;
    into.reserve_exact(HEADER_BYTES + packed.len());
    into.extend_from_slice(&header.write());
    into.extend_from_slice(packed);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::{BlockTable, samples};
    use super::*;
    use crate::ErrorKind;

    fn all(level: u8) -> impl Iterator<Item = Compression> + Clone {
        Algorithm::ALL.into_iter().map(move |algorithm| Compression { algorithm, level })
    }

    /// A chain of `bytes` in blocks of `step`, the codecs in turn.
    fn mixed(bytes: &[u8], step: usize) -> Vec<u8> {
        let (mut chain, mut scratch) = (Vec::new(), Scratch::default());
        for (piece, how) in bytes.chunks(step).zip(all(5).cycle()) {
            assert!(deflate_block(piece, how, usize::MAX, &mut chain, &mut scratch).unwrap());
        }
        chain
    }

    #[test]
    fn a_part_that_is_too_long_for_a_block_and_does_not_shrink_keeps_the_chain() {
        let mut scratch = Scratch::default();
        let noise = samples::noise(17 << 20);
        let bytes = [noise.clone(), vec![0; 17 << 20]].concat();
        for how in all(1).filter(|how| how.algorithm != Algorithm::Lzma) {
            let mut chain = Vec::new();
            let ends = [noise.len(), bytes.len()].into_iter();
            assert!(deflate_parts(&bytes, ends, how, &mut chain, &mut scratch).unwrap(), "{how}");
            let mut back = vec![0; 100];
            let want = noise.len() - 50..noise.len() + 50;
            inflate_range(&chain, bytes.len(), want.clone(), &mut back, &mut scratch).unwrap();
            assert_eq!(back, bytes[want], "{how}");
        }
    }

    #[test]
    fn chains_come_back_with_each_codec() {
        let mut scratch = Scratch::default();
        for how in all(1).chain(all(6)) {
            for length in [400, 1_000, 50_000] {
                let bytes = samples::numbers(length);
                let mut chain = b"before".to_vec();
                assert!(deflate(&bytes, how, &mut chain, &mut scratch).unwrap(), "{how} {length}");
                let chain = chain.strip_prefix(b"before").unwrap();
                assert!(chain.len() < length);
                assert_eq!(BlockTable::walk(chain, length).unwrap().stored_bytes(), chain.len());
                let mut back = vec![0; length];
                inflate(chain, &mut back, &mut scratch).unwrap();
                assert_eq!(back, bytes, "{how}");
            }
        }
    }

    /// Blocks by ROOT itself, from files of all its ages, inflated by other libraries.
    #[test]
    fn blocks_that_root_wrote_are_read() {
        let mut old = vec![0; 9028];
        (old[9019], old[9023]) = (2, 102);
        let cases: [(&[u8], Vec<u8>); 5] = [
            (b"\x5a\x4c\x08\x0c\0\0\x97\0\0\x78\x01\x63\x64\x1c\x94\0\0\x2d\x6b\0\x98", vec![1; 151]),
            (
                b"\x58\x5a\0\x50\0\0\x75\x09\0\xfd\x37\x7a\x58\x5a\0\0\x01\x69\x22\xde\x36\x02\0\x21\
              \x01\0\0\0\0\x37\x27\x97\xd6\xe0\x09\x74\0\x13\x5d\0\0\xef\xfb\xff\xff\xa3\xb7\xff\
              \x47\x3e\x48\x15\x72\x39\x48\xb1\x2f\x1c\0\0\0\xc0\xad\x63\x93\0\x01\x2b\xf5\x12\0\0\
              \0\x11\x61\xfa\xd4\x3e\x30\x0d\x8b\x02\0\0\0\0\x01\x59\x5a",
                vec![1; 2421],
            ),
            (
                b"\x43\x53\x08\x40\0\0\x44\x23\0\xed\xd0\x01\x0d\0\0\x08\xc3\xb0\x07\xb1\xf8\x97\0\xe8\
              \xa0\x73\xb0\x26\x22\x40\x80\0\x01\x02\x04\x08\x10\x20\x40\x80\0\x01\x02\x04\x08\x10\
              \x20\x40\x80\0\x01\x02\x04\x08\x10\x20\x40\x80\0\x01\x02\x04\x08\x10\x20\xf0\x52\xa0\
              \xf6\xba\xef\x7c\0",
                old,
            ),
            (
                b"\x4c\x34\x01\x13\0\0\x50\0\0\x79\xb6\x73\xb3\x42\xb2\x68\xe4\x1f\0\x01\0\x37\x50\0\0\
              \0\0\0",
                vec![0; 80],
            ),
            (
                b"\x5a\x53\x01\x1a\0\0\0\x24\0\x28\xb5\x2f\xfd\x60\0\x23\x85\0\0\x28\0\x02\x42\x3f\x3d\
              \x02\0\x49\x03\xbe\x60\xc5\x7b\x47\x04",
                [[0, 2, 66, 63].repeat(1580), [0, 2, 66, 61].repeat(724)].concat(),
            ),
        ];
        for ((chain, wanted), algorithm) in cases.into_iter().zip(Algorithm::ALL) {
            assert_eq!(BlockHeader::read(chain).unwrap().algorithm(), algorithm);
            let mut back = vec![0xEE; wanted.len()];
            inflate(chain, &mut back, &mut Scratch::default()).unwrap();
            assert!(back == wanted, "{algorithm}");
        }
    }

    #[test]
    fn what_does_not_shrink_is_left_to_the_caller() {
        let mut scratch = Scratch::default();
        for how in all(1).chain([Compression::NONE]) {
            for bytes in [vec![], vec![7], samples::noise(20), samples::noise(100_000)] {
                let mut chain = b"before".to_vec();
                assert!(!deflate(&bytes, how, &mut chain, &mut scratch).unwrap(), "{how} {}", bytes.len());
                assert_eq!(chain, b"before");
            }
        }
        assert!(!deflate(&[0; 1_000], Compression::NONE, &mut Vec::new(), &mut scratch).unwrap());
        inflate(&[], &mut [], &mut scratch).unwrap();
        assert_eq!(BlockTable::walk(b"slack", 0).unwrap().blocks(), []);
    }

    #[test]
    fn a_block_of_one_byte_comes_back() {
        let mut scratch = Scratch::default();
        for how in all(4) {
            let mut chain = Vec::new();
            assert!(deflate_block(&[42], how, 200, &mut chain, &mut scratch).unwrap());
            let mut back = [0];
            inflate(&chain, &mut back, &mut scratch).unwrap();
            assert_eq!(back, [42], "{how}");
        }
    }

    #[test]
    fn long_objects_take_several_blocks() {
        let length = 2 * MAX_BLOCK_BYTES + 12_345;
        let bytes: Vec<u8> = (0..length).map(|i| (i >> 9) as u8).collect();
        let (mut scratch, mut back) = (Scratch::default(), vec![0; length]);
        for how in all(1) {
            let mut chain = Vec::new();
            assert!(deflate(&bytes, how, &mut chain, &mut scratch).unwrap());
            let table = BlockTable::walk(&chain, length).unwrap();
            let lengths: Vec<_> = table.blocks().iter().map(|block| block.unsealed.len()).collect();
            assert_eq!(lengths, [MAX_BLOCK_BYTES, MAX_BLOCK_BYTES, 12_345]);
            back.fill(0);
            inflate(&chain, &mut back, &mut scratch).unwrap();
            assert!(back == bytes, "{how}");
            let want = MAX_BLOCK_BYTES - 5..MAX_BLOCK_BYTES + 5;
            let mut part = [0; 10];
            table.inflate_range(&chain, want.clone(), &mut part, &mut scratch).unwrap();
            assert_eq!(part, bytes[want]);
        }
    }

    #[test]
    fn every_range_of_a_mixed_chain_is_the_same_as_the_whole() {
        let bytes = samples::numbers(57);
        let chain = mixed(&bytes, 10);
        let table = BlockTable::walk(&chain, bytes.len()).unwrap();
        let mut scratch = Scratch::default();
        for start in 0..=bytes.len() {
            for end in start..=bytes.len() {
                let mut part = vec![0; end - start];
                inflate_range(&chain, bytes.len(), start..end, &mut part, &mut scratch).unwrap();
                assert_eq!(part, bytes[start..end]);
                part.fill(0);
                table.inflate_range(&chain, start..end, &mut part, &mut scratch).unwrap();
                assert_eq!(part, bytes[start..end]);
            }
        }
    }

    #[test]
    fn a_range_touches_only_the_blocks_that_cover_it() {
        let bytes = samples::numbers(40);
        let mut chain = mixed(&bytes, 10);
        let table = BlockTable::walk(&chain, 40).unwrap();
        for spoilt in [0, 1, 3] {
            chain[table.blocks()[spoilt].stored.clone()].fill(0xFF);
        }
        let (mut part, mut scratch) = ([0; 6], Scratch::default());
        inflate_range(&chain, 40, 22..28, &mut part, &mut scratch).unwrap();
        assert_eq!(part, bytes[22..28]);
        assert!(inflate_range(&chain, 40, 18..24, &mut part, &mut scratch).is_err());
    }

    #[test]
    fn ranges_that_do_not_fit_are_refused() {
        let chain = mixed(&samples::numbers(40), 10);
        let table = BlockTable::walk(&chain, 40).unwrap();
        let mut scratch = Scratch::default();
        #[expect(clippy::reversed_empty_ranges, reason = "what a careless caller may pass")]
        for (want, length) in [(35..41, 6), (41..41, 0), (5..4, 0), (5..usize::MAX, 6), (3..9, 5), (3..9, 7)] {
            let mut into = vec![0; length];
            let whole = inflate_range(&chain, 40, want.clone(), &mut into, &mut scratch).unwrap_err();
            let table = table.inflate_range(&chain, want, &mut into, &mut scratch).unwrap_err();
            assert_eq!((whole.kind(), table.kind()), (ErrorKind::Mismatch, ErrorKind::Mismatch));
        }
    }

    #[test]
    fn chains_cut_at_any_length_are_errors_and_slack_is_not() {
        let bytes = samples::numbers(60);
        let mut chain = mixed(&bytes, 12);
        let (mut back, mut scratch) = (vec![0; 60], Scratch::default());
        for cut in 0..chain.len() {
            assert_eq!(inflate(&chain[..cut], &mut back, &mut scratch).unwrap_err().kind(), ErrorKind::Malformed);
            let error = BlockTable::walk(&chain[..cut], 60).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed);
            assert!(error.place().offset.is_some() && error.place().expected > error.place().found, "{error}");
        }
        chain.extend(b"slack that is no block");
        inflate(&chain, &mut back, &mut scratch).unwrap();
        assert_eq!(back, bytes);
    }

    #[test]
    fn every_flipped_bit_of_an_lz4_chain_is_an_error() {
        let bytes = samples::numbers(600);
        let (mut chain, mut scratch) = (Vec::new(), Scratch::default());
        for piece in bytes.chunks(200) {
            let how = Compression { algorithm: Algorithm::Lz4, level: 1 };
            assert!(deflate_block(piece, how, usize::MAX, &mut chain, &mut scratch).unwrap());
        }
        let mut starts = BlockTable::walk(&chain, 600).unwrap().blocks().to_vec();
        starts.reverse();
        for bit in 0..chain.len() * 8 {
            let place = starts.iter().map(|block| block.stored.start - HEADER_BYTES).find(|start| *start <= bit / 8);
            if place.is_some_and(|start| bit / 8 == start + 2) {
                continue; // the method byte, which for LZ4 means nothing
            }
            chain[bit / 8] ^= 1 << (bit % 8);
            let mut back = vec![0; 600];
            let error = inflate(&chain, &mut back, &mut scratch).unwrap_err();
            assert!(error.place().offset.is_some(), "bit {bit}: {error}");
            chain[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn no_flipped_bit_of_any_codec_panics() {
        let bytes = samples::numbers(120);
        let mut chain = mixed(&bytes, 24);
        let (mut back, mut scratch) = (vec![0; 120], Scratch::default());
        for bit in 0..chain.len() * 8 {
            chain[bit / 8] ^= 1 << (bit % 8);
            // Raw deflate has no checksum, so that some of these pass with other bytes.
            let _ = inflate(&chain, &mut back, &mut scratch);
            chain[bit / 8] ^= 1 << (bit % 8);
        }
        inflate(&chain, &mut back, &mut scratch).unwrap();
        assert_eq!(back, bytes, "contexts outlive damage");
    }

    #[test]
    fn errors_name_codec_and_offset() {
        let bytes = samples::numbers(50);
        let mut chain = mixed(&bytes, 10);
        let table = BlockTable::walk(&chain, 50).unwrap();
        for (block, algorithm) in table.blocks().iter().zip(Algorithm::ALL) {
            let mut spoilt = chain.clone();
            spoilt[block.stored.clone()].fill(0xFF);
            let error = inflate(&spoilt, &mut [0; 50], &mut Scratch::default()).unwrap_err();
            assert!(error.message().starts_with(algorithm.name()), "{error}");
            assert_eq!(error.place().offset, Some((block.stored.start - HEADER_BYTES) as u64));
        }
        // A block that holds less than its header says.
        let last = table.blocks()[4].stored.start;
        chain[last - 3] += 1;
        let error = inflate(&chain, &mut [0; 51], &mut Scratch::default()).unwrap_err();
        assert_eq!((error.place().expected, error.place().found), (Some(11), Some(10)));
    }

    #[test]
    fn too_long_a_block_is_an_error() {
        let bytes = vec![0; MAX_BLOCK_BYTES + 1];
        let result = deflate_block(&bytes, Compression::default(), 100, &mut Vec::new(), &mut Scratch::default());
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Limit);
    }
}
