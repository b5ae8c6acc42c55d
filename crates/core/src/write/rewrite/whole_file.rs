//! Rewrites a whole file: trees with new clusters, everything else unchanged.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Compression, CompressionByName, is_like};
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, KeyPath};
use crate::progress;
use crate::tree::{Branch, BranchId};
use crate::write::options::{Baskets, NTupleOptions, Order, Pages};
use crate::write::rewrite::between::Unsupported;
use crate::write::rewrite::figures::Figures;
use crate::write::rewrite::ntuple::NTupleRewrite;
use crate::write::rewrite::sort::{self, IN_ORDER, SortBy};
use crate::write::rewrite::tree::Rewrite;
use crate::write::rewrite::tree::prune;
use crate::write::writer::FileWriter;
use crate::write::writer::update::check_closed;

/// How a file is rewritten. What is said of trees, branches and baskets holds for RNTuples, fields and pages as well.
#[derive(Clone, Debug, Default)]
pub struct Remake {
    /// New baskets for the trees, or the existing ones.
    pub baskets: Baskets,
    /// The order of their baskets.
    pub order: Order,
    /// Paths of the trees that are rewritten; the others are copied as they are. None for all.
    pub trees: Option<Vec<String>>,
    /// Top-level branches that are kept, for each tree by its path; all if it is not listed.
    pub branches: HashMap<String, Vec<Arc<str>>>,
    /// Entries that are kept, as ascending ranges, for each tree by its path; all if it is not listed.
    pub entries: HashMap<String, Vec<Range<u64>>>,
    /// Compression of the new baskets of some branches, by their numbers, for each tree by its path.
    pub compression: HashMap<String, HashMap<BranchId, Compression>>,
    /// What trees and RNTuples become; none to leave them what they are.
    pub to: Option<Format>,
    /// What becomes of values that the other format does not hold.
    pub unsupported: Unsupported,
    /// How RNTuples are written: those that are rewritten into new pages, and those that are made of trees.
    pub pages: NTupleOptions,
    /// Sorts the entries of the trees that are rewritten; none to keep their order.
    pub sort: Option<SortBy>,
}

impl Remake {
    /// Whether the tree at a path is rewritten.
    fn is_named(&self, path: &str) -> bool {
        self.trees.as_ref().is_none_or(|trees| trees.iter().any(|tree| tree.trim_matches('/') == path))
    }

    /// Sets how the new baskets and pages of a file are compressed: by one setting, and branches and fields whose names
    /// are like a pattern by others. A name is a path, the last part of it, or that of the top-level branch.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) for patterns that no branch and no field is like;
    /// [`Mismatch`](ErrorKind::Mismatch) where baskets are kept; those of [`File::tree`] and [`File::ntuple`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::codec::CompressionByName;
    /// use sapwood::write::Remake;
    /// let from = sapwood::File::open(path)?;
    /// let mut how = Remake::default();
    /// how.compress(&from, &CompressionByName::parse(["zstd:5", "x=lz4:4"])?)?;
    /// assert_eq!(how.compression["t"].len(), 1);
    /// assert!(how.compress(&from, &CompressionByName::parse(["Moun_*=lz4"])?).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn compress(&mut self, from: &File, settings: &CompressionByName) -> Result<()> {
        if let Some(general) = settings.general() {
            self.pages.compression = Some(general);
            match &mut self.baskets {
                Baskets::New(options) => options.compression = Some(general),
                Baskets::Keep => return Err(Error::mismatch("baskets that are kept keep their compression")),
            }
        }
        let mut unused: Vec<&str> = settings.patterns().map(|(pattern, _)| pattern).collect();
        if unused.is_empty() {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for found in from.keys(true)?.iter().filter(|found| found.key.has_entries()) {
            if !self.is_named(&found.path) || !seen.insert(&found.path) {
                continue;
            }
            let mut own = HashMap::new();
            let mut take = |id: usize, names: &[&str]| {
                unused.retain(|pattern| !names.iter().any(|name| is_like(pattern, name)));
                own.extend(settings.of(names).map(|setting| (id, setting)));
            };
            if found.key.is_ntuple() {
                let ntuple = from.ntuple(&found.path)?;
                for field in ntuple.fields() {
                    take(field.id, &[&field.path, &field.name, top_of(&field.path, '.')]);
                }
            } else {
                let tree = from.tree(&found.path)?;
                for branch in tree.branches() {
                    take(branch.id, &[&branch.path, &branch.name, top_of(&branch.path, '/')]);
                }
            }
            self.compression.insert(found.path.clone(), own);
        }
        match unused.first() {
            Some(pattern) => Err(from.name(Error::not_found(format!("there is no branch {pattern:?} to compress")))),
            None => Ok(()),
        }
    }
}

