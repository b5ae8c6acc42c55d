//! What some queries of one source need, read step by step, and worked on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::select::{Query, STEP_BYTES};
use super::step::Step;
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
const AHEAD_BYTES: usize = 128 << 20;
const LEAST_AHEAD_BYTES: usize = 4 << 20;

/// What is computed of a part of a step, and waits to be taken.
pub(super) trait Waits: Send {
    /// The memory that it holds.
    fn bytes(&self) -> usize;
}

/// Computes something of a step, and hands it over bit by bit.
pub(super) type Compute<'c, T> = &'c (dyn Fn(&Step<'_>, &mut dyn FnMut(T) -> Result<()>) -> Result<()> + Sync);

type OnProgress<'p> = &'p mut dyn FnMut(Progress) -> Result<()>;

/// Reads what some queries of one source need, step by step: for the entries that pass the cut of any of them. What is
/// computed of the steps is taken in their order, whatever the number of threads.
pub(super) fn each_step<T: Waits>(
    queries: &[&Query],
    entries: &Selection,
    progress: OnProgress<'_>,
    compute: Compute<'_, T>,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    let Some(steps) = Steps::new(queries)? else { return Ok(()) };
    let source = &steps.first.source;
    let entries = &may_pass(queries, entries)?;
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

/// The entries that may pass the cut of any query, by statistics.
fn may_pass(queries: &[&Query], entries: &Selection) -> Result<Selection> {
    let mut all: Option<Selection> = None;
    for query in queries {
        let Some(decided) = query.decided_of(entries)? else { return Ok(entries.clone()) };
        let wanted = decided.wanted()?;
        all = Some(match all {
            None => wanted,
            Some(before) => before.and(&wanted)?,
        });
    }
    Ok(all.unwrap_or_else(|| entries.clone()))
}

/// How the steps of some queries are read.
struct Steps<'q> {
    queries: &'q [&'q Query],
    first: &'q Query,
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
    fn new(queries: &'q [&'q Query]) -> Result<Option<Self>> {
        let Some(&first) = queries.first() else { return Ok(None) };
        if queries.iter().any(|query| !query.source.is(&first.source)) {
            return Err(Error::mismatch("what is drawn together is of one tree"));
        }
        // One place for what is asked for by numbers of columns.
        let (mut of_cuts, mut all) = (Vec::new(), Vec::new());
        for query in queries {
            of_cuts.extend(query.ids_of(query.cut.iter().map(|cut| &cut.bound)));
            all.extend_from_slice(&query.needed);
        }
        // A cut that depends on the loop of the values says nothing by itself.
        let cuts = |query: &&Query| query.cut.as_ref().is_some_and(|cut| !cut.bound.in_loop);
        let is_useful = queries.iter().all(cuts) && all.iter().any(|id| !of_cuts.contains(id));
        let looks = Looks { is_useful, dense: AtomicU32::new(0), without_look: AtomicU32::new(DENSE_STEPS.0) };
        Ok(Some(Self { queries, first, of_cuts, all, looks }))
    }

    /// What is read of a step first.
    fn begin(&self, entries: Selection, progress: OnProgress<'_>) -> Result<(Step<'q>, bool)> {
        let has_look = self.looks.at_next();
        let mut step = Step::new(&self.first.source, entries);
        step.read(if has_look { &self.of_cuts } else { &self.all }, progress)?;
        Ok((step, has_look))
    }

    /// Reads the rest of a step: that of the entries that pass, where it was looked at and few do.
    fn complete(&self, step: &mut Step<'q>, has_look: bool, progress: OnProgress<'_>) -> Result<()> {
        if has_look {
            let mut any = vec![false; step.entries.len() as usize];
            for (query, cut) in self.queries.iter().filter_map(|query| Some((query, query.cut.as_ref()?))) {
                any.iter_mut().zip(query.mask(cut, step)?).for_each(|(any, passes)| *any |= passes);
            }
            let passing = step.passing(&any)?;
            let has_spared = passing.ranges().len() as u64 * SPARSE < step.entries.len();
            self.looks.note(has_spared);
            if has_spared {
                step.narrow(passing)?;
            }
        }
        step.read(&self.all, progress)
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
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread::ThreadId;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::io::{ByteRange, Ends, LocalFile, Profile, Receive, Store};
    use crate::tree::BasketBytes;
    use crate::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions};
    use crate::{File, OpenOptions, Session};

    impl Waits for () {
        fn bytes(&self) -> usize {
            0
        }
    }

    impl Waits for u64 {
        fn bytes(&self) -> usize {
            AHEAD_BYTES
        }
    }

    /// A file that keeps the last offset that was read.
    struct Watched(LocalFile, Arc<AtomicU64>);

    impl Store for Watched {
        fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
            self.0.ends(head_bytes, tail_bytes)
        }

        fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
            let last = ranges.iter().map(|range| range.start).max().unwrap_or(0);
            self.1.fetch_max(last, Ordering::SeqCst);
            self.0.read_ranges(ranges, into)
        }

        fn profile(&self) -> Profile {
            self.0.profile()
        }
    }

    #[test]
    fn the_next_step_is_read_while_one_is_worked_on() {
        const ENTRIES: usize = 5_000_000;
        let path = sapwood_testkit::scratch("ahead.root");
        let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
        let specs = vec![BranchSpec::number("x", crate::column::Number::F64)];
        let options = TreeOptions { auto_flush: Every::Entries(500_000), ..TreeOptions::default() };
        let mut tree = file.tree("t", specs, options).unwrap();
        tree.extend(&[("x", Values::from(&vec![1.0; ENTRIES][..]))]).unwrap();
        tree.close().unwrap();
        file.close().unwrap();
        let last = Arc::new(AtomicU64::new(0));
        let store = Arc::new(Watched(LocalFile::open(&path).unwrap(), Arc::clone(&last)));
        let options = OpenOptions { session: Session::with_threads(2), ..OpenOptions::default() };
        let tree = File::from_store(store, options).unwrap().tree("t").unwrap();
        last.store(0, Ordering::SeqCst);
        let query = Query::new(&tree).value("x").unwrap();
        let steps = AtomicU64::new(0);
        let compute = |step: &Step<'_>, _: &mut dyn FnMut(()) -> Result<()>| {
            steps.fetch_add(1, Ordering::SeqCst);
            let end = step.entries.span().end;
            let next = tree.branches()[0].baskets().iter().find(|basket| basket.entries.start >= end);
            let Some(BasketBytes::Stored { seek, .. }) = next.map(|next| &next.bytes) else { return Ok(()) };
            let start = Instant::now();
            while last.load(Ordering::SeqCst) < *seek {
                assert!(start.elapsed() < Duration::from_secs(60), "the next step waits for this one");
                std::thread::yield_now();
            }
            Ok(())
        };
        let entries = (0..tree.entries).try_into().unwrap();
        each_step(&[&query], &entries, &mut |_| Ok(()), &compute, &mut Ok).unwrap();
        assert!(steps.into_inner() > 1);
    }

    #[test]
    fn steps_of_several_threads_are_taken_in_order_and_the_first_error_counts() {
        let path = sapwood_testkit::scratch("steps.root");
        let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
        let specs = vec![BranchSpec::number("x", crate::column::Number::F64)];
        let options = TreeOptions { auto_flush: Every::Entries(200_000), ..TreeOptions::default() };
        let mut tree = file.tree("t", specs, options).unwrap();
        tree.extend(&[("x", Values::from(&vec![1.0; 2_000_000][..]))]).unwrap();
        tree.close().unwrap();
        file.close().unwrap();
        for threads in [1, 2, 5] {
            let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
            let tree = File::open_with(&path, options).unwrap().tree("t").unwrap();
            let query = Query::new(&tree).value("x").unwrap();
            let entries = (0..tree.entries).try_into().unwrap();
            let names: Mutex<HashSet<ThreadId>> = Mutex::default();
            let compute = |step: &Step<'_>, take: &mut dyn FnMut(u64) -> Result<()>| {
                names.lock().unwrap().insert(std::thread::current().id());
                assert_eq!(step.column(0)?.len as u64, step.entries.len());
                take(step.entries.span().start)
            };
            let mut starts = Vec::new();
            let mut take = |start| {
                starts.push(start);
                Ok(())
            };
            each_step(&[&query], &entries, &mut |_| Ok(()), &compute, &mut take).unwrap();
            assert!(starts.len() > 4 && starts.is_sorted(), "{starts:?}");
            assert_eq!(names.lock().unwrap().len(), threads.min(starts.len()));
            // Steps behind one that fails are not taken, and one that panics hangs nothing.
            let fails = |step: &Step<'_>, take: &mut dyn FnMut(u64) -> Result<()>| match step.entries.span().start {
                start if start >= 1_000_000 => Err(Error::mismatch(format!("no {start}"))),
                start => take(start),
            };
            let mut last = 0;
            let mut take = |start| {
                last = start;
                Ok(())
            };
            let error = each_step(&[&query], &entries, &mut |_| Ok(()), &fails, &mut take).unwrap_err();
            let first = starts.iter().find(|start| **start >= 1_000_000).unwrap();
            assert!(error.message().contains(&format!("no {first}")) && last < *first, "{error}");
            let stops =
                each_step(&[&query], &entries, &mut |_| Ok(()), &compute, &mut |_| Err(Error::mismatch("full")));
            assert_eq!(stops.unwrap_err().message(), "full");
        }
    }

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
