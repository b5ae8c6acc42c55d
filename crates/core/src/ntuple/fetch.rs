//! Pages: where their bytes come from, and what is checked of them.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::NTuple;
use super::elements::{decode, is_verbatim, page_bytes};
use super::page_list::Page;
use super::payload::{in_file, is_spread, read_payloads};
use super::whole_page::WholePage;
use crate::codec::{Scratch, inflate};
use crate::column::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{InFlight, Origin};
use crate::tree::PayloadKey;
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

    /// The same for an error in the stored bytes of the page, whose offset counts from their start.
    pub(super) fn name_within(&self, error: Error) -> Error {
        match self.page.locator.in_file() {
            Ok((at, _)) => self.name(error.behind(at)),
            Err(_) => self.name(error),
        }
    }

    /// What it is found by among inflated pages.
    pub(super) fn key(&self) -> Result<PayloadKey> {
        Ok((self.page.locator.in_file()?.0, self.column))
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
    let stored = without_checksum(page, bytes)?;
    if let Some(checksum) = bytes[stored.len()..].first_chunk() {
        let (checksum, found) = (u64::from_le_bytes(*checksum), XxHash3_64::oneshot(stored));
        if checksum != found {
            return Err(Error::new(ErrorKind::Checksum, "a page does not match its checksum").wanted(checksum, found));
        }
    }
    Ok(stored)
}

/// The stored bytes of a page that was checked before.
pub(super) fn without_checksum<'b>(page: &Page, bytes: &'b [u8]) -> Result<&'b [u8]> {
    match page.has_checksum {
        true => bytes.split_last_chunk::<8>().map(|(stored, _)| stored),
        false => Some(bytes),
    }
    .ok_or_else(|| Error::malformed("a page has no checksum"))
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

/// Checks and inflates a page; `is_ends` says that its elements are the ends of lists. With `is_kept` it is in memory
/// of its own: others were read with it, and would stay.
pub(super) fn inflated(
    ntuple: &NTuple,
    id: &PageId,
    is_ends: bool,
    stored: &Bytes,
    is_kept: bool,
    scratch: &mut Scratch,
) -> Result<WholePage> {
    let (column, options) = (ntuple.column(id.column)?, ntuple.file.options());
    let memory = options.session.memory();
    let sealed = checked(&id.page, stored)?;
    let bytes = inflated_bytes(&id.page, sealed.len(), column.bits, &options.limits)?;
    let is_raw = sealed.len() == bytes;
    let mut page = stored.slice(..sealed.len());
    if !is_raw {
        let mut inflated = memory.try_take(bytes)?;
        inflate(sealed, &mut inflated, scratch)?;
        page = memory.lend(inflated);
    }
    if is_ends && !column.kind.is_some_and(|kind| is_verbatim(kind, Number::U64)) {
        let elements = id.page.elements as usize;
        let mut ends = memory.try_take(8 * elements)?;
        decode(column, &page, elements, 0..elements, Number::U64, &mut ends)?;
        page = memory.lend(ends);
    } else if is_raw && is_kept {
        let mut own = memory.try_take(bytes)?;
        own.copy_from_slice(&page);
        page = memory.lend(own);
    }
    Ok(WholePage::new(is_ends, page))
}

/// Where the bytes of a page come from, with its checksum; `known` ones are there already.
pub(super) fn origin(ntuple: &NTuple, page: &PageId, first_entry: u64, known: &HashMap<u64, Bytes>) -> Result<Origin> {
    let (file, max_key_bytes) = (&ntuple.file, ntuple.anchor.max_key_bytes);
    let (at, bytes) = page.place()?;
    if let Some(bytes) = known.get(&at) {
        return Ok(Origin::Here(bytes.clone()));
    }
    if is_spread(bytes, max_key_bytes) {
        let whole = read_payloads(file, &[(at, bytes)], max_key_bytes)?;
        let whole = whole.into_iter().next().ok_or_else(|| Error::internal("a payload was not read"))?;
        return Ok(Origin::Here(whole));
    }
    Ok(Origin::Stored(in_file(file, at, bytes)?, first_entry))
}

/// Reads pages at once, each once: their positions and bytes.
pub(super) fn fetch(
    ntuple: &NTuple,
    pages: &[PageId],
    name: impl Fn(&PageId, Error) -> Error,
) -> Result<Vec<(u64, Bytes)>> {
    let known = HashMap::new();
    let (mut seen, mut places, mut origins) = (HashSet::new(), Vec::new(), Vec::new());
    for page in pages {
        let (at, _) = page.place().map_err(|error| name(page, error))?;
        if seen.insert(at) {
            places.push(at);
            // In the order of the file: pages of one cluster lie together.
            origins.push(origin(ntuple, page, page.cluster as u64, &known).map_err(|error| name(page, error))?);
        }
    }
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let read = || InFlight::request(&ntuple.file, &ntuple.cache, false, origins)?.take(&ntuple.file);
    let bytes = read().map_err(|error| ntuple.place(error))?;
    Ok(places.into_iter().zip(bytes).collect())
}
