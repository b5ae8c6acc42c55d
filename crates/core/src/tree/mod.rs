//! TTREE: trees, branches, leaves, baskets and clusters, and what the bytes of a branch mean.

mod basket;
mod basket_entries;
mod basket_header;
mod basket_lists;
mod branch;
mod cache;
mod carried;
mod interpret;
mod interpretation;
mod record_view;
mod stamps;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

#[doc(hidden)]
pub use basket::Basket;
pub(crate) use basket::Unsealed;
pub(crate) use basket_header::BasketHeader;
pub(crate) use branch::element_kind;
pub use branch::{BasketBytes, BasketPlace, Branch, BranchId, ElementBranch, Leaf};
pub use cache::{CACHE_BYTES, CacheFigures, TreeCache};
pub(crate) use cache::{Coming, Needed};
pub use carried::Stepping;
pub(crate) use carried::{Carried, PayloadKey};
pub(crate) use interpretation::{Form, Interpretation};

use crate::column::Kind;
use crate::container::Key;
use crate::error::{Error, Result, nearest};
use crate::file::File;
use crate::object::{Object, Value};
use crate::schema::{Objects, Registry};
use basket_lists::BasketLists;
use record_view::{Member, Row, View};
pub(crate) use stamps::Stamps;

/// `TTree`: its branches and clusters. Metadata only; values are read by [`read`](crate::read).
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let file = sapwood::File::open(path)?;
/// let tree = file.tree("Events")?;
/// assert_eq!((tree.name.as_ref(), tree.entries, tree.clusters().len()), ("Events", 10, 1));
/// let pt = tree.branch("Jet_pt")?;
/// assert_eq!((pt.entry_range(), pt.baskets().len(), pt.has_data()), (0..10, 1, true));
/// assert_eq!((pt.leaves[0].number(), pt.leaves[0].dimensions()), (Some(sapwood::column::Number::F32), vec![]));
/// assert_eq!(tree.branches().len(), tree.top().len(), "no branch has others in it");
/// assert_eq!(tree.file().identity(), file.identity());
/// assert!(tree.registry().info("TBranch", None, None).is_some());
/// assert!(tree.cache().budget() > 0);
/// // Entries: columns of many (`read::columns`), steps (`scan`), single ones (`reader`), values of Rust types
/// // (`read_entries`, `iter_entries`, `iter_columns`).
/// assert_eq!(tree.reader().number::<u32>("nJet")?, 2);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Tree {
    /// `fName`.
    pub name: Arc<str>,
    /// `fTitle`.
    pub title: Arc<str>,
    /// Class of the record: `TTree`, `TNtuple` and so on.
    pub class: Arc<str>,
    /// Cycle of its key.
    pub cycle: u16,
    /// `fEntries`.
    pub entries: u64,
    /// `fTotBytes`, before compression.
    pub tot_bytes: u64,
    /// `fZipBytes`, after it.
    pub zip_bytes: u64,
    /// `fAutoFlush`: entries a cluster where positive, minus bytes where negative.
    pub auto_flush: i64,
    /// `fWeight`: what `TTree::Draw` weights each entry with.
    pub weight: f64,
    /// `fEstimate`: how many values decide on the limits of a histogram.
    pub estimate: u64,
    /// Names and expressions of `fAliases`.
    pub aliases: Vec<(String, String)>,
    /// Trees whose values belong to its entries, too: `fFriends`.
    pub friends: Vec<FriendElement>,
    /// The whole record.
    pub object: Object,
    branches: Vec<Branch>,
    top: Vec<BranchId>,
    /// Branches of the leaves in `fLeaves`, in its order.
    leaf_branches: Vec<BranchId>,
    cluster_ends: Vec<i64>,
    cluster_sizes: Vec<i64>,
    interpretations: Vec<OnceLock<Result<Arc<Interpretation>, Error>>>,
    file: File,
    registry: Arc<Registry>,
    cluster_borders: OnceLock<Vec<u64>>,
    cache: TreeCache,
    carried: Arc<Carried<Basket>>,
    stamps: Stamps,
}

