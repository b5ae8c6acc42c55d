//! Whole columns of an RNTuple.
//!
//! All sizes are known before the first page is inflated, so that every page is decoded to its final position, by any
//! thread, in any order.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::fetch::{PageId, origin};
use super::field::FieldId;
use super::node::{Model, Shape};
use super::page_decoder::{Job, Target, falls, with_decoder};
use super::pages::Live;
use super::plan::Plan;
use super::{NTuple, streamed};
use crate::column::{BufferId, Number};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::read::{Column, Origin, Progress, Selection, Windows};
use crate::schema::Objects;

/// Reads fields of an RNTuple, for the entries of a range or of a [`Selection`].
///
/// Only pages that hold wanted values are read.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for entries that are not there; what decoding reports otherwise, with the
/// field, the cluster, the column and the page.
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// let ntuple = file.ntuple("events")?;
/// let id = ntuple.field("jets.pt")?.id;
/// let columns = sapwood::ntuple::columns(&ntuple, &[id], 0..ntuple.entries)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn columns(
    ntuple: &NTuple,
    ids: &[FieldId],
    entries: impl TryInto<Selection, Error: Into<Error>>,
) -> Result<Vec<Column>> {
    columns_with(ntuple, ids, entries, |_| Ok(()))
}

/// Reads fields as [`columns`] does, and says how far it is each time that some pages are decoded. An error of
/// `progress` ends the read.
///
/// # Errors
///
/// As [`columns`], and what `progress` returns.
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// let ntuple = file.ntuple("events")?;
/// let id = ntuple.field("jets.pt")?.id;
/// let columns = sapwood::ntuple::columns_with(&ntuple, &[id], 0..ntuple.entries, |progress| {
///     eprintln!("{} of {} bytes", progress.done_bytes, progress.total_bytes);
///     Ok(())
/// })?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn columns_with(
    ntuple: &NTuple,
    ids: &[FieldId],
    entries: impl TryInto<Selection, Error: Into<Error>>,
    progress: impl FnMut(Progress) -> Result<()>,
) -> Result<Vec<Column>> {
    let selection: Selection = entries.try_into().map_err(|error| ntuple.place(error.into()))?;
    let models = ids.iter().map(|&id| ntuple.model(id)).collect::<Result<Vec<_>>>()?;
    columns_of(ntuple, ids, &models, &selection, progress)
}

/// Reads what models describe, each of a field.
pub(crate) fn columns_of(
    ntuple: &NTuple,
    ids: &[FieldId],
    models: &[Arc<Model>],
    selection: &Selection,
    progress: impl FnMut(Progress) -> Result<()>,
) -> Result<Vec<Column>> {
    let end = selection.span().end;
    if end > ntuple.entries {
        let message = format!("the RNTuple has {} entries", ntuple.entries);
        return Err(ntuple.place(Error::mismatch(message).wanted(ntuple.entries, end)));
    }
    let ranges: Vec<Range<u64>> = selection.ranges().collect();
    let plan = Plan::new(ntuple, ntuple.lists()?, models, &ranges)?;
    Reading::new(plan)?.run(ids, models, progress)
}

/// A buffer while it is filled, piece by piece.
#[derive(Default)]
struct Filling {
    pieces: Vec<Option<BytesMut>>,
}

/// What a node fills: its numbers or ends, and the characters of strings.
#[derive(Default)]
struct Filled {
    main: Filling,
    bytes: Filling,
    /// Rows after each segment; and for lists the items after it.
    borders: Vec<(usize, u64)>,
}

struct Reading<'m> {
    plan: Plan<'m>,
    filled: Vec<Filled>,
    jobs: Vec<Job>,
}

