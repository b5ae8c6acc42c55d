//! Trees read entry by entry: the values, and how often the store is asked for them.

use std::sync::Arc;

use sapwood::io::{Call, MemorySink, MemoryStore, Recorded, Store};
use sapwood::tree::Tree;
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
    let bytes = |values: &[i64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let specs = ["number", "square", "count"].map(|name| BranchSpec::number(name, sapwood::column::Number::I64));
    let mut tree = file.tree("t", specs.to_vec(), options).expect("a tree");
    let (numbers, squares, counts) = (bytes(&numbers), bytes(&squares), bytes(&counts));
    let columns = [("number", &numbers), ("square", &squares), ("count", &counts)];
    tree.extend(&columns.map(|(name, bytes)| (name, Values::Numbers(bytes)))).expect("rows");
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
fn who_goes_on_after_a_jump_gets_windows_again() -> Result<(), sapwood::Error> {
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
