//! Reading a real file: what is read, how often, and that threads change nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::column::Number;
use sapwood::io::{LocalFile, MemorySink, MemoryStore, Recorded};
use sapwood::read::Selection;
use sapwood::write::{
    BranchKind, BranchSpec, Class, Column, FileWriter, Item, TreeOptions, Type, Values, WriteOptions,
};
use sapwood::{ErrorKind, File, OpenOptions, Session, Value, read};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name)
}

fn options(threads: usize) -> OpenOptions {
    OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() }
}

#[test]
fn a_file_opens_in_one_trip_and_a_tree_in_two_more() {
    let store = Arc::new(Recorded::new(LocalFile::open(data("histograms.root")).unwrap()));
    let file = File::from_store(store.clone(), options(1)).unwrap();
    assert_eq!(store.take_calls().len(), 1, "head and tail come together, and hold all that opening needs");
    assert_eq!(file.keys(true).unwrap().len(), 4);
    file.object("h1d").unwrap();
    assert_eq!(store.take_calls().len(), 0, "a small file is there already");
    let store = Arc::new(Recorded::new(LocalFile::open(data("nano.root")).unwrap()));
    let file = File::from_store(store.clone(), options(1)).unwrap();
    assert_eq!(store.take_calls().len(), 1);
    file.tree("Events").unwrap();
    assert!(store.take_calls().len() <= 2, "one for the tree's record, one for the classes");
}

#[test]
fn only_wanted_baskets_are_read_and_neighbours_come_in_one_request() {
    let store = Arc::new(Recorded::new(LocalFile::open(data("nano.root")).unwrap()));
    let file = File::from_store(store.clone(), options(1)).unwrap();
    let tree = file.tree("Events").unwrap();
    let ids: Vec<_> = ["nMuon", "Muon_pt"].iter().map(|name| tree.branch(name).unwrap().id).collect();
    store.take_calls();
    read::columns(&tree, &ids, 0..0).unwrap();
    assert_eq!(store.take_calls().len(), 0, "no entries, no bytes");
    read::columns(&tree, &ids, 0..tree.entries).unwrap();
    let calls = store.take_calls();
    let wanted: u64 = ids
        .iter()
        .flat_map(|&id| tree.branches()[id].baskets())
        .map(|basket| match basket.bytes {
            sapwood::tree::BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
            sapwood::tree::BasketBytes::Embedded(_) => 0,
        })
        .sum();
    let read: u64 = calls.iter().map(sapwood::io::Call::bytes).sum();
    assert_eq!(calls.len(), 1, "baskets of one window are one request");
    assert!(read >= wanted && read < wanted + (256 << 10), "read {read} for {wanted}");
}

#[test]
fn threads_and_ranges_change_nothing() {
    let all = |threads: usize| {
        let file = File::open_with(data("nano.root"), options(threads)).unwrap();
        let tree = file.tree("Events").unwrap();
        let ids: Vec<_> = tree.branches().iter().map(|branch| branch.id).collect();
        (tree.clone(), read::columns(&tree, &ids, 0..tree.entries).unwrap())
    };
    let ((tree, alone), (_, together)) = (all(1), all(4));
    assert_eq!(alone.len(), tree.branches().len());
    for (a, b) in alone.iter().zip(&together) {
        assert_eq!((a.len, a.buffers()), (b.len, b.buffers()));
    }
    let id = tree.branch("Jet_pt").unwrap().id;
    let whole: Vec<f32> = alone[id].numbers().unwrap();
    let offsets = alone[id].offsets();
    for (start, stop) in [(0, 1), (3, 7), (9, 10), (10, 10)] {
        let part = &read::columns(&tree, &[id], start..stop).unwrap()[0];
        let expected = &whole[offsets[start as usize] as usize..offsets[stop as usize] as usize];
        assert_eq!(part.numbers::<f32>().unwrap(), expected);
        assert_eq!(part.len as u64, stop - start);
    }
}

