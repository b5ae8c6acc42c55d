//! Files on http and https servers.

mod change;
mod content_range;
mod errors;
mod exchange;
mod head_tail;
mod identity;
mod multipart;
mod read;
mod request_split;
mod server_caps;
mod target;
mod upload;
mod whole;

use std::cell::RefCell;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt};
use reqwest::Method;
use sapwood::io::{ByteRange, Ends, Flow, Profile, Receive, Store, check_ranges};
use sapwood::{Error, Result};

use crate::NetOptions;
use crate::net::{Assembly, Link, PARALLEL, RequestError, Retry, RetryWhen, block_on, link, unless_stopped};
use crate::stopped::stopped;
#[cfg(feature = "clouds")]
pub(crate) use exchange::{answer, code};
use identity::{Facts, Known};
use read::Outcome;
use server_caps::{REQUEST_BYTES, ServerCaps};
use target::Target;
#[cfg(feature = "clouds")]
pub(crate) use target::{Signer, host};
pub(crate) use upload::HttpUpload;

/// A file on an http or https server, read by ranges.
///
/// The capabilities of the server follow from its answers: several ranges in one request, one range a request with
/// several requests at a time, or the whole file only. Of a server without ranges, a file of up to 64 MB is read once
/// and kept. An answer that shows another length, ETag or time of change than the first is an error of the kind
/// [`Changed`](sapwood::ErrorKind::Changed): bytes of two states are never mixed. Transient failures are retried, and
/// only missing bytes are requested again.
///
/// # Example
///
/// ```
/// use sapwood::io::{Store, load};
/// use sapwood_store::{HttpStore, NetOptions};
/// use sapwood_testkit::http_server::{ServerConfig, HttpServer};
/// let server = HttpServer::start("hello world", ServerConfig::default());
/// let store = HttpStore::new(&server.url(), &NetOptions::default())?;
/// assert_eq!(&store.ends(5, 0)?.head[..], b"hello");
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct HttpStore {
    target: Target,
    options: NetOptions,
    caps: ServerCaps,
    known: OnceLock<Known>,
    /// The content, where it came whole and is short.
    whole: OnceLock<Bytes>,
}

