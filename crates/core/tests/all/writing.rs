//! What is written, read back by the reader of this crate. What real ROOT and uproot make of it is tested in `tests/`.

use std::sync::Arc;

use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore, Sink};
use sapwood::schema::Draft;
use sapwood::write::{BranchSpec, Every, FileWriter, Foreign, TreeOptions, TreeWriter, Values, WriteOptions, recover};
use sapwood::{Error, ErrorKind, File, OpenOptions, Session, read};

fn options(compression: &str, threads: usize) -> WriteOptions {
    WriteOptions {
        compression: Some(compression.parse().expect("a codec")),
        session: Session::with_threads(threads),
        reproducible: true,
        ..WriteOptions::default()
    }
}

fn open(sink: &MemorySink) -> File {
    let store = Arc::new(MemoryStore::new("written.root", sink.to_bytes()));
    File::from_store(store, OpenOptions::default()).expect("a file")
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<f32> {
    values.into_iter().collect()
}

/// Entry `e` has `e % 4` items of `e + k / 8`, and the text `entry e`.
fn write(sink: &Arc<MemorySink>, how: WriteOptions, entries: usize, step: usize, tree: TreeOptions) {
    let mut file = FileWriter::to_sink(Arc::clone(sink), "written.root", how).expect("a file");
    let specs = vec![
        BranchSpec::number("x", Number::F32),
        BranchSpec::number("m", Number::F32).with_dimensions([2, 2]),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::F32, "n"),
        BranchSpec::jagged("w", Number::F32, "n"),
        BranchSpec::text("text"),
    ];
    let mut tree = file.tree("folder/tree", specs, tree).expect("a tree");
    for start in (0..entries).step_by(step) {
        let rows = start..entries.min(start + step);
        let x = floats(rows.clone().map(|e| e as f32));
        let m = floats(rows.clone().flat_map(|e| (0..4).map(move |k| (4 * e + k) as f32)));
        let v = floats(rows.clone().flat_map(|e| (0..e % 4).map(move |k| e as f32 + k as f32 / 8.0)));
        let texts: Vec<String> = rows.clone().map(|e| format!("entry {e}")).collect();
        let ends = rows.scan(0, |end, e| {
            *end += e as i64 % 4;
            Some(*end)
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        tree.extend(&[
            ("x", Values::from(&x)),
            ("m", Values::from(&m)),
            ("v", Values::lists(&offsets, &v)),
            ("w", Values::lists(&offsets, &v)),
            ("text", Values::strings(&texts)),
        ])
        .expect("rows");
    }
    tree.close().expect("a tree");
    file.close().expect("a file");
}

fn check(file: &File, entries: usize) {
    let tree = file.tree("folder/tree").expect("what was written");
    assert_eq!(tree.entries, entries as u64);
    let column = |name: &str| {
        let id = tree.branch(name).expect("what was written").id;
        read::columns(&tree, &[id], 0..tree.entries).expect("what was written").remove(0)
    };
    let x: Vec<f32> = column("x").numbers().expect("what was written");
    assert!(x.iter().enumerate().all(|(e, &x)| x == e as f32) && x.len() == entries);
    let m: Vec<f32> = column("m").numbers().expect("what was written");
    assert!(m.iter().enumerate().all(|(k, &m)| m == k as f32) && m.len() == 4 * entries);
    let v = column("v");
    assert_eq!(v.buffers(), column("w").buffers());
    let offsets = v.offsets();
    let numbers: Vec<f32> = v.numbers().expect("what was written");
    for e in 0..entries {
        let list = &numbers[offsets[e] as usize..offsets[e + 1] as usize];
        assert!(list.len() == e % 4 && list.iter().enumerate().all(|(k, &v)| v == e as f32 + k as f32 / 8.0));
    }
    assert_eq!(column("text").len, entries);
}

#[test]
fn trees_come_back_with_every_codec() {
    for compression in ["zlib:0", "zlib:1", "zstd:5", "lz4:4", "lzma:3"] {
        let sink = Arc::new(MemorySink::default());
        write(&sink, options(compression, 1), 10_000, 3_000, TreeOptions::default());
        check(&open(&sink), 10_000);
    }
}

#[test]
fn clusters_and_baskets_are_as_wished() {
    let sink = Arc::new(MemorySink::default());
    let wish = TreeOptions { auto_flush: Every::Entries(1_000), basket_bytes: 2_000, ..TreeOptions::default() };
    write(&sink, options("zstd:1", 1), 5_500, 500, wish);
    let file = open(&sink);
    check(&file, 5_500);
    let tree = file.tree("folder/tree").unwrap();
    let clusters = tree.clusters();
    assert_eq!((clusters.len(), &clusters[0], &clusters[5]), (6, &(0..1_000), &(5_000..5_500)));
    for branch in tree.branches() {
        let baskets = branch.baskets();
        assert!(clusters.iter().all(|cluster| baskets.iter().any(|basket| basket.entries.start == cluster.start)));
        let seeks: Vec<u64> = baskets
            .iter()
            .map(|basket| match basket.bytes {
                sapwood::tree::BasketBytes::Stored { seek, .. } => seek,
                sapwood::tree::BasketBytes::Embedded(_) => panic!("an embedded basket"),
            })
            .collect();
        assert!(seeks.is_sorted(), "a full read never goes back");
    }
    assert_eq!(tree.branch("x").unwrap().baskets().len(), 5 * 2 + 1, "4,000 bytes in baskets of 2,000");
}

#[test]
fn many_rows_at_once_become_clusters_as_rows_by_rows_do() {
    let written = |step: usize| {
        let sink = Arc::new(MemorySink::default());
        let tree = TreeOptions { auto_flush: Every::Entries(640), basket_bytes: 3_000, ..TreeOptions::default() };
        write(&sink, options("zlib:1", 1), 5_000, step, tree);
        sink.to_bytes()
    };
    assert!(written(5_000) == written(37));
    let sink = Arc::new(MemorySink::default());
    let tree = TreeOptions { cluster_bytes: 100_000, ..TreeOptions::default() };
    write(&sink, options("zlib:1", 1), 20_000, 20_000, tree);
    let file = open(&sink);
    check(&file, 20_000);
    assert!(file.tree("folder/tree").unwrap().clusters().len() > 8, "about a hundred bytes a row");
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let written = |threads: usize| {
        let sink = Arc::new(MemorySink::default());
        let tree = TreeOptions { auto_flush: Every::Entries(2_100), ..TreeOptions::default() };
        write(&sink, options("zstd:5", threads), 5_000, 700, tree);
        sink.to_bytes()
    };
    assert!(written(1) == written(4));
}

#[test]
fn the_layout_of_a_file_does_not_depend_on_threads() {
    let written = |threads: usize| {
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "two.root", options("zstd:5", threads)).expect("a file");
        let wish = |entries| TreeOptions { auto_flush: Every::Entries(entries), ..TreeOptions::default() };
        let mut trees = [("a", 300), ("b", 170)].map(|(name, entries)| {
            file.tree(name, vec![BranchSpec::number("x", Number::F32)], wish(entries)).expect("a tree")
        });
        for step in 0..40 {
            for tree in &mut trees {
                let values = floats((0..100).map(|i| (step * i) as f32));
                tree.extend(&[("x", Values::from(&values))]).expect("rows");
            }
            let note = Draft::new("TObjString").with("fString", "between");
            file.write("note", note).expect("an object");
        }
        let [a, b] = trees;
        b.close().expect("rows");
        a.close().expect("rows");
        file.close().expect("a file");
        sink.to_bytes()
    };
    let one = written(1);
    assert!((0..5).all(|_| written(3) == one));
}

#[test]
fn many_rows_at_once_in_the_threads_of_the_pool() {
    let written = |threads: usize, codec: &str, step: usize| {
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "large.root", options(codec, threads)).expect("a file");
        let wish = TreeOptions { auto_flush: Every::Entries(150_000), ..TreeOptions::default() };
        let specs = vec![
            BranchSpec::number("x", Number::F32),
            BranchSpec::counter("n"),
            BranchSpec::jagged("list", Number::F32, "n"),
            BranchSpec::text("text"),
        ];
        let mut tree = file.tree("t", specs, wish).expect("a tree");
        let x = floats((0..1_000_000).map(|i| (i % 977) as f32));
        let ends = (0..1_000_000).scan(0, |end, i| {
            *end += i % 4;
            Some(*end)
        });
        let all: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let items = floats((0..all[1_000_000]).map(|i| (i % 31) as f32));
        for start in (0..1_000_000).step_by(step) {
            let (from, to) = (all[start] as usize, all[start + step] as usize);
            let offsets: Vec<i64> = all[start..=start + step].iter().map(|end| end - all[start]).collect();
            let texts = all[start..=start + step].windows(2).map(|pair| "x".repeat((pair[1] - pair[0]) as usize));
            tree.extend(&[
                ("x", Values::from(&x[start..start + step])),
                ("list", Values::lists(&offsets, &items[from..to])),
                ("text", Values::strings(texts)),
            ])
            .expect("rows");
        }
        tree.close().expect("rows");
        file.close().expect("a file");
        sink.to_bytes()
    };
    for codec in ["none", "zlib:1"] {
        let one = written(1, codec, 1_000_000);
        assert!(written(3, codec, 1_000_000) == one, "{codec}: threads");
        assert!(written(3, codec, 100_000) == one, "{codec}: steps");
    }
    // The same from inside the pool: a thread that waits works.
    let session = Session::with_threads(2);
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { session: session.clone(), ..options("zlib:1", 2) };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "inside.root", how).expect("a file");
    let wish = TreeOptions { auto_flush: Every::Entries(100), ..TreeOptions::default() };
    let mut trees: Vec<_> = (0..4)
        .map(|tree| {
            file.tree(&format!("t{tree}"), vec![BranchSpec::number("x", Number::F32)], wish.clone()).expect("a tree")
        })
        .collect();
    let fill = |tree: &mut TreeWriter| {
        for step in 0..50 {
            let x = floats((0..70).map(|i| (step * 70 + i) as f32));
            tree.extend(&[("x", Values::from(&x))]).expect("rows");
        }
    };
    let mut outside = trees.pop().expect("a tree");
    std::thread::scope(|scope| {
        scope.spawn(|| fill(&mut outside));
        let pool = session.pool().expect("a pool");
        pool.scope(|scope| trees.iter_mut().for_each(|tree| scope.spawn(move |_| fill(tree))));
    });
    trees.into_iter().chain([outside]).for_each(|tree| tree.close().expect("rows"));
    file.close().expect("a file");
    let file = open(&sink);
    assert!((0..4).all(|tree| file.tree(&format!("t{tree}")).expect("a tree").entries == 3_500));
}

