//! Decodes pages of RNTuples to the places of their elements.
//!
//! Every page has its place before it is inflated, so that threads decode them in any order. Windows of pages follow
//! one another without a pause: while the last pages of one are decoded, those of the next are begun.

use std::ops::Range;
use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::PageLists;
use super::elements::{decode, is_verbatim};
use super::fetch::{PageId, checked, inflated, inflated_bytes, without_checksum};
use super::plan::Plan;
use super::whole_page::WholePage;
use crate::codec::{LentScratch, Scratch, inflate};
use crate::column::Number;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::read::{GROUP_UNPACKED_BYTES, Groups, Workspaces, group_bytes, pool_for};

/// What becomes of the elements of a page.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Numbers(Number),
    /// Ends of lists: what comes before, the first item of the segment, and the last.
    Ends {
        base: u64,
        items: (u64, u64),
    },
}

impl Target {
    /// Whether the elements are the ends of lists.
    pub(super) fn is_ends(self) -> bool {
        matches!(self, Self::Ends { .. })
    }
}

/// A page to decode.
pub(super) struct Job {
    pub(super) id: PageId,
    pub(super) want: Range<usize>,
    pub(super) target: Target,
    pub(super) is_bytes: bool,
    pub(super) piece: usize,
    /// Whether it has the last elements that are wanted of its column.
    pub(super) is_last: bool,
    pub(super) slot: BytesMut,
    pub(super) stored: Bytes,
    /// The page, where it is inflated already: it is not read then.
    pub(super) inflated: Option<WholePage>,
}

impl Job {
    /// Bytes that are read.
    pub(super) fn stored_bytes(&self) -> u64 {
        if self.inflated.is_some() { 0 } else { self.id.place().map_or(0, |(_, bytes)| bytes) }
    }

    /// Whether the next step, which begins with an entry, goes on in the page, or needs its last end.
    fn is_cut(&self, lists: &PageLists, next: u64) -> bool {
        let is_open = self.want.end < self.id.page.elements as usize || self.target.is_ends();
        is_open
            && self.is_last
            && lists.clusters.get(self.id.cluster).is_some_and(|found| found.entries.contains(&next))
    }
}

/// Decodes pages as they come: in this thread, or in those of the session.
pub(super) struct PageDecoder<'p, 's, 'm> {
    plan: &'s Plan<'m>,
    by: By<'p, 's>,
    done: Vec<Job>,
    done_bytes: u64,
}

/// What decodes.
enum By<'p, 's> {
    Caller(Box<Workspace>),
    Threads(Threads<'p, 's>),
}

/// Groups of pages that other threads decode.
struct Threads<'p, 's> {
    groups: Groups<'p, 's, Decoded, Workspace>,
    group_bytes: u64,
    /// Groups that were handed over, and those of them that have not come back.
    handed: usize,
    outstanding: usize,
    /// The first that failed.
    failed: Option<(usize, Error)>,
}

/// A page, and the outcome of decoding it.
type Decoded = (Job, Result<()>);

