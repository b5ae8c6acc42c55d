//! Connections: how many there may be, and how each is served.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use sapwood::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::write_timeout::WriteTimeout;

/// The head of a request, and what is written at once.
const BUFFER_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
/// Connections beyond the limit that are told so; those beyond these are closed.
const REFUSALS: usize = 64;
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// Connections that have sent nothing. They do not count as connections, and the oldest is closed for the next one.
const MAX_SILENT: usize = 256;
/// How long a connection may send nothing.
const SILENT_TIME: Duration = Duration::from_secs(10);

/// A body of any answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Error>;

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Accepted,
    Ended,
    Refused,
}

/// What answers the requests of all connections.
pub(crate) trait Handle: Send + Sync + 'static {
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;

    /// The answer for connections beyond the limit.
    fn busy(&self) -> Response<Body>;

    fn note(&self, _event: Event) {}
}

/// Accepts connections.
pub(crate) struct Acceptor<H> {
    handler: Arc<H>,
    tls: Option<TlsAcceptor>,
    permits: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    silent: Mutex<VecDeque<AbortHandle>>,
    idle: Duration,
    stopped: watch::Receiver<bool>,
}

impl<H: Handle> Acceptor<H> {
    /// At most as many connections as `permits` has, each for as long as it is not idle for `idle`.
    pub(crate) fn new(
        handler: Arc<H>,
        tls: Option<TlsAcceptor>,
        permits: Arc<Semaphore>,
        idle: Duration,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        Self { handler, tls, permits, refusals, silent: Mutex::default(), idle, stopped }
    }

    pub(crate) async fn accept(self, listener: tokio::net::TcpListener) {
        let acceptor = Arc::new(self);
        let mut stopped = acceptor.stopped.clone();
        loop {
            let accepted = match select(pin!(listener.accept()), pin!(stopped.changed())).await {
                Either::Left((accepted, _)) => accepted,
                Either::Right(_) => return,
            };
            match accepted {
                Ok((stream, _)) => acceptor.await_first_byte(stream),
                // Out of files, or a client that left: the next may do.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Receives a connection once it has sent something: those that never do cannot keep others out.
    fn await_first_byte(self: &Arc<Self>, stream: TcpStream) {
        let acceptor = Arc::clone(self);
        let waiting = tokio::spawn(async move {
            let mut stopped = acceptor.stopped.clone();
            let mut first = [0];
            let has_sent = {
                let sent = timeout(acceptor.idle.min(SILENT_TIME), stream.peek(&mut first));
                matches!(select(pin!(sent), pin!(stopped.changed())).await, Either::Left((Ok(Ok(1)), _)))
            };
            if has_sent {
                acceptor.receive(stream);
            }
        });
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if silent.len() >= MAX_SILENT {
            silent.retain(|waiting| !waiting.is_finished());
        }
        if silent.len() >= MAX_SILENT
            && let Some(oldest) = silent.pop_front()
        {
            oldest.abort();
        }
        silent.push_back(waiting.abort_handle());
    }

    fn receive(self: &Arc<Self>, stream: TcpStream) {
        let acceptor = Arc::clone(self);
        let _ = stream.set_nodelay(true);
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            self.handler.note(Event::Accepted);
            tokio::spawn(async move {
                acceptor.secure(stream, true).await;
                acceptor.handler.note(Event::Ended);
                drop(permit);
            });
            return;
        }
        self.handler.note(Event::Refused);
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = timeout(REFUSAL_TIME, acceptor.secure(stream, false)).await;
                drop(permit);
            });
        }
    }

    async fn secure(&self, stream: TcpStream, admitted: bool) {
        let stream = WriteTimeout::new(stream, self.idle);
        match &self.tls {
            None => self.serve(stream, admitted).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(self.idle, tls.accept(stream)).await {
                    self.serve(stream, admitted).await;
                }
            }
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S, admitted: bool) {
        let handler = service_fn(|request| async move {
            let response = if admitted { self.handler.respond(request).await } else { self.handler.busy() };
            Ok::<_, Infallible>(response)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_buf_size(BUFFER_BYTES)
            .max_headers(MOST_HEADERS)
            // Old clients know headers in this spelling alone.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), handler);
        let mut connection = pin!(connection);
        let mut stopped = self.stopped.clone();
        // A client that leaves, or is too slow, is no error of the server.
        if let Either::Right(_) = select(connection.as_mut(), pin!(stopped.changed())).await {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
