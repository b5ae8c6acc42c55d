//! Files that are written.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use sapwood::column::Number;
use sapwood::io::MemorySink;
use sapwood::io::Staged;
use sapwood::write::{
    Baskets, BranchKind, BranchSpec, Every, Figures, Item, Remake, TreeOptions, Values, WriteOptions,
};
use sapwood::{Error, ErrorKind};

use crate::draft::Draft;
use crate::errors::{raise, run};
use crate::key::Key;
use crate::model::{self, Model, Objects};
use crate::parallel::ParallelWriter;
use crate::sessions;

/// A file that is being written.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct FileWriter {
    writer: Mutex<Option<sapwood::write::FileWriter>>,
    /// Where the bytes are, when they go to memory.
    memory: Option<Arc<MemorySink>>,
}

/// Objects, trees, what was left, what is doubtful, bytes cut off, whether the file was closed.
type Recovered = (Vec<String>, Vec<(String, u64, u64)>, Vec<String>, Vec<String>, u64, bool);

/// Path of a tree, its figures before and after, and why its baskets were kept.
type Remade = (String, [u64; 5], [u64; 5], Option<String>);

/// Brings back what a writer that died had written.
#[pyfunction]
pub(crate) fn recover(py: Python<'_>, path: PathBuf, dry_run: bool) -> PyResult<Recovered> {
    let options = WriteOptions { session: sessions::shared(0), ..WriteOptions::default() };
    let found = py.detach(|| sapwood::write::recover(path, dry_run, options)).map_err(raise)?;
    Ok((found.objects, found.trees, found.left, found.doubtful, found.cut_bytes, found.was_closed))
}

/// Writes a file again into another one: its trees in other clusters, all else as it is. Gives for each tree its path, and entries,
/// baskets, clusters, bytes and bytes before compression, before and after.
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
    auto_flush: i64,
    basket_bytes: Option<usize>,
    order: &str,
    keep_baskets: bool,
    threads: usize,
) -> PyResult<Vec<Remade>> {
    let compression = compression.map(str::parse).transpose().map_err(raise)?;
    let usual = TreeOptions::default();
    let basket_bytes = basket_bytes.unwrap_or(usual.basket_bytes);
    let tree = TreeOptions { compression, auto_flush: Every::from_root(auto_flush), basket_bytes, ..usual };
    let baskets = if keep_baskets { Baskets::Keep } else { Baskets::New(tree) };
    let branches = branches.into_iter().map(|(tree, names)| (tree, names.into_iter().map(Into::into).collect()));
    let entries = entries.into_iter().map(|(tree, kept)| (tree, kept.into_iter().map(|(a, b)| a..b).collect()));
    let order = order.parse().map_err(raise)?;
    let own = |settings: HashMap<usize, String>| {
        let settings = settings.into_iter().map(|(branch, setting)| Ok((branch, setting.parse()?)));
        settings.collect::<sapwood::Result<HashMap<usize, sapwood::codec::Compression>>>()
    };
    let compressions = compressions.into_iter().map(|(tree, settings)| Ok((tree, own(settings)?)));
    let how = Remake {
        baskets,
        order,
        trees,
        branches: branches.collect(),
        entries: entries.collect(),
        compression: compressions.collect::<sapwood::Result<_>>().map_err(raise)?,
    };
    let (file, options) =
        (file_of(from), WriteOptions { compression, session: sessions::shared(threads), ..WriteOptions::default() });
    let remade = run(py, || {
        let staged = Staged::new(&path, true)?;
        let writer = sapwood::write::FileWriter::recreate(staged.path(), options)?;
        let remade = writer.remake(&file, || sapwood::File::open(staged.path()), &how)?;
        staged.publish().map(|()| remade)
    });
    let figures = |of: Figures| [of.entries, of.baskets, of.clusters, of.zip_bytes, of.tot_bytes];
    let remade = remade?.into_iter();
    Ok(remade.map(|tree| (tree.path, figures(tree.before), figures(tree.after), tree.kept)).collect())
}

fn file_of(file: &crate::file::File) -> sapwood::File {
    file.0.clone()
}

/// Takes rows of a tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct TreeWriter {
    filling: Mutex<Option<Filling>>,
    /// Rows that were taken, known after the end too.
    taken: AtomicU64,
}

/// A tree that is filled.
struct Filling {
    writer: sapwood::write::TreeWriter,
    /// Values on their way: Python's memory may change as soon as others run. Kept, since fresh memory costs more than filling it.
    room: Vec<u8>,
}

