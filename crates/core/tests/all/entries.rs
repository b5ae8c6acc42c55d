//! Values of Rust types as entries, written and read back. What real ROOT makes of them is tested in `tests/`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::Arc;

use sapwood::entry::{EntryClass, EntryWriter};
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::write::{BranchSpec, Column, Every, FileWriter, TreeOptions, Type, Values, WriteOptions};
use sapwood::{Entry, ErrorKind, File, OpenOptions, Session};

#[derive(Entry, Clone, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Entry, Clone, Debug, PartialEq)]
struct Base {
    run: i32,
    weights: Vec<f32>,
}

#[derive(Entry, Clone, Debug, PartialEq)]
struct Track {
    #[entry(base)]
    base: Base,
    pt: f32,
    at: Point,
    hits: Vec<i16>,
    tag: String,
    cov: [f32; 3],
}

#[derive(Entry, Clone, Debug, PartialEq)]
#[entry(class = "ns::Event", version = 3)]
struct Event {
    number: u64,
    #[entry(base)]
    base: Base,
    #[entry(name = "fOk")]
    ok: bool,
    matrix: [[f64; 3]; 2],
    flags: [bool; 2],
    best: Box<Track>,
    tracks: Vec<Track>,
    counts: BTreeMap<String, i32>,
    places: HashMap<i32, Point>,
    words: Vec<String>,
    nested: Vec<Vec<u16>>,
    bits: Vec<bool>,
    maybe: Option<Point>,
    perhaps: Option<Box<Point>>,
    #[entry(skip)]
    cache: usize,
}

fn point(seed: usize) -> Point {
    Point { x: seed as f64 / 2.0, y: -(seed as f64) }
}

fn base(seed: usize) -> Base {
    Base { run: seed as i32, weights: vec![0.25; seed % 3] }
}

fn track(seed: usize) -> Track {
    Track {
        base: base(seed + 1),
        pt: seed as f32 / 8.0,
        at: point(seed),
        hits: (0..seed as i16 % 4).collect(),
        tag: "é".repeat(seed % 3),
        cov: [seed as f32, 1.0, 2.0],
    }
}

fn event(seed: usize) -> Event {
    Event {
        number: u64::MAX - seed as u64,
        base: base(seed),
        ok: seed % 2 == 1,
        matrix: [[seed as f64, 1.0, 2.0], [3.0, 4.0, 5.0]],
        flags: [seed.is_multiple_of(3), true],
        best: Box::new(track(seed)),
        tracks: (0..seed % 4).map(|item| track(seed + item)).collect(),
        counts: (0..seed % 3).map(|item| (format!("key {item}"), item as i32)).collect(),
        places: (0..seed % 5).map(|item| (item as i32 - 2, point(item))).collect(),
        words: (0..seed % 3).map(|item| format!("word {item}")).collect(),
        nested: (0..seed % 3).map(|item| vec![item as u16; item]).collect(),
        bits: vec![true; seed % 2],
        maybe: (seed % 3 == 1).then(|| point(seed)),
        perhaps: (seed % 4 == 2).then(|| Box::new(point(seed))),
        cache: 0,
    }
}

const FORMS: [(u32, bool); 7] = [(99, true), (99, false), (2, true), (1, true), (1, false), (0, true), (0, false)];

/// A file with a tree `t` of one branch, and its bytes.
fn written<T: EntryClass>(branch: &str, split: u32, options: TreeOptions, entries: &[T]) -> (File, Vec<u8>) {
    let sink = Arc::new(MemorySink::default());
    let session = Session::with_threads(1);
    let wish = WriteOptions { session, reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "entries.root", wish).expect("a file");
    let mut tree: EntryWriter<T> = file.entries("t", branch, split, options).expect("a tree");
    tree.extend(entries).expect("entries");
    tree.close().expect("a tree");
    file.close().expect("a file");
    let bytes = sink.to_bytes();
    let store = Arc::new(MemoryStore::new("entries.root", bytes.clone()));
    (File::from_store(store, OpenOptions::default()).expect("a file"), bytes.to_vec())
}

fn options() -> TreeOptions {
    TreeOptions { auto_flush: Every::Entries(15), basket_bytes: 900, ..TreeOptions::default() }
}

