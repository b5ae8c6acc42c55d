//! Commits clusters: seals their rows, writes the baskets and publishes them in the tree.
//!
//! Format page: `docs/format/basket.md`. Source: `TTree::FlushBaskets`, `TBranch::WriteBasketImpl`.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rayon::ThreadPool;

use crate::codec::{Compression, RandomAccess};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::{self, Stop};
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::recycle::{Recycler, Workspace};
use crate::write::basket::seal::{Sealing, cuts, seal};
use crate::write::basket::{PlacedBasket, SealedBasket};
use crate::write::commit::queue::{Origin, SealedCluster};
use crate::write::file::state::{Output, State};
use crate::write::model::layout::BranchLayout;
use crate::write::record::state::{BranchState, TreeState};
use crate::write::tree::waves::{Failure, seal_and_write};

/// Seals and commits the clusters of one tree.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) output: Arc<Output>,
    pub(crate) tree: usize,
    pub(crate) name: Arc<str>,
    parts: Vec<Part>,
    basket_bytes: usize,
    /// Whether many threads fill the tree: then each seals its own clusters.
    is_for_many_threads: bool,
    recycler: Recycler,
}

/// A branch: its layout, the index of the value that it holds (a part of), and how it is compressed.
#[derive(Debug)]
struct Part {
    layout: BranchLayout,
    value: usize,
    compression: Compression,
    random_access: RandomAccess,
}

/// The rows of a cluster, and which of its baskets are on storage.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) pending: Vec<RowBuffer>,
    pub(crate) rows: usize,
    /// Entries of a cluster, if they were measured by its bytes.
    measured: Option<u64>,
    /// Baskets of each branch that are on storage and not yet part of the tree, and their bytes before compression.
    placed: Vec<Vec<(PlacedBasket, u64)>>,
}

/// The outcome of committing a cluster.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is committed; with the result of the save, if one was due.
    Committed(Result<()>),
    /// Writing failed, and nothing of it is left on storage. It can be retried.
    Kept(Error),
    /// It can never be written.
    Dropped(Error),
}

type Written = std::result::Result<(), Failure>;

/// Commits the clusters of a tree that several threads fill: one for each of its writers.
pub(crate) trait CommitPath: std::fmt::Debug + Send + Sync {
    /// Seals a cluster in this thread and commits it.
    fn commit(&self, cluster: &mut Cluster) -> Outcome;

    /// The same for a writer that ends: its cluster is kept with the tree until failed writes of others succeed.
    fn commit_last(&self, cluster: &Cluster) -> Outcome;

    /// Ends the unit, or the writer.
    ///
    /// # Errors
    ///
    /// What writing the units that were queued behind this one reports.
    fn end(&mut self) -> Result<()>;

    /// Drops the clusters of the unit that are not committed.
    fn discard(&self);

    /// The number of its unit.
    fn unit(&self) -> Option<u64>;

    /// Entries per cluster: as another writer of the tree determined them, or `found`.
    fn cluster_rows(&self, found: Option<usize>) -> Option<usize>;
}

/// A basket to seal.
struct Job<'c> {
    branch: usize,
    part: &'c Part,
    pending: &'c RowBuffer,
    rows: Range<usize>,
}

impl Cluster {
    pub(crate) fn new(pending: Vec<RowBuffer>, rows: usize, measured: Option<u64>) -> Self {
        Self { pending, rows, measured, ..Self::default() }
    }
}

impl Committer {
    pub(crate) fn new(output: Arc<Output>, tree: usize, state: &TreeState, basket_bytes: usize) -> Self {
        let part = |(index, branch): (usize, &BranchState)| {
            let value = if matches!(branch.layout, BranchLayout::Found(..)) { index } else { branch.value };
            let random_access = branch.random_access.unwrap_or(output.options.random_access);
            Part { layout: branch.layout.clone(), value, compression: branch.compression, random_access }
        };
        let parts = state.branches.iter().enumerate().map(part).collect();
        let (name, recycler) = (Arc::clone(&state.name), Recycler::default());
        Self { output, tree, name, parts, basket_bytes, is_for_many_threads: false, recycler }
    }

    /// Makes it usable by many threads, each of which seals its own clusters.
    pub(crate) fn for_many_threads(self) -> Self {
        Self { is_for_many_threads: true, ..self }
    }

