//! Opens inputs while others are merged: a bounded number, in order.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};

/// Prepares `count` items in threads, a bounded number ahead of the one being taken, and passes each on in order.
///
/// # Errors
///
/// What `take` reports, and what ends a wait; no more items are prepared then.
pub(super) fn each<T: Send>(
    count: usize,
    ahead: usize,
    prepare: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    /// Threads beyond that do not make storage faster.
    const MOST_THREADS: usize = 32;
    if ahead == 0 {
        return (0..count).try_for_each(|index| take(index, prepare(index)));
    }
    let (jobs, waiting) = channel::<(usize, Sender<T>)>();
    let waiting = Mutex::new(waiting);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        for _ in 0..ahead.min(count).min(MOST_THREADS) {
            scope.spawn(|| {
                stop.heeding(|| {
                    while let Some((index, answer)) = next(&waiting) {
                        // The receiver is gone if the merge has ended.
                        let _ = answer.send(prepare(index));
                    }
                });
            });
        }
        let mut coming: VecDeque<Receiver<T>> = VecDeque::new();
        let mut begun = 0;
        let mut outcome = Ok(());
        for index in 0..count {
            while begun < count && begun <= index + ahead {
                let (answer, answered) = channel();
                coming.push_back(answered);
                // The threads run as long as this end exists.
                let _ = jobs.send((begun, answer));
                begun += 1;
            }
            let prepared = coming.pop_front().map_or(Ok(None), |answered| interrupt::receive(&answered));
            outcome = match prepared {
                Ok(Some(prepared)) => take(index, prepared),
                Ok(None) => Err(Error::mismatch("a thread that opens files has ended")),
                Err(interrupted) => Err(interrupted),
            };
            if outcome.is_err() {
                break;
            }
        }
        drop(jobs);
        // Drop what was prepared but not taken.
        if outcome.is_err() {
            stop.set();
            drop(coming);
            while next(&waiting).is_some() {}
        }
        outcome
    })
}

fn next<T>(waiting: &Mutex<Receiver<(usize, Sender<T>)>>) -> Option<(usize, Sender<T>)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn they_come_in_order_and_no_more_are_open_than_wanted() {
        for ahead in [0, 1, 3, 100] {
            let open = AtomicUsize::new(0);
            let most = AtomicUsize::new(0);
            let prepare = |index| {
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                index
            };
            let mut taken = Vec::new();
            let take = |index, prepared| {
                assert_eq!(index, prepared);
                taken.push(index);
                open.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            each(200, ahead, prepare, take).unwrap();
            assert_eq!(taken, (0..200).collect::<Vec<_>>());
            assert!(most.load(Ordering::SeqCst) <= ahead + 1, "{most:?}");
        }
    }

    #[test]
    fn an_error_ends_it() {
        let begun = AtomicUsize::new(0);
        let take = |index, _| if index == 5 { Err(Error::mismatch("enough")) } else { Ok(()) };
        let outcome = each(10_000, 2, |_| begun.fetch_add(1, Ordering::SeqCst), take);
        assert_eq!(outcome.unwrap_err().message(), "enough");
        assert!(begun.load(Ordering::SeqCst) <= 8);
        assert!(each(0, 2, |index| index, |_, _| Ok(())).is_ok());
    }
}
