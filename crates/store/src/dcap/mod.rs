//! Files in a dCache: `dcap://`.

mod control;
mod data;
mod url;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sapwood::io::{ByteRange, Ends, Identity, Profile, Receive, Store, check_ranges};
use sapwood::{Error, ErrorKind, Result};

use crate::NetOptions;
use crate::net::{
    Assembly, LinkStats, REQUEST_BYTES, RequestError, Retry, SingleFlight, block_on, ends_of, link, requests,
    unless_stopped,
};
use crate::secrets::{Secrets, redact};
use control::{ControlConnection, Stat};
use data::{DataConnection, Halt, RANGES};
use url::DcapUrl;

/// A file that is not read for so many times the time-out is closed.
const IDLE_TIMES: u32 = 2;

/// A file in a dCache, read by ranges.
///
/// A door opens the file and names the pool that holds it, to which we connect (the passive mode of the protocol: no
/// server connects to us). Many ranges are one command, and several commands are on their way at a time, on one
/// connection for each file: a pool keeps a place for it for as long as it is open, and gets it back when it is not
/// read for twice the time-out. A connection that breaks is made anew, and only bytes that have not come are asked for
/// again.
///
/// A file that has another length than when it was opened first is an error of the kind
/// [`Changed`](sapwood::ErrorKind::Changed), and that is looked at with each read; so is one that has another time of
/// change or another number when it is opened again, where the door tells them. A pool goes on with the file that it
/// has opened, whatever comes in its place.
///
/// Nothing of it is encrypted or authenticated: the door is told the number of the user.
///
/// # Example
///
/// ```
/// use sapwood::io::{Store, load};
/// use sapwood_store::{DcapStore, NetOptions};
/// use sapwood_testkit::dcap_server::{ServerConfig, DcapServer};
/// let server = DcapServer::start("hello world", ServerConfig::default());
/// let store = DcapStore::new(&server.url(), &NetOptions::default())?;
/// assert_eq!(&store.ends(5, 0)?.head[..], b"hello");
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct DcapStore {
    name: Arc<str>,
    place: DcapUrl,
    /// What errors must not say.
    secrets: Secrets,
    options: NetOptions,
    link_stats: LinkStats,
    /// What the first open told.
    known: OnceLock<Known>,
    open: Mutex<Open>,
    no_vectors: AtomicBool,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    len: u64,
    /// Where the door tells.
    stamp: Option<String>,
}

/// The file as it stands open. One reads at a time.
#[derive(Debug)]
struct Open {
    /// The process whose connections these are.
    process: u32,
    line: Arc<SingleFlight<Option<DataConnection>>>,
}

/// Closes a file that was not read for so long, which frees its place in the pool; the next read opens it again.
async fn give_back(flight: Weak<SingleFlight<Option<DataConnection>>>, opened: Instant, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let Some(flight) = flight.upgrade() else { return };
        // A read is in progress.
        let Some(mut slot) = flight.free() else { continue };
        match &*slot {
            Some(line) if line.opened == opened && line.used.elapsed() < idle => {}
            Some(line) if line.opened == opened => return drop(slot.take()),
            _ => return,
        }
    }
}

impl fmt::Debug for DcapStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DcapStore").field("name", &self.name).field("options", &self.options).finish_non_exhaustive()
    }
}

