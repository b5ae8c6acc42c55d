//! Inspection: layouts, diagnoses, verification. What is found crosses to Python as JSON, which the package beside it
//! takes apart.

use std::sync::Arc;

use bytes::Bytes;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sapwood::OpenOptions;
use sapwood::inspect::compression::{Curve, Goal, Study, StudyOptions};
use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::index::{Options, make};
use sapwood::inspect::io_cost::Reader;
use sapwood::inspect::layout::Layout;
use sapwood::inspect::optimize::optimize_baskets;
use sapwood::inspect::perf::{PerfPicture, PerfStats};
use sapwood::inspect::verify;
use sapwood::io::{MemoryStore, Store};
use sapwood::progress::telling;
use sapwood::statistics::SideFile;
use sapwood_cli::reports::{documents, index as reports};

use crate::errors::run;
use crate::file::File;
use crate::network::{Network, Place};
use crate::reading::watched;
use crate::sessions;
use crate::table::Table;
use crate::tree::Tree;

/// The content of a file, or where it is.
#[derive(FromPyObject)]
pub(crate) enum Content {
    Bytes(PyBackedBytes),
    At(Place),
}

/// Verifies a file in memory, of a path or a URL, or one that Python reads; gives a report as JSON. `progress` is
/// called with the bytes that are done, and those of all.
#[pyfunction]
#[pyo3(signature = (content, name, threads = 0, progress = None))]
pub(crate) fn verify_file(
    py: Python<'_>,
    content: Content,
    name: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options = OpenOptions { session: sessions::shared(threads), ..OpenOptions::default() };
    let network = Network::new(None)?;
    let store = || match content {
        Content::Bytes(bytes) => Ok(Arc::new(MemoryStore::new(name, Bytes::from_owner(bytes))) as Arc<dyn Store>),
        Content::At(place) => network.store(&place),
    };
    let report = run(py, || telling(watched(progress), || verify::verify_store(store()?, options)))?;
    Ok(documents::verify(name, &report).to_string())
}

/// Diagnoses a file, or one tree of it; gives it as JSON and in words.
#[pyfunction]
pub(crate) fn doctor(
    py: Python<'_>,
    file: PyRef<'_, File>,
    tree: Option<String>,
    cuts: bool,
) -> PyResult<(String, String)> {
    let file = file.0.clone();
    let reader = Reader::default();
    let name = Arc::clone(&file.identity().name);
    let diagnosis = run(py, || {
        let mut diagnosis = diagnose(&file, tree.as_deref(), &reader)?;
        if cuts {
            diagnosis.add_cuts(&file)?;
        }
        Ok(diagnosis)
    })?;
    let document = documents::doctor(&name, &diagnosis, &reader).to_string();
    Ok((document, documents::doctor_words(&name, &diagnosis, &reader)))
}

/// Studies the compression of a tree or RNTuple; gives it as JSON, in words and as a picture. Settings that are tried,
/// sizes of baskets, bytes that are sampled; purposes by name, and budgets: `size`, `read` or `write` and a number.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
pub(crate) fn compression_study(
    py: Python<'_>,
    file: PyRef<'_, File>,
    tree: Option<String>,
    settings: Vec<String>,
    basket_bytes: Vec<usize>,
    sample_bytes: u64,
    purposes: Vec<String>,
    budgets: Vec<(String, f64)>,
) -> PyResult<(String, String, String)> {
    let file = file.0.clone();
    let name = Arc::clone(&file.identity().name);
    run(py, || {
        let usual = StudyOptions::default();
        let settings = settings.iter().map(|text| text.parse()).collect::<sapwood::Result<Vec<_>>>()?;
        let settings = if settings.is_empty() { usual.settings.clone() } else { settings };
        let study = Study::of(&file, tree.as_deref(), &StudyOptions { settings, basket_bytes, sample_bytes, ..usual })?;
        let mut goals = purposes.iter().map(|name| name.parse()).collect::<sapwood::Result<Vec<Goal>>>()?;
        goals.extend(budgets.iter().map(|(of, number)| match &**of {
            // A part of what there is, or a number of bytes.
            "part" => Goal::Size((study.stored_bytes() as f64 * number) as u64),
            "size" => Goal::Size(*number as u64),
            "read" => Goal::ReadTime(*number),
            _ => Goal::WriteTime(*number),
        }));
        let advice = goals.into_iter().map(|goal| study.advise(goal)).collect::<sapwood::Result<Vec<_>>>()?;
        let document = documents::compression(&name, &study, &advice).to_string();
        let words = documents::compression_words(&name, &study, &advice, BRANCHES);
        Ok((document, words, Curve::of(&study).to_svg()))
    })
}

