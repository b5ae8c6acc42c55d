//! Records what reading costs: which bytes were requested and when, and which of them were used.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::io::{ByteRange, Call, Ends, Profile, Receive, Store};

/// A record of what is read of a file; nothing is recorded before [`start`](Self::start). Clones are the same
/// record.
///
/// Figures are made of it by [`inspect::perf`](crate::inspect::perf).
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::File;
/// let tree = File::open(path)?.tree("t")?;
/// let perf = tree.file().perf();
/// perf.start();
/// sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..tree.entries)?;
/// perf.stop();
/// assert!(!perf.calls().is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let perf = tree.file().perf();
/// perf.start();
/// sapwood::read::columns(&tree, &[tree.branch("Jet_pt")?.id], 0..10)?;
/// perf.stop();
/// assert_eq!(perf.baskets().len(), 1);
/// assert!(perf.times().0 >= perf.waited());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Perf(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_on: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    since: Instant,
    cpu: Duration,
    calls: Vec<Call>,
    baskets: HashMap<u64, Decoded>,
    waited: Duration,
    hits: u64,
    misses: u64,
    /// Real time and that of all processors, once it has stopped.
    stopped: Option<(Duration, Duration)>,
}

/// What was decoded from a basket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes on storage, key included.
    pub stored_bytes: u64,
    /// Bytes once inflated.
    pub unpacked_bytes: u64,
    /// How often it was inflated.
    pub times: u32,
    /// How long that took in all, on whichever thread.
    pub took: Duration,
}

impl Default for Log {
    fn default() -> Self {
        let (calls, baskets) = (Vec::new(), HashMap::new());
        Self {
            since: Instant::now(),
            cpu: cpu_time(),
            calls,
            baskets,
            waited: Duration::ZERO,
            hits: 0,
            misses: 0,
            stopped: None,
        }
    }
}

/// Time of all processors that this process had.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec.clamp(0, 999_999_999) as u32)
}

impl Perf {
    /// Forgets what was recorded, and records from now on.
    pub fn start(&self) {
        *self.log() = Log::default();
        self.0.is_on.store(true, Ordering::Relaxed);
    }

    /// Records no more. What was recorded stays.
    pub fn stop(&self) {
        self.0.is_on.store(false, Ordering::Relaxed);
        let mut log = self.log();
        log.stopped = Some(log.times());
        // A call that delivered its bytes may not have returned yet: what is recorded is final all the same.
        let now = log.since.elapsed();
        for call in log.calls.iter_mut().filter(|call| call.took.is_zero()) {
            call.took = now.saturating_sub(call.at);
        }
    }

    /// Whether it records.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// Real time from the start to the end, or until now, and the time of all processors.
    pub fn times(&self) -> (Duration, Duration) {
        self.log().times()
    }

    /// How long readers waited for bytes.
    pub fn waited(&self) -> Duration {
        self.log().waited
    }

    /// Baskets that a tree's cache had, or waited for, when they were needed, and those that it had not.
    pub(crate) fn cache_hits(&self) -> (u64, u64) {
        let log = self.log();
        (log.hits, log.misses)
    }

    /// The calls of stores, in the order in which they began.
    pub fn calls(&self) -> Vec<Call> {
        self.log().calls.clone()
    }

    /// Baskets that were used, by the place of their record.
    pub fn baskets(&self) -> HashMap<u64, Decoded> {
        self.log().baskets.clone()
    }

    /// A store whose calls are recorded.
    pub(crate) fn watch(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Watched { inner, perf: self.clone() })
    }

    /// Now, where it records.
    pub(crate) fn now(&self) -> Option<Instant> {
        self.is_on().then(Instant::now)
    }

    pub(crate) fn note_wait(&self, from: Instant) {
        self.log().waited += from.elapsed();
    }

    pub(crate) fn note_basket(&self, seek: u64, stored_bytes: u64, unpacked_bytes: u64, from: Instant) {
        let took = from.elapsed();
        let mut log = self.log();
        let basket = log.baskets.entry(seek).or_default();
        *basket = Decoded { stored_bytes, unpacked_bytes, times: basket.times + 1, took: basket.took + took };
    }

    /// Records look-ups of baskets in a tree's cache.
    pub(crate) fn note_hits(&self, hits: u64, misses: u64) {
        if self.is_on() {
            let mut log = self.log();
            (log.hits, log.misses) = (log.hits + hits, log.misses + misses);
        }
    }

    /// Records a call that begins: where its bytes are delivered, the record already has it.
    fn begin_call(&self, ranges: Vec<ByteRange>) -> Option<Begun> {
        let from = self.now()?;
        let mut log = self.log();
        let at = from.saturating_duration_since(log.since);
        log.calls.push(Call { ranges, at, took: Duration::ZERO });
        Some(Begun { since: log.since, number: log.calls.len() - 1, from })
    }

    /// Records how long a call took, unless the record was started anew.
    fn end_call(&self, begun: Begun, ranges: Option<Vec<ByteRange>>) {
        let took = begun.from.elapsed();
        let mut log = self.log();
        if log.since == begun.since
            && log.stopped.is_none()
            && let Some(call) = log.calls.get_mut(begun.number)
        {
            call.took = took;
            call.ranges = ranges.unwrap_or_else(|| std::mem::take(&mut call.ranges));
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn times(&self) -> (Duration, Duration) {
        self.stopped.unwrap_or_else(|| (self.since.elapsed(), cpu_time().saturating_sub(self.cpu)))
    }
}

/// A call in the record of its run.
struct Begun {
    since: Instant,
    number: usize,
    from: Instant,
}

/// Passes calls on and records them.
struct Watched {
    inner: Arc<dyn Store>,
    perf: Perf,
}

impl Store for Watched {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let begun = self.perf.begin_call(Vec::new());
        let ends = self.inner.ends(head_bytes, tail_bytes)?;
        if let Some(begun) = begun {
            self.perf.end_call(begun, Some(ends.ranges()));
        }
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let begun = self.perf.begin_call(ranges.to_vec());
        let outcome = self.inner.read_ranges(ranges, into);
        if let Some(begun) = begun {
            self.perf.end_call(begun, None);
        }
        outcome
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn as_file(&self) -> Option<&File> {
        self.inner.as_file()
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::*;
    use crate::io::{Flow, MemoryStore};

    /// Looks into the record while bytes arrive.
    struct Looking(Perf, usize);

    impl Receive for Looking {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }

        fn deliver(&mut self, _: usize, _: Bytes) -> Flow {
            self.1 = self.0.calls().len();
            Flow::Go
        }

        fn stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_call_is_recorded_before_its_bytes_are_delivered() -> Result<()> {
        let perf = Perf::default();
        let store = perf.watch(Arc::new(MemoryStore::new("memory", vec![0; 100])));
        perf.start();
        let mut looking = Looking(perf.clone(), 0);
        store.read_ranges(&[10..20], &mut looking)?;
        let calls = perf.calls();
        assert_eq!((looking.1, calls.len(), &calls[0].ranges[..]), (1, 1, &[10..20][..]));
        Ok(())
    }
}
