//! `sapwood cp` and `sapwood mv`: copies and moves objects.

use sapwood::File;
use sapwood::write::{FileWriter, WriteOptions};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Copy objects, trees or directories into a file, as they are: nothing is inflated, and classes need not be known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood cp run1.root:hists/pt summary.root:run1/pt\n  \
                        sapwood cp -r run1.root:hists summary.root:")]
pub(crate) struct Copy {
    /// FILE:OBJECT, one or more, and their destination: FILE:OBJECT, or FILE:DIRECTORY/ (FILE: for the top).
    #[arg(required = true, num_args = 2..)]
    targets: Vec<String>,
    /// Copy directories, too.
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// Move objects, trees or directories within their file, or into another one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sapwood mv run1.root:events run1.root:old/events")]
pub(crate) struct Move {
    /// FILE:OBJECT, one or more, and their destination: FILE:OBJECT, or FILE:DIRECTORY/ (FILE: for the top).
    #[arg(required = true, num_args = 2..)]
    targets: Vec<String>,
}

/// The path of a copy: in a path that ends in a slash, or in an existing directory, it keeps its name.
fn destination(file: Option<&File>, to: &str, from: &str) -> String {
    let name = from.trim_matches('/').rsplit('/').next().unwrap_or(from);
    let name = name.rsplit_once(';').map_or(name, |(name, _)| name);
    let is_directory =
        to.is_empty() || to.ends_with('/') || file.is_some_and(|file| file.key(to).is_ok_and(|key| key.is_directory()));
    match (is_directory, to.trim_matches('/')) {
        (true, "") => name.to_owned(),
        (true, to) => format!("{to}/{name}"),
        (false, to) => to.to_owned(),
    }
}

/// The file and the path that objects go to; the file need not be there.
fn split_target(target: &str) -> (&str, &str) {
    match target.rsplit_once(':') {
        Some((file, to)) if !file.is_empty() => (file, to),
        _ => (target, ""),
    }
}

fn writer(path: &str) -> Outcome<(FileWriter, Option<File>)> {
    output::check_output(path)?;
    if std::path::Path::new(path).exists() {
        let file = File::open(path)?;
        return Ok((FileWriter::update(path, WriteOptions::default())?, Some(file)));
    }
    Ok((FileWriter::create(path, WriteOptions::default())?, None))
}

pub(crate) fn copy(arguments: &Copy) -> Outcome {
    let Some((target, sources)) = arguments.targets.split_last() else { return Ok(()) };
    arguments.remote.is_for(sources.iter().map(|source| output::split(source).0))?;
    let mut opened = Vec::new();
    for source in sources {
        let (path, object) = output::inside(source)?;
        let file = output::open(path, 0, &arguments.remote)?;
        let key = file.key(object)?;
        if key.is_directory() && !arguments.recursive {
            let words = format!("{object:?} is a directory: -r copies it");
            return Err(sapwood::Error::mismatch(words).in_file(path).into());
        }
        opened.push((file, object));
    }
    let (path, to) = split_target(target);
    let (mut writer, there) = writer(path)?;
    for (file, object) in opened {
        writer.copy(&file, object, &destination(there.as_ref(), to, object))?;
    }
    Ok(writer.close()?)
}

pub(crate) fn rename(arguments: &Move) -> Outcome {
    let Some((target, sources)) = arguments.targets.split_last() else { return Ok(()) };
    let (path, to) = split_target(target);
    let (mut writer, there) = writer(path)?;
    let mut elsewhere = Vec::new();
    for source in sources {
        let (of, object) = output::inside(source)?;
        let to = destination(there.as_ref(), to, object);
        if of == path {
            writer.rename(object, &to)?;
        } else {
            let file = File::open(of)?;
            let key = file.key(object)?;
            writer.copy(&file, object, &to)?;
            // Of several cycles, the one that was copied goes.
            let bare = object.rsplit_once(';').map_or(object, |(bare, _)| bare);
            elsewhere.push((of, format!("{bare};{}", key.cycle)));
        }
    }
    writer.close()?;
    // What went to another file is deleted once it is there.
    for (of, object) in elsewhere {
        output::check_output(of)?;
        let mut writer = FileWriter::update(of, WriteOptions::default())?;
        writer.remove(&object)?;
        writer.close()?;
    }
    Ok(())
}
