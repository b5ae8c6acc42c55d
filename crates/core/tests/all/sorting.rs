//! Entries that are sorted while they are written again. NumPy and real ROOT judge the order in
//! `tests/test_sorting.py`.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::Arc;

use sapwood::column::{Kind, ListOf, Number};
use sapwood::inspect::layout::Layout;
use sapwood::io::{MemorySink, MemoryStore, Recorded};
use sapwood::read::Column;
use sapwood::table::Table;
use sapwood::write::{
    Baskets, BranchSpec, Every, FieldSpec, FileWriter, NTupleOptions, NTupleRewrite, Order, Pages, Remake, Rewrite,
    SortBy, TreeOptions, Values, WriteOptions,
};
use sapwood::{ErrorKind, File, OpenOptions, Session};

const ROWS: usize = 3_000;

/// Keys with many ties, in no order.
fn keys() -> Vec<i32> {
    (0..ROWS as i32).map(|row| row * 7_919 % 101 - 50).collect()
}

/// Lists whose length is the key, if that is above zero.
fn lists() -> (Vec<i64>, Vec<f32>) {
    let mut offsets = vec![0];
    let mut items = Vec::new();
    for (row, key) in keys().into_iter().enumerate() {
        items.extend((0..key.max(0)).map(|item| row as f32 + item as f32 / 64.0));
        offsets.push(items.len() as i64);
    }
    (offsets, items)
}