#[test]
fn every_member_comes_back_at_every_split_level() {
    let events: Vec<Event> = (0..50).map(event).collect();
    for (split, member_wise) in FORMS {
        for branch in ["event.", "event"] {
            let (file, _) = written(branch, split, TreeOptions { member_wise, ..options() }, &events);
            let tree = file.tree("t").expect("a tree");
            let found: Vec<Event> = tree.read_entries("event", 0..50).expect("entries");
            assert_eq!(found, events, "split {split}, {branch}");
            let some: Vec<Event> = tree.read_entries("event", 13..31).expect("entries");
            assert_eq!(some, events[13..31]);
            let one_by_one = tree.iter_entries::<Event>(branch).expect("entries").collect::<Result<Vec<_>, _>>();
            assert_eq!(one_by_one.expect("entries"), events);
            assert_eq!(tree.clusters().len(), 4);
        }
    }
}

#[test]
fn entries_of_a_large_cluster_come_in_their_order() {
    let events: Vec<Event> = (0..1500).map(event).collect();
    for (split, member_wise) in FORMS {
        let options = TreeOptions { auto_flush: Every::Entries(2000), member_wise, ..options() };
        let (file, _) = written("event.", split, options, &events);
        let tree = file.tree("t").expect("a tree");
        assert_eq!(tree.clusters().len(), 1);
        assert!(tree.tot_bytes > 1 << 18, "several times what is converted at a time");
        let found = tree.iter_entries::<Event>("event").expect("entries").collect::<Result<Vec<_>, _>>();
        assert!(found.expect("entries") == events, "split {split}");
    }
}

#[test]
fn entries_before_one_that_does_not_fit_are_read_and_none_after_it() {
    #[derive(Entry, Clone, Debug, PartialEq)]
    #[entry(class = "Number")]
    struct Wide {
        n: i64,
    }
    #[derive(Entry, Clone, Debug, PartialEq)]
    #[entry(class = "Number")]
    struct Narrow {
        n: i16,
    }
    let entries: Vec<Wide> =
        (0..60_000).map(|row| Wide { n: if row == 50_000 { 1 << 40 } else { row % 99 } }).collect();
    let (file, _) = written("number", 99, TreeOptions::default(), &entries);
    let tree = file.tree("t").expect("a tree");
    let mut narrow = tree.iter_entries::<Narrow>("number").expect("entries");
    let before = narrow.by_ref().map_while(Result::ok).enumerate();
    let before: usize = before.inspect(|(row, entry)| assert_eq!(i64::from(entry.n), *row as i64 % 99)).count();
    assert!((16_384..=50_000).contains(&before), "{before} entries");
    assert!(narrow.next().is_none(), "an error is the last");
    let error = tree.read_entries::<Narrow>("number", 0..60_000).expect_err("a number that does not fit");
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
}

#[derive(Entry, Clone, Debug, PartialEq)]
struct Containers {
    layers: BTreeSet<i32>,
    names: HashSet<String>,
    queue: VecDeque<Point>,
    list: LinkedList<Vec<u8>>,
    by_name: HashMap<String, BTreeSet<i16>>,
    arrays: Vec<[f32; 3]>,
    pointers: Vec<Option<Point>>,
}

#[test]
fn every_container_comes_back_at_every_split_level() {
    let one = |seed: usize| Containers {
        layers: (0..seed as i32 % 4).collect(),
        names: (0..seed % 3).map(|item| format!("name {item}")).collect(),
        queue: (0..seed % 3).map(point).collect(),
        list: (0..seed as u8 % 4).map(|item| vec![item; 2]).collect(),
        by_name: (0..seed % 3).map(|item| (format!("key {item}"), (0..item as i16).collect())).collect(),
        arrays: (0..seed % 4).map(|item| [item as f32, 0.5, seed as f32]).collect(),
        pointers: (0..seed % 4).map(|item| (item != 1).then(|| point(item))).collect(),
    };
    let entries: Vec<Containers> = (0..50).map(one).collect();
    for (split, member_wise) in FORMS {
        let (file, bytes) = written("c", split, TreeOptions { member_wise, ..options() }, &entries);
        let found: Vec<Containers> = file.tree("t").expect("a tree").read_entries("c", 0..50).expect("entries");
        assert_eq!(found, entries, "split {split}");
        let (_, again) = written("c", split, TreeOptions { member_wise, ..options() }, &found);
        assert!(bytes == again, "sets and maps in the order of their hashes");
    }
}

