//! One file that lies at several places.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Identity, Profile, Receive, Store};
use sapwood::{Error, ErrorKind, Result};

use crate::cache::{KeptEnds, PROOF_HEAD, PROOF_TAIL, State};
use crate::secrets::cache_name;
use crate::stopped::stopped;

/// A file that lies at several places, read at one of them as long as that answers.
///
/// Each read goes to the place that answered last. Where that fails, after all of its own attempts, the next one is
/// asked for the ranges that have not come, and stays the first from then on; the one that failed becomes the last. A
/// place is read once it has shown that it has the same file: the same length, the same first 4 KiB and the same last
/// 64 KiB. Only when all places failed does a read fail, and its error has the words of each.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::io::{MemoryStore, Store, load};
/// use sapwood_store::Replicas;
/// let open = |url: &str| match url {
///     "memory://one" => Err(sapwood::Error::not_found("it was here yesterday").in_file(url)),
///     _ => Ok(Arc::new(MemoryStore::new(url, "hello world")) as Arc<dyn Store>),
/// };
/// let store = Replicas::new(&["memory://one", "memory://two"], open)?;
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Replicas {
    places: Vec<Place>,
    open: Box<Open>,
    /// The place that is asked first; the others follow in the order in which they were named.
    first: AtomicUsize,
    known: OnceLock<Known>,
    /// The length that a catalogue has for the file.
    length: Option<u64>,
}

type Open = dyn Fn(&str) -> Result<Arc<dyn Store>> + Send + Sync;

struct Place {
    url: String,
    store: OnceLock<Arc<dyn Store>>,
    /// What it was when it showed that it has the same file.
    shown: OnceLock<Identity>,
}

/// The file, as the first place that answered showed it.
struct Known {
    identity: Identity,
    state: State,
    shown_by: Arc<str>,
}

impl Replicas {
    /// A store for the file at `urls`, each of which `open` opens, without a cache. What cannot be opened now is opened
    /// when its turn comes.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) where no URL is given; what `open` reports, unless another place may do
    /// better: of the kinds not found, denied, timed out and i/o.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{NetOptions, Replicas, open};
    /// let urls = ["https://a.example.org/f.root", "root://b.example.org//f.root"];
    /// assert!(Replicas::new(&urls, |url| open(url, &NetOptions::default())).is_ok());
    /// ```
    pub fn new<U: AsRef<str>>(
        urls: &[U],
        open: impl Fn(&str) -> Result<Arc<dyn Store>> + Send + Sync + 'static,
    ) -> Result<Self> {
        if urls.is_empty() {
            return Err(Error::mismatch("a file with replicas lies at one place at least"));
        }
        let place = |url: &U| {
            let store = OnceLock::new();
            match open(url.as_ref()) {
                Ok(opened) => drop(store.set(opened)),
                Err(error) if others_may_do(&error) => {}
                Err(error) => return Err(error),
            }
            Ok(Place { url: url.as_ref().to_owned(), store, shown: OnceLock::new() })
        };
        let places = urls.iter().map(place).collect::<Result<_>>()?;
        Ok(Self { places, open: Box::new(open), first: AtomicUsize::new(0), known: OnceLock::new(), length: None })
    }

