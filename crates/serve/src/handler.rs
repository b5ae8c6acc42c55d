//! Handles requests.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{
    ACCEPT_RANGES, ALLOW, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use sapwood::{Error, ErrorKind};
use sapwood_store::evictions;
use twox_hash::XxHash64;

use crate::access::Secret;
use crate::answer::{Answer, Part};
use crate::connections::Event;
use crate::files::{Files, Supply};
use crate::http::{Body, Handle};
use crate::metrics::Protocol;
use crate::opened::Opened;
use crate::path::Path;
use crate::prefetch::Prefetcher;
use crate::ranges::{MOST, Wanted, wanted};

/// What answers requests, for all connections.
pub(crate) struct Handler {
    pub(crate) files: Arc<Files>,
    pub(crate) supply: Arc<Supply>,
    pub(crate) prefetcher: Option<Arc<Prefetcher>>,
    pub(crate) cache_dir: PathBuf,
}

/// A request for a file.
struct Asked {
    path: Path,
    secret: Secret,
    is_head: bool,
    headers: HeaderMap,
}

impl Handle for Handler {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let response = match self.answer(request).await {
            Ok(response) | Err(response) => response,
        };
        self.supply.metrics.answered(response.status().as_u16());
        response
    }

    fn busy(&self) -> Response<Body> {
        let mut response = self.refuse(StatusCode::SERVICE_UNAVAILABLE, "the proxy has too many connections");
        put(&mut response, CONNECTION, "close");
        response
    }

    fn note(&self, event: Event) {
        self.supply.metrics.note(Protocol::Http, event);
    }
}

impl Handler {
    /// The numbers, as Prometheus reads them.
    pub(crate) fn metrics(&self) -> String {
        self.supply.metrics.text(evictions(&self.cache_dir))
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Response<Body>> {
        let is_head = match *request.method() {
            Method::GET => false,
            Method::HEAD => true,
            _ => return Err(self.refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported")),
        };
        let headers = request.headers();
        if request.uri().path() == "/health" {
            let version = env!("CARGO_PKG_VERSION");
            return Ok(plain(
                StatusCode::OK,
                format!("ok\nsapwood {version}, upstream {}\n", self.files.upstream.host),
            ));
        }
        let Some(secret) = self.files.access.admit(headers) else {
            return Err(self.refuse(StatusCode::UNAUTHORIZED, "the token of this proxy is required"));
        };
        if request.uri().path() == "/metrics" {
            let mut response = plain(StatusCode::OK, self.metrics());
            put(&mut response, CONTENT_TYPE, "text/plain; version=0.0.4");
            return Ok(response);
        }
        // A query may hold a ticket, or say which file is meant, so it is not ignored.
        if request.uri().query().is_some() {
            return Err(self.refuse(StatusCode::BAD_REQUEST, "queries are not supported"));
        }
        let path = Path::parse(request.uri().path());
        let path = path.map_err(|words| self.refuse(StatusCode::BAD_REQUEST, words))?;
        let asked = Asked { path, secret, is_head, headers: headers.clone() };
        // A file that changes while it is looked at is looked at again, once.
        match self.file(&asked).await? {
            Some(response) => Ok(response),
            None => match self.file(&asked).await? {
                Some(response) => Ok(response),
                None => Err(self.refuse(StatusCode::SERVICE_UNAVAILABLE, "the file keeps changing")),
            },
        }
    }

    /// The answer for a file; none where it turned out to have changed.
    async fn file(&self, asked: &Asked) -> Result<Option<Response<Body>>, Response<Body>> {
        let opened = self.files.open(&asked.path, &asked.secret).await;
        let opened = opened.map_err(|error| self.failed(&error, asked))?;
        if is_known(&asked.headers, &opened) {
            let mut response = plain(StatusCode::NOT_MODIFIED, String::new());
            response.headers_mut().clear();
            describe(&mut response, &opened);
            return Ok(Some(response));
        }
        let len = opened.len;
        let header = asked.headers.get(RANGE).and_then(|value| value.to_str().ok());
        let header = header.filter(|_| !asked.is_head && is_same(&asked.headers, &opened));
        let parts = match header.map_or(Wanted::Whole, |header| wanted(header, len)) {
            Wanted::Whole => None,
            Wanted::Parts(parts) => Some(parts),
            Wanted::Nothing => {
                return Err(self.unsatisfied(&opened, "the ranges lie beyond the end of the file".to_owned()));
            }
            Wanted::TooMany => {
                return Err(self.unsatisfied(&opened, format!("more than {MOST} ranges in one request")));
            }
        };
        let mut response = Response::new(empty());
        describe(&mut response, &opened);
        put(&mut response, CONTENT_TYPE, "application/octet-stream");
        let (body, length) = match parts.as_deref() {
            None => (VecDeque::from([Part::Range(0..len)]), Some(len)),
            Some([range]) => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                put(&mut response, CONTENT_RANGE, &format!("bytes {}-{}/{len}", range.start, range.end - 1));
                (VecDeque::from([Part::Range(range.clone())]), Some(range.end - range.start))
            }
            Some(ranges) => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                let boundary = boundary();
                put(&mut response, CONTENT_TYPE, &format!("multipart/byteranges; boundary={boundary}"));
                multipart(ranges, len, &boundary)
            }
        };
        let Some(length) = length.filter(|length| *length <= i64::MAX as u64) else {
            return Err(self.unsatisfied(&opened, "the ranges are too long".to_owned()));
        };
        put(&mut response, CONTENT_LENGTH, &length.to_string());
        if asked.is_head || length == 0 {
            return Ok(Some(response));
        }
        let mut answer = Answer::new(Arc::clone(&opened), Arc::clone(&self.supply), Protocol::Http, body);
        if let Err(error) = answer.begin().await {
            self.files.forget(&asked.path, &asked.secret, &opened);
            return if error.kind() == ErrorKind::Changed { Ok(None) } else { Err(self.failed(&error, asked)) };
        }
        answer.count();
        if let (Some(prefetcher), Some(ranges)) = (&self.prefetcher, &parts) {
            prefetcher.saw(&opened, ranges);
        }
        let files = Arc::clone(&self.files);
        let from = (answer, files, asked.path.clone(), asked.secret.clone());
        let pieces = unfold(Some(from), move |state| {
            let opened = Arc::clone(&opened);
            async move {
                let (mut answer, files, path, secret) = state?;
                match answer.next().await? {
                    Ok(bytes) => Some((Ok(Frame::data(bytes)), Some((answer, files, path, secret)))),
                    Err(error) => {
                        // The head is gone: all that can be said is that the rest does not come.
                        files.forget(&path, &secret, &opened);
                        Some((Err(error), None))
                    }
                }
            }
        });
        *response.body_mut() = BodyExt::boxed_unsync(StreamBody::new(pieces));
        Ok(Some(response))
    }