#[test]
fn clusters_are_those_of_columns() {
    // Large rows between small ones, and more than one cluster.
    let tracks: Vec<Track> = (0..3000)
        .map(|seed| Track { hits: vec![seed as i16; if seed % 700 == 0 { 100_000 } else { 5 }], ..track(seed) })
        .collect();
    for auto_flush in [Every::Bytes(60_000), Every::Entries(777), Every::Never] {
        let options = TreeOptions { auto_flush, cluster_bytes: 300_000, ..TreeOptions::default() };
        let (_, typed) = written("track", 99, options.clone(), &tracks);
        let sink = Arc::new(MemorySink::default());
        let session = Session::with_threads(1);
        let wish = WriteOptions { session, reproducible: true, ..WriteOptions::default() };
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "entries.root", wish).expect("a file");
        let specs = vec![BranchSpec::object("track", Track::class(), 99)];
        let mut tree = file.tree("t", specs, options).expect("a tree");
        for some in tracks.chunks(100) {
            let mut column = Column::of(&Track::kind());
            some.iter().for_each(|track| track.push_to(&mut column));
            tree.extend(&[("track", Values::objects(&column))]).expect("rows");
        }
        tree.close().expect("a tree");
        file.close().expect("a file");
        assert!(typed == sink.to_bytes().to_vec(), "{auto_flush:?}");
    }
}

#[derive(Entry, Debug, Default, PartialEq)]
struct NewPoint {
    y: f32,
    z: f32,
    x: f32,
}

#[derive(Entry, Debug, PartialEq)]
struct Id {
    run: i64,
    fill: u16,
}

#[derive(Entry, Debug, PartialEq)]
struct NewTrack {
    // One base fewer: its member is in the class itself.
    run: i64,
    #[entry(was = "tag")]
    label: String,
    hits: Vec<i32>,
    at: NewPoint,
    cov: Vec<f64>,
    quality: Option<NewPoint>,
}

#[derive(Entry, Debug, PartialEq)]
#[entry(class = "ns::Event", version = 4)]
struct NewEvent {
    // Another base, with a member of the old one.
    #[entry(base)]
    id: Id,
    tracks: Vec<NewTrack>,
    number: f64,
    maybe: Option<NewPoint>,
    places: BTreeMap<i64, NewPoint>,
    best: Option<Box<NewTrack>>,
    added: HashMap<String, u8>,
    extra: [u8; 3],
    #[entry(was = "nothing", was = "words")]
    texts: Vec<String>,
}

fn new_point(old: &Point) -> NewPoint {
    NewPoint { x: old.x as f32, y: old.y as f32, z: 0.0 }
}

fn new_track(old: &Track) -> NewTrack {
    NewTrack {
        run: old.base.run.into(),
        label: old.tag.clone(),
        hits: old.hits.iter().map(|&hit| hit.into()).collect(),
        at: new_point(&old.at),
        cov: old.cov.iter().map(|&item| item.into()).collect(),
        quality: None,
    }
}

fn new_event(old: &Event) -> NewEvent {
    NewEvent {
        id: Id { run: old.base.run.into(), fill: 0 },
        tracks: old.tracks.iter().map(new_track).collect(),
        number: old.number as f64,
        maybe: old.maybe.as_ref().map(new_point),
        places: old.places.iter().map(|(&key, place)| (key.into(), new_point(place))).collect(),
        best: Some(Box::new(new_track(&old.best))),
        added: HashMap::new(),
        extra: [0; 3],
        texts: old.words.clone(),
    }
}

#[test]
fn classes_that_changed_are_read_by_member() {
    let events: Vec<Event> = (0..40).map(event).collect();
    let wanted: Vec<NewEvent> = events.iter().map(new_event).collect();
    for (split, member_wise) in FORMS {
        for branch in ["event.", "event"] {
            let (file, _) = written(branch, split, TreeOptions { member_wise, ..options() }, &events);
            let tree = file.tree("t").expect("a tree");
            let found: Vec<NewEvent> = tree.read_entries("event", 0..40).expect("entries");
            assert_eq!(found, wanted, "split {split}, {branch}");
        }
    }
}

#[test]
fn a_class_may_say_what_is_absent() {
    #[derive(Entry, Debug, PartialEq)]
    #[entry(default)]
    struct Calibrated {
        x: f64,
        gain: f64,
        #[entry(skip)]
        note: String,
    }
    impl Default for Calibrated {
        fn default() -> Self {
            Self { x: -1.0, gain: 2.0, note: "none".to_owned() }
        }
    }
    let (file, _) = written("p", 99, options(), &[point(3)]);
    let found: Vec<Calibrated> = file.tree("t").expect("a tree").read_entries("p", 0..1).expect("entries");
    assert_eq!(found, [Calibrated { x: 1.5, gain: 2.0, note: "none".to_owned() }]);
}

