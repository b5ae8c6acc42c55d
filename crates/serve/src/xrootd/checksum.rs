//! Answers to queries for checksums: computed over all bytes of a file, once for each of its states.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Profile, Receive, Store};
use sapwood::{Error, ErrorKind, Result};
use sapwood_store::xrootd_numbers::code;
use sapwood_store::{BlockCache, Checksum, ChecksumKind, checksums};
use tokio::time::timeout;

use super::about::About;
use super::exchange::Exchange;
use super::open_files::Handle;
use super::request::Place;
use super::service::CHECKSUM_TURN;
use super::trouble::Trouble;
use crate::access::Secret;
use crate::opened::Opened;
use crate::path::Path;
use crate::upstream::Counted;
use crate::upstream_reads::ending;

/// The algorithm for clients that name none.
const DEFAULT: ChecksumKind = ChecksumKind::Adler32;

impl Exchange {
    pub(super) async fn checksum(&mut self, place: &Place) -> std::result::Result<(), Trouble> {
        let secret = self.secret(place)?;
        let About::File(opened) = self.about(&place.path, &secret).await? else {
            return Err(Trouble::refused(code::IS_FOLDER, "this is a folder"));
        };
        let named = place.rest.split('&').find_map(|part| part.strip_prefix("cks.type="));
        let kind = named.map_or(Ok(DEFAULT), ChecksumKind::from_str);
        let kind = kind.map_err(|error| Trouble::refused(code::UNSUPPORTED, error.message()))?;
        self.send_checksum(&place.path, &secret, opened, kind).await
    }

    pub(super) async fn checksum_of_open(&mut self, handle: Handle) -> std::result::Result<(), Trouble> {
        let file = self.file(handle)?;
        let opened = file.current(&self.service.files).await?;
        self.send_checksum(&file.path, &file.secret, opened, DEFAULT).await
    }

    async fn send_checksum(
        &mut self,
        path: &Path,
        secret: &Secret,
        opened: Arc<Opened>,
        kind: ChecksumKind,
    ) -> std::result::Result<(), Trouble> {
        let sum = match known(&opened, kind) {
            Some(sum) => sum,
            None => {
                let turn = timeout(CHECKSUM_TURN, self.service.checksums.acquire()).await;
                let turn = turn.map_err(|_| Trouble::Wait(CHECKSUM_TURN.as_secs() as u32))?;
                let turn = turn.map_err(|_| self.trouble(&ending()))?;
                let sum = self.compute(&opened, kind).await;
                drop(turn);
                sum.map_err(|error| self.read_failed(path, secret, &opened, &error))?
            }
        };
        let answer = format!("{kind} {}\0", sum.digits());
        self.ok(answer.into()).await
    }

    async fn compute(&self, opened: &Arc<Opened>, kind: ChecksumKind) -> Result<Checksum> {
        // Another client may have asked meanwhile.
        if let Some(sum) = known(opened, kind) {
            return Ok(sum);
        }
        let wanted = Wanted::default();
        let store = Interruptible { cache: Arc::clone(&opened.cache), wanted: Arc::clone(&wanted.0) };
        let sum = self.service.supply.reads.run(&opened.reads, move || {
            let sums = checksums(&store, &[kind])?;
            sums.into_iter().next().ok_or_else(|| Error::internal("no checksum of one that was asked for"))
        });
        let sum = sum.await?;
        opened.sums.lock().unwrap_or_else(PoisonError::into_inner).push(sum.clone());
        Ok(sum)
    }
}

fn known(opened: &Opened, kind: ChecksumKind) -> Option<Checksum> {
    let sums = opened.sums.lock().unwrap_or_else(PoisonError::into_inner);
    sums.iter().find(|sum| sum.kind() == kind).cloned()
}

/// False once the client has left.
struct Wanted(Arc<AtomicBool>);

impl Default for Wanted {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A file that is read only as long as it is wanted.
struct Interruptible {
    cache: Arc<BlockCache<Counted>>,
    wanted: Arc<AtomicBool>,
}

impl Store for Interruptible {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.cache.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if !self.wanted.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the client has left"));
        }
        self.cache.read_ranges(ranges, &mut Through { wanted: &self.wanted, into })
    }

    fn profile(&self) -> Profile {
        self.cache.profile()
    }
}

struct Through<'a> {
    wanted: &'a AtomicBool,
    into: &'a mut dyn Receive,
}

impl Receive for Through<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        self.into.deliver(index, bytes)
    }

    fn stopped(&self) -> bool {
        !self.wanted.load(Ordering::Relaxed) || self.into.stopped()
    }
}
