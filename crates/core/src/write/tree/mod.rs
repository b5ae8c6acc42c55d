//! The tree being written: rows are buffered until their cluster is full; clusters are sealed, written and published.

pub(crate) mod close;
pub(crate) mod commit;
pub(crate) mod in_flight;
pub(crate) mod push;
pub(crate) mod waves;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};

use crate::error::{Error, ErrorKind, Result};
use crate::write::basket::buffer::RowBuffer;
use crate::write::clustering::{Clustering, Next, Waiting};
use crate::write::file::state::Output;
use crate::write::model::arrow;
use crate::write::model::branch::{BranchKind, BranchSpec, most_items};
use crate::write::model::values::Values;
use crate::write::options::TreeOptions;
use crate::write::record::state::{Base, TreeState};
use crate::write::tree::commit::{Cluster, CommitPath, Committer};
use crate::write::tree::in_flight::InFlight;

/// Takes rows of a tree.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// let path = std::env::temp_dir().join("sapwood-tree-writer.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default())?;
/// tree.extend(&[("x", Values::from(&[1, 2, 3]))])?;
/// assert_eq!(tree.taken(), 3);
/// tree.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 3);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("tree-writer.root");
/// # use sapwood::column::Number;
/// # use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::F64)], TreeOptions::default())?;
/// assert_eq!(tree.branches()[0].title(), "x/D");
/// tree.extend(&[("x", Values::from(&[0.5, 1.5]))])?;
/// tree.flush()?; // a cluster of its own
/// tree.discard()?; // or no tree at all
/// file.close()?;
/// assert!(sapwood::File::open(&path)?.tree("t").is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeWriter {
    committer: Arc<Committer>,
    specs: Arc<[BranchSpec]>,
    clustering: Clustering,
    /// Buffered rows of the current cluster.
    pub(crate) pending: Vec<RowBuffer>,
    pub(crate) rows: usize,
    /// Rows taken since the beginning.
    taken: u64,
    /// Buffers to reuse for the next cluster, with the rows of the previous one.
    next: Vec<RowBuffer>,
    /// Whether room was made for the rest of this cluster.
    has_room: bool,
    /// The previous cluster.
    flight: InFlight,
    /// Entries still missing, if branches are added to a tree.
    left: Option<u64>,
    /// Commits its clusters, if many threads fill the tree.
    commit_path: Option<Box<dyn CommitPath>>,
}

/// Bytes of rows that are taken at a time.
const STEP_BYTES: usize = 8 << 20;

/// The buffered rows of all branches.
struct Rows<'a>(&'a TreeWriter);

impl Waiting for Rows<'_> {
    fn before(&self) -> u64 {
        self.0.taken.saturating_sub(self.0.rows as u64)
    }

    fn rows(&self) -> usize {
        self.0.rows
    }

    fn bytes(&self, rows: usize) -> usize {
        self.0.waiting_bytes(rows)
    }
}

impl TreeWriter {
    pub(crate) fn new(
        output: Arc<Output>,
        index: usize,
        state: &TreeState,
        specs: Vec<BranchSpec>,
        options: TreeOptions,
    ) -> Self {
        let clustering = Clustering::new(options.auto_flush, options.cluster_bytes);
        let clustering = match &state.base {
            Some(Base { borders: Some(borders), .. }) => clustering.along(Arc::clone(borders)),
            _ => clustering,
        };
        let committer = Arc::new(Committer::new(output, index, state, options.basket_bytes));
        let left = state.base.as_ref().filter(|base| base.baskets.is_none()).map(|base| base.entries);
        Self::with(committer, specs.into(), clustering, left, None)
    }

    /// A writer for one of many threads that fill a tree.
    pub(crate) fn for_many_threads(
        committer: Arc<Committer>,
        commit_path: Box<dyn CommitPath>,
        specs: Arc<[BranchSpec]>,
        options: &TreeOptions,
    ) -> Self {
        let clustering = Clustering::new(options.auto_flush, options.cluster_bytes);
        Self::with(committer, specs, clustering, None, Some(commit_path))
    }

    fn with(
        committer: Arc<Committer>,
        specs: Arc<[BranchSpec]>,
        clustering: Clustering,
        left: Option<u64>,
        commit_path: Option<Box<dyn CommitPath>>,
    ) -> Self {
        let pending = specs.iter().map(RowBuffer::of).collect();
        let (rows, taken, next, has_room, flight) = (0, 0, Vec::new(), false, InFlight::None);
        Self { committer, specs, clustering, pending, rows, taken, next, has_room, flight, left, commit_path }
    }

    /// The branches.
    pub fn branches(&self) -> &[BranchSpec] {
        &self.specs
    }

