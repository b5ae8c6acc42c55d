//! RNTuples that are written again: other clusters and pages, fewer fields and entries.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::collections::HashMap;
use std::sync::Arc;

use sapwood::codec::Compression;
use sapwood::column::{Field, Kind, ListOf, Number};
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::ntuple::{NTuple, columns};
use sapwood::read::{Column, Selection};
use sapwood::write::{
    FieldSpec, FileWriter, NTupleOptions, NTupleRewrite, Order, Pages, Rewrite, Type, Unsupported, WriteOptions,
};
use sapwood::{ErrorKind, File, OpenOptions, Session};
use sapwood_testkit::{Scratch, scratch};

const ROWS: usize = 2_000;

fn bytes<const W: usize, T>(values: impl IntoIterator<Item = T>, to: impl Fn(T) -> [u8; W]) -> bytes::Bytes {
    values.into_iter().flat_map(to).collect::<Vec<u8>>().into()
}

/// Lists of records of a number, a text, an optional number, and a value of one of two types.
fn jets() -> Column {
    let count = |row: usize| row % 4;
    let items: Vec<usize> = (0..ROWS).flat_map(|row| (0..count(row)).map(move |k| row * 10 + k)).collect();
    let ends = |counts: &mut dyn Iterator<Item = usize>| {
        let mut sum = 0;
        let ends = counts.map(|count| {
            sum += count as i64;
            sum
        });
        bytes(std::iter::once(0).chain(ends.collect::<Vec<_>>()), i64::to_ne_bytes)
    };
    let number = |buffer, number| Kind::Number { buffer, number };
    let member = |name: &str, kind| Field { name: name.into(), kind, base: false };
    let record = Kind::Record {
        class: "".into(),
        fields: vec![
            member("pt", number(1, Number::F32)),
            member("name", Kind::Text { offsets: 2, bytes: 3 }),
            member("maybe", Kind::OneOf { tags: 4, of: vec![number(5, Number::I16)] }),
            member("either", Kind::OneOf { tags: 6, of: vec![number(7, Number::Bool), number(8, Number::U32)] }),
        ],
    };
    let of = |rest: usize| items.iter().copied().filter(move |item| item % 3 == rest);
    let buffers = vec![
        ends(&mut (0..ROWS).map(count)),
        bytes(items.iter().map(|&item| item as f32), f32::to_ne_bytes),
        ends(&mut items.iter().map(|item| item % 5)),
        items.iter().map(|item| "x".repeat(item % 5)).collect::<String>().into(),
        items.iter().map(|item| if item % 3 == 0 { u8::MAX } else { 0 }).collect::<Vec<_>>().into(),
        bytes(items.iter().filter(|&item| item % 3 != 0).map(|&item| item as i16), i16::to_ne_bytes),
        items.iter().map(|item| if item % 3 == 2 { u8::MAX } else { (item % 3) as u8 }).collect::<Vec<_>>().into(),
        of(0).map(|item| u8::from(item % 2 == 0)).collect::<Vec<_>>().into(),
        bytes(of(1).map(|item| item as u32), u32::to_ne_bytes),
    ];
    Column::from_buffers(Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(record) }, ROWS, buffers)
}

fn triples() -> Column {
    let values: Vec<f64> = (0..3 * ROWS).map(|value| value as f64 / 7.0).collect();
    let kind = Kind::Fixed { len: 3, item: Box::new(Kind::Number { buffer: 0, number: Number::F64 }) };
    Column::from_buffers(kind, ROWS, vec![bytes(values, f64::to_ne_bytes)])
}

fn all() -> Vec<(&'static str, Column)> {
    let numbers: Vec<i64> = (0..ROWS as i64).map(|row| row * 1_000_003 - 77).collect();
    vec![("n", Column::from_numbers(&numbers)), ("jets", jets()), ("triples", triples())]
}

fn to_memory(threads: usize, write: impl FnOnce(&mut FileWriter)) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { session: Session::with_threads(threads), reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", how).unwrap();
    write(&mut file);
    file.close().unwrap();
    sink.to_bytes().to_vec()
}

fn opened(bytes: Vec<u8>) -> File {
    let store = Arc::new(MemoryStore::new("memory.root", bytes));
    File::from_store(store, OpenOptions { session: Session::with_threads(2), ..OpenOptions::default() }).unwrap()
}

