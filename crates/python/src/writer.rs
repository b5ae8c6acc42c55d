//! Files that are written.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use sapwood::codec::Compression;
use sapwood::io::AtomicFile;
use sapwood::io::MemorySink;
use sapwood::progress::telling;
use sapwood::write::{Baskets, Every, Figures, NTupleOptions, Remake, SortBy, TreeOptions, WriteOptions};

use crate::draft::Draft;
use crate::errors::{raise, run};
use crate::key::Key;
use crate::ntuple_writer::{Given, GivenField, NTupleWriter, ParallelNTupleWriter, columns_of, spec_of, taken_over};
use crate::parallel::ParallelWriter;
use crate::reading::watched;
use crate::sessions;
use crate::tree_writer::{Spec, TreeWriter, closed, locked, spec};

/// A file that is being written.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct FileWriter {
    writer: Mutex<Option<sapwood::write::FileWriter>>,
    /// Where the bytes are, when they go to memory.
    memory: Option<Arc<MemorySink>>,
}

/// Objects, trees, what was left, what is doubtful, bytes cut off, whether the file was closed.
type Recovered = (Vec<String>, Vec<(String, u64, u64)>, Vec<String>, Vec<String>, u64, bool);

/// Path of a tree, its figures before and after, why its baskets were kept, how many of them were not looked into,
/// branches that were kept for others, what else differs, and whether entries have another order.
type Remade = (String, [u64; 5], [u64; 5], Option<String>, u64, Vec<String>, Vec<String>, bool);

/// Brings back what a writer that died had written.
#[pyfunction]
pub(crate) fn recover(py: Python<'_>, path: PathBuf, dry_run: bool) -> PyResult<Recovered> {
    let options = WriteOptions { session: sessions::shared(0), ..WriteOptions::default() };
    let found = py.detach(|| sapwood::write::recover(path, dry_run, options)).map_err(raise)?;
    Ok((found.objects, found.trees, found.left, found.doubtful, found.cut_bytes, found.was_closed))
}

