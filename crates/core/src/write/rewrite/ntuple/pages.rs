//! Pages of RNTuples that move from file to file: as they are, or compressed anew. Their values are not decoded.
//!
//! Source: `RNTupleMerger`.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::codec::{Compression, Scratch, deflate, inflate};
use crate::error::{Error, ErrorKind, Result};
use crate::io::runs;
use crate::ntuple::{ColumnDescriptor, ColumnPages, Locator, NTuple, decode, encode};
use crate::session::Session;
use crate::write::file::ntuple::blobs;
use crate::write::file::state::{Output, State};
use crate::write::rewrite::tree::relocate::side_by_side;

/// Pages that were moved.
#[derive(Debug)]
pub(crate) struct MovedPages {
    /// Pages that were never inflated, and their bytes.
    pub(crate) copied: (u64, u64),
    /// Pages that were recompressed, and their bytes now.
    pub(crate) recompressed: (u64, u64),
    /// The records that they are in now.
    pub(crate) rooms: Vec<Range<u64>>,
    /// The most bytes of a key: larger pages are spread over several.
    pub(crate) max_key_bytes: u64,
}

impl MovedPages {
    pub(crate) fn new(max_key_bytes: u64) -> Self {
        Self { copied: (0, 0), recompressed: (0, 0), rooms: Vec::new(), max_key_bytes }
    }
}

/// The most bytes of pages that are in memory at a time, unless one page has more.
const STEP_BYTES: u64 = 32 << 20;

/// How the elements of a column are stored anew.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    pub(crate) from: ColumnDescriptor,
    pub(crate) to: ColumnDescriptor,
}

/// A page to move. Locators of several pages may lead to the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    at: u64,
    elements: u32,
    /// The column whose conversion it needs, and the setting that its pages were compressed with.
    converted: Option<(usize, u32)>,
    /// Stored bytes, without the checksum.
    stored: u64,
    has_checksum: bool,
    /// Bytes of the elements.
    unpacked: u64,
}

impl Output {
    /// Writes the pages of a cluster of another RNTuple, and gives the columns their new places. `bits` are those of an
    /// element of each column; some columns are converted. What was written is noted even if an error follows.
    #[expect(clippy::too_many_arguments, reason = "what is moved, how, and where that is noted")]
    pub(crate) fn move_pages(
        &self,
        state: &mut State,
        from: &NTuple,
        columns: &mut [ColumnPages],
        bits: &[u16],
        conversions: &HashMap<usize, Conversion>,
        again: Option<Compression>,
        moved: &mut MovedPages,
    ) -> Result<()> {
        let mut sources = sources(from, columns, bits, conversions)?;
        let all = sources.clone();
        sources.sort_by_key(|page| {
            (page.at, page.stored, page.has_checksum, page.elements, page.unpacked, page.converted)
        });
        sources.dedup();
        let mut places: HashMap<Source, Locator> = HashMap::with_capacity(sources.len());
        let mut rest = sources.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let ends = rest.iter().position(|page| {
                bytes = bytes.saturating_add(page.stored);
                bytes > STEP_BYTES
            });
            let (step, later) = rest.split_at(ends.unwrap_or(rest.len()).max(1));
            rest = later;
            let how = Sealing { again, verify: self.options.verify, conversions };
            let copied = if how.changes_none(step) { ranges_to_copy(from, step, moved.max_key_bytes)? } else { None };
            let pages = match copied {
                Some(_) => Vec::new(),
                None => seal_pages(from, step, how, &self.options.session)?,
            };
            let lengths: Vec<u64> = match copied {
                Some(_) => step.iter().map(Source::bytes).collect(),
                None => pages.iter().map(|page| page.len() as u64).collect(),
            };
            for blob in blobs(lengths.iter().copied(), moved.max_key_bytes) {
                let (step, lengths) = (&step[blob.clone()], &lengths[blob.clone()]);
                let sums = 8 * step.iter().filter(|page| page.has_checksum).count() as u64;
                let objlen = lengths.iter().sum::<u64>() - sums;
                let (mut at, room) = match &copied {
                    Some(ranges) => self.copy_blob(state, from, &ranges[blob], objlen)?,
                    None => {
                        let parts: Vec<&[u8]> = pages[blob].iter().map(|page| &page[..]).collect();
                        self.write_blob(state, &parts, objlen, moved.max_key_bytes)?
                    }
                };
                moved.rooms.push(room);
                for (source, bytes) in step.iter().zip(lengths) {
                    let own = bytes - if source.has_checksum { 8 } else { 0 };
                    places.insert(*source, Locator::File { at, bytes: own });
                    at += bytes;
                }
            }
            for (source, bytes) in step.iter().zip(lengths) {
                let is_new = again.is_some() || source.converted.is_some();
                let counted = if is_new { &mut moved.recompressed } else { &mut moved.copied };
                *counted = (counted.0 + 1, counted.1 + bytes);
            }
        }
        let pages = columns.iter_mut().flat_map(|column| &mut column.pages);
        for (page, source) in pages.zip(all) {
            let place = places.get(&source);
            page.locator = *place.ok_or_else(|| Error::internal("a page was not moved"))?;
        }
        if let Some(again) = again {
            columns.iter_mut().for_each(|column| column.compression = again.to_root() as u32);
        }
        Ok(())
    }
}

