//! Statistics of baskets and pages: cuts keep the same entries with and without them, and what does not belong to a
//! file is not used.

use std::fs;
use std::path::Path;

use sapwood::column::{Kind, ListOf, Native, Number};
use sapwood::inspect::index::{Options, check, make};
use sapwood::query::{Draw, Query};
use sapwood::read::{Column, Selection};
use sapwood::statistics::SideFile;
use sapwood::table::Table;
use sapwood::write::{BranchSpec, Every, FieldSpec, FileWriter, NTupleOptions, TreeOptions, Values, WriteOptions};
use sapwood::{File, OpenOptions, Session, UseStatistics};

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }
}

/// The columns of the tests, each with its own habit.
struct Data {
    run: Vec<i32>,
    x: Vec<f64>,
    f: Vec<f32>,
    u: Vec<u64>,
    i: Vec<i64>,
    b: Vec<bool>,
    s: Vec<u8>,
    ends: Vec<i64>,
    v: Vec<f32>,
}

fn data(entries: usize, seed: u64) -> Data {
    let mut random = Random(seed);
    let mut data = Data {
        run: Vec::new(),
        x: Vec::new(),
        f: Vec::new(),
        u: Vec::new(),
        i: Vec::new(),
        b: Vec::new(),
        s: Vec::new(),
        ends: vec![0],
        v: Vec::new(),
    };
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, f64::MIN_POSITIVE, f64::MAX];
    for entry in 0..entries {
        // Blocks of values that differ, so that some baskets can be left out.
        let block = entry / 97;
        data.run.push((entry / 50) as i32 - 10);
        let is_strange = block % 5 == 1 && random.below(4) == 0;
        data.x.push(if is_strange { random.of(&strange) } else { block as f64 + random.part() });
        data.f.push((100.0 * random.part() - 50.0) as f32 * if block % 3 == 0 { 0.01 } else { 1.0 });
        data.u.push(if block % 4 == 0 { u64::MAX - random.next() % 100 } else { random.next() % 50 });
        data.i.push(match block % 6 {
            0 => i64::MIN + random.below(5) as i64,
            1 => i64::MAX - random.below(5) as i64,
            2 => 0,
            _ => random.below(20) as i64 - 10,
        });
        data.b.push(block % 4 == 2 || block % 4 == 3 && random.below(2) == 0);
        data.s.push(random.below(1 + block % 7) as u8);
        let items = if block % 5 == 3 { 0 } else { random.below(4) };
        for _ in 0..items {
            let is_nan = block % 7 == 2 && random.below(6) == 0;
            data.v.push(if is_nan { f32::NAN } else { block as f32 + 30.0 * random.part() as f32 });
        }
        data.ends.push(data.v.len() as i64);
    }
    data
}

fn write_tree(path: &Path, data: &Data, compression: &str) {
    let options = WriteOptions { compression: Some(compression.parse().expect("it works")), ..WriteOptions::default() };
    let mut file = FileWriter::recreate(path, options).expect("it works");
    let specs = vec![
        BranchSpec::number("run", Number::I32),
        BranchSpec::number("x", Number::F64),
        BranchSpec::number("f", Number::F32),
        BranchSpec::number("u", Number::U64),
        BranchSpec::number("i", Number::I64),
        BranchSpec::number("b", Number::Bool),
        BranchSpec::number("s", Number::U8),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::F32, "n"),
    ];
    let options = TreeOptions { auto_flush: Every::Entries(60), ..TreeOptions::default() };
    let mut tree = file.tree("t", specs, options).expect("it works");
    tree.extend(&[
        ("run", Values::from(&data.run[..])),
        ("x", Values::from(&data.x[..])),
        ("f", Values::from(&data.f[..])),
        ("u", Values::from(&data.u[..])),
        ("i", Values::from(&data.i[..])),
        ("b", Values::from(&data.b[..])),
        ("s", Values::from(&data.s[..])),
        ("v", Values::lists(&data.ends, &data.v[..])),
    ])
    .expect("it works");
    tree.close().expect("it works");
    file.close().expect("it works");
}

