//! Prefetch: fetches baskets of the cluster behind the one that a client reads into the cache.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use sapwood::io::{ByteRange, Store};
use sapwood::tree::{BasketBytes, Tree};
use sapwood::{File, OpenOptions, Result, Session};

use crate::files::Opened;
use crate::metrics::Metrics;

/// Threads that fetch prefetch, for all clients.
const THREADS: usize = 2;
/// Reads that wait to be looked at; what comes then is forgotten.
const WAITING: usize = 256;
/// So much is fetched ahead of one read, at most,
const MOST_BYTES: u64 = 16 << 20;
/// and so much at a time: between two, clients go first.
const STEP_BYTES: u64 = 4 << 20;
/// How long clients may keep it from going on.
const COURTESY: Duration = Duration::from_millis(2);
const COURTESIES: u32 = 1000;
/// Baskets that are known, of all files: 48 MB.
const MOST_BASKETS: u64 = 1_000_000;
/// Baskets of one read that are looked at.
const MOST_TOUCHED: usize = 10_000;
/// The record of a larger tree is not looked at.
const MOST_RECORD: u32 = 256 << 20;

/// What is known of the baskets of one file, and what was fetched ahead of them.
#[derive(Default)]
pub(crate) struct FilePrefetch {
    index: OnceLock<Option<Index>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The cluster that was fetched last, by branch.
    fetched: HashMap<u32, usize>,
    /// Baskets that were fetched and not asked for.
    unused: HashSet<u32>,
}

/// A basket of any tree of a file.
#[derive(Debug)]
struct Basket {
    bytes: ByteRange,
    /// The tree's entries.
    entries: std::ops::Range<u64>,
    branch: u32,
}

/// Where the baskets of a file are.
struct Index {
    /// By place.
    baskets: Vec<Basket>,
    /// Of each branch, in the order of entries: numbers in `baskets`.
    branches: Vec<Vec<u32>>,
    /// The tree of each branch.
    trees: Vec<usize>,
    /// Where the clusters of each tree end.
    clusters: Vec<Vec<u64>>,
    /// Of what all files may know together.
    known: Arc<AtomicU64>,
}

impl Drop for Index {
    fn drop(&mut self) {
        self.known.fetch_sub(self.baskets.len() as u64, Ordering::Relaxed);
    }
}

impl Index {
    /// Reads the trees of a file; none of those that cannot be read.
    fn read(store: Arc<dyn Store>, known: &Arc<AtomicU64>) -> Result<Option<Self>> {
        let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
        let file = File::from_store(store, options)?;
        let mut trees = Vec::new();
        let mut seen = HashSet::new();
        for place in file.keys(true)? {
            let is_tree = matches!(&*place.key.class, "TTree" | "TNtuple" | "TNtupleD");
            // Of several cycles the first is the newest.
            if is_tree && place.key.objlen <= MOST_RECORD && seen.insert(place.path) {
                trees.extend(file.tree_at(&place.key));
            }
        }
        let count: usize = trees.iter().flat_map(|tree| tree.branches()).map(|branch| branch.baskets().len()).sum();
        let count = count as u64;
        if count == 0 || known.fetch_add(count, Ordering::Relaxed) + count > MOST_BASKETS {
            known.fetch_sub(count, Ordering::Relaxed);
            return Ok(None);
        }
        let mut index = Self::of(&trees);
        // Baskets in the records of trees have no place of their own.
        known.fetch_sub(count - index.baskets.len() as u64, Ordering::Relaxed);
        index.known = Arc::clone(known);
        Ok(Some(index))
    }

