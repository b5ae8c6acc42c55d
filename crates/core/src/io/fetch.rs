//! Reads ahead: requests are queued in the order in which they are needed, dedicated threads read them, within a budget
//! of bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::{Bytes, BytesMut};

use super::{Flow, Piece, PieceId, Receive, Request, Store, left_out, stopped};
use crate::memory::Memory;
use crate::{Error, Result};

/// The bytes of one piece of a request, or the error.
#[derive(Debug)]
pub struct Arrival {
    /// The caller's number for it.
    pub id: PieceId,
    /// A slice of its range's buffer, which is recycled when the last slice is dropped.
    pub bytes: Result<Bytes>,
}

/// Reads requests ahead of their use.
///
/// **Order.** Queued requests are read by their first entry, then in order of submission; none overtakes another.
///
/// **Budget.** Bytes count from the moment their request is admitted until the last slice of them is dropped. A request
/// is admitted if it fits the budget of the [`Memory`], or if nothing is being read: a single request larger than the
/// budget passes, and a caller that keeps arrived bytes slows reading down but never stops it.
///
/// Threads start when there is work, and end when the fetcher is dropped: queued requests are cancelled then, running
/// reads are asked to stop and waited for.
///
/// # Example
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use sapwood::io::{Fetcher, Flow, MemoryStore, Store, Want, coalesce};
/// use sapwood::memory::Memory;
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::new("greeting", "hello world"));
/// let wants = [Want { id: 7, range: 6..11, first_entry: 0 }];
/// let fetcher = Fetcher::new(Memory::new(1 << 20), 2);
///
/// let (to, arrivals) = mpsc::channel();
/// let mut tickets = Vec::new();
/// for request in coalesce(&wants, &store.profile()) {
///     let to = to.clone();
///     let deliver = move |arrival| if to.send(arrival).is_ok() { Flow::Go } else { Flow::Stop };
///     tickets.push(fetcher.submit(&store, request, deliver));
/// }
/// let arrival = arrivals.recv().unwrap();
/// assert_eq!((arrival.id, &arrival.bytes?[..]), (7, &b"world"[..]));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Fetcher {
    shared: Arc<Shared>,
    most_threads: usize,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

struct Shared {
    memory: Memory,
    queue: Mutex<Queue>,
    /// Notified of new requests, dropped bytes, finished reads, and the end.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// By first entry, then in the order of submission.
    waiting: BTreeMap<(u64, u64), Job>,
    next_number: u64,
    /// Bytes admitted and not yet dropped by their last holder.
    live_bytes: u64,
    /// Cancel flags of what is being read, by number.
    reading: BTreeMap<u64, Arc<AtomicBool>>,
    idle_threads: usize,
    closed: bool,
}

struct Job {
    store: Arc<dyn Store>,
    request: Request,
    cancelled: Arc<AtomicBool>,
    to: Box<dyn FnMut(Arrival) -> Flow + Send>,
}

impl Fetcher {
    /// A fetcher with the budget and the buffers of `memory`, and at most `threads` threads (at least one).
    pub fn new(memory: Memory, threads: usize) -> Self {
        let shared = Shared { memory, queue: Mutex::default(), changed: Condvar::new() };
        Self { shared: Arc::new(shared), most_threads: threads.max(1), threads: Mutex::default() }
    }

    /// Queues a request. Each of its pieces arrives once at `to`, from another thread, as soon as its range is there;
    /// if a read fails, each missing piece arrives as that error. `to` should be quick, since it blocks the reading
    /// thread; if it returns [`Flow::Stop`], the rest is not read.
    ///
    /// Dropping the ticket cancels: a queued request is removed, a running one is asked to stop.
    pub fn submit(
        &self,
        store: &Arc<dyn Store>,
        request: Request,
        to: impl FnMut(Arrival) -> Flow + Send + 'static,
    ) -> Ticket {
        let cancelled = Arc::new(AtomicBool::new(false));
        let job = Job { store: store.clone(), request, cancelled: cancelled.clone(), to: Box::new(to) };
        let mut queue = self.shared.queue();
        let key = (job.request.first_entry, queue.next_number);
        queue.next_number += 1;
        queue.waiting.insert(key, job);
        let short_of_threads = queue.idle_threads < queue.waiting.len();
        drop(queue);
        if short_of_threads {
            self.start_thread();
        }
        self.shared.changed.notify_one();
        Ticket { shared: self.shared.clone(), key, cancelled }
    }

