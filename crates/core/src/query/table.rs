//! Columns by name and number: those of a tree, of an RNTuple, or columns in memory.

use std::ops::Range;
use std::sync::Arc;

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::ntuple::{FieldId, NTuple};
use crate::read::{Column, Progress, Selection, declared};
use crate::schema::Target;
use crate::tree::{Branch, BranchId, ElementBranch, Stepping, Tree, element_kind};

/// What has columns.
#[derive(Clone, Debug)]
pub(super) enum Table {
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

impl Table {
    /// Its entries.
    pub(super) fn entries(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.entries,
            Self::NTuple(ntuple) => ntuple.entries,
            Self::Columns(columns) => columns.first().map_or(1, |(_, column)| column.len as u64),
        }
    }

    /// Whether both are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tree(a), Self::Tree(b)) => Arc::ptr_eq(a, b),
            (Self::NTuple(a), Self::NTuple(b)) => Arc::ptr_eq(a, b),
            (Self::Columns(a), Self::Columns(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The name of the tree or RNTuple.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Tree(tree) => Some(&tree.name),
            Self::NTuple(ntuple) => Some(&ntuple.name),
            Self::Columns(_) => None,
        }
    }

    /// Entries that were written together; none where nothing says so.
    pub(super) fn clusters(&self) -> Result<Vec<Range<u64>>> {
        match self {
            Self::Tree(tree) => Ok(tree.clusters()),
            Self::NTuple(ntuple) => ntuple.clusters(),
            Self::Columns(_) => Ok(Vec::new()),
        }
    }

    /// Expressions that it brings along, by their names.
    pub(super) fn aliases(&self) -> &[(String, String)] {
        match self {
            Self::Tree(tree) => &tree.aliases,
            Self::NTuple(_) | Self::Columns(_) => &[],
        }
    }

    /// The weight of its entries.
    pub(super) fn weight(&self) -> f64 {
        match self {
            Self::Tree(tree) => tree.weight,
            Self::NTuple(_) | Self::Columns(_) => 1.0,
        }
    }

    /// How many values decide on automatic bins, if the tree has such a number.
    pub(super) fn estimate(&self) -> Option<usize> {
        match self {
            Self::Tree(tree) => usize::try_from(tree.estimate).ok(),
            Self::NTuple(_) | Self::Columns(_) => None,
        }
    }

    /// What a name leads to, below a branch or field before all others.
    pub(super) fn find(&self, below: Option<usize>, name: &str) -> Option<Found> {
        match self {
            Self::Tree(tree) => in_tree(tree, below, name),
            Self::NTuple(ntuple) => in_ntuple(ntuple, below, name),
            Self::Columns(columns) => {
                let id = columns.iter().position(|(known, _)| known == name)?;
                Some(Found { id, member: None })
            }
        }
    }

