//! One tree filled by many threads: what the order, the saves and storage that fails make of it. What real ROOT makes
//! of such files is tested in `tests/`.

mod storage;

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use sapwood::column::Number;
use sapwood::entry::EntryWriter;
use sapwood::inspect::verify::verify_file;
use sapwood::io::{MemorySink, MemoryStore, Sink};
use sapwood::write::{
    BranchSpec, Every, FileWriter, ParallelWriter, TreeOptions, TreeWriter, Values, WriteOptions, recover,
};
use sapwood::{Entry, Error, ErrorKind, File, OpenOptions, Result, Session, read};
use storage::{HeldSink, held_file};

fn options() -> WriteOptions {
    WriteOptions { session: Session::with_threads(2), reproducible: true, ..WriteOptions::default() }
}

fn every(entries: u64) -> TreeOptions {
    TreeOptions { auto_flush: Every::Entries(entries), basket_bytes: 100, ..TreeOptions::default() }
}

fn specs() -> Vec<BranchSpec> {
    vec![BranchSpec::number("x", Number::I64), BranchSpec::counter("n"), BranchSpec::jagged("v", Number::U8, "n")]
}

/// Rows `x`, each with `x % 5` items.
fn fill(tree: &mut TreeWriter, rows: std::ops::Range<i64>) -> Result<()> {
    let x: Vec<i64> = rows.clone().collect();
    let ends = rows.clone().scan(0, |end, x| {
        *end += x % 5;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let v: Vec<u8> = rows.flat_map(|x| (0..x % 5).map(move |k| (x + k) as u8)).collect();
    tree.extend(&[("x", Values::from(&x)), ("v", Values::lists(&offsets, &v))])
}

fn open(bytes: impl Into<bytes::Bytes>) -> File {
    let store = Arc::new(MemoryStore::new("parallel.root", bytes));
    File::from_store(store, OpenOptions::default()).expect("a file")
}

/// The values of `x`; each has its own items.
fn values(file: &File, path: &str) -> Vec<i64> {
    let tree = file.tree(path).expect("a tree");
    let ids = ["x", "v"].map(|name| tree.branch(name).expect("a branch").id);
    let columns = read::columns(&tree, &ids, 0..tree.entries).expect("whole rows");
    let x: Vec<i64> = columns[0].numbers().expect("numbers");
    let (items, offsets): (&[u8], _) = (columns[1].as_slice().expect("numbers"), columns[1].offsets());
    for (x, ends) in x.iter().zip(offsets.windows(2)) {
        assert_eq!(items[ends[0] as usize..ends[1] as usize], (0..x % 5).map(|k| (x + k) as u8).collect::<Vec<_>>());
    }
    x
}

fn is_whole(file: &File) {
    let report = verify_file(file);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn all_rows_of_many_threads_are_in_the_tree() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let one = file.parallel_tree("folder/one", specs(), every(100)).expect("a tree");
    let wish = TreeOptions { auto_save: Every::Entries(300), ..every(7) };
    let two = file.parallel_tree("two", specs(), wish).expect("a tree");
    thread::scope(|scope| {
        for index in 0..8 {
            let (mut one, mut two) = (one.context(), two.context());
            scope.spawn(move || {
                for step in 0..10 {
                    let start = 1000 * index + 100 * step;
                    fill(&mut one, start..start + 99 + step % 2).expect("rows");
                    fill(&mut two, start..start + 3).expect("rows");
                }
                one.close().expect("rows");
                // The other is dropped, with rows that wait.
            });
        }
        assert!(one.save().expect("a save") <= 8_000);
    });
    assert_eq!(one.entries().expect("a tree"), 7960);
    one.close().expect("a tree");
    two.close().expect("a tree");
    file.close().expect("a file");
    let file = open(sink.to_bytes());
    is_whole(&file);
    let (mut one, mut two) = (values(&file, "folder/one"), values(&file, "two"));
    for cluster in file.tree("folder/one").expect("a tree").clusters() {
        let rows = &one[cluster.start as usize..cluster.end as usize];
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "rows of a cluster are of one thread");
    }
    one.sort_unstable();
    two.sort_unstable();
    let rows = |each: fn(i64) -> i64| -> Vec<i64> {
        (0..8).flat_map(|t| (0..10).flat_map(move |s| (0..each(s)).map(move |x| 1000 * t + 100 * s + x))).collect()
    };
    assert_eq!(one, rows(|step| 99 + step % 2));
    assert_eq!(two, rows(|_| 3));
    let tree = file.tree("two").expect("a tree");
    let whole = tree.clusters().iter().filter(|cluster| cluster.end - cluster.start == 7).count();
    assert_eq!(whole, 8 * 4, "thirty rows of each thread are four clusters and a rest");
}

/// A file whose units come from so many threads.
fn numbered(threads: i64, units: u64) -> bytes::Bytes {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let wish = TreeOptions { auto_save: Every::Entries(300), ..every(20) };
    let tree = file.parallel_tree("t", specs(), wish).expect("a tree");
    let next = AtomicU64::new(0);
    let contexts: Vec<_> = (0..threads).map(|_| tree.numbered()).collect();
    thread::scope(|scope| {
        for mut context in contexts {
            let next = &next;
            scope.spawn(move || {
                loop {
                    // Two at a time, the second first.
                    let first = next.fetch_add(2, Ordering::Relaxed);
                    for number in [first + 1, first].into_iter().filter(|&number| number < units) {
                        let mut unit = context.unit(number).expect("a unit");
                        let start = 100 * number as i64;
                        for part in [0..30, 30..30 + number as i64 % 50] {
                            fill(&mut unit, start + part.start..start + part.end).expect("rows");
                        }
                        unit.close().expect("rows");
                    }
                    if first >= units {
                        break;
                    }
                }
            });
        }
    });
    tree.close().expect("a tree");
    file.close().expect("a file");
    sink.to_bytes()
}

#[test]
fn numbered_units_give_the_same_bytes_with_any_threads() {
    let one = numbered(1, 60);
    let file = open(one.clone());
    is_whole(&file);
    let wanted: Vec<i64> = (0..60).flat_map(|unit| (0..30 + unit % 50).map(move |x| 100 * unit + x)).collect();
    assert_eq!(values(&file, "t"), wanted);
    for threads in [2, 3, 8] {
        assert!(numbered(threads, 60) == one, "{threads} threads");
    }
}

#[test]
fn discarded_units_leave_nothing_in_the_tree() {
    let sink = Arc::new(HeldSink::default());
    let (file, tree) = held_file(&sink, every(10));
    let (mut first, mut second) = (tree.numbered(), tree.numbered());
    let two = first.unit(2).expect("a unit");
    assert_eq!(first.unit(3).unwrap_err().kind(), ErrorKind::Mismatch, "unit 2 is open");
    drop(two);
    let mut one = second.unit(1).expect("a unit");
    fill(&mut one, 10..25).expect("rows");
    assert_eq!(first.unit(1).unwrap_err().kind(), ErrorKind::Exists);
    let mut zero = first.unit(0).expect("a unit");
    fill(&mut zero, 0..5).expect("rows");
    zero.discard().expect("nothing to write");
    one.close().expect("rows");
    let mut three = second.unit(3).expect("a unit");
    fill(&mut three, 30..35).expect("rows");
    drop(three); // not closed
    let mut five = second.unit(5).expect("a unit");
    fill(&mut five, 50..60).expect("rows");
    five.close().expect("rows");
    drop((first, second));
    let error = tree.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("unit 4 was never begun"), "{error}");
    let error = file.close().unwrap_err();
    assert!(error.to_string().contains("unit 3 was dropped"), "{error}");
    let file = open(sink.memory.to_bytes());
    is_whole(&file);
    assert_eq!(values(&file, "t"), (10..25).chain(50..60).collect::<Vec<_>>());
}

