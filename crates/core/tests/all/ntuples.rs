//! RNTuples that are copied, moved, merged and recovered.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::io::IoSlice;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sapwood::codec::Compression;
use sapwood::column::{Kind, Number};
use sapwood::inspect::verify::Severity;
use sapwood::io::{Flow, MemoryStore, Sink};
use sapwood::merge::{Level, Merge, Merged, Packing};
use sapwood::ntuple::columns;
use sapwood::read::Column;
use sapwood::write::{
    BranchSpec, FieldSpec, FileWriter, Format, NTupleOptions, NTupleRewrite, Pages, Remake, TreeOptions, Unsupported,
    Values, WriteOptions, recover,
};
use sapwood::{ErrorKind, File, Session};
use sapwood_testkit::{Scratch, scratch};

fn number(name: &str) -> FieldSpec {
    FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 })
}

/// A file with an RNTuple of clusters of these rows: numbers from the first on.
fn with_clusters(name: &str, path: &str, first: i32, clusters: &[i32]) -> Scratch {
    let at = scratch(name);
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).expect("a file as it should be");
    let options = NTupleOptions { page_bytes: 64, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple(path, vec![number("x"), number("zero")], options).expect("a file as it should be");
    let mut next = first;
    for rows in clusters {
        let numbers: Vec<i32> = (next..next + rows).collect();
        let zeros = vec![0; numbers.len()];
        ntuple
            .extend(&[("x", Column::from_numbers(&numbers)), ("zero", Column::from_numbers(&zeros))])
            .expect("a file as it should be");
        ntuple.flush().expect("a file as it should be");
        next += rows;
    }
    ntuple.close().expect("a file as it should be");
    file.close().expect("a file as it should be");
    at
}

fn numbers(file: &File, path: &str, field: &str) -> Vec<i32> {
    let ntuple = file.ntuple(path).expect("a file as it should be");
    let id = ntuple.field(field).expect("a file as it should be").id;
    columns(&ntuple, &[id], 0..ntuple.entries).expect("a file as it should be")[0]
        .numbers::<i32>()
        .expect("a file as it should be")
        .to_vec()
}