    /// How many columns it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.branches().len(),
            Self::NTuple(ntuple) => ntuple.fields().len(),
            Self::Columns(columns) => columns.len(),
        }
    }

    /// The name of a column, by which it is found in a tree of the same columns.
    pub(super) fn name_of(&self, id: usize) -> Result<String> {
        let lost = || Error::not_found("no such column");
        Ok(match self {
            Self::Tree(tree) => tree.branches().get(id).ok_or_else(lost)?.path.replace('/', "."),
            Self::NTuple(ntuple) => ntuple.fields().get(id).ok_or_else(lost)?.path.to_string(),
            Self::Columns(columns) => columns.get(id).ok_or_else(lost)?.0.clone(),
        })
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Tree(tree) => tree.branches().iter().map(|branch| &*branch.name).collect(),
            Self::NTuple(ntuple) => {
                ntuple.fields().iter().filter(|field| field.is_named).map(|field| &*field.path).collect()
            }
            Self::Columns(columns) => columns.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The type of a column.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
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
            Self::Columns(columns) => {
                columns.get(id).map(|(_, column)| column.kind.clone()).ok_or_else(|| Error::internal("no such column"))
            }
        }
    }

    /// The type of a column with its pointers followed, as far as it does not depend on the values.
    pub(super) fn declared(&self, id: usize) -> Result<Kind> {
        let kind = self.kind(id)?;
        match self {
            Self::Tree(tree) => declared(&kind, tree.registry()).map_err(|error| {
                let path = tree.branches().get(id).map_or("", |branch| &branch.path);
                self.place(error.in_object(path))
            }),
            Self::NTuple(ntuple) if kind.has_pointers() => declared(&kind, &*ntuple.classes()?),
            Self::NTuple(_) | Self::Columns(_) => Ok(kind),
        }
    }

    /// The type of the objects of a class, without those of classes derived from it.
    pub(super) fn objects(&self, class: &Arc<str>) -> Result<Kind> {
        let target = Target::Members { class: Arc::clone(class), version: None, checksum: None };
        let program = match self {
            Self::Tree(tree) => tree.registry().program(&target),
            Self::NTuple(ntuple) => ntuple.classes()?.program(&target),
            Self::Columns(_) => Err(Error::unsupported("columns in memory have no pointers that can be followed")),
        };
        Ok(program.map_err(|error| self.place(error))?.kind.clone())
    }

    /// Whether the values of a column say how many items the columns below it have.
    pub(super) fn is_count(&self, id: usize) -> bool {
        match self {
            Self::Tree(tree) => tree.branches().get(id).is_some_and(|branch| {
                let counts =
                    |element: &ElementBranch| matches!(element.kind, element_kind::CLONES | element_kind::COLLECTION);
                !branch.children.is_empty() && branch.element.as_ref().is_some_and(counts)
            }),
            Self::NTuple(_) | Self::Columns(_) => false,
        }
    }

    /// Bytes of memory that an entry of some columns takes, about.
    pub(super) fn entry_bytes(&self, ids: &[usize]) -> u64 {
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
            Self::Columns(_) => 16 * ids.len() as u64,
        }
    }

    /// Begins an iteration of what is in a file.
    pub(super) fn stepping(&self) -> Option<Stepping> {
        match self {
            Self::Tree(tree) => Some(tree.stepping()),
            Self::NTuple(ntuple) => Some(ntuple.stepping()),
            Self::Columns(_) => None,
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
        match self {
            Self::Tree(tree) => crate::read::Plan::new(tree, ids, entries)?.columns_with(progress),
            Self::NTuple(ntuple) => crate::ntuple::columns_with(ntuple, ids, entries, progress),
            Self::Columns(columns) => {
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

    /// The most bytes that one answer may take.
    pub(super) fn most_bytes(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.file().options().limits.answer_bytes,
            Self::NTuple(ntuple) => ntuple.file().options().limits.answer_bytes,
            Self::Columns(_) => u64::MAX,
        }
    }

    /// Adds to an error which tree it is about.
    pub(super) fn place(&self, error: Error) -> Error {
        match self {
            Self::Tree(tree) => tree.place(error.in_object(&tree.name)),
            Self::NTuple(ntuple) => ntuple.place(error),
            Self::Columns(_) => error,
        }
    }

    /// Whether it is read from a local file.
    pub(super) fn is_near(&self) -> bool {
        let file = match self {
            Self::Tree(tree) => tree.file(),
            Self::NTuple(ntuple) => ntuple.file(),
            Self::Columns(_) => return false,
        };
        file.store().as_file().is_some()
    }

    /// The threads and memory of its file.
    pub(super) fn session(&self) -> Option<&crate::Session> {
        match self {
            Self::Tree(tree) => Some(&tree.file().options().session),
            Self::NTuple(ntuple) => Some(&ntuple.file().options().session),
            Self::Columns(_) => None,
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
        .or_else(|| find(&|branch| is_full_name(branch, name)))
        .or_else(|| find(&|branch| is_member_path(branches, branch, name)))
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

/// Whether a name is what `TBranch::GetFullName` returns: the name of the top branch before that of the branch, which
/// may leave out the branches in between. Extents are not part of it.
fn is_full_name(branch: &Branch, name: &str) -> bool {
    let Some((top, _)) = branch.path.split_once('/') else { return false };
    let own = branch.name.split('[').next().unwrap_or_default();
    if top.ends_with('.') {
        return own == name; // the point makes the name of the branch a part of the names below
    }
    name.strip_prefix(top).and_then(|rest| rest.strip_prefix('.')) == Some(own)
}

/// Whether a name has the members that lead to a branch, as C++ would: members of a base are members of the class.
fn is_member_path(branches: &[Branch], branch: &Branch, name: &str) -> bool {
    let mut at = branch;
    let mut rest = name;
    loop {
        let plain = at.name.trim_end_matches('.');
        let Some(parent) = at.parent.and_then(|id| branches.get(id)) else { return rest == plain };
        if at.element.as_ref().is_none_or(|element| element.kind != element_kind::BASE) {
            let own = plain.split('[').next().and_then(|own| own.rsplit('.').next()).unwrap_or_default();
            let Some(before) = rest.strip_suffix(own).and_then(|before| before.strip_suffix('.')) else { return false };
            rest = before;
        }
        at = parent;
    }
}

/// Whether a name ends with a point and another name.
fn has_end(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
}
