//! Requests that change what a server has, through all redirections.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, EXPECT, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use sapwood::{Error, ErrorKind};

use super::exchange::{REDIRECTIONS, answer, downgrade, is_downgrade, next, permit};
use super::target::{Target, host};
use crate::net::{Link, RequestError};
use crate::upload::{Body, Finished};

/// A shorter body is sent with the head of its request, and sent again where a server redirects it.
const SMALL_BYTES: u64 = 64 << 10;

/// What is asked of a server.
pub(super) struct Change<'a> {
    pub(super) method: Method,
    pub(super) headers: &'a [(HeaderName, HeaderValue)],
    pub(super) body: Option<&'a Finished>,
    /// The time that a long body waits, so that the server can refuse the request, or redirect it, by its head.
    pub(super) pause: Duration,
}

/// Asks a server for a change. Refusals are errors.
pub(super) async fn change(
    link: &Link,
    target: &Target,
    what: &Change<'_>,
    timeout: Duration,
) -> Result<(), RequestError> {
    let (mut url, _) = target.place();
    for _ in 0..=REDIRECTIONS {
        let mut request = link.client.request(what.method.clone(), url.clone());
        for (name, value) in what.headers {
            request = request.header(name, value);
        }
        let sent = Arc::new(AtomicU64::new(0));
        if let Some(file) = what.body {
            let waits = file.bytes > SMALL_BYTES && !what.pause.is_zero();
            let pause = if waits { what.pause } else { Duration::ZERO };
            request = request.header(CONTENT_LENGTH, file.bytes);
            if waits {
                request = request.header(EXPECT, "100-continue");
            }
            request = request.body(reqwest::Body::wrap(Body::new(file, Arc::clone(&sent), pause)));
        }
        let host = host(&url);
        let _permit = permit(link, &host).await;
        let answer = answer(target.dress(&url, request).send(), &host, timeout, Some(&sent)).await?;
        let status = answer.status();
        if matches!(status.as_u16(), 301 | 302 | 307 | 308) {
            let to = next(&url, &answer).ok_or_else(|| RequestError::refused(&host, status, answer.headers()))?;
            if is_downgrade(&url, &to) && !target.insecure_redirects {
                return Err(downgrade(&host, &to));
            }
            url = to;
            continue;
        }
        // 207 says that some of what was asked for failed.
        if !status.is_success() || status == StatusCode::MULTI_STATUS {
            return Err(RequestError::refused(&host, status, answer.headers()));
        }
        return Ok(());
    }
    let words = format!("{}: too many redirects (limit {REDIRECTIONS})", host(&url));
    Err(RequestError::never(Error::new(ErrorKind::Io, words)))
}
