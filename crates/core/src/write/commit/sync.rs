//! Locks and condition variables of the write path. Under `--cfg loom` they are loom's, which tries all relevant orders
//! (`tests/loom.rs`).

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Lets a pool thread run other work.
pub(crate) fn yield_now() {
    if rayon::yield_now() != Some(rayon::Yield::Executed) {
        std::thread::yield_now();
    }
}
