//! What is opened at its first use, by one thread while others wait.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use sapwood::{Error, ErrorKind, Result};

/// A value that is made once. An opening that fails is tried again by the next one who asks.
pub(crate) struct OpenOnce<T> {
    value: OnceLock<T>,
    opening: Mutex<()>,
    /// The thread that opens.
    by: Mutex<Option<ThreadId>>,
}

impl<T> OpenOnce<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value; `open` makes it where it is not there.
    ///
    /// # Errors
    ///
    /// Those of `open`; [`Cancelled`](ErrorKind::Cancelled) where this thread is opening it already: a handler of a
    /// signal runs within a wait of that opening, and would wait for itself.
    pub(crate) fn get_or_open(&self, open: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let me = thread::current().id();
        if *self.by() == Some(me) {
            let words = "the file is being opened by this thread, which a signal has interrupted: read it afterwards";
            return Err(Error::new(ErrorKind::Cancelled, words));
        }
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.value.get().is_none() {
            *self.by() = Some(me);
            let _opened = Opening(self);
            let _ = self.value.set(open()?); // no other thread opens
        }
        self.value.get().ok_or_else(|| Error::internal("what was opened is not there"))
    }

    fn by(&self) -> std::sync::MutexGuard<'_, Option<ThreadId>> {
        self.by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends an opening, also where it failed.
struct Opening<'a, T>(&'a OpenOnce<T>);

impl<T> Drop for Opening<'_, T> {
    fn drop(&mut self) {
        *self.0.by() = None;
    }
}

impl<T> Default for OpenOnce<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), opening: Mutex::default(), by: Mutex::default() }
    }
}

impl<T: fmt::Debug> fmt::Debug for OpenOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_that_asks_for_itself_is_an_error() {
        let once = OpenOnce::default();
        let within = once.get_or_open(|| once.get_or_open(|| Ok(1)).map(|one| one + 1));
        assert_eq!(within.unwrap_err().kind(), ErrorKind::Cancelled);
        // It failed, and is tried again; then it stays.
        assert_eq!(*once.get_or_open(|| Ok(3)).unwrap(), 3);
        assert_eq!(*once.get_or_open(|| panic!("it is there")).unwrap(), 3);
    }

    #[test]
    fn threads_open_once() {
        let (once, opened) = (OpenOnce::default(), Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = once.get_or_open(|| {
                        *opened.lock().unwrap() += 1;
                        Ok(7)
                    });
                    assert_eq!(*found.unwrap(), 7);
                });
            }
        });
        assert_eq!(*opened.lock().unwrap(), 1);
    }
}
