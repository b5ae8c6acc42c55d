//! Files that are sent to XRootD servers: written under another name, which is changed when what arrived was checked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sapwood::{Error, ErrorKind, Result};

use super::handshake::unwelcome;
use super::open::{Opened, Opener};
use super::pool::Wanted;
use super::refusal::nonsense;
use super::store::XrootdStore;
use super::url::XrootdUrl;
use super::wire::numbers::code::{ALREADY_THERE, INVALID_REQUEST, UNSUPPORTED};
use super::wire::{Request, Stat, Status};
use crate::NetOptions;
use crate::net::{Link, RequestError, Retry, block_on, link};
use crate::upload::{Finished, Remote, Step, check_adler32, check_bytes, check_ends, exists, unfinished};

/// Bytes of one request.
const PIECE_BYTES: u64 = 1 << 20;
/// Requests that are on their way at a time.
const PARALLEL: usize = 4;
/// So many times the time-out may one of them wait: what is before it in the connection has to go out first.
const SENDING_TIMES: u32 = 4;
/// So many times the time-out may a server take to compute a checksum: it reads the whole file.
const CHECKSUM_TIMES: u32 = 20;

/// A file that is sent to a server.
pub(crate) struct XrootdUpload {
    url: String,
    place: XrootdUrl,
    /// What the store that reads the file knows: its name, its secrets.
    store: XrootdStore,
    options: NetOptions,
}

impl fmt::Debug for XrootdUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is sent along with the path may hold a secret.
        f.debug_tuple("XrootdUpload").field(&self.store.name).finish()
    }
}

