//! `sapwood mkdir`: makes directories in a file.

use sapwood::write::{FileWriter, WriteOptions};

use crate::output::{self, Outcome};

/// Make directories, and those above them, in an existing file.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:DIRECTORY, one or more.
    #[arg(required = true)]
    targets: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    for target in &arguments.targets {
        let (path, directory) = output::inside(target)?;
        output::check_output(path)?;
        let mut file = FileWriter::update(path, WriteOptions::default())?;
        file.mkdir(directory)?;
        file.close()?;
    }
    Ok(())
}
