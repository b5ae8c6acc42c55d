//! Tables, JSON, and what can go wrong while they are written.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sapwood::io::AtomicFile;
use sapwood::{Error, ErrorKind, File, OnNotice, OpenOptions, Session, UseStatistics, Value};
use sapwood_store::environment;

use crate::printable::printable;
use crate::remote::Remote;

/// Why a command ended early.
pub(crate) enum Failure {
    /// The reader of the output has closed the pipe.
    Pipe,
    /// The command found what it looked for, and said so.
    Found,
    /// The file cannot be read as asked.
    Read(Error),
}

/// Result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe { Self::Pipe } else { Self::Read(error.into()) }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        std::io::Error::from(error).into()
    }
}

/// Splits `FILE:OBJECT`; a colon in the name of a file that exists is part of it, and so is the one between an archive
/// and a file in it.
pub(crate) fn split(target: &str) -> (&str, Option<&str>) {
    if Path::new(target).exists() {
        return (target, None);
    }
    if let Some(end) = sapwood_store::member_end(target) {
        return (&target[..end], target.get(end + 1..).filter(|object| !object.is_empty()));
    }
    // In a URL colons before the path are of the scheme and of the port.
    let path_at = match sapwood_store::path_start(target) {
        Some(at) => at,
        None if sapwood_store::is_url(target) => return (target, None),
        None => 0,
    };
    match target.rfind(':').filter(|at| *at >= path_at) {
        Some(at) if at > 0 && at + 1 < target.len() && !target[at + 1..].starts_with("//") => {
            (&target[..at], Some(&target[at + 1..]))
        }
        _ => (target, None),
    }
}

/// [`split`], where an object must be named.
pub(crate) fn inside(target: &str) -> Outcome<(&str, &str)> {
    match split(target) {
        (file, Some(object)) => Ok((file, object)),
        _ => Err(Error::mismatch(format!("{target:?} names no object: FILE:OBJECT")).into()),
    }
}

/// Refuses names that cannot be written: those of packed files.
pub(crate) fn check_output(path: impl AsRef<Path>) -> Outcome<()> {
    Ok(sapwood_store::check_output(&path.as_ref().to_string_lossy())?)
}

/// A file, near or far, that gets its name once it is complete. With `force` it replaces an older one.
pub(crate) fn staged(place: &Path, force: bool, remote: &Remote) -> Outcome<AtomicFile> {
    let target = remote.target(place, force).map_err(|error| match error.kind() {
        ErrorKind::Exists => {
            let words = "there is a file of that name: --force replaces it";
            Error::new(ErrorKind::Exists, words).in_file(shown(place))
        }
        _ => error,
    });
    Ok(target?)
}

/// Writes a line to the standard error, without the passwords and tickets of URLs in it. Errors and warnings of all
/// commands pass through here, so that none can forget to hide them.
pub(crate) fn warn(err: &mut dyn Write, message: &dyn std::fmt::Display) {
    let _ = writeln!(err, "sapwood: {}", sapwood_store::redact(&message.to_string()));
}

/// The name of an output as it may be shown.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(url) if sapwood_store::is_url(url) => sapwood_store::redact(url),
        _ => path.to_string_lossy(),
    }
}

/// What a file lacks that was not closed, or goes on behind its end.
fn lacks(file: &File) -> Option<String> {
    let name = &file.identity().name;
    if file.is_cut_off() {
        Some(format!("{name} is cut off, and shows what is left"))
    } else if !file.is_closed() {
        Some(format!("{name} was not closed, and shows what was saved last: sapwood recover brings back more"))
    } else if file.has_unsaved() {
        let words = "goes on behind its end: its writer was killed or is at work, and sapwood recover brings back more";
        Some(format!("{name} {words}"))
    } else {
        None
    }
}

/// Opens a file, near or far, with so many decoding threads. A notice tells where it is not complete.
pub(crate) fn open(path: &str, threads: usize, remote: &Remote) -> Outcome<File> {
    open_in(path, Session::with_threads(threads), remote)
}

/// [`open`], in a session that other files share.
pub(crate) fn open_in(path: impl AsRef<Path>, session: Session, remote: &Remote) -> Outcome<File> {
    let file = open_with(path, OpenOptions { session, ..OpenOptions::default() }, remote)?;
    lacks(&file).into_iter().for_each(|words| remote.notices.add(words));
    Ok(file)
}

