//! Sums of objects that no file holds: what is refused, and what stays after it.

use std::sync::Arc;

use sapwood::ErrorKind;
use sapwood::column::Number;
use sapwood::merge::Sum;
use sapwood::schema::{Datum, Draft};

fn axis(bins: i64, min: f64, max: f64) -> Draft {
    let draft = Draft::new("TAxis")
        .with("fNbins", bins)
        .with("fXmin", min)
        .with("fXmax", max)
        .with("fXbins", Vec::<f64>::new());
    draft.with("fBits", 0).with("fBits2", 0).with("fFirst", 0).with("fLast", 0).with("fLabels", Datum::Null)
}

/// A histogram of one dimension with these contents, which say how many bins there are.
fn histogram(min: f64, max: f64, contents: &[f64]) -> Draft {
    let total: f64 = contents.iter().sum();
    Draft::new("TH1D")
        .with("fNcells", contents.len() as i64)
        .with("fXaxis", axis(contents.len() as i64 - 2, min, max))
        .with("fYaxis", axis(1, 0.0, 1.0))
        .with("fZaxis", axis(1, 0.0, 1.0))
        .with("fEntries", total)
        .with("fTsumw", total)
        .with("fSumw2", Vec::<f64>::new())
        .with("fBuffer", Vec::<f64>::new())
        .with("fBufferSize", 0)
        .with("TArrayD", contents.to_vec())
}

fn contents(draft: &Draft) -> Vec<f64> {
    let Some(Datum::Numbers(Number::F64, bytes)) = draft.member("TArrayD") else { panic!("no contents") };
    bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
}

#[test]
fn axes_that_fit_become_one() {
    let mut sum = Sum::new(histogram(0.0, 2.0, &[0.0, 1.0, 2.0, 0.0])).unwrap();
    sum.add(&histogram(1.0, 3.0, &[0.0, 10.0, 20.0, 0.0])).unwrap();
    let sum = sum.finish();
    assert_eq!(contents(&sum), [0.0, 1.0, 12.0, 20.0, 0.0]);
    assert!(matches!(sum.member("fEntries"), Some(Datum::Float(entries)) if *entries == 33.0));
}

#[test]
fn a_refusal_leaves_the_sum() {
    let mut sum = Sum::new(histogram(0.0, 2.0, &[0.0, 1.0, 2.0, 0.0])).unwrap();
    let refused = [
        histogram(0.3, 2.3, &[0.0, 1.0, 2.0, 0.0]),
        histogram(1.0, 3.0, &[5.0, 1.0, 2.0, 0.0]),
        histogram(0.0, 2.0, &[0.0, 1.0, 1.0, 1.0, 0.0]),
        Draft::new("TH1F"),
    ];
    for other in refused {
        assert_eq!(sum.add(&other).unwrap_err().kind(), ErrorKind::Mismatch);
    }
    assert_eq!(contents(&sum.finish()), [0.0, 1.0, 2.0, 0.0]);
}

#[test]
fn contradictory_members_are_an_error() {
    let good = || histogram(0.0, 2.0, &[0.0, 1.0, 2.0, 0.0]);
    let mut edged = axis(2, 0.0, 1.0);
    edged.set("fXbins", vec![1.0]);
    let broken: [(&str, Datum); 8] = [
        ("fXaxis", axis(i64::MAX, 0.0, 1.0).into()),
        ("fXaxis", axis(-1, 0.0, 1.0).into()),
        ("fXaxis", axis(2, f64::NAN, 1.0).into()),
        ("fXaxis", edged.into()),
        ("fXaxis", Datum::Null),
        ("fSumw2", vec![1.0].into()),
        ("fBuffer", vec![1e300, 1.0].into()),
        ("TArrayD", Datum::Null),
    ];
    for (name, value) in broken {
        let mut bad = good();
        bad.set(name, value);
        let mut sum = Sum::new(good()).unwrap();
        let error = sum.add(&bad).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Malformed), "{name}");
    }
}

#[test]
fn a_sum_does_not_grow_beyond_bounds() {
    let mut sum = Sum::new(histogram(0.0, 1.0, &[0.0, 1.0, 0.0])).unwrap();
    let far = sum.add(&histogram(1e9, 1e9 + 1.0, &[0.0, 1.0, 0.0]));
    assert_eq!(far.unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(contents(&sum.finish()), [0.0, 1.0, 0.0]);
}

#[test]
fn lists_are_added_item_by_item() {
    let number = |value: i64| Datum::from(Arc::new(Draft::new("TParameter<int>").with("fVal", value)));
    let text = |text: &str| Datum::from(Arc::new(Draft::new("TObjString").with("fString", text)));
    let list = |items: Vec<Datum>| {
        let options = items.iter().map(|_| Datum::from("")).collect::<Vec<_>>();
        Draft::new("TList").with("items", items).with("options", options)
    };
    let mut sum = Sum::new(list(vec![number(1), text("a")])).unwrap();
    sum.add(&list(vec![number(2), text("b")])).unwrap();
    assert_eq!(sum.add(&list(vec![text("c")])).unwrap_err().kind(), ErrorKind::Mismatch);
    let sum = sum.finish();
    let items = sum.member("items").and_then(Datum::as_list).unwrap();
    assert_eq!(items.len(), 3);
    let first = items[0].as_draft().unwrap();
    assert!(matches!(first.member("fVal"), Some(Datum::Int(3))));
    assert_eq!(sum.member("options").and_then(Datum::as_list).unwrap().len(), 3);
}
