//! Files: keys, objects, trees.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use sapwood::container::{Record as Found, datime_text};
use sapwood::io::MemoryStore;
use sapwood::schema::StreamerInfo;
use sapwood::wire::Limits;
use sapwood::{KeyPath, OpenOptions, UseStatistics};
use sapwood_store::environment;

use crate::draft::Draft;
use crate::drop_in_thread::DropInThread;
use crate::errors::run;
use crate::key::Key;
use crate::network::{Network, Place};
use crate::notices;
use crate::ntuple::NTuple;
use crate::object::{Object, Origin, Record, Trees};
use crate::sessions;
use crate::tree::Tree;

/// A file that is open.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct File(pub(crate) sapwood::File, Arc<Network>);

#[pymethods]
impl File {
    /// Opens a path, a URL, or a file that Python reads.
    #[staticmethod]
    #[pyo3(signature = (place, threads = 0, object_limit = None, answer_limit = None, network = None))]
    fn open(
        py: Python<'_>,
        place: Place,
        threads: usize,
        object_limit: Option<u64>,
        answer_limit: Option<u64>,
        network: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = options(threads, object_limit, answer_limit);
        let network = Network::with_threads(network, threads)?;
        let options = OpenOptions { other_files: network.other_files(), ..options };
        let file = run(py, || sapwood::File::from_store(network.store(&place)?, options))?;
        Ok(Self(file, network))
    }

    /// Opens `bytes` in memory, without a copy.
    #[staticmethod]
    #[pyo3(signature = (content, name, threads = 0, object_limit = None, answer_limit = None))]
    fn from_bytes(
        py: Python<'_>,
        content: PyBackedBytes,
        name: &str,
        threads: usize,
        object_limit: Option<u64>,
        answer_limit: Option<u64>,
    ) -> PyResult<Self> {
        let options = options(threads, object_limit, answer_limit);
        let store = Arc::new(MemoryStore::new(name, Bytes::from_owner(DropInThread::new(content))));
        let file = run(py, || sapwood::File::from_store(store, options))?;
        Ok(Self(file, Network::new(None)?))
    }

    /// Warnings of the cache of a remote file since the last call.
    fn notices(&self) -> Vec<String> {
        self.1.notices.take()
    }

    /// Whether Python reads its bytes.
    #[getter]
    fn by_python(&self) -> bool {
        self.1.by_python()
    }

    /// The same file with threads of its own: a child process has none of its parent's.
    fn renewed(&self, py: Python<'_>) -> PyResult<Self> {
        let old = self.0.options();
        let session = sessions::shared(old.session.threads());
        let options = OpenOptions { session, ..old.clone() };
        let store = Arc::clone(self.0.store());
        run(py, || sapwood::File::from_store(store, options)).map(|file| Self(file, Arc::clone(&self.1)))
    }

    /// Keys of one directory, or of all below it too.
    fn keys(&self, py: Python<'_>, directory: &str, recursive: bool) -> PyResult<Vec<Key>> {
        let keys = run(py, || self.0.keys_in(directory, recursive))?;
        Ok(keys.into_iter().map(|found| Key { path: found.path, key: found.key, inside: None }).collect())
    }

    /// The paths of these keys, each once, with `;cycle` if wanted: of many keys much less than the keys.
    fn names(&self, py: Python<'_>, directory: &str, recursive: bool, cycle: bool) -> PyResult<Vec<String>> {
        run(py, || {
            let keys = self.0.keys_in(directory, recursive)?;
            let mut seen = HashSet::with_capacity(keys.len());
            let name = |found: KeyPath| if cycle { format!("{};{}", found.path, found.key.cycle) } else { found.path };
            Ok(keys.into_iter().map(name).filter(|name| seen.insert(name.clone())).collect())
        })
    }

    /// The key of a path.
    fn key(&self, py: Python<'_>, path: &str) -> PyResult<Key> {
        let key = run(py, || self.0.key(path))?;
        Ok(Key { path: key.name.to_string(), key, inside: None })
    }

    /// Whether a key holds a tree, by its class or by those that it derives from.
    fn holds_tree(&self, py: Python<'_>, key: &Key) -> PyResult<bool> {
        run(py, || self.0.holds_tree(&key.key))
    }

    /// The object of a key. `open_tree` opens those of the objects that it holds which are trees.
    #[pyo3(signature = (key, open_tree = None))]
    fn object(&self, py: Python<'_>, key: &Key, open_tree: Option<Py<PyAny>>) -> PyResult<Object> {
        let (object, record, classes) = run(py, || {
            let payload = self.0.payload(&key.key)?;
            let object = self.0.object_in(&key.key, &payload)?;
            let record = Record {
                registry: self.0.registry()?,
                class: Arc::from(&*key.key.class),
                payload,
                keylen: usize::from(key.key.keylen),
                limits: self.0.options().limits,
            };
            let mut trees = Vec::new();
            for class in object.table().classes() {
                if self.0.is_tree_class(class)? {
                    trees.push(Arc::clone(class));
                }
            }
            Ok((object, record, trees))
        })?;
        let trees = open_tree.filter(|_| !classes.is_empty()).map(|open| Trees { classes, open });
        let file = Arc::clone(&self.0.identity().name);
        let origin = Origin { file, object: Arc::from(&*key.key.name), record: Some(record), trees };
        Ok(Object { object, place: Some(Arc::new(origin)) })
    }