    /// Reads a request immediately in the caller's thread: for local, small or urgent reads. Its bytes count as usual,
    /// but it does not wait for the budget, since the caller may hold the very bytes that would have to be dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Store::read_ranges`]; then there is no arrival at all.
    pub fn read_now(&self, store: &dyn Store, request: &Request) -> Result<Vec<Arrival>> {
        let mut arrivals = Vec::with_capacity(request.pieces.len());
        let never = AtomicBool::new(false);
        let mut deliver = |arrival| {
            arrivals.push(arrival);
            Flow::Go
        };
        let lease = Lease::take(&self.shared, request.bytes());
        read(store, request, lease, &never, &mut deliver).done?;
        Ok(arrivals)
    }

    /// Bytes that were admitted and are not dropped yet.
    pub fn live_bytes(&self) -> u64 {
        self.shared.queue().live_bytes
    }

    fn start_thread(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= self.most_threads {
            return;
        }
        let shared = self.shared.clone();
        let named = thread::Builder::new().name(format!("sapwood-io-{}", threads.len()));
        match named.spawn(move || shared.work()) {
            Ok(thread) => threads.push(thread),
            // One thread is enough to continue; without any, no request would ever be answered.
            Err(error) if threads.is_empty() => {
                let error = Error::system("cannot start a thread that reads", error);
                let forgotten = std::mem::take(&mut self.shared.queue().waiting);
                forgotten.into_values().for_each(|job| job.fail(&error)); // no longer under the lock
            }
            Err(_) => {}
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.closed = true;
        let forgotten = std::mem::take(&mut queue.waiting);
        for cancelled in queue.reading.values() {
            cancelled.store(true, Ordering::Relaxed);
        }
        drop(queue);
        self.shared.changed.notify_all();
        for job in forgotten.into_values() {
            job.fail(&stopped());
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // The last owner may be something that one of the threads has just delivered to.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.shared.queue();
        f.debug_struct("Fetcher")
            .field("waiting", &queue.waiting.len())
            .field("reading", &queue.reading.len())
            .field("live_bytes", &queue.live_bytes)
            .finish()
    }
}

/// A request in flight. Dropping it cancels what has not arrived; bytes that have arrived stay valid.
#[must_use = "dropping a ticket cancels its request"]
pub struct Ticket {
    shared: Arc<Shared>,
    key: (u64, u64),
    cancelled: Arc<AtomicBool>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let forgotten = self.shared.queue().waiting.remove(&self.key);
        if forgotten.is_some() {
            self.shared.changed.notify_all(); // the one behind it may fit
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("first_entry", &self.key.0).finish_non_exhaustive()
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No call from outside runs under the lock, so that a panic elsewhere leaves it in order.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a thread until the fetcher is dropped.
    fn work(self: &Arc<Self>) {
        while let Some((number, job, lease)) = self.next() {
            let Job { store, request, cancelled, mut to } = job;
            // A panicking receiver loses its arrivals, but others keep this thread.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let Outcome { done, delivered, refused } = read(&*store, &request, lease, &cancelled, &mut to);
                let forgotten = cancelled.load(Ordering::Relaxed) && !self.queue().closed;
                if let Err(error) = done
                    && !refused
                    && !forgotten
                {
                    let missing = request.pieces.iter().filter(|piece| delivered.get(piece.range) != Some(&true));
                    fail(missing, &error, &mut to);
                }
            }));
            drop(to);
            self.queue().reading.remove(&number);
            self.changed.notify_all();
        }
    }

    /// Waits for the next request that may be read. None at the end.
    fn next(self: &Arc<Self>) -> Option<(u64, Job, Lease)> {
        let mut queue = self.queue();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(first) = queue.waiting.first_entry() {
                let bytes = first.get().request.bytes();
                let budget = self.memory.budget_bytes() as u64;
                let fits = queue.live_bytes.saturating_add(bytes) <= budget;
                if (fits || queue.reading.is_empty())
                    && let Some(((_, number), job)) = queue.waiting.pop_first()
                {
                    queue.reading.insert(number, job.cancelled.clone());
                    queue.live_bytes = queue.live_bytes.saturating_add(bytes);
                    drop(queue);
                    // The next request may fit as well, and no other thread was woken.
                    self.changed.notify_one();
                    return Some((number, job, Lease { shared: self.clone(), bytes }));
                }
            }
            queue.idle_threads += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle_threads -= 1;
        }
    }
}

impl Job {
    /// Delivers `error` for every piece.
    fn fail(mut self, error: &Error) {
        fail(&self.request.pieces, error, &mut self.to);
    }
}

