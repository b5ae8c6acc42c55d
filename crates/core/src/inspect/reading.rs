//! Ways to read a tree, and what each costs.

use super::io_cost::Cost;

/// A way to read the tree, and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which.
    pub kind: ReadingKind,
    /// Paths of the branches; none where it is all of them.
    pub branches: Vec<String>,
    /// As the file is.
    pub now: Cost,
    /// As it would be in a good layout: clusters of 64 MiB before compression and at most a window stored, a basket of
    /// up to 512 KiB for each branch in each, side by side.
    pub good: Cost,
}

/// The readings that are compared.
///
/// # Example
///
/// ```
/// use sapwood::inspect::doctor::ReadingKind;
/// assert_eq!(ReadingKind::Full.as_str(), "full read");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingKind {
    /// All branches, all entries.
    Full,
    /// The three branches with the most bytes, all entries.
    ThreeColumns,
    /// All branches; 10 of 50 equal slices of the entries, the same in each file of that many entries.
    Fifth,
}

impl ReadingKind {
    /// The reading in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full read",
            Self::ThreeColumns => "three columns",
            Self::Fifth => "20 % of the entries",
        }
    }
}
