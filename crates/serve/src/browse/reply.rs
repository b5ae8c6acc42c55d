//! Answers of work that may take long: lines of JSON. While the work goes on, a line says how far it is; the last one
//! has the result or the error. Work whose asker leaves is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use sapwood::{Error, ErrorKind, Result, interrupt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::http::Body;

/// How long work may take before its progress is told, and how often it is told then.
const PROGRESS_AFTER: Duration = Duration::from_millis(200);
const JSON: &str = "application/x-ndjson";

/// How work and those who wait for it know of each other.
///
/// # Example
///
/// ```
/// let work = sapwood_serve::Work::default();
/// assert_eq!(work.heeded(|| work.part()), 0.0);
/// work.stop();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Work(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_stopped: AtomicBool,
    /// Millionths of the work that are done.
    done: AtomicU64,
}

impl Work {
    /// Says that a part of the work is done.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](ErrorKind::Cancelled) where its request was closed.
    pub(super) fn is_at(&self, part: f64) -> Result<()> {
        self.0.done.store((part.clamp(0.0, 1.0) * 1e6) as u64, Ordering::Relaxed);
        self.check()
    }

    /// Does `job` in this thread. [`stop`](Self::stop) ends its waits, also for a server that does not answer.
    pub fn heeded<T>(&self, job: impl FnOnce() -> T) -> T {
        let work = self.clone();
        interrupt::heeding(move || work.check(), job)
    }

    fn check(&self) -> Result<()> {
        match self.0.is_stopped.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "the page wants it no more")),
            false => Ok(()),
        }
    }

    /// How much of it is done, from 0 to 1.
    pub fn part(&self) -> f64 {
        self.0.done.load(Ordering::Relaxed) as f64 / 1e6
    }

    /// Has it end with an error of the kind [`Cancelled`](ErrorKind::Cancelled), where it reads next.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Stops the work when it is dropped: the response was sent, or its client has left.
struct Asker(Work);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What work gives.
pub(super) enum Done {
    Json(Value),
    /// A document of a media type.
    Bytes(Bytes, &'static str),
}

/// Runs work in a thread, one of those that `threads` has, and answers with what it gives.
pub(super) async fn reply(
    threads: &Arc<Semaphore>,
    job: impl FnOnce(&Work) -> Result<Done> + Send + 'static,
) -> Response<Body> {
    let work = Work::default();
    let asker = Asker(work.clone());
    let threads = Arc::clone(threads);
    let mut running: JoinHandle<Result<Done>> = tokio::spawn(async move {
        let permit = threads.acquire_owned().await.map_err(|_| Error::internal("the browser has ended"))?;
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            // It may have waited for longer than its asker.
            work.is_at(0.0)?;
            work.heeded(|| job(&work))
        });
        done.await.unwrap_or_else(|_| Err(Error::internal("the work for a page has failed")))
    });
    if let Ok(done) = timeout(PROGRESS_AFTER, &mut running).await {
        return finished(ended(done));
    }
    let lines = unfold(Some((running, asker)), |state| async move {
        let (mut running, asker) = state?;
        let (line, next) = match timeout(PROGRESS_AFTER, &mut running).await {
            Ok(done) => (last_line(ended(done)), None),
            Err(_) => (json!({ "progress": asker.0.part() }), Some((running, asker))),
        };
        Some((Ok(Frame::data(Bytes::from(format!("{line}\n")))), next))
    });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(lines)));
    put(&mut response, CONTENT_TYPE, JSON);
    response
}

fn ended(done: std::result::Result<Result<Done>, tokio::task::JoinError>) -> Result<Done> {
    done.unwrap_or_else(|_| Err(Error::internal("the work for a page has failed")))
}

fn last_line(done: Result<Done>) -> Value {
    match done {
        Ok(Done::Json(value)) => json!({ "result": value }),
        Ok(Done::Bytes(..)) => error_json(&Error::internal("a document is no line")),
        Err(error) => error_json(&error),
    }
}

fn finished(done: Result<Done>) -> Response<Body> {
    match done {
        Ok(Done::Bytes(bytes, media)) => document(StatusCode::OK, bytes, media),
        Ok(done) => document(StatusCode::OK, format!("{}\n", last_line(Ok(done))), JSON),
        Err(error) => failed(&error),
    }
}

/// Runs work whose answer is a document and no lines.
pub(super) async fn whole(
    threads: &Arc<Semaphore>,
    job: impl FnOnce(&Work) -> Result<Done> + Send + 'static,
) -> Response<Body> {
    let work = Work::default();
    let _asker = Asker(work.clone());
    let Ok(permit) = Arc::clone(threads).acquire_owned().await else { return failed(&Error::internal("it has ended")) };
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        job(&work)
    });
    finished(ended(done.await))
}

/// An error as the answer.
pub(super) fn failed(error: &Error) -> Response<Body> {
    let status = match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Denied => StatusCode::FORBIDDEN,
        ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Changed => StatusCode::CONFLICT,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    document(status, format!("{}\n", error_json(error)), JSON)
}

fn error_json(error: &Error) -> Value {
    json!({ "error": { "kind": error.kind().as_str(), "message": error.message(), "words": error.to_string() } })
}

/// A response with a body.
pub(super) fn document(status: StatusCode, body: impl Into<Bytes>, media: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    put(&mut response, CONTENT_TYPE, media);
    put(&mut response, CACHE_CONTROL, "no-store");
    response
}

pub(super) fn put(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
