//! Bodies of answers to requests for ranges, into an assembly.

use std::cell::RefCell;
use std::time::Instant;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE};
use sapwood::io::ByteRange;
use sapwood::{Error, ErrorKind};

use super::content_range::ContentRange;
use super::exchange::Reply;
use super::identity::{Facts, Known};
use super::multipart::{Broken, Multipart};
use super::server_caps::ServerCaps;
use crate::net::{Assembly, RequestError, RetryWhen};

/// So many bytes in a row may come that nothing was missing of.
const MOST_USELESS: u64 = 4 << 20;
/// A body that is no longer than this is taken whole rather than cut off: a new connection costs more.
const SMALL_BYTES: u64 = 64 << 10;

/// How the body of an answer went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was read to its end, or as far as anything in it was missing.
    Read,
    /// The server does not answer such requests; `ServerCaps` says what it may answer.
    Otherwise,
}

impl From<Broken> for RequestError {
    fn from(broken: Broken) -> Self {
        Self::later(Error::new(ErrorKind::Io, broken.0))
    }
}

/// Reads the answer to a request for `asked`, counting into `news` the bytes that were missing.
pub(crate) async fn ranges(
    reply: Reply,
    asked: &[ByteRange],
    known: &Known,
    caps: &ServerCaps,
    assembly: &RefCell<Assembly<'_>>,
    news: &mut u64,
) -> Result<Outcome, RequestError> {
    known.check(&reply.facts).map_err(RequestError::never)?;
    caps.link_stats.answered_in(reply.latency);
    let several = asked.len() > 1;
    let asked_bytes: u64 = asked.iter().map(|range| range.end - range.start).sum();
    match reply.status() {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK if reply.body_bytes().is_some_and(|bytes| bytes <= asked_bytes.max(SMALL_BYTES)) => {
            if several {
                caps.refused(asked.len());
            }
            return plain(reply, 0..known.len, None, caps, assembly, news).await;
        }
        StatusCode::OK => {
            // The body is not read: dropping it ends the connection.
            if several {
                caps.refused(asked.len())
            } else {
                caps.knows_no_ranges()
            }
            return Ok(Outcome::Otherwise);
        }
        _ if several => {
            caps.refused(asked.len());
            return Ok(Outcome::Otherwise);
        }
        status => {
            let words = format!("{} answered {status} to a range within the file", reply.host);
            return Err(RequestError::later(Error::new(ErrorKind::Io, words)));
        }
    }
    let header = reply.header(CONTENT_RANGE).map(ContentRange::parse);
    let is_multipart = header.is_none()
        && reply.header(CONTENT_TYPE).is_some_and(|kind| kind.to_ascii_lowercase().starts_with(b"multipart/"));
    if is_multipart {
        return multipart(reply, asked, known, caps, assembly, news).await;
    }
    let range = match (header, asked) {
        (Some(Some(ContentRange { range: Some(range), .. })), _) if range.end <= known.len => range,
        // Some leave it out; then the length must tell.
        (None, [range]) if reply.body_bytes() == Some(range.end - range.start) => range.clone(),
        _ => {
            let words = format!("{} does not say which bytes it sends", reply.host);
            return otherwise(asked, caps, RequestError::later(Error::new(ErrorKind::Io, words)));
        }
    };
    if several && range.end - range.start > asked_bytes.saturating_mul(2).max(SMALL_BYTES) {
        // Joined to one, with all that lies between: that is not worth its bytes.
        return otherwise(asked, caps, short(&reply.host));
    }
    let first = asked.first().map_or(0, |range| range.start);
    if range.start.saturating_add(MOST_USELESS) < first {
        return otherwise(asked, caps, useless(&reply.host));
    }
    let host = reply.host.clone();
    let end = asked.last().map_or(0, |range| range.end).min(range.end);
    plain(reply, range.start..end.max(range.start), Some(range.end), caps, assembly, news).await?;
    if assembly.borrow().missing_of(asked).is_empty() {
        return Ok(Outcome::Read);
    }
    // All joined to one would have been complete; it was the first of them, or the longest.
    otherwise(asked, caps, short(&host))
}

/// Several ranges were not answered as they should be: one at a time may be. One alone is an error.
fn otherwise(asked: &[ByteRange], caps: &ServerCaps, failure: RequestError) -> Result<Outcome, RequestError> {
    if asked.len() < 2 {
        return Err(failure);
    }
    caps.one_at_a_time();
    Ok(Outcome::Otherwise)
}

/// A body that is this range of the file. Where it goes on to `beyond` instead, the rest is not read.
async fn plain(
    mut reply: Reply,
    range: ByteRange,
    beyond: Option<u64>,
    caps: &ServerCaps,
    assembly: &RefCell<Assembly<'_>>,
    news: &mut u64,
) -> Result<Outcome, RequestError> {
    let (mut at, began) = (range.start, Instant::now());
    while let Some(piece) = reply.piece().await? {
        let (end, last) = (at.saturating_add(piece.len() as u64), beyond.unwrap_or(range.end));
        if end > last {
            let words = format!("{} sent more than it said", reply.host);
            return Err(RequestError::later(Error::new(ErrorKind::Io, words).wanted(last, end)));
        }
        *news += assembly.borrow_mut().put(at, &piece).map_err(RequestError::never)?;
        at = end;
        // A body that ends here is read to its end, so that the connection can be used again.
        if at >= range.end && last > range.end {
            break;
        }
    }
    caps.link_stats.flowed(at - range.start, began.elapsed());
    Ok(Outcome::Read)
}

async fn multipart(
    mut reply: Reply,
    asked: &[ByteRange],
    known: &Known,
    caps: &ServerCaps,
    assembly: &RefCell<Assembly<'_>>,
    news: &mut u64,
) -> Result<Outcome, RequestError> {
    let (mut parser, mut bytes, began) = (Multipart::new(), 0, Instant::now());
    let (mut useless_bytes, mut news_before) = (0, *news);
    while let Some(piece) = reply.piece().await? {
        bytes += piece.len() as u64;
        useless_bytes = if *news > news_before { 0 } else { useless_bytes + piece.len() as u64 };
        news_before = *news;
        if useless_bytes > MOST_USELESS {
            return otherwise(asked, caps, useless(&reply.host));
        }
        let fed = parser.feed::<RequestError>(&piece, &mut |offset, data, total| {
            known.check(&Facts::of_part(total)).map_err(RequestError::never)?;
            if offset.checked_add(data.len() as u64).is_none_or(|end| end > known.len) {
                return Err(Broken("a part lies beyond the end of the file").into());
            }
            *news += assembly.borrow_mut().put(offset, data).map_err(RequestError::never)?;
            Ok(())
        });
        if let Err(failure) = fed {
            // What cannot be understood once is asked for otherwise; a change or a stop is final.
            return if failure.again == RetryWhen::Never { Err(failure) } else { otherwise(asked, caps, failure) };
        }
    }
    caps.link_stats.flowed(bytes, began.elapsed());
    if assembly.borrow().missing_of(asked).is_empty() {
        return Ok(Outcome::Read);
    }
    // Other ranges than were asked for, or nothing that could be read as parts.
    if parser.may_end() && *news == 0 { otherwise(asked, caps, short(&reply.host)) } else { Err(short(&reply.host)) }
}

fn useless(host: &str) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("{host} sends bytes that were not asked for")))
}

fn short(host: &str) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("{host} sent less than it was asked for")))
}
