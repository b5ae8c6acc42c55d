//! Where files are read from and how the network is spoken to, as a dictionary says it: what the engine's own stores
//! reach, and what fsspec does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::io::{OtherFiles, Store};
use sapwood::{Error, Result};
use sapwood_store::{
    NetOptions, Notices, Provider, Replicas, environment, in_front_of, redact, unknown_proofs, unpacked,
};

use crate::drop_in_thread::DropInThread;
use crate::errors::{raise, with_python};
use crate::remote::{Otherwise, RemoteStore};

/// A file as Python names it.
#[derive(FromPyObject)]
pub(crate) enum Place {
    /// A path, or a URL.
    Named(PathBuf),
    /// A `sapwood._remote.filesystems.Remote`.
    Remote(Py<PyAny>),
}

/// How files are reached.
pub(crate) struct Network {
    options: NetOptions,
    /// Where else the file is.
    replicas: Vec<String>,
    /// All that was said, for the package's own half.
    said: Option<DropInThread<Py<PyDict>>>,
    /// What is worth a warning.
    pub(crate) notices: Notices,
    /// Whether Python reads any of them.
    by_python: AtomicBool,
}

impl Network {
    /// As a dictionary says it; each item may be missing.
    pub(crate) fn new(said: Option<&Bound<'_, PyDict>>) -> PyResult<Arc<Self>> {
        Self::with_threads(said, 0)
    }

    /// The same for files that so many threads decode at most; 0 for one per processor.
    pub(crate) fn with_threads(said: Option<&Bound<'_, PyDict>>, threads: usize) -> PyResult<Arc<Self>> {
        let options = NetOptions { threads, ..options(said)? };
        let replicas = said.map(|said| said.get_item("replicas")).transpose()?.flatten();
        let replicas = replicas.map(|replicas| replicas.extract()).transpose()?.unwrap_or_default();
        let notices = options.cache.as_ref().map(|cache| cache.notices.clone()).unwrap_or_default();
        let said = said.filter(|said| !said.is_empty()).map(|said| DropInThread::new(said.clone().unbind()));
        Ok(Arc::new(Self { options, replicas, said, notices, by_python: AtomicBool::new(false) }))
    }

    /// Whether Python reads any of the files that were opened so.
    pub(crate) fn by_python(&self) -> bool {
        self.by_python.load(Ordering::Relaxed)
    }

    /// The store of a place. It is the same function for all that opens files.
    pub(crate) fn store(self: &Arc<Self>, place: &Place) -> Result<Arc<dyn Store>> {
        match place {
            Place::Named(path) => self.named(path),
            Place::Remote(_) if !self.replicas.is_empty() => {
                Err(Error::mismatch("a file with replicas is named by its path or URL"))
            }
            Place::Remote(remote) => with_python(|py| self.remote(remote.bind(py), &self.options)),
        }
    }

    /// The store of a path or a URL, and of its replicas.
    pub(crate) fn named(self: &Arc<Self>, path: &Path) -> Result<Arc<dyn Store>> {
        if self.replicas.is_empty() {
            return self.one(path, &self.options);
        }
        let mut all = vec![path.to_string_lossy().into_owned()];
        all.extend_from_slice(&self.replicas);
        let (network, each) = (Arc::clone(self), NetOptions { cache: None, ..self.options.clone() });
        let store = Replicas::new(&all, move |place| network.one(place.as_ref(), &each))?;
        let name = store.cache_name();
        Ok(in_front_of(store, &name, &self.options))
    }

    /// How files are opened that another one names.
    pub(crate) fn other_files(self: &Arc<Self>) -> OtherFiles {
        let network = Arc::clone(self);
        OtherFiles::new(move |of, name| {
            // Replicas are other places of one file.
            network.one(Path::new(&sapwood_store::found_beside(of, name)?), &network.options)
        })
    }

    /// The store of one place, which may lie in a packed file.
    fn one(self: &Arc<Self>, path: &Path, options: &NetOptions) -> Result<Arc<dyn Store>> {
        match path.to_str() {
            Some(text) => unpacked(text, options.threads, |outer| self.stored(outer.as_ref(), options)),
            None => self.stored(path, options),
        }
    }

