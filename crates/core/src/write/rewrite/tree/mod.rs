//! A tree written again: other clusters, baskets, compression and order; fewer branches and entries.
//!
//! Source: `TTree::CloneTree`, `TTreeCloner`.

pub(crate) mod compatibility;
pub(crate) mod concat;
pub(crate) mod index;
pub(crate) mod like;
pub(crate) mod prune;
pub(crate) mod recluster;
pub(crate) mod relocate;
pub(crate) mod retype;
pub(crate) mod widen;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::read::{Selection, counters};
use crate::schema::Draft;
use crate::table::Table;
use crate::tree::{Branch, BranchId, Tree};
use crate::write::basket::raw_entries::EntryEncoding;
use crate::write::basket::seal::Sealing;
use crate::write::clustering::Every;
use crate::write::file::compatible::check;
use crate::write::file::compatible::same_rules;
use crate::write::options::{Baskets, Order, TreeOptions};
use crate::write::record::state::{Base, BranchState, TreeState};
use crate::write::rewrite::sort::{IN_ORDER, Sort, SortBy};
use crate::write::rewrite::tree::recluster::{Reseal, bytes_of, stored_bytes};
use crate::write::rewrite::windows::selection;
use crate::write::writer::FileWriter;

/// How a tree is rewritten.
///
/// # Example
///
/// ```
/// use sapwood::write::{Baskets, Order, Rewrite};
/// // As ROOT's `CloneTree("fast SortBasketsByBranch")`: nothing is inflated.
/// let columns = Rewrite { baskets: Baskets::Keep, order: Order::Branch, ..Rewrite::default() };
/// assert!(columns.entries.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    /// New baskets, or those that are there.
    pub baskets: Baskets,
    /// The order in which baskets stand in the file.
    pub order: Order,
    /// Top-level branches that are kept, with their counters; none for all.
    pub branches: Option<Vec<Arc<str>>>,
    /// Entries that are kept, as ascending ranges that do not overlap; none for all.
    pub entries: Option<Vec<Range<u64>>>,
    /// Compression of the new baskets of some branches, by their numbers; it overrides that of the tree.
    pub compression: HashMap<BranchId, Compression>,
    /// Sorts the entries; none to keep their order.
    pub sort: Option<SortBy>,
}

/// A tree that is rewritten, and where it goes.
struct Job<'a> {
    from: &'a File,
    key: &'a Key,
    tree: &'a Arc<Tree>,
    branches: &'a [&'a Branch],
    folder: usize,
    name: &'a str,
    order: Order,
}

