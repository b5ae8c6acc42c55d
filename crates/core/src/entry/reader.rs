//! Entries of a branch as values of a Rust type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::Entry;
use super::evolve::Adapter;
use super::layout::Layout;
use super::source::Source;
use crate::error::{Error, Result};
use crate::tree::Tree;
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
    /// What was read, and the next row of it.
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
#[derive(Debug)]
pub struct Columns {
    tree: Arc<Tree>,
    kind: Type,
    layout: Layout,
    branch: Arc<str>,
    /// Clusters that are left, the next one last, and the most entries of a step.
    clusters: Vec<Range<u64>>,
    most: u64,
}

/// Clusters that take more once inflated are read in several steps.
const STEP_BYTES: u64 = 64 << 20;

impl Tree {
    /// Reads entries of a branch of objects, split or not, into values of a Rust type; of the tree's own branches where `branch` is
    /// empty.
    ///
    /// The class in the file may be another version of the type. Members are found by name, in the object itself and in its bases;
    /// those that the file lacks are [`absent`](Entry::absent), those that the type lacks are not read; numbers are taken over as numbers
    /// of any type that holds every value.
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
        let column = read(self, &layout, &kind, branch, entries)?;
        Ok(T::from_rows(&column, 0..column.len()))
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
        let steps = self.iter_columns(branch, T::kind(), 0..self.entries)?;
        let column = Column::of(&steps.kind);
        Ok(Entries { steps, column, row: 0, entry: PhantomData })
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
        let most = (STEP_BYTES / row_bytes.max(1)).max(1);
        let within = |cluster: Range<u64>| cluster.start.max(entries.start)..cluster.end.min(entries.end);
        let clusters = self.clusters().into_iter().rev().map(within).filter(|cluster| !cluster.is_empty()).collect();
        Ok(Columns { tree: Arc::clone(self), kind, layout, branch: branch.into(), clusters, most })
    }
}

fn read(tree: &Tree, layout: &Layout, kind: &Type, branch: &str, entries: Range<u64>) -> Result<Column> {
    let rows = usize::try_from(entries.end.saturating_sub(entries.start))
        .map_err(|_| Error::mismatch("more entries than memory has addresses"))?;
    if entries.end > tree.entries {
        let words = "the tree has fewer entries";
        return Err(tree.place(Error::mismatch(words).wanted(entries.end, tree.entries)).in_object(&tree.name));
    }
    let whole = layout.read(tree, entries)?;
    let mut column = Column::of(kind);
    let source = Source::Columns(&whole.buffers, &whole.objects);
    let adapted = Adapter::default().append(&mut column, kind, &whole.kind, source, 0..rows);
    adapted.map_err(|error| tree.place(error).in_object(branch).in_object(&tree.name))?;
    // Values are taken without a look at lengths: what lacks would be zero.
    if column.len() != rows || !is_complete(&column) {
        return Err(tree.place(Error::internal("columns of a class have different lengths")).in_object(branch));
    }
    Ok(column)
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
        let cluster = self.clusters.pop()?;
        let end = cluster.end.min(cluster.start.saturating_add(self.most));
        if end < cluster.end {
            self.clusters.push(end..cluster.end);
        }
        let column = read(&self.tree, &self.layout, &self.kind, &self.branch, cluster.start..end);
        if column.is_err() {
            self.clusters.clear();
        }
        Some(column)
    }
}

impl<T: Entry> Iterator for Entries<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.row >= self.column.len() {
            match self.steps.next()? {
                Ok(column) => (self.column, self.row) = (column, 0),
                Err(error) => {
                    self.column = Column::of(&self.steps.kind);
                    return Some(Err(error));
                }
            }
        }
        self.row += 1;
        Some(Ok(T::from_row(&self.column, self.row - 1)))
    }
}

impl<T> fmt::Debug for Entries<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("steps", &self.steps).finish_non_exhaustive()
    }
}
