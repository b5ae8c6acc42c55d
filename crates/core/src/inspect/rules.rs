//! Symptoms of a bad layout, each with the threshold from which it is one.

use super::io_cost::Reader;
use super::issue::{Issue, IssueKind, bytes, issue};
use super::layout::Layout;
use super::reading::{Reading, ReadingKind};
use crate::codec::{Algorithm, Compression};
use crate::file::File;
use crate::tree::Tree;

/// Below this size no layout matters: one or two requests read all of it.
const SMALL_TREE_BYTES: u64 = 1 << 20;
/// A basket costs 70 bytes of key, a look-up and a call of the codec, and a codec needs a few kilobytes to learn from.
/// Below this many stored bytes on average they outweigh the data.
const SMALL_BASKET_BYTES: u64 = 4 << 10;
/// From here on the number of branches alone makes baskets small: a cluster must grow with it.
const MANY_BRANCHES: usize = 1000;
/// Reading one entry inflates its whole basket, on a single thread.
const HUGE_BASKET_BYTES: u64 = 16 << 20;
/// A cluster is what a reader fetches at once: a round trip of 1 ms is worth 100 kB, so that clusters of less than ten
/// times as much cost more in waiting than in data.
const SMALL_CLUSTER_BYTES: u64 = 1 << 20;
/// A cluster of more windows than this cannot be read as a whole: baskets of the same entries are far from each other.
const LARGE_CLUSTER_WINDOWS: u64 = 8;
/// Where less than this of a cluster's span is its own, a reader fetches as many foreign bytes as wanted ones.
const SCATTERED: f64 = 0.5;
/// From this share of baskets on, what spans clusters shows: each is read for two clusters, or kept in memory for the
/// second.
const SPANNING: f64 = 0.1;
/// A share of windows that begin before the end of the last: read-ahead of disks and servers does not help reads that
/// go backwards so often. A few are the rule, where a header or a late basket stands among others.
const BACKWARD: f64 = 0.25;
/// Where a branch shrinks by less, storing it raw takes hardly more room and no time to inflate. LZ4 and Zstandard
/// inflate what they could not pack as fast as it is copied: those are not reported.
const USELESS_RATIO: f64 = 1.05;
/// What is said of compression must concern this share of the tree's bytes.
const COMPRESSION_SHARE: f64 = 0.25;
/// Where no reading takes so much longer than in a good layout, size and order of clusters cost nothing.
const WORTH: f64 = 1.25;
/// A counter further away than this is in another window than its list.
const FAR_BYTES: u64 = 30_000_000;
/// A share of pages with other bytes before them than a page's: writers that gather a cluster's pages leave one such
/// place a cluster.
const UNBUFFERED: f64 = 0.5;
/// Unused space from which a copy of the file is worth it.
const UNUSED_SHARE: f64 = 0.1;

/// Of the file itself.
pub(super) fn of_file(file: &File) -> Vec<Issue> {
    let mut issues = Vec::new();
    if file.is_cut_off() {
        let (end, found) = (bytes(file.header().end), bytes(file.identity().len));
        let words = format!("the file is cut off: its header says {end}, and {found} are there; copy it again");
        issues.push(issue(IssueKind::CutOff, words));
    } else if !file.is_closed() {
        issues.push(issue(
            IssueKind::NeverClosed,
            "the file was never closed: it shows what was saved last, and every reader has to find that again",
        ));
    }
    let end = file.header().end;
    let segments = file.free_segments().unwrap_or_else(|error| {
        let words =
            format!("the list of free segments cannot be read ({}): no program may write into it", error.message());
        issues.push(issue(IssueKind::Unreadable, words));
        Vec::new()
    });
    let inside = segments.iter().filter(|segment| segment.last < end);
    let unused: u64 = inside.map(|segment| segment.last.saturating_sub(segment.first).saturating_add(1)).sum();
    if unused > SMALL_TREE_BYTES && unused as f64 > UNUSED_SHARE * end as f64 {
        issues.push(issue(
            IssueKind::UnusedSpace,
            format!("{} of its {} are unused gaps: a copy would be smaller by as much", bytes(unused), bytes(end)),
        ));
    }
    issues
}

/// Of a tree.
pub(super) fn of_tree(tree: &Tree, layout: &Layout, readings: &[Reading], reader: &Reader) -> Vec<Issue> {
    let mut found = Vec::new();
    if layout.zip_bytes() <= SMALL_TREE_BYTES || layout.baskets.is_empty() {
        return found;
    }
    let costs = readings.iter().any(|reading| reading.now.seconds(reader) > WORTH * reading.good.seconds(reader));
    clusters(layout, reader, costs, &mut found);
    order(layout, readings, costs, &mut found);
    baskets(layout, &mut found);
    compression(tree, layout, &mut found);
    super::counters::issues(tree, layout, FAR_BYTES, &mut found);
    found
}

