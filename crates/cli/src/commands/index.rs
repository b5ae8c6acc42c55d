//! `sapwood index`: statistics of baskets and pages, so that cuts read only what can match.

use std::io::Write;
use std::path::{Path, PathBuf};

use sapwood::inspect::index::{Options, make};
use sapwood::query::{Decided, Query};
use sapwood::statistics::SideFile;
use sapwood::{Error, File, Session};
use sapwood_store::redact;

use crate::bar;
use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::index;
use crate::source::table;
use crate::targets::targets;

/// Make statistics of files, so that cuts read only baskets and pages that can match.
///
/// The least and largest values of each basket or page are stored next to the file, in FILE.sapwood-index. All commands
/// that take a cut use them from then on, unless SAPWOOD_STATISTICS=off. If the file changes they are not used, until
/// they are made again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood index events.root\n  \
                        sapwood index run*.root --columns 'run,event,MET_*'\n  \
                        sapwood index events.root:Events --cut 'MET_pt > 500'   # what is read for a cut")]
pub(crate) struct Arguments {
    /// Files, patterns or folders; FILE:TREE with --cut.
    #[arg(required = true)]
    files: Vec<String>,
    /// Branches or fields by name or pattern, separated by commas. By default all of numbers and of lists of numbers;
    /// in wide tables only those whose values differ from basket to basket.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Vec<String>,
    /// Folder for the statistics, for files on servers; set SAPWOOD_STATISTICS_FOLDER to it when you read them.
    #[arg(long, value_name = "FOLDER", conflicts_with = "cut")]
    to: Option<PathBuf>,
    /// Make nothing; show how many runs of entries the statistics that exist decide for this cut.
    #[arg(long, conflicts_with = "columns")]
    cut: Option<String>,
    /// Threads that inflate; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print JSON, with a row for each column.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let session = Session::with_threads(arguments.threads);
    let mut rows = Vec::new();
    for target in &arguments.files {
        for place in targets(target, &session, &arguments.remote)?.places {
            let file = output::open_in(&place.file, session.clone(), &arguments.remote)?;
            let name = redact(&place.file).into_owned();
            if let Some(cut) = &arguments.cut {
                let (entries, decided) = decide(&file, place.table.as_deref(), cut)?;
                if arguments.json {
                    rows.push(index::decided(&name, entries, decided.as_ref()));
                } else {
                    writeln!(out, "{name}: {}", index::decided_words(entries, decided.as_ref()))?;
                }
                continue;
            }
            if place.table.is_some() {
                return Err(Error::mismatch("statistics are made of all trees of a file: name the file only").into());
            }
            let beside = beside(&file, &place.file, arguments.to.as_deref())?;
            let options = Options { columns: arguments.columns.clone() };
            let made = bar::shown("index", || make(&file, &options))?;
            made.side_file.write_like(&beside, file.store().as_file().map(|_| Path::new(&place.file)))?;
            let bytes = std::fs::metadata(&beside)?.len();
            let document = index::made(&name, &beside.to_string_lossy(), bytes, file.identity().len, &made);
            if arguments.json {
                rows.push(document);
            } else {
                writeln!(out, "{}", index::made_words(&document))?;
            }
        }
    }
    if arguments.json { output::json(out, &rows.into()) } else { Ok(()) }
}

/// The path of the side file of a file.
fn beside(opened: &File, file: &str, to: Option<&Path>) -> Outcome<PathBuf> {
    match to {
        Some(folder) => Ok(SideFile::path_in(folder, &opened.identity().name)),
        None if sapwood_store::is_url(file) => {
            let words = "statistics of a file on a server need a folder of this machine: --to FOLDER";
            Err(Error::mismatch(words).in_file(file).into())
        }
        None => Ok(SideFile::path_of(file)),
    }
}

/// Decisions of the statistics of a file on a cut, and all of its entries.
fn decide(file: &File, name: Option<&str>, cut: &str) -> Outcome<(u64, Option<Decided>)> {
    let table = table(file, name)?;
    let entries = table.entries();
    Ok((entries, Query::new(&table).cut(cut)?.decided(0..entries)?))
}
