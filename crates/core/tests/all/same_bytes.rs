//! Outputs keep their bytes: a spread of files is written with fixed dates and UUIDs, and their hashes are compared
//! with those recorded in `data/same_bytes.txt`. A change that is not meant to alter files must not alter this list;
//! one that is meant to records it anew with `SAPWOOD_RECORD=1 cargo test -p sapwood --test all same_bytes`, and says
//! in its commit what changed.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::fmt::Write as _;
use std::hash::Hasher;
use std::path::PathBuf;

use sapwood::column::Number;
use sapwood::hist::{Axis, Efficiency, Graph, Histogram};
use sapwood::io::Flow;
use sapwood::merge::{Merge, Packing};
use sapwood::schema::Draft;
use sapwood::write::{
    Baskets, BranchSpec, Every, FileWriter, Order, Remake, Rewrite, TreeOptions, TreeWriter, Values, WriteOptions,
};
use sapwood::{Entry, File, Session};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/same_bytes.txt");

#[derive(Entry, Default)]
struct Hit {
    channel: u32,
    charges: Vec<f32>,
    name: String,
}

#[derive(Entry, Default)]
struct Event {
    number: u64,
    first: Hit,
    hits: Vec<Hit>,
    pairs: Vec<Vec<i16>>,
}

#[derive(Entry, Default)]
struct Pick {
    best: Option<Hit>,
}

fn hit(number: u64, k: u64) -> Hit {
    Hit {
        channel: (number * 7 + k) as u32,
        charges: (0..k % 4).map(|q| (number + q) as f32 / 3.0).collect(),
        name: format!("hit {k} of {number}"),
    }
}

fn event(number: u64) -> Event {
    Event {
        number,
        first: hit(number, 1),
        hits: (0..number % 5).map(|k| hit(number, k)).collect(),
        pairs: (0..number % 3).map(|n| (0..n).map(|k| (k * number) as i16).collect()).collect(),
    }
}

struct Spread {
    folder: PathBuf,
    threads: usize,
    hashes: String,
}

impl Spread {
    fn options(&self, compression: &str) -> WriteOptions {
        WriteOptions {
            compression: Some(compression.parse().unwrap()),
            session: Session::with_threads(self.threads),
            reproducible: true,
            ..WriteOptions::default()
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.root"))
    }

    fn create(&self, name: &str, compression: &str) -> FileWriter {
        let sink = sapwood::io::LocalFile::create(self.path(name)).unwrap();
        FileWriter::to_sink(sink, name, self.options(compression)).unwrap()
    }

    fn open(&self, name: &str) -> File {
        File::open(self.path(name)).unwrap()
    }

    /// Notes the length and the hash of a file.
    fn note(&mut self, name: &str) {
        let bytes = std::fs::read(self.path(name)).unwrap();
        let mut hasher = twox_hash::XxHash64::with_seed(0);
        hasher.write(&bytes);
        writeln!(self.hashes, "{name} {} {:016x}", bytes.len(), hasher.finish()).unwrap();
    }
}

fn specs() -> Vec<BranchSpec> {
    vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::number("m", Number::U16).with_dimensions([3]),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::I32, "n"),
        BranchSpec::text("text"),
    ]
}