fn check(at: &Path, path: &str, name: &str, rows: i32, clusters: usize) {
    let file = File::open(at).expect("a file as it should be");
    let ntuple = file.ntuple(path).expect("a file as it should be");
    assert_eq!((&*ntuple.name, ntuple.clusters().expect("a file as it should be").len()), (name, clusters));
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

/// A file with an RNTuple of numbers in pages of 64 KiB and more.
fn with_large_pages(name: &str, range: std::ops::Range<i32>, options: NTupleOptions) -> Scratch {
    let at = scratch(name);
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
    let options = NTupleOptions { compression: Some(Compression::NONE), ..options };
    let mut ntuple = file.ntuple("n", vec![number("x")], options).unwrap();
    ntuple.extend(&[("x", Column::from_numbers(&range.collect::<Vec<i32>>()))]).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    at
}

#[test]
fn large_pages_are_copied_by_the_system_and_stand_where_they_would() {
    let one = with_large_pages("ntuple-large-1.root", 0..300_000, NTupleOptions::default());
    let two = with_large_pages("ntuple-large-2.root", 300_000..500_000, NTupleOptions::default());
    let output = scratch("ntuple-copied.root");
    // Pages that are checked pass through memory.
    let [in_memory, by_system] = [true, false].map(|verify| {
        let how = Merge { verify, reproducible: true, replaces: true, ..Merge::default() };
        let merged = merge(&how, &output, &[&one, &two]).unwrap();
        (merged.requests, std::fs::read(&output).unwrap())
    });
    assert!(by_system.0 < in_memory.0, "{} and {} reads", by_system.0, in_memory.0);
    assert!(by_system.1 == in_memory.1, "the same bytes");
    verified(&output);
    assert_eq!(numbers(&File::open(&output).unwrap(), "n", "x"), (0..500_000).collect::<Vec<_>>());
}

#[test]
fn pages_larger_than_a_key_of_the_output_are_spread() {
    let small = NTupleOptions { max_key_bytes: 40_000, ..NTupleOptions::default() };
    for verify in [false, true] {
        let output = with_large_pages("ntuple-small-keys.root", 0..20_000, small.clone());
        let more = with_large_pages("ntuple-large-keys.root", 20_000..400_000, NTupleOptions::default());
        merge(&Merge { append: true, verify, ..Merge::default() }, &output, &[&more]).unwrap();
        verified(&output);
        assert_eq!(numbers(&File::open(&output).unwrap(), "n", "x"), (0..400_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_source_that_is_cut_while_it_is_copied_leaves_nothing() {
    let one = with_large_pages("ntuple-whole.root", 0..300_000, NTupleOptions::default());
    let output = scratch("ntuple-cut-output.root");
    let from = File::open(&one).unwrap();
    from.ntuple("n").unwrap();
    std::fs::OpenOptions::new().write(true).open(&one).unwrap().set_len(300_000).unwrap();
    let mut file = FileWriter::recreate(&output, WriteOptions::default()).unwrap();
    let how = NTupleRewrite { pages: Pages::Keep, ..NTupleRewrite::default() };
    let error = file.rewrite_ntuple(&from, "n", "n", &how).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    file.close().unwrap();
    // What was begun is a gap.
    verified(&output);
    assert!(File::open(&output).unwrap().keys(true).unwrap().is_empty());
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
    for (two, field, words) in [
        (&lacking, "zero", "does not have this field"),
        (&float, "x", "its type is float, that of the first RNTuple is std::int32_t"),
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
    // Another order of fields.
    let turned = other(vec![number("zero"), number("x")], &[zero(), x()], None);
    let output = scratch("ntuple-turned.root");
    assert!(merge(&Merge::default(), &output, &[&one, &turned]).unwrap().notices.is_empty());
    check(&output, "n", "n", 12, 2);
}

/// A file with an RNTuple of one cluster.
fn with_columns(name: &str, columns: &[(&str, Column)], options: NTupleOptions) -> Scratch {
    let at = scratch(name);
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
    let specs = columns.iter().map(|(name, column)| FieldSpec::new(*name, column.kind.clone())).collect();
    let mut ntuple = file.ntuple("n", specs, options).unwrap();
    ntuple.extend(columns).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    at
}

/// A list of as many numbers as the row has in `counts`.
fn lists(counts: &[i64]) -> Column {
    let ends = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    let ends: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let items: Vec<i16> = (0..ends[counts.len()] as i16).collect();
    let offsets: Vec<u8> = ends.into_iter().flat_map(i64::to_ne_bytes).collect();
    let kind = Kind::List {
        offsets: 0,
        of: sapwood::column::ListOf::Sequence,
        item: Box::new(Kind::Number { buffer: 1, number: Number::I16 }),
    };
    let items: Vec<u8> = items.into_iter().flat_map(i16::to_ne_bytes).collect();
    Column::from_buffers(kind, counts.len(), vec![offsets.into(), items.into()])
}

fn verified(at: &Path) {
    let report = sapwood::inspect::verify::verify(at, sapwood::OpenOptions::default()).unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}

#[test]
fn fields_of_later_inputs_are_zeros_before() {
    let x = |numbers: &[i32]| ("x", Column::from_numbers(numbers));
    let usual = NTupleOptions::default;
    let one = with_columns("ntuple-late-1.root", &[x(&[1, 2, 3])], usual());
    let y = ("y", Column::from_numbers(&[0.5, 1.5]));
    let two = with_columns("ntuple-late-2.root", &[y, ("l", lists(&[2, 0])), x(&[4, 5])], usual());
    let three = with_columns("ntuple-late-3.root", &[x(&[6]), ("z", Column::from_numbers(&[7_u8]))], usual());
    let output = scratch("ntuple-late.root");
    let merged = merge(&Merge::default(), &output, &[&one, &two, &three, &two]).unwrap();
    // Three fields, and an input that is given twice.
    assert_eq!(merged.notices.len(), 4, "{:?}", merged.notices);
    assert!(merged.notices[0].contains("n: field y begins with"), "{:?}", merged.notices);
    let check = |output: &Path| {
        verified(output);
        let file = File::open(output).unwrap();
        let ntuple = file.ntuple("n").unwrap();
        let read = |name: &str| columns(&ntuple, &[ntuple.field(name).unwrap().id], 0..8).unwrap().remove(0);
        assert_eq!(read("x").numbers::<i32>().unwrap(), [1, 2, 3, 4, 5, 6, 4, 5]);
        assert_eq!(read("y").numbers::<f64>().unwrap(), [0.0, 0.0, 0.0, 0.5, 1.5, 0.0, 0.5, 1.5]);
        assert_eq!(read("z").numbers::<u8>().unwrap(), [0, 0, 0, 0, 0, 7, 0, 0]);
        assert_eq!(read("l").offsets(), [0, 0, 0, 0, 2, 2, 2, 4, 4]);
        assert_eq!(read("l").items().unwrap().numbers::<i16>().unwrap(), [0, 1, 0, 1]);
        let late = ntuple.fields().iter().filter(|field| field.is_late).map(|field| &*field.path);
        assert_eq!(late.collect::<Vec<_>>(), ["y", "l", "l", "z"]);
    };
    check(&output);
    // One file after another, to the first.
    std::fs::copy(&one, &output).unwrap();
    for input in [&two, &three, &two] {
        merge(&Merge { append: true, ..Merge::default() }, &output, &[input]).unwrap();
    }
    check(&output);
    // An input that fails after its fields were joined leaves nothing of them.
    let bad = with_columns("ntuple-late-4.root", &[x(&[8]), ("w", Column::from_numbers(&[1_u8]))], usual());
    let at = File::open(&bad).unwrap().ntuple("n").unwrap().first_pages(0).unwrap()[0].1;
    let mut bytes = std::fs::read(&bad).unwrap();
    bytes[at as usize] ^= 1;
    std::fs::write(&bad, bytes).unwrap();
    let how = Merge { skips: true, verify: true, ..Merge::default() };
    let output = scratch("ntuple-late-again.root");
    let merged = merge(&how, &output, &[&one, &bad, &two, &three, &two]).unwrap();
    assert_eq!((merged.skipped.len(), merged.notices.len()), (1, 4));
    check(&output);
}

#[test]
fn columns_that_are_stored_in_another_way_are_converted() {
    let of = |name: &str, numbers: &[i32], counts: &[i64], compression: &str| {
        let options = NTupleOptions { compression: Some(compression.parse().unwrap()), ..NTupleOptions::default() };
        with_columns(name, &[("x", Column::from_numbers(numbers)), ("l", lists(counts))], options)
    };
    let split = of("ntuple-twins-1.root", &[1, -2, 3], &[0, 2, 1], "zstd:5");
    let plain = of("ntuple-twins-2.root", &[-4, 5], &[1, 3], "zlib:0");
    for inputs in [[&split, &plain], [&plain, &split]] {
        let output = scratch("ntuple-twins.root");
        let merged = merge(&Merge::default(), &output, &[inputs[0], inputs[1]]).unwrap();
        assert_eq!(merged.trees[0].level, Level::Recompress);
        verified(&output);
        let file = File::open(&output).unwrap();
        let ntuple = file.ntuple("n").unwrap();
        let read = |name: &str| columns(&ntuple, &[ntuple.field(name).unwrap().id], 0..5).unwrap().remove(0);
        let of = |file: &Scratch| numbers(&File::open(file).unwrap(), "n", "x");
        assert_eq!(read("x").numbers::<i32>().unwrap(), [of(inputs[0]), of(inputs[1])].concat());
        let lengths: Vec<i64> = read("l").offsets().windows(2).map(|pair| pair[1] - pair[0]).collect();
        let wanted: [&[i64]; 2] = [&[0, 2, 1], &[1, 3]];
        let is_first = std::ptr::eq(inputs[0], &split);
        assert_eq!(lengths, if is_first { wanted.concat() } else { [wanted[1], wanted[0]].concat() });
    }
}

/// Keeps each write.
#[derive(Default)]
struct Journal(Mutex<Vec<(u64, Vec<u8>)>>);

impl Sink for Journal {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> sapwood::Result<()> {
        self.0.lock().expect("a lock").push((offset, parts.iter().flat_map(|part| part.iter().copied()).collect()));
        Ok(())
    }

    fn sync(&self) -> sapwood::Result<()> {
        Ok(())
    }
}

impl Journal {
    /// The file after so many writes, and half of the next. A word is written as one.
    fn image(&self, writes: usize) -> Vec<u8> {
        let mut image = Vec::new();
        for (index, (offset, bytes)) in self.0.lock().expect("a lock").iter().take(writes + 1).enumerate() {
            let bytes = if index == writes { &bytes[..bytes.len() / 8 * 4] } else { bytes };
            let end = *offset as usize + bytes.len();
            image.resize(image.len().max(end), 0);
            image[*offset as usize..end].copy_from_slice(bytes);
        }
        image
    }
}

#[test]
fn committed_clusters_are_there_whenever_the_writer_dies() {
    let journal = Arc::new(Journal::default());
    let options = || WriteOptions { session: Session::with_threads(1), reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", options()).unwrap();
    let small = NTupleOptions { page_bytes: 64, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("a/n", vec![number("x")], small).unwrap();
    let writes = || journal.0.lock().unwrap().len();
    // Writes after which rows are saved, and after which they are committed.
    let (mut saved, mut committed) = (vec![(writes(), 0)], vec![(writes(), 0)]);
    for step in 0..6 {
        let numbers: Vec<i32> = (step * 30..(step + 1) * 30).collect();
        ntuple.extend(&[("x", Column::from_numbers(&numbers))]).unwrap();
        ntuple.flush().unwrap();
        committed.push((writes(), (step + 1) * 30));
        if step % 3 == 1 {
            file.save().unwrap();
            saved.push((writes(), (step + 1) * 30));
        }
    }
    ntuple.close().unwrap();
    file.close().unwrap();
    let at = |of: &[(usize, i32)], writes: usize| of.iter().rev().find(|(count, _)| *count <= writes).map(|of| of.1);
    for count in saved[0].0..=writes() {
        let path = scratch("ntuple-crash.root");
        std::fs::write(&path, journal.image(count)).unwrap();
        let rows = |least: i32| {
            let found = numbers(&File::open(&path).unwrap(), "a/n", "x");
            assert!(found.len() as i32 >= least, "{count}: {} of {least} rows", found.len());
            assert_eq!(found, (0..found.len() as i32).collect::<Vec<_>>(), "{count}");
            found.len()
        };
        let before = rows(at(&saved, count).unwrap());
        let dry = recover(&path, true, options()).unwrap();
        let found = recover(&path, false, options()).unwrap();
        assert_eq!((&dry.trees, dry.left.len()), (&found.trees, 0), "{count}");
        let after = rows(at(&committed, count).unwrap());
        // Where a newer anchor was written, that is what came back.
        let is_named = found.objects.contains(&"a/n".to_owned())
            || found.trees.contains(&("a/n".into(), before as u64, after as u64));
        assert_eq!(after > before, is_named, "{count}: {found:?}");
        let report = sapwood::inspect::verify::verify(&path, sapwood::OpenOptions::default()).unwrap();
        assert!(report.findings.iter().all(|finding| finding.severity != Severity::Damage), "{count}: {report:?}");
    }
}

#[test]
fn entries_and_fields_are_added_and_no_crash_takes_anything_away() {
    let options = || WriteOptions { session: Session::with_threads(1), reproducible: true, ..WriteOptions::default() };
    let at = with_clusters("ntuple-append.root", "a/n", 0, &[40, 30]);
    let before = std::fs::read(&at).unwrap();
    let small = || NTupleOptions { page_bytes: 64, ..NTupleOptions::default() };
    let journal = Arc::new(Journal::default());
    journal.0.lock().unwrap().push((0, before.clone()));
    let store = Arc::new(MemoryStore::new("append.root", before));
    let mut file = FileWriter::update_with(store, Arc::clone(&journal), options()).unwrap();
    let mut ntuple = file.append_ntuple("a/n", small()).unwrap();
    let error = file.append_ntuple("a/n", small()).unwrap_err();
    assert!(error.to_string().contains("was written since the file was opened"), "{error}");
    let rows = |range: std::ops::Range<i32>| Column::from_numbers(&range.collect::<Vec<_>>());
    let zeros = |count: usize| Column::from_numbers(&vec![0_i32; count]);
    ntuple.extend(&[("x", rows(70..90)), ("zero", zeros(20))]).unwrap();
    let error = ntuple.add_fields(vec![number("x")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    ntuple.add_fields(vec![number("late")]).unwrap();
    let error = ntuple.extend(&[("x", rows(0..1)), ("zero", zeros(1))]).unwrap_err();
    assert!(error.to_string().contains("\"late\" was given no values"), "{error}");
    let writes = || journal.0.lock().unwrap().len();
    let saved_with_late = writes();
    ntuple.extend(&[("x", rows(90..100)), ("zero", zeros(10)), ("late", rows(90..100))]).unwrap();
    ntuple.flush().unwrap();
    let committed = writes();
    ntuple.close().unwrap();
    file.close().unwrap();
    for count in 1..=writes() {
        let path = scratch("ntuple-append-crash.root");
        std::fs::write(&path, journal.image(count)).unwrap();
        let check = |least: i32| {
            let file = File::open(&path).unwrap();
            let found = numbers(&file, "a/n", "x");
            assert!(found.len() as i32 >= least, "{count}: {} of {least} rows", found.len());
            assert_eq!(found, (0..found.len() as i32).collect::<Vec<_>>(), "{count}");
            if found.len() > 90 {
                let late = numbers(&file, "a/n", "late");
                assert_eq!(late, (0..100).map(|row| if row < 90 { 0 } else { row }).collect::<Vec<_>>(), "{count}");
            }
        };
        check(if count >= saved_with_late { 90 } else { 70 });
        recover(&path, false, options()).unwrap();
        check(if count >= committed { 100 } else { 70 });
        let report = sapwood::inspect::verify::verify(&path, sapwood::OpenOptions::default()).unwrap();
        assert!(report.findings.iter().all(|finding| finding.severity != Severity::Damage), "{count}: {report:?}");
    }
}

#[test]
fn a_cluster_that_never_reached_the_disk_ends_what_is_recovered() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", WriteOptions::default()).unwrap();
    let mut ntuple = file.ntuple("n", vec![number("x")], NTupleOptions::default()).unwrap();
    for step in 0..3 {
        let numbers: Vec<i32> = (step * 300..(step + 1) * 300).collect();
        ntuple.extend(&[("x", Column::from_numbers(&numbers))]).unwrap();
        ntuple.flush().unwrap();
    }
    let path = scratch("ntuple-lost.root");
    let writes = journal.0.lock().unwrap().len();
    let mut image = journal.image(writes);
    // The pages of the second cluster: the payload of its blob.
    let blobs: Vec<usize> = (0..image.len() - 6).filter(|&at| &image[at..at + 6] == b"\x05RBlob").collect();
    let pages = blobs[blobs.len() - 4];
    image[pages + 40] ^= 1;
    std::fs::write(&path, image).unwrap();
    let found = recover(&path, false, WriteOptions::default()).unwrap();
    assert_eq!(found.trees, [("n".into(), 0, 300)]);
    assert!(found.left[0].contains("n ends at entry 300") && found.left[0].contains("checksum"), "{found:?}");
    assert_eq!(numbers(&File::open(&path).unwrap(), "n", "x"), (0..300).collect::<Vec<_>>());
    ntuple.close().unwrap();
    file.close().unwrap();
}

#[test]
fn a_tree_becomes_an_rntuple_of_the_same_values() {
    let from = File::open(sapwood_testkit::example("nano.root")).unwrap();
    let tree = from.tree("Events").unwrap();
    let path = scratch("ntuple-of-tree.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    let notes =
        file.rewrite_as_ntuple(&from, "Events", "a/events", &NTupleRewrite::default(), Unsupported::Refuse).unwrap();
    file.close().unwrap();
    let made = File::open(&path).unwrap();
    let ntuple = made.ntuple("a/events").unwrap();
    assert_eq!(ntuple.entries, tree.entries);
    let projected = ntuple.top().iter().filter(|&&id| ntuple.fields()[id].source.is_some()).count();
    assert!(projected > 1 && tree.top().len() == ntuple.top().len() && notes.is_empty(), "{notes:?}");
    for &id in ntuple.top() {
        let name = &ntuple.fields()[id].name;
        let ours = &columns(&ntuple, &[id], 0..ntuple.entries).unwrap()[0];
        let theirs = &sapwood::read::columns(&tree, &[tree.branch(name).unwrap().id], 0..tree.entries).unwrap()[0];
        assert_eq!(ours.kind.to_string(), theirs.kind.to_string(), "{name}");
        let sorted = |column: &Column| {
            let mut buffers = column.buffers().to_vec();
            buffers.sort();
            buffers
        };
        assert_eq!(sorted(ours), sorted(theirs), "{name}");
    }
}

#[test]
fn names_that_rntuples_do_not_allow_are_replaced() {
    let (old, new) = (scratch("ntuple-names-1.root"), scratch("ntuple-names-2.root"));
    let mut file = FileWriter::recreate(&old, WriteOptions::default()).unwrap();
    let specs = vec![BranchSpec::number("muon.pt", Number::I32), BranchSpec::number("muon eta", Number::I32)];
    let mut tree = file.tree("t", specs, TreeOptions::default()).unwrap();
    tree.extend(&[("muon.pt", Values::from(&[1, 2])), ("muon eta", Values::from(&[3, 4]))]).unwrap();
    tree.close().unwrap();
    let same = vec![BranchSpec::number("a.b", Number::I32), BranchSpec::number("a_b", Number::I32)];
    file.tree("same", same, TreeOptions::default()).unwrap().close().unwrap();
    file.close().unwrap();
    let from = File::open(&old).unwrap();
    let mut file = FileWriter::recreate(&new, WriteOptions::default()).unwrap();
    let notes = file.rewrite_as_ntuple(&from, "t", "t", &NTupleRewrite::default(), Unsupported::Refuse).unwrap();
    assert_eq!(notes[0], "branch \"muon.pt\" is now field \"muon_pt\"");
    let error =
        file.rewrite_as_ntuple(&from, "same", "same", &NTupleRewrite::default(), Unsupported::Refuse).unwrap_err();
    assert!(error.to_string().contains("two branches would become the field \"a_b\""), "{error}");
    file.close().unwrap();
    let made = File::open(&new).unwrap();
    assert_eq!((numbers(&made, "t", "muon_pt"), numbers(&made, "t", "muon_eta")), (vec![1, 2], vec![3, 4]));
    assert!(made.ntuple("same").is_err());
}

#[test]
fn a_whole_file_is_rewritten_with_rntuples() {
    let (old, new) = (scratch("ntuple-whole-1.root"), scratch("ntuple-whole-2.root"));
    let mut file = FileWriter::recreate(&old, WriteOptions::default()).unwrap();
    let mut tree = file.tree("a/t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default()).unwrap();
    tree.extend(&[("x", Values::from(&[1, 2, 3]))]).unwrap();
    tree.close().unwrap();
    file.copy(&File::open(with_clusters("ntuple-whole-3.root", "n", 0, &[4, 5])).unwrap(), "n", "n").unwrap();
    file.close().unwrap();
    let from = File::open(&old).unwrap();
    let rewritten = |how: &Remake| {
        let writer = FileWriter::recreate(&new, WriteOptions::default()).unwrap();
        writer.remake(&from, || File::open(&new), how)
    };
    let remade = rewritten(&Remake { to: Some(Format::NTuple), ..Remake::default() }).unwrap();
    assert!(remade.len() == 2 && remade[0].is_ntuple && !remade[0].was_ntuple && remade[0].notes.is_empty());
    assert_eq!((remade[1].is_ntuple, remade[1].before.clusters, remade[1].after.clusters), (true, 2, 1));
    assert_eq!((remade[0].after.entries, remade[0].after.clusters, remade[0].after.tot_bytes), (3, 1, 12));
    assert_eq!(numbers(&File::open(&new).unwrap(), "a/t", "x"), [1, 2, 3]);
    check(&new, "n", "n", 9, 1);
    let entries = [("a/t".to_owned(), vec![1..3])].into();
    let how = Remake { to: Some(Format::NTuple), entries, ..Remake::default() };
    assert_eq!(rewritten(&how).unwrap()[0].after.entries, 2);
    assert_eq!(numbers(&File::open(&new).unwrap(), "a/t", "x"), [2, 3]);
    let branches = [("a/t".to_owned(), vec!["y".into()])].into();
    let how = Remake { to: Some(Format::NTuple), branches, ..Remake::default() };
    assert_eq!(rewritten(&how).unwrap_err().kind(), ErrorKind::NotFound);
    // Without the wish the tree stays a tree.
    assert!(!rewritten(&Remake::default()).unwrap()[0].is_ntuple);
    assert_eq!(File::open(&new).unwrap().tree("a/t").unwrap().entries, 3);
    check(&new, "n", "n", 9, 1);
    // What is not named is copied.
    let how = Remake { trees: Some(vec!["a/t".to_owned()]), ..Remake::default() };
    assert_eq!(rewritten(&how).unwrap()[1].after.clusters, 2);
    check(&new, "n", "n", 9, 2);
}
