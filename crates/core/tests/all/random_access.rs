//! Baskets whose blocks end at entries: they read as others do, and single entries need few of their blocks.

use std::ops::Range;
use std::sync::Arc;

use sapwood::codec::{BlockTable, RandomAccess, Scratch, deflate_block};
use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::read::Column;
use sapwood::read::Selection;
use sapwood::tree::{BasketBytes, BranchId, Tree};
use sapwood::write::{Baskets, BranchSpec, Every, FileWriter, Item, Rewrite, TreeOptions, Values, WriteOptions};
use sapwood::{Entry, ErrorKind, File, OpenOptions, Session, read};

const ENTRIES: usize = 3_000;
const FLAT: [&str; 6] = ["x", "n", "list", "v", "s", "whole"];

#[derive(Clone, Debug, Entry, PartialEq)]
struct Hit {
    cell: i32,
    energy: f32,
}

#[derive(Clone, Debug, Entry, PartialEq)]
struct Event {
    number: i64,
    hits: Vec<Hit>,
    label: String,
}

fn event(number: usize) -> Event {
    let hit = |cell: usize| Hit { cell: cell as i32, energy: (number * 7 + cell) as f32 };
    Event { number: number as i64, hits: (0..number % 5).map(hit).collect(), label: "ab".repeat(number % 4) }
}

fn file_options(compression: &str) -> WriteOptions {
    WriteOptions {
        compression: Some(compression.parse().expect("a codec")),
        reproducible: true,
        ..WriteOptions::default()
    }
}

/// Clusters of a thousand entries.
fn tree_options(random_access: RandomAccess) -> TreeOptions {
    let random_access = Some(random_access);
    TreeOptions { auto_flush: Every::Entries(1_000), random_access, ..TreeOptions::default() }
}

fn every(entries: u32) -> RandomAccess {
    RandomAccess::entries(entries).expect("some entries")
}

fn open(bytes: &[u8]) -> File {
    let store = Arc::new(MemoryStore::new("blocks.root", bytes.to_vec()));
    File::from_store(store, OpenOptions::default()).expect("a file")
}

/// Numbers, lists, vectors, strings, and numbers in baskets that are compressed whole.
fn flat(compression: &str, random_access: RandomAccess, threads: usize) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { session: Session::with_threads(threads), ..file_options(compression) };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "blocks.root", how).expect("a file");
    let branches = vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::counter("n"),
        BranchSpec::jagged("list", Number::F32, "n"),
        BranchSpec::vector("v", Item::Number(Number::I16), 1),
        BranchSpec::text("s"),
        BranchSpec::number("whole", Number::I32).with_random_access(RandomAccess::Off),
    ];
    let mut tree = file.tree("t", branches, tree_options(random_access)).expect("a tree");
    let entries = 0..ENTRIES;
    let x: Vec<f64> = entries.clone().map(|entry| (entry / 3) as f64).collect();
    let list: Vec<f32> = entries.clone().flat_map(|entry| (0..entry % 7).map(move |at| (entry + at) as f32)).collect();
    let v: Vec<i16> = list.iter().map(|item| *item as i16).collect();
    let ends = entries.clone().scan(0, |end, entry| {
        *end += entry as i64 % 7;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let texts: Vec<String> = entries.clone().map(|entry| format!("entry {}", entry / 10)).collect();
    let whole: Vec<i32> = entries.map(|entry| entry as i32).collect();
    let values = [
        ("x", Values::from(&x)),
        ("list", Values::lists(&offsets, &list)),
        ("v", Values::lists(&offsets, &v)),
        ("s", Values::strings(&texts)),
        ("whole", Values::from(&whole)),
    ];
    tree.extend(&values).expect("rows");
    tree.close().expect("a tree");
    file.close().expect("a file");
    sink.to_bytes().to_vec()
}

/// Objects, at one level of splitting.
fn objects(split_level: u32, random_access: RandomAccess) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "blocks.root", file_options("zlib:6")).expect("a file");
    let mut tree = file.entries::<Event>("t", "event", split_level, tree_options(random_access)).expect("a tree");
    (0..ENTRIES).for_each(|number| tree.fill(&event(number)).expect("a row"));
    tree.close().expect("a tree");
    file.close().expect("a file");
    sink.to_bytes().to_vec()
}

fn ids(tree: &Tree, names: &[&str]) -> Vec<BranchId> {
    names.iter().map(|name| tree.branch(name).expect("a branch").id).collect()
}