/// Does `work` with a decoder for the pages of a plan, which have so many bytes.
pub(super) fn with_decoder<T>(
    plan: &Plan<'_>,
    bytes: u64,
    work: impl FnOnce(PageDecoder<'_, '_, '_>) -> Result<T>,
) -> Result<T> {
    let session = &plan.ntuple.file.options().session;
    let workspace =
        || Workspace { scratch: session.scratches().take(), page: Vec::new(), held: None, ends: Vec::new() };
    let (done, done_bytes) = (Vec::new(), 0);
    let Some(pool) = pool_for(session, bytes) else {
        return work(PageDecoder { plan, by: By::Caller(Box::new(workspace())), done, done_bytes });
    };
    let workspaces = Workspaces::new(workspace);
    let workspaces = &workspaces;
    pool.in_place_scope(|scope| {
        let groups = Groups::new(scope, session.workers(), workspaces);
        let group_bytes = group_bytes(session, bytes);
        let threads = Threads { groups, group_bytes, handed: 0, outstanding: 0, failed: None };
        work(PageDecoder { plan, by: By::Threads(threads), done, done_bytes })
    })
}

impl PageDecoder<'_, '_, '_> {
    /// Takes up the pages of a window. Returns while the last ones may still be in work.
    ///
    /// # Errors
    ///
    /// Those of decoding, also of earlier pages; those of [`interrupt::check`].
    pub(super) fn push(&mut self, window: impl Iterator<Item = (Job, Bytes)>) -> Result<()> {
        let mut group = Vec::new();
        let (mut stored, mut unpacked) = (0, 0);
        for (mut job, bytes) in window {
            stored += bytes.len() as u64;
            unpacked += job.slot.len() as u64;
            job.stored = bytes;
            match &mut self.by {
                By::Caller(own) => {
                    interrupt::check_if_due()?;
                    let outcome = decode_page(self.plan, &mut job, own);
                    self.settle(job, outcome)?;
                }
                By::Threads(threads) => {
                    group.push((job, Ok(())));
                    if stored >= threads.group_bytes || unpacked >= GROUP_UNPACKED_BYTES {
                        self.begin(std::mem::take(&mut group))?;
                        (stored, unpacked) = (0, 0);
                    }
                }
            }
        }
        self.begin(group)?;
        match &self.by {
            By::Threads(threads) => self.wait(threads.groups.ahead_of_window()),
            By::Caller(_) => Ok(()),
        }
    }

    /// Waits until all that was taken up is decoded.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub(super) fn drain(&mut self) -> Result<()> {
        self.wait(0)
    }

    /// Stored bytes of the pages that are decoded.
    pub(super) fn done_bytes(&self) -> u64 {
        self.done_bytes
    }

    /// The pages that are decoded, in any order.
    pub(super) fn done(self) -> Vec<Job> {
        self.done
    }

    fn begin(&mut self, group: Vec<Decoded>) -> Result<()> {
        let plan = self.plan;
        if let By::Threads(threads) = &self.by {
            self.wait(threads.groups.ahead())?;
        }
        if let (By::Threads(threads), false) = (&mut self.by, group.is_empty()) {
            let decode = |(job, outcome): &mut Decoded, own: &mut Workspace| *outcome = decode_page(plan, job, own);
            threads.groups.hand_over(threads.handed, group, decode);
            threads.handed += 1;
            threads.outstanding += 1;
        }
        Ok(())
    }

    /// Waits until no more than `most` groups are outstanding; after a failure, for all: one before it may fail, too.
    fn wait(&mut self, most: usize) -> Result<()> {
        while let By::Threads(threads) = &mut self.by
            && threads.outstanding > if threads.failed.is_some() { 0 } else { most }
        {
            let (number, group) = threads.groups.receive()?;
            threads.outstanding -= 1;
            for (job, outcome) in group {
                if let Err(error) = self.settle(job, outcome) {
                    self.fail(number, error);
                    break;
                }
            }
        }
        match &mut self.by {
            By::Threads(threads) => threads.failed.take().map_or(Ok(()), |(_, error)| Err(error)),
            By::Caller(_) => Ok(()),
        }
    }

    fn fail(&mut self, number: usize, error: Error) {
        if let By::Threads(threads) = &mut self.by
            && threads.failed.as_ref().is_none_or(|(first, _)| number < *first)
        {
            threads.failed = Some((number, error));
        }
    }

    fn settle(&mut self, mut job: Job, outcome: Result<()>) -> Result<()> {
        let id = &job.id;
        outcome.map_err(|error| self.plan.place(id.node, id.cluster, id.name_within(error)))?;
        self.done_bytes = self.done_bytes.saturating_add(job.stored_bytes());
        job.inflated = None;
        self.done.push(job);
        Ok(())
    }
}

#[cold]
pub(super) fn falls() -> Error {
    Error::malformed("the ends of lists or strings fall")
}

/// What a thread keeps from page to page.
struct Workspace {
    scratch: LentScratch,
    page: Vec<u8>,
    /// The last page that was checked, and is in `page` unless it is stored as it is: entries that lie apart come to a
    /// page many times.
    held: Option<Held>,
    ends: Vec<u8>,
}

/// A page of a column: where it is stored, whether with a checksum, and its bytes once inflated.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    column: usize,
    place: (u64, u64),
    has_checksum: bool,
    whole: usize,
}

