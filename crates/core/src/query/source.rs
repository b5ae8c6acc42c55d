//! Where the values of names come from: a tree, or an RNTuple, and its friends.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::columns::Columns;
use super::loaded::Loaded;
use super::tree_index::TreeIndex;
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::ntuple::NTuple;
use crate::read::{Column, Progress, Selection};
use crate::statistics::ColumnStatistics;
use crate::table::{Found, Table};
use crate::tree::{Stepping, Tree};

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
    columns: Columns,
    /// The branch or field below which names are looked for first.
    below: Option<usize>,
    /// Their columns are numbered after those of the tree, one friend after another.
    friends: Arc<[Friend]>,
}

/// Whose a column is.
enum Owner<'s> {
    Own(usize),
    /// A friend's, by its number there.
    Of(&'s Friend, usize),
}

impl From<&Table> for Source {
    fn from(table: &Table) -> Self {
        Self::of(Columns::Table(table.clone()))
    }
}

impl From<&Arc<Tree>> for Source {
    fn from(tree: &Arc<Tree>) -> Self {
        Self::of(Columns::Table(tree.into()))
    }
}

impl From<&Arc<NTuple>> for Source {
    fn from(ntuple: &Arc<NTuple>) -> Self {
        Self::of(Columns::Table(ntuple.into()))
    }
}

impl Source {
    fn of(columns: Columns) -> Self {
        Self { columns, below: None, friends: Arc::default() }
    }

    /// The same without friends.
    pub(super) fn alone(&self) -> Self {
        Self::of(self.columns.clone())
    }

    /// The same with one more friend.
    pub(super) fn and(self, friend: Friend) -> Self {
        let friends = self.friends.iter().cloned().chain([friend]).collect();
        Self { friends, ..self }
    }

    /// Its friends.
    pub(super) fn friends(&self) -> &[Friend] {
        &self.friends
    }

    /// The same with these friends instead of its own, which have the same names.
    pub(super) fn with_friends(self, friends: Vec<Friend>) -> Self {
        Self { friends: friends.into(), ..self }
    }

    /// Whether a friend has that name.
    pub(super) fn has_friend(&self, name: &str) -> bool {
        self.friends.iter().any(|friend| &*friend.name == name)
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
        Ok(Self::of(Columns::Memory(columns)))
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
        self.columns.entries()
    }

    /// Whether both are the same tree.
    pub(super) fn is(&self, other: &Self) -> bool {
        let is_alone = self.friends.is_empty() && other.friends.is_empty();
        (is_alone || Arc::ptr_eq(&self.friends, &other.friends)) && self.columns.is(&other.columns)
    }

    /// Entries that were written together; none where nothing says so.
    pub(super) fn clusters(&self) -> Result<Vec<Range<u64>>> {
        self.columns.clusters()
    }

    /// Entries in steps whose columns take at most about so many bytes of memory. Steps end with clusters where these
    /// fit, so that no basket is read twice. Where a request costs nothing and one thread does everything with a step,
    /// they are single clusters, if these have enough bytes: their columns stay in the processor's cache.
    pub(super) fn steps(
        &self,
        ids: &[usize],
        entries: &Selection,
        bytes: u64,
        is_alone: bool,
    ) -> Result<Vec<Selection>> {
        /// What a step takes in any case: shorter ones cost more than they gain.
        const LEAST_BYTES: u64 = 1 << 20;
        let clusters = self.columns.clusters()?;
        let entry_bytes = self.entry_bytes(ids).max(1);
        let most = (bytes / entry_bytes).max(1);
        let least = if is_alone && self.columns.is_near() { LEAST_BYTES / entry_bytes } else { most };
        let mut steps = Vec::new();
        let mut done = 0;
        while done < entries.len() {
            let end = done.saturating_add(most).min(entries.len());
            // The first cluster that ends behind the least, or the last one before the most.
            let of = |cluster: Option<&Range<u64>>| Some(entries.before(cluster?.end)).filter(|end| *end > done);
            let first = entries.entry(done.saturating_add(least)).and_then(|entry| {
                of(clusters.get(clusters.partition_point(|cluster| cluster.end < entry))).filter(|border| *border < end)
            });
            let border = first.or_else(|| {
                let next = entries.entry(end)?;
                of(clusters.get(clusters.partition_point(|cluster| cluster.end <= next).checked_sub(1)?))
            });
            let end = border.unwrap_or(end);
            steps.push(entries.part(done..end));
            done = end;
        }
        Ok(steps)
    }

    /// Statistics of a column, or of a member of its records; none for columns of friends.
    pub(super) fn statistics(&self, id: usize, members: &[Arc<str>]) -> Option<Arc<ColumnStatistics>> {
        self.columns.table().filter(|_| self.is_own(id))?.statistics(id, members)
    }

