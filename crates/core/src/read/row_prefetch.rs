//! Where somebody who goes from entry to entry is going, and what will be needed there: pure.
//!
//! Nobody says in advance which branches such a reader looks at. A branch is known from its first use on: what it holds in the
//! rest of the window comes at once, and it is part of all windows to come, until one has passed in which nobody looked at it.
//!
//! Source: `TTreeCache::FillBuffer` and its learning phase.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::tree::BranchId;

/// What the prefetcher has to know of a tree.
pub(super) trait Layout {
    /// Where clusters end, in order.
    fn cluster_ends(&self) -> &[u64];
    /// Entries and stored bytes of the baskets of a branch that hold any of these entries.
    fn baskets(&self, branch: BranchId, entries: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)>;
    /// The most bytes of all windows.
    fn budget(&self) -> u64;
    /// Entries of the basket of a branch that was looked at last: who goes on needs it no more.
    fn held(&self, branch: BranchId) -> Option<Range<u64>>;
}

/// Baskets that will be needed: all of a branch that hold any of these entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) branch: BranchId,
    pub(super) entries: Range<u64>,
}

/// Entries that are read together. In order and apart; most are one range.
type Window = Vec<Range<u64>>;

/// Where a reader is and where it goes.
#[derive(Debug)]
pub(super) struct RowPrefetcher {
    /// Entries in the order in which they are read, where that was said.
    list: Option<List>,
    known: BTreeSet<BranchId>,
    /// Those that were looked at in this window.
    touched: BTreeSet<BranchId>,
    now: Window,
    next: Window,
    /// What both hold of the known branches.
    bytes: u64,
    /// Clusters of a window: it grows while the reader goes on, and is one entry after a jump.
    clusters: usize,
    /// After a jump: where the last basket ends that was asked for. Who comes so far and no farther goes on.
    reach: u64,
}

#[derive(Debug)]
struct List {
    entries: Vec<u64>,
    /// How many of them belong to windows that were asked for.
    asked: usize,
}

/// One that is read, and one on its way.
const WINDOWS: u64 = 2;
/// The most clusters of a window; the budget bounds it, too.
const MOST_CLUSTERS: usize = 1 << 10;

impl RowPrefetcher {
    /// From entry to entry, as it comes.
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

    /// Entries in this order.
    pub(super) fn from_list(entries: Vec<u64>) -> Self {
        Self { list: Some(List { entries, asked: 0 }), ..Self::sequential() }
    }

    /// The windows that are worth keeping.
    pub(super) fn windows(&self) -> impl Iterator<Item = &Range<u64>> {
        self.now.iter().chain(&self.next)
    }

    /// Branches that will be looked at together: windows that begin with this entry are made for all of them.
    pub(super) fn join(&mut self, branches: &[BranchId], entry: u64) {
        if !self.is_here(entry) {
            self.known.extend(branches);
            self.touched.extend(branches);
        }
    }

    /// Somebody looks at a branch: says what will be needed and was not asked for, where it begins something new.
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
                // Windows were made for fewer branches: smaller ones begin here.
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
        // What nobody looked at for a whole window is not looked at any more.
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

    /// A window of this entry alone: who goes on from here gets larger ones.
    fn read_single(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        self.clusters = 0;
        self.now = vec![entry..entry + 1];
        self.next = Vec::new();
        let ends = |&branch: &BranchId| layout.baskets(branch, entry..entry + 1).map(|(basket, _)| basket.end).max();
        self.reach = self.known.iter().filter_map(ends).max().unwrap_or(entry);
        self.bytes = self.bytes(&(entry..entry + 1), layout);
        self.asks(entry)
    }

    /// Whether the entry is in the window.
    pub(super) fn is_here(&self, entry: u64) -> bool {
        holds(&self.now, entry)
    }

    /// A branch whose basket was looked at earlier: where that reaches into the window nobody had to look again.
    pub(super) fn keep(&mut self, branch: BranchId, basket: &Range<u64>) {
        if self.now.iter().any(|range| basket.start < range.end && range.start < basket.end)
            && self.known.contains(&branch)
        {
            self.touched.insert(branch);
        }
    }

    /// Two windows from here on.
    fn start_windows(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        self.now = self.window(entry, layout);
        self.look_ahead(entry, layout)
    }

    /// The window behind this one.
    fn look_ahead(&mut self, entry: u64, layout: &impl Layout) -> Vec<Request> {
        self.next = self.window(self.now.last().map_or(entry, |last| last.end), layout);
        self.bytes = self.windows().map(|range| self.bytes(range, layout)).sum();
        self.asks(entry)
    }

    /// What the known branches hold of both windows.
    fn asks(&self, entry: u64) -> Vec<Request> {
        let windows = self.windows().filter(|range| range.end > entry || self.list.is_some());
        windows.flat_map(|range| self.known.iter().map(|&branch| Request { branch, entries: range.clone() })).collect()
    }

    /// Whether an entry is one of those to come; windows go on from there.
    fn is_listed(&mut self, entry: u64) -> bool {
        let Some(list) = &mut self.list else { return false };
        let ahead = list.entries.get(list.asked..).unwrap_or_default();
        let place = ahead.iter().position(|&listed| listed == entry);
        list.asked += place.unwrap_or(0);
        place.is_some()
    }

