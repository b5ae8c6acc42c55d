//! Options for writing files and trees, and the order of baskets.

use std::sync::Arc;

use super::clustering::Every;
use crate::codec::{Compression, RandomAccess};
use crate::error::{Error, Result};
use crate::session::Session;

/// How a file is written.
///
/// # Example
///
/// ```
/// use sapwood::write::WriteOptions;
/// let options = WriteOptions { compression: Some("zstd:5".parse()?), ..WriteOptions::default() };
/// assert_eq!(options.compression.unwrap().to_root(), 505);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Compression of objects, and of trees that name none. None for ROOT's default in a new file, and for what the
    /// file has in one that is updated.
    pub compression: Option<Compression>,
    /// Whether single entries can be inflated alone, in trees that do not say it themselves.
    pub random_access: RandomAccess,
    /// Threads that compress.
    pub session: Session,
    /// The same input gives the same bytes: no date, and a UUID of zeros.
    pub reproducible: bool,
    /// Wait at each save until the bytes are on storage: protects against power loss; a crash of the process is
    /// harmless without it.
    pub sync: bool,
    /// Inflates baskets that are moved unchanged when files are merged, copied or rewritten, so that a damaged one is
    /// an error. Otherwise they are not checked.
    pub verify: bool,
}

/// How a tree is written.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// `fTitle`.
    pub title: Arc<str>,
    /// Compression of its baskets, but for branches that have their own; none for the file's.
    pub compression: Option<Compression>,
    /// Whether single entries of its baskets can be inflated alone; none for what the file says.
    pub random_access: Option<RandomAccess>,
    /// When a cluster ends: after so many entries, or after the entries that the first so many compressed bytes hold
    /// (`TTree::SetAutoFlush`).
    pub auto_flush: Every,
    /// When everything written so far is saved (`TTree::SetAutoSave`).
    pub auto_save: Every,
    /// A cluster ends at the latest when its rows take so many bytes before compression: they are kept in memory until
    /// then.
    pub cluster_bytes: usize,
    /// Bytes that a basket holds before compression, unless one entry has more.
    pub basket_bytes: usize,
    /// Collections of objects are written member by member, as ROOT does, and not object by object. Entries that are
    /// added to a tree have what those before them have.
    pub member_wise: bool,
    /// The tree's record is saved when it is begun, without entries, so that recovery finds what is committed.
    /// Otherwise the tree is invisible until it has rows and is saved: an object of its name stays the newest until
    /// then.
    pub begins_saved: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            title: "".into(),
            compression: None,
            random_access: None,
            auto_flush: Every::Bytes(30_000_000),
            auto_save: Every::Bytes(300_000_000),
            cluster_bytes: 128 << 20,
            basket_bytes: 512 << 10,
            member_wise: true,
            begins_saved: true,
        }
    }
}

/// How an RNTuple is written: ROOT's own sizes unless set otherwise.
///
/// # Example
///
/// ```
/// use sapwood::write::NTupleOptions;
/// let small = NTupleOptions { cluster_bytes: 1 << 20, ..NTupleOptions::default() };
/// assert!(small.with_checksums && small.compression.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct NTupleOptions {
    /// What to say about it.
    pub description: Arc<str>,
    /// Compression of its pages; none for ZSTD at ROOT's level 5.
    pub compression: Option<Compression>,
    /// Compressed bytes of a cluster: it ends after the row with which it is expected to have so many.
    pub cluster_bytes: usize,
    /// Entries of a cluster; none to decide by its bytes.
    pub cluster_entries: Option<u64>,
    /// A cluster ends at the latest when its values take so many bytes in memory.
    pub most_cluster_bytes: usize,
    /// Bytes of the values of a page in memory.
    pub page_bytes: usize,
    /// Each page has a checksum.
    pub with_checksums: bool,
    /// After so many stored bytes everything written so far is saved.
    pub auto_save_bytes: u64,
    /// Bytes of a record; payloads with more go into several.
    pub max_key_bytes: u64,
}

/// The most bytes of a record of an RNTuple, as ROOT has it.
pub(crate) const MAX_KEY_BYTES: u64 = 1 << 30;

impl Default for NTupleOptions {
    fn default() -> Self {
        Self {
            description: "".into(),
            compression: None,
            cluster_bytes: 128 << 20,
            cluster_entries: None,
            most_cluster_bytes: 1280 << 20,
            page_bytes: 1 << 20,
            with_checksums: true,
            auto_save_bytes: 300_000_000,
            max_key_bytes: MAX_KEY_BYTES,
        }
    }
}

/// How a tree's baskets are written.
///
/// # Example
///
/// ```
/// use sapwood::write::{Baskets, Every, TreeOptions};
/// let hundreds = Baskets::New(TreeOptions { auto_flush: Every::Entries(100), ..TreeOptions::default() });
/// assert!(matches!(hundreds, Baskets::New(options) if options.compression.is_none()));
/// ```
#[derive(Clone, Debug)]
pub enum Baskets {
    /// Entries go, as bytes, into new ones: clusters, basket sizes and compression are these. A cluster's entries
    /// follow from the bytes that the branches have now. The tree is saved once it is whole, whatever `auto_save` says.
    New(TreeOptions),
    /// They are moved unchanged and never inflated: clusters, basket sizes and compression stay.
    Keep,
}

impl Default for Baskets {
    fn default() -> Self {
        Self::New(TreeOptions::default())
    }
}

/// How an RNTuple's pages are written.
///
/// # Example
///
/// ```
/// use sapwood::write::{NTupleOptions, Pages};
/// let hundreds = Pages::New(NTupleOptions { cluster_entries: Some(100), ..NTupleOptions::default() });
/// assert!(matches!(hundreds, Pages::New(options) if options.compression.is_none()));
/// ```
#[derive(Clone, Debug)]
pub enum Pages {
    /// Values go into new ones: clusters, page sizes and compression are these.
    New(NTupleOptions),
    /// They are moved unchanged and never inflated: clusters, page sizes and compression stay.
    Keep,
}

impl Default for Pages {
    fn default() -> Self {
        Self::New(NTupleOptions::default())
    }
}

/// The order in which the baskets of a tree stand in its file.
///
/// # Example
///
/// ```
/// use sapwood::write::Order;
/// assert_eq!("branch".parse::<Order>()?, Order::Branch);
/// assert_eq!(Order::default().as_str(), "entry");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Cluster by cluster: for reading most branches (ROOT's `SortBasketsByEntry`).
    #[default]
    Entry,
    /// All baskets of one branch, then those of the next: for reading few branches of all entries over a network
    /// (`SortBasketsByBranch`).
    Branch,
    /// In the order of the source file (`SortBasketsByOffset`); for baskets that are kept.
    Offset,
}

impl Order {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Branch => "branch",
            Self::Offset => "offset",
        }
    }
}

impl std::str::FromStr for Order {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::Entry, Self::Branch, Self::Offset];
        let wrong = || Error::mismatch(format!("the order of baskets is entry, branch or offset, not {name:?}"));
        all.into_iter().find(|order| order.as_str() == name).ok_or_else(wrong)
    }
}
