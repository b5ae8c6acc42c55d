//! One tree, filled by many threads.
//!
//! Each thread fills clusters of its own and compresses them. The shared part is short: under the file's lock a cluster
//! gets its space and its position among the others, in time independent of the number of branches. Its keys are
//! patched and it is written outside of the lock.
//!
//! Source: `ROOT::TBufferMerger`, which merges files in memory under one lock; the contexts of `RNTupleParallelWriter`.

pub(crate) mod adopt;
pub(crate) mod group;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::tree::Tree;
use crate::write::commit::ordered_units::OrderedUnits;
use crate::write::commit::queue::ClusterQueue;
use crate::write::commit::semaphore::Semaphore;
use crate::write::model::branch::BranchSpec;
use crate::write::options::TreeOptions;
use crate::write::parallel::adopt::check_alone;
use crate::write::parallel::group::{ContextPath, Group, Member, QUEUE_BYTES};
use crate::write::tree::TreeWriter;
use crate::write::tree::commit::Committer;
use crate::write::writer::FileWriter;

/// A tree that many threads fill.
///
/// Each thread asks for a [`context`](Self::context) of its own. Clusters are in the tree in the order in which they
/// were committed; with [`numbered`](Self::numbered) contexts in the order of the numbers of their units of work, so
/// that the bytes of the file do not depend on the threads.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// # let path = std::env::temp_dir().join("sapwood-parallel.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let tree = file.parallel_tree("t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default())?;
/// std::thread::scope(|scope| {
///     let threads = [0, 1, 2].map(|thread: i32| {
///         let mut context = tree.context();
///         scope.spawn(move || {
///             for event in 0..1000 {
///                 context.extend(&[("x", Values::from(&[1000 * thread + event]))])?;
///             }
///             context.close()
///         })
///     });
///     threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
/// })?;
/// tree.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 3000);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("parallel.root");
/// # use sapwood::column::Number;
/// # use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let tree = file.parallel_tree("t", vec![BranchSpec::number("x", Number::F64)], TreeOptions::default())?;
/// let mut context = tree.context();
/// context.extend(&[("x", Values::from(&[0.5, 1.5]))])?;
/// context.flush()?;
/// assert_eq!((tree.branches().len(), tree.entries()?), (1, 2));
/// assert_eq!(tree.save()?, 2); // readers see so many
/// context.close()?;
/// tree.close()?;
/// file.close()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct ParallelWriter {
    pub(crate) group: Arc<Group>,
}

/// Produces numbered units of work. Created by [`ParallelWriter::numbered`].
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// # let path = std::env::temp_dir().join("sapwood-numbered.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let tree = file.parallel_tree("t", vec![BranchSpec::number("x", Number::U8)], TreeOptions::default())?;
/// let mut context = tree.numbered();
/// for number in [1, 0] {
///     let mut unit = context.unit(number)?;
///     unit.extend(&[("x", Values::from(&[number as u8; 10]))])?;
///     unit.close()?;
/// }
/// drop(context);
/// tree.close()?;
/// file.close()?;
/// let file = sapwood::File::open(&path)?;
/// let x = sapwood::read::columns(&*file.tree("t")?, &[0], 0..20)?;
/// # drop((x, std::fs::remove_file(path)));
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("numbered.root");
/// use std::sync::Arc;
/// use sapwood::column::Number;
/// use sapwood::io::{MemorySink, MemoryStore};
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// # let x = || vec![BranchSpec::number("x", Number::U8)];
/// # let sink = Arc::new(MemorySink::default());
/// # let mut part = FileWriter::to_sink(Arc::clone(&sink), "part.root", WriteOptions::default())?;
/// # let mut tree = part.tree("t", x(), TreeOptions::default())?;
/// # tree.extend(&[("x", Values::from(&[1_u8, 2, 3]))])?;
/// # tree.close()?;
/// # part.close()?;
/// let part = sapwood::File::from_store(Arc::new(MemoryStore::new("part.root", sink.to_bytes())), Default::default())?;
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let tree = file.parallel_tree("t", x(), TreeOptions::default())?;
/// let mut context = tree.numbered();
/// assert_eq!(context.adopt(1, &*part.tree("t")?)?, 3);
/// assert_eq!(context.adopt_only(0, &*part.tree("t")?)?, 3); // leaves other objects of its file
/// drop(context);
/// tree.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 6);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct NumberedContext {
    member: Arc<Member>,
}

