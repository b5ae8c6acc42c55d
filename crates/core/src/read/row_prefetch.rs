//! Row-wise readers decode one basket at a time; this learns which branches they use and says what to fetch ahead.
//! Pure: no I/O.
//!
//! The branches are not known in advance. From its first use on a branch is known: its baskets in the rest of the
//! window are requested at once, and it is part of all later windows, until a whole window passes without a use.
//!
//! Source: `TTreeCache::FillBuffer` and its learning phase.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::tree::BranchId;

/// What the prefetcher needs to know about a tree.
pub(super) trait Layout {
    /// The ends of clusters, in order.
    fn cluster_ends(&self) -> &[u64];
    /// Gives entries and stored bytes of each basket of a branch that holds any of these entries.
    fn each_basket(&self, branch: BranchId, entries: &Range<u64>, each: impl FnMut(Range<u64>, u64));
    /// The byte budget of a window.
    fn budget(&self) -> u64;
    /// Entries of the last used basket of a branch, which is decoded and need not be fetched again.
    fn held(&self, branch: BranchId) -> Option<Range<u64>>;
}

/// A request for all baskets of a branch that hold any of these entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) branch: BranchId,
    pub(super) entries: Range<u64>,
}

/// Entries that are fetched together: sorted, disjoint ranges; usually a single one.
type Window = Vec<Range<u64>>;

/// Follows the position of a reader and plans its windows.
#[derive(Debug)]
pub(super) struct RowPrefetcher {
    /// Entries in reading order, if known.
    list: Option<List>,
    known: BTreeSet<BranchId>,
    /// Branches used in this window.
    touched: BTreeSet<BranchId>,
    now: Window,
    next: Window,
    /// Bytes of the known branches in both windows.
    bytes: u64,
    /// Clusters per window: grows while reading is sequential; 0 after a jump, for a window of one entry.
    clusters: usize,
    /// After a jump: the end of the last requested basket. Reading up to there counts as sequential.
    reach: u64,
}

#[derive(Debug)]
struct List {
    entries: Vec<u64>,
    /// How many of them belong to requested windows.
    asked: usize,
    /// By branch: entries of the basket that was counted last. Reading goes on in it most often.
    last: Vec<Range<u64>>,
    /// Bytes that were counted for the first entry that is not asked for.
    carried: u64,
}

/// The current window, and the next one in flight.
const WINDOWS: u64 = 2;
/// The most clusters of a window, which the budget bounds, too.
const MOST_CLUSTERS: usize = 1 << 10;

impl RowPrefetcher {
    /// For entries in an unknown order, usually sequential.
    pub(super) fn sequential() -> Self {
        Self {
            list: None,
            known: BTreeSet::new(),
            touched: BTreeSet::new(),
            now: Vec::new(),
            next: Vec::new(),
            bytes: 0,
            clusters: 1,
            reach: 0,
        }
    }

    /// For entries in this order.
    pub(super) fn from_list(entries: Vec<u64>) -> Self {
        Self { list: Some(List { entries, asked: 0, last: Vec::new(), carried: 0 }), ..Self::sequential() }
    }

    /// The windows whose baskets should stay cached.
    pub(super) fn windows(&self) -> impl Iterator<Item = &Range<u64>> {
        self.now.iter().chain(&self.next)
    }

    /// Adds branches that will be used together: windows that begin at this entry include all of them.
    pub(super) fn join(&mut self, branches: &[BranchId], entry: u64) {
        if !holds(&self.now, entry) {
            self.known.extend(branches);
            self.touched.extend(branches);
        }
    }

