//! Queries of one source, which are read together.

use super::select::Query;
use super::source::Source;
use super::step::Step;
use super::steps::Reads;
use crate::error::{Error, Result};
use crate::read::Selection;

/// Some queries of one source.
pub(super) struct Queries<'q>(&'q [&'q Query], &'q Query);

impl<'q> Queries<'q> {
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for queries of several sources, and for none.
    pub(super) fn new(queries: &'q [&'q Query]) -> Result<Self> {
        let Some(&first) = queries.first() else { return Err(Error::mismatch("nothing is drawn")) };
        if queries.iter().any(|query| !query.source.is(&first.source)) {
            return Err(Error::mismatch("what is drawn together is of one tree"));
        }
        Ok(Self(queries, first))
    }
}

impl Reads for Queries<'_> {
    fn source(&self) -> &Source {
        &self.1.source
    }

    fn of_cuts(&self) -> Option<Vec<usize>> {
        // A cut that depends on the loop of the values says nothing by itself.
        let cuts = |query: &&Query| query.cut.as_ref().is_some_and(|cut| !cut.bound.in_loop);
        let of_cut = |query: &&Query| query.ids_of(query.cut.iter().map(|cut| &cut.bound));
        self.0.iter().all(cuts).then(|| self.0.iter().flat_map(of_cut).collect())
    }

    fn all(&self) -> Vec<usize> {
        self.0.iter().flat_map(|query| query.needed.iter().copied()).collect()
    }

    fn may_pass(&self, entries: &Selection) -> Result<Selection> {
        let mut all: Option<Selection> = None;
        for query in self.0 {
            let Some(decided) = query.decided_of(entries)? else { return Ok(entries.clone()) };
            let wanted = decided.wanted()?;
            all = Some(match all {
                None => wanted,
                Some(before) => before.and(&wanted)?,
            });
        }
        Ok(all.unwrap_or_else(|| entries.clone()))
    }

    fn passing(&self, step: &mut Step<'_>) -> Result<Vec<bool>> {
        let mut any = vec![false; step.entries.len() as usize];
        for (query, cut) in self.0.iter().filter_map(|query| Some((query, query.cut.as_ref()?))) {
            any.iter_mut().zip(query.mask(cut, step)?).for_each(|(any, passes)| *any |= passes);
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread::ThreadId;
    use std::time::{Duration, Instant};

    use super::super::steps::{AHEAD_BYTES, Waits, each_step};
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
        each_step(&Queries::new(&[&query]).unwrap(), &entries, &mut |_| Ok(()), &compute, &mut Ok).unwrap();
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
            each_step(&Queries::new(&[&query]).unwrap(), &entries, &mut |_| Ok(()), &compute, &mut take).unwrap();
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
            let error =
                each_step(&Queries::new(&[&query]).unwrap(), &entries, &mut |_| Ok(()), &fails, &mut take).unwrap_err();
            let first = starts.iter().find(|start| **start >= 1_000_000).unwrap();
            assert!(error.message().contains(&format!("no {first}")) && last < *first, "{error}");
            let stops = each_step(&Queries::new(&[&query]).unwrap(), &entries, &mut |_| Ok(()), &compute, &mut |_| {
                Err(Error::mismatch("full"))
            });
            assert_eq!(stops.unwrap_err().message(), "full");
        }
    }
}
