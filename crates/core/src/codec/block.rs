//! The header of a block, both ways, and the place of a block in its chain.

use std::ops::Range;

use super::{Algorithm, Scratch, lz4, lzma, zlib, zstd};
use crate::{Error, Result};

/// Length of a block's header.
pub const HEADER_BYTES: usize = 9;

/// The most that a block can hold, on storage and unsealed: both sizes have 24 bits.
pub const MAX_BLOCK_BYTES: usize = 0xFF_FFFF;

/// The 9 bytes before each compressed block: two letters and a method byte that name the codec, then the stored and
/// the unsealed size, 24 bits each, little-endian (the only numbers of the container that are).
///
/// # Example
///
/// ```
/// use sapwood::codec::{Algorithm, BlockHeader};
/// let header = BlockHeader::new(Algorithm::Lz4, 300, 70_000)?;
/// assert_eq!(header.write(), *b"L4\x01\x2c\x01\x00\x70\x11\x01");
/// assert_eq!(BlockHeader::read(&header.write())?, header);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockHeader {
    algorithm: Algorithm,
    stored_bytes: u32,
    unsealed_bytes: u32,
}

impl BlockHeader {
    /// A header for a block of `stored_bytes` behind the header, which hold `unsealed_bytes`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a size passes [`MAX_BLOCK_BYTES`].
    pub fn new(algorithm: Algorithm, stored_bytes: usize, unsealed_bytes: usize) -> Result<Self> {
        Ok(Self { algorithm, stored_bytes: fits(stored_bytes)?, unsealed_bytes: fits(unsealed_bytes)? })
    }

    /// Reads the header at the start of `bytes`. Sizes are taken as they are: [`blocks`](super::blocks) compares them
    /// with the chain.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if there are fewer than [`HEADER_BYTES`] or the magic is
    /// unknown, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the codec is known but its method is not.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let Some(&[a, b, method, s0, s1, s2, u0, u1, u2]) = bytes.first_chunk::<HEADER_BYTES>() else {
            let found = bytes.len() as u64;
            return Err(Error::malformed("the chain ends inside a block header").wanted(HEADER_BYTES as u64, found));
        };
        let algorithm = match &[a, b] {
            b"ZL" => Algorithm::Zlib,
            b"XZ" => Algorithm::Lzma,
            b"CS" => Algorithm::OldDeflate,
            b"L4" => Algorithm::Lz4,
            b"ZS" => Algorithm::Zstd,
            _ => return Err(Error::malformed(format!("no codec has the magic {:02x}{:02x}", a, b))),
        };
        let wanted = method_of(algorithm);
        // LZ4's method is the major version of the library that wrote it, and readers have never looked at it.
        if method != wanted && algorithm != Algorithm::Lz4 {
            return Err(Error::unsupported(format!("{algorithm} block with an unknown method"))
                .wanted(u64::from(wanted), u64::from(method)));
        }
        let stored_bytes = u32::from_le_bytes([s0, s1, s2, 0]);
        let unsealed_bytes = u32::from_le_bytes([u0, u1, u2, 0]);
        Ok(Self { algorithm, stored_bytes, unsealed_bytes })
    }

    /// The 9 bytes.
    pub fn write(self) -> [u8; HEADER_BYTES] {
        let [a, b] = match self.algorithm {
            Algorithm::Zlib => *b"ZL",
            Algorithm::Lzma => *b"XZ",
            Algorithm::OldDeflate => *b"CS",
            Algorithm::Lz4 => *b"L4",
            Algorithm::Zstd => *b"ZS",
        };
        let [s0, s1, s2, _] = self.stored_bytes.to_le_bytes();
        let [u0, u1, u2, _] = self.unsealed_bytes.to_le_bytes();
        [a, b, method_of(self.algorithm), s0, s1, s2, u0, u1, u2]
    }

    /// The codec.
    pub fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Bytes behind the header, LZ4's checksum among them.
    pub fn stored_bytes(self) -> usize {
        self.stored_bytes as usize
    }

    /// Bytes that the block holds.
    pub fn unsealed_bytes(self) -> usize {
        self.unsealed_bytes as usize
    }
}

/// The byte after the magic.
fn method_of(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::Zlib | Algorithm::OldDeflate => 8, // Z_DEFLATED
        Algorithm::Lzma => 0,
        Algorithm::Lz4 | Algorithm::Zstd => 1,
    }
}

fn fits(bytes: usize) -> Result<u32> {
    u32::try_from(bytes)
        .ok()
        .filter(|_| bytes <= MAX_BLOCK_BYTES)
        .ok_or_else(|| Error::limit("a size of a block has 24 bits", MAX_BLOCK_BYTES as u64, bytes as u64))
}

/// One block and its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// What its first 9 bytes say.
    pub header: BlockHeader,
    /// Place in the chain of the bytes behind the header.
    pub stored: Range<usize>,
    /// Place of what it holds in the unsealed object.
    pub unsealed: Range<usize>,
}

