//! What is wrong with a file's layout, what that costs its readers, and how to mend it.

use std::ops::Range;

use super::cuts::{self, CutAdvice};
use super::io_cost::{Reader, plan};
use super::issue::{Issue, IssueKind};
use super::layout::Layout;
pub use super::reading::{Reading, ReadingKind};
use super::rules;
use super::simulate::{self, BASKET_BYTES};
use crate::error::{Error, Result};
use crate::file::File;
use crate::ntuple::NTuple;
use crate::tree::Tree;

/// The diagnosis of a file.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::{doctor::diagnose, io_cost::Reader};
/// let diagnosis = diagnose(&sapwood::File::open(path)?, None, &Reader::default())?;
/// println!("{}", if diagnosis.is_healthy() { "healthy" } else { "see diagnosis.trees" });
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// What is wrong with the file itself.
    pub issues: Vec<Issue>,
    /// Its trees and RNTuples, the newest cycle of each.
    pub trees: Vec<TreeDiagnosis>,
}

impl Diagnosis {
    /// Whether nothing is wrong.
    pub fn is_healthy(&self) -> bool {
        self.issues.is_empty() && self.trees.iter().all(|tree| tree.issues.is_empty())
    }

    /// Adds what cuts skip: for each column with one number per entry and several baskets, those that gain most by
    /// sorting first. Uses stored statistics; columns without them are read.
    ///
    /// # Errors
    ///
    /// Errors of reading the columns.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::inspect::{doctor::diagnose, io_cost::Reader};
    /// let file = sapwood::File::open(path)?;
    /// let mut diagnosis = diagnose(&file, None, &Reader::default())?;
    /// diagnosis.add_cuts(&file)?;
    /// assert!(diagnosis.trees[0].cuts.iter().all(|cut| cut.skipped <= cut.runs));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add_cuts(&mut self, file: &File) -> Result<()> {
        for tree in &mut self.trees {
            tree.cuts = cuts::of_table(&file.table(&tree.path)?)?;
        }
        Ok(())
    }
}

/// The diagnosis of a tree, or of an RNTuple.
#[derive(Clone, Debug)]
pub struct TreeDiagnosis {
    /// Path of the tree.
    pub path: String,
    /// What is wrong, what costs most first.
    pub issues: Vec<Issue>,
    /// What readings cost.
    pub readings: Vec<Reading>,
    /// Options of `sapwood rewrite` that repair it; none if there is nothing to repair.
    pub options: Vec<String>,
    /// Advice on cuts, once [`Diagnosis::add_cuts`] was called.
    pub cuts: Vec<CutAdvice>,
    /// What it was found in.
    pub layout: Layout,
}

/// Diagnoses a file, or one tree or RNTuple of it. Only metadata is read.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) where there is no such tree; those of [`File::tree`] where it was named.
/// Trees that cannot be opened are issues where none was named.
///
/// # Example
///
/// ```
/// use sapwood::inspect::doctor::diagnose;
/// use sapwood::inspect::io_cost::Reader;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let diagnosis = diagnose(&sapwood::File::open(path)?, None, &Reader::default())?;
/// assert!(diagnosis.is_healthy()); // it is small: whatever its layout, one request reads it
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn diagnose(file: &File, tree: Option<&str>, reader: &Reader) -> Result<Diagnosis> {
    let mut issues = rules::of_file(file);
    let mut trees = Vec::new();
    if let Some(path) = tree {
        let key = file.key(path)?;
        trees.push(match key.is_ntuple() {
            true => diagnose_ntuple(path, &*file.ntuple_at(&key)?, reader)?,
            false => diagnose_tree(path, &*file.tree_at(&key)?, reader),
        });
        return Ok(Diagnosis { issues, trees });
    }
    let mut keys = file.table_keys()?;
    keys.sort_by_key(|found| found.key.seek_key);
    for found in keys {
        let diagnosed = match found.key.is_ntuple() {
            true => file.ntuple_at(&found.key).and_then(|ntuple| diagnose_ntuple(&found.path, &ntuple, reader)),
            false => file.tree_at(&found.key).map(|tree| diagnose_tree(&found.path, &tree, reader)),
        };
        match diagnosed {
            Ok(diagnosis) => trees.push(diagnosis),
            Err(error) => issues.push(unreadable(&found.path, &error)),
        }
    }
    Ok(Diagnosis { issues, trees })
}

fn unreadable(path: &str, error: &Error) -> Issue {
    let words = format!("{path:?} cannot be opened ({}): `sapwood verify` says more", error.message());
    Issue { kind: IssueKind::Unreadable, message: words }
}

/// Diagnoses one tree.
///
/// # Example
///
/// ```
/// use sapwood::inspect::doctor::diagnose_tree;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let diagnosis = diagnose_tree("t", &tree, &Default::default());
/// assert_eq!(diagnosis.readings[0].now.requests, 1);
/// assert!(diagnosis.options.is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn diagnose_tree(path: &str, tree: &Tree, reader: &Reader) -> TreeDiagnosis {
    let layout = Layout::of_tree(tree);
    let readings = readings(&layout, reader);
    let issues = rules::of_tree(tree, &layout, &readings, reader);
    let options = options(&issues, reader.window_bytes);
    TreeDiagnosis { path: path.to_owned(), issues, readings, options, cuts: Vec::new(), layout }
}