#[test]
fn records_and_marked_gaps_fill_a_file() {
    let sink = Arc::new(MemorySink::default());
    write(
        &sink,
        options("zlib:1", 1),
        3_000,
        1_000,
        TreeOptions { auto_flush: Every::Entries(1_000), ..TreeOptions::default() },
    );
    let file = open(&sink);
    let records = file.records().unwrap();
    let mut at = 100;
    let mut gaps = Vec::new();
    for (place, record) in records {
        assert_eq!(place, at);
        at += match record {
            sapwood::container::Record::Key(key) => u64::from(key.nbytes),
            sapwood::container::Record::Gap(bytes) => {
                gaps.push((place, bytes));
                bytes
            }
        };
    }
    assert_eq!(at, file.header().end);
    let free = file.free_segments().unwrap();
    let known: Vec<_> = free[..free.len() - 1].iter().map(|free| (free.first, free.last + 1 - free.first)).collect();
    assert_eq!(gaps, known);
}

#[test]
fn objects_of_one_name_get_cycles() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "written.root", options("zlib:1", 1)).unwrap();
    for text in ["first", "second"] {
        file.write("a/b/text", Draft::new("TObjString").with("fString", text)).unwrap();
    }
    file.close().unwrap();
    let file = open(&sink);
    let text = |path: &str| file.object(path).unwrap().member("fString").unwrap().as_text().unwrap();
    assert_eq!((text("a/b/text;1").as_str(), text("a/b/text").as_str()), ("first", "second"));
}

