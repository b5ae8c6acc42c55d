//! Fills histograms from a file of numbers, and writes them: `histograms <numbers> <output.root>`.
//!
//! The numbers are rows of five native doubles: x, y, z, a value, a weight. What each histogram says of itself is
//! printed as JSON. `tests/test_hist.py` compares all of it with real ROOT, which fills the same rows.

use std::error::Error;

use sapwood::hist::{Axis, BinError, Efficiency, Graph, Histogram};
use sapwood::schema::Draft;
use sapwood::write::{FileWriter, WriteOptions};

/// Values of all rows: x, y, z, value, weight.
type Columns = [Vec<f64>; 5];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(numbers), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: histograms <numbers> <output.root>".into());
    };
    let rows = read(&numbers)?;
    let mut file = FileWriter::create(&output, WriteOptions::default())?;
    let mut told = Vec::new();
    for (name, histogram) in histograms(&rows)? {
        told.push(format!("{name:?}: {}", tell(&histogram)?));
        file.write(name, histogram.with_name(name).into_draft())?;
    }
    for (name, object) in others(&rows)? {
        file.write(name, object)?;
    }
    file.close()?;
    println!("{{{}}}", told.join(", "));
    Ok(())
}

fn read(path: &str) -> Result<Columns, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let mut columns = Columns::default();
    for (place, number) in bytes.as_chunks().0.iter().enumerate() {
        columns[place % 5].push(f64::from_ne_bytes(*number));
    }
    Ok(columns)
}

fn histograms(rows: &Columns) -> sapwood::Result<Vec<(&'static str, Histogram)>> {
    let [x, y, z, value, weight] = rows.each_ref().map(Vec::as_slice);
    let regular = || Axis::regular(20, -2.0, 2.0);
    let variable = || Axis::variable(&[-3.0, -1.0, 0.0, 0.5, 2.0]);
    let small = || Axis::regular(4, -1.5, 1.5);
    let mut all = Vec::new();
    let mut add = |name, class, axes: Vec<Axis>, columns: &[&[f64]], weights| -> sapwood::Result<()> {
        let mut made = Histogram::new(class, axes)?.with_title("a title");
        made.fill_many(columns, weights)?;
        all.push((name, made));
        Ok(())
    };
    add("plain", "TH1D", vec![regular()?.with_title("x [cm]")], &[x], None)?;
    add("weighted", "TH1D", vec![regular()?], &[x], Some(weight))?;
    add("edges", "TH1F", vec![variable()?], &[x], Some(weight))?;
    for (name, class) in [("chars", "TH1C"), ("shorts", "TH1S"), ("ints", "TH1I"), ("longs", "TH1L")] {
        add(name, class, vec![Axis::regular(2, -1.0, 1.0)?], &[x], None)?;
    }
    add("truncated", "TH1S", vec![small()?], &[x], Some(weight))?;
    add("two", "TH2F", vec![regular()?, variable()?], &[x, y], Some(weight))?;
    add("three", "TH3I", vec![small()?, variable()?, small()?], &[x, y, z], None)?;
    add("three_weighted", "TH3D", vec![small()?, small()?, variable()?], &[x, y, z], Some(weight))?;
    add("profile", "TProfile", vec![regular()?], &[x, value], None)?;
    add("profile_weighted", "TProfile", vec![variable()?], &[x, value], Some(weight))?;
    add("profile2", "TProfile2D", vec![small()?, variable()?], &[x, y, value], Some(weight))?;
    add("profile3", "TProfile3D", vec![small()?, small()?, small()?], &[x, y, z, value], None)?;

    let mut limited = Histogram::new("TProfile", [small()?])?;
    limited.set_value_limits(-1.0, 1.0);
    limited.fill_many(&[x, value], Some(weight))?;
    all.push(("limited", limited));

    let mut growing = small()?;
    growing.set_can_extend(true);
    let mut growing = Histogram::new("TH1D", [growing])?;
    growing.fill_many(&[x], Some(weight))?;
    all.push(("growing", growing));
    let mut growing = small()?;
    growing.set_can_extend(true);
    let mut growing = Histogram::new("TH2D", [growing, small()?])?;
    for ((x, y), weight) in x.iter().zip(y).zip(weight).filter(|((x, _), _)| !x.is_nan()) {
        growing.fill(&[*x, *y], *weight)?;
    }
    all.push(("growing2", growing));

    let mut labels = Histogram::new("TH1D", [Axis::labelled(["a", "b"])?])?;
    for (label, weight) in ["a", "b", "c", "a", "dd", "e"].into_iter().zip(weight) {
        labels.fill_label(label, *weight)?;
    }
    all.push(("labels", labels));

    let mut overflows = Histogram::new("TH2D", [small()?, small()?])?;
    overflows.set_counts_overflows(true);
    for ((x, y), weight) in x.iter().zip(y).zip(weight).filter(|((x, y), _)| x.is_finite() && y.is_finite()) {
        overflows.fill(&[*x, *y], *weight)?;
    }
    all.push(("overflows", overflows));

    // Threads fill parts, which are added up: one part is of whole weights alone.
    let mut sum = Histogram::new("TProfile", [small()?])?;
    let mut part = sum.clone();
    let half = x.len() / 2;
    sum.fill_many(&[&x[..half], &value[..half]], None)?;
    part.fill_many(&[&x[half..], &value[half..]], Some(&weight[half..]))?;
    sum.add(&part)?;
    all.push(("sum", sum));

    let mut poisson = Histogram::new("TH1F", [regular()?])?;
    poisson.set_bin_error(BinError::Poisson);
    poisson.fill_many(&[x], None)?;
    all.push(("poisson", poisson));

    let mut ranged = Histogram::new("TH1D", [regular()?])?;
    ranged.fill_many(&[x], Some(weight))?;
    ranged.axis_mut(0).into_iter().for_each(|axis| axis.set_range(Some(5..=12)));
    all.push(("ranged", ranged));
    Ok(all)
}