fn arrays(columns: &[Column]) -> Vec<arrow_array::ArrayRef> {
    columns.iter().map(|column| column.to_arrow().expect("an array")).collect()
}

/// Asserts that two files hold the same columns, whole and for some entries.
fn same(left: &[u8], right: &[u8], names: &[&str]) {
    let (left, right) = (open(left).tree("t").expect("a tree"), open(right).tree("t").expect("a tree"));
    let few = Selection::of_entries([0, 1, 127, 128, 129, 999, 1_000, 1_500, 2_998, 2_999]).expect("they rise");
    let runs = Selection::of_entries((0..ENTRIES as u64).filter(|entry| entry / 70 % 3 == 0)).expect("they rise");
    for wanted in [Selection::try_from(0..ENTRIES as u64).expect("a range"), few, runs] {
        let of = |tree: &Tree| arrays(&read::columns(tree, &ids(tree, names), wanted.clone()).expect("columns"));
        assert_eq!(of(&left), of(&right));
    }
}

/// A basket: its record in the file, the start of its payload, and its blocks.
fn basket(bytes: &[u8], tree: &Tree, branch: &str, number: usize) -> (Range<usize>, usize, BlockTable) {
    let BasketBytes::Stored { seek, nbytes } = tree.branch(branch).expect("a branch").baskets()[number].bytes else {
        panic!("a basket in the tree's record");
    };
    let record = seek as usize..seek as usize + nbytes as usize;
    let word =
        |at: usize| bytes[record.start + at..].first_chunk().map(|word| u32::from_be_bytes(*word)).expect("a word");
    let (objlen, keylen) = (word(6) as usize, (word(12) & 0xFFFF) as usize);
    let payload = record.start + keylen;
    let table = BlockTable::walk(&bytes[payload..record.end], objlen).expect("a chain");
    (record, payload, table)
}

