//! Which branches have the members of an object, and their columns as one.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::members::all_names;
use crate::column::{Field, Kind, ListOf};
use crate::error::{Error, Result};
use crate::read::{Column, Joined, columns};
use crate::schema::Detail;
use crate::tree::{Branch, BranchId, Tree, element_kind};
use crate::write::Type;

/// The branches that a type is read from.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Those that are read.
    pub(super) ids: Vec<BranchId>,
    root: Node,
}

/// The meaning of a branch, or of a part of its name. Columns by their index in the list.
#[derive(Clone, Debug)]
enum Node {
    /// Values of its own.
    Column(usize),
    /// Members, each in a branch or more.
    Members(Arc<str>, Vec<Part>),
    /// Items of a collection, each member in a branch or more; first how many they are.
    Items(usize, Arc<str>, Vec<Part>),
}

/// A member.
#[derive(Clone, Debug)]
struct Part {
    name: Arc<str>,
    is_base: bool,
    node: Node,
}

impl Layout {
    /// The parts of a branch that a type may need: members that are not requested are not read. Without a name the
    /// tree's own branches are the members.
    pub(super) fn new(tree: &Tree, name: &str, wanted: &Type) -> Result<Self> {
        let mut names = HashSet::new();
        all_names(wanted, &mut names);
        let mut finder = Finder { tree, names, ids: Vec::new() };
        let root = if name.is_empty() {
            Node::Members("".into(), finder.parts(tree.top(), &[String::new()])?)
        } else {
            let branch = tree.branch(name)?;
            // The name of a whole object is a part of those below only where it ends in a dot, that of a member always.
            let is_part = branch.name.ends_with('.') || branch.parent.is_some();
            let prefix = format!("{}.", branch.name.trim_end_matches('.'));
            let prefixes: &[String] = if is_part { &[prefix, String::new()] } else { &[String::new()] };
            finder.node(branch, prefixes)?
        };
        Ok(Self { ids: finder.ids, root })
    }

    /// Reads entries.
    pub(super) fn read(&self, tree: &Tree, entries: Range<u64>) -> Result<(Kind, Joined)> {
        let columns = columns(tree, &self.ids, entries)?;
        let mut joined = Members { columns: &columns, whole: Joined::default() };
        let kind = joined.kind(&self.root, None)?;
        Ok((kind, joined.whole))
    }
}

struct Finder<'t> {
    tree: &'t Tree,
    /// Names of members that any type may ask for.
    names: HashSet<&'t str>,
    ids: Vec<BranchId>,
}

impl Finder<'_> {
    fn column(&mut self, branch: &Branch) -> Result<usize> {
        self.tree.interpretation(branch.id)?;
        self.ids.push(branch.id);
        Ok(self.ids.len() - 1)
    }

    fn node(&mut self, branch: &Branch, prefixes: &[String]) -> Result<Node> {
        if branch.children.is_empty() {
            return self.column(branch).map(Node::Column);
        }
        match &branch.element {
            Some(element) if element.counts_items() => {
                let counts = self.column(branch)?;
                let inner = format!("{}.", branch.name.trim_end_matches('.'));
                let parts = self.parts(&branch.children, &[inner])?;
                Ok(Node::Items(counts, Arc::clone(&element.clones_name), parts))
            }
            element => {
                let class = element.as_ref().map_or_else(|| "".into(), |element| Arc::clone(&element.class_name));
                Ok(Node::Members(class, self.parts(&branch.children, prefixes)?))
            }
        }
    }

    /// The members that branches hold, by the rest of their names after one of the prefixes.
    fn parts(&mut self, branches: &[BranchId], prefixes: &[String]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        for branch in branches.iter().filter_map(|&id| self.tree.branches().get(id)) {
            let prefix = prefixes.iter().find(|prefix| branch.name.starts_with(prefix.as_str()));
            let name = &branch.name[prefix.map_or(0, String::len)..];
            let path: Vec<&str> = name.split('[').next().unwrap_or(name).trim_end_matches('.').split('.').collect();
            let is_base = self.is_base(branch);
            if !is_base && !path.iter().all(|name| self.names.contains(name)) {
                continue;
            }
            let mut inner = vec![format!("{}.", branch.name.trim_end_matches('.'))];
            if is_base {
                // Members of a base may lack its name, but not that of the object that it is a base of.
                let own = branch.name.trim_end_matches('.');
                inner.push(own.rfind('.').and_then(|dot| own.get(..=dot)).unwrap_or_default().to_owned());
                inner.extend(prefixes.iter().cloned());
            }
            let node = match self.node(branch, &inner) {
                // Its content may not be requested.
                Err(_) if is_base && branch.children.is_empty() => continue,
                node => node?,
            };
            insert(&mut parts, &path, is_base, node);
        }
        Ok(parts)
    }

    fn is_base(&self, branch: &Branch) -> bool {
        let Some(element) = &branch.element else { return false };
        if element.kind == element_kind::BASE {
            return true;
        }
        let (version, sum) = (Some(element.class_version), Some(element.checksum));
        let info = self.tree.registry().info(&element.class_name, version, sum);
        let member = info.and_then(|info| info.elements.get(usize::try_from(element.id).ok()?));
        member.is_some_and(|member| matches!(member.detail, Detail::Base { .. }))
    }
}

