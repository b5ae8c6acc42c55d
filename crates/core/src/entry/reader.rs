//! Entries of a branch or a field as values of a Rust type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::Entry;
use super::evolve::Adapter;
use super::fields::Fields;
use super::layout::Layout;
use super::source::Source;
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::ntuple::NTuple;
use crate::read::Joined;
use crate::tree::{Stepping, Tree};
use crate::write::{Column, Type};

/// Entries one after another, read cluster by cluster. Created by [`Tree::iter_entries`].
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
/// #[derive(Entry)]
/// struct Hit {
///     charge: f32,
/// }
/// # let path = std::env::temp_dir().join("sapwood-iter-entries.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut hits = file.entries("hits", "hit", 99, TreeOptions::default())?;
/// hits.extend(&[Hit { charge: 0.5 }, Hit { charge: 1.5 }])?;
/// hits.close()?;
/// file.close()?;
/// let tree = sapwood::File::open(&path)?.tree("hits")?;
/// let mut sum = 0.0;
/// for hit in tree.iter_entries::<Hit>("hit")? {
///     sum += hit?.charge;
/// }
/// assert_eq!(sum, 2.0);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Entries<T> {
    steps: Columns,
    /// What was read, and its rows that are not in `column` yet.
    step: Option<Step>,
    left: Range<usize>,
    /// Some rows of it, and the next of them.
    column: Column,
    row: usize,
    entry: PhantomData<fn() -> T>,
}

/// Entries as columns of a type, read cluster by cluster. Created by [`Tree::iter_columns`].
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, Class, Column, FileWriter, TreeOptions, Type, Values, WriteOptions};
/// # let path = std::env::temp_dir().join("sapwood-iter-columns.root");
/// let hit = Arc::new(Class::new("Hit").member("charge", Type::Number(Number::F32)));
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut hits = file.tree("hits", vec![BranchSpec::object("hit", Arc::clone(&hit), 99)], TreeOptions::default())?;
/// let charges = Column::from(&[0.5_f32]);
/// hits.extend(&[("hit", Values::objects(&Column::Record(1, vec![charges])))])?;
/// hits.close()?;
/// file.close()?;
/// // What became of the class.
/// let hit = Class::new("Hit").member("charge", Type::Number(Number::F64)).member("time", Type::Number(Number::F64));
/// let tree = sapwood::File::open(&path)?.tree("hits")?;
/// let column = tree.iter_columns("hit", Type::Object(Arc::new(hit)), 0..1)?.next().expect("a cluster")?;
/// let (charges, times) = (Column::from(&[0.5_f64]), Column::from(&[0.0_f64; 0]));
/// assert_eq!(column, Column::Record(1, vec![charges, times]), "no time is stored");
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Columns {
    kind: Type,
    source: Box<dyn StepSource>,
    /// Clusters that are left, the next one last.
    clusters: Vec<Range<u64>>,
    /// Bytes of an entry, about.
    row_bytes: u64,
    /// Baskets and pages that a step cuts stay inflated, until the last one.
    stepping: Option<Stepping>,
}

/// What entries are read from.
trait StepSource: Send + Sync {
    /// Reads consecutive entries.
    fn read(&self, entries: Range<u64>) -> Result<Step>;

    /// Adds to an error of values what they are of.
    fn place(&self, error: Error) -> Error;

    /// Some rows of a step as a column of a type.
    fn column(&self, kind: &Type, step: &Step, rows: Range<usize>) -> Result<Column> {
        step.column(kind, rows).map_err(|error| self.place(error))
    }

    /// Entries as a column of a type.
    fn whole(&self, kind: &Type, entries: Range<u64>) -> Result<Column> {
        let step = self.read(entries)?;
        self.column(kind, &step, 0..step.rows)
    }
}

/// Entries as they are stored.
struct Step {
    kind: Kind,
    values: Joined,
    rows: usize,
}

impl Step {
    /// Some rows as a column of a type.
    fn column(&self, kind: &Type, rows: Range<usize>) -> Result<Column> {
        let (mut column, count) = (Column::of(kind), rows.len());
        let source = Source::Columns(&self.values.buffers, &self.values.objects);
        Adapter::default().append(&mut column, kind, &self.kind, source, rows)?;
        // Values are taken without a look at lengths: what lacks would be zero.
        if column.len() != count || !is_complete(&column) {
            return Err(Error::internal("columns of a class have different lengths"));
        }
        Ok(column)
    }
}

/// A branch of a tree; all of it where `branch` is empty.
struct OfTree<T> {
    tree: T,
    layout: Layout,
    branch: String,
}