impl<'m> Reading<'m> {
    /// Reserves memory and gives every page its place in it.
    fn new(plan: Plan<'m>) -> Result<Self> {
        let nodes = plan.nodes.len();
        let mut reading =
            Self { plan, filled: std::iter::repeat_with(Filled::default).take(nodes).collect(), jobs: Vec::new() };
        let limit = reading.plan.ntuple.file.options().limits.answer_bytes;
        let mut left = limit;
        for node in 0..nodes {
            reading.reserve(node, &mut left).map_err(|error| match error.kind() {
                crate::ErrorKind::Limit if error.place().object.is_none() => {
                    reading.plan.ntuple.in_field(reading.plan.nodes[node].node.field, error)
                }
                _ => error,
            })?;
        }
        Ok(reading)
    }

    fn reserve(&mut self, node: usize, left: &mut u64) -> Result<()> {
        let planned = &self.plan.nodes[node];
        let memory = self.plan.ntuple.file.options().session.memory().clone();
        let rows = planned.rows.iter().try_fold(0_u64, |sum, rows| sum.checked_add(rows.end - rows.start));
        let items = planned.items.iter().try_fold(0_u64, |sum, items| sum.checked_add(items.end - items.start));
        // Lists of records without members have items that take no memory.
        if items.is_none_or(|items| i64::try_from(items).is_err()) {
            let error = Error::malformed("lists have more items than there can be");
            return Err(self.plan.ntuple.in_field(planned.node.field, error));
        }
        let ends = rows.and_then(|rows| rows.checked_add(1));
        let mut take = |count: Option<u64>, wide: usize, memory: &Memory| -> Result<BytesMut> {
            let bytes = count.and_then(|count| count.checked_mul(wide as u64)).unwrap_or(u64::MAX);
            let allowed = *left;
            *left = left
                .checked_sub(bytes)
                .ok_or_else(|| Error::limit("the answer is larger than the limit", allowed, bytes))?;
            memory.try_take(bytes as usize)
        };
        match planned.node.shape {
            Shape::Numbers { to, .. } => {
                let main = take(rows, to.bytes(), &memory)?;
                self.lay_out(node, main, 0, Target::Numbers(to))
            }
            Shape::Text { .. } | Shape::Streamed { .. } => {
                let main = take(ends, 8, &memory)?;
                let bytes = take(items, 1, &memory)?;
                self.lay_out(node, main, 0, Target::Ends { base: 0, items: (0, 0) })?;
                self.lay_out(node, bytes, 1, Target::Numbers(Number::U8))
            }
            Shape::List { .. } | Shape::Optional { .. } | Shape::Counts { .. } => {
                let main = take(ends, 8, &memory)?;
                self.lay_out(node, main, 0, Target::Ends { base: 0, items: (0, 0) })
            }
            Shape::Variant { .. } | Shape::Fixed { .. } | Shape::Record { .. } => Ok(()),
        }
    }