fn bytes_of<T: Native>(values: &[T], of: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    values.iter().flat_map(of).collect()
}

/// An RNTuple of these values, of which some of `x` are absent.
fn write_ntuple(path: &Path, data: &Data) {
    let mut file = FileWriter::recreate(path, WriteOptions::default()).expect("it works");
    let number = |number| Kind::Number { buffer: 0, number };
    let option = Kind::OneOf { tags: 0, of: vec![Kind::Number { buffer: 1, number: Number::F64 }] };
    let item = Box::new(Kind::Number { buffer: 1, number: Number::F32 });
    let list = Kind::List { offsets: 0, of: ListOf::Sequence, item };
    let specs = vec![
        FieldSpec::new("run", number(Number::I32)),
        FieldSpec::new("x", option.clone()),
        FieldSpec::new("f", number(Number::F32)),
        FieldSpec::new("u", number(Number::U64)),
        FieldSpec::new("i", number(Number::I64)),
        FieldSpec::new("b", number(Number::Bool)),
        FieldSpec::new("s", number(Number::U8)),
        FieldSpec::new("v", list.clone()),
    ];
    let options = NTupleOptions { cluster_entries: Some(300), page_bytes: 256, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("t", specs, options).expect("it works");
    let rows = data.run.len();
    let is_absent = |entry: usize| (entry / 97) % 4 == 1;
    let tags: Vec<u8> = (0..rows).map(|entry| if is_absent(entry) { u8::MAX } else { 0 }).collect();
    let there: Vec<f64> = (0..rows).filter(|entry| !is_absent(*entry)).map(|entry| data.x[entry]).collect();
    let x = vec![tags.into(), bytes_of(&there, |value| value.to_ne_bytes().to_vec()).into()];
    let v = vec![
        bytes_of(&data.ends, |end| end.to_ne_bytes().to_vec()).into(),
        bytes_of(&data.v, |value| value.to_ne_bytes().to_vec()).into(),
    ];
    ntuple
        .extend(&[
            ("run", Column::from_numbers(&data.run)),
            ("x", Column::from_buffers(option, rows, x)),
            ("f", Column::from_numbers(&data.f)),
            ("u", Column::from_numbers(&data.u)),
            ("i", Column::from_numbers(&data.i)),
            ("b", Column::from_numbers(&data.b)),
            ("s", Column::from_numbers(&data.s)),
            ("v", Column::from_buffers(list, rows, v)),
        ])
        .expect("it works");
    ntuple.close().expect("it works");
    file.close().expect("it works");
}

fn open(path: &Path, is_on: bool) -> Table {
    let statistics = UseStatistics { is_on, ..UseStatistics::default() };
    let options = OpenOptions { session: Session::with_threads(1), statistics, ..OpenOptions::default() };
    File::open_with(path, options).expect("it works").table("t").expect("it works")
}

fn index(path: &Path) -> SideFile {
    let made = make(&File::open(path).expect("it works"), &Options::default()).expect("it works");
    made.side_file.write(SideFile::path_of(path)).expect("it works");
    SideFile::read(SideFile::path_of(path)).expect("it works")
}

fn number(random: &mut Random, depth: usize) -> String {
    const COLUMNS: [&str; 8] = ["run", "x", "f", "u", "i", "b", "s", "Entry$"];
    if depth == 0 || random.below(3) == 0 {
        return match random.below(8) {
            0 => format!("{}", random.below(60)),
            1 => format!("{:.2}", 60.0 * random.part() - 20.0),
            2 => random.of(&["18446744073709551570", "9223372036854775805", "0", "1e300", "-1", "2.5"]).to_owned(),
            _ => random.of(&COLUMNS).to_owned(),
        };
    }
    let [a, b] = [(); 2].map(|()| number(random, depth - 1));
    match random.below(24) {
        0 | 1 => format!("({a} + {b})"),
        2 => format!("({a} - {b})"),
        3 => format!("({a} * {b})"),
        4 => format!("({a} / {b})"),
        5 => format!("({a} // {b})"),
        6 => format!("({a} % {b})"),
        7 => format!("({a})**{}", random.of(&["2", "3", "0.5", "1", "-1"])),
        8 => format!("-({a})"),
        9 => {
            let name =
                random.of(&["abs", "sqrt", "exp", "log", "floor", "ceil", "sin", "fabs", "square", "atan", "tanh"]);
            format!("{name}({a})")
        }
        10 => {
            let name = random.of(&["max", "min", "hypot", "pow", "fmax", "TMath::Max", "copysign"]);
            format!("{name}({a}, {b})")
        }
        11 => format!("({}){}", random.of(&["int", "bool", "float", "char", "unsigned", "long", "ULong64_t"]), a),
        12 => format!("({} ? {a} : {b})", condition(random, depth - 1)),
        13 | 14 => format!("{}({})", random.of(&["Sum$", "Max$", "Min$", "Length$"]), list(random, depth - 1)),
        15 => format!("{}({})", random.of(&["sum", "max", "min", "mean", "count", "argmax"]), list(random, depth - 1)),
        16 => format!("v[{}]", random.of(&["0", "1", "2", "7", "s"])),
        17 => format!("Sum$({})", condition_of_list(random, depth - 1)),
        18 => format!("({a} & {b})"),
        19 => format!("({a} >> {})", random.below(5)),
        20 => format!("(~{a})"),
        21 => format!("MaxIf$(v, {})", condition_of_list(random, depth - 1)),
        22 => format!("where({}, {a}, {b})", condition(random, depth - 1)),
        _ => format!("Alt$(v[1], {a})"),
    }
}

fn list(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(2) == 0 {
        return random.of(&["v", "v", "v[:, 1:]", "v[v > 20]", "pair_first(v)"]).to_owned();
    }
    let a = list(random, depth - 1);
    let b = number(random, depth - 1);
    match random.below(6) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} * {b})"),
        2 => format!("({b} - {a})"),
        3 => format!("sqrt({a})"),
        4 => format!("({a})**2"),
        _ => format!("({a} - v)"),
    }
}

