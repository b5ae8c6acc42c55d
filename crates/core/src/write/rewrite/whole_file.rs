//! Rewrites a whole file: trees with new clusters, everything else unchanged.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Compression;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::ntuple::NTuple;
use crate::tree::{Branch, BranchId, Tree};
use crate::write::options::{Baskets, NTupleOptions, Order};
use crate::write::rewrite::Rewrite;
use crate::write::writer::FileWriter;

/// How a file is rewritten.
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
    /// Trees become RNTuples that are written like this; none to keep them trees.
    pub ntuples: Option<NTupleOptions>,
}

/// What a tree has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries.
    pub entries: u64,
    /// Baskets of all branches.
    pub baskets: u64,
    /// Clusters.
    pub clusters: u64,
    /// Compressed bytes.
    pub zip_bytes: u64,
    /// Bytes before compression.
    pub tot_bytes: u64,
}

impl Figures {
    /// Those of a tree.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::write::Figures;
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// assert_eq!(Figures::of(&tree).clusters, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of(tree: &Tree) -> Self {
        let branches = tree.branches().iter().filter(|branch| branch.has_data());
        Self {
            entries: tree.entries,
            baskets: branches.map(|branch| branch.baskets().len() as u64).sum(),
            clusters: tree.clusters().len() as u64,
            zip_bytes: tree.zip_bytes,
            tot_bytes: tree.tot_bytes,
        }
    }

    /// Those of an RNTuple, where baskets are pages.
    fn of_ntuple(ntuple: &NTuple) -> Result<Self> {
        let clusters = ntuple.clusters()?.len() as u64;
        let mut figures = Self { entries: ntuple.entries, clusters, ..Self::default() };
        for &id in ntuple.top() {
            let bytes = ntuple.field_bytes(id)?;
            figures.baskets += bytes.pages;
            figures.zip_bytes = figures.zip_bytes.saturating_add(bytes.stored);
            figures.tot_bytes = figures.tot_bytes.saturating_add(bytes.inflated);
        }
        Ok(figures)
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
    /// Whether it is an RNTuple now.
    pub is_ntuple: bool,
    /// What an RNTuple has otherwise than its tree: names of fields, branches that were left out.
    pub notes: Vec<String>,
}

impl FileWriter {
    /// Writes a file again into this one: its trees rewritten, the newest cycle of each; all other objects copied
    /// unchanged. Closes the file, and reports the trees before and after.
    ///
    /// # Errors
    ///
    /// Those of [`rewrite`](Self::rewrite) and [`copy`](Self::copy); [`NotFound`](crate::ErrorKind::NotFound) for trees that were
    /// named and are not there.
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
        let keys = from.all_keys()?;
        let mut newest: HashMap<&str, u16> = HashMap::new();
        for found in keys.iter().filter(|found| found.key.is_tree()) {
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
        // What old versions wrote is read by their rules: give the file the same version.
        self.output.open_state()?.header.version = from.header().version;
        let mut remade = Vec::new();
        let mut keys: Vec<_> = keys.iter().collect();
        // Cycles in their order; what was listed first stays first.
        keys.sort_by_key(|found| found.key.cycle);
        for found in keys {
            let path = found.path.as_str();
            if found.key.is_directory() {
                self.mkdir(path)?;
                continue;
            }
            if !found.key.is_tree() {
                self.copy(from, &format!("{path};{}", found.key.cycle), path)?;
                continue;
            }
            if newest.get(path) != Some(&found.key.cycle) {
                continue;
            }
            let before = Figures::of(&*from.tree_at(&found.key)?);
            let (mut kept, mut notes, mut is_ntuple) = (None, Vec::new(), false);
            if !how.trees.as_ref().is_none_or(|trees| trees.iter().any(|tree| tree.trim_matches('/') == path)) {
                self.copy(from, path, path)?;
            } else if let Some(options) = &how.ntuples {
                if branches.contains_key(path) || entries.contains_key(path) {
                    let words = "a tree becomes an RNTuple with all of its branches and entries";
                    return Err(from.name(Error::unsupported(words).in_object(path)));
                }
                notes = self.rewrite_as_ntuple(from, path, path, options.clone())?;
                is_ntuple = true;
            } else {
                let (branches, entries) = (branches.get(path).copied().cloned(), entries.get(path).copied().cloned());
                let own = how.compression.iter().find(|(tree, _)| tree.trim_matches('/') == path);
                let compression = own.map(|(_, own)| own.clone()).unwrap_or_default();
                let one = Rewrite { baskets: how.baskets.clone(), order: how.order, branches, entries, compression };
                kept = self.rewrite_or_keep(from, path, one)?;
            }
            let after = Figures::default();
            remade.push(Remade { path: path.to_owned(), before, after, kept, is_ntuple, notes });
        }
        self.close()?;
        let file = reopen()?;
        for tree in &mut remade {
            tree.after = match tree.is_ntuple {
                true => Figures::of_ntuple(&*file.ntuple(&tree.path)?)?,
                false => Figures::of(&*file.tree(&tree.path)?),
            };
        }
        Ok(remade)
    }

    /// Loses nothing: a tree whose entries cannot be moved keeps its baskets. Returns the reason.
    fn rewrite_or_keep(&mut self, from: &File, path: &str, how: Rewrite) -> Result<Option<String>> {
        let reason = match self.rewrite(from, path, path, &how) {
            Err(error) if error.kind() == ErrorKind::Unsupported && how.entries.is_none() => error,
            outcome => return outcome.map(|()| None),
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
        match outcome {
            // Baskets in the tree's record that cannot get their own records stay in it.
            Err(error) if error.kind() == ErrorKind::Unsupported && how.branches.is_none() => {
                self.copy(from, path, path)?;
            }
            outcome => outcome?,
        }
        Ok(Some(reason.to_string()))
    }
}