/// Of an RNTuple.
pub(super) fn of_ntuple(layout: &Layout, readings: &[Reading], reader: &Reader) -> Vec<Issue> {
    let mut found = Vec::new();
    if layout.zip_bytes() <= SMALL_TREE_BYTES || layout.baskets.is_empty() {
        return found;
    }
    let costs = readings.iter().any(|reading| reading.now.seconds(reader) > WORTH * reading.good.seconds(reader));
    clusters(layout, reader, costs, &mut found);
    pages(layout, &mut found);
    found
}

/// Sizes of pages, and whether those of a cluster are contiguous.
fn pages(layout: &Layout, found: &mut Vec<Issue>) {
    let count = layout.baskets.len() as u64;
    let mean = layout.zip_bytes() / count.max(1);
    if mean < SMALL_BASKET_BYTES {
        let columns = layout.branches.len();
        let words = format!(
            "{count} pages of {} on average in {columns} columns: checksums, look-ups and calls of the codec cost as much \
             as the data",
            bytes(mean)
        );
        found.push(issue(IssueKind::SmallPages, words));
    }
    let largest = layout.branches.iter().max_by_key(|column| column.max_bytes);
    if let Some(column) = largest.filter(|column| column.max_bytes > HUGE_BASKET_BYTES) {
        let words = format!(
            "a page of {:?} has {}: reading one of its values inflates all of it, on one thread",
            column.path,
            bytes(column.max_bytes)
        );
        found.push(issue(IssueKind::HugePage, words));
    }
    let mut places: Vec<(u64, u64)> =
        layout.baskets.iter().map(|page| (page.at, page.at.saturating_add(page.bytes))).collect();
    places.sort_unstable();
    places.dedup();
    let alone = places.windows(2).filter(|pair| pair[0].1 < pair[1].0).count();
    if alone > layout.clusters.len() && alone as f64 > UNBUFFERED * places.len() as f64 {
        let words = format!(
            "{alone} of {} pages are records of their own (unbuffered writing): those of a cluster lie apart, each with a \
             key, in the order in which they were filled",
            places.len()
        );
        found.push(issue(IssueKind::UnbufferedPages, words));
    }
}

/// Whether there are clusters, and of which size.
fn clusters(layout: &Layout, reader: &Reader, costs: bool, found: &mut Vec<Issue>) {
    let total = layout.zip_bytes();
    if !layout.has_clusters {
        let many = layout.branches.iter().any(|branch| branch.baskets > 1);
        if many {
            found.push(issue(
                IssueKind::NoClusters,
                "the tree does not say where its clusters are (written before 2009, or with AutoFlush switched off): which \
                 baskets belong together is not known, and parallel readers cut them anywhere",
            ));
        }
        return;
    }
    let count = layout.clusters.len() as u64;
    let mean = total / count.max(1);
    if costs && count > 1 && mean < SMALL_CLUSTER_BYTES {
        found.push(issue(
            IssueKind::SmallClusters,
            format!("{count} clusters of {} each: readers wait more often than they need to", bytes(mean)),
        ));
    }
    if mean > LARGE_CLUSTER_WINDOWS * reader.window_bytes {
        found.push(issue(
            IssueKind::LargeClusters,
            format!(
                "clusters of {} each do not fit what readers fetch at once ({}): baskets of the same entries come in \
                 different windows",
                bytes(mean),
                bytes(reader.window_bytes)
            ),
        ));
    }
}

/// Whether baskets of the same entries are stored close to each other.
fn order(layout: &Layout, readings: &[Reading], costs: bool, found: &mut Vec<Issue>) {
    let clusters: Vec<_> = layout.clusters.iter().filter(|cluster| cluster.baskets > 0).collect();
    if layout.has_clusters && clusters.len() > 1 {
        let mut shares: Vec<f64> = clusters.iter().map(|cluster| cluster.contiguity()).collect();
        shares.sort_by(f64::total_cmp);
        let middle = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
        if costs && middle < SCATTERED {
            found.push(issue(
                IssueKind::ScatteredClusters,
                format!(
                    "the baskets of a cluster are spread over {:.0} times as many bytes as they have: other clusters lie between \
                     them",
                    1.0 / middle.max(1e-6)
                ),
            ));
        }
        let spanning: usize = layout.branches.iter().map(|branch| branch.spanning).sum();
        let share = spanning as f64 / layout.baskets.len().max(1) as f64;
        if share > SPANNING {
            found.push(issue(
                IssueKind::SpanningBaskets,
                format!(
                    "{spanning} of {} baskets hold entries of more than one cluster: each is read for two, or kept meanwhile",
                    layout.baskets.len()
                ),
            ));
        }
    }
    if let Some(full) = readings.iter().find(|reading| reading.kind == ReadingKind::Full) {
        let (backward, windows) = (full.now.backward, full.now.windows);
        if windows > 1 && backward as f64 > BACKWARD * windows as f64 && backward > full.good.backward {
            found.push(issue(
                IssueKind::BackwardSeeks,
                format!("a full read in the order of entries goes backwards {backward} times, in {windows} windows"),
            ));
        }
    }
}

