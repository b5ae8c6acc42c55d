//! Which entries of a basket are compressed together.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::{Error, Result};

/// With anything but [`Off`](RandomAccess::Off), baskets are compressed in blocks that end where entries end, so that
/// one entry is read without inflating the others.
///
/// Each reader of chains of blocks (ROOT, uproot, jsroot) reads such baskets: the format has blocks, and says nothing
/// of where they end. Smaller blocks are read faster and take more bytes.
///
/// # Example
///
/// ```
/// use sapwood::codec::RandomAccess;
/// assert_eq!("auto".parse::<RandomAccess>()?, RandomAccess::Auto);
/// assert_eq!("128".parse::<RandomAccess>()?, RandomAccess::entries(128)?);
/// assert_eq!(RandomAccess::entries(128)?.to_string(), "128");
/// assert!(RandomAccess::entries(0).is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RandomAccess {
    /// Baskets are compressed whole.
    #[default]
    Off,
    /// Blocks of 4 KiB, or of a thirty-second of a large basket, or as much more as it needs to take at most
    /// [`MOST_GROWTH`](RandomAccess::MOST_GROWTH) of its bytes in one block. Baskets that would grow more are not
    /// divided. Each is compressed at least twice to know that.
    Auto,
    /// So many entries a block.
    Entries(NonZeroU32),
}

impl RandomAccess {
    /// The most bytes that `Auto` takes for a basket, in hundredths of those in one block.
    pub const MOST_GROWTH: usize = 112;

    /// So many entries a block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) for none.
    pub fn entries(count: u32) -> Result<Self> {
        let none = || Error::mismatch("a block has at least one entry: random access is off for whole baskets");
        NonZeroU32::new(count).map(Self::Entries).ok_or_else(none)
    }
}

impl fmt::Display for RandomAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.pad("off"),
            Self::Auto => f.pad("auto"),
            Self::Entries(count) => count.fmt(f),
        }
    }
}

impl FromStr for RandomAccess {
    type Err = Error;

    /// Reads `off`, `auto`, or a number of entries.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) for anything else.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |_| Error::mismatch(format!("random access is off, auto or a number of entries, not {text:?}"));
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => Self::entries(text.parse().map_err(wrong)?),
        }
    }
}
