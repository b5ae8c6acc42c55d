//! What some queries of one source need, read step by step, and worked on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::source::Source;
use super::step::{STEP_BYTES, Step};
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::read::{Progress, Selection};
use crate::session;

/// Entries for each run of passing ones from which on few baskets are needed: they hold some thousands.
const SPARSE: u64 = 1_000;
/// Steps without a look at what passes, after one in which it was nearly everywhere: the second number where looks have
/// found nothing else for long.
const DENSE_STEPS: (u32, u32) = (4, 64);

/// Bytes that all threads may have computed ahead of what is taken, and one of them at least.
pub(super) const AHEAD_BYTES: usize = 128 << 20;
const LEAST_AHEAD_BYTES: usize = 4 << 20;

/// What is computed of a part of a step, and waits to be taken.
pub(super) trait Waits: Send {
    /// The memory that it holds.
    fn bytes(&self) -> usize;
}

/// A source that is read step by step.
pub(super) trait Reads: Sync {
    fn source(&self) -> &Source;

    /// Columns of the conditions that select rows; none if all rows are needed, or a condition depends on its loop.
    fn of_cuts(&self) -> Option<Vec<usize>>;

    /// All columns.
    fn all(&self) -> Vec<usize>;

    /// The entries for which anything may be needed, by statistics.
    fn may_pass(&self, entries: &Selection) -> Result<Selection>;

    /// Notes how long a read took.
    fn has_read(&self, _time: Duration) {}

