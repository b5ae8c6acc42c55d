//! Pages: requested in windows ahead of their use, checked, inflated.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::NTuple;
use super::elements::page_bytes;
use super::page_list::Page;
use super::payload::{in_file, is_spread, read_payloads};
use crate::codec::{Scratch, inflate};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::io::{Arrival, Flow, Ticket, Want, coalesce};
use crate::tree::Coming;
use crate::wire::Limits;

/// A page, and what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageId {
    /// Number of the node in the plan.
    pub(super) node: usize,
    pub(super) cluster: usize,
    pub(super) column: usize,
    /// Number of the page in its column and cluster.
    pub(super) number: usize,
    pub(super) page: Page,
}

const CHECKSUM_BYTES: u64 = 8;

impl PageId {
    /// Adds to an error which page it is about.
    pub(super) fn name(&self, error: Error) -> Error {
        let error = error.in_object(&format!("column {}, page {}", self.column, self.number));
        match self.page.locator.in_file() {
            Ok((at, _)) => error.at(at),
            Err(_) => error,
        }
    }

    /// Position and bytes, with the checksum behind it.
    pub(super) fn place(&self) -> Result<(u64, u64)> {
        let (at, bytes) = self.page.locator.in_file()?;
        let more = if self.page.has_checksum { CHECKSUM_BYTES } else { 0 };
        Ok((at, bytes.saturating_add(more)))
    }
}

/// The stored bytes of a page: checks its checksum and takes it off.
pub(super) fn checked<'b>(page: &Page, bytes: &'b [u8]) -> Result<&'b [u8]> {
    if !page.has_checksum {
        return Ok(bytes);
    }
    let (stored, checksum) = bytes.split_last_chunk::<8>().ok_or_else(|| Error::malformed("a page has no checksum"))?;
    let (checksum, found) = (u64::from_le_bytes(*checksum), XxHash3_64::oneshot(stored));
    if checksum != found {
        return Err(Error::new(ErrorKind::Checksum, "a page does not match its checksum").wanted(checksum, found));
    }
    Ok(stored)
}

/// Bytes that a page has once inflated.
///
/// # Errors
///
/// [`Malformed`](ErrorKind::Malformed) where that cannot be, [`Limit`](ErrorKind::Limit).
pub(super) fn inflated_bytes(page: &Page, stored: usize, bits: u16, limits: &Limits) -> Result<usize> {
    let whole = page_bytes(bits, u64::from(page.elements));
    if stored as u64 > whole {
        return Err(Error::malformed("a page has more bytes than its elements").wanted(whole, stored as u64));
    }
    let most = (stored as u64).saturating_mul(limits.expansion).min(limits.object_bytes);
    if whole > most && stored as u64 != whole {
        return Err(Error::limit("a page inflates too far", most, whole));
    }
    Ok(whole as usize)
}

/// A page, checked and inflated.
pub(super) fn inflated(page: &Page, bytes: &Bytes, bits: u16, limits: &Limits, scratch: &mut Scratch) -> Result<Bytes> {
    let stored = checked(page, bytes)?;
    let whole = inflated_bytes(page, stored.len(), bits, limits)?;
    if stored.len() == whole {
        return Ok(bytes.slice(..whole));
    }
    let mut out = vec![0; whole];
    inflate(stored, &mut out, scratch)?;
    Ok(Bytes::from(out))
}

/// Whether other threads read while this one decodes.
pub(super) fn is_ahead(file: &File, budget_bytes: u64) -> bool {
    /// A store with a higher latency is remote: a single thread would wait more than decode.
    const FAR_NS: u64 = 1_000_000;
    budget_bytes > 0 && (file.options().session.threads() > 1 || file.store().profile().latency_ns > FAR_NS)
}

/// A window in flight.
pub(super) struct Asked {
    arrivals: Receiver<Arrival>,
    /// Dropping one cancels its request.
    _tickets: Vec<Ticket>,
    /// What was read at once.
    here: Vec<Arrival>,
    missing: usize,
    /// What is there already, by position in the window.
    known: Vec<(usize, Bytes)>,
    /// What the cache holds, or waits for.
    kept: Vec<(usize, Coming)>,
    len: usize,
}

