//! Connections of http.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
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
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::connections::{Event, Speak};
use crate::write_timeout::WriteTimeout;

/// The head of a request, and what is written at once.
const BUFFER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

/// A body of any answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Error>;

/// Answers the requests of all connections.
pub(crate) trait Handle: Send + Sync + 'static {
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;

    /// The answer for connections beyond the limit.
    fn busy(&self) -> Response<Body>;

    fn note(&self, _event: Event) {}
}

/// Speaks http, with TLS if there is a certificate.
pub(crate) struct Http<H> {
    pub(crate) handler: Arc<H>,
    pub(crate) tls: Option<TlsAcceptor>,
    /// How long a client may send nothing, or take nothing.
    pub(crate) idle: Duration,
}

impl<H: Handle> Speak for Http<H> {
    async fn speak(&self, stream: TcpStream, admitted: bool, stopped: watch::Receiver<bool>) {
        let stream = WriteTimeout::new(stream, self.idle);
        match &self.tls {
            None => self.serve(stream, admitted, stopped).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(self.idle, tls.accept(stream)).await {
                    self.serve(stream, admitted, stopped).await;
                }
            }
        }
    }

    fn note(&self, event: Event) {
        self.handler.note(event);
    }
}

impl<H: Handle> Http<H> {
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        admitted: bool,
        mut stopped: watch::Receiver<bool>,
    ) {
        let handler = service_fn(|request| async move {
            let response = if admitted { self.handler.respond(request).await } else { self.handler.busy() };
            Ok::<_, Infallible>(response)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_buf_size(BUFFER_BYTES)
            .max_headers(MAX_HEADERS)
            // Old clients know headers in this spelling alone.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), handler);
        let mut connection = pin!(connection);
        // The server has done nothing wrong if a client leaves, or is too slow.
        if let Either::Right(_) = select(connection.as_mut(), pin!(stopped.changed())).await {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
