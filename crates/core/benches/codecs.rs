//! What `codec` adds to the libraries behind it: compress and decompress of baskets through it, beside the same library
//! called directly. `cargo bench -p sapwood --bench codecs` prints a line for each setting and size of a basket; the
//! last column is the share that `codec` takes of the library's time, which should be at most 1.1.

use std::hint::black_box;
use std::time::{Duration, Instant};

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use liblzma::stream::{Action, Check, Filters, LzmaOptions, Stream};
use lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use sapwood::codec::{Algorithm, Compression, Scratch, deflate, inflate};
use twox_hash::XxHash64;
use zstd::zstd_safe::{CCtx, DCtx};

const SETTINGS: [&str; 10] =
    ["zlib:1", "zlib:6", "zlib:9", "lz4:1", "lz4:4", "lz4:9", "zstd:1", "zstd:5", "zstd:9", "lzma:5"];
const SIZES: [usize; 3] = [4 << 10, 32 << 10, 512 << 10];
const HEADER: usize = 9;
/// The checksum before a block of LZ4, which is part of the format: the library's time includes it.
const LZ4_HEADER: usize = HEADER + 8;

/// Numbers as in physics: some of few bits, some from a small set, and few with noise in all their lower bits.
fn numbers(bytes: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let number = |at: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match at % 4 {
            0 => (1.0 + (state >> 40) as f32 / 16_777_216.0).to_be_bytes(),
            1 => ((state >> 62) as u32).to_be_bytes(),
            2 => ((at / 64) as u32).to_be_bytes(),
            _ => (0.5 * (state >> 60) as f32).to_be_bytes(),
        }
    };
    (0..bytes / 4).flat_map(number).collect()
}

/// The shortest times of two kinds of work, which take turns so that both see the same machine.
fn fastest(mut one: impl FnMut(), mut other: impl FnMut(), time: Duration) -> (Duration, Duration) {
    let mut least = (Duration::MAX, Duration::MAX);
    let start = Instant::now();
    while start.elapsed() < time || least.1 == Duration::MAX {
        let begin = Instant::now();
        one();
        least.0 = least.0.min(begin.elapsed());
        let begin = Instant::now();
        other();
        least.1 = least.1.min(begin.elapsed());
    }
    least
}

/// A library, called with what `codec` passes to it.
struct Direct {
    how: Compression,
    level: i32,
    zlib: (Compressor, Decompressor),
    zstd: (CCtx<'static>, DCtx<'static>),
    packed: Vec<u8>,
}

impl Direct {
    fn new(how: Compression, bytes: usize) -> Self {
        let level = match how.algorithm {
            Algorithm::Zstd => 2 * i32::from(how.level),
            Algorithm::Zlib => i32::from(how.level.max(2)),
            _ => i32::from(how.level),
        };
        let lvl = CompressionLvl::new(level.min(12)).expect("a level");
        Self {
            how,
            level,
            zlib: (Compressor::new(lvl), Decompressor::new()),
            zstd: (CCtx::create(), DCtx::create()),
            packed: vec![0; 2 * bytes + 1024],
        }
    }

    fn compress(&mut self, bytes: &[u8]) -> usize {
        match self.how.algorithm {
            Algorithm::Zstd => self.zstd.0.compress(&mut self.packed[..], bytes, self.level).expect("room"),
            Algorithm::Lz4 => {
                let mode = match self.how.level {
                    0..4 => CompressionMode::DEFAULT,
                    _ => CompressionMode::HIGHCOMPRESSION(self.level),
                };
                let length = compress_to_buffer(bytes, Some(mode), false, &mut self.packed).expect("room");
                black_box(XxHash64::oneshot(0, &self.packed[..length]));
                length
            }
            Algorithm::Lzma => {
                let mut options = LzmaOptions::new_preset(self.how.level.into()).expect("a preset");
                options.dict_size((bytes.len() as u32 / 4).max(4096));
                let mut filters = Filters::new();
                filters.lzma2(&options);
                let mut stream = Stream::new_stream_encoder(&filters, Check::Crc32).expect("an encoder");
                stream.process(bytes, &mut self.packed, Action::Finish).expect("room");
                stream.total_out() as usize
            }
            _ => self.zlib.0.zlib_compress(bytes, &mut self.packed).expect("room"),
        }
    }

    fn decompress(&mut self, chain: &[u8], into: &mut [u8]) {
        let length = into.len();
        match self.how.algorithm {
            Algorithm::Zstd => {
                self.zstd.1.decompress(into, &chain[HEADER..]).expect("a frame");
            }
            Algorithm::Lz4 => {
                black_box(XxHash64::oneshot(0, &chain[LZ4_HEADER..]));
                decompress_to_buffer(&chain[LZ4_HEADER..], Some(length as i32), into).expect("a block");
            }
            Algorithm::Lzma => {
                let mut stream = Stream::new_stream_decoder(72 << 20, 0).expect("a decoder");
                stream.process(&chain[HEADER..], into, Action::Finish).expect("a stream");
            }
            _ => {
                self.zlib.1.zlib_decompress(&chain[HEADER..], into).expect("a stream");
            }
        }
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let time = Duration::from_millis(150);
    println!(
        "{:8} {:>7} {:>6}  {:10} {:>12} {:>12} {:>6}",
        "setting", "bytes", "ratio", "", "library, us", "codec, us", "share"
    );
    for setting in SETTINGS.iter().filter(|name| wanted.is_empty() || wanted.iter().any(|word| name.contains(&**word)))
    {
        for size in SIZES {
            let how: Compression = setting.parse().expect("a setting");
            let (bytes, mut scratch, mut chain) = (numbers(size), Scratch::default(), Vec::new());
            let mut direct = Direct::new(how, size);
            let packed = fastest(
                || {
                    black_box(direct.compress(black_box(&bytes)));
                },
                || {
                    chain.clear();
                    deflate(black_box(&bytes), how, &mut chain, &mut scratch).expect("a chain");
                },
                time,
            );
            let (mut one, mut other) = (vec![0; size], vec![0; size]);
            let unpacked = fastest(
                || direct.decompress(black_box(&chain), black_box(&mut one)),
                || inflate(black_box(&chain), black_box(&mut other), &mut scratch).expect("a chain"),
                time,
            );
            assert!(one == bytes && other == bytes, "{setting}: the bytes come back");
            for (what, (library, codec)) in [("compress", packed), ("decompress", unpacked)] {
                let (library, codec) = (1e6 * library.as_secs_f64(), 1e6 * codec.as_secs_f64());
                let ratio = size as f64 / chain.len() as f64;
                println!(
                    "{setting:8} {size:7} {ratio:6.2}  {what:10} {library:12.2} {codec:12.2} {:6.3}",
                    codec / library
                );
            }
        }
    }
}
