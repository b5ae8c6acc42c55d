//! Collections and combinations in expressions, against loops over the same objects.

use std::sync::Arc;

use sapwood::column::Number;
use sapwood::query::{Draw, Lengths, Query};
use sapwood::tree::Tree;
use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File};

const ENTRIES: usize = 60;

/// Number of an object: whatever it is made of, it differs from object to object.
fn seed(entry: usize, item: usize, of: usize) -> f64 {
    ((entry * 31 + item * 17 + of * 7) % 23) as f64 / 23.0
}

/// An object as (pt, eta, phi, mass, tag). Some tags are NaN, some are equal.
type Object = [f64; 5];
const MEMBERS: [&str; 5] = ["pt", "eta", "phi", "mass", "tag"];

fn object(entry: usize, item: usize, of: usize) -> Object {
    let s = |member: usize| seed(entry, item, of + member);
    let tag = if (entry + item) % 5 == 4 { f64::NAN } else { (s(5) * 4.0).floor() };
    [10.0 + 90.0 * s(1), 4.0 * s(2) - 2.0, 6.0 * s(3) - 3.0, 5.0 * s(4), tag]
}

/// None, one and several jets and muons.
fn jets(entry: usize) -> Vec<Object> {
    (0..entry % 5).map(|item| object(entry, item, 0)).collect()
}

fn muons(entry: usize) -> Vec<Object> {
    (0..(entry / 3) % 4).map(|item| object(entry, item, 100)).collect()
}

fn write(name: &str) -> sapwood_testkit::Scratch {
    let path = sapwood_testkit::scratch(name);
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).expect("a file");
    let named = |name: String| BranchSpec::vector(&*name, Item::Number(Number::F64), 1);
    let of = |name: &str| MEMBERS.map(|member| named(format!("{name}_{member}")));
    let mut specs: Vec<BranchSpec> = of("Jet").into_iter().chain(of("Muon")).collect();
    specs.push(BranchSpec::number("MET_phi", Number::F64));
    specs.extend(["nJet", "nMuon"].map(|name| BranchSpec::number(name, Number::I32)));
    specs.push(named("Jet.eta2".to_owned()));
    let mut tree = file.tree("t", specs, TreeOptions::default()).expect("a tree");
    for entry in 0..ENTRIES {
        let phi = [seed(entry, 0, 3)];
        let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
        for (name, objects) in [("Jet", jets(entry)), ("Muon", muons(entry))] {
            for (at, member) in MEMBERS.iter().enumerate() {
                columns.push((format!("{name}_{member}"), objects.iter().map(|object| object[at]).collect()));
            }
        }
        columns.push(("Jet.eta2".to_owned(), jets(entry).iter().map(|jet| 2.0 * jet[1]).collect()));
        let ends: Vec<[i64; 2]> = columns.iter().map(|(_, items)| [0, items.len() as i64]).collect();
        let lists = columns.iter().zip(&ends);
        let mut rows: Vec<(&str, Values<'_>)> =
            lists.map(|((name, items), ends)| (name.as_str(), Values::lists(ends, items))).collect();
        rows.push(("MET_phi", Values::from(&phi[..])));
        let counts = [jets(entry).len(), muons(entry).len()].map(|count| [count as i32]);
        rows.push(("nJet", Values::from(&counts[0][..])));
        rows.push(("nMuon", Values::from(&counts[1][..])));
        tree.extend(&rows).expect("a row");
    }
    tree.close().expect("closed");
    file.close().expect("closed");
    path
}

fn open(name: &str) -> Arc<Tree> {
    File::open(write(name)).expect("a file").tree("t").expect("a tree")
}

/// Names for several tests.
const ALIASES: [(&str, &str); 3] =
    [("good", "Jet[Jet.pt > 40]"), ("best", "good[argmax(good.tag)]"), ("x", "each(Jet, Muon)")];