/// The first name of a path.
fn top_of(path: &str, between: char) -> &str {
    path.split(between).next().unwrap_or(path)
}

/// How entries are stored.
///
/// # Example
///
/// ```
/// use sapwood::write::Format;
/// assert_eq!("rntuple".parse::<Format>()?, Format::NTuple);
/// assert!("parquet".parse::<Format>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As a `TTree`.
    Tree,
    /// As a `ROOT::RNTuple`.
    NTuple,
}

impl std::str::FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ttree" => Ok(Self::Tree),
            "rntuple" => Ok(Self::NTuple),
            _ => Err(Error::mismatch(format!("entries are stored as ttree or rntuple, not {name:?}"))),
        }
    }
}

/// A tree before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remade {
    /// Its path.
    pub path: String,
    /// What it had.
    pub before: Figures,
    /// What it has now.
    pub after: Figures,
    /// Why its baskets were kept, if new ones could not be made.
    pub kept: Option<String>,
    /// Whether it was an RNTuple.
    pub was_ntuple: bool,
    /// Whether it is one now.
    pub is_ntuple: bool,
    /// How many of its baskets or pages were moved without being inflated, so that damage in them stays unseen; none
    /// with [`WriteOptions::verify`](crate::write::WriteOptions::verify).
    pub unread: u64,
    /// Top-level branches or fields that it has beside those that were chosen, since these need them: as counters.
    pub also_kept: Vec<Arc<str>>,
    /// Whether its entries have another order than before.
    pub reordered: bool,
    /// What it has otherwise than before: names of fields, branches and sets of attributes that were left out, an index
    /// and a table of references that it lacks, and that no entry is left.
    pub notes: Vec<String>,
}

/// Names of the top-level branches or fields of a tree or an RNTuple.
fn top_names(file: &File, key: &Key) -> Result<Vec<Arc<str>>> {
    if key.is_ntuple() {
        let ntuple = file.ntuple_at(key)?;
        let fields = ntuple.top().iter().filter_map(|&id| ntuple.fields().get(id));
        return Ok(fields.map(|field| Arc::clone(&field.name)).collect());
    }
    let tree = file.tree_at(key)?;
    let branches = tree.top().iter().filter_map(|&id| tree.branches().get(id));
    Ok(branches.map(|branch| Arc::clone(&branch.name)).collect())
}

/// Those of a tree or an RNTuple.
fn figures(file: &File, key: &Key) -> Result<Figures> {
    match key.is_ntuple() {
        true => Figures::of_ntuple(&*file.ntuple_at(key)?),
        false => Ok(Figures::of(&*file.tree_at(key)?)),
    }
}

/// Checks the columns to sort by before anything is written.
fn check_sort<'k>(from: &File, by: &SortBy, sorts_all: bool, tables: impl Iterator<Item = &'k KeyPath>) -> Result<()> {
    for found in tables {
        let table = from.table_at(&found.key)?;
        sort::check(&table, by).map_err(|error| {
            let words = format!("{}; name the trees that are sorted, and the others are copied", error.message());
            let error = if sorts_all && error.kind() == ErrorKind::NotFound { error.in_words(words) } else { error };
            from.name(error).in_object(&found.path)
        })?;
    }
    Ok(())
}

