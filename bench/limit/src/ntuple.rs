//! The limits of an RNTuple: inflate each page and undo its encoding straight into an answer that is already there; and
//! the way back, each page encoded, compressed, summed up and written. Nothing is parsed, planned or checked. The work
//! list is made beforehand (`bench/ntuple/index.py`).
//!
//! ```text
//! limit --ntuple INDEX [--threads N] [--memory fresh|reused] [--repeat N] [--columns a,b,c] [--open]
//! limit --ntuple INDEX --write OUT --codec none:0|lz4hc:4|zstd:10 [--threads N] [--repeat N]
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::inflate::Inflater;
use crate::planes::{join, split};
use crate::write::Deflater;
use crate::{cpu_seconds, sum};

/// How the elements of a page lie in the file.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Split,
    Zigzag,
    /// Ends of lists, counted from the start of the cluster.
    Index,
    /// The same as differences, split.
    SplitIndex,
}

struct Page {
    at: usize,
    stored: usize,
    /// Bytes once inflated.
    len: usize,
    elements: usize,
    first: usize,
    /// What the ends of a cluster's lists count from.
    base: i64,
}

struct Column {
    name: String,
    kind: Kind,
    width: usize,
    number: char,
    elements: usize,
    pages: Vec<Page>,
}

struct Index {
    file: String,
    /// Place, stored and inflated bytes of the header, the footer and the page lists.
    envelopes: Vec<[usize; 3]>,
    columns: Vec<Column>,
}

impl Index {
    fn read(path: &str) -> Index {
        let text = std::fs::read_to_string(path).expect("the index");
        let mut index = Index { file: String::new(), envelopes: Vec::new(), columns: Vec::new() };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let first = words.next();
            let mut word = || words.next().expect("a line of the index is too short");
            macro_rules! number {
                () => {
                    word().parse().expect("a number in the index")
                };
            }
            match first {
                Some("file") => index.file = line[5..].to_string(),
                Some("envelope") => index.envelopes.push([number!(), number!(), number!()]),
                Some("column") => index.columns.push(Column {
                    name: word().to_string(),
                    kind: match word() {
                        "plain" => Kind::Plain,
                        "split" => Kind::Split,
                        "zigzag" => Kind::Zigzag,
                        "index" => Kind::Index,
                        "splitindex" => Kind::SplitIndex,
                        other => panic!("no kind {other}"),
                    },
                    width: number!(),
                    number: word().chars().next().expect("a kind of number"),
                    elements: number!(),
                    pages: Vec::new(),
                }),
                Some("page") => {
                    let column = index.columns.last_mut().expect("a page belongs to a column");
                    column.pages.push(Page {
                        at: number!(),
                        stored: number!(),
                        len: number!(),
                        elements: number!(),
                        first: number!(),
                        base: number!(),
                    });
                }
                _ => {}
            }
        }
        index
    }

    fn largest(&self) -> usize {
        self.columns.iter().flat_map(|column| &column.pages).map(|page| page.len).max().unwrap_or(0)
    }
}

/// The elements of one inflated page, native, at `to`.
///
/// # Safety
///
/// `to` must have room for the elements of the page.
unsafe fn decode(from: &[u8], column: &Column, page: &Page, to: *mut u8) {
    let ends = || {
        // SAFETY: the caller's promise; the answer of a column of ends is made of words of eight bytes
        unsafe { std::slice::from_raw_parts_mut(to.cast::<i64>(), page.elements) }
    };
    // SAFETY: the caller's promise
    unsafe {
        match column.kind {
            Kind::Plain => std::ptr::copy_nonoverlapping(from.as_ptr(), to, page.len),
            Kind::Split => join(from, page.elements, column.width, false, to),
            Kind::Zigzag => join(from, page.elements, column.width, true, to),
            Kind::Index => {
                std::ptr::copy_nonoverlapping(from.as_ptr(), to, page.len);
                ends().iter_mut().for_each(|end| *end += page.base);
            }
            Kind::SplitIndex => {
                join(from, page.elements, 8, false, to);
                let mut sum = page.base;
                for end in ends() {
                    sum += *end;
                    *end = sum;
                }
            }
        }
    }
}

