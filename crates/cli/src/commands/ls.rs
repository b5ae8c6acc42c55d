//! `sapwood ls`: what a file holds.

use std::io::Write;

use sapwood::container::datime_text;
use serde_json::json;

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// List the keys of a file or of a directory in it.
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
    let mut documents = Vec::new();
    for (index, target) in arguments.files.iter().enumerate() {
        let (path, inside) = output::split(target);
        let file = output::open(path, 1, &arguments.remote)?;
        let keys = file.keys_in(inside.unwrap_or(""), arguments.recursive)?;
        let entries = |found: &sapwood::KeyPath| match &found.key {
            key if key.is_tree() => file.tree_at(key).ok().map(|tree| tree.entries),
            key if key.is_ntuple() => file.ntuple_at(key).ok().map(|ntuple| ntuple.entries),
            _ => None,
        };
        if arguments.json {
            let keys: Vec<_> = keys
                .iter()
                .map(|found| {
                    let key = &found.key;
                    let mut row = json!({
                        "name": found.path, "cycle": key.cycle, "class": &*key.class, "title": &*key.title,
                    });
                    if arguments.long {
                        row["date"] = datime_text(key.datime).into();
                        row["nbytes"] = key.nbytes.into();
                        row["objlen"] = key.objlen.into();
                        row["seek"] = key.seek_key.into();
                        row["entries"] = entries(found).into();
                    }
                    row
                })
                .collect();
            let (name, closed) = (sapwood_store::redact(path), file.is_closed());
            let recovered = file.is_recovered();
            documents.push(json!({ "file": &*name, "recovered": recovered, "closed": closed, "keys": keys }));
            continue;
        }
        if arguments.files.len() > 1 {
            writeln!(out, "{}{target}:", if index > 0 { "\n" } else { "" })?;
        }
        if file.is_cut_off() {
            let (end, found) = (file.header().end, file.identity().len);
            writeln!(out, "(cut off: {found} of {end} bytes are there; shows what is left)")?;
        } else if !file.is_closed() {
            writeln!(out, "(never closed: shows what was saved last)")?;
        }
        let name = |found: &sapwood::KeyPath| format!("{};{}", found.path, found.key.cycle);
        if arguments.long {
            let rows: Vec<Vec<String>> = keys
                .iter()
                .map(|found| {
                    let key = &found.key;
                    vec![
                        key.class.to_string(),
                        name(found),
                        entries(found).map_or_else(String::new, |count| count.to_string()),
                        key.nbytes.to_string(),
                        key.objlen.to_string(),
                        datime_text(key.datime),
                        key.title.to_string(),
                    ]
                })
                .collect();
            output::table(out, &["class", "name", "entries", "nbytes", "objlen", "date", "title"], &rows)?;
        } else {
            let rows: Vec<Vec<String>> =
                keys.iter().map(|found| vec![found.key.class.to_string(), name(found)]).collect();
            output::table(out, &["class", "name"], &rows)?;
        }
    }
    if arguments.json {
        output::json(out, &documents.into())?;
    }
    Ok(())
}