/// Checks, inflates and decodes a page to its place.
fn decode_page(plan: &Plan<'_>, job: &mut Job, workspace: &mut Workspace) -> Result<()> {
    // Its window's memory is needed for the next ones, whatever becomes of it.
    let bytes = std::mem::take(&mut job.stored);
    let ntuple = plan.ntuple;
    let (column, page) = (ntuple.column(job.id.column)?, &job.id.page);
    let from = ntuple.file.perf().now();
    let (elements, is_all) = (page.elements as usize, job.want == (0..page.elements as usize));
    // Characters are taken as they are, whatever their column calls them.
    let to = match job.target {
        Target::Numbers(Number::U8) if job.is_bytes => column.kind.and_then(super::ColumnType::number),
        Target::Numbers(to) => Some(to),
        Target::Ends { .. } => Some(Number::U64),
    };
    let to = to.filter(|to| !job.is_bytes || to.bytes() == 1);
    let to = to.ok_or_else(|| Error::malformed("the characters of a string have a column of another type"))?;
    let is_plain = column.kind.is_some_and(|kind| is_verbatim(kind, to)) && matches!(job.target, Target::Numbers(_));
    if let Some(page) = carry(plan, job, &bytes, &mut workspace.scratch)? {
        match job.target {
            Target::Numbers(_) => decode(column, page.elements(), elements, job.want.clone(), to, &mut job.slot)?,
            Target::Ends { base, items } => place_ends(page.ends(job.want.clone()), base, items, &mut job.slot)?,
        }
        return note(plan, job, page.memory_bytes(), from);
    }
    let place = job.id.place()?;
    let stored = without_checksum(page, &bytes)?;
    let whole = inflated_bytes(page, stored.len(), column.bits, &ntuple.file.options().limits)?;
    let held = Held { column: job.id.column, place, has_checksum: page.has_checksum, whole };
    let is_held = workspace.held == Some(held);
    if !is_held {
        checked(page, &bytes)?;
    }
    let whole_page: &[u8] = if stored.len() == whole {
        workspace.held = Some(held);
        stored
    } else if is_held {
        &workspace.page[..whole]
    } else if is_plain && is_all {
        inflate(stored, &mut job.slot, &mut workspace.scratch)?;
        &[]
    } else {
        if workspace.page.len() < whole {
            workspace.page.resize(whole, 0);
        }
        workspace.held = None;
        inflate(stored, &mut workspace.page[..whole], &mut workspace.scratch)?;
        workspace.held = Some(held);
        &workspace.page[..whole]
    };
    if !whole_page.is_empty() {
        match job.target {
            Target::Numbers(_) => decode(column, whole_page, elements, job.want.clone(), to, &mut job.slot)?,
            Target::Ends { base, items } => {
                let verbatim = column.kind.filter(|kind| is_verbatim(*kind, to));
                let ends = match verbatim.and_then(|_| whole_page.get(8 * job.want.start..8 * job.want.end)) {
                    Some(ends) => ends,
                    None => {
                        workspace.ends.resize(job.want.len() * 8, 0);
                        decode(column, whole_page, elements, job.want.clone(), to, &mut workspace.ends)?;
                        &workspace.ends
                    }
                };
                place_ends(ends, base, items, &mut job.slot)?;
            }
        }
    }
    if is_held { Ok(()) } else { note(plan, job, whole, from) }
}

/// Records that a page was inflated and decoded, if recording is on. One that was inflated before is recorded already.
fn note(plan: &Plan<'_>, job: &Job, whole: usize, from: Option<Instant>) -> Result<()> {
    if let (Some(from), None) = (from, &job.inflated) {
        let (at, bytes) = job.id.place()?;
        plan.ntuple.file.perf().note_basket(at, bytes, whole as u64, from);
    }
    Ok(())
}

/// The page of a job, where it is inflated already, or has to be in memory of its own: carried over to the next step if
/// this one cuts it, and dropped if it is read to its end.
fn carry(plan: &Plan<'_>, job: &Job, stored: &Bytes, scratch: &mut Scratch) -> Result<Option<WholePage>> {
    let there = job.inflated.clone();
    let Some(next) = plan.carries_to else { return Ok(there) };
    let (ntuple, key) = (plan.ntuple, job.id.key()?);
    if !job.is_cut(plan.lists, next) {
        if there.is_some() {
            ntuple.carried.finish(key);
        }
        return Ok(there);
    }
    let (is_ends, budget) = (job.target.is_ends(), ntuple.cache.budget());
    let bytes = WholePage::bytes_of(&job.id.page, ntuple.column(job.id.column)?.bits, is_ends);
    if !ntuple.carried.has_room(key, bytes, next, budget) {
        return Ok(there);
    }
    let page = match there {
        Some(page) => page,
        None => inflated(ntuple, &job.id, is_ends, stored, true, scratch)?,
    };
    ntuple.carried.carry(key, page.clone(), bytes, next, budget);
    Ok(Some(page))
}

/// Turns ends of a cluster into offsets of a column.
fn place_ends(ends: &[u8], base: u64, (first, last): (u64, u64), slot: &mut [u8]) -> Result<()> {
    let (mut before, shift) = (first, base.wrapping_sub(first));
    // The sign of a difference says that ends fall: without a comparison, the compiler makes vector instructions of it.
    let mut signs = 0;
    for (out, end) in slot.as_chunks_mut::<8>().0.iter_mut().zip(ends.as_chunks::<8>().0) {
        let end = u64::from_ne_bytes(*end);
        signs |= end | end.wrapping_sub(before);
        before = end;
        *out = end.wrapping_add(shift).to_ne_bytes();
    }
    if signs > i64::MAX as u64 {
        return Err(falls());
    }
    if before > last {
        let message = "a list or string ends beyond the items of its cluster";
        return Err(Error::malformed(message).wanted(last, before));
    }
    Ok(())
}