impl FileWriter {
    /// Begins a tree that many threads fill, as [`tree`](Self::tree) does for a single thread.
    ///
    /// # Errors
    ///
    /// Those of [`tree`](Self::tree).
    ///
    /// # Example
    ///
    /// See [`ParallelWriter`].
    pub fn parallel_tree(
        &mut self,
        path: &str,
        branches: Vec<BranchSpec>,
        options: TreeOptions,
    ) -> Result<ParallelWriter> {
        let (index, branches) = self.begin_tree(path, branches, &options)?;
        let mut state = self.output.open_state()?;
        let tree = &mut state.trees[index];
        tree.queue = Some(ClusterQueue::new(tree.branches.len()));
        let committer = Committer::new(Arc::clone(&self.output), index, tree, options.basket_bytes).for_many_threads();
        let group = Group {
            committer: Arc::new(committer),
            specs: branches.into(),
            options,
            units: OrderedUnits::new(QUEUE_BYTES),
            sealers: Semaphore::new(),
            writers: AtomicUsize::new(0),
            cluster_rows: OnceLock::new(),
            held: AtomicU64::new(0),
        };
        Ok(ParallelWriter { group: Arc::new(group) })
    }
}

impl ParallelWriter {
    /// A writer for one thread: its clusters are part of the tree as soon as they are committed. Rows that it buffers
    /// are written when it is closed or dropped; [`TreeWriter::discard`] drops them.
    pub fn context(&self) -> TreeWriter {
        let Group { committer, specs, options, .. } = &*self.group;
        TreeWriter::for_many_threads(
            Arc::clone(committer),
            Box::new(ContextPath::new(&self.group, None)),
            Arc::clone(specs),
            options,
        )
    }

    /// A context that produces numbered units of work, which are in the tree in the order of their numbers, from 0 on.
    ///
    /// Open one per thread before any of them begins: a context that is blocked on a number which no open context can
    /// produce gets an error.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("numbered.root");
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.parallel_tree("t", vec![BranchSpec::number("x", Number::F64)], TreeOptions::default())?;
    /// let mut unit = tree.numbered().unit(0)?;
    /// unit.extend(&[("x", Values::from(&[0.5]))])?;
    /// unit.close()?;
    /// # tree.close()?;
    /// # file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn numbered(&self) -> NumberedContext {
        self.group.units.add_context();
        NumberedContext { member: Arc::new(Member { group: Arc::clone(&self.group) }) }
    }

    /// The branches.
    pub fn branches(&self) -> &[BranchSpec] {
        &self.group.specs
    }

    /// Entries that are part of the tree by now: a save shows as many.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the file is closed.
    pub fn entries(&self) -> Result<u64> {
        let state = self.group.output().lock_state()?;
        Ok(state.trees[self.group.committer.tree].entries)
    }

    /// How long all commits together have held the file's lock so far, to get their space and become part of the tree.
    /// Other threads wait at most that long; saves, whose time grows with the number of branches, are not counted.
    #[doc(hidden)]
    pub fn time_under_lock(&self) -> Duration {
        Duration::from_nanos(self.group.held.load(Ordering::Relaxed))
    }

    /// Makes the committed clusters with no uncommitted one before them visible to every reader; from any thread, while
    /// others write. Returns the entries that the tree has then.
    ///
    /// # Errors
    ///
    /// What the sink reports.
    pub fn save(&self) -> Result<u64> {
        self.group.retry_failed()?;
        let mut state = self.group.output().open_state()?;
        self.group.output().save(&mut state)?;
        Ok(state.trees[self.group.committer.tree].entries)
    }

    /// Ends the tree; it is visible to every reader once its file is saved or closed.
    ///
    /// # Errors
    ///
    /// What the sink reports, also for clusters whose writes failed before. [`Mismatch`](crate::ErrorKind::Mismatch) if
    /// contexts are still open: their buffered rows are lost then; and if numbered units were never begun: the units
    /// after them are in the tree nevertheless.
    pub fn close(self) -> Result<()> {
        self.group.close()
    }
}

/// Ends the tree, as [`ParallelWriter::close`] does. Closing the file returns the error, if any.
impl Drop for ParallelWriter {
    fn drop(&mut self) {
        let closed = self.group.close();
        self.group.output().defer_error(closed.err());
    }
}

impl NumberedContext {
    /// Begins a unit of work. It is complete once its writer is closed; if the writer is dropped or
    /// [discarded](TreeWriter::discard), the unit has no entries, except for clusters that were committed before.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) if the number was used before; [`Mismatch`](crate::ErrorKind::Mismatch)
    /// while the last unit of this context is open.
    pub fn unit(&mut self, number: u64) -> Result<TreeWriter> {
        let context = self.begin(number)?;
        let Group { committer, specs, options, .. } = self.group();
        Ok(TreeWriter::for_many_threads(Arc::clone(committer), Box::new(context), Arc::clone(specs), options))
    }

