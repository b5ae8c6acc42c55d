//! What files share: threads, memory, codecs, descriptions of classes. Passed in options; nothing is global.

use std::cell::RefCell;
use std::fmt;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::codec::Scratches;
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::io::Fetcher;
use crate::memory::Memory;
use crate::schema::Registries;
use crate::scoped::scoped;

/// A pool of decoding threads, threads that read ahead, and a memory of recycled buffers, shared by all files that are
/// opened with it.
///
/// # Example
///
/// ```
/// let session = sapwood::Session::with_threads(2);
/// assert_eq!(session.threads(), 2);
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::{File, OpenOptions, Session};
/// let session = Session::with_threads(2);
/// let file = File::open_with(path, OpenOptions { session: session.clone(), ..OpenOptions::default() })?;
/// assert_eq!((session.threads(), session.memory().idle_bytes()), (2, 0));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone)]
pub struct Session(Arc<Parts>);

struct Parts {
    /// As they were asked for; 0 for all cores.
    wanted: usize,
    /// To ask the system costs as much as to open a small file: that waits until their number is needed.
    cores: OnceLock<usize>,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    memory: Memory,
    fetcher: Fetcher,
    registries: Registries,
    scratches: Scratches,
}

/// Bytes that wait to be used again, and that are read ahead: three steps of an iteration as large as steps are by
/// default, and windows.
const MEMORY_BYTES: usize = 384 << 20;
/// More threads than any machine has use for; those beyond it are not started.
pub const MOST_THREADS: usize = 1024;
/// Threads that wait for storage.
const FETCH_THREADS: usize = 4;

thread_local! {
    /// Whether the thread does a part of what several do.
    static IS_ALONE: RefCell<bool> = const { RefCell::new(false) };
}

/// Does `work` in this thread as if each session had only this one: others do the same with other parts.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _scope = scoped(&IS_ALONE, true);
    work()
}

impl Session {
    /// A session that decodes on `threads` threads; 0 stands for all cores, 1 for the caller's own thread, which then
    /// reads as well, but from far stores: for those others wait. No more are started than there are cores.
    pub fn with_threads(threads: usize) -> Self {
        let memory = Memory::new(MEMORY_BYTES);
        let fetcher = Fetcher::new(memory.clone(), FETCH_THREADS);
        Self(Arc::new(Parts {
            wanted: threads,
            cores: OnceLock::new(),
            pool: OnceLock::new(),
            memory,
            fetcher,
            registries: Registries::default(),
            scratches: Scratches::default(),
        }))
    }

    /// Threads that decode; one for a thread whose work is a part of what several do.
    pub fn threads(&self) -> usize {
        if IS_ALONE.with_borrow(Clone::clone) {
            return 1;
        }
        match self.0.wanted {
            0 => self.cores(),
            threads => threads.min(MOST_THREADS),
        }
    }

    /// Threads of the pool: no more than cores, since others would only evict from the caches what these work with.
    pub(crate) fn workers(&self) -> usize {
        match self.threads() {
            1 => 1,
            threads => threads.min(self.cores()),
        }
    }

    /// Processors that this process may use.
    fn cores(&self) -> usize {
        *self.0.cores.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Recycled memory.
    pub fn memory(&self) -> &Memory {
        &self.0.memory
    }

    /// The classes of the files that were opened last.
    pub(crate) fn registries(&self) -> &Registries {
        &self.0.registries
    }

    /// Contexts of codecs.
    pub(crate) fn scratches(&self) -> &Scratches {
        &self.0.scratches
    }

    /// What reads ahead.
    pub(crate) fn fetcher(&self) -> &Fetcher {
        &self.0.fetcher
    }

    /// The pool; none where the caller's thread does all the work. Started on first use.
    #[doc(hidden)]
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        let threads = self.workers();
        if threads == 1 {
            return None;
        }
        let start = || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
            builder.thread_name(|index| format!("sapwood-decode-{index}")).build().ok()
        };
        self.0.pool.get_or_init(start).as_ref()
    }
}

impl Session {
    /// Does `work` for each item: on the pool, or in this thread; results are in the order of the items. What `make`
    /// makes is used by one thread at a time. Meanwhile this thread hears what ends its waits: then no further item
    /// is begun.
    ///
    /// # Errors
    ///
    /// That of the first item whose work fails; those of [`interrupt::check`].
    pub(crate) fn map<T: Sync, B: Send, R: Send>(
        &self,
        items: &[T],
        make: impl Fn() -> B + Sync + Send,
        work: impl Fn(&mut B, &T) -> Result<R> + Sync + Send,
    ) -> Result<Vec<R>> {
        self.map_on(self.pool(), items, make, work)
    }

    /// The same on a pool, or none.
    pub(crate) fn map_on<T: Sync, B: Send, R: Send>(
        &self,
        pool: Option<&rayon::ThreadPool>,
        items: &[T],
        make: impl Fn() -> B + Sync + Send,
        work: impl Fn(&mut B, &T) -> Result<R> + Sync + Send,
    ) -> Result<Vec<R>> {
        let Some(pool) = pool.filter(|_| items.len() > 1) else {
            let mut own = make();
            let one = |item| interrupt::check_if_due().and_then(|()| work(&mut own, item));
            return items.iter().map(one).collect();
        };
        let on_pool = |stop: &Stop| {
            let one = |own: &mut B, item: &T| stop.check().and_then(|()| work(own, item));
            items.par_iter().with_max_len(1).map_init(&make, one).collect()
        };
        if !interrupt::is_heeded() {
            return pool.install(|| on_pool(&Stop::default()));
        }
        let (stop, (done, all)) = (Stop::default(), sync_channel(1));
        pool.in_place_scope(|scope| {
            scope.spawn(|_| drop(done.send(on_pool(&stop))));
            // The scope waits for what the threads have begun.
            let found = interrupt::receive(&all).inspect_err(|_| stop.set())?;
            found.unwrap_or_else(|| Err(Error::internal("a thread of the pool gave no answer")))
        })
    }
}

impl Default for Session {
    /// A session on all cores.
    fn default() -> Self {
        Self::with_threads(0)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("threads", &self.threads()).finish_non_exhaustive()
    }
}
