//! Many threads: as readers of one session, as those of a session, and beyond the number of cores.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sapwood::column::{Kind, Number};
use sapwood::io::{ByteRange, Ends, MemoryStore, Profile, Receive, Store};
use sapwood::ntuple::NTuple;
use sapwood::read::Column;
use sapwood::schema::Draft;
use sapwood::tree::{BasketBytes, Tree};
use sapwood::write::{BranchSpec, Every, FieldSpec, FileWriter, NTupleOptions, TreeOptions, Values, WriteOptions};
use sapwood::{Error, ErrorKind, File, OpenOptions, Session};
use sapwood_testkit::scratch;

const ROWS: i32 = 300_000;
const CLUSTER: i32 = 10_000;

fn number(row: i32) -> i32 {
    row.wrapping_mul(row)
}

/// A tree and an RNTuple of the same numbers, in many clusters.
fn written(name: &str, compression: &str) -> Vec<u8> {
    let path = scratch(name);
    let compression = Some(compression.parse().unwrap());
    let mut file = FileWriter::recreate(&path, WriteOptions { compression, ..WriteOptions::default() }).unwrap();
    let numbers: Vec<i32> = (0..ROWS).map(number).collect();
    let wish = TreeOptions { auto_flush: Every::Entries(CLUSTER as u64), ..TreeOptions::default() };
    let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::number("y", Number::I32)];
    let mut tree = file.tree("tree", specs, wish).unwrap();
    tree.extend(&[("x", Values::from(&numbers)), ("y", Values::from(&numbers))]).unwrap();
    tree.close().unwrap();
    let field = |name: &str| FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 });
    let wish = NTupleOptions { compression, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("ntuple", vec![field("x"), field("y")], wish).unwrap();
    for part in numbers.chunks(CLUSTER as usize) {
        let column = || Column::from_numbers(part);
        ntuple.extend(&[("x", column()), ("y", column())]).unwrap();
        ntuple.flush().unwrap();
    }
    ntuple.close().unwrap();
    file.close().unwrap();
    std::fs::read(&path).unwrap()
}

fn opened(bytes: &[u8], session: &Session) -> File {
    let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
    File::from_store(Arc::new(MemoryStore::new("threads.root", bytes.to_vec())), options).unwrap()
}

fn of_tree(file: &File) -> Result<Vec<Column>, Error> {
    let tree = file.tree("tree")?;
    read_tree(&tree)
}

fn of_ntuple(file: &File) -> Result<Vec<Column>, Error> {
    let ntuple = file.ntuple("ntuple")?;
    read_ntuple(&ntuple)
}

fn read_tree(tree: &Tree) -> Result<Vec<Column>, Error> {
    // Windows of some baskets each.
    tree.cache().set_budget(200_000);
    let ids = [tree.branch("x")?.id, tree.branch("y")?.id];
    sapwood::read::columns(tree, &ids, 0..tree.entries)
}

fn read_ntuple(ntuple: &NTuple) -> Result<Vec<Column>, Error> {
    ntuple.cache().set_budget(200_000);
    let ids = [ntuple.field("x")?.id, ntuple.field("y")?.id];
    sapwood::ntuple::columns(ntuple, &ids, 0..ntuple.entries)
}

fn check(file: &File) {
    for columns in [of_tree(file).unwrap(), of_ntuple(file).unwrap()] {
        for column in columns {
            let numbers = column.numbers::<i32>().unwrap();
            assert!(numbers.iter().enumerate().all(|(row, x)| *x == number(row as i32)));
            assert_eq!(numbers.len(), ROWS as usize);
        }
    }
}

#[test]
fn any_number_of_threads_reads_the_same() {
    let bytes = written("threads-any.root", "zlib:1");
    for threads in [1, 2, 3, 16, 64] {
        check(&opened(&bytes, &Session::with_threads(threads)));
    }
}

#[test]
fn many_callers_share_a_session() {
    let bytes = written("threads-callers.root", "zlib:1");
    for threads in [1, 2, 8] {
        let session = Session::with_threads(threads);
        let file = opened(&bytes, &session);
        std::thread::scope(|scope| {
            for caller in 0..8 {
                let (file, bytes, session) = (&file, &bytes, &session);
                scope.spawn(move || if caller % 2 == 0 { check(file) } else { check(&opened(bytes, session)) });
            }
        });
    }
}

#[test]
fn threads_of_pools_are_callers_too() {
    let bytes = written("threads-pools.root", "zlib:1");
    let session = Session::with_threads(2);
    let file = opened(&bytes, &session);
    let other = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    other.broadcast(|_| check(&file));
    // Those of its own pool, all at once: none waits for another.
    session.pool().unwrap().broadcast(|_| check(&file));
}

/// Reads what is damaged with several numbers of threads, again and again: the error is always the same.
fn fails_alike(bytes: &[u8], read: fn(&File) -> Result<Vec<Column>, Error>) -> String {
    let error = |threads| read(&opened(bytes, &Session::with_threads(threads))).unwrap_err().to_string();
    let alone = error(1);
    for threads in [2, 3, 8, 2, 3, 8] {
        assert_eq!(error(threads), alone, "{threads} threads");
    }
    alone
}

#[test]
fn the_error_is_that_of_the_first_damaged_basket() {
    let mut bytes = written("threads-baskets.root", "zlib:1");
    let whole = opened(&bytes, &Session::with_threads(1));
    let tree = whole.tree("tree").unwrap();
    let baskets = tree.branch("y").unwrap().baskets();
    for number in [baskets.len() / 2, baskets.len() / 2 + 1, baskets.len() - 2] {
        let BasketBytes::Stored { seek, nbytes } = baskets[number].bytes else { panic!("it is stored") };
        bytes[(seek as usize + nbytes as usize / 2)..][..16].fill(0xff);
    }
    let error = fails_alike(&bytes, of_tree);
    assert!(error.contains(&format!("basket {}", baskets.len() / 2)), "{error}");
}