/// The page as it stands in the file, before compression: the way back.
fn encode(values: &[u8], column: &Column, page: &Page, differences: &mut Vec<i64>, to: &mut [u8]) {
    let ends = values.chunks_exact(8).map(|end| i64::from_ne_bytes(end.try_into().unwrap()));
    match column.kind {
        Kind::Plain => to.copy_from_slice(values),
        Kind::Split => split(values, column.width, false, to),
        Kind::Zigzag => split(values, column.width, true, to),
        Kind::Index => {
            for (to, end) in to.chunks_exact_mut(8).zip(ends) {
                to.copy_from_slice(&(end - page.base).to_ne_bytes());
            }
        }
        Kind::SplitIndex => {
            differences.clear();
            let mut before = page.base;
            differences.extend(ends.map(|end| end - std::mem::replace(&mut before, end)));
            // SAFETY: any eight bytes of a number are bytes
            let bytes = unsafe { std::slice::from_raw_parts(differences.as_ptr().cast::<u8>(), 8 * differences.len()) };
            split(bytes, 8, false, to);
        }
    }
}

#[derive(Clone, Copy)]
struct Target(*mut u8);

// Sound here because the index gives each page a part of its own.
unsafe impl Send for Target {}
unsafe impl Sync for Target {}

type Answer = Vec<Vec<u64>>;

/// Work that threads share: each item once.
fn shared(threads: usize, one: impl Fn() + Sync) {
    if threads == 1 {
        return one();
    }
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(&one))));
}

fn fill(file: &[u8], index: &Index, work: &[(usize, usize)], answer: &mut Answer, threads: usize) {
    let targets: Vec<Target> = answer.iter_mut().map(|column| Target(column.as_mut_ptr().cast())).collect();
    let (next, largest) = (AtomicUsize::new(0), index.largest());
    shared(threads, || {
        let (mut inflater, mut scratch) = (Inflater::new(), vec![0u8; largest + 16]);
        while let Some(&(slot, k)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let column = &index.columns[slot];
            let page = &column.pages[k];
            let from = inflater.payload(&file[page.at..page.at + page.stored], 0, page.len, &mut scratch);
            // SAFETY: the index says how many elements each page holds, and the columns were sized from it
            unsafe { decode(from, column, page, targets[slot].0.add(page.first * column.width)) };
        }
    });
}

