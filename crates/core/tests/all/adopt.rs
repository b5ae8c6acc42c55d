//! Finished files whose baskets the system copies: none passes through memory unless storage does not take it.

use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sapwood::column::Number;
use sapwood::inspect::verify::verify_file;
use sapwood::io::{ByteRange, MemorySink, MemoryStore, Sink, Store};
use sapwood::schema::Draft;
use sapwood::write::{BranchSpec, Every, FileWriter, ParallelWriter, TreeOptions, Values, WriteOptions};
use sapwood::{Error, ErrorKind, File, OpenOptions, Result, Session, read};

/// Memory that counts how bytes come, takes no copies while it is full, and may cut a file short when it is to copy
/// from it again.
#[derive(Debug, Default)]
struct Counting {
    inner: MemorySink,
    written: AtomicU64,
    copied: AtomicU64,
    is_full: AtomicBool,
    cuts: Mutex<Option<PathBuf>>,
}

impl Sink for Counting {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        self.written.fetch_add(parts.iter().map(|part| part.len() as u64).sum(), Ordering::Relaxed);
        self.inner.write_at(offset, parts)
    }

    fn copy_at(&self, offset: u64, from: &dyn Store, range: ByteRange) -> Result<()> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Io, "the disk is full"));
        }
        if self.copied.load(Ordering::Relaxed) > 0
            && let Some(path) = self.cuts.lock().expect("a lock").take()
        {
            std::fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(1_000)).expect("a file");
        }
        self.copied.fetch_add(range.end - range.start, Ordering::Relaxed);
        self.inner.copy_at(offset, from, range)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
}

const BYTES: usize = 8;

fn options() -> WriteOptions {
    WriteOptions { session: Session::with_threads(1), reproducible: true, ..WriteOptions::default() }
}

fn wish(entries: u64) -> TreeOptions {
    let compression = Some(sapwood::codec::Compression::NONE);
    TreeOptions { auto_flush: Every::Entries(entries), basket_bytes: 100_000, compression, ..TreeOptions::default() }
}

fn specs() -> Vec<BranchSpec> {
    vec![BranchSpec::number("x", Number::I64), BranchSpec::number("y", Number::I64)]
}

/// A file of a test, with rows of x, and y = -x, in clusters of 10,000.
fn part(name: &str, rows: std::ops::Range<i64>) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sapwood-adopt-{}-{name}.root", std::process::id()));
    let mut file = FileWriter::recreate(&path, options()).expect("a file");
    let mut tree = file.tree("t", specs(), wish(10_000)).expect("a tree");
    let x: Vec<i64> = rows.clone().collect();
    let y: Vec<i64> = rows.map(|x| -x).collect();
    tree.extend(&[("x", Values::from(&x)), ("y", Values::from(&y))]).expect("rows");
    tree.close().expect("a tree");
    file.close().expect("a file");
    path
}

fn target(sink: &Arc<Counting>) -> (FileWriter, ParallelWriter) {
    let mut file = FileWriter::to_sink(Arc::clone(sink), "target.root", options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), wish(10_000)).expect("a tree");
    (file, tree)
}

/// The values of `x`; `y` is the same below zero.
fn values(sink: &Counting) -> Vec<i64> {
    let store = Arc::new(MemoryStore::new("target.root", sink.inner.to_bytes()));
    let file = File::from_store(store, OpenOptions::default()).expect("a file");
    let report = verify_file(&file);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let tree = file.tree("t").expect("a tree");
    let columns = read::columns(&tree, &[0, 1], 0..tree.entries).expect("whole rows");
    let [x, y] = [0, 1].map(|at| columns[at].numbers::<i64>().expect("numbers"));
    assert!(x.iter().zip(&y).all(|(x, y)| *x == -y));
    x
}

#[test]
fn baskets_of_a_file_are_copied_by_the_system() {
    let (sink, path) = (Arc::new(Counting::default()), part("copied", 0..25_000));
    let (file, tree) = target(&sink);
    let before = sink.written.load(Ordering::Relaxed);
    let rows = tree.adopt(&File::open(&path).expect("a file").tree("t").expect("a tree")).expect("rows");
    let (written, copied) = (sink.written.load(Ordering::Relaxed) - before, sink.copied.load(Ordering::Relaxed));
    assert_eq!(rows, 25_000);
    assert!(copied as usize > 2 * 25_000 * BYTES, "{copied} bytes were copied");
    assert!(written < 4_000, "{written} bytes went through memory");
    std::fs::remove_file(path).expect("a file");
    tree.close().expect("a tree");
    file.close().expect("a file");
    assert!(values(&sink).into_iter().eq(0..25_000));
}

#[test]
fn numbered_files_wait_in_memory() {
    let sink = Arc::new(Counting::default());
    let (file, tree) = target(&sink);
    let mut context = tree.numbered();
    for (number, rows) in [(1, 25_000..40_000), (0, 0..25_000)] {
        let path = part("numbered", rows);
        context.adopt(number, &File::open(&path).expect("a file").tree("t").expect("a tree")).expect("rows");
        // Its owner writes the next one over it.
        std::fs::write(&path, [7; 1_000_000]).expect("a file");
        std::fs::remove_file(path).expect("a file");
    }
    drop(context);
    tree.close().expect("a tree");
    file.close().expect("a file");
    assert!(values(&sink).into_iter().eq(0..40_000));
}

