//! Frames: a whole analysis in one pass.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sapwood::frame::{self, Outcome, StepColumns, Variation, Varied};
use sapwood::query::Compute;

use crate::column::Column;
use crate::diagram::Diagram;
use crate::errors::{raise, run, with_function};
use crate::hist::{Axis, Histogram, SparseFill};
use crate::ntuple_writer::kind_of;
use crate::query::{Friend, source};
use crate::reading::{Wanted as Entries, watched};

/// Names, filters and variations.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Frame(frame::Frame);

/// Something that is wanted of a frame.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Wanted(frame::Wanted);

/// A column from Python: its type as nested tuples, its rows, and its buffers.
type Given<'py> = (Bound<'py, PyTuple>, usize, Vec<PyBuffer<u8>>);

/// A function that takes columns and gives one.
struct Function(Py<PyAny>);

impl Compute for Function {
    fn compute(&self, inputs: Vec<sapwood::read::Column>) -> sapwood::Result<sapwood::read::Column> {
        with_function(|py| {
            let inputs: Vec<Column> = inputs.into_iter().map(Column).collect();
            let given = self.0.bind(py).call1((inputs,))?;
            let (kind, rows, buffers): Given<'_> = given.extract()?;
            // Python's memory may change as soon as others run.
            let copies = buffers.iter().map(|buffer| buffer.to_vec(py).map(Bytes::from));
            let buffers = copies.collect::<PyResult<Vec<Bytes>>>()?;
            Ok(sapwood::read::Column::from_buffers(kind_of(&kind)?, rows, buffers))
        })
    }
}

#[pymethods]
impl Frame {
    #[new]
    fn new() -> Self {
        Self(frame::Frame::new())
    }

    /// Names the value of an expression; `again` allows a name that has a meaning.
    fn define(&self, name: &str, text: &str, again: bool) -> PyResult<Self> {
        let defined = if again { self.0.redefine(name, text) } else { self.0.define(name, text) };
        defined.map(Self).map_err(raise)
    }

    /// Names what a function computes of columns.
    fn compute(&self, name: &str, inputs: Vec<String>, function: Py<PyAny>, again: bool) -> PyResult<Self> {
        let inputs = inputs.iter().map(String::as_str);
        self.0.compute(name, inputs, Arc::new(Function(function)), again).map(Self).map_err(raise)
    }

    /// Keeps the entries for which an expression is true.
    fn filter(&self, text: &str, name: &str) -> PyResult<Self> {
        self.0.filter(text, name).map(Self).map_err(raise)
    }

    /// Keeps entries by their positions among those that pass the filters so far.
    #[pyo3(signature = (start, stop, step))]
    fn range(&self, start: u64, stop: Option<u64>, step: u64) -> PyResult<Self> {
        self.0.range(start, stop, step).map(Self).map_err(raise)
    }

    /// Variations: their names, and pairs of a column and an expression.
    fn vary(&self, variations: Vec<(String, Vec<(String, String)>)>) -> PyResult<Self> {
        self.0.vary(variations.into_iter().map(|(name, of)| Variation { name, of })).map(Self).map_err(raise)
    }

    /// A histogram of expressions, along x first.
    #[pyo3(signature = (of, axes, bins, weight, name, title, profile))]
    #[expect(clippy::too_many_arguments, reason = "what a histogram is made of")]
    fn histogram(
        &self,
        of: Vec<String>,
        axes: Option<Vec<Py<Axis>>>,
        bins: Option<usize>,
        weight: Option<&str>,
        name: &str,
        title: &str,
        profile: bool,
    ) -> PyResult<Wanted> {
        let made = || {
            let mut wanted = self.0.histogram(of.iter().map(String::as_str))?.named(name, title)?;
            if profile {
                wanted = wanted.profile()?;
            }
            if let Some(axes) = &axes {
                wanted = wanted.axes(axes.iter().map(|axis| axis.get().engine().clone()))?;
            }
            if let Some(bins) = bins {
                wanted = wanted.automatic_bins(bins)?;
            }
            weight.map_or(Ok(wanted.clone()), |weight| wanted.weight(weight))
        };
        made().map(Wanted).map_err(raise)
    }

