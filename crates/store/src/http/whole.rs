//! Servers that know of no ranges: the whole file, kept where it is short.

use std::cell::RefCell;
use std::time::Instant;

use bytes::Bytes;
use reqwest::{Method, StatusCode};
use sapwood::{Error, ErrorKind, Result};

use super::HttpStore;
use super::exchange::Reply;
use super::identity::Known;
use crate::net::{Assembly, Link, RequestError, Retry};

/// The longest content that is kept. A longer one is sent again for each read.
pub(super) const KEPT_BYTES: u64 = 64 << 20;

/// Most bytes that are read of a body without a declared length: it may be endless.
const UNDECLARED_BYTES: u64 = 256 << 20;

/// A content that came whole: all of it, or both of its ends.
pub(super) struct Content {
    pub(super) len: u64,
    /// The first bytes; all of them if there are no more than are kept.
    pub(super) head: Vec<u8>,
    /// The last bytes, where the head is not all.
    pub(super) tail: Vec<u8>,
}

impl HttpStore {
    /// Reads the file from its first byte until nothing is missing.
    pub(super) async fn stream_whole(
        &self,
        link: &Link,
        known: &Known,
        assembly: &RefCell<Assembly<'_>>,
    ) -> Result<()> {
        let mut retry = Retry::new(self.options.retries);
        loop {
            let mut news = 0;
            match self.stream_once(link, known, assembly, &mut news).await {
                Ok(()) => return Ok(()),
                Err(failure) => {
                    let first = assembly.borrow().missing().first().map_or(known.len, |range| range.start);
                    let pause = retry.after(failure, news).map_err(|error| error.at(first))?;
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    async fn stream_once(
        &self,
        link: &Link,
        known: &Known,
        assembly: &RefCell<Assembly<'_>>,
        news: &mut u64,
    ) -> Result<(), RequestError> {
        let mut reply = self.ask(link, Method::GET, None).await?;
        known.check(&reply.facts).map_err(RequestError::never)?;
        let last = assembly.borrow().missing().last().map_or(0, |range| range.end);
        let (mut at, began) = (0, Instant::now());
        while at < last {
            let Some(piece) = reply.piece().await? else {
                return Err(short(&reply, known.len, at));
            };
            *news += assembly.borrow_mut().put(at, &piece).map_err(RequestError::never)?;
            at = at.saturating_add(piece.len() as u64);
        }
        self.caps.link_stats.flowed(at, began.elapsed());
        Ok(())
    }

    /// Reads the body of an answer to its end. Keeps it if it is short, and else so many bytes of both ends.
    pub(super) async fn take_whole(&self, mut reply: Reply, head: usize, tail: usize) -> Result<Content, RequestError> {
        let declared = reply.body_bytes();
        let all = declared.is_none_or(|bytes| bytes <= KEPT_BYTES);
        let mut content = Content { len: 0, head: Vec::new(), tail: Vec::new() };
        // Until it is known to be too long, all of it is the head.
        let mut kept = if all { (KEPT_BYTES as usize).max(head) } else { head };
        while let Some(piece) = reply.piece().await? {
            content.len = content.len.saturating_add(piece.len() as u64);
            if declared.is_none() && content.len > UNDECLARED_BYTES {
                let words = format!("{} sends the file without ranges and without saying how long it is", reply.host);
                let error = Error::limit(words, UNDECLARED_BYTES, content.len);
                return Err(RequestError::never(error));
            }
            let here = kept.saturating_sub(content.head.len()).min(piece.len());
            let (first, rest) = piece.split_at(here);
            content.head.extend_from_slice(first);
            if rest.is_empty() {
                continue;
            }
            if kept > head && content.tail.is_empty() {
                // Longer than it is worth keeping, and its length was not said.
                let from = content.head.len().saturating_sub(tail);
                content.tail.extend_from_slice(content.head.get(from..).unwrap_or_default());
                content.head.truncate(head);
                kept = head;
            }
            content.tail.extend_from_slice(rest);
            if content.tail.len() > tail.saturating_mul(2).max(1 << 20) {
                content.tail.drain(..content.tail.len() - tail);
            }
        }
        if declared.is_some_and(|declared| declared != content.len) {
            return Err(short(&reply, declared.unwrap_or(0), content.len));
        }
        Ok(content)
    }

    /// Notes a content that came whole, and keeps it if that is what it is.
    pub(super) fn keep(&self, content: &Content) {
        if content.head.len() as u64 == content.len && content.len <= KEPT_BYTES {
            let _ = self.whole.set(Bytes::copy_from_slice(&content.head)); // another thread may have been faster
        } else {
            self.caps.knows_no_ranges();
        }
    }

    /// The length of the file, where answers with ranges do not tell it.
    pub(super) async fn ask_length(&self, link: &Link) -> Result<u64, RequestError> {
        let reply = self.ask(link, Method::HEAD, None).await?;
        let length = reply.facts.total.filter(|_| reply.status() == StatusCode::OK);
        length.ok_or_else(|| {
            let words = format!("{} does not tell the length of the file", reply.host);
            RequestError::never(Error::unsupported(words))
        })
    }
}

fn short(reply: &Reply, expected: u64, found: u64) -> RequestError {
    let words = format!("{} ended the file before its end", reply.host);
    RequestError::later(Error::new(ErrorKind::Io, words).wanted(expected, found))
}
