//! Histograms, axes and graphs: what Python asks of `sapwood::hist`.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use sapwood::column::Number;
use sapwood::hist::{self, Cells, ProfileError};
use sapwood::schema::{self, Datum};
use sapwood::{Error, Result};

use crate::buffer::array_of_object;
use crate::draft::{Draft, datum};
use crate::errors::{raise, run};
use crate::object::{Object, Struct};

/// Records and objects within each other.
const DEEPEST: u32 = 16;

/// An axis of a histogram.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Axis(hist::Axis);

impl Axis {
    /// The engine's own.
    pub(crate) fn engine(&self) -> &hist::Axis {
        &self.0
    }
}

#[pymethods]
impl Axis {
    /// An axis with these edges, and labels for its bins, where it has them.
    #[new]
    fn new(edges: &Bound<'_, PyAny>, labels: Option<Vec<String>>, title: String) -> PyResult<Self> {
        // An array is copied at once; of other sequences each number is an object.
        let edges: Vec<f64> = match PyBuffer::<f64>::get(edges) {
            Ok(array) => array.to_vec(edges.py())?,
            Err(_) => edges.extract()?,
        };
        let axis = hist::Axis::from_edges(&edges).map_err(raise)?.with_title(title);
        let axis = match labels {
            Some(labels) => axis.with_labels(labels).map_err(raise)?,
            None => axis,
        };
        Ok(Self(axis))
    }

    /// The axis that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, _) = flattened(record, true)?;
        hist::Axis::from_draft(&draft).map(Self).map_err(raise)
    }

    fn __len__(&self) -> usize {
        self.0.bins()
    }

    /// Where the first bin begins.
    #[getter]
    fn low(&self) -> f64 {
        self.0.min()
    }

    /// Where the last bin ends.
    #[getter]
    fn high(&self) -> f64 {
        self.0.max()
    }

    /// Whether it has edges of its own, so that bins may differ in width.
    #[getter]
    fn has_edges(&self) -> bool {
        self.0.has_edges()
    }

    /// Edges of its bins.
    fn edges(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        doubles(py, &self.0.edges())
    }

    /// Labels of its bins; `None` unless each bin has one.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let text = |label: &[u8]| PyBytes::new(py, label).call_method1("decode", ("utf-8", "surrogateescape"));
        self.0.complete_labels().map(|labels| labels.iter().map(|label| text(label)).collect()).transpose()
    }
}

/// A histogram or a profile. All arrays are flat, with flow bins; x runs fastest.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Histogram(hist::Histogram);

impl Histogram {
    pub(crate) fn from_engine(engine: hist::Histogram) -> Self {
        Self(engine)
    }

    /// The engine's own.
    pub(crate) fn engine(&self) -> &hist::Histogram {
        &self.0
    }
}

#[pymethods]
impl Histogram {
    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// As an object that can be written.
    fn draft(&self) -> Draft {
        self.0.to_draft().into()
    }

    /// The sum of it and another one with the same axes.
    fn plus(&self, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        sum.add(&other.0).map_err(raise)?;
        Ok(Self(sum))
    }

    /// The histogram that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, bases) = flattened(record, false)?;
        let bases: Vec<&str> = bases.iter().map(String::as_str).collect();
        run(record.py(), || hist::Histogram::from_derived(draft, &bases)?.finished()).map(Self)
    }

    /// What bins hold, in the type of the class.
    fn cells(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        cells(py, self.0.cells())
    }

    /// Sums of squared weights; for profiles, of weighted squares of values.
    fn sumw2(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.sumw2().map(|sums| doubles(py, sums)).transpose()
    }

    /// Sums of weights of a profile.
    fn bin_entries(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.bin_entries().map(|sums| doubles(py, sums)).transpose()
    }

    /// Sums of squared weights of a profile.
    fn bin_sumw2(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.bin_sumw2().map(|sums| doubles(py, sums)).transpose()
    }

    /// Values: of profiles the means.
    fn values(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        doubles(py, &self.0.values())
    }

    /// Its picture, for one or two axes.
    fn svg(&self) -> PyResult<String> {
        sapwood::inspect::histogram::svg(&self.0).map_err(raise)
    }

    /// Effective entries.
    fn counts(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        doubles(py, &self.0.counts())
    }

    /// Errors of a profile: of the mean, `"s"` spread, `"i"` of whole numbers, `"g"` Gaussian; `None` as it says
    /// itself.
    fn profile_errors(&self, py: Python<'_>, of: Option<&str>) -> PyResult<Py<PyAny>> {
        let of = match of {
            None => self.0.profile_error(),
            Some("s") => ProfileError::Spread,
            Some("i") => ProfileError::Integer,
            Some("g") => ProfileError::Gaussian,
            Some(_) => ProfileError::Mean,
        };
        doubles(py, &self.0.profile_errors(of).map_err(raise)?)
    }
}

