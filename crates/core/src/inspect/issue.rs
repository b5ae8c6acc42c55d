//! What the doctor finds.

/// What can be wrong.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::doctor::diagnose;
/// use sapwood::inspect::io_cost::Reader;
/// let diagnosis = diagnose(&sapwood::File::open(path)?, None, &Reader::default())?;
/// println!("{}", diagnosis.is_healthy());
/// for issue in diagnosis.trees.iter().flat_map(|tree| &tree.issues) {
///     println!("{}", issue.kind.as_str());
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IssueKind {
    /// The file was never closed.
    NeverClosed,
    /// The file is shorter than its header says.
    CutOff,
    /// Much of the file is gaps.
    UnusedSpace,
    /// A tree cannot be opened, or the list of free segments cannot be read.
    Unreadable,
    /// The tree does not record its clusters.
    NoClusters,
    /// Clusters hold too little.
    SmallClusters,
    /// Clusters hold more than readers fetch at once.
    LargeClusters,
    /// The baskets of a cluster are not contiguous.
    ScatteredClusters,
    /// Baskets hold entries of several clusters.
    SpanningBaskets,
    /// Reading in the order of entries goes backwards in the file.
    BackwardSeeks,
    /// Baskets are too small.
    SmallBaskets,
    /// So many branches that their baskets are small.
    ManyBranches,
    /// A basket is huge.
    HugeBasket,
    /// Compression saves nothing.
    UselessCompression,
    /// LZMA: inflating it takes longer than reading it.
    SlowCompression,
    /// Lists of the same lengths have a counter each.
    RepeatedCounters,
    /// Counters are stored far from what they count.
    FarCounters,
    /// Pages of an RNTuple are too small.
    SmallPages,
    /// A page of an RNTuple is huge.
    HugePage,
    /// Each page of an RNTuple is a record of its own.
    UnbufferedPages,
}

impl IssueKind {
    /// The kind in short, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeverClosed => "never-closed",
            Self::CutOff => "cut-off",
            Self::UnusedSpace => "unused-space",
            Self::Unreadable => "unreadable",
            Self::NoClusters => "no-clusters",
            Self::SmallClusters => "small-clusters",
            Self::LargeClusters => "large-clusters",
            Self::ScatteredClusters => "scattered-clusters",
            Self::SpanningBaskets => "spanning-baskets",
            Self::BackwardSeeks => "backward-seeks",
            Self::SmallBaskets => "small-baskets",
            Self::ManyBranches => "many-branches",
            Self::HugeBasket => "huge-basket",
            Self::UselessCompression => "useless-compression",
            Self::SlowCompression => "slow-compression",
            Self::RepeatedCounters => "repeated-counters",
            Self::FarCounters => "far-counters",
            Self::SmallPages => "small-pages",
            Self::HugePage => "huge-page",
            Self::UnbufferedPages => "unbuffered-pages",
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// What, how much of it, and why it matters, in plain words.
    pub message: String,
}

pub(super) fn issue(kind: IssueKind, message: impl Into<String>) -> Issue {
    Issue { kind, message: message.into() }
}

/// Bytes in words.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.0} kB", count as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.0} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}
