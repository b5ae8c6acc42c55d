//! Bytes of a file as they are, for jsroot.

use hyper::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE};
use hyper::{Response, StatusCode};
use sapwood::{Error, Result};

use super::open_files::OpenFiles;
use super::page_query::PageQuery;
use super::reply::{document, put};
use crate::http::Body;
use crate::ranges::{Wanted, wanted};

/// The most bytes of one answer; what is beyond is asked for again.
const MOST_BYTES: u64 = 64 << 20;

/// What the header `Range` asks for: one range, of bounded length. Without one nothing but the length is told.
pub(super) fn raw(open_files: &OpenFiles, query: &PageQuery, range: Option<&str>) -> Result<Response<Body>> {
    let opened = open_files.open(query.text("file"))?;
    let len = opened.file.identity().len;
    let Some(header) = range else {
        let mut response = document(StatusCode::OK, len.to_string(), "text/plain");
        put(&mut response, ACCEPT_RANGES, "bytes");
        return Ok(response);
    };
    let parts = match wanted(header, len) {
        Wanted::Parts(parts) => parts,
        Wanted::Whole => vec![0..len],
        Wanted::Nothing | Wanted::TooMany => Vec::new(),
    };
    let [range] = &parts[..] else {
        let mut response = document(StatusCode::RANGE_NOT_SATISFIABLE, "one range that the file has", "text/plain");
        put(&mut response, CONTENT_RANGE, &format!("bytes */{len}"));
        return Ok(response);
    };
    let range = range.start..range.end.min(range.start.saturating_add(MOST_BYTES));
    let bytes = opened.file.read_raw(std::slice::from_ref(&range))?.pop();
    let bytes = bytes.ok_or_else(|| Error::internal("the store gave no bytes and no error"))?;
    let mut response = document(StatusCode::PARTIAL_CONTENT, bytes, "application/octet-stream");
    put(&mut response, CONTENT_RANGE, &format!("bytes {}-{}/{len}", range.start, range.end.saturating_sub(1)));
    put(&mut response, ACCEPT_RANGES, "bytes");
    put(&mut response, CONTENT_TYPE, "application/octet-stream");
    Ok(response)
}
