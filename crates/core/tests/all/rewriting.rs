//! Trees that are written again: the order of their baskets, and what is read and inflated for it. What real ROOT and
//! uproot make of it is tested in `tests/`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use sapwood::column::Number;
use sapwood::inspect::layout::{Extent, Layout};
use sapwood::inspect::verify::{verify_file, verify_store};
use sapwood::io::{MemorySink, MemoryStore, Recorded};
use sapwood::schema::Draft;
use sapwood::write::{
    Baskets, BranchSpec, Every, FileWriter, Order, Remake, Rewrite, TreeOptions, Values, WriteOptions,
};
use sapwood::{ErrorKind, File, OpenOptions, Session, read};

const ENTRIES: u64 = 1_000;

fn options() -> WriteOptions {
    WriteOptions { reproducible: true, session: Session::with_threads(1), ..WriteOptions::default() }
}

fn clusters_of(entries: u64) -> TreeOptions {
    TreeOptions { auto_flush: Every::Entries(entries), basket_bytes: 200, ..TreeOptions::default() }
}

/// Entry `e` of `x` is `e`, that of `y` is `-e`, that of `v` has `e % 3` items of `e`.
fn source(tree: TreeOptions) -> Bytes {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "old.root", options()).expect("a file");
    let specs = vec![
        BranchSpec::number("x", Number::I64),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::I64, "n"),
        BranchSpec::number("y", Number::I64),
    ];
    let mut writer = file.tree("t", specs, tree).expect("a tree");
    let all = 0..ENTRIES as i64;
    let x: Vec<i64> = all.clone().collect();
    let y: Vec<i64> = all.clone().map(|e| -e).collect();
    let v: Vec<i64> = all.clone().flat_map(|e| (0..e % 3).map(move |_| e)).collect();
    let ends = all.scan(0, |end, e| {
        *end += e % 3;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    writer
        .extend(&[("x", Values::from(&x)), ("v", Values::lists(&offsets, &v)), ("y", Values::from(&y))])
        .expect("rows");
    writer.close().expect("a tree");
    file.close().expect("a file");
    sink.to_bytes()
}

fn open(bytes: Bytes) -> File {
    File::from_store(Arc::new(MemoryStore::new("a.root", bytes)), OpenOptions::default()).expect("a file")
}

fn rewritten(from: &File, how: &Rewrite) -> sapwood::Result<Bytes> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "new.root", options())?;
    file.rewrite(from, "t", "t", how)?;
    file.close()?;
    Ok(sink.to_bytes())
}

/// The file is whole, and has these entries of the source.
fn check(bytes: &Bytes, branches: &[&str], entries: &[Range<u64>]) -> Layout {
    let report = verify_store(Arc::new(MemoryStore::new("a.root", bytes.clone())), OpenOptions::default());
    let report = report.expect("a report");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let tree = open(bytes.clone()).tree("t").expect("a tree");
    let wanted: Vec<i64> = entries.iter().flat_map(|range| range.start as i64..range.end as i64).collect();
    assert_eq!(tree.entries, wanted.len() as u64);
    let names: Vec<_> = tree.branches().iter().map(|branch| branch.name.to_string()).collect();
    assert_eq!(names, branches);
    for name in branches {
        let id = tree.branch(name).expect("a branch").id;
        let column = read::columns(&tree, &[id], 0..tree.entries).expect("values").remove(0);
        match *name {
            "x" => assert_eq!(column.numbers::<i64>().expect("numbers"), wanted),
            "y" => assert_eq!(column.numbers::<i64>().expect("numbers"), wanted.iter().map(|e| -e).collect::<Vec<_>>()),
            "n" => {
                let counts: Vec<i32> = wanted.iter().map(|e| (e % 3) as i32).collect();
                assert_eq!(column.numbers::<i32>().expect("numbers"), counts);
            }
            _ => {
                let items: Vec<i64> = wanted.iter().flat_map(|&e| (0..e % 3).map(move |_| e)).collect();
                assert_eq!(column.numbers::<i64>().expect("numbers"), items);
            }
        }
    }
    Layout::of(&tree).expect("a layout")
}

/// Branch and first entry of each basket, in the order of the file.
fn order(layout: &Layout) -> Vec<(usize, u64)> {
    let mut baskets: Vec<&Extent> = layout.baskets.iter().collect();
    baskets.sort_by_key(|basket| basket.at);
    assert!(baskets.windows(2).all(|pair| pair[0].at + pair[0].bytes == pair[1].at), "side by side");
    baskets.iter().map(|basket| (basket.branch, basket.entries.start)).collect()
}

fn cluster_ends(layout: &Layout) -> Vec<u64> {
    layout.clusters.iter().map(|cluster| cluster.entries.end).collect()
}

const ALL: [&str; 4] = ["x", "n", "v", "y"];

