//! Trees: branches and columns.

use std::sync::{Arc, Mutex};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};
use sapwood::read::Plan;

use crate::arrow;
use crate::column::{Column, kind};
use crate::errors::run;
use crate::model::{Columns, Model};
use crate::object::{Object, Origin};
use crate::reading::{Wanted, followed, watched};
use crate::steps::Steps;

/// A tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Tree(pub(crate) Arc<sapwood::tree::Tree>);

#[pymethods]
impl Tree {
    /// `fName`.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// `fTitle`.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// `fEntries`.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.0.entries
    }

    /// `fAliases`.
    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        self.0.aliases.clone()
    }

    /// `fFriends`: name, name of the tree, path of the file.
    #[getter]
    fn friends(&self) -> Vec<(&str, &str, &str)> {
        self.0.friends.iter().map(|friend| (&*friend.name, &*friend.tree, &*friend.file)).collect()
    }

    /// Class of the record.
    #[getter]
    fn classname(&self) -> &str {
        &self.0.class
    }

    /// Cycle of the key.
    #[getter]
    fn cycle(&self) -> u16 {
        self.0.cycle
    }

    /// Entry ranges of the clusters.
    #[getter]
    fn clusters(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        let clusters = run(py, || Ok(self.0.clusters()))?;
        Ok(clusters.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// Entry ranges of steps of `size` entries, which end where clusters end if that is wanted and one fits.
    fn steps(&self, py: Python<'_>, start: u64, stop: u64, size: u64, by_clusters: bool) -> PyResult<Steps> {
        let clusters = if by_clusters { run(py, || Ok(self.0.clusters()))? } else { Vec::new() };
        let borders = clusters.into_iter().map(|range| range.end).collect();
        Ok(Steps::new(start..stop, size, borders, self.0.stepping()))
    }

    /// The record as an object.
    #[getter]
    fn object(&self) -> Object {
        let file = Arc::clone(&self.0.file().identity().name);
        let origin = Origin { file, object: Arc::from(&*self.0.name), record: None, trees: None };
        Object { object: self.0.object.clone(), place: Some(Arc::new(origin)) }
    }

    /// Top-level branches.
    #[getter]
    fn top(&self) -> Vec<usize> {
        self.0.top().to_vec()
    }

    /// The names of all branches, depth first, and the branch above each.
    fn outline(&self) -> (Vec<&str>, Vec<Option<usize>>) {
        self.0.branches().iter().map(|branch| (&*branch.name, branch.parent)).unzip()
    }

    /// What a branch's record says, as a dictionary.
    fn branch<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        let Some(branch) = self.0.branches().get(id) else { return Ok(row) };
        row.set_item("path", &*branch.path)?;
        row.set_item("title", &*branch.title)?;
        row.set_item("class", &*branch.class)?;
        row.set_item("children", branch.children.clone())?;
        row.set_item("entries", branch.entries)?;
        row.set_item("has_data", branch.has_data())?;
        row.set_item("tot_bytes", branch.tot_bytes)?;
        row.set_item("zip_bytes", branch.zip_bytes)?;
        row.set_item("compress", branch.compress)?;
        row.set_item("file_name", &*branch.file_name)?;
        let element = branch.element.as_ref();
        row.set_item("class_name", element.map(|element| &*element.class_name).or(branch.object_class.as_deref()))?;
        row.set_item("parent_name", element.map(|element| &*element.parent_name))?;
        row.set_item("clones_name", element.map(|element| &*element.clones_name))?;
        row.set_item("element_kind", element.map(|element| element.kind))?;
        row.set_item("element_id", element.map(|element| element.id))?;
        row.set_item("class_version", element.map(|element| element.class_version))?;
        let of_leaf = branch.leaves.first().and_then(|leaf| leaf.count).map(|(counter, _)| counter);
        let counter = element.and_then(|element| element.count_branch).or(of_leaf);
        row.set_item("count_branch", counter.filter(|&counter| counter != id))?;
        let leaves: Vec<_> = branch
            .leaves
            .iter()
            .map(|leaf| (&*leaf.name, &*leaf.class, &*leaf.title, leaf.len, leaf.is_unsigned, leaf.count.is_some()))
            .collect();
        row.set_item("leaves", leaves)?;
        Ok(row)
    }

    /// Type of a branch: (type in C++ words, type as nested tuples). It has pointers where only the values tell what
    /// they lead to. Raises why it cannot be decoded.
    fn interpretation(&self, py: Python<'_>, id: usize) -> PyResult<(String, Py<PyAny>)> {
        let found = run(py, || self.0.interpretation(id))?;
        let declared = sapwood::read::declared(&found.kind, self.0.registry());
        Ok((found.type_name.clone(), kind(py, declared.as_ref().unwrap_or(&found.kind))?))
    }

    /// Entries that a branch has.
    fn entry_range(&self, id: usize) -> Option<(u64, u64)> {
        let range = self.0.branches().get(id)?.entry_range();
        Some((range.start, range.end))
    }

    /// Baskets of a branch: (first entry, one past the last, seek, nbytes); seek is `None` for embedded ones.
    fn baskets(&self, id: usize) -> Vec<(u64, u64, Option<u64>, u32)> {
        let Some(branch) = self.0.branches().get(id) else { return Vec::new() };
        let rows = branch.baskets().iter().map(|basket| match basket.bytes {
            sapwood::tree::BasketBytes::Stored { seek, nbytes } => {
                (basket.entries.start, basket.entries.end, Some(sapwood::io::own_offset(seek)), nbytes)
            }
            sapwood::tree::BasketBytes::Embedded(_) => (basket.entries.start, basket.entries.end, None, 0),
        });
        rows.collect()
    }

    /// A basket: bytes of its entries, where each begins, and of its key nbytes, objlen, keylen, cycle, seek, parent.
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    fn basket<'py>(
        &self,
        py: Python<'py>,
        id: usize,
        number: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Vec<u32>>, Option<(u32, u32, u16, u16, u64, u64)>)> {
        let found = run(py, || sapwood::read::RawBasket::read(&self.0, id, number))?;
        let key = found.key.map(|key| (key.nbytes, key.objlen, key.keylen, key.cycle, key.seek_key, key.seek_pdir));
        Ok((PyBytes::new(py, &found.data), found.starts, key))
    }

    /// Whether it brings an index along.
    #[getter]
    fn has_index(&self, py: Python<'_>) -> PyResult<bool> {
        run(py, || Ok(matches!(self.0.object.members()?.get("fTreeIndex"), Some(sapwood::Value::Object(_)))))
    }

    /// Budget of its cache in bytes.
    #[getter]
    fn cache_size(&self) -> u64 {
        self.0.cache().budget()
    }

    /// Changes the budget of its cache.
    fn set_cache_size(&self, bytes: u64) {
        self.0.cache().set_budget(bytes);
    }

    /// What its cache did: hits, misses, bytes that were fetched ahead, and those that were not used.
    #[getter]
    fn cache_figures(&self) -> (u64, u64, u64, u64) {
        let figures = self.0.cache().figures();
        (figures.hits, figures.misses, figures.fetched_bytes, figures.wasted_bytes)
    }

    /// Reads branches for entries `start..stop`, or for ascending `entries`, in one plan. `progress` is called with the
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
        let columns = run(py, || {
            let columns = Plan::new(&self.0, &ids, wanted.selection()?)?.columns_with(watched(progress))?;
            let named = |error: sapwood::Error, id: usize| {
                let path = self.0.branches().get(id).map_or("", |branch| &branch.path);
                let file = Arc::clone(&self.0.file().identity().name);
                error.in_object(path).in_object(&self.0.name).in_file(file)
            };
            let followed = |(column, &id)| followed(column).map_err(|error| named(error, id));
            columns.into_iter().zip(&ids).map(followed).collect::<sapwood::Result<Vec<_>>>()
        })?;
        Ok(columns.into_iter().map(Column).collect())
    }

    /// Reads entries `start..stop` of a branch as columns of a type, cluster by cluster; of the tree's own branches
    /// where there is no path.
    fn iter_columns(&self, py: Python<'_>, path: &str, model: Model, start: u64, stop: u64) -> PyResult<Columns> {
        let columns = run(py, || self.0.iter_columns(path, model.0, start..stop))?;
        Ok(Columns(Mutex::new(columns)))
    }

    /// Schema of branches under names, for Arrow.
    fn arrow_schema<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_capsule(py, &arrow::plain(&self.0, &ids), &names)
    }

    /// Stream of branches under names, for Arrow: a batch for each step. `by_python` says that Python reads the file.
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<usize>,
        names: Vec<String>,
        steps: PyRef<'_, Steps>,
        by_python: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::stream_capsule(py, arrow::plain(&self.0, &ids), &names, steps.ranges.clone(), by_python)
    }
}
