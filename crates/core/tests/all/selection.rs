//! Many ranges of entries in one plan: what is read for them, how often, and the values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Array;
use sapwood::io::{ByteRange, Call, Ends, LocalFile, Profile, Receive, Recorded, Store, Want, coalesce};
use sapwood::read::{Column, Plan, Selection};
use sapwood::tree::{BasketBytes, BranchId, Tree};
use sapwood::{Error, ErrorKind, File, OpenOptions, Session, read};

const BRANCHES: [&str; 5] = ["x", "n", "v", "vf", "event"];

type Watched = Arc<Recorded<LocalFile>>;

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/baskets.root")
}

fn open(threads: usize) -> (Arc<Tree>, Watched) {
    let store: Watched = Arc::new(Recorded::new(LocalFile::open(data()).expect("a file")));
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    let tree = File::from_store(Arc::new(Arc::clone(&store)), options).expect("a file").tree("events").expect("a tree");
    store.take_calls();
    (tree, store)
}

fn ids(tree: &Tree) -> Vec<BranchId> {
    BRANCHES.iter().map(|name| tree.branch(name).expect("a branch").id).collect()
}

/// The baskets of branches that have any of the entries: offset and length, and the first entry.
fn baskets(tree: &Tree, ids: &[BranchId], wanted: &Selection) -> BTreeMap<u64, (u64, u64)> {
    let entries: BTreeSet<u64> = wanted.ranges().flatten().collect();
    let mut found = BTreeMap::new();
    for basket in ids.iter().flat_map(|&id| tree.branches()[id].baskets()) {
        if let BasketBytes::Stored { seek, nbytes } = basket.bytes
            && entries.range(basket.entries.clone()).next().is_some()
        {
            found.insert(seek, (u64::from(nbytes), basket.entries.start));
        }
    }
    found
}

/// Compares each range with the same one of whole columns.
fn same(part: &[Column], whole: &[Column], wanted: &Selection) {
    for ((part, whole), name) in part.iter().zip(whole).zip(BRANCHES) {
        assert_eq!(part.len as u64, wanted.len());
        let (part, whole) = (part.to_arrow().expect("an array"), whole.to_arrow().expect("an array"));
        let mut row = 0;
        for range in wanted.ranges() {
            let (start, len) = (range.start as usize, (range.end - range.start) as usize);
            assert_eq!(&part.slice(row, len), &whole.slice(start, len), "{name}, entries {range:?}");
            row += len;
        }
    }
}

/// A thousand entries, in runs of one and two, with gaps of 150 between groups of these.
fn scattered() -> Selection {
    let wanted = Selection::of_entries((0..3_000).filter(|entry| entry / 150 % 2 == 0 && entry % 3 != 0));
    let wanted = wanted.expect("they rise");
    assert_eq!((wanted.len(), wanted.ranges().len()), (1_000, 500));
    wanted
}

#[test]
fn a_thousand_scattered_entries_are_one_plan() {
    for threads in [1, 4] {
        let (tree, store) = open(threads);
        let (ids, wanted) = (ids(&tree), scattered());
        let expected = baskets(&tree, &ids, &wanted);
        let all: usize = ids.iter().map(|&id| tree.branches()[id].baskets().len()).sum();
        assert!(expected.len() < all * 9 / 10, "{} of {all}: some have no wanted entry", expected.len());
        let perf = tree.file().perf();
        perf.start();
        let plan = Plan::new(&tree, &ids, &wanted).unwrap();
        assert_eq!(plan.baskets(), expected.len());
        assert_eq!(plan.stored_bytes(), expected.values().map(|(nbytes, _)| nbytes).sum::<u64>());
        assert_eq!(store.calls(), [], "a plan reads nothing");
        let columns = plan.columns().unwrap();
        // All of it is one window, whose requests are merged by cost.
        let wants = expected.iter().zip(0..).map(|((&seek, &(nbytes, first_entry)), id)| Want {
            id,
            range: seek..seek + nbytes,
            first_entry,
        });
        let requests = coalesce(&wants.collect::<Vec<_>>(), &store.profile());
        let mut calls: Vec<_> = store.take_calls().into_iter().map(|call| call.ranges).collect();
        let mut planned: Vec<_> = requests.into_iter().map(|request| request.ranges).collect();
        calls.sort_by_key(|ranges| ranges[0].start);
        planned.sort_by_key(|ranges| ranges[0].start);
        assert_eq!(calls, planned, "{threads} threads");
        let used = perf.baskets();
        assert_eq!(used.keys().copied().collect::<BTreeSet<_>>(), expected.keys().copied().collect());
        assert!(used.values().all(|basket| basket.times == 1), "{threads} threads: each is inflated once");
        same(&columns, &read::columns(&tree, &ids, 0..tree.entries).unwrap(), &wanted);
    }
}