/// Diagnoses one RNTuple. Its options are empty: what repairs it is for its writer to set.
///
/// # Errors
///
/// What reading the page lists reports.
fn diagnose_ntuple(path: &str, ntuple: &NTuple, reader: &Reader) -> Result<TreeDiagnosis> {
    let layout = Layout::of_ntuple(ntuple)?;
    let readings = readings(&layout, reader);
    let issues = rules::of_ntuple(&layout, &readings, reader);
    Ok(TreeDiagnosis { path: path.to_owned(), issues, readings, options: Vec::new(), cuts: Vec::new(), layout })
}

/// Compares what readings cost in a layout with what they would cost in a good one.
pub(super) fn readings(layout: &Layout, reader: &Reader) -> Vec<Reading> {
    let now: Vec<Range<u64>> = layout.clusters.iter().map(|cluster| cluster.entries.clone()).collect();
    let good = simulate::clusters(layout, reader);
    let baskets = simulate::by_cluster(&simulate::spreads(layout), &good, BASKET_BYTES);
    let all = [0..layout.entries];
    let fifth = fifth(layout.entries);
    let largest = largest(layout);
    let compare = |kind, wanted: &dyn Fn(usize) -> bool, entries: &[Range<u64>], branches: Vec<String>| Reading {
        kind,
        branches,
        now: plan(&layout.baskets, &now, wanted, entries, reader),
        good: plan(&baskets, &good, wanted, entries, reader),
    };
    let names = largest.iter().map(|&branch| layout.branches[branch].path.clone()).collect();
    vec![
        compare(ReadingKind::Full, &|_| true, &all, Vec::new()),
        compare(ReadingKind::ThreeColumns, &|branch| largest.contains(&branch), &all, names),
        compare(ReadingKind::Fifth, &|_| true, &fifth, Vec::new()),
    ]
}

/// The three branches with the most stored bytes, by their place in the layout.
fn largest(layout: &Layout) -> Vec<usize> {
    let mut places: Vec<usize> = (0..layout.branches.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(layout.branches[place].zip_bytes));
    places.truncate(3);
    places
}

/// 10 of 50 equal slices of the entries, in a fixed order that looks like none.
fn fifth(entries: u64) -> Vec<Range<u64>> {
    const SLICES: u64 = 50;
    // 17 has no divisor in common with 50: ten different slices, far from each other and nowhere periodic in clusters.
    let mut taken: Vec<u64> = (0..10).map(|n| (3 + n * n * 17 + n * 6) % SLICES).collect();
    taken.sort_unstable();
    taken.dedup();
    for slice in 0..SLICES {
        if taken.len() == 10 {
            break;
        }
        if !taken.contains(&slice) {
            taken.push(slice);
        }
    }
    taken.sort_unstable();
    let slice = |n| simulate::entries_at(entries, n, SLICES)..simulate::entries_at(entries, n + 1, SLICES);
    taken.into_iter().map(slice).filter(|slice| !slice.is_empty()).collect()
}

/// The options for `sapwood rewrite`; clusters should fill the window of a reader.
fn options(issues: &[Issue], window_bytes: u64) -> Vec<String> {
    let has = |kinds: &[IssueKind]| issues.iter().any(|issue| kinds.contains(&issue.kind));
    let mut options = Vec::new();
    if has(&[
        IssueKind::NoClusters,
        IssueKind::SmallClusters,
        IssueKind::LargeClusters,
        IssueKind::SpanningBaskets,
        IssueKind::SmallBaskets,
        IssueKind::ManyBranches,
    ]) {
        options.extend(["--cluster-bytes".to_owned(), window_bytes.to_string()]);
    }
    if has(&[IssueKind::SmallBaskets, IssueKind::ManyBranches, IssueKind::HugeBasket, IssueKind::SpanningBaskets]) {
        options.extend(["--basket-bytes".to_owned(), BASKET_BYTES.to_string()]);
    }
    if has(&[IssueKind::UselessCompression, IssueKind::SlowCompression]) {
        options.extend(["--compression".to_owned(), "zstd:5".to_owned()]);
    }
    if has(&[IssueKind::ScatteredClusters, IssueKind::BackwardSeeks, IssueKind::FarCounters]) {
        options.extend(["--order".to_owned(), "entry".to_owned()]);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_is_a_fifth() {
        for entries in [50, 1_000, 12_345, u64::MAX / 64] {
            let slices = fifth(entries);
            assert_eq!(slices.len(), 10);
            let sum: u64 = slices.iter().map(|slice| slice.end - slice.start).sum();
            assert!(sum.abs_diff(entries / 5) <= 10, "{sum} of {entries}");
            assert!(slices.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
        assert!(fifth(0).is_empty());
    }
}
