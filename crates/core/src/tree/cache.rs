//! The cache of a tree: basket bytes that are prefetched, and kept while they are needed.
//!
//! Source: `TTreeCache`, `TFileCacheRead`: one cache per tree, so that trees of a file, and friends, never evict each
//! other.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::error::Result;
use crate::interrupt;
use crate::io::{Arrival, Fetcher, Flow, Store, Ticket, Want, coalesce};

/// The default budget of a tree's cache in bytes: ROOT's default for `TTreeCache`.
pub const CACHE_BYTES: u64 = 30_000_000;

/// The cache of a tree: bytes of baskets, as on storage.
///
/// Its budget is that of one window, which holds whole clusters if they fit, as in `TTreeCache`; while one is used, the
/// next is in flight, so up to twice the budget may be in memory. With a budget of 0 it is off: each basket is then
/// read when it is needed.
///
/// # Example
///
/// ```no_run
/// let tree = sapwood::File::open("events.root")?.tree("events")?;
/// tree.cache().set_budget(100_000_000); // takes effect with the next window
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// tree.cache().set_budget(1 << 20);
/// tree.reader().number::<u32>("nJet")?;
/// assert_eq!(tree.cache().budget(), 1 << 20);
/// println!("{:?}", tree.cache().figures());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct TreeCache {
    budget_bytes: AtomicU64,
    kept: Mutex<CachedBaskets>,
    hits: AtomicU64,
    misses: AtomicU64,
    fetched_bytes: AtomicU64,
    wasted_bytes: AtomicU64,
}

/// Statistics of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// Hits: baskets that were cached, or in flight, when they were needed.
    pub hits: u64,
    /// Misses: baskets that a row-wise reader had to request when they were needed.
    pub misses: u64,
    /// Bytes that were prefetched.
    pub fetched_bytes: u64,
    /// Prefetched bytes that were dropped without being used.
    pub wasted_bytes: u64,
}

/// The cached baskets.
#[derive(Default)]
struct CachedBaskets {
    baskets: HashMap<u64, Kept>,
    /// Entries whose baskets are kept: sorted, disjoint ranges.
    windows: Vec<Range<u64>>,
}

impl CachedBaskets {
    /// Whether a basket is cached or in flight. A failed one is requested again on its next use.
    fn has(&self, seek: u64) -> bool {
        self.baskets.get(&seek).is_some_and(|kept| !kept.coming.has_failed())
    }
}

/// A requested basket.
struct Kept {
    coming: Coming,
    entries: Range<u64>,
    bytes: u64,
    used: bool,
}

/// A basket that is cached, or in flight.
#[derive(Clone)]
pub(crate) struct Coming {
    slot: Arc<Slot>,
    /// Dropping the last of a request cancels it.
    _ticket: Arc<Ticket>,
}

#[derive(Default)]
struct Slot {
    bytes: Mutex<Option<Result<Bytes>>>,
    there: Condvar,
}

/// A basket that will be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) seek: u64,
    pub(crate) nbytes: u32,
    pub(crate) entries: Range<u64>,
}

impl TreeCache {
    pub(crate) fn new(budget_bytes: u64) -> Self {
        Self {
            budget_bytes: AtomicU64::new(budget_bytes),
            kept: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            fetched_bytes: AtomicU64::new(0),
            wasted_bytes: AtomicU64::new(0),
        }
    }

    /// The most bytes of a window: one is used while another is in flight.
    pub fn budget(&self) -> u64 {
        self.budget_bytes.load(Ordering::Relaxed)
    }

    /// Changes the budget, in bytes; 0 switches the cache off. Cached baskets that no longer fit are dropped at once.
    pub fn set_budget(&self, bytes: u64) {
        self.budget_bytes.store(bytes, Ordering::Relaxed);
        let mut kept = self.kept();
        if kept.baskets.values().map(|kept| kept.bytes).sum::<u64>() > bytes.saturating_mul(2) {
            let dropped = std::mem::take(&mut *kept);
            self.count_wasted(dropped.baskets.values());
        }
    }