#[test]
fn invalid_values_are_refused_and_nothing_is_added() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "written.root", options("zlib:1", 1)).unwrap();
    let specs = vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::I16, "n"),
        BranchSpec::jagged("w", Number::I16, "n"),
    ];
    let mut tree = file.tree("t", specs.clone(), TreeOptions::default()).unwrap();
    let two = [7_i16, 8];
    let good =
        || [("x", Values::from(&[0.5])), ("v", Values::lists(&[0, 2], &two)), ("w", Values::lists(&[0, 2], &two))];
    let no_numbers: [f64; 0] = [];
    for (at, name, bad, words) in [
        (0, "x", Values::from(&[0.5_f32]), "branch \"x\" holds float64, and was given float32: convert them first"),
        (0, "x", Values::from(&[1_i64]), "holds float64, and was given int64"),
        (0, "x", Values::from(&no_numbers), "was given another number of entries"),
        (0, "x", Values::lists(&[0, 1], &[0.5]), "was given 1 levels of lists, and has 0"),
        (0, "x", Values::strings(["x"]), "holds float64, and was given strings"),
        (2, "w", Values::lists(&[0, 1], &two), "lists that do not end with their items"),
        (2, "w", Values::lists(&[0, 3, 2], &two), "lists that end before they begin"),
        (2, "w", Values::lists(&[1, 2], &two), "offsets that do not begin with 0"),
        (2, "w", Values::lists(&[], &two[..0]), "offsets that do not begin with 0"),
        (2, "w", Values::lists(&[0, 1], &two[..1]), "share a counter, and their lists differ"),
        (2, "w", Values::lists(&[0, 2], &[7_u16, 8]), "holds lists of int16, and was given lists of uint16"),
        (2, "w", Values::nested(&[&[0, 1], &[0, 2]], &two), "was given 2 levels of lists, and has 1"),
        (2, "w", Values::from(&two), "was given 0 levels of lists, and has 1"),
        (2, "v", Values::lists(&[0, 2], &two), "values twice"),
        (2, "z", Values::from(&[0.5]), "there is no branch \"z\""),
        (2, "n", Values::from(&[2_i32]), "counts others"),
    ] {
        let mut rows = good();
        rows[at] = (name, bad);
        let error = tree.extend(&rows).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Mismatch | ErrorKind::NotFound), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(tree.extend(&good()[..2]).is_err(), "no values for w");
    tree.extend(&good()).unwrap();
    tree.close().unwrap();
    for bad in [
        vec![specs[0].clone(), specs[0].clone()],
        vec![specs[2].clone()],
        vec![BranchSpec::number("a\0b", Number::F32)],
        vec![BranchSpec::number("", Number::F32)],
        vec![BranchSpec::number("a", Number::F32).with_dimensions([0])],
    ] {
        assert!(file.tree("u", bad, TreeOptions::default()).is_err());
    }
    file.close().unwrap();
    let read = open(&sink);
    assert_eq!(read.tree("t").unwrap().entries, 1);
    assert!(read.tree("u").is_err());
}