    /// What an error of the upstream is to a client.
    fn failed(&self, error: &Error, asked: &Asked) -> Response<Body> {
        let status = match error.kind() {
            ErrorKind::NotFound | ErrorKind::Mismatch => StatusCode::NOT_FOUND,
            ErrorKind::Denied if asked.headers.contains_key(AUTHORIZATION) => StatusCode::FORBIDDEN,
            ErrorKind::Denied => StatusCode::UNAUTHORIZED,
            ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Changed | ErrorKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_GATEWAY,
        };
        self.refuse(status, error.message())
    }

    fn unsatisfied(&self, opened: &Opened, words: String) -> Response<Body> {
        let mut response = self.refuse(StatusCode::RANGE_NOT_SATISFIABLE, &words);
        describe(&mut response, opened);
        put(&mut response, CONTENT_RANGE, &format!("bytes */{}", opened.len));
        response
    }

    /// An answer that is a refusal, with what others need to know of it.
    fn refuse(&self, status: StatusCode, words: &str) -> Response<Body> {
        let mut response =
            plain(status, format!("{}: {words} (upstream {})\n", status.as_u16(), self.files.upstream.host));
        match status {
            StatusCode::METHOD_NOT_ALLOWED => put(&mut response, ALLOW, "GET, HEAD"),
            StatusCode::UNAUTHORIZED => put(&mut response, WWW_AUTHENTICATE, "Bearer"),
            StatusCode::SERVICE_UNAVAILABLE => put(&mut response, RETRY_AFTER, "1"),
            _ => {}
        }
        response
    }
}

/// Ranges in parts, and the length of all of it; none where that is no number.
fn multipart(ranges: &[sapwood::io::ByteRange], len: u64, boundary: &str) -> (VecDeque<Part>, Option<u64>) {
    let mut parts = VecDeque::with_capacity(2 * ranges.len() + 1);
    let mut length = Some(0_u64);
    let mut add = |bytes: u64| length = length.and_then(|length| length.checked_add(bytes));
    for range in ranges {
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {}-{}/{len}\r\n\r\n",
            range.start,
            range.end - 1,
        );
        add(head.len() as u64);
        add(range.end - range.start);
        parts.push_back(Part::Text(head.into()));
        parts.push_back(Part::Range(range.clone()));
    }
    let end = format!("\r\n--{boundary}--\r\n");
    add(end.len() as u64);
    parts.push_back(Part::Text(end.into()));
    (parts, length)
}

/// What stands between parts: another text for each answer, which no file holds unless by a wonder.
fn boundary() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let text = format!("{number} {time} {}", std::process::id());
    let half = |seed| XxHash64::oneshot(seed, text.as_bytes());
    format!("sapwood-{:016x}{:016x}", half(1), half(2))
}

/// Whether the client has this state already.
fn is_known(headers: &HeaderMap, opened: &Opened) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match text(IF_NONE_MATCH) {
        Some(tags) => {
            tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == opened.etag)
        }
        None => opened.modified.is_some() && text(IF_MODIFIED_SINCE) == opened.modified.as_deref(),
    }
}

/// Whether ranges are wanted of this state: of another one the client wants the whole file.
fn is_same(headers: &HeaderMap, opened: &Opened) -> bool {
    match headers.get(IF_RANGE).map(|value| value.to_str().unwrap_or_default()) {
        Some(state) => state == opened.etag || Some(state) == opened.modified.as_deref(),
        None => true,
    }
}

/// Says which file in which state it is.
fn describe(response: &mut Response<Body>, opened: &Opened) {
    put(response, ACCEPT_RANGES, "bytes");
    put(response, ETAG, &opened.etag);
    if let Some(modified) = &opened.modified {
        put(response, LAST_MODIFIED, modified);
    }
}

fn plain(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    put(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    response
}

fn empty() -> Body {
    Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync()
}

fn put(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
