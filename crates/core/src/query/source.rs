//! Where the values of names come from: a tree, or an RNTuple.

use std::sync::Arc;

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::ntuple::{FieldId, NTuple};
use crate::read::{Column, Progress, Selection};
use crate::tree::{Branch, BranchId, ElementBranch, Tree, element_kind};

/// What an expression is about: a [`Tree`], an [`NTuple`], or columns in memory. Cheap to clone.
///
/// # Example
///
/// ```
/// use sapwood::query::Source;
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// assert_eq!(Source::from(&tree).entries(), 10);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    of: Of,
    /// The branch or field below which names are looked for first.
    below: Option<usize>,
}

#[derive(Clone, Debug)]
enum Of {
    Tree(Arc<Tree>),
    NTuple(Arc<NTuple>),
    Columns(Arc<[(String, Column)]>),
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The number of the branch or field.
    pub(super) id: usize,
    /// The member of its records that is meant.
    pub(super) member: Option<Arc<str>>,
}

impl From<&Arc<Tree>> for Source {
    fn from(tree: &Arc<Tree>) -> Self {
        Self { of: Of::Tree(Arc::clone(tree)), below: None }
    }
}

impl From<&Arc<NTuple>> for Source {
    fn from(ntuple: &Arc<NTuple>) -> Self {
        Self { of: Of::NTuple(Arc::clone(ntuple)), below: None }
    }
}

