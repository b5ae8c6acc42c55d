//! COMPRESSION: chains of blocks with ROOT's 9-byte header, and the five codecs that fill them.
//!
//! A compressed object is a *chain*: blocks one after another, without a count, until the known unsealed size is
//! covered. Each block names its codec, so codecs may be mixed, and each can be inflated alone: to read a few bytes,
//! only the blocks that cover them are touched.
//!
//! # Example
//!
//! ```
//! use sapwood::codec::{self, Compression, Scratch};
//! let values = b"sap and wood, ".repeat(100);
//! let mut scratch = Scratch::default();
//! let mut chain = Vec::new();
//! assert!(codec::deflate(&values, Compression::default(), &mut chain, &mut scratch)?);
//!
//! let mut back = vec![0; values.len()];
//! codec::inflate(&chain, &mut back, &mut scratch)?;
//! assert_eq!(back, values);
//! # Ok::<(), sapwood::Error>(())
//! ```

mod block;
mod blocks;
mod by_name;
mod chain;
mod compression;
mod lz4;
mod lzma;
mod random_access;
mod scratches;
mod table;
mod zlib;
mod zstd;

#[doc(hidden)]
pub use block::BlockHeader;
pub(crate) use block::{Block, HEADER_BYTES, MAX_BLOCK_BYTES};
#[doc(hidden)]
pub use blocks::blocks;
pub use by_name::CompressionByName;
#[doc(hidden)]
pub use by_name::is_like;
#[doc(hidden)]
pub use chain::{deflate, deflate_block, inflate, inflate_range};
pub(crate) use chain::{deflate_parts, headers_add_up, inflate_parts};
pub use compression::{Algorithm, Compression};
pub use random_access::RandomAccess;
pub(crate) use scratches::{LentScratch, Scratches};
#[doc(hidden)]
pub use table::BlockTable;

/// What one thread keeps between calls: the contexts of the codecs, created on first use, and two buffers.
///
/// With it, inflating allocates nothing once every codec in use has been met, but for LZMA, whose library makes a
/// decoder anew for each block. The buffers never pass the size of a block (16 MiB).
///
/// # Example
///
/// ```
/// use sapwood::codec::{self, Compression, Scratch};
/// let mut scratch = Scratch::default(); // one a thread, for as many chains as it meets
/// let mut chain = Vec::new();
/// for size in [1_000, 2_000] {
///     chain.clear();
///     codec::deflate(&vec![7; size], Compression::default(), &mut chain, &mut scratch)?;
///     codec::inflate(&chain, &mut vec![0; size], &mut scratch)?;
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Default)]
pub struct Scratch {
    zlib: zlib::Contexts,
    zstd: zstd::Contexts,
    /// A block of which only a part is wanted.
    partial: Vec<u8>,
    /// A block being deflated: kept initialised, so that no call pays for zeros.
    packed: Vec<u8>,
}

impl Scratch {
    /// Gives back the memory of its buffers, and keeps the contexts.
    fn forget_buffers(&mut self) {
        (self.partial, self.packed) = (Vec::new(), Vec::new());
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// Inputs that the tests of all codecs share.
#[cfg(test)]
mod samples {
    /// Bytes that no codec can make smaller.
    pub fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D)
        };
        std::iter::repeat_with(|| next().to_be_bytes()).flatten().take(bytes).collect()
    }

    /// Bytes like those of a basket: big-endian numbers that change slowly in their high bytes.
    pub fn numbers(bytes: usize) -> Vec<u8> {
        let noise = noise(bytes / 4 + 1);
        let number = |(i, low): (usize, &u8)| ((i as u32 / 7) << 8 | u32::from(*low & 15)).to_be_bytes();
        noise.iter().enumerate().flat_map(number).take(bytes).collect()
    }
}