impl FileWriter {
    /// Writes a tree of another file again, under the path `to`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a tree or a branch that is not there;
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for entries that are not there or do not rise, for entries chosen of
    /// baskets that are kept, for the order of the file where they are new, and for columns that entries cannot be
    /// sorted by;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for baskets in other files, and, where baskets are new, for those
    /// without offsets, for branches with other entries than their tree, and for objects that refer to each other by
    /// position; what reading a basket or writing reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, Every, FileWriter, Rewrite, TreeOptions, Values, WriteOptions};
    /// # let place = |name: &str| std::env::temp_dir().join(name);
    /// let mut file = FileWriter::recreate(place("sapwood-rewrite-1.root"), WriteOptions::default())?;
    /// let small = TreeOptions { auto_flush: Every::Entries(1), ..TreeOptions::default() };
    /// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::U8)], small)?;
    /// tree.extend(&[("x", Values::from(&[1_u8, 2, 3]))])?;
    /// tree.close()?;
    /// file.close()?;
    /// let from = sapwood::File::open(place("sapwood-rewrite-1.root"))?;
    /// let mut file = FileWriter::recreate(place("sapwood-rewrite-2.root"), WriteOptions::default())?;
    /// file.rewrite(&from, "t", "t", &Rewrite::default())?;
    /// file.close()?;
    /// let tree = sapwood::File::open(place("sapwood-rewrite-2.root"))?.tree("t")?;
    /// assert_eq!((tree.entries, tree.clusters().len()), (3, 1));
    /// # for name in ["sapwood-rewrite-1.root", "sapwood-rewrite-2.root"] { std::fs::remove_file(place(name)).ok(); }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite(&mut self, from: &File, path: &str, to: &str, how: &Rewrite) -> Result<()> {
        self.rewrite_with(from, path, to, how, &|_| None).map(drop)
    }

    /// [`rewrite`](Self::rewrite), where baskets that are kept are compressed again as `again` says: their entries stay
    /// where they are in them. Returns what the tree loses beside entries and branches.
    pub(crate) fn rewrite_with(
        &mut self,
        from: &File,
        path: &str,
        to: &str,
        how: &Rewrite,
        again: &dyn Fn(&Branch) -> Option<Compression>,
    ) -> Result<Vec<String>> {
        let key = from.key(path)?;
        let tree = from.tree_at(&key)?;
        let within = |error: Error| from.name(error).in_object(path);
        let kept = kept_branches(&tree, how.branches.as_deref()).map_err(within)?;
        let branches: Vec<&Branch> =
            tree.branches().iter().filter(|branch| kept.contains(top(&tree, branch))).collect();
        let selection = selection(how.entries.as_deref(), tree.entries).map_err(within)?;
        let mut draft = from.draft_at(&key)?;
        prune::keep_branches(&mut draft, &kept);
        let mut notes = Vec::new();
        if prune::forget_references(&mut draft) {
            notes.push(prune::NO_REFERENCES.to_owned());
        }
        let mut state = self.output.open_state()?;
        let (folder, name) = self.output.folder_of(&mut state, to)?;
        same_rules(from, &state).map_err(|error| error.in_object(to))?;
        drop(state);
        if draft.member("fName").is_some() && name != &*key.name {
            draft.set("fName", name);
        }
        let job = Job { from, key: &key, tree: &tree, branches: &branches, folder, name, order: how.order };
        let outcome = match &how.baskets {
            Baskets::New(_) if how.order == Order::Offset => {
                Err(Error::mismatch("new baskets have no order in the old file: keep those that are there"))
            }
            Baskets::New(_) if how.order != Order::Entry && how.sort.is_some() => {
                Err(Error::mismatch("sorted entries are written cluster by cluster: no other order of baskets"))
            }
            Baskets::New(wish) => self.reseal_noted(&job, &selection, draft, wish, how, &mut notes),
            Baskets::Keep if how.entries.is_some() => {
                Err(Error::mismatch("baskets are kept whole: entries are chosen where they are made anew"))
            }
            Baskets::Keep if how.sort.is_some() => {
                Err(Error::mismatch("baskets that are kept hold their entries in order: sorting takes new ones"))
            }
            Baskets::Keep => self.relocate(&job, draft, again),
        };
        outcome.map(|()| notes).map_err(within)
    }

    /// Entries into new baskets, in their order or in another one. Notes what refers to the old numbers of entries.
    fn reseal_noted(
        &mut self,
        job: &Job<'_>,
        selection: &Selection,
        mut draft: Draft,
        wish: &TreeOptions,
        how: &Rewrite,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let tree = job.tree;
        check(job.branches, tree.entries)?;
        let table = Table::from(tree);
        let session = self.output.options.session.clone();
        let sort = match &how.sort {
            Some(by) => {
                // Each entry has its start in memory, too.
                let all = job.branches.iter().fold(0_u64, |sum, branch| {
                    sum.saturating_add(bytes_of(branch)).saturating_add(tree.entries.saturating_mul(8))
                });
                let part = u128::from(all) * u128::from(selection.len()) / u128::from(tree.entries.max(1));
                Sort::plan(&session, &table, by, selection, part as u64)?
            }
            None => None,
        };
        if how.sort.is_some() && sort.is_none() {
            notes.push(IN_ORDER.to_owned());
        }
        if (selection.len() != tree.entries || sort.is_some()) && prune::forget_index(&mut draft) {
            notes.push(prune::NO_INDEX.to_owned());
        }
        if sort.is_some() && prune::forget_friends(&mut draft) {
            notes.push(prune::no_friends(tree));
        }
        self.reseal(job, selection, sort, draft, wish, &how.compression)
    }

    /// Entries into new baskets.
    fn reseal(
        &mut self,
        job: &Job<'_>,
        selection: &Selection,
        sort: Option<Sort<'_>>,
        mut draft: Draft,
        wish: &TreeOptions,
        own: &HashMap<BranchId, Compression>,
    ) -> Result<()> {
        let Job { from, tree, branches, folder, order, .. } = *job;
        // Each branch keeps its own where none was asked for.
        let of = |branch: &Branch| {
            let asked = own.get(&branch.id).copied().or(wish.compression);
            asked.or_else(|| Compression::from_root(branch.compress))
        };
        let default = self.output.compression;
        let mut written = TreeState::new(folder, job.name.into(), &[], wish.compression.unwrap_or(default), wish)?;
        written.title = Arc::clone(&job.key.title);
        let random_access = wish.random_access.unwrap_or(self.output.options.random_access);
        let counting = counters(tree);
        let found = |branch: &&Branch| {
            let own = of(branch).unwrap_or(default);
            let counts = counting.iter().any(|(counter, _)| *counter == branch.id);
            BranchState {
                counts,
                has_offsets: branch.has_data().then(|| EntryEncoding::of(tree, branch).has_offsets()),
                ..BranchState::found(Arc::clone(&branch.name), branch.has_data(), own)
            }
        };
        written.branches = branches.iter().map(found).collect();
        prune::forget_entries(&mut draft);
        prune::forget_features(&mut draft);
        prune::set_compression(&mut draft, &written.branches);
        written.base = Some(Base { draft, entries: 0, baskets: Some(vec![0; branches.len()]), borders: None });
        written.is_open = false;
        let sealing = Sealing {
            tree: job.name,
            datime: self.output.now(),
            basket_bytes: wish.basket_bytes,
            random_access,
            from_rows: false,
        };
        // Only the source file describes the classes of the branches.
        let infos = from.infos()?.into_iter().map(Arc::new);
        let mut state = self.output.open_state()?;
        let (directory, process_ids) = (state.folder_seek(folder), self.output.process_ids(&mut state, from)?);
        drop(state);
        let cluster_entries = cluster_entries(tree, branches, wish);
        let output = &self.output;
        Reseal { output, from, tree, branches, selection, cluster_entries, order, sealing, directory, process_ids }
            .write(sort, &mut written)?;
        let mut state = self.output.open_state()?;
        state.describe(infos);
        state.trees.push(written);
        Ok(())
    }

    /// Baskets as they are.
    fn relocate(
        &mut self,
        job: &Job<'_>,
        mut draft: Draft,
        again: &dyn Fn(&Branch) -> Option<Compression>,
    ) -> Result<()> {
        let Job { from, key, tree, branches, folder, name, order } = *job;
        let mut baskets = relocate::sealed(tree, branches, order, Some(self.output.now()), again)?;
        let infos = from.infos()?.into_iter().map(Arc::new);
        let mut state = self.output.open_state()?;
        let (directory, process_ids) = (state.folder_seek(folder), self.output.process_ids(&mut state, from)?);
        drop(state);
        let placed = self.output.relocate(from, &mut baskets, directory, process_ids)?;
        prune::settle(&mut draft, branches, &baskets, &placed);
        prune::declare_offsets(&mut draft, tree, branches);
        let mut state = self.output.open_state()?;
        state.describe(infos);
        let key = self.output.copied_key(&state, key, name, process_ids)?;
        let outcome = self.output.write_object(&mut state, folder, key, &Arc::new(draft), None);
        if outcome.is_err() {
            self.output.release_baskets(&mut state, &placed);
        }
        outcome.map(drop)
    }
}

