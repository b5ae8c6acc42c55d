//! A connection: takes requests in their order, a limited number at a time, and ends when the client does, or sends
//! nothing for too long.

use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use sapwood_store::xrootd_numbers::{code, status};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, ReadHalf, split};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::auth::{Door, From};
use super::bound;
use super::exchange::{Exchange, fail};
use super::frame::{Head, StreamId, head};
use super::greeting::{Greeted, protocol};
use super::request::{MAX_DATA, Request};
use super::service::Service;
use super::session::{Session, SessionId};
use super::trouble::Trouble;
use super::writer::{Wire, Writer};
use crate::access::Secret;

/// Requests of one connection that are being answered.
const IN_FLIGHT: usize = 16;
/// A request that has begun has to be complete after so long.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Clients that have files open may be silent for so long: analyses compute between two reads.
const OPEN_IDLE: Duration = Duration::from_secs(1800);
/// Proofs that a client may try.
const PROOFS: u32 = 4;

/// How far a client has come.
enum State {
    New,
    /// It has to prove who it is. The session will have this name.
    Proving(SessionId, u32),
    In(Arc<Session>),
}

/// The next news from a client.
enum More {
    Bytes,
    /// Nothing came for too long.
    Nothing,
    End,
}

/// The connection goes on, or it ends.
type Next = Result<(), Trouble>;

/// A connection of a client.
pub(super) struct Connection {
    service: Arc<Service>,
    reader: BufReader<ReadHalf<Box<dyn Wire>>>,
    writer: Arc<Writer>,
    is_tls: bool,
    admitted: bool,
    peer: SocketAddr,
    here: SocketAddr,
    state: State,
    /// A request that was read already.
    next: Option<Head>,
    in_flight: Arc<Semaphore>,
    answers: JoinSet<()>,
}