/// Sizes of baskets.
fn baskets(layout: &Layout, found: &mut Vec<Issue>) {
    let count = layout.baskets.len() as u64;
    let mean = layout.zip_bytes() / count.max(1);
    let per_cluster = count as f64 / layout.clusters.len().max(1) as f64;
    if mean < SMALL_BASKET_BYTES {
        let branches = layout.branches.len();
        // One basket a cluster and branch is as few as there can be: then clusters are too small for so many branches.
        let few = per_cluster <= 1.5 * branches as f64 && layout.clusters.len() > 1;
        let (kind, why) = if branches >= MANY_BRANCHES && few {
            (IssueKind::ManyBranches, "clusters must be larger for so many branches")
        } else {
            (IssueKind::SmallBaskets, "keys, look-ups and calls of the codec cost as much as the data")
        };
        found.push(issue(kind, format!("{count} baskets of {} on average in {branches} branches: {why}", bytes(mean))));
    }
    let largest = layout.branches.iter().max_by_key(|branch| branch.max_bytes);
    if let Some(branch) = largest.filter(|branch| branch.max_bytes > HUGE_BASKET_BYTES) {
        found.push(issue(
            IssueKind::HugeBasket,
            format!(
                "a basket of {:?} has {}: reading one of its entries inflates all of it, on one thread",
                branch.path,
                bytes(branch.max_bytes)
            ),
        ));
    }
}

