//! Files on XRootD servers: `root://` and `roots://`.

mod auth;
mod connection;
mod further;
mod gsi;
mod handshake;
mod keytab;
mod open;
mod pool;
mod random;
mod read;
mod refusal;
mod session;
mod shared_keys;
mod sss;
mod store;
mod streams;
mod upload;
mod url;
mod wire;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use sapwood::io::{ByteRange, Ends, Identity, Profile, Receive, Store, check_ranges};
use sapwood::{Error, Result};

use crate::NetOptions;
use crate::listed::{Listed, is_name};
use crate::net::{
    Assembly, Link, LinkStats, REQUEST_BYTES, RequestError, Retry, SingleFlight, block_on, ends_of, link,
    unless_stopped,
};
use crate::secrets::Secrets;
pub use auth::unknown_proofs;
use open::{Opened, Opener};
use pool::Wanted;
use read::Reading;
use refusal::elsewhere;
pub use shared_keys::SharedKeys;
pub use store::XrootdStore;
pub(crate) use upload::XrootdUpload;
use url::{Tried, XrootdUrl};
use wire::Stat;
pub use wire::numbers;

/// The longest time-out: multiples of it do not overflow.
const MAX_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The most ranges that a request should have.
const RANGES: usize = 1024;
/// Requests of one file that pay: a connection carries one answer behind the other, and the next must be on its way
/// meanwhile.
const PARALLEL: usize = 4;