fn fail<'a>(missing: impl IntoIterator<Item = &'a Piece>, error: &Error, to: &mut dyn FnMut(Arrival) -> Flow) {
    for piece in missing {
        if to(Arrival { id: piece.id, bytes: Err(error.clone()) }) == Flow::Stop {
            return;
        }
    }
}

/// How the reading of a request ended.
struct Outcome {
    /// An error if anything is missing.
    done: Result<()>,
    /// Which ranges were handed out.
    delivered: Vec<bool>,
    /// The receiver stopped.
    refused: bool,
}

/// Reads one request and hands out its pieces.
fn read(
    store: &dyn Store,
    request: &Request,
    lease: Lease,
    cancelled: &AtomicBool,
    deliver: &mut dyn FnMut(Arrival) -> Flow,
) -> Outcome {
    let mut pieces: Vec<_> = request.pieces.iter().collect();
    pieces.sort_by_key(|piece| piece.range); // as a rule they are
    let delivered = vec![false; request.ranges.len()];
    let mut into = Pieces { pieces, lease, cancelled, deliver, delivered, refused: false };
    let done = catch_unwind(AssertUnwindSafe(|| store.read_ranges(&request.ranges, &mut into)))
        .unwrap_or_else(|_| Err(Error::internal("the store panicked")));
    let Pieces { delivered, refused, .. } = into;
    let whole = request.pieces.iter().all(|piece| delivered.get(piece.range) == Some(&true));
    let done = done.and_then(|()| if whole { Ok(()) } else { Err(left_out()) });
    Outcome { done, delivered, refused }
}

/// Takes whole ranges from the store and passes their pieces on.
struct Pieces<'a> {
    /// In the order of their ranges.
    pieces: Vec<&'a Piece>,
    /// Bytes of this request that no range has taken over yet.
    lease: Lease,
    cancelled: &'a AtomicBool,
    deliver: &'a mut dyn FnMut(Arrival) -> Flow,
    delivered: Vec<bool>,
    refused: bool,
}

impl Receive for Pieces<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.lease.shared.memory.take(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        if self.stopped() {
            return Flow::Stop;
        }
        match self.delivered.get_mut(index) {
            Some(delivered) if !*delivered => *delivered = true,
            _ => return Flow::Go, // delivered twice, or not requested
        }
        let bytes = self.counted(bytes);
        let first = self.pieces.partition_point(|piece| piece.range < index);
        for piece in self.pieces.iter().skip(first).take_while(|piece| piece.range == index) {
            let place = piece.place.clone();
            let bytes = match bytes.get(place.clone()) {
                Some(_) => Ok(bytes.slice(place)),
                None => Err(left_out().wanted(place.end as u64, bytes.len() as u64)),
            };
            if (self.deliver)(Arrival { id: piece.id, bytes }) == Flow::Stop {
                self.refused = true;
                return Flow::Stop;
            }
        }
        Flow::Go
    }

    fn stopped(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Pieces<'_> {
    /// Ties the memory and the accounting of a range to its last slice.
    fn counted(&mut self, bytes: Bytes) -> Bytes {
        let lease = self.lease.split(bytes.len() as u64);
        let memory = lease.shared.memory.clone();
        // Recycle the buffer only if the store keeps no reference to it. For a store that does, or has its own memory,
        // only the accounting is tied.
        let bytes = match bytes.try_into_mut() {
            Ok(full) => memory.lend(full),
            Err(shared) => shared,
        };
        Bytes::from_owner(Counted { bytes, _lease: lease })
    }
}

struct Counted {
    bytes: Bytes,
    _lease: Lease,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A share of the budget, returned on drop.
struct Lease {
    shared: Arc<Shared>,
    bytes: u64,
}

impl Lease {
    /// Counts `bytes`, whether or not they fit.
    fn take(shared: &Arc<Shared>, bytes: u64) -> Self {
        let mut queue = shared.queue();
        queue.live_bytes = queue.live_bytes.saturating_add(bytes);
        drop(queue);
        Self { shared: shared.clone(), bytes }
    }

    /// Moves `bytes` of this share to a new one.
    fn split(&mut self, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { shared: self.shared.clone(), bytes }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut queue = self.shared.queue();
            queue.live_bytes = queue.live_bytes.saturating_sub(self.bytes);
            let waited_for = !queue.waiting.is_empty();
            drop(queue);
            if waited_for {
                self.shared.changed.notify_one();
            }
        }
    }
}