impl Source {
    /// Columns in memory, by their names. All have the same number of rows.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for columns of different lengths.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::query::{Query, Source};
    /// use sapwood::read::Column;
    /// let x = Column::from_numbers(&[1.0, 2.0]);
    /// let source = Source::of_columns([("x".to_owned(), x)])?;
    /// assert_eq!(Query::new(source).value("x**2")?.read(0..2)?.columns[0].numbers::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_columns(columns: impl IntoIterator<Item = (String, Column)>) -> Result<Self> {
        let columns: Arc<[(String, Column)]> = columns.into_iter().collect();
        let rows = columns.first().map_or(0, |(_, first)| first.len);
        if let Some((name, other)) = columns.iter().find(|(_, column)| column.len != rows) {
            let words = format!("the column {name:?} has another length than the first");
            return Err(Error::mismatch(words).wanted(rows as u64, other.len as u64));
        }
        Ok(Self { of: Of::Columns(columns), below: None })
    }

    /// The same, with names that are looked for below a branch or field first.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Query, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let below = Source::from(&tree).below(tree.branch("Jet_pt")?.id);
    /// assert!(Query::new(below).value("Jet_pt * 2").is_ok());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn below(&self, id: usize) -> Self {
        Self { of: self.of.clone(), below: Some(id) }
    }

    /// Its entries.
    pub fn entries(&self) -> u64 {
        match &self.of {
            Of::Tree(tree) => tree.entries,
            Of::NTuple(ntuple) => ntuple.entries,
            Of::Columns(columns) => columns.first().map_or(1, |(_, column)| column.len as u64),
        }
    }

    /// Whether both are the same tree.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.of, &other.of) {
            (Of::Tree(a), Of::Tree(b)) => Arc::ptr_eq(a, b),
            (Of::NTuple(a), Of::NTuple(b)) => Arc::ptr_eq(a, b),
            (Of::Columns(a), Of::Columns(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Entries in steps whose columns take about so many bytes of memory. Steps end with clusters where these fit, so
    /// that no basket is read twice.
    pub(super) fn steps(&self, ids: &[usize], entries: &Selection, bytes: u64) -> Result<Vec<Selection>> {
        let clusters = match &self.of {
            Of::Tree(tree) => tree.clusters(),
            Of::NTuple(ntuple) => ntuple.clusters()?,
            Of::Columns(_) => Vec::new(),
        };
        let most = (bytes / self.entry_bytes(ids).max(1)).max(1);
        let mut steps = Vec::new();
        let mut done = 0;
        while done < entries.len() {
            let end = done.saturating_add(most).min(entries.len());
            // The last cluster that ends there or before, if it ends in this step.
            let border = entries.entry(end).and_then(|next| {
                let last = clusters.partition_point(|cluster| cluster.end <= next).checked_sub(1)?;
                Some(entries.before(clusters.get(last)?.end))
            });
            let end = border.filter(|border| *border > done).unwrap_or(end);
            steps.push(entries.part(done..end));
            done = end;
        }
        Ok(steps)
    }

    /// Expressions that it brings along, by their names.
    pub(super) fn aliases(&self) -> &[(String, String)] {
        match &self.of {
            Of::Tree(tree) => &tree.aliases,
            Of::NTuple(_) | Of::Columns(_) => &[],
        }
    }

    /// What the longest name that the parts begin with leads to, and how many parts it has.
    pub(super) fn find(&self, parts: &[&str]) -> Option<(Found, usize)> {
        (1..=parts.len()).rev().find_map(|used| Some((self.find_exact(&parts[..used].join("."))?, used)))
    }

    /// What a name leads to. In quotes it may hold any character.
    pub(super) fn find_exact(&self, name: &str) -> Option<Found> {
        match &self.of {
            Of::Tree(tree) => in_tree(tree, self.below, name),
            Of::NTuple(ntuple) => in_ntuple(ntuple, self.below, name),
            Of::Columns(columns) => {
                let id = columns.iter().position(|(known, _)| known == name)?;
                Some(Found { id, member: None })
            }
        }
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<&str> {
        match &self.of {
            Of::Tree(tree) => tree.branches().iter().map(|branch| &*branch.name).collect(),
            Of::NTuple(ntuple) => {
                ntuple.fields().iter().filter(|field| field.is_named).map(|field| &*field.path).collect()
            }
            Of::Columns(columns) => columns.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The type of a column.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
        match &self.of {
            Of::Tree(tree) => {
                let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
                if !branch.has_data() {
                    let words = "the branch holds no values itself: name one below it";
                    return Err(tree.place(Error::mismatch(words)).in_object(&branch.path));
                }
                Ok(tree.interpretation(id)?.kind.clone())
            }
            Of::NTuple(ntuple) => ntuple.kind(id),
            Of::Columns(columns) => {
                columns.get(id).map(|(_, column)| column.kind.clone()).ok_or_else(|| Error::internal("no such column"))
            }
        }
    }

    /// Whether the values of a column say how many items the columns below it have.
    pub(super) fn is_count(&self, id: usize) -> bool {
        match &self.of {
            Of::Tree(tree) => tree.branches().get(id).is_some_and(|branch| {
                let counts =
                    |element: &ElementBranch| matches!(element.kind, element_kind::CLONES | element_kind::COLLECTION);
                !branch.children.is_empty() && branch.element.as_ref().is_some_and(counts)
            }),
            Of::NTuple(_) | Of::Columns(_) => false,
        }
    }

    /// Bytes of memory that some entries of some columns take, about.
    pub(super) fn bytes(&self, ids: &[usize], entries: &Selection) -> u64 {
        self.entry_bytes(ids).saturating_mul(entries.len())
    }

    /// Bytes of memory that an entry of some columns takes, about.
    fn entry_bytes(&self, ids: &[usize]) -> u64 {
        match &self.of {
            Of::Tree(tree) => {
                let of = |branch: &Branch| branch.tot_bytes / branch.entries.max(1) + 1;
                ids.iter().filter_map(|&id| tree.branches().get(id)).map(of).sum()
            }
            Of::NTuple(ntuple) => {
                let of = |id: &usize| ntuple.field_bytes(*id).map_or(u64::MAX, |bytes| bytes.inflated);
                let all = ids.iter().map(of).fold(0, u64::saturating_add);
                all / ntuple.entries.max(1) + ids.len() as u64
            }
            Of::Columns(_) => 16 * ids.len() as u64,
        }
    }

    /// Reads columns.
    pub(super) fn columns(
        &self,
        ids: &[usize],
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Column>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        match &self.of {
            Of::Tree(tree) => crate::read::Plan::new(tree, ids, entries)?.columns_with(progress),
            Of::NTuple(ntuple) => crate::ntuple::columns_with(ntuple, ids, entries, progress),
            Of::Columns(columns) => {
                let held = Selection::try_from(0..self.entries())?;
                let narrowed = |id: &usize| match columns.get(*id) {
                    Some((_, column)) => column
                        .clone()
                        .narrowed(&held, entries)?
                        .ok_or_else(|| Error::unsupported("columns of lists in memory are queried whole")),
                    None => Err(Error::internal("no such column")),
                };
                ids.iter().map(narrowed).collect()
            }
        }
    }

    /// Adds to an error which tree it is about.
    pub(super) fn place(&self, error: Error) -> Error {
        match &self.of {
            Of::Tree(tree) => tree.place(error.in_object(&tree.name)),
            Of::NTuple(ntuple) => ntuple.place(error),
            Of::Columns(_) => error,
        }
    }

    /// The threads and memory of its file.
    pub(super) fn session(&self) -> Option<&crate::Session> {
        match &self.of {
            Of::Tree(tree) => Some(&tree.file().options().session),
            Of::NTuple(ntuple) => Some(&ntuple.file().options().session),
            Of::Columns(_) => None,
        }
    }
}

/// The branch or leaf that a name means, its parts joined by points: the most exact first. Paths, names, leaves, and
/// what stands behind any point of a name; below a branch before all others.
fn in_tree(tree: &Tree, below: Option<BranchId>, name: &str) -> Option<Found> {
    let branches = tree.branches();
    let plain = |branch: &Branch| Found { id: branch.id, member: None };
    let find = |is: &dyn Fn(&Branch) -> bool| branches.iter().find(|branch| is(branch)).map(plain);
    if let Some(above) = below.and_then(|id| branches.get(id)) {
        let inside = |branch: &Branch| {
            branch
                .path
                .strip_prefix(&*above.path)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| is_path(rest, name) || &*branch.name == name)
        };
        if let Some(found) = find(&inside) {
            return Some(found);
        }
    }
    find(&|branch| is_path(&branch.path, name))
        .or_else(|| find(&|branch| &*branch.name == name))
        .or_else(|| find(&|branch| branch.name.trim_end_matches('.') == name))
        .or_else(|| branches.iter().find_map(|branch| in_leaves(branch, name)))
        .or_else(|| find(&|branch| branch.has_data() && has_end(&branch.name, name)))
}

/// The leaf of a branch that a name means, with the branch's name before it or without.
fn in_leaves(branch: &Branch, name: &str) -> Option<Found> {
    if !branch.children.is_empty() {
        return None;
    }
    let behind = name.strip_prefix(&*branch.name).and_then(|rest| rest.strip_prefix('.'));
    let leaf = branch.leaves.iter().find(|leaf| &*leaf.name == name || behind == Some(&leaf.name))?;
    let member = (branch.leaves.len() > 1).then(|| Arc::clone(&leaf.name));
    Some(Found { id: branch.id, member })
}

fn in_ntuple(ntuple: &NTuple, below: Option<FieldId>, name: &str) -> Option<Found> {
    let named = || ntuple.fields().iter().filter(|field| field.is_named);
    let inside = below.and_then(|id| ntuple.fields().get(id)).and_then(|above| {
        named()
            .find(|field| field.path.strip_prefix(&*above.path).and_then(|rest| rest.strip_prefix('.')) == Some(name))
    });
    let found = inside.or_else(|| named().find(|field| &*field.path == name))?;
    Some(Found { id: found.id, member: None })
}

/// Whether a path with slashes is a name with points.
fn is_path(path: &str, name: &str) -> bool {
    path.len() == name.len() && path.bytes().zip(name.bytes()).all(|(a, b)| a == b || a == b'/' && b == b'.')
}

/// Whether a name ends with a point and another name.
fn has_end(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
}
