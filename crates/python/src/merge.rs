//! Files that are merged. What was done crosses to Python as JSON.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::io::Flow;
use sapwood::merge::{Listed, Merge, Packing, inputs_of};
use sapwood::statistics::SideFile;
use sapwood::write::{Every, TreeOptions};
use sapwood::{File, OpenOptions};
use sapwood_cli::reports::merged::Report;

use crate::errors::{raise, run};
use crate::network::Network;
use crate::sessions;

/// Merges files; gives what was done as JSON, and what caches had to say. `watch` is called with the inputs that are
/// done, all inputs and the bytes so far.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
pub(crate) fn merge(
    py: Python<'_>,
    output: PathBuf,
    inputs: Vec<String>,
    compression: &str,
    append: bool,
    replaces: bool,
    skips: bool,
    trees: bool,
    listed: Option<(bool, Vec<String>)>,
    recluster: Option<(i64, Option<usize>, String)>,
    open_files: Option<usize>,
    threads: usize,
    adler32: bool,
    verify: bool,
    network: Option<&Bound<'_, PyDict>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let packing = match compression {
        "keep" => Packing::Keep,
        "first" => Packing::First,
        setting => Packing::As(setting.parse().map_err(raise)?),
    };
    let (usual, tree) = (Merge::default(), TreeOptions::default());
    let clusters = |(flush, basket_bytes, blocks): (i64, Option<usize>, String)| {
        let random_access = Some(blocks.parse().map_err(raise)?);
        let basket_bytes = basket_bytes.unwrap_or(tree.basket_bytes);
        PyResult::Ok(TreeOptions { auto_flush: Every::from_root(flush), basket_bytes, random_access, ..tree })
    };
    let recluster = recluster.map(clusters).transpose()?;
    let session = sessions::shared(threads);
    let how = Merge {
        packing,
        append,
        replaces,
        skips,
        trees,
        listed: listed.map(|(only, names)| if only { Listed::Only(names) } else { Listed::Skip(names) }),
        recluster,
        open_files: open_files.unwrap_or(usual.open_files),
        session: session.clone(),
        verify,
        ..usual
    };
    let network = Network::new(network)?;
    let mut stopped = None;
    let outcome = run(py, || {
        let options = OpenOptions { session, ..OpenOptions::default() };
        let open = |name: &str| File::from_store(network.named(name.as_ref())?, options.clone());
        let mut watch = |progress: sapwood::merge::Progress| {
            // Ctrl-C is handled between two inputs.
            let outcome = Python::attach(|py| {
                py.check_signals()?;
                let call = watch.as_ref().map(|call| call.call1(py, (progress.done, progress.inputs, progress.bytes)));
                call.transpose()
            });
            match outcome {
                Ok(_) => Flow::Go,
                Err(error) => {
                    stopped = Some(error);
                    Flow::Stop
                }
            }
        };
        let merged = how.run(&output, &inputs_of(&inputs)?, &open, &mut watch)?;
        let adler32 = adler32.then(|| sapwood::merge::adler32(&output)).transpose()?;
        Ok(Report { output: &output, merged: &merged, adler32 }.document().to_string())
    });
    match (outcome, stopped) {
        (Ok(document), _) => Ok((document, network.notices.take())),
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) => Err(error),
    }
}

/// Joins the statistics of files for a file that has their entries; returns whether all have any. Inputs are local
/// paths, or one file as it was opened.
#[pyfunction]
pub(crate) fn join_statistics(
    py: Python<'_>,
    output: PathBuf,
    inputs: Vec<String>,
    opened: Option<Py<crate::file::File>>,
) -> PyResult<bool> {
    run(py, || {
        if let Some(opened) = &opened {
            return sapwood::merge::join_statistics(&output, [Ok(opened.get().0.clone())]);
        }
        let inputs = inputs_of(&inputs)?;
        if inputs.iter().any(|input| !SideFile::path_of(input).exists()) {
            return Ok(false);
        }
        sapwood::merge::join_statistics(&output, inputs.iter().map(File::open))
    })
}