/// The pages of columns, one for each locator.
fn sources(
    from: &NTuple,
    columns: &[ColumnPages],
    bits: &[u16],
    conversions: &HashMap<usize, Conversion>,
) -> Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::new();
    for (number, (column, &bits)) in columns.iter().zip(bits).enumerate() {
        for page in &column.pages {
            let (at, stored) = page.locator.in_file().map_err(|error| from.place(error))?;
            let unpacked = (u64::from(page.elements) * u64::from(bits)).div_ceil(8);
            if stored > unpacked {
                let error = Error::malformed("a page is longer than its elements").at(at).wanted(unpacked, stored);
                return Err(from.place(error.in_object(&format!("column {number}"))));
            }
            let converted = conversions.contains_key(&number).then_some((number, column.compression));
            let (elements, has_checksum) = (page.elements, page.has_checksum);
            sources.push(Source { at, elements, converted, stored, has_checksum, unpacked });
        }
    }
    Ok(sources)
}

/// Reads the pages of a cluster, and checks each: by its checksum, or by inflating it. Returns whether there is one of
/// which nothing tells whether it is whole.
///
/// # Errors
///
/// What the first page that is not whole reports.
pub(crate) fn check_pages(from: &NTuple, columns: &[ColumnPages], bits: &[u16], session: &Session) -> Result<bool> {
    let conversions = HashMap::new();
    let sources = sources(from, columns, bits, &conversions)?;
    for step in sources.chunks(64) {
        seal_pages(from, step, Sealing { again: None, verify: true, conversions: &conversions }, session)?;
    }
    Ok(sources.iter().any(|page| !page.has_checksum && page.stored == page.unpacked))
}

/// What becomes of pages.
#[derive(Clone, Copy)]
struct Sealing<'a> {
    /// Their new compression, where they get one.
    again: Option<Compression>,
    /// Whether each is checked.
    verify: bool,
    conversions: &'a HashMap<usize, Conversion>,
}

impl Source {
    /// Stored bytes, with the checksum.
    fn bytes(&self) -> u64 {
        self.stored + if self.has_checksum { 8 } else { 0 }
    }
}

impl Sealing<'_> {
    /// Whether pages stay as they are and are not looked at.
    fn changes_none(&self, step: &[Source]) -> bool {
        self.again.is_none() && !self.verify && step.iter().all(|page| page.converted.is_none())
    }
}

/// Where pages are in their file; nothing if one of them is spread over several records.
fn ranges_of(from: &NTuple, step: &[Source]) -> Result<Option<Vec<Range<u64>>>> {
    if step.iter().any(|page| from.is_spread(page.bytes())) {
        return Ok(None);
    }
    let len = from.file().identity().len;
    let range = |page: &Source| {
        let end = page.at.checked_add(page.bytes()).filter(|&end| end <= len);
        let error = || Error::malformed("a page reaches beyond the end of the file").at(page.at);
        end.map(|end| page.at..end).ok_or_else(|| from.place(error()))
    };
    step.iter().map(range).collect::<Result<Vec<_>>>().map(Some)
}