/// Name, kind (`numbers`, `jagged`, `counter`, `text`, `vector`), type of the numbers or nothing for strings, counter, extents or the
/// depth of a vector, type of objects, compression where it is not that of the tree.
type Spec = (PyBackedStr, PyBackedStr, PyBackedStr, PyBackedStr, Vec<u32>, Option<Model>, Option<PyBackedStr>);

/// Name, where the lists of each level end, memory of the values; or objects.
type Given = (PyBackedStr, Vec<PyBuffer<i64>>, PyBuffer<u8>, Option<Objects>);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of using what was closed.
pub(crate) fn closed(words: &'static str) -> PyErr {
    raise(Error::new(ErrorKind::Mismatch, words))
}

#[pymethods]
impl FileWriter {
    /// A file at a path (a new one in place of what is there, one where there is none, or the one that is there), or in memory
    /// where there is no path. No compression is the file's own, or ROOT's default.
    #[staticmethod]
    #[pyo3(signature = (mode, path, compression = None, threads = 0, reproducible = false, sync = false))]
    fn open(
        py: Python<'_>,
        mode: &str,
        path: Option<PathBuf>,
        compression: Option<&str>,
        threads: usize,
        reproducible: bool,
        sync: bool,
    ) -> PyResult<Self> {
        use sapwood::write::FileWriter as Writer;
        let compression = compression.map(str::parse).transpose().map_err(raise)?;
        let options = WriteOptions { compression, session: sessions::shared(threads), reproducible, sync };
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

    /// Begins a tree (`new`), adds branches to one (`branches`), or opens one to add entries (`entries`).
    #[pyo3(signature = (how, path, branches, title, compression = None, auto_flush = None, auto_save = None, cluster_bytes = None, basket_bytes = None, member_wise = true))]
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
    ) -> PyResult<Bound<'py, PyAny>> {
        let branches = branches.iter().map(spec).collect::<Result<Vec<_>, _>>().map_err(raise)?;
        let usual = TreeOptions::default();
        let options = TreeOptions {
            title: title.into(),
            compression: compression.map(str::parse).transpose().map_err(raise)?,
            auto_flush: auto_flush.map_or(usual.auto_flush, Every::from_root),
            auto_save: auto_save.map_or(usual.auto_save, Every::from_root),
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            basket_bytes: basket_bytes.unwrap_or(usual.basket_bytes),
            member_wise,
            begins_saved: how != "whole",
        };
        if how == "parallel" {
            let tree = self.with(py, |writer| writer.parallel_tree(path, branches, options))?;
            return Ok(Bound::new(py, ParallelWriter::from(tree))?.into_any());
        }
        let tree = self.with(py, |writer| match how {
            "entries" => writer.append(path, options),
            "branches" => writer.add_branches(path, branches, options),
            _ => writer.tree(path, branches, options),
        })?;
        Ok(Bound::new(py, TreeWriter::from(tree))?.into_any())
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

