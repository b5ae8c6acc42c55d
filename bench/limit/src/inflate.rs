//! Inflating one record: a chain of blocks, each behind nine bytes that name the codec and both sizes.

/// Contexts that are made once for each thread.
pub struct Inflater {
    deflate: libdeflater::Decompressor,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Inflater {
    pub fn new() -> Inflater {
        Inflater {
            deflate: libdeflater::Decompressor::new(),
            zstd: zstd::bulk::Decompressor::new().expect("a context of zstd"),
        }
    }

    /// The payload of a record: in `scratch` when it was compressed, else where it lies in the file.
    pub fn payload<'a>(&mut self, record: &'a [u8], keylen: usize, objlen: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        let mut from = &record[keylen..];
        if from.len() >= objlen {
            return &from[..objlen];
        }
        let mut done = 0;
        while done < objlen {
            let size = |at: usize| from[at] as usize | (from[at + 1] as usize) << 8 | (from[at + 2] as usize) << 16;
            let (packed, whole) = (size(3), size(6));
            let block = &from[9..9 + packed];
            let to = &mut scratch[done..done + whole];
            match &from[..2] {
                b"ZL" => {
                    self.deflate.zlib_decompress(block, to).expect("a block of zlib");
                }
                b"ZS" => {
                    self.zstd.decompress_to_buffer(block, to).expect("a block of zstd");
                }
                // eight bytes of checksum come first; the limit does not look at them
                b"L4" => {
                    lz4::block::decompress_to_buffer(&block[8..], Some(whole as i32), to).expect("a block of lz4");
                }
                b"XZ" => {
                    use std::io::Read;
                    liblzma::read::XzDecoder::new(block).read_exact(to).expect("a block of xz");
                }
                other => panic!("no codec {other:?}"),
            }
            done += whole;
            from = &from[9 + packed..];
        }
        &scratch[..objlen]
    }
}
