//! `sapwood perf`: what reading a tree or an RNTuple costs.

use std::io::Write;
use std::path::PathBuf;

use sapwood::inspect::perf::{PerfPicture, PerfStats};
use sapwood::table::Table;
use sapwood::{Error, OpenOptions, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::{documents, perf};
use crate::source::table;

/// Read branches of a tree, or fields of an RNTuple, and say what that cost: the figures of ROOT's TTreePerfStats, and
/// a picture. Or show a run that was saved.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood perf events.root:Events Muon_pt Muon_eta\n  \
                        sapwood perf https://example.org/events.root:Events MET_pt --svg reads.svg \
                        --save before.root\n  \
                        sapwood perf mended.root:Events MET_pt --against before.root --svg both.svg\n  \
                        sapwood perf after.root --against before.root\n\n\
                        Saved runs are TTreePerfStats: ROOT shows them, and runs that ROOT saved are shown here.")]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree or RNTuple, to be read; FILE or FILE:NAME of a saved run, to be shown.
    target: String,
    /// Branches or fields, by name or path; by default all that can be decoded.
    branches: Vec<String>,
    /// First entry.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Number of entries; all by default.
    #[arg(short = 'n', long)]
    entries: Option<u64>,
    /// Budget of the tree's cache in memory, in bytes; 0 switches it off.
    #[arg(long, value_name = "BYTES", default_value_t = sapwood::tree::CACHE_BYTES)]
    tree_cache: u64,
    /// Threads that decode; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print JSON, with every range that was read.
    #[arg(long)]
    json: bool,
    /// Write a picture as SVG to this file: entries to the right, offsets upwards, a mark a range, paler the less of it
    /// was used; the red line is time.
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Write the picture as PNG, without words, to this file.
    #[arg(long, value_name = "OUT")]
    png: Option<PathBuf>,
    /// Save the run as a TTreePerfStats in this ROOT file, with every range that was read.
    #[arg(long, value_name = "OUT")]
    save: Option<PathBuf>,
    /// Compare this run with a saved one: figures and pictures.
    #[arg(long, value_name = "BEFORE")]
    against: Option<String>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let against = arguments.against.as_deref().map(output::split);
    arguments.remote.is_for([path].into_iter().chain(against.map(|(before, _)| before)))?;
    let session = Session::with_threads(arguments.threads);
    let options = OpenOptions { session, cache_bytes: arguments.tree_cache, ..OpenOptions::default() };
    let file = output::open_with(path, options, &arguments.remote)?;
    let report = match PerfStats::find(&file, name)? {
        Some(saved) if arguments.branches.is_empty() => saved,
        Some(_) => return Err(Error::mismatch("a saved run is shown as it was: no branches are read").into()),
        None => measured(arguments, &table(&file, name)?)?,
    };
    let before = match against {
        Some((path, name)) => Some(PerfStats::load(&output::open(path, 1, &arguments.remote)?, name)?),
        None => None,
    };
    if arguments.svg.is_some() || arguments.png.is_some() {
        let picture = match &before {
            Some(before) => PerfPicture::of(&[("before", before), ("after", &report)]),
            None => PerfPicture::of(&[("", &report)]),
        };
        if let Some(path) = &arguments.svg {
            std::fs::write(path, picture.to_svg())?;
        }
        if let Some(path) = &arguments.png {
            std::fs::write(path, picture.to_png()?)?;
        }
    }
    if let Some(path) = &arguments.save {
        report.save(path)?;
    }
    match before {
        Some(before) if arguments.json => output::json(out, &documents::compared(&before, &report)),
        Some(before) => perf::words(&before, &report, out),
        None if arguments.json => output::json(out, &documents::perf(&report)),
        None => Ok(write!(out, "{report}")?),
    }
}

/// Reads what is asked for.
fn measured(arguments: &Arguments, table: &Table) -> Outcome<PerfStats> {
    let range = |all: u64| {
        let start = arguments.start.min(all);
        start..arguments.entries.map_or(all, |entries| start.saturating_add(entries).min(all))
    };
    let all = || {
        let columns = table.columns().into_iter();
        columns.filter(|column| {
            let has_all = table.entry_range(column.id).is_some_and(|range| range.end >= table.entries());
            has_all && table.kind(column.id).is_ok()
        })
    };
    let names: Vec<&str> = match &arguments.branches[..] {
        [] => all().map(|column| column.name).collect(),
        named => named.iter().map(String::as_str).collect(),
    };
    let perf = table.file().perf();
    perf.start();
    for batch in table.scan(&names)?.entries(range(table.entries()))? {
        batch?;
    }
    perf.stop();
    Ok(PerfStats::of(table)?)
}