/// A graph.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Graph(hist::Graph);

#[pymethods]
impl Graph {
    /// The graph that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, _) = flattened(record, false)?;
        hist::Graph::from_draft(draft).map(Self).map_err(raise)
    }

    fn __len__(&self) -> usize {
        self.0.points()
    }

    /// Coordinates along an axis, numbered from 0.
    fn values(&self, py: Python<'_>, axis: usize) -> PyResult<Py<PyAny>> {
        doubles(py, &self.0.values(axis).map_err(raise)?)
    }

    /// Errors along an axis, below and above; `None` where the class has none.
    fn errors(&self, py: Python<'_>, axis: usize) -> PyResult<Option<(Py<PyAny>, Py<PyAny>)>> {
        let errors = self.0.errors(axis).map_err(raise)?;
        errors.map(|(low, high)| Ok((doubles(py, &low)?, doubles(py, &high)?))).transpose()
    }
}

/// An efficiency. All arrays are flat, with flow bins; x runs fastest.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Efficiency(hist::Efficiency);

#[pymethods]
impl Efficiency {
    /// The efficiency that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, _) = flattened(record, true)?;
        run(record.py(), || hist::Efficiency::from_draft(draft)).map(Self)
    }

    /// Part that passed.
    fn values(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        doubles(py, &self.0.values())
    }

    /// Part of cases that errors are to cover.
    #[getter]
    fn confidence_level(&self) -> f64 {
        self.0.confidence_level()
    }

    /// How errors are computed.
    #[getter]
    fn interval(&self) -> &'static str {
        self.0.interval().as_str()
    }

    /// The two parameters of the prior of Bayesian errors.
    #[getter]
    fn prior(&self) -> (f64, f64) {
        self.0.prior()
    }
}

/// A sparse histogram that was filled.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct SparseFill(hist::SparseFill);

impl SparseFill {
    pub(crate) fn from_engine(engine: hist::SparseFill) -> Self {
        Self(engine)
    }
}

#[pymethods]
impl SparseFill {
    /// The histogram that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, _) = flattened(record, true)?;
        run(record.py(), || hist::SparseFill::from_draft(&draft)).map(Self)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// As an object that can be written.
    fn draft(&self) -> Draft {
        self.0.clone().into_draft().into()
    }

    /// The sum of it and another one with the same axes.
    fn plus(&self, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        sum.add(&other.0).map_err(raise)?;
        Ok(Self(sum))
    }
}

/// A sparse histogram: the bins that were filled.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct SparseHistogram(hist::SparseHistogram);

