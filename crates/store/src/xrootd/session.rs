//! From a connection to a session: protocol, TLS, login, authentication.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use sapwood::{Error, ErrorKind};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{OnceCell, Semaphore};

use super::auth::{DEFAULT_USER, Means, unproved};
use super::connection::{Connection, Pending};
use super::further::Further;
use super::handshake::{Start, broke, greet, secured, unwelcome, wait, within};
use super::refusal::nonsense;
use super::url::Server;
use super::wire::numbers::{MAX_VECTOR, MAX_VECTOR_BYTES};
use super::wire::{Broken, HELLO, Offer, Protocol, Request, Status, Welcome, limits};
use crate::net::{RequestError, RetryWhen};

const ASK_LIMITS: Request<'static> = Request::Config { names: "readv_iov_max readv_ior_max" };
/// Requests of one connection that are on their way: what is asked for is memory of ours when it comes.
const IN_FLIGHT: usize = 16;

/// A connection on which files can be opened.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) tls: bool,
    /// The process that made it: a child may not speak on it.
    pub(super) process: u32,
    pub(super) permits: Semaphore,
    limits: OnceCell<(usize, u64)>,
    limits_asked: std::sync::Mutex<Option<Pending>>,
    /// Connections that have not been asked to join.
    further: std::sync::Mutex<Option<Further>>,
    /// The server refused a vector.
    no_vectors: AtomicBool,
    /// It can be read by pages with sums, and has not refused it.
    pages: AtomicBool,
}

/// How it went.
pub(super) enum Started {
    /// The session, and the answer to the open that went along.
    Session(Arc<Session>, Pending),
    /// The server sends us elsewhere instead of letting us in.
    Elsewhere(Bytes),
    /// It wants to be spoken to step by step.
    Careful,
}

impl Session {
    fn new(
        connection: Connection,
        tls: bool,
        protocol: Protocol,
        limits_asked: Pending,
        further: Option<Further>,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection,
            tls,
            process: std::process::id(),
            permits: Semaphore::new(IN_FLIGHT),
            limits: OnceCell::new(),
            limits_asked: std::sync::Mutex::new(Some(limits_asked)),
            further: std::sync::Mutex::new(further),
            no_vectors: AtomicBool::new(false),
            // What comes over TLS is compared there.
            pages: AtomicBool::new(protocol.has_pages() && !tls),
        })
    }

    /// How many ranges a vector may have, and how many bytes each.
    pub(super) async fn limits(&self, timeout: Duration) -> (usize, u64) {
        let known = self.limits.get_or_init(|| async {
            let asked = self.limits_asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let Some(mut asked) = asked else { return (MAX_VECTOR, MAX_VECTOR_BYTES) };
            match asked.whole(timeout).await {
                Ok((Status::Ok, body)) => limits(&body).unwrap_or((MAX_VECTOR, MAX_VECTOR_BYTES)),
                _ => (MAX_VECTOR, MAX_VECTOR_BYTES),
            }
        });
        let (ranges, bytes) = *known.await;
        (if self.no_vectors.load(Ordering::Relaxed) { 1 } else { ranges.min(MAX_VECTOR) }, bytes.min(MAX_VECTOR_BYTES))
    }

    /// Vectors are not answered.
    pub(super) fn knows_no_vectors(&self) {
        self.no_vectors.store(true, Ordering::Relaxed);
    }

    /// Whether single ranges are read by pages with sums.
    pub(super) fn has_pages(&self) -> bool {
        self.pages.load(Ordering::Relaxed)
    }

    /// Reads by pages are not answered.
    pub(super) fn knows_no_pages(&self) {
        self.pages.store(false, Ordering::Relaxed);
    }

    /// Connections that are to join, once.
    pub(super) fn further(&self) -> Option<Further> {
        self.further.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    pub(super) fn users(&self) -> &AtomicUsize {
        self.connection.users()
    }
}