    /// Says how long the file is: a place with another length fails, and the next one is read.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::io::{MemoryStore, Store};
    /// use sapwood_store::Replicas;
    /// let open = |url: &str| {
    ///     let bytes = if url == "m://old" { "old" } else { "newer" };
    ///     Ok(Arc::new(MemoryStore::new(url, bytes)) as Arc<dyn Store>)
    /// };
    /// let store = Replicas::new(&["m://old", "m://new"], open)?.of_length(5);
    /// assert_eq!(store.ends(0, 0)?.identity.len, 5);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn of_length(self, bytes: u64) -> Self {
        Self { length: Some(bytes), ..self }
    }

    /// The name by which a cache knows the file: the first of its URLs in the alphabet, marked, so that their order
    /// makes no difference.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use sapwood::io::{MemoryStore, Store};
    /// use sapwood_store::Replicas;
    /// # let open = |url: &str| Ok(Arc::new(MemoryStore::new(url, "")) as Arc<dyn Store>);
    /// let name = |urls: &[&str]| Replicas::new(urls, open).map(|store| store.cache_name());
    /// assert_eq!(name(&["https://b.org/f", "https://a.org/f"])?, "https://a.org/f?replicas");
    /// assert_eq!(name(&["https://a.org/f", "https://b.org/f"])?, "https://a.org/f?replicas");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn cache_name(&self) -> String {
        let least = self.places.iter().map(|place| cache_name(&place.url)).min().unwrap_or_default();
        let mark = if least.contains('?') { '&' } else { '?' };
        format!("{least}{mark}replicas")
    }

    /// All places, those that failed last at the end.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &Place)> {
        let (before, first) = self.places.split_at(self.first.load(Ordering::Relaxed).min(self.places.len()));
        first.iter().zip(before.len()..).chain(before.iter().zip(0..)).map(|(place, at)| (at, place))
    }

    /// Does something at the first place where it can be done.
    fn anywhere<T>(&self, mut what: impl FnMut(&Place) -> Result<T>) -> Result<T> {
        let mut failures = Vec::new();
        for (at, place) in self.in_turn() {
            match what(place) {
                Err(error) if others_may_do(&error) => {
                    failures.push(error);
                    let next = (at + 1) % self.places.len();
                    // Where another thread has found that out, it stays as that has left it.
                    let _ = self.first.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
                }
                Err(error) if error.kind() != ErrorKind::Cancelled => return Err(after(error, &failures)),
                done => return done,
            }
        }
        Err(self.all_failed(failures))
    }

    fn all_failed(&self, mut failures: Vec<Error>) -> Error {
        if failures.len() == 1 {
            return failures.swap_remove(0);
        }
        let kind = failures.first().map_or(ErrorKind::Io, Error::kind);
        let kind = if failures.iter().all(|error| error.kind() == kind) { kind } else { ErrorKind::Io };
        let words: Vec<String> = failures.iter().map(Error::to_string).collect();
        let error = Error::new(kind, format!("all {} replicas failed: {}", failures.len(), words.join("; ")));
        match failures.iter().find_map(|error| error.place().offset) {
            Some(offset) => error.at(offset),
            None => error,
        }
    }

    fn store(&self, place: &Place) -> Result<Arc<dyn Store>> {
        if let Some(store) = place.store.get() {
            return Ok(Arc::clone(store));
        }
        let opened = (self.open)(&place.url)?;
        Ok(Arc::clone(place.store.get_or_init(|| opened)))
    }

    /// The ends of the file at a place, which has to show that it is the same as elsewhere.
    fn look(&self, place: &Place, head: usize, tail: usize) -> Result<Ends> {
        let store = self.store(place)?;
        if let Some((known, shown)) = self.known.get().zip(place.shown.get()) {
            let ends = store.ends(head, tail)?;
            if (ends.identity.len, &ends.identity.validator) != (shown.len, &shown.validator) {
                let error = Error::new(ErrorKind::Changed, "the file has changed since it was opened");
                return Err(error.in_file(Arc::clone(&shown.name)));
            }
            return Ok(Ends { identity: known.identity.clone(), ..ends });
        }
        let found = store.ends(head.max(PROOF_HEAD), tail.max(PROOF_TAIL))?;
        let (shown, shown_by) = (found.identity.clone(), Arc::clone(&found.identity.name));
        if let Some(length) = self.length.filter(|length| *length != shown.len) {
            let error = Error::new(ErrorKind::Io, "the file has another length than its list of replicas says");
            return Err(error.wanted(length, shown.len).in_file(shown_by));
        }
        // No server knows the marks of another.
        let ends = Ends { identity: Identity { validator: None, ..found.identity }, ..found };
        let state = State::of("", &ends);
        let first = || Known { identity: ends.identity.clone(), state: state.clone(), shown_by: shown_by.clone() };
        let known = self.known.get_or_init(first);
        same(known, &state, &shown_by)?;
        let _ = place.shown.set(shown);
        let short = || Error::new(ErrorKind::Io, "the store gave other ends than were asked for").in_file(shown_by);
        let (head, tail) = KeptEnds::new(state, &ends).cut(head, tail).ok_or_else(short)?;
        Ok(Ends { identity: known.identity.clone(), head, tail })
    }
}

impl Store for Replicas {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.anywhere(|place| self.look(place, head_bytes, tail_bytes))
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let mut missing: Vec<(usize, ByteRange)> = ranges.iter().cloned().enumerate().collect();
        self.anywhere(|place| {
            if into.stopped() {
                return Err(stopped());
            }
            if place.shown.get().is_none() {
                self.look(place, 0, 0)?;
            }
            let wanted: Vec<ByteRange> = missing.iter().map(|(_, range)| range.clone()).collect();
            let mut relay = Relay { into: &mut *into, missing: &missing, came: vec![false; missing.len()] };
            let done = self.store(place)?.read_ranges(&wanted, &mut relay);
            let mut came = relay.came.into_iter();
            missing.retain(|_| came.next() == Some(false));
            match done {
                // It broke behind the last of them.
                Err(error) if missing.is_empty() && others_may_do(&error) => Ok(()),
                done => done,
            }
        })
    }

    fn profile(&self) -> Profile {
        let now = self.in_turn().find_map(|(_, place)| place.store.get());
        now.map_or(Profile::NEAR, |store| store.profile())
    }
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.places.iter().map(|place| cache_name(&place.url))).finish()
    }
}

/// Whether an error is the place's own.
fn others_may_do(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied | ErrorKind::TimedOut | ErrorKind::Io)
}

/// An error with the words of those that had led to its place.
fn after(error: Error, failures: &[Error]) -> Error {
    if failures.is_empty() {
        return error;
    }
    let own = std::error::Error::source(&error).map(ToString::to_string);
    let words: Vec<String> = own.into_iter().chain(failures.iter().map(Error::to_string)).collect();
    error.because(words.join("; "))
}

/// Compares what a place shows with the file as it is known.
fn same(known: &Known, found: &State, shown_by: &Arc<str>) -> Result<()> {
    if known.state == *found {
        return Ok(());
    }
    let what = if known.state.len == found.len { "its ends have other bytes" } else { "it has another length" };
    let words = format!("{shown_by} is no replica of {}: {what}", known.shown_by);
    let error = Error::new(ErrorKind::Changed, words).in_file(Arc::clone(shown_by));
    Err(if known.state.len == found.len { error } else { error.wanted(known.state.len, found.len) })
}

/// Hands on what a place delivers, and notes what came.
struct Relay<'a> {
    into: &'a mut dyn Receive,
    missing: &'a [(usize, ByteRange)],
    came: Vec<bool>,
}

impl Receive for Relay<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        let (Some((place, _)), Some(came)) = (self.missing.get(index), self.came.get_mut(index)) else {
            return Flow::Go;
        };
        *came = true;
        self.into.deliver(*place, bytes)
    }

    fn stopped(&self) -> bool {
        self.into.stopped()
    }
}
