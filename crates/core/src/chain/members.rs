//! The tables of a chain, one after another, the next one opened ahead.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::friends::OpenFriend;
use super::names;
use super::place::Place;
use super::shared::Shared;
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::{self, Stop};
use crate::query::{Friend, Source};
use crate::read::Selection;
use crate::table::Table;

/// A file that opens faster is opened when its turn comes: a thread would cost more than it spares.
const AT_ONCE: Duration = Duration::from_millis(2);

/// The tables of a chain, in order. See [`Chain::members`](super::Chain::members).
pub struct Members {
    chain: Arc<Shared>,
    /// Number of the next file.
    next: usize,
    /// Entries of the files before.
    before: u64,
    /// The next table, which a thread opens.
    coming: Option<Receiver<Result<Table>>>,
    stop: Stop,
    friends: Option<Vec<OpenFriend>>,
}

/// The table of one file of a chain.
pub struct Member {
    /// Its file, and its path there.
    pub place: Place,
    /// The tree or RNTuple.
    pub table: Table,
    /// Entries of the files before.
    pub before: u64,
    chain: Arc<Shared>,
    friends: Vec<Friend>,
    /// Entries of the events that are kept, ascending, after they were found.
    of_events: OnceLock<Vec<u64>>,
}

impl Members {
    pub(super) fn new(chain: Arc<Shared>) -> Self {
        Self { chain, next: 0, before: 0, coming: None, stop: Stop::default(), friends: None }
    }

    fn member(&mut self, place: Place) -> Result<Member> {
        let began = Instant::now();
        let table = match self.coming.take() {
            Some(coming) => {
                let ended = || Err(Error::internal("a thread that opens files has ended"));
                interrupt::receive(&coming)?.unwrap_or_else(ended)?
            }
            None => (self.chain.open)(&place)?,
        };
        let is_slow = began.elapsed() > AT_ONCE;
        let chain = Arc::clone(&self.chain);
        if is_slow && let Some(next) = chain.places.get(self.next) {
            self.coming = self.ahead(next.clone());
        }
        let before = self.before;
        self.before = before.saturating_add(table.entries());
        if self.friends.is_none() {
            self.friends = Some(chain.friends.iter().map(|friend| friend.begin(&*chain.open)).collect::<Result<_>>()?);
        }
        let open = self.friends.iter_mut().flatten();
        let over =
            chain.friends.iter().zip(open).map(|(friend, open)| friend.over(open, before..self.before, &*chain.open));
        let friends = over.collect::<Result<Vec<_>>>()?;
        Ok(Member { place, table, before, friends, chain, of_events: OnceLock::new() })
    }

    /// Opens a file in a thread, which ends by itself. None if there can be no thread.
    fn ahead(&self, place: Place) -> Option<Receiver<Result<Table>>> {
        let (answer, coming) = channel();
        let chain = Arc::clone(&self.chain);
        let stop = self.stop.clone();
        let work = move || drop(answer.send(stop.heeding(|| (chain.open)(&place))));
        thread::Builder::new().name("sapwood-open".to_owned()).spawn(work).ok().map(|_| coming)
    }
}

impl Iterator for Members {
    type Item = Result<Member>;

    fn next(&mut self) -> Option<Result<Member>> {
        let place = self.chain.places.get(self.next)?.clone();
        self.next += 1;
        let member = self.member(place);
        if member.is_err() {
            // Entries of later files would have other numbers.
            self.next = self.chain.places.len();
        }
        Some(member)
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // Nobody wants the file that a thread still opens.
        self.stop.set();
    }
}

impl Member {
    /// Calls `make` with the table and the friends of the chain, and again with the friends that the tree brings along
    /// if a name is not found.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a name, with the stored friends that cannot be opened; further
    /// errors of `make` and of [`Source::with_friend`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// use sapwood::query::Query;
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// for member in chain.members() {
    ///     let query = member?.with_friends(|source| Query::new(source).value("nJet > 2"))?;
    ///     assert_eq!(query.read(0..10)?.columns[0].len, 10);
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_friends<T>(&self, make: impl Fn(Source) -> Result<T>) -> Result<T> {
        let mut source = Source::from(&self.table);
        for friend in &self.friends {
            source = source.with_friend(friend.clone())?;
        }
        let missing = match (make(source.clone()), &self.chain.open_stored) {
            (Err(error), Some(_)) if error.kind() == ErrorKind::NotFound => error,
            (made, _) => return made,
        };
        let Some(open) = &self.chain.open_stored else { return Err(missing) };
        let (deep, failed) = source.with_stored_friends(|tree, friend| open(tree, friend))?;
        make(deep).map_err(|error| {
            if error.kind() != ErrorKind::NotFound || failed.is_empty() {
                return error;
            }
            let words: Vec<String> = failed.iter().map(ToString::to_string).collect();
            Error::new(ErrorKind::NotFound, format!("{}; {}", missing.message(), words.join("; ")))
        })
    }

    /// The names that count over all files in these expressions, as aliases: `Entry$`, and `Entries$`, for which all
    /// files are opened.
    ///
    /// # Errors
    ///
    /// Errors of opening a file.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// for member in chain.members() {
    ///     let member = member?;
    ///     let names = member.names(&["Entry$ / Entries$"])?;
    ///     assert_eq!(names.len(), if member.before == 0 { 1 } else { 2 });
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn names(&self, texts: &[&str]) -> Result<Vec<(String, String)>> {
        let counts = self.chain.places.len() > 1 && texts.iter().any(|text| names::counts_entries(text));
        let total = if counts { Some(self.chain.entries()?) } else { None };
        Ok(names::names(self.before, total))
    }

    /// Whether a luminosity mask or a list of events leaves entries out.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// for member in chain.members() {
    ///     assert!(!member?.is_thinned());
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_thinned(&self) -> bool {
        self.chain.mask.is_some() || self.chain.events.is_some()
    }

    /// All entries of the table, without those that the luminosity mask or the list of events leaves out.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    pub fn all(&self) -> Result<Selection> {
        self.select(0..self.table.entries())
    }

    /// Leaves out the entries of a selection that the luminosity mask or the list of events does not hold.
    ///
    /// # Errors
    ///
    /// Errors of [`LumiMask::passing`](crate::query::LumiMask::passing) and of
    /// [`EventList::find`](crate::query::EventList::find).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// for member in chain.members() {
    ///     assert_eq!(member?.select(2..5)?.len(), 3);
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn select(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Selection> {
        let selected = match &self.chain.mask {
            Some((mask, [run, section])) => {
                mask.passing(&Source::from(&self.table), entries, [run.as_str(), section.as_str()])
            }
            None => entries.try_into().map_err(Into::into),
        }?;
        let Some(events) = &self.chain.events else { return Ok(selected) };
        let found = match self.of_events.get() {
            Some(known) => known,
            None => {
                let found = events.find(&self.table, 0..self.table.entries())?;
                let mut found: Vec<u64> = found.iter().map(|found| found.entry).collect();
                // An event that is listed twice.
                found.dedup();
                self.of_events.get_or_init(|| found)
            }
        };
        Selection::of_entries(found.iter().copied().filter(|entry| selected.row(*entry).is_some()))
    }
}
