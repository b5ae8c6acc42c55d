//! From a request to its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::RANGE;
use hyper::{Request, Response, StatusCode};
use sapwood::{Error, Result};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::admission::{Admission, Admitted};
use super::open_files::OpenFiles;
use super::page_query::PageQuery;
use super::reply::{Done, Work, document, failed, reply, whole};
use super::{assets, drawing, layout_data, live, nodes, raw, search, table};
use crate::http::{Body, Handle};

/// Draws and tables at a time; everything else does not wait for them.
const LONG: usize = 4;
const SHORT: usize = 16;
/// Answers with counters at a time: they wait for no file but for the state of local ones.
const LIVE: usize = 2;

/// What answers the requests of the page.
pub(super) struct Handler {
    pub(super) admission: Admission,
    open_files: Arc<OpenFiles>,
    long: Arc<Semaphore>,
    short: Arc<Semaphore>,
    live: Arc<Semaphore>,
}

impl Handle for Handler {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let response = match self.admission.admit(&request) {
            Ok(Admitted::Path(path)) => self.answer(&path, &request).await,
            Ok(Admitted::Frame(path)) => assets::frame_asset(&path).unwrap_or_else(|| missing(&path)),
            Err(refused) => document(refused.status, format!("{}\n", refused.words), "text/plain; charset=utf-8"),
        };
        assets::guarded(response)
    }

    fn busy(&self) -> Response<Body> {
        let words = "too many connections: close pages that are not needed\n";
        assets::guarded(document(StatusCode::SERVICE_UNAVAILABLE, words, "text/plain; charset=utf-8"))
    }
}

impl Handler {
    pub(super) fn new(admission: Admission, open_files: OpenFiles) -> Self {
        let limit = |count| Arc::new(Semaphore::new(count));
        let (long, short, live) = (limit(LONG), limit(SHORT), limit(LIVE));
        Self { admission, open_files: Arc::new(open_files), long, short, live }
    }

    async fn answer(&self, path: &str, request: &Request<Incoming>) -> Response<Body> {
        if let Some(asset) = assets::asset(path) {
            return asset;
        }
        let query = match PageQuery::parse(request.uri().query().unwrap_or_default()) {
            Ok(query) => query,
            Err(error) => return failed(&error),
        };
        match path {
            "api/about" => {
                let about = self.about();
                reply(&self.short, move |_| Ok(Done::Json(about))).await
            }
            "api/list" => self.json(query, nodes::level).await,
            "api/search" => self.json(query, search::search).await,
            "api/object" => self.json(query, drawing::object).await,
            "api/layout" => self.json(query, layout_data::layout).await,
            "api/run" => self.json(query, layout_data::run).await,
            "api/draw" => self.work(query, drawing::draw).await,
            "api/table" => self.work(query, table::table).await,
            "api/save" => {
                let open_files = Arc::clone(&self.open_files);
                whole(&self.long, move |work| {
                    heeded(&open_files, &query, |open_files| drawing::save(open_files, &query, work))
                })
                .await
            }
            "api/layout.svg" => {
                let open_files = Arc::clone(&self.open_files);
                whole(&self.short, move |_| {
                    heeded(&open_files, &query, |open_files| layout_data::picture(open_files, &query))
                })
                .await
            }
            "api/live" => {
                let open_files = Arc::clone(&self.open_files);
                reply(&self.live, move |_| Ok(Done::Json(live::counters(&open_files)))).await
            }
            "api/raw" => self.raw(query, request).await,
            _ => missing(path),
        }
    }

    fn about(&self) -> Value {
        let frame = assets::has_jsroot().then(|| format!("{}frame.html", self.admission.frame_prefix()));
        json!({ "version": env!("CARGO_PKG_VERSION"), "frame": frame })
    }

    /// Short work.
    async fn json(&self, query: PageQuery, of: fn(&OpenFiles, &PageQuery) -> Result<Value>) -> Response<Body> {
        let open_files = Arc::clone(&self.open_files);
        reply(&self.short, move |_| heeded(&open_files, &query, |open_files| of(open_files, &query).map(Done::Json)))
            .await
    }

    /// Work that may be long.
    async fn work(&self, query: PageQuery, of: fn(&OpenFiles, &PageQuery, &Work) -> Result<Done>) -> Response<Body> {
        let open_files = Arc::clone(&self.open_files);
        reply(&self.long, move |work| heeded(&open_files, &query, |open_files| of(open_files, &query, work))).await
    }

    async fn raw(&self, query: PageQuery, request: &Request<Incoming>) -> Response<Body> {
        let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok()).map(str::to_owned);
        let open_files = Arc::clone(&self.open_files);
        let Ok(permit) = Arc::clone(&self.short).acquire_owned().await else {
            return failed(&Error::internal("the browser has ended"));
        };
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            heeded(&open_files, &query, |open_files| raw::raw(open_files, &query, range.as_deref()))
        });
        match done.await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => failed(&error),
            Err(_) => failed(&Error::internal("the work for a page has failed")),
        }
    }
}

/// Does something with the file of a request, and closes a file that has changed meanwhile.
fn heeded<T>(open_files: &OpenFiles, query: &PageQuery, of: impl FnOnce(&OpenFiles) -> Result<T>) -> Result<T> {
    of(open_files).inspect_err(|error| open_files.heed(query.text("file"), error))
}

fn missing(path: &str) -> Response<Body> {
    failed(&Error::not_found(format!("the browser has no {path:?}")))
}
