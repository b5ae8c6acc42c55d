//! The first words with a client: that it speaks this protocol, in which version, and whether with TLS.

use sapwood_store::xrootd_numbers::{HELLO, VERSION, code, request, server, status};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::frame::{Head, head};
use super::request::Request;
use super::service::Service;
use super::writer::Wire;
use crate::write_timeout::WriteTimeout;

/// A connection after its first words.
pub(super) struct Greeted {
    pub(super) wire: Box<dyn Wire>,
    pub(super) is_tls: bool,
    /// A request that was read already.
    pub(super) next: Option<Head>,
}

/// Answers the first words; none if the client does not speak this protocol, or needs TLS and has none.
pub(super) async fn greet(service: &Service, mut stream: WriteTimeout<TcpStream>) -> Option<Greeted> {
    let mut hello = [0; HELLO.len()];
    stream.read_exact(&mut hello).await.ok()?;
    if hello != HELLO {
        return None;
    }
    let answer = [&head([0, 0], status::OK, 8)[..], &VERSION.to_be_bytes(), &server::DATA.to_be_bytes()].concat();
    stream.write_all(&answer).await.ok()?;
    let mut bytes = [0; Head::BYTES];
    stream.read_exact(&mut bytes).await.ok()?;
    let first = Head::read(&bytes);
    let asked = match first.number {
        request::PROTOCOL if first.bytes == 0 => Request::read(&first, Vec::new()).ok()?,
        // Old clients log in at once.
        _ => return Some(Greeted { wire: Box::new(stream), is_tls: false, next: Some(first) }),
    };
    let Request::Protocol { able_tls, wants_tls } = asked else { return None };
    let must = service.gate.needs_tls(&service.files.access);
    if must && !able_tls {
        let words = "this proxy is reached by roots:// (TLS) alone\0";
        let data = [&code::TLS_REQUIRED.to_be_bytes(), words.as_bytes()].concat();
        stream.write_all(&[&head(first.stream, status::ERROR, data.len())[..], &data].concat()).await.ok()?;
        return None;
    }
    let tls = service.tls.as_ref().filter(|_| wants_tls || must);
    stream.write_all(&protocol(service, first.stream, tls.is_some())).await.ok()?;
    let wire: Box<dyn Wire> = match tls {
        None => Box::new(stream),
        Some(tls) => Box::new(tls.accept(stream).await.ok()?),
    };
    Some(Greeted { wire, is_tls: tls.is_some(), next: None })
}

/// The answer to a request for the protocol.
pub(super) fn protocol(service: &Service, stream: [u8; 2], goes_tls: bool) -> Vec<u8> {
    let mut flags = server::DATA | server::PAGES;
    if service.tls.is_some() {
        flags |= server::HAVE_TLS;
    }
    if service.gate.needs_tls(&service.files.access) {
        flags |= server::TLS_LOGIN | server::TLS_SESSION | server::TLS_DATA;
    }
    if goes_tls {
        flags |= server::GO_TLS;
    }
    [&head(stream, status::OK, 8)[..], &VERSION.to_be_bytes(), &flags.to_be_bytes()].concat()
}
