//! Numbered units of work of an RNTuple that many threads fill: their clusters are committed in the order of the
//! numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::Compression;
use crate::error::{Error, Result};
use crate::write::commit::ordered_units::{Drained, Granted, Next, OrderedUnits, Submitted};
use crate::write::file::state::Output;
use crate::write::page::seal::SealedCluster;

/// Bytes of sealed clusters that may wait for earlier units.
const QUEUE_BYTES: u64 = 256 << 20;

/// A sealed cluster, and its rows.
pub(crate) type Waiting = (u64, SealedCluster<'static>);

/// The units of one RNTuple.
#[derive(Debug)]
pub(crate) struct Units {
    pub(crate) output: Arc<Output>,
    /// Number of the RNTuple in its file.
    pub(crate) index: usize,
    compression: Compression,
    auto_save_bytes: u64,
    unsaved: AtomicU64,
    waiting: OrderedUnits<Waiting>,
}

impl Units {
    pub(crate) fn new(output: &Arc<Output>, index: usize, compression: Compression, auto_save_bytes: u64) -> Self {
        let (output, waiting) = (Arc::clone(output), OrderedUnits::new(QUEUE_BYTES));
        Self { output, index, compression, auto_save_bytes, unsaved: AtomicU64::new(0), waiting }
    }

    /// Commits a cluster whose turn it is. Saves happen between clusters, so that the bytes of the file do not depend
    /// on the threads.
    fn place(&self, (rows, cluster): &Waiting) -> Result<Granted<()>> {
        let mut state = self.output.open_state()?;
        self.output.commit_cluster(&mut state, self.index, *rows, cluster, self.compression)?;
        let unsaved = self.unsaved.fetch_add(cluster.stored, Ordering::Relaxed) + cluster.stored;
        // What fails here is committed, and saved with the next cluster or by the file.
        if unsaved >= self.auto_save_bytes && self.output.save(&mut state).is_ok() {
            self.unsaved.store(0, Ordering::Relaxed);
        }
        Ok(Granted::Place(()))
    }

    fn place_all(&self, mut drained: Drained<Waiting, ()>) -> Result<()> {
        while drained.next? == Next::More {
            drained = self.waiting.drain(|cluster| self.place(cluster));
        }
        Ok(())
    }

    /// Commits all units that are there, once no context is open.
    ///
    /// # Errors
    ///
    /// What the sink reports; [`Mismatch`](crate::ErrorKind::Mismatch) for a unit that was never begun: those after it
    /// are in the RNTuple nevertheless.
    pub(crate) fn finish(&self) -> Result<()> {
        let (mut outcome, mut waited) = (Ok(()), usize::MAX);
        loop {
            let placed = self.place_all(self.waiting.drain(|cluster| self.place(cluster)));
            let has_failed = placed.is_err();
            outcome = placed.and(outcome);
            let waiting = self.waiting.waiting();
            if has_failed && waiting >= waited {
                return outcome;
            }
            waited = waiting;
            let Some(missing) = self.waiting.skip_missing() else { return outcome };
            if !missing.is_empty() {
                let words = format!("unit {} was never begun; the units after it are in the RNTuple", missing.start);
                outcome = outcome.and(Err(Error::mismatch(words)));
            }
        }
    }
}

/// A unit of work that is being filled.
#[derive(Debug)]
pub(crate) struct Unit {
    number: u64,
    member: Arc<Member>,
}

impl Unit {
    /// Hands a cluster over; it is committed when those before it are. Returns whether it was taken: rows of one that
    /// was not stay with the writer.
    pub(crate) fn commit(&self, rows: u64, cluster: SealedCluster<'static>) -> (bool, Result<()>) {
        let units = &*self.member.units;
        let bytes = cluster.stored;
        let mut waiting = (rows, cluster);
        loop {
            match units.waiting.submit(self.number, waiting, bytes, |cluster| units.place(cluster)) {
                Submitted::Taken(drained) => return (true, units.place_all(drained)),
                Submitted::Refused(_, error) => return (false, Err(error)),
                Submitted::After(back, drained) => {
                    if let Err(error) = units.place_all(drained) {
                        return (false, Err(error));
                    }
                    waiting = back;
                }
            }
        }
    }

    /// Ends the unit: those after it get their turn.
    pub(crate) fn end(&self) -> Result<()> {
        let units = &*self.member.units;
        units.place_all(units.waiting.end(self.number, |cluster| units.place(cluster)))
    }

    /// Gives up clusters that wait.
    pub(crate) fn discard(&self) {
        self.member.units.waiting.discard(self.number);
    }
}

/// A context that may bring units.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) units: Arc<Units>,
}

impl Member {
    pub(crate) fn new(units: &Arc<Units>) -> Self {
        units.waiting.add_context();
        Self { units: Arc::clone(units) }
    }

    /// Begins the unit of a number.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) if the number was used before.
    pub(crate) fn begin(self: &Arc<Self>, number: u64) -> Result<Unit> {
        self.units.waiting.begin(number)?;
        Ok(Unit { number, member: Arc::clone(self) })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A forked child has none of its parent's threads, which may hold any lock.
        if self.units.output.check_process().is_ok() {
            self.units.waiting.remove_context();
        }
    }
}
