//! Simulates layouts: where the baskets of a tree would be if it were written in another way.

use std::ops::Range;

use super::io_cost::Reader;
use super::layout::{Extent, Layout};

/// Bytes before compression of a basket, where each cluster's own rows decide: large enough that nothing is gained by
/// more, small enough that a few entries do not cost much.
pub const BASKET_BYTES: u64 = 512 << 10;
/// Bytes before compression of a good cluster: as the writer makes them.
pub const CLUSTER_BYTES: u64 = 64 << 20;

/// More are not simulated, whatever a file says of itself: clusters are then taken together, baskets made larger.
const MOST_BASKETS: usize = 4_000_000;

/// How the bytes of a branch are spread over its entries: evenly within each of its baskets.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    /// Last entry and bytes so far, basket by basket; the first is where the branch begins.
    steps: Vec<(u64, u64)>,
    /// Bytes before compression for each stored one.
    ratio: f64,
}

impl Spread {
    /// Stored bytes of the entries before this one.
    fn before(&self, entry: u64) -> f64 {
        let next = self.steps.partition_point(|step| step.0 < entry);
        match (next.checked_sub(1).and_then(|last| self.steps.get(last)), self.steps.get(next)) {
            (Some(last), Some(next)) => {
                let share = (entry - last.0) as f64 / (next.0 - last.0).max(1) as f64;
                last.1 as f64 + share * (next.1 as f64 - last.1 as f64)
            }
            (Some(last), None) => last.1 as f64,
            (None, _) => 0.0,
        }
    }

    /// Stored bytes of some entries.
    pub fn stored(&self, entries: &Range<u64>) -> f64 {
        (self.before(entries.end) - self.before(entries.start)).max(0.0)
    }

    /// Their bytes before compression.
    pub fn unsealed(&self, entries: &Range<u64>) -> f64 {
        self.stored(entries) * self.ratio
    }
}

/// How all branches of a layout are spread.
pub(crate) fn spreads(layout: &Layout) -> Vec<Spread> {
    let spread = |(place, branch): (usize, &super::layout::BranchLayout)| {
        let baskets = layout.baskets_of(place);
        let mut sum = 0_u64;
        let mut steps: Vec<(u64, u64)> = baskets.first().map(|first| (first.entries.start, 0)).into_iter().collect();
        steps.extend(baskets.iter().map(|basket| {
            sum = sum.saturating_add(basket.bytes);
            (basket.entries.end, sum)
        }));
        // Indices of broken files may go backwards.
        steps.sort_unstable();
        Spread { steps, ratio: branch.tot_bytes as f64 / branch.zip_bytes.max(1) as f64 }
    };
    layout.branches.iter().enumerate().map(spread).collect()
}

/// Good clusters for a tree: 64 MiB before compression, and no more stored than a reader takes at once.
pub fn clusters(layout: &Layout, reader: &Reader) -> Vec<Range<u64>> {
    let entries = layout.entries;
    let each = |bytes: u64, most: u64| (most as f64 * entries as f64 / bytes.max(1) as f64) as u64;
    let step = each(layout.tot_bytes(), CLUSTER_BYTES).min(each(layout.zip_bytes(), reader.window_bytes));
    let most = (MOST_BASKETS / layout.branches.len().max(1)).max(1) as u64;
    let step = step.max(entries / most).max(1);
    // Of one length, so that the last is none of a few entries.
    let count = entries.div_ceil(step).max(1);
    (0..count).map(|n| entries_at(entries, n, count)..entries_at(entries, n + 1, count)).collect()
}

/// Where part `n` of `count` equal ones begins.
pub(crate) fn entries_at(entries: u64, n: u64, count: u64) -> u64 {
    (u128::from(entries) * u128::from(n) / u128::from(count.max(1))) as u64
}

/// Cluster after cluster, in each branch after branch: baskets of at most `most` bytes before compression.
pub fn by_cluster(spreads: &[Spread], clusters: &[Range<u64>], most: u64) -> Vec<Extent> {
    let (mut baskets, mut at) = (Vec::new(), 0_u64);
    for cluster in &bounded(clusters, spreads.len()) {
        for (branch, spread) in spreads.iter().enumerate() {
            let room = MOST_BASKETS.saturating_sub(baskets.len());
            cut_baskets(spread, cluster, most, room, |entries, bytes| {
                baskets.push(Extent { branch, entries, at, bytes });
                at = at.saturating_add(bytes);
            });
        }
    }
    baskets
}

/// As ROOT writes: a basket when it is full, and what is left when the cluster ends.
pub(crate) fn as_filled(spreads: &[Spread], clusters: &[Range<u64>], most: impl Fn(usize) -> u64) -> Vec<Extent> {
    let (mut baskets, mut at): (Vec<Extent>, u64) = (Vec::new(), 0);
    for cluster in &bounded(clusters, spreads.len()) {
        let first = baskets.len();
        for (branch, spread) in spreads.iter().enumerate() {
            let room = MOST_BASKETS.saturating_sub(baskets.len());
            cut_baskets(spread, cluster, most(branch), room, |entries, bytes| {
                baskets.push(Extent { branch, entries, at: 0, bytes });
            });
        }
        baskets[first..].sort_by_key(|basket| (basket.entries.end, basket.branch));
        for basket in &mut baskets[first..] {
            basket.at = at;
            at = at.saturating_add(basket.bytes);
        }
    }
    baskets
}

/// The same clusters; neighbours together where each branch could not have a basket in each.
fn bounded(clusters: &[Range<u64>], branches: usize) -> Vec<Range<u64>> {
    let together = clusters.len().saturating_mul(branches).div_ceil(MOST_BASKETS).max(1);
    let whole = |group: &[Range<u64>]| group.first().zip(group.last()).map(|(first, last)| first.start..last.end);
    clusters.chunks(together).filter_map(whole).collect()
}

/// Cuts the entries of a branch in a cluster into baskets, `room` at most.
fn cut_baskets(spread: &Spread, cluster: &Range<u64>, most: u64, room: usize, mut basket: impl FnMut(Range<u64>, u64)) {
    let stored = spread.stored(cluster);
    if stored <= 0.0 {
        return;
    }
    let entries = cluster.end - cluster.start;
    let count = ((spread.unsealed(cluster) / most.max(1) as f64).ceil() as u64)
        .clamp(1, entries.max(1))
        .min(room.max(1) as u64);
    for n in 0..count {
        let range = cluster.start + entries_at(entries, n, count)..cluster.start + entries_at(entries, n + 1, count);
        // Rounded over the whole, so that no byte is lost.
        let bytes = (spread.before(range.end) as u64).saturating_sub(spread.before(range.start) as u64);
        basket(range, bytes);
    }
}

/// Bytes of a basket's key and header.
pub fn keylen(tree: &str, branch: &str) -> u64 {
    /// The fixed part of a key with 64-bit offsets, and of a basket's header.
    const FIXED: u64 = 34 + 19;
    let text = |text: &str| text.len() as u64 + if text.len() < 255 { 1 } else { 5 };
    // The branch's name, where there is a path.
    let name = branch.rsplit('/').next().unwrap_or(branch);
    FIXED + text("TBasket") + text(name) + text(tree)
}
