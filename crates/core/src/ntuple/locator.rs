//! Where payloads are.

use super::frame::{FrameReader, FrameWriter};
use crate::error::{Error, Result};

/// Where a payload is, and how many bytes are stored there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locator {
    /// In the file: position of the payload, never of its key.
    File { at: u64, bytes: u64 },
    /// In something else, of a kind that its number tells: it is jumped over, and refused on use.
    Other { kind: u8 },
}

const LARGE: u8 = 1;

impl Locator {
    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<Self> {
        let at = reader.position();
        let size = reader.i32()?;
        if size >= 0 {
            return Ok(Self::File { at: reader.u64()?, bytes: size as u64 });
        }
        let word = size.unsigned_abs();
        let (length, kind) = ((word & 0xffff) as usize, (word >> 24 & 0x7f) as u8);
        let Some(length) = length.checked_sub(4) else {
            return Err(Error::malformed("a locator is too short").at(at as u64).wanted(4, length as u64));
        };
        let position = reader.position();
        let mut inside = FrameReader::new(reader.take(length)?, position);
        match kind {
            LARGE => {
                let bytes = inside.u64()?;
                Ok(Self::File { at: inside.u64()?, bytes })
            }
            kind => Ok(Self::Other { kind }),
        }
    }

    pub(crate) fn write(self, writer: &mut FrameWriter) -> Result<()> {
        match self {
            Self::File { at, bytes } => match i32::try_from(bytes) {
                Ok(bytes) => {
                    writer.i32(bytes);
                    writer.u64(at);
                }
                Err(_) => {
                    let word = i32::from(LARGE) << 24 | 20;
                    writer.i32(-word);
                    writer.u64(bytes);
                    writer.u64(at);
                }
            },
            Self::Other { .. } => return Err(Error::internal("a locator is not in the file")),
        }
        Ok(())
    }

    /// Position and stored bytes.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for what is not in the file.
    pub(crate) fn in_file(self) -> Result<(u64, u64)> {
        match self {
            Self::File { at, bytes } => Ok((at, bytes)),
            Self::Other { kind } => {
                let message = format!("a locator of kind {kind} leads out of the file: only files are read");
                Err(Error::unsupported(message))
            }
        }
    }
}

/// Where an envelope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Bytes once inflated.
    pub(crate) length: u64,
    pub(crate) locator: Locator,
}

impl Link {
    pub(crate) fn new(at: u64, bytes: u64, length: u64) -> Self {
        Self { length, locator: Locator::File { at, bytes } }
    }

    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<Self> {
        Ok(Self { length: reader.u64()?, locator: Locator::read(reader)? })
    }

    pub(crate) fn write(self, writer: &mut FrameWriter) -> Result<()> {
        writer.u64(self.length);
        self.locator.write(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ones_have_the_long_form() {
        for bytes in [0, 5, i32::MAX as u64, i32::MAX as u64 + 1, 1 << 40] {
            let mut writer = FrameWriter::default();
            let locator = Locator::File { at: 77, bytes };
            locator.write(&mut writer).unwrap();
            assert_eq!(writer.bytes.len(), if bytes <= i32::MAX as u64 { 12 } else { 20 });
            let mut reader = FrameReader::new(&writer.bytes, 0);
            assert_eq!(Locator::read(&mut reader).unwrap(), locator);
            assert_eq!(reader.left(), 0);
        }
        let mut writer = FrameWriter::default();
        Locator::File { at: 1, bytes: 2_240_000_024 }.write(&mut writer).unwrap();
        assert_eq!(writer.bytes[..4], [0xec, 0xff, 0xff, 0xfe]);
    }

    #[test]
    fn unknown_kinds_are_jumped_over_and_refused_on_use() {
        let mut bytes = (-(0x02_00_00_10_i32)).to_le_bytes().to_vec();
        bytes.extend([1; 12]);
        bytes.push(42);
        let mut reader = FrameReader::new(&bytes, 0);
        let locator = Locator::read(&mut reader).unwrap();
        assert_eq!((locator, reader.left()), (Locator::Other { kind: 2 }, 1));
        assert!(locator.in_file().is_err());
        assert!(Locator::read(&mut FrameReader::new(&(-3_i32).to_le_bytes(), 0)).is_err());
    }
}
