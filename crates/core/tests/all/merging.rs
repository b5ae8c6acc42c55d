//! Files that are merged: what is read, how much is open, and that nothing is inflated. What real ROOT and `hadd` make
//! of it is tested in `tests/`.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sapwood::column::Number;
use sapwood::inspect::verify::verify_file;
use sapwood::io::{ByteRange, Ends, Flow, LocalFile, Profile, Receive, Store};
use sapwood::merge::{Level, Listed, Merge, Merged, Packing};
use sapwood::schema::Draft;
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions, Result, Session, read};

/// A folder of one test.
struct Scrap(PathBuf);

impl Scrap {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sapwood-merging-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// A file with `entries` entries of `x`, counted from `first`, in clusters of 100 and baskets of as many bytes.
    fn input(&self, name: &str, first: i64, entries: i64, basket_bytes: usize) -> String {
        let options = WriteOptions { reproducible: true, session: Session::with_threads(1), ..WriteOptions::default() };
        let mut file = FileWriter::recreate(self.path(name), options).unwrap();
        file.write("note", Draft::new("TObjString").with("fString", name)).unwrap();
        let how = TreeOptions { auto_flush: Every::Entries(100), basket_bytes, ..TreeOptions::default() };
        let mut tree = file.tree("deep/t", vec![BranchSpec::number("x", Number::I64)], how).unwrap();
        let values: Vec<i64> = (first..first + entries).collect();
        tree.extend(&[("x", Values::from(&values))]).unwrap();
        tree.close().unwrap();
        file.close().unwrap();
        self.path(name)
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file that tells what is asked of it, and how many of its kind are open.
struct Told {
    inner: LocalFile,
    ledger: Arc<Ledger>,
}

#[derive(Default)]
struct Ledger {
    open: AtomicUsize,
    most: AtomicUsize,
    bytes: AtomicUsize,
    ranges: Mutex<Vec<ByteRange>>,
}

impl Store for Told {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.inner.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        self.ledger.ranges.lock().unwrap().extend_from_slice(ranges);
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        self.ledger.bytes.fetch_add(bytes as usize, Ordering::SeqCst);
        self.inner.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.ledger.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn told(ledger: &Arc<Ledger>, path: &str) -> Result<File> {
    let inner = LocalFile::open(path)?;
    ledger.most.fetch_max(ledger.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    File::from_store(Arc::new(Told { inner, ledger: Arc::clone(ledger) }), OpenOptions::default())
}

fn how() -> Merge {
    Merge { replaces: true, reproducible: true, session: Session::with_threads(1), ..Merge::default() }
}

fn merge(how: &Merge, output: &str, inputs: &[String]) -> Result<Merged> {
    how.run(output, inputs, &|path| File::open(path), &mut |_| Flow::Go)
}

fn values(path: &str) -> Vec<i64> {
    let tree = File::open(path).unwrap().tree("deep/t").unwrap();
    let id = tree.branch("x").unwrap().id;
    read::columns(&tree, &[id], 0..tree.entries).unwrap()[0].numbers::<i64>().unwrap().to_vec()
}

/// The baskets of a file, without their keys.
fn sealed(path: &str) -> Vec<Vec<u8>> {
    let file = File::open(path).unwrap();
    let tree = file.tree("deep/t").unwrap();
    let bytes = std::fs::read(path).unwrap();
    let seeks = tree.branch("x").unwrap().baskets().iter().filter_map(|basket| match basket.bytes {
        sapwood::tree::BasketBytes::Stored { seek, nbytes } => Some((seek as usize, nbytes as usize)),
        sapwood::tree::BasketBytes::Embedded(_) => None,
    });
    seeks
        .map(|(seek, nbytes)| {
            let keylen = usize::from(u16::from_be_bytes([bytes[seek + 14], bytes[seek + 15]]));
            bytes[seek + keylen..seek + nbytes].to_vec()
        })
        .collect()
}

#[test]
fn baskets_move_as_they_are_by_either_way() {
    let scrap = Scrap::new("copy");
    // Small baskets go through memory, large ones are copied by the system.
    for (basket_bytes, entries) in [(200, 950), (1 << 20, 100_000)] {
        let inputs: Vec<String> =
            (0..3).map(|n| scrap.input(&format!("{n}.root"), n * entries, entries, basket_bytes)).collect();
        let merged = merge(&how(), &scrap.path("out.root"), &inputs).unwrap();
        let wanted: Vec<Vec<u8>> = inputs.iter().flat_map(|path| sealed(path)).collect();
        assert_eq!(sealed(&scrap.path("out.root")), wanted);
        let tree = &merged.trees[0];
        assert_eq!(
            (tree.level, tree.copied.0, tree.recompressed, tree.embedded),
            (Level::Copy, wanted.len() as u64, (0, 0), (0, 0))
        );
        assert_eq!((tree.figures.entries, tree.figures.baskets), (3 * entries as u64, wanted.len() as u64));
        assert_eq!(values(&scrap.path("out.root")), (0..3 * entries).collect::<Vec<_>>());
        assert_eq!(merged.objects, 3);
    }
}

#[test]
fn large_baskets_do_not_pass_through_memory() {
    let scrap = Scrap::new("kernel");
    let noise = |n: i64| n.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (n << 17);
    let mut file = FileWriter::recreate(scrap.path("a.root"), WriteOptions::default()).unwrap();
    let tree = TreeOptions { auto_flush: Every::Entries(20_000), ..TreeOptions::default() };
    let mut tree = file.tree("deep/t", vec![BranchSpec::number("x", Number::I64)], tree).unwrap();
    let all: Vec<i64> = (0..200_000).map(noise).collect();
    tree.extend(&[("x", Values::from(&all))]).unwrap();
    tree.close().unwrap();
    file.close().unwrap();
    let path = scrap.path("a.root");
    let merged = merge(&how(), &scrap.path("out.root"), &[path.clone(), path.clone()]).unwrap();
    assert!(merged.trees[0].copied.1 > 2_000_000, "{merged:?}");
    assert_eq!(values(&scrap.path("out.root"))[200_000..], (0..200_000).map(noise).collect::<Vec<_>>());
    // A store that is no file is read instead, each byte of a basket once.
    let ledger = Arc::new(Ledger::default());
    let run =
        how().run(scrap.path("read.root"), std::slice::from_ref(&path), &|path| told(&ledger, path), &mut |_| Flow::Go);
    let stored = run.unwrap().trees[0].copied.1 as usize;
    let bytes = ledger.bytes.load(Ordering::SeqCst);
    assert!((stored..stored + 100_000).contains(&bytes), "{bytes} of {stored}");
    assert_eq!(sealed(&scrap.path("read.root")), sealed(&path));
}

#[test]
fn few_are_open_at_a_time() {
    let scrap = Scrap::new("open");
    let inputs: Vec<String> = (0..60).map(|n| scrap.input(&format!("{n:02}.root"), n * 10, 10, 32_000)).collect();
    for open_files in [1, 2, 7] {
        let ledger = Arc::new(Ledger::default());
        let how = Merge { open_files, ..how() };
        let merged = how.run(scrap.path("out.root"), &inputs, &|path| told(&ledger, path), &mut |_| Flow::Go).unwrap();
        assert_eq!((merged.inputs, merged.trees[0].figures.clusters), (60, 60));
        assert!(ledger.most.load(Ordering::SeqCst) <= open_files, "{:?} of {open_files}", ledger.most);
        assert_eq!(ledger.open.load(Ordering::SeqCst), 0);
        assert_eq!(values(&scrap.path("out.root")), (0..600).collect::<Vec<_>>());
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let scrap = Scrap::new("same");
    let inputs: Vec<String> = (0..9).map(|n| scrap.input(&format!("{n}.root"), n, 500, 300)).collect();
    for packing in [Packing::Keep, Packing::First, Packing::As("zstd:3".parse().unwrap())] {
        let mut made: Vec<Vec<u8>> = Vec::new();
        for (threads, open_files) in [(1, 1), (2, 5), (4, 100)] {
            let session = Session::with_threads(threads);
            merge(&Merge { packing, open_files, session, ..how() }, &scrap.path("out.root"), &inputs).unwrap();
            made.push(std::fs::read(scrap.path("out.root")).unwrap());
        }
        assert!(made.iter().all(|bytes| *bytes == made[0]), "{packing:?}");
    }
}

#[test]
fn a_failed_merge_leaves_an_output_unchanged() {
    let scrap = Scrap::new("wrong");
    let good: Vec<String> = (0..2).map(|n| scrap.input(&format!("{n}.root"), 100 * n, 100, 200)).collect();
    let output = scrap.path("out.root");
    merge(&how(), &output, &good).unwrap();
    let before = values(&output);
    // A basket that says to be longer than it is is met while baskets are copied.
    let mut bytes = std::fs::read(&good[0]).unwrap();
    let at = bytes.windows(8).position(|word| word == b"\x07TBasket").unwrap() - 34;
    bytes[at..at + 4].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
    std::fs::write(scrap.path("bad.root"), bytes).unwrap();
    let inputs = [good[1].clone(), scrap.path("bad.root"), good[0].clone()];
    for append in [false, true] {
        let error = merge(&Merge { append, ..how() }, &output, &inputs).unwrap_err();
        assert!(error.to_string().contains("bad.root"), "{error}");
        assert_eq!(values(&output), before);
    }
    let merged = merge(&Merge { append: true, skips: true, ..how() }, &output, &inputs).unwrap();
    assert_eq!((merged.skipped.len(), merged.inputs), (1, 2));
    assert_eq!(values(&output), [before, (100..200).collect(), (0..100).collect()].concat());
    let stop = how().run(&output, &good, &|path| File::open(path), &mut |_| Flow::Stop).unwrap_err();
    assert_eq!(stop.kind(), ErrorKind::Cancelled);
    let missing = [good[0].clone(), scrap.path("none.root")];
    assert_eq!(merge(&how(), &output, &missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(merge(&how(), &output, &[]).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(std::fs::read_dir(&scrap.0).unwrap().count(), 4, "nothing unfinished is left");
}

#[test]
fn names_choose_objects_and_directories() {
    let scrap = Scrap::new("listed");
    let inputs: Vec<String> = (0..2).map(|n| scrap.input(&format!("{n}.root"), 100 * n, 100, 200)).collect();
    let keys = |listed: Option<Listed>, trees: bool| -> Vec<String> {
        merge(&Merge { listed, trees, ..how() }, &scrap.path("out.root"), &inputs).unwrap();
        let keys = File::open(scrap.path("out.root")).unwrap().keys(true).unwrap();
        keys.into_iter().map(|found| format!("{};{}", found.path, found.key.cycle)).collect()
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(None, true), ["deep;1", "deep/t;1", "note;2", "note;1"]);
    assert_eq!(keys(None, false), ["deep;1", "note;2", "note;1"]);
    assert_eq!(keys(Some(Listed::Only(names(&["note"]))), true), ["deep;1", "note;2", "note;1"]);
    assert_eq!(keys(Some(Listed::Only(names(&["deep"]))), true), ["deep;1", "deep/t;1"]);
    assert_eq!(keys(Some(Listed::Skip(names(&["deep"]))), true), ["note;2", "note;1"]);
    assert_eq!(keys(Some(Listed::Skip(names(&["t"]))), true), ["deep;1", "note;2", "note;1"]);
}

#[test]
fn damaged_baskets_are_found_where_that_is_asked_for() {
    let scrap = Scrap::new("damaged");
    let inputs = vec![scrap.input("one.root", 0, 1_000, 800), scrap.input("two.root", 1_000, 1_000, 800)];
    let file = File::open(&inputs[1]).unwrap();
    let tree = file.tree("deep/t").unwrap();
    let sapwood::tree::BasketBytes::Stored { seek, nbytes } = tree.branch("x").unwrap().baskets()[3].bytes else {
        panic!("no basket")
    };
    let mut bytes = std::fs::read(&inputs[1]).unwrap();
    bytes[(seek + u64::from(nbytes)) as usize - 40..][..30].fill(0xA5);
    std::fs::write(&inputs[1], bytes).unwrap();
    let output = scrap.path("all.root");
    let merged = merge(&how(), &output, &inputs).unwrap();
    assert!(merged.unread() == merged.trees[0].copied.0 && merged.unread() > 0);
    assert!(!merged.verified && verify_file(&File::open(&output).unwrap()).is_damaged(), "copied as it was");
    let error = merge(&Merge { verify: true, ..how() }, &output, &inputs).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Checksum), "{error}");
    assert!(error.to_string().contains("two.root") && error.to_string().contains("basket 3"), "{error}");
    assert_eq!(File::open(&output).unwrap().tree("deep/t").unwrap().entries, 2_000, "the output is what it was");
    let merged = merge(&Merge { verify: true, ..how() }, &output, &inputs[..1]).unwrap();
    assert!(merged.verified && merged.trees[0].copied.0 > 0 && merged.unread() == 0);
}
