//! Files that are sent to http and https servers.
//!
//! A WebDAV server gets a file under another name, which is changed (`MOVE`) when what arrived was checked. Any other
//! one gets a single `PUT`: nginx, Apache and object stores show a file once its body is whole, and what a server shows
//! before that is deleted.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderName, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, Url};
use sapwood::io::Store;
use sapwood::{Error, ErrorKind, Result};

use super::HttpStore;
use super::change::{Change, change};
use super::target::Target;
use crate::NetOptions;
use crate::net::{Link, RequestError, Retry, RetryWhen, block_on, link};
use crate::upload::{Finished, Remote, Step, check_adler32, check_bytes, check_ends, exists, unfinished};

/// The longest time that a body waits for an answer to its head.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A file that is sent to a server.
pub(crate) struct HttpUpload {
    url: Url,
    target: Target,
    file_name: String,
    options: NetOptions,
}

impl fmt::Debug for HttpUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold secrets.
        f.debug_tuple("HttpUpload").field(&self.target.name).finish()
    }
}

/// What a server has under a name: length, and what changes with the bytes.
type State = Option<(u64, Option<Arc<str>>)>;

impl HttpUpload {
    pub(crate) fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let target = Target::new(url, options)?;
        let named = |error: Error| error.in_file(Arc::clone(&target.name));
        let url = Url::parse(url).map_err(|error| named(Error::mismatch("malformed URL").because(error)))?;
        let file_name = url.path().rsplit('/').next().unwrap_or_default().to_owned();
        if file_name.is_empty() {
            return Err(named(Error::mismatch("the URL names a folder, and no file in it")));
        }
        link(options).map_err(named)?;
        Ok(Self { url, target, file_name, options: options.clone() })
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.target.secrets.hide_in(error).in_file(self.target.name.clone()))
    }

    /// The URL of a file beside it.
    fn beside(&self, name: &str) -> Url {
        let mut url = self.url.clone();
        let folder = self.url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        url.set_path(&format!("{folder}/{name}"));
        url
    }

    fn target_of(&self, url: &Url) -> Result<Target> {
        Target::new(url.as_str(), &self.options)
    }

    /// What the server has at a URL.
    fn state(&self, url: &Url) -> Result<State> {
        let found = HttpStore::new(url.as_str(), &self.options)?.ends(1, 0);
        match found {
            Ok(found) => Ok(Some((found.identity.len, found.identity.validator))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn ask(
        &self,
        link: &Link,
        target: &Target,
        method: &str,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<(), RequestError> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let what = Change { method, headers, body: None, pause: Duration::ZERO };
        change(link, target, &what, self.options.timeout).await
    }

    /// Renames one file to another.
    async fn rename(&self, link: &Link, from: &Target, to: &Url, replaces: bool) -> Result<(), RequestError> {
        let mut to = to.clone();
        // Tickets and logins belong to requests.
        to.set_query(None);
        let _ = (to.set_username(""), to.set_password(None));
        let to = HeaderValue::try_from(to.as_str());
        let to = to.map_err(|_| RequestError::never(Error::mismatch("the URL fits no header")))?;
        let overwrites = HeaderValue::from_static(if replaces { "T" } else { "F" });
        let headers =
            [(HeaderName::from_static("destination"), to), (HeaderName::from_static("overwrite"), overwrites)];
        self.ask(link, from, "MOVE", &headers).await
    }

    /// Whether the server renames files, and how long an answer takes: it is asked to rename one that it does not have.
    async fn renames(&self, link: &Link) -> Result<(bool, Duration), RequestError> {
        let began = Instant::now();
        let names = [(); 2].map(|()| self.beside(&unfinished(&self.file_name)));
        let from = self.target_of(&names[0]).map_err(RequestError::never)?;
        match self.rename(link, &from, &names[1], false).await {
            Ok(()) => Ok((false, began.elapsed())), // it says yes to anything
            Err(failure) => match failure.code {
                Some(404 | 409) => Ok((true, began.elapsed())),
                Some(code) if code < 500 || code == 501 => Ok((false, began.elapsed())),
                _ => Err(failure),
            },
        }
    }

    /// Makes the folders above the file. What a server does not allow or has already shows when the file is sent.
    async fn make_folders(&self, link: &Link) -> Result<(), RequestError> {
        let folders: Vec<_> = self.url.path().match_indices('/').skip(1).map(|(at, _)| at).collect();
        for at in folders {
            let mut url = self.url.clone();
            url.set_path(self.url.path().get(..=at).unwrap_or_default());
            let target = self.target_of(&url).map_err(RequestError::never)?;
            match self.ask(link, &target, "MKCOL", &[]).await {
                Err(failure) if failure.code.is_none() => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    /// Sends the whole file.
    async fn send(
        &self,
        link: &Link,
        target: &Target,
        file: &Finished,
        headers: &[(HeaderName, HeaderValue)],
        latency: Duration,
    ) -> Result<()> {
        let mut retry = Retry::new(self.options.retries);
        let mut has_folders = false;
        // Longer than a server takes to answer, so that one that refuses or redirects is not sent the body.
        let pause = (latency * 4).clamp(Duration::from_millis(20), LONGEST_PAUSE);
        loop {
            let what = Change { method: Method::PUT, headers, body: Some(file), pause };
            let failure = match change(link, target, &what, self.options.timeout).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            // That is how servers say that there is no such folder; nginx says 500.
            if matches!(failure.code, Some(404 | 409 | 500)) && !has_folders {
                has_folders = true;
                self.make_folders(link).await.map_err(|failure| failure.error)?;
                continue;
            }
            if matches!(failure.code, Some(405 | 501)) {
                let words = format!("{}: it takes no files", failure.error.message());
                return Err(Error::unsupported(words));
            }
            tokio::time::sleep(retry.after(failure, 0)?).await;
        }
    }

    /// Compares what arrived with what was sent.
    fn check(&self, link: &Link, file: &Finished, url: &Url) -> Result<()> {
        let target = self.target_of(url)?;
        match block_on(async { Ok::<_, Error>(self.digest(link, &target).await) })? {
            Some(Digest { bytes, adler32: Some(said) }) => {
                bytes.map_or(Ok(()), |found| check_bytes(file, found))?;
                check_adler32(file, &said)
            }
            _ => check_ends(file, &HttpStore::new(url.as_str(), &self.options)?),
        }
    }

    /// The checksum that servers of the grid say.
    async fn digest(&self, link: &Link, target: &Target) -> Option<Digest> {
        let asked = super::exchange::ask_digest(link, target, self.options.timeout).await.ok()?;
        let said = asked.header(HeaderName::from_static("digest")).and_then(|value| std::str::from_utf8(value).ok());
        let adler32 = said.and_then(|said| {
            let mut sums = said.split(',').filter_map(|one| one.trim().split_once('='));
            sums.find(|(name, _)| name.eq_ignore_ascii_case("adler32")).map(|(_, sum)| sum.to_owned())
        });
        Some(Digest { bytes: asked.body_bytes(), adler32 })
    }

    async fn delete(&self, link: &Link, target: &Target) -> Result<(), RequestError> {
        self.ask(link, target, "DELETE", &[]).await
    }

    /// Whether a file that was renamed is found: XRootD takes the new name literally, with its `%20`.
    fn is_named(&self, link: &Link) -> Result<bool> {
        if !self.url.path().contains('%') || self.state(&self.url)?.is_some() {
            return Ok(true);
        }
        let mut literal = self.url.clone();
        literal.set_path(&self.url.path().replace('%', "%25"));
        let _ = block_on(self.delete(link, &self.target_of(&literal)?));
        Ok(false)
    }

    /// Sends the file under another name, checks and renames it. False where the server does not rename after all.
    fn put_beside(
        &self,
        link: &Link,
        file: &Finished,
        replaces: bool,
        latency: Duration,
        step: &mut dyn FnMut(Step),
    ) -> Result<bool> {
        let url = self.beside(&unfinished(&self.file_name));
        let beside = self.target_of(&url)?;
        let mut put = || {
            block_on(self.send(link, &beside, file, &[], latency))?;
            step(Step::Checking);
            self.check(link, file, &url)?;
            step(Step::Naming);
            // Not every server knows the header that says whether a file may be replaced.
            if !replaces && self.state(&self.url)?.is_some() {
                return Err(exists());
            }
            match block_on(self.rename(link, &beside, &self.url, replaces)) {
                Ok(()) => self.is_named(link),
                Err(failure) if matches!(failure.code, Some(405 | 501)) => Ok(false),
                Err(failure) if failure.code == Some(412) && !replaces => Err(exists()),
                // Some rename only to names that are free.
                Err(failure) if failure.code.is_some() && self.state(&self.url)?.is_some() => {
                    if !replaces {
                        return Err(exists());
                    }
                    block_on(self.delete(link, &self.target)).map_err(|_| failure.error)?;
                    block_on(self.rename(link, &beside, &self.url, replaces)).map_err(|failure| failure.error)?;
                    Ok(true)
                }
                Err(failure) => Err(failure.error),
            }
        };
        let outcome = put();
        if !matches!(outcome, Ok(true)) {
            // What cannot be deleted has no name that means anything.
            let _ = block_on(self.delete(link, &beside));
        }
        outcome
    }

    /// Sends the file under its own name, in one request.
    fn put_whole(
        &self,
        link: &Link,
        file: &Finished,
        replaces: bool,
        latency: Duration,
        step: &mut dyn FnMut(Step),
    ) -> Result<()> {
        let before = self.state(&self.url)?;
        if before.is_some() && !replaces {
            return Err(exists());
        }
        let only_new = [(IF_NONE_MATCH, HeaderValue::from_static("*"))];
        let headers = if replaces { &[] } else { &only_new[..] };
        let sent = block_on(self.send(link, &self.target, file, headers, latency));
        let checked = sent.and_then(|()| {
            step(Step::Checking);
            self.check(link, file, &self.url)
        });
        let Err(error) = checked else { return Ok(()) };
        if error.kind() == ErrorKind::Changed && !replaces {
            return Err(exists());
        }
        // A part of the file must not keep the name; what was there before and is whole does.
        let now = self.state(&self.url).unwrap_or_default();
        if now.is_some() && now != before {
            let _ = block_on(self.delete(link, &self.target));
        }
        Err(error)
    }
}

/// What a server says of a file that it has.
struct Digest {
    bytes: Option<u64>,
    adler32: Option<String>,
}

impl Remote for HttpUpload {
    fn name(&self) -> &str {
        &self.target.name
    }

    fn file_name(&self) -> &str {
        &self.file_name
    }

    fn exists(&self) -> Result<bool> {
        self.name_error(self.state(&self.url).map(|state| state.is_some()))
    }

    fn put(&self, file: &Finished, replaces: bool, step: &mut dyn FnMut(Step)) -> Result<()> {
        let mut put = || {
            let link = link(&self.options)?;
            let _inside = link.runtime.enter();
            let (renames, latency) = block_on(async {
                let mut retry = Retry::new(self.options.retries);
                loop {
                    match self.renames(&link).await {
                        Ok(found) => return Ok::<_, Error>(found),
                        Err(failure) if failure.again == RetryWhen::Never => return Err(failure.error),
                        Err(failure) => tokio::time::sleep(retry.after(failure, 0)?).await,
                    }
                }
            })?;
            if renames && self.put_beside(&link, file, replaces, latency, step)? {
                return Ok(());
            }
            step(Step::Sending);
            self.put_whole(&link, file, replaces, latency, step)
        };
        self.name_error(put())
    }
}