    /// The store of one place, for the bytes as they are stored.
    fn stored(self: &Arc<Self>, path: &Path, options: &NetOptions) -> Result<Arc<dyn Store>> {
        let url = path.to_string_lossy();
        let find = |py: Python<'_>| {
            let found = filesystems(py)?.call_method1("find", (&*url, self.said()))?;
            if found.is_none() { Ok(None) } else { self.remote(&found, options).map(Some) }
        };
        // Most are paths, and need not be asked for.
        let found = if url.contains(':') { with_python(find) } else { Ok(None) };
        if let Some(store) = found.map_err(|error| error.in_file(redact(&url)))? {
            return Ok(store);
        }
        let options = self.with_settings(&url, options)?;
        let store = environment::open_stored(path, options.clone())?;
        if !["root://", "xroot://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Ok(store);
        }
        let (network, url) = (Arc::clone(self), url.into_owned());
        Ok(Arc::new(Otherwise::new(store, move |error| network.proved_by_others(&url, &options, error))))
    }

    /// Options for the engine's own way to a URL.
    pub(crate) fn options_of(&self, url: &str) -> Result<NetOptions> {
        self.with_settings(url, &self.options)
    }

    fn said(&self) -> Option<&Py<PyDict>> {
        self.said.as_deref()
    }

    /// With what was said of the cloud of a URL.
    fn with_settings(&self, url: &str, options: &NetOptions) -> Result<NetOptions> {
        let mut options = options.clone();
        if Provider::of(url).is_some() {
            let said = |py: Python<'_>| filesystems(py)?.call_method1("settings", (url, self.said()))?.extract();
            options.clouds = with_python(said)?;
        }
        Ok(options)
    }

    fn remote(&self, remote: &Bound<'_, PyAny>, options: &NetOptions) -> PyResult<Arc<dyn Store>> {
        let (store, name) = RemoteStore::new(remote)?;
        self.by_python.store(true, Ordering::Relaxed);
        Ok(in_front_of(store, &name, options))
    }

    /// What reads a file of `root://` whose server wants a proof that the engine cannot give; the error, if it is
    /// another one.
    fn proved_by_others(&self, url: &str, options: &NetOptions, error: Error) -> Result<Arc<dyn Store>> {
        let Some((server, proofs)) = unknown_proofs(&error) else { return Err(error) };
        let proofs = proofs.join(", ");
        let store = with_python(|py| {
            let remote = filesystems(py)?.call_method1("with_proof", (url, self.said()))?;
            if remote.is_none() { Ok(None) } else { self.remote(&remote, options).map(Some) }
        })?;
        if let Some(store) = store {
            self.notices.add(format!("{server} requires authentication by {proofs}: fsspec-xrootd reads it"));
            return Ok(store);
        }
        let words = format!("{}; what reads it is XRootD's own client: pip install fsspec-xrootd", error.message());
        Err(Error::new(error.kind(), words).in_file(redact(url)))
    }
}

/// The package's own half.
fn filesystems(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("sapwood._remote.filesystems")
}

/// Options of the engine's own stores.
fn options(network: Option<&Bound<'_, PyDict>>) -> PyResult<NetOptions> {
    let mut options = NetOptions::default();
    let Some(network) = network else { return Ok(options) };
    let (mut kind, mut dir, mut bytes) = (None::<String>, None::<PathBuf>, None::<u64>);
    for (name, value) in network {
        match name.extract::<String>()?.as_str() {
            "token" => options.token = value.extract()?,
            "timeout" => {
                let seconds: f64 = value.extract()?;
                let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
                let wrong = || PyValueError::new_err(format!("timeout is a number of seconds, not {seconds}"));
                options.timeout = time.ok_or_else(wrong)?;
            }
            "retries" => options.retries = value.extract()?,
            "headers" => options.headers = value.extract::<HashMap<String, String>>()?.into_iter().collect(),
            "certificate" => options.certificate = value.extract()?,
            "authorities" => options.authorities = value.extract()?,
            "keytab" => options.keytab = value.extract()?,
            "insecure_redirects" => options.insecure_redirects = value.extract()?,
            "cache" => kind = value.extract()?,
            "cache_dir" => dir = value.extract()?,
            "cache_size" => bytes = value.extract()?,
            // The network itself and the package's own half know these.
            "storage_options" | "handler" | "replicas" => {}
            other => return Err(PyValueError::new_err(format!("the network has no option {other:?}"))),
        }
    }
    options.cache = match kind {
        Some(kind) => Some(environment::cache(&kind, dir, bytes).map_err(raise)?),
        None => None,
    };
    // Equal options share their connections, in whatever order they were given.
    options.headers.sort();
    Ok(options)
}