/// Memory that panics once it is told to, when baskets are written.
#[derive(Default)]
struct Panicking(MemorySink, AtomicBool);

impl Sink for Panicking {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        assert!(bytes <= 16 || !self.1.load(Ordering::Relaxed), "by plan");
        self.0.write_at(offset, parts)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_while_baskets_are_sealed_or_written_is_an_internal_error() {
    for is_parallel in [true, false] {
        let sink = Arc::new(Panicking::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "panics.root", options()).expect("a file");
        let group = is_parallel.then(|| file.parallel_tree("t", specs(), every(10)).expect("a tree"));
        let mut tree = match &group {
            Some(group) => group.context(),
            None => file.tree("t", specs(), every(10)).expect("a tree"),
        };
        sink.1.store(true, Ordering::Relaxed);
        let filled = fill(&mut tree, 0..10);
        let error = filled.and_then(|()| tree.flush()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        sink.1.store(false, Ordering::Relaxed);
        let _ = tree.discard();
    }
}

#[test]
fn a_thread_that_panics_leaves_whole_clusters_only() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), every(10)).expect("a tree");
    let mut context = tree.context();
    let died = thread::spawn(move || {
        fill(&mut context, 0..15).expect("rows");
        panic!("on purpose");
    });
    died.join().unwrap_err();
    tree.close().expect("a tree");
    file.close().expect("a file");
    assert_eq!(values(&open(sink.to_bytes()), "t"), (0..10).collect::<Vec<_>>());
}