    /// Begins an iteration of its own table and those of its friends: steps carry over what they cut.
    pub(super) fn stepping(&self) -> Stepping {
        let of_friends = self.friends.iter().flat_map(Friend::parts).map(Self::stepping);
        Stepping::joined(self.columns.stepping().into_iter().chain(of_friends))
    }

    /// Whether its own table and those of its friends are in local files.
    pub(super) fn is_near(&self) -> bool {
        self.columns.is_near() && self.friends.iter().filter_map(Friend::first).all(Self::is_near)
    }

    /// Threads that may work on it.
    pub(super) fn threads(&self) -> usize {
        self.session().map_or(1, crate::Session::threads)
    }

    /// The weight of its entries.
    pub(super) fn weight(&self) -> f64 {
        self.columns.table().map_or(1.0, Table::weight)
    }

    /// How many values decide on automatic bins, if the tree has such a number.
    pub(super) fn estimate(&self) -> Option<usize> {
        self.columns.table().and_then(Table::estimate)
    }

    /// Expressions that it brings along, by their names.
    pub(super) fn aliases(&self) -> &[(String, String)] {
        self.columns.table().map_or(&[], Table::aliases)
    }

    /// The expression that a name stands for: an alias of the tree, or of the first friend that has it, with the
    /// friend's name before it or without. Its names are those of the tree, as in `TTree::GetAlias`.
    pub(super) fn alias(&self, name: &str) -> Option<&str> {
        if let Some((_, text)) = self.aliases().iter().find(|(known, _)| known == name) {
            return Some(text);
        }
        self.friends.iter().find_map(|friend| {
            let source = friend.first()?;
            let rest = name.strip_prefix(&*friend.name).and_then(|rest| rest.strip_prefix('.'));
            rest.and_then(|rest| source.alias(rest)).or_else(|| source.alias(name))
        })
    }