fn condition_of_list(random: &mut Random, depth: usize) -> String {
    let operator = random.of(&["<", "<=", ">", ">=", "==", "!="]);
    format!("({} {operator} {})", list(random, depth), number(random, depth.min(1)))
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.below(2) == 0 {
        let [a, b] = [(); 2].map(|()| condition(random, depth - 1));
        return match random.below(5) {
            0 | 1 => format!("({a} && {b})"),
            2 | 3 => format!("({a} || {b})"),
            _ => format!("!({a})"),
        };
    }
    match random.below(8) {
        0 => number(random, depth),
        1 => random.of(&["b", "!b", "isnan(x)", "x == x", "n > 2", "all(v > 10)", "any(v > 40)"]).to_owned(),
        2 => condition_of_list(random, depth),
        _ => {
            let operator = random.of(&["<", "<=", ">", ">=", "==", "!="]);
            format!("({} {operator} {})", number(random, depth), number(random, depth.min(1)))
        }
    }
}

/// Compares the entries of random cuts with and without statistics. Returns how many cuts were compared, and entries
/// that could not pass, that all passed, and that were looked at.
fn compare_random_cuts(path: &Path, cuts: usize, seed: u64) -> (usize, [u64; 3]) {
    let [with, without] = [true, false].map(|statistics| open(path, statistics));
    // More cuts, and other ones, on request.
    let more: u64 = std::env::var("STATISTICS_ROUND").ok().and_then(|round| round.parse().ok()).unwrap_or(0);
    let mut random = Random(seed + 1000 * more);
    let mut compared = 0;
    let mut totals = [0; 3];
    for _ in 0..cuts {
        let depth = 1 + random.below(3);
        let text = condition(&mut random, depth);
        let Ok(query) = Query::new(&without).cut(&text) else { continue };
        let Ok(wanted) = query.passing(0..without.entries()) else { continue };
        let query = Query::new(&with).cut(&text).expect("it works");
        let found = query.passing(0..with.entries()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, wanted, "{text}");
        let read = query.clone().value("Entry$").expect("it works").read(0..with.entries()).expect("it works");
        assert_eq!(read.entries, wanted, "{text}");
        // Some of the entries, as an entry list has them.
        let some =
            Selection::of_ranges((0..with.entries()).step_by(50).map(|first| first..first + 20)).expect("it works");
        let wanted_of_some: Vec<u64> = some.ranges().flatten().filter(|entry| wanted.row(*entry).is_some()).collect();
        let found: Vec<u64> = query.passing(&some).expect("it works").ranges().flatten().collect();
        assert_eq!(found, wanted_of_some, "{text}");
        compared += 1;
        if let Some(decided) = query.decided(0..with.entries()).expect("it works") {
            let parts = [decided.none.len(), decided.all.len(), decided.look.len()];
            assert_eq!(parts.iter().sum::<u64>(), with.entries(), "{text}");
            totals.iter_mut().zip(parts).for_each(|(total, part)| *total += part);
        }
    }
    (compared, totals)
}

