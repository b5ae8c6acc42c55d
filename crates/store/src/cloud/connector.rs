//! Requests that `object_store` makes: those for files are taken from it, those for credentials are sent.

use std::error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::{Client, Request, Url};
use sapwood::Error;

use crate::http::{answer, code, host};
use crate::net::RequestError;

/// The longest response to a request for credentials.
const PROOF_BYTES: usize = 1 << 20;
/// The services of a cloud's own machines answer at once, or are not there.
const NEAR: Duration = Duration::from_secs(2);

/// Gives `object_store` our connections.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) client: Client,
    pub(super) timeout: Duration,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let in_clear = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        Ok(HttpClient::new(Service { connector: self.clone(), in_clear }))
    }
}

/// Where a request for a file is put, instead of being sent: it travels with the request.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(Arc<Mutex<Option<Request>>>);

impl Taken {
    pub(super) fn take(&self) -> Option<Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Why `object_store` gets no answer, in our words.
#[derive(Debug)]
struct Told(String);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Told {}

fn told(kind: HttpErrorKind, words: impl Into<String>) -> HttpError {
    HttpError::new(kind, Told(words.into()))
}

/// A failure of ours, for `object_store` to decide about: it may ask again.
fn failed(error: &Error) -> HttpError {
    let cause = error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    told(HttpErrorKind::Connect, format!("{}{cause}", error.message()))
}

#[derive(Debug)]
struct Service {
    connector: Connector,
    /// Whether what is not encrypted may go further than this machine.
    in_clear: bool,
}

impl Service {
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let taken = request.extensions().get::<Taken>().cloned();
        let (parts, body) = request.into_parts();
        let wrong = |_| told(HttpErrorKind::Unknown, "malformed endpoint of the cloud");
        let mut url = Url::parse(&parts.uri.to_string()).map_err(wrong)?;
        if let Some(query) = url.query().filter(|query| query.contains('+')) {
            // Blanks, as they stand in what was signed; a plus sign itself has become %2B.
            let query = query.replace('+', "%20");
            url.set_query(Some(&query));
        }
        let host = host(&url);
        if url.scheme() != "https" && !self.in_clear && !is_here(&url) {
            let words = format!("{host} would be asked in clear: AWS_ALLOW_HTTP=true (or AZURE_, GOOGLE_) allows that");
            return Err(told(HttpErrorKind::Unknown, words));
        }
        let timeout = if is_near(&url) { NEAR.min(self.connector.timeout) } else { self.connector.timeout };
        let mut request = Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        if let Some(taken) = taken {
            *taken.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
            // Not a kind of error that it tries again.
            return Err(told(HttpErrorKind::Unknown, "the request is sent by others"));
        }
        let sent = Arc::new(AtomicU64::new(0));
        *request.body_mut() = Some(reqwest::Body::wrap(Counted { body, sent: Arc::clone(&sent) }));
        let late = |_| failed(&RequestError::late(&host, timeout).error);
        let broken = |error| failed(&RequestError::network(&host, error).error);
        let sending = self.connector.client.execute(request);
        let mut reply = answer(sending, &host, timeout, Some(&sent)).await.map_err(|failure| failed(&failure.error))?;
        if !reply.status().is_success() {
            let (status, headers) = (reply.status(), reply.headers().clone());
            // The rest of a refusal may repeat what was sent: it is not shown.
            let code = code(reply, timeout).await.unwrap_or_default();
            let mut answer = HttpResponse::new(code.into());
            (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
            return Ok(answer);
        }
        let mut content = Vec::new();
        while let Some(piece) = tokio::time::timeout(timeout, reply.chunk()).await.map_err(late)?.map_err(broken)? {
            if content.len() + piece.len() > PROOF_BYTES {
                return Err(told(HttpErrorKind::Unknown, format!("{host} sent too much")));
            }
            content.extend_from_slice(&piece);
        }
        let mut answer = HttpResponse::new(content.into());
        *answer.status_mut() = reply.status();
        *answer.headers_mut() = reply.headers().clone();
        Ok(answer)
    }
}

impl HttpService for Service {
    // The form that `async_trait` gives it.
    fn call<'life0, 'async_trait>(
        &'life0 self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.answer(request))
    }
}

/// A body whose bytes are counted as they are sent.
#[derive(Debug)]
struct Counted {
    body: HttpRequestBody,
    sent: Arc<AtomicU64>,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether the connection is private.
fn is_here(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Whether it is a service for the machines of a cloud alone.
fn is_near(url: &Url) -> bool {
    url.host_str()
        .is_some_and(|host| host.starts_with("169.254.") || host == "metadata.google.internal" || host == "metadata")
}
