//! Baskets that several threads decode, whose values are taken in the order of entries.
//!
//! Windows of baskets follow one another without a pause: while the last baskets of one are decoded, those of the next
//! are begun.

use std::collections::VecDeque;

use bytes::Bytes;

use super::groups::{GROUP_UNPACKED_BYTES, Groups, group_bytes, pool_for};
use super::scan::{Answer, Scan};
use super::task::{Segment, Task, Workspace};
use super::workspaces::Workspaces;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::session::Session;

/// Some baskets for one thread.
type Group = Vec<Task>;

/// Decodes baskets in the order in which they come.
pub(super) struct Pipeline<'p, 's> {
    scans: &'s [Scan<'s>],
    answers: Vec<Answer>,
    /// For what this thread decodes itself.
    own: Workspace,
    threads: Option<Threads<'p, 's>>,
    group_bytes: u64,
    /// Stored bytes of baskets that are settled and not told yet.
    done_bytes: u64,
    /// Lists of tasks to use again.
    spare: Vec<Group>,
}

/// Groups that other threads decode.
struct Threads<'p, 's> {
    groups: Groups<'p, 's, Task, Workspace>,
    /// In order; none for those that a thread has.
    queue: VecDeque<Option<Group>>,
    /// The number of the first in the queue.
    first: usize,
    /// The number of the first whose values have no positions yet.
    unassigned: usize,
}

/// Does `work` with a pipeline for some scans. Where the session has one thread, or there is little to do, this thread
/// decodes all.
pub(super) fn pipelined<T>(
    session: &Session,
    scans: &[Scan<'_>],
    stored_bytes: u64,
    work: impl FnOnce(Pipeline<'_, '_>) -> Result<T>,
) -> Result<T> {
    let start = |scan| Answer::new(scan, session.memory()).map_err(|error| Scan::name(scan, error));
    let answers = scans.iter().map(start).collect::<Result<Vec<_>>>()?;
    // Before those of other threads: it has the context that was used last.
    let own = Workspace::new(session);
    let group_bytes = group_bytes(session, stored_bytes);
    let (done_bytes, spare) = (0, Vec::new());
    let Some(pool) = pool_for(session, stored_bytes) else {
        return work(Pipeline { scans, answers, own, threads: None, group_bytes, done_bytes, spare });
    };
    let workspaces = Workspaces::new(|| Workspace::new(session));
    let workspaces = &workspaces;
    pool.in_place_scope(|scope| {
        let groups = Groups::new(scope, session.workers(), workspaces);
        let threads = Threads { groups, queue: VecDeque::new(), first: 0, unassigned: 0 };
        work(Pipeline { scans, answers, own, threads: Some(threads), group_bytes, done_bytes, spare })
    })
}

impl Pipeline<'_, '_> {
    /// Takes up the baskets of a window. Returns while the last ones may still be in work.
    ///
    /// # Errors
    ///
    /// Those of decoding, also of earlier baskets; those of [`interrupt::check`].
    pub(super) fn push(&mut self, window: &[Segment], records: Vec<Bytes>) -> Result<()> {
        let mut group = self.spare.pop().unwrap_or_default();
        let (mut stored, mut unpacked) = (0, 0);
        for (&segment, record) in window.iter().zip(records) {
            stored += record.len() as u64;
            let (scan, answer) = (&self.scans[segment.scan], &mut self.answers[segment.scan]);
            match Task::new(scan, answer, segment, record, &mut self.own, self.threads.is_none()) {
                Ok(task) => {
                    unpacked += task.unpacked_bytes();
                    group.push(task);
                }
                Err(error) => {
                    // The first error is that of the first basket.
                    self.begin(group)?;
                    self.drain()?;
                    return Err(error);
                }
            }
            if self.threads.is_none() || stored >= self.group_bytes || unpacked >= GROUP_UNPACKED_BYTES {
                self.begin(group)?;
                (stored, unpacked) = (0, 0);
                group = self.spare.pop().unwrap_or_default();
            }
        }
        match group.is_empty() {
            true => self.spare.push(group),
            false => self.begin(group)?,
        }
        let ahead = self.threads.as_ref().map_or(0, |threads| threads.groups.ahead_of_window());
        self.wait(ahead)
    }

    /// Waits until all that was taken up is decoded.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub(super) fn drain(&mut self) -> Result<()> {
        self.wait(0)
    }

    /// Stored bytes of baskets whose values were taken since this was asked last.
    pub(super) fn done_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.done_bytes)
    }

    /// The columns, once all is decoded.
    pub(super) fn answers(self) -> Vec<Answer> {
        self.answers
    }

    fn begin(&mut self, mut group: Group) -> Result<()> {
        if let Some(threads) = &self.threads {
            self.wait(threads.groups.ahead())?;
        }
        if let Some(threads) = &mut self.threads {
            threads.queue.push_back(None);
            let number = threads.first + threads.queue.len() - 1;
            if !group.iter().all(Task::is_done) {
                threads.hand_over(number, group, self.scans);
                return Ok(());
            }
            threads.put(number, group)?;
            return self.advance();
        }
        interrupt::check_if_due()?;
        for task in &mut group {
            task.run(self.scans, &mut self.own);
            if task.assign(self.scans, &mut self.answers)? {
                return Err(Error::internal("a basket that is decoded alone has no position"));
            }
        }
        self.settle(group)
    }

    fn settle(&mut self, mut group: Group) -> Result<()> {
        for task in group.drain(..) {
            self.done_bytes = self.done_bytes.saturating_add(task.stored_bytes(self.scans));
            task.settle(self.scans, &mut self.answers)?;
        }
        self.spare.push(group);
        Ok(())
    }

    /// Gives positions to what is decoded, and takes what is there, in order.
    fn advance(&mut self) -> Result<()> {
        let Some(threads) = &mut self.threads else { return Ok(()) };
        threads.assign(self.scans, &mut self.answers)?;
        while let Some(group) = self.threads.as_mut().and_then(Threads::pop) {
            self.settle(group)?;
        }
        Ok(())
    }

    /// Takes values in order, until there are no more than `left` groups whose values are not taken. The first of these
    /// is always with a thread.
    fn wait(&mut self, left: usize) -> Result<()> {
        while let Some(threads) = self.threads.as_mut().filter(|threads| threads.queue.len() > left) {
            let (number, group) = threads.groups.receive()?;
            threads.put(number, group)?;
            self.advance()?;
        }
        Ok(())
    }
}

impl<'s> Threads<'_, 's> {
    /// Has a thread do what is left of some tasks.
    fn hand_over(&mut self, number: usize, group: Group, scans: &'s [Scan<'s>]) {
        self.groups.hand_over(number, group, |task, workspace| task.run(scans, workspace));
    }

    fn put(&mut self, number: usize, group: Group) -> Result<()> {
        let place = number.checked_sub(self.first).and_then(|at| self.queue.get_mut(at));
        *place.ok_or_else(|| Error::internal("baskets were decoded that are not waited for"))? = Some(group);
        Ok(())
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
                false => self.put(self.unassigned, group)?,
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