#[test]
fn clusters_kept_after_a_full_disk_do_not_need_their_source_file() {
    let (sink, path) = (Arc::new(Counting::default()), part("full", 0..9_000));
    let (file, tree) = target(&sink);
    sink.is_full.store(true, Ordering::Relaxed);
    let error = tree.adopt(&File::open(&path).expect("a file").tree("t").expect("a tree")).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("full"), "{error}");
    std::fs::write(&path, [7; 1_000_000]).expect("a file");
    sink.is_full.store(false, Ordering::Relaxed);
    let next = part("next", 9_000..12_000);
    assert_eq!(tree.adopt(&File::open(&next).expect("a file").tree("t").expect("a tree")).expect("rows"), 3_000);
    tree.close().expect("a tree");
    file.close().expect("a file");
    assert!(values(&sink).into_iter().eq(0..12_000));
    for path in [path, next] {
        std::fs::remove_file(path).expect("a file");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_copied_loses_only_its_own_rows() {
    let (sink, path) = (Arc::new(Counting::default()), part("cut", 0..25_000));
    let (file, tree) = target(&sink);
    *sink.cuts.lock().expect("a lock") = Some(path.clone());
    let error = tree.adopt(&File::open(&path).expect("a file").tree("t").expect("a tree")).unwrap_err();
    assert!(error.kind() == ErrorKind::Changed && error.to_string().contains("-cut.root"), "{error}");
    let next = part("whole", 50_000..60_000);
    assert_eq!(tree.adopt(&File::open(&next).expect("a file").tree("t").expect("a tree")).expect("rows"), 10_000);
    tree.close().expect("a tree");
    file.close().expect("a file");
    assert!(values(&sink).into_iter().eq((0..10_000).chain(50_000..60_000)));
    for path in [path, next] {
        std::fs::remove_file(path).expect("a file");
    }
}

#[test]
fn a_file_that_was_not_closed_is_refused() {
    let (sink, path) = (Arc::new(Counting::default()), part("open", 0..100));
    let (_file, tree) = target(&sink);
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes.truncate(bytes.len() - 10);
    std::fs::write(&path, bytes).expect("a file");
    let error = tree.adopt(&File::open(&path).expect("a file").tree("t").expect("a tree")).unwrap_err();
    assert!(error.kind() == ErrorKind::Malformed && error.to_string().contains("not closed"), "{error}");
    assert_eq!(tree.entries().expect("a tree"), 0);
    std::fs::remove_file(path).expect("a file");
}

#[test]
fn differences_are_named() {
    let (sink, path) = (Arc::new(Counting::default()), part("other", 0..10));
    let mut file = FileWriter::to_sink(sink, "target.root", options()).expect("a file");
    let number = |name, kind| BranchSpec::number(name, kind);
    let (other, more) = (vec![number("x", Number::F32), number("y", Number::I64)], number("z", Number::U8));
    let cases = [
        ("f", other, "x", "its type is x/F here and x/L in the finished tree"),
        (
            "x",
            vec![number("y", Number::I64), number("x", Number::I64)],
            "y",
            "the finished tree has branch x at this position",
        ),
        ("o", vec![number("x", Number::I64)], "y", "the tree that is filled has no such branch"),
        ("m", [specs(), vec![more]].concat(), "z", "the finished tree has no such branch"),
    ];
    let opened = File::open(&path).expect("a file");
    for (folder, specs, name, words) in cases {
        let tree = file.parallel_tree(&format!("{folder}/t"), specs, wish(10)).expect("a tree");
        let error = tree.adopt(&opened.tree("t").expect("a tree")).unwrap_err();
        assert_eq!((error.message(), error.place().object.as_deref()), (words, Some(name)));
        assert!(error.to_string().contains("-other.root"), "{error}");
    }
    std::fs::remove_file(path).expect("a file");
}

#[test]
fn other_objects_of_a_finished_file_are_not_lost_silently() {
    let part = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&part), "part.root", options()).expect("a file");
    let mut fill = |path: &str| {
        let mut tree = file.tree(path, specs(), wish(10)).expect("a tree");
        let values: Vec<i64> = (0..10).collect();
        tree.extend(&[("x", Values::from(&values)), ("y", Values::from(&values))]).expect("rows");
        tree.close().expect("a tree");
    };
    fill("t");
    fill("other/t");
    file.write("h", Draft::new("TObjString").with("fString", "a histogram")).expect("an object");
    file.close().expect("a file");
    let part = File::from_store(Arc::new(MemoryStore::new("part.root", part.to_bytes())), OpenOptions::default());
    let tree = part.expect("a file").tree("t").expect("a tree");
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "out.root", options()).expect("a file");
    let whole = file.parallel_tree("t", specs(), wish(10)).expect("a tree");
    let error = whole.adopt(&tree).expect_err("there is more");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.message().contains("t, other/t, h"), "{error}");
    assert_eq!(whole.numbered().adopt(0, &tree).expect_err("there is more").kind(), ErrorKind::Mismatch);
    assert_eq!(whole.adopt_only(&tree).expect("the tree alone"), 10);
    whole.close().expect("a tree");
    file.close().expect("a file");
}
