//! The file header.
//!
//! Format page: `docs/format/container.md`. Source: `TFile::Init`, `TFile::WriteHeader`.

use crate::error::{Error, Result};
use crate::wire::{Reader, Writer};

/// Files above this many bytes use 64-bit offsets (`TFile::kStartBigFile`).
pub const BIG_FILE: u64 = 2_000_000_000;
/// Added to `version` in files with 64-bit offsets.
const BIG_VERSION: i32 = 1_000_000;
/// Versions of ROOT are below this one: 10.00/00.
const NEWEST_VERSION: i32 = 100_000;
/// Bytes of the header up to the UUID, which files of ROOT 2 lack: with offsets of 32 bits, and of 64.
const SMALL_BYTES: usize = 45;
const BIG_BYTES: usize = 57;

/// `TFile`'s header: the offsets of the parts of the file.
///
/// # Example
///
/// ```
/// use sapwood::container::Header;
/// let header = Header { version: 64000, end: 1234, ..Header::default() };
/// assert_eq!(Header::read(&header.to_bytes())?, header);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let file = sapwood::File::open(path)?;
/// assert_eq!((file.header().is_big(), file.header().root_version().as_str()), (false, "6.16/00"));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `fVersion` without the million that marks 64-bit offsets, e.g. 64000 for ROOT 6.40/00.
    pub version: i32,
    /// `fBEGIN`: the start of the first record.
    pub begin: u32,
    /// `fEND`: the end of the last record.
    pub end: u64,
    /// `fSeekFree`: the record of free segments.
    pub seek_free: u64,
    /// `fNbytesFree`: its length.
    pub nbytes_free: u32,
    /// `nfree`: number of free segments.
    pub free_segments: u32,
    /// `fNbytesName`: bytes of the root directory's key with name and title.
    pub nbytes_name: u32,
    /// `fUnits`: bytes of an offset in the header, 4 or 8.
    pub units: u8,
    /// `fCompress`: algorithm times 100 plus level.
    pub compress: i32,
    /// `fSeekInfo`: the StreamerInfo record.
    pub seek_info: u64,
    /// `fNbytesInfo`: its length.
    pub nbytes_info: u32,
    /// `fUUID`.
    pub uuid: [u8; 16],
}

impl Default for Header {
    fn default() -> Self {
        Self {
            version: 64000,
            begin: 100,
            end: 100,
            seek_free: 0,
            nbytes_free: 0,
            free_segments: 1,
            nbytes_name: 0,
            units: 4,
            compress: 101,
            seek_info: 0,
            nbytes_info: 0,
            uuid: [0; 16],
        }
    }
}

impl Header {
    /// Reads the header from the first bytes of a file.
    pub fn read(head: &[u8]) -> Result<Self> {
        if head.is_empty() {
            return Err(Error::malformed("not a ROOT file: it is empty"));
        }
        if head.iter().all(|&byte| byte == 0) {
            // As a download or a copy leaves it whose space was reserved before its bytes came.
            return Err(Error::malformed(format!("not a ROOT file: its first {} bytes are all zero", head.len())));
        }
        let mut reader = Reader::new(head);
        if reader.take(4).ok() != Some(b"root") {
            return Err(Error::malformed("not a ROOT file: it does not begin with \"root\"").at(0));
        }
        let whole = |bytes: usize| match head.len() < bytes {
            true => {
                Err(Error::malformed("the file is cut off within its header").wanted(bytes as u64, head.len() as u64))
            }
            false => Ok(()),
        };
        whole(SMALL_BYTES)?;
        let version = reader.i32()?;
        let big = version >= BIG_VERSION;
        // uproot 4.1 to 5.3 took the million off at each update of a small file.
        let lowered = (version < 0).then(|| version.rem_euclid(BIG_VERSION)).filter(|plain| *plain < NEWEST_VERSION);
        let version = lowered.unwrap_or(version);
        whole(if big { BIG_BYTES } else { SMALL_BYTES })?;
        let begin = reader.u32()?;
        let offset = |reader: &mut Reader<'_>| if big { reader.u64() } else { reader.u32().map(u64::from) };
        let end = offset(&mut reader)?;
        let seek_free = offset(&mut reader)?;
        let nbytes_free = reader.u32()?;
        let free_segments = reader.u32()?;
        let nbytes_name = reader.u32()?;
        // ROOT decides by the version alone; so does this.
        let _units = reader.u8()?;
        let units = if big { 8 } else { 4 };
        let compress = reader.i32()?;
        let seek_info = offset(&mut reader)?;
        let nbytes_info = reader.u32()?;
        // Files of ROOT 2 have no UUID and their first record may follow at once.
        let uuid = if version >= 30000 && reader.left() >= 18 {
            reader.skip(2)?;
            reader.array()?
        } else {
            [0; 16]
        };
        let version = if big { version - BIG_VERSION } else { version };
        if version < 0 || begin < 32 {
            return Err(Error::malformed("the header's fields contradict each other").at(4));
        }
        Ok(Self {
            version,
            begin,
            end,
            seek_free,
            nbytes_free,
            free_segments,
            nbytes_name,
            units,
            compress,
            seek_info,
            nbytes_info,
            uuid,
        })
    }

