//! `sapwood verify`: whether a file is whole.

use std::io::Write;

use sapwood::inspect::verify::{Report, Severity, verify_store};
use sapwood::{OpenOptions, Session};

use sapwood_store::{Checksum, checksums, environment, redact};
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
#[command(
    after_help = "Examples:\n  sapwood verify events.root\n  sapwood verify --quiet run*.root && echo all whole\n  \
                        sapwood verify --checksum adler32:0a1b2c3d events.root"
)]
pub(crate) struct Arguments {
    /// One file or more.
    #[arg(required = true)]
    files: Vec<String>,
    /// Checksum of the file from its catalogue: adler32:, crc32c: or md5: and digits. All bytes are read for it.
    #[arg(long, value_name = "KIND:DIGITS")]
    checksum: Option<Checksum>,
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

/// The checksum of a file if it is another one than that of the command line.
fn other_checksum(arguments: &Arguments, path: &str) -> Outcome<Option<Checksum>> {
    let Some(expected) = &arguments.checksum else { return Ok(None) };
    let store = arguments.remote.open_stored(path)?;
    let found = checksums(&*store, &[expected.kind()])?.pop();
    Ok(found.filter(|found| found != expected))
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
    if arguments.checksum.is_some() && arguments.files.len() > 1 {
        return Err(sapwood::Error::mismatch("--checksum is that of one file, and several are named").into());
    }
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
        let other = other_checksum(arguments, path)?;
        damaged |= other.is_some();
        if arguments.json {
            let mut row = documents::verify(path, &report);
            if let (Some(expected), Some(row)) = (&arguments.checksum, row.as_object_mut()) {
                let found = other.as_ref().unwrap_or(expected);
                row.insert("checksum".into(), json!({ "expected": expected.to_string(), "found": found.to_string() }));
            }
            rows.push(row);
            continue;
        }
        let path = redact(path);
        if let (Some(expected), Some(found)) = (&arguments.checksum, &other) {
            writeln!(out, "{path}: another checksum: {found} instead of {expected}")?;
        }
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
                if report.is_damaged() || other.is_some() { "damaged" } else { "whole" },
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