impl HttpStore {
    /// A store for `url`. Nothing is asked of the server before the first read.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for a malformed URL or invalid options, and what reading certificates
    /// reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{HttpStore, NetOptions};
    /// assert!(HttpStore::new("https://example.org/a.root", &NetOptions::default()).is_ok());
    /// assert!(HttpStore::new("https://", &NetOptions::default()).is_err());
    /// ```
    pub fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let target = Target::new(url, options)?;
        link(options).map_err(|error| error.in_file(target.name.clone()))?;
        Ok(Self::of(target, options))
    }

    /// A store whose requests a signer makes, one range each.
    #[cfg(feature = "clouds")]
    pub(crate) fn signed(
        name: std::sync::Arc<str>,
        origin: reqwest::Url,
        signer: std::sync::Arc<dyn Signer>,
        options: &NetOptions,
    ) -> Self {
        let store = Self::of(Target::signed(name, origin, signer), options);
        store.caps.one_at_a_time();
        store
    }

    fn of(target: Target, options: &NetOptions) -> Self {
        Self {
            target,
            options: options.clone(),
            caps: ServerCaps::new(),
            known: OnceLock::new(),
            whole: OnceLock::new(),
        }
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.target.secrets.hide_in(error).in_file(self.target.name.clone()))
    }

    fn link(&self) -> Result<Link> {
        link(&self.options)
    }

    /// What is known of the file; found out by a request for its first byte, once.
    fn known(&self) -> Result<&Known> {
        if self.known.get().is_none() {
            self.find_ends(0, 0)?;
        }
        self.known.get().ok_or_else(|| Error::unsupported("the length of the file is not known"))
    }

    /// Notes what an answer says of a file of this length, or compares it with what is noted.
    fn learn(&self, len: u64, facts: &Facts) -> Result<&Known> {
        let known = self.known.get_or_init(|| Known::new(len, facts.clone()));
        known.check(facts)?;
        known.check(&Facts::of_part(Some(len)))?;
        Ok(known)
    }

    async fn ask(&self, link: &Link, method: Method, ranges: Option<&str>) -> Result<exchange::Reply, RequestError> {
        exchange::ask(link, &self.target, method, ranges, self.options.timeout).await
    }

    /// Asks for all that is missing until nothing is.
    async fn fill(&self, link: &Link, known: &Known, assembly: &RefCell<Assembly<'_>>) -> Result<()> {
        loop {
            let missing = assembly.borrow().missing();
            if missing.is_empty() {
                return Ok(());
            }
            if self.caps.whole_only() {
                return self.stream_whole(link, known, assembly).await;
            }
            // One range at a time or many: each batch repairs itself, and where the server wants to be asked otherwise,
            // what is missing then is cut anew.
            let mut waiting = request_split::batches(&missing, self.caps.ranges(), REQUEST_BYTES).into_iter();
            let batch = |ranges| self.batch(link, known, ranges, assembly);
            let mut working: FuturesUnordered<_> = waiting.by_ref().take(PARALLEL).map(batch).collect();
            while let Some(outcome) = working.next().await {
                if outcome? == Outcome::Read
                    && let Some(ranges) = waiting.next()
                {
                    working.push(batch(ranges));
                }
            }
        }
    }

    /// Reads one batch, again and again as long as there is hope.
    async fn batch(
        &self,
        link: &Link,
        known: &Known,
        mut ranges: Vec<ByteRange>,
        assembly: &RefCell<Assembly<'_>>,
    ) -> Result<Outcome> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let mut news = 0;
            let done = self.attempt(link, known, &ranges, assembly, &mut news).await;
            let failure = match done {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            let first = ranges.first().map_or(0, |range| range.start);
            ranges = assembly.borrow().missing_of(&ranges);
            if ranges.is_empty() && failure.again != RetryWhen::Never {
                return Ok(Outcome::Read); // it broke behind the last byte
            }
            let first = ranges.first().map_or(first, |range| range.start);
            let pause = retry.after(failure, news).map_err(|error| error.at(first))?;
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(
        &self,
        link: &Link,
        known: &Known,
        ranges: &[ByteRange],
        assembly: &RefCell<Assembly<'_>>,
        news: &mut u64,
    ) -> Result<Outcome, RequestError> {
        let header = request_split::header(ranges);
        let reply = match self.ask(link, Method::GET, Some(&header)).await {
            Ok(reply) => reply,
            // Too long a header, or more ranges than it likes.
            Err(failure)
                if ranges.len() > 1 && failure.code.is_some_and(|code| matches!(code, 400 | 413 | 414 | 431 | 501)) =>
            {
                self.caps.refused(ranges.len());
                return Ok(Outcome::Otherwise);
            }
            Err(failure) => return Err(failure),
        };
        read::ranges(reply, ranges, known, &self.caps, assembly, news).await
    }

    fn read(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let known = self.known()?;
        check_ranges(ranges, known.len)?;
        if let Some(whole) = self.whole.get() {
            return slices(whole, ranges, into);
        }
        let assembly = RefCell::new(Assembly::new(ranges, into)?);
        if assembly.borrow().missing().is_empty() {
            return Ok(());
        }
        let link = self.link()?;
        let _inside = link.runtime.enter();
        block_on(unless_stopped(self.fill(&link, known, &assembly), || assembly.borrow().check()))
    }
}

impl Store for HttpStore {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.name_error(self.find_ends(head_bytes, tail_bytes))
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        self.name_error(self.read(ranges, into))
    }

    fn profile(&self) -> Profile {
        if self.whole.get().is_some() {
            return Profile {
                latency_ns: 0,
                bandwidth_bytes: 20 << 30,
                request_bytes: 16 << 20,
                ranges: 1024,
                parallel: 1,
            };
        }
        self.caps.profile()
    }
}

/// Delivers ranges of bytes in memory.
fn slices(whole: &Bytes, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
    for (index, range) in ranges.iter().enumerate() {
        // The ranges were compared with the length.
        let slice = whole.slice(range.start as usize..range.end as usize);
        if into.stopped() || into.deliver(index, slice) == Flow::Stop {
            return Err(stopped());
        }
    }
    Ok(())
}
