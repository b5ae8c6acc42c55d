//! The largest count of a branch that counts items of others.

use crate::column::Kind;
use crate::tree::{Branch, Tree};

/// The leaves that count others: branch, and index of the leaf in it.
pub(crate) fn counters(tree: &Tree) -> Vec<(usize, usize)> {
    let mut counters: Vec<_> =
        tree.branches().iter().flat_map(|branch| &branch.leaves).filter_map(|leaf| leaf.count).collect();
    counters.sort_unstable();
    counters.dedup();
    counters
}

/// The largest value of a counting branch with one leaf; 0 without entries. Values that cannot be read do not count.
pub(crate) fn largest_count(tree: &Tree, branch: &Branch) -> i64 {
    /// Counts that are read at a time.
    const STEP: u64 = 1 << 20;
    let range = branch.entry_range();
    let mut largest = 0;
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + STEP);
        let Ok(columns) = super::columns(tree, &[branch.id], start..end) else { break };
        let Some(column) = columns.first() else { break };
        let Kind::Number { buffer, number } = &column.kind else { break };
        largest = number.wholes(&column.buffer(*buffer)).fold(largest, i64::max);
        start = end;
    }
    largest
}
