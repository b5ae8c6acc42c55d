//! The files of the page.

use hyper::header::{CACHE_CONTROL, HeaderName};
use hyper::{Response, StatusCode};

use super::reply::{document, put};
use crate::http::Body;

/// jsroot, from its npm package; empty where the build had none.
const JSROOT: &str = include_str!(concat!(env!("OUT_DIR"), "/jsroot.js"));

/// Nothing but the page's own files runs in it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// jsroot computes formulas and sets styles. It does that in a frame without an origin and without a network, which is
/// handed the bytes that it asks for.
const FRAME_POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'unsafe-inline'; \
                            img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; \
                            sandbox allow-scripts; frame-ancestors 'self'";

/// Whether the build had jsroot.
pub(super) fn has_jsroot() -> bool {
    !JSROOT.is_empty()
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page.
pub(super) fn asset(path: &str) -> Option<Response<Body>> {
    let (text, media) = match path {
        "" => (include_str!("../../page/dist/index.html"), HTML),
        "page.js" => (include_str!("../../page/dist/page.js"), SCRIPT),
        "page.css" => (include_str!("../../page/dist/page.css"), "text/css; charset=utf-8"),
        _ => return None,
    };
    Some(file(text, media, POLICY))
}

/// A file of the frame of jsroot.
pub(super) fn frame_asset(path: &str) -> Option<Response<Body>> {
    let (text, media) = match path {
        "frame.html" => (include_str!("../../page/dist/frame.html"), HTML),
        "frame.js" => (include_str!("../../page/dist/frame.js"), SCRIPT),
        "jsroot.js" if has_jsroot() => (JSROOT, SCRIPT),
        _ => return None,
    };
    Some(file(text, media, FRAME_POLICY))
}

fn file(text: &'static str, media: &'static str, policy: &str) -> Response<Body> {
    let mut response = document(StatusCode::OK, text, media);
    put(&mut response, CACHE_CONTROL, "no-cache");
    guard(&mut response, policy);
    response
}

/// Headers of every answer.
pub(super) fn guarded(mut response: Response<Body>) -> Response<Body> {
    if !response.headers().contains_key("content-security-policy") {
        guard(&mut response, POLICY);
    }
    response
}

fn guard(response: &mut Response<Body>, policy: &str) {
    // The frame has no origin: what it loads, which holds nothing of any file, is of another one.
    let own = if policy == POLICY { "same-origin" } else { "cross-origin" };
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", own),
    ] {
        put(response, HeaderName::from_static(name), value);
    }
}
