//! `sapwood verify`: whether a file is whole.

use std::io::Write;

use sapwood::inspect::verify::{Report, Severity, verify_store};
use sapwood::{OpenOptions, Session};

use sapwood_store::{environment, redact};
use serde_json::json;

use crate::bar;
use crate::output::{self, Failure, Outcome};
use crate::remote::Remote;
use crate::reports::documents;

/// Say whether files are whole: structure, baskets against their index, pages and values of RNTuples, and
/// that every payload inflates. ZLIB, LZ4, LZMA and pages of RNTuples have checksums, which are compared;
/// ZSTD and what is not compressed have none, and values that changed there are not seen. The exit code is
/// 1 where anything is damaged or cannot be read.
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
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// The findings of a file.
fn report_of(arguments: &Arguments, path: &str, session: &Session) -> Outcome<Report> {
    let store = arguments.remote.open(path.as_ref())?;
    let statistics = environment::statistics();
    let options = OpenOptions { session: session.clone(), statistics, ..OpenOptions::default() };
    Ok(bar::shown("verify", || verify_store(store, options))?)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    arguments.remote.is_for(arguments.files.iter().map(String::as_str))?;
    let session = Session::with_threads(arguments.threads);
    let (mut damaged, mut rows) = (false, Vec::new());
    for path in &arguments.files {
        let report = match report_of(arguments, path, &session) {
            Ok(report) => report,
            // The others are looked at all the same.
            Err(Failure::Read(error)) if output::goes_on(&arguments.files, &error) => {
                damaged = true;
                match arguments.json {
                    true => rows.push(json!({ "file": &*redact(path), "error": error.to_string() })),
                    false => writeln!(out, "{}: not read: {error}", redact(path))?,
                }
                continue;
            }
            Err(failure) => return Err(failure),
        };
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
