//! What is kept on this machine, where, and how much of it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use sapwood::Error;

/// So much is kept unless told otherwise.
const USUAL_BYTES: u64 = 10_000_000_000;
/// Further notices are dropped.
const MOST_NOTICES: usize = 100;

/// What of a remote file is kept on this machine.
///
/// # Example
///
/// ```
/// use sapwood_store::CacheKind;
/// assert_eq!("blocks".parse::<CacheKind>()?, CacheKind::Blocks);
/// assert!("some".parse::<CacheKind>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheKind {
    /// All of it, before the first byte is used.
    Whole,
    /// Blocks, as they are read.
    Blocks,
}

impl CacheKind {
    /// As it is written: `whole`, `blocks`.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood_store::CacheKind::Whole.as_str(), "whole");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Blocks => "blocks",
        }
    }

    /// The folder of this kind in the folder of a cache. The number is that of the format: another one would be another
    /// folder.
    pub(crate) fn folder(self, dir: &Path) -> PathBuf {
        dir.join(format!("sapwood-{}-1", self.as_str()))
    }
}

impl FromStr for CacheKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "whole" => Ok(Self::Whole),
            "blocks" => Ok(Self::Blocks),
            _ => Err(Error::mismatch(format!("a cache keeps \"blocks\" or the \"whole\" file, not {text:?}"))),
        }
    }
}

/// A cache on this machine. A folder may be shared by any number of processes.
///
/// # Example
///
/// ```
/// use sapwood_store::{CacheKind, CacheOptions, NetOptions};
/// # let folder = std::env::temp_dir().join("sapwood-doc-cache");
/// let cache = CacheOptions::new(CacheKind::Blocks, folder);
/// assert_eq!(cache.bytes, 10_000_000_000);
/// let options = NetOptions { cache: Some(cache), ..NetOptions::default() };
/// assert!(sapwood_store::open("https://example.org/a.root", &options).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheOptions {
    /// Blocks, or whole files.
    pub kind: CacheKind,
    /// Where; it is made when the first file is opened.
    pub dir: PathBuf,
    /// The most bytes that may be kept in `dir`; what was not used for the longest time goes.
    pub bytes: u64,
    /// Where it is said that something is not kept, and why.
    pub notices: Notices,
}

impl CacheOptions {
    /// A cache in `dir`, of 10 GB at most.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{CacheKind, CacheOptions};
    /// let cache = CacheOptions { bytes: 1_000_000, ..CacheOptions::new(CacheKind::Whole, "cache") };
    /// assert!(cache.notices.take().is_empty());
    /// ```
    pub fn new(kind: CacheKind, dir: impl Into<PathBuf>) -> Self {
        Self { kind, dir: dir.into(), bytes: USUAL_BYTES, notices: Notices::default() }
    }
}

/// Warnings of a cache: its failures never fail a read, so they are no errors. Clones share their notices.
///
/// # Example
///
/// ```
/// use sapwood_store::Notices;
/// let notices = Notices::default();
/// notices.clone().add("the disk is full");
/// assert_eq!(notices.take(), ["the disk is full"]);
/// assert!(notices.take().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    /// Says something.
    ///
    /// # Example
    ///
    /// ```
    /// sapwood_store::Notices::default().add("the disk is full");
    /// ```
    pub fn add(&self, words: impl Into<String>) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST_NOTICES {
            said.push(words.into());
        }
    }

    /// What was said since the last time.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood_store::Notices::default().take().is_empty());
    /// ```
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

// Notices make no difference to what is kept.
impl PartialEq for Notices {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Notices {}

impl Hash for Notices {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
