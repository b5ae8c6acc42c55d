//! RNTuples that are copied, moved, merged and recovered.

use std::path::Path;

use sapwood::column::{Kind, Number};
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
