//! Queries: what a cut reads, what expressions give, and what is refused.

use std::sync::Arc;

use sapwood::column::Number;
use sapwood::query::{Draw, Lengths, Query, Source, draw_many};
use sapwood::read::{Column, Selection};
use sapwood::tree::Tree;
use sapwood::write::{BranchSpec, Every, FileWriter, Item, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions, Session};

const ENTRIES: usize = 1_000;

/// `x` is the entry, `v` has entry % 4 items, and ten clusters.
fn write(name: &str) -> sapwood_testkit::Scratch {
    let path = sapwood_testkit::scratch(name);
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file");
    let specs = vec![BranchSpec::number("x", Number::F64), BranchSpec::vector("v", Item::Number(Number::F32), 1)];
    let options = TreeOptions { auto_flush: Every::Entries(100), ..TreeOptions::default() };
    let mut tree = file.tree("t", specs, options).expect("a tree");
    let x: Vec<f64> = (0..ENTRIES).map(|entry| entry as f64).collect();
    let mut ends = vec![0_i64];
    let mut items = Vec::new();
    for entry in 0..ENTRIES {
        items.extend((0..entry % 4).map(|item| (entry + item) as f32));
        ends.push(items.len() as i64);
    }
    tree.extend(&[("x", Values::from(&x[..])), ("v", Values::lists(&ends, &items))]).expect("rows");
    tree.close().expect("closed");
    file.close().expect("closed");
    path
}

fn open(name: &str, threads: usize) -> Arc<Tree> {
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    File::open_with(write(name), options).expect("a file").tree("t").expect("a tree")
}

fn doubles(tree: &Arc<Tree>, expression: &str, cut: &str) -> Vec<f64> {
    let query = Query::new(tree).value(expression).expect(expression).cut(cut).expect(cut);
    let column = query.read(0..tree.entries).expect(expression).columns.remove(0);
    column.numbers::<f64>().expect("doubles")
}

#[test]
fn answers_do_not_depend_on_threads_or_on_which_entries_are_asked_for() {
    let (one, four) = (open("query-1.root", 1), open("query-4.root", 4));
    for (expression, cut) in
        [("x / 2", "x > 10"), ("Sum$(v) / 1", "Length$(v) > 2"), ("x * Max$(v)", "Alt$(v[1], 0) > 5")]
    {
        assert_eq!(doubles(&one, expression, cut), doubles(&four, expression, cut), "{expression}");
    }
    let query = Query::new(&one).value("x").expect("x").cut("x >= 500").expect("cut");
    let some = Selection::of_entries([3, 499, 500, 777]).expect("entries");
    let found = query.read(&some).expect("rows");
    assert_eq!(found.entries, Selection::of_entries([500, 777]).expect("entries"));
    assert_eq!(found.columns[0].as_slice::<f64>().expect("doubles"), [500.0, 777.0]);
    assert_eq!(query.passing(0..1_000).expect("entries").len(), 500);
    assert!(query.read(0..10).expect("rows").entries.is_empty());
}

#[test]
fn a_cut_needs_only_the_baskets_of_what_passes() {
    let tree = open("query-baskets.root", 1);
    let perf = tree.file().perf();
    let baskets = |query: &Query| {
        perf.start();
        query.read(0..tree.entries).expect("rows");
        let found = perf.baskets().len();
        perf.stop();
        found
    };
    let v = tree.branch("v").expect("v").id;
    let every = baskets(&Query::new(&tree).column(v));
    assert_eq!(every, 10);
    assert_eq!(baskets(&Query::new(&tree).column(v).cut("x == 250 || x == 251").expect("cut")), 10 + 1);
    assert_eq!(baskets(&Query::new(&tree).column(v).cut("x < 0").expect("cut")), 10);
    assert_eq!(baskets(&Query::new(&tree).value("x * 2").expect("x").cut("x > 5").expect("cut")), 10, "x is read once");
}

#[test]
fn histograms_of_one_pass_read_each_basket_once() {
    let tree = open("query-many.root", 1);
    let draws: Vec<Draw> =
        (0..10).map(|shift| Draw::new(&tree, &format!("x+{shift}>>h(10,0,1000)"), "").expect("a draw")).collect();
    let perf = tree.file().perf();
    perf.start();
    let drawn = draw_many(&draws, &Selection::try_from(0..tree.entries).expect("entries")).expect("histograms");
    assert_eq!(perf.baskets().len(), 10);
    perf.stop();
    assert_eq!(drawn[0].values()[1..=10], [100.0; 10]);
    assert_eq!(drawn[5].value(11), 5.0);
}

