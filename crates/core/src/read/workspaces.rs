//! What each thread keeps from one task to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::session::Session;

/// A workspace for each thread of a session.
pub(crate) struct Workspaces<'s, W> {
    session: &'s Session,
    of_threads: Vec<Mutex<W>>,
}

impl<'s, W: Send> Workspaces<'s, W> {
    pub(crate) fn new(session: &'s Session, make: impl Fn() -> W) -> Self {
        let of_threads = (0..session.threads().max(1)).map(|_| Mutex::new(make())).collect();
        Self { session, of_threads }
    }

    pub(crate) fn threads(&self) -> usize {
        self.session.threads()
    }

    /// Works with the workspace of this thread.
    pub(crate) fn with_own(&self, work: impl FnOnce(&mut W)) {
        work(&mut self.of(rayon::current_thread_index().unwrap_or(0)));
    }

    fn of(&self, thread: usize) -> MutexGuard<'_, W> {
        // A workspace holds nothing that a panic could leave inconsistent.
        self.of_threads[thread % self.of_threads.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on all tasks: here, or on the pool.
    pub(crate) fn each<T: Send>(&self, tasks: &mut [T], work: impl Fn(&mut T, &mut W) + Sync) {
        let with_own = |task: &mut T| self.with_own(|own| work(task, own));
        match self.session.pool() {
            Some(pool) if tasks.len() > 1 => pool.install(|| tasks.par_iter_mut().with_max_len(1).for_each(with_own)),
            _ => tasks.iter_mut().for_each(with_own),
        }
    }
}