#[pymethods]
impl SparseHistogram {
    /// The histogram that a record is.
    #[staticmethod]
    fn of(record: &Bound<'_, Struct>) -> PyResult<Self> {
        let (draft, _) = flattened(record, true)?;
        run(record.py(), || hist::SparseHistogram::from_draft(&draft)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.bins()
    }

    /// What bins hold, in the type of the class.
    fn cells(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        cells(py, self.0.contents())
    }

    /// Sums of squared weights.
    fn sumw2(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.sumw2().map(|sums| doubles(py, sums)).transpose()
    }

    /// Numbers of bins along each axis, flat: the last axis runs fastest.
    fn coordinates(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let bytes: Vec<u8> = self.0.coordinates().iter().flat_map(|number| number.to_ne_bytes()).collect();
        array_of_object(py, Number::I64, bytes)
    }
}

/// The names of the members of an efficiency that are its histograms: of all, and of what passed.
#[pyfunction]
pub(crate) fn efficiency_members() -> [&'static str; 2] {
    hist::efficiency_members()
}

/// The name of the NumPy type that the bins of a class of histograms have; `None` for another class.
#[pyfunction]
pub(crate) fn histogram_dtype(class: &str) -> Option<&'static str> {
    hist::number_of(class).map(Number::numpy_name)
}

/// The names of the members that are the axes of a histogram of so many dimensions.
#[pyfunction]
pub(crate) fn axis_members(dimensions: usize) -> Vec<&'static str> {
    (0..dimensions).filter_map(hist::axis_member).collect()
}

/// A histogram to be written: its bins, flow bins included, decide about its class. `statistics` are the sums of
/// `TH1::GetStats`.
#[pyfunction]
pub(crate) fn histogram(
    title: &str,
    axes: Vec<PyRef<'_, Axis>>,
    cells: &Bound<'_, PyAny>,
    sumw2: Option<Doubles>,
    entries: f64,
    statistics: Vec<f64>,
) -> PyResult<Draft> {
    let Datum::Numbers(number, bytes) = datum(cells, "cells")? else {
        return Err(raise(Error::mismatch("the bins of a histogram are numbers")));
    };
    let make = || -> Result<schema::Draft> {
        let class = hist::class_of(axes.len(), number)
            .ok_or_else(|| Error::mismatch(format!("no histogram has {} axes and bins of {number}", axes.len())))?;
        let mut made = hist::Histogram::new(&class, axes.iter().map(|axis| axis.0.clone()))?.with_title(title);
        let cells = Cells::from_bytes(number, &bytes).ok_or_else(|| Error::internal("bins of an unknown type"))?;
        made.set_cells(cells, sumw2.map(Doubles::into_vec))?;
        made.set_statistics(&statistics);
        made.set_entries(entries);
        Ok(made.into_draft())
    };
    make().map(Draft::from).map_err(raise)
}

/// A profile to be written, by the sums in each bin, flow bins included: of weights, of weighted values, of their
/// weighted squares, and of squares of weights.
#[pyfunction]
#[pyo3(signature = (title, axes, sums, squared_weights, entries, statistics))]
pub(crate) fn profile(
    title: &str,
    axes: Vec<PyRef<'_, Axis>>,
    sums: (Doubles, Doubles, Doubles),
    squared_weights: Option<Doubles>,
    entries: f64,
    statistics: Vec<f64>,
) -> PyResult<Draft> {
    let make = || -> Result<schema::Draft> {
        let class = hist::profile_class_of(axes.len())
            .ok_or_else(|| Error::mismatch(format!("no profile has {} axes", axes.len())))?;
        let mut made = hist::Histogram::new(class, axes.iter().map(|axis| axis.0.clone()))?.with_title(title);
        let (weights, values, squares) = sums;
        made.set_profile(weights.0, values.0, squares.0, squared_weights.map(Doubles::into_vec))?;
        made.set_statistics(&statistics);
        made.set_entries(entries);
        Ok(made.into_draft())
    };
    make().map(Draft::from).map_err(raise)
}

/// A graph to be written: points, with errors along x and y, each below and above, or the same on both sides.
#[pyfunction]
pub(crate) fn graph(
    title: &str,
    points: (Doubles, Doubles),
    errors: Option<(Doubles, Doubles)>,
    asymmetric_errors: Option<[(Doubles, Doubles); 2]>,
) -> PyResult<Draft> {
    let make = || -> Result<schema::Draft> {
        let graph = hist::Graph::new(&points.0.0, &points.1.0)?.with_title(title);
        let graph = match (&errors, &asymmetric_errors) {
            (_, Some([x, y])) => graph.with_asymmetric_errors((&x.0.0, &x.1.0), (&y.0.0, &y.1.0))?,
            (Some((x, y)), None) => graph.with_errors(&x.0, &y.0)?,
            (None, None) => graph,
        };
        Ok(graph.into_draft())
    };
    make().map(Draft::from).map_err(raise)
}

