//! Steps that end within baskets and pages: the same values, and each basket and page read and inflated once.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::Arc;

use sapwood::codec::{Compression, RandomAccess};
use sapwood::column::Number;
use sapwood::io::{Call, MemorySink, MemoryStore, Recorded, Store};
use sapwood::query::{Friend, Query, Source};
use sapwood::read::{Column, Selection, Steps};
use sapwood::tree::Stepping;
use sapwood::write::{BranchSpec, Every, FileWriter, NTupleOptions, TreeOptions, Values, WriteOptions};
use sapwood::{Entry, File, OpenOptions, Session, ntuple, read};

const ROWS: u64 = 1_000;

#[derive(Entry)]
struct Hit {
    x: f32,
    at: [i16; 2],
}

#[derive(Entry)]
struct Event {
    number: i64,
    weights: Vec<f32>,
    /// Its pages of ends are those of the weights, and stored once.
    twins: Vec<f32>,
    name: String,
    nested: Vec<Vec<u16>>,
    hits: Vec<Hit>,
    best: Box<Hit>,
}

fn hit(seed: u64) -> Hit {
    Hit { x: seed as f32 / 8.0, at: [seed as i16, seed as i16 / 3] }
}

/// A length without a pattern: equal pages would be stored once.
fn length(row: u64, below: u64) -> u64 {
    (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % below
}

fn event(row: u64) -> Event {
    Event {
        number: (row * row) as i64,
        weights: (0..length(row, 4)).map(|item| (row + item) as f32).collect(),
        twins: (0..length(row, 4)).map(|item| (row * item) as f32).collect(),
        name: row.to_string().repeat(length(row, 3) as usize),
        nested: (0..length(row, 3)).map(|list| vec![row as u16; length(row + list, 5) as usize]).collect(),
        hits: (0..length(row, 5)).map(|item| hit(row + item)).collect(),
        best: Box::new(hit(row)),
    }
}

/// A file of trees and RNTuples of one cluster each, in the memory of a store that is watched.
fn opened(compression: Compression, threads: usize) -> (File, Arc<Recorded<MemoryStore>>) {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { compression: Some(compression), ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "steps.root", how).unwrap();
    let options = || TreeOptions { auto_flush: Every::Entries(ROWS), ..TreeOptions::default() };
    let events: Vec<Event> = (0..ROWS).map(event).collect();
    for (name, split, blocks) in [("split", 99, None), ("whole", 0, None), ("blocks", 99, Some(64))] {
        let random_access = blocks.map(|entries| RandomAccess::entries(entries).unwrap());
        let mut tree = file.entries(name, "event", split, TreeOptions { random_access, ..options() }).unwrap();
        tree.extend(&events).unwrap();
        tree.close().unwrap();
    }
    let specs = vec![
        BranchSpec::number("number", Number::I64),
        BranchSpec::counter("n"),
        BranchSpec::jagged("list", Number::F32, "n"),
        BranchSpec::text("text"),
    ];
    let mut tree = file.tree("flat", specs, options()).unwrap();
    let ends = events.iter().scan(0, |end, event| {
        *end += event.weights.len() as i64;
        Some(*end)
    });
    let ends: Vec<i64> = [0].into_iter().chain(ends).collect();
    let numbers: Vec<i64> = events.iter().map(|event| event.number).collect();
    let weights: Vec<f32> = events.iter().flat_map(|event| event.weights.iter().copied()).collect();
    tree.extend(&[
        ("number", Values::from(&numbers)),
        ("list", Values::lists(&ends, &weights)),
        ("text", Values::strings(events.iter().map(|event| event.name.as_str()))),
    ])
    .unwrap();
    tree.close().unwrap();
    let options = NTupleOptions { page_bytes: 700, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple_entries("ntuple", "event", options).unwrap();
    ntuple.extend(&events).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    let store = Arc::new(Recorded::new(MemoryStore::new("steps.root", sink.to_bytes())));
    let watched: Arc<dyn Store> = Arc::new(Arc::clone(&store));
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    (File::from_store(watched, options).unwrap(), store)
}

type Read = Box<dyn Fn(Selection) -> Vec<Column>>;
type Step = Box<dyn Fn() -> Stepping>;

/// What has columns: how it is read, and how an iteration of it begins.
struct Table {
    read: Read,
    step: Step,
    budget: Box<dyn Fn(u64)>,
    /// Bytes that reading all of it asks for.
    bytes: u64,
    /// How many baskets or pages are inflated.
    payloads: u32,
}

fn bytes(calls: &[Call]) -> u64 {
    calls.iter().map(Call::bytes).sum()
}

fn inflated(file: &File) -> u32 {
    file.perf().baskets().values().map(|basket| basket.times).sum()
}

fn table(file: &File, store: &Arc<Recorded<MemoryStore>>, name: &str) -> Table {
    let (read, step, budget): (Read, Step, Box<dyn Fn(u64)>) = if name == "ntuple" {
        let ntuple = file.ntuple(name).unwrap();
        let (of, ids, cached) = (Arc::clone(&ntuple), ntuple.top().to_vec(), Arc::clone(&ntuple));
        (
            Box::new(move |entries| ntuple::columns(&of, &ids, entries).unwrap()),
            Box::new(move || ntuple.stepping()),
            Box::new(move |bytes| cached.cache().set_budget(bytes)),
        )
    } else {
        let tree = file.tree(name).unwrap();
        let cached = Arc::clone(&tree);
        let with_data = tree.branches().iter().filter(|branch| branch.has_data());
        let (of, ids) = (Arc::clone(&tree), with_data.map(|branch| branch.id).collect::<Vec<_>>());
        (
            Box::new(move |entries| read::columns(&of, &ids, entries).unwrap()),
            Box::new(move || tree.stepping()),
            Box::new(move |bytes| cached.cache().set_budget(bytes)),
        )
    };
    read(Selection::try_from(0..ROWS).unwrap());
    store.take_calls();
    file.perf().start();
    read(Selection::try_from(0..ROWS).unwrap());
    let payloads = inflated(file);
    file.perf().stop();
    Table { read, step, budget, bytes: bytes(&store.take_calls()), payloads }
}

fn same(steps: &[Vec<Column>], whole: &[Column]) {
    for (number, column) in whole.iter().enumerate() {
        let parts: Vec<_> = steps.iter().map(|step| step[number].to_arrow().unwrap()).collect();
        let whole = column.to_arrow().unwrap();
        let mut row = 0;
        for part in parts {
            assert_eq!(part.as_ref(), whole.slice(row, part.len()).as_ref(), "column {number}, row {row}");
            row += part.len();
        }
        assert_eq!(row, whole.len());
    }
}

const NAMES: [&str; 5] = ["split", "whole", "blocks", "flat", "ntuple"];

#[test]
fn each_basket_and_page_is_read_and_inflated_once_for_all_steps() {
    for (compression, threads) in [("zlib:1", 1), ("zstd:5", 2), ("none", 1), ("lz4:4", 3)] {
        let compression = if compression == "none" { Compression::NONE } else { compression.parse().unwrap() };
        let (file, store) = opened(compression, threads);
        for name in NAMES {
            let table = table(&file, &store, name);
            let whole = (table.read)(Selection::try_from(0..ROWS).unwrap());
            for size in [1, 7, 130, 999] {
                store.take_calls();
                file.perf().start();
                let stepping = (table.step)();
                let read = |range: std::ops::Range<u64>| (table.read)(Selection::try_from(range).unwrap());
                let steps: Vec<_> = Steps::new(0..ROWS, size, Vec::new()).map(read).collect();
                drop(stepping);
                let times = inflated(&file);
                file.perf().stop();
                same(&steps, &whole);
                let what = format!("{name}, {compression:?}, {threads} threads, steps of {size}");
                assert_eq!(times, table.payloads, "inflated: {what}");
                assert_eq!(bytes(&store.take_calls()), table.bytes, "bytes: {what}");
            }
        }
    }
}

#[test]
fn entries_that_lie_apart_inflate_each_page_once() {
    for compression in [Compression::NONE, "zstd:5".parse().unwrap()] {
        let (file, store) = opened(compression, 1);
        let table = table(&file, &store, "ntuple");
        let whole = (table.read)(Selection::try_from(0..ROWS).unwrap());
        let apart: Vec<_> = (0..ROWS).step_by(3).map(|row| row..row + 1).collect();
        file.perf().start();
        let some = (table.read)(Selection::of_ranges(apart.clone()).unwrap());
        let times = inflated(&file);
        file.perf().stop();
        assert_eq!(times, table.payloads);
        for (some, whole) in some.iter().zip(&whole) {
            let (some, whole) = (some.to_arrow().unwrap(), whole.to_arrow().unwrap());
            assert_eq!(some.len(), apart.len());
            for (at, row) in apart.iter().enumerate() {
                assert_eq!(some.slice(at, 1).as_ref(), whole.slice(row.start as usize, 1).as_ref(), "row {row:?}");
            }
        }
    }
}

#[test]
fn what_is_cut_is_read_again_outside_of_an_iteration_and_without_a_cache() {
    let (file, _) = opened("zlib:1".parse().unwrap(), 1);
    let tree = file.tree("flat").unwrap();
    let id = tree.branch("number").unwrap().id;
    let times = |step: u64| {
        file.perf().start();
        for range in Steps::new(0..ROWS, step, Vec::new()) {
            read::columns(&tree, &[id], range).unwrap();
        }
        let times = inflated(&file);
        file.perf().stop();
        times
    };
    assert_eq!(times(100), 10);
    let stepping = tree.stepping();
    assert_eq!((times(100), times(100)), (1, 1));
    tree.cache().set_budget(0);
    assert_eq!(times(100), 10, "there is no room");
    tree.cache().set_budget(1 << 20);
    drop(stepping);
    assert_eq!(times(100), 10);
}

#[test]
fn scans_streams_and_queries_carry_over_what_they_cut() {
    let (file, _) = opened("zlib:1".parse().unwrap(), 1);
    let times = |iterate: &mut dyn FnMut()| {
        file.perf().start();
        iterate();
        let times = inflated(&file);
        file.perf().stop();
        times
    };
    let tree = file.tree("flat").unwrap();
    let scan = || {
        let scan = tree.scan(&["number", "text"]).unwrap().step_bytes(1_000);
        assert!(scan.map(Result::unwrap).count() > 5);
    };
    assert_eq!(times(&mut { scan }), 2);
    let stream = || {
        let query = Query::new(&tree).column(tree.branch("number").unwrap().id);
        let steps = query.steps(0..ROWS, 1_000).unwrap();
        let batches = query.record_batches(&["number"], steps).unwrap();
        assert!(batches.map(Result::unwrap).count() > 5);
    };
    assert_eq!(times(&mut { stream }), 1);
    let ntuple = file.ntuple("ntuple").unwrap();
    let query = Query::new(&ntuple).value("event.number").unwrap();
    let of_ntuple = |step: u64| {
        let _stepping = query.stepping();
        for range in Steps::new(0..ROWS, step, Vec::new()) {
            query.read(range).unwrap();
        }
    };
    let whole = times(&mut || of_ntuple(ROWS));
    assert_eq!(times(&mut || of_ntuple(33)), whole);
    // The friend has one basket, and the tree another.
    let source = Source::from(&tree).with_friend(Friend::new("f", &file.tree("split").unwrap())).unwrap();
    let joined = Query::new(source).value("number + f.event.number").unwrap();
    let of_friend = || {
        let _stepping = joined.stepping();
        for range in Steps::new(0..ROWS, 33, Vec::new()) {
            joined.read(range).unwrap();
        }
    };
    assert_eq!(times(&mut { of_friend }), 2);
}

#[test]
fn no_more_is_carried_over_than_what_is_cut() {
    let (file, store) = opened("zlib:1".parse().unwrap(), 1);
    let table = table(&file, &store, "ntuple");
    let read = |range: std::ops::Range<u64>| (table.read)(Selection::try_from(range).unwrap());
    let stepping = (table.step)();
    // A page of each column, and as many ends as a page has differences.
    let most = 15 * 700 * 2;
    for step in Steps::new(0..ROWS, 37, Vec::new()) {
        read(step);
        assert!(stepping.bytes() <= most, "{} bytes", stepping.bytes());
    }
    assert_eq!(stepping.bytes(), 0);
    // What a selection leaves out makes room for what follows, and no more than the budget allows is carried over.
    (table.budget)(most / 8);
    let all = || Steps::new(0..ROWS, 37, Vec::new()).enumerate();
    all().filter(|(number, _)| number % 3 == 0).for_each(|(_, step)| drop(read(step)));
    assert!((1..=most).contains(&stepping.bytes()));
    file.perf().start();
    all().for_each(|(_, step)| drop(read(step)));
    assert!(inflated(&file) <= table.payloads, "some were there from before");
    file.perf().stop();
}

#[test]
fn two_iterations_of_one_tree_do_not_disturb_each_other() {
    let (file, _) = opened("zlib:1".parse().unwrap(), 1);
    let tree = file.tree("flat").unwrap();
    file.perf().start();
    let scan = |step| tree.scan(&["number", "text"]).unwrap().step_bytes(step);
    let (mut one, mut other) = (scan(700), scan(1_100));
    let mut rows = [0, 0];
    loop {
        match (one.next(), other.next()) {
            (None, None) => break,
            steps => {
                rows[0] += steps.0.map_or(0, |step| step.unwrap().entries.len());
                rows[1] += steps.1.map_or(0, |step| step.unwrap().entries.len());
            }
        }
    }
    assert_eq!((rows, inflated(&file)), ([ROWS, ROWS], 4), "each basket once for each iteration at most");
}

#[test]
fn reads_in_any_order_are_right_while_an_iteration_goes_on() {
    let (file, store) = opened("zstd:5".parse().unwrap(), 2);
    for name in NAMES {
        let Table { read, step, .. } = table(&file, &store, name);
        let whole = read(Selection::try_from(0..ROWS).unwrap());
        let _stepping = step();
        let mut state = 12345_u64;
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (start, len) = ((state >> 33) % ROWS, (state >> 50) % 200);
            let end = ROWS.min(start + len);
            let ranges = [start..start + (end - start) / 3, start + (end - start) / 2..end];
            let some = Selection::of_ranges(ranges.clone()).unwrap();
            let parts = read(some.clone());
            for (part, all) in parts.iter().zip(&whole) {
                let (part, all) = (part.to_arrow().unwrap(), all.to_arrow().unwrap());
                let mut row = 0;
                for range in ranges.iter().filter(|range| !range.is_empty()) {
                    let count = (range.end - range.start) as usize;
                    assert_eq!(part.slice(row, count).as_ref(), all.slice(range.start as usize, count).as_ref());
                    row += count;
                }
                assert_eq!(row, part.len());
            }
        }
    }
}
