//! RNTuples that are copied, moved, merged and recovered.

use std::path::Path;

use sapwood::codec::Compression;
use sapwood::column::{Kind, Number};
use sapwood::io::Flow;
use sapwood::merge::{Level, Merge, Merged, Packing};
use sapwood::ntuple::columns;
use sapwood::read::Column;
use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
use sapwood::{ErrorKind, File};
use sapwood_testkit::{Scratch, scratch};

fn number(name: &str) -> FieldSpec {
    FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 })
}

/// A file with an RNTuple of clusters of these rows: numbers from the first on.
fn with_clusters(name: &str, path: &str, first: i32, clusters: &[i32]) -> Scratch {
    let at = scratch(name);
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
    let options = NTupleOptions { page_bytes: 64, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple(path, vec![number("x"), number("zero")], options).unwrap();
    let mut next = first;
    for rows in clusters {
        let numbers: Vec<i32> = (next..next + rows).collect();
        let zeros = vec![0; numbers.len()];
        ntuple.extend(&[("x", Column::from_numbers(&numbers)), ("zero", Column::from_numbers(&zeros))]).unwrap();
        ntuple.flush().unwrap();
        next += rows;
    }
    ntuple.close().unwrap();
    file.close().unwrap();
    at
}

fn numbers(file: &File, path: &str, field: &str) -> Vec<i32> {
    let ntuple = file.ntuple(path).unwrap();
    let id = ntuple.field(field).unwrap().id;
    columns(&ntuple, &[id], 0..ntuple.entries).unwrap()[0].numbers::<i32>().unwrap().to_vec()
}

fn check(at: &Path, path: &str, name: &str, rows: i32, clusters: usize) {
    let file = File::open(at).unwrap();
    let ntuple = file.ntuple(path).unwrap();
    assert_eq!((&*ntuple.name, ntuple.clusters().unwrap().len()), (name, clusters));
    assert_eq!(numbers(&file, path, "x"), (0..rows).collect::<Vec<_>>());
    assert_eq!(numbers(&file, path, "zero"), vec![0; rows as usize]);
}

#[test]
fn a_copy_has_the_same_pages_under_another_name() {
    let old = with_clusters("ntuple-copy-1.root", "a/old", 0, &[40, 100]);
    let new = scratch("ntuple-copy-2.root");
    let from = File::open(&old).unwrap();
    let mut file = FileWriter::recreate(&new, WriteOptions { verify: true, ..WriteOptions::default() }).unwrap();
    file.copy(&from, "a/old", "b/new").unwrap();
    file.copy(&from, "a", "c").unwrap();
    assert_eq!(&*file.key("b/new").unwrap().class, "ROOT::RNTuple");
    file.close().unwrap();
    check(&new, "b/new", "new", 140, 2);
    check(&new, "c/old", "old", 140, 2);
    let sizes = |at: &Path, path: &str| {
        let ntuple = File::open(at).unwrap().ntuple(path).unwrap();
        ntuple.field_bytes(ntuple.field("x").unwrap().id).unwrap()
    };
    assert_eq!(format!("{:?}", sizes(&old, "a/old")), format!("{:?}", sizes(&new, "b/new")));
}

#[test]
fn a_damaged_page_is_found_while_it_is_copied() {
    let (old, new) = (with_clusters("ntuple-damaged-1.root", "n", 0, &[40]), scratch("ntuple-damaged-2.root"));
    let ntuple = File::open(&old).unwrap().ntuple("n").unwrap();
    let (_, at, _) = ntuple.first_pages(ntuple.field("x").unwrap().id).unwrap()[1].clone();
    let mut bytes = std::fs::read(&old).unwrap();
    bytes[at as usize + 3] ^= 1;
    std::fs::write(&old, bytes).unwrap();
    let mut file = FileWriter::recreate(&new, WriteOptions { verify: true, ..WriteOptions::default() }).unwrap();
    let error = file.copy(&File::open(&old).unwrap(), "n", "n").unwrap_err();
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Checksum, Some(at)), "{error}");
    file.close().unwrap();
    assert!(File::open(&new).unwrap().ntuple("n").is_err());
}

#[test]
fn moves_leave_the_pages_in_place() {
    let at = with_clusters("ntuple-move.root", "old", 0, &[40, 100]);
    let bytes = std::fs::metadata(&at).unwrap().len();
    for (from, to, name) in [("old", "a/old", "old"), ("a/old", "a/new", "new"), ("a", "b", "new")] {
        let mut file = FileWriter::update(&at, WriteOptions::default()).unwrap();
        file.rename(from, to).unwrap();
        file.close().unwrap();
        let to = if to == "b" { "b/new" } else { to };
        check(&at, to, name, 140, 2);
        assert!(File::open(&at).unwrap().ntuple(from).is_err());
    }
    assert!(std::fs::metadata(&at).unwrap().len() < bytes + 3000);
}