    /// Notes the use of a branch at an entry; returns new requests.
    pub(super) fn touch(&mut self, branch: BranchId, entry: u64, layout: &impl Layout) -> Vec<Request> {
        if layout.budget() == 0 {
            return Vec::new();
        }
        if holds(&self.now, entry) {
            self.touched.insert(branch);
            if !self.known.insert(branch) {
                return Vec::new();
            }
            let rest = |range: &Range<u64>| range.start.max(entry)..range.end.max(entry);
            self.bytes += self.windows().map(|range| bytes(branch, range, layout)).sum::<u64>();
            if self.bytes > layout.budget().saturating_mul(WINDOWS) && self.clusters > 0 {
                // The windows were sized for fewer branches: start smaller ones here.
                if self.list.is_none() {
                    return self.read_single(entry, layout);
                }
                self.rewind_list(entry);
                return self.start_windows(entry, layout);
            }
            let ranges = self.windows().filter(|range| range.end > entry).map(rest);
            return ranges.map(|entries| Request { branch, entries }).collect();
        }
        let goes_on = holds(&self.next, entry);
        let follows = layout.held(branch).is_some_and(|basket| basket.end == entry);
        let is_near = follows
            || self.now.last().is_some_and(|last| {
                let far = if self.clusters == 0 { self.reach } else { last.end + (last.end - last.start) };
                (last.end..=far).contains(&entry)
            });
        // Drop branches that were not used in the whole window.
        if !self.touched.is_empty() {
            self.known = std::mem::take(&mut self.touched);
        }
        self.touched.insert(branch);
        self.known.insert(branch);
        let is_first = self.now.is_empty();
        if goes_on || is_near {
            self.clusters = (2 * self.clusters).clamp(1, MOST_CLUSTERS);
        }
        if goes_on {
            self.now = std::mem::take(&mut self.next);
            return self.look_ahead(entry, layout);
        }
        let goes_far = self.is_listed(entry) || is_near || is_first && self.begins_cluster(entry, layout);
        if !goes_far {
            return self.read_single(entry, layout);
        }
        self.start_windows(entry, layout)
    }

    /// A window of this entry alone: it grows if reading continues from here.
    fn read_single(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        self.clusters = 0;
        self.now = vec![entry..entry + 1];
        self.next = Vec::new();
        let (one, mut reach) = (entry..entry + 1, None);
        for &branch in &self.known {
            layout.each_basket(branch, &one, |basket, _| reach = reach.max(Some(basket.end)));
        }
        self.reach = reach.unwrap_or(entry);
        self.bytes = self.bytes(&one, layout);
        self.asks(entry)
    }

    /// Whether the last entry was far from those before: it is alone in its window.
    pub(super) fn is_scattered(&self) -> bool {
        self.clusters == 0
    }

    /// Whether there is a current window, and the entry is outside of it.
    pub(super) fn has_left(&self, entry: u64) -> bool {
        !self.now.is_empty() && !holds(&self.now, entry)
    }

    /// Counts a branch as used if its decoded basket reaches into the window: it need not be touched again for that.
    pub(super) fn keep(&mut self, branch: BranchId, basket: &Range<u64>) {
        if self.now.iter().any(|range| basket.start < range.end && range.start < basket.end)
            && self.known.contains(&branch)
        {
            self.touched.insert(branch);
        }
    }

    /// Starts two windows at this entry.
    fn start_windows(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        if let Some(list) = &mut self.list {
            (list.last, list.carried) = (Vec::new(), 0);
        }
        self.now = self.window(entry, layout);
        self.look_ahead(entry, layout)
    }

    /// Plans the window after the current one.
    fn look_ahead(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        self.next = self.window(self.now.last().map_or(entry, |last| last.end), layout);
        self.bytes = self.windows().map(|range| self.bytes(range, layout)).sum();
        self.asks(entry)
    }

    /// The requests of the known branches for both windows.
    fn asks(&self, entry: u64) -> Vec<Request> {
        let windows = self.windows().filter(|range| range.end > entry || self.list.is_some());
        windows.flat_map(|range| self.known.iter().map(|&branch| Request { branch, entries: range.clone() })).collect()
    }

    /// Whether an entry comes later in the list; windows continue from there.
    fn is_listed(&mut self, entry: u64) -> bool {
        let Some(list) = &mut self.list else { return false };
        let ahead = list.entries.get(list.asked..).unwrap_or_default();
        let place = ahead.iter().position(|&listed| listed == entry);
        list.asked += place.unwrap_or(0);
        place.is_some()
    }

    /// Goes back to an entry of the list that is already in a window.
    fn rewind_list(&mut self, entry: u64) {
        if let Some(list) = &mut self.list {
            let before = list.entries.get(..list.asked).unwrap_or_default();
            list.asked = before.iter().rposition(|&listed| listed == entry).unwrap_or(list.asked);
        }
    }