/// A file of which no gap is worth reading.
struct Gapless(LocalFile);

impl Store for Gapless {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> sapwood::Result<Ends> {
        self.0.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> sapwood::Result<()> {
        self.0.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        Profile { latency_ns: 0, ..self.0.profile() }
    }
}

#[test]
fn a_basket_without_a_wanted_entry_is_not_requested() {
    let store = Arc::new(Recorded::new(Gapless(LocalFile::open(data()).unwrap())));
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let tree = File::from_store(Arc::new(Arc::clone(&store)), options).unwrap().tree("events").unwrap();
    let ids = ids(&tree);
    for wanted in [&[5..6][..], &[0..1, 2_999..3_000], &[700..701, 703..704, 1_500..1_502]] {
        store.take_calls();
        let wanted = Selection::of_ranges(wanted.iter().cloned()).unwrap();
        let expected = baskets(&tree, &ids, &wanted);
        read::columns(&tree, &ids, &wanted).unwrap();
        let read: u64 = store.take_calls().iter().map(Call::bytes).sum();
        assert_eq!(read, expected.values().map(|(nbytes, _)| nbytes).sum::<u64>(), "{wanted:?}");
        assert!(expected.len() >= 5 && expected.len() <= 15, "one or two a branch and range");
    }
}

#[test]
fn any_ranges_hold_what_whole_columns_hold() {
    let (tree, _) = open(4);
    let ids = ids(&tree);
    let whole = read::columns(&tree, &ids, 0..tree.entries).unwrap();
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..60 {
        let (longest, widest) = ([1, 3, 40, 400][round % 4], [2, 30, 900][round % 3]);
        let (mut ranges, mut at) = (Vec::new(), random(widest));
        while at < tree.entries {
            let end = (at + 1 + random(longest)).min(tree.entries);
            ranges.push(at..end);
            at = end + random(widest);
        }
        let wanted = Selection::of_ranges(ranges).unwrap();
        same(&read::columns(&tree, &ids, &wanted).unwrap(), &whole, &wanted);
    }
    let nothing = read::columns(&tree, &ids, Selection::of_ranges([]).unwrap()).unwrap();
    assert!(nothing.iter().all(|column| column.len == 0));
}

#[test]
fn a_mask_and_a_list_are_the_same_entries() {
    let (tree, _) = open(1);
    let id = tree.branch("x").unwrap().id;
    let mask: Vec<bool> = (0..tree.entries).map(|entry| entry % 7 == 3).collect();
    let by_mask = Selection::of_mask(0, &mask).unwrap();
    let by_list = Selection::of_entries((0..tree.entries).filter(|entry| entry % 7 == 3)).unwrap();
    assert_eq!(by_mask, by_list);
    let column = &read::columns(&tree, &[id], by_mask).unwrap()[0];
    let numbers: Vec<i64> = column.numbers::<f32>().unwrap().into_iter().map(|number| number as i64).collect();
    assert_eq!(numbers, (0..3_000).filter(|entry| entry % 7 == 3).collect::<Vec<_>>());
}

#[test]
fn a_branch_that_is_named_twice_is_read_once() {
    let (tree, store) = open(1);
    let id = tree.branch("v").unwrap().id;
    let columns = read::columns(&tree, &[id, id], scattered()).unwrap();
    let twice = store.take_calls();
    read::columns(&tree, &[id], scattered()).unwrap();
    let ranges = |calls: Vec<Call>| calls.into_iter().map(|call| call.ranges).collect::<Vec<_>>();
    assert_eq!(ranges(twice), ranges(store.take_calls()));
    assert_eq!(columns[0].buffers(), columns[1].buffers());
}

#[test]
fn steps_and_rows_follow_a_selection() {
    let (tree, store) = open(1);
    let wanted = scattered();
    let expected = baskets(&tree, &[tree.branch("x").unwrap().id], &wanted);
    let perf = tree.file().perf();
    perf.start();
    let steps: Vec<_> =
        tree.scan(&["x"]).unwrap().entries(&wanted).unwrap().step_bytes(1_000).collect::<Result<_, _>>().unwrap();
    assert!(steps.len() >= 5);
    assert_eq!(steps.iter().flat_map(|step| step.entries.ranges()).flatten().count(), 1_000);
    for step in &steps {
        let numbers: Vec<u64> =
            step.column("x").unwrap().numbers::<f32>().unwrap().into_iter().map(|number| number as u64).collect();
        assert_eq!(numbers, step.entries.ranges().flatten().collect::<Vec<_>>());
    }
    assert_eq!(perf.baskets().len(), expected.len(), "none without a wanted entry");
    assert!(!store.take_calls().is_empty());
    let rows = tree.scan(&["x"]).unwrap().entries(&wanted).unwrap().step_bytes(1_000).rows();
    let rows: Vec<(u64, f32)> =
        rows.map(|row| row.map(|row| (row.entry(), row.number("x").unwrap())).unwrap()).collect();
    assert_eq!(rows.len(), 1_000);
    assert!(rows.iter().zip(wanted.ranges().flatten()).all(|(row, entry)| *row == (entry, entry as f32)));
    let reversed = Range { start: 5, end: 3 };
    assert_eq!(tree.scan(&["x"]).unwrap().entries(reversed).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn progress_counts_all_bytes_once_and_can_end_a_read() {
    for (threads, budget) in [(1, 30_000_000), (4, 20_000), (4, 30_000_000)] {
        let (tree, _) = open(threads);
        tree.cache().set_budget(budget);
        let (ids, wanted) = (ids(&tree), scattered());
        let plan = Plan::new(&tree, &ids, &wanted).unwrap();
        let total = plan.stored_bytes();
        let mut seen = vec![0];
        plan.columns_with(|progress| {
            assert_eq!(progress.total_bytes, total);
            seen.push(progress.done_bytes);
            Ok(())
        })
        .unwrap();
        assert!(seen.is_sorted() && seen.last() == Some(&total), "{seen:?}");
        assert!(budget > 20_000 || seen.len() > 3, "a report for each window");
    }
    let (tree, store) = open(1);
    tree.cache().set_budget(10_000);
    let plan = Plan::new(&tree, &ids(&tree), 0..tree.entries).unwrap();
    let error = plan.columns_with(|_| Err(Error::new(ErrorKind::Cancelled, "enough"))).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "enough"));
    let read: u64 = store.take_calls().iter().map(Call::bytes).sum();
    assert!(read < 30_000, "it ended after the first window: {read} bytes");
}

#[test]
fn entries_that_a_branch_lacks_are_refused_wherever_they_are() {
    let (tree, store) = open(1);
    let id = tree.branch("x").unwrap().id;
    for wanted in [&[2_999..3_001][..], &[0..1, 5_000..5_001]] {
        let error = read::columns(&tree, &[id], Selection::of_ranges(wanted.iter().cloned()).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }
    let reversed = Range { start: 5, end: 3 };
    assert_eq!(read::columns(&tree, &[id], reversed).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(store.calls(), []);
}