    /// The object of a key to be written into another file, of any class.
    fn draft(&self, py: Python<'_>, key: &Key) -> PyResult<Draft> {
        run(py, || self.0.draft_at(&key.key)).map(Draft::from)
    }

    /// The bytes of a key's object, inflated.
    fn payload<'py>(&self, py: Python<'py>, key: &Key) -> PyResult<Bound<'py, PyBytes>> {
        run(py, || self.0.payload(&key.key)).map(|bytes| PyBytes::new(py, &bytes))
    }

    /// The tree of a key, or the one in its record that the key is of.
    fn tree(&self, py: Python<'_>, key: &Key) -> PyResult<Py<Tree>> {
        let tree = run(py, || {
            let Some(id) = key.inside else { return self.0.tree_at(&key.key) };
            let object = self.0.object_in(&key.key, &self.0.payload(&key.key)?)?;
            let found = sapwood::Object::of(object.table(), id);
            let lost = || sapwood::Error::not_found(format!("the record has no object {id}"));
            self.0.tree_within(&key.key, found.ok_or_else(lost)?)
        })?;
        Tree::new(py, tree)
    }

    /// The tree that an object in the record of a key is.
    fn tree_within(&self, py: Python<'_>, key: &Key, object: &Object) -> PyResult<Py<Tree>> {
        Tree::new(py, run(py, || self.0.tree_within(&key.key, object.object.clone()))?)
    }

    /// The RNTuple of a key.
    fn ntuple(&self, py: Python<'_>, key: &Key) -> PyResult<Py<NTuple>> {
        NTuple::new(py, run(py, || self.0.ntuple_at(&key.key))?)
    }

    /// Infos of the classes that the file describes, and with `all` of those that are known besides: (name, version,
    /// checksum, [(name, type name, code, title, array length, base)]).
    fn infos<'py>(&self, py: Python<'py>, all: bool) -> PyResult<Bound<'py, PyList>> {
        let (registry, own) = run(py, || Ok((self.0.registry()?, if all { Vec::new() } else { self.0.infos()? })))?;
        let infos: Vec<&StreamerInfo> =
            if all { registry.infos().iter().map(AsRef::as_ref).collect() } else { own.iter().collect() };
        let list = PyList::empty(py);
        for info in infos {
            let elements: Vec<_> = info
                .elements
                .iter()
                .map(|element| {
                    let base = matches!(element.detail, sapwood::schema::Detail::Base { .. });
                    (&*element.name, &*element.type_name, element.code, &*element.title, element.array_length, base)
                })
                .collect();
            list.append((&*info.name, info.version, info.checksum, elements))?;
        }
        Ok(list)
    }

    /// Every record: dictionaries with ROOT's names; gaps have only `fNbytes`, negative.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = run(py, || self.0.records())?;
        let list = PyList::empty(py);
        for (at, record) in records {
            let row = PyDict::new(py);
            row.set_item("seek", at)?;
            match record {
                Found::Gap(bytes) => row.set_item("nbytes", -(bytes as i64))?,
                Found::Key(key) => {
                    row.set_item("nbytes", key.nbytes)?;
                    row.set_item("objlen", key.objlen)?;
                    row.set_item("keylen", key.keylen)?;
                    row.set_item("cycle", key.cycle)?;
                    row.set_item("date", datime_text(key.datime))?;
                    row.set_item("class", &*key.class)?;
                    row.set_item("name", &*key.name)?;
                    row.set_item("title", &*key.title)?;
                }
            }
            list.append(row)?;
        }
        Ok(list)
    }

    /// Header fields by ROOT's names.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let header = self.0.header();
        let fields = PyDict::new(py);
        fields.set_item("fVersion", header.version)?;
        fields.set_item("fBEGIN", header.begin)?;
        fields.set_item("fEND", header.end)?;
        fields.set_item("fSeekFree", header.seek_free)?;
        fields.set_item("fNbytesFree", header.nbytes_free)?;
        fields.set_item("nfree", header.free_segments)?;
        fields.set_item("fNbytesName", header.nbytes_name)?;
        fields.set_item("fUnits", header.units)?;
        fields.set_item("fCompress", header.compress)?;
        fields.set_item("fSeekInfo", header.seek_info)?;
        fields.set_item("fNbytesInfo", header.nbytes_info)?;
        fields.set_item("fUUID", header.uuid)?;
        Ok(fields)
    }

    /// Name of the file.
    #[getter]
    fn name(&self) -> &str {
        &self.0.identity().name
    }

    /// Whether its keys had to be found by walking the records.
    #[getter]
    fn is_recovered(&self) -> bool {
        self.0.is_recovered()
    }

    /// Whether records stand behind the end that its header names.
    #[getter]
    fn has_unsaved(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.has_unsaved())
    }

    /// Whether its writer closed it.
    #[getter]
    fn was_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Threads that decode.
    #[getter]
    fn threads(&self) -> usize {
        self.0.options().session.threads()
    }
}

fn options(threads: usize, object_limit: Option<u64>, answer_limit: Option<u64>) -> OpenOptions {
    let usual = Limits::default();
    let limits = Limits {
        object_bytes: object_limit.unwrap_or(usual.object_bytes),
        answer_bytes: answer_limit.unwrap_or(usual.answer_bytes),
        ..usual
    };
    let statistics = UseStatistics { on_notice: Some(notices::receiver()), ..environment::statistics() };
    OpenOptions { limits, session: sessions::shared(threads), statistics, ..OpenOptions::default() }
}
