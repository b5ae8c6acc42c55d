//! The first words with a server, before there is a session: protocol and TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::refusal::{nonsense, refused};
use super::url::Server;
use super::wire::{Broken, HEAD_BYTES, HELLO, Head, Protocol, Refusal, Request, Status, wait_seconds};
use crate::NetOptions;
use crate::net::{RequestError, RetryWhen};

/// What is needed to make one.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) runtime: &'a Handle,
    pub(super) server: &'a Server,
    pub(super) timeout: Duration,
    pub(super) token: Option<&'a str>,
    /// Where files with keys and certificates are, and the like.
    pub(super) options: &'a NetOptions,
    pub(super) ticket: &'a str,
    /// What is asked for as soon as that can be done.
    pub(super) asks: &'a Request<'a>,
}

/// The same stream, with TLS.
pub(super) async fn secured(
    server: &Server,
    timeout: Duration,
    tls: Arc<ClientConfig>,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, RequestError> {
    let domain = ServerName::try_from(server.host.clone());
    let domain = domain.map_err(|error| RequestError::never(Error::mismatch("no name of a host").because(error)))?;
    match tokio::time::timeout(timeout, TlsConnector::from(tls).connect(domain, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(untrusted(&server.name(), error)),
        Err(_) => Err(RequestError::late(&server.name(), timeout)),
    }
}

/// Hello and protocol, the first messages on a connection.
pub(super) async fn greet(
    stream: &mut TcpStream,
    name: &str,
    protocol: &Request<'_>,
) -> Result<Protocol, RequestError> {
    let mut bytes = HELLO.to_vec();
    protocol.put(1, &mut bytes);
    stream.write_all(&bytes).await.map_err(|error| broke(name, error))?;
    // Only what belongs to these answers is read: what follows may be TLS.
    answered(stream, name, 0).await?;
    let body = answered(stream, name, 1).await?;
    Protocol::read(&body).map_err(|broken| nonsense(name, broken))
}

/// The good answer of this number, before there are others.
pub(super) async fn answered(
    from: &mut (impl AsyncRead + Unpin),
    name: &str,
    wanted: u16,
) -> Result<Vec<u8>, RequestError> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head).await.map_err(|error| broke(name, error))?;
    let head = Head::read(head).map_err(|broken| nonsense(name, broken))?;
    if head.bytes > 4096 || head.stream != wanted {
        return Err(nonsense(name, Broken("it does not speak this protocol")));
    }
    let mut body = vec![0; head.bytes as usize];
    from.read_exact(&mut body).await.map_err(|error| broke(name, error))?;
    if head.status != Status::Ok {
        return Err(unwelcome(name, head.status, &body));
    }
    Ok(body)
}

pub(super) async fn within<T>(
    name: &str,
    timeout: Duration,
    work: impl Future<Output = Result<T, RequestError>>,
) -> Result<T, RequestError> {
    tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| Err(RequestError::late(name, timeout)))
}

/// The connection broke.
pub(super) fn broke(name: &str, error: std::io::Error) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("the connection to {name} broke")).because(error))
}

/// No TLS with this one. A certificate is no better the second time; a link may be.
fn untrusted(name: &str, error: std::io::Error) -> RequestError {
    let of_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    let made = Error::new(if of_tls { ErrorKind::Denied } else { ErrorKind::Io }, format!("no TLS with {name}"));
    let made = made.because(error);
    if of_tls { RequestError::never(made) } else { RequestError::later(made) }
}

/// An answer to a login or a proof that is none of those that let us in.
pub(super) fn unwelcome(name: &str, status: Status, body: &[u8]) -> RequestError {
    match status {
        Status::Error => match Refusal::read(body) {
            Ok(refusal) => refused(name, &refusal),
            Err(broken) => nonsense(name, broken),
        },
        Status::Wait => wait(name, body),
        _ => nonsense(name, Broken("an answer that belongs to something else")),
    }
}

/// The server says when to come again.
pub(super) fn wait(name: &str, body: &[u8]) -> RequestError {
    let seconds = match wait_seconds(body) {
        Ok(seconds) => Duration::from_secs(seconds.into()),
        Err(broken) => return nonsense(name, broken),
    };
    let error = Error::new(ErrorKind::TimedOut, format!("{name} asks to wait for {} s", seconds.as_secs()));
    RequestError { error, again: RetryWhen::After(seconds), code: None }
}