impl Block {
    /// Inflates this block of `chain` into exactly `into.len()` bytes. Blocks do not depend on one another, so several
    /// threads may work on one chain, each with its own scratch.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if `into` is not as long as the block or `chain` is not
    /// the chain of this block, [`ErrorKind::Checksum`](crate::ErrorKind::Checksum) if LZ4's checksum differs,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for all other damage. The offset is that of the block's
    /// header in the chain. What is in `into` after an error is not defined.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::{self, BlockTable, Compression, Scratch};
    /// let mut scratch = Scratch::default();
    /// let mut chain = Vec::new();
    /// codec::deflate(&[5; 1_000], Compression::default(), &mut chain, &mut scratch)?;
    /// let table = BlockTable::walk(&chain, 1_000)?;
    /// let mut back = [0; 1_000];
    /// table.blocks()[0].inflate(&chain, &mut back, &mut scratch)?;
    /// assert_eq!(back, [5; 1_000]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn inflate(&self, chain: &[u8], into: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let offset = self.stored.start.saturating_sub(HEADER_BYTES) as u64;
        let wanted = self.unsealed.len() as u64;
        if into.len() as u64 != wanted {
            let found = into.len() as u64;
            return Err(Error::mismatch("a block inflates into its own length").at(offset).wanted(wanted, found));
        }
        let stored = chain
            .get(self.stored.clone())
            .ok_or_else(|| Error::mismatch("the block belongs to another chain").at(offset))?;
        let found = match self.header.algorithm {
            Algorithm::Zlib => zlib::inflate(stored, into, &mut scratch.zlib),
            Algorithm::OldDeflate => zlib::inflate_raw(stored, into, &mut scratch.zlib),
            Algorithm::Lzma => lzma::inflate(stored, into),
            Algorithm::Lz4 => lz4::inflate(stored, into),
            Algorithm::Zstd => zstd::inflate(stored, into, &mut scratch.zstd),
        };
        match found.map_err(|error| error.at(offset))? as u64 {
            found if found == wanted => Ok(()),
            found => {
                Err(Error::malformed(format!("{}: the block holds fewer bytes than it says", self.header.algorithm))
                    .at(offset)
                    .wanted(wanted, found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn headers_come_back_as_they_went() {
        for algorithm in Algorithm::ALL {
            for (stored, unsealed) in [(0, 0), (1, 2), (0x01_0203, 0x0A_0B0C), (MAX_BLOCK_BYTES, MAX_BLOCK_BYTES)] {
                let header = BlockHeader::new(algorithm, stored, unsealed).unwrap();
                assert_eq!(BlockHeader::read(&header.write()).unwrap(), header);
                assert_eq!((header.stored_bytes(), header.unsealed_bytes()), (stored, unsealed));
            }
            assert_eq!(BlockHeader::new(algorithm, 1 << 24, 0).unwrap_err().kind(), ErrorKind::Limit);
            assert_eq!(BlockHeader::new(algorithm, 0, 1 << 24).unwrap_err().kind(), ErrorKind::Limit);
        }
    }

    #[test]
    fn sizes_are_little_endian() {
        let header = BlockHeader::read(b"ZL\x08\x01\x02\x03\x04\x05\x06").unwrap();
        assert_eq!((header.stored_bytes(), header.unsealed_bytes()), (0x03_0201, 0x06_0504));
    }

    #[test]
    fn the_method_must_fit_but_for_lz4() {
        for (magic, right) in [(b"ZL", 8), (b"CS", 8), (b"XZ", 0), (b"ZS", 1)] {
            for method in 0..=u8::MAX {
                let read = BlockHeader::read(&[magic[0], magic[1], method, 0, 0, 0, 0, 0, 0]);
                match method == right {
                    true => assert!(read.is_ok()),
                    false => assert_eq!(read.unwrap_err().kind(), ErrorKind::Unsupported),
                }
            }
        }
        assert!((0..=u8::MAX).all(|method| BlockHeader::read(&[b'L', b'4', method, 0, 0, 0, 0, 0, 0]).is_ok()));
    }

    #[test]
    fn anything_else_is_malformed() {
        assert_eq!(BlockHeader::read(b"zl\x08\0\0\0\0\0\0").unwrap_err().kind(), ErrorKind::Malformed);
        for short in 0..HEADER_BYTES {
            let error = BlockHeader::read(&b"ZL\x08\0\0\0\0\0\0"[..short]).unwrap_err();
            assert_eq!((error.place().expected, error.place().found), (Some(9), Some(short as u64)));
        }
    }

    #[test]
    fn a_block_refuses_another_length_and_another_chain() {
        let header = BlockHeader::new(Algorithm::Lz4, 20, 4).unwrap();
        let block = Block { header, stored: 9..29, unsealed: 0..4 };
        let mut scratch = Scratch::default();
        let error = block.inflate(&[0; 29], &mut [0; 3], &mut scratch).unwrap_err();
        assert_eq!((error.kind(), error.place().expected), (ErrorKind::Mismatch, Some(4)));
        assert_eq!(block.inflate(&[0; 28], &mut [0; 4], &mut scratch).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}
