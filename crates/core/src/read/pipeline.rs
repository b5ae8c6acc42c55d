//! Baskets in the hands of several threads, whose values are taken in the order of entries.
//!
//! Windows of baskets follow one another without a pause: while the last baskets of one are decoded, those of the next
//! are begun.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use rayon::Scope;

use super::scan::{Answer, Scan};
use super::task::{Segment, Task, Workspace};
use super::workspaces::Workspaces;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::session::Session;

/// Stored bytes that one thread decodes at once: to hand them over costs little beside it.
const GROUP_BYTES: usize = 128 << 10;
/// Groups for each thread that are decoded or wait for it.
const AHEAD: usize = 4;

/// Some baskets for one thread.
type Group = Vec<Task>;

/// Decodes baskets in the order in which they come.
pub(super) struct Pipeline<'p, 's> {
    scans: &'s [Scan<'s>],
    answers: Vec<Answer>,
    /// For what this thread decodes itself.
    own: Workspace,
    threads: Option<Threads<'p, 's>>,
    /// Lists of tasks to use again.
    spare: Vec<Group>,
}

/// Groups that other threads decode.
struct Threads<'p, 's> {
    scope: &'p Scope<'s>,
    workspaces: &'s Workspaces<'s, Workspace>,
    sender: Sender<(usize, Option<Group>)>,
    receiver: Receiver<(usize, Option<Group>)>,
    /// In order; none for those that a thread has.
    queue: VecDeque<Option<Group>>,
    /// The number of the first in the queue.
    first: usize,
    /// The number of the first whose values have no positions yet.
    unassigned: usize,
    /// How many a thread has.
    busy: usize,
}

/// Gives a group back, also where its thread panics: then there is none.
struct Handed {
    number: usize,
    group: Option<Group>,
    sender: Sender<(usize, Option<Group>)>,
}

impl Drop for Handed {
    fn drop(&mut self) {
        // Nobody receives it where an error has ended the read.
        let _ = self.sender.send((self.number, self.group.take()));
    }
}