#[test]
fn new_baskets_are_ordered_by_cluster_or_by_branch() {
    let from = open(source(clusters_of(70)));
    let write = |order| Rewrite { baskets: Baskets::New(clusters_of(300)), order, ..Rewrite::default() };
    let layout = check(&rewritten(&from, &write(Order::Entry)).unwrap(), &ALL, &[0..ENTRIES]);
    assert_eq!(cluster_ends(&layout), [300, 600, 900, 1000]);
    let by_entry = order(&layout);
    assert!(by_entry.is_sorted_by_key(|&(branch, entry)| (entry / 300, branch, entry)));
    let layout = check(&rewritten(&from, &write(Order::Branch)).unwrap(), &ALL, &[0..ENTRIES]);
    assert_eq!(cluster_ends(&layout), [300, 600, 900, 1000], "clusters stay what they are");
    let by_branch = order(&layout);
    assert!(by_branch.is_sorted());
    let mut sorted = by_entry;
    sorted.sort_unstable();
    assert_eq!(sorted, by_branch, "the same baskets");
    let error = rewritten(&from, &write(Order::Offset)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
}

#[test]
fn baskets_that_are_kept_are_moved_as_they_are() {
    let old = source(clusters_of(70));
    let from = open(old.clone());
    let before = Layout::of(&from.tree("t").unwrap()).unwrap();
    let payloads = |bytes: &Bytes, layout: &Layout| -> HashMap<(usize, u64), Bytes> {
        let payload = |basket: &Extent| {
            let record = bytes.slice(basket.at as usize..(basket.at + basket.bytes) as usize);
            // After the fields of the key that depend on its offset.
            ((basket.branch, basket.entries.start), record.slice(34..))
        };
        layout.baskets.iter().map(payload).collect()
    };
    for (how, sorted) in [
        (Order::Entry, Box::new(|&(branch, entry): &(usize, u64)| (entry, branch as u64)) as Box<dyn Fn(&_) -> _>),
        (Order::Branch, Box::new(|&(branch, entry): &(usize, u64)| (branch as u64, entry))),
    ] {
        let kept = Rewrite { baskets: Baskets::Keep, order: how, ..Rewrite::default() };
        let new = rewritten(&from, &kept).unwrap();
        let layout = check(&new, &ALL, &[0..ENTRIES]);
        assert!(order(&layout).is_sorted_by_key(sorted), "{how:?}");
        assert_eq!(cluster_ends(&layout), cluster_ends(&before));
        assert_eq!(payloads(&new, &layout), payloads(&old, &before));
        // And back again, in the order of the first file's clusters; then as that one is.
        let offset = Rewrite { baskets: Baskets::Keep, order: Order::Offset, ..Rewrite::default() };
        let again = check(&rewritten(&open(new), &offset).unwrap(), &ALL, &[0..ENTRIES]);
        assert_eq!(order(&again), order(&layout));
    }
    let fewer = Rewrite {
        baskets: Baskets::Keep,
        order: Order::Branch,
        branches: Some(vec!["v".into()]),
        ..Rewrite::default()
    };
    let bytes = rewritten(&from, &fewer).unwrap();
    let layout = check(&bytes, &["n", "v"], &[0..ENTRIES]);
    let tree = open(bytes).tree("t").unwrap();
    assert_eq!(tree.zip_bytes, layout.zip_bytes());
    assert_eq!(tree.tot_bytes, layout.tot_bytes());
    let some = Rewrite { baskets: Baskets::Keep, entries: Some(vec![0..10]), ..Rewrite::default() };
    assert_eq!(rewritten(&from, &some).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn each_basket_is_read_once_a_cluster_whatever_is_cut_out_of_it() {
    let store = Arc::new(Recorded::new(MemoryStore::new("old.root", source(clusters_of(100)))));
    let from = File::from_store(store.clone(), OpenOptions::default()).unwrap();
    let seeks: HashMap<u64, (usize, Range<u64>)> = Layout::of(&from.tree("t").unwrap())
        .unwrap()
        .baskets
        .into_iter()
        .map(|basket| (basket.at, (basket.branch, basket.entries)))
        .collect();
    // Each third entry: 334 ranges, of which each basket holds many.
    let entries: Vec<_> = (0..ENTRIES.div_ceil(3)).map(|n| 3 * n..3 * n + 1).collect();
    for (order, baskets) in [(Order::Entry, 1), (Order::Branch, 1)] {
        let how = Rewrite {
            baskets: Baskets::New(clusters_of(50)),
            order,
            entries: Some(entries.clone()),
            ..Rewrite::default()
        };
        store.take_calls();
        let bytes = rewritten(&from, &how).unwrap();
        check(&bytes, &ALL, &entries);
        let mut reads: HashMap<u64, usize> = HashMap::new();
        for range in store.take_calls().iter().flat_map(|call| &call.ranges) {
            if seeks.contains_key(&range.start) {
                *reads.entry(range.start).or_default() += 1;
            }
        }
        assert_eq!(reads.len(), seeks.len());
        assert!(reads.values().all(|&count| count == baskets), "{reads:?}");
    }
}

#[test]
fn entries_that_are_kept_have_to_rise() {
    let from = open(source(clusters_of(100)));
    let cut = |entries: &[Range<u64>]| Rewrite { entries: Some(entries.to_vec()), ..Rewrite::default() };
    for wrong in [&[10..20, 15..30][..], &[10..20, 0..5], &[0..1001], &[Range { start: 9, end: 3 }]] {
        let error = rewritten(&from, &cut(wrong)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert_eq!(error.place().object.as_deref(), Some("t"));
    }
    for right in [&[][..], &[5..5], &[0..1, 1..2, 999..1000]] {
        let nothing: Vec<_> = right.iter().filter(|range| !range.is_empty()).cloned().collect();
        check(&rewritten(&from, &cut(right)).unwrap(), &ALL, &nothing);
    }
}

#[test]
fn a_basket_that_was_cut_short_is_named() {
    let old = source(clusters_of(100));
    let seek = Layout::of(&open(old.clone()).tree("t").unwrap()).unwrap().baskets[3].at as usize;
    let mut broken = old.to_vec();
    broken[seek..seek + 4].copy_from_slice(&1_000_000_u32.to_be_bytes());
    let from = open(broken.into());
    for baskets in [Baskets::Keep, Baskets::New(clusters_of(100))] {
        let error = rewritten(&from, &Rewrite { baskets, ..Rewrite::default() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert_eq!(error.place().object.as_deref().map(|path| path.starts_with('t')), Some(true), "{error}");
    }
}

#[test]
fn whole_files_are_rewritten_in_any_order() {
    let from = open(source(clusters_of(70)));
    for (baskets, order) in [(Baskets::Keep, Order::Branch), (Baskets::New(clusters_of(200)), Order::Branch)] {
        let sink = Arc::new(MemorySink::default());
        let writer = FileWriter::to_sink(Arc::clone(&sink), "new.root", options()).unwrap();
        let how = Remake { baskets, order, ..Remake::default() };
        let remade = writer.remake(&from, || Ok(open(sink.to_bytes())), &how).unwrap();
        assert_eq!((remade.len(), remade[0].after.entries, &remade[0].kept), (1, ENTRIES, &None));
        check(&sink.to_bytes(), &ALL, &[0..ENTRIES]);
    }
}

#[test]
fn baskets_that_were_not_looked_into_are_counted() {
    let from = open(source(clusters_of(70)));
    let (keep, new) = (|| Baskets::Keep, || Baskets::New(clusters_of(200)));
    let nothing = || Some(Vec::new());
    for (baskets, trees, verify, are_counted) in [
        (keep(), None, false, true),
        (keep(), None, true, false),
        (new(), None, false, false),
        (new(), nothing(), false, true),
        (new(), nothing(), true, false),
    ] {
        let sink = Arc::new(MemorySink::default());
        let what = format!("{baskets:?}, {trees:?}, verify {verify}");
        let how = WriteOptions { verify, ..options() };
        let writer = FileWriter::to_sink(Arc::clone(&sink), "new.root", how).expect("a file");
        let how = Remake { baskets, trees, ..Remake::default() };
        let remade = writer.remake(&from, || Ok(open(sink.to_bytes())), &how).expect("a file");
        let counted = if are_counted { remade[0].after.baskets } else { 0 };
        assert_eq!(remade[0].unread, counted, "{what}");
    }
}

#[test]
fn no_directory_lies_too_deep_to_be_rewritten() {
    const DEPTH: usize = 200;
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "deep.root", options()).expect("a file");
    let path = format!("{}note", "d/".repeat(DEPTH));
    file.write(&path, Draft::new("TObjString").with("fString", "deep down")).expect("an object");
    file.close().expect("a file");
    let from = open(sink.to_bytes());
    assert_eq!(from.keys(true).expect("keys").len(), DEPTH + 1);
    assert_eq!(verify_file(&from).findings, []);
    let sink = Arc::new(MemorySink::default());
    let writer = FileWriter::to_sink(Arc::clone(&sink), "new.root", options()).expect("a file");
    writer.remake(&from, || Ok(open(sink.to_bytes())), &Remake::default()).expect("a copy");
    let object = open(sink.to_bytes()).object(&path).expect("it was copied");
    assert_eq!(object.member("fString").expect("text").as_text().as_deref(), Some("deep down"));
}

#[test]
fn a_directory_that_cannot_be_read_is_not_left_out_in_silence() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "broken.root", options()).expect("a file");
    file.write("a/note", Draft::new("TObjString").with("fString", "lost")).expect("an object");
    file.close().expect("a file");
    let whole = open(sink.to_bytes());
    let key = whole.key("a").expect("a directory");
    let mut bytes = sink.to_bytes().to_vec();
    // `fSeekKeys`: far after the end.
    bytes[key.seek_key as usize + usize::from(key.keylen) + 26..][..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0]);
    let from = open(bytes.into());
    assert_eq!(from.keys(true).expect("the others are listed").len(), 1);
    let sink = Arc::new(MemorySink::default());
    let writer = FileWriter::to_sink(Arc::clone(&sink), "new.root", options()).expect("a file");
    let error = writer.remake(&from, || Ok(open(sink.to_bytes())), &Remake::default()).expect_err("it is broken");
    assert!(error.to_string().contains("object a"), "{error}");
}
