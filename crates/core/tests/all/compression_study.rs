//! Studies of compression: what is predicted is what a rewrite makes.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::Arc;

use sapwood::codec::Compression;
use sapwood::column::{Kind, Number};
use sapwood::inspect::compression::{Curve, Goal, Study, StudyOptions, Transformations};
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::read::Column;
use sapwood::write::{
    BranchSpec, Every, FieldSpec, FileWriter, Item, NTupleOptions, TreeOptions, Values, WriteOptions,
};
use sapwood::{ErrorKind, File, OpenOptions, Session};

const ENTRIES: usize = 60_000;

fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

struct Columns {
    run: Vec<i32>,
    count: Vec<i64>,
    pt: Vec<f32>,
    bits: Vec<f64>,
    ends: Vec<i64>,
    items: Vec<f32>,
}

/// Branches of all kinds: constant, rising, of few values, pure noise, lists.
fn columns() -> Columns {
    let mut next = noise(88_172_645_463_325_252);
    let mut ends = vec![0];
    for _ in 0..ENTRIES {
        ends.push(ends[ends.len() - 1] + (next() % 5) as i64);
    }
    let items = ends[ENTRIES] as usize;
    Columns {
        run: (0..ENTRIES).map(|entry| 1 + entry as i32 / 10_000).collect(),
        count: (0..ENTRIES as i64).collect(),
        pt: (0..ENTRIES).map(|_| 0.25 * (next() % 1_000) as f32).collect(),
        bits: (0..ENTRIES).map(|_| 1.0 + (next() >> 12) as f64 / (1_u64 << 52) as f64).collect(),
        items: (0..items).map(|_| (next() % 4_096) as f32 / 8.0).collect(),
        ends,
    }
}

fn file(threads: usize, fill: impl FnOnce(&mut FileWriter)) -> File {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "study.root", WriteOptions::default()).unwrap();
    fill(&mut file);
    file.close().unwrap();
    open(&sink, threads)
}

fn open(sink: &Arc<MemorySink>, threads: usize) -> File {
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    File::from_store(Arc::new(MemoryStore::new("study.root", sink.to_bytes())), options).unwrap()
}

fn tree(threads: usize) -> File {
    file(threads, |file| {
        let specs = vec![
            BranchSpec::number("run", Number::I32),
            BranchSpec::number("count", Number::I64),
            BranchSpec::number("Muon_pt", Number::F32),
            BranchSpec::number("Muon_bits", Number::F64),
            BranchSpec::vector("items", Item::Number(Number::F32), 1),
        ];
        let options = TreeOptions { auto_flush: Every::Entries(10_000), ..TreeOptions::default() };
        let mut tree = file.tree("events", specs, options).unwrap();
        let of = columns();
        tree.extend(&[
            ("run", Values::from(&of.run)),
            ("count", Values::from(&of.count)),
            ("Muon_pt", Values::from(&of.pt)),
            ("Muon_bits", Values::from(&of.bits)),
            ("items", Values::lists(&of.ends, &of.items)),
        ])
        .unwrap();
        tree.close().unwrap();
    })
}

fn ntuple(threads: usize) -> File {
    file(threads, |file| {
        let number = |name: &str, number| FieldSpec::new(name, Kind::Number { buffer: 0, number });
        let fields = vec![number("run", Number::I32), number("count", Number::I64), number("pt", Number::F32)];
        let mut ntuple = file.ntuple("events", fields, NTupleOptions::default()).unwrap();
        let of = columns();
        let columns = [
            ("run", Column::from_numbers(&of.run)),
            ("count", Column::from_numbers(&of.count)),
            ("pt", Column::from_numbers(&of.pt)),
        ];
        ntuple.extend(&columns).unwrap();
        ntuple.close().unwrap();
    })
}

fn settings(texts: &[&str]) -> Vec<Compression> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn options(sample_bytes: u64) -> StudyOptions {
    let settings = settings(&["none", "lz4:1", "lz4:4", "zlib:1", "zlib:6", "zstd:1", "zstd:5", "lzma:5"]);
    StudyOptions { sample_bytes, settings, ..StudyOptions::default() }
}

