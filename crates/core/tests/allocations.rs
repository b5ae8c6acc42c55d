//! What reading allocates: decoding nothing once it has started, opening a wide tree so much a branch; and what saving
//! a wide tree again does: nothing for a branch. Sorting takes the memory that it may take.

#![allow(unsafe_code, reason = "a counting allocator is one")]
#![allow(clippy::unwrap_used, reason = "tests may")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::column::{Kind, Number};
use sapwood::write::{
    Baskets, BranchKind, BranchSpec, Class, Column, Every, FieldSpec, FileWriter, NTupleOptions, NTupleRewrite, Pages,
    Rewrite, SortBy, TreeOptions, Type, Values, WriteOptions,
};
use sapwood::{Entry, File, OpenOptions, Session, read};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are in use, and the most that were: of this thread, which may free what another one took.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn grow(bytes: i64) {
    let live = LIVE.with(Cell::get) + bytes;
    LIVE.with(|now| now.set(live));
    PEAK.with(|peak| peak.set(peak.get().max(live)));
}

// SAFETY: every call goes to the system's allocator as it came; counting touches a cell of this thread only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        grow(layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        grow(-(layout.size() as i64));
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        grow(bytes as i64 - layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one read, after another of the same entries has warmed everything up.
fn allocations(branch: &str, entries: u64) -> (u64, usize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/baskets.root");
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let file = File::open_with(path, options).unwrap();
    let tree = file.tree("events").unwrap();
    let id = tree.branch(branch).unwrap().id;
    let read = || read::columns(&tree, &[id], 0..entries).unwrap();
    drop(read());
    let before = COUNT.with(Cell::get);
    let columns = read();
    let count = COUNT.with(Cell::get) - before;
    drop(columns);
    let baskets = tree.branches()[id].baskets().iter().filter(|basket| basket.entries.start < entries).count();
    (count, baskets)
}

#[test]
fn more_baskets_take_no_more_allocations() {
    for branch in ["x", "v", "vf", "event"] {
        let ((few, few_baskets), (many, many_baskets)) = (allocations(branch, 1500), allocations(branch, 3000));
        assert!(many_baskets >= few_baskets + 15, "{branch}: {few_baskets} and {many_baskets} baskets");
        // Buffers that double as they grow, and the list of what to fetch: logarithmic, not one a basket.
        let grown = many.saturating_sub(few);
        assert!(
            grown * 4 <= (many_baskets - few_baskets) as u64,
            "{branch}: {few} allocations for {few_baskets} baskets, {many} for {many_baskets}"
        );
    }
}

/// Opening a tree.
struct Opening {
    /// Allocations, the most bytes, and those that the open tree keeps.
    count: u64,
    peak: i64,
    kept: i64,
    /// Bytes of its record, and of what knowing the baskets of all branches takes besides.
    record: i64,
    baskets: i64,
    /// Allocations that knowing them takes.
    listed: u64,
}

/// Opens a tree of so many branches, each with so many baskets.
fn opening(branches: usize, baskets: usize) -> Opening {
    let path = sapwood_testkit::scratch(&format!("wide-{branches}-{baskets}.root"));
    let names: Vec<String> = (0..branches).map(|number| format!("branch{number:06}")).collect();
    let specs = names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect();
    let mut writer = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    let mut tree = writer.tree("wide", specs, TreeOptions::default()).unwrap();
    let columns: Vec<_> = names.iter().map(|name| (name.as_str(), Values::from(&[1.5_f32]))).collect();
    for _ in 0..baskets {
        tree.extend(&columns).unwrap();
        tree.flush().unwrap();
    }
    tree.close().unwrap();
    writer.close().unwrap();
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let file = File::open_with(&path, options).unwrap();
    let (before, counted) = (LIVE.with(Cell::get), COUNT.with(Cell::get));
    PEAK.with(|peak| peak.set(before));
    let tree = file.tree("wide").unwrap();
    let count = COUNT.with(Cell::get) - counted;
    let (peak, kept) = (PEAK.with(Cell::get) - before, LIVE.with(Cell::get) - before);
    assert_eq!((tree.branches().len(), tree.branches()[branches - 1].name.as_ref()), (branches, &*names[branches - 1]));
    let (before, counted) = (LIVE.with(Cell::get), COUNT.with(Cell::get));
    let found: usize = tree.branches().iter().map(|branch| branch.baskets().len()).sum();
    assert_eq!(found, branches * baskets);
    let (baskets, listed) = (LIVE.with(Cell::get) - before, COUNT.with(Cell::get) - counted);
    let record = i64::from(file.key("wide").unwrap().objlen);
    Opening { count, peak, kept, record, baskets, listed }
}

#[test]
fn a_tree_of_100_000_branches_opens_in_so_many_bytes_a_branch() {
    let many = opening(100_000, 1);
    println!("{} bytes a branch at most, {} kept", many.peak / 100_000, many.kept / 100_000);
    println!("{} allocations a branch", many.count as f64 / 1e5);
    assert!(many.peak < 100_000 * 1_700 && many.kept < 100_000 * 1_700, "{} {}", many.peak, many.kept);
    // Name, title, its list of leaves.
    assert!(many.count < 100_000 * 3 + 10_000, "{}", many.count);
    // No more for each of many branches than of few.
    let few = opening(10_000, 1);
    assert!(many.peak < 11 * few.peak && many.kept < 11 * few.kept, "{} {}", few.peak, few.kept);
}

#[test]
fn lists_of_baskets_stay_in_the_record_until_they_are_asked_for() {
    let (few, many) = (opening(1_000, 1), opening(1_000, 100));
    let more = many.record - few.record;
    assert!(more > 1_000 * 90 * 20, "three numbers for each basket above ten: {more}");
    let kept = many.kept - few.kept;
    assert!((more - 1_000..more + 1_000).contains(&kept), "the record and nothing besides: {kept} for {more}");
    assert!(many.count < few.count + 100, "{} and {}", few.count, many.count);
    // What is known of a basket is decoded for one branch after the other, into what is kept of each.
    let each = size_of::<sapwood::tree::BasketPlace>() as i64;
    // Three lists, as stored and as numbers, and the baskets.
    assert!(many.listed <= 1_000 * 7 + 10, "{} allocations", many.listed);
    let (least, most) = (1_000 * 100 * each, 1_000 * 128 * each + 10_000);
    assert!((least..=most).contains(&many.baskets), "{} of {least} to {most}", many.baskets);
}

/// Allocations of the second save of a tree of so many branches, which is still written.
fn second_save(branches: usize) -> u64 {
    let path = sapwood_testkit::scratch(&format!("saved-again-{branches}.root"));
    let names: Vec<String> = (0..branches).map(|number| format!("branch{number:06}")).collect();
    let specs = names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect();
    let how = WriteOptions { session: Session::with_threads(1), ..WriteOptions::default() };
    let mut writer = FileWriter::recreate(&path, how).unwrap();
    // The first save is that of a tree without entries.
    let mut tree = writer.tree("wide", specs, TreeOptions::default()).unwrap();
    let columns: Vec<_> = names.iter().map(|name| (name.as_str(), Values::from(&[1.5_f32]))).collect();
    tree.extend(&columns).unwrap();
    tree.flush().unwrap();
    let before = COUNT.with(Cell::get);
    writer.save().unwrap();
    let count = COUNT.with(Cell::get) - before;
    tree.close().unwrap();
    writer.close().unwrap();
    assert_eq!(File::open(&path).unwrap().tree("wide").unwrap().branches().len(), branches);
    count
}

#[test]
fn a_tree_is_saved_again_without_an_allocation_for_a_branch() {
    let (few, many) = (second_save(1_000), second_save(10_000));
    println!("{few} and {many} allocations");
    assert!(many < few + 50, "{few} and {many}");
}

/// Bytes that a second read of lists of objects, or of pointers to them, takes beyond what the first one gave back, and
/// those of the answer.
fn second_read(counts: &[usize], pointers: bool) -> (i64, i64) {
    let path = sapwood_testkit::scratch("second-read.root");
    let number = |number| Type::Number(number);
    let hit = Class::new("Hit").member("x", number(Number::F32)).member("n", number(Number::I32));
    let hit = Arc::new(hit);
    let kind = Type::vector(if pointers { Type::Pointer(hit) } else { Type::Object(hit) });
    let items: usize = counts.iter().sum();
    let ends = counts.iter().scan(0, |end, &count| {
        *end += count as u64;
        Some(*end)
    });
    let members = vec![Column::from(&vec![0.5_f32; items][..]), Column::from(&vec![7_i32; items][..])];
    let mut hits = Column::Record(items, members);
    if pointers {
        hits = Column::Lists((1..=items as u64).collect(), Box::new(hits));
    }
    let hits = Column::Lists(ends.collect(), Box::new(hits));
    let how = WriteOptions { session: Session::with_threads(1), ..WriteOptions::default() };
    let mut file = FileWriter::recreate(&path, how).unwrap();
    let specs = vec![BranchSpec::new("hits", BranchKind::Object(kind, 0))];
    // A basket an entry.
    let mut tree = file.tree("t", specs, TreeOptions { basket_bytes: 1, ..TreeOptions::default() }).unwrap();
    tree.extend(&[("hits", Values::objects(&hits))]).unwrap();
    tree.close().unwrap();
    file.close().unwrap();
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let tree = File::open_with(&path, options).unwrap().tree("t").unwrap();
    let id = tree.branch("hits").unwrap().id;
    let read = || read::columns(&tree, &[id], 0..counts.len() as u64).unwrap().remove(0).followed().unwrap();
    drop(read());
    let before = LIVE.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let column = read();
    let growth = PEAK.with(Cell::get) - before;
    (growth, column.memory_bytes() as i64)
}

#[test]
fn an_answer_takes_the_memory_of_the_one_before() {
    let growing: Vec<usize> = (0..400).map(|entry| 2_000 + 20 * entry).collect();
    let shrinking: Vec<usize> = growing.iter().rev().copied().collect();
    for counts in [growing, shrinking, vec![6_000; 400]] {
        let (growth, answer) = second_read(&counts, false);
        assert!(answer > 16 << 20 && growth < answer / 10, "{growth} of {answer} bytes, first {}", counts[0]);
    }
}

#[test]
fn objects_behind_pointers_are_decoded_where_they_stay() {
    let (growth, answer) = second_read(&vec![4_000; 400], true);
    // What is new: their numbers, and the ends of lists and tags of pointers.
    assert!(answer > 12 << 20 && growth < 3 * answer, "{growth} of {answer} bytes");
}

/// Bytes that something takes, at its peak.
fn peak(work: impl FnOnce()) -> i64 {
    let before = LIVE.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    work();
    PEAK.with(Cell::get) - before
}

#[derive(Entry, Clone, Default)]
struct Hit {
    x: f64,
    n: i32,
}

/// What fills a branch `event`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Numbers,
    Objects,
    RowByRow,
}

