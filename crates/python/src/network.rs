//! How the network is spoken to, as a dictionary says it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood_cli::places;
use sapwood_store::NetOptions;

use crate::errors::raise;

/// Options of the stores; each item may be missing.
pub(crate) fn options(network: Option<&Bound<'_, PyDict>>) -> PyResult<NetOptions> {
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
            "cache" => kind = value.extract()?,
            "cache_dir" => dir = value.extract()?,
            "cache_size" => bytes = value.extract()?,
            other => return Err(PyValueError::new_err(format!("the network has no option {other:?}"))),
        }
    }
    options.cache = match kind {
        Some(kind) => Some(places::cache(&kind, dir, bytes).map_err(raise)?),
        None => None,
    };
    // Equal options share their connections, in whatever order they were given.
    options.headers.sort();
    Ok(options)
}
