//! Seals the pages of a cluster: encoded, compressed, with a checksum.
//!
//! Source: `RPageSink::SealPage`.

use std::collections::HashMap;
use std::hash::Hasher;
use std::ops::Range;

use twox_hash::XxHash3_64;

use crate::codec::{Compression, Scratch, deflate};
use crate::error::{Error, Result};
use crate::idle::Idle;
use crate::ntuple::{ColumnPages, ColumnType, Locator, Page, encode, is_plain};
use crate::session::Session;
use crate::write::page::buffer::ClusterBuffer;
use crate::write::page::field::ColumnPlan;

/// How pages are sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    pub(crate) compression: Compression,
    /// Bytes of the elements of a page in memory.
    pub(crate) page_bytes: usize,
    pub(crate) with_checksums: bool,
}

/// A page as it is stored, without its checksum.
#[derive(Debug)]
pub(crate) struct SealedPage<'b> {
    bytes: PageBytes<'b>,
    /// XXH3 of the bytes.
    checksum: [u8; 8],
}

#[derive(Debug)]
enum PageBytes<'b> {
    /// Encoded or compressed.
    Sealed(Vec<u8>),
    /// Elements that are stored as in memory stay where they are, in one or more parts.
    Plain(Vec<&'b [u8]>),
}

impl<'b> SealedPage<'b> {
    fn sealed(bytes: Vec<u8>) -> Self {
        let checksum = XxHash3_64::oneshot(&bytes).to_le_bytes();
        Self { bytes: PageBytes::Sealed(bytes), checksum }
    }

    fn plain(parts: Vec<&'b [u8]>) -> Self {
        let checksum = match &parts[..] {
            [whole] => XxHash3_64::oneshot(whole),
            parts => {
                let mut hash = XxHash3_64::new();
                parts.iter().for_each(|part| hash.write(part));
                hash.finish()
            }
        };
        Self { bytes: PageBytes::Plain(parts), checksum: checksum.to_le_bytes() }
    }

    /// The bytes, part by part.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let (sealed, plain) = match &self.bytes {
            PageBytes::Sealed(bytes) => (Some(&bytes[..]), &[][..]),
            PageBytes::Plain(parts) => (None, &parts[..]),
        };
        sealed.into_iter().chain(plain.iter().copied())
    }

    /// What is written: the bytes, and the checksum if that is stored, too.
    pub(crate) fn written(&self, with_checksum: bool) -> impl Iterator<Item = &[u8]> {
        self.parts().chain(with_checksum.then_some(&self.checksum[..]))
    }

    fn len(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }

    /// Stored bytes, with those of the checksum if that is stored, too.
    pub(crate) fn stored(&self, with_checksum: bool) -> u64 {
        self.written(with_checksum).map(|part| part.len() as u64).sum()
    }

    /// Whether the bytes are equal, however they lie.
    fn has_bytes_of(&self, other: &SealedPage<'_>) -> bool {
        let (mut ours, mut theirs) = (self.parts(), other.parts());
        let (mut one, mut two): (&[u8], &[u8]) = (&[], &[]);
        loop {
            while one.is_empty() {
                let Some(part) = ours.next() else { return two.is_empty() && theirs.all(<[u8]>::is_empty) };
                one = part;
            }
            while two.is_empty() {
                let Some(part) = theirs.next() else { return false };
                two = part;
            }
            let (first, rest) = one.split_at(one.len().min(two.len()));
            let (second, others) = two.split_at(first.len());
            if first != second {
                return false;
            }
            (one, two) = (rest, others);
        }
    }

    fn into_owned(self) -> SealedPage<'static> {
        let bytes = match self.bytes {
            PageBytes::Sealed(bytes) => bytes,
            PageBytes::Plain(parts) => parts.concat(),
        };
        SealedPage { bytes: PageBytes::Sealed(bytes), checksum: self.checksum }
    }
}

/// The pages of a cluster, one after another, and where each column's are from the first byte on.
#[derive(Debug, Default)]
pub(crate) struct SealedCluster<'b> {
    /// Sealed pages.
    pub(crate) pages: Vec<SealedPage<'b>>,
    /// Whether each page is followed by its checksum.
    pub(crate) with_checksums: bool,
    /// Pages of each column; positions count from the first byte of the first page.
    pub(crate) columns: Vec<ColumnPages>,
    /// Stored bytes, and bytes before compression.
    pub(crate) stored: u64,
    pub(crate) unpacked: u64,
}

impl SealedCluster<'_> {
    /// The same, with pages of its own.
    pub(crate) fn into_owned(self) -> SealedCluster<'static> {
        let Self { pages, with_checksums, columns, stored, unpacked } = self;
        let pages = pages.into_iter().map(SealedPage::into_owned).collect();
        SealedCluster { pages, with_checksums, columns, stored, unpacked }
    }
}

/// One page to seal.
struct Job {
    column: usize,
    elements: Range<usize>,
    /// An earlier page with the same elements: then this one is not sealed.
    same_as: Option<usize>,
}