    /// All keys with their paths: those of the last save, and what was written or deleted since.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<Key>> {
        let keys = self.with(py, |writer| writer.keys())?;
        Ok(keys.into_iter().map(|found| Key { path: found.path, key: found.key }).collect())
    }

    /// Whether the last save shows all that was written.
    fn is_saved(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |writer| writer.is_saved())
    }

    /// The key of a path.
    fn key(&self, py: Python<'_>, path: &str) -> PyResult<Key> {
        let key = self.with(py, |writer| writer.key(path))?;
        Ok(Key { path: key.name.to_string(), key })
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

impl From<sapwood::write::TreeWriter> for TreeWriter {
    fn from(writer: sapwood::write::TreeWriter) -> Self {
        let filling = Filling { writer, room: Vec::new() };
        Self { filling: Mutex::new(Some(filling)), taken: AtomicU64::new(0) }
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

#[pymethods]
impl TreeWriter {
    /// Its branches, as they were given, or as they would have been.
    fn branches<'py>(&self, py: Python<'py>) -> PyResult<Vec<SpecOut<'py>>> {
        let locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let filling = locked.as_ref().ok_or_else(|| closed("the tree is closed"))?;
        filling.writer.branches().iter().map(|spec| spec_out(py, spec)).collect()
    }

    /// Rows that were taken so far, those that wait included.
    #[getter]
    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Adds rows.
    fn extend(&self, py: Python<'_>, values: Vec<Given>) -> PyResult<()> {
        let mut locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Filling { writer, room } = locked.as_mut().ok_or_else(|| closed("the tree is closed"))?;
        let ends: Vec<Vec<Vec<i64>>> = values
            .iter()
            .map(|(_, levels, ..)| levels.iter().map(|ends| ends.to_vec(py)).collect())
            .collect::<PyResult<_>>()?;
        let levels: Vec<Vec<&[i64]>> = ends.iter().map(|levels| levels.iter().map(Vec::as_slice).collect()).collect();
        room.resize(values.iter().map(|(_, _, memory, _)| memory.item_count()).sum(), 0);
        let mut free = &mut room[..];
        let mut given: Vec<(&str, Values<'_>)> = Vec::with_capacity(values.len());
        let kinds: HashMap<&str, &BranchKind> =
            writer.branches().iter().map(|spec| (&*spec.name, &spec.kind)).collect();
        for ((name, _, memory, objects), levels) in values.iter().zip(&levels) {
            let (bytes, rest) = std::mem::take(&mut free).split_at_mut(memory.item_count());
            free = rest;
            memory.copy_to_slice(py, bytes)?;
            let values = match (kinds.get(&**name), &levels[..]) {
                _ if let Some(Objects(column)) = objects => Values::Objects(column),
                (Some(BranchKind::Vector(..)), _) => Values::Vectors(levels, bytes),
                (Some(BranchKind::Text), [ends]) => Values::Texts(ends, bytes),
                (_, [ends]) => Values::Lists(ends, bytes),
                _ => Values::Numbers(bytes),
            };
            given.push((&**name, values));
        }
        let done = py.detach(|| writer.extend(&given)).map_err(raise);
        self.taken.store(writer.taken(), Ordering::Relaxed);
        room.truncate(LARGEST_ROOM);
        room.shrink_to(LARGEST_ROOM);
        done
    }

    /// Writes the rows that are kept as a cluster of their own.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.filling).as_mut().map(|filling| filling.writer.flush()))
            .ok_or_else(|| closed("the tree is closed"))?
            .map_err(raise)
    }

    /// Gives the tree up, with all its rows.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.filling).take().map_or(Ok(()), |filling| filling.writer.discard())).map_err(raise)
    }

    /// Writes the rows that are kept, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.filling).take().map_or(Ok(()), |filling| filling.writer.close())).map_err(raise)
    }
}

/// Bytes of memory that are kept from step to step.
const LARGEST_ROOM: usize = 64 << 20;

/// What [`Spec`] is made from, but for the compression.
type SpecOut<'py> = (String, &'static str, &'static str, String, Vec<u32>, Option<Bound<'py, PyAny>>);

fn spec_out<'py>(py: Python<'py>, spec: &BranchSpec) -> PyResult<SpecOut<'py>> {
    let number = spec.number_type().map_or("", Number::numpy_name);
    let (kind, counter, dimensions, objects) = match &spec.kind {
        BranchKind::Numbers(_) => ("numbers", "", spec.dimensions.clone(), None),
        BranchKind::Jagged(_, counter) => ("jagged", &**counter, spec.dimensions.clone(), None),
        BranchKind::Counter(_) => ("counter", "", Vec::new(), None),
        BranchKind::Text => ("text", "", Vec::new(), None),
        BranchKind::Vector(_, depth) => ("vector", "", vec![*depth], None),
        BranchKind::Object(kind, level) => ("object", "", vec![*level], Some(model::to_python(py, kind)?)),
    };
    Ok((spec.name.to_string(), kind, number, counter.to_owned(), dimensions, objects))
}

fn spec(given: &Spec) -> sapwood::Result<BranchSpec> {
    let compression = given.6.as_deref().map(str::parse).transpose()?;
    Ok(BranchSpec { compression, ..kind_of(given)? })
}

fn kind_of((name, kind, number_name, counter, dimensions, objects, _): &Spec) -> sapwood::Result<BranchSpec> {
    if let Some(Model(kind)) = objects {
        let split_level = dimensions.first().copied().unwrap_or(99);
        let kind = BranchKind::Object(kind.clone(), split_level);
        return Ok(BranchSpec::new(&**name, kind));
    }
    let number = || {
        let found = Number::from_numpy_name(number_name);
        found.ok_or_else(|| Error::unsupported(format!("branch {:?}: no leaf holds {:?}", &**name, &**number_name)))
    };
    let spec = match &**kind {
        "numbers" => BranchSpec::number(&**name, number()?),
        "jagged" => BranchSpec::jagged(&**name, number()?, &**counter),
        "counter" => BranchSpec::counter_of(&**name, number()?),
        "vector" => {
            let item = if number_name.is_empty() { Item::Text } else { Item::Number(number()?) };
            return Ok(BranchSpec::vector(&**name, item, dimensions.first().copied().unwrap_or(1)));
        }
        _ => BranchSpec::text(&**name),
    };
    Ok(spec.with_dimensions(dimensions.clone()))
}