    fn begins_cluster(&self, entry: u64, layout: &impl Layout) -> bool {
        entry == 0 || layout.cluster_ends().binary_search(&entry).is_ok()
    }

    /// A window that starts here: as many clusters, or entries of the list, as the budget allows.
    fn window(&mut self, start: u64, layout: &impl Layout) -> Window {
        let budget = layout.budget();
        if let Some(list) = &mut self.list {
            return list.window(&self.known, budget, layout);
        }
        let ends = layout.cluster_ends();
        let first = ends.partition_point(|&end| end <= start);
        let mut window = start..start;
        let mut bytes = 0;
        for &end in ends.get(first..).unwrap_or_default().iter().take(self.clusters.max(1)) {
            match self.bytes_within(&(window.end..end), budget - bytes, layout) {
                Some(more) => bytes += more,
                None if window.end > start => break,
                None => {
                    window.end = self.part_of_cluster(start..end, layout);
                    break;
                }
            }
            window.end = end;
        }
        if window.is_empty() { Vec::new() } else { vec![window] }
    }

    /// The end of what fits of a cluster larger than the budget: at least one entry. It is searched for from the length
    /// of the last window on, for what is far beyond the budget takes long to sum up.
    fn part_of_cluster(&self, cluster: Range<u64>, layout: &impl Layout) -> u64 {
        let last = self.now.last().map_or(1, |last| last.end - last.start);
        let fits = |entries: u64| {
            self.bytes_within(&(cluster.start..cluster.start + entries), layout.budget(), layout).is_some()
        };
        let (mut most, mut beyond) = (1, cluster.end - cluster.start);
        let mut next = last;
        while most + 1 < beyond {
            let middle = next.clamp(most + 1, beyond - 1);
            (most, beyond) = if fits(middle) { (middle, beyond) } else { (most, middle) };
            next = if beyond > most.saturating_mul(2) { most.saturating_mul(2) } else { most + (beyond - most) / 2 };
        }
        cluster.start + most
    }

    fn bytes(&self, entries: &Range<u64>, layout: &impl Layout) -> u64 {
        self.known.iter().map(|&branch| bytes(branch, entries, layout)).sum()
    }

    /// The same; none where it is above a bound.
    fn bytes_within(&self, entries: &Range<u64>, bound: u64, layout: &impl Layout) -> Option<u64> {
        self.known
            .iter()
            .try_fold(0, |sum, &branch| Some(sum + bytes(branch, entries, layout)).filter(|&sum| sum <= bound))
    }
}

/// Bytes of a branch in a window, without the basket that is already decoded.
fn bytes(branch: BranchId, entries: &Range<u64>, layout: &impl Layout) -> u64 {
    let (held, mut sum) = (layout.held(branch), 0);
    layout.each_basket(branch, entries, |basket, bytes| sum += if held.as_ref() == Some(&basket) { 0 } else { bytes });
    sum
}

/// The most entries of a window of a list.
const MOST_LISTED: usize = 10_000;

impl List {
    /// The next entries, as many as have baskets within the budget; at least one.
    fn window(&mut self, known: &BTreeSet<BranchId>, budget: u64, layout: &impl Layout) -> Window {
        let mut counted: HashSet<(BranchId, u64)> = HashSet::new();
        let (mut bytes, mut found) = (std::mem::take(&mut self.carried), Vec::new());
        self.last.resize(known.last().map_or(0, |&most| most + 1).max(self.last.len()), 0..0);
        for &entry in self.entries.get(self.asked..).unwrap_or_default().iter().take(MOST_LISTED) {
            let before = bytes;
            for &branch in known {
                let last = &mut self.last[branch];
                if last.contains(&entry) {
                    continue;
                }
                let mut baskets = 0;
                layout.each_basket(branch, &(entry..entry + 1), |basket, stored| {
                    bytes += if counted.insert((branch, basket.start)) { stored } else { 0 };
                    (*last, baskets) = (basket, baskets + 1);
                });
                if baskets > 1 {
                    *last = 0..0; // pages of several columns, which end at different entries
                }
            }
            if bytes > budget && !found.is_empty() {
                self.carried = bytes - before;
                break;
            }
            found.push(entry);
        }
        self.asked += found.len();
        found.sort_unstable();
        let mut window: Window = Vec::new();
        for entry in found {
            match window.last_mut() {
                Some(last) if entry <= last.end => last.end = last.end.max(entry + 1),
                _ => window.push(entry..entry + 1),
            }
        }
        window
    }
}