    /// A sparse histogram of expressions.
    fn sparse(
        &self,
        of: Vec<String>,
        axes: Vec<Py<Axis>>,
        weight: Option<&str>,
        name: &str,
        title: &str,
    ) -> PyResult<Wanted> {
        let made = || {
            let wanted = self.0.sparse(of.iter().map(String::as_str))?.named(name, title)?;
            let wanted = wanted.axes(axes.iter().map(|axis| axis.get().engine().clone()))?;
            match weight {
                Some(weight) => wanted.weight(weight),
                None => Ok(wanted),
            }
        };
        made().map(Wanted).map_err(raise)
    }

    /// The number of entries.
    fn count(&self) -> Wanted {
        Wanted(self.0.count())
    }

    /// Count, sum, mean, extremes and spread of an expression.
    fn statistics(&self, of: &str) -> PyResult<Wanted> {
        self.0.statistics(of).map(Wanted).map_err(raise)
    }

    /// The values of expressions.
    fn columns(&self, of: Vec<String>) -> PyResult<Wanted> {
        self.0.columns(of.iter().map(String::as_str)).map(Wanted).map_err(raise)
    }

    /// Entries that met each filter, and that passed it.
    fn report(&self, weight: Option<&str>) -> PyResult<Wanted> {
        self.0.report(weight).map(Wanted).map_err(raise)
    }
}

/// Count, sum, mean, extremes and spread.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct FrameStatistics(frame::Statistics);

/// All of it: the count, numbers in doubles, and exact ones.
type StatisticsState = (u64, [f64; 6], Option<[i128; 3]>);

#[pymethods]
impl FrameStatistics {
    #[staticmethod]
    fn of(state: StatisticsState) -> Self {
        let (count, floats, wholes) = state;
        Self(frame::Statistics::from_parts(frame::StatisticsParts { count, floats, wholes }))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (StatisticsState,))> {
        let frame::StatisticsParts { count, floats, wholes } = self.0.parts();
        Ok((py.get_type::<Self>().getattr("of")?.unbind(), ((count, floats, wholes),)))
    }

    /// The statistics of these numbers and others.
    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.0;
        sum.merge(&other.0);
        Self(sum)
    }

    /// Count, sum, mean, least, largest and spread; the sum and the extremes of whole numbers are whole numbers.
    fn found(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let of = &self.0;
        let count = of.count();
        let mean = of.mean();
        let spread = of.standard_deviation();
        Ok(match of.wholes() {
            Some((sum, least, largest)) => (count, sum, mean, least, largest, spread).into_pyobject(py)?.into_any(),
            None => (count, of.sum(), mean, of.min(), of.max(), spread).into_pyobject(py)?.into_any(),
        }
        .unbind())
    }
}

/// A result and its variations, as values of Python.
type Results = (Py<PyAny>, Vec<(String, Py<PyAny>)>);

/// The description of a pass, as a tuple.
type Explained = (Vec<String>, Vec<String>, Vec<(usize, String)>, Vec<String>, usize, usize);

/// How a run computes its results from one table.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct FramePlan(frame::Plan);

#[pymethods]
impl FramePlan {
    /// Columns, those that are read first, filters, functions, numbers of different outputs and of expressions that
    /// are computed once for several.
    fn explained(&self) -> Explained {
        let found = self.0.explained();
        (found.columns, found.first, found.filters, found.functions, found.outputs, found.shared)
    }
}

/// Computes what is wanted over one file after another.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct FrameRun(Mutex<Option<frame::Run>>);

impl FrameRun {
    /// Works with the run, which is gone once it has given its results.
    fn held<T>(&self, work: impl FnOnce(&mut frame::Run) -> sapwood::Result<T>) -> sapwood::Result<T> {
        let mut locked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(locked.as_mut().ok_or_else(|| sapwood::Error::mismatch("the frame has been computed"))?)
    }
}

