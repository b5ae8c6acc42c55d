//! Expressions, cuts and histograms of them.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use sapwood::column::Number;
use sapwood::query::{self, Draw, LumiMask, Source, TreeIndex};

use crate::buffer::{Buffer, array_of_object};
use crate::column::Column;
use crate::errors::{raise, run};
use crate::hist::{Axis, Histogram};
use crate::reading::{Wanted, followed, watched};
use crate::steps::Steps;
use crate::table::Table;

/// A friend of a tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Friend(query::Friend);

#[pymethods]
impl Friend {
    /// Trees that follow one another, from entry `first` on: by the index of two expressions, by those that are stored
    /// with them (`stored`), or by number of entry.
    #[new]
    #[pyo3(signature = (name, parts, first=0, index=None, stored=false))]
    fn new(
        py: Python<'_>,
        name: &str,
        parts: Vec<Bound<'_, PyAny>>,
        first: u64,
        index: Option<(String, String)>,
        stored: bool,
    ) -> PyResult<Self> {
        let sources = parts.iter().map(|part| source(part, None, &[])).collect::<PyResult<Vec<_>>>()?;
        run(py, || {
            let built = match &index {
                Some((major, minor)) => Some(TreeIndex::build(&sources, major, minor)?),
                None => None,
            };
            let friend = query::Friend::of_parts(name, sources, first)?;
            match built {
                Some(index) => friend.by_index(index),
                None if stored => friend.by_stored_index(),
                None => Ok(friend),
            }
        })
        .map(Self)
    }

    /// The same, whose trees have friends of their own: those of each tree.
    fn with_friends(&self, py: Python<'_>, friends: Vec<Vec<Py<Self>>>) -> PyResult<Self> {
        let friends = friends.iter().enumerate().flat_map(|(tree, of)| of.iter().map(move |friend| (tree, friend)));
        let more =
            |friend: query::Friend, (tree, of): (usize, &Py<Self>)| friend.with_friend_of(tree, of.get().0.clone());
        run(py, || friends.clone().try_fold(self.0.clone(), more)).map(Self)
    }
}

/// A formula of ROOT in the language of queries, with values for its parameters.
#[pyfunction]
pub(crate) fn formula(text: &str, names: Vec<String>, values: Vec<f64>) -> PyResult<String> {
    let formula = query::Formula::new(text, &names, &values).map_err(raise)?;
    Ok(formula.words().to_owned())
}

/// Ranges of the entries `start..stop`, or of ascending `entries`, whose luminosity section is in a mask: ranges of
/// sections by run.
#[pyfunction]
#[pyo3(signature = (of, mask, columns, start, stop, entries=None))]
pub(crate) fn in_lumi_mask(
    of: &Bound<'_, PyAny>,
    mask: Vec<(i64, Vec<(i64, i64)>)>,
    columns: (String, String),
    start: u64,
    stop: u64,
    entries: Option<PyBuffer<i64>>,
) -> PyResult<Vec<(u64, u64)>> {
    let source = source(of, None, &[])?;
    let wanted = Wanted::new(of.py(), entries, start, stop)?;
    let found = run(of.py(), || {
        LumiMask::new(mask)?.passing(&source, wanted.selection()?, [columns.0.as_str(), columns.1.as_str()])
    })?;
    Ok(found.ranges().map(|range| (range.start, range.end)).collect())
}

/// What expressions are about: a tree, an RNTuple, or numbers by their names, and friends.
pub(crate) fn source(of: &Bound<'_, PyAny>, below: Option<usize>, friends: &[Py<Friend>]) -> PyResult<Source> {
    let found = if let Ok(table) = of.cast::<Table>() {
        Source::from(&table.get().engine)
    } else {
        let arrays: Vec<(String, PyBuffer<f64>)> = of.extract()?;
        let py = of.py();
        let column = |(name, values): (String, PyBuffer<f64>)| {
            Ok((name, sapwood::read::Column::from_numbers(&values.to_vec(py)?)))
        };
        Source::of_columns(arrays.into_iter().map(column).collect::<PyResult<Vec<_>>>()?).map_err(raise)?
    };
    let found = match below {
        Some(id) => found.below(id),
        None => found,
    };
    run(of.py(), || friends.iter().try_fold(found, |found, friend| found.with_friend(friend.get().0.clone())))
}

