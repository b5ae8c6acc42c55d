//! Long work says how far it is, and ends where that is an error.

use std::cell::RefCell;
use std::rc::Rc;

use sapwood::column::Number;
use sapwood::inspect::verify::verify;
use sapwood::progress::{Progress, telling};
use sapwood::write::{
    Baskets, BranchSpec, Every, FileWriter, Format, NTupleOptions, Order, Remake, TreeOptions, Values, WriteOptions,
};
use sapwood::{Error, ErrorKind, File, Result};
use sapwood_testkit::{Scratch, scratch};

/// A file with two trees of ten clusters, the second of which has ten times as many bytes.
fn trees() -> Result<Scratch> {
    let path = scratch("trees.root");
    let options = WriteOptions { compression: None, ..WriteOptions::default() };
    let mut file = FileWriter::recreate(&path, options)?;
    for (name, entries) in [("few", 200_000_u64), ("many", 2_000_000)] {
        let options = TreeOptions { auto_flush: Every::Entries(entries / 10), ..TreeOptions::default() };
        let branches = ["x", "y"].map(|name| BranchSpec::number(name, Number::I64));
        let mut tree = file.tree(name, branches.to_vec(), options)?;
        let noise: Vec<i64> = (0..entries as i64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)).collect();
        tree.extend(&[("x", Values::from(&noise[..])), ("y", Values::from(&noise[..]))])?;
        tree.close()?;
    }
    file.close()?;
    Ok(path)
}

type Told = Rc<RefCell<Vec<Progress>>>;

/// Notes what is told, and has enough once so much of the whole is done.
fn noted(told: &Told, most: f64) -> impl FnMut(Progress) -> Result<()> + 'static {
    let told = Rc::clone(told);
    move |now| {
        told.borrow_mut().push(now);
        match now.done_bytes as f64 > most * now.total_bytes as f64 {
            true => Err(Error::new(ErrorKind::Cancelled, "enough")),
            false => Ok(()),
        }
    }
}

/// It rises from the beginning to the end.
fn check_rising(told: &Told, what: &str) {
    let told = told.borrow();
    let total = told[0].total_bytes;
    assert!(told.len() >= 3 && told[0].done_bytes == 0, "{what}: {told:?}");
    assert!(told.windows(2).all(|pair| pair[0].done_bytes <= pair[1].done_bytes), "{what}: {told:?}");
    assert!(told.iter().all(|now| now.total_bytes == total && now.done_bytes <= total), "{what}: {told:?}");
    assert!(told[told.len() - 1].done_bytes == total, "{what}: {told:?}");
}

#[test]
fn rewriting_tells_how_far_it_is_and_can_be_ended() {
    let (old, path) = (trees().unwrap(), scratch("new.root"));
    let from = File::open(&old).unwrap();
    let pages = NTupleOptions { cluster_bytes: 1 << 20, ..NTupleOptions::default() };
    let ways = [
        ("new baskets", Remake::default()),
        ("kept baskets", Remake { baskets: Baskets::Keep, order: Order::Branch, ..Remake::default() }),
        ("to an RNTuple", Remake { to: Some(Format::NTuple), pages, ..Remake::default() }),
    ];
    for (what, how) in ways {
        let remade = |most: f64| {
            let told = Told::default();
            let outcome = telling(noted(&told, most), || {
                let writer =
                    FileWriter::recreate(&path, WriteOptions { compression: None, ..WriteOptions::default() })?;
                writer.remake(&from, || File::open(&path), &how)
            });
            (outcome, told)
        };
        let (outcome, told) = remade(1.0);
        assert_eq!(outcome.unwrap()[1].after.entries, 2_000_000);
        check_rising(&told, what);
        let (outcome, told) = remade(0.05);
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "enough"), "{what}");
        let last = *told.borrow().last().unwrap();
        assert!(last.done_bytes < last.total_bytes / 10, "{what} went on: {last:?}");
    }
}

#[test]
fn verifying_tells_how_far_it_is_and_an_end_is_no_report() {
    let path = trees().unwrap();
    let told = Told::default();
    let report = telling(noted(&told, 1.0), || verify(&path, Default::default())).unwrap();
    assert!(!report.is_damaged() && report.baskets > 20);
    check_rising(&told, "verify");
    assert_eq!(told.borrow()[0].total_bytes, path.metadata().unwrap().len());
    let told = Told::default();
    let ended = telling(noted(&told, -1.0), || verify(&path, Default::default()));
    assert_eq!(ended.unwrap_err().message(), "enough");
    assert_eq!(told.borrow().len(), 1, "nothing more was looked into");
}