#[test]
fn a_tree_that_was_closed_is_resumed_with_other_compression() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "a.root", options("none", 1)).unwrap();
    let usual = TreeOptions::default;
    let specs = || vec![BranchSpec::number("x", Number::U8), BranchSpec::number("y", Number::U8)];
    let rows = vec![7_u8; 5000];
    let fill = |mut tree: TreeWriter| {
        tree.extend(&[("x", Values::from(&rows)), ("y", Values::from(&rows))]).unwrap();
        tree.close().unwrap();
    };
    // Without a save in between, too: the tree gets its key then.
    fill(file.tree("t", specs(), TreeOptions { begins_saved: false, ..usual() }).unwrap());
    let zstd = "zstd:5".parse().unwrap();
    fill(file.resume("t", &[("x".into(), zstd)], usual()).unwrap());
    let open_tree = file.resume("t", &[], usual()).unwrap();
    let refused = |file: &mut FileWriter, path: &str, branch: Option<&str>| {
        let compression: Vec<_> = branch.into_iter().map(|name| (name.into(), zstd)).collect();
        file.resume(path, &compression, usual()).unwrap_err().kind()
    };
    assert_eq!(refused(&mut file, "t", None), ErrorKind::Mismatch); // it is open
    open_tree.close().unwrap();
    assert_eq!(refused(&mut file, "t", Some("z")), ErrorKind::NotFound);
    assert_eq!(refused(&mut file, "none", None), ErrorKind::NotFound);
    file.write("note", Draft::new("TObjString").with("fString", "no tree")).unwrap();
    assert_eq!(refused(&mut file, "note", None), ErrorKind::Mismatch);
    file.close().unwrap();
    let tree = open(&sink).tree("t").unwrap();
    let stored = |id: usize| tree.branches()[id].baskets().iter().map(|basket| basket.entries.end).collect::<Vec<_>>();
    assert_eq!((tree.entries, stored(0), stored(1)), (10_000, vec![5000, 10_000], vec![5000, 10_000]));
    assert_eq!((tree.branches()[0].compress, tree.branches()[1].compress % 100), (505, 0));
}

