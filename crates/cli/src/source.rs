//! Trees and RNTuples that expressions are about, of many files as one, with their friends.

use std::path::{Path, PathBuf};

use sapwood::chain::{Chain, Matching, Place};
use sapwood::query::{EventList, LumiMask, Source};
use sapwood::table::Table;
use sapwood::tree::FriendElement;
use sapwood::{Error, ErrorKind, File, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::targets::targets;

/// The tree or RNTuple of that name, or the only one.
pub(crate) fn table(file: &File, name: Option<&str>) -> Outcome<Table> {
    Ok(match name {
        Some(name) => file.table(name)?,
        None => file.only_table().map_err(|error| match error.kind() {
            ErrorKind::Mismatch => {
                let words = format!("{}: name one, as FILE:TREE", error.message());
                error.in_words(words)
            }
            _ => error,
        })?,
    })
}

/// [`table`], or the branch or field in it that `name` ends with: `TREE/BRANCH`.
pub(crate) fn table_or_part<'n>(file: &File, name: Option<&'n str>) -> Outcome<(Table, Option<&'n str>)> {
    let missing = match table(file, name) {
        Err(output::Failure::Read(error)) if error.kind() == ErrorKind::NotFound => error,
        found => return Ok((found?, None)),
    };
    match name.and_then(|name| split_part(file, name)) {
        Some((tree, part)) => Ok((file.table(tree)?, Some(part))),
        None => Err(missing.into()),
    }
}

/// Takes the branch or field off the paths of some places that end with one: what is left is the tree or RNTuple.
pub(crate) fn take_part(places: &mut [Place], session: &Session, remote: &Remote) -> Outcome<Option<String>> {
    let Some(Place { file, table: Some(path) }) = places.first().cloned() else { return Ok(None) };
    if !path.contains('/') {
        return Ok(None);
    }
    let file = output::open_in(file, session.clone(), remote)?;
    let Some((tree, part)) = split_part(&file, &path).filter(|_| file.key(&path).is_err()) else { return Ok(None) };
    for place in places.iter_mut().filter(|place| place.table.as_ref() == Some(&path)) {
        place.table = Some(tree.to_owned());
    }
    Ok(Some(part.to_owned()))
}

fn split_part<'n>(file: &File, name: &'n str) -> Option<(&'n str, &'n str)> {
    let splits = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
    splits.into_iter().find(|(tree, _)| file.key(tree).is_ok_and(|key| key.has_entries()))
}

/// A luminosity mask, for commands that take expressions.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LumiMaskOption {
    /// Only entries of certified luminosity sections: a JSON file `{"run": [[first, last], ...]}`, compared with the
    /// branches run and luminosityBlock, which are read first.
    #[arg(long, value_name = "JSON")]
    lumi_mask: Option<PathBuf>,
}

impl LumiMaskOption {
    /// The branches that are compared.
    pub(crate) const COLUMNS: [&str; 2] = ["run", "luminosityBlock"];

    pub(crate) fn is_given(&self) -> bool {
        self.lumi_mask.is_some()
    }

    /// A chain, of which the mask leaves the certified entries.
    pub(crate) fn of(&self, chain: Chain) -> Outcome<Chain> {
        Ok(match self.mask()? {
            Some(mask) => chain.with_lumi_mask(mask, Self::COLUMNS),
            None => chain,
        })
    }

    /// The mask, if there is one.
    pub(crate) fn mask(&self) -> Outcome<Option<LumiMask>> {
        let Some(path) = &self.lumi_mask else { return Ok(None) };
        let wrong = |why: &dyn std::fmt::Display| {
            let words = format!("{} is no luminosity mask, {{\"run\": [[first, last], ...]}}: {why}", path.display());
            Error::mismatch(words)
        };
        let text = std::fs::read_to_string(path)?;
        let runs: std::collections::BTreeMap<String, Vec<(i64, i64)>> =
            serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        let number = |run: &str| run.trim().parse::<i64>().map_err(|_| wrong(&format!("{run:?} is no run")));
        let runs = runs.into_iter().map(|(run, ranges)| Ok((number(&run)?, ranges)));
        Ok(Some(LumiMask::new(runs.collect::<sapwood::Result<Vec<_>>>()?)?))
    }
}

/// Events by run and number, for commands that read entries.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct EventOptions {
    /// Only this event; may be given several times. A stored index or statistics find it, if there are any.
    #[arg(long, value_name = "RUN:[LUMI:]EVENT")]
    event: Vec<String>,
    /// Only the events of this file: a line for each, RUN:EVENT or RUN:LUMI:EVENT.
    #[arg(long, value_name = "FILE", conflicts_with = "event")]
    events: Option<PathBuf>,
    /// Columns of run, luminosity section (if events have it) and number, separated by commas. By default they are
    /// looked for by their usual names, such as run, luminosityBlock and event.
    #[arg(long, value_name = "RUN,[LUMI,]EVENT")]
    event_columns: Option<String>,
}

