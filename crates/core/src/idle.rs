//! What waits to be used again: fresh memory costs more than filling it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values that no thread uses.
#[derive(Debug)]
pub(crate) struct Idle<T>(Mutex<Vec<T>>);

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Idle<T> {
    /// The one that came back last.
    pub(crate) fn take(&self) -> Option<T> {
        self.all().pop()
    }

    /// Up to so many: asking once avoids contention on the lock.
    pub(crate) fn take_up_to(&self, most: usize) -> Vec<T> {
        let mut all = self.all();
        let left = all.len().saturating_sub(most);
        all.split_off(left)
    }

    /// Takes some back.
    pub(crate) fn put(&self, some: impl IntoIterator<Item = T>) {
        self.all().extend(some);
    }

    /// Takes one back if fewer than so many wait, and drops it otherwise.
    pub(crate) fn put_below(&self, most: usize, one: T) {
        let mut all = self.all();
        if all.len() < most {
            all.push(one);
        }
    }

    /// Works with one, or with what `make` makes where all are in use. One whose work panics is lost.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let mut one = self.take().unwrap_or_else(make);
        let done = work(&mut one);
        self.put([one]);
        done
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> MutexGuard<'_, Vec<T>> {
        // Nothing that could panic is done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn as_many_are_made_as_are_used_at_a_time() {
        let (made, idle) = (AtomicUsize::new(0), Idle::default());
        let make = || made.fetch_add(1, Ordering::SeqCst);
        (0..3).for_each(|_| idle.with(make, |one| assert_eq!(*one, 0)));
        idle.with(make, |_| idle.with(make, |two| assert_eq!(*two, 1)));
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| (0..100).for_each(|_| idle.with(make, |_| {})))));
        });
        assert!((2..=4).contains(&made.load(Ordering::SeqCst)));
    }

    #[test]
    fn what_came_back_last_is_taken_first_and_no_more_than_there_is_room() {
        let idle = Idle::default();
        idle.put([1, 2, 3]);
        idle.put_below(3, 4);
        idle.put_below(4, 5);
        assert_eq!(
            (idle.take(), idle.take_up_to(2), idle.take_up_to(2), idle.take()),
            (Some(5), vec![2, 3], vec![1], None)
        );
    }

    #[test]
    fn a_panic_loses_only_its_own() {
        let idle = Idle::default();
        idle.put([1]);
        let panics = || idle.with(|| 0, |_| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(idle.with(|| 7, |one| *one), 7);
    }
}