/// Stored bytes of the baskets or pages once a recommendation was followed.
fn rewritten(study: &Study, from: &File, goal: Goal) -> (u64, u64) {
    let advice = study.advise(goal).unwrap();
    let how = study.remake(from, &advice).unwrap();
    let sink = Arc::new(MemorySink::default());
    let writer = FileWriter::to_sink(Arc::clone(&sink), "new.root", WriteOptions::default()).unwrap();
    let remade = writer.remake(from, || Ok(open(&sink, 1)), &how).unwrap();
    assert_eq!(remade[0].kept, None);
    assert_eq!(remade[0].after.entries, ENTRIES as u64);
    (advice.trial.bytes, remade[0].after.zip_bytes)
}

fn near(predicted: u64, found: u64, share: f64) {
    let off = (predicted as f64 / found as f64 - 1.0).abs();
    assert!(off <= share, "predicted {predicted}, found {found}");
}

#[test]
fn the_rewrite_has_the_size_that_was_predicted() {
    let from = tree(2);
    let study = Study::of(&from, None, &options(1 << 30)).unwrap();
    assert_eq!((study.entries, study.sampled_entries), (ENTRIES as u64, ENTRIES as u64));
    assert_eq!(study.transformations, Transformations::None);
    for goal in [Goal::Archive, Goal::Analysis, Goal::Size(study.stored_bytes())] {
        let (predicted, found) = rewritten(&study, &from, goal);
        near(predicted, found, 0.001);
    }
    // Of some entries it is an estimate.
    let part = Study::of(&from, Some("events"), &options(300_000)).unwrap();
    assert!(part.sampled_entries < ENTRIES as u64 / 3, "{}", part.sampled_entries);
    let (predicted, found) = rewritten(&part, &from, Goal::Archive);
    near(predicted, found, 0.08);
}

#[test]
fn settings_by_branch_beat_one_for_all() {
    let from = tree(2);
    let study = Study::of(&from, None, &options(1 << 30)).unwrap();
    let advice = study.advise(Goal::Archive).unwrap();
    let (_, single) = advice.single.unwrap();
    assert!(advice.trial.bytes <= single.bytes);
    // Between what two codecs come to: the slow one where it gains most.
    let budget = (single.bytes + study.with("zlib:6".parse().unwrap(), 512 << 10).unwrap().bytes) / 2;
    let advice = study.advise(Goal::Size(budget)).unwrap();
    assert!(advice.trial.bytes <= budget);
    let with = |how: &Compression| (how.to_string(), study.with(*how, 512 << 10).unwrap());
    let tried: Vec<_> = study.settings.iter().map(with).collect();
    assert!(advice.compression.patterns().count() > 0, "{:?} {tried:?}", advice.options());
    assert!(advice.trial.read_seconds <= advice.single.unwrap().1.read_seconds);
    let (predicted, found) = rewritten(&study, &from, Goal::Size(budget));
    near(predicted, found, 0.001);
    let of = |path: &str, setting: &str| study.branch_with(path, setting.parse().unwrap(), 512 << 10).unwrap().bytes;
    assert!(of("Muon_bits", "lzma:5") as f64 > 0.75 * of("Muon_bits", "none") as f64);
    assert!(of("run", "lzma:5") < of("run", "none") / 100);
}

#[test]
fn sizes_depend_on_the_file_alone() {
    let sizes = |threads: usize, from: File| {
        let study = Study::of(&from, None, &options(500_000)).unwrap();
        assert_eq!(from.options().session.threads(), threads);
        let of = |basket_bytes: &usize| {
            let with = |how: &Compression| study.with(*how, *basket_bytes).unwrap().bytes;
            study.settings.iter().map(with).collect::<Vec<_>>()
        };
        (study.basket_bytes.iter().map(of).collect::<Vec<_>>(), study.advise(Goal::Archive).unwrap().options())
    };
    assert_eq!(sizes(1, tree(1)), sizes(3, tree(3)));
    assert_eq!(sizes(1, ntuple(1)), sizes(3, ntuple(3)));
}