    /// Its statistics so far.
    pub fn figures(&self) -> CacheFigures {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheFigures {
            hits: of(&self.hits),
            misses: of(&self.misses),
            fetched_bytes: of(&self.fetched_bytes),
            wasted_bytes: of(&self.wasted_bytes),
        }
    }

    /// The bytes of a basket, if they are cached or in flight.
    pub(crate) fn get(&self, seek: u64) -> Option<Coming> {
        let found = self.peek(seek)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// [`get`](Self::get) for a look at the basket's headers, which is no use of it that is counted.
    pub(crate) fn peek(&self, seek: u64) -> Option<Coming> {
        let mut kept = self.kept();
        let found = kept.baskets.get_mut(&seek).filter(|found| !found.coming.has_failed())?;
        found.used = true;
        Some(found.coming.clone())
    }

    /// Whether the bytes of a basket are cached or in flight.
    pub(crate) fn holds(&self, seek: u64) -> bool {
        self.kept().has(seek)
    }

    /// Counts a needed basket that was not requested before: a miss.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Drops baskets without any of these entries, and requests needed ones that were not requested yet.
    pub(crate) fn turn_to(&self, windows: &[Range<u64>], needed: &[Needed], store: &Arc<dyn Store>, fetcher: &Fetcher) {
        let mut kept = self.kept();
        let windows = merged(windows);
        let mut gone = Vec::new();
        if kept.windows != windows {
            gone.extend(kept.baskets.extract_if(|_, kept| !overlaps(&windows, &kept.entries)).map(|(_, gone)| gone));
            kept.windows = windows;
        }
        self.count_wasted(gone.iter());
        let mut asked = HashSet::new();
        let wants: Vec<Want> = needed
            .iter()
            .enumerate()
            .filter(|(_, needed)| !kept.has(needed.seek) && asked.insert(needed.seek))
            .map(|(id, needed)| Want {
                id: id as u64,
                range: needed.seek..needed.seek.saturating_add(u64::from(needed.nbytes)),
                first_entry: needed.entries.start,
            })
            .collect();
        for request in coalesce(&wants, &store.profile()) {
            let slots: HashMap<u64, Arc<Slot>> =
                request.pieces.iter().map(|piece| (piece.id, Arc::default())).collect();
            let of = slots.clone();
            let ticket = fetcher.submit(store, request, move |arrival: Arrival| {
                if let Some(slot) = of.get(&arrival.id) {
                    slot.put(arrival.bytes);
                }
                Flow::Go
            });
            let ticket = Arc::new(ticket);
            for (id, slot) in slots {
                let Some(needed) = needed.get(id as usize) else { continue };
                let bytes = u64::from(needed.nbytes);
                self.fetched_bytes.fetch_add(bytes, Ordering::Relaxed);
                let coming = Coming { slot, _ticket: Arc::clone(&ticket) };
                kept.baskets.insert(needed.seek, Kept { coming, entries: needed.entries.clone(), bytes, used: false });
            }
        }
        drop(kept);
        // Cancel outside of the lock: the fetcher may be delivering at the same time.
        drop(gone);
    }

    fn count_wasted<'k>(&self, gone: impl Iterator<Item = &'k Kept>) {
        let wasted = gone.filter(|gone| !gone.used).map(|gone| gone.bytes).sum();
        self.wasted_bytes.fetch_add(wasted, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, CachedBaskets> {
        // No panic can leave it inconsistent.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same entries as sorted, disjoint ranges.
fn merged(windows: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = windows.to_vec();
    sorted.sort_by_key(|window| window.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for window in sorted {
        match merged.last_mut() {
            Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
            _ => merged.push(window),
        }
    }
    merged
}

/// Whether any of these sorted, disjoint ranges has any of these entries.
fn overlaps(windows: &[Range<u64>], entries: &Range<u64>) -> bool {
    let first = windows.partition_point(|window| window.end <= entries.start);
    windows.get(first).is_some_and(|window| window.start < entries.end)
}

impl Coming {
    /// Whether the request failed.
    fn has_failed(&self) -> bool {
        matches!(&*self.slot.bytes.lock().unwrap_or_else(PoisonError::into_inner), Some(Err(_)))
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    ///
    /// What the store reported, and what ends a wait.
    pub(crate) fn wait(&self) -> Result<Bytes> {
        loop {
            let bytes = self.slot.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.slot.there.wait_timeout_while(bytes, interrupt::EVERY, |bytes| bytes.is_none());
            match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
                Some(Ok(bytes)) => return Ok(bytes.clone()),
                Some(Err(error)) => return Err(error.clone()),
                None => {}
            }
            interrupt::check()?;
        }
    }
}

impl Slot {
    fn put(&self, bytes: Result<Bytes>) {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
        self.there.notify_all();
    }
}

impl fmt::Debug for TreeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCache")
            .field("budget_bytes", &self.budget())
            .field("kept", &self.kept().baskets.len())
            .field("figures", &self.figures())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{ByteRange, Ends, MemoryStore, Profile, Receive, Recorded};
    use crate::memory::Memory;

    /// Answers once it is allowed to.
    struct Patient(MemoryStore, Mutex<()>);

    impl Store for Patient {
        fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
            self.0.ends(head_bytes, tail_bytes)
        }

        fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
            let _let = self.1.lock();
            self.0.read_ranges(ranges, into)
        }

        fn profile(&self) -> Profile {
            self.0.profile()
        }
    }

    fn needed(seek: u64, entries: Range<u64>) -> Needed {
        Needed { seek, nbytes: 100, entries }
    }

    #[test]
    fn what_is_kept_is_asked_for_once_and_dropped_when_its_entries_are_passed() -> Result<()> {
        let bytes: Vec<u8> = (0..1000_u32).map(|at| (at / 100) as u8).collect();
        let recorded = Arc::new(Recorded::new(MemoryStore::new("memory", bytes)));
        let store: Arc<dyn Store> = Arc::new(Arc::clone(&recorded));
        let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
        let cache = TreeCache::new(CACHE_BYTES);
        cache.turn_to(&[0..20], &[needed(100, 0..10), needed(200, 10..20)], &store, &fetcher);
        cache.turn_to(&[0..20], &[needed(100, 0..10), needed(200, 10..20)], &store, &fetcher);
        let basket = cache.get(200).expect("asked for").wait()?;
        assert_eq!((&basket[..], recorded.take_calls().len()), (&[2_u8; 100][..], 1));
        assert!(cache.get(300).is_none());
        cache.turn_to(&[20..30], &[needed(900, 20..30)], &store, &fetcher);
        assert!(cache.get(100).is_none() && cache.get(900).is_some());
        assert_eq!(cache.figures(), CacheFigures { hits: 2, misses: 0, fetched_bytes: 300, wasted_bytes: 100 });
        cache.set_budget(40);
        assert!(cache.get(900).is_none(), "a change takes effect at once");
        Ok(())
    }

    #[test]
    fn an_error_reaches_all_waiters_and_is_not_cached() {
        let patient = Arc::new(Patient(MemoryStore::new("memory", vec![0; 150]), Mutex::new(())));
        let store: Arc<dyn Store> = Arc::new(Arc::clone(&patient));
        let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
        let cache = TreeCache::new(CACHE_BYTES);
        let wait = patient.1.lock();
        cache.turn_to(&[0..1], &[needed(100, 0..1)], &store, &fetcher);
        let coming = cache.get(100).expect("asked for");
        drop(wait);
        assert!(coming.wait().is_err() && coming.wait().is_err());
        assert!(cache.get(100).is_none() && !cache.holds(100), "it is asked for again");
        cache.turn_to(&[0..1], &[needed(50, 0..1), needed(50, 0..1)], &store, &fetcher);
        assert!(cache.get(50).is_some_and(|coming| coming.wait().is_ok()));
        assert_eq!(cache.figures().fetched_bytes, 200, "what is needed twice is asked for once");
    }
}
