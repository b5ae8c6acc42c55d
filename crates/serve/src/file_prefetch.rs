//! Where the baskets of a file are, and which of them were fetched ahead. Pages of RNTuples count as baskets, and their
//! columns as branches.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use sapwood::inspect::layout::Layout;
use sapwood::io::{ByteRange, Store};
use sapwood::tree::{BasketBytes, Tree};
use sapwood::wire::Limits;
use sapwood::{File, OpenOptions, Result, Session};

/// Baskets that are known, of all files: 48 MB.
const MOST_BASKETS: u64 = 1_000_000;
/// Baskets of one read that are looked at.
const MOST_TOUCHED: usize = 10_000;
/// The record of a larger tree is not looked at.
const MOST_RECORD: u32 = 256 << 20;

/// What is known of the baskets of one file, and what was fetched ahead of them.
#[derive(Default)]
pub(crate) struct FilePrefetch {
    pub(crate) index: OnceLock<Option<Index>>,
    pub(crate) state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The cluster that was fetched last, by branch.
    pub(crate) fetched: HashMap<u32, usize>,
    /// Baskets that were fetched and not asked for.
    pub(crate) unused: HashSet<u32>,
}

/// A basket of any tree of a file.
#[derive(Debug)]
pub(crate) struct Basket {
    pub(crate) bytes: ByteRange,
    /// The tree's entries.
    pub(crate) entries: std::ops::Range<u64>,
    pub(crate) branch: u32,
}

/// Where the baskets of a file are.
pub(crate) struct Index {
    /// By place.
    pub(crate) baskets: Vec<Basket>,
    /// Of each branch, in the order of entries: numbers in `baskets`.
    pub(crate) branches: Vec<Vec<u32>>,
    /// The tree of each branch.
    pub(crate) trees: Vec<usize>,
    /// Where the clusters of each tree end.
    pub(crate) clusters: Vec<Vec<u64>>,
    /// Of what all files may know together.
    pub(crate) known: Arc<AtomicU64>,
}

impl Drop for Index {
    fn drop(&mut self) {
        self.known.fetch_sub(self.baskets.len() as u64, Ordering::Relaxed);
    }
}

impl Index {
    /// Reads the trees and RNTuples of a file; none of those that cannot be read.
    pub(crate) fn read(store: Arc<dyn Store>, known: &Arc<AtomicU64>) -> Result<Option<Self>> {
        let limits = Limits { object_bytes: u64::from(MOST_RECORD), ..Limits::default() };
        let options = OpenOptions { session: Session::with_threads(1), limits, ..OpenOptions::default() };
        let file = File::from_store(store, options)?;
        let (mut trees, mut ntuples) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for place in file.keys(true)? {
            let is_tree = matches!(&*place.key.class, "TTree" | "TNtuple" | "TNtupleD");
            // Of several cycles the first is the newest.
            if place.key.objlen > MOST_RECORD || !(is_tree || place.key.is_ntuple()) || !seen.insert(place.path) {
                continue;
            }
            if is_tree {
                trees.extend(file.tree_at(&place.key));
            } else {
                ntuples.extend(file.ntuple_at(&place.key).and_then(|ntuple| Layout::of(&ntuple)));
            }
        }
        let of_trees = trees.iter().flat_map(|tree: &Arc<Tree>| tree.branches()).map(|branch| branch.baskets().len());
        let count = of_trees.sum::<usize>() + ntuples.iter().map(|layout| layout.baskets.len()).sum::<usize>();
        let count = count as u64;
        if count == 0 || known.fetch_add(count, Ordering::Relaxed) + count > MOST_BASKETS {
            known.fetch_sub(count, Ordering::Relaxed);
            return Ok(None);
        }
        let mut index = Self::of(&trees, &ntuples);
        // Baskets in the records of trees have no place of their own.
        known.fetch_sub(count - index.baskets.len() as u64, Ordering::Relaxed);
        index.known = Arc::clone(known);
        Ok(Some(index))
    }