    /// Rows taken so far, buffered ones included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Adds rows: values for every branch by name, without the counters. Rows are buffered until their cluster is full;
    /// with more than one thread it is committed while the next one is filled, so that a storage error may be returned
    /// by a later call.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if branches are missing, unknown or of another kind, if lengths differ,
    /// and in a forked child: then no row was added. What the sink reports, of this cluster or the previous one: then
    /// all rows were added, and are buffered.
    pub fn extend(&mut self, values: &[(&str, Values<'_>)]) -> Result<()> {
        self.extend_with(values, Self::write_full)
    }

    /// The same for bindings, whose values may only be looked at while their language stands still: `write` is called
    /// when none are looked at, and calls [`write_full`](Self::write_full).
    #[doc(hidden)]
    pub fn extend_with<E: From<Error>>(
        &mut self,
        values: &[(&str, Values<'_>)],
        mut write: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.committer.output.check_process()?;
        let (order, rows) = self.sources(values).map_err(|error| error.in_object(&self.committer.name))?;
        if self.left.is_some_and(|left| (self.rows + rows) as u64 > left) {
            return Err(self.too_many(rows).into());
        }
        let bytes: usize = order.iter().map(|source| source.bytes()).sum();
        // Buffer no more rows at a time than a cluster needs.
        let step = (rows as u128 * STEP_BYTES as u128 / bytes.max(1) as u128).clamp(1, rows.max(1) as u128) as usize;
        let (mut outcome, mut start) = (Ok(()), 0);
        while start < rows {
            // Rows behind the end of a cluster would have to be moved to the next.
            let most = self.clustering.rows_left(&Rows(self)).map_or(step, |left| left.min(step));
            let part = start..rows.min(start + most);
            start = part.end;
            for ((spec, pending), source) in self.specs.iter().zip(&mut self.pending).zip(&order) {
                let appended = match source {
                    Source::Given(values) => pending.append(spec, values, &part),
                    Source::Lengths(ends) => {
                        pending.append_lengths(ends, &part, spec.width());
                        Ok(())
                    }
                };
                if let Err(error) = appended {
                    let (specs, rows) = (&self.specs, self.rows);
                    self.pending.iter_mut().zip(specs.iter()).for_each(|(pending, spec)| pending.truncate(spec, rows));
                    return Err(error.in_object(&self.committer.name).into());
                }
            }
            self.rows += part.len();
            self.taken += part.len() as u64;
            // All rows are buffered, even if storage fails.
            if outcome.is_ok() {
                outcome = write(self);
            }
        }
        outcome
    }

    /// Adds the rows of an Arrow record batch: a column for every branch by name, without the counters. Columns of
    /// lists fill vectors and counted lists, fixed-size lists fill arrays. [`BranchSpec::from_arrow`] makes branches
    /// from the fields of a schema.
    ///
    /// # Errors
    ///
    /// Those of [`extend`](Self::extend); [`Mismatch`](crate::ErrorKind::Mismatch) for nulls, which branches do not
    /// have; [`Unsupported`](crate::ErrorKind::Unsupported) for columns of types that no branch holds.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("extend-batch.root");
    /// use std::sync::Arc;
    /// use arrow_array::{Float64Array, RecordBatch, StringArray};
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, WriteOptions};
    /// let weights = Float64Array::from(vec![0.5, 1.5]);
    /// let names = StringArray::from(vec!["mu", "e"]);
    /// let columns = [("weight", Arc::new(weights) as _), ("name", Arc::new(names) as _)];
    /// let batch = RecordBatch::try_from_iter(columns)?;
    ///
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let schema = batch.schema();
    /// let specs = schema.fields().iter().map(|field| BranchSpec::from_arrow(field)).collect::<Result<_, _>>()?;
    /// let mut tree = file.tree("events", specs, TreeOptions::default())?;
    /// tree.extend_batch(&batch)?;
    /// tree.close()?;
    /// file.close()?;
    ///
    /// let tree = sapwood::File::open(&path)?.tree("events")?;
    /// let read = tree.scan(&["weight", "name"])?.next().expect("a step")?.to_arrow()?;
    /// assert_eq!(read.column(0), batch.column(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema_ref();
        let mut values = Vec::with_capacity(batch.num_columns());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let in_tree = |error: Error| error.in_object(field.name()).in_object(&self.committer.name);
            self.check_array(field)
                .and_then(|()| arrow::values(column))
                .map(|given| values.push((field.name().as_str(), given)))
                .map_err(in_tree)?;
        }
        self.extend(&values)
    }

    /// Compares the fixed-size lists of a field with the extents of its branch: values tell only their number.
    fn check_array(&self, field: &Field) -> Result<()> {
        let (mut kind, mut extents) = (field.data_type(), Vec::new());
        while let DataType::List(items) | DataType::LargeList(items) = kind {
            kind = items.data_type();
        }
        while let DataType::FixedSizeList(items, length) = kind {
            extents.push(*length as u32);
            kind = items.data_type();
        }
        match self.specs.iter().find(|spec| *spec.name == **field.name()) {
            Some(spec) if spec.dimensions != extents => {
                let words =
                    format!("the branch holds arrays of extents {:?}, and was given {extents:?}", spec.dimensions);
                Err(Error::mismatch(words))
            }
            _ => Ok(()),
        }
    }

    /// The error for more rows than the added branches can take.
    fn too_many(&self, rows: usize) -> Error {
        let error = Error::mismatch("branches that are added are given more entries than the tree has");
        error.wanted(self.left.unwrap_or(0), (self.rows + rows) as u64).in_object(&self.committer.name)
    }

    /// Bytes in memory of the first buffered rows.
    pub(crate) fn waiting_bytes(&self, rows: usize) -> usize {
        self.specs.iter().zip(&self.pending).map(|(spec, pending)| pending.bytes_of(spec, &(0..rows))).sum()
    }

    /// Writes the full clusters.
    #[doc(hidden)]
    pub fn write_full(&mut self) -> Result<()> {
        loop {
            if let Some(commit_path) = &self.commit_path {
                self.clustering.agree(|found| commit_path.cluster_rows(found));
            }
            let mut clustering = self.clustering.clone();
            let next = clustering.next(&Rows(self));
            self.clustering = clustering;
            match next {
                Next::Wait => {
                    self.fill_same_memory();
                    self.make_room();
                    return Ok(());
                }
                // Without compression nothing shrinks.
                Next::Sample(_) if !self.committer.is_compressed() => self.clustering.sampled(1, 1),
                Next::Sample(rows) => {
                    let (before, after) = self.committer.sample(&self.pending, rows)?;
                    self.clustering.sampled(before, after);
                }
                Next::Cluster(rows) => self.commit_rows(rows)?,
            }
        }
    }

    /// Makes room for the rest of the cluster, once a part of it tells how much that is: buffers that grow step by step
    /// are copied each time.
    fn make_room(&mut self) {
        /// Smaller clusters gain nothing.
        const LEAST_BYTES: usize = 1 << 20;
        /// Where clusters are larger, buffers grow.
        const MOST_BYTES: usize = 64 << 20;
        /// Later rows may be larger, and a step of rows may pass the end.
        const MORE: f64 = 1.125;
        if self.has_room {
            return;
        }
        let waiting = self.waiting_bytes(self.rows);
        if waiting < LEAST_BYTES || self.committer.output.check_process().is_err() {
            return;
        }
        self.has_room = true;
        if let Some(times) = self.clustering.times(&Rows(self)) {
            let times = MORE * times.min(MOST_BYTES as f64 / waiting as f64);
            let memory = self.committer.output.options.session.memory();
            self.pending.iter_mut().for_each(|pending| pending.reserve(times, memory));
        }
    }

    /// The source of the values of each branch, and the number of rows; checked before anything is buffered.
    fn sources<'v>(&self, values: &'v [(&str, Values<'v>)]) -> Result<(Vec<Source<'v>>, usize)> {
        let specs: HashMap<&str, &BranchSpec> = self.specs.iter().map(|spec| (&*spec.name, spec)).collect();
        let mut given: HashMap<&str, &'v Values<'v>> = HashMap::with_capacity(values.len());
        let mut rows: Option<(usize, &str)> = None;
        for (name, values) in values {
            let spec = specs.get(name).ok_or_else(|| Error::not_found(format!("there is no branch {name:?}")))?;
            if matches!(spec.kind, BranchKind::Counter(_)) {
                return Err(Error::mismatch(format!("branch {name:?} counts others: it is filled from them")));
            }
            let found = values.entries(spec)?;
            match rows {
                Some((wanted, first)) if wanted != found => {
                    let message = format!("branch {name:?} was given another number of entries than {first:?}");
                    return Err(Error::mismatch(message).wanted(wanted as u64, found as u64));
                }
                _ => rows = Some((found, name)),
            }
            if given.insert(name, values).is_some() {
                return Err(Error::mismatch(format!("branch {name:?} was given values twice")));
            }
        }
        let lengths = self.lengths(&given)?;
        let source = |spec: &BranchSpec| match spec.kind {
            BranchKind::Counter(_) => lengths.get(&*spec.name).map(|&(_, ends)| Source::Lengths(ends)),
            _ => given.get(&*spec.name).map(|&values| Source::Given(values)),
        };
        let order = self.specs.iter().map(|spec| {
            source(spec).ok_or_else(|| Error::mismatch(format!("branch {:?} was given no values", spec.name)))
        });
        Ok((order.collect::<Result<_>>()?, rows.map_or(0, |(rows, _)| rows)))
    }

    /// For each counter the ends of the lists that it counts, and the first branch they belong to: branches that share
    /// a counter have the same lengths.
    fn lengths<'s, 'v>(
        &'s self,
        given: &HashMap<&str, &'v Values<'v>>,
    ) -> Result<HashMap<&'s str, (&'s str, &'v [i64])>> {
        let mut lengths: HashMap<&str, (&str, &[i64])> = HashMap::new();
        for spec in self.specs.iter() {
            let (BranchKind::Jagged(_, counter), Some(values)) = (&spec.kind, given.get(&*spec.name)) else {
                continue;
            };
            let ends = values.ends(0);
            let (first, known) = *lengths.entry(counter).or_insert((&spec.name, ends));
            if !std::ptr::eq(known, ends) && known != ends {
                let message = format!("branches {first:?} and {:?} share a counter, and their lists differ", spec.name);
                return Err(Error::mismatch(message));
            }
        }
        for spec in self.specs.iter() {
            let (BranchKind::Counter(number), Some((first, ends))) = (&spec.kind, lengths.get(&*spec.name)) else {
                continue;
            };
            let before = std::iter::once(&0).chain(*ends);
            let longest = ends.iter().zip(before).map(|(end, before)| (end - before) as u64).max().unwrap_or(0);
            let most = most_items(*number).unwrap_or(0);
            if longest > most {
                let message = format!("branch {:?} ({}) cannot count a list of {first:?}", spec.name, spec.title());
                return Err(Error::mismatch(message).wanted(most, longest));
            }
        }
        Ok(lengths)
    }

    /// Writes the buffered rows as a cluster of their own, and waits until it is committed.
    ///
    /// # Errors
    ///
    /// What the sink reports: the rows stay buffered then. Rows that can never be written are dropped.
    pub fn flush(&mut self) -> Result<()> {
        let before = self.wait_for_commit();
        if before.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled) {
            return before;
        }
        // An error of the previous cluster says nothing about these rows, unless its write has to be retried.
        if self.rows > 0 && !self.flight.has_failed() {
            before.and(self.commit_rows(self.rows).and_then(|()| self.wait_for_commit()))
        } else {
            before
        }
    }

