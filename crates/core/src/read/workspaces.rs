//! What a thread needs for a task, kept from one to the next.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::session::Session;

/// As many workspaces as threads of a session can work at a time. A thread beyond them waits: it would only evict from
/// the caches what others work with.
pub(crate) struct Workspaces<W> {
    count: usize,
    idle: Mutex<Vec<W>>,
    returned: Condvar,
}

/// A workspace in use; goes back on drop.
struct Taken<'w, W> {
    from: &'w Workspaces<W>,
    workspace: Option<W>,
}

impl<W> Workspaces<W> {
    pub(crate) fn new(session: &Session, make: impl Fn() -> W) -> Self {
        let count = session.workers();
        let idle = Mutex::new((0..count).map(|_| make()).collect());
        Self { count, idle, returned: Condvar::new() }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Works with the workspace that was used last, once one is idle.
    pub(crate) fn with_one(&self, work: impl FnOnce(&mut W)) {
        let idle = self.returned.wait_while(self.idle(), |idle| idle.is_empty());
        let workspace = idle.unwrap_or_else(PoisonError::into_inner).pop();
        let mut taken = Taken { from: self, workspace };
        if let Some(workspace) = &mut taken.workspace {
            work(workspace);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<W>> {
        // Nothing that could panic is done under the lock, and a workspace holds nothing that a panic could leave
        // inconsistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the workspace back even if the work panicked.
impl<W> Drop for Taken<'_, W> {
    fn drop(&mut self) {
        self.from.idle().extend(self.workspace.take());
        self.from.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_threads_work_than_there_are_workspaces() {
        let session = Session::with_threads(16);
        let workspaces = Workspaces::new(&session, || 0_usize);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |done: &mut usize| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            *done += 1;
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..100).for_each(|_| workspaces.with_one(work)));
            }
        });
        assert!(most.into_inner() <= workspaces.count());
        assert_eq!(workspaces.idle().iter().sum::<usize>(), 1_600, "each task has changed one of them");
    }

    #[test]
    fn a_workspace_comes_back_from_a_panic() {
        let session = Session::with_threads(1);
        let workspaces = Workspaces::new(&session, || ());
        for _ in 0..2 {
            let panics = || workspaces.with_one(|()| panic!("on purpose"));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        }
        workspaces.with_one(|()| {});
    }
}