/// Branches that a study in words has.
const BRANCHES: usize = 20;

/// Makes statistics of the columns of these names and stores them next to the file, or in a folder for those of many.
/// Returns a report as JSON.
#[pyfunction]
#[pyo3(signature = (file, columns, folder, progress = None))]
pub(crate) fn index(
    py: Python<'_>,
    file: PyRef<'_, File>,
    columns: Vec<String>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let file = file.0.clone();
    let identity = file.identity();
    run(py, || {
        let made = telling(watched(progress), || make(&file, &Options { columns }))?;
        let place = match &folder {
            Some(folder) => SideFile::path_in(folder, &identity.name),
            None => SideFile::path_of(&*identity.name),
        };
        let like = file.store().as_file().map(|_| Path::new(&*identity.name));
        made.side_file.write_like(&place, like)?;
        let bytes = std::fs::metadata(&place)?.len();
        Ok(reports::made(&identity.name, &place.to_string_lossy(), bytes, identity.len, &made).to_string())
    })
}

/// The layout of a tree or an RNTuple as JSON.
#[pyfunction]
pub(crate) fn layout(py: Python<'_>, of: &Bound<'_, Table>) -> PyResult<String> {
    let table = &of.get().engine;
    let layout = run(py, || Layout::of(table))?;
    Ok(documents::layout(&layout).to_string())
}

/// Records what is read of the file of a tree or an RNTuple from now on, or no more.
#[pyfunction]
pub(crate) fn record(of: &Bound<'_, Table>, on: bool) {
    let perf = of.get().engine.file().perf();
    if on { perf.start() } else { perf.stop() }
}

/// What was recorded so far.
#[pyfunction]
pub(crate) fn perf(py: Python<'_>, of: &Bound<'_, Table>) -> PyResult<PerfRun> {
    let table = &of.get().engine;
    run(py, || PerfStats::of(table).map(PerfRun))
}

/// The run that was saved in a file.
#[pyfunction]
#[pyo3(signature = (file, name = None))]
pub(crate) fn perf_load(py: Python<'_>, file: PyRef<'_, File>, name: Option<String>) -> PyResult<PerfRun> {
    let file = file.0.clone();
    run(py, || PerfStats::load(&file, name.as_deref()).map(PerfRun))
}

/// What reading a tree cost.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct PerfRun(PerfStats);

#[pymethods]
impl PerfRun {
    /// As JSON.
    fn document(&self) -> String {
        documents::perf(&self.0).to_string()
    }

    /// In words.
    fn words(&self) -> String {
        self.0.to_string()
    }

    /// Beside a run before it, as JSON and as a table.
    fn beside(&self, before: PyRef<'_, PerfRun>) -> (String, String) {
        let before = &before.0;
        (documents::compared(before, &self.0).to_string(), documents::compared_words(before, &self.0))
    }

    /// A picture as SVG, beside a run before it where one is given.
    #[pyo3(signature = (before = None))]
    fn svg(&self, before: Option<PyRef<'_, PerfRun>>) -> String {
        self.picture(before.as_deref()).to_svg()
    }

    /// A picture as PNG.
    #[pyo3(signature = (before = None))]
    fn png<'py>(&self, py: Python<'py>, before: Option<PyRef<'_, PerfRun>>) -> PyResult<Bound<'py, PyBytes>> {
        let picture = self.picture(before.as_deref());
        Ok(PyBytes::new(py, &run(py, || picture.to_png())?))
    }

    /// Writes it into a ROOT file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run(py, || self.0.save(path))
    }
}

impl PerfRun {
    fn picture(&self, before: Option<&Self>) -> PerfPicture {
        match before {
            Some(before) => PerfPicture::of(&[("before", &before.0), ("after", &self.0)]),
            None => PerfPicture::of(&[("", &self.0)]),
        }
    }
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