#[test]
fn threads_fill_the_same_histogram() {
    let (one, four) = (open("query-h1.root", 1), open("query-h4.root", 4));
    for (words, cut) in [("v", "x"), ("v:x>>h(7,0,1000,5,0,1000)", "v > 3"), ("Sum$(v)>>h(20,0,4000)", "0.1 * x")] {
        let drawn = |tree: &Arc<Tree>| Draw::new(tree, words, cut).expect(words).run(0..tree.entries).expect(words);
        let (a, b) = (drawn(&one), drawn(&four));
        assert_eq!(a.values(), b.values(), "{words}");
        assert_eq!(a.statistics().expect("sums"), b.statistics().expect("sums"), "{words}");
    }
}

#[test]
fn columns_in_memory_are_a_source() {
    let column = |values: &[f64]| Column::from_numbers(values);
    let source = Source::of_columns([("a".to_owned(), column(&[1.0, 2.0])), ("b".to_owned(), column(&[3.0, 5.0]))]);
    let source = source.expect("a source");
    let found = Query::new(source.clone()).value("a * b").expect("values").cut("a > 1").expect("cut");
    assert_eq!(found.read(0..2).expect("rows").columns[0].as_slice::<f64>().expect("doubles"), [10.0]);
    let uneven = Source::of_columns([("a".to_owned(), column(&[1.0])), ("b".to_owned(), column(&[]))]);
    assert_eq!(uneven.expect_err("lengths").kind(), ErrorKind::Mismatch);
}

#[test]
fn lists_of_different_lengths_are_an_error_or_the_shortest() {
    let tree = open("query-lengths.root", 1);
    let query = |lengths| Query::new(&tree).lengths(lengths).value("v + v[:, 1:]").expect("values");
    let error = query(Lengths::Same).read(0..10).expect_err("lengths");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.message().contains("in entry 1") && error.place().object.is_some(), "{error}");
    let shortest = query(Lengths::Shortest).read(0..4).expect("lists").columns.remove(0);
    assert_eq!(shortest.offsets(), [0, 0, 0, 1, 3]);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_read() {
    let tree = open("query-errors.root", 1);
    for (text, kind, words) in [
        ("y", ErrorKind::NotFound, "no branch \"y\""),
        ("vv[0]", ErrorKind::NotFound, "near to it: \"v\""),
        ("x +", ErrorKind::Expression, "at character 4"),
        ("x / 0", ErrorKind::Expression, "divides by zero"),
        ("v[x > 2]", ErrorKind::Expression, "a mask has a truth value for each item"),
        ("get(x)", ErrorKind::Expression, "one name in quotes"),
        ("a", ErrorKind::Expression, "needs itself: a -> b -> a"),
    ] {
        let query = Query::new(&tree).aliases([("a", "b + 1"), ("b", "a * 2")]);
        let error = query.value(text).expect_err(text);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{error}");
    }
}

