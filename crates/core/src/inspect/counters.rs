//! Counters of lists: whether several are equal, and whether they are stored near what they count.

use std::collections::HashMap;

use super::issue::{Issue, IssueKind, bytes};
use super::layout::{Extent, Layout};
use crate::tree::Tree;

/// Checks the counters of other branches.
pub(super) fn issues(tree: &Tree, layout: &Layout, far_bytes: u64, found: &mut Vec<Issue>) {
    let place_of: HashMap<usize, usize> =
        layout.branches.iter().enumerate().map(|(place, branch)| (branch.id, place)).collect();
    // Counter and list, by place.
    let mut pairs = Vec::new();
    for (place, branch) in layout.branches.iter().enumerate() {
        let counter = tree.branches().get(branch.id).and_then(|branch| branch.leaves.first()?.count).map(|(id, _)| id);
        if let Some(&counter) = counter.and_then(|id| place_of.get(&id)).filter(|&&counter| counter != place) {
            pairs.push((counter, place));
        }
    }
    repeated(layout, &pairs, found);
    far(layout, &pairs, far_bytes, found);
}

/// Counters whose baskets are byte by byte as long as those of another, over all of the tree: they hold the same
/// counts.
fn repeated(layout: &Layout, pairs: &[(usize, usize)], found: &mut Vec<Issue>) {
    /// As many lengths that agree by accident are not seen in practice.
    const LEAST_BASKETS: usize = 3;
    let mut counters: Vec<usize> = pairs.iter().map(|pair| pair.0).collect();
    counters.sort_unstable();
    counters.dedup();
    let mut by_counts: HashMap<(Vec<u64>, u64), Vec<usize>> = HashMap::new();
    for counter in counters {
        // Keys differ in length by the branch's name.
        let name = layout.branches[counter].path.rsplit('/').next().map_or(0, str::len) as u64;
        let lengths: Vec<u64> =
            layout.baskets_of(counter).iter().map(|basket| basket.bytes.saturating_sub(name)).collect();
        let inflated = layout.branches[counter].tot_bytes.saturating_sub(name * lengths.len() as u64);
        // Counts that never change all look alike.
        let is_telling = lengths.len() >= LEAST_BASKETS && lengths.windows(2).any(|pair| pair[0] != pair[1]);
        if is_telling {
            by_counts.entry((lengths, inflated)).or_default().push(counter);
        }
    }
    let mut groups: Vec<_> = by_counts.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    let spare: usize = groups.iter().map(|group| group.len() - 1).sum();
    if spare > 0 {
        let wasted: u64 = groups.iter().flatten().map(|&counter| layout.branches[counter].zip_bytes).sum();
        let example = groups.first().map_or(&[][..], |group| &group[..2]);
        let names: Vec<_> = example.iter().map(|&counter| layout.branches[counter].path.as_str()).collect();
        found.push(Issue {
            kind: IssueKind::RepeatedCounters,
            message: format!(
                "{spare} counters say what another says as well ({} and so on, {} in all): lists of the same lengths could \
                 share one",
                names.join(" and "),
                bytes(wasted)
            ),
        });
    }
}

/// Counters that a reader cannot fetch together with their lists.
fn far(layout: &Layout, pairs: &[(usize, usize)], far_bytes: u64, found: &mut Vec<Issue>) {
    let holds = |baskets: &[Extent], entry: u64| {
        let first = baskets.partition_point(|basket| basket.entries.end <= entry);
        baskets.get(first).map(|basket| basket.at)
    };
    let (mut count, mut worst): (usize, Option<(u64, usize, usize)>) = (0, None);
    for &(counter, list) in pairs {
        let counts = layout.baskets_of(counter);
        let distance = |basket: &Extent| holds(counts, basket.entries.start).map_or(0, |at| at.abs_diff(basket.at));
        // In the middle: a few that are far away are the rule where clusters are large.
        let mut distances: Vec<u64> = layout.baskets_of(list).iter().map(distance).collect();
        distances.sort_unstable();
        let middle = distances.get(distances.len() / 2).copied().unwrap_or(0);
        if middle > far_bytes {
            count += 1;
            worst = worst.max(Some((middle, counter, list)));
        }
    }
    if let Some((distance, counter, list)) = worst {
        found.push(Issue {
            kind: IssueKind::FarCounters,
            message: format!(
                "{count} lists are stored far from their counters ({:?} is {} from {:?}): no window holds both",
                layout.branches[list].path,
                bytes(distance),
                layout.branches[counter].path
            ),
        });
    }
}
