//! Tables: a tree or an RNTuple, by the same names.
//!
//! Branches of a tree and fields of an RNTuple are its columns, with numbers: those of
//! [`Tree::branches`] and of [`NTuple::fields`].

mod batches;
mod find;
mod open;
mod statistics;

use std::ops::Range;
use std::sync::Arc;

pub use batches::{Batch, Batches, Row, Rows};
pub(crate) use find::Found;

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::file::File;
use crate::ntuple::NTuple;
use crate::read::{Column, Progress, Reader, Selection, declared};
use crate::schema::Target;
use crate::tree::{Branch, ElementBranch, Stepping, Tree, TreeCache, element_kind};

/// A tree or an RNTuple of a file.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Query, Source};
/// let table = sapwood::File::open(path)?.table("Events")?;
/// assert_eq!((table.name(), table.entries()), ("Events", 10));
/// let read = Query::new(Source::from(&table)).value("nJet")?.read(0..table.entries())?;
/// assert_eq!(read.columns[0].len, 10);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Table {
    /// A tree: its branches are columns.
    Tree(Arc<Tree>),
    /// An RNTuple: its fields are columns.
    NTuple(Arc<NTuple>),
}

/// A column of a table, as lists show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumn<'t> {
    /// Its number among the branches or fields.
    pub id: usize,
    /// Its path.
    pub name: &'t str,
    /// Title of the branch, or description of the field.
    pub title: &'t str,
}

impl From<&Arc<Tree>> for Table {
    fn from(tree: &Arc<Tree>) -> Self {
        Self::Tree(Arc::clone(tree))
    }
}

impl From<&Arc<NTuple>> for Table {
    fn from(ntuple: &Arc<NTuple>) -> Self {
        Self::NTuple(Arc::clone(ntuple))
    }
}

impl From<&Self> for Table {
    fn from(table: &Self) -> Self {
        table.clone()
    }
}

