//! The loops that take the time: one thread, bytes in memory, no system calls. `make bench-micro` runs them all,
//! `cargo bench -p sapwood -- swap` those whose names contain a word. Figures are bytes in memory a second.
//!
//! `bench/` compares whole reads and writes with other programs; these tell which loop became slower.

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use sapwood::codec::{Compression, Scratch, deflate, inflate};
use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore, Profile, Want, coalesce};
use sapwood::read;
use sapwood::tree::Tree;
use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, TreeWriter, Values, WriteOptions};
use sapwood::{Entry, File, OpenOptions};

const ENTRIES: usize = 100_000;

fn main() {
    divan::main();
}

#[derive(Entry)]
struct Track {
    pt: f32,
    charge: i8,
    position: [f64; 3],
    hits: Vec<i32>,
}

#[derive(Entry)]
struct Event {
    number: u64,
    tracks: Vec<Track>,
}

fn uncompressed() -> WriteOptions {
    WriteOptions { compression: Some(Compression::NONE), ..WriteOptions::default() }
}

/// A tree in memory, without compression.
fn tree(fill: impl FnOnce(&mut FileWriter)) -> Arc<Tree> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "bench.root", uncompressed()).expect("a file");
    fill(&mut file);
    file.close().expect("a file");
    let store = Arc::new(MemoryStore::new("bench.root", sink.to_bytes()));
    File::from_store(store, OpenOptions::default()).and_then(|file| file.tree("t")).expect("a tree")
}

fn columns(spec: Vec<BranchSpec>, values: &[(&str, Values<'_>)]) -> Arc<Tree> {
    tree(|file| {
        let mut tree = file.tree("t", spec, TreeOptions::default()).expect("a tree");
        tree.extend(values).and_then(|()| tree.close()).expect("rows");
    })
}

fn events(count: u64) -> Vec<Event> {
    let track = |item: u64| Track {
        pt: item as f32,
        charge: (item % 3) as i8,
        position: [item as f64; 3],
        hits: vec![item as i32; item as usize % 8],
    };
    (0..count).map(|number| Event { number, tracks: (0..number % 20).map(track).collect() }).collect()
}

/// Measures reading the last branch of a tree.
fn read_all(bencher: Bencher<'_, '_>, tree: &Arc<Tree>) {
    let ids = [tree.top().last().copied().expect("a branch")];
    let read = || read::columns(tree, &ids, 0..tree.entries).expect("a column");
    let bytes = read()[0].memory_bytes();
    bencher.counter(BytesCount::new(bytes)).bench(|| black_box(read()));
}

/// Bytes swapped from the basket into their place in the answer.
#[divan::bench(args = [Number::I16, Number::F32, Number::F64])]
fn swap(bencher: Bencher<'_, '_>, number: Number) {
    let (short, float, double) = (vec![7_i16; ENTRIES], vec![0.5_f32; ENTRIES], vec![0.5_f64; ENTRIES]);
    let values = match number {
        Number::I16 => Values::from(&short),
        Number::F32 => Values::from(&float),
        _ => Values::from(&double),
    };
    read_all(bencher, &columns(vec![BranchSpec::number("x", number)], &[("x", values)]));
}

/// The offsets of a basket, and the items of its lists.
#[divan::bench(args = ["counted", "vectors"])]
fn offsets(bencher: Bencher<'_, '_>, layout: &str) {
    let ends = (1..=ENTRIES as i64).map(|entry| 3 * entry);
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let items = vec![0.5_f32; 3 * ENTRIES];
    let specs = match layout {
        "counted" => vec![BranchSpec::counter("n"), BranchSpec::jagged("x", Number::F32, "n")],
        _ => vec![BranchSpec::vector("x", Item::Number(Number::F32), 1)],
    };
    read_all(bencher, &columns(specs, &[("x", Values::lists(&offsets, &items))]));
}

/// Compiled programs: whole objects, entry by entry.
#[divan::bench]
fn execute(bencher: Bencher<'_, '_>) {
    let events = events(2_000);
    let tree = tree(|file| {
        let mut tree = file.entries::<Event>("t", "event", 0, TreeOptions::default()).expect("a tree");
        tree.extend(&events).and_then(|()| tree.close()).expect("rows");
    });
    read_all(bencher, &tree);
}

/// A thing that compresses about as well as physics does: numbers with noise in their lower bits.
fn noise() -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let values = (0..ENTRIES).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (1.0 + (state >> 52) as f32 / 4096.0).to_be_bytes()
    });
    values.collect()
}