#[test]
fn values_do_not_depend_on_blocks() {
    for compression in ["zlib:6", "lz4:4", "zstd:5", "lzma:5", "old:1"] {
        let whole = flat(compression, RandomAccess::Off, 1);
        for random_access in [every(1), every(3), every(128), every(1_000), every(u32::MAX), RandomAccess::Auto] {
            same(&whole, &flat(compression, random_access, 1), &FLAT);
        }
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    for random_access in [every(50), RandomAccess::Auto] {
        assert_eq!(flat("zstd:3", random_access, 1), flat("zstd:3", random_access, 4));
    }
}

#[test]
fn blocks_end_where_entries_do() {
    let bytes = flat("zlib:6", every(128), 1);
    let tree = open(&bytes).tree("t").unwrap();
    for number in 0..3 {
        let (_, _, table) = basket(&bytes, &tree, "x", number);
        let ends: Vec<usize> = table.blocks().iter().map(|block| block.unsealed.end).collect();
        assert_eq!(ends, [1024, 2048, 3072, 4096, 5120, 6144, 7168, 8000]);
        // Lists and vectors: eight blocks of entries, one of offsets.
        let (_, _, table) = basket(&bytes, &tree, "list", number);
        let counts = (number * 1_000..number * 1_000 + 128).map(|entry| entry % 7).sum::<usize>();
        assert_eq!((table.blocks().len(), table.blocks()[0].unsealed.end), (9, 4 * counts));
        assert_eq!(basket(&bytes, &tree, "whole", number).2.blocks().len(), 1);
    }
}

#[test]
fn one_entry_inflates_its_block_alone() {
    for (branch, blocks_of_offsets) in [("x", 0), ("n", 0), ("list", 1), ("v", 1), ("s", 1)] {
        let mut bytes = flat("zlib:6", every(100), 1);
        let tree = open(&bytes).tree("t").unwrap();
        let whole = read::columns(&tree, &ids(&tree, &[branch]), 0..tree.entries).unwrap().remove(0);
        let (_, payload, table) = basket(&bytes, &tree, branch, 1);
        assert_eq!(table.blocks().len(), 10 + blocks_of_offsets, "{branch}");
        // Entries 1,300 to 1,399 are the fourth block: destroy all the others that hold entries.
        for (number, block) in table.blocks().iter().enumerate().take(10).filter(|(number, _)| *number != 3) {
            bytes[payload + block.stored.start..payload + block.stored.end].fill(0xEE);
            assert_ne!(number, 3);
        }
        let tree = open(&bytes).tree("t").unwrap();
        let read = |entries: Range<u64>| read::columns(&tree, &ids(&tree, &[branch]), entries);
        for entries in [1_300..1_301, 1_342..1_343, 1_399..1_400, 1_300..1_400] {
            let found = read(entries.clone()).unwrap().remove(0).to_arrow().unwrap();
            let (start, len) = (entries.start as usize, (entries.end - entries.start) as usize);
            assert_eq!(&found, &whole.to_arrow().unwrap().slice(start, len), "{branch} {entries:?}");
        }
        // The list of entry 1,400 is empty: it needs no block.
        for entries in [1_299..1_300, 1_299..1_301, 1_399..1_402, 1_401..1_402, 1_000..2_000] {
            let error = read(entries.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{branch} {entries:?}: {error}");
            assert_eq!(error.place().basket, Some(1), "{error}");
        }
    }
}

#[test]
fn objects_are_read_alone_at_every_split_level() {
    for split_level in [0, 1, 99] {
        for random_access in [every(1), every(64), RandomAccess::Auto] {
            let bytes = objects(split_level, random_access);
            let tree = open(&bytes).tree("t").unwrap();
            for number in [0, 63, 64, 1_000, 1_999, 2_999] {
                let read: Vec<Event> = tree.read_entries("event", number..number + 1).unwrap();
                assert_eq!(read, [event(number as usize)], "{split_level} {random_access}");
            }
            let all: Vec<Event> = tree.read_entries("event", 0..tree.entries).unwrap();
            assert!(all.iter().enumerate().all(|(number, read)| *read == event(number)));
        }
    }
}

#[test]
fn a_chain_is_smaller_than_what_it_holds_or_raw() {
    // Four bytes an entry do not pay for nine of a header: such baskets are raw.
    let bytes = flat("zlib:6", every(1), 1);
    let tree = open(&bytes).tree("t").unwrap();
    for branch in tree.branches() {
        for place in branch.baskets() {
            let BasketBytes::Stored { seek, nbytes } = place.bytes else { panic!("an embedded basket") };
            let head = &bytes[seek as usize..][..18];
            let objlen = u32::from_be_bytes(head[6..10].try_into().unwrap());
            let keylen = u16::from_be_bytes(head[14..16].try_into().unwrap());
            let stored = nbytes - u32::from(keylen);
            assert!(stored <= objlen, "{}: {stored} of {objlen}", branch.path);
            assert_eq!(stored == objlen, &*branch.path != "whole", "{}", branch.path);
        }
    }
}

#[test]
fn auto_divides_what_grows_little() {
    let write = |random_access: RandomAccess, compression: &str| {
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "auto.root", file_options(compression)).unwrap();
        let options = TreeOptions { random_access: Some(random_access), ..TreeOptions::default() };
        let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::U64)], options).unwrap();
        // Half of their bytes are noise.
        let noise = |entry: u64| {
            let mixed = (entry + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32
        };
        let values: Vec<u64> = (0..60_000).map(noise).collect();
        tree.extend(&[("x", Values::from(&values))]).unwrap();
        tree.close().unwrap();
        file.close().unwrap();
        sink.to_bytes().to_vec()
    };
    // A thirty-second of the basket each.
    for compression in ["zlib:6", "lz4:4", "zstd:5"] {
        let (plain, auto) = (write(RandomAccess::Off, compression), write(RandomAccess::Auto, compression));
        assert!(auto.len() as f64 <= 1.15 * plain.len() as f64, "{compression}: {} of {}", auto.len(), plain.len());
        let blocks = |bytes: &[u8]| basket(bytes, &open(bytes).tree("t").unwrap(), "x", 0).2.blocks().len();
        assert_eq!((blocks(&plain), blocks(&auto)), (1, 32), "{compression}");
    }
    // Eight thousand bytes that shrink to a few hundred would grow by more than that.
    let auto = flat("zlib:6", RandomAccess::Auto, 1);
    assert_eq!(basket(&auto, &open(&auto).tree("t").unwrap(), "x", 0).2.blocks().len(), 1);
}

