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

    /// The highest level that makes a difference. ROOT passes twice its level to libzstd, whose last is 22.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::Algorithm;
    /// assert_eq!((Algorithm::Lz4.highest_level(), Algorithm::Zstd.highest_level()), (9, 11));
    /// ```
    pub fn highest_level(self) -> u8 {
        match self {
            Self::Zlib | Self::Lzma | Self::OldDeflate | Self::Lz4 => 9,
            Self::Zstd => 11,
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

impl Compression {
    /// The same, if the codec has such a level.
    fn checked(self, text: &str) -> Result<Self> {
        let (name, most) = (self.algorithm, self.algorithm.highest_level());
        if self.level > most {
            let words = format!("no such compression: {text} (the levels of {name} go from 0 to {most})");
            return Err(Error::mismatch(words));
        }
        Ok(self)
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

    /// Reads `none`, `zstd` (with its usual level), `zstd:5`, or ROOT's number: `505`. Case does not matter.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if the codec or its level is not known.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let known = Algorithm::ALL.map(Algorithm::name).join(", ");
            let text = if text.trim().is_empty() { "an empty text" } else { text };
            Error::mismatch(format!(
                "no such compression: {text} (none, or one of {known}, with a level like zstd:5, or ROOT's number like 505)"
            ))
        };
        let words = text.trim().to_ascii_lowercase();
        if words == "none" {
            return Ok(Self::NONE);
        }
        if !words.is_empty() && words.bytes().all(|byte| byte.is_ascii_digit()) {
            let found = words.parse().ok().filter(|number| *number < 600).and_then(Self::from_root);
            return found.ok_or_else(wrong)?.checked(text);
        }
        let (name, level) = words.split_once(':').map_or((&*words, None), |(name, level)| (name, Some(level)));
        let algorithm = Algorithm::ALL.into_iter().find(|one| one.name() == name).ok_or_else(wrong)?;
        let level = match level {
            None => algorithm.usual_level(),
            // Digits only: a sign is not part of a level.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().map_err(|_| wrong())?,
            Some(_) => return Err(wrong()),
        };
        Self { algorithm, level }.checked(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_their_number_and_their_text() {
        for algorithm in Algorithm::ALL {
            for level in 1..=algorithm.highest_level() {
                let how = Compression { algorithm, level };
                assert_eq!(Compression::from_root(how.to_root()), Some(how));
                assert_eq!(how.to_string().parse::<Compression>().unwrap(), how);
                assert_eq!(how.to_root().to_string().parse::<Compression>().unwrap(), how);
            }
            // Files may hold levels that have no effect.
            let beyond = Compression { algorithm, level: 99 };
            assert_eq!(Compression::from_root(beyond.to_root()), Some(beyond));
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
        let codecs =
            ["", " ", "zlib:", "zlib:-1", "zlib:+1", "zlib:256", "gzip", "none:1", "600", "99999999999", "-1", "5 5"];
        for text in codecs {
            let error = text.parse::<Compression>().unwrap_err();
            assert!(error.message().contains("old, lz4, zstd, with a level like zstd:5"), "{error}");
        }
        for (text, levels) in [
            ("zlib:10", "zlib go from 0 to 9"),
            ("ZSTD:12", "zstd go from 0 to 11"),
            ("410", "lz4 go from 0 to 9"),
            ("299", "lzma go from 0 to 9"),
        ] {
            let error = text.parse::<Compression>().unwrap_err();
            assert!(error.message().contains(levels) && error.message().contains(text), "{error}");
        }
    }

    #[test]
    fn words_and_numbers_mean_what_they_mean_in_root() {
        let parse = |text: &str| text.parse::<Compression>().unwrap();
        assert_eq!(parse("none"), Compression::NONE);
        assert_eq!(parse("0"), Compression::NONE);
        assert_eq!(parse("lz4").to_root(), 404);
        assert_eq!(parse("LZMA").to_root(), 207);
        assert_eq!(parse(" Zstd:7 ").to_root(), 507);
        assert_eq!(parse("505").to_string(), "zstd:5");
        assert_eq!(parse("6").to_string(), "zlib:6");
    }
}
