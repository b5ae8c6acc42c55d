//! Trees and RNTuples of many files as one: which entries have which names and friends, and what is opened when.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sapwood::chain::{Chain, Matching, Place, StoredChain};
use sapwood::column::{Kind, Number};
use sapwood::query::{LumiMask, Query};
use sapwood::read::Column;
use sapwood::table::Table;
use sapwood::write::{BranchSpec, FieldSpec, FileWriter, NTupleOptions, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File, Result};
use sapwood_testkit::{Scratch, scratch};

/// A file with numbers `n`, and their negatives `m`, in the tree `t` and in the RNTuple `r`.
fn file(numbers: std::ops::Range<i64>) -> Scratch {
    let path = scratch("chain.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    let n: Vec<i64> = numbers.collect();
    let m: Vec<i64> = n.iter().map(|n| -n).collect();
    let specs = ["n", "m"].map(|name| BranchSpec::number(name, Number::I64)).to_vec();
    let mut tree = file.tree("t", specs, TreeOptions::default()).unwrap();
    tree.extend(&[("n", Values::from(&n[..])), ("m", Values::from(&m[..]))]).unwrap();
    tree.close().unwrap();
    let kind = || Kind::Number { buffer: 0, number: Number::I64 };
    let fields = ["n", "m"].map(|name| FieldSpec::new(name, kind())).to_vec();
    let mut ntuple = file.ntuple("r", fields, NTupleOptions::default()).unwrap();
    ntuple.extend(&[("n", Column::from_numbers(&n)), ("m", Column::from_numbers(&m))]).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    path
}

fn places(files: &[Scratch], table: &str) -> Vec<Place> {
    files.iter().map(|file| Place::new(file.to_string_lossy(), Some(table))).collect()
}

fn open(place: &Place) -> Result<Table> {
    File::open(&place.file)?.table(place.table.as_deref().unwrap_or_default())
}

/// The values of an expression over all files.
fn values(chain: &Chain, text: &str) -> Result<Vec<f64>> {
    let mut found = Vec::new();
    for member in chain.members() {
        let member = member?;
        let names = member.names(&[text])?;
        let query = member.with_friends(|source| {
            let names = names.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
            Query::new(source).aliases(names).value(&format!("1. * ({text})"))
        })?;
        found.extend(query.read(member.all()?)?.columns[0].numbers::<f64>()?);
    }
    Ok(found)
}

const TABLES: [&str; 2] = ["t", "r"];

#[test]
fn entries_count_over_all_files() {
    let files = [file(0..3), file(3..3), file(3..7)];
    for table in TABLES {
        let chain = Chain::new(places(&files, table), open);
        assert_eq!(values(&chain, "n").unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(values(&chain, "Entry$ - n").unwrap(), [0.0; 7]);
        assert_eq!(values(&chain, "Entries$").unwrap(), [7.0; 7]);
        assert_eq!(values(&chain, "LocalEntry$").unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(chain.entries().unwrap(), 7);
    }
}

#[test]
fn files_of_a_friend_end_elsewhere() {
    let files = [file(0..3), file(3..4), file(4..9)];
    let friends = [file(0..1), file(1..6), file(6..6), file(6..9)];
    for (table, of) in TABLES.into_iter().zip(["r", "t"]) {
        for matching in [Matching::Stored, Matching::Entries] {
            let chain = Chain::new(places(&files, table), open).with_friend("f", places(&friends, of), matching);
            assert_eq!(values(&chain, "f.m + n").unwrap(), [0.0; 9]);
        }
    }
}

#[test]
fn a_friend_by_index_has_its_entries_in_any_file() {
    let files = [file(0..3), file(3..5)];
    let friends = [file(3..6), file(0..3)];
    for (table, of) in TABLES.into_iter().zip(["r", "t"]) {
        let by_index = Matching::Index("n".into(), "0".into());
        let chain = Chain::new(places(&files, table), open).with_friend("f", places(&friends, of), by_index);
        assert_eq!(values(&chain, "f.m + n").unwrap(), [0.0; 5]);
    }
}

#[test]
fn a_friend_that_is_not_there_is_named() {
    let files = [file(0..3)];
    let lost = vec![Place::new("/nowhere/lost.root", Some("t"))];
    for matching in [Matching::Stored, Matching::Entries, Matching::Index("n".into(), "0".into())] {
        let chain = Chain::new(places(&files, "t"), open).with_friend("f", lost.clone(), matching);
        let error = values(&chain, "n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.message().contains("the friend \"f\" cannot be read") && error.message().contains("lost.root"));
    }
}

#[test]
fn a_mask_leaves_certified_sections() {
    let files = [file(0..3), file(3..7)];
    for table in TABLES {
        let mask = LumiMask::new([(2, vec![(-2, -2)]), (5, vec![(-9, 0)]), (6, vec![(1, 9)])]).unwrap();
        let chain = Chain::new(places(&files, table), open).with_lumi_mask(mask, ["n", "m"]);
        assert_eq!(values(&chain, "n").unwrap(), [2.0, 5.0]);
    }
}

#[test]
fn files_are_opened_once_and_in_order_and_not_beyond_an_error() {
    let files = [file(0..1), file(1..2), file(2..3), file(3..4)];
    let opened = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&opened);
    let lost = files[2].to_string_lossy().into_owned();
    let chain = Chain::new(places(&files, "t"), move |place| {
        // So slow that the next file is opened ahead.
        std::thread::sleep(Duration::from_millis(5));
        note.lock().unwrap().push(place.file.clone());
        if place.file == lost { Err(sapwood::Error::not_found("the file is lost")) } else { open(place) }
    });
    let found: Vec<Result<u64>> = chain.members().map(|member| member.map(|member| member.before)).collect();
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].as_ref().unwrap(), found[1].as_ref().unwrap()), (&0, &1));
    assert_eq!(found[2].as_ref().unwrap_err().message(), "the file is lost");
    let wanted: Vec<String> = files.iter().take(3).map(|file| file.to_string_lossy().into_owned()).collect();
    assert_eq!(*opened.lock().unwrap(), wanted);
}

/// How many of some files this process has open, on Linux.
fn open_files<'f>(files: impl Iterator<Item = &'f Scratch>) -> usize {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    let open: HashSet<_> = folder.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    files.filter(|file| open.contains(&***file)).count()
}

#[test]
fn only_files_in_use_stay_open() {
    let files: Vec<Scratch> = (0..20).map(|at| file(at..at + 1)).collect();
    let friends: Vec<Scratch> = (0..20).map(|at| file(at..at + 1)).collect();
    let chain = Chain::new(places(&files, "t"), open).with_friend("f", places(&friends, "r"), Matching::Stored);
    let mut open_at_once = Vec::new();
    for member in chain.members() {
        let _in_use = member.unwrap();
        open_at_once.push(open_files(files.iter().chain(&friends)));
    }
    assert_eq!(open_at_once.len(), 20);
    // The file and its friend, and the next one, which a thread may have opened.
    assert!(open_at_once.iter().all(|open| *open <= 4), "{open_at_once:?}");
}

#[test]
fn other_objects_are_no_stored_chains() {
    let file = file(0..1);
    let file = File::open(&file).unwrap();
    assert_eq!(StoredChain::of(&file, "t").unwrap(), None);
    assert_eq!(StoredChain::of(&file, "nothing").unwrap(), None);
}