impl Connection {
    pub(super) fn new(
        service: Arc<Service>,
        greeted: Greeted,
        admitted: bool,
        peer: SocketAddr,
        here: SocketAddr,
    ) -> Self {
        let Greeted { wire, is_tls, next } = greeted;
        let (reader, writer) = split(wire);
        Self {
            service,
            reader: BufReader::new(reader),
            writer: Arc::new(Writer::new(writer)),
            is_tls,
            admitted,
            peer,
            here,
            state: State::New,
            next,
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT)),
            answers: JoinSet::new(),
        }
    }

    /// Answers requests until the client ends, or the proxy does: then what was asked for is still answered.
    pub(super) async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let is_stopped = {
            let requests = pin!(self.requests());
            matches!(select(requests, pin!(stopped.changed())).await, Either::Right(_))
        };
        if is_stopped {
            while self.answers.join_next().await.is_some() {}
        }
        if let State::In(session) = &self.state {
            self.service.sessions.forget(&session.id);
            session.end();
        }
    }

    async fn requests(&mut self) {
        loop {
            let room = pin!(Arc::clone(&self.in_flight).acquire_owned());
            let permit = match select(room, pin!(self.writer.broke())).await {
                Either::Left((Ok(permit), _)) => permit,
                _ => return,
            };
            while self.answers.try_join_next().is_some() {}
            let Some(head) = self.head().await else { return };
            let handled = match self.data(&head).await {
                Ok(data) => self.handle(&head, data, permit).await,
                Err(trouble) => self.part(head.stream, trouble).await,
            };
            if handled.is_err() {
                return;
            }
        }
    }

    /// The head of the next request; `None` at the end.
    async fn head(&mut self) -> Option<Head> {
        if let Some(head) = self.next.take() {
            return Some(head);
        }
        let since = Instant::now();
        loop {
            match self.more().await {
                More::Bytes => break,
                More::Nothing if self.may_be_silent(since.elapsed()) => {}
                More::Nothing | More::End => return None,
            }
        }
        let mut bytes = [0; Head::BYTES];
        timeout(self.service.idle.min(REQUEST_TIME), self.reader.read_exact(&mut bytes)).await.ok()?.ok()?;
        Some(Head::read(&bytes))
    }

    /// Waits for more bytes, for as long as any client may send nothing.
    async fn more(&mut self) -> More {
        let mut ended = match &self.state {
            State::In(session) => Some(session.ended()),
            _ => None,
        };
        let ended = pin!(async {
            match &mut ended {
                Some(ended) => drop(ended.wait_for(|ended| *ended).await),
                None => pending().await,
            }
        });
        let broke = pin!(self.writer.broke());
        let more = pin!(timeout(self.service.idle, self.reader.fill_buf()));
        match select(more, select(broke, ended)).await {
            Either::Left((Ok(Ok(bytes)), _)) if !bytes.is_empty() => More::Bytes,
            Either::Left((Err(_), _)) => More::Nothing,
            _ => More::End,
        }
    }

    /// Whether a client that has sent nothing for so long is kept.
    fn may_be_silent(&self, since: Duration) -> bool {
        let has_open = matches!(&self.state, State::In(session) if !session.files.is_empty());
        // The loop holds one permit itself.
        let is_answering = self.in_flight.available_permits() < IN_FLIGHT - 1;
        is_answering || (has_open && since < OPEN_IDLE)
    }

    /// The data of a request.
    async fn data(&mut self, head: &Head) -> Result<Vec<u8>, Trouble> {
        let length = usize::try_from(head.bytes);
        let length = length.map_err(|_| Trouble::refused(code::INVALID_ARGUMENT, "a request of a negative length"))?;
        if length > MAX_DATA {
            return Err(Trouble::refused(code::ARGUMENT_TOO_LONG, format!("more than {MAX_DATA} bytes in a request")));
        }
        let mut data = vec![0; length];
        match timeout(self.service.idle.min(REQUEST_TIME), self.reader.read_exact(&mut data)).await {
            Ok(Ok(_)) => Ok(data),
            _ => Err(Trouble::Lost),
        }
    }

    /// Answers a request, or lets it be answered.
    async fn handle(&mut self, head: &Head, data: Vec<u8>, permit: OwnedSemaphorePermit) -> Next {
        let stream = head.stream;
        let request = Request::read(head, data);
        let session = match (&self.state, request) {
            (_, Ok(Request::Protocol { .. })) => {
                return self.writer.send(&[], protocol(&self.service, stream, false).into()).await;
            }
            (State::New, Ok(Request::Login)) => return self.login(stream).await,
            (State::New, Ok(Request::Bind { session })) => return self.bind(stream, &session).await,
            (State::Proving(id, tries), Ok(Request::Auth { kind, proof })) => {
                return self.prove(stream, *id, *tries, kind, &proof).await;
            }
            (State::In(own), Ok(Request::End { session })) => {
                let is_own = own.id == session;
                // After a broken connection clients end their old session, which may be gone.
                let is_theirs = |other: &Arc<Session>| other.peer == self.peer.ip() && (self.is_tls || !other.is_tls);
                if let Some(other) = self.service.sessions.get(&session).filter(is_theirs) {
                    other.end();
                }
                self.ok(stream, Bytes::new()).await?;
                return if is_own { Err(Trouble::Lost) } else { Ok(()) };
            }
            (State::In(_), Ok(Request::Login | Request::Bind { .. } | Request::Auth { .. })) => {
                let words = "the session is logged in already";
                return fail(&self.writer, stream, Trouble::refused(code::INVALID_REQUEST, words)).await;
            }
            (State::In(session), request) => (Arc::clone(session), request),
            (State::Proving(..), _) => {
                return self.part(stream, Trouble::refused(code::AUTH_FAILED, "authentication is required")).await;
            }
            (State::New, _) => {
                return self.part(stream, Trouble::refused(code::INVALID_REQUEST, "a login is required")).await;
            }
        };
        let (session, request) = session;
        let handles = request.as_ref().map(Request::handles).unwrap_or_default();
        let files = handles.into_iter().filter_map(|handle| Some((handle, session.files.get(handle)?))).collect();
        let here = host(self.here);
        let exchange = Exchange {
            service: Arc::clone(&self.service),
            session,
            writer: Arc::clone(&self.writer),
            stream,
            here,
            files,
            begun: false,
        };
        self.answers.spawn(async move {
            // A client that cannot be reached is found by the connection.
            let _ = exchange.answer(request).await;
            drop(permit);
        });
        Ok(())
    }

    async fn login(&mut self, stream: StreamId) -> Next {
        if !self.admitted {
            return self.part(stream, Trouble::refused(code::OVERLOADED, "the proxy has too many connections")).await;
        }
        let Some(id) = self.service.new_id() else {
            return self.part(stream, Trouble::refused(code::SERVER, "the system has no random numbers")).await;
        };
        let mut answer = id.to_vec();
        match self.service.gate.door(&self.service.files.access, self.is_tls) {
            Door::Open => self.enter(id, Secret::None),
            Door::Prove(offers) => {
                self.state = State::Proving(id, 0);
                answer.extend(offers.as_bytes());
                answer.push(0);
            }
            Door::NeedsTls => {
                let words = "this proxy is reached by roots:// (TLS) alone";
                return self.part(stream, Trouble::refused(code::TLS_REQUIRED, words)).await;
            }
        }
        self.ok(stream, answer.into()).await
    }

    async fn prove(&mut self, stream: StreamId, id: SessionId, tries: u32, kind: [u8; 4], proof: &[u8]) -> Next {
        let service = Arc::clone(&self.service);
        let from = From { peer: self.peer.ip(), is_tls: self.is_tls };
        if let Some(secret) = service.gate.admit(&service.files.access, kind, proof, &from) {
            self.enter(id, secret);
            return self.ok(stream, Bytes::new()).await;
        }
        let refused = Trouble::refused(code::AUTH_FAILED, "the proof is not accepted");
        if tries + 1 >= PROOFS {
            return self.part(stream, refused).await;
        }
        self.state = State::Proving(id, tries + 1);
        fail(&self.writer, stream, refused).await
    }

    fn enter(&mut self, id: SessionId, secret: Secret) {
        let session = self.service.sessions.begin(id, secret, self.is_tls, self.peer.ip());
        self.state = State::In(session);
    }

    /// Serves a session that began elsewhere, until it or the connection ends.
    async fn bind(&mut self, stream: StreamId, session: &SessionId) -> Next {
        if !self.admitted {
            return self.part(stream, Trouble::refused(code::OVERLOADED, "the proxy has too many connections")).await;
        }
        let session = self.service.sessions.get(session).filter(|session| session.peer == self.peer.ip());
        let Some(session) = session else {
            return self.part(stream, Trouble::refused(code::NOT_FOUND, "the session is unknown")).await;
        };
        if session.is_tls && !self.is_tls {
            return self.part(stream, Trouble::refused(code::TLS_REQUIRED, "the session needs TLS")).await;
        }
        bound::serve(&session, stream, &self.writer, &mut self.reader).await
    }

    async fn ok(&self, stream: StreamId, data: Bytes) -> Next {
        self.writer.send(&head(stream, status::OK, data.len()), data).await
    }

    /// Sends the reason why the connection ends, and ends it.
    async fn part(&self, stream: StreamId, trouble: Trouble) -> Next {
        fail(&self.writer, stream, trouble).await?;
        Err(Trouble::Lost)
    }
}

/// An end of a connection as other programs write it.
fn host(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}
