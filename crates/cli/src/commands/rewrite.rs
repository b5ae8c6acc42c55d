//! `sapwood rewrite`: a file written again, in a better layout.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use sapwood::codec::Compression;
use sapwood::write::{Every, FileWriter, Remake, TreeOptions, WriteOptions};
use sapwood::{Error, File, OpenOptions, Session};

use crate::output::{self, Outcome};

/// Write a file again: trees in other clusters, baskets and compression, with fewer branches or entries; all else as it is.
///
/// The input stays as it is, and the output has its name only once it is whole.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sapwood rewrite old.root new.root\n  sapwood rewrite old.root small.root --tree events --keep 'Muon_*' --compression zstd:5"
)]
pub(crate) struct Arguments {
    /// The file that is read.
    input: String,
    /// The file that is written; there must be none of that name, unless --force is given.
    output: PathBuf,
    /// Only these trees are rewritten, and the others copied as they are; once for each.
    #[arg(long)]
    tree: Vec<String>,
    /// Compressed bytes of a cluster, like 30000000.
    #[arg(long, conflicts_with = "cluster_entries")]
    cluster_bytes: Option<u64>,
    /// Entries of a cluster.
    #[arg(long)]
    cluster_entries: Option<u64>,
    /// Bytes of a basket before compression, at most.
    #[arg(long)]
    basket_bytes: Option<usize>,
    /// Compression, like zstd:5, lz4:4, zlib:1, lzma:7, or zlib:0 for none; that of the first branch where it is not given.
    #[arg(long)]
    compression: Option<Compression>,
    /// Order of the baskets. `entry`: cluster after cluster.
    #[arg(long, default_value = "entry", value_parser = ["entry"])]
    order: String,
    /// Keep only top-level branches that match, `*` and `?` as in the shell; once for each pattern.
    #[arg(long)]
    keep: Vec<String>,
    /// Leave out top-level branches that match; once for each pattern.
    #[arg(long)]
    drop: Vec<String>,
    /// Keep only the entries from A to before B, of each tree that has so many.
    #[arg(long, value_name = "A:B")]
    entries: Option<String>,
    /// Replace a file that is there.
    #[arg(short, long)]
    force: bool,
    /// Threads that inflate and compress; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Whether a name matches a pattern of the shell.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) if matches(rest, name) => true,
        (Some((b'*', _)), Some((_, behind))) => matches(pattern, behind),
        (Some((b'?', rest)), Some((_, behind))) => matches(rest, behind),
        (Some((wanted, rest)), Some((found, behind))) if wanted == found => matches(rest, behind),
        _ => false,
    }
}

fn range(text: &str) -> Outcome<Range<u64>> {
    let bounds = text.split_once(':').and_then(|(start, end)| {
        let start = if start.is_empty() { 0 } else { start.parse().ok()? };
        let end = if end.is_empty() { u64::MAX } else { end.parse().ok()? };
        Some(start..end)
    });
    Ok(bounds
        .filter(|range| range.start <= range.end)
        .ok_or_else(|| Error::mismatch(format!("{text:?} is not A:B")))?)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let session = Session::with_threads(arguments.threads);
    let from = File::open_with(&arguments.input, OpenOptions { session: session.clone(), ..OpenOptions::default() })?;
    let usual = TreeOptions::default();
    let auto_flush = match (arguments.cluster_bytes, arguments.cluster_entries) {
        (_, Some(entries)) => Every::Entries(entries),
        (Some(bytes), _) => Every::Bytes(bytes),
        _ => usual.auto_flush,
    };
    let basket_bytes = arguments.basket_bytes.unwrap_or(usual.basket_bytes);
    let tree = TreeOptions { auto_flush, basket_bytes, compression: arguments.compression, ..usual };
    let (mut branches, mut entries) = (HashMap::new(), HashMap::new());
    let wanted = arguments.entries.as_deref().map(range).transpose()?;
    for found in from.keys(true)? {
        let named =
            || arguments.tree.is_empty() || arguments.tree.iter().any(|tree| tree.trim_matches('/') == found.path);
        if !output::is_tree(&found.key.class) || !named() {
            continue;
        }
        let tree = from.tree(&found.path)?;
        if !arguments.keep.is_empty() || !arguments.drop.is_empty() {
            let any = |patterns: &[String], name: &str| patterns.iter().any(|p| matches(p.as_bytes(), name.as_bytes()));
            let top = tree.top().iter().filter_map(|&id| tree.branches().get(id));
            let kept: Vec<Arc<str>> = top
                .map(|branch| Arc::clone(&branch.name))
                .filter(|name| arguments.keep.is_empty() || any(&arguments.keep, name))
                .filter(|name| !any(&arguments.drop, name))
                .collect();
            branches.insert(found.path.clone(), kept);
        }
        if let Some(wanted) = &wanted {
            let end = wanted.end.min(tree.entries);
            entries.insert(found.path.clone(), vec![wanted.start.min(end)..end]);
        }
    }
    let trees = (!arguments.tree.is_empty()).then(|| arguments.tree.clone());
    let how = Remake { tree, trees, branches, entries };
    if arguments.output.exists() && !arguments.force {
        let words = "there is a file of that name: --force replaces it";
        let place = arguments.output.to_string_lossy().into_owned();
        return Err(Error::new(sapwood::ErrorKind::Exists, words).in_file(place).into());
    }
    // Beside the output, so that its last step is a rename; gone where anything fails.
    let mut unfinished = arguments.output.clone().into_os_string();
    unfinished.push(format!(".{}.unfinished", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    let options = WriteOptions { session, compression: arguments.compression, ..WriteOptions::default() };
    let remade = FileWriter::recreate(&unfinished, options)
        .and_then(|writer| writer.remake(&from, || File::open(&unfinished), &how))
        .inspect_err(|_| drop(std::fs::remove_file(&unfinished)))?;
    std::fs::rename(&unfinished, &arguments.output)?;
    let mut rows = Vec::new();
    for tree in remade {
        if let Some(reason) = &tree.copied {
            writeln!(out, "{}: copied as it is: {reason}", tree.path)?;
        }
        for (when, [entries, baskets, clusters, bytes]) in [("before", tree.before), ("after", tree.after)] {
            let path = if when == "before" { tree.path.clone() } else { String::new() };
            let numbers = [entries, clusters, baskets, bytes].map(|number| number.to_string());
            rows.push([vec![path, when.to_owned()], numbers.to_vec()].concat());
        }
    }
    output::table(out, &["tree", "", "entries", "clusters", "baskets", "bytes"], &rows)?;
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    let (before, after) = (size(std::path::Path::new(&arguments.input)), size(&arguments.output));
    Ok(writeln!(out, "file: {before} bytes before, {after} after")?)
}
