//! How far long work is: a thread says who is told of its own.
//!
//! What takes long in the caller's thread (rewriting, verifying, sending a file) says [`at`] now and then how far it
//! is.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::scoped::scoped;

/// How far some work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are done, as stored.
    pub done_bytes: u64,
    /// Bytes of all of it, as stored.
    pub total_bytes: u64,
}

type Tell = Box<dyn FnMut(Progress) -> Result<()>>;

thread_local! {
    static TELL: RefCell<Option<Tell>> = const { RefCell::new(None) };
    /// What ended the work.
    static STOPPED: RefCell<Option<Error>> = const { RefCell::new(None) };
    /// The part of the whole that is being done: bytes before it, its own, and all.
    static PART: RefCell<Option<(u64, u64, u64)>> = const { RefCell::new(None) };
}

/// Does `work` in this thread and calls `tell` each time that it is further. An error of `tell` ends the work, and is
/// returned.
///
/// # Errors
///
/// Those of `work` and of `tell`.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use std::{cell::Cell, rc::Rc};
/// use sapwood::inspect::verify::verify;
/// use sapwood::progress;
/// let part = Rc::new(Cell::new(0.0));
/// let seen = Rc::clone(&part);
/// let tell = move |now: progress::Progress| Ok(seen.set(now.done_bytes as f64 / now.total_bytes as f64));
/// let report = progress::telling(tell, || verify(path, Default::default()))?;
/// assert!(!report.is_damaged() && part.get() == 1.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn telling<T>(tell: impl FnMut(Progress) -> Result<()> + 'static, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let tell: Tell = Box::new(tell);
    let _scope = (scoped(&TELL, Some(tell)), scoped(&STOPPED, None), scoped(&PART, None));
    let outcome = work();
    // An error of the work says where it was stopped.
    outcome.and_then(|value| STOPPED.take().map_or(Ok(value), Err))
}

/// Whether [`at`] tells anything.
///
/// # Example
///
/// ```
/// use sapwood::progress::{is_told, telling};
/// assert!(!is_told() && telling(|_| Ok(()), || Ok(is_told()))?);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn is_told() -> bool {
    TELL.with_borrow(Option::is_some)
}

/// So much is done of the work of this thread, in bytes or steps; of all that, or of the [`part`] that is being done.
///
/// # Errors
///
/// What [`telling`] was given to tell returned, now or before.
///
/// # Example
///
/// ```
/// use sapwood::progress::{at, telling};
/// assert!(at(1, 2).is_ok());
/// let enough = |_| Err(sapwood::Error::new(sapwood::ErrorKind::Cancelled, "enough"));
/// assert_eq!(telling(enough, || at(1, 2)).unwrap_err().message(), "enough");
/// ```
pub fn at(done: u64, of: u64) -> Result<()> {
    if let Some(error) = STOPPED.with_borrow(Clone::clone) {
        return Err(error);
    }
    // Outside of the borrow: what is told may begin other work.
    let Some(mut tell) = TELL.take() else { return Ok(()) };
    let done = done.min(of);
    let now = match PART.with_borrow(Clone::clone) {
        Some((before, bytes, total_bytes)) => {
            let own = u128::from(bytes) * u128::from(done) / u128::from(of.max(1));
            Progress { done_bytes: before + own as u64, total_bytes }
        }
        None => Progress { done_bytes: done, total_bytes: of },
    };
    let told = tell(now);
    TELL.replace(Some(tell));
    if let Err(error) = &told {
        STOPPED.replace(Some(error.clone()));
    }
    told
}

/// Does `work`, which is so many `bytes` of a whole of `total`, behind the first `before`. What it says of itself with
/// [`at`] is told as that part of the whole.
///
/// # Errors
///
/// Those of `work` and of [`at`].
///
/// # Example
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use sapwood::progress::{Progress, at, part, telling};
/// let last = Rc::new(Cell::new(0));
/// let seen = Rc::clone(&last);
/// telling(move |now: Progress| Ok(seen.set(now.done_bytes)), || part(100, 50, 200, || at(1, 2)))?;
/// assert_eq!(last.get(), 150); // behind the part; 125 halfway
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn part<T>(before: u64, bytes: u64, total: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let _scope = scoped(&PART, Some((before, bytes, total.max(before.saturating_add(bytes)))));
    work().and_then(|value| at(1, 1).map(|()| value))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn parts_add_up_and_what_stops_the_work_is_returned() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let tell = |seen: &Rc<RefCell<Vec<_>>>, most: u64| {
            let seen = Rc::clone(seen);
            move |now: Progress| {
                seen.borrow_mut().push((now.done_bytes, now.total_bytes));
                match now.done_bytes > most {
                    true => Err(Error::new(ErrorKind::Cancelled, "enough")),
                    false => Ok(()),
                }
            }
        };
        let work = || {
            part(0, 10, 40, || at(1, 2))?;
            part(10, 30, 40, || (1..=3).try_for_each(|step| at(step, 3)))
        };
        assert!(!is_told() && at(1, 1).is_ok());
        telling(tell(&seen, 100), work).unwrap();
        assert_eq!(*seen.borrow(), [(5, 40), (10, 40), (20, 40), (30, 40), (40, 40), (40, 40)]);
        seen.borrow_mut().clear();
        // Also where the work does not say so itself.
        let stopped = telling(tell(&seen, 5), || {
            let _ = work();
            assert!(at(1, 1).is_err(), "it stays stopped");
            Ok(())
        });
        assert_eq!(stopped.unwrap_err().message(), "enough");
        assert_eq!(*seen.borrow(), [(5, 40), (10, 40)]);
        assert!(!is_told() && at(1, 1).is_ok() && PART.with_borrow(Option::is_none));
    }
}
