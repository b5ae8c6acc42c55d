//! A split object as one column: of the type that it has where it is not split, with values from many branches.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::{BufferId, Field, Kind, ListOf};
use crate::error::{Error, Result};
use crate::read::{self, Column, Joined};
use crate::schema::{Detail, Target, TypeName};
use crate::tree::{Branch, BranchId, Tree};

/// A top-level branch as one column, and the branches that it is read from.
#[derive(Debug)]
pub(crate) struct WholeObject {
    /// Those that are read.
    pub(crate) ids: Vec<BranchId>,
    root: Node,
}

/// What is at a place of the type. Columns by their index in the list of branches.
#[derive(Debug)]
enum Node {
    /// Values of a branch.
    Values(usize),
    /// A member of the items of a collection: values of a branch, and the column that counts the items.
    Items(usize, usize),
    /// Items of a collection, whose members are in other branches: the column that counts them.
    List(usize, ListOf, Box<Node>),
    Record(Arc<str>, Vec<Member>),
}

#[derive(Debug)]
struct Member {
    name: Arc<str>,
    is_base: bool,
    node: Node,
}

impl WholeObject {
    /// The values of a branch with all below it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the file does not tell which sub-branch holds which member.
    pub(crate) fn new(tree: &Tree, branch: &Branch) -> Result<Self> {
        let mut finder = Finder { tree, ids: Vec::new() };
        let root = finder.top(branch)?;
        Ok(Self { ids: finder.ids, root })
    }

    /// The values of one branch, without those below it.
    pub(crate) fn of_branch(id: BranchId) -> Self {
        Self { ids: vec![id], root: Node::Values(0) }
    }

    /// The type of the values, with objects in place of pointers.
    ///
    /// # Errors
    ///
    /// What [`declared`](read::declared) refuses, and branches that cannot be read.
    pub(crate) fn kind(&self, tree: &Tree) -> Result<Kind> {
        // Types are known without a row.
        let columns = read::columns(tree, &self.ids, 0..0)?;
        let kinds = self.ids.iter().zip(columns).map(|(&id, column)| {
            if !column.kind.has_pointers() {
                return Ok(column.kind);
            }
            Ok(match read::declared(&column.kind, tree.registry())? {
                Kind::OneOf { mut of, .. } if has_objects(tree, id) && of.len() == 1 => of.swap_remove(0),
                kind => kind,
            })
        });
        self.root.kind(&kinds.collect::<Result<Vec<_>>>()?, &HashMap::new())
    }

    /// The values of entries, from the columns of all branches.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where members of items are more or fewer than the items.
    pub(crate) fn values(&self, tree: &Tree, columns: &[Column]) -> Result<Column> {
        let followed = |(&id, column): (&BranchId, &Column)| match has_objects(tree, id) {
            true => column.followed(),
            false => column.followed_as_options(),
        };
        let columns = self.ids.iter().zip(columns).map(followed).collect::<Result<Vec<_>>>()?;
        if let (Node::Values(0), [column]) = (&self.root, &columns[..]) {
            return Ok(column.clone());
        }
        let mut joined = Joined::default();
        let kinds: Vec<Kind> = columns.iter().map(|column| joined.column(column)).collect();
        let mut ends = HashMap::new();
        self.root.ends(&columns, &mut joined, &mut ends)?;
        let kind = self.root.kind(&kinds, &ends)?;
        Ok(Column::from_buffers(kind, columns.first().map_or(0, |column| column.len), joined.buffers))
    }
}

/// Whether a branch has an object in each entry, of a class that the entry names: none is null.
fn has_objects(tree: &Tree, id: BranchId) -> bool {
    tree.branches().get(id).is_some_and(|branch| &*branch.class == "TBranchObject")
}

impl Node {
    /// Adds where lists begin and end, by the columns that count; every member must have as many items.
    fn ends(&self, columns: &[Column], joined: &mut Joined, ends: &mut HashMap<usize, BufferId>) -> Result<()> {
        let column = |index: usize| columns.get(index).ok_or_else(|| Error::internal("a column was not read"));
        match self {
            Self::Values(_) => Ok(()),
            Self::Items(index, counts) => {
                let offsets = column(*index)?.offsets();
                let mut sizes = offsets.windows(2).map(|pair| pair[1] - pair[0]);
                let counts: &[i32] = column(*counts)?.as_slice()?;
                let are_as_many =
                    offsets.len() == counts.len() + 1 && counts.iter().all(|&count| sizes.next() == Some(count.into()));
                are_as_many.then_some(()).ok_or_else(|| {
                    Error::malformed("members of the items of a collection are not as many as its items")
                })
            }
            Self::List(counts, _, item) => {
                ends.insert(*counts, joined.ends_of(column(*counts)?.as_slice()?)?);
                item.ends(columns, joined, ends)
            }
            Self::Record(_, members) => members.iter().try_for_each(|member| {
                member.node.ends(columns, joined, ends).map_err(|error| error.in_object(&member.name))
            }),
        }
    }

