//! Statistics of files that a command has written.

use std::path::Path;

use sapwood::inspect::index::{Options, make};
use sapwood::merge::join_statistics;
use sapwood::statistics::SideFile;
use sapwood::{Error, File, OpenOptions, Session};

use crate::bar;
use crate::output::Outcome;
use crate::remote::Remote;

/// Refuses to make statistics of a file on a server, before it is written.
pub(crate) fn check(output: &Path, makes: bool) -> Outcome {
    let name = output.to_string_lossy();
    if makes && sapwood_store::is_url(&name) {
        let words = "statistics are stored next to a file on this machine: `sapwood index --to FOLDER` makes others";
        return Err(Error::unsupported(words).in_file(&*name).into());
    }
    Ok(())
}

/// Makes statistics of a new file.
pub(crate) fn index(output: &Path, session: &Session) -> Outcome {
    let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
    let made = bar::shown("index", || make(&File::open_with(output, options)?, &Options::default()))?;
    Ok(made.side_file.write_like(SideFile::path_of(output), Some(output))?)
}

/// Stores the statistics of the files that a new file has its entries from, if all of these have some.
pub(crate) fn join(output: &Path, inputs: impl IntoIterator<Item = sapwood::Result<File>>, remote: &Remote) {
    let name = output.to_string_lossy();
    if sapwood_store::is_url(&name) {
        return;
    }
    if let Err(error) = join_statistics(output, inputs) {
        // The file itself is complete.
        remote.notices.add(format!("{name} has no statistics: {error}"));
    }
}
