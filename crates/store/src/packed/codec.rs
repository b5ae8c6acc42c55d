//! What blocks of packed files are compressed with: one function, from stored bytes to plain ones.

use std::cell::RefCell;

use libdeflater::Decompressor;
use liblzma::stream::{Action, Status, Stream};
use sapwood::{Error, ErrorKind, Result};
use zstd::zstd_safe::{DCtx, find_frame_compressed_size, get_error_name};

/// Memory that an xz block may ask for: its dictionary is at most as long as a block of SquashFS, 1 MiB.
const XZ_BYTES: u64 = 64 << 20;

/// A codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// The bytes as they are.
    Stored,
    Zlib,
    Xz,
    Lz4,
    Zstd,
}

/// Contexts of a thread, made on first use.
#[derive(Default)]
struct Contexts {
    zlib: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
}

thread_local! {
    static CONTEXTS: RefCell<Contexts> = RefCell::default();
}

/// `ZSTD_error_checksum_wrong`.
const ZSTD_CHECKSUM_WRONG: usize = 22;

impl Codec {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Zlib => "zlib",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The checksum of its content that a stored block has at its end, and that inflating compares.
    pub(super) fn checksum(self, stored: &[u8]) -> Option<u32> {
        // In the descriptor of a zstd frame, which follows its magic number; content of several frames has several.
        const HAS_CHECKSUM: u8 = 4;
        let is_checked = self == Self::Zstd
            && stored.get(4).is_some_and(|descriptor| descriptor & HAS_CHECKSUM != 0)
            && find_frame_compressed_size(stored).is_ok_and(|length| length == stored.len());
        stored.last_chunk().filter(|_| is_checked).map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Inflates `stored` to the beginning of `into`; returns how many bytes it holds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] where it is damaged or longer than `into`, [`ErrorKind::Checksum`] where only that
    /// tells.
    pub(super) fn inflate(self, stored: &[u8], into: &mut [u8]) -> Result<usize> {
        let damaged = |why: String| Error::malformed(format!("{}: {why}", self.as_str()));
        match self {
            Self::Stored => {
                let found = stored.len() as u64;
                let room = into.len() as u64;
                let place = into.get_mut(..stored.len());
                place.ok_or_else(|| damaged("too many bytes".to_owned()).wanted(room, found))?.copy_from_slice(stored);
                Ok(stored.len())
            }
            Self::Zlib => CONTEXTS.with_borrow_mut(|contexts| {
                let context = contexts.zlib.get_or_insert_with(Decompressor::new);
                context.zlib_decompress(stored, into).map_err(|error| damaged(error.to_string()))
            }),
            Self::Xz => xz(stored, into).map_err(|error| damaged(error.to_string())),
            Self::Lz4 => {
                let room = i32::try_from(into.len()).map_err(|_| damaged("too many bytes".to_owned()))?;
                lz4::block::decompress_to_buffer(stored, Some(room), into).map_err(|error| damaged(error.to_string()))
            }
            Self::Zstd => CONTEXTS.with_borrow_mut(|contexts| {
                let context = match &mut contexts.zstd {
                    Some(context) => context,
                    empty => empty.insert(
                        DCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Io, "zstd: no memory for a context"))?,
                    ),
                };
                context.decompress(into, stored).map_err(|code| {
                    let why = get_error_name(code);
                    // The library's number of this error, as it counts them: from the end.
                    let is_checksum = code == ZSTD_CHECKSUM_WRONG.wrapping_neg();
                    if is_checksum {
                        Error::new(ErrorKind::Checksum, format!("zstd: {why}"))
                    } else {
                        damaged(why.to_owned())
                    }
                })
            }),
        }
    }
}

fn xz(stored: &[u8], into: &mut [u8]) -> std::result::Result<usize, liblzma::stream::Error> {
    let mut stream = Stream::new_stream_decoder(XZ_BYTES, 0)?;
    loop {
        let (read, wrote) = (stream.total_in() as usize, stream.total_out() as usize);
        let (input, output) = (stored.get(read..).unwrap_or_default(), into.get_mut(wrote..).unwrap_or_default());
        let status = stream.process(input, output, Action::Finish)?;
        if status == Status::StreamEnd {
            return Ok(stream.total_out() as usize);
        }
        if stream.total_in() as usize == read && stream.total_out() as usize == wrote {
            return Err(liblzma::stream::Error::Data);
        }
    }
}
