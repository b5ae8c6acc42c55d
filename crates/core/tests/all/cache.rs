//! Trees read entry by entry: the values, and how often the store is asked for them.

use std::sync::Arc;

use sapwood::io::{Call, MemorySink, MemoryStore, Recorded, Store};
use sapwood::tree::{BasketBytes, Tree};
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions, Session};

const ENTRIES: u64 = 4_000;
const CLUSTER: u64 = 100;

/// 40 clusters of three branches: the entry's number, its square, and as many numbers as the entry modulo 4 says.
fn written() -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "steps.root", WriteOptions::default()).expect("a file");
    let options = TreeOptions { auto_flush: Every::Entries(CLUSTER), ..TreeOptions::default() };
    let numbers: Vec<i64> = (0..ENTRIES as i64).collect();
    let squares: Vec<i64> = numbers.iter().map(|number| number * number).collect();
    let counts: Vec<i64> = numbers.iter().map(|number| number % 4).collect();
    let specs = ["number", "square", "count"].map(|name| BranchSpec::number(name, sapwood::column::Number::I64));
    let mut tree = file.tree("t", specs.to_vec(), options).expect("a tree");
    let columns = [("number", &numbers), ("square", &squares), ("count", &counts)];
    tree.extend(&columns.map(|(name, values)| (name, Values::from(values)))).expect("rows");
    tree.close().expect("a tree");
    file.close().expect("a file");
    sink.to_bytes().to_vec()
}

type Watched = Arc<Recorded<MemoryStore>>;

fn open(cache_bytes: u64) -> (Arc<Tree>, Watched) {
    let store: Watched = Arc::new(Recorded::new(MemoryStore::new("steps.root", written())));
    let options = OpenOptions { session: Session::with_threads(1), cache_bytes, ..OpenOptions::default() };
    let file = File::from_store(Arc::new(Arc::clone(&store)) as Arc<dyn Store>, options).expect("a file");
    let tree = file.tree("t").expect("a tree");
    assert_eq!(tree.clusters().len() as u64, ENTRIES / CLUSTER);
    store.take_calls();
    (tree, store)
}