/// Adds a member of members.
fn insert(parts: &mut Vec<Part>, path: &[&str], is_base: bool, node: Node) {
    match path {
        [] => {}
        [name] => parts.push(Part { name: (*name).into(), is_base, node }),
        [name, rest @ ..] => {
            let at = parts.iter().position(|part| &*part.name == *name).unwrap_or_else(|| {
                parts.push(Part { name: (*name).into(), is_base: false, node: Node::Members("".into(), Vec::new()) });
                parts.len() - 1
            });
            if let Some(Part { node: Node::Members(_, below) | Node::Items(_, _, below), .. }) = parts.get_mut(at) {
                insert(below, rest, is_base, node);
            }
        }
    }
}

struct Members<'c> {
    columns: &'c [Column],
    whole: Joined,
}

impl Members<'_> {
    /// The type of a node; `ends` are the offsets of the items that it is a member of.
    fn kind(&mut self, node: &Node, ends: Option<&Bytes>) -> Result<Kind> {
        let column = |index: usize| self.columns.get(index).ok_or_else(|| Error::malformed("a column was not read"));
        match node {
            Node::Column(index) => {
                let column = column(*index)?.clone();
                let kind = self.whole.column(&column);
                let Some(ends) = ends else { return Ok(kind) };
                match (&column.kind, kind) {
                    (Kind::List { offsets, .. }, Kind::List { item, .. }) if column.buffer(*offsets) == *ends => {
                        Ok(*item)
                    }
                    _ => Err(Error::malformed("members of a collection's items are not as many as the items")),
                }
            }
            Node::Members(class, parts) => self.record(class, parts, ends),
            Node::Items(..) if ends.is_some() => Err(Error::unsupported("collections are split within collections")),
            Node::Items(counts, class, parts) => {
                let offsets = self.whole.ends_of(column(*counts)?.as_slice()?)?;
                let ends = self.whole.buffers.get(offsets as usize).cloned().unwrap_or_default();
                let item = self.record(class, parts, Some(&ends))?;
                Ok(Kind::List { offsets, of: ListOf::Sequence, item: Box::new(item) })
            }
        }
    }

    fn record(&mut self, class: &Arc<str>, parts: &[Part], ends: Option<&Bytes>) -> Result<Kind> {
        let mut field = |part: &Part| {
            let kind = self.kind(&part.node, ends).map_err(|error| error.in_object(&part.name))?;
            Ok(Field { name: Arc::clone(&part.name), kind, base: part.is_base })
        };
        let fields = parts.iter().map(&mut field).collect::<Result<_>>()?;
        Ok(Kind::Record { class: Arc::clone(class), fields })
    }
}
