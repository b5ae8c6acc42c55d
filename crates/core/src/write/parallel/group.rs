//! The state shared by threads that fill one tree: clusters get their space and position under the file's lock, and are
//! written outside of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::tree::Tree;
use crate::write::commit::ordered_units::{Drained, Granted, Next, OrderedUnits, Submitted};
use crate::write::commit::queue::{ClusterQueue, Origin, Reservation, SealedCluster};
use crate::write::commit::semaphore::Semaphore;
use crate::write::file::compatible::same_rules;
use crate::write::file::state::{Output, State};
use crate::write::model::branch::BranchSpec;
use crate::write::options::TreeOptions;
use crate::write::parallel::adopt::Finished;
use crate::write::tree::commit::{Cluster, CommitPath, Committer, Outcome};
use crate::write::writer::update::check_closed;

/// Bytes of sealed clusters that may be queued for earlier units.
pub(crate) const QUEUE_BYTES: u64 = 256 << 20;

/// The state shared by the writers of a tree.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) committer: Arc<Committer>,
    pub(crate) specs: Arc<[BranchSpec]>,
    pub(crate) options: TreeOptions,
    pub(crate) units: OrderedUnits<SealedCluster>,
    /// Limits the threads that seal at the same time.
    pub(crate) sealers: Semaphore,
    /// Writers that are open.
    pub(crate) writers: AtomicUsize,
    /// Entries of a cluster, once a writer has determined them.
    pub(crate) cluster_rows: OnceLock<usize>,
    /// Nanoseconds in which commits held the file's lock.
    pub(crate) held: AtomicU64,
}

/// Adds the time until it is dropped, for which a commit holds the file's lock.
struct LockTimer<'g>(&'g AtomicU64, Instant);

/// A context that may produce numbered units.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) group: Arc<Group>,
}

/// Commits the clusters of one writer.
#[derive(Debug)]
pub(crate) struct ContextPath {
    group: Arc<Group>,
    unit: Option<(u64, Arc<Member>)>,
    has_ended: bool,
}

impl Drop for Member {
    fn drop(&mut self) {
        // A forked child has none of its parent's threads, which may hold any lock.
        if self.group.output().check_process().is_ok() {
            self.group.units.remove_context();
        }
    }
}

impl<'g> LockTimer<'g> {
    fn new(sum: &'g AtomicU64) -> Self {
        Self(sum, Instant::now())
    }
}

