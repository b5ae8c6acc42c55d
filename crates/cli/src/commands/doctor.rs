//! `sapwood doctor`: what is wrong with a file's layout, and how to mend it.

use std::io::Write;

use sapwood::inspect::doctor::{Diagnosis, TreeDiagnosis, diagnose};
use sapwood::inspect::io_cost::{Cost, Reader};
use sapwood::inspect::{Complaint, Trouble};

use crate::documents;
use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Say what is wrong with a file's layout, what it costs its readers, and how to mend it.
///
/// Costs are planned, nothing is read but metadata: by a reader with a cache of 30 MB, which fetches whole clusters
/// from a server that answers within 1 ms and delivers 100 MB/s, beside what a good layout of the same data would cost.
/// The three columns are those with the most bytes; 20 % of the entries are 10 of 50 equal slices, always the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood doctor events.root\n  sapwood doctor events.root:Events --json")]
pub(crate) struct Arguments {
    /// FILE for all its trees, or FILE:TREE.
    target: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, 1, &arguments.remote)?;
    let reader = Reader::default();
    let diagnosis = diagnose(&file, name, &reader)?;
    if arguments.json {
        return output::json(out, &documents::doctor(path, &diagnosis, &reader));
    }
    words(path, &diagnosis, &reader, out)
}

/// A diagnosis in plain words, and the commands that mend the file.
pub(crate) fn words(path: &str, diagnosis: &Diagnosis, reader: &Reader, out: &mut dyn Write) -> Outcome {
    for complaint in &diagnosis.complaints {
        writeln!(out, "- {}", complaint.words)?;
    }
    for tree in &diagnosis.trees {
        writeln!(out, "{}: {} entries, {} bytes", tree.path, tree.layout.entries, tree.layout.zip_bytes())?;
        for complaint in &tree.complaints {
            writeln!(out, "- {}", complaint.words)?;
        }
        let rows: Vec<Vec<String>> = tree
            .readings
            .iter()
            .flat_map(|reading| {
                let kind = reading.kind.as_str();
                [row(kind, &reading.now, reader), row("  in a good layout", &reading.good, reader)]
            })
            .collect();
        output::table(out, &["reading", "requests", "backward", "bytes", "wanted", "seconds"], &rows)?;
        let columns = tree.readings.iter().find(|reading| !reading.branches.is_empty());
        if let Some(reading) = columns {
            writeln!(out, "three columns: {}", reading.branches.join(", "))?;
        }
        writeln!(out)?;
    }
    let lines = rewrites(path, diagnosis);
    if lines.is_empty() {
        let words = if diagnosis.is_healthy() { "nothing to fix" } else { "nothing that a rewrite would fix" };
        writeln!(out, "{words}")?;
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn row(name: &str, cost: &Cost, reader: &Reader) -> Vec<String> {
    vec![
        name.to_owned(),
        cost.requests.to_string(),
        cost.backward.to_string(),
        cost.bytes.to_string(),
        cost.wanted_bytes.to_string(),
        format!("{:.3}", cost.seconds(reader)),
    ]
}

/// The commands that mend a file: one for each tree that needs options of its own, or one that copies.
pub(crate) fn rewrites(path: &str, diagnosis: &Diagnosis) -> Vec<String> {
    // What proves who asks is for its user to add.
    let path = &*sapwood_store::redact(path);
    let line = |tree: &TreeDiagnosis| {
        let name = format!("--tree {} ", quoted(&tree.path));
        let name = if diagnosis.trees.len() > 1 { name } else { String::new() };
        format!("sapwood rewrite {} {} {name}{}", quoted(path), quoted(&target(path, "mended")), tree.options.join(" "))
    };
    let lines: Vec<String> = diagnosis.trees.iter().filter(|tree| !tree.options.is_empty()).map(line).collect();
    let copies = |complaint: &Complaint| matches!(complaint.trouble, Trouble::NeverClosed | Trouble::UnusedSpace);
    if lines.is_empty() && diagnosis.complaints.iter().any(copies) {
        return vec![format!("sapwood rewrite {} {}", quoted(path), quoted(&target(path, "mended")))];
    }
    lines
}

/// Where a file goes that was written again: beside the old one, or here where that is on a server.
pub(crate) fn target(path: &str, word: &str) -> String {
    let path = sapwood_store::unpacked_name(path).unwrap_or(path);
    let path = match path.split(['?', '#']).next().and_then(|plain| plain.rsplit('/').next()) {
        Some(name) if sapwood_store::is_url(path) => name,
        _ => path,
    };
    format!("{}-{word}.root", path.strip_suffix(".root").unwrap_or(path))
}

/// As a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:;,+=@%".contains(c);
    let plain = !word.is_empty() && word.chars().all(|c| is_plain(c) && c != ';');
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("dir/a.root"), "dir/a.root");
        assert_eq!(quoted("it's; here"), r"'it'\''s; here'");
        assert_eq!(target("dir/a.root", "mended"), "dir/a-mended.root");
        assert_eq!(target("https://b.org:80/dir/a.root?t=1/2", "mended"), "a-mended.root");
    }
}
