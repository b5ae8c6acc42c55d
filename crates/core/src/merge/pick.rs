//! A file of chosen events of many files.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Merge, Merged};
use crate::error::{Error, Result};
use crate::file::File;
use crate::io::{AtomicFile, Flow};
use crate::query::EventList;
use crate::read::Selection;
use crate::session::Session;
use crate::write::{FileWriter, NTupleRewrite, Rewrite, TreeOptions, WriteOptions};

/// Copies the events of a list out of many files into one: all branches or fields, in the order of files and entries.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// # let output = std::env::temp_dir().join(format!("sapwood-pick-{}.root", std::process::id()));
/// use sapwood::io::AtomicFile;
/// use sapwood::merge::Pick;
/// use sapwood::query::EventList;
/// let events = EventList::parse("1:3\n1:7\n1:99\n")?.with_columns(["1", "Entry$"])?;
/// let mut pick = Pick::new(events, AtomicFile::new(&output, true)?, Default::default());
/// assert_eq!(pick.add(&sapwood::File::open(path)?, "Events", None)?, 2);
/// assert_eq!((pick.missing(), pick.repeated()), (vec!["1:99".to_owned()], Vec::new()));
/// pick.finish()?;
/// assert_eq!(sapwood::File::open(&output)?.table("Events")?.entries(), 2);
/// # std::fs::remove_file(output)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Pick {
    events: EventList,
    session: Session,
    /// How often each event was found.
    times: Vec<u32>,
    /// The name of the table in the output.
    name: Option<String>,
    output: AtomicFile,
    /// Files with the events of one input each, and the names of these inputs.
    parts: Vec<(PathBuf, Arc<str>)>,
}

impl Pick {
    /// Nothing is read before [`add`](Self::add).
    pub fn new(events: EventList, output: AtomicFile, session: Session) -> Self {
        let times = vec![0; events.len()];
        Self { events, session, times, name: None, output, parts: Vec::new() }
    }

    /// Takes the events of a tree or RNTuple by its path: of some of its entries, or of all. Returns how many there
    /// are.
    ///
    /// # Errors
    ///
    /// Errors of [`EventList::find`], and those of [`FileWriter::rewrite`](crate::write::FileWriter::rewrite).
    pub fn add(&mut self, file: &File, path: &str, entries: Option<Selection>) -> Result<usize> {
        let key = file.key(path)?;
        let table = file.table_at(&key)?;
        let all = || Selection::try_from(0..table.entries());
        let found = self.events.find(&table, entries.map_or_else(all, Ok)?)?;
        if found.is_empty() {
            return Ok(0);
        }
        let mut entries: Vec<u64> = found.iter().map(|found| found.entry).collect();
        // An event that is listed twice.
        entries.dedup();
        let ranges = Some(entries.iter().map(|entry| *entry..entry + 1).collect());
        let name = self.name.get_or_insert_with(|| key.name.to_string());
        let part = self.output.folder()?.join(format!("{}.root", self.parts.len()));
        let options = WriteOptions { session: self.session.clone(), ..WriteOptions::default() };
        let mut writer = FileWriter::recreate(&part, options)?;
        if key.is_ntuple() {
            writer.rewrite_ntuple(file, path, name, &NTupleRewrite { entries: ranges, ..NTupleRewrite::default() })?;
        } else {
            writer.rewrite(file, path, name, &Rewrite { entries: ranges, ..Rewrite::default() })?;
        }
        writer.close()?;
        self.parts.push((part, Arc::clone(&file.identity().name)));
        for one in &found {
            if let Some(times) = self.times.get_mut(one.key) {
                *times = times.saturating_add(1);
            }
        }
        Ok(entries.len())
    }

    fn names(&self, is_wanted: impl Fn(u32) -> bool) -> Vec<String> {
        let wanted = self.times.iter().enumerate().filter(|(_, times)| is_wanted(**times));
        wanted.map(|(key, _)| self.events.name(key)).collect()
    }

    /// Events that were not found so far.
    pub fn missing(&self) -> Vec<String> {
        self.names(|times| times == 0)
    }

    /// Events that were found more than once.
    pub fn repeated(&self) -> Vec<String> {
        self.names(|times| times > 1)
    }

    /// Writes the output. Branches that the first file with events lacks are left out, and numbers become as wide as
    /// any file has them: [`Merged::notices`] has a line for each.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) if no event was found; errors of [`Merge::run_into`].
    pub fn finish(self) -> Result<Merged> {
        let Self { events, session, output, parts, .. } = self;
        if parts.is_empty() {
            return Err(Error::not_found(format!("none of the {} events is in the files", events.len())));
        }
        // Parts have few entries each: their clusters become one.
        let how = Merge { recluster: Some(TreeOptions::default()), session, ..Merge::default() };
        let paths: Vec<String> = parts.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        let merged = how.run_into(&output, &paths, &|path| File::open(path), &mut |_| Flow::Go);
        // Parts have names that nobody knows.
        let merged = merged.map_err(|error| {
            let place = error.place().file.as_deref();
            let input = paths.iter().zip(&parts).find(|(path, _)| place == Some(path.as_str()));
            match input.map(|(_, (_, input))| Arc::clone(input)) {
                Some(input) => {
                    let named = Error::new(error.kind(), error.message().to_owned()).in_file(input);
                    error.place().object.iter().fold(named, |named, object| named.in_object(object))
                }
                None => error,
            }
        })?;
        output.publish()?;
        Ok(merged)
    }
}
