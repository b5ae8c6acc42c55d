//! The limit of reading a tree: inflate each basket with the fastest library, swap its bytes straight into an answer
//! that is already there, convert its offsets; nothing is parsed, planned or checked. The work list is made beforehand
//! (`bench/support/index.py`). No reader can be faster than this by more than the noise.
//!
//! ```text
//! limit INDEX [--threads N] [--memory fresh|reused] [--repeat N] [--columns a,b,c] [--sums] [--record] [--plain]
//! ```
//!
//! Prints one JSON line: CPU and wall seconds of each run, bytes of the answer, and with `--sums` the sum of each
//! column. `fresh` allocates the answer anew in each run (its pages have to come from the kernel), `reused` only once.
//! `limit --write` is the limit of writing: see `write.rs`; `limit --ntuple` has those of RNTuples: `ntuple.rs`.
//! `--record` only inflates the tree's own record: the limit of opening it. `--plain` decodes whole objects value by
//! value.

mod index;
mod inflate;
mod ntuple;
mod plain;
mod planes;
mod swap;
mod write;

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use index::{Basket, Branch, Index, Kind};
use inflate::Inflater;

/// The memory of one column. `offsets` and `inner` are the borders of lists and of lists in lists.
struct Column {
    values: Vec<u8>,
    offsets: Vec<i64>,
    inner: Vec<i64>,
}

impl Column {
    fn new(b: &Branch) -> Column {
        let lists = matches!(b.kind, Kind::List | Kind::Lists2 | Kind::Text);
        let inner = if b.kind == Kind::Lists2 { b.inner + 1 } else { 0 };
        Column {
            values: vec![0; b.values * b.out_width()],
            offsets: vec![0; if lists { b.entries + 1 } else { 0 }],
            inner: vec![0; inner],
        }
    }

    fn bytes(&self) -> usize {
        self.values.len() + 8 * (self.offsets.len() + self.inner.len())
    }
}

/// Raw pointers to the columns of one branch: baskets of a branch are filled by several threads, each its own part.
#[derive(Clone, Copy)]
struct Target {
    values: *mut u8,
    offsets: *mut i64,
    inner: *mut i64,
}

// Sound here because the index gives each basket a part of its own.
unsafe impl Send for Target {}
unsafe impl Sync for Target {}

fn be32(d: &[u8], at: usize) -> usize {
    u32::from_be_bytes([d[at], d[at + 1], d[at + 2], d[at + 3]]) as usize
}

/// One basket, inflated: values and offsets go to their places.
fn place(d: &[u8], b: &Branch, k: &Basket, out: Target) {
    let (w, ow) = (b.width, b.out_width());
    // SAFETY: the index says how many entries and values each basket holds, and the columns were sized from it
    unsafe {
        let values = out.values.add(k.first_value * ow);
        match b.kind {
            Kind::Fixed => swap::copy(&d[..k.border], values, w, b.widen),
            Kind::List => {
                // the entry offsets count from the start of the record; their differences are the lengths of the lists
                let table = k.border + 4;
                let to = out.offsets.add(k.first_entry + 1);
                let per = w * b.times;
                if b.header == 0 {
                    let first = k.first_value / b.times;
                    let (power, shift) = (per.is_power_of_two(), per.trailing_zeros());
                    for i in 0..k.entries {
                        let end = if i + 1 < k.entries { be32(d, table + 4 * (i + 1)) - k.keylen } else { k.border };
                        *to.add(i) = (first + if power { end >> shift } else { end / per }) as i64;
                    }
                    swap::copy(&d[..k.border], values, w, b.widen);
                } else {
                    let (mut start, mut at, mut n) = (0, values, k.first_value / b.times);
                    for i in 0..k.entries {
                        let end = if i + 1 < k.entries { be32(d, table + 4 * (i + 1)) - k.keylen } else { k.border };
                        let bytes = &d[start + b.header..end];
                        swap::copy(bytes, at, w, b.widen);
                        at = at.add(bytes.len() / w * ow);
                        n += bytes.len() / per;
                        *to.add(i) = n as i64;
                        start = end;
                    }
                }
            }
            Kind::Lists2 => {
                let (mut at, mut from) = (values, 0);
                let (mut inner, mut n) = (k.first_inner, k.first_value);
                for i in 0..k.entries {
                    let lists = be32(d, from + b.header - 4);
                    from += b.header;
                    for _ in 0..lists {
                        let len = be32(d, from);
                        swap::copy(&d[from + 4..from + 4 + len * w], at, w, false);
                        at = at.add(len * w);
                        from += 4 + len * w;
                        inner += 1;
                        n += len;
                        *out.inner.add(inner) = n as i64;
                    }
                    *out.offsets.add(k.first_entry + i + 1) = inner as i64;
                }
            }
            Kind::Text => {
                let (mut at, mut from, mut n) = (values, 0, k.first_value);
                for i in 0..k.entries {
                    from += b.header;
                    let mut len = d[from] as usize;
                    from += 1;
                    if len == 255 {
                        len = be32(d, from);
                        from += 4;
                    }
                    std::ptr::copy_nonoverlapping(d.as_ptr().add(from), at, len);
                    at = at.add(len);
                    from += len;
                    n += len;
                    *out.offsets.add(k.first_entry + i + 1) = n as i64;
                }
            }
            Kind::Rows => unreachable!("rows have columns of their own"),
        }
    }
}

