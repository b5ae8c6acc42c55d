//! A tree written as an RNTuple.
//!
//! Source: `RNTupleImporter`.

use std::collections::HashSet;
use std::ops::Range;

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::file::File;
use crate::read;
use crate::tree::{Branch, BranchId, Tree};
use crate::write::options::NTupleOptions;
use crate::write::page::field::FieldSpec;
use crate::write::writer::FileWriter;

/// The most bytes of values that are read at a time, by the sizes that the tree's branches announce.
const WINDOW_BYTES: u64 = 64 << 20;

impl FileWriter {
    /// Writes a tree of another file as an RNTuple, under the path `to`: a field for each top-level branch, of the type
    /// of its values. Counted arrays become lists, and branches that only count their items are left out. Returns what
    /// differs from the tree: names that RNTuples do not allow, and branches that were left out.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for values that no RNTuple holds, before anything is written;
    /// what reading and writing report: then there is no RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("to-ntuple.root");
    /// use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
    /// # let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let from = sapwood::File::open(input)?;
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.rewrite_as_ntuple(&from, "t", "t", NTupleOptions::default())?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.ntuple("t")?.entries, from.tree("t")?.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite_as_ntuple(
        &mut self,
        from: &File,
        path: &str,
        to: &str,
        options: NTupleOptions,
    ) -> Result<Vec<String>> {
        let tree = from.tree(path)?;
        let within = |error: Error| from.name(error).in_object(path);
        let (mut notes, counters) = (Vec::new(), counters(&tree));
        let (mut ids, mut names, mut used) = (Vec::new(), Vec::new(), HashSet::new());
        for &id in tree.top() {
            let Some(branch) = tree.branches().get(id) else { continue };
            if counters.contains(&id) {
                notes
                    .push(format!("branch {:?} is left out: the lists that it counts know their lengths", branch.name));
                continue;
            }
            let name = field_name(&branch.name);
            if name != *branch.name {
                notes.push(format!("branch {:?} is now field {name:?}", branch.name));
            }
            if !used.insert(name.clone()) {
                let words = format!("two branches would become the field {name:?}: leave one of them out");
                return Err(within(Error::unsupported(words)));
            }
            ids.push(id);
            names.push(name);
        }
        // Types are known without a row.
        let kinds: Vec<Kind> =
            read::columns(&tree, &ids, 0..0).map_err(within)?.into_iter().map(|column| column.kind).collect();
        let mut fields = Vec::with_capacity(ids.len());
        for (name, kind) in names.iter().zip(kinds) {
            if kind.has_pointers() {
                let words = "values with pointers cannot be written to an RNTuple: leave the branch out";
                return Err(within(Error::unsupported(words).in_object(name)));
            }
            fields.push(FieldSpec::new(name.as_str(), kind));
        }
        let mut ntuple = self.ntuple(to, fields, options)?;
        let mut write = || {
            for window in windows(&tree, &ids) {
                let columns = read::columns(&tree, &ids, window).map_err(within)?;
                let values: Vec<_> = names.iter().map(String::as_str).zip(columns).collect();
                ntuple.extend(&values)?;
            }
            Ok(())
        };
        let outcome: Result<()> = write();
        let closed = ntuple.close();
        if let Err(error) = outcome.and(closed) {
            // The first error is what counts.
            let _ = self.save();
            let _ = self.remove(to);
            return Err(error);
        }
        Ok(notes)
    }
}

/// Top-level branches that do nothing but count items of others.
fn counters(tree: &Tree) -> HashSet<BranchId> {
    let leaves = || tree.branches().iter().flat_map(|branch| &branch.leaves);
    let counting: HashSet<BranchId> = leaves().filter_map(|leaf| leaf.count.map(|(branch, _)| branch)).collect();
    let is_plain = |id: &BranchId| {
        tree.branches().get(*id).is_some_and(|branch| branch.leaves.len() == 1 && branch.element.is_none())
    };
    counting.into_iter().filter(is_plain).collect()
}

/// A name as fields may have it, as ROOT's importer replaces what they may not have.
fn field_name(name: &str) -> String {
    let is_bad = |letter: char| letter.is_control() || matches!(letter, '.' | ' ' | '/' | '\\');
    name.chars().map(|letter| if is_bad(letter) { '_' } else { letter }).collect()
}

/// Entries that are read at a time: clusters, or parts of them.
fn windows(tree: &Tree, ids: &[BranchId]) -> Vec<Range<u64>> {
    let wanted: HashSet<BranchId> = ids.iter().copied().collect();
    let is_wanted = |branch: &&Branch| {
        let mut at = *branch;
        while let Some(above) = at.parent.and_then(|id| tree.branches().get(id)) {
            at = above;
        }
        wanted.contains(&at.id)
    };
    let bytes =
        tree.branches().iter().filter(is_wanted).fold(0_u64, |sum, branch| sum.saturating_add(branch.tot_bytes));
    let most = u128::from(tree.entries) * u128::from(WINDOW_BYTES) / u128::from(bytes.max(1));
    let most = u64::try_from(most).unwrap_or(u64::MAX).max(1);
    let mut windows: Vec<Range<u64>> = Vec::new();
    let mut next = 0;
    for cluster in tree.clusters() {
        let end = cluster.end.min(tree.entries);
        while next < end {
            // Small clusters are read together.
            match windows.last_mut().filter(|last| last.end == next && end - last.start <= most) {
                Some(last) => {
                    last.end = end;
                    next = end;
                }
                None => {
                    let stop = next.saturating_add(most).min(end);
                    windows.push(next..stop);
                    next = stop;
                }
            }
        }
    }
    while next < tree.entries {
        let stop = next.saturating_add(most).min(tree.entries);
        windows.push(next..stop);
        next = stop;
    }
    windows
}