/// Numbers of an array of `float64`, copied at once.
pub(crate) struct Doubles(Vec<f64>);

impl Doubles {
    fn into_vec(self) -> Vec<f64> {
        self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Doubles {
    type Error = PyErr;

    fn extract(array: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        PyBuffer::<f64>::get(&array)?.to_vec(array.py()).map(Self)
    }
}

/// Contents of bins in their own type.
fn cells(py: Python<'_>, cells: &Cells) -> PyResult<Py<PyAny>> {
    macro_rules! bytes {
        ($values:expr) => {
            $values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>()
        };
    }
    let bytes = match cells {
        Cells::Char(values) => bytes!(values),
        Cells::Short(values) => bytes!(values),
        Cells::Int(values) => bytes!(values),
        Cells::Long(values) => bytes!(values),
        Cells::Float(values) => bytes!(values),
        Cells::Double(values) => bytes!(values),
    };
    array_of_object(py, cells.number(), bytes)
}

fn doubles(py: Python<'_>, values: &[f64]) -> PyResult<Py<PyAny>> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    array_of_object(py, Number::F64, bytes)
}

/// All members of a record and its bases, and the names of these, nearest first. Of objects behind pointers, parts of
/// histograms come along if `follow` is set.
fn flattened(record: &Bound<'_, Struct>, follow: bool) -> PyResult<(schema::Draft, Vec<String>)> {
    let mut bases = Vec::new();
    let mut draft = schema::Draft::new(record.get().classname.as_str());
    flatten(record, follow, 0, &mut draft, &mut bases)?;
    Ok((draft, bases))
}

fn flatten(
    record: &Bound<'_, Struct>,
    follow: bool,
    depth: u32,
    draft: &mut schema::Draft,
    bases: &mut Vec<String>,
) -> PyResult<()> {
    if depth > DEEPEST {
        return Err(raise(Error::limit("parts of a histogram nest too deep", DEEPEST.into(), depth.into())));
    }
    let py = record.py();
    for base in record.get().bases.bind(py) {
        let base = base.cast_into::<Struct>()?;
        bases.push(base.get().classname.clone());
        flatten(&base, follow, depth + 1, draft, bases)?;
    }
    for (name, value) in record.get().members.bind(py) {
        let name: String = name.extract()?;
        let value = part(&value, &name, follow, depth)?;
        draft.set(name, value);
    }
    Ok(())
}

fn part(value: &Bound<'_, PyAny>, name: &str, follow: bool, depth: u32) -> PyResult<Datum> {
    // Most parts: what follows asks for attributes, which these lack at the cost of an exception each.
    let is_plain = value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>();
    if is_plain {
        return datum(value, name);
    }
    if let Ok(record) = value.cast::<Struct>() {
        let mut draft = schema::Draft::new(record.get().classname.as_str());
        flatten(record, follow, depth + 1, &mut draft, &mut Vec::new())?;
        return Ok(Datum::Value(draft));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|item| part(&item, name, follow, depth)).collect::<PyResult<_>>().map(Datum::List);
    }
    // Bytes of unknown layout, and maps: neither is a part.
    if value.is_instance_of::<PyTuple>() {
        return Ok(Datum::Null);
    }
    // An object behind a pointer, of the engine or kept apart from it.
    if value.is_instance_of::<Object>() || value.hasattr("classname")? {
        let class: String = value.getattr("classname")?.extract()?;
        if !follow || !hist::is_part(&class) {
            return Ok(Datum::Null);
        }
        return part(&value.call_method0("value")?, name, follow, depth + 1);
    }
    datum(value, name)
}
