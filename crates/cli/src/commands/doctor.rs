//! `sapwood doctor`: what is wrong with a file's layout, and how to mend it.

use std::io::Write;

use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::io_cost::Reader;

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::{doctor, documents};

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
    doctor::words(path, &diagnosis, &reader, out)
}
