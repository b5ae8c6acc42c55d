//! Which thread a writer works for: a signal handler runs in the thread that it interrupts, and would wait for itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::PyResult;
use sapwood::Error;

use crate::errors::raise;

/// The thread that has a writer at work; none at 0.
#[derive(Default)]
pub(crate) struct Owner(AtomicUsize);

/// Until it is dropped, the writer is at work.
pub(crate) struct AtWork<'o>(&'o Owner);

impl Owner {
    /// Refuses what this thread would wait for until it goes on itself.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.0.load(Ordering::Relaxed) == here() {
            true => {
                Err(raise(Error::mismatch("what this thread is writing cannot be used by its own signal handlers")))
            }
            false => Ok(()),
        }
    }

    /// Says that this thread has the writer, whose lock it holds.
    pub(crate) fn begin(&self) -> AtWork<'_> {
        self.0.store(here(), Ordering::Relaxed);
        AtWork(self)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// A number that no other thread has meanwhile.
fn here() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