    /// Cuts a buffer into pieces for the pages of a node's column, in the order of segments. `place` is that of the
    /// column in its representation.
    fn lay_out(&mut self, node: usize, mut free: BytesMut, place: usize, target: Target) -> Result<()> {
        let (mut base, mut row) = (0_u64, 0_usize);
        let mut found: Option<(usize, Live)> = None;
        let is_bytes = place == 1;
        if matches!(target, Target::Ends { .. }) {
            let mut zero = free.split_to(8);
            zero.fill(0);
            self.filling(node, is_bytes).pieces.push(Some(zero));
        }
        for segment in 0..self.plan.segments.len() {
            let cluster = self.plan.segments[segment].cluster;
            let planned = &self.plan.nodes[node];
            let wanted = if is_bytes { planned.items[segment].clone() } else { planned.rows[segment].clone() };
            if wanted.is_empty() {
                continue;
            }
            let (target, wide) = match target {
                Target::Numbers(number) => (target, number.bytes()),
                Target::Ends { .. } => {
                    let items = planned.items[segment].clone();
                    let target = Target::Ends { base, items: (items.start, items.end) };
                    base += items.end - items.start;
                    (target, 8)
                }
            };
            // Of most fields it is needed for one cluster after another: what is not kept is not freed later, when it
            // has left the caches.
            let live = match self.plan.known_live(node, cluster) {
                Some(live) => live,
                None => match &mut found {
                    Some((of, live)) if *of == cluster => live,
                    _ => &found.insert((cluster, self.plan.find_live(node, cluster)?)).1,
                },
            };
            let Some(column) = live.columns.get(place) else {
                return Err(Error::internal("a field has fewer columns than its type needs"));
            };
            if wanted.end > column.count {
                let error =
                    Error::malformed("a column has fewer elements than the lists or entries that it belongs to");
                let error = error.wanted(wanted.end, column.count);
                return Err(self.plan.place(node, cluster, error));
            }
            let absent = wanted.end.min(column.missing).saturating_sub(wanted.start);
            let number = column.column;
            let pieces: Vec<_> = column.pages_of(wanted.clone()).collect();
            let (last, is_last_segment) = (pieces.len(), segment + 1 == self.plan.segments.len());
            if absent > 0 {
                let mut zeros = free.split_to(absent as usize * wide);
                match target {
                    Target::Numbers(_) => zeros.fill(0),
                    Target::Ends { base, .. } => {
                        zeros.as_chunks_mut().0.iter_mut().for_each(|end| *end = base.to_ne_bytes());
                    }
                }
                self.filling(node, is_bytes).pieces.push(Some(zeros));
            }
            for (index, piece) in pieces.into_iter().enumerate() {
                let filling = self.filling(node, is_bytes);
                filling.pieces.push(None);
                let position = filling.pieces.len() - 1;
                self.jobs.push(Job {
                    id: PageId { node, cluster, column: number, number: piece.number, page: piece.page },
                    slot: free.split_to(piece.want.len() * wide),
                    want: piece.want,
                    target,
                    is_bytes,
                    piece: position,
                    is_last: is_last_segment && index + 1 == last,
                    stored: Bytes::new(),
                    inflated: None,
                });
            }
            row += (wanted.end - wanted.start) as usize;
            if let Target::Ends { .. } = target {
                self.filled[node].borders.push((row, base));
            }
        }
        if !free.is_empty() {
            return Err(Error::internal("the pages of a field do not fill its memory"));
        }
        Ok(())
    }

    fn filling(&mut self, node: usize, is_bytes: bool) -> &mut Filling {
        let filled = &mut self.filled[node];
        if is_bytes { &mut filled.bytes } else { &mut filled.main }
    }

    /// Fetches and decodes all pages, window by window, and makes the columns.
    fn run(
        mut self,
        ids: &[FieldId],
        models: &[Arc<Model>],
        mut progress: impl FnMut(Progress) -> Result<()>,
    ) -> Result<Vec<Column>> {
        // In the order of the file, so that requests are few: a cluster's pages lie together.
        let mut jobs = std::mem::take(&mut self.jobs);
        jobs.sort_by_cached_key(|job| (job.id.cluster, job.id.place().map_or(0, |(at, _)| at)));
        let (ntuple, plan) = (self.plan.ntuple, &self.plan);
        let first_entry = |id: &PageId| plan.lists.clusters.get(id.cluster).map_or(0, |found| found.entries.start);
        jobs.iter_mut().for_each(|job| job.inflated = plan.inflated(&job.id, job.target.is_ends()));
        let pages: Vec<_> = jobs.iter().map(|job| (job.id, first_entry(&job.id), job.inflated.is_some())).collect();
        let total_bytes = jobs.iter().map(Job::stored_bytes).sum::<u64>();
        let unpacked_bytes = jobs.iter().map(|job| job.slot.len() as u64).sum();
        let borders: Vec<u64> = plan.lists.clusters.iter().skip(1).map(|found| found.entries.start).collect();
        let pieces = jobs.iter().zip(&pages).map(|(job, (_, entry, _))| (job.stored_bytes(), *entry));
        let mut windows = Windows::new(&ntuple.file, &ntuple.cache, pieces, &borders);
        let origin = |index: usize| {
            let (id, entry, is_inflated) = &pages[index];
            if *is_inflated {
                return Ok(Origin::Here(Bytes::new()));
            }
            let origin = origin(ntuple, id, *entry, &plan.known);
            origin.map_err(|error| plan.place(id.node, id.cluster, id.name(error)))
        };
        let jobs = with_decoder(plan, total_bytes.max(unpacked_bytes), |mut decoder| {
            let (mut jobs, mut told) = (jobs.into_iter(), 0);
            let mut tell = |done_bytes| match std::mem::replace(&mut told, done_bytes) == done_bytes {
                true => Ok(()),
                false => progress(Progress { done_bytes, total_bytes }),
            };
            loop {
                let (window, pages) = match windows.next(origin, |error| ntuple.place(error)) {
                    Ok(Some(next)) => next,
                    Ok(None) => break,
                    // Those of pages in earlier windows come first.
                    Err(error) => return decoder.drain().and(Err(error)),
                };
                decoder.push(jobs.by_ref().take(window.len()).zip(pages))?;
                tell(decoder.done_bytes())?;
            }
            decoder.drain()?;
            tell(decoder.done_bytes())?;
            Ok(decoder.done())
        })?;
        for job in jobs {
            let filling = self.filling(job.id.node, job.is_bytes);
            if let Some(piece) = filling.pieces.get_mut(job.piece) {
                *piece = Some(job.slot);
            }
        }
        self.finish(ids, models)
    }

