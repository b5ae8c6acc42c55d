//! Histograms, graphs and efficiencies as data that the page draws.

use sapwood::hist::{Axis, Efficiency, Graph, Histogram, Interval};
use sapwood::query::{Function, FunctionAxis};
use sapwood::{Error, Object, Result, Value as ObjectValue};
use serde_json::{Value, json};

/// More numbers than a page can show.
const MOST_NUMBERS: usize = 1 << 20;
/// The most points of a function along each axis, for one, two and three.
const MOST_POINTS: [usize; 3] = [4_000, 300, 40];

/// A number; JSON has none that is infinite or none at all.
pub(super) fn number(value: f64) -> Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => number.into(),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

fn numbers(values: &[f64]) -> Vec<Value> {
    values.iter().copied().map(number).collect()
}

/// The most functions that are drawn over a histogram or graph.
const MOST_FUNCTIONS: usize = 16;
/// `TF1::kNotDraw`
const IS_NOT_DRAWN: i64 = 1 << 9;

/// What the page draws of an object, with the functions that were fitted to it; null for what it leaves to jsroot.
pub(super) fn object(object: &Object) -> Result<Value> {
    let mut drawn = alone(object)?;
    if matches!(drawn["kind"].as_str(), Some("histogram" | "graph")) {
        drawn["functions"] = fitted(object).into();
    }
    Ok(drawn)
}

/// Functions of one variable that an object has with it.
fn fitted(object: &Object) -> Vec<Value> {
    let list = match object.member("fFunctions") {
        Ok(ObjectValue::Object(list)) => list,
        // A list that is stored in place.
        Ok(ObjectValue::Record(list)) => return functions(list.get("items")),
        _ => return Vec::new(),
    };
    functions(list.member("items").ok())
}

fn functions(items: Option<ObjectValue<'_>>) -> Vec<Value> {
    let Some(ObjectValue::List(items)) = items else { return Vec::new() };
    let one = |item: ObjectValue<'_>| {
        let ObjectValue::Object(item) = item else { return None };
        let bits = item.member("fBits").ok().and_then(|bits| bits.as_int()).unwrap_or(0);
        let found = Function::from_object(&item).ok().filter(|found| found.axes.len() == 1);
        found.filter(|_| bits & IS_NOT_DRAWN == 0).and_then(|found| function(&item, found).ok())
    };
    items.iter().filter_map(one).take(MOST_FUNCTIONS).collect()
}

fn alone(object: &Object) -> Result<Value> {
    let class = object.class();
    if class == "TEfficiency" {
        let found = Efficiency::from_object(object)?;
        // The page counts cases. jsroot draws weighted ones, and what is estimated with a prior.
        let is_bayesian = matches!(found.interval(), Interval::Jeffreys | Interval::Uniform | Interval::Bayesian);
        return if is_bayesian || found.is_weighted() { Ok(Value::Null) } else { efficiency(&found) };
    }
    if class.starts_with("TGraph") && !matches!(class, "TGraphTime" | "TGraphPolar") {
        return graph(&Graph::from_object(object)?);
    }
    if let Ok(found) = Function::from_object(object) {
        // jsroot draws what the language of queries cannot compute.
        return Ok(function(object, found).unwrap_or(Value::Null));
    }
    // Classes that are derived from a histogram count, too.
    match Histogram::from_object(object) {
        Ok(found) => histogram(&found),
        Err(error) if class.starts_with("TH") && class.len() == 4 || class.starts_with("TProfile") => Err(error),
        Err(_) => Ok(Value::Null),
    }
}

fn axis(axis: &Axis) -> Value {
    let axis = axis.with_finite_ends();
    json!({
        "title": axis.title(), "bins": axis.bins(), "min": number(axis.min()), "max": number(axis.max()),
        "edges": axis.has_edges().then(|| numbers(&axis.edges())), "labels": axis.labels(),
        "time": axis.time_format(),
    })
}

/// A histogram: the values of all cells, flow included, x fastest; and its statistics.
pub(super) fn histogram(histogram: &Histogram) -> Result<Value> {
    let values = histogram.values();
    if values.len() > MOST_NUMBERS {
        return Err(Error::limit("too many bins for a page", MOST_NUMBERS as u64, values.len() as u64));
    }
    let axes = histogram.axes();
    let of_axes = |of: &dyn Fn(usize) -> Result<f64>| -> Result<Vec<Value>> {
        (0..axes.len()).map(|place| of(place).map(number)).collect()
    };
    let has_errors = histogram.sumw2().is_some() || histogram.is_profile();
    Ok(json!({
        "kind": "histogram", "class": histogram.class(), "name": histogram.name(), "title": histogram.title(),
        "axes": axes.iter().map(axis).collect::<Vec<_>>(), "values": numbers(&values),
        "errors": has_errors.then(|| numbers(&histogram.errors())), "is_profile": histogram.is_profile(),
        "entries": number(histogram.entries()), "mean": of_axes(&|place| histogram.mean(place))?,
        "std_dev": of_axes(&|place| histogram.std_dev(place))?, "integral": number(histogram.integral()),
    }))
}

fn graph(graph: &Graph) -> Result<Value> {
    if graph.points() > MOST_NUMBERS / 4 {
        return Err(Error::limit("too many points for a page", MOST_NUMBERS as u64 / 4, graph.points() as u64));
    }
    let values = (0..graph.axes()).map(|axis| Ok(numbers(&graph.values(axis)?))).collect::<Result<Vec<_>>>()?;
    let errors = |axis: usize| -> Result<Value> {
        Ok(match graph.errors(axis)? {
            Some((low, high)) => json!([numbers(&low), numbers(&high)]),
            None => Value::Null,
        })
    };
    let errors = (0..graph.axes()).map(errors).collect::<Result<Vec<_>>>()?;
    Ok(json!({
        "kind": "graph", "class": graph.class(), "title": graph.title(), "values": values, "errors": errors,
        "points": graph.points(),
    }))
}

fn efficiency(efficiency: &Efficiency) -> Result<Value> {
    let (alpha, beta) = efficiency.prior();
    Ok(json!({
        "kind": "efficiency", "class": "TEfficiency", "passed": histogram(efficiency.passed())?,
        "total": histogram(efficiency.total())?, "level": efficiency.confidence_level(),
        "interval": efficiency.interval().as_str(), "prior": [alpha, beta],
    }))
}

/// A function: its values at points of a grid, x fastest. Axes have a bin around each point.
fn function(object: &Object, function: Function) -> Result<Value> {
    let most = MOST_POINTS.get(function.axes.len().saturating_sub(1)).copied().unwrap_or(2);
    let function = function.with_points(most);
    let values = function.values()?;
    let axis = |axis: &FunctionAxis| {
        let half = (axis.to - axis.from) / axis.points.saturating_sub(1).max(1) as f64 / 2.0;
        json!({
            "title": "", "bins": axis.points, "min": number(axis.from - half), "max": number(axis.to + half),
            "edges": null, "labels": null, "time": null,
        })
    };
    let text = |name: &str| object.member(name).ok().and_then(|value| value.as_text()).unwrap_or_default();
    let parameters = function.parameters.iter().map(|of| json!([of.name, number(of.value), number(of.error)]));
    Ok(json!({
        "kind": "function", "class": object.class(), "title": text("fTitle"),
        "axes": function.axes.iter().map(axis).collect::<Vec<_>>(), "values": numbers(&values),
        "parameters": parameters.collect::<Vec<_>>(), "is_saved": !function.is_formula(),
    }))
}