/// Requests the pages of a window; what is `known` already is not requested. `name` adds to an error which page it is
/// about.
pub(super) fn ask(
    ntuple: &NTuple,
    window: &[PageId],
    known: &HashMap<u64, Bytes>,
    is_ahead: bool,
    name: impl Fn(&PageId, Error) -> Error,
) -> Result<Asked> {
    let (file, session) = (&ntuple.file, &ntuple.file.options().session);
    let (store, max_key_bytes) = (file.store(), ntuple.anchor.max_key_bytes);
    let (to, arrivals): (Sender<Arrival>, _) = channel();
    let mut asked = Asked {
        arrivals,
        _tickets: Vec::new(),
        here: Vec::new(),
        missing: 0,
        known: Vec::new(),
        kept: Vec::new(),
        len: window.len(),
    };
    let mut wants = Vec::with_capacity(window.len());
    for (id, page) in window.iter().enumerate() {
        let (at, bytes) = page.place().map_err(|error| name(page, error))?;
        if let Some(bytes) = known.get(&at) {
            asked.known.push((id, bytes.clone()));
        } else if is_spread(bytes, max_key_bytes) {
            let spread = read_payloads(file, &[(at, bytes)], max_key_bytes).map_err(|error| name(page, error))?;
            asked.known.extend(spread.into_iter().map(|bytes| (id, bytes)));
        } else if let Some(coming) = ntuple.cache.get(at) {
            asked.kept.push((id, coming));
        } else {
            let range = in_file(file, at, bytes).map_err(|error| name(page, error))?;
            // In the order of the file: pages of one cluster lie together.
            wants.push(Want { id: id as u64, range, first_entry: page.cluster as u64 });
        }
    }
    file.perf().note_hits(asked.kept.len() as u64, 0);
    asked.missing = wants.len();
    for request in coalesce(&wants, &store.profile()) {
        if is_ahead {
            let to = to.clone();
            let deliver = move |arrival| if to.send(arrival).is_ok() { Flow::Go } else { Flow::Stop };
            asked._tickets.push(session.fetcher().submit(store, request, deliver));
        } else {
            asked.here.extend(session.fetcher().read_now(&**store, &request).map_err(|error| ntuple.place(error))?);
        }
    }
    Ok(asked)
}

impl Asked {
    /// Waits for the pages, in the order of the window.
    pub(super) fn take(self, ntuple: &NTuple) -> Result<Vec<Bytes>> {
        let perf = ntuple.file.perf();
        let from = perf.now();
        let outcome = self.collect(ntuple);
        if let Some(from) = from {
            perf.note_wait(from);
        }
        outcome
    }

    fn collect(self, ntuple: &NTuple) -> Result<Vec<Bytes>> {
        let mut pages = vec![Bytes::new(); self.len];
        let mut put = |id: usize, bytes: Bytes| match pages.get_mut(id) {
            Some(page) => {
                *page = bytes;
                Ok(())
            }
            None => Err(Error::internal("a page arrived that was not requested")),
        };
        let mut here = self.here.into_iter();
        for _ in 0..self.missing {
            let arrival = match here.next() {
                Some(arrival) => arrival,
                None => self.arrivals.recv().map_err(|_| Error::new(ErrorKind::Io, "the store stopped delivering"))?,
            };
            put(arrival.id as usize, arrival.bytes.map_err(|error| ntuple.place(error))?)?;
        }
        for (id, coming) in self.kept {
            put(id, coming.wait().map_err(|error| ntuple.place(error))?)?;
        }
        for (id, bytes) in self.known {
            put(id, bytes)?;
        }
        Ok(pages)
    }
}

/// Reads pages at once, each once: their positions and bytes.
pub(super) fn fetch(
    ntuple: &NTuple,
    pages: &[PageId],
    name: impl Fn(&PageId, Error) -> Error,
) -> Result<Vec<(u64, Bytes)>> {
    let mut seen = HashSet::new();
    let mut once = Vec::new();
    for page in pages {
        let (at, _) = page.place().map_err(|error| name(page, error))?;
        if seen.insert(at) {
            once.push(*page);
        }
    }
    if once.is_empty() {
        return Ok(Vec::new());
    }
    let asked = ask(ntuple, &once, &HashMap::new(), false, name)?;
    let bytes = asked.take(ntuple)?;
    once.iter().zip(bytes).map(|(page, bytes)| Ok((page.page.locator.in_file()?.0, bytes))).collect()
}