    /// The type, by those of the columns. Without offsets numbers of buffers mean nothing.
    fn kind(&self, kinds: &[Kind], ends: &HashMap<usize, BufferId>) -> Result<Kind> {
        let column = |index: usize| kinds.get(index).ok_or_else(|| Error::internal("a column was not read"));
        Ok(match self {
            Self::Values(index) => column(*index)?.clone(),
            Self::Items(index, _) => match column(*index)? {
                Kind::List { item, .. } => (**item).clone(),
                _ => return Err(Error::internal("a member of items is no list")),
            },
            Self::List(counts, of, item) => {
                let offsets = ends.get(counts).copied().unwrap_or_default();
                Kind::List { offsets, of: *of, item: Box::new(item.kind(kinds, ends)?) }
            }
            Self::Record(class, members) => {
                let field = |member: &Member| {
                    let kind = member.node.kind(kinds, ends)?;
                    Ok(Field { name: Arc::clone(&member.name), kind, base: member.is_base })
                };
                Kind::Record { class: Arc::clone(class), fields: members.iter().map(field).collect::<Result<_>>()? }
            }
        })
    }
}

/// Branches that may hold members, how their names begin, and which column counts the items that the members are of.
#[derive(Clone)]
struct Scope<'t> {
    branches: &'t [BranchId],
    prefixes: Vec<String>,
    counts: Option<usize>,
}

struct Finder<'t> {
    tree: &'t Tree,
    ids: Vec<BranchId>,
}

impl<'t> Finder<'t> {
    fn column(&mut self, branch: &Branch) -> usize {
        self.ids.push(branch.id);
        self.ids.len() - 1
    }

    fn top(&mut self, branch: &'t Branch) -> Result<Node> {
        if branch.children.is_empty() {
            return Ok(Node::Values(self.column(branch)));
        }
        let element = branch.element.as_ref().ok_or_else(|| Error::unsupported("it holds no object of a class"))?;
        let registry = self.tree.registry();
        if element.counts_items() {
            let shape = registry.program(&Target::Value { name: Arc::clone(&element.class_name) });
            return self.items(branch, shape.ok().map(|program| program.kind.clone()).as_ref());
        }
        let target = Target::Members {
            class: Arc::clone(&element.class_name),
            version: Some(element.class_version).filter(|&version| version > 0),
            checksum: Some(element.checksum).filter(|&sum| sum != 0),
        };
        let program = registry.program(&target)?;
        // The name of an object is a part of those below where it ends in a dot.
        let prefix = if branch.name.ends_with('.') { branch.name.to_string() } else { String::new() };
        let scope = Scope { branches: &branch.children, prefixes: vec![prefix], counts: None };
        self.node(&program.kind, &scope)
    }

    /// A collection whose items are split.
    fn items(&mut self, branch: &'t Branch, shape: Option<&Kind>) -> Result<Node> {
        let class = branch.element.as_ref().map(|element| Arc::clone(&element.clones_name)).unwrap_or_default();
        let counts = self.column(branch);
        let prefixes = vec![format!("{}.", branch.name.trim_end_matches('.'))];
        let scope = Scope { branches: &branch.children, prefixes, counts: Some(counts) };
        let (of, item) = match shape {
            Some(Kind::List { of, item, .. }) if matches!(**item, Kind::Record { .. }) => {
                (*of, self.node(item, &scope)?)
            }
            // Of a `TClonesArray`, and of collections of pointers.
            _ => (ListOf::Sequence, self.node(&self.class(class)?, &scope)?),
        };
        Ok(Node::List(counts, of, Box::new(item)))
    }

    fn class(&self, class: Arc<str>) -> Result<Kind> {
        let program = match TypeName::parse(&class)? {
            TypeName::Pair(..) => self.tree.registry().program(&Target::Bare { name: class })?,
            _ => self.tree.registry().program(&Target::Members { class, version: None, checksum: None })?,
        };
        Ok(program.kind.clone())
    }

    /// A record whose members are in branches of their own.
    fn node(&mut self, shape: &Kind, scope: &Scope<'t>) -> Result<Node> {
        let Kind::Record { class, fields } = shape else {
            return Err(Error::unsupported(format!("its sub-branches are not the members of a {shape}")));
        };
        let mut members = Vec::with_capacity(fields.len());
        for field in fields {
            let node = self.member(class, field, scope).map_err(|error| error.in_object(&field.name))?;
            members.push(Member { name: Arc::clone(&field.name), is_base: field.base, node });
        }
        Ok(Node::Record(Arc::clone(class), members))
    }

