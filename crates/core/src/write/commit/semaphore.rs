//! No more threads at work than there are cores.

// Nobody waits for anything else while he is inside, so that models of the protocol need not know of it.
use std::sync::{Condvar, Mutex, PoisonError};

/// Lets as many in as there are cores. Others wait, instead of pushing what they work on out of each other's caches.
#[derive(Debug)]
pub(crate) struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Somebody is inside.
struct Inside<'g>(&'g Semaphore);

impl Semaphore {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { free: Mutex::new(cores), freed: Condvar::new() }
    }

    /// Works inside.
    pub(crate) fn pass<T>(&self, work: impl FnOnce() -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let _inside = Inside(self);
        work()
    }
}

/// Also where the work panicked.
impl Drop for Inside<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