/// [`open`], with all options, and without a notice.
pub(crate) fn open_with(path: impl AsRef<Path>, options: OpenOptions, remote: &Remote) -> Outcome<File> {
    let notices = remote.notices.clone();
    let on_notice: OnNotice = Arc::new(move |words| notices.add(words));
    let statistics = UseStatistics { on_notice: Some(on_notice), ..environment::statistics() };
    let options = OpenOptions { other_files: remote.other_files()?, statistics, ..options };
    Ok(File::from_store(remote.open(path.as_ref())?, options)?)
}

/// Whether a command goes on with the next of several files after an error of one: it was not told to end.
pub(crate) fn goes_on(files: &[String], error: &Error) -> bool {
    files.len() > 1 && error.kind() != ErrorKind::Cancelled
}

/// A table: columns as wide as they need to be, numbers to the right.
pub(crate) fn table(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> Outcome {
    // A cell is one line, whatever stands in it.
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|name| name.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let number = |column: usize| {
        let is_number =
            |cell: &Cow<'_, str>| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') || cell.is_empty();
        !rows.is_empty() && rows.iter().filter_map(|row| row.get(column)).all(is_number)
    };
    let right: Vec<bool> = (0..head.len()).map(number).collect();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| -> Outcome {
        let mut text = String::new();
        for (column, cell) in cells.enumerate() {
            let (width, right) = (widths.get(column).copied().unwrap_or(0), right.get(column) == Some(&true));
            if column > 0 {
                text.push_str("  ");
            }
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            if right {
                text.push_str(&blanks);
                text.push_str(cell);
            } else {
                text.push_str(cell);
                text.push_str(&blanks);
            }
        }
        Ok(writeln!(out, "{}", text.trim_end())?)
    };
    line(&mut head.iter().copied())?;
    for row in &rows {
        line(&mut row.iter().map(|cell| &**cell))?;
    }
    Ok(())
}

/// One JSON document, with line breaks.
pub(crate) fn json(out: &mut dyn Write, value: &serde_json::Value) -> Outcome {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(writeln!(out)?)
}

/// A value as JSON. Numbers that JSON cannot hold become text, as jsroot does.
pub(crate) fn number(value: f64) -> serde_json::Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => number.into(),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// Consecutive numbers as JSON.
pub(crate) fn numbers(value: &Value<'_>) -> Vec<serde_json::Value> {
    use sapwood::column::Native;
    use sapwood::column::Number;
    let Value::Numbers(of, bytes) = value else { return Vec::new() };
    fn each<T: Native>(bytes: &[u8], into: impl Fn(T) -> serde_json::Value) -> Vec<serde_json::Value> {
        T::read(bytes).into_iter().map(into).collect()
    }
    match of {
        Number::Bool => each::<u8>(bytes, |value| (value != 0).into()),
        Number::I8 => each::<i8>(bytes, Into::into),
        Number::U8 => each::<u8>(bytes, Into::into),
        Number::I16 => each::<i16>(bytes, Into::into),
        Number::U16 => each::<u16>(bytes, Into::into),
        Number::I32 => each::<i32>(bytes, Into::into),
        Number::U32 => each::<u32>(bytes, Into::into),
        Number::I64 => each::<i64>(bytes, Into::into),
        Number::U64 => each::<u64>(bytes, Into::into),
        Number::F32 => each::<f32>(bytes, |value| number(shortest(value))),
        Number::F64 => each::<f64>(bytes, number),
    }
}

/// The `f64` that prints as the `f32` does.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_right_aligned() {
        let mut out = Vec::new();
        let rows = [vec!["a".into(), "7".into()], vec!["long".into(), "1234".into()]];
        assert!(table(&mut out, &["name", "n"], &rows).is_ok());
        assert_eq!(String::from_utf8_lossy(&out), "name     n\na        7\nlong  1234\n");
    }

    #[test]
    fn a_target_is_a_file_and_perhaps_an_object() {
        assert_eq!(split("a.root:dir/tree;2"), ("a.root", Some("dir/tree;2")));
        assert_eq!(split("a.root"), ("a.root", None));
        assert_eq!(split("http://x"), ("http://x", None));
        assert_eq!(split("file:/a.root"), ("file:/a.root", None));
        assert_eq!(split("file:/a.root:t"), ("file:/a.root", Some("t")));
        assert_eq!(split("http://x:80/a.root"), ("http://x:80/a.root", None));
        assert_eq!(split("http://x:80/a.root:dir/tree"), ("http://x:80/a.root", Some("dir/tree")));
    }
}
