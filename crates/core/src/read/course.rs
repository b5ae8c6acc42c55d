//! Where somebody who goes from entry to entry is going, and what will be needed there: pure.
//!
//! Nobody says in advance which branches such a reader looks at. A branch is known from its first use on: what it holds in the
//! rest of the window comes at once, and it is part of all windows to come, until one has passed in which nobody looked at it.
//!
//! Source: `TTreeCache::FillBuffer` and its learning phase.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::tree::BranchId;

/// What the course has to know of a tree.
pub(super) trait Layout {
    /// Where clusters end, in order.
    fn cluster_ends(&self) -> &[u64];
    /// Entries and stored bytes of the baskets of a branch that hold any of these entries.
    fn baskets(&self, branch: BranchId, entries: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)>;
    /// The most bytes of all windows.
    fn budget(&self) -> u64;
}

/// Baskets that will be needed: all of a branch that hold any of these entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) branch: BranchId,
    pub(super) entries: Range<u64>,
}

/// Entries that are read together. In order and apart; most are one range.
type Window = Vec<Range<u64>>;

/// Where a reader is and where it goes.
#[derive(Debug)]
pub(super) struct Course {
    /// Entries in the order in which they are read, where that was said.
    list: Option<List>,
    known: BTreeSet<BranchId>,
    /// Those that were looked at in this window.
    touched: BTreeSet<BranchId>,
    now: Window,
    next: Window,
    /// Clusters of a window: it grows while the reader goes on, and is one entry after a jump.
    clusters: usize,
}

#[derive(Debug)]
struct List {
    entries: Vec<u64>,
    /// How many of them belong to windows that were asked for.
    asked: usize,
}

/// The most clusters of a window; the budget bounds it, too.
const MOST_CLUSTERS: usize = 1 << 10;

impl Course {
    /// From entry to entry, as it comes.
    pub(super) fn onward() -> Self {
        Self {
            list: None,
            known: BTreeSet::new(),
            touched: BTreeSet::new(),
            now: Vec::new(),
            next: Vec::new(),
            clusters: 1,
        }
    }

    /// Entries in this order.
    pub(super) fn along(entries: Vec<u64>) -> Self {
        Self { list: Some(List { entries, asked: 0 }), ..Self::onward() }
    }

    /// The windows that are worth keeping.
    pub(super) fn windows(&self) -> impl Iterator<Item = &Range<u64>> {
        self.now.iter().chain(&self.next)
    }

    /// Somebody looks at a branch: says what will be needed and was not asked for, where it begins something new.
    pub(super) fn touch(&mut self, branch: BranchId, entry: u64, layout: &impl Layout) -> Vec<Ask> {
        if layout.budget() == 0 {
            return Vec::new();
        }
        if holds(&self.now, entry) {
            self.touched.insert(branch);
            if !self.known.insert(branch) {
                return Vec::new();
            }
            let rest = self.windows().filter(|range| range.end > entry);
            return rest.map(|range| Ask { branch, entries: range.start.max(entry)..range.end }).collect();
        }
        let goes_on = holds(&self.next, entry);
        let is_near =
            self.now.last().is_some_and(|last| (last.end..last.end + (last.end - last.start)).contains(&entry));
        // What nobody looked at for a whole window is not looked at any more.
        if !self.touched.is_empty() {
            self.known = std::mem::take(&mut self.touched);
        }
        self.touched.insert(branch);
        self.known.insert(branch);
        let is_first = self.now.is_empty();
        if goes_on {
            self.now = std::mem::take(&mut self.next);
        } else {
            self.now = self.begin(entry, is_first, is_near, layout);
            self.next = Vec::new();
        }
        if goes_on || is_near {
            self.clusters = (2 * self.clusters).clamp(1, MOST_CLUSTERS);
        }
        if self.clusters > 0 || self.list.is_some() {
            let start = self.now.last().map_or(entry, |last| last.end);
            self.next = self.window(start, layout);
        }
        let (known, windows) = (&self.known, self.now.iter().chain(&self.next));
        windows
            .flat_map(|range| known.iter().map(|&branch| Ask { branch, entries: range.clone() }))
            .filter(|ask| ask.entries.end > entry || self.list.is_some())
            .collect()
    }

    /// The window that begins with an entry to which nobody was known to come.
    fn begin(&mut self, entry: u64, is_first: bool, is_near: bool, layout: &impl Layout) -> Window {
        if let Some(list) = &mut self.list {
            let ahead = list.entries.get(list.asked..).unwrap_or_default();
            if let Some(place) = ahead.iter().position(|&listed| listed == entry) {
                list.asked += place;
                return self.window(entry, layout);
            }
        }
        let begins = entry == 0 || layout.cluster_ends().binary_search(&entry).is_ok();
        if is_near || is_first && begins {
            return self.window(entry, layout);
        }
        self.clusters = 0;
        vec![entry..entry + 1]
    }