    fn of(trees: &[Arc<Tree>], ntuples: &[Layout]) -> Self {
        let (mut baskets, mut of_tree, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        let number = |branch: usize| u32::try_from(branch).unwrap_or(u32::MAX);
        for tree in trees {
            for branch in tree.branches().iter().filter(|branch| branch.file_name.is_empty()) {
                for basket in branch.baskets() {
                    if let BasketBytes::Stored { seek, nbytes } = basket.bytes {
                        let bytes = seek..seek.saturating_add(u64::from(nbytes));
                        let branch = number(of_tree.len());
                        baskets.push(Basket { bytes, entries: basket.entries.clone(), branch });
                    }
                }
                of_tree.push(clusters.len());
            }
            clusters.push(tree.clusters().into_iter().map(|cluster| cluster.end).collect());
        }
        for layout in ntuples {
            baskets.extend(layout.baskets.iter().map(|page| {
                // A page may hold a part of an entry.
                let entries = page.entries.start..page.entries.end.max(page.entries.start.saturating_add(1));
                let branch = number(of_tree.len() + page.branch);
                Basket { bytes: page.at..page.at.saturating_add(page.bytes), entries, branch }
            }));
            of_tree.extend(layout.branches.iter().map(|_| clusters.len()));
            clusters.push(layout.clusters.iter().map(|cluster| cluster.entries.end).collect());
        }
        baskets.sort_by_key(|basket| basket.bytes.start);
        let mut branches = vec![Vec::new(); of_tree.len()];
        for (number, basket) in (0..).zip(&baskets) {
            if let Some(branch) = branches.get_mut(basket.branch as usize) {
                branch.push(number);
            }
        }
        for branch in &mut branches {
            branch.sort_by_key(|number| baskets.get(*number as usize).map(|basket| basket.entries.start));
        }
        Self { baskets, branches, trees: of_tree, clusters, known: Arc::default() }
    }

    pub(crate) fn basket(&self, number: u32) -> Option<&Basket> {
        self.baskets.get(number as usize)
    }

    /// Baskets that begin in these ranges.
    pub(crate) fn touched(&self, ranges: &[ByteRange]) -> Vec<u32> {
        let mut found = Vec::new();
        for range in ranges {
            let first = self.baskets.partition_point(|basket| basket.bytes.start < range.start);
            let end = self.baskets.partition_point(|basket| basket.bytes.start < range.end);
            let room = MOST_TOUCHED.saturating_sub(found.len());
            found.extend((first..end).take(room).filter_map(|number| u32::try_from(number).ok()));
        }
        found
    }

    /// The cluster that an entry is in.
    pub(crate) fn cluster(&self, branch: u32, entry: u64) -> Option<(usize, &[u64])> {
        let ends = self.clusters.get(*self.trees.get(branch as usize)?)?;
        Some((ends.partition_point(|end| *end <= entry), ends))
    }
}

impl State {
    /// Baskets that will be wanted, given those that were: of the same branches, in the cluster behind.
    pub(crate) fn next(&mut self, index: &Index, touched: &[u32]) -> Vec<u32> {
        let mut furthest: HashMap<u32, u64> = HashMap::new();
        for basket in touched.iter().filter_map(|number| index.basket(*number)) {
            let entry = furthest.entry(basket.branch).or_default();
            *entry = basket.entries.start.max(*entry);
        }
        let mut wanted = Vec::new();
        for (branch, entry) in furthest {
            let Some((cluster, ends)) = index.cluster(branch, entry) else { continue };
            let (Some(start), Some(end)) = (ends.get(cluster), ends.get(cluster + 1)) else { continue };
            if self.fetched.insert(branch, cluster + 1) == Some(cluster + 1) {
                continue;
            }
            let all = index.branches.get(branch as usize).map_or(&[][..], Vec::as_slice);
            let from = all.partition_point(|number| index.basket(*number).is_some_and(|b| b.entries.end <= *start));
            let until = all.partition_point(|number| index.basket(*number).is_some_and(|b| b.entries.start < *end));
            wanted.extend(all.get(from..until).unwrap_or_default());
        }
        wanted.retain(|number| !touched.contains(number));
        wanted.sort_unstable();
        wanted
    }
}