#[test]
fn random_cuts_keep_the_same_entries_of_a_tree() {
    let path = sapwood_testkit::scratch("statistics-tree.root");
    write_tree(&path, &data(3000, 7), "zstd:1");
    let side = index(&path);
    assert_eq!(side.stored().len(), 9, "every column of numbers");
    assert!(side.stored().iter().all(|stored| stored.runs() == 50), "a run per basket");
    let (compared, [none, all, look]) = compare_random_cuts(&path, 4000, 1);
    assert!(compared > 1500, "{compared} cuts were compared");
    assert!(none > 300_000 && all > 300_000 && look > 300_000, "{none} {all} {look}");
    assert_eq!(open(&path, true).file().statistics_notice(), None);
}

#[test]
fn random_cuts_keep_the_same_entries_of_an_rntuple() {
    let path = sapwood_testkit::scratch("statistics-ntuple.root");
    write_ntuple(&path, &data(3000, 11));
    let side = index(&path);
    assert_eq!(side.stored().len(), 8, "every field of numbers");
    // Pages of 256 bytes: 64 numbers of 4 bytes, in clusters of 300 entries.
    assert_eq!(side.column("t", "f", &[]).unwrap().unwrap().runs(), 50);
    let (compared, [none, all, look]) = compare_random_cuts(&path, 4000, 2);
    assert!(compared > 1000, "{compared} cuts were compared");
    assert!(none > 100_000 && all > 100_000 && look > 100_000, "{none} {all} {look}");
}

#[test]
fn histograms_are_the_same_to_the_last_bit() {
    let path = sapwood_testkit::scratch("statistics-draw.root");
    write_tree(&path, &data(3000, 3), "zstd:1");
    index(&path);
    let cuts = ["run > 20", "run > 20 && f > 0", "v > 25", "Sum$(v) > 40", "s * (run < 10)", "run > 1000", "x < 5"];
    for threads in [1, 3] {
        for cut in cuts {
            let drawn = [true, false].map(|is_on| {
                let statistics = UseStatistics { is_on, ..UseStatistics::default() };
                let options =
                    OpenOptions { session: Session::with_threads(threads), statistics, ..OpenOptions::default() };
                let table = File::open_with(&path, options).unwrap().table("t").unwrap();
                let histogram = Draw::new(&table, "f:v", cut).unwrap().run(0..table.entries()).unwrap();
                (histogram.entries(), histogram.statistics().unwrap(), format!("{:?}", histogram.axes()))
            });
            assert_eq!(drawn[0], drawn[1], "{cut}");
        }
    }
}

/// Bytes of baskets that a cut reads.
fn read_bytes(path: &Path, statistics: bool, cut: &str) -> (u64, Vec<u64>) {
    let table = open(path, statistics);
    let query = Query::new(&table).value("x").expect("it works").cut(cut).expect("it works");
    // The stamps of the columns are made of baskets, too.
    query.decided(0..table.entries()).expect("it works");
    table.file().perf().start();
    let answer = query.read(0..table.entries()).expect("it works");
    table.file().perf().stop();
    let bytes = table.file().perf().baskets().len() as u64;
    (bytes, answer.entries.ranges().flatten().collect())
}