    fn finish(mut self, ids: &[FieldId], models: &[Arc<Model>]) -> Result<Vec<Column>> {
        let ntuple = self.plan.ntuple;
        let mut columns = Vec::with_capacity(ids.len());
        let mut root = 0;
        let rows = self.plan.segments.iter().map(|segment| segment.entries.end - segment.entries.start).sum::<u64>();
        for (&id, model) in ids.iter().zip(models) {
            let mut buffers = vec![Bytes::new(); model.buffers];
            let mut objects = Objects::default();
            let end = self.last_below(root);
            for node in root..end {
                self.complete(node, &mut buffers, &mut objects).map_err(|error| ntuple.in_field(id, error))?;
            }
            root = end;
            let (objects, registry) = if model.kind.has_pointers() {
                (Some(Arc::new(objects)), Some(ntuple.registry()?))
            } else {
                (None, None)
            };
            let column = Column::new(model.kind.clone(), rows as usize, buffers, objects);
            columns.push(column.described(registry.as_ref()));
        }
        Ok(columns)
    }

    /// One past the last node below a node: nodes are numbered depth first.
    fn last_below(&self, node: usize) -> usize {
        self.plan.nodes[node].below.last().map_or(node + 1, |&last| self.last_below(last))
    }

    /// Makes the buffers of a node.
    fn complete(&mut self, node: usize, buffers: &mut [Bytes], objects: &mut Objects) -> Result<()> {
        let ntuple = self.plan.ntuple;
        let memory = ntuple.file.options().session.memory().clone();
        let filled = std::mem::take(&mut self.filled[node]);
        let planned = &self.plan.nodes[node];
        let mut put = |buffer: BufferId, bytes: Bytes| match buffers.get_mut(buffer as usize) {
            Some(place) => {
                *place = bytes;
                Ok(())
            }
            None => Err(Error::internal("a field has a buffer that its type does not name")),
        };
        let ends = |filled: Filled| -> Result<(BytesMut, Filling)> {
            let Filled { main, bytes, borders } = filled;
            Ok((checked_ends(main, &borders)?, bytes))
        };
        match &planned.node.shape {
            Shape::Numbers { buffer, .. } => put(*buffer, memory.lend(filled.main.join()?)),
            Shape::Text { offsets, bytes } => {
                let (ends, text) = ends(filled)?;
                put(*offsets, memory.lend(ends))?;
                put(*bytes, memory.lend(text.join()?))
            }
            Shape::List { offsets, .. } => put(*offsets, memory.lend(ends(filled)?.0)),
            Shape::Optional { tags, .. } => {
                let (ends, _) = ends(filled)?;
                let mut out = memory.try_take((ends.len() / 8).saturating_sub(1))?;
                for (out, pair) in out.iter_mut().zip(ends.as_chunks::<8>().0.windows(2)) {
                    *out = match i64::from_ne_bytes(pair[1]) - i64::from_ne_bytes(pair[0]) {
                        0 => -1_i8 as u8,
                        1 => 0,
                        count => {
                            let message = "an optional value or pointer has several values";
                            return Err(Error::malformed(message).wanted(1, count as u64));
                        }
                    };
                }
                memory.give_back(ends);
                put(*tags, memory.lend(out))
            }
            Shape::Counts { to, buffer } => {
                let (ends, _) = ends(filled)?;
                let pairs = ends.as_chunks::<8>().0.windows(2);
                let counts = pairs.map(|pair| i64::from_ne_bytes(pair[1]) - i64::from_ne_bytes(pair[0]));
                let mut out = memory.try_take((ends.len() / 8).saturating_sub(1) * to.bytes())?;
                for (out, count) in out.chunks_exact_mut(to.bytes()).zip(counts) {
                    match to {
                        Number::U64 => out.copy_from_slice(&(count as u64).to_ne_bytes()),
                        _ => {
                            let count = u32::try_from(count).map_err(|_| {
                                Error::mismatch("a list has more items than its count can hold")
                                    .wanted(u32::MAX.into(), count as u64)
                            })?;
                            out.copy_from_slice(&count.to_ne_bytes());
                        }
                    }
                }
                memory.give_back(ends);
                put(*buffer, memory.lend(out))
            }
            Shape::Variant { tags, .. } => {
                let all = planned.tags.iter().flatten().map(|&tag| tag as u8);
                put(*tags, all.collect::<Vec<u8>>().into())
            }
            Shape::Streamed { first, program, .. } => {
                let (ends, bytes) = ends(filled)?;
                let bytes = bytes.join()?;
                let made = streamed::decode(ntuple, program, ends.as_chunks().0, &bytes, objects)?;
                (*first..).zip(made).try_for_each(|(buffer, bytes)| put(buffer, bytes))
            }
            Shape::Fixed { .. } | Shape::Record { .. } => Ok(()),
        }
    }
}