    /// A window from here on: clusters, or entries of the list, as many as half of the budget holds.
    fn window(&mut self, start: u64, layout: &impl Layout) -> Window {
        let budget = layout.budget() / 2;
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
                // A cluster that is larger than the window: as much of it as fits.
                let entries = u128::from(end - start) * u128::from(budget) / u128::from(more);
                window.end = start + (entries as u64).clamp(1, end - start);
                break;
            }
            bytes += more;
            window.end = end;
        }
        if window.is_empty() { Vec::new() } else { vec![window] }
    }

    fn bytes(&self, entries: &Range<u64>, layout: &impl Layout) -> u64 {
        let of = |&branch: &BranchId| layout.baskets(branch, entries.clone()).map(|(_, bytes)| bytes).sum::<u64>();
        self.known.iter().map(of).sum()
    }
}

impl List {
    /// The next entries, as many as the budget holds the baskets of; at least one.
    fn window(&mut self, known: &BTreeSet<BranchId>, budget: u64, layout: &impl Layout) -> Window {
        let mut counted: HashSet<(BranchId, u64)> = HashSet::new();
        let (mut bytes, mut found) = (0, Vec::new());
        for &entry in self.entries.get(self.asked..).unwrap_or_default() {
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
    }

    fn ask(branch: BranchId, entries: Range<u64>) -> Ask {
        Ask { branch, entries }
    }

    #[test]
    fn windows_grow_while_the_reader_goes_on() {
        let (mut course, layout) = (Course::onward(), Even::new(1_000_000));
        assert_eq!(course.touch(7, 0, &layout), [ask(7, 0..100), ask(7, 100..200)]);
        assert_eq!(course.touch(7, 99, &layout), []);
        assert_eq!(course.touch(7, 100, &layout), [ask(7, 100..200), ask(7, 200..400)]);
        assert_eq!(course.touch(7, 200, &layout), [ask(7, 200..400), ask(7, 400..800)]);
        assert_eq!(course.touch(7, 799, &layout), [ask(7, 400..800), ask(7, 800..1000)]);
        assert_eq!(course.touch(7, 800, &layout), [ask(7, 800..1000)]);
    }

    #[test]
    fn a_branch_that_shows_up_later_joins_with_one_request() {
        let (mut course, layout) = (Course::onward(), Even::new(1_000_000));
        course.touch(1, 0, &layout);
        assert_eq!(course.touch(2, 30, &layout), [ask(2, 30..100), ask(2, 100..200)]);
        assert_eq!(course.touch(2, 31, &layout), []);
        let asked = course.touch(1, 100, &layout);
        assert_eq!(asked, [ask(1, 100..200), ask(2, 100..200), ask(1, 200..400), ask(2, 200..400)]);
        // Nobody looks at the second one in this window.
        let asked = course.touch(1, 200, &layout);
        assert_eq!(asked, [ask(1, 200..400), ask(1, 400..800)]);
    }

    #[test]
    fn after_a_jump_all_known_branches_are_asked_for_one_entry() {
        let (mut course, layout) = (Course::onward(), Even::new(1_000_000));
        course.touch(1, 0, &layout);
        course.touch(2, 0, &layout);
        assert_eq!(course.touch(1, 850, &layout), [ask(1, 850..851), ask(2, 850..851)]);
        assert_eq!(course.touch(2, 850, &layout), []);
        // Going on from there, windows grow again.
        let asked = course.touch(1, 851, &layout);
        assert_eq!(asked, [ask(1, 851..900), ask(2, 851..900), ask(1, 900..1000), ask(2, 900..1000)]);
    }

    #[test]
    fn windows_keep_to_the_budget() {
        let mut course = Course::onward();
        let layout = Even::new(4_000); // half of it holds two clusters of one branch
        course.touch(1, 0, &layout);
        course.touch(1, 100, &layout);
        assert_eq!(course.touch(1, 200, &layout), [ask(1, 200..400), ask(1, 400..600)]);
        let (mut course, layout) = (Course::onward(), Even::new(1_000)); // half a cluster
        assert_eq!(course.touch(1, 0, &layout), [ask(1, 0..50), ask(1, 50..100)]);
        assert_eq!(Course::onward().touch(1, 0, &Even::new(0)), [], "switched off");
    }

    #[test]
    fn a_list_is_followed_in_its_order() {
        let layout = Even::new(4_000); // two windows of four baskets
        let mut course = Course::along(vec![900, 10, 11, 500, 950, 300, 301]);
        let asked = course.touch(1, 900, &layout);
        let entries: Vec<_> = asked.into_iter().map(|ask| ask.entries).collect();
        assert_eq!(entries, [10..12, 500..501, 900..901, 950..951, 300..302]);
        for entry in [10, 11, 500, 950] {
            assert_eq!(course.touch(1, entry, &layout), []);
        }
        assert_eq!(course.touch(1, 300, &layout), [ask(1, 300..302)]);
    }
}