    /// For each row whether it is needed. Columns that are computed for it may be added to the step.
    fn passing(&self, step: &mut Step<'_>) -> Result<Vec<bool>>;
}

/// Computes something of a step, and hands it over bit by bit.
pub(super) type Compute<'c, T> = &'c (dyn Fn(&Step<'_>, &mut dyn FnMut(T) -> Result<()>) -> Result<()> + Sync);

type OnProgress<'p> = &'p mut dyn FnMut(Progress) -> Result<()>;

/// Reads something step by step: for the entries that pass any of its conditions. What is computed of the steps is
/// taken in their order, whatever the number of threads.
pub(super) fn each_step<T: Waits>(
    reads: &dyn Reads,
    entries: &Selection,
    progress: OnProgress<'_>,
    compute: Compute<'_, T>,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    each_step_of(reads, &reads.may_pass(entries)?, progress, compute, take)
}

/// [`each_step`], for entries that statistics have been asked about.
pub(super) fn each_step_of<T: Waits>(
    reads: &dyn Reads,
    entries: &Selection,
    progress: OnProgress<'_>,
    compute: Compute<'_, T>,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    let steps = Steps::new(reads);
    let source = reads.source();
    let _stepping = source.stepping();
    let threads = source.threads();
    if threads > 1 && source.is_near() {
        // Each thread reads, computes and forgets steps that fit its processor's cache.
        let parts = source.steps(&steps.all, entries, STEP_BYTES, true)?;
        if parts.len() > 1 {
            return steps.on_threads(&parts, threads.min(parts.len()), progress, compute, take);
        }
    }
    let parts = source.steps(&steps.all, entries, STEP_BYTES, threads == 1)?;
    steps.one_after_another(parts, threads > 1, progress, compute, take)
}

/// How steps are read.
struct Steps<'q> {
    reads: &'q dyn Reads,
    /// Columns of the cuts, and of everything.
    of_cuts: Vec<usize>,
    all: Vec<usize>,
    looks: Looks,
}

/// When a step is looked at: what its cuts need is read first, to see which baskets of the other columns are needed.
struct Looks {
    is_useful: bool,
    /// Steps that are read whole at once, since those before had something that passes nearly everywhere.
    dense: AtomicU32,
    without_look: AtomicU32,
}

impl Looks {
    /// Whether the next step is looked at.
    fn at_next(&self) -> bool {
        // Several threads may count one step twice: that costs a look, and no result depends on it.
        let left = self.dense.load(Ordering::Relaxed);
        self.dense.store(left.saturating_sub(1), Ordering::Relaxed);
        self.is_useful && left == 0
    }

    /// Notes whether a look spared anything.
    fn note(&self, has_spared: bool) {
        let without_look = self.without_look.load(Ordering::Relaxed);
        if has_spared {
            self.without_look.store(DENSE_STEPS.0, Ordering::Relaxed);
        } else {
            self.dense.store(without_look, Ordering::Relaxed);
            self.without_look.store((2 * without_look).min(DENSE_STEPS.1), Ordering::Relaxed);
        }
    }
}

impl<'q> Steps<'q> {
    fn new(reads: &'q dyn Reads) -> Self {
        let all = reads.all();
        let of_cuts = reads.of_cuts();
        let is_useful = of_cuts.as_ref().is_some_and(|of_cuts| all.iter().any(|id| !of_cuts.contains(id)));
        let looks = Looks { is_useful, dense: AtomicU32::new(0), without_look: AtomicU32::new(DENSE_STEPS.0) };
        Self { reads, of_cuts: of_cuts.unwrap_or_default(), all, looks }
    }

    /// What is read of a step first.
    fn begin(&self, entries: Selection, progress: OnProgress<'_>) -> Result<(Step<'q>, bool)> {
        let has_look = self.looks.at_next();
        let mut step = Step::new(self.reads.source(), entries);
        self.read(&mut step, if has_look { &self.of_cuts } else { &self.all }, progress)?;
        Ok((step, has_look))
    }

    /// Reads the rest of a step: that of the entries that pass, where it was looked at and few do.
    fn complete(&self, step: &mut Step<'q>, has_look: bool, progress: OnProgress<'_>) -> Result<()> {
        if has_look {
            step.looked_at = Some(step.entries.span().start);
            let mask = self.reads.passing(step)?;
            let passing = step.passing(&mask)?;
            let has_spared = passing.ranges().len() as u64 * SPARSE < step.entries.len();
            self.looks.note(has_spared);
            if has_spared {
                step.narrow(passing)?;
            }
        }
        self.read(step, &self.all, progress)
    }

    fn read(&self, step: &mut Step<'q>, ids: &[usize], progress: OnProgress<'_>) -> Result<()> {
        let began = Instant::now();
        let read = step.read(ids, progress);
        self.reads.has_read(began.elapsed());
        read
    }

    /// Where the caller's thread is not the only one, the next step is read while one is worked on.
    fn one_after_another<T>(
        &self,
        parts: Vec<Selection>,
        is_ahead: bool,
        progress: OnProgress<'_>,
        compute: Compute<'_, T>,
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut parts = parts.into_iter();
        let Some(part) = parts.next() else { return Ok(()) };
        let (mut step, mut has_look) = self.begin(part, progress)?;
        loop {
            self.complete(&mut step, has_look, progress)?;
            let Some(part) = parts.next() else { return compute(&step, take) };
            if is_ahead {
                let mut next = None;
                let read = |progress: OnProgress<'_>| {
                    next = Some(self.begin(part, progress)?);
                    Ok(())
                };
                beside(read, || compute(&step, take), progress)?;
                let lost = || Error::internal("a step was not read");
                (step, has_look) = next.ok_or_else(lost)?;
            } else {
                compute(&step, take)?;
                (step, has_look) = self.begin(part, progress)?;
            }
        }
    }

    /// Threads take turns in steps: each reads and computes its own, and the caller takes what they found in order.
    fn on_threads<T: Waits>(
        &self,
        parts: &[Selection],
        threads: usize,
        progress: OnProgress<'_>,
        compute: Compute<'_, T>,
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let stop = Stop::default();
        let rooms: Vec<Room> =
            (0..threads).map(|_| Room::new((AHEAD_BYTES / threads).max(LEAST_AHEAD_BYTES))).collect();
        let work = |room: &Room, first: usize, to: Sender<Result<Found<T>>>| {
            for part in parts.iter().skip(first).step_by(threads) {
                // Nothing receives it any more if an earlier step has failed.
                let hand_over = |found| to.send(Ok(found)).map_err(|_| Error::internal("a step is not taken"));
                let found = || session::alone(|| self.found(part.clone(), compute, room, &hand_over));
                if let Err(error) = stop.heeding(found) {
                    let _ = to.send(Err(error));
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            let mut receivers = Vec::with_capacity(threads);
            for (first, room) in rooms.iter().enumerate() {
                let (to, from) = channel();
                let work = &work;
                let started = std::thread::Builder::new()
                    .name(format!("sapwood-query-{first}"))
                    .spawn_scoped(scope, move || work(room, first, to));
                if let Err(error) = started {
                    stop.set();
                    return Err(Error::system("cannot start a thread that computes", error));
                }
                receivers.push((from, room));
            }
            let taken = take_in_order(&receivers, parts.len(), progress, take);
            if taken.is_err() {
                stop.set();
            }
            // What still sends is not waited for.
            drop(receivers);
            taken
        })
    }

    /// Hands over what is computed of a step by one thread, part by part.
    fn found<T: Waits>(
        &self,
        part: Selection,
        compute: Compute<'_, T>,
        room: &Room,
        hand_over: &dyn Fn(Found<T>) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        let mut progress = |progress| {
            last = Some(progress);
            interrupt::check()
        };
        let (mut step, has_look) = self.begin(part, &mut progress)?;
        self.complete(&mut step, has_look, &mut progress)?;
        compute(&step, &mut |value: T| {
            room.enter(value.bytes())?;
            hand_over(Found::Part(value))
        })?;
        hand_over(Found::End(last))
    }
}

/// What was computed of a step: a part after another, and how far its read was at the end.
enum Found<T> {
    Part(T),
    End(Option<Progress>),
}

/// Bounds the bytes that a thread has computed and that were not taken yet.
struct Room {
    most_bytes: usize,
    used_bytes: Mutex<usize>,
    left: Condvar,
}

impl Room {
    fn new(most_bytes: usize) -> Self {
        Self { most_bytes, used_bytes: Mutex::default(), left: Condvar::new() }
    }

    /// Waits until so many bytes have room. A part that is larger than all enters alone.
    fn enter(&self, bytes: usize) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(20);
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && used.saturating_add(bytes) > self.most_bytes {
            interrupt::check()?;
            used = self.left.wait_timeout(used, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *used = used.saturating_add(bytes);
        Ok(())
    }

    fn leave(&self, bytes: usize) {
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(bytes);
        self.left.notify_one();
    }
}

/// Takes what was computed of so many steps, which threads found in turns.
fn take_in_order<T: Waits>(
    receivers: &[(Receiver<Result<Found<T>>>, &Room)],
    steps: usize,
    progress: OnProgress<'_>,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    for step in 0..steps {
        let receiver = receivers.get(step % receivers.len().max(1));
        let (from, room) = receiver.ok_or_else(|| Error::internal("a step has no thread"))?;
        loop {
            let found = interrupt::receive(from)?;
            match found.ok_or_else(|| Error::internal("a thread that computes has failed"))?? {
                Found::Part(value) => {
                    let bytes = value.bytes();
                    take(value)?;
                    room.leave(bytes);
                }
                Found::End(at) => {
                    at.map_or(Ok(()), &mut *progress)?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Reads in a thread of its own while something else is done. What is done says first what went wrong, and ends the
/// read.
fn beside(
    read: impl FnOnce(&mut dyn FnMut(Progress) -> Result<()>) -> Result<()> + Send,
    work: impl FnOnce() -> Result<()>,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<()> {
    let stop = Stop::default();
    let (worked, read) = std::thread::scope(|scope| {
        let (to, from) = channel();
        let reading = || {
            // Dropped at the end, whatever it is.
            let _to: Sender<()> = to;
            let mut last = None;
            let read = || {
                read(&mut |progress| {
                    last = Some(progress);
                    interrupt::check()
                })
            };
            stop.heeding(read).map(|()| last)
        };
        let reading = match std::thread::Builder::new().spawn_scoped(scope, reading) {
            Ok(reading) => reading,
            Err(error) => return (Ok(()), Err(Error::system("cannot start a thread that reads", error))),
        };
        let worked = work().and_then(|()| interrupt::receive(&from).map(drop));
        if worked.is_err() {
            stop.set();
        }
        (worked, reading.join().unwrap_or_else(|_| Err(Error::internal("a thread that reads has failed"))))
    });
    worked?;
    // The caller's thread hears of it: it may have been told to stop.
    read?.map_or(Ok(()), progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_in_the_work_ends_the_read() {
        let mut reads = 0;
        let read = |progress: &mut dyn FnMut(Progress) -> Result<()>| loop {
            reads += 1;
            progress(Progress { done_bytes: reads, total_bytes: 1 })?;
        };
        let error = beside(read, || Err(Error::mismatch("no")), &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.message(), "no");
        assert!(reads > 0);
    }
}
