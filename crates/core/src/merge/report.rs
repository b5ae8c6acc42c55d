//! The report of a merge.

use std::time::Duration;

use crate::error::Error;
use crate::write::{Figures, MovedBaskets};

/// How the baskets of a tree were moved to the output: the slowest way used for any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Unchanged: nothing was inflated.
    Copy,
    /// Inflated and recompressed, without decoding the entries.
    Recompress,
    /// Entries were put into new baskets, or their numbers were widened.
    Reencode,
}

impl Level {
    /// Its name.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::merge::Level::Copy.as_str(), "copy");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Recompress => "recompress",
            Self::Reencode => "re-encode",
        }
    }
}

/// A tree or RNTuple of the output: what is said of baskets is about pages there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedTree {
    /// Its path.
    pub path: String,
    /// How its baskets were moved.
    pub level: Level,
    /// Inputs that have it.
    pub inputs: usize,
    /// Baskets that were never inflated, and their bytes.
    pub copied: (u64, u64),
    /// Baskets that were recompressed, and their bytes now.
    pub recompressed: (u64, u64),
    /// Baskets of new clusters, and those whose numbers were widened to the type of the first input; and their bytes
    /// now.
    pub reencoded: (u64, u64),
    /// Baskets that were in the record of a tree and now have their own, and their bytes.
    pub embedded: (u64, u64),
    /// What the tree has now.
    pub figures: Figures,
}

/// The report of a merge.
#[derive(Debug, Default)]
pub struct Merged {
    /// Trees, in the order of the output.
    pub trees: Vec<MergedTree>,
    /// Other objects that were written.
    pub objects: u64,
    /// Inputs that were merged.
    pub inputs: usize,
    /// Inputs that were skipped, and why.
    pub skipped: Vec<(String, Error)>,
    /// Notices: a dropped index, skipped branches.
    pub notices: Vec<String>,
    /// Bytes of the inputs that were merged.
    pub input_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Reads of the inputs, without baskets that the system copies.
    pub requests: u64,
    /// Time that it took.
    pub took: Duration,
    /// Whether baskets that were copied as they are were inflated.
    pub verified: bool,
}

impl Merged {
    /// How many baskets were moved without being inflated, so that damage in them stays unseen.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::merge::Merged::default().unread(), 0);
    /// ```
    pub fn unread(&self) -> u64 {
        if self.verified { 0 } else { self.trees.iter().map(|tree| tree.copied.0).sum() }
    }
}

impl MergedTree {
    pub(super) fn new(path: String) -> Self {
        let none = (0, 0);
        let figures = Figures::default();
        Self {
            path,
            level: Level::Copy,
            inputs: 0,
            copied: none,
            recompressed: none,
            reencoded: none,
            embedded: none,
            figures,
        }
    }

    pub(super) fn note(&mut self, moved: MovedBaskets) {
        (self.copied, self.recompressed) = (moved.copied, moved.recompressed);
        (self.reencoded, self.embedded) = (moved.reencoded, moved.embedded);
        if moved.recompressed.0 > 0 {
            self.level = self.level.max(Level::Recompress);
        }
        if moved.reencoded.0 > 0 {
            self.level = Level::Reencode;
        }
    }
}
