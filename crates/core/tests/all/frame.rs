//! Frames against queries of one value each: whatever results have in common, each is what it is alone.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::{Arc, Mutex};

use sapwood::column::Number;
use sapwood::frame::{Frame, Run, Variation, Wanted};
use sapwood::hist::Axis;
use sapwood::query::{Compute, Query};
use sapwood::read::Column;
use sapwood::statistics::SideFile;
use sapwood::tree::Tree;
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions};
use sapwood::{Error, ErrorKind, File, OpenOptions, Session};

const ENTRIES: usize = 4_000;

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }

    fn uniform(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}

/// A tree with two numbers and two lists of equal lengths, in clusters of 300 entries.
fn write(name: &str) -> sapwood_testkit::Scratch {
    let path = sapwood_testkit::scratch(name);
    let mut random = Random(11);
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    let specs = vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::number("y", Number::F64),
        BranchSpec::vector("v", sapwood::write::Item::Number(Number::F64), 1),
        BranchSpec::vector("w", sapwood::write::Item::Number(Number::F64), 1),
    ];
    let options = TreeOptions { auto_flush: Every::Entries(300), ..TreeOptions::default() };
    let mut tree = file.tree("t", specs, options).unwrap();
    for entry in 0..ENTRIES {
        // Nearly rising, so that statistics decide on much.
        let x = [90.0 * entry as f64 / ENTRIES as f64 + 10.0 * random.uniform()];
        let y = [2.0 * random.uniform() - 1.0];
        let count = random.below(6);
        let ends = [0, count as i64];
        let v: Vec<f64> = (0..count).map(|_| 50.0 * random.uniform()).collect();
        let w: Vec<f64> = (0..count).map(|_| 4.0 * random.uniform() - 2.0).collect();
        let row = [
            ("x", Values::from(&x[..])),
            ("y", Values::from(&y[..])),
            ("v", Values::lists(&ends, &v)),
            ("w", Values::lists(&ends, &w)),
        ];
        tree.extend(&row).unwrap();
    }
    tree.close().unwrap();
    file.close().unwrap();
    path
}

fn opened(path: &std::path::Path, threads: usize) -> Arc<Tree> {
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    File::open_with(path, options).unwrap().tree("t").unwrap()
}

/// Expressions of one number an entry; `#` is a name that was defined before.
const NUMBERS: [&str; 8] = [
    "x + y",
    "Sum$(v)",
    "Sum$(v > 20 && abs(w) < 1) + #",
    "sqrt(x) * Max$(v)",
    "# * # - y",
    "Alt$(v[1], -1) + #",
    "Sum$(v[w > 0]) / (1 + Length$(v))",
    "x > 50 ? # : y",
];
const CONDITIONS: [&str; 6] =
    ["# > 10", "x > 30", "any(v > 40)", "# < 500 && y > -0.5", "Length$(v) >= 2", "sin(#) < 0.7"];

/// A frame, and what it is for a query: names, conditions.
#[derive(Clone)]
struct Model {
    frame: Frame,
    names: Vec<(String, String)>,
    conditions: Vec<String>,
    varies: bool,
}

impl Model {
    /// The values of an expression by a single query, of the columns as they are or varied.
    fn alone(&self, tree: &Arc<Tree>, text: &str, is_varied: bool) -> Vec<f64> {
        let mut names: Vec<(&str, &str)> = self.names.iter().map(|(name, text)| (&**name, &**text)).collect();
        if is_varied {
            names.push(("x", "x * 1.5"));
        }
        let mut query = Query::new(tree).aliases(names).value(&format!("double({text})")).unwrap();
        if !self.conditions.is_empty() {
            let all: Vec<String> = self.conditions.iter().map(|condition| format!("({condition})")).collect();
            query = query.cut(&all.join(" && ")).unwrap();
        }
        query.read(0..tree.entries).unwrap().columns[0].numbers::<f64>().unwrap().to_vec()
    }
}