/// Writes 22 MB without compression, in clusters of 4 MB, of which the last is not whole.
fn write(path: &Path, how: &WriteOptions, given: Given) {
    const ROWS: usize = 15_000;
    let options = TreeOptions { auto_flush: Every::Bytes(4_000_000), ..TreeOptions::default() };
    let mut file = FileWriter::recreate(path, how.clone()).unwrap();
    if given == Given::RowByRow {
        let mut tree = file.entries("t", "event", 99, options).unwrap();
        for n in 0..22_000_000 / 12 {
            tree.fill(&Hit { x: 0.5, n }).unwrap();
        }
        tree.close().unwrap();
        return file.close().unwrap();
    }
    let class = Class::new("Hit").member("x", Type::Number(Number::F64)).member("n", Type::Number(Number::I32));
    let spec = match given {
        Given::Objects => BranchSpec::new("event", BranchKind::Object(Type::Object(Arc::new(class)), 99)),
        _ => BranchSpec::number("event", Number::F64),
    };
    let step = Column::Record(ROWS, vec![Column::from(&[0.5_f64; ROWS]), Column::from(&[7_i32; ROWS])]);
    let mut tree = file.tree("t", vec![spec], options).unwrap();
    for _ in 0..22_000_000 / (ROWS * if given == Given::Objects { 12 } else { 8 }) {
        let values = match given {
            Given::Objects => Values::objects(&step),
            _ => Values::from(&[0.5_f64; ROWS]),
        };
        tree.extend(&[("event", values)]).unwrap();
    }
    tree.close().unwrap();
    file.close().unwrap();
}

