//! What a thread needs for a task, kept from one to the next.

use std::sync::{Mutex, PoisonError};

/// Workspaces of the threads of a pool, each made when one is needed first.
pub(crate) struct Workspaces<'s, W> {
    idle: Mutex<Vec<W>>,
    make: Box<dyn Fn() -> W + Send + Sync + 's>,
}

impl<'s, W> Workspaces<'s, W> {
    pub(crate) fn new(make: impl Fn() -> W + Send + Sync + 's) -> Self {
        Self { idle: Mutex::default(), make: Box::new(make) }
    }

    /// Works with the idle workspace that was used last. One whose work panics is lost.
    pub(crate) fn with_one<T>(&self, work: impl FnOnce(&mut W) -> T) -> T {
        // Nothing that could panic is done under the lock.
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut one = known.unwrap_or_else(&self.make);
        let done = work(&mut one);
        idle().push(one);
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn as_many_are_made_as_are_used_at_a_time() {
        let made = AtomicUsize::new(0);
        let workspaces = Workspaces::new(|| made.fetch_add(1, Ordering::SeqCst));
        (0..3).for_each(|_| workspaces.with_one(|one| assert_eq!(*one, 0)));
        workspaces.with_one(|_| workspaces.with_one(|two| assert_eq!(*two, 1)));
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| (0..100).for_each(|_| workspaces.with_one(|_| {})))));
        });
        assert!((2..=4).contains(&made.load(Ordering::SeqCst)));
    }

    #[test]
    fn a_panic_loses_only_its_own() {
        let workspaces = Workspaces::new(|| 0);
        let panics = || workspaces.with_one(|_| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        workspaces.with_one(|one| *one += 1);
        workspaces.with_one(|one| assert_eq!(*one, 1));
    }
}