/// The calls, once there are so many: bytes are delivered before their call has ended.
fn calls(store: &Watched, wanted: usize) -> Vec<Call> {
    for _ in 0..1_000 {
        if store.calls().len() >= wanted {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    store.take_calls()
}

fn ranges(calls: &[Call]) -> usize {
    calls.iter().map(|call| call.ranges.len()).sum()
}

#[test]
fn entries_in_order_cost_a_request_a_window() -> Result<(), sapwood::Error> {
    let (tree, store) = open(30_000_000);
    let mut reader = tree.reader();
    for entry in 0..ENTRIES {
        reader.go_to(entry)?;
        assert_eq!(reader.number::<i64>("number")?, entry as i64);
        assert_eq!(reader.number::<i64>("square")?, (entry * entry) as i64);
    }
    let calls = calls(&store, 7);
    // The first branch and the second ask for two clusters each; then windows of 2, 4, 8, 16 and the last 8 clusters.
    assert_eq!(calls.len(), 7, "{calls:?}");
    let figures = tree.cache().figures();
    assert_eq!(
        (figures.hits, figures.misses, figures.wasted_bytes),
        (2 * ENTRIES / CLUSTER, 2, 0),
        "each branch is met once"
    );
    Ok(())
}

#[test]
fn without_a_cache_each_basket_is_asked_for() -> Result<(), sapwood::Error> {
    let (tree, store) = open(0);
    let mut reader = tree.reader();
    for entry in 0..ENTRIES {
        reader.go_to(entry)?;
        assert_eq!(reader.number::<i64>("number")?, entry as i64);
        assert_eq!(reader.number::<i64>("square")?, (entry * entry) as i64);
    }
    assert_eq!(store.take_calls().len() as u64, 2 * ENTRIES / CLUSTER);
    // A change takes effect at once: the rest is read in windows.
    reader.go_to(0)?;
    tree.cache().set_budget(30_000_000);
    for entry in 0..ENTRIES {
        reader.go_to(entry)?;
        reader.number::<i64>("number")?;
    }
    assert!(store.take_calls().len() < 10);
    Ok(())
}

#[test]
fn a_jump_costs_one_request_however_many_branches() -> Result<(), sapwood::Error> {
    let (tree, store) = open(30_000_000);
    let mut reader = tree.reader();
    let entries: Vec<u64> = (1..40).map(|step| (step * 1_733) % ENTRIES).collect();
    for &entry in &entries {
        reader.go_to(entry)?;
        for name in ["number", "square", "count"] {
            let value = reader.number::<i64>(name)? as u64;
            assert!(value == entry || value == entry * entry || value == entry % 4);
        }
    }
    let calls = store.take_calls();
    // Branches become known at the first entry.
    assert!(calls.len() <= entries.len() + 2, "{} calls", calls.len());
    Ok(())
}

#[test]
fn a_list_of_entries_is_followed() -> Result<(), sapwood::Error> {
    // Events of every 16th cluster and the next, as if sorted by run.
    let entries: Vec<u64> =
        (0..16).flat_map(|run| (0..ENTRIES / 100).map(move |at| (at * 100 + run * 6) % ENTRIES)).collect();
    let (tree, store) = open(30_000_000);
    let mut reader = tree.reader_along(entries.clone())?;
    for &entry in &entries {
        reader.go_to(entry)?;
        assert_eq!(reader.number::<i64>("square")?, (entry * entry) as i64);
    }
    let calls = calls(&store, 1);
    assert_eq!(calls.len(), 1, "all baskets fit the budget: {calls:?}");
    assert_eq!(ranges(&calls) as u64, ENTRIES / CLUSTER);
    let error = tree.reader_along(vec![ENTRIES]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    Ok(())
}

#[test]
fn trees_of_a_file_and_readers_of_a_tree_do_not_disturb_values() -> Result<(), sapwood::Error> {
    let (tree, _) = open(100_000);
    let (mut forth, mut back) = (tree.reader(), tree.reader());
    for entry in 0..ENTRIES {
        forth.go_to(entry)?;
        back.go_to(ENTRIES - 1 - entry)?;
        assert_eq!(forth.number::<i64>("number")?, entry as i64);
        assert_eq!(back.number::<i64>("number")?, (ENTRIES - 1 - entry) as i64);
    }
    Ok(())
}

#[test]
fn steps_are_fetched_while_the_one_before_is_used() -> Result<(), sapwood::Error> {
    let store: Watched = Arc::new(Recorded::new(MemoryStore::new("steps.root", written())));
    let options = OpenOptions { session: Session::with_threads(2), ..OpenOptions::default() };
    let file = File::from_store(Arc::new(Arc::clone(&store)) as Arc<dyn Store>, options)?;
    let tree = file.tree("t")?;
    let mut sum = 0;
    for batch in tree.scan(&["number"])?.step_bytes(8_000) {
        sum += batch?.column("number")?.numbers::<i64>()?.iter().sum::<i64>();
    }
    assert_eq!(sum as u64, ENTRIES * (ENTRIES - 1) / 2);
    let figures = tree.cache().figures();
    assert_eq!((figures.misses, figures.wasted_bytes), (0, 0));
    assert!(figures.hits >= ENTRIES / CLUSTER - 10, "{figures:?}");
    Ok(())
}

#[test]
fn sequential_reading_after_a_jump_uses_windows_again() -> Result<(), sapwood::Error> {
    let (tree, store) = open(30_000_000);
    let mut reader = tree.reader();
    for entry in 5..ENTRIES {
        reader.go_to(entry)?;
        assert_eq!(reader.number::<i64>("number")?, entry as i64);
    }
    // One basket, then windows of 1, 1, 2, 4, 8, 16 clusters and the rest.
    assert!(calls(&store, 6).len() <= 8);
    Ok(())
}

/// Baskets of 1,600 bytes and no clusters, as trees were written once: of branches of one number they have 200 entries,
/// of 40 numbers 5.
fn uneven(trees: &[&str]) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "uneven.root", WriteOptions::default()).expect("a file");
    for name in trees {
        let options = TreeOptions {
            auto_flush: Every::Never,
            basket_bytes: 1_600,
            compression: Some(sapwood::codec::Compression::NONE),
            ..TreeOptions::default()
        };
        let width = |branch: usize| [1_usize, 2, 4, 10, 40][branch % 5];
        let names: Vec<String> = (0..UNEVEN_BRANCHES).map(|branch| format!("b{branch}")).collect();
        let specs = names.iter().enumerate().map(|(branch, name)| {
            BranchSpec::number(name.as_str(), sapwood::column::Number::I64).with_dimensions([width(branch) as u32])
        });
        let mut tree = file.tree(name, specs.collect(), options).expect("a tree");
        let column = |branch: usize| -> Vec<i64> {
            (0..UNEVEN_ENTRIES as i64).flat_map(|entry| vec![entry; width(branch)]).collect()
        };
        let columns: Vec<Vec<i64>> = (0..UNEVEN_BRANCHES).map(column).collect();
        let rows: Vec<_> = names.iter().zip(&columns).map(|(name, values)| (&**name, Values::from(values))).collect();
        tree.extend(&rows).expect("rows");
        tree.close().expect("a tree");
    }
    file.close().expect("a file");
    sink.to_bytes().to_vec()
}

const UNEVEN_BRANCHES: usize = 100;
const UNEVEN_ENTRIES: u64 = 1_000;

/// What a reader of all branches goes through, the first entry on.
struct Walk {
    reader: sapwood::read::Reader,
    names: Vec<String>,
}

impl Walk {
    fn new(tree: &Arc<Tree>) -> Result<Self, sapwood::Error> {
        let mut reader = tree.reader();
        let ids: Vec<_> = tree.branches().iter().map(|branch| branch.id).collect();
        reader.touch(&ids)?;
        Ok(Self { reader, names: tree.branches().iter().map(|branch| branch.path.to_string()).collect() })
    }

    fn look(&mut self, entry: u64) -> Result<(), sapwood::Error> {
        self.reader.go_to(entry)?;
        for name in &self.names {
            assert_eq!(self.reader.numbers::<i64>(name)?[0], entry as i64);
        }
        Ok(())
    }
}

fn watched(bytes: Vec<u8>, cache_bytes: u64) -> (File, Watched) {
    let store: Watched = Arc::new(Recorded::new(MemoryStore::new("uneven.root", bytes)));
    let options = OpenOptions { session: Session::with_threads(1), cache_bytes, ..OpenOptions::default() };
    let file = File::from_store(Arc::new(Arc::clone(&store)) as Arc<dyn Store>, options).expect("a file");
    (file, store)
}

/// Baskets of a tree, and their bytes.
fn stored(tree: &Tree) -> (usize, u64) {
    let baskets = tree.branches().iter().flat_map(|branch| branch.baskets());
    let bytes = baskets.map(|basket| match basket.bytes {
        BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
        BasketBytes::Embedded(_) => 0,
    });
    bytes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
}

#[test]
fn baskets_that_end_anywhere_are_read_once_and_together() -> Result<(), sapwood::Error> {
    let (file, store) = watched(uneven(&["t"]), 400_000);
    let tree = file.tree("t")?;
    let (baskets, bytes) = stored(&tree);
    assert!(baskets > 5_000 && bytes > 9_000_000);
    store.take_calls();
    let mut walk = Walk::new(&tree)?;
    for entry in 0..UNEVEN_ENTRIES {
        walk.look(entry)?;
    }
    let figures = tree.cache().figures();
    let calls = calls(&store, 1);
    assert_eq!(calls.iter().map(Call::bytes).sum::<u64>(), bytes, "each basket once");
    // A window has 200,000 bytes at most.
    assert!(calls.len() <= 100, "{} calls", calls.len());
    assert_eq!((figures.fetched_bytes, figures.wasted_bytes), (bytes, 0));
    assert!(figures.misses < 2 * UNEVEN_BRANCHES as u64, "{figures:?}");
    Ok(())
}

#[test]
fn trees_that_are_read_in_step_cost_what_they_cost_alone() -> Result<(), sapwood::Error> {
    let names = ["a", "b", "c", "d"];
    let bytes = uneven(&names);
    let mut alone = (0, 0, 0);
    for name in names {
        let (file, store) = watched(bytes.clone(), 400_000);
        let tree = file.tree(name)?;
        store.take_calls();
        let mut walk = Walk::new(&tree)?;
        for entry in 0..UNEVEN_ENTRIES {
            walk.look(entry)?;
        }
        let calls = calls(&store, 1);
        alone.0 += calls.len();
        alone.1 += calls.iter().map(Call::bytes).sum::<u64>();
        alone.2 += tree.cache().figures().misses;
    }
    let (file, store) = watched(bytes, 400_000);
    let trees = names.map(|name| file.tree(name).expect("a tree"));
    store.take_calls();
    let mut walks = trees.iter().map(Walk::new).collect::<Result<Vec<_>, _>>()?;
    for entry in 0..UNEVEN_ENTRIES {
        walks.iter_mut().try_for_each(|walk| walk.look(entry))?;
    }
    let calls = calls(&store, alone.0);
    let misses: u64 = trees.iter().map(|tree| tree.cache().figures().misses).sum();
    assert_eq!((calls.len(), calls.iter().map(Call::bytes).sum::<u64>(), misses), alone);
    Ok(())
}

#[test]
fn events_in_the_order_of_their_sections_cost_a_request_a_window() -> Result<(), sapwood::Error> {
    // Events of 40 sections, in the tree up to 150 entries from their own place.
    let place = |entry: u64| (entry + entry * 7_919 % 300) / 100;
    let mut entries: Vec<u64> = (0..ENTRIES).collect();
    entries.sort_by_key(|&entry| (place(entry), entry * 104_729 % 4_001));
    assert!(!entries.is_sorted());
    let (tree, store) = open(12_000); // a window is half of that: baskets of one branch have about 500 bytes
    let mut reader = tree.reader_along(entries.clone())?;
    for &entry in &entries {
        reader.go_to(entry)?;
        assert_eq!(reader.number::<i64>("square")?, (entry * entry) as i64);
    }
    let calls = calls(&store, 1);
    // Each basket once, though the reader is in several of them by turns; the first look alone finds nothing there.
    assert_eq!((ranges(&calls) as u64, tree.cache().figures().misses), (ENTRIES / CLUSTER, 1));
    assert!(calls.len() <= 3, "{} calls", calls.len());
    Ok(())
}
