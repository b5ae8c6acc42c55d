//! The limit of writing a tree: swap the bytes of each basket, compress them with the library and level in use, and
//! write them where they belong. The baskets are those of a file that is there, inflated and swapped beforehand into
//! rows as a caller has them; nothing is cut, counted, described or recorded. No writer of these baskets can be faster
//! by more than the noise.
//!
//! ```text
//! limit --write FILE OUT --codec none:0|zlib:1|lz4hc:4|zstd:10 [--threads N] [--repeat N]
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::inflate::Inflater;
use crate::{cpu_seconds, swap};

/// A basket before it is written.
struct Basket {
    /// Its key, and the words of a basket behind it.
    key: Vec<u8>,
    /// Native-endian values.
    values: Vec<u8>,
    width: usize,
    /// Entry offsets, as they stand in the file.
    offsets: Vec<u8>,
}

fn word(bytes: &[u8], at: usize, width: usize) -> usize {
    bytes[at..at + width].iter().fold(0, |word, &byte| word << 8 | usize::from(byte))
}

/// All baskets of a file, in the order of their places.
fn baskets(file: &[u8]) -> Vec<Basket> {
    let (mut at, mut found) = (word(file, 8, 4), Vec::new());
    let end = if word(file, 4, 4) < 1_000_000 { word(file, 12, 4) } else { word(file, 12, 8) };
    let mut inflater = Inflater::new();
    while at + 18 < end {
        let nbytes = word(file, at, 4) as u32 as i32;
        if nbytes <= 0 {
            at += nbytes.unsigned_abs().max(4) as usize; // a gap
            continue;
        }
        let record = &file[at..at + nbytes as usize];
        at += record.len();
        let (objlen, keylen) = (word(record, 6, 4), word(record, 14, 2));
        let class = if word(record, 4, 2) > 1000 { 34 } else { 26 };
        if &record[class..class + 8] != b"\x07TBasket" {
            continue;
        }
        let mut payload = vec![0; objlen + 16];
        let payload = inflater.payload(record, keylen, objlen, &mut payload);
        let header = keylen - 19;
        let border = word(record, header + 14, 4) - keylen;
        let has_offsets = border < objlen;
        let width = if has_offsets { 4 } else { word(record, header + 6, 4) };
        let width = if matches!(width, 1 | 2 | 4 | 8) { width } else { 4 };
        let mut values = vec![0; border];
        let whole = border / width * width;
        // SAFETY: `values` is as long as what is copied
        unsafe { swap::copy(&payload[..whole], values.as_mut_ptr(), width, false) };
        values[whole..].copy_from_slice(&payload[whole..border]);
        found.push(Basket { key: record[..keylen].to_vec(), values, width, offsets: payload[border..].to_vec() });
    }
    found
}

/// What compresses, made once for each thread.
pub struct Deflater {
    deflate: libdeflater::Compressor,
    zstd: zstd::bulk::Compressor<'static>,
}

impl Deflater {
    pub fn new(level: i32) -> Deflater {
        let deflate = libdeflater::CompressionLvl::new(level.clamp(1, 9)).expect("a level of libdeflate");
        Deflater {
            deflate: libdeflater::Compressor::new(deflate),
            zstd: zstd::bulk::Compressor::new(level).expect("a context of zstd"),
        }
    }

    /// The payload as a chain of blocks behind their headers: how many bytes it takes.
    pub fn blocks(&mut self, codec: &str, level: i32, payload: &[u8], to: &mut [u8]) -> usize {
        const BLOCK: usize = (1 << 24) - 1;
        const HEADER: usize = 9;
        let mut at = 0;
        for block in payload.chunks(BLOCK) {
            let to = &mut to[at + HEADER..];
            at += HEADER
                + match codec {
                    "zlib" => self.deflate.zlib_compress(block, to).expect("a block of zlib"),
                    "zstd" => self.zstd.compress_to_buffer(block, to).expect("a block of zstd"),
                    "lz4hc" => {
                        let mode = lz4::block::CompressionMode::HIGHCOMPRESSION(level);
                        // eight bytes of checksum come first; the limit does not make them
                        8 + lz4::block::compress_to_buffer(block, Some(mode), false, &mut to[8..])
                            .expect("a block of lz4")
                    }
                    other => panic!("no codec {other}"),
                };
        }
        at
    }
}

