//! Counters of the open files. Pages ask for them again and again: an answer that never ended would hold one of the few
//! connections that a web browser has for a server.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::open_files::OpenFiles;
use super::opened::Opened;

/// What was read of each open file, and whether it is still what it was.
pub(super) fn counters(open_files: &OpenFiles) -> Value {
    let files: Vec<Value> = open_files.all().iter().map(|(opened, is_same)| of(opened, *is_same)).collect();
    json!({ "files": files })
}

fn of(opened: &Opened, is_same: bool) -> Value {
    let counts = &opened.counts;
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (mut hits, mut misses) = (0, 0);
    if let Ok(tables) = opened.tables.lock() {
        for (_, table) in &*tables {
            let figures = table.cache().figures();
            (hits, misses) = (hits + figures.hits, misses + figures.misses);
        }
    }
    json!({
        "file": opened.id, "state": opened.state, "is_same": is_same, "requests": of(&counts.requests),
        "ranges": of(&counts.ranges), "bytes": of(&counts.bytes), "open": of(&counts.open), "hits": hits,
        "misses": misses,
    })
}
