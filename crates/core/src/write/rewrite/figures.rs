//! Figures of a tree or an RNTuple that was written or read.

use crate::error::Result;
use crate::ntuple::NTuple;
use crate::tree::Tree;

/// Sizes of a tree or an RNTuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries.
    pub entries: u64,
    /// Baskets of all branches.
    pub baskets: u64,
    /// Clusters.
    pub clusters: u64,
    /// Compressed bytes.
    pub zip_bytes: u64,
    /// Bytes before compression.
    pub tot_bytes: u64,
}

impl Figures {
    /// Sizes of a tree.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::write::Figures;
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// assert_eq!(Figures::of(&tree).clusters, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of(tree: &Tree) -> Self {
        let branches = tree.branches().iter().filter(|branch| branch.has_data());
        Self {
            entries: tree.entries,
            baskets: branches.map(|branch| branch.baskets().len() as u64).sum(),
            clusters: tree.clusters().len() as u64,
            zip_bytes: tree.zip_bytes,
            tot_bytes: tree.tot_bytes,
        }
    }

    /// Sizes of an RNTuple, whose pages count as baskets.
    pub(crate) fn of_ntuple(ntuple: &NTuple) -> Result<Self> {
        let clusters = ntuple.clusters()?.len() as u64;
        let mut figures = Self { entries: ntuple.entries, clusters, ..Self::default() };
        for &id in ntuple.top() {
            let bytes = ntuple.field_bytes(id)?;
            figures.baskets += bytes.pages;
            figures.zip_bytes = figures.zip_bytes.saturating_add(bytes.stored);
            figures.tot_bytes = figures.tot_bytes.saturating_add(bytes.inflated);
        }
        Ok(figures)
    }
}