/// Entries of a cluster of a tree that is rewritten with these options.
pub(crate) fn entries_of_cluster(tree: &Tree, wish: &TreeOptions) -> u64 {
    cluster_entries(tree, &tree.branches().iter().collect::<Vec<_>>(), wish)
}

/// Entries per cluster: as requested, or as many as fit the requested bytes.
fn cluster_entries(tree: &Tree, branches: &[&Branch], wish: &TreeOptions) -> u64 {
    let entries = tree.entries.max(1);
    let sum = |of: fn(&Branch) -> u64| branches.iter().fold(0, |sum: u64, branch| sum.saturating_add(of(branch)));
    let of = |bytes: u64, all: u64| {
        let entries = u128::from(entries) * u128::from(bytes) / u128::from(all.max(1));
        u64::try_from(entries).unwrap_or(u64::MAX).max(1)
    };
    let capped = of(wish.cluster_bytes as u64, sum(bytes_of));
    let wanted = match wish.auto_flush {
        Every::Entries(entries) => entries.max(1),
        Every::Bytes(bytes) => of(bytes, sum(stored_bytes)),
        Every::Never => entries,
    };
    wanted.min(capped)
}

/// Name of the top-level branch that a branch is in.
fn top<'t>(tree: &'t Tree, branch: &'t Branch) -> &'t Arc<str> {
    let mut at = branch;
    while let Some(above) = at.parent.and_then(|id| tree.branches().get(id)) {
        at = above;
    }
    &at.name
}

/// The top-level branches that are kept, with their counters; all without a list.
pub(crate) fn kept_branches(tree: &Tree, branches: Option<&[Arc<str>]>) -> Result<HashSet<Arc<str>>> {
    let all = || tree.top().iter().filter_map(|&id| tree.branches().get(id));
    let Some(names) = branches else { return Ok(all().map(|branch| Arc::clone(&branch.name)).collect()) };
    let mut kept: HashSet<Arc<str>> = HashSet::new();
    for name in names {
        if !all().any(|branch| branch.name == *name) {
            return Err(Error::not_found(format!("there is no top-level branch {name:?}")));
        }
        kept.insert(Arc::clone(name));
    }
    for branch in tree.branches().iter().filter(|branch| kept.contains(top(tree, branch))).collect::<Vec<_>>() {
        let counters = branch.leaves.iter().filter_map(|leaf| tree.branches().get(leaf.count?.0));
        kept.extend(counters.map(|counter| Arc::clone(top(tree, counter))));
    }
    Ok(kept)
}
