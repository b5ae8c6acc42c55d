//! Lists of events by run, luminosity section and number.

use std::io::Read;
use std::path::Path;

use super::lookup::{FoundEntry, Lookup};
use super::source::Source;
use crate::error::{Error, Result};
use crate::read::Selection;
use crate::table::Table;

/// Names that columns of runs, luminosity sections and event numbers have in files of experiments.
const RUNS: [&str; 4] = ["run", "runNumber", "RunNumber", "Run"];
const SECTIONS: [&str; 6] = ["luminosityBlock", "lumiBlock", "LumiBlock", "lumi", "lumiSection", "ls"];
const EVENTS: [&str; 5] = ["event", "eventNumber", "EventNumber", "evt", "Event"];

/// A longer file is not a list of events.
const MAX_BYTES: u64 = 256 << 20;

/// Events by run and number, and perhaps luminosity section.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::EventList;
/// let table = sapwood::File::open(path)?.table("Events")?;
/// let events = EventList::parse("1:3\n1:7 # a comment\n")?.with_columns(["1", "Entry$"])?;
/// let found = events.find(&table, 0..table.entries())?;
/// assert_eq!(found.iter().map(|found| found.entry).collect::<Vec<_>>(), [3, 7]);
/// assert_eq!(events.name(1), "1:7");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EventList {
    keys: Vec<Vec<i128>>,
    lookup: Lookup,
    /// Run, luminosity section if keys have it, and number; looked for by their usual names if they are not given.
    columns: Option<Vec<String>>,
}