/// A field of an RNTuple; all of it where `field` is empty.
struct OfNTuple<N> {
    ntuple: N,
    fields: Fields,
    field: String,
}

impl<T: Deref<Target = Tree> + Send + Sync> StepSource for OfTree<T> {
    fn read(&self, entries: Range<u64>) -> Result<Step> {
        let (tree, rows) = (&*self.tree, rows(&entries)?);
        if entries.end > tree.entries {
            let words = "the tree has fewer entries";
            let error = Error::mismatch(words).wanted(entries.end, tree.entries);
            return Err(tree.place(error).in_object(&tree.name));
        }
        let (kind, values) = self.layout.read(tree, entries)?;
        Ok(Step { kind, values, rows })
    }

    fn place(&self, error: Error) -> Error {
        self.tree.place(error).in_object(&self.branch).in_object(&self.tree.name)
    }
}

impl<N: Deref<Target = NTuple> + Send + Sync> StepSource for OfNTuple<N> {
    fn read(&self, entries: Range<u64>) -> Result<Step> {
        let rows = rows(&entries)?;
        let (kind, values) = self.fields.read(&self.ntuple, entries)?;
        Ok(Step { kind, values, rows })
    }

    fn place(&self, error: Error) -> Error {
        match &*self.field {
            "" => self.ntuple.place(error),
            field => self.ntuple.place(error.in_object(field)),
        }
    }
}

impl Columns {
    /// Entries of clusters, each of about so many bytes.
    fn new(
        kind: Type,
        clusters: Vec<Range<u64>>,
        entries: &Range<u64>,
        row_bytes: u64,
        source: impl StepSource + 'static,
        stepping: Stepping,
    ) -> Self {
        let within = |cluster: Range<u64>| cluster.start.max(entries.start)..cluster.end.min(entries.end);
        let clusters = clusters.into_iter().rev().map(within).filter(|cluster| !cluster.is_empty()).collect();
        Self { kind, source: Box::new(source), clusters, row_bytes: row_bytes.max(1), stepping: Some(stepping) }
    }

    /// Reads the next step.
    fn step(&mut self) -> Option<Result<Step>> {
        let cluster = self.clusters.pop()?;
        let most = (STEP_BYTES / self.row_bytes).max(1);
        let end = cluster.end.min(cluster.start.saturating_add(most));
        if end < cluster.end {
            self.clusters.push(end..cluster.end);
        }
        let step = self.source.read(cluster.start..end);
        let step = self.heed(step);
        if self.clusters.is_empty() {
            self.stepping = None;
        }
        Some(step)
    }

    /// Some rows of a step.
    fn column(&mut self, step: &Step, rows: Range<usize>) -> Result<Column> {
        let column = self.source.column(&self.kind, step, rows);
        self.heed(column)
    }

    /// Nothing is read after an error.
    fn heed<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.clusters.clear();
        }
        done
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").field("kind", &self.kind).field("clusters", &self.clusters).finish_non_exhaustive()
    }
}

/// Clusters that take more once inflated are read in several steps.
const STEP_BYTES: u64 = 64 << 20;

/// [`Entries`] converts so many bytes at a time: the columns in between stay in the cache.
const NEAR_BYTES: u64 = 128 << 10;

