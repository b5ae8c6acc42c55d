//! A whole file written again: trees in other clusters, all else as it is.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::file::FileWriter;
use super::rewrite::Rewrite;
use super::tree::TreeOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, is_directory};
use crate::tree::is_tree;

/// What a file is rewritten to.
#[derive(Clone, Debug, Default)]
pub struct Remake {
    /// Clusters, baskets and compression of the trees.
    pub tree: TreeOptions,
    /// Paths of the trees that are rewritten; the others are copied as they are. None for all.
    pub trees: Option<Vec<String>>,
    /// Top-level branches that are kept, for each tree by its path; all where it is not named.
    pub branches: HashMap<String, Vec<Arc<str>>>,
    /// Entries that are kept, for each tree by its path; all where it is not named.
    pub entries: HashMap<String, Vec<Range<u64>>>,
}

/// A tree before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remade {
    /// Its path.
    pub path: String,
    /// Entries, baskets, clusters and compressed bytes that it had.
    pub before: [u64; 4],
    /// The same as they are now.
    pub after: [u64; 4],
    /// Why it was copied as it is, where it could not be rewritten.
    pub copied: Option<String>,
}

/// Entries, baskets, clusters and compressed bytes of a tree.
fn figures(file: &File, path: &str) -> Result<[u64; 4]> {
    let tree = file.tree(path)?;
    let baskets = tree.branches().iter().filter(|branch| branch.has_data()).map(|branch| branch.baskets().len() as u64);
    Ok([tree.entries, baskets.sum(), tree.clusters().len() as u64, tree.zip_bytes])
}

impl FileWriter {
    /// Writes a file again into this one: its trees rewritten, the newest cycle of each; all other objects copied as they are.
    /// Ends with the file closed, and says what became of the trees.
    ///
    /// # Errors
    ///
    /// Those of [`rewrite`](Self::rewrite) and [`copy`](Self::copy); [`NotFound`](crate::ErrorKind::NotFound) for trees that were
    /// named and are not there.
    pub fn remake(mut self, from: &File, reopen: impl FnOnce() -> Result<File>, how: &Remake) -> Result<Vec<Remade>> {
        let keys = from.keys(true)?;
        let mut newest: HashMap<&str, u16> = HashMap::new();
        for found in keys.iter().filter(|found| is_tree(&found.key.class)) {
            let cycle = newest.entry(&found.path).or_insert(found.key.cycle);
            *cycle = found.key.cycle.max(*cycle);
        }
        let named = how.trees.iter().flatten().chain(how.branches.keys()).chain(how.entries.keys());
        for path in named {
            if !newest.contains_key(path.trim_matches('/')) {
                return Err(from.name(Error::not_found(format!("there is no tree {path:?}"))));
            }
        }
        // What old versions wrote is read by their rules: the file says that it is as old.
        self.shared.open_state()?.header.version = from.header().version;
        let mut remade = Vec::new();
        let mut keys: Vec<_> = keys.iter().collect();
        // Cycles in their order; what was listed first stays first.
        keys.sort_by_key(|found| found.key.cycle);
        for found in keys {
            let path = found.path.as_str();
            if is_directory(&found.key.class) {
                self.mkdir(path)?;
                continue;
            }
            if !is_tree(&found.key.class) {
                self.copy(from, &format!("{path};{}", found.key.cycle), path)?;
                continue;
            }
            if newest.get(path) != Some(&found.key.cycle) {
                continue;
            }
            let before = figures(from, path)?;
            let mut copied = None;
            if how.trees.as_ref().is_none_or(|trees| trees.iter().any(|tree| tree.trim_matches('/') == path)) {
                let branches = how.branches.get(path).cloned();
                let one = Rewrite { tree: how.tree.clone(), branches, entries: how.entries.get(path).cloned() };
                match self.rewrite(from, path, path, &one) {
                    // Nothing is lost: a tree whose entries cannot be moved keeps its baskets.
                    Err(error) if error.kind() == ErrorKind::Unsupported && one.keeps_all() => {
                        self.copy(from, path, path)?;
                        copied = Some(error.to_string());
                    }
                    outcome => outcome?,
                }
            } else {
                self.copy(from, path, path)?;
            }
            remade.push(Remade { path: path.to_owned(), before, after: [0; 4], copied });
        }
        self.close()?;
        let file = reopen()?;
        for tree in &mut remade {
            tree.after = figures(&file, &tree.path)?;
        }
        Ok(remade)
    }
}