pub fn main(mut args: impl Iterator<Item = String>) {
    let mut index = Index::read(&args.next().expect("--ntuple INDEX [options]"));
    let (mut threads, mut fresh, mut repeat, mut open) = (1, true, 1, false);
    let (mut target, mut codec, mut level) = (None, String::from("none"), 0);
    while let Some(option) = args.next() {
        let mut value = || args.next().expect("an option lacks its value");
        match option.as_str() {
            "--threads" => threads = value().parse().expect("--threads N"),
            "--memory" => fresh = value() == "fresh",
            "--repeat" => repeat = value().parse().expect("--repeat N"),
            "--columns" => {
                let wanted = value();
                index.columns.retain(|column| wanted.split(',').any(|name| name == column.name));
            }
            "--open" => open = true,
            "--write" => target = Some(value()),
            "--codec" => {
                let given = value();
                let (name, number) = given.split_once(':').expect("--codec NAME:LEVEL");
                (codec, level) = (name.to_string(), number.parse().expect("--codec NAME:LEVEL"));
            }
            other => panic!("no option {other}"),
        }
    }
    let file = File::open(&index.file).expect("the file of the index");
    // SAFETY: no process writes to the inputs while they are measured
    let map = unsafe { memmap2::Mmap::map(&file).expect("the file can be mapped") };
    // in order of place in the file, as a reader would fetch them
    let mut work: Vec<(usize, usize)> =
        (0..index.columns.len()).flat_map(|c| (0..index.columns[c].pages.len()).map(move |k| (c, k))).collect();
    work.sort_unstable_by_key(|&(c, k)| index.columns[c].pages[k].at);
    let make = || -> Answer {
        index.columns.iter().map(|column| vec![0; (column.elements * column.width).div_ceil(8)]).collect()
    };
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    if let Some(target) = target {
        let mut answer = make();
        fill(&map, &index, &work, &mut answer, 1);
        work.dedup_by_key(|&mut (c, k)| index.columns[c].pages[k].at); // equal pages are stored once
        let mut size = 0;
        for _ in 0..repeat {
            let _ = std::fs::remove_file(&target);
            let (w, c) = (Instant::now(), cpu_seconds());
            size = write(&index, &work, &answer, &target, &codec, level, threads);
            cpu.push(cpu_seconds() - c);
            wall.push(w.elapsed().as_secs_f64());
        }
        let _ = std::fs::remove_file(&target);
        println!("{{\"cpu\":{cpu:?},\"wall\":{wall:?},\"size\":{size},\"pages\":{}}}", work.len());
        return;
    }
    let (mut answer, mut kept) = (make(), Vec::new());
    fill(&map, &index, &work, &mut answer, threads); // every page is there before the first measured run
    for _ in 0..repeat {
        let (w, c) = (Instant::now(), cpu_seconds());
        if open {
            let mut inflater = Inflater::new();
            for &[at, stored, len] in &index.envelopes {
                let mut scratch = vec![0u8; len + 16];
                assert_eq!(inflater.payload(&map[at..at + stored], 0, len, &mut scratch).len(), len);
            }
        } else {
            if fresh {
                // Answers are kept, as a reader's are: memory that was given back is not quite fresh.
                kept.push(std::mem::replace(&mut answer, make()));
            }
            fill(&map, &index, &work, &mut answer, threads);
        }
        cpu.push(cpu_seconds() - c);
        wall.push(w.elapsed().as_secs_f64());
    }
    let (mut bytes, mut total) = (0, 0.0);
    for (column, values) in index.columns.iter().zip(&answer) {
        let len = column.elements * column.width;
        // SAFETY: the answer was made for so many bytes
        let values = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), len) };
        bytes += len;
        total += sum(values, column.number, column.width);
    }
    println!("{{\"cpu\":{cpu:?},\"wall\":{wall:?},\"answer_bytes\":{bytes},\"sum\":{total:?}}}");
}

/// Encodes, compresses and writes each page, behind it its checksum: the bytes of the file.
fn write(
    index: &Index,
    work: &[(usize, usize)],
    answer: &Answer,
    target: &str,
    codec: &str,
    level: i32,
    threads: usize,
) -> u64 {
    let file = File::create(target).expect("the file that is written");
    let (next, place, largest) = (AtomicUsize::new(0), AtomicU64::new(100), index.largest());
    shared(threads, || {
        let (mut deflater, mut differences) = (Deflater::new(level), Vec::new());
        let mut payload = vec![0; largest];
        let mut record = vec![0; largest + largest / 32 + 4096];
        while let Some(&(slot, k)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let column = &index.columns[slot];
            let page = &column.pages[k];
            let at = page.first * column.width;
            let words = &answer[slot];
            // SAFETY: the answer was made for all elements of the column
            let values = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>().add(at), page.len) };
            let len = if codec == "none" {
                encode(values, column, page, &mut differences, &mut record[..page.len]);
                page.len
            } else {
                encode(values, column, page, &mut differences, &mut payload[..page.len]);
                let len = deflater.blocks(codec, level, &payload[..page.len], &mut record);
                if len < page.len {
                    len
                } else {
                    record[..page.len].copy_from_slice(&payload[..page.len]);
                    page.len
                }
            };
            let sum = xxhash_rust::xxh3::xxh3_64(&record[..len]).to_le_bytes();
            record[len..len + 8].copy_from_slice(&sum);
            let at = place.fetch_add(len as u64 + 8, Ordering::Relaxed);
            file.write_all_at(&record[..len + 8], at).expect("a page is written");
        }
    });
    place.into_inner()
}