#[test]
fn names_of_several_classes_stay_with_their_class() {
    #[derive(Entry, Debug, PartialEq)]
    struct Left {
        id: i32,
    }
    #[derive(Entry, Debug, PartialEq)]
    struct Both {
        #[entry(base)]
        left: Left,
        id: i64,
        more: i32,
    }
    #[derive(Entry, Debug, PartialEq)]
    struct Alone {
        id: i64,
        more: i32,
    }
    for split in [99, 0] {
        let (file, _) = written("b.", split, options(), &[Both { left: Left { id: 1 }, id: 2, more: 3 }]);
        let both: Vec<Both> = file.tree("t").expect("a tree").read_entries("b", 0..1).expect("entries");
        assert_eq!(both, [Both { left: Left { id: 1 }, id: 2, more: 3 }]);
        let (file, _) = written("b.", split, options(), &[Alone { id: 2, more: 3 }]);
        let both: Vec<Both> = file.tree("t").expect("a tree").read_entries("b", 0..1).expect("entries");
        assert_eq!(both, [Both { left: Left { id: 0 }, id: 2, more: 3 }], "the base is new");
    }
}

#[test]
fn mismatches_are_named() {
    #[derive(Entry, Debug)]
    struct Narrow {
        number: i8,
    }
    #[derive(Entry, Debug)]
    struct Wordy {
        words: String,
    }
    #[derive(Entry, Debug)]
    struct Inner {
        pt: String,
    }
    #[derive(Entry, Debug)]
    struct Outer {
        tracks: Vec<Inner>,
    }
    #[derive(Entry, Debug)]
    struct Other {
        nothing: u8,
    }
    #[derive(Entry, Debug)]
    struct Longer {
        matrix: [[f64; 3]; 3],
    }
    let events: Vec<Event> = (0..40).map(event).collect();
    for split in [99, 0] {
        let (file, _) = written("event.", split, options(), &events);
        let tree = file.tree("t").expect("a tree");
        fn failure<T: Entry + std::fmt::Debug>(tree: &sapwood::tree::Tree) -> String {
            let error = tree.read_entries::<T>("event.", 0..40).expect_err("an error");
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            error.to_string()
        }
        let error = failure::<Narrow>(&tree);
        assert!(
            error.contains(
                "member number of class Narrow: 18446744073709551615, stored as ULong64_t, does not fit into char"
            ),
            "{error}"
        );
        let error = failure::<Wordy>(&tree);
        assert!(
            error.contains("member words of class Wordy: string was expected, and vector<string> is stored"),
            "{error}"
        );
        let error = failure::<Outer>(&tree);
        assert!(error.contains("member pt of class Inner: string was expected, and float is stored"), "{error}");
        assert!(error.contains("t/event./tracks/pt"), "{error}");
        let error = failure::<Longer>(&tree);
        assert!(error.contains("double[3][3] was expected, and double[2][3] is stored"), "{error}");
        let error = failure::<Other>(&tree);
        assert!(error.contains("class Other with members nothing was expected"), "{error}");
        assert_eq!(tree.read_entries::<Event>("evnt", 0..1).expect_err("no branch").kind(), ErrorKind::NotFound);
        assert_eq!(tree.read_entries::<Event>("event.", 0..41).expect_err("too many").kind(), ErrorKind::Mismatch);
    }
}

#[test]
fn flat_trees_are_read_without_a_name() {
    use sapwood::column::Number;
    #[derive(Entry, Debug, PartialEq)]
    struct Row {
        x: f64,
        jets: Vec<f32>,
        name: String,
    }
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "flat.root", WriteOptions::default()).expect("a file");
    let specs = vec![
        BranchSpec::counter("n"),
        BranchSpec::jagged("jets", Number::F64, "n"),
        BranchSpec::number("x", Number::I32),
        BranchSpec::text("name"),
    ];
    let mut tree = file.tree("t", specs, TreeOptions::default()).expect("a tree");
    let values = [
        ("jets", Values::lists(&[0, 2, 2], &[0.5, 1.5])),
        ("x", Values::from(&[1, 2])),
        ("name", Values::strings(["a", "bc"])),
    ];
    tree.extend(&values).expect("rows");
    tree.close().expect("a tree");
    file.close().expect("a file");
    let store = Arc::new(MemoryStore::new("flat.root", sink.to_bytes()));
    let file = File::from_store(store, OpenOptions::default()).expect("a file");
    let rows: Vec<Row> = file.tree("t").expect("a tree").read_entries("", 0..2).expect("rows");
    let row = |x: f64, jets: &[f32], name: &str| Row { x, jets: jets.to_vec(), name: name.to_owned() };
    assert_eq!(rows, [row(1.0, &[0.5, 1.5], "a"), row(2.0, &[], "bc")]);
}