impl XrootdUpload {
    pub(crate) fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let store = XrootdStore::new(url, options)?;
        let place = store.place.clone();
        if place.path.ends_with('/') {
            let words = "the URL names a folder, and no file in it";
            return Err(Error::mismatch(words).in_file(Arc::clone(&store.name)));
        }
        Ok(Self { url: url.to_owned(), place, store, options: options.clone() })
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.store.secrets.hide_in(error).in_file(Arc::clone(&self.store.name)))
    }

    /// The file beside it that has this path.
    fn beside(&self, path: String) -> XrootdUrl {
        XrootdUrl { path, ..self.place.clone() }
    }

    /// Asks for something about a path, again where that may help.
    async fn ask(&self, link: &Link, place: &XrootdUrl, wanted: Wanted<'_>) -> Result<bytes::Bytes, RequestError> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let opener = Opener { link, options: &self.options, named: place };
            let failure = match opener.ask_for(wanted).await {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let code = failure.code;
            let pause = retry.after(failure, 0).map_err(|error| RequestError { code, ..RequestError::never(error) })?;
            tokio::time::sleep(pause).await;
        }
    }

    /// What the server has under a path.
    async fn stat(&self, link: &Link, place: &XrootdUrl) -> Result<Option<Stat>> {
        match self.ask(link, place, Wanted::Stat).await {
            Ok(body) => match Stat::read(&body) {
                Ok(stat) => Ok(Some(stat)),
                Err(broken) => Err(nonsense(&place.server.name(), broken).error),
            },
            Err(failure) if failure.error.kind() == ErrorKind::NotFound => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }

    /// Writes the file under a path, again from its beginning where that may help.
    async fn send(&self, link: &Link, file: &Finished, place: &XrootdUrl) -> Result<()> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let opener = Opener { link, options: &self.options, named: place };
            let done = match opener.create().await {
                Ok(opened) => self.write(&opened, file).await,
                Err(failure) => Err(failure),
            };
            let Err(failure) = done else { return Ok(()) };
            let pause = retry.after(failure, 0)?;
            // What the broken attempt left is in the way of the next.
            let _ = opener.ask_for(Wanted::Removal).await;
            tokio::time::sleep(pause).await;
        }
    }

    /// Writes all of the file into an open one, and closes that.
    async fn write(&self, opened: &Opened, file: &Finished) -> Result<(), RequestError> {
        let (handle, timeout) = (opened.handle, self.options.timeout);
        let connection = &opened.session().connection;
        let piece = |range: std::ops::Range<u64>| async move {
            let bytes = file.read(range.clone()).map_err(RequestError::never)?;
            let mut pending = connection.ask(&Request::Write { handle, at: range.start, bytes: &bytes });
            drop(bytes);
            let (status, body) = pending.whole(timeout.saturating_mul(SENDING_TIMES)).await?;
            good(opened, status, &body).map_err(|mut failure| {
                failure.error = failure.error.at(range.start);
                failure
            })
        };
        let mut waiting = file.parts(PIECE_BYTES);
        let mut working: FuturesUnordered<_> = waiting.by_ref().take(PARALLEL).map(piece).collect();
        while let Some(done) = working.next().await {
            done?;
            working.extend(waiting.next().map(piece));
        }
        for request in [Request::Sync { handle }, Request::Close { handle }] {
            let (status, body) = connection.ask(&request).whole(timeout.saturating_mul(SENDING_TIMES)).await?;
            good(opened, status, &body)?;
        }
        opened.is_closed();
        Ok(())
    }

    /// Compares what arrived with what was sent: by the checksum where the server has one, else by both ends.
    fn check(&self, link: &Link, file: &Finished, place: &XrootdUrl) -> Result<()> {
        let stat = block_on(self.stat(link, place))?;
        check_bytes(file, stat.map_or(0, |stat| stat.len))?;
        let patient = |timeout: Duration| timeout.saturating_mul(CHECKSUM_TIMES);
        let options = NetOptions { timeout: patient(self.options.timeout), retries: 0, ..self.options.clone() };
        let opener = Opener { link, options: &options, named: place };
        if let Ok(body) = block_on(opener.ask_for(Wanted::Checksum)) {
            let text = String::from_utf8_lossy(&body);
            if let Some(("adler32", sum)) = text.trim_end_matches('\0').split_once(' ') {
                return check_adler32(file, sum);
            }
        }
        let there = XrootdStore::new(&self.url_of(place), &self.options)?;
        check_ends(file, &there)
    }

    /// The URL of a file beside it.
    fn url_of(&self, place: &XrootdUrl) -> String {
        let (start, _) = self.url.split_once("://").unwrap_or(("root", ""));
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let server = rest.split('/').next().unwrap_or_default();
        format!("{start}://{server}/{}", place.path_with_cgi())
    }

    /// Gives a file that was sent its name.
    async fn rename(&self, link: &Link, from: &XrootdUrl, replaces: bool) -> Result<()> {
        // Some servers rename to a name that is taken.
        if !replaces && self.stat(link, &self.place).await?.is_some() {
            return Err(exists());
        }
        let to = self.place.path_with_cgi();
        let failure = match self.ask(link, from, Wanted::Rename(&to)).await {
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        // Others rename only to names that are free. They say so in several ways.
        let known = matches!(failure.code.map(u32::from), Some(UNSUPPORTED | INVALID_REQUEST));
        if known || self.stat(link, &self.place).await?.is_none() {
            return Err(failure.error);
        }
        if !replaces {
            return Err(exists().because(failure.error));
        }
        // The old file is kept until the new one has its name.
        let old = self.beside(unfinished(&self.place.path));
        let aside = self.ask(link, &self.place, Wanted::Rename(&old.path_with_cgi())).await;
        aside.map_err(|other| if other.code == Some(ALREADY_THERE as u16) { failure.error } else { other.error })?;
        match self.ask(link, from, Wanted::Rename(&to)).await {
            Ok(_) => {
                let _ = self.ask(link, &old, Wanted::Removal).await;
                Ok(())
            }
            Err(failure) => {
                let back = self.ask(link, &old, Wanted::Rename(&to)).await;
                Err(match back {
                    Ok(_) => failure.error,
                    Err(_) => {
                        let words =
                            format!("{}; the file that it replaces is now {}", failure.error.message(), old.path);
                        failure.error.in_words(words)
                    }
                })
            }
        }
    }
}

/// Whether an answer is a good one.
fn good(opened: &Opened, status: Status, body: &[u8]) -> Result<(), RequestError> {
    if status == Status::Ok { Ok(()) } else { Err(unwelcome(&opened.host, status, body)) }
}

impl Remote for XrootdUpload {
    fn name(&self) -> &str {
        &self.store.name
    }

    fn file_name(&self) -> &str {
        self.place.path.rsplit('/').next().unwrap_or_default()
    }

    fn exists(&self) -> Result<bool> {
        let stat = || {
            let link = link(&self.options)?;
            let _inside = link.runtime.enter();
            block_on(self.stat(&link, &self.place))
        };
        self.name_error(stat().map(|stat| stat.is_some()))
    }

    fn put(&self, file: &Finished, replaces: bool, step: &mut dyn FnMut(Step)) -> Result<()> {
        let mut put = || {
            let link = link(&self.options)?;
            let _inside = link.runtime.enter();
            let beside = self.beside(unfinished(&self.place.path));
            let mut put = || {
                block_on(self.send(&link, file, &beside))?;
                step(Step::Checking);
                self.check(&link, file, &beside)?;
                step(Step::Naming);
                block_on(self.rename(&link, &beside, replaces))
            };
            let outcome = put();
            if outcome.is_err() {
                // What cannot be removed has no name that means anything.
                let opener = Opener { link: &link, options: &self.options, named: &beside };
                let _ = block_on(opener.ask_for(Wanted::Removal));
            }
            outcome
        };
        self.name_error(put())
    }
}