/// All in one go: most servers admit all clients, and then hello, login and open take one round trip. Those that want
/// TLS or a proof are spoken to again, step by step.
pub(super) async fn fast(start: Start<'_>) -> Result<Started, RequestError> {
    let name = start.server.name();
    let stream = connect(start).await?;
    let there = stream.peer_addr().map_err(|error| broke(&name, error))?;
    let (from, to) = stream.into_split();
    let connection = Connection::start(start.runtime, name.clone(), from, to);
    connection.users().fetch_add(1, Ordering::Relaxed);
    let user = user(start.server);
    let requests = [
        Request::Protocol { able_tls: false, want_tls: false, joins: false },
        Request::Login { process: std::process::id(), user, ticket: start.ticket },
        start.asks.clone(),
        ASK_LIMITS,
    ];
    let Ok([mut hello, mut protocol, mut login, open, limits]) =
        <[Pending; 5]>::try_from(connection.submit(Some(&HELLO), &requests))
    else {
        return Err(nonsense(&name, Broken("a request went missing")));
    };
    short(&name, &mut hello, start.timeout).await?;
    let (Status::Ok, body) = protocol.whole(start.timeout).await? else { return Ok(Started::Careful) };
    let protocol = Protocol::read(&body).map_err(|broken| nonsense(&name, broken))?;
    let broken_off = |failure: RequestError| {
        // A server that hangs up on what it did not expect may like it slower.
        if failure.again == RetryWhen::Later && failure.error.kind() == ErrorKind::Io {
            Ok(Started::Careful)
        } else {
            Err(failure)
        }
    };
    match login.whole(start.timeout).await {
        Ok((Status::Ok, body)) => {
            let welcome = Welcome::read(&body).map_err(|broken| nonsense(&name, broken))?;
            if welcome.offers.is_empty() {
                let further = Further::of(start, there, welcome.session, None);
                return Ok(Started::Session(Session::new(connection, false, protocol, limits, further), open));
            }
            Ok(Started::Careful)
        }
        Ok((Status::Redirect, body)) => Ok(Started::Elsewhere(body)),
        Ok((Status::Wait, body)) => Err(wait(&name, &body)),
        Ok(_) => Ok(Started::Careful),
        Err(failure) => broken_off(failure),
    }
}

/// Step by step.
pub(super) async fn careful(
    start: Start<'_>,
    mut want_tls: bool,
    tls: Arc<ClientConfig>,
) -> Result<Started, RequestError> {
    let name = start.server.name();
    loop {
        let mut stream = connect(start).await?;
        let ends = stream.local_addr().and_then(|here| Ok((here, stream.peer_addr()?)));
        let ends = ends.map_err(|error| broke(&name, error))?;
        let protocol = Request::Protocol { able_tls: true, want_tls, joins: false };
        let protocol = within(&name, start.timeout, greet(&mut stream, &name, &protocol)).await?;
        if !protocol.goes_tls() {
            if start.server.tls {
                let words = format!("{name} does not support TLS");
                return Err(RequestError::never(Error::new(ErrorKind::Denied, words)));
            }
            if protocol.needs_tls() && !want_tls {
                want_tls = true; // sooner or later it would have to be
                continue;
            }
            let (from, to) = stream.into_split();
            return enter(start, Connection::start(start.runtime, name, from, to), protocol, None, ends).await;
        }
        let stream = secured(start.server, start.timeout, Arc::clone(&tls), stream).await?;
        let (from, to) = tokio::io::split(stream);
        return enter(start, Connection::start(start.runtime, name, from, to), protocol, Some(tls), ends).await;
    }
}

/// Login, proof, open.
async fn enter(
    start: Start<'_>,
    connection: Connection,
    protocol: Protocol,
    tls: Option<Arc<ClientConfig>>,
    (here, there): (SocketAddr, SocketAddr),
) -> Result<Started, RequestError> {
    let name = connection.server().to_owned();
    connection.users().fetch_add(1, Ordering::Relaxed);
    let user = user(start.server);
    let login = Request::Login { process: std::process::id(), user, ticket: start.ticket };
    let (status, body) = connection.ask(&login).whole(start.timeout).await?;
    let welcome = match status {
        Status::Ok => Welcome::read(&body).map_err(|broken| nonsense(&name, broken))?,
        Status::Redirect => return Ok(Started::Elsewhere(body)),
        status => return Err(unwelcome(&name, status, &body)),
    };
    if !welcome.offers.is_empty() {
        let means = Means {
            user,
            token: start.token,
            options: start.options,
            host: &start.server.host,
            tls: tls.is_some(),
            here,
        };
        prove(&connection, &welcome, &means, start.timeout).await?;
    }
    let pending = connection.submit(None, &[start.asks.clone(), ASK_LIMITS]);
    let Ok([open, limits]) = <[Pending; 2]>::try_from(pending) else {
        return Err(nonsense(&name, Broken("a request went missing")));
    };
    let is_tls = tls.is_some();
    let further = Further::of(start, there, welcome.session, tls);
    Ok(Started::Session(Session::new(connection, is_tls, protocol, limits, further), open))
}