    fn of(trees: &[Arc<Tree>]) -> Self {
        let (mut baskets, mut of_tree, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        for (number, tree) in trees.iter().enumerate() {
            for branch in tree.branches().iter().filter(|branch| branch.file_name.is_empty()) {
                for basket in branch.baskets() {
                    if let BasketBytes::Stored { seek, nbytes } = basket.bytes {
                        let bytes = seek..seek.saturating_add(u64::from(nbytes));
                        let branch = u32::try_from(of_tree.len()).unwrap_or(u32::MAX);
                        baskets.push(Basket { bytes, entries: basket.entries.clone(), branch });
                    }
                }
                of_tree.push(number);
            }
            clusters.push(tree.clusters().into_iter().map(|cluster| cluster.end).collect());
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

    fn basket(&self, number: u32) -> Option<&Basket> {
        self.baskets.get(number as usize)
    }

    /// Baskets that begin in these ranges.
    fn touched(&self, ranges: &[ByteRange]) -> Vec<u32> {
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
    fn cluster(&self, branch: u32, entry: u64) -> Option<(usize, &[u64])> {
        let ends = self.clusters.get(*self.trees.get(branch as usize)?)?;
        Some((ends.partition_point(|end| *end <= entry), ends))
    }
}

impl State {
    /// Baskets that will be wanted, given those that were: of the same branches, in the cluster behind.
    fn next(&mut self, index: &Index, touched: &[u32]) -> Vec<u32> {
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

/// A read of a client.
type Read = (Arc<Opened>, Vec<ByteRange>);

/// Threads that prefetch. Prefetch is best effort: failures are ignored.
pub(crate) struct Prefetcher {
    queue: SyncSender<Read>,
    ended: Arc<AtomicBool>,
}

impl Prefetcher {
    pub(crate) fn start(metrics: &Arc<Metrics>) -> Result<Self> {
        let (queue, reads) = sync_channel(WAITING);
        let reads = Arc::new(Mutex::new(reads));
        let ended = Arc::new(AtomicBool::new(false));
        let known = Arc::default();
        for _ in 0..THREADS {
            let (reads, known) = (Arc::clone(&reads), Arc::clone(&known));
            let thread = PrefetchThread { metrics: Arc::clone(metrics), ended: Arc::clone(&ended), known };
            thread::Builder::new().name("sapwood-ahead".to_owned()).spawn(move || thread.run(&reads))?;
        }
        Ok(Self { queue, ended })
    }

    /// A client reads these ranges. Returns at once, whatever the threads do.
    pub(crate) fn saw(&self, opened: &Arc<Opened>, ranges: &[ByteRange]) {
        let _ = self.queue.try_send((Arc::clone(opened), ranges.to_vec()));
    }
}

impl Drop for Prefetcher {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

struct PrefetchThread {
    metrics: Arc<Metrics>,
    ended: Arc<AtomicBool>,
    known: Arc<AtomicU64>,
}

impl PrefetchThread {
    fn run(&self, reads: &Mutex<Receiver<Read>>) {
        loop {
            let read = reads.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((opened, ranges)) = read else { return };
            if !self.ended.load(Ordering::Relaxed) {
                self.follow(&opened, &ranges);
            }
        }
    }

    fn follow(&self, opened: &Opened, ranges: &[ByteRange]) {
        let index = opened.prefetch.index.get_or_init(|| {
            // What is no ROOT file, or a broken one, is read without our help.
            self.is_quiet().then(|| Index::read(opened.cache.clone(), &self.known).ok().flatten()).flatten()
        });
        let Some(index) = index else { return };
        let wanted = {
            let touched = index.touched(ranges);
            let mut state = opened.prefetch.state.lock().unwrap_or_else(PoisonError::into_inner);
            let used = touched.iter().filter(|number| state.unused.remove(number)).count();
            self.metrics.prefetched_used.add(used as u64);
            state.next(index, &touched)
        };
        let (mut bytes, mut step, mut step_bytes) = (0, Vec::new(), 0);
        let mut wanted = wanted.into_iter().peekable();
        while let Some(number) = wanted.next() {
            let Some(basket) = index.basket(number) else { continue };
            let length = basket.bytes.end - basket.bytes.start;
            bytes += length;
            if bytes > MOST_BYTES {
                return;
            }
            step_bytes += length;
            step.push(number);
            if step_bytes >= STEP_BYTES || wanted.peek().is_none() {
                if !self.fetch(opened, index, &step) {
                    return;
                }
                (step_bytes, step) = (0, Vec::new());
            }
        }
    }

    /// Fetches baskets; false where there is no use in going on.
    fn fetch(&self, opened: &Opened, index: &Index, baskets: &[u32]) -> bool {
        let ranges: Vec<ByteRange> = baskets
            .iter()
            .filter_map(|number| Some(index.basket(*number)?.bytes.clone()))
            .filter(|range| range.end <= opened.len)
            .collect();
        if !self.is_quiet() {
            return false;
        }
        match opened.cache.fetch(&ranges, &|| !self.ended.load(Ordering::Relaxed)) {
            Ok(fetched) if fetched.asked > 0 => {
                self.metrics.prefetched.add(baskets.len() as u64);
                let mut state = opened.prefetch.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.unused.extend(baskets);
                true
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// Waits until no client waits for the upstream; false if that does not come.
    fn is_quiet(&self) -> bool {
        for _ in 0..COURTESIES {
            if self.ended.load(Ordering::Relaxed) {
                return false;
            }
            if self.metrics.fetching.get() == 0 {
                return true;
            }
            thread::sleep(COURTESY);
        }
        false
    }
}