impl EventOptions {
    /// The events, if any are named.
    pub(crate) fn events(&self) -> Outcome<Option<EventList>> {
        let events = match &self.events {
            Some(path) => EventList::open(path)?,
            None if self.event.is_empty() => return Ok(None),
            None => EventList::parse(&self.event.join("\n"))?,
        };
        self.with_columns(events).map(Some)
    }

    pub(crate) fn with_columns(&self, events: EventList) -> Outcome<EventList> {
        Ok(match &self.event_columns {
            Some(columns) => events.with_columns(columns.split(',').map(str::trim))?,
            None => events,
        })
    }

    /// A chain, of which only these events are left.
    pub(crate) fn of(&self, chain: Chain) -> Outcome<Chain> {
        match self.events()? {
            Some(events) => Ok(chain.with_events(events)),
            None if self.event_columns.is_some() => {
                Err(Error::mismatch("--event-columns names columns for --event or --events").into())
            }
            None => Ok(chain),
        }
    }
}

/// Options of commands that take expressions.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Friends {
    /// Another tree whose branches expressions know as NAME.BRANCH, entry by entry, or by the index that it has; a
    /// pattern, folder or chain for several files. May be given several times.
    #[arg(long = "friend", value_name = "NAME=FILE[:TREE]")]
    named: Vec<String>,
    /// Match entries of the friends by these two expressions, which all trees have.
    #[arg(long, value_name = "MAJOR,MINOR", requires = "named")]
    friend_index: Option<String>,
}

impl Friends {
    /// Whether entries of a friend are matched by their place, since no index is named.
    pub(crate) fn are_by_place(&self) -> bool {
        !self.named.is_empty() && self.friend_index.is_none()
    }

    /// The tables of some places as one, with the friends that are named, and if a name is not found those that the
    /// trees bring along, too.
    pub(crate) fn chain(&self, places: Vec<Place>, session: &Session, remote: &Remote) -> Outcome<Chain> {
        let session_of_files = session.clone();
        let remote_of_files = remote.clone();
        let open = move |place: &Place| {
            let file = output::open_in(&place.file, session_of_files.clone(), &remote_of_files);
            read(file.and_then(|file| table(&file, place.table.as_deref())))
        };
        let session_of_friends = session.clone();
        let remote_of_friends = remote.clone();
        let mut chain = Chain::new(places, open).with_stored_friends(move |tree, friend| {
            stored(friend, tree.file(), &session_of_friends, &remote_of_friends)
        });
        for words in &self.named {
            let Some((name, target)) = words.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(Error::mismatch(format!("--friend {words:?} is no NAME=FILE:TREE")).into());
            };
            let matching = self.friend_index.as_ref().map_or(Matching::Stored, |index| {
                let (major, minor) = index.split_once(',').unwrap_or((index, "0"));
                Matching::Index(major.to_owned(), minor.to_owned())
            });
            chain = chain.with_friend(name, targets(target, session, remote)?.places, matching);
        }
        Ok(chain)
    }
}

/// Turns the failure of a command into an error of the engine.
fn read<T>(outcome: Outcome<T>) -> sapwood::Result<T> {
    outcome.map_err(|failure| match failure {
        output::Failure::Read(error) => error,
        output::Failure::Pipe | output::Failure::Found => Error::internal("a table was not opened"),
    })
}

/// The tree of a friend that a tree brings along. A path is tried as it is first, as ROOT does.
fn stored(friend: &FriendElement, of: &File, session: &Session, remote: &Remote) -> sapwood::Result<Source> {
    let own = of.identity().name.to_string();
    let open = || {
        if friend.file.is_empty() {
            return table(of, Some(&friend.tree));
        }
        let path = match !sapwood_store::is_url(&own) && Path::new(&*friend.file).exists() {
            true => friend.file.to_string(),
            false => sapwood_store::beside(&own, &friend.file).map_err(|error| {
                Error::unsupported(format!("{}, with --friend {}=FILE:TREE", error.message(), friend.name))
            })?,
        };
        table(&output::open_in(path, session.clone(), remote)?, Some(&friend.tree))
    };
    let named =
        |error: Error| Error::new(ErrorKind::NotFound, format!("the friend {:?} cannot be read: {error}", friend.name));
    read(open()).map(|found| Source::from(&found)).map_err(named)
}
