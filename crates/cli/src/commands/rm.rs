//! `sapwood rm`: deletes objects.

use sapwood::write::{FileWriter, WriteOptions};
use sapwood::{Error, File};

use crate::output::{self, Outcome};

/// Delete objects, or directories and all below them, in place.
///
/// The room is marked as free and used again by what is written later; `sapwood rewrite` makes the file smaller.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:OBJECT, one or more; all cycles, if the object does not end in `;CYCLE`.
    #[arg(required = true)]
    targets: Vec<String>,
    /// Delete directories, too.
    #[arg(short, long)]
    recursive: bool,
    /// Ignore objects that do not exist.
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Everything is looked up before anything is deleted.
    for target in &arguments.targets {
        let (path, object) = output::inside(target)?;
        output::check_output(path)?;
        let found = File::open(path)?.key(object);
        match found {
            Ok(key) if key.is_directory() && !arguments.recursive => {
                return Err(Error::mismatch(format!("{object:?} is a directory: -r deletes it")).in_file(path).into());
            }
            Err(error) if !arguments.force => return Err(error.into()),
            _ => {}
        }
    }
    let mut rest = &arguments.targets[..];
    while let Some(first) = rest.first() {
        let (path, _) = output::inside(first)?;
        let mut file = FileWriter::update(path, WriteOptions::default())?;
        // Neighbours of one file go in one save.
        while let Some((target, behind)) = rest.split_first() {
            let (of, object) = output::inside(target)?;
            if of != path {
                break;
            }
            match file.remove(object) {
                Err(error) if !(arguments.force && error.kind() == sapwood::ErrorKind::NotFound) => {
                    return Err(error.into());
                }
                _ => rest = behind,
            }
        }
        file.close()?;
    }
    Ok(())
}
