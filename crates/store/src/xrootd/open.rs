//! Opening a file, from server to server until one has it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sapwood::{Error, ErrorKind, Result};

use super::connection::{Pending, WAITS};
use super::handshake::wait;
use super::pool::{Lease, Opening, Pool, Wanted, may_insist};
use super::refusal::{elsewhere, nonsense, refused};
use super::session::Session;
use super::streams::widen;
use super::url::{Tried, XrootdUrl, may_see_token};
use super::wire::{Forward, Handle, OpenFile, Refusal, Request, Stat, Status};
use crate::NetOptions;
use crate::net::{Link, RequestError, RetryWhen};

/// How often a file may be elsewhere.
const REDIRECTIONS: usize = 16;

/// An open file. It is closed when this is dropped.
#[derive(Debug)]
pub(super) struct Opened {
    lease: Lease,
    pub(super) handle: Handle,
    pub(super) stat: Stat,
    /// Where it was found.
    pub(super) host: String,
    /// From the request to the answer.
    pub(super) latency: Option<Duration>,
    /// When it was compared with what is known of it.
    checked: Mutex<Instant>,
    /// It was closed, and its handle may be another file's.
    closed: AtomicBool,
}

impl Opened {
    pub(super) fn session(&self) -> &Session {
        &self.lease.0
    }

    /// Whether it is time to look if the file is what it was. Times of change have seconds.
    pub(super) fn is_due(&self) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let due = checked.elapsed() >= Duration::from_secs(1);
        if due {
            *checked = Instant::now();
        }
        due
    }

    /// Whether it can be read still, in this process.
    pub(super) fn lives(&self) -> bool {
        self.is_ours() && self.session().connection.lives()
    }

    /// It was closed.
    pub(super) fn is_closed(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Whether this process made it: what a parent opened is not touched.
    pub(super) fn is_ours(&self) -> bool {
        self.session().process == std::process::id()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Relaxed) && self.lives() {
            // The answer is not awaited.
            drop(self.session().connection.ask(&Request::Close { handle: self.handle }));
        }
    }
}

/// What was asked for.
pub(super) enum Found {
    File(Opened),
    /// The answer, as it was sent.
    Answer(Bytes),
}

/// What is needed to open a file, or to ask something else about a path.
pub(super) struct Opener<'a> {
    pub(super) link: &'a Link,
    pub(super) options: &'a NetOptions,
    pub(super) named: &'a XrootdUrl,
}

/// What a server said.
enum Said {
    Here(Found),
    Elsewhere(Forward),
    Wait(RequestError, Duration),
}

/// A server that sent us on.
struct Manager {
    place: XrootdUrl,
    ticket: String,
    tls: bool,
}

