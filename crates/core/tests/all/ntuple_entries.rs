//! Entries of Rust types in RNTuples: written and read, as objects and member by member.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use sapwood::entry::EntryClass;
use sapwood::project::{Language, infos_of, makeproject};
use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
use sapwood::{Entry, ErrorKind, File, Session};
use sapwood_testkit::{Scratch, scratch};

#[derive(Entry, Clone, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Entry, Clone, Debug, PartialEq)]
#[entry(version = 3)]
struct Header {
    run: u32,
    tags: Vec<String>,
}

#[derive(Entry, Clone, Debug, PartialEq)]
struct Track {
    pt: f32,
    at: Point,
    hits: Vec<i16>,
    vertex: Option<Box<Point>>,
}

#[derive(Entry, Clone, Debug, PartialEq)]
#[entry(version = 2)]
struct Event {
    #[entry(base)]
    header: Header,
    number: u64,
    is_good: bool,
    name: String,
    covariance: [[f32; 3]; 2],
    tracks: Vec<Track>,
    counts: BTreeMap<String, i32>,
    kinds: BTreeSet<u8>,
    best: Option<Box<Track>>,
    #[entry(skip)]
    cache: i32,
}

fn event(number: u64) -> Event {
    let point = |at: u64| Point { x: at as f64 / 8.0, y: -(at as f64) };
    let track = |at: u64| Track {
        pt: at as f32 * 0.5,
        at: point(at),
        hits: (0..at % 4).map(|hit| hit as i16 - 1).collect(),
        vertex: at.is_multiple_of(3).then(|| Box::new(point(at + 1))),
    };
    Event {
        header: Header { run: number as u32 / 10, tags: (0..number % 3).map(|tag| format!("tag {tag}")).collect() },
        number,
        is_good: number.is_multiple_of(2),
        name: "é".repeat((number % 5) as usize),
        covariance: [[number as f32; 3], [1.0, 2.0, number as f32]],
        tracks: (0..number % 4).map(|at| track(number + at)).collect(),
        counts: (0..number % 3).map(|key| (format!("key {key}"), key as i32)).collect(),
        kinds: (0..number as u8 % 4).collect(),
        best: (number % 4 == 1).then(|| Box::new(track(number))),
        cache: 0,
    }
}

fn events(rows: u64) -> Vec<Event> {
    (0..rows).map(event).collect()
}

