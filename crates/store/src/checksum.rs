//! Checksums of whole files, as catalogues of the grid store them.

use std::fmt;
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;

use md5::{Digest, Md5};
use sapwood::io::{Store, load};
use sapwood::{Error, ErrorKind, Result};

/// Bytes that are read at once.
const STEP_BYTES: u64 = 16 << 20;

/// An algorithm that catalogues use.
///
/// # Example
///
/// ```
/// use sapwood_store::ChecksumKind;
/// assert_eq!("ADLER32".parse::<ChecksumKind>()?, ChecksumKind::Adler32);
/// assert!("sha0".parse::<ChecksumKind>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChecksumKind {
    /// Adler-32, the default of XRootD, dCache and Rucio.
    Adler32,
    /// CRC-32C.
    Crc32c,
    /// MD5.
    Md5,
}

impl ChecksumKind {
    fn digits(self) -> usize {
        match self {
            Self::Adler32 | Self::Crc32c => 8,
            Self::Md5 => 32,
        }
    }
}

impl FromStr for ChecksumKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "adler32" => Ok(Self::Adler32),
            "crc32c" => Ok(Self::Crc32c),
            "md5" => Ok(Self::Md5),
            _ => Err(Error::mismatch(format!("unknown checksum {text:?}: use adler32, crc32c or md5"))),
        }
    }
}

impl fmt::Display for ChecksumKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adler32 => "adler32",
            Self::Crc32c => "crc32c",
            Self::Md5 => "md5",
        })
    }
}

/// The checksum of a file.
///
/// # Example
///
/// ```
/// use sapwood_store::Checksum;
/// let sum: Checksum = "adler32:A11085".parse()?;
/// assert_eq!(sum.to_string(), "adler32:00a11085");
/// assert!("adler32:nonsense".parse::<Checksum>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Checksum {
    kind: ChecksumKind,
    /// In lower case, with leading zeros.
    digits: String,
}

impl Checksum {
    /// The algorithm.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{Checksum, ChecksumKind};
    /// assert_eq!("crc32c:e3069283".parse::<Checksum>()?.kind(), ChecksumKind::Crc32c);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn kind(&self) -> ChecksumKind {
        self.kind
    }

    /// The value in hexadecimal digits, with leading zeros.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!("adler32:A1".parse::<sapwood_store::Checksum>()?.digits(), "000000a1");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn digits(&self) -> &str {
        &self.digits
    }

    fn of(kind: ChecksumKind, bytes: &[u8]) -> Self {
        Self { kind, digits: bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
    }
}

impl FromStr for Checksum {
    type Err = Error;

    /// Reads `KIND:DIGITS`. Leading zeros may be missing, as in some catalogues.
    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::mismatch(format!("malformed checksum {text:?}: use KIND:DIGITS, such as adler32:0a1b2c3d"));
        let (kind, digits) = text.split_once(':').ok_or_else(wrong)?;
        let kind: ChecksumKind = kind.trim().parse()?;
        let digits = digits.trim().to_ascii_lowercase();
        let is_good =
            (1..=kind.digits()).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_good {
            return Err(wrong());
        }
        Ok(Self { kind, digits: format!("{digits:0>width$}", width = kind.digits()) })
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.digits)
    }
}

/// Computes checksums of all bytes of a store, in one pass.
///
/// # Errors
///
/// Errors of the store, and [`Io`](ErrorKind::Io) if it returns fewer bytes than it has.
///
/// # Example
///
/// ```
/// use sapwood_store::{ChecksumKind, checksums};
/// use sapwood::io::MemoryStore;
/// let store = MemoryStore::new("digits", "123456789");
/// let sums = checksums(&store, &[ChecksumKind::Adler32, ChecksumKind::Crc32c])?;
/// assert_eq!(sums[0].to_string(), "adler32:091e01de");
/// assert_eq!(sums[1].to_string(), "crc32c:e3069283");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn checksums(store: &dyn Store, kinds: &[ChecksumKind]) -> Result<Vec<Checksum>> {
    let length = store.ends(0, 0)?.identity.len;
    let mut adler32 = libdeflater::Adler32::new();
    let mut crc32c = 0;
    let mut md5 = Md5::new();
    let has = |kind| kinds.contains(&kind);
    thread::scope(|scope| {
        // The next step is read while this one is summed.
        let (send, steps) = mpsc::sync_channel(0);
        scope.spawn(move || {
            for start in (0..length).step_by(usize::try_from(STEP_BYTES).unwrap_or(usize::MAX)) {
                let step = start..length.min(start + STEP_BYTES);
                if send.send((step.clone(), load(store, &[step]))).is_err() {
                    return;
                }
            }
        });
        for (step, read) in steps {
            let bytes = read?.pop().unwrap_or_default();
            if bytes.len() as u64 != step.end - step.start {
                return Err(Error::new(ErrorKind::Io, "the file has fewer bytes than it had").at(step.start));
            }
            if has(ChecksumKind::Adler32) {
                adler32.update(&bytes);
            }
            if has(ChecksumKind::Crc32c) {
                crc32c = crc32c::crc32c_append(crc32c, &bytes);
            }
            if has(ChecksumKind::Md5) {
                md5.update(&bytes);
            }
        }
        Ok(())
    })?;
    let md5 = md5.finalize();
    let each = |kind: &ChecksumKind| match kind {
        ChecksumKind::Adler32 => Checksum::of(*kind, &adler32.sum().to_be_bytes()),
        ChecksumKind::Crc32c => Checksum::of(*kind, &crc32c.to_be_bytes()),
        ChecksumKind::Md5 => Checksum::of(*kind, &md5),
    };
    Ok(kinds.iter().map(each).collect())
}

#[cfg(test)]
mod tests {
    use sapwood::io::MemoryStore;

    use super::*;

    #[test]
    fn sums_are_those_of_other_tools() {
        use ChecksumKind::{Adler32, Crc32c, Md5};
        let sums = |bytes: Vec<u8>| {
            let found = checksums(&MemoryStore::new("bytes", bytes), &[Adler32, Crc32c, Md5]).unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // zlib.adler32, google_crc32c and hashlib.md5 of Python.
        let check = ["adler32:091e01de", "crc32c:e3069283", "md5:25f9e794323b453885f5181f1b624d0b"];
        assert_eq!(sums(b"123456789".to_vec()), check);
        assert_eq!(sums(Vec::new()), ["adler32:00000001", "crc32c:00000000", "md5:d41d8cd98f00b204e9800998ecf8427e"]);
        // Over more than one step.
        assert_eq!(sums(vec![7; 40_000_000])[0], "adler32:b8bc7060");
    }

    #[test]
    fn texts_are_checksums() {
        let of = |text: &str| text.parse::<Checksum>().map(|sum| sum.to_string());
        assert_eq!(of("ADLER32: A1 ").unwrap(), "adler32:000000a1");
        for wrong in ["", "adler32", "adler32:", "adler32:123456789", "adler32:0x12", "sha1:00", "md5:é"] {
            assert_eq!(of(wrong).unwrap_err().kind(), ErrorKind::Mismatch, "{wrong}");
        }
    }
}