/// A tree of frames with random names, filters and one variation.
fn models(random: &mut Random) -> Vec<Model> {
    let mut models = vec![Model { frame: Frame::new(), names: Vec::new(), conditions: Vec::new(), varies: false }];
    for number in 0..10 {
        let mut model = models[random.below(models.len() as u64) as usize].clone();
        let known = model.names.last().map_or("x", |(name, _)| name).to_owned();
        let text =
            |texts: &[&str], random: &mut Random| texts[random.below(texts.len() as u64) as usize].replace('#', &known);
        match random.below(5) {
            0 | 1 => {
                let text = text(&NUMBERS, random);
                // A function of a name keeps it.
                model.frame = model.frame.define(&format!("n{number}"), &text).unwrap();
                model.names.push((format!("n{number}"), text));
            }
            2 | 3 => {
                let text = text(&CONDITIONS, random);
                model.frame = model.frame.filter(&text, "").unwrap();
                model.conditions.push(text);
            }
            // The query would vary names that were defined before, too.
            _ if !model.varies && model.names.is_empty() && model.conditions.is_empty() => {
                let up = Variation { name: "x:up".into(), of: vec![("x".into(), "x * 1.5".into())] };
                model.frame = model.frame.vary([up]).unwrap();
                model.varies = true;
            }
            _ => {}
        }
        models.push(model);
    }
    models
}

#[test]
fn results_of_random_frames_are_those_of_single_queries() {
    let path = write("frame_random");
    // A twin with statistics, which leave out entries.
    let indexed = write("frame_random_indexed");
    let made = sapwood::inspect::index::make(&File::open(&indexed).unwrap(), &Default::default()).unwrap();
    made.side_file.write(SideFile::path_of(&indexed)).unwrap();
    let decided = Query::new(&opened(&indexed, 1)).cut("x > 50").unwrap().decided(0..ENTRIES as u64).unwrap();
    assert!(decided.is_some_and(|decided| decided.none.len() > 1_000));
    for seed in 0..60 {
        let mut random = Random(seed);
        let models = models(&mut random);
        let plain = opened(&path, 1);
        let tree = opened(if seed % 2 == 0 { &path } else { &indexed }, 1 + (seed % 3) as usize);
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut texts = Vec::new();
        for model in &models {
            let name = model.names.last().map_or("x", |(name, _)| name);
            let text = NUMBERS[random.below(NUMBERS.len() as u64) as usize].replace('#', name);
            wanted.push(model.frame.columns([format!("double({text})").as_str()]).unwrap());
            wanted.push(model.frame.count());
            texts.push(text);
        }
        let mut found: Vec<[Vec<f64>; 2]> = vec![Default::default(); wanted.len()];
        let mut run = Run::new(wanted);
        let take = |step: sapwood::frame::StepColumns<'_>| {
            let values = step.columns[0].numbers::<f64>().unwrap();
            found[step.wanted][usize::from(step.variation.is_some())].extend_from_slice(&values);
            Ok(())
        };
        let plan = run.plan(&tree, []).unwrap();
        run.read(&plan, 0..tree.entries, |_| Ok(()), take).unwrap();
        let results = run.finish().unwrap();
        for (number, (model, text)) in models.iter().zip(&texts).enumerate() {
            let alone = model.alone(&plain, text, false);
            assert_eq!(found[2 * number][0], alone, "{seed}: {text} below {:?}", model.conditions);
            assert_eq!(results[2 * number + 1].nominal.count().unwrap(), alone.len() as u64);
            if model.varies {
                let alone = model.alone(&plain, text, true);
                match &results[2 * number].variations[..] {
                    [(name, _)] => {
                        assert_eq!(name, "x:up");
                        assert_eq!(found[2 * number][1], alone, "{seed}: varied {text}");
                    }
                    _ => assert_eq!(found[2 * number][0], alone, "{seed}: {text} does not vary"),
                }
            }
        }
    }
}

#[test]
fn equal_expressions_are_one_and_columns_are_read_once() {
    let path = write("frame_equal");
    let tree = opened(&path, 1);
    let frame = Frame::new().define("ht", "Sum$(v)").unwrap();
    let axis = || [Axis::regular(10, 0.0, 200.0).unwrap()];
    let written = ["ht", "Sum$(v)", "(Sum$(v))"];
    let many = (0..30).map(|number| frame.histogram([written[number % 3]]).unwrap().axes(axis()).unwrap());
    let run = Run::new(many.chain([frame.filter("ht > 50", "").unwrap().statistics("ht * 2").unwrap()]));
    let explained = run.plan(&tree, []).unwrap().explained();
    assert_eq!((explained.columns, explained.outputs), (vec!["v".to_owned()], 2));
    assert_eq!(explained.filters, [(0, "ht > 50".to_owned())]);
    // The sum is computed once for histogram, filter and statistics.
    assert!(explained.shared >= 1);
}