#[test]
fn a_tree_takes_the_memory_of_one_cluster_and_then_that_of_the_tree_before() {
    let how =
        WriteOptions { session: Session::with_threads(1), compression: "none".parse().ok(), ..WriteOptions::default() };
    for given in [Given::Numbers, Given::Objects, Given::RowByRow] {
        let how = WriteOptions { session: Session::with_threads(1), ..how.clone() };
        let path = sapwood_testkit::scratch(&format!("written-twice-{given:?}.root"));
        let [first, second] = [(); 2].map(|()| peak(|| write(&path, &how, given)));
        println!("{given:?}: {first} and {second} bytes");
        // A cluster and a quarter, the buffers of its first megabyte, and the sealed baskets of a wave.
        assert!(first < 9_000_000, "{given:?}: {first} bytes of 4 MB a cluster");
        assert!(second < 4_000_000, "{given:?}: {second} bytes");
        let tree = File::open(&path).unwrap().tree("t").unwrap();
        let clusters = tree.clusters().len();
        assert!((5..=6).contains(&clusters) && tree.entries >= 1_800_000, "{clusters}, {} entries", tree.entries);
    }
}

#[test]
fn no_more_room_is_made_than_there_is_use_for() {
    let path = sapwood_testkit::scratch("room-within-bounds.root");
    for (auto_flush, cluster_bytes) in [
        (Every::Entries(u64::MAX), usize::MAX),
        (Every::Bytes(u64::MAX), usize::MAX),
        (Every::Never, usize::MAX),
        (Every::Entries(u64::MAX), 1_200_000),
    ] {
        let options = TreeOptions { auto_flush, cluster_bytes, ..TreeOptions::default() };
        let how = WriteOptions { session: Session::with_threads(1), ..WriteOptions::default() };
        let bytes = peak(|| {
            let mut file = FileWriter::recreate(&path, how.clone()).unwrap();
            let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::F64)], options.clone()).unwrap();
            (0..20).for_each(|_| tree.extend(&[("x", Values::from(&[0.5_f64; 10_000]))]).unwrap());
            tree.close().unwrap();
            file.close().unwrap();
        });
        assert!(bytes < 96 << 20, "{auto_flush:?}: {bytes} bytes of room for 1.6 MB");
        assert_eq!(File::open(&path).unwrap().tree("t").unwrap().entries, 200_000);
        // What was never in use does not wait for the next tree.
        assert!(how.session.memory().idle_bytes() < 16 << 20, "{auto_flush:?}: {:?}", how.session.memory());
    }
}

