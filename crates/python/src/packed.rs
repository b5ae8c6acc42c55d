//! Files that are packed, and given back.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood_store::PackOptions;

use crate::errors::{raise, run};
use crate::network::{Network, Place};

/// Packs a file; gives its bytes, those of the packed file, how many blocks it has, and what to do where it gained
/// little. `name` is what the user calls it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of one call")]
pub(crate) fn pack(
    py: Python<'_>,
    source: Place,
    name: &str,
    output: PathBuf,
    block_bytes: usize,
    level: i32,
    threads: usize,
    replaces: bool,
    network: Option<&Bound<'_, PyDict>>,
) -> PyResult<(u64, u64, u64, Option<String>)> {
    let network = Network::new(network)?;
    let options = PackOptions { block_bytes, level, threads, replaces };
    let report = run(py, || sapwood_store::pack(&network.store(&source)?, &output, &options))?;
    Ok((report.bytes, report.packed_bytes, report.blocks, report.advice(name)))
}

/// Writes what a place holds to a file; gives its bytes.
#[pyfunction]
pub(crate) fn unpack(
    py: Python<'_>,
    source: Place,
    output: PathBuf,
    replaces: bool,
    network: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    let network = Network::new(network)?;
    run(py, || sapwood_store::unpack(&network.store(&source)?, &output, replaces))
}

/// The name of a packed file where the user gives none.
#[pyfunction]
pub(crate) fn packed_name(place: &str) -> String {
    sapwood_store::packed_name(place)
}

/// The name of what a packed file holds, if its name says that it is one.
#[pyfunction]
pub(crate) fn unpacked_name(place: &str) -> Option<&str> {
    sapwood_store::unpacked_name(place)
}

/// Where the name of a file within an archive ends, in characters; none of all other names.
#[pyfunction]
pub(crate) fn member_end(target: &str) -> Option<usize> {
    let end = sapwood_store::member_end(target);
    end.and_then(|end| target.get(..end)).map(|name| name.chars().count())
}

/// Refuses the name of a packed file as that of one that is written.
#[pyfunction]
pub(crate) fn check_output(place: &str) -> PyResult<()> {
    sapwood_store::check_output(place).map_err(raise)
}

/// The place of a file that the file `of` names.
#[pyfunction]
pub(crate) fn beside(of: &str, path: &str) -> PyResult<String> {
    sapwood_store::beside(of, path).map_err(raise)
}