fn source(options: NTupleOptions) -> File {
    opened(to_memory(2, |file| {
        let fields = all().into_iter().map(|(name, column)| FieldSpec::new(name, column.kind.clone())).collect();
        let options = NTupleOptions { cluster_entries: Some(170), page_bytes: 512, ..options };
        let mut ntuple = file.ntuple("a/old", fields, options).unwrap();
        ntuple.extend(&all()).unwrap();
        ntuple.close().unwrap();
    }))
}

fn rewritten(from: &File, how: &NTupleRewrite) -> File {
    opened(to_memory(2, |file| assert!(file.rewrite_ntuple(from, "a/old", "b/new", how).unwrap().is_empty())))
}

fn new_pages(options: NTupleOptions) -> NTupleRewrite {
    NTupleRewrite { pages: Pages::New(options), ..NTupleRewrite::default() }
}

/// Values of some fields equal those of the source, for these of its entries.
fn check(file: &File, names: &[&str], entries: &Selection) -> Arc<NTuple> {
    let (new, old) = (file.ntuple("b/new").unwrap(), source(NTupleOptions::default()).ntuple("a/old").unwrap());
    assert_eq!(new.top().iter().map(|&id| &*new.fields()[id].name).collect::<Vec<_>>(), names);
    for name in names {
        let ours = columns(&new, &[new.field(name).unwrap().id], 0..new.entries).unwrap();
        let theirs = columns(&old, &[old.field(name).unwrap().id], entries.clone()).unwrap();
        assert_eq!(ours[0].to_arrow().unwrap().as_ref(), theirs[0].to_arrow().unwrap().as_ref(), "{name}");
    }
    let report = sapwood::inspect::verify::verify_file(file);
    assert!(report.findings.is_empty(), "{report:?}");
    new
}

fn everything() -> Selection {
    Selection::try_from(0..ROWS as u64).unwrap()
}

#[test]
fn values_go_into_clusters_and_pages_as_asked() {
    let from = source(NTupleOptions::default());
    let entries =
        rewritten(&from, &new_pages(NTupleOptions { cluster_entries: Some(333), ..NTupleOptions::default() }));
    let new = check(&entries, &["n", "jets", "triples"], &everything());
    assert_eq!(new.clusters().unwrap()[..2], [0..333, 333..666]);
    let one = rewritten(&from, &new_pages(NTupleOptions::default()));
    let new = check(&one, &["n", "jets", "triples"], &everything());
    assert_eq!(new.clusters().unwrap(), [0..ROWS as u64]);
    assert_eq!(new.field_bytes(new.field("n").unwrap().id).unwrap().pages, 1);
    let small = NTupleOptions { cluster_bytes: 3_000, page_bytes: 256, ..NTupleOptions::default() };
    let new = check(&rewritten(&from, &new_pages(small)), &["n", "jets", "triples"], &everything());
    assert!(new.clusters().unwrap().len() > 10);
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let from = source(NTupleOptions::default());
    let how = new_pages(NTupleOptions { cluster_bytes: 5_000, page_bytes: 300, ..NTupleOptions::default() });
    let of = |threads| to_memory(threads, |file| drop(file.rewrite_ntuple(&from, "a/old", "b/new", &how).unwrap()));
    assert!(of(1) == of(3));
}

#[test]
fn fields_and_entries_are_chosen() {
    let from = source(NTupleOptions::default());
    let some = Selection::of_entries((0..ROWS as u64).filter(|entry| entry % 37 < 5)).unwrap();
    let how = NTupleRewrite {
        fields: Some(vec!["triples".into(), "jets".into()]),
        entries: Some(some.ranges().collect()),
        ..NTupleRewrite::default()
    };
    // Fields keep their order.
    check(&rewritten(&from, &how), &["jets", "triples"], &some);
    let none = NTupleRewrite { entries: Some(Vec::new()), ..NTupleRewrite::default() };
    assert_eq!(rewritten(&from, &none).ntuple("b/new").unwrap().entries, 0);
    let no_field = NTupleRewrite { fields: Some(Vec::new()), ..NTupleRewrite::default() };
    assert_eq!(rewritten(&from, &no_field).ntuple("b/new").unwrap().fields().len(), 0);
}