/// Memory of another language that can be copied up to some byte.
#[derive(Debug)]
struct Torn {
    bytes: Vec<u8>,
    good: usize,
}

impl Foreign for Torn {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn read(&self, range: std::ops::Range<usize>, into: &mut dyn FnMut(&[u8])) -> sapwood::Result<()> {
        for start in range.clone().step_by(1 << 10) {
            let end = range.end.min(start + (1 << 10));
            if end > self.good {
                return Err(Error::new(ErrorKind::Mismatch, "the memory is gone"));
            }
            into(&self.bytes[start..end]);
        }
        Ok(())
    }
}

#[test]
fn memory_that_cannot_be_copied_adds_no_row() {
    let numbers: Vec<u8> = (0..4_000_u32).flat_map(u32::to_ne_bytes).collect();
    let ends: Vec<i64> = (1..=1_000).map(|list| 4 * list).collect();
    let memory = |good: usize| Torn { bytes: numbers.clone(), good };
    let (whole, torn, lists) = (memory(usize::MAX), memory(2_000), memory(10_000));
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "torn.root", options("zlib:1", 1)).unwrap();
    let specs = vec![
        BranchSpec::number("x", Number::U32).with_dimensions([4]),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::U32, "n"),
    ];
    let mut tree = file.tree("t", specs, TreeOptions::default()).unwrap();
    let mut give = |x: &Torn, v: &Torn| {
        let x = Values::from_foreign(Number::U32, &[], x);
        let v = Values::from_foreign(Number::U32, &[&ends], v);
        tree.extend(&[("x", x), ("v", v)]).map(|()| tree.taken())
    };
    assert_eq!(give(&whole, &whole).unwrap(), 1_000);
    for (x, v) in [(&torn, &whole), (&whole, &lists)] {
        assert!(give(x, v).unwrap_err().to_string().contains("the memory is gone"));
    }
    assert_eq!(give(&whole, &whole).unwrap(), 2_000);
    tree.close().unwrap();
    file.close().unwrap();
    let tree = open(&sink).tree("t").unwrap();
    let ids = ["x", "v"].map(|name| tree.branch(name).unwrap().id);
    let columns = read::columns(&tree, &ids, 0..2_000).unwrap();
    let twice: Vec<u32> = (0..4_000).chain(0..4_000).collect();
    assert_eq!(columns[0].numbers::<u32>().unwrap()[..], twice);
    assert_eq!(columns[1].numbers::<u32>().unwrap()[..], twice);
}

/// Notes where the bytes lie that it is given.
#[derive(Debug, Default)]
struct Lengths(std::sync::Mutex<Vec<usize>>);

impl Sink for Lengths {
    fn write_at(&self, _: u64, parts: &[std::io::IoSlice<'_>]) -> sapwood::Result<()> {
        self.0.lock().expect("a lock").extend(parts.iter().map(|part| part.len()));
        Ok(())
    }

    fn sync(&self) -> sapwood::Result<()> {
        Ok(())
    }
}

#[test]
fn numbers_without_compression_are_written_from_the_rows() {
    let numbers: Vec<f64> = (0..100_000).map(f64::from).collect();
    let parts = |compression: &str| {
        let sink = Arc::new(Lengths::default());
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "parts.root", options(compression, 1)).unwrap();
        let specs = vec![BranchSpec::number("x", Number::F64)];
        let mut tree = file.tree("t", specs, TreeOptions::default()).unwrap();
        tree.extend(&[("x", Values::from(&numbers))]).unwrap();
        tree.close().unwrap();
        file.close().unwrap();
        let parts = sink.0.lock().unwrap();
        parts.iter().filter(|&&bytes| bytes >= 20_000 && bytes % 8 == 0).sum::<usize>()
    };
    // As parts of their own, without the keys that a record begins with.
    assert_eq!(parts("none"), 800_000);
    assert!(parts("zlib:1") < 400_000);
}