impl Drop for LockTimer<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(self.1.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Group {
    pub(crate) fn output(&self) -> &Arc<Output> {
        &self.committer.output
    }

    /// Commits all clusters of a finished tree.
    pub(crate) fn adopt(&self, tree: &Tree, unit: Option<u64>) -> Result<u64> {
        check_closed(tree.file())?;
        let output = self.output();
        let mut finished = {
            let mut state = output.open_state()?;
            same_rules(tree.file(), &state)?;
            let mut finished = Finished::new(tree, &state.trees[self.committer.tree], unit.is_none())?;
            finished.process_ids = output.process_ids(&mut state, tree.file())?;
            let (infos, rules) = tree.file().infos_and_rules()?;
            state.learn(infos, rules);
            finished
        };
        let mut outcome = Ok(());
        while let Some(cluster) = finished.next()? {
            self.retry_failed()?;
            match self.commit(unit, cluster) {
                // A cluster whose write failed keeps its position and is retried later: continue with the others.
                Outcome::Committed(written) => outcome = outcome.and(written),
                Outcome::Kept(error) | Outcome::Dropped(error) => return Err(error),
            }
        }
        outcome.map(|()| tree.entries)
    }

    /// Reserves a position for a sealed cluster, and writes it.
    fn commit(&self, unit: Option<u64>, mut sealed: SealedCluster) -> Outcome {
        let Some(unit) = unit else {
            return match self.reserve(&sealed) {
                Ok(reservation) => Outcome::Committed(self.write(reservation, sealed, true)),
                Err(error) if matches!(sealed.origin, Origin::Own) => match self.park(sealed) {
                    Ok(()) => Outcome::Committed(Err(error)),
                    Err(closed) => Outcome::Dropped(closed),
                },
                Err(error) => Outcome::Kept(error),
            };
        };
        let bytes = sealed.bytes;
        loop {
            match self.units.submit(unit, sealed, bytes, |cluster| self.reserve_in_order(cluster)) {
                Submitted::Taken(drained) => return Outcome::Committed(self.write_all(drained)),
                Submitted::Refused(_, error) => return Outcome::Kept(error.in_object(&self.committer.name)),
                Submitted::After(back, drained) => {
                    if let Err(error) = self.write_all(drained) {
                        return Outcome::Kept(error);
                    }
                    sealed = back;
                }
            }
        }
    }

    /// Keeps a sealed cluster without a position for [`retry_failed`](Self::retry_failed): its writer may end before
    /// there is space again.
    fn park(&self, cluster: SealedCluster) -> Result<()> {
        let mut state = self.output().lock_state()?;
        self.queue(&mut state)?.parked.push_front(cluster);
        Ok(())
    }

    /// Reserves space and a position for a cluster.
    fn reserve(&self, cluster: &SealedCluster) -> Result<Reservation> {
        let output = self.output();
        let mut state = output.lock_state()?;
        while state.holds > 0 {
            state = output.commit_done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let _held = LockTimer::new(&self.held);
        let entries = self.queue(&mut state)?.reserved.1.checked_add(cluster.rows);
        if entries.is_none_or(|entries| entries > i64::MAX as u64) {
            let error = Error::limit("the tree has too many entries", i64::MAX as u64, cluster.rows);
            return Err(output.in_file(error.in_object(&self.committer.name)));
        }
        output.mark_deferred_gaps()?;
        let room = state.free_list.allocate_at_end(cluster.bytes);
        let room = room..room + cluster.bytes;
        // A record walk stops at space that is neither a record nor a gap.
        if let Err(error) = output.mark_gap(&room) {
            output.release_as_gap(&mut state, room);
            return Err(error);
        }
        let directory = state.folder_seek(state.trees[self.committer.tree].folder);
        let reservation = self.queue(&mut state)?.reserve(cluster, room, directory);
        state.writing += 1;
        Ok(reservation)
    }

    fn queue<'s>(&self, state: &'s mut State) -> Result<&'s mut ClusterQueue> {
        let queue = state.trees[self.committer.tree].queue.as_mut();
        queue
            .ok_or_else(|| self.output().in_file(Error::mismatch("the tree is closed").in_object(&self.committer.name)))
    }

    /// Whether enough was reserved since the last save that another is due.
    fn is_save_due(&self, state: &mut State) -> Result<bool> {
        let (bytes, entries) = self.queue(state)?.reserved;
        let tree = &state.trees[self.committer.tree];
        Ok(tree.auto_save.is_due(bytes.saturating_sub(tree.saved.0), entries.saturating_sub(tree.saved.1)))
    }

    /// [`reserve`](Self::reserve) for a numbered unit: saves happen only between clusters, so that records always get
    /// the same offsets.
    fn reserve_in_order(&self, cluster: &SealedCluster) -> Result<Granted<Reservation>> {
        let is_due = self.is_save_due(&mut *self.output().lock_state()?)?;
        if is_due { Ok(Granted::SaveFirst) } else { self.reserve(cluster).map(Granted::Place) }
    }

    /// Writes a cluster that has its position, and makes it part of the tree; then saves, if a save is due and
    /// `may_save`. A failed write is kept for [`retry_failed`](Self::retry_failed).
    fn write(&self, reservation: Reservation, mut cluster: SealedCluster, may_save: bool) -> Result<()> {
        let output = self.output();
        let addressed = reservation.patch_locations(&mut cluster);
        let fill = || {
            let (start, records) = (reservation.room.start, cluster.baskets.iter().map(|b| b.record.as_slice()));
            match &cluster.origin {
                Origin::Stored(file, rooms) => output.carry_to(start, file, rooms, records),
                Origin::Own | Origin::Other => output.fill_gap(start, &records.collect::<Vec<_>>()),
            }
        };
        // A panic must not block other threads forever.
        let died = |_| Err(output.in_file(Error::internal("writing baskets panicked")));
        let filled = if addressed.is_ok() { catch_unwind(AssertUnwindSafe(fill)).unwrap_or_else(died) } else { Ok(()) };
        // A cluster kept for a retry must not depend on its source file.
        let fetch = || cluster.fetch();
        let lost = match filled {
            Ok(()) => addressed,
            Err(_) => catch_unwind(AssertUnwindSafe(fetch)).unwrap_or_else(died),
        };
        let written = filled.map(|()| reservation.written(&mut cluster));
        let mut state = output.lock_state()?;
        let held = LockTimer::new(&self.held);
        state.writing -= 1;
        output.commit_done.notify_all();
        let queue = self.queue(&mut state)?;
        match written {
            _ if lost.is_err() => queue.mark_void(reservation.slot),
            Ok(written) => queue.mark_written(&reservation, written),
            Err(error) => {
                queue.mark_failed(reservation, cluster);
                return Err(error);
            }
        }
        state.trees[self.committer.tree].advance();
        if let Err(error) = lost {
            // It can never be written: its space stays a gap.
            state.free_list.release(reservation.room);
            drop((held, state));
            let error = output.in_file(error.in_object(&self.committer.name));
            if let Origin::Own = cluster.origin {
                // The caller may be a context that is dropped: closing the file reports it, too.
                output.defer_error(Some(error.clone()));
            }
            return Err(error);
        }
        let is_due = may_save && self.is_save_due(&mut state)?;
        drop((held, state));
        if let Origin::Own = cluster.origin {
            self.committer.give_back(cluster.baskets);
        }
        if is_due { self.save_if_due() } else { Ok(()) }
    }

    /// Retries the clusters whose writes failed, and those that got no space.
    pub(crate) fn retry_failed(&self) -> Result<()> {
        loop {
            let mut state = self.output().lock_state()?;
            let queue = self.queue(&mut state)?;
            if let Some((reservation, cluster)) = queue.take_failed() {
                state.writing += 1;
                drop(state);
                self.write(reservation, cluster, false)?;
            } else if let Some(cluster) = queue.parked.pop_back() {
                drop(state);
                match self.reserve(&cluster) {
                    Ok(reservation) => self.write(reservation, cluster, false)?,
                    Err(error) => return self.park_again(cluster).and(Err(error)),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Puts a parked cluster back: it is the next to be retried.
    fn park_again(&self, cluster: SealedCluster) -> Result<()> {
        let mut state = self.output().lock_state()?;
        self.queue(&mut state)?.parked.push_back(cluster);
        Ok(())
    }

    /// Writes the cluster that got its position, and those that get theirs after it.
    fn write_all(&self, mut drained: Drained<SealedCluster, Reservation>) -> Result<()> {
        let mut outcome = Ok(());
        loop {
            if let Some((cluster, reservation)) = drained.placed {
                outcome = outcome.and(self.write(reservation, cluster, false));
            }
            drained = match drained.next? {
                Next::Nothing => return outcome,
                Next::More => self.units.drain(|cluster| self.reserve_in_order(cluster)),
                Next::AfterSave => {
                    outcome?;
                    self.retry_failed()?;
                    self.save_if_due()?;
                    outcome = Ok(());
                    // Do not ask for a second save before the same cluster, whatever the first one did.
                    self.units.drain(|cluster| self.reserve(cluster).map(Granted::Place))
                }
            };
        }
    }

    /// Saves once everything with reserved space is written, unless another thread has saved meanwhile.
    fn save_if_due(&self) -> Result<()> {
        let mut state = self.output().open_state()?;
        if self.is_save_due(&mut state)? { self.output().save(&mut state) } else { Ok(()) }
    }

    pub(crate) fn close(&self) -> Result<()> {
        let output = self.output();
        let index = self.committer.tree;
        if output.lock_state()?.trees[index].queue.is_none() {
            return Ok(());
        }
        let mut outcome = self.commit_rest().and(self.retry_failed());
        let mut state = output.open_state()?;
        let tree = &mut state.trees[index];
        let Some(queue) = &mut tree.queue else { return outcome };
        let parked: u64 = queue.parked.drain(..).map(|cluster| cluster.rows).sum();
        if parked > 0 && outcome.is_ok() {
            // They came while the tree was closed.
            let error = Error::mismatch("the tree was closed while one of its contexts ended: rows are lost");
            outcome = Err(output.in_file(error.wanted(0, parked).in_object(&self.committer.name)));
        }
        let lost = queue.abandon_failed();
        tree.advance();
        outcome = outcome.and(tree.update_branches());
        tree.queue = None;
        tree.changed = true;
        tree.is_open = false;
        lost.into_iter().for_each(|room| output.release_as_gap(&mut state, room));
        let open = self.writers.load(Ordering::Relaxed);
        if open > 0 {
            let words = format!("the tree was closed before {open} of its contexts: rows that they hold are lost");
            outcome = outcome.and(Err(output.in_file(Error::mismatch(words).in_object(&self.committer.name))));
        }
        outcome
    }

    /// Writes the units that are queued behind units that were never begun.
    fn commit_rest(&self) -> Result<()> {
        let mut outcome = Ok(());
        let mut waited = usize::MAX;
        loop {
            let written = self.write_all(self.units.drain(|cluster| self.reserve_in_order(cluster)));
            outcome = written.and(outcome);
            let waiting = self.units.waiting();
            if outcome.is_err() && waiting >= waited {
                return outcome;
            }
            waited = waiting;
            let Some(missing) = self.units.skip_missing() else { return outcome };
            if !missing.is_empty() {
                let words = format!("unit {} was never begun; the units after it are in the tree", missing.start);
                outcome = outcome.and(Err(Error::mismatch(words).in_object(&self.committer.name)));
            }
        }
    }
}

impl ContextPath {
    pub(crate) fn new(group: &Arc<Group>, unit: Option<(u64, Arc<Member>)>) -> Self {
        group.writers.fetch_add(1, Ordering::Relaxed);
        Self { group: Arc::clone(group), unit, has_ended: false }
    }

    /// Ends the unit; drops its queued clusters if `failed`.
    pub(crate) fn end_after(mut self, failed: bool) -> Result<()> {
        if failed {
            self.discard();
        }
        self.end()
    }
}

impl CommitPath for ContextPath {
    fn commit(&self, cluster: &mut Cluster) -> Outcome {
        let group = &*self.group;
        // Retry the failed clusters of others first, so that little is queued behind them.
        if let Err(error) = group.retry_failed() {
            return Outcome::Kept(error);
        }
        self.commit_last(cluster)
    }

    fn commit_last(&self, cluster: &Cluster) -> Outcome {
        let group = &*self.group;
        match group.sealers.pass(|| group.committer.seal_cluster(cluster)) {
            Ok(sealed) => group.commit(self.unit(), sealed),
            Err(error) => Outcome::Dropped(error),
        }
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let group = &*self.group;
        group.writers.fetch_sub(1, Ordering::Relaxed);
        let Some((unit, _member)) = self.unit.take() else { return Ok(()) };
        group.write_all(group.units.end(unit, |cluster| group.reserve_in_order(cluster)))
    }

    fn discard(&self) {
        if let Some((unit, _)) = &self.unit {
            self.group.units.discard(*unit);
        }
    }

    fn unit(&self) -> Option<u64> {
        self.unit.as_ref().map(|(unit, _)| *unit)
    }

    fn cluster_rows(&self, found: Option<usize>) -> Option<usize> {
        if self.unit.is_some() {
            return None;
        }
        match found {
            Some(rows) => Some(*self.group.cluster_rows.get_or_init(|| rows)),
            None => self.group.cluster_rows.get().copied(),
        }
    }
}