#[test]
fn pages_that_are_kept_are_not_inflated() {
    let from = source(NTupleOptions::default());
    for order in [Order::Entry, Order::Branch, Order::Offset] {
        let fields = Some(vec!["jets".into(), "n".into()]);
        let how = NTupleRewrite { pages: Pages::Keep, order, fields, ..NTupleRewrite::default() };
        let file = rewritten(&from, &how);
        let new = check(&file, &["n", "jets"], &everything());
        let old = from.ntuple("a/old").unwrap();
        assert_eq!(new.clusters().unwrap(), old.clusters().unwrap());
        for name in ["n", "jets"] {
            let of = |ntuple: &NTuple| ntuple.field_bytes(ntuple.field(name).unwrap().id).unwrap();
            assert_eq!(of(&new), of(&old));
        }
        // Pages of a field are side by side, or those of a cluster.
        let places: Vec<u64> = new.first_pages(new.field("n").unwrap().id).unwrap().iter().map(|page| page.1).collect();
        let jets = new.first_pages(new.field("jets").unwrap().id).unwrap()[0].1;
        assert_eq!(places.iter().all(|&at| at < jets), order == Order::Branch);
    }
}

#[test]
fn columns_are_split_where_they_are_compressed() {
    let none = Compression::NONE;
    let zstd: Compression = "zstd:3".parse().unwrap();
    let of = |file: &File, name: &str| {
        let ntuple = file.ntuple("b/new").unwrap();
        ntuple.field_bytes(ntuple.field(name).unwrap().id).unwrap()
    };
    for (before, wanted) in [(none, Some(zstd)), (zstd, Some(none)), (none, None)] {
        let from = source(NTupleOptions { compression: Some(before), ..NTupleOptions::default() });
        let options = NTupleOptions {
            compression: wanted,
            cluster_entries: Some(170),
            page_bytes: 512,
            ..NTupleOptions::default()
        };
        let file = rewritten(&from, &new_pages(options.clone()));
        let new = check(&file, &["n", "jets", "triples"], &everything());
        // As if they had been written like this at first.
        let direct = source(NTupleOptions { compression: Some(wanted.unwrap_or(before)), ..options });
        let old = direct.ntuple("a/old").unwrap();
        for id in [0, 1, 2].map(|field| new.top()[field]) {
            assert_eq!(new.field_bytes(id).unwrap(), old.field_bytes(id).unwrap());
        }
        let first = |file: &File, ntuple: &NTuple| {
            let (_, at, bytes) = ntuple.first_pages(ntuple.field("n").unwrap().id).unwrap()[0].clone();
            file.read_raw(&[at..at + bytes]).unwrap()[0].clone()
        };
        assert_eq!(first(&file, &new), first(&direct, &old));
    }
    let from = source(NTupleOptions { compression: Some(zstd), ..NTupleOptions::default() });
    let jets = from.ntuple("a/old").unwrap().field("jets").unwrap().id;
    let how = NTupleRewrite { compression: HashMap::from([(jets, none)]), ..NTupleRewrite::default() };
    let file = rewritten(&from, &how);
    check(&file, &["n", "jets", "triples"], &everything());
    assert_eq!((of(&file, "jets").compression, of(&file, "n").compression), (0, 503));
    assert_eq!(of(&file, "jets").stored, of(&file, "jets").inflated);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let from = source(NTupleOptions::default());
    let refused = |from: &File, how: &NTupleRewrite| {
        let mut outcome = None;
        let file = opened(to_memory(1, |file| outcome = Some(file.rewrite_ntuple(from, "a/old", "b/new", how))));
        assert!(file.ntuple("b/new").is_err());
        outcome.unwrap().unwrap_err()
    };
    let usual = NTupleRewrite::default;
    let error = refused(&from, &NTupleRewrite { fields: Some(vec!["m".into()]), ..usual() });
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("\"m\""), "{error}");
    let error = refused(&from, &NTupleRewrite { pages: Pages::Keep, entries: Some(vec![0..3]), ..usual() });
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let error = refused(&from, &NTupleRewrite { order: Order::Branch, ..usual() });
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let error = refused(&from, &NTupleRewrite { entries: Some(vec![7..3_000]), ..usual() });
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    // A page in the middle is damaged.
    let old = from.ntuple("a/old").unwrap();
    let at = old.first_pages(old.field("n").unwrap().id).unwrap()[9].1;
    let mut bytes = from.read_raw(&[0..from.identity().len]).unwrap()[0].to_vec();
    bytes[at as usize + 5] ^= 4;
    let error = refused(&opened(bytes), &usual());
    assert!(error.kind() == ErrorKind::Checksum && error.to_string().contains("old/n/cluster 3"), "{error}");
}