fn lists(tree: &Arc<Tree>, text: &str) -> Vec<Vec<f64>> {
    let query = Query::new(tree).aliases(ALIASES).value(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let column = query.read(0..tree.entries).unwrap_or_else(|error| panic!("{text}: {error}")).columns.remove(0);
    let items = column.numbers::<f64>().expect("doubles");
    let ends = column.offsets();
    ends.windows(2).map(|ends| items[ends[0] as usize..ends[1] as usize].to_vec()).collect()
}

/// The values that a histogram would be filled with.
fn points(tree: &Arc<Tree>, text: &str, cut: &str) -> Vec<f64> {
    let draw = Draw::with_aliases(tree, text, cut, ALIASES).unwrap_or_else(|error| panic!("{text}: {error}"));
    draw.points(0..tree.entries).expect(text).columns.remove(0)
}

fn refused(tree: &Arc<Tree>, text: &str) -> sapwood::Error {
    let query = Query::new(tree).aliases(ALIASES).value(text);
    query.and_then(|query| query.read(0..tree.entries)).expect_err(text)
}

fn expected(of: impl Fn(usize) -> Vec<f64>) -> Vec<Vec<f64>> {
    (0..ENTRIES).map(of).collect()
}

fn vector(of: &Object) -> [f64; 4] {
    let [pt, eta, phi, mass, _] = *of;
    let p = pt * eta.cosh();
    [pt * phi.cos(), pt * phi.sin(), pt * eta.sinh(), (p * p + mass * mass).sqrt()]
}

fn mass(of: &[&Object]) -> f64 {
    let sum = of.iter().map(|of| vector(of)).reduce(|a, b| std::array::from_fn(|at| a[at] + b[at])).expect("objects");
    let squared = sum[3] * sum[3] - sum[0] * sum[0] - sum[1] * sum[1] - sum[2] * sum[2];
    if squared < 0.0 { -(-squared).sqrt() } else { squared.sqrt() }
}

fn distance(a: &Object, b: &Object) -> f64 {
    let turn = 2.0 * std::f64::consts::PI;
    let mut phi = (b[2] - a[2]) % turn;
    if phi.abs() > turn / 2.0 {
        phi -= turn * phi.signum();
    }
    ((a[1] - b[1]).powi(2) + phi.powi(2)).sqrt()
}

#[test]
fn masks_indices_and_slices_choose_the_same_items_of_every_member() {
    let tree = open("collections-masks.root");
    let of = |at: usize, choose: &dyn Fn(&Object) -> bool| {
        expected(|entry| jets(entry).iter().filter(|jet| choose(jet)).map(|jet| jet[at]).collect())
    };
    assert_eq!(lists(&tree, "Jet.pt"), of(0, &|_| true));
    assert_eq!(lists(&tree, "Jet.eta2"), expected(|entry| jets(entry).iter().map(|jet| 2.0 * jet[1]).collect()));
    assert_eq!(lists(&tree, "Jet[Jet.pt > 40].eta"), of(1, &|jet| jet[0] > 40.0));
    assert_eq!(lists(&tree, "good[good.eta < 0].phi"), of(2, &|jet| jet[0] > 40.0 && jet[1] < 0.0));
    assert_eq!(lists(&tree, "Jet[:2].pt"), expected(|entry| jets(entry).iter().take(2).map(|jet| jet[0]).collect()));
    assert_eq!(lists(&tree, "Jet[:, 1:].pt"), expected(|entry| jets(entry).iter().skip(1).map(|jet| jet[0]).collect()));
    let first = |at: usize| (0..ENTRIES).filter_map(|entry| Some(jets(entry).first()?[at])).collect::<Vec<_>>();
    assert_eq!(points(&tree, "Jet[0].pt", ""), first(0));
    assert_eq!(points(&tree, "first(Jet.pt)", ""), first(0));
    assert_eq!(points(&tree, "first(Jet).eta", ""), first(1));
    let good = |entry: usize| jets(entry).into_iter().filter(|jet| jet[0] > 40.0).collect::<Vec<_>>();
    let found: Vec<f64> = (0..ENTRIES).filter_map(|entry| Some(good(entry).get(1)?[0])).collect();
    assert_eq!(points(&tree, "good[1].pt", ""), found);
    assert_eq!(points(&tree, "good.pt[1]", ""), found);
    let counts: Vec<f64> = (0..ENTRIES).map(|entry| good(entry).len() as f64).collect();
    for text in
        ["len(good)", "Length$(good)", "good.size()", "count(good)", "Jet[Jet.pt > 40].size()", "Sum$(Jet.pt > 40)"]
    {
        assert_eq!(points(&tree, text, ""), counts, "{text}");
    }
    let places = |entry: usize| jets(entry).iter().enumerate().map(|(at, jet)| (at, jet[0])).collect::<Vec<_>>();
    let found = expected(|entry| places(entry).iter().filter(|(_, pt)| *pt > 40.0).map(|(at, _)| *at as f64).collect());
    assert_eq!(lists(&tree, "good.index / 1"), found);
}

#[test]
fn an_order_is_stable_and_ends_with_nan() {
    let tree = open("collections-order.root");
    let sorted = expected(|entry| {
        let mut jets = jets(entry);
        jets.sort_by(|a, b| {
            a[4].is_nan().cmp(&b[4].is_nan()).then(b[4].partial_cmp(&a[4]).unwrap_or(std::cmp::Ordering::Equal))
        });
        jets.iter().map(|jet| jet[0]).collect()
    });
    assert!((0..ENTRIES).any(|entry| jets(entry).iter().any(|jet| jet[4].is_nan())));
    assert_eq!(lists(&tree, "sorted(Jet, -Jet.tag).pt"), sorted);
    let top = expected(|entry| sorted[entry].iter().take(2).copied().collect());
    assert_eq!(lists(&tree, "sorted(Jet, -Jet.tag)[:2].pt"), top);
    let best = (0..ENTRIES).filter_map(|entry| {
        let good: Vec<Object> = jets(entry).into_iter().filter(|jet| jet[0] > 40.0).collect();
        let best = good.iter().filter(|jet| !jet[4].is_nan()).map(|jet| jet[4]).reduce(f64::max);
        let found = match best {
            Some(best) => good.iter().find(|jet| jet[4] == best),
            None => good.first(),
        };
        found.map(|jet| jet[0])
    });
    assert_eq!(points(&tree, "best.pt", ""), best.collect::<Vec<_>>());
}

#[test]
fn combinations_are_those_of_nested_loops() {
    let tree = open("collections-pairs.root");
    let pairs = |entry: usize| {
        let muons = muons(entry);
        let at = |a: usize| (a + 1..muons.len()).map(move |b| (a, b));
        (0..muons.len()).flat_map(at).map(|(a, b)| [muons[a], muons[b]]).collect::<Vec<_>>()
    };
    assert_eq!(lists(&tree, "pairs(Muon).first.pt"), expected(|entry| pairs(entry).iter().map(|p| p[0][0]).collect()));
    assert_eq!(
        lists(&tree, "pairs(Muon).second.eta"),
        expected(|entry| pairs(entry).iter().map(|p| p[1][1]).collect())
    );
    let masses = |entry: usize| pairs(entry).iter().map(|[a, b]| mass(&[a, b])).collect::<Vec<_>>();
    assert_eq!(lists(&tree, "mass(pairs(Muon))"), expected(masses));
    assert_eq!(lists(&tree, "mass(pairs(Muon).first, pairs(Muon).second)"), expected(masses));
    let triples = |entry: usize| {
        let jets = jets(entry);
        let mut found = Vec::new();
        for a in 0..jets.len() {
            for b in a + 1..jets.len() {
                (b + 1..jets.len()).for_each(|c| found.push([jets[a], jets[b], jets[c]]));
            }
        }
        found
    };
    let found = expected(|entry| triples(entry).iter().map(|[a, b, c]| mass(&[a, b, c])).collect());
    assert!(found.iter().any(|masses| masses.len() == 4));
    assert_eq!(lists(&tree, "mass(triples(Jet))"), found);
    for (part, name) in ["first", "second", "third"].into_iter().enumerate() {
        let found = expected(|entry| triples(entry).iter().map(|of| of[part][0]).collect());
        assert_eq!(lists(&tree, &format!("triples(Jet).{name}.pt")), found);
    }
    let crossed = |entry: usize| {
        let [jets, muons] = [jets(entry), muons(entry)];
        jets.iter().flat_map(|jet| muons.iter().map(move |muon| [*jet, *muon])).collect::<Vec<_>>()
    };
    let found = expected(|entry| crossed(entry).iter().map(|[jet, muon]| distance(jet, muon)).collect());
    assert_eq!(lists(&tree, "deltaR(cross(Jet, Muon).first, cross(Jet, Muon).second)"), found);
    assert_eq!(
        lists(&tree, "mass(cross(Jet, Muon))"),
        expected(|entry| crossed(entry).iter().map(|[a, b]| mass(&[a, b])).collect())
    );
    // Two levels: for each jet, all muons.
    let query = Query::new(&tree).aliases(ALIASES).value("deltaR(x.first, x.second)").expect("two levels");
    let column = query.read(0..tree.entries).expect("rows").columns.remove(0);
    assert_eq!(column.kind.to_string(), "var * var * float64");
    assert_eq!(column.numbers::<f64>().expect("doubles"), found.concat());
    let nearest = |of: &dyn Fn(f64, &Object) -> f64| {
        expected(|entry| {
            jets(entry)
                .iter()
                .map(|jet| {
                    let muons = muons(entry);
                    let nearest = muons.iter().min_by(|a, b| distance(jet, a).total_cmp(&distance(jet, b)));
                    nearest.map_or(f64::INFINITY, |muon| of(distance(jet, muon), muon))
                })
                .collect()
        })
    };
    assert_eq!(lists(&tree, "min_deltaR(Jet, Muon)"), nearest(&|distance, _| distance));
    let matched = points(&tree, "x[argmin(deltaR(x.first, x.second))].second.pt", "");
    let found = nearest(&|_, muon| muon[0]).concat();
    assert_eq!(matched, found.into_iter().filter(|pt| pt.is_finite()).collect::<Vec<_>>());
}

#[test]
fn joined_collections_know_where_an_item_is_from() {
    let tree = open("collections-concat.root");
    let both = |entry: usize| [muons(entry), jets(entry)].concat();
    assert_eq!(lists(&tree, "concat(Muon, Jet).pt"), expected(|entry| both(entry).iter().map(|of| of[0]).collect()));
    let which = |entry: usize| [vec![0.0; muons(entry).len()], vec![1.0; jets(entry).len()]].concat();
    assert_eq!(lists(&tree, "concat(Muon, Jet).which / 1"), expected(which));
    let index =
        |entry: usize| [muons(entry), jets(entry)].iter().flat_map(|of| (0..of.len()).map(|at| at as f64)).collect();
    assert_eq!(lists(&tree, "concat(Muon, Jet).index / 1"), expected(index));
    let masses = |entry: usize| {
        let of = both(entry);
        (0..of.len())
            .flat_map(|a| (a + 1..of.len()).map(move |b| (a, b)))
            .map(|(a, b)| mass(&[&of[a], &of[b]]))
            .collect()
    };
    assert_eq!(lists(&tree, "mass(pairs(concat(Muon, Jet)))"), expected(masses));
}

#[test]
fn what_is_wrong_with_a_collection_is_found_before_reading() {
    let tree = open("collections-errors.root");
    for (text, words) in [
        ("Jet", "Jet is a collection: name a member, as Jet.pt"),
        ("sqrt(Jet)", "Jet is a collection"),
        ("good", "name a member"),
        ("Jet[0]", "Jet is a collection"),
        ("pairs(Jet)", "collection of combinations"),
        ("Jet.ptt", "near to it: \"pt\""),
        ("Jet[Jet.pt > 3].ptt", "near to it: \"pt\""),
        ("pairs(Jet).pt", "has no member \"pt\""),
        ("pairs(Jet).third.pt", "has no member \"third.pt\""),
        ("pairs(Jet.pt)", "takes collections"),
        ("pairs(MET)", "one object"),
        ("mass(MET)", "mass, or px, py, pz and energy"),
        ("deltaR(Jet, Muon)", "cross(Jet, Muon)"),
        ("mass(Jet, Muon)", "cross(Jet, Muon)"),
        ("sorted(Jet, 3)", "a number for each object"),
        ("Jet[-1].pt", "counts from 0"),
        ("cross(x, Jet).first.pt", "lists of lists"),
        ("pair(Jet.pt)", "near to it: \"pairs\""),
    ] {
        let error = refused(&tree, text);
        assert_eq!(error.kind(), ErrorKind::Expression, "{text}: {error}");
        assert!(error.message().contains(words), "{text}: {error}");
    }
    let error = refused(&tree, "Jet[Muon.pt > 3].pt");
    assert!(error.message().contains("a mask has other lists"), "{error}");
}

#[test]
fn aliases_of_aliases_end_in_an_answer_or_an_error() {
    let tree = open("collections-aliases.root");
    let names: Vec<String> = (0..40).map(|step| format!("a{step}")).collect();
    let meanings: Vec<String> = (0..40)
        .map(|step| match step {
            0 => "Jet".to_owned(),
            _ => format!("a{0}[a{0}.pt > {step}]", step - 1),
        })
        .collect();
    let pairs = || names.iter().map(String::as_str).zip(meanings.iter().map(String::as_str));
    let read = |text: &str| Query::new(&tree).aliases(pairs()).value(text)?.read(0..tree.entries);
    let found = read("a5.pt").expect("a short chain").columns.remove(0);
    assert_eq!(found.numbers::<f64>().expect("doubles"), lists(&tree, "Jet[Jet.pt > 5].pt").concat());
    let started = std::time::Instant::now();
    let long = read("a39.pt");
    assert!(started.elapsed().as_secs() < 10);
    assert!(long.map_or_else(|error| error.kind() == ErrorKind::Limit, |found| found.columns[0].len == ENTRIES));
    let own = Query::new(&tree).aliases([("Jet", "Jet[Jet.pt > 40]")]).value("Jet.pt").expect("its own name");
    let found = own.read(0..tree.entries).expect("rows").columns.remove(0);
    assert_eq!(found.numbers::<f64>().expect("doubles"), lists(&tree, "good.pt").concat());
    // Each link is as high as an expression may be.
    let high = |of: &str| format!("{}{of}{}", "(1+".repeat(60), ")".repeat(60));
    let links: Vec<(String, String)> = (0..49)
        .map(|link| {
            let of = if link == 0 { "MET_phi".to_owned() } else { format!("h{}.pt", link - 1) };
            (format!("h{link}"), format!("Jet[int({}) % 2]", high(&of)))
        })
        .collect();
    let outer = high("h48.pt");
    for (text, is_refused) in [("h1.pt", false), ("h48.pt", true), (outer.as_str(), true)] {
        let query = Query::new(&tree).aliases(links.iter().map(|(name, of)| (name.as_str(), of.as_str())));
        let found = query.value(text).and_then(|query| query.read(0..tree.entries));
        match found {
            Ok(found) => assert!(!is_refused && found.columns[0].len == ENTRIES, "{text}"),
            Err(error) => {
                let is_limit = [ErrorKind::Limit, ErrorKind::Expression].contains(&error.kind());
                assert!(is_refused && is_limit, "{text}: {error}");
            }
        }
    }
    let many = format!("Jet{}.pt", "[Jet.pt > 0]".repeat(190));
    let started = std::time::Instant::now();
    assert!(Query::new(&tree).value(&many).and_then(|query| query.read(0..1)).is_ok());
    assert!(started.elapsed().as_secs() < 10);
    let circle = Query::new(&tree).aliases([("a", "b[b.pt > 1]"), ("b", "a[a.pt > 1]")]).value("a.pt");
    assert!(circle.is_err());
}

#[test]
fn lists_of_different_lengths_are_refused_or_drawn_as_before() {
    let tree = open("collections-lengths.root");
    let query = |lengths| Query::new(&tree).lengths(lengths).value("Jet.pt + Muon.pt").expect("values");
    assert_eq!(query(Lengths::Same).read(0..tree.entries).expect_err("lengths").kind(), ErrorKind::Mismatch);
    assert!(query(Lengths::Shortest).read(0..tree.entries).is_ok());
    let drawn = points(&tree, "deltaPhi(Jet, MET_phi)", "Jet.pt > 40");
    let jets = (0..ENTRIES).flat_map(|entry| jets(entry).into_iter().map(move |jet| (entry, jet)));
    let found = jets.filter(|(_, jet)| jet[0] > 40.0).map(|(entry, jet)| {
        let phi = (seed(entry, 0, 3) - jet[2]) % (2.0 * std::f64::consts::PI);
        if phi > std::f64::consts::PI { phi - 2.0 * std::f64::consts::PI } else { phi }
    });
    assert_eq!(drawn, found.collect::<Vec<_>>());
}

#[test]
fn lists_of_different_collections_in_one_loop_are_noticed() {
    let tree = open("collections-notices.root");
    let notices = |words: &str, cut: &str| Draw::with_aliases(&tree, words, cut, ALIASES).expect(words).notices();
    for (words, cut) in [
        ("Jet_pt", ""),
        ("Jet_pt:Jet_eta", "nJet > 1 && MET_phi > 0"),
        ("Jet_pt", "Sum$(Muon_pt) > 10 && Muon_pt[0] > 3"),
        ("Jet[Jet.pt > 3].pt", "len(Muon) > 1"),
        ("mass(pairs(Muon)):pairs(Muon).first.pt", "pairs(Muon).second.tag > 0"),
        ("min_deltaR(Jet, Muon):Jet.pt", ""),
        ("x.first.pt:x.second.pt", ""),
        ("best.pt", ""),
    ] {
        assert_eq!(notices(words, cut), [""; 0], "{words}");
    }
    for (words, cut) in [
        ("Jet_pt:Muon_pt", ""),
        ("Jet_pt + Muon_pt", ""),
        ("Jet_pt", "Muon_pt > 10"),
        ("good.pt", "Muon.pt > 10"),
        ("mass(pairs(Muon)):Muon.pt", ""),
    ] {
        let found = notices(words, cut);
        assert_eq!(found.len(), 1, "{words}");
        assert!(found[0].contains("by their positions") && found[0].contains("cross("), "{found:?}");
    }
}
