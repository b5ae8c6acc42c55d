//! Statistics of files that a command has written.

use std::path::Path;

use sapwood::inspect::index::{Options, make};
use sapwood::merge::join_statistics;
use sapwood::statistics::SideFile;
use sapwood::{Error, File};

use crate::bar;
use crate::output::Outcome;
use crate::remote::Remote;

/// Gives a local file statistics: new ones if these are asked for, or those of the files that its entries are from.
pub(crate) fn keep(output: &Path, inputs: &[String], makes: bool, remote: &Remote) -> Outcome {
    let is_far = |path: &str| sapwood_store::is_url(path);
    let name = output.to_string_lossy();
    if makes {
        if is_far(&name) {
            let words =
                "statistics are stored next to a file on this machine: `sapwood index --to FOLDER` makes others";
            return Err(Error::unsupported(words).in_file(&*name).into());
        }
        let made = bar::shown("index", || make(&File::open(output)?, &Options::default()))?;
        return Ok(made.side_file.write_like(SideFile::path_of(output), Some(output))?);
    }
    if is_far(&name) || inputs.iter().any(|input| is_far(input)) {
        return Ok(());
    }
    if let Err(error) = join_statistics(output, inputs) {
        // The file itself is complete.
        remote.notices.add(format!("{name} has no statistics: {error}"));
    }
    Ok(())
}
