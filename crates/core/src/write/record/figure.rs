//! A number of a new tree's record that changes from save to save.

/// A member of the tree that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfTree {
    Entries,
    TotBytes,
    ZipBytes,
    FlushedBytes,
    Ranges,
    AutoFlush,
    RangeEnds,
    RangeSizes,
}

/// A member of a branch that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfBranch {
    BasketSize,
    WriteBasket,
    Entries,
    MaxBaskets,
    TotBytes,
    ZipBytes,
    BasketBytes,
    BasketEntry,
    BasketSeek,
    Most,
    MostAndOne,
}

/// A number that changes, or a list of them: of the tree, or of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Tree(OfTree),
    Branch(u32, OfBranch),
}