    /// The pool that seals; none if the caller does. A pool thread must not wait for its own pool.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        self.threads().filter(|_| rayon::current_thread_index().is_none())
    }

    /// The threads of the session; none if many threads fill the tree.
    pub(crate) fn threads(&self) -> Option<&ThreadPool> {
        self.output.options.session.pool().filter(|_| !self.is_for_many_threads)
    }

    /// Whether baskets shrink.
    pub(crate) fn is_compressed(&self) -> bool {
        self.parts.iter().any(|part| part.compression.level > 0)
    }

    /// Bytes of some rows, before and after compression.
    pub(crate) fn sample(&self, pending: &[RowBuffer], rows: Range<usize>) -> Result<(u64, u64)> {
        let alone = |(): &mut (), job: &Job<'_>| {
            self.recycler.with(|work| self.seal_one(job, false, self.recycler.record(), work))
        };
        let sealed = self.output.options.session.map_on(self.threads(), &self.jobs(pending, rows).0, || (), alone);
        let sealed = sealed.map_err(|error| error.in_object(&self.name))?;
        let before = sealed.iter().map(|basket| basket.unsealed_bytes).sum();
        let after = sealed.iter().map(|basket| basket.record.len() as u64).sum();
        self.recycler.give_back(sealed);
        Ok((before, after))
    }

    /// Seals a cluster, writes it and publishes it; then saves, if a save is due. Threads of a pool begin no further
    /// basket once `stop` is set: the cluster is kept then.
    pub(crate) fn commit(&self, cluster: &mut Cluster, on: Option<(&ThreadPool, &Stop)>) -> Outcome {
        let pending = std::mem::take(&mut cluster.pending);
        let work = AssertUnwindSafe(|| self.commit_rows(&pending, cluster, on));
        let outcome = catch_unwind(work).unwrap_or_else(|_| {
            Outcome::Dropped(Error::internal("sealing or writing baskets panicked").in_object(&self.name))
        });
        cluster.pending = pending;
        if !matches!(outcome, Outcome::Committed(_)) {
            self.release_baskets(cluster);
        }
        outcome
    }

    fn commit_rows(&self, pending: &[RowBuffer], cluster: &mut Cluster, on: Option<(&ThreadPool, &Stop)>) -> Outcome {
        let (jobs, most) = self.jobs(pending, 0..cluster.rows);
        cluster.placed.resize_with(self.parts.len(), Vec::new);
        match self.write(on.filter(|_| jobs.len() > 1), &jobs, cluster) {
            Ok(()) => {}
            Err(Failure::Sealing(error)) => {
                let is_cancelled = error.kind() == ErrorKind::Cancelled;
                let error = error.in_object(&self.name);
                return if is_cancelled { Outcome::Kept(error) } else { Outcome::Dropped(error) };
            }
            Err(Failure::Writing(error)) => return Outcome::Kept(error),
        }
        match self.publish(cluster, &most) {
            Ok(saved) => Outcome::Committed(saved),
            Err(error) => Outcome::Kept(error),
        }
    }

    /// The baskets of a cluster, branch by branch, and the largest count or longest string of each branch.
    fn jobs<'c>(&'c self, pending: &'c [RowBuffer], rows: Range<usize>) -> (Vec<Job<'c>>, Vec<u64>) {
        let (mut jobs, mut most) = (Vec::new(), vec![0; self.parts.len()]);
        for (branch, part) in self.parts.iter().enumerate() {
            let Some(pending) = pending.get(part.value).filter(|_| part.layout.has_data()) else { continue };
            let cuts = cuts(&part.layout, pending, &rows, self.basket_bytes);
            most[branch] = cuts.most;
            jobs.extend(cuts.rows.map(|rows| Job { branch, part, pending, rows }));
        }
        (jobs, most)
    }

    /// Seals all of a cluster, in this thread.
    pub(crate) fn seal_cluster(&self, cluster: &Cluster) -> Result<SealedCluster> {
        let (jobs, most) = self.jobs(&cluster.pending, 0..cluster.rows);
        let baskets = self.seal_here(&jobs).map_err(|error| error.in_object(&self.name))?;
        let bytes = baskets.iter().map(|basket| basket.record.len() as u64).sum();
        let of = jobs.iter().map(|job| (job.branch as u32, job.rows.start as u64)).collect();
        Ok(SealedCluster {
            baskets,
            of,
            most,
            rows: cluster.rows as u64,
            measured: cluster.measured,
            bytes,
            origin: Origin::Own,
        })
    }

    /// Takes back the memory of written baskets.
    pub(crate) fn give_back(&self, baskets: Vec<SealedBasket>) {
        self.recycler.give_back(baskets);
    }

    /// Seals baskets and writes them in order, on the threads of a pool, which ask `stop` before each, or in this one.
    fn write(&self, on: Option<(&ThreadPool, &Stop)>, jobs: &[Job<'_>], cluster: &mut Cluster) -> Written {
        let stop = on.map(|(_, stop)| stop);
        let seal = |number: usize| {
            stop.map_or_else(interrupt::check_if_due, Stop::check)?;
            self.recycler.with(|work| self.seal_one(&jobs[number], true, self.recycler.record(), work))
        };
        let write = |first: usize, sealed: Vec<SealedBasket>| {
            self.write_baskets(&jobs[first..first + sealed.len()], sealed, cluster)
        };
        seal_and_write(on.map(|(pool, _)| pool), jobs.len(), seal, write)
    }

    /// Seals baskets in this thread.
    fn seal_here(&self, jobs: &[Job<'_>]) -> Result<Vec<SealedBasket>> {
        self.recycler.with(|work| {
            // With fewer used records than baskets, the rest gets new ones.
            let records = self.recycler.records(jobs.len()).into_iter().chain(std::iter::repeat_with(Vec::new));
            let next = |(job, record)| interrupt::check_if_due().and_then(|()| self.seal_one(job, false, record, work));
            jobs.iter().zip(records).map(next).collect()
        })
    }

    /// Seals a basket into the memory of a record; numbers may stay in the rows if they are written `from_rows`.
    fn seal_one(&self, job: &Job<'_>, from_rows: bool, record: Vec<u8>, work: &mut Workspace) -> Result<SealedBasket> {
        let (tree, datime, basket_bytes) = (&*self.name, self.output.now(), self.basket_bytes);
        let Part { layout, compression, random_access, .. } = job.part;
        let how = Sealing { tree, datime, basket_bytes, random_access: *random_access, from_rows };
        seal(layout, job.pending, &job.rows, *compression, &how, record, work)
    }

    /// Reserves space for baskets and writes them.
    fn write_baskets(&self, jobs: &[Job<'_>], mut sealed: Vec<SealedBasket>, cluster: &mut Cluster) -> Result<()> {
        let state = self.output.lock_state()?;
        let tree = &state.trees[self.tree];
        let (directory, entries) = (state.folder_seek(tree.folder), tree.entries);
        let (mut branch, mut number) = (usize::MAX, 0);
        let numbered = |state: &State, index: usize| {
            if jobs[index].branch != branch {
                branch = jobs[index].branch;
                number = state.trees[self.tree].baskets_of(branch) + cluster.placed[branch].len();
            }
            number += 1;
            number - 1
        };
        let places = self.output.append(
            state,
            directory,
            &mut sealed,
            |index| jobs.get(index).map(|job| job.pending),
            numbered,
        )?;
        for ((job, basket), seek) in jobs.iter().zip(&sealed).zip(places) {
            let placed = &mut cluster.placed[job.branch];
            let (nbytes, first_entry) = (basket.nbytes(), entries + job.rows.start as u64);
            placed.push((PlacedBasket { seek, nbytes, first_entry }, basket.unsealed_bytes));
        }
        self.recycler.give_back(sealed);
        Ok(())
    }

    /// Makes written baskets part of the tree. The inner result is that of the save, if one was due.
    fn publish(&self, cluster: &mut Cluster, most: &[u64]) -> Result<Result<()>> {
        let mut state = self.output.lock_state()?;
        let tree = &mut state.trees[self.tree];
        for ((branch, placed), &most) in tree.branches.iter_mut().zip(cluster.placed.drain(..)).zip(most) {
            branch.most = branch.most.max(most);
            placed.into_iter().for_each(|(basket, unsealed_bytes)| branch.add(basket, unsealed_bytes));
        }
        tree.entries += cluster.rows as u64;
        tree.clusters.push(cluster.rows as u64);
        tree.measured = cluster.measured.or(tree.measured);
        tree.changed = tree.is_whole();
        let (saved_bytes, saved_entries) = tree.saved;
        let is_due = tree.auto_save.is_due(tree.zip_bytes() - saved_bytes, tree.entries - saved_entries);
        Ok(if is_due { self.output.save(&mut self.output.at_rest(state, true)) } else { Ok(()) })
    }

    /// Releases the written baskets of a cluster.
    fn release_baskets(&self, cluster: &mut Cluster) {
        // If the lock is poisoned, the next caller gets that error.
        let Ok(mut state) = self.output.lock_state() else { return };
        for (basket, _) in cluster.placed.drain(..).flatten() {
            self.output.release_as_gap(&mut state, basket.room());
        }
    }
}