    fn member(&mut self, class: &str, field: &Field, scope: &Scope<'t>) -> Result<Node> {
        // What has no members has no values either, whatever its branch has.
        if let (Kind::Record { class, .. }, true) = (&field.kind, is_empty(&field.kind)) {
            return Ok(Node::Record(Arc::clone(class), Vec::new()));
        }
        let name = field.name.split('[').next().unwrap_or_default();
        let Some(branch) = self.find(class, name, scope) else {
            let Kind::Record { .. } = &field.kind else {
                return Err(Error::unsupported("no sub-branch holds it"));
            };
            // Members of objects in objects, and those of bases of items, are beside the other members.
            let mut scope = scope.clone();
            if !field.base {
                scope.prefixes.iter_mut().for_each(|prefix| *prefix = format!("{prefix}{name}."));
            }
            return self.node(&field.kind, &scope);
        };
        if branch.children.is_empty() {
            let column = self.column(branch);
            return Ok(scope.counts.map_or(Node::Values(column), |counts| Node::Items(column, counts)));
        }
        if scope.counts.is_some() {
            return Err(Error::unsupported("collections are split within collections"));
        }
        if branch.element.as_ref().is_some_and(|element| element.counts_items()) {
            return self.items(branch, Some(&field.kind));
        }
        let mut prefixes = vec![format!("{}.", branch.name.trim_end_matches('.'))];
        if field.base {
            // Members of a base may lack its name.
            prefixes.extend(scope.prefixes.iter().cloned());
        }
        let scope = Scope { branches: &branch.children, prefixes, counts: None };
        match &field.kind {
            Kind::Pointer { class, .. } => self.node(&self.class(Arc::clone(class))?, &scope),
            kind => self.node(kind, &scope),
        }
    }

    /// The branch of a member of a class. Only several classes with members of one name need a look at the class.
    fn find(&self, class: &str, name: &str, scope: &Scope<'t>) -> Option<&'t Branch> {
        let branches = || scope.branches.iter().filter_map(|&id| self.tree.branches().get(id));
        scope.prefixes.iter().find_map(|prefix| {
            let is_named = |branch: &&Branch| {
                let rest = branch.name.strip_prefix(prefix.as_str());
                rest.is_some_and(|rest| rest.split('[').next().unwrap_or(rest).trim_end_matches('.') == name)
            };
            let is_of_class =
                |branch: &&Branch| branch.element.as_ref().is_some_and(|element| *element.class_name == *class);
            let mut named = branches().filter(is_named);
            let first = named.next();
            let several = named.next().is_some();
            if several { branches().filter(is_named).find(is_of_class) } else { first }
        })
    }
}

/// Whether values of a type have no members at all.
fn is_empty(kind: &Kind) -> bool {
    matches!(kind, Kind::Record { fields, .. } if fields.iter().all(|field| is_empty(&field.kind)))
}

/// Version and checksum of each class in a type, as fields of RNTuples have them.
pub(crate) fn class_versions(tree: &Tree, kind: &Kind, ids: &[BranchId]) -> HashMap<Arc<str>, (u32, u32)> {
    // Of several versions in the file, that of the branches.
    let mut sums: HashMap<&str, u32> = HashMap::new();
    for element in ids.iter().filter_map(|&id| tree.branches().get(id)?.element.as_ref()) {
        sums.insert(&element.class_name, element.checksum);
    }
    let mut found = HashMap::new();
    add_versions(tree, kind, &sums, &mut found);
    found
}

fn add_versions(tree: &Tree, kind: &Kind, sums: &HashMap<&str, u32>, found: &mut HashMap<Arc<str>, (u32, u32)>) {
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => add_versions(tree, item, sums, found),
        Kind::OneOf { of, .. } => of.iter().for_each(|kind| add_versions(tree, kind, sums, found)),
        Kind::Record { class, fields } => {
            if !class.is_empty()
                && !found.contains_key(class)
                && let Some(info) = tree.registry().info(class, None, sums.get(&**class).copied())
            {
                /// Of a class without a `ClassDef`.
                const NO_VERSION: u32 = u32::MAX;
                // Files say 1 of those, too.
                let version = match u32::try_from(info.version) {
                    Ok(version) if version > 1 || is_root_object(tree, class, 0) => version,
                    _ => NO_VERSION,
                };
                found.insert(Arc::clone(class), (version, info.checksum));
            }
            fields.iter().for_each(|field| add_versions(tree, &field.kind, sums, found));
        }
        _ => {}
    }
}

/// Whether a class is `TObject`, or derived from it: it has a `ClassDef` then.
fn is_root_object(tree: &Tree, class: &str, depth: u32) -> bool {
    const DEEPEST: u32 = 60;
    let bases = || {
        let elements = tree.registry().info(class, None, None).map_or(&[][..], |info| &info.elements);
        elements.iter().filter(|element| matches!(element.detail, Detail::Base { .. }))
    };
    class == "TObject" || depth < DEEPEST && bases().any(|base| is_root_object(tree, &base.name, depth + 1))
}
