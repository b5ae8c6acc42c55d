//! `sapwood perf`: what reading a tree costs.

use std::io::Write;
use std::path::{Path, PathBuf};

use sapwood::inspect::perf::PerfStats;
use sapwood::tree::Branch;
use sapwood::{Error, OpenOptions, Session};

use super::scan::tree;
use crate::documents;
use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Read branches of a tree, and say what that cost: the figures of ROOT's TTreePerfStats, and a picture.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood perf events.root:Events Muon_pt Muon_eta\n  \
                        sapwood perf https://example.org/events.root:Events MET_pt --svg reads.svg --save before.json\n  \
                        sapwood perf mended.root:Events MET_pt --against before.json")]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree.
    target: String,
    /// Branches, by name or path; all that can be decoded where none is named.
    branches: Vec<String>,
    /// First entry.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// How many entries; all where nothing is said.
    #[arg(short = 'n', long)]
    entries: Option<u64>,
    /// Budget of the tree's cache in memory, in bytes; 0 switches it off.
    #[arg(long, value_name = "BYTES", default_value_t = sapwood::tree::CACHE_BYTES)]
    tree_cache: u64,
    /// Threads that decode; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print JSON, with every range that was read.
    #[arg(long)]
    json: bool,
    /// Write a picture to this file: offsets and entries against time.
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Save the figures as JSON to this file.
    #[arg(long, value_name = "OUT")]
    save: Option<PathBuf>,
    /// Show the figures beside those that were saved in this file.
    #[arg(long, value_name = "BEFORE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let session = Session::with_threads(arguments.threads);
    let options = OpenOptions { session, cache_bytes: arguments.tree_cache, ..OpenOptions::default() };
    let file = output::open_with(path, options, &arguments.remote)?;
    let tree = tree(&file, name)?;
    let readable = |branch: &&Branch| {
        branch.has_data() && branch.entry_range().end >= tree.entries && tree.interpretation(branch.id).is_ok()
    };
    let names: Vec<&str> = match &arguments.branches[..] {
        [] => tree.branches().iter().filter(readable).map(|branch| &*branch.path).collect(),
        named => named.iter().map(String::as_str).collect(),
    };
    let start = arguments.start.min(tree.entries);
    let stop = arguments.entries.map_or(tree.entries, |entries| start.saturating_add(entries).min(tree.entries));
    file.perf().start();
    for batch in tree.scan(&names)?.entries(start..stop) {
        batch?;
    }
    file.perf().stop();
    let report = PerfStats::of(&tree);
    let document = documents::perf(&report);
    if let Some(path) = &arguments.svg {
        std::fs::write(path, report.to_svg())?;
    }
    if let Some(path) = &arguments.save {
        std::fs::write(path, format!("{document:#}\n"))?;
    }
    match &arguments.against {
        _ if arguments.json => output::json(out, &document),
        Some(before) => beside(&report, &saved(before)?, out),
        None => Ok(write!(out, "{report}")?),
    }
}

/// What `--save` wrote.
fn saved(path: &Path) -> Outcome<serde_json::Value> {
    let text = std::fs::read_to_string(path)?;
    let wrong = |why: String| Error::malformed(why).in_file(path.to_string_lossy());
    Ok(serde_json::from_str(&text).map_err(|error| wrong(format!("these are no saved figures: {error}")))?)
}

/// The figures of two runs side by side.
fn beside(report: &PerfStats, before: &serde_json::Value, out: &mut dyn Write) -> Outcome {
    let shown = |value: f64| if value == value.trunc() { format!("{value:.0}") } else { format!("{value:.3}") };
    let row = |(name, now, unit): (&'static str, f64, &'static str)| {
        let then = before["figures"][name]["value"].as_f64();
        let ratio = then.filter(|then| *then > 0.0).map_or(String::new(), |then| format!("{:.2}", now / then));
        vec![name.to_owned(), then.map_or_else(|| "?".to_owned(), shown), shown(now), ratio, unit.to_owned()]
    };
    let rows: Vec<Vec<String>> = report.figures().into_iter().map(row).collect();
    output::table(out, &["figure", "before", "now", "ratio", "unit"], &rows)
}
