//! `sapwood makeproject`: the classes of a file as source code.

use std::io::Write;
use std::path::PathBuf;

use sapwood::Error;
use sapwood::project::{Language, infos_of, makeproject};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Write the classes that a file describes, those of RNTuples included, as Rust types, Python dataclasses or a C++
/// header.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file.
    file: String,
    /// rust, python or cpp.
    #[arg(long, default_value = "rust")]
    lang: Language,
    /// Only this class and what it is made of; may be given several times.
    #[arg(long = "class", value_name = "NAME")]
    classes: Vec<String>,
    /// Where to write; without, to the terminal.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let infos = infos_of(&output::open(&arguments.file, 1, &arguments.remote)?)?;
    let classes: Vec<&str> = arguments.classes.iter().map(String::as_str).collect();
    let source =
        makeproject(&infos, arguments.lang, &classes).map_err(|error| error.in_file(arguments.file.as_str()))?;
    match &arguments.output {
        Some(path) => {
            let write = std::fs::write(path, source);
            Ok(write.map_err(|error| Error::from(error).in_file(path.to_string_lossy().as_ref()))?)
        }
        None => Ok(out.write_all(source.as_bytes())?),
    }
}
