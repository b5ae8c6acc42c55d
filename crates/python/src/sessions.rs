//! One session for each number of threads, for as long as the process lives: a program that opens a thousand files has
//! one pool and one recycled memory.

use std::collections::HashMap;
use std::sync::{Mutex, TryLockError};

use pyo3::prelude::*;
use sapwood::Session;

/// The process that made them, and the sessions by the number of threads that was asked for.
static SHARED: Mutex<Option<(u32, HashMap<usize, Session>)>> = Mutex::new(None);

/// The process's session of so many threads; 0 stands for all cores.
pub(crate) fn shared(threads: usize) -> Session {
    let mut shared = match SHARED.try_lock() {
        Ok(shared) => shared,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Another thread holds it, and after a fork that thread may not exist.
        Err(TryLockError::WouldBlock) => return Session::with_threads(threads),
    };
    let process = std::process::id();
    if let Some((maker, _)) = &*shared
        && *maker != process
    {
        // A child has none of its parent's threads: to wait for them would be to wait forever.
        std::mem::forget(shared.take());
    }
    let (_, sessions) = shared.get_or_insert_with(|| (process, HashMap::new()));
    sessions.entry(threads).or_insert_with(|| Session::with_threads(threads)).clone()
}

/// Bytes of large buffers of a session that somebody holds, the most of them since this was last called, and those that
/// wait to be used again.
#[pyfunction]
pub(crate) fn memory_bytes(threads: usize) -> (usize, usize, usize) {
    let session = shared(threads);
    let memory = session.memory();
    (memory.lent_bytes(), memory.most_lent_bytes(), memory.idle_bytes())
}
