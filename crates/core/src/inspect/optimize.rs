//! Sizes of baskets: as ROOT would choose them, and as they follow from each cluster's own rows.
//!
//! Source: `TTree::OptimizeBaskets`, `TBranch::SetBasketSize`.

use std::ops::Range;

use super::io_cost::{Cost, Reader, plan};
use super::layout::{Extent, Layout};
use super::simulate::{self, BASKET_BYTES, Spread};
use crate::tree::{BranchId, Tree};

/// What ROOT's algorithm knows of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// `fTotBytes`.
    pub tot_bytes: u64,
    /// `fZipBytes`.
    pub zip_bytes: u64,
    /// `fEntries`.
    pub entries: u64,
    /// `fBasketSize`.
    pub basket_bytes: u32,
    /// `fEntryOffsetLen`.
    pub entry_offset_len: i32,
    /// Letters of its name.
    pub name_length: usize,
    /// Whether there are branches below it.
    pub has_children: bool,
}

/// What ROOT would set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootChoice {
    /// `fBasketSize`.
    pub basket_bytes: u32,
    /// Whether its compression would be given up, for it packs too little.
    pub resets_compression: bool,
}

/// Sizes of baskets as `TTree::OptimizeBaskets(max_memory, min_compression)` sets them, branch by branch.
///
/// `leaves` names the branch of each leaf of the tree, in the order of `fLeaves`: a branch with several leaves takes
/// part as often. `tot_bytes` and `auto_flush` are the tree's.
///
/// # Example
///
/// ```
/// use sapwood::inspect::optimize::{Measured, root_choice};
/// let (tot_bytes, zip_bytes, entries) = (9_000_000, 9_000_000, 100_000);
/// let wide = Measured { tot_bytes, zip_bytes, entries, basket_bytes: 32_000, ..Measured::default() };
/// let thin = Measured { tot_bytes: 100_000, zip_bytes: 50_000, ..wide.clone() };
/// let chosen = root_choice(&[wide, thin], &[0, 1], 9_100_000, 10_000, 10_000_000, 1.1);
/// assert!(chosen[0].basket_bytes > 50 * chosen[1].basket_bytes);
/// ```
pub fn root_choice(
    branches: &[Measured],
    leaves: &[usize],
    tot_bytes: u64,
    auto_flush: i64,
    max_memory: u64,
    min_compression: f32,
) -> Vec<RootChoice> {
    /// The most that one buffer is ever given.
    const HARD_MOST: f64 = (1 << 30) as f64;
    const HARD_LEAST: f64 = 8.0;
    /// More than that is taken for a mistake.
    const TOO_MUCH: u32 = 10_000_000;
    /// Memory is never scaled up by more.
    const MOST_FACTOR: f64 = 100.0;
    let keep = |branch: &Measured| RootChoice { basket_bytes: branch.basket_bytes, resets_compression: false };
    let mut chosen: Vec<RootChoice> = branches.iter().map(keep).collect();
    if leaves.is_empty() || tot_bytes == 0 {
        return chosen;
    }
    let average = tot_bytes as f64 / leaves.len() as f64;
    let (mut least, mut most, mut factor) = (512_u32, 256_000_u32, 1.0_f64);
    for last in [false, true] {
        // 32 bits, as in ROOT: so many bytes of buffers that they do not fit turn around there as well.
        let mut memory = 0_i32;
        for &leaf in leaves {
            let (Some(branch), Some(choice)) = (branches.get(leaf), chosen.get_mut(leaf)) else { continue };
            if branch.has_children {
                continue;
            }
            let tot_bytes = branch.tot_bytes as f64;
            let one_entry = match branch.entries {
                0 => average as u32,
                entries => 1_u32.wrapping_add((tot_bytes / entries as f64) as u32),
            };
            let share = f64::from(choice.basket_bytes) * (tot_bytes / average) * factor;
            // Negative where the memory of the first pass turned around.
            let mut bytes = if share < 0.0 { most } else { share.min(f64::from(most)) as u32 };
            if last {
                if branch.entry_offset_len != 0 {
                    // Room for the offsets of a cluster, twice; while the cluster is unknown, use all rows so far.
                    let cluster = if auto_flush > 0 { auto_flush as u64 } else { branch.entries };
                    bytes = (u64::from(bytes)).wrapping_add(cluster.wrapping_mul(8)) as u32;
                }
                bytes = (bytes - bytes % 512).wrapping_add(512);
            }
            bytes = bytes.max(one_entry).max(least);
            if bytes > TOO_MUCH {
                bytes = most;
            }
            memory = memory.wrapping_add(bytes as i32);
            if last {
                // A basket has at least its key and the offsets that it begins with.
                let floor = 100 + branch.name_length as i64 + i64::from(branch.entry_offset_len);
                choice.basket_bytes = i64::from(bytes).max(floor).clamp(0, i64::from(i32::MAX)) as u32;
                let packed = if branch.zip_bytes > 0 { tot_bytes / branch.zip_bytes as f64 } else { 1.0 };
                choice.resets_compression |= packed > 1.0 && packed < f64::from(min_compression);
            }
        }
        factor = (max_memory as f64 / f64::from(memory)).min(MOST_FACTOR);
        let (scaled_least, scaled_most) = (f64::from(least) * factor, f64::from(most) * factor);
        least = scaled_least.clamp(HARD_LEAST, HARD_MOST) as u32;
        most = if scaled_most > HARD_MOST { least } else { scaled_most as u32 };
    }
    chosen
}