#[test]
fn a_tree_without_entries_gives_columns_and_histograms_without_rows() {
    let path = sapwood_testkit::scratch("query-empty.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file");
    let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::vector("v", Item::Number(Number::F32), 1)];
    file.tree("t", specs, TreeOptions::default()).expect("a tree").close().expect("closed");
    file.close().expect("closed");
    let tree = File::open(&path).expect("a file").tree("t").expect("a tree");
    let found = Query::new(&tree).value("v * x").expect("values").cut("x > 0").expect("cut").read(0..0).expect("rows");
    assert_eq!((found.columns[0].len, found.columns[0].offsets()), (0, &[0_i64][..]));
    assert_eq!(Draw::new(&tree, "x:v", "v > 1").expect("a draw").run(0..0).expect("a histogram").entries(), 0.0);
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// A random expression, most often of the right form.
fn random(dice: &mut Dice, depth: usize) -> String {
    const NAMES: [&str; 9] = ["x", "v", "i", "m", "name", "b", "Entry$", "Iteration$", "nope"];
    const NUMBERS: [&str; 8] = ["0", "1", "2", "3.5", "1e300", "18446744073709551615", "0x7f", "-1"];
    const OPERATORS: [&str; 20] =
        ["+", "-", "*", "/", "//", "%", "**", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&", "|", "<<", ">>"];
    const CALLS: [&str; 18] = [
        "sqrt",
        "abs",
        "Sum$",
        "Max$",
        "Length$",
        "sum",
        "argmax",
        "max",
        "count",
        "pair_first",
        "int",
        "float",
        "TMath::Gaus",
        "first",
        "last",
        "any",
        "mean",
        "factorial",
    ];
    let inner = |dice: &mut Dice| random(dice, depth - 1);
    if depth == 0 {
        return match dice.roll(3) {
            0 => NUMBERS[dice.roll(NUMBERS.len())].to_owned(),
            _ => NAMES[dice.roll(NAMES.len())].to_owned(),
        };
    }
    match dice.roll(12) {
        0..=3 => format!("({}) {} ({})", inner(dice), OPERATORS[dice.roll(OPERATORS.len())], inner(dice)),
        4 | 5 => format!("{}({})", CALLS[dice.roll(CALLS.len())], inner(dice)),
        6 => format!("{}[{}]", NAMES[dice.roll(4)], inner(dice)),
        7 => format!("{}[:, {}]", NAMES[dice.roll(4)], NUMBERS[dice.roll(NUMBERS.len())]),
        8 => format!("m[][{}]", inner(dice)),
        9 => format!("({}) ? ({}) : ({})", inner(dice), inner(dice), inner(dice)),
        10 => format!("Alt$({}, {})", inner(dice), inner(dice)),
        _ => format!("{}({})", ["-", "!", "~", "+", "(int)", "@"][dice.roll(6)], inner(dice)),
    }
}

#[test]
fn no_expression_breaks_the_engine() {
    let path = sapwood_testkit::scratch("query-random.root");
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file");
    let specs = vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::number("i", Number::I32),
        BranchSpec::number("b", Number::Bool),
        BranchSpec::vector("v", Item::Number(Number::F32), 1),
        BranchSpec::vector("m", Item::Number(Number::U64), 2),
        BranchSpec::text("name"),
    ];
    let mut tree = file.tree("t", specs, TreeOptions::default()).expect("a tree");
    let (x, i, b) = ([0.5, -2.0, f64::NAN, 1e9], [0_i32, -7, 3, i32::MIN], [true, false, true, false]);
    tree.extend(&[
        ("x", Values::from(&x[..])),
        ("i", Values::from(&i[..])),
        ("b", Values::from(&b[..])),
        ("v", Values::lists(&[0, 2, 2, 3, 6], &[1.0_f32, -1.0, 0.0, 4.0, 5.0, 6.0])),
        ("m", Values::nested(&[&[0, 1, 1, 3, 4], &[0, 2, 3, 3, 5]], &[0_u64, 1, u64::MAX, 2, 3])),
        ("name", Values::strings(["mu", "", "e", "tau"])),
    ])
    .expect("rows");
    tree.close().expect("closed");
    file.close().expect("closed");
    let tree = File::open(&path).expect("a file").tree("t").expect("a tree");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut answered = 0;
    for _ in 0..20_000 {
        let depth = 1 + dice.roll(3);
        let text = random(&mut dice, depth);
        for lengths in [Lengths::Same, Lengths::Shortest] {
            let outcome = Query::new(&tree).lengths(lengths).value(&text).and_then(|query| query.read(0..4));
            match outcome {
                Ok(found) => {
                    let array = found.columns[0].to_arrow().expect(&text);
                    assert!(found.columns[0].len == 4 && array.to_data().validate_full().is_ok(), "{text}");
                    answered += 1;
                }
                Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{text}: {error}"),
            }
        }
        if let Ok(draw) = Draw::new(&tree, &text, "") {
            match draw.points(0..4) {
                Ok(points) => assert_eq!(points.weights, None),
                Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{text}: {error}"),
            }
        }
    }
    assert!(answered > 5_000, "{answered} of 40,000");
    // What is no expression at all.
    for length in 1..200 {
        let soup: String =
            (0..length).map(|_| [" ", "x", "(", "[", "]", ")", "1", ":", "\"", "$", "ä", "?"][dice.roll(12)]).collect();
        if let Err(error) = Query::new(&tree).value(&soup) {
            assert_ne!(error.kind(), ErrorKind::Internal, "{soup}: {error}");
        }
    }
}