/// Contexts and buffers of one thread.
struct Packer {
    deflater: Deflater,
    payload: Vec<u8>,
    record: Vec<u8>,
}

impl Packer {
    fn new(level: i32, largest: usize) -> Packer {
        Packer {
            deflater: Deflater::new(level),
            payload: vec![0; largest],
            record: vec![0; largest + largest / 32 + 4096],
        }
    }

    /// The record as it is written.
    fn pack(&mut self, basket: &Basket, codec: &str, level: i32) -> &[u8] {
        let keylen = basket.key.len();
        self.record[..keylen].copy_from_slice(&basket.key);
        let (len, values) = (basket.values.len() + basket.offsets.len(), basket.values.len());
        let to = if codec == "none" { &mut self.record[keylen..] } else { &mut self.payload[..] };
        let whole = values / basket.width * basket.width;
        // SAFETY: both buffers have room for the largest basket
        unsafe { swap::copy(&basket.values[..whole], to.as_mut_ptr(), basket.width, false) };
        to[whole..values].copy_from_slice(&basket.values[whole..]);
        to[values..len].copy_from_slice(&basket.offsets);
        if codec == "none" {
            return &self.record[..keylen + len];
        }
        let payload = &self.payload[..len];
        let mut packed = self.deflater.blocks(codec, level, payload, &mut self.record[keylen..]);
        if packed >= len {
            // what does not shrink is written as it is
            self.record[keylen..keylen + len].copy_from_slice(payload);
            packed = len;
        }
        &self.record[..keylen + packed]
    }
}

pub fn main(mut args: impl Iterator<Item = String>) {
    let source = args.next().expect("--write FILE OUT [options]");
    let target = args.next().expect("--write FILE OUT [options]");
    let (mut codec, mut level, mut threads, mut repeat) = (String::from("none"), 0, 1, 1);
    while let Some(option) = args.next() {
        let mut value = || args.next().expect("an option lacks its value");
        match option.as_str() {
            "--codec" => {
                let given = value();
                let (name, number) = given.split_once(':').expect("--codec NAME:LEVEL");
                (codec, level) = (name.to_string(), number.parse().expect("--codec NAME:LEVEL"));
            }
            "--threads" => threads = value().parse().expect("--threads N"),
            "--repeat" => repeat = value().parse().expect("--repeat N"),
            other => panic!("no option {other}"),
        }
    }
    let baskets = baskets(&std::fs::read(&source).expect("the file that holds the baskets"));
    let largest = baskets.iter().map(|basket| basket.values.len() + basket.offsets.len()).max().unwrap_or(0) + 4096;
    let (mut cpu, mut wall, mut size) = (Vec::new(), Vec::new(), 0);
    for _ in 0..repeat {
        let _ = std::fs::remove_file(&target);
        let (w, c) = (Instant::now(), cpu_seconds());
        let file = File::create(&target).expect("the file that is written");
        let (next, place) = (AtomicUsize::new(0), AtomicU64::new(100));
        let one = || {
            let mut packer = Packer::new(level, largest);
            while let Some(basket) = baskets.get(next.fetch_add(1, Ordering::Relaxed)) {
                let record = packer.pack(basket, &codec, level);
                let at = place.fetch_add(record.len() as u64, Ordering::Relaxed);
                file.write_all_at(record, at).expect("a basket is written");
            }
        };
        if threads == 1 {
            one();
        } else {
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(one))));
        }
        drop(file);
        cpu.push(cpu_seconds() - c);
        wall.push(w.elapsed().as_secs_f64());
        size = place.into_inner();
    }
    let _ = std::fs::remove_file(&target);
    println!("{{\"cpu\":{cpu:?},\"wall\":{wall:?},\"size\":{size},\"baskets\":{}}}", baskets.len());
}
