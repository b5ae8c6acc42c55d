//! Runs a future in the caller's thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::future::{Either, select};
use sapwood::{Error, Result, interrupt};

/// So often is a receiver asked whether it still wants what is on its way.
const POLL: Duration = Duration::from_millis(10);

struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs `future` in this thread until it is done, or what the thread heeds ends the wait. Tokio's own way panics in a
/// thread that belongs to some runtime, and ours may be any thread of a user.
pub(crate) fn block_on<T, E: From<Error>>(
    future: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<T, E> {
    let is_heeded = interrupt::is_heeded();
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            if is_heeded {
                thread::park_timeout(interrupt::EVERY);
                interrupt::check()?;
            } else {
                thread::park();
            }
        }
    }
}

/// Runs `work` unless `check` fails before it is done; it is asked now and then.
pub(crate) async fn unless_stopped<T>(
    work: impl Future<Output = Result<T>>,
    check: impl Fn() -> Result<()>,
) -> Result<T> {
    let watch = async {
        loop {
            tokio::time::sleep(POLL).await;
            if let Err(error) = check() {
                return error;
            }
        }
    };
    match select(pin!(work), pin!(watch)).await {
        Either::Left((done, _)) => done,
        Either::Right((error, _)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use sapwood::ErrorKind;

    use super::*;

    #[test]
    fn a_wait_within_a_runtime_is_no_panic() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build().unwrap();
        let inner = async {
            block_on(async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok::<_, Error>(7)
            })
        };
        assert_eq!(runtime.block_on(runtime.spawn(inner)).unwrap().unwrap(), 7);
    }

    #[test]
    fn what_a_thread_heeds_ends_its_wait() {
        let never = || block_on(std::future::pending::<Result<()>>());
        let interrupted = || Err(Error::new(ErrorKind::Cancelled, "enough"));
        assert_eq!(interrupt::heeding(interrupted, never).unwrap_err().message(), "enough");
    }
}
