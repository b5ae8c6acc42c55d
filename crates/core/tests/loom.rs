//! The protocol by which threads that fill one tree commit and save, in all orders of what they lock and wait for that
//! matter: `RUSTFLAGS="--cfg loom" cargo test -p sapwood --test loom --release`.

#![cfg(loom)]

use std::sync::Arc;

use sapwood::column::Number;
use sapwood::inspect::verify::verify_file;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::write::{BranchSpec, Every, FileWriter, ParallelWriter, TreeOptions, TreeWriter, Values, WriteOptions};
use sapwood::{File, OpenOptions, Session, read};

/// All orders with at most `preemptions` switches that nothing forces.
fn model(preemptions: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(check);
}

fn begin(auto_save: Every) -> (Arc<MemorySink>, FileWriter, ParallelWriter) {
    let sink = Arc::new(MemorySink::default());
    let session = Session::with_threads(1);
    let options = WriteOptions {
        session,
        reproducible: true,
        compression: Some("zlib:0".parse().expect("a codec")),
        ..WriteOptions::default()
    };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "loom.root", options).expect("a file");
    let wish = TreeOptions { auto_flush: Every::Entries(1), auto_save, ..TreeOptions::default() };
    let tree = file.parallel_tree("t", vec![BranchSpec::number("x", Number::U8)], wish).expect("a tree");
    (sink, file, tree)
}

fn row(tree: &mut TreeWriter, x: u8) {
    tree.extend(&[("x", Values::from(&[x]))]).expect("a row");
}

fn values(sink: &MemorySink) -> Vec<u8> {
    let store = Arc::new(MemoryStore::new("loom.root", sink.to_bytes()));
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let file = File::from_store(store, options).expect("a file");
    let findings = verify_file(&file).findings;
    assert!(findings.is_empty(), "{findings:?}");
    let tree = file.tree("t").expect("a tree");
    let columns = read::columns(&tree, &[tree.branch("x").expect("a branch").id], 0..tree.entries).expect("rows");
    columns[0].numbers().expect("numbers")
}

#[test]
fn commits_and_saves_in_any_order_lose_nothing() {
    model(3, || {
        let (sink, file, tree) = begin(Every::Entries(2));
        let (mut one, mut two) = (tree.context(), tree.context());
        let thread = loom::thread::spawn(move || {
            row(&mut one, 1);
            one.close().expect("rows");
        });
        row(&mut two, 2);
        let saved = tree.save().expect("a save");
        assert!(saved >= 1, "what this thread committed is shown");
        assert!(values(&sink).contains(&2));
        two.close().expect("rows");
        thread.join().expect("no panic");
        tree.close().expect("a tree");
        file.close().expect("a file");
        let mut all = values(&sink);
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn units_are_in_order() {
    model(3, || {
        let (sink, file, tree) = begin(Every::Entries(2));
        let (mut first, mut second) = (tree.numbered(), tree.numbered());
        let thread = loom::thread::spawn(move || {
            let mut unit = first.unit(1).expect("a unit");
            row(&mut unit, 10);
            row(&mut unit, 11);
            unit.close().expect("rows");
        });
        let mut unit = second.unit(0).expect("a unit");
        row(&mut unit, 0);
        row(&mut unit, 1);
        unit.close().expect("rows");
        drop(second);
        thread.join().expect("no panic");
        tree.close().expect("a tree");
        file.close().expect("a file");
        assert_eq!(values(&sink), [0, 1, 10, 11]);
    });
}
