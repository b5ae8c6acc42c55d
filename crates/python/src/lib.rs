//! `sapwood._core`: the engine as Python sees it. The package beside it gives this the words of uproot.

#![forbid(unsafe_code)]

mod arrow;
mod buffer;
mod column;
mod draft;
mod errors;
mod file;
mod inspect;
mod key;
mod model;
mod object;
mod sessions;
mod steps;
mod tree;
mod writer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::column::Column;
    #[pymodule_export]
    use super::draft::Draft;
    #[pymodule_export]
    use super::errors::SapwoodError;
    #[pymodule_export]
    use super::file::File;
    #[pymodule_export]
    use super::inspect::{basket_sizes, doctor, layout, verify_bytes, verify_path};
    #[pymodule_export]
    use super::key::Key;
    #[pymodule_export]
    use super::model::Columns;
    #[pymodule_export]
    use super::object::{Object, Struct};
    #[pymodule_export]
    use super::steps::Steps;
    #[pymodule_export]
    use super::tree::Tree;
    #[pymodule_export]
    use super::writer::{FileWriter, TreeWriter, recover, rewrite};

    use super::*;

    /// Runs the `sapwood` command with these arguments, the command's name first; gives its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<String>) -> i32 {
        use std::io::Write;
        py.detach(|| {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            let code = sapwood_cli::run(arguments, &mut out, &mut std::io::stderr().lock());
            // A closed pipe is no reason to complain.
            let _ = out.flush();
            code
        })
    }

    /// Source code of the classes that a file describes.
    #[pyfunction]
    fn makeproject(py: Python<'_>, path: String, language: &str, classes: Vec<String>) -> PyResult<String> {
        errors::run(py, || {
            let infos = sapwood::File::open(&path)?.infos()?;
            let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
            sapwood::project::makeproject(&infos, language.parse()?, &classes)
                .map_err(|error| error.in_file(path.as_str()))
        })
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