fn written(name: &str, field: &str, threads: usize) -> Scratch {
    let at = scratch(name);
    let how = WriteOptions { session: Session::with_threads(threads), reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::recreate(&at, how).unwrap();
    let options = NTupleOptions { cluster_bytes: 20_000, page_bytes: 2_000, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple_entries::<Event>("events", field, options).unwrap();
    ntuple.extend(&events(1_500)).unwrap();
    ntuple.flush().unwrap();
    events(2_000)[1_500..].iter().try_for_each(|event| ntuple.fill(event)).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    at
}

#[test]
fn objects_and_members_are_read_back() {
    for (field, names) in [("event", 1), ("", 10)] {
        let at = written(&format!("ntuple-entries-{names}.root"), field, 2);
        let ntuple = File::open(&at).unwrap().ntuple("events").unwrap();
        assert_eq!(ntuple.top().len(), names);
        assert!(ntuple.clusters().unwrap().len() > 2);
        let all: Vec<Event> = ntuple.read_entries(field, 0..2_000).unwrap();
        assert_eq!(all, events(2_000));
        let some: Vec<Event> = ntuple.read_entries(field, 1_400..1_703).unwrap();
        assert_eq!(some, events(2_000)[1_400..1_703]);
        let one_by_one = ntuple.iter_entries::<Event>(field).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(one_by_one, events(2_000));
        let tracks = if field.is_empty() { "tracks" } else { "event.tracks" };
        let tracks: Vec<Vec<Track>> = ntuple.read_entries(tracks, 5..8).unwrap();
        assert_eq!(tracks, events(8)[5..].iter().map(|event| event.tracks.clone()).collect::<Vec<_>>());
        assert!(ntuple.read_entries::<Event>(field, 0..2_001).is_err());
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    // Its name is in the file.
    let bytes = |threads| std::fs::read(written("ntuple-entries-threads.root", "event", threads)).unwrap();
    assert!(bytes(1) == bytes(2));
}

#[test]
fn types_are_named_as_root_has_them() {
    let at = written("ntuple-entries-types.root", "event", 1);
    let ntuple = File::open(&at).unwrap().ntuple("events").unwrap();
    let facts = |path: &str| {
        let field = ntuple.field(path).unwrap();
        (field.type_name.to_string(), field.type_version, field.type_checksum.is_some())
    };
    let plain = |name: &str| (name.to_owned(), 0, false);
    assert_eq!(facts("event"), ("Event".into(), 2, true));
    assert_eq!(ntuple.field("event").unwrap().type_checksum, Some(Event::class().checksum()));
    assert_eq!(facts("event.tracks"), plain("std::vector<Track>"));
    assert_eq!(facts("event.counts"), plain("std::map<std::string,std::int32_t>"));
    assert_eq!(facts("event.kinds"), plain("std::set<std::uint8_t>"));
    assert_eq!(facts("event.best"), plain("std::unique_ptr<Track>"));
    assert_eq!(facts("event.covariance"), plain("std::array<std::array<float,3>,2>"));
    let children = &ntuple.field("event").unwrap().children;
    assert_eq!((&*ntuple.fields()[children[0]].name, ntuple.fields()[children[0]].type_version), (":_0", 3));
    let point = ntuple.field("event.tracks.at").unwrap();
    assert_eq!((&*point.type_name, point.type_version), ("Point", u32::MAX), "it has no ClassDef");
}

/// What became of a track: `hits` and `at` are gone, `pt` is wider and has another name, `charge` is new.
#[derive(Entry, Debug, PartialEq)]
struct NewTrack {
    charge: i8,
    #[entry(was = "pt")]
    momentum: f64,
    vertex: Option<Box<Point>>,
}

#[derive(Entry, Debug, PartialEq)]
struct NewEvent {
    run: i64,
    tracks: Vec<NewTrack>,
}

#[test]
fn types_that_changed_read_what_they_have() {
    for field in ["event", ""] {
        let at = written(&format!("ntuple-entries-new{field}.root"), field, 1);
        let file = File::open(&at).unwrap();
        let ntuple = file.ntuple("events").unwrap();
        let read: Vec<NewEvent> = ntuple.read_entries(field, 0..2_000).unwrap();
        let new = |event: &Event| NewEvent {
            run: event.header.run.into(),
            tracks: event
                .tracks
                .iter()
                .map(|track| NewTrack { charge: 0, momentum: track.pt.into(), vertex: track.vertex.clone() })
                .collect(),
        };
        assert_eq!(read, events(2_000).iter().map(new).collect::<Vec<_>>());
        // What is not a member of the type is not read.
        let perf = file.perf();
        perf.start();
        ntuple.read_entries::<NewEvent>(field, 0..2_000).unwrap();
        let few: u64 = perf.baskets().values().map(|page| page.unpacked_bytes).sum();
        perf.start();
        ntuple.read_entries::<Event>(field, 0..2_000).unwrap();
        let all: u64 = perf.baskets().values().map(|page| page.unpacked_bytes).sum();
        assert!(few * 2 < all, "{few} of {all} bytes");
    }
    let at = written("ntuple-entries-other.root", "event", 1);
    let ntuple = Arc::clone(&File::open(&at).unwrap().ntuple("events").unwrap());
    let error = ntuple.read_entries::<Point>("event.best", 0..4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let error = ntuple.read_entries::<Point>("event.bets", 0..1).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("\"event.best\""), "{error}");
}

#[test]
fn classes_of_fields_become_source_code() {
    let at = written("ntuple-entries-project.root", "event", 1);
    let infos = infos_of(&File::open(&at).unwrap()).unwrap();
    let names: Vec<&str> = infos.iter().map(|info| &*info.name).collect();
    assert_eq!(names, ["Event", "Header", "Track", "Point"]);
    assert_eq!((infos[0].version, infos[0].checksum), (2, Event::class().checksum()));
    let source = makeproject(&infos, Language::Rust, &[]).unwrap();
    for line in [
        "#[entry(version = 3)]\npub struct Header {\n    pub run: u32,\n    pub tags: Vec<String>,\n}",
        "    #[entry(base)]\n    pub header_base: Header,",
        "    pub is_good: bool,",
        "    pub covariance: [[f32; 3]; 2],",
        "    pub tracks: Vec<Track>,",
        "    pub counts: BTreeMap<String, i32>,",
        "    pub best: Option<Box<Track>>,",
        "    pub hits: Vec<i16>,",
    ] {
        assert!(source.contains(line), "{line:?} in\n{source}");
    }
    let header = makeproject(&infos, Language::Cpp, &[]).unwrap();
    assert!(header.contains("unique_ptr<Track> best;"), "{header}");
}

#[derive(Entry)]
struct Queue {
    waiting: VecDeque<i32>,
}

#[test]
fn what_no_ntuple_holds_is_refused_by_name() {
    let error = FieldSpec::members_of(&Queue::class()).unwrap_err();
    assert_eq!((error.kind(), error.place().object.as_deref()), (ErrorKind::Unsupported, Some("waiting")), "{error}");
    assert!(error.to_string().contains("std::vector"), "{error}");
    let at = scratch("ntuple-entries-queue.root");
    let mut file = FileWriter::recreate(&at, WriteOptions::default()).unwrap();
    assert!(file.ntuple_entries::<Queue>("q", "queue", NTupleOptions::default()).is_err());
    file.close().unwrap();
    assert!(File::open(&at).unwrap().keys(true).unwrap().is_empty());
}