fn holds(window: &[Range<u64>], entry: u64) -> bool {
    let after = window.partition_point(|range| range.end <= entry);
    window.get(after).is_some_and(|range| range.contains(&entry))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Clusters of 100 entries; baskets of 50 entries and 500 bytes in all branches.
    struct Even {
        ends: Vec<u64>,
        budget: u64,
        /// How often it was asked for baskets.
        asked: Cell<usize>,
    }

    impl Even {
        fn new(budget: u64) -> Self {
            Self { ends: (1..=10).map(|cluster| cluster * 100).collect(), budget, asked: Cell::new(0) }
        }
    }

    impl Layout for Even {
        fn cluster_ends(&self) -> &[u64] {
            &self.ends
        }

        fn each_basket(&self, _: BranchId, entries: &Range<u64>, mut each: impl FnMut(Range<u64>, u64)) {
            self.asked.set(self.asked.get() + 1);
            let (first, last) = (entries.start / 50, entries.end.min(1000).div_ceil(50));
            (first..last).for_each(|basket| each(basket * 50..basket * 50 + 50, 500));
        }

        fn budget(&self) -> u64 {
            self.budget
        }

        fn held(&self, _: BranchId) -> Option<Range<u64>> {
            None
        }
    }

    fn ask(branch: BranchId, entries: Range<u64>) -> Request {
        Request { branch, entries }
    }

    #[test]
    fn windows_grow_while_reading_is_sequential() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        assert_eq!(prefetcher.touch(7, 0, &layout), [ask(7, 0..100), ask(7, 100..200)]);
        assert_eq!(prefetcher.touch(7, 99, &layout), []);
        assert_eq!(prefetcher.touch(7, 100, &layout), [ask(7, 100..200), ask(7, 200..400)]);
        assert_eq!(prefetcher.touch(7, 200, &layout), [ask(7, 200..400), ask(7, 400..800)]);
        assert_eq!(prefetcher.touch(7, 799, &layout), [ask(7, 400..800), ask(7, 800..1000)]);
        assert_eq!(prefetcher.touch(7, 800, &layout), [ask(7, 800..1000)]);
    }

    #[test]
    fn a_branch_first_used_later_is_added_with_one_request() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        prefetcher.touch(1, 0, &layout);
        assert_eq!(prefetcher.touch(2, 30, &layout), [ask(2, 30..100), ask(2, 100..200)]);
        assert_eq!(prefetcher.touch(2, 31, &layout), []);
        let asked = prefetcher.touch(1, 100, &layout);
        assert_eq!(asked, [ask(1, 100..200), ask(2, 100..200), ask(1, 200..400), ask(2, 200..400)]);
        // The second branch is not used in this window.
        let asked = prefetcher.touch(1, 200, &layout);
        assert_eq!(asked, [ask(1, 200..400), ask(1, 400..800)]);
    }

    #[test]
    fn after_a_jump_all_known_branches_are_asked_for_one_entry() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        prefetcher.touch(1, 0, &layout);
        prefetcher.touch(2, 0, &layout);
        assert_eq!(prefetcher.touch(1, 810, &layout), [ask(1, 810..811), ask(2, 810..811)]);
        assert_eq!(prefetcher.touch(2, 810, &layout), []);
        // The next use is in the next basket: that counts as sequential, and windows grow again.
        let asked = prefetcher.touch(1, 850, &layout);
        assert_eq!(asked, [ask(1, 850..900), ask(2, 850..900), ask(1, 900..1000), ask(2, 900..1000)]);
        assert_eq!(prefetcher.touch(1, 700, &layout), [ask(1, 700..701)], "and back");
        assert_eq!(prefetcher.touch(1, 600, &layout), [ask(1, 600..601)]);
    }

    #[test]
    fn added_branches_stay_within_the_budget() {
        // Five clusters of two branches.
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(10_000));
        for entry in (0..300).step_by(50) {
            prefetcher.touch(1, entry, &layout);
        }
        for branch in 2..12 {
            prefetcher.touch(branch, 300, &layout);
            let bytes: u64 = prefetcher.windows().map(|window| prefetcher.bytes(window, &layout)).sum();
            assert!(bytes <= WINDOWS * layout.budget(), "{bytes} bytes with branch {branch}");
        }
    }

    #[test]
    fn a_branch_whose_basket_reaches_into_the_window_is_kept() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        prefetcher.touch(1, 0, &layout);
        prefetcher.touch(2, 0, &layout);
        prefetcher.touch(1, 100, &layout);
        prefetcher.keep(2, &(50..200));
        prefetcher.keep(3, &(50..200));
        assert_eq!(prefetcher.touch(1, 200, &layout).iter().map(|ask| ask.branch).collect::<Vec<_>>(), [1, 2, 1, 2]);
    }

    #[test]
    fn windows_keep_to_the_budget() {
        let mut prefetcher = RowPrefetcher::sequential();
        let layout = Even::new(2_000); // two clusters of one branch
        prefetcher.touch(1, 0, &layout);
        prefetcher.touch(1, 100, &layout);
        assert_eq!(prefetcher.touch(1, 200, &layout), [ask(1, 200..400), ask(1, 400..600)]);
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(500)); // half a cluster
        assert_eq!(prefetcher.touch(1, 0, &layout), [ask(1, 0..50), ask(1, 50..100)]);
        assert_eq!(RowPrefetcher::sequential().touch(1, 0, &Even::new(0)), [], "switched off");
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(u64::MAX));
        prefetcher.touch(1, 0, &layout);
        assert_eq!(prefetcher.touch(2, 0, &layout).len(), prefetcher.windows().count(), "without a bound");
    }

    #[test]
    fn a_window_of_a_long_cluster_is_found_without_summing_it_up() {
        // A cluster of 1000 entries, as of a tree whose branches flush alone; 100 branches, two baskets of each fit.
        let layout = Even { ends: vec![1000], ..Even::new(100_000) };
        let mut prefetcher = RowPrefetcher::sequential();
        let all: Vec<_> = (0..100).collect();
        prefetcher.join(&all, 0);
        assert_eq!(prefetcher.touch(0, 0, &layout)[0].entries, 0..100);
        prefetcher.join(&all, 100);
        layout.asked.set(0);
        let asked = prefetcher.touch(0, 100, &layout);
        assert_eq!((&asked[0].entries, &asked[100].entries), (&(100..200), &(200..300)));
        // Twice the sum of both windows, once of what is tried: not of the whole cluster for each.
        assert!(layout.asked.get() < 1000, "{} questions", layout.asked.get());
    }

    #[test]
    fn windows_of_a_list_count_each_basket_once() {
        let layout = Even::new(1_500); // three baskets
        let mut prefetcher = RowPrefetcher::from_list((0..1000).collect());
        let mut windows = Vec::new();
        for entry in 0..1000 {
            let asked = prefetcher.touch(1, entry, &layout);
            windows.extend(asked.into_iter().map(|ask| ask.entries).filter(|entries| entries.start > entry));
        }
        // The second window is asked for with the first: from there on, one at a time.
        assert_eq!(windows, [150..300, 300..450, 450..600, 600..750, 750..900, 900..1000]);
    }

    #[test]
    fn a_list_is_followed_in_its_order() {
        let layout = Even::new(2_000); // windows of four baskets
        let mut prefetcher = RowPrefetcher::from_list(vec![900, 10, 11, 500, 950, 300, 301]);
        let asked = prefetcher.touch(1, 900, &layout);
        let entries: Vec<_> = asked.into_iter().map(|ask| ask.entries).collect();
        assert_eq!(entries, [10..12, 500..501, 900..901, 950..951, 300..302]);
        for entry in [10, 11, 500, 950] {
            assert_eq!(prefetcher.touch(1, entry, &layout), []);
        }
        assert_eq!(prefetcher.touch(1, 300, &layout), [ask(1, 300..302)]);
    }
}
