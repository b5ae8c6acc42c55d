//! One request and its response, through all redirections.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, LOCATION, RANGE};
use reqwest::{Method, Response, StatusCode, Url};
use sapwood::{Error, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;

use super::identity::Facts;
use super::target::{Signer, Target, host};
use crate::net::{Link, Pace, RequestError, RetryWhen};

/// As many as curl and browsers follow, about.
pub(super) const REDIRECTIONS: usize = 16;

/// So much of a refusal is read.
const REFUSAL_BYTES: usize = 16 << 10;

/// An answer whose body is still to come.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
    pub(crate) host: String,
    pub(crate) facts: Facts,
    /// From the request to the answer's headers.
    pub(crate) latency: Duration,
    timeout: Duration,
    pace: Pace,
    /// Of the host that answers, until the body has come.
    permit: Option<OwnedSemaphorePermit>,
}

/// Waits until this host has few enough requests to answer. Each hop of a redirection has its own: a server that does
/// not answer must not take the permits of the one that named it.
pub(super) async fn permit(link: &Link, host: &str) -> Option<OwnedSemaphorePermit> {
    link.permits(host).acquire_owned().await.ok()
}

/// Asks for the file, or for ranges of it. Refusals are errors, but for 416, which tells the length.
pub(crate) async fn ask(
    link: &Link,
    target: &Target,
    method: Method,
    ranges: Option<&str>,
    timeout: Duration,
) -> Result<Reply, RequestError> {
    if let Some(signer) = &target.signer {
        return ask_signed(link, &**signer, &method, ranges, timeout).await;
    }
    let range = ranges.map(|ranges| (RANGE, ranges));
    ask_with(link, target, method, range, timeout).await
}

/// Asks for the head of an answer that says a checksum of the file, as servers of the grid do.
pub(super) async fn ask_digest(link: &Link, target: &Target, timeout: Duration) -> Result<Reply, RequestError> {
    let wanted = (HeaderName::from_static("want-digest"), "adler32");
    ask_with(link, target, Method::HEAD, Some(wanted), timeout).await
}

/// Asks for the file, with one header more.
async fn ask_with(
    link: &Link,
    target: &Target,
    method: Method,
    header: Option<(HeaderName, &str)>,
    timeout: Duration,
) -> Result<Reply, RequestError> {
    let (mut url, elsewhere) = target.place();
    // The target of a redirection may have become invalid: a ticket expired, a server went away. The origin knows the
    // current one.
    let back = |mut failure: RequestError| {
        if elsewhere {
            target.lost();
            if failure.again == RetryWhen::Never && failure.code.is_some() {
                failure.again = RetryWhen::After(Duration::ZERO);
            }
        }
        failure
    };
    for _ in 0..=REDIRECTIONS {
        let mut request = link.client.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some((name, value)) = &header {
            request = request.header(name, *value);
        }
        let host = host(&url);
        let permit = permit(link, &host).await;
        let sent = Instant::now();
        let answer = answer(target.dress(&url, request).send(), &host, timeout, None).await.map_err(back)?;
        let status = answer.status();
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            let to = next(&url, &answer).ok_or_else(|| back(RequestError::refused(&host, status, answer.headers())))?;
            if is_downgrade(&url, &to) && !target.insecure_redirects {
                return Err(back(downgrade(&host, &to)));
            }
            url = to;
            continue;
        }
        if !status.is_success() && status != StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(back(RequestError::refused(&host, status, answer.headers())));
        }
        let reply = Reply::new(answer, host, sent.elapsed(), timeout, permit)?;
        target.found_at(&url);
        return Ok(reply);
    }
    let words = format!("{}: too many redirects (limit {REDIRECTIONS})", host(&url));
    Err(back(RequestError::never(Error::new(ErrorKind::Io, words))))
}

/// The same for a request that a signer makes. It is not redirected: its signature is good for one URL.
async fn ask_signed(
    link: &Link,
    signer: &dyn Signer,
    method: &Method,
    ranges: Option<&str>,
    timeout: Duration,
) -> Result<Reply, RequestError> {
    let request = signer.sign(link, method, ranges).await?;
    let host = host(request.url());
    let permit = permit(link, &host).await;
    let sent = Instant::now();
    let answer = answer(link.client.execute(request), &host, timeout, None).await?;
    let status = answer.status();
    if !status.is_success() && status != StatusCode::RANGE_NOT_SATISFIABLE {
        let mut failure = RequestError::refused(&host, status, answer.headers());
        if signer.learn(link, status, answer.headers()) {
            failure.again = RetryWhen::After(Duration::ZERO);
        }
        if let Some(code) = code(answer, timeout).await {
            failure.error = Error::new(failure.error.kind(), format!("{}: {code}", failure.error.message()));
        }
        return Err(failure);
    }
    Reply::new(answer, host, sent.elapsed(), timeout, permit)
}

