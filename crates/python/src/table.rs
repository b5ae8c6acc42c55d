//! A tree or an RNTuple: columns, entries, caches.

use std::sync::Mutex;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use sapwood::table::Table as Engine;

use crate::arrow;
use crate::branches::{self, BasketRow};
use crate::column::{Column, kind};
use crate::errors::{raise, run};
use crate::fields::{self, Shown};
use crate::model::{Columns, Model};
use crate::reading::{Wanted, followed, watched};
use crate::steps::Steps;

/// A tree or an RNTuple. Branches, or fields that have a name, are counted depth first.
#[pyclass(frozen, subclass, module = "sapwood._core")]
pub(crate) struct Table {
    pub(crate) engine: Engine,
    /// The fields of an RNTuple as Python counts them; branches have the engine's numbers.
    pub(crate) shown: Option<Shown>,
}

impl Table {
    pub(crate) fn new(engine: Engine) -> Self {
        let shown = match &engine {
            Engine::Tree(_) => None,
            Engine::NTuple(ntuple) => Some(Shown::of(ntuple)),
        };
        Self { engine, shown }
    }

    /// The engine's number of a branch or field.
    pub(crate) fn id(&self, id: usize) -> sapwood::Result<usize> {
        match &self.shown {
            None => Ok(id),
            Some(shown) => shown.id(id).ok_or_else(|| sapwood::Error::not_found("no such field")),
        }
    }

    /// The engine's numbers of branches or fields.
    pub(crate) fn ids(&self, ids: &[usize]) -> sapwood::Result<Vec<usize>> {
        ids.iter().map(|&id| self.id(id)).collect()
    }
}

#[pymethods]
impl Table {
    /// Name of the tree or RNTuple.
    #[getter]
    fn name(&self) -> &str {
        self.engine.name()
    }

    /// Title of the tree, description of the RNTuple.
    #[getter]
    fn title(&self) -> &str {
        self.engine.title()
    }