#[test]
fn ntuples_are_studied_with_their_encodings() {
    let from = ntuple(2);
    let study = Study::of(&from, None, &options(1 << 30)).unwrap();
    assert!(study.is_ntuple && study.kept.is_none());
    let Transformations::Split { bytes, plain_bytes } = study.transformations else { panic!("no encodings") };
    assert!(bytes < plain_bytes, "{bytes} {plain_bytes}");
    for goal in [Goal::Archive, Goal::RandomAccess] {
        let (predicted, found) = rewritten(&study, &from, goal);
        // Checksums of pages are not in the figures of a rewrite.
        near(predicted, found, 0.005);
    }
    let advice = study.advise(Goal::RandomAccess).unwrap();
    assert!(advice.random_access.is_none() && advice.entry_seconds.unwrap() > 0.0);
}

#[test]
fn random_access_is_within_its_growth() {
    let from = tree(2);
    let study = Study::of(&from, None, &options(1 << 30)).unwrap();
    let advice = study.advise(Goal::RandomAccess).unwrap();
    let (setting, trial) = advice.single.unwrap();
    assert!(advice.random_access.is_some() && advice.entry_seconds.unwrap() > 0.0);
    assert!(trial.bytes as f64 <= 1.15 * study.with(setting, 512 << 10).unwrap().bytes as f64);
    assert!(advice.options().windows(2).any(|pair| pair[0] == "--random-access"));
    let (predicted, found) = rewritten(&study, &from, Goal::RandomAccess);
    near(predicted, found, 0.001);
}

#[test]
fn what_cannot_be_studied_is_an_error() {
    let from = file(1, |file| {
        for name in ["a", "b"] {
            let mut tree = file.tree(name, vec![BranchSpec::number("x", Number::U8)], TreeOptions::default()).unwrap();
            tree.extend(&[("x", Values::from(&[1_u8, 2]))]).unwrap();
            tree.close().unwrap();
        }
    });
    let study = |path, options: &StudyOptions| Study::of(&from, path, options).unwrap_err();
    let usual = StudyOptions::default();
    assert_eq!(study(None, &usual).kind(), ErrorKind::Mismatch);
    assert!(study(None, &usual).message().contains("a, b"));
    assert_eq!(study(Some("c"), &usual).kind(), ErrorKind::NotFound);
    let none = StudyOptions { settings: Vec::new(), ..StudyOptions::default() };
    assert_eq!(study(Some("a"), &none).kind(), ErrorKind::Mismatch);
    assert_eq!(study(Some("a"), &StudyOptions { sample_bytes: 0, ..usual.clone() }).kind(), ErrorKind::Mismatch);
    let of_a = Study::of(&from, Some("a"), &usual).unwrap();
    for goal in [Goal::Size(1), Goal::ReadTime(-1.0), Goal::WriteTime(f64::NAN)] {
        assert_eq!(of_a.advise(goal).unwrap_err().kind(), ErrorKind::Mismatch);
    }
    assert!(of_a.advise(Goal::ReadTime(1e9)).is_ok());
}

#[test]
fn an_empty_tree_has_a_study_and_a_picture() {
    let from = file(1, |file| {
        file.tree("t", vec![BranchSpec::number("x", Number::U8)], TreeOptions::default()).unwrap().close().unwrap();
    });
    let study = Study::of(&from, None, &StudyOptions::default()).unwrap();
    assert_eq!((study.entries, study.advise(Goal::Archive).unwrap().trial.bytes), (0, 0));
    assert!(study.advise(Goal::RandomAccess).is_ok());
    let svg = Curve::of(&study).to_svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    let svg = Curve::of(&Study::of(&tree(2), None, &options(300_000)).unwrap()).to_svg();
    assert!(svg.contains(">zstd:5</text>") && !svg.contains("NaN") && !svg.contains("\"inf"));
}