/// Expressions and a cut over one tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Query {
    engine: query::Query,
    /// Its table, for the numbers that Python has for columns; none if it is about numbers by their names.
    table: Option<Py<Table>>,
}

/// The engine's number of a column.
fn id_in(table: Option<&Py<Table>>, id: usize) -> sapwood::Result<usize> {
    table.map_or(Ok(id), |table| table.get().id(id))
}

/// Entries that passed, plain columns, and columns of values.
type Found = (Option<Buffer>, Vec<Column>, Vec<Column>);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (of, values, cut=None, aliases=Vec::new(), below=None, friends=Vec::new(), condition=None))]
    fn new(
        of: &Bound<'_, PyAny>,
        values: Vec<String>,
        cut: Option<String>,
        aliases: Vec<(String, String)>,
        below: Option<usize>,
        friends: Vec<Py<Friend>>,
        condition: Option<String>,
    ) -> PyResult<Self> {
        let table = of.cast::<Table>().ok().map(|table| table.clone().unbind());
        let below = below.map(|id| id_in(table.as_ref(), id)).transpose().map_err(raise)?;
        let source = source(of, below, &friends)?;
        let engine = run(of.py(), || {
            let aliases = aliases.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
            let mut query = query::Query::new(source).aliases(aliases);
            for value in &values {
                query = query.value(value)?;
            }
            if let Some(condition) = &condition {
                query = query.condition(condition)?;
            }
            match &cut {
                Some(cut) => query.cut(cut),
                None => Ok(query),
            }
        })?;
        Ok(Self { engine, table })
    }

    /// Numbers of the branches or fields that it needs.
    #[getter]
    fn needed(&self) -> Vec<usize> {
        let needed = self.engine.needed();
        match self.table.as_ref().and_then(|table| table.get().shown.as_ref()) {
            None => needed,
            Some(shown) => needed.into_iter().filter_map(|id| shown.shown(id)).collect(),
        }
    }

    /// Levels of lists of the cut; `None` without a cut.
    #[getter]
    fn cut_depth(&self) -> Option<usize> {
        self.engine.cut_depth()
    }

    /// Ranges of the entries that pass the cut, of entries `start..stop`: an array of first, end, first, end, ... There
    /// may be one for every second entry, and pairs of Python's numbers would take ten times the memory.
    fn passing(&self, py: Python<'_>, start: u64, stop: u64) -> PyResult<Py<PyAny>> {
        let ends = run(py, || {
            let found = self.engine.passing(start..stop)?;
            let mut ends = Vec::with_capacity(2 * size_of::<i64>() * found.ranges().len());
            for range in found.ranges() {
                ends.extend_from_slice(&(range.start as i64).to_ne_bytes());
                ends.extend_from_slice(&(range.end as i64).to_ne_bytes());
            }
            Ok(ends)
        })?;
        array_of_object(py, Number::I64, ends)
    }

    /// Decisions of statistics on entries `start..stop`, without reading any: entries and runs of entries that cannot
    /// pass, that all pass, and that are looked at. `None` without statistics for the cut.
    fn decided(&self, py: Python<'_>, start: u64, stop: u64) -> PyResult<Option<[(u64, usize); 3]>> {
        let found = run(py, || self.engine.decided(start..stop))?;
        Ok(found.map(|found| {
            let none = (found.none.len(), found.runs_none);
            let all = (found.all.len(), found.runs_all);
            [none, all, (found.look.len(), found.runs_look)]
        }))
    }

    /// Says that the query is read in these steps: its friends carry over what is cut, too.
    fn read_in(&self, mut steps: PyRefMut<'_, Steps>) {
        steps.and(self.engine.stepping());
    }

    /// Reads entries `start..stop`, or ascending `entries`: the numbers of those that passed (`None` if all did),
    /// branches `ids` as they are, and the values. `progress` is called with the bytes that are done, and those of all.
    #[pyo3(signature = (ids, start, stop, entries=None, progress=None))]
    fn read(
        &self,
        py: Python<'_>,
        ids: Vec<usize>,
        start: u64,
        stop: u64,
        entries: Option<PyBuffer<i64>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Found> {
        let wanted = Wanted::new(py, entries, start, stop)?;
        let (passed, plain, values) = run(py, || {
            let wanted = wanted.selection()?;
            let mut query = self.engine.clone();
            for id in ids {
                query = query.column(id_in(self.table.as_ref(), id)?);
            }
            let answer = query.read_with(&wanted, watched(progress))?;
            let passed = (answer.entries != wanted).then(|| {
                answer.entries.ranges().flatten().flat_map(|entry| (entry as i64).to_ne_bytes()).collect::<Vec<u8>>()
            });
            let plain = answer.plain.into_iter().map(followed).collect::<sapwood::Result<Vec<_>>>()?;
            Ok((passed, plain, answer.columns))
        })?;
        let columns = |columns: Vec<sapwood::read::Column>| columns.into_iter().map(Column).collect();
        Ok((passed.map(|bytes| Buffer::of_answer(bytes.into())), columns(plain), columns(values)))
    }
}

