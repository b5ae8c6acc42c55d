//! Where the values of names come from: a tree, or an RNTuple, and its friends.

use std::borrow::Cow;
use std::sync::Arc;

use super::friend::Friend;

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
    /// Their columns are numbered after those of the tree, one friend after another.
    friends: Arc<[Friend]>,
}

#[derive(Clone, Debug)]
enum Of {
    Tree(Arc<Tree>),
    NTuple(Arc<NTuple>),
    Columns(Arc<[(String, Column)]>),
}

/// A column that was read.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) column: Column,
    /// Which rows are there; all of them if it is missing. A row lacks where a friend has no entry for it.
    pub(super) present: Option<Arc<[bool]>>,
}

/// Whose a column is.
enum Owner<'s> {
    Own(usize),
    /// A friend's, by its number there.
    Of(&'s Friend, usize),
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
        Self::of(Of::Tree(Arc::clone(tree)))
    }
}

impl From<&Arc<NTuple>> for Source {
    fn from(ntuple: &Arc<NTuple>) -> Self {
        Self::of(Of::NTuple(Arc::clone(ntuple)))
    }
}

impl Source {
    fn of(of: Of) -> Self {
        Self { of, below: None, friends: Arc::default() }
    }

    /// The same with a friend, whose columns are `name.column`, or `column` where no other has that name.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) for a second friend of a name, and for a friend by index those of
    /// [`Query::value`](super::Query::value): the tree must have what the index is of.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Draw, Friend, Source};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let source = Source::from(&tree).with_friend(Friend::new("other", &tree))?;
    /// assert!(Draw::new(source, "other.Jet_pt", "nJet > 2")?.run(0..10)?.entries() > 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_friend(self, friend: Friend) -> Result<Self> {
        if self.friends.iter().any(|other| other.name == friend.name) {
            let words = format!("there is a friend {:?} already: give this one another name", friend.name);
            return Err(self.place(Error::new(crate::ErrorKind::Exists, words)));
        }
        let friend = friend.of(&Self::of(self.of.clone()))?;
        let friends = self.friends.iter().cloned().chain([friend]).collect();
        Ok(Self { friends, ..self })
    }

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
        Ok(Self::of(Of::Columns(columns)))
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
        Self { below: Some(id), ..self.clone() }
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
        let is_alone = self.friends.is_empty() && other.friends.is_empty();
        if !is_alone && !Arc::ptr_eq(&self.friends, &other.friends) {
            return false;
        }
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
    pub(super) fn find(&self, parts: &[&str]) -> Result<Option<(Found, usize)>> {
        for used in (1..=parts.len()).rev() {
            if let Some(found) = self.find_own(&parts[..used].join(".")) {
                return Ok(Some((found, used)));
            }
        }
        if let [name, rest @ ..] = parts
            && let Some(friend) = self.friends.iter().position(|friend| &*friend.name == *name)
            && let Some((found, used)) = self.find_in(friend, rest)?
        {
            return Ok(Some((found, used + 1)));
        }
        let mut all = Vec::new();
        for friend in 0..self.friends.len() {
            all.extend(self.find_in(friend, parts)?.map(|found| (friend, found)));
        }
        match &all[..] {
            [] => Ok(None),
            [(_, one)] => Ok(Some(one.clone())),
            many => {
                let names: Vec<String> = many
                    .iter()
                    .map(|(friend, _)| format!("{}.{}", self.friends[*friend].name, parts.join(".")))
                    .collect();
                let words = format!("several friends have {:?}: write {}", parts.join("."), names.join(" or "));
                Err(self.place(Error::mismatch(words)))
            }
        }
    }

    /// What a name leads to. In quotes it may hold any character.
    pub(super) fn find_exact(&self, name: &str) -> Result<Option<Found>> {
        if let Some(found) = self.find_own(name) {
            return Ok(Some(found));
        }
        if let Some((friend, rest)) = name.split_once('.')
            && let Some(place) = self.friends.iter().position(|known| &*known.name == friend)
            && let Some(source) = self.friends[place].first()
            && let Some(found) = source.find_exact(rest)?
        {
            return Ok(Some(self.in_friend(place, found)));
        }
        Ok(self.find(&[name])?.map(|(found, _)| found))
    }

    /// A name among the columns of the tree itself.
    fn find_own(&self, name: &str) -> Option<Found> {
        match &self.of {
            Of::Tree(tree) => in_tree(tree, self.below, name),
            Of::NTuple(ntuple) => in_ntuple(ntuple, self.below, name),
            Of::Columns(columns) => {
                let id = columns.iter().position(|(known, _)| known == name)?;
                Some(Found { id, member: None })
            }
        }
    }

    /// A name among the columns of a friend.
    fn find_in(&self, friend: usize, parts: &[&str]) -> Result<Option<(Found, usize)>> {
        let Some(source) = self.friends.get(friend).and_then(Friend::first) else { return Ok(None) };
        Ok(source.find(parts)?.map(|(found, used)| (self.in_friend(friend, found), used)))
    }

    /// What was found in a friend, by its number here.
    fn in_friend(&self, friend: usize, found: Found) -> Found {
        let before: usize = self.friends[..friend].iter().filter_map(Friend::first).map(Self::len).sum();
        Found { id: self.own_len() + before + found.id, ..found }
    }

    /// Columns of the tree itself.
    fn own_len(&self) -> usize {
        match &self.of {
            Of::Tree(tree) => tree.branches().len(),
            Of::NTuple(ntuple) => ntuple.fields().len(),
            Of::Columns(columns) => columns.len(),
        }
    }

    /// Columns, those of friends included.
    fn len(&self) -> usize {
        self.own_len() + self.friends.iter().filter_map(Friend::first).map(Self::len).sum::<usize>()
    }

    /// Whether a column is of the tree itself.
    pub(super) fn is_own(&self, id: usize) -> bool {
        id < self.own_len()
    }

    /// Whose a column is.
    fn owner(&self, id: usize) -> Result<Owner<'_>> {
        if self.is_own(id) {
            return Ok(Owner::Own(id));
        }
        let mut first = self.own_len();
        for friend in &*self.friends {
            let len = friend.first().map_or(0, Self::len);
            if id - first < len {
                return Ok(Owner::Of(friend, id - first));
            }
            first += len;
        }
        Err(Error::not_found("no such column"))
    }

    /// The name of a column, by which it is found in a tree of the same columns.
    pub(super) fn name_of(&self, id: usize) -> Result<String> {
        let lost = || Error::not_found("no such column");
        Ok(match (self.owner(id)?, &self.of) {
            (Owner::Of(friend, id), _) => {
                format!("{}.{}", friend.name, friend.first().ok_or_else(lost)?.name_of(id)?)
            }
            (Owner::Own(id), Of::Tree(tree)) => tree.branches().get(id).ok_or_else(lost)?.path.replace('/', "."),
            (Owner::Own(id), Of::NTuple(ntuple)) => ntuple.fields().get(id).ok_or_else(lost)?.path.to_string(),
            (Owner::Own(id), Of::Columns(columns)) => columns.get(id).ok_or_else(lost)?.0.clone(),
        })
    }

    /// The names of its columns, those of friends included.
    pub(super) fn names(&self) -> Vec<Cow<'_, str>> {
        let mut names: Vec<Cow<'_, str>> = match &self.of {
            Of::Tree(tree) => tree.branches().iter().map(|branch| (&*branch.name).into()).collect(),
            Of::NTuple(ntuple) => {
                ntuple.fields().iter().filter(|field| field.is_named).map(|field| (&*field.path).into()).collect()
            }
            Of::Columns(columns) => columns.iter().map(|(name, _)| name.as_str().into()).collect(),
        };
        for friend in &*self.friends {
            let of = friend.first().map(Self::names).unwrap_or_default();
            names.extend(of.into_iter().map(|name| format!("{}.{name}", friend.name).into()));
        }
        names
    }

    /// The type of a column.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
        if let Owner::Of(friend, id) = self.owner(id)? {
            return friend.kind(id);
        }
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
        if let Ok(Owner::Of(friend, id)) = self.owner(id) {
            return friend.first().is_some_and(|source| source.is_count(id));
        }
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
        let (ids, of_friends) = self.by_owner(ids);
        let friends = of_friends.iter().filter_map(|(friend, ids)| Some(friend.first()?.entry_bytes(ids)));
        friends.fold(self.own_entry_bytes(&ids), u64::saturating_add)
    }

    /// Columns of the tree itself, and those of each friend by their numbers there.
    fn by_owner(&self, ids: &[usize]) -> (Vec<usize>, Vec<(&Friend, Vec<usize>)>) {
        let (mut own, mut friends) = (Vec::new(), Vec::<(&Friend, Vec<usize>)>::new());
        for &id in ids {
            match self.owner(id) {
                Ok(Owner::Own(id)) => own.push(id),
                Ok(Owner::Of(friend, id)) => match friends.iter_mut().find(|(known, _)| known.name == friend.name) {
                    Some((_, ids)) => ids.push(id),
                    None => friends.push((friend, vec![id])),
                },
                Err(_) => {}
            }
        }
        (own, friends)
    }

    fn own_entry_bytes(&self, ids: &[usize]) -> u64 {
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

    /// Reads columns, each once.
    pub(super) fn columns(
        &self,
        ids: &[usize],
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Loaded>> {
        let (own, friends) = self.by_owner(ids);
        let mut read: Vec<(usize, Loaded)> = Vec::with_capacity(ids.len());
        let whole = |column| Loaded { column, present: None };
        read.extend(own.iter().copied().zip(self.own_columns(&own, entries, progress)?.into_iter().map(whole)));
        let most_bytes = match &self.of {
            Of::Tree(tree) => tree.file().options().limits.answer_bytes,
            Of::NTuple(ntuple) => ntuple.file().options().limits.answer_bytes,
            Of::Columns(_) => u64::MAX,
        };
        let mut first = self.own_len();
        for friend in &*self.friends {
            if let Some((_, wanted)) = friends.iter().find(|(known, _)| known.name == friend.name) {
                let found = friend.columns(wanted, entries, most_bytes, progress)?;
                read.extend(wanted.iter().map(|id| first + id).zip(found));
            }
            first += friend.first().map_or(0, Self::len);
        }
        let of = |id: &usize| read.iter().find(|(known, _)| known == id).map(|(_, loaded)| loaded.clone());
        ids.iter().map(|id| of(id).ok_or_else(|| Error::internal("a column was not read"))).collect()
    }

    fn own_columns(
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