#[test]
fn steps_and_rows_hold_what_the_whole_columns_hold() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/plain.root");
    let tree = File::open_with(path, options(1)).unwrap().tree("t").unwrap();
    let whole = tree.scan(&["n", "x", "d"]).unwrap().next().unwrap().unwrap();
    assert_eq!((whole.entries.span(), whole.to_arrow().unwrap().num_rows()), (0..60, 60));
    let steps: Vec<_> = tree.scan(&["x", "d"]).unwrap().step_bytes(600).collect::<Result<_, _>>().unwrap();
    assert_eq!(steps.iter().map(|step| step.entries.span()).collect::<Vec<_>>(), [0..20, 20..40, 40..60]);
    let joined: Vec<f32> = steps.iter().flat_map(|step| step.column("x").unwrap().numbers::<f32>().unwrap()).collect();
    assert_eq!(joined, whole.column("x").unwrap().numbers::<f32>().unwrap());
    let mut rows = tree.scan(&["n", "x", "d"]).unwrap().step_bytes(1).entries(17..50).unwrap().rows();
    let first = rows.next().unwrap().unwrap();
    assert_eq!((first.entry(), first.number::<i32>("n").unwrap()), (17, 1));
    assert_eq!((first.numbers::<f32>("x").unwrap(), first.number::<f64>("d").unwrap()), (vec![17.0], 8.5));
    assert_eq!(first.number::<f32>("d").unwrap_err().kind(), ErrorKind::Mismatch, "another type");
    assert_eq!(first.text("d").unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(first.number::<f32>("y").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(rows.map(|row| row.unwrap().entry()).collect::<Vec<_>>(), (18..50).collect::<Vec<_>>());
    assert_eq!(tree.scan(&["z"]).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn errors_for_missing_names_suggest_similar_ones() {
    let file = File::open(data("nano.root")).unwrap();
    let error = file.tree("Event").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("\"Events\""), "{error}");
    let tree = file.tree("Events").unwrap();
    let error = tree.branch("Muon_ptt").unwrap_err();
    assert!(error.to_string().contains("\"Muon_pt\""), "{error}");
    let id = tree.branch("Muon_pt").unwrap().id;
    let error = read::columns(&tree, &[id], 0..11).unwrap_err();
    assert_eq!((error.kind(), error.place().expected, error.place().found), (ErrorKind::Mismatch, Some(11), Some(10)));
}

/// Compares two values and all that they point at; gives the number of lists of numbers.
fn compare(ours: &Value<'_>, theirs: &Value<'_>, seen: &mut std::collections::HashSet<u32>) -> usize {
    match (ours, theirs) {
        (Value::Record(ours), Value::Record(theirs)) => {
            assert_eq!((ours.class(), ours.iter().count()), (theirs.class(), theirs.iter().count()));
            let pairs = ours.iter().zip(theirs.iter());
            pairs.map(|((_, ours), (_, theirs))| compare(&ours, &theirs, seen)).sum()
        }
        (Value::List(ours), Value::List(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs.iter()).map(|(ours, theirs)| compare(&ours, &theirs, seen)).sum()
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            assert_eq!((ours.id(), ours.class()), (theirs.id(), theirs.class()));
            if seen.insert(ours.id()) { compare(&ours.value(), &theirs.value(), seen) } else { 0 }
        }
        (Value::Numbers(ours, our_bytes), Value::Numbers(theirs, their_bytes)) => {
            assert_eq!((ours, our_bytes), (theirs, their_bytes));
            1
        }
        _ => {
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            0
        }
    }
}

#[test]
fn lists_that_a_tree_decodes_late_are_those_of_its_object() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let paths = [data("nano.root"), own.join("plain.root"), own.join("baskets.root")];
    for (path, name) in paths.iter().zip(["Events", "t", "events"]) {
        let file = File::open(path).unwrap();
        let (tree, object) = (file.tree(name).unwrap(), file.object(name).unwrap());
        // Lists of single branches first, then all of them.
        let baskets: usize = tree.branches().iter().map(|branch| branch.baskets().len()).sum();
        assert!(baskets >= tree.branches().len());
        let lists = compare(&tree.object.value(), &object.value(), &mut std::collections::HashSet::new());
        assert!(lists >= 3 * tree.branches().len(), "{lists}");
    }
}

/// Opens, lists and reads everything; errors are fine, anything else is not.
fn try_all(bytes: Vec<u8>) {
    let mut limited = options(1);
    limited.limits.object_bytes = 16 << 20;
    limited.limits.answer_bytes = 64 << 20;
    let Ok(file) = File::from_store(Arc::new(MemoryStore::new("broken", bytes)), limited) else { return };
    let _ = file.records();
    let _ = file.free_segments();
    for found in file.keys(true).unwrap_or_default() {
        let _ = file.object_at(&found.key);
        if let Ok(tree) = file.tree_at(&found.key) {
            for branch in tree.branches() {
                let _ = read::columns(&tree, &[branch.id], 0..tree.entries.min(100));
            }
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_an_error_or_what_is_left() {
    let whole = std::fs::read(data("histograms.root")).unwrap();
    for length in 0..whole.len() {
        if length < 300 || length % 7 == 0 {
            try_all(whole[..length].to_vec());
        }
    }
}

#[test]
fn no_flipped_bit_does_harm() {
    let whole = std::fs::read(data("histograms.root")).unwrap();
    for position in 0..whole.len() {
        let mut broken = whole.clone();
        broken[position] ^= 1 << (position % 8);
        try_all(broken);
    }
    let whole = std::fs::read(data("nano.root")).unwrap();
    for position in (0..whole.len()).step_by(4001) {
        let mut broken = whole.clone();
        broken[position] ^= 0x40;
        try_all(broken);
    }
}

fn texts(all: impl Iterator<Item = String>) -> Column {
    let (mut ends, mut bytes) = (Vec::new(), Vec::new());
    for text in all {
        bytes.extend_from_slice(text.as_bytes());
        ends.push(bytes.len() as u64);
    }
    Column::Lists(ends, Box::new(Column::from(&bytes[..])))
}

/// A tree of numbers, lists and objects whose baskets take some megabytes, in memory: uncompressed, so that a test
/// finds bytes in it.
fn large() -> sapwood::Result<Vec<u8>> {
    const ENTRIES: usize = 20_000;
    let hit = Class::new("Hit").member("x", Type::Number(Number::F32)).member("name", Type::Text);
    let specs = vec![
        BranchSpec::number("n", Number::I64),
        BranchSpec::vector("v", Item::Number(Number::F64), 1),
        BranchSpec::new("hits", BranchKind::Object(Type::vector(Type::Object(Arc::new(hit))), 0)),
    ];
    let numbers: Vec<i64> = (0..ENTRIES as i64).collect();
    let ends: Vec<u64> = (1..=ENTRIES as u64).scan(0, |end, entry| Some((*end += entry % 7, *end).1)).collect();
    let items = *ends.last().unwrap_or(&0) as usize;
    let offsets: Vec<i64> = std::iter::once(0).chain(ends.iter().map(|&end| end as i64)).collect();
    let values: Vec<f64> = (0..items).map(|item| item as f64 / 4.0).collect();
    let members = vec![
        Column::from(&values.iter().map(|&value| value as f32).collect::<Vec<_>>()[..]),
        texts((0..items).map(|item| format!("hit {item}"))),
    ];
    let hits = Column::Lists(ends, Box::new(Column::Record(items, members)));
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { compression: Some("none".parse()?), ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(sink.clone(), "large.root", how)?;
    let options = TreeOptions { basket_bytes: 4_000, ..TreeOptions::default() };
    let mut tree = file.tree("t", specs, options)?;
    let columns = [
        ("n", Values::from(&numbers[..])),
        ("v", Values::lists(&offsets, &values[..])),
        ("hits", Values::objects(&hits)),
    ];
    tree.extend(&columns)?;
    tree.close()?;
    file.close()?;
    Ok(sink.to_bytes().to_vec())
}

#[test]
fn baskets_of_many_threads_come_in_the_order_of_entries() {
    let bytes = large().unwrap();
    let read = |threads: usize, entries: &Selection| {
        let file = File::from_store(Arc::new(MemoryStore::new("large.root", bytes.clone())), options(threads)).unwrap();
        let tree = file.tree("t").unwrap();
        let ids: Vec<_> = ["n", "v", "hits"].iter().map(|name| tree.branch(name).unwrap().id).collect();
        read::columns(&tree, &ids, entries.clone()).unwrap()
    };
    let ranges = (0..100).map(|number| 200 * number + 3..200 * number + 150);
    for entries in [Selection::try_from(0..20_000).unwrap(), Selection::of_ranges(ranges).unwrap()] {
        let alone = read(1, &entries);
        let first = entries.span().start as i64;
        assert_eq!(alone[0].as_slice::<i64>().unwrap()[..2], [first, first + 1]);
        for threads in [2, 8] {
            for (a, b) in alone.iter().zip(read(threads, &entries)) {
                assert_eq!((a.len, a.buffers()), (b.len, b.buffers()), "{threads} threads");
            }
        }
    }
}

#[test]
fn the_first_broken_basket_is_the_error_whatever_the_number_of_threads() {
    let bytes = large().unwrap();
    for (branch, what) in [("n", "fixed"), ("hits", "grown")] {
        let tree = File::from_store(Arc::new(MemoryStore::new("large.root", bytes.clone())), options(1))
            .unwrap()
            .tree("t")
            .unwrap();
        let id = tree.branch(branch).unwrap().id;
        let baskets = tree.branches()[id].baskets();
        assert!(baskets.len() > 30, "{}", baskets.len());
        let mut broken = bytes.clone();
        for (number, in_content) in [(21, branch == "hits"), (25, false), (baskets.len() - 1, false)] {
            let sapwood::tree::BasketBytes::Stored { seek, .. } = baskets[number].bytes else { panic!("it is stored") };
            let seek = seek as usize;
            let key_bytes = u16::from_be_bytes([broken[seek + 14], broken[seek + 15]]);
            match in_content {
                // The length of the first entry's frame, which is seen later than what is wrong with a key.
                true => broken[seek + usize::from(key_bytes)..][..4].copy_from_slice(&[0x40, 0, 0, 1]),
                false => broken[seek + 14..seek + 16].fill(0xff),
            }
        }
        for threads in [1, 2, 8] {
            let store = Arc::new(MemoryStore::new("large.root", broken.clone()));
            let tree = File::from_store(store, options(threads)).unwrap().tree("t").unwrap();
            let error = read::columns(&tree, &[id], 0..20_000).unwrap_err();
            assert_eq!(
                (error.kind(), error.place().basket),
                (ErrorKind::Malformed, Some(21)),
                "{what}, {threads}: {error}"
            );
        }
    }
}