impl Tree {
    /// Reads entries of a branch of objects, split or not, into values of a Rust type; of the tree's own branches where
    /// `branch` is empty.
    ///
    /// The class in the file may be another version of the type. Members are found by name, in the object itself and in
    /// its bases; those that the file lacks are [`absent`](Entry::absent), those that the type lacks are not read;
    /// numbers are taken over as numbers of any type that holds every value.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is no such branch; [`Mismatch`](crate::ErrorKind::Mismatch),
    /// naming class and member, where a type or value does not fit, and where the class has none of the members.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::Entry;
    /// use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     channel: u16,
    ///     energy: f32,
    /// }
    /// # let path = std::env::temp_dir().join("sapwood-read-entries.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut hits = file.entries("hits", "hit", 99, TreeOptions::default())?;
    /// hits.fill(&Hit { channel: 3, energy: 0.5 })?;
    /// hits.close()?;
    /// file.close()?;
    ///
    /// /// What became of it.
    /// #[derive(Entry, Debug, PartialEq)]
    /// struct NewHit {
    ///     time: f64,
    ///     #[entry(was = "energy")]
    ///     charge: f64,
    ///     channel: i64,
    /// }
    /// let tree = sapwood::File::open(&path)?.tree("hits")?;
    /// let hits: Vec<NewHit> = tree.read_entries("hit", 0..1)?;
    /// assert_eq!(hits, [NewHit { time: 0.0, charge: 0.5, channel: 3 }]);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_entries<T: Entry>(&self, branch: &str, entries: Range<u64>) -> Result<Vec<T>> {
        let kind = T::kind();
        let layout = Layout::new(self, branch, &kind)?;
        let column = OfTree { tree: self, layout, branch: branch.to_owned() }.whole(&kind, entries)?;
        T::from_rows(&column, 0..column.len())
    }

    /// The same of all entries, in steps of clusters.
    ///
    /// # Errors
    ///
    /// As [`read_entries`](Self::read_entries); what is wrong with values comes when they are read.
    ///
    /// # Example
    ///
    /// See [`Entries`].
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("iter-entries.root");
    /// # use sapwood::Entry;
    /// # use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     charge: f32,
    /// }
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let mut hits = file.entries::<Hit>("hits", "hit", 99, TreeOptions::default())?;
    /// # hits.extend(&[Hit { charge: 0.5 }, Hit { charge: 1.5 }])?;
    /// # hits.close()?;
    /// # file.close()?;
    /// let tree = sapwood::File::open(&path)?.tree("hits")?;
    /// let charges = tree.iter_entries::<Hit>("hit")?.map(|hit| hit.map(|hit| hit.charge));
    /// assert_eq!(charges.collect::<Result<Vec<_>, _>>()?, [0.5, 1.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_entries<T: Entry>(self: &Arc<Self>, branch: &str) -> Result<Entries<T>> {
        Ok(Entries::new(self.iter_columns(branch, T::kind(), 0..self.entries)?))
    }

    /// Reads entries of a branch as columns of a type, in steps of clusters; what a class that changed means is said at
    /// [`read_entries`](Self::read_entries). Columns of members that the file lacks have no rows.
    ///
    /// # Errors
    ///
    /// As [`read_entries`](Self::read_entries); what is wrong with values comes when they are read.
    ///
    /// # Example
    ///
    /// See [`Columns`].
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::column::Number;
    /// use sapwood::write::{Column, Type};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut steps = tree.iter_columns("nJet", Type::Number(Number::U32), 0..3)?;
    /// assert_eq!(steps.next().expect("a step")?, Column::from(&[2_u32, 3, 5]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_columns(self: &Arc<Self>, branch: &str, kind: Type, entries: Range<u64>) -> Result<Columns> {
        kind.check()?;
        let layout = Layout::new(self, branch, &kind)?;
        let branches = layout.ids.iter().filter_map(|&id| self.branches().get(id));
        let row_bytes: u64 = branches.map(|branch| branch.tot_bytes / branch.entries.max(1) + 1).sum();
        let source = OfTree { tree: Arc::clone(self), layout, branch: branch.to_owned() };
        Ok(Columns::new(kind, self.clusters(), &entries, row_bytes, source, self.stepping()))
    }
}

