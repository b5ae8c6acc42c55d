//! Histograms without files: bins of values on edges, what is refused, and what stays after it. What real ROOT makes of
//! the same fills is tested in `tests/test_hist.py`.

use sapwood::ErrorKind;
use sapwood::hist::{Axis, BinError, Cells, Efficiency, Graph, Histogram};
use sapwood::merge::Sum;
use sapwood::schema::{Datum, Draft};

fn one(bins: usize) -> Histogram {
    let axis = Axis::regular(bins, 0.0, 1.0).expect("an axis");
    Histogram::new("TH1D", [axis]).expect("a histogram")
}

#[test]
fn a_bin_holds_what_is_between_its_edges() {
    for (bins, min, max) in [(10, 0.0, 1.0), (7, -1.0, 1.0), (12345, 0.1, 3.7), (3, 1e5, 1e5 + 0.7), (5, -2.6, 26.4)] {
        let axis = Axis::regular(bins, min, max).unwrap();
        for (bin, edge) in axis.edges().into_iter().enumerate().take(bins) {
            // The edge belongs to the bin above it, the number before it to the one below.
            assert_eq!((axis.find(edge.next_down()), axis.find(edge)), (bin, bin + 1), "{axis}, {edge}");
        }
        assert_eq!(axis.find(max), bins + 1);
        assert_eq!(axis.find(f64::NAN), bins + 1);
    }
}

#[test]
fn a_sum_finds_bins_as_fills_do() {
    // 0.3 is just below 3 * 0.1, where the fourth bin begins.
    let mut filled = one(10);
    filled.fill(&[0.3], 1.0).unwrap();
    // Buffered, and without limits: its bins are found when it is added to a histogram that has them.
    let mut waiting = one(10).to_draft();
    let axis = waiting.member_mut("fXaxis").and_then(Datum::as_draft_mut).unwrap();
    axis.set("fXmax", 0.0);
    waiting.set("fBuffer", vec![1.0, 1.0, 0.3, 0.0, 0.0]);
    waiting.set("fBufferSize", 5);
    let mut sum = Sum::new(one(10).to_draft()).unwrap();
    sum.add(&waiting).unwrap();
    let sum = Histogram::from_draft(sum.finish()).unwrap();
    assert_eq!(sum.values(), filled.values());
    assert_eq!(sum.value(3), 1.0);
}

#[test]
fn many_fills_are_as_single_ones() {
    const ROWS: i32 = 1500;
    let mut x: Vec<f64> = (0..ROWS).map(|i| f64::from(i * 7 % 31) / 27.0 - 0.1).collect();
    (x[3], x[600], x[601]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
    let y: Vec<f64> = (0..ROWS).map(|i| f64::from(i * 5 % 13)).collect();
    // Squares are summed from the first weight on that is not one, which is in the second block.
    let weights: Vec<f64> = (0..ROWS).map(|i| if i < 700 { 1.0 } else { f64::from(i % 3) - 0.5 }).collect();
    for class in ["TH1C", "TH1L", "TH1F", "TProfile", "TH2S", "TH2D", "TProfile2D", "TH3I", "TH3D", "TProfile3D"] {
        let axis = Axis::regular(9, 0.0, 1.0).unwrap();
        let other = Axis::variable(&[0.0, 1.0, 5.0, 12.0]).unwrap();
        let axes = match class {
            class if class.contains('2') => vec![axis, other],
            class if class.contains('3') => vec![axis.clone(), other, axis],
            _ => vec![axis],
        };
        let mut many = Histogram::new(class, axes).unwrap();
        let mut single = many.clone();
        let columns: &[&[f64]] = match class {
            "TProfile" | "TH2S" | "TH2D" => &[&x, &y],
            "TProfile2D" | "TH3I" | "TH3D" => &[&x, &y, &weights],
            "TProfile3D" => &[&x, &y, &weights, &y],
            _ => &[&x],
        };
        many.fill_many(columns, Some(&weights)).unwrap();
        for row in 0..x.len() {
            let at: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            single.fill(&at, weights[row]).unwrap();
        }
        assert_eq!(many.cells(), single.cells(), "{class}");
        assert_eq!(many.errors(), single.errors(), "{class}");
        assert_eq!(many.statistics().unwrap(), single.statistics().unwrap(), "{class}");
        assert_eq!(many.entries(), f64::from(ROWS));
        assert!(many.sumw2().is_some(), "{class}");
    }
}

#[test]
fn refusals_change_nothing() {
    let mut histogram = one(4);
    histogram.fill(&[0.5], 2.0).unwrap();
    let before = histogram.values();
    let refused = [
        histogram.fill(&[], 1.0),
        histogram.fill(&[0.1, 0.2], 1.0),
        histogram.fill_many(&[&[0.1, 0.2]], Some(&[1.0])),
        histogram.fill_many(&[], None),
        histogram.add(&one(5)),
        histogram.add(&Histogram::new("TH1F", [Axis::regular(4, 0.0, 1.0).unwrap()]).unwrap()),
        histogram.add(&Histogram::new("TH1D", [Axis::regular(4, 0.0, 2.0).unwrap()]).unwrap()),
        histogram.set_cells(Cells::Double(vec![0.0; 5]), None),
        histogram.set_cells(Cells::Float(vec![0.0; 6]), None),
        histogram.set_cells(Cells::Double(vec![0.0; 6]), Some(vec![0.0; 5])),
        histogram.set_profile(vec![0.0; 6], vec![0.0; 6], vec![0.0; 6], None),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Mismatch, "{number}");
    }
    assert_eq!((histogram.values(), histogram.entries()), (before, 1.0));
    let labels = |names: [&str; 2]| Histogram::new("TH1D", [Axis::labelled(names).unwrap()]).unwrap();
    assert!(labels(["a", "b"]).add(&labels(["a", "c"])).is_err());
}