/// What sealing needs again for the next cluster.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    /// Memory of pages.
    pages: Idle<Vec<u8>>,
    workspaces: Idle<Workspace>,
}

#[derive(Debug, Default)]
struct Workspace {
    scratch: Scratch,
    encoded: Vec<u8>,
}

impl Recycler {
    /// Takes back the memory of pages that are written.
    pub(crate) fn give_back(&self, cluster: SealedCluster<'_>) {
        self.pages.put(cluster.pages.into_iter().rev().filter_map(|page| match page.bytes {
            PageBytes::Sealed(mut bytes) => {
                bytes.clear();
                Some(bytes)
            }
            PageBytes::Plain(_) => None,
        }));
    }

    /// Runs `work` with a workspace and memory for a page.
    fn with<T>(&self, work: impl FnOnce(&mut Workspace, Vec<u8>) -> T) -> T {
        let page = self.pages.take().unwrap_or_default();
        self.workspaces.with(Workspace::default, |workspace| work(workspace, page))
    }
}

/// Seals the buffered elements. The same elements give the same bytes, whatever the threads.
pub(crate) fn seal<'b>(
    plans: &[ColumnPlan],
    buffer: &'b ClusterBuffer,
    how: &Sealing,
    session: &Session,
    recycler: &Recycler,
) -> Result<SealedCluster<'b>> {
    let mut jobs = Vec::new();
    for (column, plan) in plans.iter().enumerate() {
        let count = buffer.columns[column].len() / plan.wide;
        let step = (how.page_bytes / plan.memory_bytes()).max(1);
        for start in (0..count).step_by(step) {
            let elements = start..count.min(start + step);
            jobs.push(Job { column, elements, same_as: None });
        }
    }
    find_equal(&mut jobs, plans, buffer, how);
    let work = |(): &mut (), job: &Job| {
        if job.same_as.is_some() {
            return Ok(None);
        }
        let plan = &plans[job.column];
        let (column, place) =
            (&buffer.columns[job.column], job.elements.start * plan.wide..job.elements.end * plan.wide);
        let compression = plan.compression.unwrap_or(how.compression);
        if compression.level == 0 && is_as_in_memory(plan) {
            let unpacked = place.len();
            return Ok(Some((SealedPage::plain(column.parts(place).collect()), unpacked)));
        }
        seal_page(plan, &column.range(place), compression, recycler).map(Some)
    };
    let sealed = session.map(&jobs, || (), work)?;
    place(plans, jobs.into_iter().zip(sealed), how)
}

/// Finds pages with equal elements, as lists with a common count have: one of them is compressed.
fn find_equal(jobs: &mut [Job], plans: &[ColumnPlan], buffer: &ClusterBuffer, how: &Sealing) {
    /// Bytes that are compared at a time; pages that agree in their first, last and middle ones may be equal.
    const SAMPLE: usize = 1 << 10;
    const STEP: usize = 64 << 10;
    /// Pages that a page is compared with: many that differ late should not cost more than compressing.
    const MOST: usize = 4;
    let place = |job: &Job| job.elements.start * plans[job.column].wide..job.elements.end * plans[job.column].wide;
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for number in 0..jobs.len() {
        let (plan, own) = (&plans[jobs[number].column], place(&jobs[number]));
        let column = &buffer.columns[jobs[number].column];
        if plan.compression.unwrap_or(how.compression).level == 0 {
            continue;
        }
        let starts = [own.start, own.start + own.len() / 2, own.end.saturating_sub(SAMPLE).max(own.start)];
        let sample = |start: usize| XxHash3_64::oneshot(&column.range(start..own.end.min(start + SAMPLE)));
        let key = starts.into_iter().map(sample).fold(own.len() as u64, |key, hash| key.rotate_left(21) ^ hash);
        let candidates = known.entry(key).or_default();
        let is_same = |&&other: &&usize| {
            let (of, theirs) = (&jobs[other], place(&jobs[other]));
            *plan == plans[of.column]
                && own.len() == theirs.len()
                && (0..own.len()).step_by(STEP).all(|at| {
                    let end = own.len().min(at + STEP);
                    let other = buffer.columns[of.column].range(theirs.start + at..theirs.start + end);
                    column.range(own.start + at..own.start + end) == other
                })
        };
        let found = candidates.iter().rev().take(MOST).find(is_same).copied();
        match found {
            Some(found) => jobs[number].same_as = Some(found),
            None => candidates.push(number),
        }
    }
}

/// Whether a page has the elements of a column as they are in memory, before compression.
fn is_as_in_memory(plan: &ColumnPlan) -> bool {
    is_plain(plan.kind) && !has_narrow_ends(plan)
}

/// A page, and its bytes before compression.
fn seal_page(
    plan: &ColumnPlan,
    elements: &[u8],
    compression: Compression,
    recycler: &Recycler,
) -> Result<(SealedPage<'static>, usize)> {
    recycler.with(|Workspace { scratch, encoded }, mut stored| {
        let payload = match is_as_in_memory(plan) {
            true => elements,
            false => {
                encoded.clear();
                match narrow_ends(plan, elements)? {
                    Some(ends) => encode(plan.kind, plan.bits, plan.range, &ends, encoded),
                    None => encode(plan.kind, plan.bits, plan.range, elements, encoded),
                }
                &encoded[..]
            }
        };
        if !deflate(payload, compression, &mut stored, scratch)? {
            stored.extend_from_slice(payload);
        }
        Ok((SealedPage::sealed(stored), payload.len()))
    })
}

