//! Where the baskets of a tree, or the pages of an RNTuple, are: branch by branch and cluster by cluster. Metadata
//! only, nothing else is read.

use std::ops::Range;

use crate::error::Result;
use crate::ntuple::NTuple;
use crate::table::Table;
use crate::tree::{BasketBytes, BranchId, Tree};

/// Baskets and clusters of a tree; pages and clusters of an RNTuple.
///
/// # Example
///
/// ```
/// use sapwood::inspect::layout::Layout;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let layout = Layout::of(file.table("t")?)?;
/// assert_eq!(layout.clusters.len(), 3);
/// assert_eq!(layout.branches.iter().map(|branch| branch.baskets).sum::<usize>(), layout.baskets.len());
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let layout = sapwood::inspect::layout::Layout::of(sapwood::File::open(path)?.table("t")?)?;
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
    fn empty(entries: Range<u64>) -> Self {
        Self { entries, baskets: 0, bytes: 0, span: Range { start: u64::MAX, end: 0 } }
    }

    fn add(&mut self, at: u64, bytes: u64) {
        self.baskets += 1;
        self.bytes += bytes;
        self.span.start = self.span.start.min(at);
        self.span.end = self.span.end.max(at.saturating_add(bytes));
    }

    fn settle(clusters: &mut [Self]) {
        for cluster in clusters.iter_mut().filter(|cluster| cluster.baskets == 0) {
            cluster.span = 0..0;
        }
    }

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
    /// The layout of a tree, or of an RNTuple, whose pages stand for baskets and whose columns stand for branches.
    ///
    /// Only of top-level fields it is known which entries a page has. Elsewhere the entries of a cluster are shared out
    /// among a column's pages by their elements.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a broken page list of an RNTuple, and failed reads of it.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::inspect::layout::Layout;
    /// let layout = Layout::of(sapwood::File::open(path)?.table("Events")?)?;
    /// assert!(layout.branches.iter().any(|branch| branch.path == "Jet_pt" && branch.baskets > 0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of(table: impl Into<Table>) -> Result<Self> {
        match table.into() {
            Table::Tree(tree) => Ok(Self::of_tree(&tree)),
            Table::NTuple(ntuple) => Self::of_ntuple(&ntuple),
        }
    }

    /// The layout of a tree.
    pub(super) fn of_tree(tree: &Tree) -> Self {
        let ranges = tree.clusters();
        let mut clusters: Vec<ClusterLayout> = ranges.into_iter().map(ClusterLayout::empty).collect();
        let (mut branches, mut baskets) = (Vec::new(), Vec::new());
        for branch in
            tree.branches().iter().filter(|branch| !branch.baskets().is_empty() && branch.file_name.is_empty())
        {
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
                    cluster.add(seek, bytes);
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
        ClusterLayout::settle(&mut clusters);
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

    /// The layout of an RNTuple.
    pub(super) fn of_ntuple(ntuple: &NTuple) -> Result<Self> {
        let mut clusters: Vec<ClusterLayout> = ntuple.clusters()?.into_iter().map(ClusterLayout::empty).collect();
        let (mut pages, _) = ntuple.listed_pages()?;
        pages.sort_by_key(|page| (page.column, page.cluster, page.number));
        let (mut branches, mut baskets): (Vec<BranchLayout>, Vec<Extent>) = (Vec::new(), Vec::new());
        for of_column in pages.chunk_by(|a, b| a.column == b.column) {
            let (column, field) = (of_column[0].column, &ntuple.fields()[of_column[0].field]);
            let before = baskets.len();
            for of_cluster in of_column.chunk_by(|a, b| a.cluster == b.cluster) {
                let Some(cluster) = clusters.get_mut(of_cluster[0].cluster) else { continue };
                let elements: u64 = of_cluster.iter().map(|page| u64::from(page.page.elements)).sum();
                let entries = cluster.entries.clone();
                let share = |elements_before: u64| {
                    let all = u128::from(entries.end - entries.start);
                    entries.start + (all * u128::from(elements_before) / u128::from(elements.max(1))) as u64
                };
                let mut next = 0;
                for page in of_cluster {
                    let (start, (at, bytes)) = (next, page.place);
                    next += u64::from(page.page.elements);
                    cluster.add(at, bytes);
                    baskets.push(Extent { branch: branches.len(), entries: share(start)..share(next), at, bytes });
                }
            }
            let mut sizes: Vec<u64> = baskets[before..].iter().map(|page| page.bytes).collect();
            sizes.sort_unstable();
            let class = ntuple.column(column)?.kind.map_or_else(|| "?".into(), |kind| kind.to_string());
            let is_first = field.representations.iter().any(|columns| columns.first() == Some(&column));
            branches.push(BranchLayout {
                id: column,
                path: if is_first { field.path.to_string() } else { format!("{} ({class})", field.path) },
                class,
                type_name: Some(field.type_name.to_string()),
                entries: ntuple.entries,
                baskets: sizes.len(),
                embedded: 0,
                tot_bytes: of_column.iter().fold(0, |sum, page| sum.saturating_add(page.inflated_bytes())),
                zip_bytes: sizes.iter().sum(),
                min_bytes: sizes.first().copied().unwrap_or(0),
                median_bytes: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
                max_bytes: sizes.last().copied().unwrap_or(0),
                per_cluster: sizes.len() as f64 / clusters.len().max(1) as f64,
                spanning: 0,
            });
        }
        ClusterLayout::settle(&mut clusters);
        Ok(Self {
            tree: ntuple.name.to_string(),
            cycle: ntuple.cycle,
            entries: ntuple.entries,
            file_bytes: ntuple.file().identity().len,
            has_clusters: true,
            branches,
            clusters,
            baskets,
        })
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