#[test]
fn the_error_is_that_of_the_first_damaged_page() {
    let mut bytes = written("threads-pages.root", "none");
    let whole = bytes.clone();
    for first in [ROWS / 2, ROWS / 2 + CLUSTER, ROWS - 100] {
        // Pages hold numbers as x86 has them, baskets the other way round.
        let wanted: Vec<u8> = (first..first + 8).flat_map(|row| number(row).to_le_bytes()).collect();
        let at = whole.windows(wanted.len()).position(|found| found == wanted).unwrap();
        bytes[at] ^= 1;
    }
    let error = fails_alike(&bytes, of_ntuple);
    assert!(error.contains("cluster 15"), "{error}");
}

/// A file in memory that panics once it is told to.
#[derive(Debug)]
struct Panics(MemoryStore, AtomicBool);

impl Store for Panics {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> sapwood::Result<Ends> {
        self.0.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> sapwood::Result<()> {
        assert!(!self.1.load(Ordering::SeqCst), "on purpose");
        self.0.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.0.profile()
    }
}

#[test]
fn blocks_of_a_large_record_are_inflated_as_by_one_thread() {
    let path = scratch("threads-blocks.root");
    let compression = Some("zlib:1".parse().unwrap());
    let mut file = FileWriter::recreate(&path, WriteOptions { compression, ..WriteOptions::default() }).unwrap();
    let text: String =
        (0..6_000_000).map(|number: u32| char::from(b'a' + (number.wrapping_mul(number) % 19) as u8)).collect();
    let text = text.repeat(8); // 48 MB: three blocks
    file.write("text", Draft::new("TObjString").with("fString", text.as_str())).unwrap();
    file.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let payload = |bytes: &[u8], threads| {
        let file = opened(bytes, &Session::with_threads(threads));
        let key = file.key("text").unwrap().clone();
        let place = (key.seek_key + u64::from(key.keylen), key.stored_bytes());
        (file.payload(&key), place)
    };
    let (alone, (start, stored)) = payload(&bytes, 1);
    let alone = alone.unwrap();
    for threads in [2, 8] {
        assert!(payload(&bytes, threads).0.unwrap() == alone, "{threads} threads");
    }
    // The header of the last block, and the insides of the two before it.
    let last = (start as usize..bytes.len()).filter(|&at| bytes[at..].starts_with(b"ZL\x08")).nth(2).unwrap();
    bytes[last..][..3].fill(b'?');
    for part in [3, 5] {
        bytes[(start + u64::from(stored) * part / 6) as usize..][..16].fill(0xff);
    }
    let error = |threads| payload(&bytes, threads).0.unwrap_err();
    let alone = error(1);
    assert_eq!(alone.place().block, Some(1));
    for threads in [2, 3, 8, 2, 3, 8] {
        assert_eq!(error(threads).to_string(), alone.to_string(), "{threads} threads");
    }
}

#[test]
fn a_store_that_panics_is_an_error_and_the_session_goes_on() {
    let bytes = written("threads-panics.root", "zlib:1");
    for threads in [2, 8] {
        let session = Session::with_threads(threads);
        let store = Arc::new(Panics(MemoryStore::new("panics.root", bytes.clone()), AtomicBool::new(false)));
        let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
        let file = File::from_store(store.clone(), options).unwrap();
        let (tree, ntuple) = (file.tree("tree").unwrap(), file.ntuple("ntuple").unwrap());
        ntuple.clusters().unwrap();
        store.1.store(true, Ordering::SeqCst);
        for error in [read_tree(&tree).unwrap_err(), read_ntuple(&ntuple).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            assert!(error.message().starts_with("the store panicked"), "{error}");
        }
        store.1.store(false, Ordering::SeqCst);
        check(&file);
    }
}

#[test]
fn trees_of_one_file_are_filled_from_threads_of_another_pool() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let path = scratch("threads-trees.root");
        let how = WriteOptions { session: Session::with_threads(2), ..WriteOptions::default() };
        let mut file = FileWriter::recreate(&path, how).unwrap();
        let wish = TreeOptions { auto_flush: Every::Entries(100), basket_bytes: 100, ..TreeOptions::default() };
        let specs = || vec![BranchSpec::number("x", Number::I32), BranchSpec::number("y", Number::I32)];
        let mut trees: Vec<_> =
            (0..8).map(|tree| file.tree(&format!("t{tree}"), specs(), wish.clone()).unwrap()).collect();
        let other = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        other.scope(|scope| {
            for tree in &mut trees {
                scope.spawn(move |_| {
                    for step in 0..30 {
                        let numbers: Vec<i32> = (step * 70..(step + 1) * 70).map(number).collect();
                        tree.extend(&[("x", Values::from(&numbers)), ("y", Values::from(&numbers))]).unwrap();
                    }
                });
            }
        });
        trees.into_iter().for_each(|tree| tree.close().unwrap());
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        let entries: Vec<u64> = (0..8).map(|tree| file.tree(&format!("t{tree}")).unwrap().entries).collect();
        sender.send(entries).unwrap();
    });
    let entries = receiver.recv_timeout(Duration::from_secs(120)).expect("no thread waits for itself");
    assert_eq!(entries, [2_100; 8]);
}