fn to_memory(threads: usize, write: impl FnOnce(&mut FileWriter)) -> bytes::Bytes {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { session: Session::with_threads(threads), reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", how).unwrap();
    write(&mut file);
    file.close().unwrap();
    sink.to_bytes()
}

fn open(bytes: bytes::Bytes) -> File {
    File::from_store(Arc::new(MemoryStore::new("a.root", bytes)), OpenOptions::default()).unwrap()
}

/// A tree `t` and an RNTuple `n` of the same rows.
fn source() -> File {
    open(source_bytes())
}

fn source_bytes() -> bytes::Bytes {
    let places: Vec<i64> = (0..ROWS as i64).collect();
    let (offsets, items) = lists();
    to_memory(1, |file| {
        let specs = vec![
            BranchSpec::number("key", Number::I32),
            BranchSpec::number("place", Number::I64),
            BranchSpec::counter("n"),
            BranchSpec::jagged("list", Number::F32, "n"),
        ];
        let small = TreeOptions { auto_flush: Every::Entries(250), basket_bytes: 600, ..TreeOptions::default() };
        let mut tree = file.tree("t", specs, small).unwrap();
        let list = Values::lists(&offsets, &items);
        tree.extend(&[("key", Values::from(&keys())), ("place", Values::from(&places)), ("list", list)]).unwrap();
        tree.close().unwrap();
        let number = |number| Kind::Number { buffer: 0, number };
        let item = Box::new(Kind::Number { buffer: 1, number: Number::F32 });
        let list = Kind::List { offsets: 0, of: ListOf::Sequence, item };
        let specs = vec![
            FieldSpec::new("key", number(Number::I32)),
            FieldSpec::new("place", number(Number::I64)),
            FieldSpec::new("list", list.clone()),
        ];
        let small = NTupleOptions { cluster_entries: Some(250), page_bytes: 600, ..NTupleOptions::default() };
        let mut ntuple = file.ntuple("n", specs, small).unwrap();
        let buffers = vec![
            offsets.iter().flat_map(|end| end.to_ne_bytes()).collect::<Vec<u8>>().into(),
            items.iter().flat_map(|item| item.to_ne_bytes()).collect::<Vec<u8>>().into(),
        ];
        let list = Column::from_buffers(list, ROWS, buffers);
        let columns =
            [("key", Column::from_numbers(&keys())), ("place", Column::from_numbers(&places)), ("list", list)];
        ntuple.extend(&columns).unwrap();
        ntuple.close().unwrap();
    })
}

fn sort(columns: &[&str], memory_bytes: u64) -> Option<SortBy> {
    Some(SortBy { memory_bytes, ..SortBy::new(columns.iter().copied()) })
}

/// Writes both again, in clusters of 400 entries.
fn sorted(from: &File, threads: usize, sort: &Option<SortBy>) -> bytes::Bytes {
    to_memory(threads, |file| {
        let options = TreeOptions { auto_flush: Every::Entries(400), ..TreeOptions::default() };
        let how = Rewrite { baskets: Baskets::New(options), sort: sort.clone(), ..Rewrite::default() };
        file.rewrite(from, "t", "t", &how).unwrap();
        let options = NTupleOptions { cluster_entries: Some(400), ..NTupleOptions::default() };
        let how = NTupleRewrite { pages: Pages::New(options), sort: sort.clone(), ..NTupleRewrite::default() };
        file.rewrite_ntuple(from, "n", "n", &how).unwrap();
    })
}

fn check(table: &Table, wanted: &[usize]) {
    let ids = ["key", "place", "list"].map(|name| table.find(name).unwrap());
    let columns = table.read(&ids, 0..table.entries()).unwrap();
    assert_eq!(columns[1].numbers::<i64>().unwrap(), wanted.iter().map(|&row| row as i64).collect::<Vec<_>>());
    let (keys, (offsets, items)) = (keys(), lists());
    assert_eq!(columns[0].numbers::<i32>().unwrap(), wanted.iter().map(|&row| keys[row]).collect::<Vec<_>>());
    let of = |row: &usize| items[offsets[*row] as usize..offsets[row + 1] as usize].to_vec();
    assert_eq!(columns[2].numbers::<f32>().unwrap(), wanted.iter().flat_map(of).collect::<Vec<_>>());
    let ends = wanted.iter().scan(0, |end, &row| {
        *end += offsets[row + 1] - offsets[row];
        Some(*end)
    });
    assert_eq!(columns[2].offsets()[1..], ends.collect::<Vec<_>>());
    assert_eq!(table.clusters().unwrap()[..2], [0..400, 400..800]);
}

#[test]
fn entries_rise_whatever_memory_and_threads_are_and_bytes_are_the_same() {
    let from = source();
    let keys = keys();
    let mut rising: Vec<usize> = (0..ROWS).collect();
    rising.sort_by_key(|&row| keys[row]);
    let mut falling: Vec<usize> = (0..ROWS).collect();
    falling.sort_by_key(|&row| (-keys[row], -(row as i64)));
    for (columns, wanted) in [(&["key"][..], rising), (&["-key", "-place"], falling)] {
        // From one bucket to many, and less memory than any entry needs.
        let first = sorted(&from, 1, &sort(columns, 1 << 30));
        let file = open(first.clone());
        check(&file.table("t").unwrap(), &wanted);
        check(&file.table("n").unwrap(), &wanted);
        for (threads, memory) in [(4, 1 << 30), (1, 300_000), (4, 40_000), (2, 4_000), (1, 1)] {
            let other = sorted(&from, threads, &sort(columns, memory));
            assert!(other == first, "{threads} threads, {memory} bytes of memory");
        }
    }
}

#[test]
fn some_entries_are_sorted_and_some_branches_kept() {
    let from = source();
    let ranges = vec![5..700, 1_000..1_001, 2_222..3_000];
    let chosen: Vec<usize> = ranges.iter().flat_map(|range| range.start as usize..range.end as usize).collect();
    let keys = keys();
    let mut wanted = chosen;
    wanted.sort_by_key(|&row| -keys[row]);
    let wanted: Vec<i64> = wanted.into_iter().map(|row| row as i64).collect();
    let sort = sort(&["-key"], 50_000);
    let bytes = to_memory(1, |file| {
        let entries = Some(ranges);
        let branches = Some(vec!["place".into()]);
        let fields = branches.clone();
        let how = Rewrite { entries: entries.clone(), branches, sort: sort.clone(), ..Rewrite::default() };
        file.rewrite(&from, "t", "t", &how).unwrap();
        let how = NTupleRewrite { entries, fields, sort: sort.clone(), ..NTupleRewrite::default() };
        file.rewrite_ntuple(&from, "n", "n", &how).unwrap();
    });
    for name in ["t", "n"] {
        let table = open(bytes.clone()).table(name).unwrap();
        let places = table.read(&[table.find("place").unwrap()], 0..table.entries()).unwrap().remove(0);
        assert_eq!(places.numbers::<i64>().unwrap(), wanted);
        assert!(table.find("key").is_err());
    }
}

#[test]
fn entries_in_order_are_written_as_without_sorting() {
    let from = source();
    let sort = sort(&["place"], 50_000);
    assert!(sorted(&from, 1, &sort) == sorted(&from, 1, &None));
    let sink = Arc::new(MemorySink::default());
    let file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let how = Remake { sort, ..Remake::default() };
    let remade = file.remake(&from, || Ok(open(sink.to_bytes())), &how).unwrap();
    for tree in remade {
        assert_eq!(
            (tree.reordered, &tree.notes[..]),
            (false, &["its entries were in this order already".to_owned()][..])
        );
    }
}

#[test]
fn what_cannot_be_sorted_is_refused_before_anything_is_written() {
    let from = source();
    let refused = |how: Remake| {
        let sink = Arc::new(MemorySink::default());
        let file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
        file.remake(&from, || Ok(open(sink.to_bytes())), &how).unwrap_err()
    };
    let by = |columns: &[&str]| Remake { sort: sort(columns, 1 << 20), ..Remake::default() };
    let unknown = refused(by(&["kez"]));
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(unknown.to_string().contains("cannot sort by \"kez\"") && unknown.to_string().contains("key"), "{unknown}");
    assert!(refused(by(&["list"])).to_string().contains("\"list\" holds var * float32"));
    assert!(refused(by(&[])).to_string().contains("at least one column to sort by"));
    let kept = Remake { baskets: Baskets::Keep, ..by(&["key"]) };
    assert!(refused(kept).to_string().contains("sorting takes new ones"));
    let branches = Remake { order: Order::Branch, ..by(&["key"]) };
    assert!(refused(branches).to_string().contains("cluster by cluster"));
    let other = Remake { to: Some(sapwood::write::Format::NTuple), ..by(&["key"]) };
    assert!(refused(other).to_string().contains("second step"));
    let missing = Remake {
        sort: Some(SortBy { folder: Some("/nowhere/at/all".into()), ..SortBy::new(["key"]) }),
        ..Remake::default()
    };
    assert!(refused(missing).to_string().contains("cannot create a temporary file"));
}

#[test]
fn each_basket_is_read_once_and_those_of_the_keys_three_times() {
    let store = source_bytes();
    let store = Arc::new(Recorded::new(MemoryStore::new("old.root", store)));
    let from = File::from_store(store.clone(), OpenOptions::default()).unwrap();
    let tree = from.tree("t").unwrap();
    let layout = Layout::of(&tree).unwrap();
    let key = tree.branch("key").unwrap().id;
    // Three windows of four clusters, and three buckets.
    let how = Rewrite { sort: sort(&["key"], 400_000), ..Rewrite::default() };
    store.take_calls();
    to_memory(1, |file| file.rewrite(&from, "t", "t", &how).unwrap());
    let calls = store.take_calls();
    for basket in &layout.baskets {
        let holds = |range: &&std::ops::Range<u64>| range.start <= basket.at && basket.at < range.end;
        let reads = calls.iter().flat_map(|call| &call.ranges).filter(holds).count();
        let most = if basket.branch == key { 3 } else { 1 };
        assert!((1..=most).contains(&reads), "branch {}: {reads} reads", basket.branch);
    }
}