    /// Its entries.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.engine.entries()
    }

    /// `fAliases`; RNTuples have none.
    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        self.engine.aliases().to_vec()
    }

    /// `fFriends`: name, name of the tree, path of the file; RNTuples have none.
    #[getter]
    fn friends(&self) -> Vec<(&str, &str, &str)> {
        match &self.engine {
            Engine::Tree(tree) => branches::friends(tree),
            Engine::NTuple(_) => Vec::new(),
        }
    }

    /// Whether it brings an index along.
    #[getter]
    fn has_index(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.engine {
            Engine::Tree(tree) => run(py, || Ok(tree.has_index())),
            Engine::NTuple(_) => Ok(false),
        }
    }

    /// Class of the record of the tree, or of the anchor.
    #[getter]
    fn classname(&self) -> &str {
        match &self.engine {
            Engine::Tree(tree) => &tree.class,
            Engine::NTuple(_) => "ROOT::RNTuple",
        }
    }

    /// Entry ranges of the clusters.
    #[getter]
    fn clusters(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        let clusters = run(py, || self.engine.clusters())?;
        Ok(clusters.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// Entry ranges of steps of `size` entries, which end where clusters end if that is wanted and one fits.
    fn steps(&self, py: Python<'_>, start: u64, stop: u64, size: u64, by_clusters: bool) -> PyResult<Steps> {
        let clusters = if by_clusters { run(py, || self.engine.clusters())? } else { Vec::new() };
        let borders = clusters.into_iter().map(|range| range.end).collect();
        Ok(Steps::new(start..stop, size, borders, self.engine.stepping()))
    }

    /// The names of all branches or fields, depth first, and the one above each.
    fn outline(&self) -> (Vec<String>, Vec<Option<usize>>) {
        match (&self.engine, &self.shown) {
            (Engine::NTuple(ntuple), Some(shown)) => shown.outline(ntuple),
            (Engine::Tree(tree), _) => tree.branches().iter().map(|one| (one.name.to_string(), one.parent)).unzip(),
            (Engine::NTuple(_), None) => Default::default(),
        }
    }

    /// The properties of a branch or field, as a dictionary.
    fn branch<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyDict>> {
        let id = self.id(id).map_err(raise)?;
        match &self.engine {
            Engine::Tree(tree) => branches::branch(py, tree, id),
            Engine::NTuple(ntuple) => fields::field(py, ntuple, id),
        }
    }

    /// Type of a branch or field: (type in C++ words, type as nested tuples). It has pointers if only the values tell
    /// what they lead to. Raises why it cannot be decoded.
    fn interpretation(&self, py: Python<'_>, id: usize) -> PyResult<(String, Py<PyAny>)> {
        let (name, found) = run(py, || {
            let id = self.id(id)?;
            let found = self.engine.kind(id).or_else(|_| self.engine.stored_kind(id))?;
            Ok((self.engine.type_name(id)?, found))
        })?;
        Ok((name, kind(py, &found)?))
    }

    /// Entries that a branch or field has.
    fn entry_range(&self, id: usize) -> Option<(u64, u64)> {
        let range = self.engine.entry_range(self.id(id).ok()?)?;
        Some((range.start, range.end))
    }

    /// Baskets of a branch, or pages of a field's first column.
    fn baskets(&self, py: Python<'_>, id: usize) -> PyResult<Vec<BasketRow>> {
        let id = self.id(id).map_err(raise)?;
        match &self.engine {
            Engine::Tree(tree) => Ok(branches::baskets(tree, id)),
            Engine::NTuple(ntuple) => run(py, || fields::pages(ntuple, id)),
        }
    }

    /// Budget of its cache in bytes.
    #[getter]
    fn cache_size(&self) -> u64 {
        self.engine.cache().budget()
    }

    /// Changes the budget of its cache.
    fn set_cache_size(&self, bytes: u64) {
        self.engine.cache().set_budget(bytes);
    }

    /// Figures of its cache: hits, misses, bytes that were fetched ahead, and those that were not used.
    #[getter]
    fn cache_figures(&self) -> (u64, u64, u64, u64) {
        let figures = self.engine.cache().figures();
        (figures.hits, figures.misses, figures.fetched_bytes, figures.wasted_bytes)
    }

    /// Reads branches or fields for entries `start..stop`, or for ascending `entries`, in one plan. `progress` is
    /// called with the bytes that are done, and those of all.
    #[pyo3(signature = (ids, start, stop, entries=None, progress=None))]
    fn columns(
        &self,
        py: Python<'_>,
        ids: Vec<usize>,
        start: u64,
        stop: u64,
        entries: Option<PyBuffer<i64>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Column>> {
        let wanted = Wanted::new(py, entries, start, stop)?;
        let columns = run(py, || {
            let ids = self.ids(&ids)?;
            let columns = self.engine.read_with(&ids, wanted.selection()?, watched(progress))?;
            let place = |error: sapwood::Error, id| match self.engine.path(id) {
                Some(path) => self.engine.place(error.in_object(path)),
                None => self.engine.place(error),
            };
            let followed = |(column, &id)| followed(column).map_err(|error| place(error, id));
            columns.into_iter().zip(&ids).map(followed).collect::<sapwood::Result<Vec<_>>>()
        })?;
        Ok(columns.into_iter().map(Column).collect())
    }

    /// Reads entries `start..stop` of a branch or field as columns of a type, cluster by cluster; of all at the top as
    /// members if the path is empty.
    fn iter_columns(&self, py: Python<'_>, path: &str, model: Model, start: u64, stop: u64) -> PyResult<Columns> {
        let columns = run(py, || self.engine.iter_columns(path, model.0, start..stop))?;
        Ok(Columns(Mutex::new(columns)))
    }

    /// Schema of branches or fields under names, for Arrow.
    fn arrow_schema<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let ids = self.ids(&ids).map_err(raise)?;
        arrow::schema_capsule(py, &arrow::plain(&self.engine, &ids), &names)
    }

    /// Branches or fields as a stream of Arrow, with these names and a batch for each step. If Python reads the file,
    /// `by_python` is set.
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
        steps: PyRef<'_, Steps>,
        by_python: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let ids = self.ids(&ids).map_err(raise)?;
        arrow::stream_capsule(py, arrow::plain(&self.engine, &ids), &names, steps.ranges.clone(), by_python)
    }
}
