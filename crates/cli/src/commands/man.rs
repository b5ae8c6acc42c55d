//! `sapwood man`: writes man pages.

use std::io::Write;
use std::path::PathBuf;

use crate::output::{Outcome, shown};

/// Write man pages, one for each sub-command, into a directory.
///
/// `man -l DIR/sapwood-ls.1` shows one; pages in `~/.local/share/man/man1` are found by `man sapwood-ls`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory; it is made if it is missing. Pages of the same names are replaced.
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, command: clap::Command, out: &mut dyn Write) -> Outcome {
    let directory = &arguments.directory;
    let named = |error| sapwood::Error::from(error).in_file(shown(directory));
    std::fs::create_dir_all(directory).map_err(named)?;
    clap_mangen::generate_to(command, directory).map_err(named)?;
    writeln!(out, "{}", shown(&directory.join("sapwood.1")))?;
    Ok(())
}
