//! `sapwood recover`: brings back what a writer that died had written.

use std::io::Write;

use sapwood::write::{WriteOptions, recover};
use serde_json::json;

use crate::output::{self, Failure, Outcome};

/// Bring back, in place, what a writer that died had written: objects, and the clusters of trees that were committed
/// after the last save.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood recover run1.root\n  sapwood recover --dry-run run*.root")]
pub(crate) struct Arguments {
    /// One file or more.
    #[arg(required = true)]
    files: Vec<String>,
    /// Say what would be brought back, and write nothing.
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let mut failed = false;
    for path in &arguments.files {
        output::check_output(path)?;
        let found = match recover(path, arguments.dry_run, WriteOptions::default()) {
            Ok(found) => found,
            // The others are brought back all the same.
            Err(error) if output::goes_on(&arguments.files, &error) => {
                failed = true;
                match arguments.json {
                    true => writeln!(out, "{}", json!({ "file": path, "error": error.to_string() }))?,
                    false => writeln!(out, "{path}: not recovered: {error}")?,
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if arguments.json {
            let trees: Vec<_> = found
                .trees
                .iter()
                .map(|(tree, before, now)| json!({ "path": tree, "entries_before": before, "entries": now }))
                .collect();
            let document = json!({
                "file": path,
                "was_closed": found.was_closed,
                "objects": found.objects,
                "trees": trees,
                "left": found.left,
                "doubtful": found.doubtful,
                "cut_bytes": found.cut_bytes,
            });
            writeln!(out, "{document}")?;
            continue;
        }
        if found.was_closed {
            writeln!(out, "{path}: was closed, nothing to do")?;
            found.left.iter().try_for_each(|left| writeln!(out, "{path}: left {left}"))?;
            continue;
        }
        let verb = if arguments.dry_run { "would bring back" } else { "brought back" };
        found.objects.iter().try_for_each(|object| writeln!(out, "{path}: {verb} {object}"))?;
        for (tree, before, now) in &found.trees {
            writeln!(out, "{path}: {verb} {} entries of {tree}: {before} before, {now} now", now - before)?;
        }
        found.left.iter().try_for_each(|left| writeln!(out, "{path}: left {left}"))?;
        found.doubtful.iter().try_for_each(|doubt| writeln!(out, "{path}: doubtful: {doubt}"))?;
        writeln!(out, "{path}: {} bytes of unfinished records", found.cut_bytes)?;
    }
    if failed { Err(Failure::Found) } else { Ok(()) }
}