    /// Commits the first buffered rows. With a thread pool they are sealed while more rows are buffered.
    fn commit_rows(&mut self, rows: usize) -> Result<()> {
        self.wait_for_commit()?;
        if let Some(left) = &mut self.left {
            match left.checked_sub(rows as u64) {
                Some(rest) => *left = rest,
                None => {
                    let error = self.too_many(0);
                    self.pending = self.specs.iter().map(RowBuffer::of).collect();
                    self.rows = 0;
                    return Err(error);
                }
            }
        }
        let mut next = std::mem::take(&mut self.next);
        next.iter_mut().for_each(RowBuffer::clear);
        if next.is_empty() {
            next = self.specs.iter().map(RowBuffer::of).collect();
        }
        self.has_room = false;
        for ((spec, pending), next) in self.specs.iter().zip(&mut self.pending).zip(&mut next) {
            pending.move_rest(spec, rows, next);
        }
        let pending = std::mem::replace(&mut self.pending, next);
        self.rows -= rows;
        self.start_commit(Cluster::new(pending, rows, self.clustering.measured()))
    }

    fn start_commit(&mut self, cluster: Cluster) -> Result<()> {
        self.flight = InFlight::start(&self.committer, self.commit_path.as_deref(), cluster);
        if self.committer.pool().is_some() { Ok(()) } else { self.wait_for_commit() }
    }

    /// Goes on in the memory of the cluster that was just committed, where nothing else is done with it: no second
    /// cluster takes memory of its own.
    fn fill_same_memory(&mut self) {
        if self.next.is_empty() || self.committer.pool().is_some() {
            return;
        }
        let memory = self.committer.output.options.session.memory();
        for ((spec, pending), next) in self.specs.iter().zip(&mut self.pending).zip(&mut self.next) {
            next.clear();
            pending.move_rest(spec, 0, next);
            pending.give_back(memory);
        }
        self.pending = std::mem::take(&mut self.next);
    }

    /// Waits for the previous cluster.
    fn wait_for_commit(&mut self) -> Result<()> {
        self.committer.output.check_process()?;
        if let Some(cluster) = self.flight.wait(&self.committer, self.commit_path.as_deref())? {
            self.next = cluster.pending;
        }
        Ok(())
    }
}

/// The source of the values of a branch.
enum Source<'v> {
    Given(&'v Values<'v>),
    Lengths(&'v [i64]),
}

impl Source<'_> {
    /// Bytes in memory.
    fn bytes(&self) -> usize {
        match self {
            Self::Lengths(ends) => size_of_val(*ends),
            Self::Given(values) => values.memory_bytes(),
        }
    }
}