/// The most bytes that sorting a tree or an RNTuple of eight columns in reverse order takes.
fn sorting(rows: u64, memory_bytes: u64, is_ntuple: bool) -> i64 {
    let how = || WriteOptions { session: Session::with_threads(1), ..WriteOptions::default() };
    let [source, target] = ["unsorted.root", "sorted.root"].map(sapwood_testkit::scratch);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let values: Vec<f64> = (0..rows).rev().map(|row| row as f64).collect();
    let mut file = FileWriter::recreate(&source, how()).unwrap();
    if is_ntuple {
        let specs = names.map(|name| FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::F64 }));
        let options = NTupleOptions { cluster_entries: Some(8_192), ..NTupleOptions::default() };
        let mut ntuple = file.ntuple("t", specs.to_vec(), options).unwrap();
        ntuple.extend(&names.map(|name| (name, read::Column::from_numbers(&values)))).unwrap();
        ntuple.close().unwrap();
    } else {
        let specs = names.map(|name| BranchSpec::number(name, Number::F64));
        let options = TreeOptions { auto_flush: Every::Entries(8_192), ..TreeOptions::default() };
        let mut tree = file.tree("t", specs.to_vec(), options).unwrap();
        tree.extend(&names.map(|name| (name, Values::from(&values)))).unwrap();
        tree.close().unwrap();
    }
    file.close().unwrap();
    let sort = Some(SortBy { memory_bytes, ..SortBy::new(["a"]) });
    let bytes = peak(|| {
        let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
        let from = File::open_with(&source, options).unwrap();
        let mut file = FileWriter::recreate(&target, how()).unwrap();
        if is_ntuple {
            let options = NTupleOptions { cluster_entries: Some(8_192), ..NTupleOptions::default() };
            let how = NTupleRewrite { pages: Pages::New(options), sort, ..NTupleRewrite::default() };
            file.rewrite_ntuple(&from, "t", "t", &how).unwrap();
        } else {
            let options = TreeOptions { auto_flush: Every::Entries(8_192), ..TreeOptions::default() };
            let how = Rewrite { baskets: Baskets::New(options), sort, ..Rewrite::default() };
            file.rewrite(&from, "t", "t", &how).unwrap();
        }
        file.close().unwrap();
    });
    let table = File::open(&target).unwrap().table("t").unwrap();
    let sorted = table.read(&[table.find("h").unwrap()], 0..rows).unwrap().remove(0);
    assert!(sorted.as_slice::<f64>().unwrap().is_sorted() && table.clusters().unwrap().len() > 10);
    bytes
}

#[test]
fn sorting_takes_the_memory_that_it_may_take_whatever_the_entries() {
    const MEMORY: u64 = 8 << 20;
    for is_ntuple in [false, true] {
        // 9.6 and 38.4 MB of numbers.
        let [few, many] = [150_000, 600_000].map(|rows| sorting(rows, MEMORY, is_ntuple));
        println!("RNTuple {is_ntuple}: {few} and {many} bytes");
        assert!(many < 3 * MEMORY as i64 / 2, "{many} bytes of {MEMORY}");
        assert!(many < few + few / 4, "{few} bytes for a quarter of {many}");
    }
}