#[test]
fn contexts_end_before_their_tree() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), every(10)).expect("a tree");
    let mut context = tree.context();
    fill(&mut context, 0..15).expect("rows");
    let error = tree.close().unwrap_err();
    assert!(error.to_string().contains("before 1 of its contexts"), "{error}");
    assert_eq!(fill(&mut context, 15..30).unwrap_err().kind(), ErrorKind::Mismatch);
    drop(context);
    drop(file);
    let file = open(sink.to_bytes());
    is_whole(&file);
    assert_eq!(values(&file, "t"), (0..10).collect::<Vec<_>>());
}

#[derive(Entry, Default)]
struct Hit {
    channel: u32,
    charges: Vec<f32>,
}

#[test]
fn objects_are_filled_row_by_row() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let spec = BranchSpec::object("hit", <Hit as sapwood::entry::EntryClass>::class(), 99);
    let tree = file.parallel_tree("hits", vec![spec], every(50)).expect("a tree");
    let filled = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let mut hits = EntryWriter::<Hit>::new(tree.context()).expect("the right type");
            let filled = &filled;
            scope.spawn(move || {
                for index in 0..220 {
                    let channel = 1000 * thread + index;
                    hits.fill(&Hit { channel, charges: vec![0.5; channel as usize % 4] }).expect("an entry");
                    filled.fetch_add(1, Ordering::Relaxed);
                }
                hits.close().expect("entries");
            });
        }
    });
    tree.close().expect("a tree");
    file.close().expect("a file");
    let file = open(sink.to_bytes());
    is_whole(&file);
    let tree = file.tree("hits").expect("a tree");
    let hits: Vec<Hit> = tree.read_entries("hit", 0..tree.entries).expect("entries");
    assert_eq!(hits.len(), filled.into_inner());
    assert!(hits.iter().all(|hit| hit.charges.len() == hit.channel as usize % 4));
    let mut channels: Vec<u32> = hits.iter().map(|hit| hit.channel).collect();
    channels.sort_unstable();
    assert_eq!(
        channels,
        (0..3).flat_map(|thread| (0..220).map(move |index| 1000 * thread + index)).collect::<Vec<_>>()
    );
}

#[test]
fn recovery_brings_back_what_was_committed() {
    let path = std::env::temp_dir().join(format!("sapwood-parallel-{}.root", std::process::id()));
    let mut file = FileWriter::recreate(&path, options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), every(10)).expect("a tree");
    let mut contexts = [tree.context(), tree.context()];
    for step in 0..4 {
        fill(&mut contexts[step as usize % 2], 10 * step..10 * step + 10).expect("rows");
        if step == 1 {
            tree.save().expect("a save");
        }
    }
    let copy = path.with_extension("copy.root");
    std::fs::copy(&path, &copy).expect("a copy");
    contexts.into_iter().for_each(|context| context.discard().expect("nothing waits"));
    drop((tree, file));
    let found = recover(&copy, false, options()).expect("a file");
    assert_eq!(found.trees.iter().map(|tree| tree.2).collect::<Vec<_>>(), [40], "{found:?}");
    assert_eq!(values(&File::open(&copy).expect("a file"), "t"), (0..40).collect::<Vec<_>>());
    for path in [path, copy] {
        std::fs::remove_file(path).ok();
    }
}

/// A finished file of these rows, in clusters of ten, and baskets that do not end together.
fn part(rows: std::ops::Range<i64>) -> File {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "part.root", options()).expect("a file");
    let wish = TreeOptions { basket_bytes: 30, ..every(10) };
    let mut tree = file.tree("t", specs(), wish).expect("a tree");
    fill(&mut tree, rows).expect("rows");
    tree.close().expect("a tree");
    file.close().expect("a file");
    open(sink.to_bytes())
}