    /// Whether offsets take 64 bits.
    pub fn is_big(&self) -> bool {
        self.units == 8
    }

    /// The header in its stored form, 75 bytes long in the 64-bit form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let big = self.is_big();
        let mut writer = Writer::default();
        writer.bytes(b"root");
        writer.i32(if big { self.version + BIG_VERSION } else { self.version });
        writer.u32(self.begin);
        let offset = |writer: &mut Writer, value: u64| if big { writer.u64(value) } else { writer.u32(value as u32) };
        offset(&mut writer, self.end);
        offset(&mut writer, self.seek_free);
        writer.u32(self.nbytes_free);
        writer.u32(self.free_segments);
        writer.u32(self.nbytes_name);
        writer.u8(self.units);
        writer.i32(self.compress);
        offset(&mut writer, self.seek_info);
        writer.u32(self.nbytes_info);
        writer.i16(1);
        writer.bytes(&self.uuid);
        writer.into_bytes()
    }

    /// `fVersion` as ROOT spells it: `6.40/00`.
    pub fn root_version(&self) -> String {
        format!("{}.{:02}/{:02}", self.version / 10000, self.version / 100 % 100, self.version % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_widths_come_back() {
        let small = Header { end: 7777, seek_info: 99, uuid: [7; 16], ..Header::default() };
        assert_eq!(Header::read(&small.to_bytes()).unwrap(), small);
        let big = Header { units: 8, end: 1 << 40, seek_free: 5 << 32, ..small };
        assert_eq!(Header::read(&big.to_bytes()).unwrap(), big);
        assert_eq!(big.to_bytes().len(), 75);
    }

    #[test]
    fn a_version_that_uproot_lowered_is_that_of_root() {
        let header = Header { end: 7777, uuid: [7; 16], ..Header::default() };
        for updates in [1, 3] {
            let mut bytes = header.to_bytes();
            bytes[4..8].copy_from_slice(&(header.version - updates * BIG_VERSION).to_be_bytes());
            assert_eq!(Header::read(&bytes).unwrap(), header);
        }
        let mut bytes = header.to_bytes();
        bytes[4..8].copy_from_slice(&(-1_i32).to_be_bytes());
        assert!(Header::read(&bytes).is_err());
    }

    #[test]
    fn what_is_no_root_file_is_refused() {
        for bytes in [&b""[..], b"root", b"ROOT----------------------------------", &[0; 100]] {
            assert!(Header::read(bytes).is_err());
        }
    }

    #[test]
    fn files_without_a_header_say_what_they_are() {
        let message = |bytes: &[u8]| Header::read(bytes).unwrap_err().to_string().replace("malformed: ", "");
        assert_eq!(message(b""), "not a ROOT file: it is empty");
        assert_eq!(message(&[0; 100]), "not a ROOT file: its first 100 bytes are all zero");
        let small = Header::default().to_bytes();
        assert_eq!(message(&small[..8]), "the file is cut off within its header (expected 45, found 8)");
        assert!(Header::read(&small[..SMALL_BYTES]).is_ok());
        let big = Header { units: 8, ..Header::default() }.to_bytes();
        assert_eq!(message(&big[..56]), "the file is cut off within its header (expected 57, found 56)");
        assert!(Header::read(&big[..BIG_BYTES]).is_ok());
    }

    #[test]
    fn versions_read_as_root_prints_them() {
        assert_eq!(Header { version: 61404, ..Header::default() }.root_version(), "6.14/04");
    }
}