/// The word by which a cloud says why it refuses, such as `NoSuchKey`. The rest of what it says may repeat what was
/// signed.
pub(crate) async fn code(mut answer: Response, timeout: Duration) -> Option<String> {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(piece)) = answer.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > REFUSAL_BYTES {
                break;
            }
        }
    };
    // It is a help and no more: what came until then does.
    let _ = tokio::time::timeout(timeout, reading).await;
    let text = String::from_utf8_lossy(&body);
    let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_word && !code.is_empty()).then(|| code.to_owned())
}

/// The head of an answer. Of a request with a body, `sent` counts its bytes: while they go out the server may be
/// silent.
pub(crate) async fn answer(
    sending: impl Future<Output = reqwest::Result<Response>>,
    host: &str,
    timeout: Duration,
    sent: Option<&AtomicU64>,
) -> Result<Response, RequestError> {
    let (mut sending, mut before) = (pin!(sending), 0);
    loop {
        match tokio::time::timeout(timeout, sending.as_mut()).await {
            Err(_) => {
                let now = sent.map_or(0, |sent| sent.load(Ordering::Relaxed));
                if now == before {
                    return Err(RequestError::late(host, timeout));
                }
                before = now;
            }
            Ok(Err(error)) => return Err(RequestError::network(host, error)),
            Ok(Ok(answer)) => return Ok(answer),
        }
    }
}

/// Where a redirection leads: to http and https alone.
pub(super) fn next(from: &Url, answer: &Response) -> Option<Url> {
    let place = answer.headers().get(LOCATION)?;
    let mut to = from.join(std::str::from_utf8(place.as_bytes()).ok()?).ok()?;
    to.set_fragment(None);
    matches!(to.scheme(), "http" | "https").then_some(to)
}

/// Whether a redirection leaves TLS: what was asked for, and what comes, could then be read and changed on the way.
pub(super) fn is_downgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "https" && to.scheme() == "http"
}

pub(super) fn downgrade(from: &str, to: &Url) -> RequestError {
    let words = format!(
        "{from} redirects from https to http ({}), which is refused; the option insecure_redirects allows it",
        host(to)
    );
    RequestError::never(Error::new(ErrorKind::Denied, words))
}

impl Reply {
    fn new(
        response: Response,
        host: String,
        latency: Duration,
        timeout: Duration,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<Self, RequestError> {
        let encoding = response.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
        if encoding.is_some_and(|encoding| encoding != b"identity") {
            let words = format!("{host} sends the file compressed, so that offsets mean nothing");
            return Err(RequestError::never(Error::unsupported(words)));
        }
        let facts = Facts::of(response.headers(), response.status() == StatusCode::OK);
        let pace = Pace::new(timeout);
        Ok(Self { response, host, facts, latency, timeout, pace, permit })
    }

    /// Lets other requests go to this host though the body has not come: a caller that holds one answer and waits for a
    /// second could otherwise wait for callers that do the same.
    pub(crate) fn release_permit(&mut self) {
        self.permit = None;
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: HeaderName) -> Option<&[u8]> {
        self.response.headers().get(name).map(|value| value.as_bytes())
    }

    /// What the server says that the body has.
    pub(crate) fn body_bytes(&self) -> Option<u64> {
        let text = self.header(reqwest::header::CONTENT_LENGTH)?;
        std::str::from_utf8(text).ok()?.trim().parse().ok()
    }

    /// The next piece of the body; none at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, RequestError> {
        let began = Instant::now();
        let piece = match tokio::time::timeout(self.timeout, self.response.chunk()).await {
            Err(_) => return Err(RequestError::late(&self.host, self.timeout)),
            Ok(Err(error)) => return Err(RequestError::network(&self.host, error)),
            Ok(Ok(piece)) => piece,
        };
        if let Some(piece) = &piece
            && !self.pace.keeps_up(piece.len(), began.elapsed())
        {
            return Err(RequestError::slow(&self.host));
        }
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_that_leave_tls_are_refused_with_a_way_out() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (tls, clear) = (url("https://a.org/f"), url("http://b.org:80/f?authz=geheim"));
        assert!(is_downgrade(&tls, &clear));
        assert!(!is_downgrade(&tls, &tls) && !is_downgrade(&clear, &clear) && !is_downgrade(&clear, &tls));
        let error = downgrade("a.org", &clear).error;
        assert_eq!(error.kind(), ErrorKind::Denied);
        let words = error.to_string();
        assert!(
            words.contains("b.org") && words.contains("insecure_redirects") && !words.contains("geheim"),
            "{words}"
        );
    }
}
