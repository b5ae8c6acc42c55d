//! Sums of objects that no file holds: what is refused, and what stays after it.

use std::sync::Arc;

use sapwood::ErrorKind;
use sapwood::column::Number;
use sapwood::hist::{Axis, Histogram};
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

#[test]
fn squared_weights_of_a_later_profile_are_kept() {
    for (class, dimensions) in [("TProfile", 1), ("TProfile2D", 2), ("TProfile3D", 3)] {
        let profile = |bins: usize, weights: &[f64]| {
            let axes = (0..dimensions).map(|_| Axis::regular(bins, 0.0, bins as f64).expect("an axis"));
            let mut made = Histogram::new(class, axes).expect("a profile");
            for (number, weight) in weights.iter().enumerate() {
                let mut fill = vec![(number % 3) as f64 + 0.5; dimensions];
                fill.push(1.0 + number as f64);
                made.fill(&fill, *weight).expect("a fill");
            }
            made
        };
        let add = |one: &Histogram, two: &Histogram| {
            let mut sum = Sum::new(one.to_draft()).expect("a sum");
            sum.add(&two.to_draft()).expect("a profile to add");
            Histogram::from_draft(sum.finish()).expect("a profile")
        };
        let (plain, weighted) = (profile(4, &[1.0; 4]), profile(4, &[2.0, 3.0, 1.0, 4.0]));
        assert!(plain.bin_sumw2().is_none() && weighted.bin_sumw2().is_some());
        let (one, other) = (add(&plain, &weighted), add(&weighted, &plain));
        assert_eq!(one.bin_sumw2(), other.bin_sumw2(), "{class}");
        let bin = one.find(&[0.5, 0.5, 0.5][..dimensions]);
        assert_eq!((one.bin_sumw2().expect("squares")[bin], one.error(bin)), (22.0, other.error(bin)));
        // Where axes differ, bins move.
        let wide = add(&plain, &profile(8, &[2.0, 3.0, 1.0, 4.0]));
        let bin = wide.find(&[0.5, 0.5, 0.5][..dimensions]);
        assert_eq!(wide.bin_sumw2().expect("squares")[bin], 22.0, "{class}");
    }
}

/// A `THnD` of one axis.
fn dense(contents: &[f64], squares: &[f64], sums: &[f64]) -> Draft {
    let array = |values: &[f64]| Datum::from(Arc::new(Draft::new("TNDArrayT<double>").with("fData", values.to_vec())));
    let axes =
        Draft::new("TObjArray").with("items", vec![Datum::from(Arc::new(axis(contents.len() as i64 - 2, 0.0, 1.0)))]);
    Draft::new("THnT<double>")
        .with("fAxes", Arc::new(axes))
        .with("fEntries", 1.0)
        .with("fTsumw", 1.0)
        .with("fTsumw2", 1.0)
        .with("fTsumwx", sums.to_vec())
        .with("fTsumwx2", sums.to_vec())
        .with("fArray", array(contents))
        .with("fSumw2", array(squares))
}

#[test]
fn squares_and_statistics_of_many_dimensions_fit_the_bins() {
    let bins = [0.0, 2.0, 3.0, 0.0];
    let good = || dense(&bins, &[0.0, 4.0, 9.0, 0.0], &[1.5]);
    let mut sum = Sum::new(good()).unwrap();
    // Without squares, those of a bin are its content.
    sum.add(&dense(&bins, &[], &[1.5])).unwrap();
    let sum = sum.finish();
    let squares = sum.member("fSumw2").and_then(Datum::as_draft).and_then(|array| array.member("fData")).unwrap();
    let Datum::Numbers(_, bytes) = squares else { panic!("{squares:?}") };
    let squares: Vec<f64> = bytes.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x)).collect();
    assert_eq!(squares, [0.0, 6.0, 12.0, 0.0]);
    for bad in [dense(&bins, &[0.0, 4.0], &[1.5]), dense(&bins, &[], &[1.5, 2.5])] {
        let mut sum = Sum::new(good()).unwrap();
        assert_eq!(sum.add(&bad).unwrap_err().kind(), ErrorKind::Malformed);
    }
}

#[test]
fn profiles_without_sums_over_their_values_count_as_their_bins_say() {
    let mut made = Histogram::new("TProfile", [Axis::regular(2, 0.0, 2.0).expect("an axis")]).expect("a profile");
    made.fill_many(&[&[0.5, 1.5, 1.5], &[1.0, 2.0, 4.0]], None).expect("a fill");
    // As ROOT 3 wrote them: version 3 of the class has no such members.
    let old = made.to_draft().with("fTsumwy", 0.0).with("fTsumwy2", 0.0);
    for (one, two) in [(&old, &made.to_draft()), (&made.to_draft(), &old)] {
        let mut sum = Sum::new(one.clone()).expect("a sum");
        sum.add(two).expect("a profile to add");
        let sum = Histogram::from_draft(sum.finish()).expect("a profile");
        let sums = sum.statistics().expect("sums");
        assert_eq!((sums[0], sums[4], sums[5]), (6.0, 14.0, 42.0));
    }
}