#[test]
fn only_baskets_that_can_match_are_read() {
    let path = sapwood_testkit::scratch("statistics-bytes.root");
    write_tree(&path, &data(3000, 5), "zstd:1");
    index(&path);
    // 50 baskets of 60 entries; run 20 is entries 1500 to 1549: of baskets 25 alone.
    assert_eq!(read_bytes(&path, false, "run == 20").0, 50 + 1);
    assert_eq!(read_bytes(&path, true, "run == 20").0, 1 + 1);
    assert_eq!(read_bytes(&path, true, "run == 20").1, (1500..1550).collect::<Vec<u64>>());
    // Nothing passes: nothing is read. All pass: the cut is not read.
    assert_eq!(read_bytes(&path, true, "run > 1000"), (0, Vec::new()));
    assert_eq!(read_bytes(&path, true, "run > -100").0, 50);
    // A cut at random reads what it read before.
    let [with, without] = [true, false].map(|on| read_bytes(&path, on, "f > 0.2 && f < 0.3"));
    assert_eq!(with.1, without.1);
    assert!(with.0 <= without.0);
}

fn assert_unused(path: &Path, why: &str) {
    let table = open(path, true);
    let query = Query::new(&table).cut("run == 20").expect("it works");
    assert_eq!(query.decided(0..table.entries()).expect("it works"), None, "{why}");
    let found = query.passing(0..table.entries()).expect("it works");
    let without = open(path, false);
    assert_eq!(
        found,
        Query::new(&without).cut("run == 20").expect("it works").passing(0..without.entries()).expect("it works"),
        "{why}"
    );
    let notice = table.file().statistics_notice().unwrap_or_else(|| panic!("{why}: no notice"));
    assert!(notice.contains("not used"), "{notice}");
    assert_eq!(table.file().statistics_notice(), None, "{why}: a second notice");
}

#[test]
fn statistics_of_another_file_are_not_used() {
    let path = sapwood_testkit::scratch("statistics-stale.root");
    let first = data(3000, 5);
    write_tree(&path, &first, "0");
    index(&path);
    assert!(Query::new(&open(&path, true)).cut("run == 20").unwrap().decided(0..3000).unwrap().is_some());
    // A file that is moved with its side file is the same; nothing shows that of a copy.
    let other = sapwood_testkit::scratch("statistics-moved.root");
    let rename = |from: &Path, to: &Path| {
        fs::rename(from, to).unwrap();
        fs::rename(SideFile::path_of(from), SideFile::path_of(to)).unwrap();
    };
    rename(&path, &other);
    assert!(Query::new(&open(&other, true)).cut("run == 20").unwrap().decided(0..3000).unwrap().is_some());
    rename(&other, &path);
    fs::copy(&path, &other).unwrap();
    fs::copy(SideFile::path_of(&path), SideFile::path_of(&other)).unwrap();
    assert_unused(&other, "it is a copy");
    // More entries.
    let mut file = FileWriter::update(&path, WriteOptions::default()).unwrap();
    let mut tree = file.append("t", TreeOptions::default()).unwrap();
    let more = data(30, 6);
    tree.extend(&[
        ("run", Values::from(&more.run[..])),
        ("x", Values::from(&more.x[..])),
        ("f", Values::from(&more.f[..])),
        ("u", Values::from(&more.u[..])),
        ("i", Values::from(&more.i[..])),
        ("b", Values::from(&more.b[..])),
        ("s", Values::from(&more.s[..])),
        ("v", Values::lists(&more.ends, &more.v[..])),
    ])
    .unwrap();
    tree.close().unwrap();
    file.close().unwrap();
    assert_unused(&path, "entries were appended");
    // Other values in baskets of the same sizes at the same places: nothing but the bytes differs.
    let places = [("all", 0..3000), ("in the first basket", 30..31), ("in another basket", 1500..1501)];
    for (name, changed) in places {
        let options =
            WriteOptions { compression: Some("0".parse().unwrap()), reproducible: true, ..WriteOptions::default() };
        let write = |runs: &[i32]| {
            let mut file = FileWriter::recreate(&path, options.clone()).unwrap();
            let specs = vec![BranchSpec::number("run", Number::I32)];
            let tree_options = TreeOptions { auto_flush: Every::Entries(60), ..TreeOptions::default() };
            let mut tree = file.tree("t", specs, tree_options).unwrap();
            tree.extend(&[("run", Values::from(runs))]).unwrap();
            tree.close().unwrap();
            file.close().unwrap();
        };
        write(&first.run);
        index(&path);
        let mut other = first.run.clone();
        changed.for_each(|entry| other[entry] = 20);
        write(&other);
        assert_unused(&path, name);
    }
}