impl<'p, 's> Pipeline<'p, 's> {
    /// A pipeline for some scans, whose threads `work` may use. Where the session has one thread, or there is little to
    /// do, this thread does all.
    pub(super) fn scoped<T>(
        session: &'s Session,
        scans: &'s [Scan<'s>],
        workspaces: &'s Workspaces<'s, Workspace>,
        stored_bytes: u64,
        work: impl FnOnce(Pipeline<'_, 's>) -> Result<T>,
    ) -> Result<T> {
        let start = |scan| Answer::new(scan, session.memory()).map_err(|error| Scan::name(scan, error));
        let answers = scans.iter().map(start).collect::<Result<Vec<_>>>()?;
        let own = Workspace::new(session);
        let is_little = stored_bytes <= GROUP_BYTES as u64;
        // A thread of the pool must not wait for others of it.
        let pool = session.pool().filter(|pool| !is_little && pool.current_thread_index().is_none());
        match pool {
            None => work(Pipeline { scans, answers, own, threads: None, spare: Vec::new() }),
            Some(pool) => pool.in_place_scope(|scope| {
                let (sender, receiver) = channel();
                let queue = VecDeque::new();
                let threads = Threads { scope, workspaces, sender, receiver, queue, first: 0, unassigned: 0, busy: 0 };
                work(Pipeline { scans, answers, own, threads: Some(threads), spare: Vec::new() })
            }),
        }
    }

    /// Takes up the baskets of a window. Returns while the last ones may still be in work.
    ///
    /// # Errors
    ///
    /// Those of decoding, also of earlier baskets; those of [`interrupt::check`].
    pub(super) fn push(&mut self, window: &[Segment], records: Vec<Bytes>) -> Result<()> {
        let (mut group, mut bytes) = (self.spare.pop().unwrap_or_default(), 0);
        for (&segment, record) in window.iter().zip(records) {
            bytes += record.len();
            let (scan, answer) = (&self.scans[segment.scan], &mut self.answers[segment.scan]);
            group.push(Task::new(scan, answer, segment, record, &mut self.own, self.threads.is_none())?);
            if self.threads.is_none() || bytes >= GROUP_BYTES {
                self.begin(group)?;
                (group, bytes) = (self.spare.pop().unwrap_or_default(), 0);
            }
        }
        match group.is_empty() {
            true => self.spare.push(group),
            false => self.begin(group)?,
        }
        // Each thread has one, and one to go on with while the next window comes.
        let ahead = self.threads.as_ref().map_or(0, |threads| 2 * threads.workspaces.threads());
        self.wait(ahead)
    }

    /// The columns so far, once all is decoded.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub(super) fn finish(mut self) -> Result<Vec<Answer>> {
        self.wait(0)?;
        Ok(self.answers)
    }

    fn begin(&mut self, mut group: Group) -> Result<()> {
        if let Some(threads) = &self.threads {
            // No further ahead: what is decoded is still in the cache when it is copied.
            self.wait(AHEAD * threads.workspaces.threads())?;
        }
        if let Some(threads) = &mut self.threads {
            threads.queue.push_back(None);
            threads.hand_over(threads.first + threads.queue.len() - 1, group, self.scans);
            return Ok(());
        }
        let mut again = true;
        while again {
            again = false;
            for task in &mut group {
                task.run(self.scans, &mut self.own);
                again |= task.assign(self.scans, &mut self.answers)?;
            }
        }
        self.settle(group)
    }

    fn settle(&mut self, mut group: Group) -> Result<()> {
        group.drain(..).try_for_each(|task| task.settle(self.scans, &mut self.answers))?;
        self.spare.push(group);
        Ok(())
    }

    /// Takes values in order, until threads have no more than `left` groups.
    fn wait(&mut self, left: usize) -> Result<()> {
        let lost = || Error::internal("a thread that decodes ended early");
        while let Some(threads) = self.threads.as_mut().filter(|threads| threads.busy > left) {
            let (number, group) = interrupt::receive(&threads.receiver)?.ok_or_else(lost)?;
            threads.busy -= 1;
            threads.put(number, group.ok_or_else(lost)?);
            threads.assign(self.scans, &mut self.answers)?;
            while let Some(group) = self.threads.as_mut().and_then(Threads::pop) {
                self.settle(group)?;
            }
        }
        Ok(())
    }
}

impl<'s> Threads<'_, 's> {
    /// Has a thread do what is left of some tasks.
    fn hand_over(&mut self, number: usize, mut group: Group, scans: &'s [Scan<'s>]) {
        let (workspaces, sender) = (self.workspaces, self.sender.clone());
        self.busy += 1;
        self.scope.spawn(move |_| {
            let mut handed = Handed { number, group: None, sender };
            workspaces.with_own(|workspace| group.iter_mut().for_each(|task| task.run(scans, workspace)));
            handed.group = Some(group);
        });
    }

    fn put(&mut self, number: usize, group: Group) {
        if let Some(place) = number.checked_sub(self.first).and_then(|at| self.queue.get_mut(at)) {
            *place = Some(group);
        }
    }

    /// Gives positions to the values of all groups up to the first that is not decoded.
    fn assign(&mut self, scans: &'s [Scan<'s>], answers: &mut [Answer]) -> Result<()> {
        while let Some(place @ Some(_)) = self.queue.get_mut(self.unassigned - self.first)
            && let Some(mut group) = place.take()
        {
            let mut again = false;
            for task in &mut group {
                again |= task.assign(scans, answers)?;
            }
            match again {
                true => self.hand_over(self.unassigned, group, scans),
                false => self.put(self.unassigned, group),
            }
            self.unassigned += 1;
        }
        Ok(())
    }

    /// The next group whose values are where they belong.
    fn pop(&mut self) -> Option<Group> {
        if self.first == self.unassigned {
            return None;
        }
        let group = self.queue.front_mut()?.take()?;
        self.queue.pop_front();
        self.first += 1;
        Some(group)
    }
}
