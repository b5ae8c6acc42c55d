//! Values of a thread while it does some work.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Puts back what was there before, also after a panic.
pub(crate) struct Scoped<T: 'static> {
    key: &'static LocalKey<RefCell<T>>,
    before: Option<T>,
}

/// Sets a value of this thread until what is returned is dropped.
#[must_use]
pub(crate) fn scoped<T>(key: &'static LocalKey<RefCell<T>>, now: T) -> Scoped<T> {
    Scoped { key, before: Some(key.replace(now)) }
}

impl<T> Drop for Scoped<T> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.key.replace(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static VALUE: RefCell<u32> = const { RefCell::new(0) };
    }

    #[test]
    fn what_was_there_before_comes_back_also_after_a_panic() {
        let outer = scoped(&VALUE, 1);
        let caught = std::panic::catch_unwind(|| {
            let _inner = scoped(&VALUE, 2);
            assert_eq!(VALUE.with_borrow(Clone::clone), 2);
            std::panic::resume_unwind(Box::new("stop"));
        });
        assert!(caught.is_err());
        assert_eq!(VALUE.with_borrow(Clone::clone), 1);
        drop(outer);
        assert_eq!(VALUE.with_borrow(Clone::clone), 0);
    }
}
