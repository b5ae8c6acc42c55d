//! What threads that write wait with. Under `--cfg loom` it is loom's, which tries all orders that matter (`tests/loom.rs`).

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
