//! `sapwood doctor`: what is wrong with a file's layout, and how to mend it.

use std::io::Write;

use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::io_cost::Reader;

use crate::bar;
use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::{doctor, documents};

/// Say what is wrong with a file's layout, what it costs its readers, and how to mend it.
///
/// Costs are planned, and only metadata is read without --cuts: by a reader with a cache of 30 MB, which fetches whole
/// clusters from a server that answers within 1 ms and delivers 100 MB/s, beside what a good layout of the same data
/// would cost. The three columns are those with the most bytes; 20 % of the entries are 10 of 50 equal slices, always
/// the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood doctor events.root\n  \
                        sapwood doctor events.root:Events --json\n  \
                        sapwood doctor events.root --cuts")]
pub(crate) struct Arguments {
    /// FILE for all its trees, or FILE:TREE.
    target: String,
    /// Say for each column what a cut on its largest values skips by statistics, if it keeps 1 % of the entries, and
    /// what it would skip in sorted entries. Columns without statistics are read.
    #[arg(long)]
    cuts: bool,
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
    let mut diagnosis = diagnose(&file, name, &reader)?;
    if arguments.cuts {
        bar::shown("read", || diagnosis.add_cuts(&file))?;
    }
    if arguments.json {
        return output::json(out, &documents::doctor(path, &diagnosis, &reader));
    }
    doctor::words(path, &diagnosis, &reader, out)
}