    /// What the longest name that the parts begin with leads to, and how many parts it has.
    pub(super) fn find(&self, parts: &[&str]) -> Result<Option<(Found, usize)>> {
        if let Some(found) = self.find_own(parts) {
            return Ok(Some(found));
        }
        // A tree is a friend of its own.
        if let [name, rest @ ..] = parts
            && self.columns.table().map(Table::name) == Some(*name)
            && !self.has_friend(name)
            && let Some((found, used)) = self.find_own(rest)
        {
            return Ok(Some((found, used + 1)));
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

    /// The same in the tree itself.
    fn find_own(&self, parts: &[&str]) -> Option<(Found, usize)> {
        let of = |used| Some((self.columns.find(self.below, &parts[..used].join("."))?, used));
        (1..=parts.len()).rev().find_map(of)
    }

    /// What a name leads to. In quotes it may hold any character.
    pub(super) fn find_exact(&self, name: &str) -> Result<Option<Found>> {
        if let Some(found) = self.columns.find(self.below, name) {
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

    /// A name among the columns of a friend.
    fn find_in(&self, friend: usize, parts: &[&str]) -> Result<Option<(Found, usize)>> {
        let Some(source) = self.friends.get(friend).and_then(Friend::first) else { return Ok(None) };
        Ok(source.find(parts)?.map(|(found, used)| (self.in_friend(friend, found), used)))
    }

    /// What was found in a friend, by its number here.
    fn in_friend(&self, friend: usize, found: Found) -> Found {
        let before: usize = self.friends[..friend].iter().filter_map(Friend::first).map(Self::len).sum();
        Found { id: self.columns.len() + before + found.id, ..found }
    }

    /// Columns, those of friends included.
    fn len(&self) -> usize {
        self.columns.len() + self.friends.iter().filter_map(Friend::first).map(Self::len).sum::<usize>()
    }

    /// Whether a column is of the tree itself.
    pub(super) fn is_own(&self, id: usize) -> bool {
        id < self.columns.len()
    }

    /// Whose a column is.
    fn owner(&self, id: usize) -> Result<Owner<'_>> {
        if self.is_own(id) {
            return Ok(Owner::Own(id));
        }
        let mut first = self.columns.len();
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
        match self.owner(id)? {
            Owner::Own(id) => self.columns.name_of(id),
            Owner::Of(friend, id) => {
                let source = friend.first().ok_or_else(|| Error::not_found("no such column"))?;
                Ok(format!("{}.{}", friend.name, source.name_of(id)?))
            }
        }
    }

    /// The names of its columns, those of friends included.
    pub(super) fn names(&self) -> Vec<Cow<'_, str>> {
        let mut names: Vec<Cow<'_, str>> = self.columns.names().into_iter().map(Cow::from).collect();
        for friend in &*self.friends {
            let of = friend.first().map(Self::names).unwrap_or_default();
            names.extend(of.into_iter().map(|name| format!("{}.{name}", friend.name).into()));
        }
        names
    }

    /// The type of a column.
    pub(super) fn kind(&self, id: usize) -> Result<Kind> {
        match self.owner(id)? {
            Owner::Own(id) => self.columns.stored_kind(id),
            Owner::Of(friend, id) => friend.first().ok_or_else(|| Error::not_found("no such column"))?.kind(id),
        }
    }

    /// The type of a column with its pointers followed, as far as it does not depend on the values.
    pub(super) fn declared(&self, id: usize) -> Result<Kind> {
        match self.owner(id)? {
            Owner::Own(id) => self.columns.kind(id),
            Owner::Of(friend, id) => friend.first().ok_or_else(|| Error::not_found("no such column"))?.declared(id),
        }
    }

    /// The type of a column with its pointers followed, as some entries have it.
    pub(super) fn sampled(&self, id: usize, entries: Range<u64>) -> Result<Kind> {
        match self.owner(id)? {
            Owner::Own(id) => {
                let column = self.columns.read(&[id], &Selection::try_from(entries)?, &mut |_| Ok(()))?;
                let column = column.first().ok_or_else(|| Error::internal("a column was not read"))?;
                Ok(column.followed_as_options()?.kind)
            }
            Owner::Of(friend, id) => {
                let source = friend.first().ok_or_else(|| Error::not_found("no such column"))?;
                let end = entries.end.min(source.entries());
                source.sampled(id, entries.start.min(end)..end)
            }
        }
    }

    /// The type of the objects of a class that pointers of a column are declared with.
    pub(super) fn objects(&self, id: usize, class: &Arc<str>) -> Result<Kind> {
        match self.owner(id)? {
            Owner::Own(_) => self.columns.objects(class),
            Owner::Of(friend, id) => {
                friend.first().ok_or_else(|| Error::not_found("no such column"))?.objects(id, class)
            }
        }
    }

    /// Whether the values of a column say how many items the columns below it have.
    pub(super) fn is_count(&self, id: usize) -> bool {
        match self.owner(id) {
            Ok(Owner::Own(id)) => self.columns.table().is_some_and(|table| table.is_count(id)),
            Ok(Owner::Of(friend, id)) => friend.first().is_some_and(|source| source.is_count(id)),
            Err(_) => false,
        }
    }

    /// Bytes of memory that some entries of some columns take, about.
    pub(super) fn bytes(&self, ids: &[usize], entries: &Selection) -> u64 {
        self.entry_bytes(ids).saturating_mul(entries.len())
    }

    /// Bytes of memory that an entry of some columns takes, about.
    pub(super) fn entry_bytes(&self, ids: &[usize]) -> u64 {
        let (ids, of_friends) = self.by_owner(ids);
        let friends = of_friends.iter().filter_map(|(friend, ids)| Some(friend.first()?.entry_bytes(ids)));
        friends.fold(self.columns.entry_bytes(&ids), u64::saturating_add)
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

    /// Reads columns, each once.
    pub(super) fn columns(
        &self,
        ids: &[usize],
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Loaded>> {
        let (own, friends) = self.by_owner(ids);
        let mut read: Vec<(usize, Loaded)> = Vec::with_capacity(ids.len());
        let whole = |column| Loaded::new(column, None);
        read.extend(own.iter().copied().zip(self.columns.read(&own, entries, progress)?.into_iter().map(whole)));
        let most_bytes = self.columns.most_bytes();
        let mut first = self.columns.len();
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

    /// Adds to an error which tree it is about.
    pub(super) fn place(&self, error: Error) -> Error {
        self.columns.place(error)
    }

    /// The tree, if it is one.
    pub(super) fn tree(&self) -> Option<&Arc<Tree>> {
        match self.columns.table() {
            Some(Table::Tree(tree)) => Some(tree),
            _ => None,
        }
    }

    /// The threads and memory of its file.
    pub(super) fn session(&self) -> Option<&crate::Session> {
        self.columns.session()
    }
}

/// A tree, or trees that follow one another, whose values belong to the entries of another tree: `TTree::AddFriend`.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{Friend, Query, Source};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let source = Source::from(&tree).with_friend(Friend::new("twin", &tree))?;
/// let found = Query::new(source).value("twin.nJet - nJet")?.read(0..tree.entries)?;
/// assert_eq!(found.columns[0].numbers::<i64>()?, [0; 10]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Friend {
    pub(super) name: Arc<str>,
    /// Trees of the same columns, one after another.
    pub(super) parts: Vec<Source>,
    pub(super) join: Join,
}

/// What the two expressions of an index are for entries of a tree.
pub(super) trait Keys: std::fmt::Debug + Send + Sync {
    fn of(&self, entries: &Selection) -> Result<Vec<(i64, i64)>>;
}

/// Which entry of a friend belongs to one of its tree.
#[derive(Clone, Debug)]
pub(super) enum Join {
    /// The one with the same number, counted from this one.
    Entry(u64),
    /// The one for which two expressions have the same values; those of the tree once it is known.
    Index(Arc<TreeIndex>, Option<Arc<dyn Keys>>),
}
