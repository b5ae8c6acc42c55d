//! Envelopes: header, footer and page lists, each with its type, its length and a checksum.

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::frame::{FrameReader, FrameWriter};
use super::locator::Link;
use crate::codec::{Compression, Scratch, deflate, inflate};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::Limits;

/// Which envelope it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeType {
    Header = 1,
    Footer = 2,
    PageList = 3,
}

impl EnvelopeType {
    fn words(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Footer => "footer",
            Self::PageList => "page list",
        }
    }

    /// Adds to an error which envelope it is about.
    pub(crate) fn name(self, error: Error) -> Error {
        error.in_object(self.words())
    }
}

/// An envelope that was checked.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    bytes: Bytes,
    /// XXH3 of the envelope. Footer and page lists repeat the header's.
    pub(crate) checksum: u64,
}

const HEAD_BYTES: usize = 8;
const SUM_BYTES: usize = 8;

impl Envelope {
    /// Inflates and checks stored bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where type or length are others, [`Checksum`](ErrorKind::Checksum),
    /// [`Limit`](ErrorKind::Limit) where it would inflate to more than the limits allow.
    pub(crate) fn open(kind: EnvelopeType, stored: Bytes, link: &Link, limits: &Limits) -> Result<Self> {
        Self::read(kind, stored, link.length, limits).map_err(|error| kind.name(error))
    }

    fn read(kind: EnvelopeType, stored: Bytes, length: u64, limits: &Limits) -> Result<Self> {
        let most = (stored.len() as u64).saturating_mul(limits.expansion).min(limits.object_bytes);
        if length > most {
            return Err(Error::limit("an envelope is larger than the limit", most, length));
        }
        let bytes = if stored.len() as u64 == length {
            stored
        } else {
            let mut inflated = vec![0; length as usize];
            inflate(&stored, &mut inflated, &mut Scratch::default())?;
            Bytes::from(inflated)
        };
        let mut reader = FrameReader::new(&bytes, 0);
        let word = reader.u64()?;
        if word & 0xffff != kind as u64 {
            return Err(Error::malformed("an envelope is of another type").at(0).wanted(kind as u64, word & 0xffff));
        }
        if word >> 16 != length || bytes.len() < HEAD_BYTES + SUM_BYTES {
            return Err(Error::malformed("an envelope is of another length").at(0).wanted(length, word >> 16));
        }
        let end = bytes.len() - SUM_BYTES;
        let checksum = FrameReader::new(&bytes[end..], end).u64()?;
        let found = XxHash3_64::oneshot(&bytes[..end]);
        if checksum != found {
            let error = Error::new(ErrorKind::Checksum, "an envelope does not match its checksum");
            return Err(error.at(end as u64).wanted(checksum, found));
        }
        Ok(Self { bytes, checksum })
    }

    /// What is between head and checksum.
    pub(crate) fn payload(&self) -> FrameReader<'_> {
        FrameReader::new(&self.bytes[HEAD_BYTES..self.bytes.len() - SUM_BYTES], HEAD_BYTES)
    }

    /// All bytes, inflated.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A new envelope around a payload.
    pub(crate) fn seal(kind: EnvelopeType, payload: impl FnOnce(&mut FrameWriter) -> Result<()>) -> Result<Self> {
        let mut writer = FrameWriter::default();
        writer.u64(0);
        payload(&mut writer)?;
        let length = (writer.bytes.len() + SUM_BYTES) as u64;
        if length >= 1 << 48 {
            return Err(kind.name(Error::limit("an envelope is too long", (1 << 48) - 1, length)));
        }
        let head = (length << 16) | kind as u64;
        if let Some(place) = writer.bytes.first_chunk_mut() {
            *place = head.to_le_bytes();
        }
        let checksum = XxHash3_64::oneshot(&writer.bytes);
        writer.u64(checksum);
        Ok(Self { bytes: Bytes::from(writer.bytes), checksum })
    }

    /// As it is stored: compressed where that makes it smaller.
    pub(crate) fn stored(&self, compression: Compression, scratch: &mut Scratch) -> Result<Bytes> {
        let mut chain = Vec::new();
        let smaller = deflate(&self.bytes, compression, &mut chain, scratch)?;
        Ok(if smaller { Bytes::from(chain) } else { self.bytes.clone() })
    }
}

/// Reads feature flags, and returns those that are known.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a flag that is not known, naming its number.
pub(crate) fn read_feature_flags(reader: &mut FrameReader<'_>) -> Result<u64> {
    /// Deferred columns below collections: they are read as any suppressed column.
    const KNOWN: u64 = 1;
    let mut known = 0;
    for word in 0_u64.. {
        let at = reader.position() as u64;
        let bits = reader.u64()?;
        let unknown = bits & !(1 << 63) & if word == 0 { !KNOWN } else { u64::MAX };
        known |= if word == 0 { bits & KNOWN } else { 0 };
        if unknown != 0 {
            let flag = word * 64 + u64::from(unknown.trailing_zeros());
            return Err(Error::unsupported(format!("the RNTuple uses feature {flag}, which is not known")).at(at));
        }
        if bits >> 63 == 0 {
            break;
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(bytes: &Bytes, length: u64) -> Link {
        Link::new(0, bytes.len() as u64, length)
    }

    #[test]
    fn envelopes_come_back_and_damage_is_found() {
        let limits = Limits::default();
        let sealed = Envelope::seal(EnvelopeType::Footer, |writer| {
            writer.u64(0);
            writer.string(&"words ".repeat(100))
        })
        .unwrap();
        let length = sealed.bytes().len() as u64;
        let stored = sealed.stored("zstd:5".parse().unwrap(), &mut Scratch::default()).unwrap();
        assert!(stored.len() < sealed.bytes().len());
        let read = |kind, bytes: &Bytes, length| Envelope::open(kind, bytes.clone(), &link(bytes, length), &limits);
        let opened = read(EnvelopeType::Footer, &stored, length).unwrap();
        assert_eq!((opened.checksum, opened.payload().left()), (sealed.checksum, 8 + 4 + 600));
        let error = read(EnvelopeType::Header, &stored, length).unwrap_err();
        assert_eq!(
            (error.kind(), error.place().expected, error.place().found),
            (ErrorKind::Malformed, Some(1), Some(2))
        );
        assert_eq!(read(EnvelopeType::Footer, &stored, length + 1).unwrap_err().kind(), ErrorKind::Malformed);
        assert_eq!(read(EnvelopeType::Footer, &stored, u64::MAX).unwrap_err().kind(), ErrorKind::Limit);
        for at in 8..sealed.bytes().len() {
            let mut bytes = sealed.bytes().to_vec();
            bytes[at] ^= 4;
            let error = read(EnvelopeType::Footer, &Bytes::from(bytes), length).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Checksum, "{at}");
        }
    }

    #[test]
    fn a_feature_is_named_by_its_number() {
        let words = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        let read = |bytes: &[u8]| read_feature_flags(&mut FrameReader::new(bytes, 8));
        assert!(read(&words(&[0])).is_ok() && read(&words(&[1])).is_ok() && read(&words(&[1 << 63, 0])).is_ok());
        let error = read(&words(&[1 << 63, 1 << 63, 1 << 9])).unwrap_err();
        assert!(error.to_string().contains("feature 137"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(read(&words(&[1 << 63])).unwrap_err().kind(), ErrorKind::Malformed);
    }
}
