//! Prefetch: fetches baskets of the cluster behind the one that a client reads into the cache.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sapwood::Result;
use sapwood::io::ByteRange;

use crate::file_prefetch::Index;
use crate::metrics::Metrics;
use crate::opened::Opened;

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