/// Where pages are that the system can copy: large runs of a local file, of which each page fits in a key.
fn ranges_to_copy(from: &NTuple, step: &[Source], max_key_bytes: u64) -> Result<Option<Vec<Range<u64>>>> {
    /// Shorter ones are copied through memory.
    const RUN_BYTES: u64 = 64 << 10;
    if from.file().store().as_file().is_none() || step.iter().any(|page| page.bytes() > max_key_bytes) {
        return Ok(None);
    }
    let ranges = ranges_of(from, step)?;
    Ok(ranges.filter(|ranges| {
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        bytes / runs(ranges).len().max(1) as u64 >= RUN_BYTES
    }))
}

/// Pages as they are written.
fn seal_pages(from: &NTuple, step: &[Source], how: Sealing<'_>, session: &Session) -> Result<Vec<Bytes>> {
    let stored = match ranges_of(from, step)? {
        None => from.payloads(&step.iter().map(|page| (page.at, page.bytes())).collect::<Vec<_>>())?,
        Some(ranges) => side_by_side(from.file(), &ranges).map_err(|error| from.place(error))?,
    };
    if how.changes_none(step) {
        return Ok(stored);
    }
    let jobs: Vec<_> = step.iter().zip(stored).collect();
    let work = |scratch: &mut Scratch, (page, stored): &(&Source, Bytes)| {
        made_or_checked(page, stored, how, scratch).map_err(|error| from.place(error.behind(page.at)))
    };
    session.map(&jobs, Scratch::default, work)
}

/// Checks a page, and converts it or compresses it anew where that is wanted.
fn made_or_checked(page: &Source, stored: &Bytes, how: Sealing<'_>, scratch: &mut Scratch) -> Result<Bytes> {
    let conversion = page.converted.and_then(|(column, setting)| Some((how.conversions.get(&column)?, setting)));
    let (own, sum) = stored.split_at(page.stored as usize);
    if let Some(sum) = sum.first_chunk() {
        let (wanted, found) = (u64::from_le_bytes(*sum), XxHash3_64::oneshot(own));
        if wanted != found {
            let error = Error::new(ErrorKind::Checksum, "a page does not match its checksum");
            return Err(error.wanted(wanted, found));
        }
        if how.again.is_none() && conversion.is_none() {
            return Ok(stored.clone());
        }
    }
    let mut inflated = Vec::new();
    let elements = if page.stored == page.unpacked {
        own
    } else {
        inflated.resize(page.unpacked as usize, 0);
        inflate(own, &mut inflated, scratch)?;
        &inflated
    };
    let mut made = Vec::new();
    let (elements, compression) = match (conversion, how.again) {
        (Some((conversion, setting)), again) => {
            conversion.apply(elements, page.elements as usize, &mut made)?;
            let kept = || i32::try_from(setting).ok().and_then(Compression::from_root).unwrap_or(Compression::NONE);
            (&made[..], again.unwrap_or_else(kept))
        }
        (None, Some(again)) => (elements, again),
        (None, None) => return Ok(stored.clone()),
    };
    let mut sealed = Vec::new();
    if !deflate(elements, compression, &mut sealed, scratch)? {
        sealed.clear();
        sealed.extend_from_slice(elements);
    }
    if page.has_checksum {
        let sum = XxHash3_64::oneshot(&sealed);
        sealed.extend_from_slice(&sum.to_le_bytes());
    }
    Ok(sealed.into())
}

impl Conversion {
    /// Converts the elements of a page.
    fn apply(&self, page: &[u8], elements: usize, into: &mut Vec<u8>) -> Result<()> {
        let (kind, number) = self
            .to
            .kind
            .and_then(|kind| Some((kind, kind.stored_number()?)))
            .ok_or_else(|| Error::internal("elements are to become elements of a type that has no values"))?;
        let mut memory = vec![0; elements * number.bytes()];
        decode(&self.from, page, elements, 0..elements, number, &mut memory)?;
        encode(kind, self.to.bits, self.to.range, &memory, into);
        Ok(())
    }
}