/// What compression saves.
fn compression(tree: &Tree, layout: &Layout, found: &mut Vec<Issue>) {
    let of_file = Compression::from_root(tree.file().header().compress).unwrap_or(Compression::NONE);
    let (mut useless, mut slow) = (Vec::new(), 0_u64);
    for branch in &layout.branches {
        let setting = tree.branches().get(branch.id).map_or(-1, |branch| branch.compress);
        let how = Compression::from_root(setting).unwrap_or(of_file);
        if how.level == 0 {
            continue;
        }
        let is_slow = !matches!(how.algorithm, Algorithm::Lz4 | Algorithm::Zstd);
        if is_slow && (branch.tot_bytes as f64) < USELESS_RATIO * branch.zip_bytes as f64 {
            useless.push(branch);
        } else if how.algorithm == Algorithm::Lzma {
            slow += branch.zip_bytes;
        }
    }
    let total = layout.zip_bytes() as f64;
    let wasted: u64 = useless.iter().map(|branch| branch.zip_bytes).sum();
    if wasted as f64 > COMPRESSION_SHARE * total {
        let names: Vec<_> = useless.iter().take(3).map(|branch| branch.path.as_str()).collect();
        let more = useless.len().saturating_sub(3);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        found.push(issue(
            IssueKind::UselessCompression,
            format!(
                "compression saves less than 5 % of {} ({}{more}): it costs time and saves nothing; Zstandard leaves such data as they are",
                bytes(wasted),
                names.join(", ")
            ),
        ));
    }
    if slow as f64 > COMPRESSION_SHARE * total {
        found.push(issue(
            IssueKind::SlowCompression,
            format!(
                "{} are packed with LZMA, which inflates about ten times as slowly as Zstandard and packs a little tighter",
                bytes(slow)
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{BranchLayout, ClusterLayout, Extent};
    use super::*;
    use std::ops::Range;

    const BASKET: u64 = 100_000;

    /// Ten branches; each cluster of 100 entries has a basket of each branch, where `place` puts it.
    fn layout(clusters: u64, place: impl Fn(u64, u64) -> u64, span: u64) -> Layout {
        let mut baskets = Vec::new();
        for branch in 0..10_u64 {
            for cluster in 0..clusters {
                let entries = 100 * cluster..100 * (cluster + 1) + span;
                let at = BASKET * place(cluster, branch);
                baskets.push(Extent { branch: branch as usize, entries, at, bytes: BASKET });
            }
        }
        let cluster = |n: u64| {
            let places: Vec<u64> = (0..10).map(|branch| BASKET * place(n, branch)).collect();
            let (first, last) = (places.iter().min().copied(), places.iter().max().copied());
            let span: Range<u64> = first.unwrap_or(0)..last.unwrap_or(0) + BASKET;
            ClusterLayout { entries: 100 * n..100 * (n + 1), baskets: 10, bytes: 10 * BASKET, span }
        };
        let branch = |id| BranchLayout {
            id,
            path: format!("x{id}"),
            class: "TBranch".into(),
            type_name: None,
            entries: 100 * clusters,
            baskets: clusters as usize,
            embedded: 0,
            tot_bytes: 2 * BASKET * clusters,
            zip_bytes: BASKET * clusters,
            min_bytes: BASKET,
            median_bytes: BASKET,
            max_bytes: BASKET,
            per_cluster: 1.0,
            spanning: if span > 0 { clusters as usize - 1 } else { 0 },
        };
        Layout {
            tree: "t".into(),
            cycle: 1,
            entries: 100 * clusters,
            file_bytes: 10 * BASKET * clusters,
            has_clusters: true,
            branches: (0..10).map(branch).collect(),
            clusters: (0..clusters).map(cluster).collect(),
            baskets,
        }
    }

    fn kinds(layout: &Layout) -> Vec<IssueKind> {
        let reader = Reader::default();
        let readings = super::super::doctor::readings(layout, &reader);
        let mut found = Vec::new();
        clusters(layout, &reader, true, &mut found);
        order(layout, &readings, true, &mut found);
        baskets(layout, &mut found);
        found.into_iter().map(|issue| issue.kind).collect()
    }

    #[test]
    fn what_lies_in_order_has_no_trouble() {
        assert_eq!(kinds(&layout(200, |cluster, branch| 10 * cluster + branch + 1, 0)), [IssueKind::SmallClusters]);
        let larger = |cluster: u64, branch: u64| 10 * cluster + branch + 1;
        let mut good = layout(200, larger, 0);
        good.clusters = good
            .clusters
            .chunks(20)
            .map(|group| ClusterLayout {
                entries: group[0].entries.start..group[19].entries.end,
                baskets: 200,
                bytes: 200 * BASKET,
                span: group[0].span.start..group[19].span.end,
            })
            .collect();
        assert_eq!(kinds(&good), []);
    }

    #[test]
    fn branch_after_branch_is_scattered() {
        let found = kinds(&layout(200, |cluster, branch| 200 * branch + cluster, 0));
        assert!(found.contains(&IssueKind::ScatteredClusters), "{found:?}");
    }

    #[test]
    fn clusters_from_back_to_front_go_backwards() {
        // With room between them, so that no request holds two.
        let found = kinds(&layout(200, |cluster, branch| 100 * (200 - cluster) + 10 * branch, 0));
        assert!(found.contains(&IssueKind::BackwardSeeks), "{found:?}");
    }

    #[test]
    fn baskets_of_two_clusters_are_seen() {
        let found = kinds(&layout(200, |cluster, branch| 10 * cluster + branch + 1, 50));
        assert!(found.contains(&IssueKind::SpanningBaskets), "{found:?}");
    }

    #[test]
    fn pages_that_are_small_huge_or_alone_are_seen() {
        let kinds = |bytes: u64, gap: u64| {
            let mut layout = layout(200, |cluster, branch| 10 * cluster + branch + 1, 0);
            for page in &mut layout.baskets {
                (page.at, page.bytes) = (page.at / BASKET * (bytes + gap), bytes);
            }
            for column in &mut layout.branches {
                (column.max_bytes, column.zip_bytes) = (bytes, 200 * bytes);
            }
            let mut found = Vec::new();
            pages(&layout, &mut found);
            found.into_iter().map(|issue| issue.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(BASKET, 0), []);
        assert_eq!(kinds(1_000, 0), [IssueKind::SmallPages]);
        assert_eq!(kinds(20 << 20, 0), [IssueKind::HugePage]);
        assert_eq!(kinds(BASKET, 42), [IssueKind::UnbufferedPages]);
    }

    #[test]
    fn sizes_of_baskets_are_seen() {
        let sized = |bytes: u64| {
            let mut layout = layout(200, |cluster, branch| 10 * cluster + branch + 1, 0);
            layout.baskets.iter_mut().for_each(|basket| basket.bytes = bytes);
            for branch in &mut layout.branches {
                (branch.max_bytes, branch.zip_bytes) = (bytes, 200 * bytes);
            }
            kinds(&layout)
        };
        assert!(sized(1_000).contains(&IssueKind::SmallBaskets));
        assert!(sized(20 << 20).contains(&IssueKind::HugeBasket));
        assert!(!sized(20_000).contains(&IssueKind::SmallBaskets));
    }
}
