//! What ends the waits of the engine in threads of Python: Ctrl-C in the main thread, a [`Stop`] in others.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;

/// The thread in which Python handles signals.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

thread_local! {
    static STOP: RefCell<Option<Arc<Flag>>> = const { RefCell::new(None) };
}

/// Notes this thread if it handles signals.
pub(crate) fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    if threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?) {
        let _ = MAIN.set(thread::current().id());
    }
    Ok(())
}

/// The same where another thread has imported the module.
pub(crate) fn find_main_thread(py: Python<'_>) {
    if MAIN.get().is_none() {
        // Without, no Ctrl-C ends a wait.
        let _ = note_main_thread(py);
    }
}

/// Whether this thread handles signals. Others need not take Python's lock to learn of them.
pub(crate) fn is_main_thread() -> bool {
    MAIN.get() == Some(&thread::current().id())
}

/// Whether what this thread does is not wanted any more.
pub(crate) fn is_stopped() -> bool {
    STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.is_set()))
}

/// Whether work is not wanted any more, by itself or with that of the thread that has it done.
#[derive(Debug)]
struct Flag {
    is_set: AtomicBool,
    above: Option<Arc<Flag>>,
}

impl Flag {
    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed) || self.above.as_ref().is_some_and(|above| above.is_set())
    }
}

/// Ends the waits of other threads that work for one that has ended. One that is made in a thread which heeds another
/// is set with that, too.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Stop(Arc<Flag>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self(Arc::new(Flag { is_set: AtomicBool::new(false), above: STOP.with_borrow(Clone::clone) }))
    }

    /// Ends the waits of what runs now, and of what will run.
    fn set(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Whether the work is not wanted any more.
    fn is_set(&self) -> bool {
        self.0.is_set()
    }

    /// From now on the waits of this thread end when `set` was called.
    fn heed(&self) {
        // What the thread does is not called from here: a library that gives up Python's lock there, and calls the
        // engine, would find it taken for held.
        STOP.set(Some(Arc::clone(&self.0)));
    }
}
