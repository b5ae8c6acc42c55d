//! Where the baskets of a tree are: branch by branch and cluster by cluster. Metadata only, nothing else is read.

use std::ops::Range;

use crate::tree::{BasketBytes, BranchId, Tree};

/// Baskets and clusters of a tree.
///
/// # Example
///
/// ```
/// use sapwood::inspect::layout::Layout;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let layout = Layout::of(&*file.tree("t")?);
/// assert_eq!(layout.clusters.len(), 3);
/// assert_eq!(layout.branches.iter().map(|branch| branch.baskets).sum::<usize>(), layout.baskets.len());
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let layout = sapwood::inspect::layout::Layout::of(&*sapwood::File::open(path)?.tree("t")?);
/// assert!(layout.zip_bytes() > 0 && layout.tot_bytes() > 0);
/// assert_eq!(layout.baskets_of(0).len(), layout.branches[0].baskets);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    /// Name of the tree.
    pub tree: String,
    /// Its cycle.
    pub cycle: u16,
    /// Its entries.
    pub entries: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Whether the tree says where its clusters are, or is the first one still; else all of it counts as one.
    pub has_clusters: bool,
    /// Branches with values of their own, depth first.
    pub branches: Vec<BranchLayout>,
    /// Clusters in the order of entries.
    pub clusters: Vec<ClusterLayout>,
    /// Baskets that are records of the file: branch by branch, in the order of entries.
    pub baskets: Vec<Extent>,
}

/// The baskets of one branch.
#[derive(Clone, Debug)]
pub struct BranchLayout {
    /// Number of the branch in its tree.
    pub id: BranchId,
    /// Its path.
    pub path: String,
    /// Class of its record.
    pub class: String,
    /// Type of its values; none if they cannot be decoded.
    pub type_name: Option<String>,
    /// Its entries.
    pub entries: u64,
    /// How many baskets are records of the file.
    pub baskets: usize,
    /// How many are in the tree's own record.
    pub embedded: usize,
    /// Bytes before compression, as its record counts them: keys included.
    pub tot_bytes: u64,
    /// Bytes after it: those of its baskets.
    pub zip_bytes: u64,
    /// Stored bytes of its smallest basket.
    pub min_bytes: u64,
    /// Stored bytes of the basket in the middle.
    pub median_bytes: u64,
    /// Stored bytes of its largest basket.
    pub max_bytes: u64,
    /// Baskets a cluster, on average.
    pub per_cluster: f64,
    /// Baskets with entries of more than one cluster.
    pub spanning: usize,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterLayout {
    /// Its entries.
    pub entries: Range<u64>,
    /// Baskets whose first entry is in it.
    pub baskets: usize,
    /// Stored bytes of these.
    pub bytes: u64,
    /// Their span: from the first byte of any to the end of the last.
    pub span: Range<u64>,
}

impl ClusterLayout {
    /// The share of its span that is its own: 1 if its baskets are contiguous.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::inspect::layout::ClusterLayout;
    /// let cluster = ClusterLayout { entries: 0..10, baskets: 2, bytes: 300, span: 100..700 };
    /// assert_eq!(cluster.contiguity(), 0.5);
    /// ```
    pub fn contiguity(&self) -> f64 {
        let span = self.span.end.saturating_sub(self.span.start);
        if span == 0 { 1.0 } else { self.bytes as f64 / span as f64 }
    }
}

/// A basket as the planner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Place of its branch in [`Layout::branches`].
    pub branch: usize,
    /// Its entries.
    pub entries: Range<u64>,
    /// Where it is.
    pub at: u64,
    /// Its stored bytes.
    pub bytes: u64,
}

impl Layout {
    /// The layout of a tree.
    pub fn of(tree: &Tree) -> Self {
        let ranges = tree.clusters();
        let mut clusters: Vec<ClusterLayout> = ranges
            .into_iter()
            .map(|entries| ClusterLayout { entries, baskets: 0, bytes: 0, span: Range { start: u64::MAX, end: 0 } })
            .collect();
        let (mut branches, mut baskets) = (Vec::new(), Vec::new());
        for branch in tree.branches().iter().filter(|branch| !branch.baskets().is_empty()) {
            let place = branches.len();
            let before = baskets.len();
            let (mut embedded, mut spanning, mut sizes) = (0, 0, Vec::new());
            for basket in branch.baskets() {
                let BasketBytes::Stored { seek, nbytes } = basket.bytes else {
                    embedded += 1;
                    continue;
                };
                let bytes = u64::from(nbytes);
                let first = cluster_of(&clusters, basket.entries.start);
                if let Some(cluster) = clusters.get_mut(first) {
                    cluster.baskets += 1;
                    cluster.bytes += bytes;
                    cluster.span.start = cluster.span.start.min(seek);
                    cluster.span.end = cluster.span.end.max(seek.saturating_add(bytes));
                    spanning += usize::from(basket.entries.end > cluster.entries.end);
                }
                sizes.push(bytes);
                baskets.push(Extent { branch: place, entries: basket.entries.clone(), at: seek, bytes });
            }
            sizes.sort_unstable();
            branches.push(BranchLayout {
                id: branch.id,
                path: branch.path.to_string(),
                class: branch.class.to_string(),
                type_name: tree.interpretation(branch.id).ok().map(|found| found.type_name.clone()),
                entries: branch.entries,
                baskets: baskets.len() - before,
                embedded,
                tot_bytes: branch.tot_bytes,
                zip_bytes: sizes.iter().sum(),
                min_bytes: sizes.first().copied().unwrap_or(0),
                median_bytes: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
                max_bytes: sizes.last().copied().unwrap_or(0),
                per_cluster: sizes.len() as f64 / clusters.len().max(1) as f64,
                spanning,
            });
        }
        for cluster in clusters.iter_mut().filter(|cluster| cluster.baskets == 0) {
            cluster.span = 0..0;
        }
        Self {
            tree: tree.name.to_string(),
            cycle: tree.cycle,
            entries: tree.entries,
            file_bytes: tree.file().identity().len,
            has_clusters: tree.auto_flush > 0
                || tree.cluster_ranges().next().is_some()
                // Minus the bytes after which the first cluster ends.
                || tree.zip_bytes < tree.auto_flush.min(0).unsigned_abs(),
            branches,
            clusters,
            baskets,
        }
    }

    /// Stored bytes of all baskets.
    pub fn zip_bytes(&self) -> u64 {
        self.branches.iter().map(|branch| branch.zip_bytes).sum()
    }

    /// Bytes of all branches before compression.
    pub fn tot_bytes(&self) -> u64 {
        self.branches.iter().fold(0, |sum, branch| sum.saturating_add(branch.tot_bytes))
    }

    /// Baskets of a branch, by its place in [`branches`](Self::branches).
    pub fn baskets_of(&self, branch: usize) -> &[Extent] {
        let first = self.baskets.partition_point(|basket| basket.branch < branch);
        let end = self.baskets.partition_point(|basket| basket.branch <= branch);
        &self.baskets[first..end]
    }
}

fn cluster_of(clusters: &[ClusterLayout], entry: u64) -> usize {
    clusters.partition_point(|cluster| cluster.entries.end <= entry)
}