    pub(crate) fn group(&self) -> &Group {
        &self.member.group
    }

    pub(crate) fn begin(&self, number: u64) -> Result<ContextPath> {
        let group = &self.member.group;
        let placed = |error: Error| error.in_object(&group.committer.name);
        if Arc::strong_count(&self.member) > 1 {
            return Err(placed(Error::mismatch("the last unit of this context is still open")));
        }
        group.units.begin(number).map_err(placed)?;
        Ok(ContextPath::new(group, Some((number, Arc::clone(&self.member)))))
    }
}

impl ParallelWriter {
    /// Adds all entries of a finished tree, from a file in memory or anywhere else: its clusters follow those that were
    /// committed before. They are not inflated. Returns the number of entries.
    ///
    /// Nothing else of its file is copied; use [`adopt_only`](Self::adopt_only) if the file holds other objects.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the file holds other objects or trees, naming them: they would be
    /// lost. [`Mismatch`](crate::ErrorKind::Mismatch) naming a branch that is not the same in both trees;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for baskets without a record of their own, as ROOT leaves the
    /// last ones. What the store and the sink report: clusters before the error are in the tree then.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::column::Number;
    /// use sapwood::io::{MemorySink, MemoryStore};
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-adopt.root");
    /// let x = || vec![BranchSpec::number("x", Number::U8)];
    /// // In another process:
    /// let sink = Arc::new(MemorySink::default());
    /// let mut part = FileWriter::to_sink(Arc::clone(&sink), "part.root", WriteOptions::default())?;
    /// let mut tree = part.tree("t", x(), TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[1_u8, 2, 3]))])?;
    /// tree.close()?;
    /// part.close()?;
    /// // In the one that writes:
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.parallel_tree("t", x(), TreeOptions::default())?;
    /// let part = Arc::new(MemoryStore::new("part.root", sink.to_bytes()));
    /// let part = sapwood::File::from_store(part, Default::default())?;
    /// assert_eq!(tree.adopt(&*part.tree("t")?)?, 3);
    /// # tree.close()?;
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn adopt(&self, tree: &Tree) -> Result<u64> {
        check_alone(tree)?;
        self.group.adopt(tree, None)
    }

    /// [`adopt`](Self::adopt) of a tree whose file holds other objects, which are left there.
    ///
    /// # Errors
    ///
    /// Those of [`adopt`](Self::adopt) but for the first.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("adopt-only.root");
    /// use std::sync::Arc;
    /// use sapwood::column::Number;
    /// use sapwood::io::{MemorySink, MemoryStore};
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let x = || vec![BranchSpec::number("x", Number::U8)];
    /// # let sink = Arc::new(MemorySink::default());
    /// # let mut part = FileWriter::to_sink(Arc::clone(&sink), "part.root", WriteOptions::default())?;
    /// # let mut tree = part.tree("t", x(), TreeOptions::default())?;
    /// # tree.extend(&[("x", Values::from(&[1_u8, 2, 3]))])?;
    /// # tree.close()?;
    /// # part.close()?;
    /// let part = Arc::new(MemoryStore::new("part.root", sink.to_bytes()));
    /// let part = sapwood::File::from_store(part, Default::default())?;
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.parallel_tree("t", x(), TreeOptions::default())?;
    /// assert_eq!(tree.adopt_only(&*part.tree("t")?)?, 3);
    /// tree.close()?;
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn adopt_only(&self, tree: &Tree) -> Result<u64> {
        self.group.adopt(tree, None)
    }
}

impl NumberedContext {
    /// [`ParallelWriter::adopt`] as the unit of work with this number.
    ///
    /// # Errors
    ///
    /// Those of [`unit`](Self::unit) and [`ParallelWriter::adopt`]: the unit has no entries then, but for clusters that
    /// were committed before.
    pub fn adopt(&mut self, number: u64, tree: &Tree) -> Result<u64> {
        check_alone(tree)?;
        self.adopt_only(number, tree)
    }

    /// [`adopt`](Self::adopt) of a tree whose file holds other objects, which are left there.
    ///
    /// # Errors
    ///
    /// Those of [`adopt`](Self::adopt), but for the other objects.
    pub fn adopt_only(&mut self, number: u64, tree: &Tree) -> Result<u64> {
        let context = self.begin(number)?;
        let adopted = self.group().adopt(tree, Some(number));
        let ended = context.end_after(adopted.is_err());
        adopted.and_then(|entries| ended.map(|()| entries))
    }
}
