//! Counters of the open files, twice a second, as server-sent events.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use super::open_files::OpenFiles;
use super::opened::{Dataset, Opened};
use super::reply::put;
use crate::connections::Body;

const EVERY: Duration = Duration::from_millis(500);

/// An endless body; it ends with the browser.
pub(super) fn live(open_files: &Arc<OpenFiles>, stopped: &watch::Receiver<bool>) -> Response<Body> {
    let state = (Arc::clone(open_files), stopped.clone(), true);
    let events = unfold(state, |(open_files, stopped, is_first)| async move {
        if !is_first {
            sleep(EVERY).await;
        }
        if *stopped.borrow() {
            return None;
        }
        // Whether files have changed is asked of the file system, which may be slow.
        let looking = Arc::clone(&open_files);
        let files = tokio::task::spawn_blocking(move || now(&looking)).await.ok()?;
        let event = format!("data: {}\n\n", json!({ "files": files }));
        Some((Ok(Frame::data(Bytes::from(event))), (open_files, stopped, false)))
    });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(events)));
    put(&mut response, CONTENT_TYPE, "text/event-stream");
    put(&mut response, CACHE_CONTROL, "no-store");
    response
}

fn now(open_files: &OpenFiles) -> Vec<Value> {
    open_files.all().iter().map(|(opened, is_same)| counters(opened, *is_same)).collect()
}

fn counters(opened: &Opened, is_same: bool) -> Value {
    let counts = &opened.counts;
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let (mut hits, mut misses) = (0, 0);
    if let Ok(datasets) = opened.datasets.lock() {
        for (_, dataset) in &*datasets {
            let figures = match dataset {
                Dataset::Tree(tree) => tree.cache().figures(),
                Dataset::NTuple(ntuple) => ntuple.cache().figures(),
            };
            (hits, misses) = (hits + figures.hits, misses + figures.misses);
        }
    }
    json!({
        "file": opened.id, "state": opened.state, "is_same": is_same, "requests": of(&counts.requests),
        "ranges": of(&counts.ranges), "bytes": of(&counts.bytes), "open": of(&counts.open), "hits": hits,
        "misses": misses,
    })
}
