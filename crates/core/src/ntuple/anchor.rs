//! The anchor: the one listed record of an RNTuple, which leads to everything else.

use twox_hash::XxHash3_64;

use super::locator::{Link, Locator};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Reader, Writer};

/// The version of the format that is written.
pub(crate) const VERSION: [u16; 4] = [1, 0, 1, 0];

/// The anchor's members. Source: `ROOT::RNTuple`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// Epoch, major, minor and patch of the format.
    pub(crate) version: [u16; 4],
    pub(crate) header: Link,
    pub(crate) footer: Link,
    /// Payloads of more bytes are spread over several keys; 0 stands for no bound.
    pub(crate) max_key_bytes: u64,
}

/// The class version that ROOT writes since the format was released.
const CLASS_VERSION: u16 = 2;
/// Bytes of the members, checksum excluded.
const MEMBER_BYTES: usize = 64;
const BYTE_COUNT_BIT: u32 = 0x4000_0000;

impl Anchor {
    /// The members by ROOT's names.
    pub(crate) fn members(&self) -> Vec<(&'static str, u64)> {
        let versions = ["fVersionEpoch", "fVersionMajor", "fVersionMinor", "fVersionPatch"];
        let mut members: Vec<_> = versions.into_iter().zip(self.version.map(u64::from)).collect();
        let names = [
            ("fSeekHeader", "fNBytesHeader", "fLenHeader", &self.header),
            ("fSeekFooter", "fNBytesFooter", "fLenFooter", &self.footer),
        ];
        for (seek, bytes, length, link) in names {
            if let Locator::File { at, bytes: stored } = link.locator {
                members.extend([(seek, at), (bytes, stored)]);
            }
            members.push((length, link.length));
        }
        members.push(("fMaxKeySize", self.max_key_bytes));
        members
    }

    /// Reads the payload of an anchor's key.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for versions before the format's release and for epochs to come,
    /// [`Checksum`](ErrorKind::Checksum), [`Malformed`](ErrorKind::Malformed).
    pub(crate) fn read(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let (word, class_version) = (reader.u32()?, reader.u16()?);
        if class_version < CLASS_VERSION {
            return Err(Self::before_release(payload));
        }
        // The checksum is last, and covers the members, also where later versions have more of them.
        let count = (word & !BYTE_COUNT_BIT) as usize;
        let fits =
            if class_version == CLASS_VERSION { count + 12 == payload.len() } else { count + 12 <= payload.len() };
        if word & BYTE_COUNT_BIT == 0 || count < MEMBER_BYTES + 2 || !fits {
            return Err(Error::malformed("the anchor's byte count does not fit its record")
                .at(0)
                .wanted(payload.len().saturating_sub(12) as u64, count as u64));
        }
        let end = payload.len() - 8;
        let checksum = Reader::with_origin(&payload[end..], end).u64()?;
        let found = XxHash3_64::oneshot(&payload[6..end]);
        if checksum != found {
            let error = Error::new(ErrorKind::Checksum, "the anchor does not match its checksum");
            return Err(error.at(end as u64).wanted(checksum, found));
        }
        let mut version = [0; 4];
        for part in &mut version {
            *part = reader.u16()?;
        }
        let mut link = || -> Result<Link> {
            let (at, bytes, length) = (reader.u64()?, reader.u64()?, reader.u64()?);
            Ok(Link::new(at, bytes, length))
        };
        let (header, footer) = (link()?, link()?);
        let max_key_bytes = reader.u64()?;
        let anchor = Self { version, header, footer, max_key_bytes };
        if version[0] != 1 {
            let message =
                format!("the RNTuple is of version {}, and only versions 1.x are read", anchor.version_words());
            return Err(Error::unsupported(message));
        }
        if header.length == 0 || footer.length == 0 {
            return Err(Error::malformed("the anchor leads to no header or footer: its writer failed before the end"));
        }
        Ok(anchor)
    }

    /// Why an anchor of the time before the format was released cannot be read.
    pub(super) fn before_release(payload: &[u8]) -> Error {
        /// The first class version whose anchors begin with the version of the format.
        const WITH_VERSION: u16 = 4;
        let mut reader = Reader::new(payload);
        let mut words = || -> Result<String> {
            reader.skip(4)?;
            let class_version = reader.u16()?;
            if class_version < WITH_VERSION {
                return Ok(format!("its class version is {class_version}"));
            }
            let parts = [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
            Ok(format!("its version is {}", parts.map(|part| part.to_string()).join(".")))
        };
        let words = words().unwrap_or_else(|_| "its anchor names no version".to_owned());
        let message = format!(
            "the RNTuple was written before the format was released ({words}): only versions 1.x are read. ROOT 6.34 \
             and later write them"
        );
        Error::unsupported(message)
    }

    /// The payload of an anchor's key.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut members = Writer::default();
        for part in self.version {
            members.u16(part);
        }
        for link in [self.header, self.footer] {
            let (at, bytes) = link.locator.in_file()?;
            members.u64(at);
            members.u64(bytes);
            members.u64(link.length);
        }
        members.u64(self.max_key_bytes);
        let members = members.into_bytes();
        let mut writer = Writer::default();
        writer.u32(BYTE_COUNT_BIT | (members.len() as u32 + 2));
        writer.u16(CLASS_VERSION);
        writer.bytes(&members);
        writer.u64(XxHash3_64::oneshot(&members));
        Ok(writer.into_bytes())
    }

    /// The version as `1.0.2.0`.
    pub(crate) fn version_words(&self) -> String {
        self.version.map(|part| part.to_string()).join(".")
    }
}
