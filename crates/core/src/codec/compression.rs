//! Which codec, and how hard it tries: ROOT's `fCompress`.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A codec of the format. The numbers are those of ROOT's `ROOT::RCompressionSetting::EAlgorithm`.
///
/// # Example
///
/// ```
/// use sapwood::codec::Algorithm;
/// assert_eq!(Algorithm::Zstd.number(), 5);
/// assert_eq!(Algorithm::Zstd.to_string(), "zstd");
/// ```
///
/// ```
/// use sapwood::codec::Algorithm;
/// assert_eq!((Algorithm::Zstd.name(), Algorithm::Zstd.usual_level()), ("zstd", 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// `ZL`: a zlib stream.
    Zlib,
    /// `XZ`: an xz stream.
    Lzma,
    /// `CS`: raw deflate, as ROOT wrote it before version 5 and still does on request.
    OldDeflate,
    /// `L4`: an XXH64 checksum, then one LZ4 block.
    Lz4,
    /// `ZS`: a Zstandard frame.
    Zstd,
}

impl Algorithm {
    /// All of them, in the order of ROOT's numbers.
    pub const ALL: [Self; 5] = [Self::Zlib, Self::Lzma, Self::OldDeflate, Self::Lz4, Self::Zstd];

    /// ROOT's number, the hundreds of `fCompress`.
    pub fn number(self) -> i32 {
        match self {
            Self::Zlib => 1,
            Self::Lzma => 2,
            Self::OldDeflate => 3,
            Self::Lz4 => 4,
            Self::Zstd => 5,
        }
    }

    /// The name in lower case: `zlib`, `lzma`, `old`, `lz4`, `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Lzma => "lzma",
            Self::OldDeflate => "old",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The level that ROOT advises for this codec.
    pub fn usual_level(self) -> u8 {
        match self {
            Self::Zlib | Self::OldDeflate => 1,
            Self::Lzma => 7,
            Self::Lz4 => 4,
            Self::Zstd => 5,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A codec and its level from 0 (store raw) to 9: ROOT's `fCompress`.
///
/// The default is that of ROOT, `zlib:1`.
///
/// # Example
///
/// ```
/// use sapwood::codec::{Algorithm, Compression};
/// let how: Compression = "zstd:5".parse()?;
/// assert_eq!(how, Compression { algorithm: Algorithm::Zstd, level: 5 });
/// assert_eq!(how.to_root(), 505);
/// assert_eq!(Compression::default().to_string(), "zlib:1");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compression {
    /// The codec.
    pub algorithm: Algorithm,
    /// How hard it tries. 0 stores raw; more than 9 counts as 9, but for Zstandard, which goes to 11.
    pub level: u8,
}

impl Compression {
    /// Store raw.
    pub const NONE: Self = Self { algorithm: Algorithm::Zlib, level: 0 };

    /// Reads `fCompress`, as ROOT does: algorithm 0 is the global default, which is zlib, and so is any number that
    /// names no codec.
    ///
    /// None for a negative value: a branch writes -1 to say that it goes by its file.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::{Algorithm, Compression};
    /// assert_eq!(Compression::from_root(404).map(|how| how.to_string()).as_deref(), Some("lz4:4"));
    /// assert_eq!(Compression::from_root(1), Some(Compression::default()));
    /// assert_eq!(Compression::from_root(0), Some(Compression::NONE));
    /// assert_eq!(Compression::from_root(-1), None);
    /// ```
    pub fn from_root(fcompress: i32) -> Option<Self> {
        let level = u8::try_from(fcompress.checked_rem(100)?).ok()?;
        let algorithm = fcompress / 100;
        let algorithm = Algorithm::ALL.into_iter().find(|one| one.number() == algorithm).unwrap_or(Algorithm::Zlib);
        (fcompress >= 0).then_some(Self { algorithm, level })
    }

    /// The value for `fCompress`: 100 times the algorithm, plus the level (at most 99). 0 for [`Compression::NONE`],
    /// as ROOT writes it.
    pub fn to_root(self) -> i32 {
        if self == Self::NONE {
            return 0;
        }
        100 * self.algorithm.number() + i32::from(self.level.min(99))
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self { algorithm: Algorithm::Zlib, level: 1 }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.level)
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Reads `none`, `zstd` (with its usual level) or `zstd:5`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if the codec or its level is not known.
    fn from_str(text: &str) -> Result<Self> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let wrong = || {
            let known = Algorithm::ALL.map(Algorithm::name).join(", ");
            Error::mismatch(format!("no such compression: {text} (none, or one of {known}; a level after a colon)"))
        };
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let algorithm = Algorithm::ALL.into_iter().find(|one| one.name() == name).ok_or_else(wrong)?;
        let level = match level {
            None => algorithm.usual_level(),
            Some(digits) => digits.parse().ok().filter(|level| *level <= 99).ok_or_else(wrong)?,
        };
        Ok(Self { algorithm, level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_their_number_and_their_text() {
        for algorithm in Algorithm::ALL {
            for level in [1, 5, 9, 99] {
                let how = Compression { algorithm, level };
                assert_eq!(Compression::from_root(how.to_root()), Some(how));
                assert_eq!(how.to_string().parse::<Compression>().unwrap(), how);
            }
        }
    }

    #[test]
    fn numbers_that_name_no_codec_are_zlib_as_in_root() {
        assert_eq!(Compression::from_root(9), Some(Compression { algorithm: Algorithm::Zlib, level: 9 }));
        assert_eq!(Compression::from_root(603), Some(Compression { algorithm: Algorithm::Zlib, level: 3 }));
        assert_eq!(Compression::from_root(i32::MAX).map(|how| how.algorithm), Some(Algorithm::Zlib));
        assert_eq!(Compression::from_root(i32::MIN), None);
        assert_eq!(Compression::from_root(-100), None);
    }

    #[test]
    fn unknown_text_is_refused() {
        for text in ["", "zlib:", "zlib:100", "zlib:-1", "gzip", "none:1"] {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
        assert_eq!("none".parse::<Compression>().unwrap(), Compression::NONE);
        assert_eq!("lz4".parse::<Compression>().unwrap().to_root(), 404);
    }
}