/// One basket of whole objects with one member-wise collection inside: every member goes to a column of its own.
fn place_rows(d: &[u8], b: &Branch, k: &Basket, out: &[Target]) {
    let (mut from, mut n) = (0, k.first_value);
    for i in 0..k.entries {
        let mut c = 0;
        let mut count = 0;
        for step in &b.steps {
            // SAFETY: as above; `first_value` counts the elements of the collection
            unsafe {
                match *step {
                    index::Step::Skip(bytes) => from += bytes,
                    index::Step::Member { width, times, widen } => {
                        let ow = if widen { 8 } else { width };
                        let to = out[c].values.add((k.first_entry + i) * times * ow);
                        swap::copy(&d[from..from + width * times], to, width, widen);
                        from += width * times;
                        c += 1;
                    }
                    index::Step::Count => {
                        count = be32(d, from);
                        from += 4;
                        *out[c].offsets.add(k.first_entry + i + 1) = (n + count) as i64;
                    }
                    index::Step::Element { width, widen } => {
                        let ow = if widen { 8 } else { width };
                        swap::copy(&d[from..from + width * count], out[c].values.add(n * ow), width, widen);
                        from += width * count;
                        c += 1;
                    }
                }
            }
        }
        n += count;
    }
}

fn columns_of(b: &Branch) -> Vec<Column> {
    if b.kind != Kind::Rows {
        return vec![Column::new(b)];
    }
    let mut out = Vec::new();
    let mut offsets = false;
    for step in &b.steps {
        let bytes = match *step {
            index::Step::Member { width, times, widen } => b.entries * times * if widen { 8 } else { width },
            index::Step::Element { width, widen } => b.values * if widen { 8 } else { width },
            index::Step::Count => {
                offsets = true;
                continue;
            }
            index::Step::Skip(_) => continue,
        };
        // all members share one offsets array, which lives with the first of them
        out.push(Column {
            values: vec![0; bytes],
            offsets: vec![0; if std::mem::take(&mut offsets) { b.entries + 1 } else { 0 }],
            inner: Vec::new(),
        });
    }
    out
}

fn run(file: &[u8], index: &Index, wanted: &[usize], answer: &mut [Vec<Column>], threads: usize) {
    let targets: Vec<Vec<Target>> = answer
        .iter_mut()
        .map(|columns| {
            columns
                .iter_mut()
                .map(|c| Target {
                    values: c.values.as_mut_ptr(),
                    offsets: c.offsets.as_mut_ptr(),
                    inner: c.inner.as_mut_ptr(),
                })
                .collect()
        })
        .collect();
    // in order of place in the file, as a reader would fetch them
    let mut work: Vec<(usize, usize)> = Vec::new();
    for (slot, &b) in wanted.iter().enumerate() {
        work.extend((0..index.branches[b].baskets.len()).map(|k| (slot, k)));
    }
    work.sort_unstable_by_key(|&(slot, k)| index.branches[wanted[slot]].baskets[k].seek);
    let next = AtomicUsize::new(0);
    let one = || {
        let mut inflater = Inflater::new();
        let mut scratch = vec![0u8; index.largest + 16];
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(slot, k)) = work.get(i) else { break };
            let b = &index.branches[wanted[slot]];
            let k = &b.baskets[k];
            let d = inflater.payload(&file[k.seek..k.seek + k.nbytes], k.keylen, k.objlen, &mut scratch);
            if b.kind == Kind::Rows {
                place_rows(d, b, k, &targets[slot]);
            } else {
                place(d, b, k, targets[slot][0]);
            }
        }
    };
    if threads == 1 {
        one();
    } else {
        std::thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(one);
            }
        });
    }
}

/// The same in one thread, with whole objects decoded value by value.
fn run_plain(file: &[u8], index: &Index, wanted: &[usize], answer: &mut [Vec<Column>]) {
    let mut inflater = Inflater::new();
    let mut scratch = vec![0u8; index.largest + 16];
    for (columns, &b) in answer.iter_mut().zip(wanted) {
        let b = &index.branches[b];
        assert!(b.kind == Kind::Rows, "only whole objects are decoded value by value");
        for k in &b.baskets {
            let d = inflater.payload(&file[k.seek..k.seek + k.nbytes], k.keylen, k.objlen, &mut scratch);
            plain::place_rows(d, b, k, columns);
        }
    }
}

