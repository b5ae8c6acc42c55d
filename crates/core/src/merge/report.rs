//! What a merge did.

use std::time::Duration;

use crate::error::Error;
use crate::write::{Figures, Moved};

/// How the baskets of a tree came into the output: the slowest way that one of them took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As they are: nothing was inflated.
    Copy,
    /// Inflated and compressed again; nobody looked at what is in them.
    Recompress,
    /// Entries went into new baskets, or their numbers became wider.
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

/// A tree of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedTree {
    /// Its path.
    pub path: String,
    /// How its baskets came there.
    pub level: Level,
    /// Inputs that have it.
    pub inputs: usize,
    /// Baskets that were never inflated, and their bytes.
    pub copied: (u64, u64),
    /// Baskets that were compressed again, and their bytes as they stand now.
    pub recompressed: (u64, u64),
    /// Baskets whose numbers were widened to the type of the first input, and their bytes as they stand now.
    pub reencoded: (u64, u64),
    /// Baskets that stood in the record of a tree and have their own now, and their bytes.
    pub embedded: (u64, u64),
    /// What the tree has now.
    pub figures: Figures,
}

/// What a merge did.
#[derive(Debug, Default)]
pub struct Merged {
    /// Trees, in the order of the output.
    pub trees: Vec<MergedTree>,
    /// Other objects that were written.
    pub objects: u64,
    /// Inputs that were merged.
    pub inputs: usize,
    /// Inputs that were left out, and why.
    pub skipped: Vec<(String, Error)>,
    /// What is worth a word: an index that was dropped, branches that were left out.
    pub notices: Vec<String>,
    /// Bytes of the inputs that were merged.
    pub input_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Reads that the inputs were asked for; baskets that the system copies are not among them.
    pub requests: u64,
    /// Time that it took.
    pub took: Duration,
    /// Whether baskets that were copied as they are were inflated.
    pub verified: bool,
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

    pub(super) fn note(&mut self, moved: Moved) {
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
