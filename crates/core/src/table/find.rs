//! Names in a table and their meanings, the most exact first.

use std::sync::Arc;

use super::Table;
use crate::ntuple::{FieldId, NTuple};
use crate::tree::{Branch, BranchId, Tree, element_kind};

/// The column that a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// The number of the branch or field.
    pub(crate) id: usize,
    /// The member of its records that is meant.
    pub(crate) member: Option<Arc<str>>,
}

impl Table {
    /// The meaning of a name in an expression, below a branch or field before all others.
    pub(crate) fn named(&self, below: Option<usize>, name: &str) -> Option<Found> {
        match self {
            Self::Tree(tree) => in_tree(tree, below, name),
            Self::NTuple(ntuple) => in_ntuple(ntuple, below, name),
        }
    }
}

/// The branch or leaf that a name means, its parts joined by points: the most exact first. Paths, names, leaves, and
/// what follows any point of a name; below a branch before all others.
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