const CODECS: [&str; 5] = ["zlib:1", "lz4:4", "zstd:5", "lzma:4", "zlib:6"];

#[divan::bench(args = CODECS)]
fn inflate_chain(bencher: Bencher<'_, '_>, codec: &str) {
    let (values, mut scratch, mut chain) = (noise(), Scratch::default(), Vec::new());
    deflate(&values, codec.parse().expect("a codec"), &mut chain, &mut scratch).expect("a chain");
    let mut into = vec![0; values.len()];
    bencher
        .counter(BytesCount::new(values.len()))
        .bench_local(|| inflate(&chain, black_box(&mut into), &mut scratch).expect("a chain"));
}

#[divan::bench(args = CODECS)]
fn deflate_chain(bencher: Bencher<'_, '_>, codec: &str) {
    let (values, mut scratch, mut chain) = (noise(), Scratch::default(), Vec::new());
    let compression = codec.parse().expect("a codec");
    bencher.counter(BytesCount::new(values.len())).bench_local(|| {
        chain.clear();
        deflate(black_box(&values), compression, &mut chain, &mut scratch).expect("a chain")
    });
}

/// A tree that takes rows, and the file that it is in.
fn writer(specs: Vec<BranchSpec>) -> (FileWriter, TreeWriter) {
    let mut file = FileWriter::to_sink(MemorySink::default(), "bench.root", uncompressed()).expect("a file");
    let tree = file.tree("t", specs, TreeOptions::default()).expect("a tree");
    (file, tree)
}

/// Rows buffered, swapped and sealed.
#[divan::bench]
fn encode_numbers(bencher: Bencher<'_, '_>) {
    let values = vec![0.5_f64; ENTRIES];
    bencher
        .counter(BytesCount::of_slice(&values[..]))
        .with_inputs(|| writer(vec![BranchSpec::number("x", Number::F64)]))
        .bench_local_values(|(file, mut tree)| {
            tree.extend(&[("x", Values::from(black_box(&values)))]).and_then(|()| tree.flush()).expect("rows");
            (file, tree)
        });
}

/// Objects encoded entry by entry, and member by member.
#[divan::bench(args = [0, 99])]
fn encode_objects(bencher: Bencher<'_, '_>, split_level: u32) {
    let events = events(2_000);
    bencher
        .counter(ItemsCount::new(events.len()))
        .with_inputs(|| FileWriter::to_sink(MemorySink::default(), "bench.root", uncompressed()).expect("a file"))
        .bench_local_values(|mut file| {
            let options = TreeOptions::default();
            let mut tree = file.entries::<Event>("t", "event", split_level, options).expect("a tree");
            tree.extend(black_box(&events)).and_then(|()| tree.close()).expect("rows");
            file
        });
}

/// Wanted ranges merged into requests: the baskets of a few of many branches.
#[divan::bench(args = [100, 10_000])]
fn merge_requests(bencher: Bencher<'_, '_>, baskets: u64) {
    let profile = Profile {
        latency_ns: 20_000_000,
        bandwidth_bytes: 12_500_000,
        request_bytes: 4 << 20,
        ranges: 100,
        parallel: 4,
    };
    let place = |id: u64| (id * 7919 % baskets) * 100_000;
    let wants: Vec<Want> =
        (0..baskets).map(|id| Want { id, range: place(id)..place(id) + 20_000, first_entry: id }).collect();
    bencher.counter(ItemsCount::new(baskets)).bench(|| coalesce(black_box(&wants), &profile));
}
