//! Limits the threads that work at the same time to the number of cores.

// Not loom's types: a thread that holds a permit waits for nothing else, so models of the protocol can leave it out.
use std::sync::{Condvar, Mutex, PoisonError};

/// A counting semaphore with one permit per core. More threads would only evict each other's data from the caches.
#[derive(Debug)]
pub(crate) struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A permit; returned on drop.
struct Inside<'g>(&'g Semaphore);

impl Semaphore {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { free: Mutex::new(cores), freed: Condvar::new() }
    }

    /// Runs `work` while holding a permit.
    pub(crate) fn pass<T>(&self, work: impl FnOnce() -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let _inside = Inside(self);
        work()
    }
}

/// Returns the permit even if the work panicked.
impl Drop for Inside<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