/// Whether ends of lists have 32 bits in the page. In memory they always have 64.
fn has_narrow_ends(plan: &ColumnPlan) -> bool {
    matches!(plan.kind, ColumnType::Index32 | ColumnType::SplitIndex32)
}

/// Ends of lists with 32 bits, where the page has such.
fn narrow_ends(plan: &ColumnPlan, elements: &[u8]) -> Result<Option<Vec<u8>>> {
    if !has_narrow_ends(plan) {
        return Ok(None);
    }
    let (mut ends, mut last) = (vec![0; elements.len() / 2], 0);
    for (narrow, end) in ends.as_chunks_mut().0.iter_mut().zip(elements.as_chunks().0) {
        last = u64::from_ne_bytes(*end); // none is smaller than one before
        *narrow = (last as u32).to_ne_bytes();
    }
    if last > u64::from(u32::MAX) {
        let words = "a list of a cluster ends beyond what its column of 32 bits holds: rewrite the RNTuple first";
        return Err(Error::limit(words, u64::from(u32::MAX), last));
    }
    Ok(Some(ends))
}

/// Gives pages their places. Equal pages are stored once, as ROOT does.
fn place<'b>(
    plans: &[ColumnPlan],
    jobs: impl ExactSizeIterator<Item = (Job, Option<(SealedPage<'b>, usize)>)>,
    how: &Sealing,
) -> Result<SealedCluster<'b>> {
    let of_column = |plan: &ColumnPlan| {
        let compression = plan.compression.unwrap_or(how.compression).to_root() as u32;
        ColumnPages { pages: Vec::new(), first_element: plan.is_used.then_some(0), compression }
    };
    let columns = plans.iter().map(of_column).collect();
    let mut cluster = SealedCluster { columns, with_checksums: how.with_checksums, ..Default::default() };
    let mut known: HashMap<_, Vec<(usize, u64)>> = HashMap::new();
    // Of each page its place, its stored bytes, and those before compression.
    let mut placed: Vec<(u64, u64, u64)> = Vec::with_capacity(jobs.len());
    for (job, sealed) in jobs {
        let (at, bytes, unpacked) = match sealed {
            None => {
                let known = job.same_as.and_then(|same| placed.get(same)).copied();
                known.ok_or_else(|| Error::internal("a page is equal to one that comes later"))?
            }
            Some((sealed, unpacked)) => {
                let bytes = sealed.len() as u64;
                let same = known.entry((sealed.checksum, bytes)).or_default();
                let is_same = |page: usize| cluster.pages.get(page).is_some_and(|page| page.has_bytes_of(&sealed));
                let found = same.iter().find(|(page, _)| is_same(*page)).map(|&(_, at)| at);
                let at = found.unwrap_or_else(|| {
                    let at = cluster.stored;
                    same.push((cluster.pages.len(), at));
                    cluster.stored += sealed.stored(how.with_checksums);
                    cluster.pages.push(sealed);
                    at
                });
                (at, bytes, unpacked as u64)
            }
        };
        placed.push((at, bytes, unpacked));
        cluster.unpacked += unpacked;
        if let Some(column) = cluster.columns.get_mut(job.column) {
            column.pages.push(Page {
                elements: job.elements.len() as u32,
                has_checksum: how.with_checksums,
                locator: Locator::File { at, bytes },
            });
        }
    }
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_same_in_parts() {
        let bytes: Vec<u8> = (0..3_000_u32).map(|number| (number * number) as u8).collect();
        let whole = SealedPage::sealed(bytes.clone());
        for cuts in [&[][..], &[0], &[1], &[1_000, 1_000], &[7, 240, 2_999]] {
            let mut parts = Vec::new();
            let mut rest = &bytes[..];
            for (before, cut) in std::iter::once(&0).chain(cuts).zip(cuts) {
                let (part, others) = rest.split_at(cut - before);
                parts.push(part);
                rest = others;
            }
            parts.push(rest);
            let page = SealedPage::plain(parts);
            assert_eq!((page.checksum, page.stored(true)), (whole.checksum, 3_008), "{cuts:?}");
            assert!(page.has_bytes_of(&whole) && whole.has_bytes_of(&page), "{cuts:?}");
            assert_eq!(page.written(false).collect::<Vec<_>>().concat(), bytes);
            let (shorter, other) = (&bytes[..2_999], [&bytes[1..], &[0]].concat());
            for differs in [SealedPage::plain(vec![shorter]), SealedPage::sealed(other)] {
                assert!(!page.has_bytes_of(&differs) && !differs.has_bytes_of(&page), "{cuts:?}");
            }
            assert!(page.into_owned().has_bytes_of(&whole));
        }
    }
}
