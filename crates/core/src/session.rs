//! What files share: threads, memory, caches. Passed in options; nothing is global.

use std::sync::{Arc, OnceLock};

/// A pool of decoding threads and a memory of recycled buffers, shared by all files opened with it.
///
/// # Example
///
/// ```
/// let session = sapwood::Session::with_threads(2);
/// assert_eq!(session.threads(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Session(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    threads: usize,
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl Session {
    /// A session that decodes on `threads` threads; 0 stands for all cores, 1 for the caller's own thread.
    pub fn with_threads(threads: usize) -> Self {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Self(Arc::new(Parts { threads, pool: OnceLock::new() }))
    }

    /// Threads that decode.
    pub fn threads(&self) -> usize {
        self.0.threads
    }

    /// The pool; none where the caller's thread does all the work. Started on first use.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        if self.0.threads == 1 {
            return None;
        }
        let start = || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(self.0.threads);
            builder.thread_name(|index| format!("sapwood-decode-{index}")).build().ok()
        };
        self.0.pool.get_or_init(start).as_ref()
    }
}

impl Default for Session {
    /// A session on all cores.
    fn default() -> Self {
        Self::with_threads(0)
    }
}
