//! Ends waits: a thread says what may end its own, such as Ctrl-C.
//!
//! What waits in the caller's thread, for a server or for threads that read, asks [`check`] every [`EVERY`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::scoped::scoped;

/// How often a thread that waits asks.
pub const EVERY: Duration = Duration::from_millis(100);

type Check = Rc<dyn Fn() -> Result<()>>;

thread_local! {
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
    /// When [`check_if_due`] asked last.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does `work` in this thread. Where it waits, `check` is asked, and an error of it ends the wait and so the work.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use sapwood::{Error, ErrorKind, interrupt};
///
/// static STOP: AtomicBool = AtomicBool::new(false);
/// let stopped = || match STOP.load(Ordering::Relaxed) {
///     true => Err(Error::new(ErrorKind::Cancelled, "stopped by the user")),
///     false => Ok(()),
/// };
/// // A signal handler, or a button in another thread, sets STOP.
/// let waited = interrupt::heeding(stopped, || {
///     STOP.store(true, Ordering::Relaxed);
///     interrupt::check()
/// });
/// assert_eq!(waited.unwrap_err().kind(), ErrorKind::Cancelled);
/// ```
pub fn heeding<T>(check: impl Fn() -> Result<()> + 'static, work: impl FnOnce() -> T) -> T {
    let check: Check = Rc::new(check);
    let _scope = scoped(&CHECK, Some(check));
    work()
}

/// As [`heeding`], and what was heeded before is asked first.
///
/// # Example
///
/// ```
/// use sapwood::interrupt::{also_heeding, check, heeding};
/// use sapwood::{Error, ErrorKind};
/// let stopped = || Err(Error::new(ErrorKind::Cancelled, "stopped"));
/// assert!(heeding(stopped, || also_heeding(|| Ok(()), check)).is_err());
/// ```
pub fn also_heeding<T>(check: impl Fn() -> Result<()> + 'static, work: impl FnOnce() -> T) -> T {
    let before = CHECK.with_borrow(Clone::clone);
    let both = move || {
        before.as_ref().map_or(Ok(()), |before| before())?;
        check()
    };
    heeding(both, work)
}

/// Whether [`check`] can end a wait of this thread.
///
/// # Example
///
/// ```
/// use sapwood::interrupt::{heeding, is_heeded};
/// assert!(!is_heeded() && heeding(|| Ok(()), is_heeded));
/// ```
pub fn is_heeded() -> bool {
    CHECK.with_borrow(Option::is_some)
}

/// Asks what [`heeding`] was given; nothing ends the waits of other threads.
///
/// # Errors
///
/// Those of what is asked.
///
/// # Example
///
/// ```
/// use sapwood::interrupt::{check, heeding};
/// use sapwood::{Error, ErrorKind};
/// assert!(check().is_ok());
/// assert!(heeding(|| Err(Error::new(ErrorKind::Cancelled, "enough")), check).is_err());
/// ```
pub fn check() -> Result<()> {
    // Outside of the borrow: what is asked may read something itself.
    let check = CHECK.with_borrow(Clone::clone);
    check.map_or(Ok(()), |check| check())
}

/// Asks as [`check`] does, unless this thread did so a moment ago: to ask may take as long as other threads of the
/// caller's language have its lock.
///
/// # Errors
///
/// Those of [`check`].
pub(crate) fn check_if_due() -> Result<()> {
    let now = Instant::now();
    if !is_heeded() || ASKED.get().is_some_and(|asked| now.duration_since(asked) < EVERY) {
        return Ok(());
    }
    ASKED.set(Some(now));
    check()
}

/// Waits for a message; none if no sender is left.
///
/// # Errors
///
/// Those of [`check`].
pub(crate) fn receive<T>(from: &Receiver<T>) -> Result<Option<T>> {
    if !is_heeded() {
        return Ok(from.recv().ok());
    }
    loop {
        match from.recv_timeout(EVERY) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => check()?,
        }
    }
}

/// Ends the waits of threads that work for this one, which has ended its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once it is set.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_set() {
            true => Err(Error::new(ErrorKind::Cancelled, "its result is not needed any more")),
            false => Ok(()),
        }
    }

    /// Does `work` in this thread until [`set`](Self::set) ends its waits.
    pub(crate) fn heeding<T>(&self, work: impl FnOnce() -> T) -> T {
        let stop = self.clone();
        heeding(move || stop.check(), work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_often_is_asked_now_and_then() {
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let counting = move || {
            count.set(count.get() + 1);
            Ok(())
        };
        heeding(counting, || (0..1000).for_each(|_| check_if_due().unwrap()));
        assert!((1..1000).contains(&asked.get()), "{}", asked.get());
    }

    #[test]
    fn the_innermost_is_asked_and_the_outer_one_afterwards() {
        let failing = |words: &'static str| move || Err(Error::new(ErrorKind::Cancelled, words));
        let said = || check().map_err(|error| error.message().to_owned());
        assert!(!is_heeded() && check().is_ok());
        heeding(failing("outer"), || {
            assert_eq!(heeding(failing("inner"), said), Err("inner".into()));
            let _ = std::panic::catch_unwind(|| heeding(failing("inner"), || panic!("work")));
            assert_eq!(said(), Err("outer".into()));
            assert!(std::thread::spawn(check).join().unwrap().is_ok());
        });
        assert!(!is_heeded());
    }
}