/// Seconds of all threads of this process, in the program and in the kernel.
fn cpu_seconds() -> f64 {
    // SAFETY: getrusage fills the struct that it is given
    let u = unsafe {
        let mut u = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    };
    let s = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    s(u.ru_utime) + s(u.ru_stime)
}

fn sum(bytes: &[u8], number: char, width: usize) -> f64 {
    macro_rules! total {
        ($t:ty) => {
            bytes.chunks_exact(size_of::<$t>()).map(|c| <$t>::from_ne_bytes(c.try_into().unwrap()) as f64).sum()
        };
    }
    match (number, width) {
        ('f', 4) => total!(f32),
        ('f', 8) => total!(f64),
        ('i', 1) => total!(i8),
        ('i', 2) => total!(i16),
        ('i', 4) => total!(i32),
        ('i', 8) => total!(i64),
        ('u', 1) => total!(u8),
        ('u', 2) => total!(u16),
        ('u', 4) => total!(u32),
        ('u', 8) => total!(u64),
        ('t', _) => bytes.len() as f64, // of text, the number of characters
        _ => 0.0,
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("limit INDEX [options]");
    match path.as_str() {
        "--write" => return write::main(args),
        "--ntuple" => return ntuple::main(args),
        _ => {}
    }
    let (mut threads, mut fresh, mut repeat, mut columns) = (1, true, 1, Vec::new());
    let (mut sums, mut record, mut plain) = (false, false, false);
    while let Some(a) = args.next() {
        let mut value = || args.next().expect("an option lacks its value");
        match a.as_str() {
            "--threads" => threads = value().parse().expect("--threads N"),
            "--memory" => fresh = value() == "fresh",
            "--repeat" => repeat = value().parse().expect("--repeat N"),
            "--columns" => columns = value().split(',').map(String::from).collect(),
            "--sums" => sums = true,
            "--record" => record = true,
            "--plain" => plain = true,
            other => panic!("no option {other}"),
        }
    }
    let index = Index::read(&path);
    let file = File::open(&index.file).expect("the file of the index");
    // SAFETY: no process writes to the inputs while they are measured
    let map = unsafe { memmap2::Mmap::map(&file).expect("the file can be mapped") };
    let wanted: Vec<usize> = (0..index.branches.len())
        .filter(|&i| columns.is_empty() || columns.contains(&index.branches[i].name))
        .collect();
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    let (mut answer, mut kept): (Vec<Vec<Column>>, Vec<Vec<Vec<Column>>>) = (Vec::new(), Vec::new());
    let make = || wanted.iter().map(|&b| columns_of(&index.branches[b])).collect::<Vec<_>>();
    if !fresh && !record {
        answer = make();
        run(&map, &index, &wanted, &mut answer, threads); // every page is there before the first measured run
    }
    for _ in 0..repeat {
        let (w, c) = (Instant::now(), cpu_seconds());
        if record {
            let r = &index.record;
            let mut scratch = vec![0u8; r.objlen + 16];
            let d = Inflater::new().payload(&map[r.seek..r.seek + r.nbytes], r.keylen, r.objlen, &mut scratch).len();
            assert_eq!(d, r.objlen);
        } else {
            if fresh {
                // Answers are kept, as a reader's are in `worker.py`: memory that was given back is not quite fresh.
                kept.push(std::mem::replace(&mut answer, make()));
            }
            if plain {
                run_plain(&map, &index, &wanted, &mut answer);
            } else {
                run(&map, &index, &wanted, &mut answer, threads);
            }
        }
        cpu.push(cpu_seconds() - c);
        wall.push(w.elapsed().as_secs_f64());
    }
    let bytes: usize = answer.iter().flatten().map(Column::bytes).sum();
    let mut text = format!("{{\"cpu\":{cpu:?},\"wall\":{wall:?},\"answer_bytes\":{bytes}");
    if sums {
        let mut parts = Vec::new();
        for (&b, columns) in wanted.iter().zip(&answer) {
            let b = &index.branches[b];
            let numbers: Vec<(char, usize)> =
                if b.kind == Kind::Rows { b.row_numbers() } else { vec![(b.number, b.out_width())] };
            let total: f64 = columns.iter().zip(numbers).map(|(c, (n, w))| sum(&c.values, n, w)).sum();
            parts.push(format!("{:?}:{total:?}", b.name));
        }
        text += &format!(",\"sums\":{{{}}}", parts.join(","));
    }
    println!("{text}}}");
}