impl Filling {
    /// The whole buffer: its pieces lie side by side.
    fn join(self) -> Result<BytesMut> {
        let mut whole = BytesMut::new();
        for piece in self.pieces {
            let piece = piece.ok_or_else(|| Error::internal("a page of a column was not decoded"))?;
            if whole.is_empty() {
                whole = piece;
            } else {
                whole.unsplit(piece);
            }
        }
        Ok(whole)
    }
}

/// Joins ends, and checks what no page shows by itself: that they do not fall from page to page, and that the lists of
/// each segment have all of its items.
fn checked_ends(filling: Filling, borders: &[(usize, u64)]) -> Result<BytesMut> {
    let mut first_of_pieces = Vec::with_capacity(filling.pieces.len());
    let mut at = 0;
    for piece in &filling.pieces {
        first_of_pieces.push(at / 8);
        at += piece.as_ref().map_or(0, BytesMut::len);
    }
    let whole = filling.join()?;
    let ends = whole.as_chunks::<8>().0;
    let end = |index: usize| -> Result<i64> {
        let end = ends.get(index).ok_or_else(|| Error::internal("a list of a cluster has no end"))?;
        Ok(i64::from_ne_bytes(*end))
    };
    for first in first_of_pieces.into_iter().filter(|&first| first > 0 && first < ends.len()) {
        if end(first)? < end(first - 1)? {
            return Err(falls());
        }
    }
    for &(row, items) in borders {
        let found = end(row)? as u64;
        if found != items {
            let message = "the lists or strings of a cluster do not end where their items do";
            return Err(Error::malformed(message).wanted(items, found));
        }
    }
    Ok(whole)
}