#[test]
fn rewriting_divides_and_joins() {
    let (whole, divided) = (flat("zlib:6", RandomAccess::Off, 1), flat("zlib:6", every(100), 1));
    let rewrite = |from: &[u8], random_access: Option<RandomAccess>, baskets: Option<Baskets>| {
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "again.root", file_options("zlib:6")).unwrap();
        let new = TreeOptions { random_access, auto_flush: Every::Entries(1_000), ..TreeOptions::default() };
        let how = Rewrite { baskets: baskets.unwrap_or(Baskets::New(new)), ..Rewrite::default() };
        file.rewrite(&open(from), "t", "t", &how).unwrap();
        file.close().unwrap();
        sink.to_bytes().to_vec()
    };
    let blocks = |bytes: &[u8]| basket(bytes, &open(bytes).tree("t").unwrap(), "x", 1).2.blocks().len();
    let again = rewrite(&whole, Some(every(250)), None);
    assert_eq!(blocks(&again), 4);
    same(&whole, &again, &FLAT);
    assert_eq!(blocks(&rewrite(&divided, None, None)), 1);
    let kept = rewrite(&divided, None, Some(Baskets::Keep));
    assert_eq!(blocks(&kept), 10);
    same(&whole, &kept, &FLAT);
}

#[test]
fn damaged_blocks_are_errors_or_unread() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut errors, mut unread) = (0, 0);
    for compression in ["zlib:6", "lz4:4", "zstd:5"] {
        let bytes = flat(compression, every(100), 1);
        let whole = open(&bytes);
        let tree = whole.tree("t").unwrap();
        for branch in ["x", "list", "v", "s"] {
            let (record, payload, table) = basket(&bytes, &tree, branch, 1);
            let headers: Vec<usize> = table.blocks().iter().map(|block| payload + block.stored.start - 9).collect();
            for round in 0..60 {
                let mut spoilt = bytes.clone();
                // Headers of blocks lie about codec and sizes; or anything else is damaged, the key left out.
                let at = match round % 2 {
                    0 => headers[next(headers.len())] + next(9),
                    _ => payload + next(record.end - payload),
                };
                spoilt[at] ^= 1 << next(8);
                let file = open(&spoilt);
                let tree = file.tree("t").unwrap();
                for entries in [1_350..1_351, 1_000..1_001, 1_999..2_000, 1_000..2_000] {
                    match read::columns(&tree, &ids(&tree, &[branch]), entries.clone()) {
                        // A header that lies is an error, or is none that matters: values are never others.
                        Ok(found) if round % 2 == 0 => {
                            let right = read::columns(&tree, &ids(&tree, &[branch]), entries.clone()).unwrap();
                            assert_eq!(arrays(&found), arrays(&right), "{branch} {entries:?}, a bit of byte {at}");
                            unread += 1;
                        }
                        Ok(_) => unread += 1,
                        Err(error) => {
                            assert_ne!(error.kind(), ErrorKind::Internal, "{branch} {entries:?}: {error}");
                            assert_eq!(error.place().basket, Some(1), "{error}");
                            errors += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(errors > 500 && unread > 500, "{errors} errors, {unread} that met no damage");
}

#[test]
fn offsets_that_fall_between_wanted_entries_are_errors() {
    let mut bytes = flat("zlib:6", every(100), 1);
    let tree = open(&bytes).tree("t").unwrap();
    let (record, payload, table) = basket(&bytes, &tree, "list", 1);
    let keylen = (payload - record.start) as u32;
    // The offsets are the last block. The first entry lies behind the others: its block is inflated after theirs.
    let (last, fifth) = (table.blocks().last().unwrap(), table.blocks()[5].unsealed.start as u32);
    let mut offsets = 1_001_u32.to_be_bytes().to_vec();
    let places = (0..1_001).map(|entry| match entry {
        0 => fifth,
        1 => fifth + 4,
        2..=5 => 0,
        _ => 4,
    });
    offsets.extend(places.flat_map(|place: u32| (keylen + place).to_be_bytes()));
    assert_eq!(offsets.len(), last.unsealed.len());
    let mut block = Vec::new();
    let how = "zlib:6".parse().unwrap();
    assert!(deflate_block(&offsets, how, usize::MAX, &mut block, &mut Scratch::default()).unwrap());
    let at = payload + last.stored.start - 9;
    assert!(at + block.len() <= record.end);
    bytes[at..at + block.len()].copy_from_slice(&block);
    // What is left belongs to the block, behind the end of its stream: nothing is left over in the chain.
    bytes[at + 3..at + 6].copy_from_slice(&((record.end - at - 9) as u32).to_le_bytes()[..3]);
    let tree = open(&bytes).tree("t").unwrap();
    let wanted = Selection::of_entries([1_000, 1_005]).unwrap();
    let error = read::columns(&tree, &ids(&tree, &["list"]), wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert!(error.message().contains("offsets do not rise"), "{error}");
}