#[test]
fn finished_trees_are_taken_as_they_are() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), every(10)).expect("a tree");
    let (mut first, mut second) = (tree.numbered(), tree.numbered());
    assert_eq!(second.adopt(1, &part(100..135).tree("t").expect("a tree")).expect("rows"), 35);
    let mut unit = first.unit(0).expect("a unit");
    fill(&mut unit, 0..10).expect("rows");
    unit.close().expect("rows");
    assert_eq!(first.adopt(2, &part(0..0).tree("t").expect("a tree")).expect("no rows"), 0);
    // Another tree is refused whole, and its unit has no entries.
    let other = Arc::new(MemorySink::default());
    let mut another = FileWriter::to_sink(Arc::clone(&other), "other.root", options()).expect("a file");
    let other_specs =
        vec![BranchSpec::number("x", Number::F64), BranchSpec::counter("n"), BranchSpec::jagged("v", Number::U8, "n")];
    another.tree("t", other_specs, every(10)).expect("a tree").close().expect("a tree");
    another.close().expect("a file");
    let error = first.adopt(3, &open(other.to_bytes()).tree("t").expect("a tree")).unwrap_err();
    assert!(error.kind() == ErrorKind::Mismatch && error.to_string().contains("object x"), "{error}");
    drop((first, second));
    assert_eq!(tree.adopt(&part(200..221).tree("t").expect("a tree")).expect("rows"), 21);
    tree.close().expect("a tree");
    file.close().expect("a file");
    let file = open(sink.to_bytes());
    is_whole(&file);
    assert_eq!(values(&file, "t"), (0..10).chain(100..135).chain(200..221).collect::<Vec<_>>());
    assert_eq!(file.tree("t").expect("a tree").clusters().len(), 1 + 4 + 3);
}

#[test]
fn threads_of_a_pool_may_fill_and_save() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let wish = TreeOptions { auto_save: Every::Entries(20), ..every(10) };
    let tree = file.parallel_tree("t", specs(), wish).expect("a tree");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    pool.scope(|scope| {
        for job in 0..60 {
            let tree = &tree;
            scope.spawn(move |_| {
                let mut context = tree.context();
                fill(&mut context, 100 * job..100 * job + 30).expect("rows");
                context.close().expect("rows");
            });
        }
    });
    tree.close().expect("a tree");
    file.close().expect("a file");
    let file = open(sink.to_bytes());
    is_whole(&file);
    let mut all = values(&file, "t");
    all.sort_unstable();
    assert_eq!(all, (0..60).flat_map(|job| 100 * job..100 * job + 30).collect::<Vec<_>>());
}

#[test]
fn clusters_of_a_unit_have_one_size() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "parallel.root", options()).expect("a file");
    let wish = TreeOptions { auto_flush: Every::Bytes(40_000), ..TreeOptions::default() };
    let tree = file.parallel_tree("t", specs(), wish).expect("a tree");
    let mut context = tree.numbered();
    let mut unit = context.unit(0).expect("a unit");
    for step in 0..50 {
        fill(&mut unit, 2_000 * step..2_000 * step + 2_000).expect("rows");
    }
    unit.close().expect("rows");
    drop(context);
    tree.close().expect("a tree");
    file.close().expect("a file");
    let clusters = open(sink.to_bytes()).tree("t").expect("a tree").clusters();
    let sizes: Vec<u64> = clusters.iter().map(|cluster| cluster.end - cluster.start).collect();
    assert!(sizes.len() > 3 && sizes[1..sizes.len() - 1].iter().all(|&size| size == sizes[0]), "{sizes:?}");
}

#[test]
fn a_finished_tree_that_lies_is_refused() {
    let sink = Arc::new(HeldSink::default());
    let (_file, tree) = held_file(&sink, every(10));
    let whole = part(0..35);
    let bytes = {
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "part.root", options()).expect("a file");
        let mut tree = file.tree("t", specs(), every(10)).expect("a tree");
        fill(&mut tree, 0..35).expect("rows");
        tree.close().expect("a tree");
        file.close().expect("a file");
        sink.to_bytes()
    };
    // `fNevBuf` of the first basket of `x`.
    let seek = match open(bytes.clone()).tree("t").expect("a tree").branches()[0].baskets()[0].bytes {
        sapwood::tree::BasketBytes::Stored { seek, .. } => seek as usize,
        other => panic!("{other:?}"),
    };
    let keylen = usize::from(u16::from_be_bytes([bytes[seek + 14], bytes[seek + 15]]));
    let mut lies = bytes.to_vec();
    lies[seek + keylen - 9..seek + keylen - 5].copy_from_slice(&9_u32.to_be_bytes());
    let error = tree.adopt(&open(lies).tree("t").expect("a tree")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert_eq!(tree.entries().expect("a tree"), 0);
    assert_eq!(tree.adopt(&whole.tree("t").expect("a tree")).expect("rows"), 35);
}