/// `TFriendElement`: where a friend of a tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FriendElement {
    /// The name by which expressions know it.
    pub name: Arc<str>,
    /// The name of its tree.
    pub tree: Arc<str>,
    /// The path or URL of its file; empty for the file of the tree itself.
    pub file: Arc<str>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("name", &self.name).field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Tree {
    pub(crate) fn new(file: &File, key: &Key, object: Object) -> Result<Self> {
        let table = Arc::clone(object.table());
        let view = View::new(&table);
        let row = view.get(object.id()).ok_or_else(|| Error::malformed("the tree was not decoded"))?;
        if !row.has(Member::Branches) || !row.has(Member::Entries) {
            return Err(Error::mismatch(format!("an object of class {} is not a tree", object.class())));
        }
        /// Branches that room is made for at once: a file may claim any number.
        const MOST_ROOM: usize = 1 << 17;
        let mut builder = Builder {
            view: &view,
            table: &table,
            branches: Vec::with_capacity(table.count(|class| class.starts_with("TBranch")).min(MOST_ROOM)),
            ids: vec![None; table.len()],
            leaves: vec![None; table.len()],
            basket_lists: Vec::new(),
            counts: Vec::new(),
            count_branches: Vec::new(),
        };
        let mut top = Vec::new();
        for &id in row.objects(Member::Branches) {
            top.extend(builder.branch(id, None, 0)?);
        }
        builder.connect();
        let leaf_branches = row
            .objects(Member::Leaves)
            .iter()
            .filter_map(|&leaf| of_object(&builder.leaves, leaf))
            .map(|(branch, _)| branch as BranchId)
            .collect();
        let mut branches = builder.branches;
        let others = number_files(&mut branches);
        let file = &if others.is_empty() { file.clone() } else { file.with_others(others) };
        let aliases = view.get(row.pointer(Member::Aliases)).map_or_else(Vec::new, |list| {
            list.items()
                .iter()
                .filter_map(|&id| view.get(id))
                .map(|alias| (alias.text(Member::Name), alias.text(Member::Title)))
                .collect()
        });
        let friends = view.get(row.pointer(Member::Friends)).map_or_else(Vec::new, |list| {
            let one = |friend: Row<'_, '_>| FriendElement {
                name: friend.text(Member::Name).into(),
                tree: friend.text(Member::TreeName).into(),
                file: friend.text(Member::Title).into(),
            };
            list.items().iter().filter_map(|&id| view.get(id)).map(one).collect()
        });
        let tree = Self {
            name: row.text(Member::Name).into(),
            title: row.text(Member::Title).into(),
            class: object.class().into(),
            cycle: key.cycle,
            entries: row.float(Member::Entries).max(0.0) as u64,
            tot_bytes: row.float(Member::TotBytes).max(0.0) as u64,
            zip_bytes: row.float(Member::ZipBytes).max(0.0) as u64,
            auto_flush: row.int(Member::AutoFlush),
            weight: if row.has(Member::Weight) { row.float(Member::Weight) } else { 1.0 },
            // As `TTree::Streamer`, which takes no fewer.
            estimate: u64::try_from(row.int(Member::Estimate)).ok().filter(|some| *some > 10_000).unwrap_or(1_000_000),
            aliases,
            friends,
            cluster_ends: row.ints(Member::ClusterRangeEnd),
            cluster_sizes: row.ints(Member::ClusterSize),
            interpretations: branches.iter().map(|_| OnceLock::new()).collect(),
            branches,
            top,
            leaf_branches,
            file: file.clone(),
            registry: file.registry()?,
            cluster_borders: OnceLock::new(),
            cache: TreeCache::new(file.options().cache_bytes),
            carried: Arc::default(),
            stamps: Stamps::default(),
            object,
        };
        view.check()?;
        Ok(tree)
    }

    /// Whether an index is stored with it (`TTree::BuildIndex`).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert!(!sapwood::File::open(path)?.tree("Events")?.has_index());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn has_index(&self) -> bool {
        matches!(self.object.member("fTreeIndex"), Ok(Value::Object(_)))
    }

    /// The file it is in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The classes of its file.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The cache of its baskets.
    pub fn cache(&self) -> &TreeCache {
        &self.cache
    }

    /// Begins an iteration: as long as the answer lives, reads carry over baskets that they cut.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let id = tree.branch("nJet")?.id;
    /// let stepping = tree.stepping();
    /// let rows = [0..4, 4..10].map(|step| sapwood::read::columns(&tree, &[id], step).map(|columns| columns[0].len));
    /// drop(stepping);
    /// assert_eq!(rows.into_iter().sum::<sapwood::Result<usize>>()?, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stepping(&self) -> Stepping {
        self.carried.begin()
    }

    /// Checksums of its branches.
    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Baskets that a step cut, inflated.
    pub(crate) fn carried(&self) -> &Carried<Basket> {
        &self.carried
    }

    /// All branches, depth first.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Top-level branches.
    pub fn top(&self) -> &[BranchId] {
        &self.top
    }

    /// The branch of each leaf of `fLeaves`, in its order: a branch with several leaves is repeated.
    pub(crate) fn leaf_branches(&self) -> &[BranchId] {
        &self.leaf_branches
    }

    /// A branch by path, or by name where no path matches: the first one depth first.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), naming branches with similar names.
    pub fn branch(&self, path: &str) -> Result<&Branch> {
        let path = path.trim_matches('/');
        let found = self.branches.iter().find(|branch| &*branch.path == path);
        let found = found.or_else(|| self.branches.iter().find(|branch| &*branch.name == path));
        let found = found.or_else(|| self.branches.iter().find(|branch| branch.name.trim_end_matches('.') == path));
        found.ok_or_else(|| {
            let hint = nearest(path, self.branches.iter().map(|branch| (&*branch.name, &*branch.path)));
            self.place(Error::not_found(format!("no branch {path:?}{hint}")))
        })
    }

    /// Entry ranges of the clusters.
    ///
    /// Source: `TTree::TClusterIterator`. Trees before 2009 have none: one cluster for the branch with the fewest
    /// baskets' borders would be a guess, so the whole tree counts as one.
    pub fn clusters(&self) -> Vec<Range<u64>> {
        /// No writer produces more clusters than this: the rest counts as one.
        const MOST: usize = 10_000_000;
        let mut clusters = Vec::new();
        let mut start = 0_u64;
        let mut fill = |until: u64, size: i64| {
            let size = if size > 0 { size as u64 } else { until.saturating_sub(start).max(1) };
            while start < until {
                let more = if clusters.len() < MOST { size } else { until };
                let end = until.min(start.saturating_add(more));
                clusters.push(start..end);
                start = end;
            }
        };
        for (&last, &size) in self.cluster_ends.iter().zip(&self.cluster_sizes) {
            fill((last.max(-1) + 1) as u64, size);
        }
        fill(self.entries, self.auto_flush);
        clusters
    }

    /// The ends of clusters, in order.
    pub(crate) fn cluster_borders(&self) -> &[u64] {
        self.cluster_borders.get_or_init(|| self.clusters().iter().map(|cluster| cluster.end).collect())
    }

    /// Ranges of clusters as the record has them: last entry, and entries a cluster.
    pub(crate) fn cluster_ranges(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.cluster_ends.iter().copied().zip(self.cluster_sizes.iter().copied())
    }

    pub(crate) fn place(&self, error: Error) -> Error {
        self.file.name(error)
    }
}