/// The entries of a tree of 3,000 branches, and the codec of its record.
fn record_of_wide(bytes: Vec<u8>) -> (u64, String) {
    let store = Arc::new(MemoryStore::new("wide.root", bytes.clone()));
    let file = File::from_store(store, OpenOptions::default()).expect("a file");
    let tree = file.tree("wide").expect("a tree");
    let key = file.key("wide").expect("its key");
    assert_eq!((key.objlen > 1 << 20, tree.branches().len()), (true, 3_000));
    let at = key.seek_key as usize + usize::from(key.keylen);
    (tree.entries, String::from_utf8_lossy(&bytes[at..at + 2]).into_owned())
}

#[test]
fn the_record_of_a_wide_tree_is_compressed_as_the_file_asks_once_it_is_the_last() {
    let names: Vec<String> = (0..3_000).map(|number| format!("branch{number:06}")).collect();
    for end in ["the tree, then the file", "the file, then the tree", "recovered"] {
        let sink = Arc::new(MemorySink::default());
        let specs = names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect();
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "written.root", options("lzma:1", 1)).expect("a file");
        let mut tree = file.tree("wide", specs, TreeOptions::default()).expect("a tree");
        assert_eq!(record_of_wide(sink.to_bytes().to_vec()), (0, "ZL".into()));
        let columns: Vec<_> = names.iter().map(|name| (name.as_str(), Values::from(&[1.5_f32]))).collect();
        tree.extend(&columns).expect("rows");
        tree.flush().expect("a cluster");
        if end == "recovered" {
            let path = sapwood_testkit::scratch("wide-recovered.root");
            std::fs::write(&path, sink.to_bytes()).expect("a disk");
            drop((tree, file));
            recover(&path, false, options("lzma:1", 1)).expect("a file");
            assert_eq!(record_of_wide(std::fs::read(&path).expect("a disk")), (1, "XZ".into()), "{end}");
            continue;
        }
        file.save().expect("a save");
        assert_eq!(record_of_wide(sink.to_bytes().to_vec()), (1, "ZL".into()));
        if end == "the file, then the tree" {
            let error = file.close().expect_err("a tree is open").to_string();
            assert!(error.contains("closed before the tree") && error.contains("wide"), "{error}");
            drop(tree);
        } else {
            tree.close().expect("nothing is left");
            file.close().expect("a closed file");
        }
        assert_eq!(
            record_of_wide(sink.to_bytes().to_vec()),
            (1, "XZ".into()),
            "{end}: nothing was added since the last save"
        );
    }
}

#[test]
fn a_tree_of_a_deleted_directory_is_not_written_again() {
    let sink = Arc::new(MemorySink::default());
    let names: Vec<String> = (0..3_000).map(|number| format!("branch{number:06}")).collect();
    let specs = names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect();
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "written.root", options("zlib:6", 1)).expect("a file");
    let tree = file.tree("folder/wide", specs, TreeOptions::default()).expect("a tree");
    file.save().expect("a save");
    tree.close().expect("a tree");
    file.remove("folder").expect("a folder");
    file.close().expect("a closed file");
    let trees = open(&sink).records().expect("records").into_iter().filter(|(_, record)| match record {
        sapwood::container::Record::Key(key) => &*key.class == "TTree",
        sapwood::container::Record::Gap(_) => false,
    });
    assert_eq!(trees.count(), 0);
}

#[test]
fn files_that_are_written_one_after_another_take_the_same_memory() {
    for (compression, threads) in [("zlib:0", 1), ("zlib:0", 2), ("zstd:1", 2)] {
        let how = options(compression, threads);
        let memory = how.session.memory().clone();
        let values: Vec<f64> = (0..400_000).map(|value| f64::from(value).sqrt()).collect();
        let mut idle = Vec::new();
        for _ in 0..5 {
            let sink = Arc::new(MemorySink::default());
            let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", how.clone()).unwrap();
            let specs = vec![BranchSpec::number("x", Number::F64), BranchSpec::number("y", Number::F64)];
            let small = TreeOptions { auto_flush: Every::Bytes(6_000_000), ..TreeOptions::default() };
            let mut tree = file.tree("t", specs, small).unwrap();
            for _ in 0..4 {
                tree.extend(&[("x", Values::from(&values[..])), ("y", Values::from(&values[..]))]).unwrap();
            }
            tree.close().unwrap();
            file.close().unwrap();
            idle.push(memory.idle_bytes());
        }
        assert_eq!(idle[1], idle[4], "{compression}, {threads}: {idle:?}");
    }
}
