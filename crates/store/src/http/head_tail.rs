//! Head and tail of a file in one round trip: two concurrent requests.

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::try_join;
use reqwest::header::CONTENT_RANGE;
use reqwest::{Method, StatusCode};
use sapwood::io::{ByteRange, Ends, Identity, load};
use sapwood::{Error, ErrorKind, Result};

use super::HttpStore;
use super::content_range::ContentRange;
use super::exchange::Reply;
use super::identity::Facts;
use super::whole::{Content, KEPT_BYTES};
use crate::net::{Link, RequestError, Retry, block_on};

/// Ends that are longer than this are the whole file.
const ALL_BYTES: usize = 1 << 40;

/// What came for one end.
enum Got {
    /// Nothing was asked.
    Nothing,
    /// Bytes, and where they are.
    Part { start: u64, bytes: Vec<u8>, facts: Facts },
    /// No byte: the file is empty, or the server does not know this form of a range.
    None { facts: Facts },
    /// The whole file, still to be read.
    Whole(Box<Reply>),
}

/// What came for both.
#[derive(Default)]
struct Found {
    len: u64,
    /// Bytes and where they are.
    parts: Vec<(u64, Bytes)>,
}

impl HttpStore {
    /// Identity and ends. What the first round trip does not bring is read as any range.
    pub(super) fn find_ends(&self, head: usize, tail: usize) -> Result<Ends> {
        let link = self.link()?;
        let found = {
            let _inside = link.runtime.enter();
            block_on(self.look(&link, head, tail))?
        };
        let len = found.len;
        let head = 0..len.min(head as u64);
        let tail = len - len.min(tail as u64)..len;
        let here = |range: &ByteRange| {
            found.parts.iter().find_map(|(start, bytes)| {
                let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
                let to = from.checked_add(usize::try_from(range.end - range.start).ok()?)?;
                (to <= bytes.len()).then(|| bytes.slice(from..to))
            })
        };
        let get = |range: ByteRange| -> Result<Bytes> {
            if range.is_empty() {
                return Ok(Bytes::new());
            }
            match here(&range) {
                Some(bytes) => Ok(bytes),
                None => Ok(load(self, &[range])?.pop().unwrap_or_default()),
            }
        };
        let (head, tail) = (get(head)?, get(tail)?);
        let validator = self.known()?.validator();
        Ok(Ends { identity: Identity { name: self.target.name.clone(), len, validator }, head, tail })
    }