/// Notes trees whose friends in this file were sorted: their entries do not belong together any more.
fn note_sorted_friends(from: &File, remade: &mut [Remade]) -> Result<()> {
    let sorted: HashSet<String> = remade.iter().filter(|tree| tree.reordered).map(|tree| tree.path.clone()).collect();
    for tree in remade.iter_mut().filter(|tree| !sorted.is_empty() && !tree.reordered && !tree.was_ntuple) {
        for friend in &from.tree_at(&from.key(&tree.path)?)?.friends {
            let is_here = friend.file.is_empty() || *friend.file == *from.identity().name;
            if is_here && sorted.contains(friend.tree.trim_matches('/')) {
                tree.notes
                    .push(format!("its friend {} was sorted: entries of both no longer belong together", friend.tree));
            }
        }
    }
    Ok(())
}

impl FileWriter {
    /// Writes a file again into this one: its trees rewritten, the newest cycle of each; all other objects copied
    /// unchanged. Closes the file, and reports the trees before and after.
    ///
    /// # Errors
    ///
    /// Those of [`rewrite`](Self::rewrite) and [`copy`](Self::copy); [`NotFound`](crate::ErrorKind::NotFound) for trees
    /// that were named and are not there; [`Malformed`](crate::ErrorKind::Malformed) for a file that is cut off.
    ///
    /// # Example
    ///
    /// ```
    /// # let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// # let new = std::env::temp_dir().join("sapwood-remake.root");
    /// use sapwood::write::{Baskets, FileWriter, Order, Remake, WriteOptions};
    /// let from = sapwood::File::open(old)?;
    /// let how = Remake { baskets: Baskets::Keep, order: Order::Branch, ..Remake::default() };
    /// let writer = FileWriter::recreate(&new, WriteOptions::default())?;
    /// let remade = writer.remake(&from, || sapwood::File::open(&new), &how)?;
    /// assert_eq!(remade[0].before, remade[0].after); // in another order only
    /// # std::fs::remove_file(new).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn remake(mut self, from: &File, reopen: impl FnOnce() -> Result<File>, how: &Remake) -> Result<Vec<Remade>> {
        // The output of an incomplete copy would look whole.
        if from.is_cut_off() {
            check_closed(from)?;
        }
        let keys = from.all_keys()?;
        let mut newest: HashMap<&str, u16> = HashMap::new();
        for found in keys.iter().filter(|found| found.key.has_entries()) {
            let cycle = newest.entry(&found.path).or_insert(found.key.cycle);
            *cycle = found.key.cycle.max(*cycle);
        }
        let named = how
            .trees
            .iter()
            .flatten()
            .chain(how.branches.keys())
            .chain(how.entries.keys())
            .chain(how.compression.keys());
        for path in named {
            if !newest.contains_key(path.trim_matches('/')) {
                return Err(from.name(Error::not_found(format!("there is no tree {path:?}"))));
            }
        }
        let of = |path: &str| path.trim_matches('/').to_owned();
        let branches: HashMap<String, _> = how.branches.iter().map(|(path, kept)| (of(path), kept)).collect();
        let entries: HashMap<String, _> = how.entries.iter().map(|(path, kept)| (of(path), kept)).collect();
        if how.to.is_some() {
            sort::refuse(how.sort.as_ref()).map_err(|error| from.name(error))?;
        }
        // What old versions wrote is read by their rules: give the file the same version.
        self.output.open_state()?.header.version = from.header().version;
        let mut remade = Vec::new();
        // Of each tree, whether nothing in its baskets was inflated.
        let mut are_unread = Vec::new();
        let verify = self.output.options.verify;
        let keeps_baskets = matches!(how.baskets, Baskets::Keep);
        let keeps_compression = match &how.baskets {
            Baskets::New(wish) => wish.compression.is_none(),
            Baskets::Keep => true,
        };
        let mut before = HashMap::new();
        let is_newest = |found: &KeyPath| newest.get(&*found.path) == Some(&found.key.cycle);
        for found in keys.iter().filter(|found| is_newest(found)) {
            before.insert(&*found.path, figures(from, &found.key)?);
        }
        if let Some(by) = &how.sort {
            check_sort(
                from,
                by,
                how.trees.is_none(),
                keys.iter().filter(|found| is_newest(found) && how.is_named(&found.path)),
            )?;
        }
        let (mut done, total) = (0, before.values().fold(0, |sum: u64, one| sum.saturating_add(one.zip_bytes)));
        let mut keys: Vec<_> = keys.iter().collect();
        // Cycles in their order; what was listed first stays first.
        keys.sort_by_key(|found| found.key.cycle);
        for found in keys {
            let path = found.path.as_str();
            if found.key.is_directory() {
                self.mkdir_like(path, &found.key)?;
                continue;
            }
            if !found.key.has_entries() {
                self.copy(from, &format!("{path};{}", found.key.cycle), path)?;
                continue;
            }
            if !is_newest(found) {
                continue;
            }
            let was_ntuple = found.key.is_ntuple();
            let is_named = how.is_named(path);
            let mut one = Remade {
                path: path.to_owned(),
                before: before.get(path).copied().unwrap_or_default(),
                after: Figures::default(),
                kept: None,
                was_ntuple,
                is_ntuple: was_ntuple,
                unread: 0,
                also_kept: Vec::new(),
                reordered: false,
                notes: Vec::new(),
            };
            let (branches, entries) = (branches.get(path).copied().cloned(), entries.get(path).copied().cloned());
            let own = how.compression.iter().find(|(tree, _)| tree.trim_matches('/') == path);
            let compression = own.map(|(_, own)| own.clone()).unwrap_or_default();
            let keeps_own = keeps_compression && compression.is_empty();
            let write = || {
                match (was_ntuple, how.to.filter(|_| is_named)) {
                    _ if !is_named => one.notes = self.copy_noted(from, path)?,
                    (false, Some(Format::NTuple)) => {
                        let (pages, order) = (Pages::New(how.pages.clone()), how.order);
                        let one_ntuple =
                            NTupleRewrite { pages, order, fields: branches, entries, compression, sort: None };
                        one.notes = self.rewrite_as_ntuple(from, path, path, &one_ntuple, how.unsupported)?;
                        one.is_ntuple = true;
                    }
                    (true, Some(Format::Tree)) => {
                        let (baskets, order) = (how.baskets.clone(), how.order);
                        let one_tree = Rewrite { baskets, order, branches, entries, compression, sort: None };
                        one.notes = self.rewrite_as_tree(from, path, path, &one_tree, how.unsupported)?;
                        one.is_ntuple = false;
                    }
                    (true, _) => {
                        let pages = match &how.baskets {
                            Baskets::New(_) => Pages::New(how.pages.clone()),
                            Baskets::Keep => Pages::Keep,
                        };
                        let order = how.order;
                        let sort = how.sort.clone();
                        let how = NTupleRewrite { pages, order, fields: branches, entries, compression, sort };
                        (one.kept, one.notes) = self.rewrite_ntuple_or_keep(from, &found.key, path, how)?;
                    }
                    (false, _) => {
                        let (baskets, order) = (how.baskets.clone(), how.order);
                        let sort = how.sort.clone();
                        let how = Rewrite { baskets, order, branches, entries, compression, sort };
                        (one.kept, one.notes) = self.rewrite_or_keep(from, path, how)?;
                    }
                }
                Ok(())
            };
            progress::part(done, one.before.zip_bytes, total, write)?;
            done += one.before.zip_bytes;
            one.reordered = how.sort.is_some() && is_named && !one.notes.iter().any(|note| note == IN_ORDER);
            let is_kept = keeps_baskets && how.to.is_none() || one.kept.is_some() && keeps_own;
            are_unread.push(!verify && (!is_named || is_kept));
            remade.push(one);
        }
        note_sorted_friends(from, &mut remade)?;
        self.close()?;
        let file = reopen()?;
        for (tree, is_unread) in remade.iter_mut().zip(are_unread) {
            let key = file.key(&tree.path)?;
            tree.after = figures(&file, &key)?;
            if let Some(chosen) = branches.get(&tree.path) {
                let chosen: HashSet<&Arc<str>> = chosen.iter().collect();
                let before: HashSet<Arc<str>> = top_names(from, &from.key(&tree.path)?)?.into_iter().collect();
                let others = top_names(&file, &key)?.into_iter();
                tree.also_kept = others.filter(|name| before.contains(name) && !chosen.contains(name)).collect();
            }
            if entries.contains_key(&tree.path) && tree.after.entries == 0 && tree.before.entries > 0 {
                tree.notes.push(format!("none of its {} entries is left", tree.before.entries));
            }
            tree.unread = if is_unread { tree.after.baskets } else { 0 };
        }
        Ok(remade)
    }

    /// Copies a tree or an RNTuple as it is. Returns what it lacks.
    fn copy_noted(&mut self, from: &File, path: &str) -> Result<Vec<String>> {
        let key = from.key(path)?;
        let lacks = key.is_tree() && prune::has_references(&*from.tree_at(&key)?);
        self.copy(from, path, path)?;
        Ok(if lacks { vec![prune::NO_REFERENCES.to_owned()] } else { Vec::new() })
    }

    /// Loses nothing: an RNTuple with fields that cannot be read keeps its pages. Returns the reason, and what it
    /// lacks.
    fn rewrite_ntuple_or_keep(
        &mut self,
        from: &File,
        key: &Key,
        to: &str,
        how: NTupleRewrite,
    ) -> Result<(Option<String>, Vec<String>)> {
        let reason = match self.rewrite_ntuple_at(from, key, to, &how, None) {
            Err(error) if error.kind() == ErrorKind::Unsupported && how.entries.is_none() && how.sort.is_none() => {
                error
            }
            outcome => return outcome.map(|notes| (None, notes)),
        };
        let Pages::New(options) = &how.pages else { return Err(reason) };
        let kept = NTupleRewrite { pages: Pages::Keep, ..how.clone() };
        let notes = self.rewrite_ntuple_at(from, key, to, &kept, options.compression)?;
        Ok((Some(reason.to_string()), notes))
    }

    /// Loses no branch: a tree whose entries cannot be moved keeps its baskets. Returns the reason, and what it lacks.
    fn rewrite_or_keep(&mut self, from: &File, path: &str, how: Rewrite) -> Result<(Option<String>, Vec<String>)> {
        let reason = match self.rewrite_with(from, path, path, &how, &|_| None) {
            Err(error) if error.kind() == ErrorKind::Unsupported && how.entries.is_none() && how.sort.is_none() => {
                error
            }
            outcome => return outcome.map(|notes| (None, notes)),
        };
        let outcome = match &how.baskets {
            // Compression needs no entry to be moved: it is what was asked for all the same.
            Baskets::New(wish) => {
                let again = |branch: &Branch| how.compression.get(&branch.id).copied().or(wish.compression);
                let kept = Rewrite { baskets: Baskets::Keep, ..how.clone() };
                self.rewrite_with(from, path, path, &kept, &again)
            }
            Baskets::Keep => Err(reason.clone()),
        };
        let notes = match outcome {
            // Baskets in the tree's record that cannot get their own records stay in it.
            Err(error) if error.kind() == ErrorKind::Unsupported && how.branches.is_none() => {
                self.copy_noted(from, path)?
            }
            outcome => outcome?,
        };
        Ok((Some(reason.to_string()), notes))
    }
}