/// One branch in an [`Optimization`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchSizes {
    /// Number of the branch.
    pub id: BranchId,
    /// Its path.
    pub path: String,
    /// `fBasketSize` as it is.
    pub now: u32,
    /// What ROOT would set.
    pub root: RootChoice,
    /// Bytes before compression of the largest basket, where each cluster's own rows decide.
    pub ours: u64,
}

/// What a way to size baskets comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizing {
    /// A full read.
    pub full: Cost,
    /// Bytes of keys and headers of all baskets.
    pub overhead_bytes: u64,
    /// What a writer keeps in memory: open baskets, or the rows of a cluster.
    pub memory_bytes: u64,
}

/// Sizes of baskets for a tree, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optimization {
    /// Branches with baskets.
    pub branches: Vec<BranchSizes>,
    /// As the file is.
    pub now: Sizing,
    /// As if ROOT had written it with its own choice.
    pub root: Sizing,
    /// A basket a cluster and branch, of up to 512 KiB before compression.
    pub ours: Sizing,
}

/// ROOT's default memory for baskets.
pub const MAX_MEMORY: u64 = 10_000_000;
/// ROOT's default compression factor below which it stops compressing.
pub const MIN_COMPRESSION: f32 = 1.1;

/// ROOT's choice for a tree: one for each branch.
///
/// # Example
///
/// ```
/// use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, root_choice_of};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// assert_eq!(root_choice_of(&tree, MAX_MEMORY, MIN_COMPRESSION).len(), tree.branches().len());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn root_choice_of(tree: &Tree, max_memory: u64, min_compression: f32) -> Vec<RootChoice> {
    let measured: Vec<Measured> = tree
        .branches()
        .iter()
        .map(|branch| Measured {
            tot_bytes: branch.tot_bytes,
            zip_bytes: branch.zip_bytes,
            entries: branch.entries,
            basket_bytes: branch.basket_bytes,
            entry_offset_len: branch.entry_offset_len,
            name_length: branch.name.len(),
            has_children: !branch.children.is_empty(),
        })
        .collect();
    root_choice(&measured, tree.leaf_branches(), tree.tot_bytes, tree.auto_flush, max_memory, min_compression)
}

/// What `TTree::OptimizeBaskets` would do to a tree, what Sapwood's own sizes would, and what is there.
///
/// Nothing is written. Both are simulated over the tree's own clusters: ROOT writes a basket when it is full and the
/// rest when the cluster ends; Sapwood writes a cluster branch by branch.
///
/// # Example
///
/// ```
/// use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, optimize_baskets};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/baskets.root");
/// # let file = sapwood::File::open(path)?;
/// # let name = &file.keys(false)?[0].path;
/// let tree = file.tree(name)?;
/// let sizes = optimize_baskets(&tree, MAX_MEMORY, MIN_COMPRESSION);
/// assert!(sizes.ours.overhead_bytes < sizes.now.overhead_bytes); // far fewer baskets
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn optimize_baskets(tree: &Tree, max_memory: u64, min_compression: f32) -> Optimization {
    let layout = Layout::of_tree(tree);
    let chosen = root_choice_of(tree, max_memory, min_compression);
    let clusters: Vec<Range<u64>> = layout.clusters.iter().map(|cluster| cluster.entries.clone()).collect();
    let spreads = simulate::spreads(&layout);
    let largest = |spread: &Spread| {
        clusters.iter().map(|cluster| spread.unsealed(cluster) as u64).max().unwrap_or(0).min(BASKET_BYTES)
    };
    let sizes = |branch: usize| -> (u32, RootChoice) {
        let id = layout.branches[branch].id;
        let now = tree.branches().get(id).map_or(0, |branch| branch.basket_bytes);
        (now, chosen.get(id).copied().unwrap_or(RootChoice { basket_bytes: now, resets_compression: false }))
    };
    let branches = layout.branches.iter().zip(&spreads).enumerate().map(|(place, (branch, spread))| {
        let (now, root) = sizes(place);
        BranchSizes { id: branch.id, path: branch.path.clone(), now, root, ours: largest(spread) }
    });
    let branches: Vec<BranchSizes> = branches.collect();
    let keylens: Vec<u64> = layout.branches.iter().map(|branch| simulate::keylen(&layout.tree, &branch.path)).collect();
    let sizing = |baskets: &[Extent], memory_bytes: u64| Sizing {
        full: plan(baskets, &clusters, |_| true, std::slice::from_ref(&(0..layout.entries)), &Reader::default()),
        overhead_bytes: baskets.iter().map(|basket| keylens.get(basket.branch).copied().unwrap_or(0)).sum(),
        memory_bytes,
    };
    let rows = clusters.iter().map(|cluster| spreads.iter().map(|spread| spread.unsealed(cluster)).sum::<f64>());
    let of_root = |place: usize| u64::from(sizes(place).1.basket_bytes);
    Optimization {
        now: sizing(&layout.baskets, branches.iter().map(|branch| u64::from(branch.now)).sum()),
        root: sizing(
            &simulate::as_filled(&spreads, &clusters, of_root),
            branches.iter().map(|branch| u64::from(branch.root.basket_bytes)).sum(),
        ),
        ours: sizing(&simulate::by_cluster(&spreads, &clusters, BASKET_BYTES), rows.fold(0.0, f64::max) as u64),
        branches,
    }
}
