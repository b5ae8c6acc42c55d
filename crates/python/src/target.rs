//! Files that are finished on this machine and then sent to a server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::Error;
use sapwood::io::AtomicFile;
use sapwood::progress::telling;
use sapwood_store::environment;

use crate::errors::{raise, run};
use crate::network::Network;
use crate::reading::watched;

/// A file of a server that is written here first.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Target {
    url: String,
    network: Arc<Network>,
    file: Mutex<Option<AtomicFile>>,
    path: PathBuf,
}

#[pymethods]
impl Target {
    /// A file for a URL, which may replace one there or not.
    #[new]
    #[pyo3(signature = (url, replaces, network = None))]
    fn new(py: Python<'_>, url: String, replaces: bool, network: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let network = Network::new(network)?;
        let file = run(py, || environment::target(&url, replaces, network.options_of(&url)?))?;
        let path = file.path().to_owned();
        Ok(Self { url, network, file: Mutex::new(Some(file)), path })
    }

    /// Where it is written.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Copies what the server has to the path.
    fn fetch(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || environment::fetch(&self.url, &self.path, self.network.options_of(&self.url)?))
    }

    /// Sends the finished file and gives it its name. `progress` is called with the bytes that are sent, and those of
    /// all.
    #[pyo3(signature = (progress = None))]
    fn publish(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let file = self.take().ok_or_else(|| raise(Error::mismatch("the file was sent or discarded")))?;
        run(py, || telling(watched(progress), || file.publish()))
    }

    /// Removes the file from this machine.
    fn discard(&self) {
        drop(self.take());
    }
}

impl Target {
    fn take(&self) -> Option<AtomicFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
