//! RNTuples: what Python asks of trees, answered for fields.

use std::sync::{Arc, Mutex};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use sapwood::ntuple::{Field, NTuple as Engine, Role};

use crate::arrow;
use crate::column::{Column, kind};
use crate::errors::{raise, run};
use crate::model::{Columns, Model};
use crate::reading::{Wanted, followed, watched};
use crate::steps::Steps;

/// A page as a basket: (first entry, one past the last, seek, bytes).
type PageRow = (u64, u64, Option<u64>, u64);

/// An RNTuple. Fields are counted as users see them: those without a name of their own are left out.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct NTuple {
    pub(crate) engine: Arc<Engine>,
    /// Numbers of the named fields.
    pub(crate) named: Vec<usize>,
    /// For each of them the one above.
    above: Vec<Option<usize>>,
}

impl NTuple {
    /// The engine's own.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The engine's numbers of the named fields.
    pub(crate) fn named(&self) -> &[usize] {
        &self.named
    }

    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let fields = engine.fields();
        // A user sees fields depth first; late ones stand last in the schema.
        let (mut named, mut above) = (Vec::new(), Vec::new());
        let mut todo: Vec<(usize, Option<usize>)> = engine.top().iter().rev().map(|&id| (id, None)).collect();
        while let Some((id, parent)) = todo.pop() {
            let field = &fields[id];
            let mut here = parent;
            if field.is_named {
                here = Some(named.len());
                named.push(id);
                above.push(parent);
            }
            // Not every entry has a value of a variant's types.
            if field.role != Role::Variant {
                todo.extend(field.children.iter().rev().map(|&child| (child, here)));
            }
        }
        Self { engine, named, above }
    }

    /// Numbers of fields in the RNTuple.
    fn ids(&self, ids: &[usize]) -> PyResult<Vec<usize>> {
        ids.iter().map(|&id| self.field(id).map(|field| field.id)).collect()
    }

    fn field(&self, id: usize) -> PyResult<&Field> {
        let field = self.named.get(id).and_then(|&id| self.engine.fields().get(id));
        field.ok_or_else(|| raise(sapwood::Error::not_found("no such field")))
    }
}

#[pymethods]
impl NTuple {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.engine.name
    }

    /// Its description.
    #[getter]
    fn title(&self) -> &str {
        &self.engine.description
    }

    /// Its entries.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.engine.entries
    }

    /// RNTuples have no aliases of expressions.
    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Class of the anchor.
    #[getter]
    fn classname(&self) -> &str {
        "ROOT::RNTuple"
    }

    /// Version of the format, and the program that wrote it.
    #[getter]
    fn origin(&self) -> ([u16; 4], &str) {
        (self.engine.version, &self.engine.writer)
    }

    /// Members of its anchor by ROOT's names.
    #[getter]
    fn anchor(&self) -> Vec<(&'static str, u64)> {
        self.engine.anchor_members()
    }

    /// Names of its sets of attributes.
    #[getter]
    fn attribute_sets(&self) -> Vec<&str> {
        self.engine.attribute_sets.iter().map(|name| &**name).collect()
    }

    /// A set of attributes: an RNTuple itself.
    fn attribute_set(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        run(py, || self.engine.attributes(name)).map(|set| Self::new(Arc::new(set)))
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

    /// The names of all fields that have one, depth first, and the field above each.
    fn outline(&self) -> (Vec<String>, Vec<Option<usize>>) {
        let name = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let fields = self.engine.fields();
        self.named.iter().zip(&self.above).map(|(&id, &above)| (name(&fields[id].path), above)).unzip()
    }

    /// What is known of a field, as of a branch.
    fn branch<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyDict>> {
        let field = self.field(id)?;
        let bytes = run(py, || self.engine.field_bytes(field.id))?;
        let row = PyDict::new(py);
        row.set_item("path", &*field.path)?;
        row.set_item("title", &*field.description)?;
        row.set_item("class", "RField")?;
        row.set_item("type_name", &*field.type_name)?;
        row.set_item("entries", self.engine.entries)?;
        row.set_item("has_data", true)?;
        row.set_item("tot_bytes", bytes.inflated)?;
        row.set_item("zip_bytes", bytes.stored)?;
        row.set_item("compress", bytes.compression)?;
        row.set_item("file_name", "")?;
        row.set_item("class_name", (!field.type_name.is_empty()).then_some(&*field.type_name))?;
        for absent in ["parent_name", "clones_name", "element_kind", "element_id", "class_version", "count_branch"] {
            row.set_item(absent, py.None())?;
        }
        row.set_item("children", Vec::<usize>::new())?;
        row.set_item("leaves", Vec::<usize>::new())?;
        Ok(row)
    }

    /// Type of a field: (type in C++ words, type as nested tuples). Raises why it cannot be decoded.
    fn interpretation(&self, py: Python<'_>, id: usize) -> PyResult<(String, Py<PyAny>)> {
        let field = self.field(id)?;
        let found = run(py, || {
            let found = self.engine.kind(field.id)?;
            if !found.has_pointers() {
                return Ok(found);
            }
            // Classes are needed for what streamed objects point to.
            let classes = self.engine.classes()?;
            Ok(sapwood::read::declared(&found, &classes).unwrap_or(found))
        })?;
        Ok((field.type_name.to_string(), kind(py, &found)?))
    }

    /// Entries that a field has: all.
    fn entry_range(&self, _id: usize) -> Option<(u64, u64)> {
        Some((0, self.engine.entries))
    }

    /// Pages of a field's first column: (first entry, one past the last, seek, bytes).
    fn baskets(&self, py: Python<'_>, id: usize) -> PyResult<Vec<PageRow>> {
        let field = self.field(id)?;
        let pages = run(py, || self.engine.first_pages(field.id))?;
        Ok(pages.into_iter().map(|(entries, at, bytes)| (entries.start, entries.end, Some(at), bytes)).collect())
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

    /// What its cache did: hits, misses, bytes that were fetched ahead, and those that were not used.
    #[getter]
    fn cache_figures(&self) -> (u64, u64, u64, u64) {
        let figures = self.engine.cache().figures();
        (figures.hits, figures.misses, figures.fetched_bytes, figures.wasted_bytes)
    }

    /// Reads entries `start..stop` of a field as columns of a type, cluster by cluster; of the top-level fields as
    /// members where there is no path.
    fn iter_columns(&self, py: Python<'_>, path: &str, model: Model, start: u64, stop: u64) -> PyResult<Columns> {
        let columns = run(py, || self.engine.iter_columns(path, model.0, start..stop))?;
        Ok(Columns(Mutex::new(columns)))
    }

    /// Schema of fields under names, for Arrow.
    fn arrow_schema<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_capsule(py, &arrow::plain(&self.engine, &self.ids(&ids)?), &names)
    }

    /// Stream of fields under names, for Arrow: a batch for each step. `by_python` says that Python reads the file.
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
        steps: PyRef<'_, Steps>,
        by_python: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let query = arrow::plain(&self.engine, &self.ids(&ids)?);
        arrow::stream_capsule(py, query, &names, steps.ranges.clone(), by_python)
    }

    /// Reads fields for entries `start..stop`, or for ascending `entries`, in one plan. `progress` is called with the
    /// bytes that are done, and those of all.
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
        let ids = self.ids(&ids)?;
        let columns = run(py, || {
            let watched = watched(progress);
            let columns = sapwood::ntuple::columns_with(&self.engine, &ids, wanted.selection()?, watched)?;
            columns.into_iter().map(followed).collect::<sapwood::Result<Vec<_>>>()
        })?;
        Ok(columns.into_iter().map(Column).collect())
    }
}
