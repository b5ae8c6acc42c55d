//! Inspection: layouts, diagnoses, verification. What is found crosses to Python as JSON, which the package beside it takes apart.

use std::sync::Arc;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use sapwood::OpenOptions;
use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::layout::Layout;
use sapwood::inspect::optimize::optimize_baskets;
use sapwood::inspect::perf::PerfStats;
use sapwood::inspect::plan::Reader;
use sapwood::inspect::verify;
use sapwood::io::MemoryStore;
use sapwood_cli::documents;

use crate::errors::run;
use crate::file::File;
use crate::network::{Network, Place};
use crate::sessions;
use crate::tree::Tree;

/// Verifies the file of a path or a URL, or one that Python reads; gives a report as JSON.
#[pyfunction]
#[pyo3(signature = (place, name, threads = 0))]
pub(crate) fn verify_place(py: Python<'_>, place: Place, name: &str, threads: usize) -> PyResult<String> {
    let options = OpenOptions { session: sessions::shared(threads), ..OpenOptions::default() };
    let network = Network::new(None)?;
    let report = run(py, || verify::verify_store(network.store(&place)?, options))?;
    Ok(documents::verify(name, &report).to_string())
}

/// Verifies a file in memory; gives a report as JSON.
#[pyfunction]
#[pyo3(signature = (content, name, threads = 0))]
pub(crate) fn verify_bytes(py: Python<'_>, content: PyBackedBytes, name: &str, threads: usize) -> PyResult<String> {
    let options = OpenOptions { session: sessions::shared(threads), ..OpenOptions::default() };
    let store = Arc::new(MemoryStore::new(name, Bytes::from_owner(content)));
    let report = run(py, || verify::verify_store(store, options))?;
    Ok(documents::verify(name, &report).to_string())
}

/// Diagnoses a file, or one tree of it; gives it as JSON and in words.
#[pyfunction]
#[pyo3(signature = (file, tree = None))]
pub(crate) fn doctor(py: Python<'_>, file: PyRef<'_, File>, tree: Option<String>) -> PyResult<(String, String)> {
    let file = file.0.clone();
    let reader = Reader::default();
    let name = Arc::clone(&file.identity().name);
    let diagnosis = run(py, || diagnose(&file, tree.as_deref(), &reader))?;
    let document = documents::doctor(&name, &diagnosis, &reader).to_string();
    Ok((document, documents::doctor_words(&name, &diagnosis, &reader)))
}

/// The layout of a tree as JSON.
#[pyfunction]
pub(crate) fn layout(py: Python<'_>, tree: PyRef<'_, Tree>) -> PyResult<String> {
    let tree = Arc::clone(&tree.0);
    run(py, || Ok(documents::layout(&Layout::of(&tree)).to_string()))
}

/// Records what is read of a tree's file from now on, or no more.
#[pyfunction]
pub(crate) fn record(tree: PyRef<'_, Tree>, on: bool) {
    let perf = tree.0.file().perf();
    if on { perf.start() } else { perf.stop() }
}

/// What was recorded as JSON, in words, and as a picture.
#[pyfunction]
pub(crate) fn perf(py: Python<'_>, tree: PyRef<'_, Tree>) -> PyResult<(String, String, String)> {
    let tree = Arc::clone(&tree.0);
    run(py, || {
        let stats = PerfStats::of(&tree);
        Ok((documents::perf(&stats).to_string(), stats.to_string(), stats.to_svg()))
    })
}

/// Sizes of baskets as JSON.
#[pyfunction]
pub(crate) fn basket_sizes(
    py: Python<'_>,
    tree: PyRef<'_, Tree>,
    max_memory: u64,
    min_compression: f32,
) -> PyResult<String> {
    let tree = Arc::clone(&tree.0);
    run(py, || Ok(documents::optimization(&optimize_baskets(&tree, max_memory, min_compression)).to_string()))
}