/// Says that it is a number, and pushes two.
struct Twice;

impl Entry for Twice {
    fn kind() -> Type {
        <u8 as Entry>::kind()
    }
    fn push_to(&self, column: &mut Column) {
        1_u8.push_to(column);
        2_u8.push_to(column);
    }
    fn from_row(_: &Column, _: usize) -> sapwood::Result<Self> {
        Ok(Self)
    }
    fn absent() -> Self {
        Self
    }
}

#[test]
fn rows_that_are_pushed_as_something_else_are_refused() {
    #[derive(Entry)]
    struct Odd {
        twice: Twice,
    }
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "odd.root", WriteOptions::default()).expect("a file");
    let mut tree = file.entries("t", "odd", 99, TreeOptions::default()).expect("a tree");
    tree.fill(&Odd { twice: Twice }).expect("kept");
    assert_eq!(tree.flush().expect_err("an error").kind(), ErrorKind::Mismatch);
    tree.flush().expect("nothing is left");
    tree.close().expect("a tree");
    let plain = file.tree("u", vec![BranchSpec::counter("n")], TreeOptions::default()).expect("a tree");
    assert_eq!(EntryWriter::<Point>::new(plain).expect_err("an error").kind(), ErrorKind::Mismatch);
}

#[test]
fn broken_files_are_errors_and_nothing_worse() {
    let events: Vec<Event> = (0..20).map(event).collect();
    for (split, member_wise) in [(99, true), (0, true), (0, false)] {
        let plain =
            TreeOptions { compression: Some("none".parse().expect("no compression")), member_wise, ..options() };
        let (_, bytes) = written("event.", split, plain, &events);
        let mut seed = 1_u64;
        for _ in 0..300 {
            let mut broken = bytes.clone();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (seed >> 33) as usize % broken.len();
                broken[at] = [0, 0xff, 0x7f, (seed >> 20) as u8][(seed >> 30) as usize % 4];
            }
            let store = Arc::new(MemoryStore::new("broken.root", broken));
            let Ok(file) = File::from_store(store, OpenOptions::default()) else { continue };
            let Ok(tree) = file.tree("t") else { continue };
            let entries = 0..tree.entries.min(20);
            let _ = tree.read_entries::<Event>("event", entries.clone());
            let _ = tree.read_entries::<NewEvent>("event", entries);
        }
    }
}

#[test]
fn branches_of_entries_that_are_added_have_one_for_each_entry_or_are_not_there() {
    let path = std::env::temp_dir().join(format!("sapwood-added-entries-{}.root", std::process::id()));
    for filled in [3_usize, 5, 6] {
        let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file");
        let spec = BranchSpec::number("x", sapwood::column::Number::U8);
        let mut tree = file.tree("t", vec![spec], options()).expect("a tree");
        tree.extend(&[("x", Values::from(&[1_u8, 2, 3, 4, 5]))]).expect("rows");
        tree.close().expect("rows");
        file.close().expect("a file");
        let mut file = FileWriter::update(&path, WriteOptions::default()).expect("a file");
        let point_spec = BranchSpec::object("point", Point::class(), 99);
        let tree = file.add_branches("t", vec![point_spec], TreeOptions::default()).expect("a tree");
        let mut points = EntryWriter::<Point>::new(tree).expect("points");
        (0..filled).for_each(|seed| points.fill(&point(seed)).expect("they wait"));
        let closed = points.close().map_err(|error| error.kind());
        assert_eq!(closed, if filled == 5 { Ok(()) } else { Err(ErrorKind::Mismatch) }, "{filled}");
        file.close().expect("a file");
        let tree = File::open(&path).expect("a file").tree("t").expect("a tree");
        // What is more than the tree has is refused.
        assert_eq!((tree.entries, tree.branches().len() > 1), (5, filled >= 5), "{filled}");
    }
    std::fs::remove_file(&path).expect("a file");
}