impl NTuple {
    /// Reads entries of a field into values of a Rust type, as [`Tree::read_entries`] does of a branch; of its
    /// top-level fields, as the members of the type, where `field` is empty. Other members are not read.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is no such field; [`Mismatch`](crate::ErrorKind::Mismatch),
    /// naming class and member, where a type or value does not fit, and where there is none of the members.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-read-entries.root");
    /// use sapwood::Entry;
    /// use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     channel: u16,
    ///     energy: f32,
    /// }
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut hits = file.ntuple_entries::<Hit>("hits", "", NTupleOptions::default())?;
    /// hits.fill(&Hit { channel: 3, energy: 0.5 })?;
    /// hits.close()?;
    /// file.close()?;
    ///
    /// /// What became of it.
    /// #[derive(Entry, Debug, PartialEq)]
    /// struct NewHit {
    ///     time: f64,
    ///     #[entry(was = "energy")]
    ///     charge: f64,
    /// }
    /// let ntuple = sapwood::File::open(&path)?.ntuple("hits")?;
    /// let hits: Vec<NewHit> = ntuple.read_entries("", 0..1)?;
    /// assert_eq!(hits, [NewHit { time: 0.0, charge: 0.5 }]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_entries<T: Entry>(&self, field: &str, entries: Range<u64>) -> Result<Vec<T>> {
        let kind = T::kind();
        let fields = Fields::new(self, field, &kind)?;
        let column = OfNTuple { ntuple: self, fields, field: field.to_owned() }.whole(&kind, entries)?;
        T::from_rows(&column, 0..column.len())
    }

    /// The same of all entries, in steps of clusters.
    ///
    /// # Errors
    ///
    /// As [`read_entries`](Self::read_entries); what is wrong with values comes when they are read.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-iter-entries.root");
    /// # use sapwood::Entry;
    /// # use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     charge: f32,
    /// }
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let mut hits = file.ntuple_entries::<Hit>("hits", "hit", NTupleOptions::default())?;
    /// # hits.extend(&[Hit { charge: 0.5 }, Hit { charge: 1.5 }])?;
    /// # hits.close()?;
    /// # file.close()?;
    /// let ntuple = sapwood::File::open(&path)?.ntuple("hits")?;
    /// let charges = ntuple.iter_entries::<Hit>("hit")?.map(|hit| hit.map(|hit| hit.charge));
    /// assert_eq!(charges.collect::<Result<Vec<_>, _>>()?, [0.5, 1.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_entries<T: Entry>(self: &Arc<Self>, field: &str) -> Result<Entries<T>> {
        Ok(Entries::new(self.iter_columns(field, T::kind(), 0..self.entries)?))
    }

    /// Reads entries of a field as columns of a type, in steps of clusters, as [`Tree::iter_columns`] does of a branch.
    ///
    /// # Errors
    ///
    /// As [`read_entries`](Self::read_entries); what is wrong with values comes when they are read.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-iter-columns.root");
    /// # use sapwood::Entry;
    /// # use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
    /// # #[derive(Entry)]
    /// # struct Hit {
    /// #     charge: f32,
    /// # }
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let mut hits = file.ntuple_entries::<Hit>("hits", "", NTupleOptions::default())?;
    /// # hits.fill(&Hit { charge: 0.5 })?;
    /// # hits.close()?;
    /// # file.close()?;
    /// use sapwood::column::Number;
    /// use sapwood::write::{Column, Type};
    /// let ntuple = sapwood::File::open(&path)?.ntuple("hits")?;
    /// let mut steps = ntuple.iter_columns("charge", Type::Number(Number::F64), 0..1)?;
    /// assert_eq!(steps.next().expect("a step")?, Column::from(&[0.5_f64]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn iter_columns(self: &Arc<Self>, field: &str, kind: Type, entries: Range<u64>) -> Result<Columns> {
        kind.check()?;
        let fields = Fields::new(self, field, &kind)?;
        let (clusters, row_bytes) = (self.clusters()?, fields.row_bytes(self)?);
        let source = OfNTuple { ntuple: Arc::clone(self), fields, field: field.to_owned() };
        Ok(Columns::new(kind, clusters, &entries, row_bytes, source, self.stepping()))
    }
}

fn rows(entries: &Range<u64>) -> Result<usize> {
    usize::try_from(entries.end.saturating_sub(entries.start))
        .map_err(|_| Error::mismatch("more entries than memory has addresses"))
}

/// Whether lists end with what they hold, and members have a value for each object, or none at all where the file lacks
/// them.
fn is_complete(column: &Column) -> bool {
    match column {
        Column::Numbers(width, bytes) => bytes.len().is_multiple_of((*width).max(1)),
        Column::Lists(ends, items) => {
            ends.last().map_or(items.is_empty(), |&end| end == items.len() as u64) && is_complete(items)
        }
        Column::Record(len, columns) => {
            columns.iter().all(|column| column.is_empty() || column.len() == *len && is_complete(column))
        }
    }
}

impl Iterator for Columns {
    type Item = Result<Column>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step()?;
        Some(step.and_then(|step| self.column(&step, 0..step.rows)))
    }
}

impl<T: Entry> Entries<T> {
    fn new(steps: Columns) -> Self {
        let column = Column::of(&steps.kind);
        Self { steps, step: None, left: 0..0, column, row: 0, entry: PhantomData }
    }

    /// Makes columns of the next rows; nothing after the last one.
    fn advance(&mut self) -> Result<Option<()>> {
        (self.column, self.row) = (Column::of(&self.steps.kind), 0);
        while self.left.is_empty() {
            // Before the next step is read, which may take the memory.
            self.step = None;
            let Some(step) = self.steps.step().transpose()? else { return Ok(None) };
            self.left = 0..step.rows;
            self.step = Some(step);
        }
        let Some(step) = &self.step else { return Ok(None) };
        let near = usize::try_from(NEAR_BYTES / self.steps.row_bytes).unwrap_or(usize::MAX).max(1);
        let rows = self.left.start..self.left.end.min(self.left.start.saturating_add(near));
        // After an error nothing is left.
        let left = std::mem::take(&mut self.left);
        self.column = self.steps.column(step, rows.clone())?;
        self.left = rows.end..left.end;
        Ok(Some(()))
    }
}

impl<T: Entry> Iterator for Entries<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.row >= self.column.len() {
            match self.advance().transpose()? {
                Ok(()) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        self.row += 1;
        Some(T::from_row(&self.column, self.row - 1))
    }
}

impl<T> fmt::Debug for Entries<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("steps", &self.steps).finish_non_exhaustive()
    }
}