impl DcapStore {
    /// A store for `url`: `dcap://host[:port]/path`. Nothing is asked of the server before the first read.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for a malformed URL or invalid options.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{DcapStore, NetOptions};
    /// assert!(DcapStore::new("dcap://example.org/pnfs/a.root", &NetOptions::default()).is_ok());
    /// assert!(DcapStore::new("dcap://example.org", &NetOptions::default()).is_err());
    /// ```
    pub fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let place = DcapUrl::parse(url)?;
        let name: Arc<str> = redact(&place.name()).into();
        link(options).map_err(|error| error.in_file(name.clone()))?;
        Ok(Self {
            name,
            place,
            secrets: Secrets::of(url, options),
            options: options.clone(),
            link_stats: LinkStats::new(),
            known: OnceLock::new(),
            open: Mutex::new(Open { process: std::process::id(), line: Arc::default() }),
            no_vectors: AtomicBool::new(false),
        })
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.secrets.hide_in(error).in_file(self.name.clone()))
    }

    fn line(&self) -> Arc<SingleFlight<Option<DataConnection>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if open.process != process {
            let old = std::mem::replace(&mut *open, Open { process, line: Arc::default() });
            std::mem::forget(old); // to drop it would be to speak on the parent's connection
        }
        Arc::clone(&open.line)
    }

    /// Opens the file.
    async fn connect(&self) -> Result<DataConnection, RequestError> {
        let patience = self.options.timeout;
        let (door, leave) = ControlConnection::open(&self.place, patience).await?;
        self.link_stats.answered_in(leave.latency);
        let mut line = DataConnection::connect(door, &leave, patience).await?;
        let len = line.read(&[], &self.link_stats, &mut |_, _| Ok(())).await.map_err(Halt::failure)?;
        let stamp = leave.stat.map(|Stat { len, stamp }| format!("{len}-{stamp}"));
        let known = self.known.get_or_init(|| Known { len, stamp: stamp.clone() });
        self.check(len)?;
        if known.stamp != stamp {
            return Err(RequestError::never(changed_error("another time of change, or another file")));
        }
        Ok(line)
    }

    fn check(&self, len: u64) -> Result<(), RequestError> {
        match self.known.get() {
            Some(known) if known.len != len => {
                Err(RequestError::never(changed_error("another length").wanted(known.len, len)))
            }
            _ => Ok(()),
        }
    }

    /// Asks for all that is missing, once. The file is opened if it is not.
    async fn attempt(&self, assembly: &RefCell<Assembly<'_>>, news: &Cell<u64>) -> Result<(), RequestError> {
        let flight = self.line();
        let mut slot = flight.take().await?;
        // A read that is cancelled leaves unread answers behind: then the connection is not put back.
        let mut line = match slot.take() {
            Some(line) => line,
            None => {
                let line = self.connect().await.inspect_err(|failure| flight.failed(failure))?;
                tokio::spawn(give_back(
                    Arc::downgrade(&flight),
                    line.opened,
                    self.options.timeout.saturating_mul(IDLE_TIMES),
                ));
                line
            }
        };
        let missing = assembly.borrow().missing();
        if !missing.is_empty() {
            let ranges = if self.no_vectors.load(Ordering::Relaxed) { 1 } else { RANGES };
            let asks = requests(&missing, ranges, REQUEST_BYTES);
            let mut put = |offset, bytes: &[u8]| {
                let fresh = assembly.borrow_mut().put(offset, bytes).map_err(RequestError::never)?;
                news.set(news.get() + fresh);
                Ok(())
            };
            let read = line.read(&asks, &self.link_stats, &mut put).await;
            if let Err(Halt::NoVectors) = read {
                self.no_vectors.store(true, Ordering::Relaxed);
            }
            self.check(read.map_err(Halt::failure)?)?;
        }
        *slot = Some(line);
        Ok(())
    }

    /// Asks until nothing is missing, and the file was open once.
    async fn fill(&self, assembly: &RefCell<Assembly<'_>>) -> Result<()> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let first = assembly.borrow().missing().first().map(|range| range.start);
            if first.is_none() && self.known.get().is_some() {
                return Ok(());
            }
            let news = Cell::new(0);
            if let Err(failure) = self.attempt(assembly, &news).await {
                let placed = |error: Error| match first {
                    Some(offset) => error.at(offset),
                    None => error,
                };
                let pause = retry.after(failure, news.get()).map_err(placed)?;
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn go(&self, assembly: Assembly<'_>) -> Result<()> {
        let (link, assembly) = (link(&self.options)?, RefCell::new(assembly));
        let _inside = link.runtime.enter();
        block_on(unless_stopped(self.fill(&assembly), || assembly.borrow().check()))
    }

    /// What is known of the file; it is opened if it was not before.
    fn known(&self) -> Result<&Known> {
        if self.known.get().is_none() {
            self.go(Assembly::new(&[], &mut Discard)?)?;
        }
        self.known.get().ok_or_else(|| Error::unsupported("the length of the file is not known"))
    }

    fn find_ends(&self, head: usize, tail: usize) -> Result<Ends> {
        let known = self.known()?;
        let len = known.len;
        let identity = Identity { name: self.name.clone(), len, validator: known.stamp.as_deref().map(Into::into) };
        ends_of(self, identity, head, tail)
    }

    fn read(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, self.known()?.len)?;
        let assembly = Assembly::new(ranges, into)?;
        if assembly.missing().is_empty() { Ok(()) } else { self.go(assembly) }
    }
}

fn changed_error(what: &str) -> Error {
    Error::new(ErrorKind::Changed, format!("the file changed while it was open: {what}"))
}

/// A receiver of no bytes.
struct Discard;

impl Receive for Discard {
    fn buffer(&self, _: usize) -> bytes::BytesMut {
        bytes::BytesMut::new()
    }

    fn deliver(&mut self, _: usize, _: Bytes) -> sapwood::io::Flow {
        sapwood::io::Flow::Go
    }

    fn stopped(&self) -> bool {
        false
    }
}

impl Store for DcapStore {
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
        Profile {
            latency_ns: self.link_stats.latency_ns(),
            bandwidth_bytes: self.link_stats.bandwidth_bytes(),
            request_bytes: 2 * REQUEST_BYTES,
            ranges: RANGES,
            parallel: 1,
        }
    }
}