#[test]
fn payloads_larger_than_a_record_go_into_several() {
    // Pages, header, page lists and footer are larger than this; some payloads fit exactly, or leave little room.
    for most in [800, 1_000, 4_000] {
        let options = NTupleOptions { max_key_bytes: most, compression: Some(Compression::NONE), ..Default::default() };
        let from = source(options.clone());
        let pages = Pages::New(NTupleOptions { cluster_entries: Some(50), page_bytes: 3_000, ..options });
        for how in [NTupleRewrite { pages, ..NTupleRewrite::default() }, new_pages(NTupleOptions::default())] {
            check(&rewritten(&from, &how), &["n", "jets", "triples"], &everything());
        }
        let kept = NTupleRewrite { pages: Pages::Keep, ..NTupleRewrite::default() };
        check(&rewritten(&from, &kept), &["n", "jets", "triples"], &everything());
    }
}

#[test]
fn what_is_removed_or_replaced_makes_room() {
    let path = scratch("ntuple-room.root");
    let write = |file: &mut FileWriter, name: &str| {
        let fields = all().into_iter().map(|(name, column)| FieldSpec::new(name, column.kind.clone())).collect();
        let options = NTupleOptions { cluster_entries: Some(170), ..NTupleOptions::default() };
        let mut ntuple = file.ntuple(name, fields, options).unwrap();
        ntuple.extend(&all()).unwrap();
        ntuple.close().unwrap();
    };
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    write(&mut file, "kept");
    write(&mut file, "a/old");
    file.close().unwrap();
    let gaps = || {
        let records = File::open(&path).unwrap().records().unwrap();
        let gaps = records.into_iter().filter_map(|(_, record)| match record {
            sapwood::container::Record::Gap(bytes) => Some(bytes),
            sapwood::container::Record::Key(_) => None,
        });
        gaps.sum::<u64>()
    };
    let change = |change: &dyn Fn(&mut FileWriter)| {
        let mut file = FileWriter::update(&path, WriteOptions::default()).unwrap();
        change(&mut file);
        file.close().unwrap();
        let report = sapwood::inspect::verify::verify(&path, OpenOptions::default()).unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    };
    let ntuple = File::open(&path).unwrap().ntuple("a/old").unwrap();
    let stored: u64 = ntuple.top().iter().map(|&id| ntuple.field_bytes(id).unwrap().stored).sum();
    let before = gaps();
    // Another name moves no page.
    change(&|file| file.rename("a/old", "b/new").unwrap());
    assert!(gaps() < before + 3_000);
    check(&File::open(&path).unwrap(), &["n", "jets", "triples"], &everything());
    change(&|file| file.remove("b/new").unwrap());
    assert!(gaps() > before + stored, "{} bytes, of {stored}", gaps());
    // One that was written just now.
    let between = gaps();
    change(&|file| {
        write(file, "again");
        file.remove("again").unwrap();
    });
    assert!(gaps() > between + stored && File::open(&path).unwrap().ntuple("again").is_err());
    assert_eq!(File::open(&path).unwrap().ntuple("kept").unwrap().entries, ROWS as u64);
    // What a failed rewrite wrote is free as well.
    let from = source(NTupleOptions::default());
    let old = from.ntuple("a/old").unwrap();
    let at = old.first_pages(old.field("n").unwrap().id).unwrap()[9].1;
    let mut bytes = from.read_raw(&[0..from.identity().len]).unwrap()[0].to_vec();
    bytes[at as usize + 5] ^= 4;
    change(&|file| {
        drop(file.rewrite_ntuple(&opened(bytes.clone()), "a/old", "b/new", &NTupleRewrite::default()).unwrap_err())
    });
    assert!(File::open(&path).unwrap().ntuple("b/new").is_err());
}