impl EventList {
    /// Events, each as run and number, or as run, luminosity section and number.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for no event, and for events of other or different lengths.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::query::EventList;
    /// assert_eq!(EventList::new([vec![362_000, 17, 5_000_000_000]])?.name(0), "362000:17:5000000000");
    /// assert!(EventList::new([vec![1, 2], vec![1, 2, 3]]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new(events: impl IntoIterator<Item = Vec<i128>>) -> Result<Self> {
        let keys: Vec<Vec<i128>> = events.into_iter().collect();
        let width = keys.first().map_or(0, Vec::len);
        if !(2..=3).contains(&width) {
            let words = "an event is its run and number, or its run, luminosity section and number";
            return Err(Error::mismatch(if keys.is_empty() { "the list of events is empty" } else { words }));
        }
        let lookup = Lookup::new(width, keys.iter().cloned()).map_err(|error| {
            let words = format!("{}: all events are RUN:EVENT, or all are RUN:LUMI:EVENT", error.message());
            error.in_words(words)
        })?;
        Ok(Self { keys, lookup, columns: None })
    }

    /// A list with a line for each event: `RUN:EVENT` or `RUN:LUMI:EVENT`, or the numbers with spaces or commas
    /// between them. What follows `#` is a comment.
    ///
    /// # Errors
    ///
    /// Errors of [`new`](Self::new), and [`Mismatch`](crate::ErrorKind::Mismatch) for a line that is not an event.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::query::EventList;
    /// assert_eq!(EventList::parse("# run lumi event\n1 2 3\n1,2,4\n")?.len(), 2);
    /// assert!(EventList::parse("1:2:x").unwrap_err().message().contains("line 1"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut events = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let event = event(line).ok_or_else(|| {
                let words = format!("line {} is not an event RUN:EVENT or RUN:LUMI:EVENT: {line:?}", number + 1);
                Error::mismatch(words)
            })?;
            events.push(event);
        }
        Self::new(events)
    }

    /// The list in a text file, as [`parse`](Self::parse) reads it.
    ///
    /// # Errors
    ///
    /// Errors of [`parse`](Self::parse) and of the system; [`Mismatch`](crate::ErrorKind::Mismatch) for a ROOT file,
    /// and [`Limit`](crate::ErrorKind::Limit) for a file that is too long for a list.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::EventList;
    /// assert!(EventList::open(path).unwrap_err().message().contains("ROOT file"));
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let read = || {
            let file = std::fs::File::open(path)?;
            let mut bytes = Vec::new();
            file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
            if bytes.starts_with(b"root") {
                return Err(Error::mismatch("this is a ROOT file and not a list of events"));
            }
            if bytes.len() as u64 > MAX_BYTES {
                return Err(Error::limit("bytes of a list of events", MAX_BYTES, bytes.len() as u64));
            }
            let text = String::from_utf8(bytes).map_err(|_| Error::mismatch("a list of events is text"))?;
            Self::parse(&text)
        };
        read().map_err(|error: Error| error.in_file(path.to_string_lossy()))
    }

    /// Names the columns: run, luminosity section if events have it, and number.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of columns than events have numbers.
    pub fn with_columns<'t>(mut self, columns: impl IntoIterator<Item = &'t str>) -> Result<Self> {
        let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
        let width = self.keys.first().map_or(0, Vec::len);
        if columns.len() != width {
            let words = format!("events have {width} numbers, and {} columns are named", columns.len());
            return Err(Error::mismatch(words));
        }
        self.columns = Some(columns);
        Ok(self)
    }

    /// How many events there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// An event as text, by its number in the list.
    pub fn name(&self, key: usize) -> String {
        let parts = self.keys.get(key).into_iter().flatten().map(ToString::to_string);
        parts.collect::<Vec<_>>().join(":")
    }

    /// The entries of a table that are any of the events.
    ///
    /// # Errors
    ///
    /// Errors of [`Lookup::find`], and [`NotFound`](crate::ErrorKind::NotFound) if no columns are named and the table
    /// has none with usual names.
    pub fn find(&self, table: &Table, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Vec<FoundEntry>> {
        let columns = self.columns_of(table)?;
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.lookup.find(&Source::from(table), entries, &columns)
    }

    fn columns_of(&self, table: &Table) -> Result<Vec<String>> {
        if let Some(columns) = &self.columns {
            return Ok(columns.clone());
        }
        let wanted: &[&[&str]] = match self.keys.first().map(Vec::len) {
            Some(2) => &[&RUNS, &EVENTS],
            _ => &[&RUNS, &SECTIONS, &EVENTS],
        };
        let one = |names: &&[&str]| {
            let found = names.iter().find(|name| table.find(name).is_ok());
            found.map(|name| (*name).to_owned()).ok_or_else(|| {
                let words = format!("no column is named {}: name the columns of events", names.join(", "));
                table.place(Error::not_found(words))
            })
        };
        wanted.iter().map(one).collect()
    }
}

/// The numbers of an event.
fn event(text: &str) -> Option<Vec<i128>> {
    let parts = text.split([':', ',', ' ', '\t']).filter(|part| !part.is_empty());
    let numbers: Option<Vec<i128>> = parts
        .map(|part| part.parse::<i64>().map(i128::from).or_else(|_| part.parse::<u64>().map(i128::from)).ok())
        .collect();
    numbers.filter(|numbers| (2..=3).contains(&numbers.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_other_lengths_are_refused() {
        let error = EventList::parse("1:2:3\n1:2\n").unwrap_err();
        assert!(error.message().contains("all events are RUN:EVENT"), "{error}");
        for text in ["", "# only words\n"] {
            assert!(EventList::parse(text).unwrap_err().message().contains("empty"));
        }
        for text in ["1", "1:2:3:4", "1:2.5", "a:b"] {
            assert!(EventList::parse(text).unwrap_err().message().contains("line 1"), "{text}");
        }
    }

    #[test]
    fn numbers_of_64_bits_are_kept() {
        assert_eq!(event("1:18446744073709551615"), Some(vec![1, i128::from(u64::MAX)]));
        assert_eq!(event("-1:-9223372036854775808"), Some(vec![-1, i128::from(i64::MIN)]));
        assert_eq!(event("1:18446744073709551616"), None);
    }
}
