//! `sapwood pick`: a file of chosen events.

use std::io::Write;
use std::path::PathBuf;

use sapwood::merge::Pick;
use sapwood::query::EventList;
use sapwood::{Error, File, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::EventOptions;
use crate::targets::targets;

/// Trees that are taken of files with several.
const USUAL_TREES: [&str; 2] = ["Events", "CollectionTree"];
/// Missing events that a notice names; it counts the others.
const MAX_NAMED: usize = 10;

/// Copy chosen events of many files into a new one, with all their branches.
///
/// Events are found by a stored index, or by statistics if a file has any. Otherwise run numbers are read first, and
/// the other columns only for runs that are wanted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sapwood pick run*.root list.txt --out few.root
  sapwood pick run*.root:Events --event 362000:17:5000123 --out one.root
  sapwood pick data.root:CollectionTree --events list.txt --event-columns runNumber,eventNumber --out few.root")]
pub(crate) struct Arguments {
    /// Files (FILE:TREE, a pattern, a folder or a chain). Without --event and --events the last one is the list: a line
    /// for each event, RUN:EVENT or RUN:LUMI:EVENT.
    #[arg(required = true)]
    files: Vec<String>,
    /// The new file, a path or a URL.
    #[arg(short, long)]
    out: PathBuf,
    #[command(flatten)]
    events: EventOptions,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    /// Threads; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Arguments {
    /// The events, and the files that they are looked for in.
    fn split(&self) -> Outcome<(EventList, &[String])> {
        if let Some(events) = self.events.events()? {
            return Ok((events, &self.files));
        }
        let (list, files) = self.files.split_last().filter(|(_, files)| !files.is_empty()).ok_or_else(|| {
            Error::mismatch("which events? Name a list after the files, or say --event RUN:LUMI:EVENT")
        })?;
        Ok((self.events.with_columns(EventList::open(list)?)?, files))
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (events, files) = arguments.split()?;
    let wanted = events.len();
    output::check_output(&arguments.out)?;
    let session = Session::with_threads(arguments.threads);
    let mut places = Vec::new();
    for target in files {
        places.extend(targets(target, &session, &arguments.remote)?.places);
    }
    let staged = output::staged(&arguments.out, arguments.force, &arguments.remote)?;
    let mut pick = Pick::new(events, staged, session.clone());
    let mut found = 0;
    let mut with_some = 0;
    for place in &places {
        let file = output::open_in(&place.file, session.clone(), &arguments.remote)?;
        let picked = pick.add(&file, &path_of(&file, place.table.as_deref())?, None)?;
        found += picked;
        with_some += usize::from(picked > 0);
    }
    note(arguments, "not found", &pick.missing());
    note(arguments, "found more than once", &pick.repeated());
    pick.finish()?.notices.into_iter().for_each(|words| arguments.remote.notices.add(words));
    writeln!(
        out,
        "{found} entries for {wanted} events, from {with_some} of {} files, in {}",
        places.len(),
        output::shown(&arguments.out)
    )?;
    Ok(())
}

/// The path of the tree or RNTuple.
fn path_of(file: &File, name: Option<&str>) -> Outcome<String> {
    Ok(match name {
        Some(name) => name.to_owned(),
        None => file.only_table_path().or_else(|error| {
            let known = USUAL_TREES.into_iter().find(|name| file.table(name).is_ok());
            known.map(str::to_owned).ok_or(error)
        })?,
    })
}

/// Gives notice of events.
fn note(arguments: &Arguments, what: &str, events: &[String]) {
    if events.is_empty() {
        return;
    }
    let named: Vec<&str> = events.iter().take(MAX_NAMED).map(String::as_str).collect();
    let rest = events.len().saturating_sub(MAX_NAMED);
    let more = if rest > 0 { format!(" and {rest} others") } else { String::new() };
    let were = if events.len() == 1 { "1 event was".to_owned() } else { format!("{} events were", events.len()) };
    arguments.remote.notices.add(format!("{were} {what}: {}{more}", named.join(", ")));
}