impl XrootdStore {
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
    /// use sapwood_store::{NetOptions, XrootdStore};
    /// assert!(XrootdStore::new("root://example.org//store/a.root", &NetOptions::default()).is_ok());
    /// assert!(XrootdStore::new("root://example.org", &NetOptions::default()).is_err());
    /// ```
    pub fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let place = XrootdUrl::parse(url)?;
        let user = if place.server.user.is_empty() { String::new() } else { format!("{}@", place.server.user) };
        let scheme = if place.server.tls { "roots" } else { "root" };
        // What is sent along may hold a secret, and is no part of the name.
        let name: Arc<str> = format!("{scheme}://{user}{}/{}", place.server.name(), place.path).into();
        link(options).map_err(|error| error.in_file(name.clone()))?;
        Ok(Self {
            name,
            place,
            secrets: Secrets::of(url, options),
            options: NetOptions { timeout: options.timeout.min(MAX_TIMEOUT), ..options.clone() },
            link_stats: LinkStats::new(),
            known: OnceLock::new(),
            opened: Mutex::default(),
            opening: SingleFlight::default(),
            avoid: Mutex::default(),
        })
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.secrets.hide_in(error).in_file(self.name.clone()))
    }

    /// The file as it stands open; none if it does not, or was opened by a parent process.
    fn standing(&self) -> Option<Arc<Opened>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = opened.take_if(|opened| !opened.lives())
            && !old.is_ours()
        {
            std::mem::forget(old); // to drop it would be to speak on the parent's connection
        }
        opened.clone()
    }

    /// The file, opened if it is not.
    async fn file(&self, link: &Link) -> Result<Arc<Opened>, RequestError> {
        if let Some(opened) = self.standing() {
            return Ok(opened);
        }
        let _turn = self.opening.take().await?;
        if let Some(opened) = self.standing() {
            return Ok(opened);
        }
        let avoid = self.avoid.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let opener = Opener { link, options: &self.options, named: &self.place };
        let checked = match opener.open(&avoid).await {
            Ok(opened) => self.check(&opened.stat).map(|()| opened).map_err(RequestError::never),
            Err(failure) => Err(failure),
        };
        match checked {
            Ok(opened) => {
                if let Some(latency) = opened.latency {
                    self.link_stats.answered_in(latency);
                }
                let opened = Arc::new(opened);
                *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&opened));
                Ok(opened)
            }
            Err(failure) => {
                self.opening.failed(&failure);
                Err(failure)
            }
        }
    }

    /// The names in the folder that the URL names. Of a cluster, one server tells those that it has.
    pub(crate) fn list(&self) -> Result<Vec<Listed>> {
        let listed = || {
            let link = link(&self.options)?;
            let _inside = link.runtime.enter();
            let opener = Opener { link: &link, options: &self.options, named: &self.place };
            block_on(async {
                let mut retry = Retry::new(self.options.retries);
                loop {
                    match opener.ask_for(Wanted::Folder).await {
                        Ok(body) => return Ok(wire::names(&body)),
                        Err(failure) => tokio::time::sleep(retry.after(failure, 0)?).await,
                    }
                }
            })
        };
        let names = self.name_error(listed())?;
        // What stands behind a question mark would be taken for something else when it is opened.
        let named = names.into_iter().filter(|(name, _)| is_name(name) && !name.contains('?'));
        let listed = |(name, stat): (String, Option<Stat>)| {
            let is_folder = stat.as_ref().is_some_and(Stat::is_folder);
            let state = stat.filter(|_| !is_folder).map(|stat| (stat.len, stat.modified));
            Listed { name, is_folder, len: state.map(|(len, _)| len), modified: state.map(|(_, modified)| modified) }
        };
        Ok(named.map(listed).collect())
    }

    /// It has to be opened again.
    fn lose(&self, lost: &Opened) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.take_if(|opened| std::ptr::eq(&**opened, lost));
    }

    /// Notes that a read failed on a server that we were redirected to, so that the manager names another one.
    fn failed(&self, at: Option<&Opened>, failure: &RequestError, news: u64) {
        let mut avoid = self.avoid.lock().unwrap_or_else(PoisonError::into_inner);
        if news > 0 {
            avoid.clear();
        }
        let (Some(at), Some(why)) = (at, elsewhere(failure)) else { return };
        let host = at.host.rsplit_once(':').map_or(at.host.as_str(), |(host, _)| host);
        let host = host.trim_matches(['[', ']']);
        if at.host != self.place.server.name() && !avoid.iter().any(|tried| tried.host == host) && avoid.len() < 16 {
            avoid.push(Tried { host: host.to_owned(), why });
        }
        // A server that says that it cannot is not asked again on the same handle.
        if failure.code.is_some() {
            self.lose(at);
        }
    }

    /// Asks for all that is missing until nothing is.
    async fn fill(&self, link: &Link, assembly: &RefCell<Assembly<'_>>) -> Result<()> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let missing = assembly.borrow().missing();
            let Some(first) = missing.first() else { return Ok(()) };
            let news = Cell::new(0);
            let file = self.file(link).await;
            let done = match &file {
                Ok(opened) => self.attempt(opened, &Reading { assembly, news: &news }).await,
                Err(failure) => Err(failure.copy()),
            };
            if let Err(failure) = done {
                self.failed(file.as_deref().ok(), &failure, news.get());
                drop(file);
                let offset = first.start;
                let pause = retry.after(failure, news.get()).map_err(|error| error.at(offset))?;
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// What is known of the file; it is opened if it was not before.
    fn known(&self) -> Result<&Stat> {
        if self.known.get().is_none() {
            let link = link(&self.options)?;
            let _inside = link.runtime.enter();
            block_on(async {
                let mut retry = Retry::new(self.options.retries);
                while let Err(failure) = self.file(&link).await {
                    tokio::time::sleep(retry.after(failure, 0)?).await;
                }
                Ok::<_, Error>(())
            })?;
        }
        self.known.get().ok_or_else(|| Error::unsupported("the length of the file is not known"))
    }

    fn find_ends(&self, head: usize, tail: usize) -> Result<Ends> {
        let known = self.known()?;
        let len = known.len;
        let identity = Identity {
            name: self.name.clone(),
            len,
            validator: Some(format!("{}-{}", known.modified, known.id).into()),
        };
        ends_of(self, identity, head, tail)
    }

    fn read(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, self.known()?.len)?;
        let assembly = RefCell::new(Assembly::new(ranges, into)?);
        if assembly.borrow().missing().is_empty() {
            return Ok(());
        }
        let link = link(&self.options)?;
        let _inside = link.runtime.enter();
        block_on(unless_stopped(self.fill(&link, &assembly), || assembly.borrow().check()))
    }
}

impl Store for XrootdStore {
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
            parallel: PARALLEL,
        }
    }
}