#[pymethods]
impl FrameRun {
    #[new]
    fn new(wanted: Vec<Py<Wanted>>) -> Self {
        Self(Mutex::new(Some(frame::Run::new(wanted.iter().map(|wanted| wanted.get().0.clone())))))
    }

    /// Looks up all names in a table; the results do not change.
    fn plan(
        &self,
        of: &Bound<'_, PyAny>,
        aliases: Vec<(String, String)>,
        friends: Vec<Py<Friend>>,
    ) -> PyResult<FramePlan> {
        let source = source(of, None, &friends)?;
        let aliases = aliases.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
        run(of.py(), || self.held(|held| held.plan(source, aliases))).map(FramePlan)
    }

    /// Variations of columns that begin with a plan, after other tables were read.
    fn begins(&self, py: Python<'_>, plan: &FramePlan) -> PyResult<Vec<(usize, String)>> {
        run(py, || self.held(|held| Ok(held.begins(&plan.0))))
    }

    /// Adds entries `start..stop`, or ascending `entries`, of the table of a plan. `take` is called with the number of
    /// what is wanted, the name of the variation (`None` for the columns as they are), and columns of a step.
    #[pyo3(signature = (plan, start, stop, entries=None, take=None))]
    fn read(
        &self,
        py: Python<'_>,
        plan: &FramePlan,
        start: u64,
        stop: u64,
        entries: Option<PyBuffer<i64>>,
        take: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let entries = Entries::new(py, entries, start, stop)?;
        let take = |step: StepColumns<'_>| match &take {
            None => Ok(()),
            Some(take) => with_function(|py| {
                let columns: Vec<Column> = step.columns.into_iter().map(Column).collect();
                take.call1(py, (step.wanted, step.variation, columns)).map(drop)
            }),
        };
        run(py, || self.held(|held| held.read(&plan.0, entries.selection()?, watched(None), take)))
    }

    /// The steps, with what each has met and cost so far.
    fn diagram(&self, py: Python<'_>) -> PyResult<Diagram> {
        run(py, || self.held(|held| Ok(Diagram::new(held.diagram().clone()))))
    }

    /// The results of what was read so far, each with its variations.
    fn so_far(&self, py: Python<'_>) -> PyResult<Vec<Results>> {
        results(py, run(py, || self.held(|held| held.so_far()))?)
    }

    /// The results, each with its variations.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Results>> {
        let found = run(py, || {
            let mut locked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locked.take().ok_or_else(|| sapwood::Error::mismatch("the frame has been computed"))?.finish()
        })?;
        results(py, found)
    }
}

/// Results and their variations as values of Python.
fn results(py: Python<'_>, found: Vec<Varied>) -> PyResult<Vec<Results>> {
    let one = |found: Varied| {
        let varied = found.variations.into_iter().map(|(name, of)| Ok((name, value(py, of)?)));
        Ok((value(py, found.nominal)?, varied.collect::<PyResult<_>>()?))
    };
    found.into_iter().map(one).collect()
}

/// A result as a value of Python: a histogram, a number of entries, a tuple of statistics, or a list of filters.
fn value(py: Python<'_>, of: Outcome) -> PyResult<Py<PyAny>> {
    Ok(match of {
        Outcome::Histogram(histogram) => Py::new(py, Histogram::from_engine(*histogram))?.into_any(),
        Outcome::Sparse(sparse) => Py::new(py, SparseFill::from_engine(*sparse))?.into_any(),
        Outcome::Count(count) => count.into_pyobject(py)?.into_any().unbind(),
        Outcome::Statistics(of) => Py::new(py, FrameStatistics(of))?.into_any(),
        Outcome::Report(cuts) => {
            let cuts: Vec<_> = cuts.into_iter().map(|cut| (cut.name, cut.all, cut.passed, cut.weights)).collect();
            cuts.into_pyobject(py)?.into_any().unbind()
        }
        _ => py.None(),
    })
}
