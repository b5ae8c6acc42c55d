//! `sapwood._core`: the engine as Python sees it. The package beside it gives this the words of uproot.

#![forbid(unsafe_code)]

mod arrow;
mod batch;
mod branches;
mod buffer;
mod column;
mod column_stream;
mod diagram;
mod draft;
mod drop_in_thread;
mod errors;
mod fields;
mod file;
mod frame;
mod hist;
mod inspect;
mod interrupt;
mod key;
mod merge;
mod model;
mod network;
mod notices;
mod ntuple;
mod ntuple_writer;
mod object;
mod owner;
mod packed;
mod parallel;
mod pick;
mod query;
mod reader;
mod reading;
mod remote;
mod scan;
mod sessions;
mod steps;
mod table;
mod target;
mod tree;
mod tree_writer;
mod writer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::batch::{BatchMixing, BatchRows, column_of, shuffled_order, take_rows};
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::column::Column;
    #[pymodule_export]
    use super::column_stream::columns_stream;
    #[pymodule_export]
    use super::diagram::Diagram;
    #[pymodule_export]
    use super::draft::Draft;
    #[pymodule_export]
    use super::errors::SapwoodError;
    #[pymodule_export]
    use super::file::File;
    #[pymodule_export]
    use super::frame::{Frame, FramePlan, FrameRun, FrameStatistics, Wanted};
    #[pymodule_export]
    use super::hist::{
        Axis, Efficiency, Graph, Histogram, SparseFill, SparseHistogram, axis_members, efficiency_members, graph,
        histogram, histogram_dtype, profile,
    };
    #[pymodule_export]
    use super::inspect::{
        PerfRun, basket_sizes, compression_study, doctor, index, layout, perf, perf_load, record, verify_file,
    };
    #[pymodule_export]
    use super::interrupt::Stop;
    #[pymodule_export]
    use super::key::Key;
    #[pymodule_export]
    use super::merge::{join_statistics, merge};
    #[pymodule_export]
    use super::model::Columns;
    #[pymodule_export]
    use super::ntuple::NTuple;
    #[pymodule_export]
    use super::ntuple_writer::{NTupleWriter, NumberedNTupleContext, ParallelNTupleWriter};
    #[pymodule_export]
    use super::object::{Object, Struct};
    #[pymodule_export]
    use super::packed::{beside, check_output, member_end, pack, packed_name, unpack, unpacked_name};
    #[pymodule_export]
    use super::parallel::{NumberedContext, ParallelWriter};
    #[pymodule_export]
    use super::pick::{Pick, find};
    #[pymodule_export]
    use super::query::{Draws, Friend, Query, formula, in_lumi_mask};
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::scan::{ItemTable, item_lines, split_expressions};
    #[pymodule_export]
    use super::sessions::memory_bytes;
    #[pymodule_export]
    use super::steps::Steps;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::target::Target;
    #[pymodule_export]
    use super::tree::Tree;
    #[pymodule_export]
    use super::tree_writer::TreeWriter;
    #[pymodule_export]
    use super::writer::{FileWriter, check_compression, check_random_access, recover, rewrite};

    use super::*;

    /// Runs the `sapwood` command with these arguments, the command's name first; gives its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> i32 {
        use std::io::Write;
        py.detach(|| {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            let code = sapwood_cli::run(arguments, &mut out, &mut std::io::stderr().lock());
            // A closed pipe is no reason to complain.
            let _ = out.flush();
            code
        })
    }

    /// A text as it may be shown: without passwords of URLs and without the values of tickets.
    #[pyfunction]
    fn redact(text: &str) -> String {
        sapwood_store::redact(text).into_owned()
    }

    /// Source code of the classes that a file describes.
    #[pyfunction]
    fn makeproject(py: Python<'_>, path: String, language: &str, classes: Vec<String>) -> PyResult<String> {
        let network = network::Network::new(None)?;
        errors::run(py, || {
            let store = network.named(path.as_ref())?;
            let infos = sapwood::project::infos_of(&sapwood::File::from_store(store, Default::default())?)?;
            let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
            sapwood::project::makeproject(&infos, language.parse()?, &classes)
                .map_err(|error| error.in_file(path.as_str()))
        })
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        interrupt::note_main_thread(module.py())?;
        module.add("NEW_OBJECT", sapwood::write::NEW_OBJECT.to_vec())?;
        module.add("ROOT_CLASSES", model::root_classes(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
