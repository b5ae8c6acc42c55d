//! Tables of a file: by path, by key, or the only one.

use std::sync::Arc;

use super::Table;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::{File, KeyPath};

impl File {
    /// The tree or RNTuple of a path, such as `"Events"` or `"folder/t;2"`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a path that the file does not have;
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for an object without entries;
    /// [`Malformed`](crate::ErrorKind::Malformed) for a broken record.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert_eq!(sapwood::File::open(path)?.table("Events")?.entries(), 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn table(&self, path: &str) -> Result<Table> {
        self.table_at(&self.key(path)?)
    }

    /// The tree or RNTuple of a key.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for an object without entries;
    /// [`Malformed`](crate::ErrorKind::Malformed) for a broken record.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// assert_eq!(file.table_at(&file.key("Events")?)?.name(), "Events");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn table_at(&self, key: &Key) -> Result<Table> {
        if key.is_ntuple() {
            return Ok(Table::NTuple(self.ntuple_at(key)?));
        }
        if !key.is_tree() {
            let words = format!("{:?} is a {}, and has no entries", &*key.name, key.class);
            return Err(Error::mismatch(words).in_file(Arc::clone(&self.identity().name)));
        }
        Ok(Table::Tree(self.tree_at(key)?))
    }

    /// Keys of all trees and RNTuples by their paths, the highest cycle of each.
    ///
    /// # Errors
    ///
    /// Errors of [`keys`](Self::keys).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let keys = sapwood::File::open(path)?.table_keys()?;
    /// assert_eq!(keys.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["Events", "Runs"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn table_keys(&self) -> Result<Vec<KeyPath>> {
        let mut keys = self.keys(true)?;
        keys.retain(|found| found.key.has_entries());
        keys.sort_by(|a, b| (&a.path, b.key.cycle).cmp(&(&b.path, a.key.cycle)));
        keys.dedup_by(|a, b| a.path == b.path);
        Ok(keys)
    }

    /// The only tree or RNTuple of the file, in its highest cycle.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) if it has none; [`Mismatch`](crate::ErrorKind::Mismatch) with the names
    /// of all if it has several.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// // This file has two of them.
    /// let error = sapwood::File::open(path)?.only_table().unwrap_err();
    /// assert!(error.message().ends_with("It has Events, Runs"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn only_table(&self) -> Result<Table> {
        self.table(&self.only_table_path()?)
    }

    /// The path of the only tree or RNTuple of the file.
    ///
    /// # Errors
    ///
    /// As [`only_table`](Self::only_table).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert!(sapwood::File::open(path)?.only_table_path().is_err(), "there are two");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn only_table_path(&self) -> Result<String> {
        let found = self.table_keys()?;
        let named = |error: Error| error.in_file(Arc::clone(&self.identity().name));
        match &found[..] {
            [one] => Ok(one.path.clone()),
            [] => Err(named(Error::not_found("the file has no tree and no RNTuple"))),
            many => {
                let names: Vec<_> = many.iter().map(|found| found.path.as_str()).collect();
                Err(named(Error::mismatch(format!("which tree? It has {}", names.join(", ")))))
            }
        }
    }
}