/// Efficiencies, which numbers below zero pass, and graphs.
fn others(rows: &Columns) -> sapwood::Result<Vec<(&'static str, Draft)>> {
    let [x, y, z, value, weight] = rows.each_ref().map(Vec::as_slice);
    let axis = || Axis::regular(4, -1.5, 1.5);
    let mut plain = Efficiency::new("TH1D", [axis()?])?.with_name("efficiency", "a title");
    let mut weighted = Efficiency::new("TH2D", [axis()?, axis()?])?.with_name("efficiency2", "");
    for (row, value) in value.iter().enumerate() {
        plain.fill(*value < 0.0, &[x[row]], 1.0)?;
        weighted.fill(*value < 0.0, &[x[row], y[row]], weight[row].abs())?;
    }
    let [x, y, z, value, weight] = [x, y, z, value, weight].map(|column| &column[900..920]);
    let graph = Graph::new(x, y)?.with_title("a title");
    let errors = graph.clone().with_errors(z, value)?;
    let mut both = graph.clone().with_asymmetric_errors((z, value), (weight, x))?;
    both.append(&both.clone())?;
    Ok(vec![
        ("efficiency", plain.into_draft()),
        ("efficiency2", weighted.into_draft()),
        ("graph", graph.into_draft()),
        ("graph_errors", errors.into_draft()),
        ("graph_asymmetric", both.into_draft()),
    ])
}

/// Entries, effective entries, integral; mean and standard deviation along each axis; values and errors of all bins.
fn tell(histogram: &Histogram) -> sapwood::Result<String> {
    let count = histogram.axes().len() + usize::from(histogram.is_profile());
    let moments = |of: fn(&Histogram, usize) -> sapwood::Result<f64>| {
        (0..count).map(|axis| of(histogram, axis)).collect::<sapwood::Result<Vec<f64>>>()
    };
    let (low, high): (Vec<f64>, Vec<f64>) =
        (0..histogram.cells().len()).map(|bin| histogram.asymmetric_error(bin)).unzip();
    let told = [
        ("entries", format!("{:?}", histogram.entries())),
        ("effective", format!("{:?}", histogram.effective_entries()?)),
        ("integral", format!("{:?}", histogram.integral())),
        ("means", format!("{:?}", moments(Histogram::mean)?)),
        ("deviations", format!("{:?}", moments(Histogram::std_dev)?)),
        ("values", format!("{:?}", histogram.values())),
        ("errors", format!("{:?}", histogram.errors())),
        ("low", format!("{low:?}")),
        ("high", format!("{high:?}")),
    ];
    let told: Vec<String> = told.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
    Ok(format!("{{{}}}", told.join(", ")))
}
