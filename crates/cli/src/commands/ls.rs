//! `sapwood ls`: what a file holds.

use std::io::Write;
use std::path::Path;

use sapwood::container::datime_text;
use sapwood::{File, KeyPath, OpenOptions, Session};
use serde_json::{Value, json};

use crate::output::{self, Failure, Outcome};
use crate::remote::Remote;

/// List the keys of a file or of a directory in it.
///
/// Of several files one that cannot be read has its error in place of keys, the others are listed, and the exit code
/// is 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE or FILE:DIRECTORY, one or more.
    #[arg(required = true)]
    files: Vec<String>,
    /// Also show title, date, lengths, and entries of trees and RNTuples.
    #[arg(short, long)]
    long: bool,
    /// Also list the directories below.
    #[arg(short, long)]
    recursive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    arguments.remote.is_for(arguments.files.iter().map(|target| output::split(target).0))?;
    let (mut documents, mut is_one_missing) = (Vec::new(), false);
    for (index, target) in arguments.files.iter().enumerate() {
        if arguments.files.len() > 1 && !arguments.json {
            writeln!(out, "{}{}:", if index > 0 { "\n" } else { "" }, output::shown(Path::new(target)))?;
        }
        let name = output::shown(Path::new(output::split(target).0));
        match keys_of(arguments, target) {
            Ok((file, keys)) if arguments.json => {
                let (recovered, closed) = (file.is_recovered(), file.is_closed() && !file.has_unsaved());
                let keys: Vec<_> = keys.iter().map(|found| document(arguments, &file, found)).collect();
                documents.push(json!({ "file": name, "recovered": recovered, "closed": closed, "keys": keys }));
            }
            Ok((file, keys)) => words(arguments, &file, &keys, out)?,
            // The others are listed all the same.
            Err(Failure::Read(error)) if output::goes_on(&arguments.files, &error) => {
                is_one_missing = true;
                match arguments.json {
                    true => documents.push(json!({ "file": name, "error": error.to_string(), "keys": [] })),
                    false => writeln!(out, "not read: {error}")?,
                }
            }
            Err(failure) => return Err(failure),
        }
    }
    if arguments.json {
        output::json(out, &documents.into())?;
    }
    if is_one_missing { Err(Failure::Found) } else { Ok(()) }
}

/// A file, and the keys in it that were asked for.
fn keys_of(arguments: &Arguments, target: &str) -> Outcome<(File, Vec<KeyPath>)> {
    let (path, inside) = output::split(target);
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let file = output::open_with(path, options, &arguments.remote)?;
    let keys = file.keys_in(inside.unwrap_or(""), arguments.recursive)?;
    Ok((file, keys))
}

/// Entries of a tree or an RNTuple.
fn entries(file: &File, found: &KeyPath) -> Option<u64> {
    match &found.key {
        key if key.is_tree() => file.tree_at(key).ok().map(|tree| tree.entries),
        key if key.is_ntuple() => file.ntuple_at(key).ok().map(|ntuple| ntuple.entries),
        _ => None,
    }
}

fn document(arguments: &Arguments, file: &File, found: &KeyPath) -> Value {
    let key = &found.key;
    let mut row = json!({
        "name": found.path, "cycle": key.cycle, "class": &*key.class, "title": &*key.title,
    });
    if arguments.long {
        row["date"] = datime_text(key.datime).into();
        row["nbytes"] = key.nbytes.into();
        row["objlen"] = key.objlen.into();
        row["seek"] = key.seek_key.into();
        row["entries"] = entries(file, found).into();
    }
    row
}

fn words(arguments: &Arguments, file: &File, keys: &[KeyPath], out: &mut dyn Write) -> Outcome {
    if file.is_cut_off() {
        let (end, found) = (file.header().end, file.identity().len);
        writeln!(out, "(cut off: {found} of {end} bytes are there; shows what is left)")?;
    } else if !file.is_closed() {
        writeln!(out, "(never closed: shows what was saved last)")?;
    } else if file.has_unsaved() {
        writeln!(out, "(goes on behind its end: shows what was saved last)")?;
    }
    let name = |found: &KeyPath| format!("{};{}", found.path, found.key.cycle);
    if arguments.long {
        let row = |found: &KeyPath| {
            let key = &found.key;
            vec![
                key.class.to_string(),
                name(found),
                entries(file, found).map_or_else(String::new, |count| count.to_string()),
                key.nbytes.to_string(),
                key.objlen.to_string(),
                datime_text(key.datime),
                key.title.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
        return output::table(out, &["class", "name", "entries", "nbytes", "objlen", "date", "title"], &rows);
    }
    let rows: Vec<Vec<String>> = keys.iter().map(|found| vec![found.key.class.to_string(), name(found)]).collect();
    output::table(out, &["class", "name"], &rows)
}