fn fill(tree: &mut TreeWriter, rows: std::ops::Range<i64>) {
    let x: Vec<f64> = rows.clone().map(|e| e as f64 / 8.0).collect();
    let m: Vec<u16> = rows.clone().flat_map(|e| (0..3).map(move |k| (e + k) as u16)).collect();
    let v: Vec<i32> = rows.clone().flat_map(|e| (0..e % 4).map(move |k| (e * k) as i32)).collect();
    let texts: Vec<String> = rows.clone().map(|e| format!("entry {e}")).collect();
    let ends = rows.scan(0, |end, e| {
        *end += e % 4;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    tree.extend(&[
        ("x", Values::from(&x)),
        ("m", Values::from(&m)),
        ("v", Values::lists(&offsets, &v)),
        ("text", Values::strings(&texts)),
    ])
    .unwrap();
}

fn clusters(entries: u64) -> TreeOptions {
    TreeOptions { auto_flush: Every::Entries(entries), basket_bytes: 2_000, ..TreeOptions::default() }
}

fn plain(spread: &mut Spread) {
    for compression in ["none", "zlib:1", "zlib:6", "lz4:1", "lz4:9", "lzma:1", "zstd:5"] {
        let name = format!("plain-{}", compression.replace(':', "-"));
        let mut file = spread.create(&name, compression);
        file.write("note", Draft::new("TObjString").with("fString", "a note")).unwrap();
        file.mkdir("below/here").unwrap();
        let mut tree = file.tree("folder/t", specs(), clusters(700)).unwrap();
        fill(&mut tree, 0..1_000);
        fill(&mut tree, 1_000..3_000);
        tree.close().unwrap();
        file.close().unwrap();
        spread.note(&name);
    }
}

fn objects(spread: &mut Spread) {
    for (split, member_wise) in [(0, false), (1, true), (99, false), (99, true)] {
        let name = format!("objects-{split}-{member_wise}");
        let mut file = spread.create(&name, "zstd:5");
        let options = TreeOptions { member_wise, ..clusters(200) };
        let mut tree = file.entries::<Event>("t", "event", split, options).unwrap();
        (0..1_000).for_each(|number| tree.fill(&event(number)).unwrap());
        tree.close().unwrap();
        let mut tree = file.entries::<Pick>("picks", "pick", split, clusters(70)).unwrap();
        for number in 0..100 {
            tree.fill(&Pick { best: (number % 2 == 0).then(|| hit(number, 2)) }).unwrap();
        }
        tree.close().unwrap();
        file.close().unwrap();
        spread.note(&name);
    }
}

fn rewritten(spread: &mut Spread) {
    for source in ["plain-zlib-6", "objects-99-true"] {
        let path = if source.starts_with("plain") { "folder/t" } else { "t" };
        let ways: [(&str, Rewrite); 5] = [
            ("entry", Rewrite { baskets: Baskets::New(clusters(500)), ..Rewrite::default() }),
            ("branch", Rewrite { baskets: Baskets::New(clusters(300)), order: Order::Branch, ..Rewrite::default() }),
            ("kept", Rewrite { baskets: Baskets::Keep, order: Order::Branch, ..Rewrite::default() }),
            ("offset", Rewrite { baskets: Baskets::Keep, order: Order::Offset, ..Rewrite::default() }),
            ("some", Rewrite { entries: Some(vec![10..50, 333..777]), ..Rewrite::default() }),
        ];
        for (way, how) in ways {
            let name = format!("rewritten-{source}-{way}");
            let mut file = spread.create(&name, "lz4:4");
            file.rewrite(&spread.open(source), path, "new/t", &how).unwrap();
            file.close().unwrap();
            spread.note(&name);
        }
    }
    let name = "remade";
    let writer = spread.create(name, "zlib:1");
    writer.remake(&spread.open("plain-lz4-1"), || File::open(spread.path(name)), &Remake::default()).unwrap();
    spread.note(name);
}

fn merged(spread: &mut Spread) {
    let level = |text: &str| Packing::As(text.parse().unwrap());
    let ways = [
        ("kept", Merge::default()),
        ("packed", Merge { packing: level("zstd:1"), ..Merge::default() }),
        ("reclustered", Merge { recluster: Some(clusters(900)), ..Merge::default() }),
    ];
    let inputs = ["plain-zlib-6", "plain-none", "plain-lz4-9"];
    let inputs: Vec<String> = inputs.iter().map(|name| spread.path(name).to_string_lossy().into_owned()).collect();
    for (way, how) in ways {
        let name = format!("merged-{way}");
        let session = Session::with_threads(spread.threads);
        let how = Merge { replaces: true, reproducible: true, session, ..how };
        let merged = how.run(spread.path(&name), &inputs, &|path| File::open(path), &mut |_| Flow::Go).unwrap();
        assert!(!merged.trees.is_empty());
        spread.note(&name);
    }
}

fn parallel(spread: &mut Spread) {
    let mut file = spread.create("parallel", "zlib:1");
    let tree = file.parallel_tree("t", specs(), clusters(100)).unwrap();
    let mut context = tree.numbered();
    for number in 0..20 {
        let mut unit = context.unit(number).unwrap();
        fill(&mut unit, 130 * number as i64..130 * (number as i64 + 1));
        unit.close().unwrap();
    }
    tree.close().unwrap();
    file.close().unwrap();
    spread.note("parallel");
}

fn updated(spread: &mut Spread) {
    let copy = |from: &str, to: &str| std::fs::copy(spread.path(from), spread.path(to)).unwrap();
    copy("plain-zlib-6", "updated");
    let mut file = FileWriter::update(spread.path("updated"), spread.options("zlib:6")).unwrap();
    file.write("note", Draft::new("TObjString").with("fString", "another")).unwrap();
    let mut tree = file.append("folder/t", clusters(700)).unwrap();
    fill(&mut tree, 3_000..4_000);
    tree.close().unwrap();
    file.save().unwrap();
    file.rename("below/here", "above").unwrap();
    file.remove("note;1").unwrap();
    file.copy(&spread.open("objects-99-true"), "t", "copied").unwrap();
    file.close().unwrap();
    spread.note("updated");
}

fn histograms(spread: &mut Spread) {
    let axis = || Axis::regular(5, 0.0, 1.0).unwrap().with_title("x");
    let edges = || Axis::variable(&[0.0, 1.0, 10.0]).unwrap();
    let x: Vec<f64> = (0..2_000).map(|i| f64::from(i % 97) / 80.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x * 11.0).collect();
    for number in 1..=2 {
        let name = format!("histograms-{number}");
        let mut file = spread.create(&name, "zstd:5");
        let weights: Vec<f64> = x.iter().map(|x| x + f64::from(number)).collect();
        for (class, axes) in [("TH1F", vec![axis()]), ("TH2D", vec![axis(), edges()]), ("TProfile", vec![axis()])] {
            let mut made = Histogram::new(class, axes).unwrap().with_name(class);
            let columns = if class == "TH1F" { vec![&x[..]] } else { vec![&x[..], &y[..]] };
            made.fill_many(&columns, Some(&weights)).unwrap();
            file.write(class, made.into_draft()).unwrap();
        }
        let mut labels = Histogram::new("TH1I", [Axis::labelled(["a", "b"]).unwrap()]).unwrap();
        ["b", "c", "d"].iter().for_each(|label| labels.fill_label(label, 1.0).unwrap());
        file.write("labels", labels.into_draft()).unwrap();
        let mut part = Efficiency::new("TH1D", [axis()]).unwrap().with_name("part", "passed");
        x.iter().for_each(|x| part.fill(*x < 0.4, &[*x], 1.0).unwrap());
        file.write("part", part.into_draft()).unwrap();
        let graph = Graph::new(&x[..9], &y[..9]).unwrap().with_errors(&x[9..18], &y[9..18]).unwrap();
        file.write("graph", graph.into_draft()).unwrap();
        file.close().unwrap();
        spread.note(&name);
    }
    let inputs = [1, 2].map(|number| spread.path(&format!("histograms-{number}")).to_string_lossy().into_owned());
    let session = Session::with_threads(spread.threads);
    let how = Merge { replaces: true, reproducible: true, session, ..Merge::default() };
    how.run(spread.path("histograms"), &inputs, &|path| File::open(path), &mut |_| Flow::Go).unwrap();
    spread.note("histograms");
}

/// Writes all files with so many threads, in a folder named after the test; gives a line for each.
fn spread(test: &str, threads: usize) -> String {
    let folder = std::env::temp_dir().join(format!("sapwood-{test}-{}-{threads}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut spread = Spread { folder, threads, hashes: String::new() };
    plain(&mut spread);
    objects(&mut spread);
    rewritten(&mut spread);
    merged(&mut spread);
    parallel(&mut spread);
    updated(&mut spread);
    histograms(&mut spread);
    std::fs::remove_dir_all(&spread.folder).unwrap();
    spread.hashes
}

#[test]
fn outputs_keep_their_bytes() {
    let found = spread("recorded", 1);
    if std::env::var_os("SAPWOOD_RECORD").is_some() {
        std::fs::write(RECORDED, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(RECORDED).unwrap();
    for (found, recorded) in found.lines().zip(recorded.lines()) {
        assert_eq!(found, recorded, "name, length and hash: found, recorded");
    }
    assert_eq!(found.lines().count(), recorded.lines().count());
}

#[test]
fn threads_do_not_change_bytes() {
    assert_eq!(spread("threads", 2), spread("threads", 1));
}
