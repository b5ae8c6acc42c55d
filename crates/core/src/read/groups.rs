//! Groups of tasks that several threads work on.

use std::sync::mpsc::{Receiver, Sender, channel};

use rayon::{Scope, ThreadPool};

use super::workspaces::Workspaces;
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::session::Session;

/// A group ends with so many stored bytes, or so many inflated ones, at least: to hand it over costs little beside it,
/// and what is decoded is still in the cache when it is copied. Of a small read each thread has some.
const GROUP_BYTES: u64 = 128 << 10;
pub(crate) const GROUP_UNPACKED_BYTES: u64 = 1 << 20;
const SMALLEST_GROUP_BYTES: u64 = 8 << 10;
/// What takes no longer than to wake a thread.
const LITTLE_BYTES: u64 = 32 << 10;
/// Groups for each thread between the first that is not decoded and the last that is begun.
const AHEAD: usize = 4;
/// The same when a window ends: one, and one to go on with while the next window comes.
const AHEAD_OF_WINDOW: usize = 2;

/// The threads for so many bytes; none where this one decodes.
pub(crate) fn pool_for(session: &Session, bytes: u64) -> Option<&ThreadPool> {
    let pool = if bytes > LITTLE_BYTES { session.pool() } else { None };
    // A thread of the pool must not wait for others of it.
    pool.filter(|pool| pool.current_thread_index().is_none())
}

/// Stored bytes with which a group ends, where there are so many in all.
pub(crate) fn group_bytes(session: &Session, stored_bytes: u64) -> u64 {
    (stored_bytes / (AHEAD * session.workers()) as u64).clamp(SMALLEST_GROUP_BYTES, GROUP_BYTES)
}

/// Groups that other threads work on. They are numbered by who hands them over, and come back in any order.
pub(crate) struct Groups<'p, 's, T, W> {
    scope: &'p Scope<'s>,
    workspaces: &'s Workspaces<'s, W>,
    sender: Sender<(usize, Option<Vec<T>>)>,
    receiver: Receiver<(usize, Option<Vec<T>>)>,
    workers: usize,
    /// Ends what is begun and not needed any more.
    stop: Stop,
}

impl<T, W> Drop for Groups<'_, '_, T, W> {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Gives a group back, also where its thread panics: then there is none.
struct Handed<T> {
    number: usize,
    group: Option<Vec<T>>,
    sender: Sender<(usize, Option<Vec<T>>)>,
}

impl<T> Drop for Handed<T> {
    fn drop(&mut self) {
        // It has no receiver where an error has ended the read.
        let _ = self.sender.send((self.number, self.group.take()));
    }
}

impl<'p, 's, T: Send + 's, W: Send> Groups<'p, 's, T, W> {
    pub(crate) fn new(scope: &'p Scope<'s>, workers: usize, workspaces: &'s Workspaces<'s, W>) -> Self {
        let (sender, receiver) = channel();
        Self { scope, workspaces, sender, receiver, workers, stop: Stop::default() }
    }

    /// The most that may be outstanding before a further one is handed over.
    pub(crate) fn ahead(&self) -> usize {
        AHEAD * self.workers
    }

    /// The most that may be outstanding while the next window comes.
    pub(crate) fn ahead_of_window(&self) -> usize {
        AHEAD_OF_WINDOW * self.workers
    }

    /// Has a thread work on some tasks.
    pub(crate) fn hand_over(&self, number: usize, mut group: Vec<T>, work: impl Fn(&mut T, &mut W) + Send + 's) {
        let (workspaces, sender, stop) = (self.workspaces, self.sender.clone(), self.stop.clone());
        self.scope.spawn(move |_| {
            let mut handed = Handed { number, group: None, sender };
            workspaces.with_one(|workspace| {
                for task in group.iter_mut().take_while(|_| !stop.is_set()) {
                    work(task, workspace);
                }
            });
            handed.group = Some(group);
        });
    }

    /// Waits for a group that is worked on, whichever it is.
    ///
    /// # Errors
    ///
    /// Those of [`interrupt::check`]; an internal one if a thread ended early.
    pub(crate) fn receive(&self) -> Result<(usize, Vec<T>)> {
        let lost = || Error::internal("a thread that decodes ended early");
        interrupt::check_if_due()?;
        let (number, group) = interrupt::receive(&self.receiver)?.ok_or_else(lost)?;
        Ok((number, group.ok_or_else(lost)?))
    }
}
