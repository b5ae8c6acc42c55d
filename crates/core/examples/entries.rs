//! Entries of Rust types: `entries write FILE` makes trees of them, `entries read FILE TREE` prints what another
//! version of the type finds in a tree, also one that ROOT wrote.
//!
//! ```text
//! cargo run --example entries -- write events.root
//! cargo run --example entries -- read events.root split99
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};

use sapwood::write::{Every, FileWriter, TreeOptions, WriteOptions};
use sapwood::{Entry, Error, File, Result};

#[derive(Entry)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Entry)]
struct Header {
    run: i32,
    weights: Vec<f32>,
}

#[derive(Entry)]
#[entry(class = "lab::Track")]
struct Track {
    #[entry(name = "fPt")]
    pt: f32,
    charge: i8,
    at: Point,
    hits: Vec<i16>,
    tag: String,
    cov: [f32; 3],
}

#[derive(Entry)]
#[entry(class = "lab::Event", version = 3)]
struct Event {
    #[entry(base)]
    header: Header,
    number: u64,
    ok: bool,
    matrix: [[f64; 3]; 2],
    best: Track,
    tracks: Vec<Track>,
    counts: BTreeMap<String, i32>,
    places: HashMap<i32, Point>,
    layers: BTreeSet<i32>,
    names: HashSet<String>,
    queue: VecDeque<Point>,
    list: LinkedList<f32>,
    words: Vec<String>,
    nested: Vec<Vec<u16>>,
    vertex: Option<Point>,
}

/// What became of the track: an angle more, a charge less, a wider momentum of another name.
#[derive(Entry, Debug)]
struct NewTrack {
    hits: Vec<i64>,
    #[entry(was = "fPt")]
    momentum: f64,
    eta: f32,
    tag: String,
}

/// What became of the event: no base any more, its member is the event's own.
#[derive(Entry, Debug)]
struct NewEvent {
    run: i64,
    tracks: Vec<NewTrack>,
    number: u32,
    counts: BTreeMap<String, i64>,
    matrix: [[f32; 3]; 2],
    best: NewTrack,
    quality: Vec<u8>,
}

fn point(seed: usize) -> Point {
    Point { x: seed as f64 / 2.0, y: -(seed as f64) }
}

fn track(seed: usize) -> Track {
    Track {
        pt: seed as f32 / 8.0,
        charge: 1 - (seed % 3) as i8,
        at: point(seed),
        hits: (0..seed as i16 % 4).collect(),
        tag: "é".repeat(seed % 3),
        cov: [seed as f32, 1.0, 2.0],
    }
}

fn event(seed: usize) -> Event {
    Event {
        header: Header { run: seed as i32, weights: vec![0.25; seed % 3] },
        number: 1000 + seed as u64,
        ok: seed % 2 == 1,
        matrix: [[seed as f64, 1.0, 2.0], [3.0, 4.0, 5.0]],
        best: track(seed),
        tracks: (0..seed % 4).map(|item| track(seed + item)).collect(),
        counts: (0..seed % 3).map(|item| (format!("key {item}"), item as i32)).collect(),
        places: (0..seed % 5).map(|item| (item as i32 - 2, point(item))).collect(),
        layers: (0..seed % 4).map(|item| item as i32 - 1).collect(),
        names: (0..seed % 3).map(|item| format!("name {item}")).collect(),
        queue: (0..seed % 3).map(point).collect(),
        list: (0..seed % 4).map(|item| item as f32 / 2.0).collect(),
        words: (0..seed % 3).map(|item| format!("word {item}")).collect(),
        nested: (0..seed % 3).map(|item| vec![item as u16; item]).collect(),
        vertex: (seed % 3 == 1).then(|| point(seed)),
    }
}

fn write(path: &str) -> Result<()> {
    let mut file = FileWriter::recreate(path, WriteOptions::default())?;
    for (name, split_level, member_wise) in [
        ("split99", 99, true),
        ("split1", 1, true),
        ("whole", 0, true),
        ("objects99", 99, false),
        ("objects0", 0, false),
    ] {
        let options = TreeOptions { auto_flush: Every::Entries(15), member_wise, ..TreeOptions::default() };
        let mut events = file.entries(name, "event.", split_level, options)?;
        for event in (0..40).map(event) {
            events.fill(&event)?;
        }
        events.close()?;
    }
    file.close()
}

fn read(path: &str, tree: &str) -> Result<()> {
    let tree = File::open(path)?.tree(tree)?;
    for event in tree.iter_entries::<NewEvent>("event")? {
        println!("{:?}", event?);
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", path] => write(path),
        ["read", path, tree] => read(path, tree),
        _ => Err(Error::mismatch("write FILE, or read FILE TREE")),
    }
}