fn merge(how: &Merge, output: &Path, inputs: &[&Path]) -> sapwood::Result<Merged> {
    let inputs: Vec<String> = inputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    how.run(output, &inputs, &|path| File::open(path), &mut |_| Flow::Go)
}

#[test]
fn merged_rntuples_have_all_entries() {
    let one = with_clusters("ntuple-merge-1.root", "a/n", 0, &[40, 100]);
    let two = with_clusters("ntuple-merge-2.root", "a/n", 140, &[7]);
    let again = Packing::As("lz4:4".parse().unwrap());
    for (packing, level) in [(Packing::Keep, Level::Copy), (again, Level::Recompress)] {
        let output = scratch("ntuple-merged.root");
        let merged = merge(&Merge { packing, verify: true, ..Merge::default() }, &output, &[&one, &two]).unwrap();
        let tree = &merged.trees[0];
        assert_eq!((tree.path.as_str(), tree.level, tree.inputs), ("a/n", level, 2));
        assert_eq!((tree.figures.entries, tree.figures.clusters, tree.figures.tot_bytes), (147, 3, 147 * 8));
        check(&output, "a/n", "n", 147, 3);
        // More is added in place.
        let three = with_clusters("ntuple-merge-3.root", "a/n", 147, &[3, 50]);
        let merged = merge(&Merge { append: true, packing, ..Merge::default() }, &output, &[&three]).unwrap();
        assert_eq!((merged.trees[0].figures.entries, merged.trees[0].figures.clusters), (200, 5));
        check(&output, "a/n", "n", 200, 5);
        let report = sapwood::inspect::verify::verify(&output, sapwood::OpenOptions::default()).unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    }
}

#[test]
fn rntuples_of_other_fields_are_refused_by_name() {
    let one = with_clusters("ntuple-differ-1.root", "n", 0, &[10]);
    let other = |specs: Vec<FieldSpec>, columns: &[(&str, Column)], compression: Option<Compression>| {
        let at = scratch("ntuple-differ-2.root");
        let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
        let mut ntuple = file.ntuple("n", specs, NTupleOptions { compression, ..NTupleOptions::default() }).unwrap();
        ntuple.extend(columns).unwrap();
        ntuple.close().unwrap();
        file.close().unwrap();
        at
    };
    let x = || ("x", Column::from_numbers(&[10, 11]));
    let zero = || ("zero", Column::from_numbers(&[0, 0]));
    let lacking = other(vec![number("x")], &[x()], None);
    let float = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::F32 });
    let float = other(vec![float, number("zero")], &[("x", Column::from_numbers(&[1.0_f32, 2.0])), zero()], None);
    let plain = other(vec![number("x"), number("zero")], &[x(), zero()], Some(Compression::NONE));
    for (two, field, words) in [
        (&lacking, "zero", "does not have this field"),
        (&float, "x", "its type is float, that of the first RNTuple is std::int32_t"),
        (&plain, "x", "stored as Int32 of 32 bits, in the first RNTuple as SplitInt32 of 32 bits"),
    ] {
        let output = scratch("ntuple-differ.root");
        let error = merge(&Merge::default(), &output, &[&one, two]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let shown = error.to_string();
        assert!(shown.contains(words) && shown.contains(field) && shown.contains("ntuple-differ-2"), "{shown}");
        assert!(!output.exists());
        // Where inputs may be skipped, the others are there.
        let how = Merge { skips: true, ..Merge::default() };
        let merged = merge(&how, &output, &[&one, two, &one]).unwrap();
        assert_eq!((merged.inputs, merged.skipped.len()), (2, 1));
        assert_eq!(numbers(&File::open(&output).unwrap(), "n", "x"), (0..10).chain(0..10).collect::<Vec<_>>());
    }
    // Another order of fields, and one more.
    let more = other(
        vec![number("zero"), number("more"), number("x")],
        &[zero(), x(), ("more", Column::from_numbers(&[5, 6]))],
        None,
    );
    let output = scratch("ntuple-more.root");
    let merged = merge(&Merge::default(), &output, &[&one, &more]).unwrap();
    assert!(merged.notices[0].contains("n: field more left out"), "{:?}", merged.notices);
    check(&output, "n", "n", 12, 2);
}