impl Table {
    /// The name of the tree or RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert_eq!(sapwood::File::open(path)?.table("Runs")?.name(), "Runs");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        match self {
            Self::Tree(tree) => &tree.name,
            Self::NTuple(ntuple) => &ntuple.name,
        }
    }

    /// The title of the tree, or the description of the RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert_eq!(sapwood::File::open(path)?.table("Events")?.title(), "Events");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn title(&self) -> &str {
        match self {
            Self::Tree(tree) => &tree.title,
            Self::NTuple(ntuple) => &ntuple.description,
        }
    }

    /// The file that it is read from.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// assert_eq!(file.table("Events")?.file().identity(), file.identity());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn file(&self) -> &File {
        match self {
            Self::Tree(tree) => tree.file(),
            Self::NTuple(ntuple) => ntuple.file(),
        }
    }

    /// The number of its entries.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert_eq!(sapwood::File::open(path)?.table("Events")?.entries(), 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entries(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.entries,
            Self::NTuple(ntuple) => ntuple.entries,
        }
    }

    /// Entries that were written together, in order; none if a tree does not note them.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a broken page list of an RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert_eq!(sapwood::File::open(path)?.table("Events")?.clusters()?, [0..10]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn clusters(&self) -> Result<Vec<Range<u64>>> {
        match self {
            Self::Tree(tree) => Ok(tree.clusters()),
            Self::NTuple(ntuple) => ntuple.clusters(),
        }
    }

    /// Its columns: branches that hold values, or top-level fields.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert!(table.columns().iter().any(|column| column.name == "Jet_pt"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn columns(&self) -> Vec<TableColumn<'_>> {
        match self {
            Self::Tree(tree) => {
                let branches = tree.branches().iter().filter(|branch| branch.has_data());
                branches.map(|branch| TableColumn { id: branch.id, name: &branch.path, title: &branch.title }).collect()
            }
            Self::NTuple(ntuple) => {
                let fields = ntuple.top().iter().filter_map(|&id| ntuple.fields().get(id));
                fields.map(|field| TableColumn { id: field.id, name: &field.path, title: &field.description }).collect()
            }
        }
    }

    /// The number of the column with a name or a path.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), with names that are like it.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert!(table.find("Jet_pt").is_ok());
    /// assert!(table.find("Jet_ptt").unwrap_err().to_string().contains("Jet_pt"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn find(&self, name: &str) -> Result<usize> {
        match self {
            Self::Tree(tree) => tree.branch(name).map(|branch| branch.id),
            Self::NTuple(ntuple) => ntuple.field(name).map(|field| field.id),
        }
    }

    /// The type of the values of a column, with pointers followed as far as that does not depend on the values.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a class that the file does not describe, and for a branch
    /// whose bytes have no known meaning.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.kind(table.find("Jet_pt")?)?.to_string(), "var * float32");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn kind(&self, id: usize) -> Result<Kind> {
        let kind = self.stored_kind(id)?;
        match self {
            Self::Tree(tree) => declared(&kind, tree.registry()).map_err(|error| {
                let path = tree.branches().get(id).map_or("", |branch| &branch.path);
                self.place(error.in_object(path))
            }),
            Self::NTuple(ntuple) if kind.has_pointers() => declared(&kind, &*ntuple.classes()?),
            Self::NTuple(_) => Ok(kind),
        }
    }

    /// The path of a column; none if no column has this number.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.path(table.find("Jet_pt")?), Some("Jet_pt"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn path(&self, id: usize) -> Option<&str> {
        match self {
            Self::Tree(tree) => tree.branches().get(id).map(|branch| &*branch.path),
            Self::NTuple(ntuple) => ntuple.fields().get(id).map(|field| &*field.path),
        }
    }

    /// The entries of which a column has values: all, unless a branch has fewer than its tree.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.entry_range(table.find("Jet_pt")?), Some(0..10));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entry_range(&self, id: usize) -> Option<Range<u64>> {
        match self {
            Self::Tree(tree) => tree.branches().get(id).map(Branch::entry_range),
            Self::NTuple(ntuple) => ntuple.fields().get(id).map(|_| 0..ntuple.entries),
        }
    }

    /// The type of a column in C++: `"float[]"` for `Jet_pt[nJet]/F`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a number that no column has;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a branch whose bytes have no known meaning.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.type_name(table.find("Jet_pt")?)?, "float[]");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn type_name(&self, id: usize) -> Result<String> {
        match self {
            Self::Tree(tree) => Ok(tree.interpretation(id)?.type_name.clone()),
            Self::NTuple(ntuple) => {
                let field = ntuple.fields().get(id).ok_or_else(|| self.place(Error::not_found("no such field")))?;
                Ok(field.type_name.to_string())
            }
        }
    }

    /// The type of the values of a column as they are stored, with [pointers](Kind::Pointer) where objects stand behind
    /// them.
    ///
    /// # Errors
    ///
    /// As [`kind`](Self::kind), and [`Mismatch`](crate::ErrorKind::Mismatch) for a branch without values.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert!(!table.stored_kind(table.find("nJet")?)?.has_pointers());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stored_kind(&self, id: usize) -> Result<Kind> {
        match self {
            Self::Tree(tree) => {
                let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
                if !branch.has_data() {
                    let words = "the branch holds no values itself: name one below it";
                    return Err(tree.place(Error::mismatch(words)).in_object(&branch.path));
                }
                Ok(tree.interpretation(id)?.kind.clone())
            }
            Self::NTuple(ntuple) => ntuple.kind(id),
        }
    }

    /// The cache of its baskets or pages.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// table.cache().set_budget(1 << 20);
    /// assert_eq!(table.cache().budget(), 1 << 20);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn cache(&self) -> &TreeCache {
        match self {
            Self::Tree(tree) => tree.cache(),
            Self::NTuple(ntuple) => ntuple.cache(),
        }
    }

    /// Begins an iteration: as long as the result lives, reads keep baskets and pages that they cut for the next step.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let (ids, _stepping) = ([table.find("nJet")?], table.stepping());
    /// for step in [0..4, 4..10] {
    ///     table.read(&ids, step)?;
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stepping(&self) -> Stepping {
        match self {
            Self::Tree(tree) => tree.stepping(),
            Self::NTuple(ntuple) => ntuple.stepping(),
        }
    }

    /// Reads columns by their numbers, for the entries of a range or of a [`Selection`]. Only baskets and pages that
    /// hold wanted entries are read, each once.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the table lacks some of the entries; what decoding reports
    /// otherwise.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let columns = table.read(&[table.find("nJet")?], 0..3)?;
    /// assert_eq!(columns[0].as_slice::<u32>()?, [2, 3, 5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read(&self, ids: &[usize], entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Vec<Column>> {
        self.read_with(ids, entries, |_| Ok(()))
    }

    /// [Reads](Self::read) columns, and calls `progress` with the bytes that are done and those of all. An error of
    /// `progress` ends the read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and errors of `progress`.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let mut bytes = 0;
    /// table.read_with(&[table.find("nJet")?], 0..10, |now| Ok(bytes = now.done_bytes))?;
    /// assert!(bytes > 0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_with(
        &self,
        ids: &[usize],
        entries: impl TryInto<Selection, Error: Into<Error>>,
        progress: impl FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Column>> {
        match self {
            Self::Tree(tree) => crate::read::Plan::new(tree, ids, entries)?.columns_with(progress),
            Self::NTuple(ntuple) => crate::ntuple::columns_with(ntuple, ids, entries, progress),
        }
    }

    /// A reader of single entries, in an unknown order or in this one. It learns which columns to fetch ahead.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for entries that are not there, and what reading the page lists of an
    /// RNTuple reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let mut reader = table.reader(Some(vec![7, 2]))?;
    /// reader.go_to(7)?;
    /// assert_eq!(reader.number::<u32>("nJet")?, 4);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reader(&self, order: Option<Vec<u64>>) -> Result<Reader> {
        match (self, order) {
            (Self::Tree(tree), None) => Ok(tree.reader()),
            (Self::Tree(tree), Some(entries)) => tree.reader_along(entries),
            (Self::NTuple(ntuple), None) => ntuple.reader(),
            (Self::NTuple(ntuple), Some(entries)) => ntuple.reader_along(entries),
        }
    }

    /// Adds to an error the file and the table that it is about.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// assert_eq!(table.place(sapwood::Error::mismatch("x")).place().object.as_deref(), Some("Events"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn place(&self, error: Error) -> Error {
        match self {
            Self::Tree(tree) => tree.place(error.in_object(&tree.name)),
            Self::NTuple(ntuple) => ntuple.place(error),
        }
    }

    /// Whether both are the same tree or RNTuple of the same open file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tree(a), Self::Tree(b)) => Arc::ptr_eq(a, b),
            (Self::NTuple(a), Self::NTuple(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Expressions that are stored with a tree, by their names (`fAliases`).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert!(sapwood::File::open(path)?.table("Events")?.aliases().is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn aliases(&self) -> &[(String, String)] {
        match self {
            Self::Tree(tree) => &tree.aliases,
            Self::NTuple(_) => &[],
        }
    }

    /// The weight of its entries.
    pub(crate) fn weight(&self) -> f64 {
        match self {
            Self::Tree(tree) => tree.weight,
            Self::NTuple(_) => 1.0,
        }
    }

    /// How many values decide on automatic bins, if the tree has such a number.
    pub(crate) fn estimate(&self) -> Option<usize> {
        match self {
            Self::Tree(tree) => usize::try_from(tree.estimate).ok(),
            Self::NTuple(_) => None,
        }
    }

    /// The number of all branches or fields.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.branches().len(),
            Self::NTuple(ntuple) => ntuple.fields().len(),
        }
    }

    /// The name of a column, by which it is found in a table of the same columns.
    pub(crate) fn name_of(&self, id: usize) -> Result<String> {
        let lost = || Error::not_found("no such column");
        Ok(match self {
            Self::Tree(tree) => tree.branches().get(id).ok_or_else(lost)?.path.replace('/', "."),
            Self::NTuple(ntuple) => ntuple.fields().get(id).ok_or_else(lost)?.path.to_string(),
        })
    }

    /// The names of all branches or fields.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Tree(tree) => tree.branches().iter().map(|branch| &*branch.name).collect(),
            Self::NTuple(ntuple) => {
                ntuple.fields().iter().filter(|field| field.is_named).map(|field| &*field.path).collect()
            }
        }
    }

    /// The type of the objects of a class, without those of classes derived from it.
    pub(crate) fn objects(&self, class: &Arc<str>) -> Result<Kind> {
        let target = Target::Members { class: Arc::clone(class), version: None, checksum: None };
        let program = match self {
            Self::Tree(tree) => tree.registry().program(&target),
            Self::NTuple(ntuple) => ntuple.classes()?.program(&target),
        };
        Ok(program.map_err(|error| self.place(error))?.kind.clone())
    }

    /// Whether the values of a column say how many items the columns below it have.
    pub(crate) fn is_count(&self, id: usize) -> bool {
        let Self::Tree(tree) = self else { return false };
        let counts = |element: &ElementBranch| matches!(element.kind, element_kind::CLONES | element_kind::COLLECTION);
        tree.branches()
            .get(id)
            .is_some_and(|branch| !branch.children.is_empty() && branch.element.as_ref().is_some_and(counts))
    }

    /// Bytes of memory that an entry of some columns takes, about.
    pub(crate) fn entry_bytes(&self, ids: &[usize]) -> u64 {
        match self {
            Self::Tree(tree) => {
                let of = |branch: &Branch| branch.tot_bytes / branch.entries.max(1) + 1;
                ids.iter().filter_map(|&id| tree.branches().get(id)).map(of).sum()
            }
            Self::NTuple(ntuple) => {
                let of = |id: &usize| ntuple.field_bytes(*id).map_or(u64::MAX, |bytes| bytes.inflated);
                let all = ids.iter().map(of).fold(0, u64::saturating_add);
                all / ntuple.entries.max(1) + ids.len() as u64
            }
        }
    }
}