#[test]
fn impossible_axes_are_refused() {
    let none: [&str; 0] = [];
    let wrong = [
        Axis::regular(0, 0.0, 1.0),
        Axis::regular(1 << 40, 0.0, 1.0),
        Axis::regular(1, 1.0, 1.0),
        Axis::regular(1, 0.0, f64::INFINITY),
        Axis::regular(1, f64::NAN, 1.0),
        Axis::variable(&[]),
        Axis::variable(&[1.0]),
        Axis::variable(&[0.0, 1.0, 1.0]),
        Axis::from_edges(&[0.0, f64::NAN]),
        Axis::labelled(none),
        Axis::regular(1, 0.0, 1.0).unwrap().with_labels(["a", "b"]),
    ];
    for (number, wrong) in wrong.into_iter().enumerate() {
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Mismatch, "{number}");
    }
    let many = || Axis::regular(1 << 20, 0.0, 1.0).unwrap();
    let large = Histogram::new("TH2D", [many(), many()]);
    assert!(matches!(large.unwrap_err().kind(), ErrorKind::Limit | ErrorKind::Malformed));
    assert_eq!(Histogram::new("TH4D", [many()]).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn contradictory_members_are_an_error() {
    let profile = Histogram::new("TProfile", [Axis::regular(2, 0.0, 1.0).unwrap()]).unwrap().into_draft();
    let broken: [(&str, Datum); 8] = [
        ("fBinEntries", vec![1.0].into()),
        ("fBinSumw2", vec![1.0; 9].into()),
        ("fSumw2", Vec::<f64>::new().into()),
        ("fErrorMode", Datum::Null),
        ("fStatOverflows", "yes".into()),
        ("fTsumw", "many".into()),
        ("fArray", vec![1_i64].into()),
        ("fYaxis", Datum::Null),
    ];
    for (name, value) in broken {
        let mut bad = profile.clone();
        bad.set(name, value);
        assert_eq!(Histogram::from_draft(bad).unwrap_err().kind(), ErrorKind::Malformed, "{name}");
    }
    let points = Draft::new("TGraph").with("fX", vec![1.0]).with("fY", vec![1.0]);
    for count in [-1, 2, i64::MAX] {
        let graph = Graph::from_draft(points.clone().with("fNpoints", count));
        assert_eq!(graph.unwrap_err().kind(), ErrorKind::Malformed);
    }
    let efficiency = Efficiency::new("TH1D", [Axis::regular(2, 0.0, 1.0).unwrap()]).unwrap().into_draft();
    for name in ["fTotalHistogram", "fPassedHistogram"] {
        let mut bad = efficiency.clone();
        bad.set(name, Datum::Null);
        assert_eq!(Efficiency::from_draft(bad).unwrap_err().kind(), ErrorKind::Malformed);
    }
    for option in [-1, 8] {
        // ROOT knows no such interval: any other would be another result.
        let mut bad = efficiency.clone();
        bad.set("fStatisticOption", option);
        assert_eq!(Efficiency::from_draft(bad).unwrap_err().kind(), ErrorKind::Malformed);
    }
}

#[test]
fn limits_of_counts_are_found_whatever_the_count() {
    let mut histogram = one(1);
    histogram.set_bin_error(BinError::Poisson);
    // Those of ROOT 6.40, whose last one is 1.2e-6 too high.
    for (count, low, high) in [
        (1.0, 0.8272462208950817, 2.2995265585528952),
        (100.0, 9.983254820245776, 11.033360938117326),
        (10.0, 3.1086944386636226, 4.266949759891316),
        // On both sides of where another method begins; with 30 digits.
        (99998.0, 316.2240765082188, 317.2256578093154),
        (100000.0, 316.2272388069616, 317.22882009224365),
        (1e6, 999.9998331097886, 1001.0003342226846),
    ] {
        histogram.set_cells(Cells::Double(vec![0.0, count, 0.0]), None).unwrap();
        let found = histogram.asymmetric_error(1);
        assert!((found.0 / low - 1.0).abs() < 1e-8 && (found.1 / high - 1.0).abs() < 1e-8, "{count}: {found:?}");
    }
    for odd in [f64::NAN, -1.0, f64::INFINITY, 1e300] {
        histogram.set_cells(Cells::Double(vec![0.0, odd, 0.0]), None).unwrap();
        histogram.asymmetric_error(1);
    }
}
