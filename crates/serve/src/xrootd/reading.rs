//! Answers to reads of one range: its bytes, or its pages, each after its sum.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use sapwood_store::xrootd_numbers::{PAGE_BYTES, status};

use super::exchange::Exchange;
use super::frame::{head, pages_head};
use super::request::Segment;
use super::trouble::Trouble;
use crate::answer::{Answer, Part};
use crate::metrics::{Outcome, Protocol};

/// Longer reads belong to copies, which need no prefetch.
const MAX_WATCHED: u64 = 4 << 20;

impl Exchange {
    /// Answers by the connection of path `by`, in frames of one piece each.
    pub(super) async fn read(&mut self, segment: &Segment, by: u8, by_pages: bool) -> Result<(), Trouble> {
        let file = self.file(segment.handle)?;
        if by != 0 {
            self.writer = self.session.path(by)?;
        }
        let service = Arc::clone(&self.service);
        let opened = file.current(&service.files).await?;
        let end = (segment.offset + u64::from(segment.bytes)).min(opened.len);
        let range = segment.offset..end.max(segment.offset);
        if range.is_empty() {
            return self.piece(range.start, Bytes::new(), true, by_pages).await;
        }
        let parts = VecDeque::from([Part::Range(range.clone())]);
        let mut answer = Answer::new(Arc::clone(&opened), Arc::clone(&service.supply), Protocol::Xrootd, parts);
        let failed = |error| self.read_failed(&file.path, &file.secret, &opened, &error);
        answer.begin().await.map_err(failed)?;
        answer.count();
        if range.end - range.start <= MAX_WATCHED
            && let Some(prefetcher) = &service.prefetcher
        {
            prefetcher.saw(&opened, std::slice::from_ref(&range));
        }
        let mut at = range.start;
        while at < range.end {
            // Without room for a piece: others that need nothing of the upstream go on.
            answer.begin().await.map_err(|error| self.read_failed(&file.path, &file.secret, &opened, &error))?;
            let writer = Arc::clone(&self.writer);
            let room = writer.room().await?;
            let Some(piece) = answer.next().await else { break };
            let piece = piece.map_err(|error| self.read_failed(&file.path, &file.secret, &opened, &error))?;
            let next = at + piece.len() as u64;
            self.piece(at, piece, next >= range.end, by_pages).await?;
            drop(room);
            at = next;
        }
        Ok(())
    }

    async fn piece(&mut self, at: u64, bytes: Bytes, last: bool, by_pages: bool) -> Result<(), Trouble> {
        match (by_pages, last) {
            (false, true) => self.ok(bytes).await,
            (false, false) => self.so_far(bytes).await,
            (true, _) => {
                let pages = with_sums(at, &bytes);
                let about = pages_head(self.stream, at, pages.len(), last);
                let start = [&head(self.stream, status::PAGES, about.len())[..], &about].concat();
                if last {
                    self.service.supply.metrics.ended(Outcome::Ok);
                }
                self.begun = true;
                self.writer.send(&start, pages).await
            }
        }
    }
}

/// The pages of bytes that begin at `at` in the file, each after its sum.
fn with_sums(at: u64, bytes: &[u8]) -> Bytes {
    let page = usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX);
    let first = usize::try_from(PAGE_BYTES - at % PAGE_BYTES).unwrap_or(page);
    let (start, rest) = bytes.split_at(first.min(bytes.len()));
    let mut pages = BytesMut::with_capacity(bytes.len() + 4 * (bytes.len() / page + 2));
    for page in [start].into_iter().chain(rest.chunks(page)).filter(|page| !page.is_empty()) {
        pages.put_u32(crc32c::crc32c(page));
        pages.put_slice(page);
    }
    pages.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_where_those_of_the_file_do() {
        let bytes = vec![7; 10_000];
        let sizes = |at| {
            let pages = with_sums(at, &bytes);
            let mut sizes = Vec::new();
            let mut rest = 0;
            let mut at = at;
            let end = at + 10_000;
            while at < end {
                let size = (at / 4096 * 4096 + 4096).min(end) - at;
                let page = &pages[rest + 4..rest + 4 + size as usize];
                assert_eq!(pages[rest..rest + 4], crc32c::crc32c(page).to_be_bytes());
                sizes.push(size);
                (at, rest) = (at + size, rest + 4 + size as usize);
            }
            assert_eq!(rest, pages.len());
            sizes
        };
        assert_eq!(sizes(0), [4096, 4096, 1808]);
        assert_eq!(sizes(4095), [1, 4096, 4096, 1807]);
        assert_eq!(sizes(8192 + 4000), [96, 4096, 4096, 1712]);
        assert!(with_sums(5, b"").is_empty());
    }
}
