//! Reads trees of a file in step, entry by entry, and prints what that cost, as `bench/read/treecache.py` asks for it:
//! `cargo run --release --example rows -- FILE TREES COLUMNS CACHE_BYTES THREADS [ENTRIES]`, where trees and columns
//! are separated by commas, columns are `*` for all, and the numbers of entries, if not all are wanted in their order,
//! stand in a file, a line each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use sapwood::column::{Kind, Number};
use sapwood::inspect::perf::PerfStats;
use sapwood::read::{Column, Reader};
use sapwood::tree::{BranchId, Tree};
use sapwood::{Error, ErrorKind, File, OpenOptions, Result, Session};

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| wrong("not a whole number"))
}

/// Sums of what was read: of all numbers, and of the first one of each value.
#[derive(Default)]
struct Sums {
    all: f64,
    first: f64,
}

impl Sums {
    /// Adds one value.
    fn add(&mut self, column: &Column, kind: &Kind, rows: Range<usize>) {
        match kind {
            Kind::Number { buffer, number: Number::F32 } => {
                self.numbers(column, *buffer, rows, |bytes| f64::from(f32::from_ne_bytes(bytes)));
            }
            Kind::Number { buffer, number: Number::I32 } => {
                self.numbers(column, *buffer, rows, |bytes| f64::from(i32::from_ne_bytes(bytes)));
            }
            Kind::Fixed { len, item } => self.add(column, item, rows.start * len..rows.end * len),
            Kind::List { offsets, item, .. } => self.add(column, item, column.bounds(*offsets, rows.start)),
            Kind::Record { fields, .. } => {
                for field in fields {
                    let before = self.first;
                    self.add(column, &field.kind, rows.clone());
                    // The first number of an object is that of its list.
                    self.first = if matches!(field.kind, Kind::List { .. }) { self.first } else { before };
                }
            }
            _ => {}
        }
    }

    /// Numbers of `N` bytes.
    fn numbers<const N: usize>(
        &mut self,
        column: &Column,
        buffer: u32,
        rows: Range<usize>,
        value: impl Fn([u8; N]) -> f64,
    ) {
        let bytes = column.buffers()[buffer as usize].get(rows.start * N..rows.end * N).unwrap_or_default();
        let mut numbers = bytes.as_chunks::<N>().0.iter().map(|bytes| value(*bytes));
        let first = numbers.next().unwrap_or_default();
        self.first += first;
        self.all += numbers.fold(first, |sum, number| sum + number);
    }
}

/// A tree while it is read, and the branches of it that are.
struct Reading {
    tree: Arc<Tree>,
    reader: Reader,
    branches: Vec<BranchId>,
}

impl Reading {
    fn new(file: &File, name: &str, columns: &str, list: Option<&[u64]>) -> Result<Self> {
        let tree = file.tree(name)?;
        let branches = match columns {
            "*" => tree.branches().iter().map(|branch| branch.id).collect(),
            names => names.split(',').map(|name| Ok(tree.branch(name)?.id)).collect::<Result<_>>()?,
        };
        let reader = match list {
            Some(entries) => tree.reader_along(entries.to_vec())?,
            None => tree.reader(),
        };
        Ok(Self { tree, reader, branches })
    }

    /// Has what will be looked at fetched from the first entry on.
    fn begin(&mut self, entry: u64) -> Result<()> {
        self.reader.go_to(entry)?;
        self.reader.touch(&self.branches).map(drop)
    }

    fn look(&mut self, entry: u64, sums: &mut Sums) -> Result<()> {
        self.reader.go_to(entry)?;
        for &branch in &self.branches {
            let (column, row) = self.reader.column_of(branch)?;
            sums.add(column, &column.kind, row..row + 1);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, trees, columns, cache, threads, rest @ ..] = &arguments[..] else {
        return Err(wrong("FILE TREES COLUMNS CACHE_BYTES THREADS [ENTRIES]"));
    };
    let list = rest.first().map(std::fs::read_to_string).transpose()?;
    let list = list.map(|text| text.lines().map(number).collect::<Result<Vec<u64>>>()).transpose()?;

    let began = Instant::now();
    let session = Session::with_threads(number(threads)? as usize);
    let file = File::open_with(path, OpenOptions { session, cache_bytes: number(cache)?, ..OpenOptions::default() })?;
    file.perf().start();
    let names = trees.split(',');
    let mut trees =
        names.map(|name| Reading::new(&file, name, columns, list.as_deref())).collect::<Result<Vec<_>>>()?;
    let most = trees.iter().map(|one| one.tree.entries).max().unwrap_or(0);
    let entries = list.unwrap_or_else(|| (0..most).collect());
    let mut sums = Sums::default();
    for (step, &entry) in entries.iter().enumerate() {
        for tree in &mut trees {
            if step == 0 {
                tree.begin(entry)?;
            }
            tree.look(entry, &mut sums)?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();

    let mut figures: BTreeMap<&str, f64> = BTreeMap::new();
    let mut cpu_seconds = 0.0;
    for Reading { tree, .. } in &trees {
        let stats = PerfStats::of(tree)?;
        cpu_seconds = stats.cpu_time;
        *figures.entry("misses").or_default() += tree.cache().figures().misses as f64;
        for (name, value, _) in stats.figures() {
            *figures.entry(name).or_default() += value;
        }
    }
    let of = |name| figures.get(name).copied().unwrap_or(0.0);
    println!(
        "{{\"seconds\": {seconds}, \"cpu\": {cpu_seconds}, \"calls\": {}, \"ranges\": {}, \"bytes\": {}, \"extra\": {}, \"misses\": {}, \
         \"sum\": {:.6}, \"first\": {:.6}}}",
        of("ReadCalls"),
        of("Ranges"),
        1e6 * of("ReadTotal"),
        1e6 * of("Thrown away"),
        of("misses"),
        sums.all,
        sums.first
    );
    Ok(())
}
