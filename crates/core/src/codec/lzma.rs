//! `XZ`: an xz stream with one LZMA2 filter.

use liblzma::stream::{Action, Check, Error as LzmaError, Filters, LzmaOptions, Status, Stream};

use crate::{Error, ErrorKind, Result};

/// The most memory that a decoder may take. A stream names the size of its dictionary itself; the highest preset names
/// 64 MiB, whatever the size of the block, and nothing asks for more.
const DECODER_BYTES: u64 = 72 << 20;

/// The smallest dictionary that the format knows.
const LEAST_DICTIONARY_BYTES: u32 = 4096;

/// Inflates; returns how many bytes the stream held. Its check (CRC-32 in files by ROOT) is verified.
pub(super) fn inflate(stored: &[u8], into: &mut [u8]) -> Result<usize> {
    let mut stream = Stream::new_stream_decoder(DECODER_BYTES, 0).map_err(gave_up)?;
    match stream.process(stored, into, Action::Finish) {
        Ok(Status::StreamEnd) => Ok(usize::try_from(stream.total_out()).unwrap_or(usize::MAX)),
        Ok(_) if stream.total_in() < stored.len() as u64 => {
            Err(Error::malformed("lzma: the block holds more bytes than it says"))
        }
        Ok(_) => Err(Error::malformed("lzma: the stream ends too early")),
        Err(error) => Err(gave_up(error)),
    }
}

/// Deflates; returns the length, or None if it does not fit `into`.
///
/// # Errors
///
/// If the library gives up for another reason, such as no memory.
pub(super) fn deflate(bytes: &[u8], level: u8, into: &mut [u8]) -> Result<Option<usize>> {
    let preset = level.min(9);
    let mut options = LzmaOptions::new_preset(u32::from(preset)).map_err(gave_up)?;
    // The library clears its whole dictionary and the tables over it for each block. With a quarter of the block, as in
    // ROOT, small baskets deflate up to five times faster than with that of the preset. Of baskets of 64 kB it takes
    // 5 to 20 % less time than with all of the block, and the sizes are within 0.4 % of one another, either way.
    let quarter = u32::try_from(bytes.len() / 4).unwrap_or(u32::MAX);
    options.dict_size(quarter.clamp(LEAST_DICTIONARY_BYTES, preset_dictionary_bytes(preset)));
    let mut filters = Filters::new();
    filters.lzma2(&options);
    let mut stream = Stream::new_stream_encoder(&filters, Check::Crc32).map_err(gave_up)?;
    match stream.process(bytes, into, Action::Finish).map_err(gave_up)? {
        Status::StreamEnd => Ok(usize::try_from(stream.total_out()).ok()),
        _ => Ok(None),
    }
}

/// The dictionary of a preset, as xz(1) lists them.
fn preset_dictionary_bytes(preset: u8) -> u32 {
    match preset {
        0 => 1 << 18,
        1 => 1 << 20,
        2 => 1 << 21,
        3 | 4 => 1 << 22,
        5 | 6 => 1 << 23,
        7 => 1 << 24,
        8 => 1 << 25,
        _ => 1 << 26,
    }
}

fn gave_up(error: LzmaError) -> Error {
    let kind = match error {
        LzmaError::Data | LzmaError::Format => ErrorKind::Malformed,
        LzmaError::Options | LzmaError::NoCheck | LzmaError::UnsupportedCheck => ErrorKind::Unsupported,
        LzmaError::MemLimit => ErrorKind::Limit,
        LzmaError::Mem | LzmaError::Program => ErrorKind::Io,
    };
    Error::new(kind, format!("lzma: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn streams_come_back_at_each_level() {
        let mut packed = vec![0; 100_000];
        for bytes in [samples::numbers(1), samples::numbers(20_000), samples::noise(500)] {
            let mut back = vec![0; bytes.len()];
            for level in 1..=9 {
                let length = deflate(&bytes, level, &mut packed).unwrap().unwrap();
                assert_eq!(inflate(&packed[..length], &mut back).unwrap(), bytes.len());
                assert_eq!(back, bytes);
            }
        }
    }

    #[test]
    fn streams_of_the_plain_presets_are_read_too() {
        let bytes = samples::numbers(5_000);
        for preset in [0, 6, 9] {
            let mut packed = Vec::with_capacity(10_000);
            let mut stream = Stream::new_easy_encoder(preset, Check::Crc32).unwrap();
            assert_eq!(stream.process_vec(&bytes, &mut packed, Action::Finish).unwrap(), Status::StreamEnd);
            let mut back = vec![0; bytes.len()];
            assert_eq!(inflate(&packed, &mut back).unwrap(), bytes.len());
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn a_dictionary_beyond_the_limit_is_refused() {
        let mut options = LzmaOptions::new_preset(6).unwrap();
        options.dict_size(1 << 27);
        let mut stream = Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc32).unwrap();
        let mut packed = Vec::with_capacity(1_000);
        stream.process_vec(&[1; 100], &mut packed, Action::Finish).unwrap();
        assert_eq!(inflate(&packed, &mut [0; 100]).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn wrong_lengths_say_which_way() {
        let bytes = samples::numbers(1_000);
        let mut packed = [0; 2_000];
        assert_eq!(deflate(&bytes, 6, &mut packed[..50]).unwrap(), None);
        let length = deflate(&bytes, 6, &mut packed).unwrap().unwrap();
        let error = inflate(&packed[..length], &mut [0; 999]).unwrap_err();
        assert_eq!(error.to_string(), "malformed: lzma: the block holds more bytes than it says");
        let error = inflate(&packed[..length - 1], &mut [0; 1_001]).unwrap_err();
        assert_eq!(error.to_string(), "malformed: lzma: the stream ends too early");
    }
}