impl Opener<'_> {
    /// Opens the file wherever it is. `avoid` are servers that did not do before; those that send us elsewhere look for
    /// others.
    pub(super) async fn open(&self, avoid: &[Tried]) -> Result<Opened, RequestError> {
        self.find_file(avoid, Wanted::File).await
    }

    /// Makes a file that is not there yet, wherever the server wants it.
    pub(super) async fn create(&self) -> Result<Opened, RequestError> {
        self.find_file(&[], Wanted::NewFile).await
    }

    async fn find_file(&self, avoid: &[Tried], wanted: Wanted<'_>) -> Result<Opened, RequestError> {
        match self.find(avoid, wanted).await? {
            Found::File(opened) => Ok(opened),
            Found::Answer(_) => Err(RequestError::never(Error::internal("an answer where a file was asked for"))),
        }
    }

    /// What the server that is found first answers.
    pub(super) async fn ask_for(&self, wanted: Wanted<'_>) -> Result<Bytes, RequestError> {
        match self.find(&[], wanted).await? {
            Found::Answer(body) => Ok(body),
            Found::File(_) => Err(RequestError::never(Error::internal("a file where an answer was asked for"))),
        }
    }

    async fn find(&self, avoid: &[Tried], wanted: Wanted<'_>) -> Result<Found, RequestError> {
        let pool = self.link.keep::<Pool>();
        let mut tried = avoid.to_vec();
        let mut place = self.named.without(&tried);
        let (mut ticket, mut tls_all_along) = (String::new(), true);
        let mut managers: Vec<Manager> = Vec::new();
        let mut first: Option<RequestError> = None;
        let (mut hops, mut failed) = (0, Vec::new());
        let began = Instant::now();
        loop {
            let with_token =
                self.options.token.is_some() && may_see_token(&self.named.server, &place.server, tls_all_along);
            let said = self.ask(&pool, &place, &ticket, with_token, wanted).await;
            let failure = match said {
                Ok((Said::Here(found), _)) => return Ok(found),
                Ok((Said::Elsewhere(forward), tls)) => {
                    hops += 1;
                    let next = place.follow(&forward).map_err(RequestError::never)?;
                    // A manager that does not listen knows no other.
                    if failed.contains(&next.server)
                        && let Some(first) = first
                    {
                        return Err(first);
                    }
                    if hops > REDIRECTIONS {
                        let words = format!("{}: too many redirects (limit {REDIRECTIONS})", place.server.name());
                        return Err(RequestError::never(Error::new(ErrorKind::Io, words)));
                    }
                    managers.push(Manager { place, ticket, tls: tls_all_along });
                    (place, ticket, tls_all_along) = (next, forward.ticket, tls_all_along && tls);
                    continue;
                }
                Ok((Said::Wait(failure, pause), _)) => {
                    if began.elapsed() + pause > self.options.timeout * WAITS {
                        return Err(RequestError { again: RetryWhen::Never, ..failure });
                    }
                    tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
                    continue;
                }
                Err(failure) => failure,
            };
            if may_insist(&place.server, with_token, &failure) && failure.code.is_some() && pool.insist(&place, &ticket)
            {
                continue;
            }
            // The server that redirected us may know another.
            let (Some(why), Some(manager)) = (elsewhere(&failure), managers.pop()) else {
                return Err(better(first, failure));
            };
            hops += 1;
            if hops > REDIRECTIONS {
                return Err(better(first, failure));
            }
            let host = place.server.host.clone();
            failed.push(place.server);
            tried.push(Tried { host, why });
            first.get_or_insert(failure);
            place = manager.place.without(&tried);
            (ticket, tls_all_along) = (manager.ticket, manager.tls);
        }
    }

    /// Asks one server, and says whether over TLS.
    async fn ask(
        &self,
        pool: &Pool,
        place: &XrootdUrl,
        ticket: &str,
        token: bool,
        wanted: Wanted<'_>,
    ) -> Result<(Said, bool), RequestError> {
        let name = place.server.name();
        let (lease, mut pending) = match pool.open(self.link, self.options, place, ticket, token, wanted).await? {
            Opening::Asked(lease, pending) => (lease, pending),
            Opening::Elsewhere(body) => return Ok((Said::Elsewhere(forward(&name, &body)?), false)),
        };
        let tls = lease.0.tls;
        let (status, body) = pending.whole(self.options.timeout).await?;
        let said = match status {
            Status::Ok if !wanted.is_file() => Said::Here(Found::Answer(body)),
            Status::Ok => {
                let open = OpenFile::read(&body).map_err(|broken| nonsense(&name, broken))?;
                let latency = pending.alone.then(|| pending.sent.elapsed());
                // Not before: servers answer a login first, and know of it a moment later.
                widen(&lease.0, self.link.runtime.handle());
                Said::Here(Found::File(self.opened(&name, lease, open, latency).await?))
            }
            Status::Redirect => Said::Elsewhere(forward(&name, &body)?),
            Status::Wait => {
                let failure = wait(&name, &body);
                let RetryWhen::After(pause) = failure.again else { return Err(failure) };
                Said::Wait(failure, pause)
            }
            Status::Error => {
                let refusal = Refusal::read(&body).map_err(|broken| nonsense(&name, broken))?;
                let mut failure = refused(&name, &refusal);
                if !place.path.starts_with('/') {
                    failure.error = failure.error.because("the path begins with no slash: root://host//path has two");
                }
                return Err(failure);
            }
            _ => return Err(nonsense(&name, super::wire::Broken("an answer that belongs to something else"))),
        };
        Ok((said, tls))
    }

    async fn opened(
        &self,
        name: &str,
        lease: Lease,
        open: OpenFile,
        latency: Option<Duration>,
    ) -> Result<Opened, RequestError> {
        let stat = match open.stat {
            Some(stat) => stat,
            None => {
                let mut pending: Pending = lease.0.connection.ask(&Request::Stat { handle: open.handle });
                match pending.whole(self.options.timeout).await? {
                    (Status::Ok, body) => Stat::read(&body).map_err(|broken| nonsense(name, broken))?,
                    (Status::Error, body) => {
                        let refusal = Refusal::read(&body).map_err(|broken| nonsense(name, broken))?;
                        return Err(refused(name, &refusal));
                    }
                    (Status::Wait, body) => return Err(wait(name, &body)),
                    _ => return Err(nonsense(name, super::wire::Broken("no answer to what a file is"))),
                }
            }
        };
        if stat.is_no_file() {
            return Err(RequestError::never(Error::mismatch(format!("{name} has a folder there, and no file"))));
        }
        Ok(Opened {
            lease,
            handle: open.handle,
            stat,
            host: name.to_owned(),
            latency,
            checked: Mutex::new(Instant::now()),
            closed: AtomicBool::new(false),
        })
    }
}

fn forward(name: &str, body: &Bytes) -> Result<Forward, RequestError> {
    Forward::read(body).map_err(|broken| nonsense(name, broken))
}

/// A manager says only that it knows no other: what went wrong before says more.
fn better(first: Option<RequestError>, last: RequestError) -> RequestError {
    match first {
        Some(first) if last.error.kind() == ErrorKind::NotFound || last.again == RetryWhen::Never => first,
        _ => last,
    }
}