/// What one histogram is of: words like `y:x>>h(10, 0, 1)`, a cut, whether it is a profile, and its axes.
type Drawn = (String, String, bool, Option<Vec<Py<Axis>>>);

/// What is drawn of a tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Draws(Vec<Draw>);

#[pymethods]
impl Draws {
    #[new]
    #[pyo3(signature = (of, draws, aliases=Vec::new(), friends=Vec::new(), weight=None))]
    fn new(
        of: &Bound<'_, PyAny>,
        draws: Vec<Drawn>,
        aliases: Vec<(String, String)>,
        friends: Vec<Py<Friend>>,
        weight: Option<f64>,
    ) -> PyResult<Self> {
        let source = source(of, None, &friends)?;
        run(of.py(), || {
            let aliases = || aliases.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
            let one = |(words, cut, is_profile, axes): &Drawn| {
                let mut draw = Draw::with_aliases(source.clone(), words, cut, aliases())?;
                if *is_profile {
                    draw = draw.profile()?;
                }
                if let Some(weight) = weight {
                    draw = draw.tree_weight(weight);
                }
                match axes {
                    Some(axes) => draw.axes(axes.iter().map(|axis| axis.get().engine().clone())),
                    None => Ok(draw),
                }
            };
            draws.iter().map(one).collect()
        })
        .map(Self)
    }

    /// Numbers of the branches that are read for all histograms, each once.
    #[getter]
    fn needed(&self) -> Vec<usize> {
        let mut needed: Vec<usize> = self.0.iter().flat_map(Draw::needed).collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Warnings about what they pair, each once.
    #[getter]
    fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> = self.0.iter().flat_map(Draw::notices).collect();
        notices.sort_unstable();
        notices.dedup();
        notices
    }

    /// Fills all histograms with entries `start..stop`, or ascending `entries`; the tree is read once. They go on from
    /// those of `more`, if it is given. `progress` is called with the bytes of a step that are done, and all of these.
    #[pyo3(signature = (start, stop, entries=None, more=None, progress=None))]
    fn fill(
        &self,
        py: Python<'_>,
        start: u64,
        stop: u64,
        entries: Option<PyBuffer<i64>>,
        more: Option<Vec<Py<Histogram>>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Histogram>> {
        let more = more.map(|more| more.iter().map(|one| one.get().engine().clone()).collect::<Vec<_>>());
        let wanted = Wanted::new(py, entries, start, stop)?;
        let drawn = run(py, || query::draw_with(&self.0, &wanted.selection()?, more, watched(progress)))?;
        Ok(drawn.into_iter().map(Histogram::from_engine).collect())
    }

    /// The values that the first one would be filled with, and their weights.
    #[pyo3(signature = (start, stop, entries=None))]
    fn points(
        &self,
        py: Python<'_>,
        start: u64,
        stop: u64,
        entries: Option<PyBuffer<i64>>,
    ) -> PyResult<(Vec<Column>, Option<Column>)> {
        let wanted = Wanted::new(py, entries, start, stop)?;
        let points = run(py, || match self.0.first() {
            Some(draw) => draw.points(wanted.selection()?),
            None => Err(sapwood::Error::mismatch("nothing is drawn")),
        })?;
        let column = |values: Vec<f64>| Column(sapwood::read::Column::from_numbers(&values));
        Ok((points.columns.into_iter().map(column).collect(), points.weights.map(column)))
    }
}