#[test]
fn a_folder_of_side_files_serves_files_that_may_not_be_touched() {
    let path = sapwood_testkit::scratch("statistics-folder.root");
    write_tree(&path, &data(3000, 5), "zstd:1");
    let folder = std::env::temp_dir().join(format!("sapwood-statistics-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let made = make(&File::open(&path).unwrap(), &Options { columns: vec!["r*".into()] }).unwrap();
    made.side_file.write(SideFile::path_in(&folder, &path.to_string_lossy())).unwrap();
    let received = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let notices = std::sync::Arc::clone(&received);
    let on_notice = move |words: &str| notices.lock().unwrap().push(words.to_owned());
    let statistics = UseStatistics {
        folder: Some(folder.clone()),
        on_notice: Some(std::sync::Arc::new(on_notice)),
        ..UseStatistics::default()
    };
    let options = OpenOptions { statistics, ..OpenOptions::default() };
    let table = File::open_with(&path, options.clone()).unwrap().table("t").unwrap();
    let decided = Query::new(&table).cut("run == 20").unwrap().decided(0..3000).unwrap().unwrap();
    assert_eq!((decided.runs_none, decided.runs_look), (49, 1));
    // Another file of this name.
    write_tree(&path, &data(3000, 9), "zstd:1");
    let table = File::open_with(&path, options).unwrap().table("t").unwrap();
    assert_eq!(Query::new(&table).cut("run == 20").unwrap().decided(0..3000).unwrap(), None);
    assert_eq!(received.lock().unwrap().len(), 1);
    assert_eq!(table.file().statistics_notice(), None, "it went to the receiver");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_side_file_that_is_damaged_is_not_used() {
    let path = sapwood_testkit::scratch("statistics-damaged.root");
    write_tree(&path, &data(3000, 5), "zstd:1");
    index(&path);
    let beside = SideFile::path_of(&path);
    let good = fs::read(&beside).unwrap();
    for (why, bytes) in [
        ("cut off", good[..good.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("another kind of file", b"root and more".to_vec()),
        ("changed", [&good[..100], &[good[100] ^ 1], &good[101..]].concat()),
    ] {
        fs::write(&beside, bytes).unwrap();
        assert_unused(&path, why);
    }
    // A long file without content takes no memory, with its true length in the head or another one.
    for stored in [None, Some(1_u64 << 40)] {
        let mut head = good.clone();
        if let Some(len) = stored {
            head[16..24].copy_from_slice(&len.to_le_bytes());
        }
        fs::write(&beside, &head).unwrap();
        fs::OpenOptions::new().write(true).open(&beside).unwrap().set_len(1 << 40).unwrap();
        assert_unused(&path, "sparse");
    }
    // Reading from a pipe would never end.
    fs::remove_file(&beside).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&beside).status();
    assert!(made.unwrap().success());
    assert_unused(&path, "a pipe");
    fs::remove_file(&beside).unwrap();
    fs::write(&beside, &good).unwrap();
    let file = File::open(&path).unwrap();
    let side = SideFile::read(&beside).unwrap();
    assert_eq!(check(&file, &side).unwrap().right, 9);
}

#[test]
fn a_check_finds_statistics_that_lie_and_those_of_other_states() {
    let path = sapwood_testkit::scratch("statistics-check.root");
    write_tree(&path, &data(600, 5), "zstd:1");
    let file = File::open(&path).unwrap();
    let made = make(&file, &Options { columns: vec!["run".into(), "x".into()] }).unwrap().side_file;
    let table = file.table("t").unwrap();
    let [run, x] = ["run", "x"].map(|name| made.column("t", name, &[]).unwrap().unwrap());
    let stamp = |name| table.stamp(table.find(name).unwrap()).unwrap().unwrap();
    let mut lies = SideFile::default();
    lies.add("t", "f", &[], stamp("f"), &run).unwrap();
    lies.add("t", "x", &[], stamp("x"), &x).unwrap();
    lies.add("t", "run", &[], stamp("run") ^ 1, &run).unwrap();
    lies.add("other", "run", &[], stamp("run"), &run).unwrap();
    let checked = check(&file, &lies).unwrap();
    assert_eq!(checked.right, 1);
    assert_eq!(
        (checked.wrong, checked.stale),
        (vec!["f of t".to_owned()], vec!["run of t".into(), "run of other".into()])
    );
    // Numbers of another type are not used, whatever they say.
    lies.write(SideFile::path_of(&path)).unwrap();
    let decided = Query::new(&open(&path, true)).cut("f > 1000").unwrap().decided(0..600).unwrap();
    assert_eq!(decided.map(|decided| decided.look.len()), Some(600));
}

#[test]
fn trees_of_one_name_keep_their_own_statistics() {
    let path = sapwood_testkit::scratch("statistics-folders.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    for (name, first) in [("t", 0), ("a/t", 1000), ("b/t", 2000)] {
        let specs = vec![BranchSpec::number("run", Number::I32)];
        let mut tree = file.tree(name, specs, TreeOptions::default()).unwrap();
        let runs: Vec<i32> = (first..first + 100).collect();
        tree.extend(&[("run", Values::from(&runs[..]))]).unwrap();
        tree.close().unwrap();
    }
    file.close().unwrap();
    index(&path);
    let file = File::open(&path).unwrap();
    for (name, first) in [("t", 0), ("a/t", 1000), ("b/t", 2000), ("a/t", 1000)] {
        let table = file.table(name).unwrap();
        for other in [0, 1000, 2000] {
            let cut = format!("run >= {other} && run < {}", other + 100);
            let query = Query::new(&table).cut(&cut).unwrap();
            let decided = query.decided(0..100).unwrap().unwrap();
            assert_eq!(decided.all.len(), if other == first { 100 } else { 0 }, "{name}, {cut}");
            assert_eq!(decided.none.len(), if other == first { 0 } else { 100 }, "{name}, {cut}");
        }
    }
    assert_eq!(file.statistics_notice(), None);
}

#[test]
fn a_hundred_thousand_runs_are_decided_at_once() {
    use sapwood::statistics::{ColumnStatistics, Extremes, Summary};
    let run = |number: i64| Summary {
        entries: 100,
        items: 100,
        extremes: Some(Extremes::Signed(number, number)),
        shortest: 1,
        longest: 1,
        ..Summary::default()
    };
    let column = ColumnStatistics::new(Number::I32, 0, 0, (0..100_000).map(run).collect()).unwrap();
    let mut side = SideFile::default();
    side.add("t", "run", &[], 1, &column).unwrap();
    let bytes = side.to_bytes().unwrap();
    // Two extremes of 4 bytes and the number of entries.
    assert!(bytes.len() < 100_000 * 12 + 200, "{}", bytes.len());
    let again = SideFile::from_bytes(bytes.into()).unwrap();
    let again = again.column("t", "run", &[]).unwrap().unwrap();
    assert_eq!(again.over(0..10_000_000).unwrap().extremes, Some(Extremes::Signed(0, 99_999)));
    assert_eq!(*again, column);
}
