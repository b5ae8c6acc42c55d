//! Sessions of the process, shared by the files of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use rustls::ClientConfig;
use sapwood::ErrorKind;

use super::connection::Pending;
use super::handshake::Start;
use super::session::{Session, Started, careful, fast};
use super::url::{Server, XrootdUrl};
use super::wire::Request;
use crate::NetOptions;
use crate::net::{Link, RequestError, SingleFlight, tls_config};

/// Files that share a connection; more take another one.
const FILES: usize = 64;
/// Servers that are remembered.
const SERVERS: usize = 256;

/// All servers that were spoken to with the same options.
#[derive(Debug, Default)]
pub(super) struct Pool {
    servers: Mutex<HashMap<Key, Arc<Known>>>,
    tls: OnceLock<Arc<ClientConfig>>,
}

/// What sessions are shared by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    server: Server,
    with_token: bool,
    ticket: String,
}

#[derive(Debug, Default)]
struct Known {
    sessions: SingleFlight<Vec<Arc<Session>>>,
    manner: AtomicU8,
}

/// All in one go. What a server is spoken to in only grows.
const AT_ONCE: u8 = 0;
/// Step by step: it wants TLS or a proof.
const CAREFUL: u8 = 1;
/// With TLS, so that the token can be shown.
const WITH_TOKEN: u8 = 2;

/// What is asked for by a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    File,
    /// A file that is not there yet.
    NewFile,
    /// The names in a folder.
    Folder,
    /// What is known of it.
    Stat,
    Checksum,
    /// That it goes away.
    Removal,
    /// Another name.
    Rename(&'a str),
}

impl<'a> Wanted<'a> {
    /// Whether the answer is an open file.
    pub(super) fn is_file(self) -> bool {
        matches!(self, Self::File | Self::NewFile)
    }

    fn request(self, path: &'a str) -> Request<'a> {
        match self {
            Self::File => Request::Open { path },
            Self::NewFile => Request::Create { path },
            Self::Folder => Request::List { path },
            Self::Stat => Request::StatPath { path },
            Self::Checksum => Request::Checksum { path },
            Self::Removal => Request::Remove { path },
            Self::Rename(to) => Request::Rename { from: path, to },
        }
    }
}

/// A request to open a file that is under way.
pub(super) enum Opening {
    Asked(Lease, Pending),
    /// The server sends us elsewhere before it lets us in.
    Elsewhere(Bytes),
}

/// A file's share of a session.
#[derive(Debug)]
pub(super) struct Lease(pub(super) Arc<Session>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.users().fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    /// Asks a server for what is wanted of a path: on a session that stands, or on a new one.
    pub(super) async fn open(
        &self,
        link: &Link,
        options: &NetOptions,
        place: &XrootdUrl,
        ticket: &str,
        with_token: bool,
        wanted: Wanted<'_>,
    ) -> Result<Opening, RequestError> {
        let key = Key { server: place.server.clone(), with_token, ticket: ticket.to_owned() };
        let known = self.known(key);
        let mut sessions = known.sessions.take().await?;
        sessions.retain(|session| session.connection.lives());
        let path = place.path_with_cgi();
        let asks = wanted.request(&path);
        let insists = known.manner.load(Ordering::Relaxed) == WITH_TOKEN;
        let fits =
            |session: &&Arc<Session>| (session.tls || !insists) && session.users().load(Ordering::Relaxed) < FILES;
        if let Some(session) = sessions.iter().find(fits) {
            session.users().fetch_add(1, Ordering::Relaxed);
            let pending = session.connection.ask(&asks);
            return Ok(Opening::Asked(Lease(Arc::clone(session)), pending));
        }
        let token = options.token.as_deref().filter(|_| with_token);
        let start = Start {
            runtime: link.runtime.handle(),
            server: &place.server,
            timeout: options.timeout,
            token,
            options,
            ticket,
            asks: &asks,
        };
        match self.start(start, options, &known.manner).await {
            Ok(Started::Session(session, pending)) => {
                sessions.push(Arc::clone(&session));
                Ok(Opening::Asked(Lease(session), pending))
            }
            Ok(Started::Elsewhere(body)) => Ok(Opening::Elsewhere(body)),
            Ok(Started::Careful) => Err(RequestError::later(sapwood::Error::unsupported("a login without an end"))),
            Err(failure) => {
                known.sessions.failed(&failure);
                Err(failure)
            }
        }
    }

    async fn start(&self, start: Start<'_>, options: &NetOptions, manner: &AtomicU8) -> Result<Started, RequestError> {
        if !start.server.tls && manner.load(Ordering::Relaxed) == AT_ONCE {
            match fast(start).await? {
                Started::Careful => {}
                other => return Ok(other),
            }
        }
        let tls = self.tls(options)?;
        if start.server.tls || manner.load(Ordering::Relaxed) < WITH_TOKEN {
            match careful(start, start.server.tls, Arc::clone(&tls)).await {
                // Only if it went better so: a link that broke once says nothing of the server.
                Ok(started) => {
                    manner.fetch_max(CAREFUL, Ordering::Relaxed);
                    return Ok(started);
                }
                // Many servers admit all clients without TLS; where it does not, a token may do.
                Err(failure) if may_insist(start.server, start.token.is_some(), &failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        let started = careful(start, true, tls).await?;
        manner.fetch_max(WITH_TOKEN, Ordering::Relaxed);
        Ok(started)
    }

    /// A session in the clear was let in and may not read: from now on the token is shown. False if that was so before.
    pub(super) fn insist(&self, place: &XrootdUrl, ticket: &str) -> bool {
        let key = Key { server: place.server.clone(), with_token: true, ticket: ticket.to_owned() };
        self.known(key).manner.fetch_max(WITH_TOKEN, Ordering::Relaxed) < WITH_TOKEN
    }

    fn tls(&self, options: &NetOptions) -> Result<Arc<ClientConfig>, RequestError> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let made = Arc::new(tls_config(options).map_err(RequestError::never)?);
        Ok(Arc::clone(self.tls.get_or_init(|| made)))
    }

    fn known(&self, key: Key) -> Arc<Known> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= SERVERS && !servers.contains_key(&key) {
            // Files that are open hold on to their sessions.
            servers.clear();
        }
        Arc::clone(servers.entry(key).or_default())
    }
}

/// Whether TLS and the token are still to be tried.
pub(super) fn may_insist(server: &Server, with_token: bool, failure: &RequestError) -> bool {
    with_token && !server.tls && failure.error.kind() == ErrorKind::Denied
}
