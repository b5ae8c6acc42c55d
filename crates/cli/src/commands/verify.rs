//! `sapwood verify`: whether a file is whole.

use std::io::Write;

use sapwood::inspect::verify::{Severity, verify_store};
use sapwood::{OpenOptions, Session};

use sapwood_store::redact;

use crate::bar;
use crate::output::{self, Failure, Outcome};
use crate::remote::Remote;
use crate::reports::documents;

/// Say whether files are whole: structure, checksums of all payloads, baskets against their index,
/// pages and values of RNTuples. The exit code is 1
/// where anything is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood verify events.root\n  sapwood verify --quiet run*.root && echo all whole")]
pub(crate) struct Arguments {
    /// One file or more.
    #[arg(required = true)]
    files: Vec<String>,
    /// Show damage only.
    #[arg(short, long)]
    quiet: bool,
    /// Threads that inflate; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    arguments.remote.is_for(arguments.files.iter().map(String::as_str))?;
    let session = Session::with_threads(arguments.threads);
    let (mut damaged, mut rows) = (false, Vec::new());
    for path in &arguments.files {
        let store = arguments.remote.open(path.as_ref())?;
        let options = OpenOptions { session: session.clone(), ..OpenOptions::default() };
        let report = bar::shown("verify", || verify_store(store, options))?;
        damaged |= report.is_damaged();
        if arguments.json {
            rows.push(documents::verify(path, &report));
            continue;
        }
        let path = redact(path);
        for finding in &report.findings {
            if !arguments.quiet || finding.severity == Severity::Damage {
                writeln!(out, "{path}: {finding}")?;
            }
        }
        if report.left_out > 0 {
            writeln!(out, "{path}: {} findings more", report.left_out)?;
        }
        if !arguments.quiet {
            writeln!(
                out,
                "{path}: {}: {} records, {} gaps of {} bytes, {} baskets of {} trees, {} pages of {} RNTuples, {} payloads \
                 of {} bytes inflated",
                if report.is_damaged() { "damaged" } else { "whole" },
                report.records,
                report.gaps,
                report.gap_bytes,
                report.baskets,
                report.trees,
                report.pages,
                report.ntuples,
                report.payloads,
                report.inflated_bytes,
            )?;
        }
    }
    if arguments.json {
        output::json(out, &rows.into())?;
    }
    if damaged { Err(Failure::Found) } else { Ok(()) }
}