/// Authenticates by the first of the server's offers that succeeds.
async fn prove(
    connection: &Connection,
    welcome: &Welcome,
    means: &Means<'_>,
    timeout: Duration,
) -> Result<(), RequestError> {
    let mut reasons: Vec<(String, String)> = Vec::new();
    let mut is_trusted = true;
    for offer in &welcome.offers {
        // A method that failed is not tried again, however often it is offered.
        if reasons.iter().any(|(name, _)| *name == offer.name) {
            continue;
        }
        match prove_by(connection, offer, means, timeout).await {
            Ok(()) => return Ok(()),
            Err(Failed::Reason(reason)) => reasons.push((offer.name.clone(), reason)),
            Err(Failed::Trust(reason)) => {
                is_trusted = false;
                reasons.push((offer.name.clone(), reason));
            }
            // Some hang up after a proof that they did not like.
            Err(Failed::Connection(failure)) if !reasons.is_empty() && failure.again == RetryWhen::Later => {
                reasons.push((offer.name.clone(), with_source(&failure.error)));
                break;
            }
            Err(Failed::Connection(failure)) => return Err(failure),
        }
    }
    Err(RequestError::never(unproved(connection.server(), is_trusted, &welcome.offers, &reasons)))
}

/// Why an offer did not do.
enum Failed {
    /// Words for the error.
    Reason(String),
    /// The server did not show that it is the one that was named.
    Trust(String),
    Connection(RequestError),
}

/// Authenticates by one offer, round by round.
async fn prove_by(connection: &Connection, offer: &Offer, means: &Means<'_>, timeout: Duration) -> Result<(), Failed> {
    let reason = |error: Error| Failed::Reason(with_source(&error));
    let mut proof = means.proof(offer).map_err(reason)?;
    loop {
        let request = Request::Auth { protocol: &offer.name, proof: &proof.bytes };
        match connection.ask(&request).whole(timeout).await.map_err(Failed::Connection)? {
            (Status::Ok, _) => return Ok(()),
            (Status::AuthMore, body) => match &mut proof.more {
                // Its steps are counted, and so are the rounds.
                Some(gsi) => {
                    let answer = gsi.answer(&body);
                    let is_trusted = gsi.is_trusted();
                    let failed = |error| if is_trusted { reason(error) } else { Failed::Trust(with_source(&error)) };
                    proof.bytes = answer.map_err(failed)?;
                }
                None => return Err(Failed::Reason("the server asks for more than there is".to_owned())),
            },
            (status, body) => {
                return Err(reason(unwelcome(connection.server(), status, &body).error));
            }
        }
    }
}

/// An error in words, and what lay beneath.
fn with_source(error: &Error) -> String {
    let file = error.place().file.as_deref().map_or_else(String::new, |file| format!(" ({file})"));
    match std::error::Error::source(error) {
        Some(source) => format!("{}{file}: {source}", error.message()),
        None => format!("{}{file}", error.message()),
    }
}

fn user(server: &Server) -> &str {
    if server.user.is_empty() { DEFAULT_USER } else { &server.user }
}

/// A connection to the first address that takes one.
async fn connect(start: Start<'_>) -> Result<TcpStream, RequestError> {
    let name = start.server.name();
    let refused = |error: std::io::Error| {
        let kind = if error.kind() == std::io::ErrorKind::TimedOut { ErrorKind::TimedOut } else { ErrorKind::Io };
        RequestError::later(Error::new(kind, format!("no connection to {name}")).because(error))
    };
    let found = lookup_host((start.server.host.as_str(), start.server.port));
    let addresses = match tokio::time::timeout(start.timeout, found).await {
        Ok(found) => found.map_err(refused)?,
        Err(_) => return Err(RequestError::late(&name, start.timeout)),
    };
    let mut failure = None;
    for address in addresses.take(8) {
        match tokio::time::timeout(start.timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are whole when they are written; none waits for a next.
                stream.set_nodelay(true).map_err(refused)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = Some(refused(error)),
            Err(_) => failure = Some(RequestError::late(&name, start.timeout)),
        }
    }
    Err(failure.unwrap_or_else(|| RequestError::later(Error::new(ErrorKind::Io, format!("{name} has no address")))))
}

/// An answer that has to be good.
async fn short(name: &str, pending: &mut Pending, timeout: Duration) -> Result<Bytes, RequestError> {
    match pending.whole(timeout).await? {
        (Status::Ok, body) => Ok(body),
        (status, body) => Err(unwelcome(name, status, &body)),
    }
}
