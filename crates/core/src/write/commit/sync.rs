//! What threads that write wait with. Under `--cfg loom` it is loom's, which tries all orders that matter (`tests/loom.rs`).

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Lets a thread of a pool do something else.
pub(crate) fn yield_now() {
    if rayon::yield_now() != Some(rayon::Yield::Executed) {
        std::thread::yield_now();
    }
}