/// A function that notes the entries that it is called with.
struct Noted(Mutex<Vec<f64>>);

impl Compute for Noted {
    fn compute(&self, inputs: Vec<Column>) -> sapwood::Result<Column> {
        let values = inputs[0].numbers::<f64>()?;
        self.0.lock().unwrap().extend_from_slice(&values);
        Ok(Column::from_numbers(&values.iter().map(|value| value + 1.0).collect::<Vec<f64>>()))
    }
}

#[test]
fn functions_are_called_once_for_each_entry_that_passes() {
    let path = write("frame_functions");
    let noted = Arc::new(Noted(Mutex::default()));
    let frame = Frame::new().filter("x > 70", "").unwrap();
    let frame = frame.compute("more", ["x"], noted.clone(), false).unwrap();
    let below = frame.filter("more > 90", "").unwrap();
    let tree = opened(&path, 1);
    let mut run = Run::new([below.statistics("more").unwrap(), below.count(), frame.statistics("more + x").unwrap()]);
    run.add(&tree, 0..tree.entries).unwrap();
    let found = run.finish().unwrap();
    let x: Vec<f64> =
        Query::new(&tree).value("x").unwrap().cut("x > 70").unwrap().read(0..tree.entries).unwrap().columns[0]
            .numbers::<f64>()
            .unwrap()
            .to_vec();
    assert_eq!(*noted.0.lock().unwrap(), x);
    let hard = x.iter().filter(|x| **x + 1.0 > 90.0).count() as u64;
    assert_eq!(found[1].nominal.count().unwrap(), hard);
    assert_eq!(found[0].nominal.statistics().unwrap().count(), hard);
}

/// A function that is wrong for the rows that it gets.
struct Wrong(fn(&[f64]) -> Vec<f64>);

impl Compute for Wrong {
    fn compute(&self, inputs: Vec<Column>) -> sapwood::Result<Column> {
        Ok(Column::from_numbers(&(self.0)(&inputs[0].numbers::<f64>()?)))
    }
}

#[test]
fn a_function_that_changes_the_number_of_rows_is_an_error() {
    let path = write("frame_wrong");
    let tree = opened(&path, 2);
    let frame = Frame::new().compute("bad", ["x"], Arc::new(Wrong(|x| x[..x.len() / 2].to_vec())), false).unwrap();
    let error = Run::new([frame.statistics("bad").unwrap()]).add(&tree, 0..tree.entries).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("\"bad\""), "{error}");
}

#[test]
fn frames_in_each_other_are_bounded_and_need_no_stack() {
    let path = write("frame_deep");
    let tree = opened(&path, 1);
    let mut frame = Frame::new().define("n0", "x").unwrap();
    for number in 1..5_000 {
        frame = frame.define(&format!("n{number}"), &format!("n{} + 1", number - 1)).unwrap();
    }
    let mut run = Run::new([frame.statistics("n4999").unwrap()]);
    let error = run.add(&tree, 0..10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Expression, "{error}");
    assert!(error.to_string().contains("values are in each other"), "{error}");
    // Filters lie below each other in any number.
    let mut frame = Frame::new();
    for number in 0..5_000 {
        frame = frame.filter(&format!("x > {}", number % 7), "").unwrap();
    }
    let mut run = Run::new([frame.count()]);
    run.add(&tree, 0..tree.entries).unwrap();
    let expected = Query::new(&tree).cut("x > 6").unwrap().passing(0..tree.entries).unwrap().len();
    assert_eq!(run.finish().unwrap()[0].nominal.count().unwrap(), expected);
}

#[test]
fn a_run_without_files_and_a_callback_that_fails_are_errors() {
    assert_eq!(Run::new([Frame::new().count()]).finish().unwrap_err().kind(), ErrorKind::Mismatch);
    let path = write("frame_fails");
    for threads in [1, 3] {
        let tree = opened(&path, threads);
        let mut run = Run::new([Frame::new().columns(["x"]).unwrap()]);
        let mut steps = 0;
        let take = |_: sapwood::frame::StepColumns<'_>| {
            steps += 1;
            Err(Error::mismatch("full"))
        };
        let plan = run.plan(&tree, []).unwrap();
        let error = run.read(&plan, 0..tree.entries, |_| Ok(()), take).unwrap_err();
        assert_eq!((error.message(), steps), ("what takes x failed in entries 0 to 4000: full", 1));
    }
}