    /// Goes back to an entry of the list that belongs to a window already.
    fn rewind_list(&mut self, entry: u64) {
        if let Some(list) = &mut self.list {
            let before = list.entries.get(..list.asked).unwrap_or_default();
            list.asked = before.iter().rposition(|&listed| listed == entry).unwrap_or(list.asked);
        }
    }

    fn begins_cluster(&self, entry: u64, layout: &impl Layout) -> bool {
        entry == 0 || layout.cluster_ends().binary_search(&entry).is_ok()
    }

    /// A window from here on: clusters, or entries of the list, as many as the budget holds.
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
            let more = self.bytes(&(window.end..end), layout);
            if bytes + more > budget && window.end > start {
                break;
            }
            if more > budget {
                // A cluster that is larger than the window: as much of it as fits, and one entry at least.
                let (mut fits, mut beyond) = (start + 1, end);
                while fits + 1 < beyond {
                    let middle = fits + (beyond - fits) / 2;
                    let is_small = self.bytes(&(start..middle), layout) <= budget;
                    (fits, beyond) = if is_small { (middle, beyond) } else { (fits, middle) };
                }
                window.end = fits;
                break;
            }
            bytes += more;
            window.end = end;
        }
        if window.is_empty() { Vec::new() } else { vec![window] }
    }

    fn bytes(&self, entries: &Range<u64>, layout: &impl Layout) -> u64 {
        self.known.iter().map(|&branch| bytes(branch, entries, layout)).sum()
    }
}

/// What a branch holds of a window and was not looked at yet.
fn bytes(branch: BranchId, entries: &Range<u64>, layout: &impl Layout) -> u64 {
    let held = layout.held(branch);
    let is_wanted = |basket: &Range<u64>| held.as_ref() != Some(basket);
    layout.baskets(branch, entries.clone()).filter(|(basket, _)| is_wanted(basket)).map(|(_, bytes)| bytes).sum()
}

/// The most entries of a window that follows a list.
const MOST_LISTED: usize = 10_000;

impl List {
    /// The next entries, as many as the budget holds the baskets of; at least one.
    fn window(&mut self, known: &BTreeSet<BranchId>, budget: u64, layout: &impl Layout) -> Window {
        let mut counted: HashSet<(BranchId, u64)> = HashSet::new();
        let (mut bytes, mut found) = (0, Vec::new());
        for &entry in self.entries.get(self.asked..).unwrap_or_default().iter().take(MOST_LISTED) {
            for &branch in known {
                let baskets = layout.baskets(branch, entry..entry + 1);
                let new = baskets.filter(|(basket, _)| counted.insert((branch, basket.start)));
                bytes += new.map(|(_, bytes)| bytes).sum::<u64>();
            }
            if bytes > budget && !found.is_empty() {
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
    use super::*;

    /// Clusters of 100 entries; baskets of 50 entries and 500 bytes in all branches.
    struct Even {
        ends: Vec<u64>,
        budget: u64,
    }

    impl Even {
        fn new(budget: u64) -> Self {
            Self { ends: (1..=10).map(|cluster| cluster * 100).collect(), budget }
        }
    }

    impl Layout for Even {
        fn cluster_ends(&self) -> &[u64] {
            &self.ends
        }

        fn baskets(&self, _: BranchId, entries: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)> {
            let (first, last) = (entries.start / 50, entries.end.min(1000).div_ceil(50));
            (first..last).map(|basket| (basket * 50..basket * 50 + 50, 500))
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
    fn windows_grow_while_the_reader_goes_on() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        assert_eq!(prefetcher.touch(7, 0, &layout), [ask(7, 0..100), ask(7, 100..200)]);
        assert_eq!(prefetcher.touch(7, 99, &layout), []);
        assert_eq!(prefetcher.touch(7, 100, &layout), [ask(7, 100..200), ask(7, 200..400)]);
        assert_eq!(prefetcher.touch(7, 200, &layout), [ask(7, 200..400), ask(7, 400..800)]);
        assert_eq!(prefetcher.touch(7, 799, &layout), [ask(7, 400..800), ask(7, 800..1000)]);
        assert_eq!(prefetcher.touch(7, 800, &layout), [ask(7, 800..1000)]);
    }

    #[test]
    fn a_branch_that_shows_up_later_joins_with_one_request() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(1_000_000));
        prefetcher.touch(1, 0, &layout);
        assert_eq!(prefetcher.touch(2, 30, &layout), [ask(2, 30..100), ask(2, 100..200)]);
        assert_eq!(prefetcher.touch(2, 31, &layout), []);
        let asked = prefetcher.touch(1, 100, &layout);
        assert_eq!(asked, [ask(1, 100..200), ask(2, 100..200), ask(1, 200..400), ask(2, 200..400)]);
        // Nobody looks at the second one in this window.
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
        // The next look is at the next basket: who comes there goes on, and windows grow again.
        let asked = prefetcher.touch(1, 850, &layout);
        assert_eq!(asked, [ask(1, 850..900), ask(2, 850..900), ask(1, 900..1000), ask(2, 900..1000)]);
        assert_eq!(prefetcher.touch(1, 700, &layout), [ask(1, 700..701)], "and back");
        assert_eq!(prefetcher.touch(1, 600, &layout), [ask(1, 600..601)]);
    }

    #[test]
    fn branches_that_join_keep_to_the_budget() {
        let (mut prefetcher, layout) = (RowPrefetcher::sequential(), Even::new(10_000)); // five clusters of two branches
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
    fn a_branch_whose_basket_goes_on_is_kept() {
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
