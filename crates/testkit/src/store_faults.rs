//! Stores that are slow or broken on purpose.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Profile, Receive, Store};
use sapwood::{Error, ErrorKind, Result};

/// A store behind a slow link: each call waits a round trip, each range its bytes. Parallel calls do not share the
/// bandwidth.
#[derive(Debug)]
pub struct Throttled<S> {
    inner: S,
    latency: Duration,
    bandwidth_bytes: u64,
}

impl<S: Store> Throttled<S> {
    /// Puts `inner` behind a link of this latency and this bandwidth in bytes a second.
    pub fn new(inner: S, latency: Duration, bandwidth_bytes: u64) -> Self {
        Self { inner, latency, bandwidth_bytes: bandwidth_bytes.max(1) }
    }

    fn time(&self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 / self.bandwidth_bytes as f64)
    }
}

impl<S: Store> Store for Throttled<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let ends = self.inner.ends(head_bytes, tail_bytes)?;
        thread::sleep(self.latency + self.time(ends.head.len() + ends.tail.len()));
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        wait(self.latency, into)?;
        let mut delayed = Delayed { store: self, into };
        self.inner.read_ranges(ranges, &mut delayed)
    }

    fn profile(&self) -> Profile {
        let latency_ns = u64::try_from(self.latency.as_nanos()).unwrap_or(u64::MAX);
        Profile { latency_ns, bandwidth_bytes: self.bandwidth_bytes, ..self.inner.profile() }
    }
}

struct Delayed<'a, S> {
    store: &'a Throttled<S>,
    into: &'a mut dyn Receive,
}

impl<S: Store> Receive for Delayed<'_, S> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        match wait(self.store.time(bytes.len()), self.into) {
            Ok(()) => self.into.deliver(index, bytes),
            Err(_) => Flow::Stop,
        }
    }

    fn stopped(&self) -> bool {
        self.into.stopped()
    }
}

/// Sleeps, unless the receiver stops.
fn wait(time: Duration, into: &dyn Receive) -> Result<()> {
    let until = Instant::now() + time;
    loop {
        if into.stopped() {
            return Err(Error::new(ErrorKind::Cancelled, "the receiver stopped the read"));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(1)));
    }
}

/// What goes wrong in one call of [`Faulty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// After so many ranges, an error of this kind.
    FailAfter(usize, ErrorKind),
    /// After so many ranges nothing comes, until the receiver stops.
    StallAfter(usize),
    /// The call returns as if all were well, but leaves out all ranges from this one on.
    LeaveOutFrom(usize),
    /// Every range that is not empty comes without its last byte.
    Shorten,
    /// Every range comes twice.
    Repeat,
    /// A panic.
    Panic,
}

/// A store that goes wrong by plan: one [`Fault`] for each read, and none when the plan is used up.
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    plan: Mutex<VecDeque<Fault>>,
}

impl<S: Store> Faulty<S> {
    /// Reads of `inner` go wrong by this plan.
    pub fn new(inner: S, plan: impl IntoIterator<Item = Fault>) -> Self {
        Self { inner, plan: Mutex::new(plan.into_iter().collect()) }
    }
}

impl<S: Store> Store for Faulty<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.inner.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let fault = self.plan.lock().expect("no panic under this lock").pop_front().unwrap_or(Fault::None);
        assert_ne!(fault, Fault::Panic, "by plan");
        let first = match fault {
            Fault::FailAfter(count, _) | Fault::StallAfter(count) | Fault::LeaveOutFrom(count) => count,
            _ => ranges.len(),
        };
        let ranges = &ranges[..first.min(ranges.len())];
        self.inner.read_ranges(ranges, &mut Spoilt { fault, into })?;
        match fault {
            Fault::FailAfter(_, kind) => Err(Error::new(kind, "by plan")),
            Fault::StallAfter(_) => wait(Duration::from_secs(3600), into),
            _ => Ok(()),
        }
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

struct Spoilt<'a> {
    fault: Fault,
    into: &'a mut dyn Receive,
}

impl Receive for Spoilt<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        match self.fault {
            Fault::Shorten => self.into.deliver(index, bytes.slice(..bytes.len().saturating_sub(1))),
            Fault::Repeat => match self.into.deliver(index, bytes.clone()) {
                Flow::Go => self.into.deliver(index, bytes),
                Flow::Stop => Flow::Stop,
            },
            _ => self.into.deliver(index, bytes),
        }
    }

    fn stopped(&self) -> bool {
        self.into.stopped()
    }
}