    async fn look(&self, link: &Link, head: usize, tail: usize) -> Result<Found> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            match self.look_once(link, head, tail).await {
                Ok(found) => return Ok(found),
                // The request for the tail may be the reason: RangeHTTPServer answers it by 400, and any other range by
                // 206.
                Err(failure)
                    if tail > 0
                        && failure.code.is_some_and(|code| matches!(code, 400 | 416 | 501))
                        && self.target.signer.is_none()
                        && self.caps.refused_suffix() => {}
                Err(failure) => tokio::time::sleep(retry.after(failure, 0)?).await,
            }
        }
    }

    async fn look_once(&self, link: &Link, head: usize, tail: usize) -> Result<Found, RequestError> {
        if self.caps.whole_only() {
            let reply = self.ask(link, Method::GET, None).await?;
            return self.found_whole(reply, head, tail).await;
        }
        // Where the length has to be known first, the tail is read when the head has told it.
        let blind =
            !self.caps.has_suffixes() || self.target.signer.as_ref().is_some_and(|signer| !signer.knows_suffixes());
        let first = match (head, tail) {
            (0, 1..) if !blind => None,
            // Of no bytes one is asked for: only then does a server tell the length.
            (0, _) => Some(("bytes=0-0".to_owned(), 1)),
            (ALL_BYTES.., _) => Some(("bytes=0-".to_owned(), head)),
            _ => Some((format!("bytes=0-{}", head - 1), head)),
        };
        let last = match tail {
            0 => None,
            // A head that is the whole file is a tail, too.
            _ if head >= ALL_BYTES || blind => None,
            ALL_BYTES.. => Some(("bytes=0-".to_owned(), tail)),
            _ => Some((format!("bytes=-{tail}"), tail)),
        };
        match try_join(self.end(link, first), self.end(link, last)).await? {
            // The server sends the whole file whatever is asked: once is enough.
            (Got::Whole(reply), Got::Whole(_) | Got::Nothing) | (Got::Nothing, Got::Whole(reply)) => {
                self.found_whole(*reply, head, tail).await
            }
            // It knows ranges; this one was the whole file, or had a form that it does not know.
            (Got::Whole(reply), other) | (other, Got::Whole(reply)) => {
                if reply.body_bytes().is_some_and(|bytes| bytes <= (head as u64).max(tail as u64).max(1 << 16)) {
                    return self.found_whole(*reply, head, tail).await;
                }
                let facts = reply.facts.clone();
                self.find_state(link, [other, Got::None { facts }]).await
            }
            (one, two) => self.find_state(link, [one, two]).await,
        }
    }

    /// Asks for one end.
    async fn end(&self, link: &Link, asked: Option<(String, usize)>) -> Result<Got, RequestError> {
        let Some((header, most)) = asked else { return Ok(Got::Nothing) };
        let mut reply = self.ask(link, Method::GET, Some(&header)).await?;
        self.caps.link_stats.answered_in(reply.latency);
        let facts = reply.facts.clone();
        match reply.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => {
                reply.release_permit();
                return Ok(Got::Whole(Box::new(reply)));
            }
            _ => return Ok(Got::None { facts }),
        }
        let range = reply.header(CONTENT_RANGE).and_then(ContentRange::parse).and_then(|found| found.range);
        // Without it, or with more than was asked for: as if nothing had come.
        let Some(Range { start, end }) = range.filter(|range| range.end - range.start <= most as u64) else {
            return Ok(Got::None { facts });
        };
        let (mut bytes, length) = (Vec::new(), end - start);
        while let Some(piece) = reply.piece().await? {
            if bytes.len() as u64 + piece.len() as u64 > length {
                let words = format!("{} sent more than it said", reply.host);
                return Err(RequestError::later(Error::new(ErrorKind::Io, words)));
            }
            bytes.extend_from_slice(&piece);
        }
        if (bytes.len() as u64) < length {
            let words = format!("{} sent less than it said", reply.host);
            return Err(RequestError::later(Error::new(ErrorKind::Io, words).wanted(length, bytes.len() as u64)));
        }
        Ok(Got::Part { start, bytes, facts })
    }

    async fn find_state(&self, link: &Link, both: [Got; 2]) -> Result<Found, RequestError> {
        let (mut said, mut parts) = (Vec::new(), Vec::new());
        for got in both {
            match got {
                Got::Part { start, bytes, facts } => {
                    said.push(facts);
                    parts.push((start, Bytes::from(bytes)));
                }
                Got::None { facts } => said.push(facts),
                Got::Nothing | Got::Whole(_) => {}
            }
        }
        let len = match said.iter().find_map(|facts| facts.total) {
            Some(len) => len,
            None => self.ask_length(link).await?,
        };
        for facts in &said {
            self.learn(len, facts).map_err(RequestError::never)?;
        }
        Ok(Found { len, parts })
    }

    async fn found_whole(&self, reply: Reply, head: usize, tail: usize) -> Result<Found, RequestError> {
        let facts = reply.facts.clone();
        // Checked before the body is read: it may be long.
        if let (Some(known), true) = (self.known.get(), facts.total.is_some()) {
            known.check(&facts).map_err(RequestError::never)?;
        }
        let ends = (head.min(KEPT_BYTES as usize), tail.min(KEPT_BYTES as usize));
        let content = self.take_whole(reply, ends.0, ends.1).await?;
        self.learn(content.len, &facts).map_err(RequestError::never)?;
        self.keep(&content);
        let Content { len, head, tail } = content;
        let tail_start = len - tail.len() as u64;
        Ok(Found { len, parts: vec![(0, Bytes::from(head)), (tail_start, Bytes::from(tail))] })
    }
}