#[test]
fn objects_take_the_place_of_pointers() {
    use sapwood::write::{BranchSpec, Class, Column as Values, Type, Unsupported, Values as Given};
    let hit = Arc::new(Class::new("Hit").member("charge", Type::Number(Number::F32)));
    let base = Arc::new(Class::new("Base").member("run", Type::Number(Number::I32)));
    let event = Class::new("Event").base(base).member("best", Type::Pointer(Arc::clone(&hit)));
    let event = Arc::new(event.member("three", Type::Array(Number::I16, vec![3])));
    let tree = opened(to_memory(1, |file| {
        let specs = vec![BranchSpec::object("whole", Arc::clone(&event), 0), BranchSpec::object("split.", event, 99)];
        let mut tree = file.tree("t", specs, sapwood::write::TreeOptions::default()).unwrap();
        let hits = Values::Record(2, vec![Values::from(&[0.5_f32, 1.5])]);
        let events = Values::Record(
            3,
            vec![
                Values::Record(3, vec![Values::from(&[1, 2, 3])]),
                Values::Lists(vec![1, 1, 2], Box::new(hits)),
                Values::Numbers(6, (0..9_i16).flat_map(i16::to_ne_bytes).collect()),
            ],
        );
        tree.extend(&[("whole", Given::objects(&events)), ("split.", Given::objects(&events))]).unwrap();
        tree.close().unwrap();
    }));
    let made = opened(to_memory(2, |file| {
        file.rewrite_as_ntuple(&tree, "t", "t", &NTupleRewrite::default(), Unsupported::Refuse).unwrap();
    }));
    let ntuple = made.ntuple("t").unwrap();
    let names: Vec<_> = ntuple.top().iter().map(|&id| &*ntuple.fields()[id].name).collect();
    assert_eq!(names, ["whole", "split_"]);
    for name in names {
        let event = ntuple.field(name).unwrap();
        let names = event.children.iter().map(|&id| &*ntuple.fields()[id].name);
        assert_eq!(names.collect::<Vec<_>>(), [":_0", "best", "three"]);
    }
    for (run, best) in [("whole.run", "whole.best"), ("split_.run", "split_.best")] {
        let read = |name: &str| {
            let id = ntuple.field(name).unwrap().id;
            columns(&ntuple, &[id], 0..3).unwrap().remove(0)
        };
        assert_eq!(read(run).numbers::<i32>().unwrap(), [1, 2, 3]);
        let best = read(best);
        let Kind::OneOf { tags, of } = &best.kind else { panic!("{}", best.kind) };
        assert_eq!(best.buffer(*tags)[..], [0, 255, 0]);
        assert!(matches!(&of[..], [Kind::Record { class, .. }] if &**class == "Hit"), "{}", best.kind);
    }
}

/// Lists of records without a class, and lists of numbers with a projected field of their lengths, which has the name
/// that the counter of the records has in a tree.
fn with_projected_length(name: &str) -> Scratch {
    let at = scratch(name);
    let plain = Kind::Number { buffer: 0, number: Number::F32 };
    let member = Field { name: "pt".into(), kind: plain.clone(), base: false };
    let record = Kind::Record { class: "".into(), fields: vec![member] };
    let list = |item| Kind::List { offsets: 1, of: ListOf::Sequence, item: Box::new(item) };
    let counted = FieldSpec::new("Muon", list(plain)).with_counter("nJet");
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
    let fields = vec![FieldSpec::new("Jet", list(record)), counted];
    file.ntuple("t", fields, NTupleOptions::default()).unwrap().close().unwrap();
    file.close().unwrap();
    at
}

#[test]
fn lengths_of_other_lists_are_not_taken_for_the_counter_of_a_collection() {
    let at = with_projected_length("ntuple-lengths.root");
    let to = scratch("ntuple-lengths-tree.root");
    let from = File::open(&at).unwrap();
    let mut file = FileWriter::recreate(&to, WriteOptions::default()).unwrap();
    let notes = file.rewrite_as_tree(&from, "t", "t", &Rewrite::default(), Unsupported::Refuse).unwrap();
    file.close().unwrap();
    assert!(notes.iter().any(|note| note.contains("\"nJet\" is left out: another branch has its name")), "{notes:?}");
    let tree = File::open(&to).unwrap().tree("t").unwrap();
    let names: Vec<&str> = tree.branches().iter().map(|branch| &*branch.name).collect();
    assert_eq!(names, ["nJet", "Jet_pt", "Muon"]);
}

#[test]
fn added_fields_have_no_name_of_a_projected_field() {
    let at = with_projected_length("ntuple-projected.root");
    let plain = |name: &str| FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 });
    let mut file = FileWriter::update(&at, WriteOptions::default()).unwrap();
    let mut ntuple = file.append_ntuple("t", NTupleOptions::default()).unwrap();
    assert_eq!(ntuple.add_fields(vec![plain("nJet")]).unwrap_err().kind(), ErrorKind::Exists);
    let floats = Type::vector(Type::Number(Number::F32));
    let late = FieldSpec::of_type("late", &floats).unwrap().with_counter("nLate");
    ntuple.add_fields(vec![late]).unwrap();
    assert_eq!(ntuple.add_fields(vec![plain("nLate")]).unwrap_err().kind(), ErrorKind::Exists);
    ntuple.close().unwrap();
    file.close().unwrap();
    let read = File::open(&at).unwrap().ntuple("t").unwrap();
    assert_eq!(read.field("nLate").unwrap().source, Some(read.field("late").unwrap().id));
}