/// Numbers the other files that hold baskets of branches, and returns their names.
fn number_files(branches: &mut [Branch]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for branch in branches.iter_mut().filter(|branch| !branch.file_name.is_empty()) {
        let known = names.iter().position(|name| *name == branch.file_name);
        let number = known.unwrap_or_else(|| {
            names.push(Arc::clone(&branch.file_name));
            names.len() - 1
        });
        branch.file_number = number + 1;
    }
    names
}

/// Builds the list of branches from the objects of the record.
struct Builder<'v, 'a> {
    view: &'v View<'a>,
    table: &'v Arc<Objects>,
    branches: Vec<Branch>,
    /// Branches by object.
    ids: Vec<Option<u32>>,
    /// Leaves by object: branch, and number in it.
    leaves: Vec<Option<(u32, u32)>>,
    /// Where branches have their lists of baskets, by the type of their records.
    basket_lists: Vec<(&'a Kind, Arc<BasketLists>)>,
    /// Leaves, and the objects that count for them.
    counts: Vec<((BranchId, usize), u32)>,
    /// Branches, and the objects that count for them.
    count_branches: Vec<(BranchId, u32)>,
}

/// What is known of an object; nothing for null.
fn of_object<T: Copy>(known: &[Option<T>], object: u32) -> Option<T> {
    *known.get((object as usize).checked_sub(1)?)?
}

fn note<T>(known: &mut [Option<T>], object: u32, what: T) {
    if let Some(slot) = (object as usize).checked_sub(1).and_then(|index| known.get_mut(index)) {
        *slot = Some(what);
    }
}

impl<'a> Builder<'_, 'a> {
    /// Where a branch has its lists of baskets.
    fn basket_lists(&mut self, row: Row<'_, 'a>) -> Arc<BasketLists> {
        /// Types that are remembered: more than trees have.
        const MOST: usize = 32;
        if let Some((_, lists)) = self.basket_lists.iter().find(|(kind, _)| std::ptr::eq(*kind, row.kind)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(BasketLists::of(row.kind));
        if self.basket_lists.len() < MOST {
            self.basket_lists.push((row.kind, Arc::clone(&lists)));
        }
        lists
    }

    fn branch(&mut self, object: u32, parent: Option<BranchId>, depth: u32) -> Result<Option<BranchId>> {
        const DEEPEST: u32 = 200;
        let Some(row) = self.view.get(object) else {
            return match self.view.failure(object) {
                Some(failure) => Err(failure),
                None => Ok(None),
            };
        };
        if depth > DEEPEST || of_object(&self.ids, object).is_some() {
            return Err(Error::malformed("branches contain each other"));
        }
        let id = self.branches.len();
        note(&mut self.ids, object, id as u32);
        row.expect_lists(&[Member::BasketBytes, Member::BasketSeek, Member::BasketEntry]);
        let lists = self.basket_lists(row);
        let mut branch = Branch::read(row, lists);
        branch.id = id;
        branch.parent = parent;
        branch.path = match parent {
            Some(parent) => format!("{}/{}", self.branches[parent].path, branch.name).into(),
            None => Arc::clone(&branch.name),
        };
        branch.record = Object::of(self.table, object);
        match row.pointer(Member::BranchCount) {
            0 => {}
            count => self.count_branches.push((id, count)),
        }
        // Most branches have one leaf.
        branch.leaves.reserve_exact(1);
        for &leaf in row.objects(Member::Leaves) {
            if let Some(leaf_row) = self.view.get(leaf) {
                let place = (id, branch.leaves.len());
                note(&mut self.leaves, leaf, (id as u32, place.1 as u32));
                let count = leaf_row.pointer(Member::LeafCount);
                if count != 0 {
                    self.counts.push((place, count));
                }
                let leaf = Leaf::read(leaf_row, &branch);
                branch.leaves.push(leaf);
            }
        }
        self.branches.push(branch);
        if &**row.class == "TBranchClones" {
            // ROOT hides the branch that counts for the others; here it precedes them.
            if let Some(count) = self.branch(row.pointer(Member::BranchCount), Some(id), depth + 1)? {
                self.branches[id].children.push(count);
            }
        }
        for &child in row.objects(Member::Branches) {
            if let Some(child) = self.branch(child, Some(id), depth + 1)? {
                self.branches[id].children.push(child);
            }
        }
        Ok(Some(id))
    }

    /// Resolves references between branches, once all are known.
    fn connect(&mut self) {
        for &((branch, leaf), counter) in &self.counts {
            let count = of_object(&self.leaves, counter);
            self.branches[branch].leaves[leaf].count = count.map(|(branch, leaf)| (branch as BranchId, leaf as usize));
        }
        for &(id, counter) in &self.count_branches {
            if let Some(count) = of_object(&self.ids, counter)
                && let Some(element) = &mut self.branches[id].element
            {
                element.count_branch = Some(count as BranchId);
            }
        }
    }
}