/// Writes a file again into another one: its trees in other clusters, all else as it is. Gives for each tree its path,
/// and entries, baskets, clusters, bytes and bytes before compression, before and after; why its baskets were kept, how
/// many of them were not looked into, branches that were kept for others, notes, and whether entries have another
/// order. `progress` is called with the bytes that are done, and those of all.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
pub(crate) fn rewrite(
    py: Python<'_>,
    from: &crate::file::File,
    path: PathBuf,
    trees: Option<Vec<String>>,
    branches: HashMap<String, Vec<String>>,
    entries: HashMap<String, Vec<(u64, u64)>>,
    compression: Option<&str>,
    compressions: HashMap<String, HashMap<usize, String>>,
    auto_flush: Option<i64>,
    basket_bytes: Option<usize>,
    order: &str,
    keep_baskets: bool,
    threads: usize,
    verify: bool,
    to: Option<&str>,
    unsupported: &str,
    random_access: &str,
    sort_by: Vec<String>,
    sort_memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Remade>> {
    let compression = compression.map(str::parse).transpose().map_err(raise)?;
    let usual = TreeOptions::default();
    let pages = pages(compression, auto_flush, basket_bytes);
    let basket_bytes = basket_bytes.unwrap_or(usual.basket_bytes);
    let auto_flush = auto_flush.map_or(usual.auto_flush, Every::from_root);
    let random_access = Some(random_access.parse().map_err(raise)?);
    let tree = TreeOptions { compression, random_access, auto_flush, basket_bytes, ..usual };
    let baskets = if keep_baskets { Baskets::Keep } else { Baskets::New(tree) };
    let branches = branches.into_iter().map(|(tree, names)| (tree, names.into_iter().map(Into::into).collect()));
    let entries = entries.into_iter().map(|(tree, kept)| (tree, kept.into_iter().map(|(a, b)| a..b).collect()));
    let order = order.parse().map_err(raise)?;
    let own = |settings: HashMap<usize, String>| {
        let settings = settings.into_iter().map(|(branch, setting)| Ok((branch, setting.parse()?)));
        settings.collect::<sapwood::Result<HashMap<usize, Compression>>>()
    };
    let compressions = compressions.into_iter().map(|(tree, settings)| Ok((tree, own(settings)?)));
    let sort = (!sort_by.is_empty()).then(|| SortBy::new(sort_by));
    let sort = sort.map(|sort| SortBy { memory_bytes: sort_memory.unwrap_or(sort.memory_bytes), ..sort });
    let mut how = Remake {
        baskets,
        order,
        trees,
        branches: branches.collect(),
        entries: entries.collect(),
        compression: compressions.collect::<sapwood::Result<_>>().map_err(raise)?,
        to: to.map(str::parse).transpose().map_err(raise)?,
        unsupported: unsupported.parse().map_err(raise)?,
        pages,
        sort,
    };
    let (file, options) = (
        file_of(from),
        WriteOptions { compression, session: sessions::shared(threads), verify, ..WriteOptions::default() },
    );
    let remade = run(py, || {
        let staged = AtomicFile::new(&path, true)?;
        if let Some(sort) = &mut how.sort {
            sort.folder = staged.path().parent().map(Path::to_owned);
        }
        let writer = sapwood::write::FileWriter::staged(&staged, options)?;
        let remake = || writer.remake(&file, || sapwood::File::open(staged.path()), &how);
        let remade = telling(watched(progress), remake)?;
        staged.publish().map(|()| remade)
    });
    let figures = |of: Figures| [of.entries, of.baskets, of.clusters, of.zip_bytes, of.tot_bytes];
    let remade = remade?.into_iter();
    Ok(remade
        .map(|tree| {
            let also_kept = tree.also_kept.iter().map(ToString::to_string).collect();
            let before = figures(tree.before);
            let after = figures(tree.after);
            (tree.path, before, after, tree.kept, tree.unread, also_kept, tree.notes, tree.reordered)
        })
        .collect())
}

/// How RNTuples are written, by what is said of trees.
fn pages(compression: Option<Compression>, auto_flush: Option<i64>, basket_bytes: Option<usize>) -> NTupleOptions {
    let usual = NTupleOptions::default();
    let (cluster_bytes, cluster_entries) = match auto_flush.map(Every::from_root) {
        Some(Every::Entries(entries)) => (usual.cluster_bytes, Some(entries)),
        Some(Every::Bytes(bytes)) => (usize::try_from(bytes).unwrap_or(usize::MAX), None),
        Some(Every::Never) | None => (usual.cluster_bytes, None),
    };
    let page_bytes = basket_bytes.unwrap_or(usual.page_bytes);
    NTupleOptions { compression, cluster_bytes, cluster_entries, page_bytes, ..usual }
}

fn file_of(file: &crate::file::File) -> sapwood::File {
    file.0.clone()
}

#[pymethods]
impl FileWriter {
    /// A file at a path (a new one in place of what is there, one where there is none, or the one that is there), or in
    /// memory where there is no path. No compression is the file's own, or ROOT's default.
    #[staticmethod]
    #[pyo3(signature = (mode, path, compression = None, threads = 0, reproducible = false, sync = false,
                        random_access = "off"))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
    fn open(
        py: Python<'_>,
        mode: &str,
        path: Option<PathBuf>,
        compression: Option<&str>,
        threads: usize,
        reproducible: bool,
        sync: bool,
        random_access: &str,
    ) -> PyResult<Self> {
        use sapwood::write::FileWriter as Writer;
        let compression = compression.map(str::parse).transpose().map_err(raise)?;
        let options = WriteOptions {
            compression,
            random_access: random_access.parse().map_err(raise)?,
            session: sessions::shared(threads),
            reproducible,
            sync,
            ..WriteOptions::default()
        };
        py.detach(|| match (path, mode) {
            (Some(path), _) => {
                let writer = match mode {
                    "update" => Writer::update(path, options)?,
                    "create" => Writer::create(path, options)?,
                    _ => Writer::recreate(path, options)?,
                };
                Ok(Self { writer: Mutex::new(Some(writer)), memory: None })
            }
            (None, _) => {
                let sink = Arc::new(MemorySink::default());
                let writer = Writer::to_sink(Arc::clone(&sink), "memory.root", options)?;
                Ok(Self { writer: Mutex::new(Some(writer)), memory: Some(sink) })
            }
        })
        .map_err(raise)
    }

    /// Copies an object, a tree with its baskets or a directory from a file.
    fn copy(&self, py: Python<'_>, file: &crate::file::File, from: &str, to: &str) -> PyResult<()> {
        let file = file_of(file);
        self.with(py, |writer| writer.copy(&file, from, to))
    }

    /// Gives an object another name or directory.
    fn rename(&self, py: Python<'_>, from: &str, to: &str) -> PyResult<()> {
        self.with(py, |writer| writer.rename(from, to))
    }

    /// Deletes an object, or a directory and all below it.
    fn remove(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.with(py, |writer| writer.remove(path))
    }

    /// Makes a directory.
    fn mkdir(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.with(py, |writer| writer.mkdir(path))
    }

    /// Writes an object.
    fn write(&self, py: Python<'_>, path: &str, draft: &Draft) -> PyResult<()> {
        let object = sapwood::schema::Draft::clone(&draft.0);
        self.with(py, |writer| writer.write(path, object))
    }

    /// Begins a tree (`new`), or one with the branches of a tree of another file (`like`), adds branches to one
    /// (`branches`), or opens one to add entries (`entries`).
    #[pyo3(signature = (
        how, path, branches, title, compression = None, auto_flush = None, auto_save = None, cluster_bytes = None,
        basket_bytes = None, member_wise = true, random_access = None, random_access_of = HashMap::new(), like = None,
        title_of = HashMap::new()
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
    fn tree<'py>(
        &self,
        py: Python<'py>,
        how: &str,
        path: &str,
        branches: Vec<Spec>,
        title: &str,
        compression: Option<&str>,
        auto_flush: Option<i64>,
        auto_save: Option<i64>,
        cluster_bytes: Option<usize>,
        basket_bytes: Option<usize>,
        member_wise: bool,
        random_access: Option<&str>,
        random_access_of: HashMap<String, String>,
        like: Option<(Bound<'py, crate::file::File>, String)>,
        mut title_of: HashMap<String, String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut branches = branches.iter().map(spec).collect::<Result<Vec<_>, _>>().map_err(raise)?;
        for branch in &mut branches {
            branch.random_access = match random_access_of.get(&*branch.name) {
                Some(own) => Some(own.parse().map_err(raise)?),
                None => None,
            };
            branch.description = title_of.remove(&*branch.name).map(Into::into);
        }
        let usual = TreeOptions::default();
        let options = TreeOptions {
            title: title.into(),
            compression: compression.map(str::parse).transpose().map_err(raise)?,
            auto_flush: auto_flush.map_or(usual.auto_flush, Every::from_root),
            auto_save: auto_save.map_or(usual.auto_save, Every::from_root),
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            basket_bytes: basket_bytes.unwrap_or(usual.basket_bytes),
            member_wise,
            random_access: random_access.map(str::parse).transpose().map_err(raise)?,
            begins_saved: how != "whole",
        };
        if how == "parallel" {
            let tree = self.with(py, |writer| writer.parallel_tree(path, branches, options))?;
            return Ok(Bound::new(py, ParallelWriter::from(tree))?.into_any());
        }
        let like = like.map(|(file, path)| (file_of(file.get()), path));
        let tree = self.with(py, |writer| match how {
            "like" => match &like {
                Some((from, name)) => writer.tree_like(path, from, name, options),
                None => Err(sapwood::Error::internal("a tree like no other")),
            },
            "entries" => writer.append(path, options),
            "branches" => writer.add_branches(path, branches, options),
            _ => writer.tree(path, branches, options),
        })?;
        Ok(Bound::new(py, TreeWriter::from(tree))?.into_any())
    }

    /// Begins an RNTuple of these fields: name, type as nested tuples, own compression. It is filled by one thread, or
    /// by many.
    #[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
    #[pyo3(signature = (path, fields, description = "", compression = None, cluster_bytes = None, page_bytes = None,
                        max_key_bytes = None, parallel = false))]
    fn ntuple<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        fields: Vec<GivenField<'_>>,
        description: &str,
        compression: Option<&str>,
        cluster_bytes: Option<usize>,
        page_bytes: Option<usize>,
        max_key_bytes: Option<u64>,
        parallel: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = fields.iter().map(spec_of).collect::<PyResult<Vec<_>>>()?;
        let usual = NTupleOptions::default();
        let options = NTupleOptions {
            description: description.into(),
            compression: compression.map(str::parse).transpose().map_err(raise)?,
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            page_bytes: page_bytes.unwrap_or(usual.page_bytes),
            max_key_bytes: max_key_bytes.unwrap_or(usual.max_key_bytes),
            ..usual
        };
        if parallel {
            let ntuple = self.with(py, |writer| writer.parallel_ntuple(path, fields, options))?;
            return Ok(Bound::new(py, ParallelNTupleWriter::from(ntuple))?.into_any());
        }
        let ntuple = self.with(py, |writer| writer.ntuple(path, fields, options))?;
        Ok(Bound::new(py, NTupleWriter::from(ntuple))?.into_any())
    }

    /// Adds fields to an RNTuple that was in the file before, with a value for each of its entries.
    #[pyo3(signature = (path, fields, values, compression = None))]
    fn fill_fields(
        &self,
        py: Python<'_>,
        path: &str,
        fields: Vec<GivenField<'_>>,
        values: Vec<Given<'_>>,
        compression: Option<&str>,
    ) -> PyResult<()> {
        let fields = fields.iter().map(spec_of).collect::<PyResult<Vec<_>>>()?;
        let compression = compression.map(str::parse).transpose().map_err(raise)?;
        let options = NTupleOptions { compression, ..NTupleOptions::default() };
        let given = taken_over(py, &values, sessions::shared(0).memory())?;
        // Ctrl-C ends it, unlike a close.
        run(py, || {
            let mut held = locked(&self.writer);
            let writer = held.as_mut().ok_or_else(|| sapwood::Error::mismatch("the file is closed"))?;
            let columns = columns_of(given, &fields)?;
            writer.fill_fields(path, fields, &columns, &options)
        })
    }

    /// Opens an RNTuple that was in the file before, to add entries to it.
    #[pyo3(signature = (path, compression = None, cluster_bytes = None, page_bytes = None, auto_save_bytes = None))]
    fn append_ntuple(
        &self,
        py: Python<'_>,
        path: &str,
        compression: Option<&str>,
        cluster_bytes: Option<usize>,
        page_bytes: Option<usize>,
        auto_save_bytes: Option<u64>,
    ) -> PyResult<NTupleWriter> {
        let usual = NTupleOptions::default();
        let options = NTupleOptions {
            compression: compression.map(str::parse).transpose().map_err(raise)?,
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            page_bytes: page_bytes.unwrap_or(usual.page_bytes),
            auto_save_bytes: auto_save_bytes.unwrap_or(usual.auto_save_bytes),
            ..usual
        };
        self.with(py, |writer| writer.append_ntuple(path, options)).map(NTupleWriter::from)
    }

    /// Goes on with a tree that was begun here and closed; branches may have another compression from now on.
    fn resume(
        &self,
        py: Python<'_>,
        path: &str,
        compression: Vec<(PyBackedStr, PyBackedStr)>,
        cluster_bytes: Option<usize>,
        basket_bytes: Option<usize>,
    ) -> PyResult<TreeWriter> {
        let setting = |(name, words): &(PyBackedStr, PyBackedStr)| Ok((Arc::from(&**name), words.parse()?));
        let compression = compression.iter().map(setting).collect::<sapwood::Result<Vec<_>>>().map_err(raise)?;
        let usual = TreeOptions::default();
        let options = TreeOptions {
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            basket_bytes: basket_bytes.unwrap_or(usual.basket_bytes),
            ..usual
        };
        self.with(py, |writer| writer.resume(path, &compression, options)).map(TreeWriter::from)
    }

    /// Describes classes that another file describes, by name and version.
    fn describe(&self, py: Python<'_>, file: &crate::file::File, classes: HashSet<(String, i32)>) -> PyResult<()> {
        let from = file_of(file);
        self.with(py, |writer| {
            let mut infos = from.infos()?;
            infos.retain(|info| classes.contains(&(info.name.to_string(), info.version)));
            writer.describe(infos, Vec::new())
        })
    }

    /// All keys with their paths: those of the last save, and what was written or deleted since.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<Key>> {
        let keys = self.with(py, |writer| writer.keys())?;
        Ok(keys.into_iter().map(|found| Key { path: found.path, key: found.key, inside: None }).collect())
    }

    /// Whether the last save shows all that was written.
    fn is_saved(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |writer| writer.is_saved())
    }

    /// The key of a path.
    fn key(&self, py: Python<'_>, path: &str) -> PyResult<Key> {
        let key = self.with(py, |writer| writer.key(path))?;
        Ok(Key { path: key.name.to_string(), key, inside: None })
    }

    /// Makes all that was written visible to every reader.
    fn save(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |writer| writer.save())
    }

    /// Saves and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.writer).take().map_or(Ok(()), sapwood::write::FileWriter::close)).map_err(raise)
    }

    /// The bytes of a file in memory.
    fn content<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.memory.as_ref().map(|sink| PyBytes::new(py, &sink.to_bytes()))
    }
}

impl FileWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut sapwood::write::FileWriter) -> sapwood::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| locked(&self.writer).as_mut().map(work))
            .ok_or_else(|| closed("the file is closed"))?
            .map_err(raise)
    }
}

/// The setting of compression that a text stands for, as the engine writes it.
#[pyfunction]
pub(crate) fn check_compression(text: &str) -> PyResult<String> {
    text.parse::<Compression>().map(|found| found.to_string()).map_err(raise)
}

/// Refuses texts that stand for no setting of random access.
#[pyfunction]
pub(crate) fn check_random_access(text: &str) -> PyResult<()> {
    text.parse::<sapwood::codec::RandomAccess>().map(drop).map_err(raise)
}
