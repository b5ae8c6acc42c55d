//! Trees and RNTuples that expressions are about, with their friends.

use std::path::{Path, PathBuf};

use sapwood::query::{Friend, LumiMask, Source, TreeIndex};
use sapwood::table::Table;
use sapwood::tree::FriendElement;
use sapwood::{Error, ErrorKind, File, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::targets::Target;

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
    for (at, _) in name.unwrap_or_default().match_indices('/') {
        let (tree, part) = name.unwrap_or_default().split_at(at);
        if let Ok(key) = file.key(tree)
            && key.has_entries()
        {
            return Ok((file.table_at(&key)?, Some(&part[1..])));
        }
    }
    Err(missing.into())
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

/// Options of commands that take expressions.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Friends {
    /// Another tree whose branches expressions know as NAME.BRANCH, entry by entry, or by the index that it has; may be
    /// given several times.
    #[arg(long = "friend", value_name = "NAME=FILE[:TREE]")]
    named: Vec<String>,
    /// Match entries of the friends by these two expressions, which all trees have.
    #[arg(long, value_name = "MAJOR,MINOR", requires = "named")]
    friend_index: Option<String>,
}

impl Friends {
    /// What is made of a tree, whose entries follow so many `before` it, and its friends: those that are named, and
    /// where a name is not found, those that the tree brings along, too.
    pub(crate) fn with<T>(
        &self,
        table: &Table,
        before: u64,
        remote: &Remote,
        make: impl Fn(Source) -> sapwood::Result<T>,
    ) -> Outcome<T> {
        let mut source = Source::from(table);
        let session = table.file().options().session.clone();
        for named in &self.named {
            source = source.with_friend(self.named(named, before, &session, remote)?)?;
        }
        let missing = match make(source.clone()) {
            Err(error) if error.kind() == ErrorKind::NotFound => error,
            made => return Ok(made?),
        };
        let (deep, failed) =
            source.with_stored_friends(|tree, friend| stored(friend, tree.file(), &session, remote))?;
        make(deep).map_err(|error| {
            if error.kind() != ErrorKind::NotFound || failed.is_empty() {
                return error.into();
            }
            let words: Vec<String> = failed.iter().map(ToString::to_string).collect();
            Error::new(ErrorKind::NotFound, format!("{}; {}", missing.message(), words.join("; "))).into()
        })
    }

    /// The friend of an argument.
    fn named(&self, words: &str, before: u64, session: &Session, remote: &Remote) -> Outcome<Friend> {
        let Some((name, target)) = words.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::mismatch(format!("--friend {words:?} is no NAME=FILE:TREE")).into());
        };
        let (path, inner) = output::split(target);
        let file = output::open_in(path, session.clone(), remote)?;
        let source = Source::from(&table(&file, inner)?);
        let Some(index) = &self.friend_index else {
            // Entries count over all files, unless an index says which belong together.
            return Ok(Friend::of_parts(name, vec![source], before)?.by_stored_index()?);
        };
        let (major, minor) = index.split_once(',').unwrap_or((index, "0"));
        let index = TreeIndex::build(std::slice::from_ref(&source), major, minor)?;
        Ok(Friend::new(name, source).by_index(index)?)
    }
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
    match open() {
        Ok(found) => Ok(Source::from(&found)),
        Err(output::Failure::Read(error)) => {
            let words = format!("the friend {:?} cannot be read: {error}", friend.name);
            Err(Error::new(ErrorKind::NotFound, words))
        }
        Err(_) => Err(Error::internal("a tree was not looked up")),
    }
}

/// Names whose meaning in an expression is another one where several files are one: entries count over all of them, as
/// a `TChain` does. Holds the entries of all files, where that is asked for.
pub(crate) struct ChainNames(Option<u64>);

impl ChainNames {
    /// For expressions of a chain: all files are opened where one of `texts` asks how many entries they have.
    pub(crate) fn new(texts: &[&str], files: &[Target], session: &Session, remote: &Remote) -> Outcome<Self> {
        const TOTAL: &str = "Entries$";
        let is_total = |text: &&str| text.match_indices(TOTAL).any(|(at, _)| !text[..at].ends_with("Local"));
        if files.len() < 2 || !texts.iter().any(is_total) {
            return Ok(Self(None));
        }
        let mut total = 0;
        for (path, name) in files {
            let file = output::open_in(path, session.clone(), remote)?;
            total += table_or_part(&file, name.as_deref())?.0.entries();
        }
        Ok(Self(Some(total)))
    }

    /// As aliases, for a file that has so many entries before it.
    pub(crate) fn of(&self, before: u64) -> Vec<(String, String)> {
        let entry = (before > 0).then(|| ("Entry$".to_owned(), format!("(LocalEntry$ + {before})")));
        entry.into_iter().chain(self.0.map(|total| ("Entries$".to_owned(), total.to_string()))).collect()
    }
}
