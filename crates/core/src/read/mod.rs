//! READING: which baskets, in which order, and from their bytes to columns.

mod decode;

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::codec::Scratch;
use crate::column::{Column, Kind, Number, Part, Prim, decode_numbers, join, swap_in_place};
use crate::error::{Error, Result};
use crate::io::{ByteRange, load};
use crate::schema::Objects;
use crate::tree::{Basket, BasketBytes, BranchId, Form, Interpretation, Tree, Unsealed};
use decode::{Counts, Decoding};

/// Bytes of baskets that are in work at once.
const WINDOW_BYTES: u64 = 32 << 20;
/// A gap of so many bytes is read through rather than asked around.
const GAP_BYTES: u64 = 64 << 10;

/// Reads columns of a tree: branches `ids`, entries `entries`.
///
/// Only baskets that hold wanted entries are read.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) where a branch has not all of the entries; what decoding finds otherwise.
pub fn columns(tree: &Tree, ids: &[BranchId], entries: Range<u64>) -> Result<Vec<Column>> {
    let jobs = ids.iter().map(|&id| Job::new(tree, id, &entries)).collect::<Result<Vec<_>>>()?;
    let mut answers: Vec<Answer> = jobs.iter().map(|job| Answer::new(job, &entries)).collect::<Result<_>>()?;
    let mut segments: Vec<Segment> = Vec::new();
    for (job_index, job) in jobs.iter().enumerate() {
        segments.extend(job.segments.iter().enumerate().map(|(index, &(basket, _))| Segment {
            job: job_index,
            index,
            basket,
        }));
    }
    // In the order of entries, so that a window holds what belongs together.
    segments.sort_by_key(|segment| (jobs[segment.job].place(segment.basket).entries.start, segment.job));
    let mut rest = &segments[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let count = rest
            .iter()
            .take_while(|segment| {
                let fits = bytes == 0 || bytes < WINDOW_BYTES;
                bytes += jobs[segment.job].stored_bytes(segment.basket);
                fits
            })
            .count();
        let (window, after) = rest.split_at(count);
        rest = after;
        read_window(tree, &jobs, &mut answers, window)?;
    }
    answers.into_iter().zip(&jobs).map(|(answer, job)| answer.finish(job)).collect()
}

#[derive(Clone, Copy)]
struct Segment {
    job: usize,
    index: usize,
    basket: usize,
}

/// One branch of a scan.
struct Job<'t> {
    tree: &'t Tree,
    id: BranchId,
    interpretation: Arc<Interpretation>,
    /// Basket, and which of its entries.
    segments: Vec<(usize, Range<usize>)>,
    counts: Option<Counts>,
}

impl<'t> Job<'t> {
    fn new(tree: &'t Tree, id: BranchId, entries: &Range<u64>) -> Result<Self> {
        let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        let place = |error: Error| tree.place(error).in_object(&branch.path);
        let interpretation = tree.interpretation(id)?;
        if !branch.file_name.is_empty() {
            return Err(place(Error::unsupported(format!("its baskets are in another file, {:?}", branch.file_name))));
        }
        let has = branch.entry_range();
        if !entries.is_empty() && (has.start > entries.start || has.end < entries.end) {
            return Err(place(
                Error::mismatch(format!("the branch has entries {} to {}", has.start, has.end))
                    .wanted(entries.end, has.end),
            ));
        }
        let baskets = branch.baskets();
        let first = baskets.partition_point(|basket| basket.entries.end <= entries.start);
        let last = baskets.partition_point(|basket| basket.entries.start < entries.end).max(first);
        let segments = (first..last)
            .map(|index| (index, crate::tree::wanted(&baskets[index].entries, entries)))
            .filter(|(_, want)| !want.is_empty())
            .collect();
        let counts = match interpretation.form {
            Form::CountedBy { counter, .. } => Some(Counts::read(tree, counter, entries).map_err(place)?),
            Form::Jagged { .. } => match branch.leaves.first().and_then(|leaf| leaf.count) {
                // Only baskets without offsets need it: rare, and known only once they are read.
                Some((counter, _)) if counter != id && branch.entry_offset_len != 0 && tree.leaves_offsets_out(id) => {
                    Some(Counts::read(tree, counter, entries).map_err(place)?)
                }
                _ => None,
            },
            _ => None,
        };
        Ok(Self { tree, id, interpretation, segments, counts })
    }

    fn place(&self, basket: usize) -> &crate::tree::BasketPlace {
        &self.tree.branches()[self.id].baskets()[basket]
    }

    fn stored_bytes(&self, basket: usize) -> u64 {
        match self.place(basket).bytes {
            BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
            BasketBytes::Embedded(_) => 0,
        }
    }

    fn decoding(&self) -> Decoding<'_> {
        Decoding {
            interpretation: &self.interpretation,
            registry: self.tree.registry(),
            limits: &self.tree.file().options().limits,
            counts: self.counts.as_ref(),
        }
    }

    fn error(&self, basket: usize, error: Error) -> Error {
        let path = &self.tree.branches()[self.id].path;
        self.tree.place(error.in_basket(basket as u32).in_object(path).in_object(&self.tree.name))
    }
}

impl Counts {
    fn read(tree: &Tree, counter: BranchId, entries: &Range<u64>) -> Result<Self> {
        let column = columns(tree, &[counter], entries.clone())?.pop().ok_or_else(|| Error::not_found("no counter"))?;
        let (ends, kind) = match &column.kind {
            Kind::List { offsets, item, .. } => {
                let bytes = column.buffer(*offsets);
                let ends = bytes.as_chunks::<8>().0.iter().skip(1).map(|chunk| u64::from_ne_bytes(*chunk)).collect();
                (Some(ends), &**item)
            }
            kind => (None, kind),
        };
        let Kind::Number { buffer, number } = kind else {
            return Err(Error::mismatch("the branch that counts holds no numbers"));
        };
        Ok(Self { first_entry: entries.start, ends, values: decode::widen(&column.buffer(*buffer), *number) })
    }
}

/// Where the values of a branch go.
enum Answer {
    /// Entries of one length: a slot a basket, all of one allocation.
    Fixed { entry_bytes: usize, memory: BytesMut, done: Vec<BytesMut> },
    /// Parts in the order of their baskets.
    Parts(Vec<Part>),
    /// As parts, but all objects in one table.
    Objects(Vec<Part>, Box<Objects>),
}

impl Answer {
    fn new(job: &Job<'_>, entries: &Range<u64>) -> Result<Self> {
        let interpretation = &job.interpretation;
        if interpretation.kind.has_pointers() {
            return Ok(Self::Objects(Vec::new(), Box::default()));
        }
        let fixed = match (interpretation.form, interpretation.program.single_run()) {
            (Form::Rows | Form::RowsOrNothing, Some((prim, count))) => Some((prim, count)),
            _ => None,
        };
        let Some((prim, count)) = fixed else { return Ok(Self::Parts(Vec::new())) };
        let entry_bytes = count.saturating_mul(prim.number().bytes());
        let limits = &job.tree.file().options().limits;
        let total = (entries.end - entries.start).saturating_mul(entry_bytes as u64);
        if total > limits.answer_bytes {
            return Err(Error::limit("the answer is larger than the limit", limits.answer_bytes, total));
        }
        let mut memory = BytesMut::zeroed(total as usize);
        sapwood_fence::advise_huge_pages(&mut memory);
        Ok(Self::Fixed { entry_bytes, memory, done: Vec::new() })
    }

    fn finish(self, job: &Job<'_>) -> Result<Column> {
        let interpretation = &job.interpretation;
        let (kind, kinds) = (&interpretation.kind, &interpretation.buffers);
        match self {
            Self::Fixed { entry_bytes, done, .. } => {
                let mut slots = done.into_iter();
                let mut whole = slots.next().unwrap_or_default();
                slots.for_each(|slot| whole.unsplit(slot));
                let rows = if entry_bytes == 0 { 0 } else { whole.len() / entry_bytes };
                Ok(Column::new(kind.clone(), rows, vec![whole.freeze()], None))
            }
            Self::Parts(parts) => Ok(join(kind, kinds, &parts, None)),
            Self::Objects(parts, objects) => Ok(join(kind, kinds, &parts, Some(Arc::new(*objects)))),
        }
    }
}

/// What a thread keeps from basket to basket.
#[derive(Default)]
struct Bench {
    scratch: Scratch,
    memory: Vec<u8>,
    starts: Vec<u32>,
}

enum Work<'w> {
    Slot(BytesMut),
    Part(Part),
    Objects(Part, &'w mut Objects),
}

fn read_window(tree: &Tree, jobs: &[Job<'_>], answers: &mut [Answer], window: &[Segment]) -> Result<()> {
    let records = fetch(tree, jobs, window)?;
    let threads = tree.file().options().session.pool();
    // Branches with pointers go first, in the caller's thread: their baskets share a table of objects.
    let mut bench = Bench::default();
    let mut tasks: Vec<(Segment, Bytes, Work<'_>, Result<()>)> = Vec::new();
    for (segment, record) in window.iter().zip(records) {
        let job = &jobs[segment.job];
        let (_, want) = &job.segments[segment.index];
        match &mut answers[segment.job] {
            Answer::Fixed { entry_bytes, memory, .. } => {
                let slot = memory.split_to((want.len() * *entry_bytes).min(memory.len()));
                tasks.push((*segment, record, Work::Slot(slot), Ok(())));
            }
            Answer::Parts(_) => {
                tasks.push((*segment, record, Work::Part(Part::new(&job.interpretation.buffers)), Ok(())));
            }
            Answer::Objects(parts, objects) => {
                let mut part = Part::new(&job.interpretation.buffers);
                decode_segment(
                    job,
                    *segment,
                    &record,
                    &mut bench,
                    &mut Work::Objects(std::mem::take(&mut part), objects),
                )
                .map(|decoded| parts.extend(decoded))?;
            }
        }
    }
    match threads {
        None => {
            for (segment, record, work, outcome) in &mut tasks {
                *outcome = decode_segment(&jobs[segment.job], *segment, record, &mut bench, work).map(drop);
            }
        }
        Some(pool) => pool.install(|| {
            use rayon::prelude::*;
            tasks.par_iter_mut().for_each_init(Bench::default, |bench, (segment, record, work, outcome)| {
                *outcome = decode_segment(&jobs[segment.job], *segment, record, bench, work).map(drop);
            });
        }),
    }
    for (segment, _, work, outcome) in tasks {
        outcome?;
        match (&mut answers[segment.job], work) {
            (Answer::Fixed { done, .. }, Work::Slot(slot)) => done.push(slot),
            (Answer::Parts(parts), Work::Part(part)) => parts.push(part),
            _ => {}
        }
    }
    Ok(())
}

/// Records of the window's baskets, in its order; empty for embedded ones.
fn fetch(tree: &Tree, jobs: &[Job<'_>], window: &[Segment]) -> Result<Vec<Bytes>> {
    let mut wanted: Vec<(u64, u64, usize)> = Vec::new();
    for (index, segment) in window.iter().enumerate() {
        if let BasketBytes::Stored { seek, nbytes } = jobs[segment.job].place(segment.basket).bytes {
            wanted.push((seek, seek.saturating_add(u64::from(nbytes)), index));
        }
    }
    wanted.sort_unstable();
    let len = tree.file().identity().len;
    let mut ranges: Vec<ByteRange> = Vec::new();
    let mut places: Vec<(usize, ByteRange, usize)> = Vec::with_capacity(wanted.len());
    for (start, end, index) in wanted {
        if end > len {
            let segment = window[index];
            return Err(jobs[segment.job].error(
                segment.basket,
                Error::malformed("a basket reaches beyond the end of the file").at(start).wanted(end, len),
            ));
        }
        match ranges.last_mut() {
            Some(last) if start <= last.end.saturating_add(GAP_BYTES) => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
        places.push((ranges.len() - 1, start..end, index));
    }
    let blocks = load(&**tree.file().store(), &ranges).map_err(|error| tree.place(error))?;
    let mut records = vec![Bytes::new(); window.len()];
    for (block, range, index) in places {
        let base = ranges[block].start;
        records[index] = blocks[block].slice((range.start - base) as usize..(range.end - base) as usize);
    }
    Ok(records)
}

fn decode_segment(
    job: &Job<'_>,
    segment: Segment,
    record: &Bytes,
    bench: &mut Bench,
    work: &mut Work<'_>,
) -> Result<Option<Part>> {
    let outcome = decode_basket(job, segment, record, bench, work);
    outcome.map_err(|error| job.error(segment.basket, error))
}

fn decode_basket(
    job: &Job<'_>,
    segment: Segment,
    record: &Bytes,
    bench: &mut Bench,
    work: &mut Work<'_>,
) -> Result<Option<Part>> {
    let place = job.place(segment.basket);
    let (_, want) = &job.segments[segment.index];
    let how = job.decoding();
    let first_entry = place.entries.start;
    let Bench { scratch, memory, starts } = bench;
    let basket;
    let unsealed = match place.bytes {
        BasketBytes::Stored { .. } => {
            basket = Basket::read(record.clone(), how.limits)?;
            if let Work::Slot(slot) = work {
                let (Some((prim, count)), true) =
                    (how.interpretation.program.single_run(), want.end <= basket.entries as usize)
                else {
                    return Err(Error::malformed("a basket has fewer entries than its branch says")
                        .wanted(want.end as u64, u64::from(basket.entries)));
                };
                let entry_bytes = prim.bytes() * count;
                if basket.data_bytes() != entry_bytes * basket.entries as usize {
                    return Err(Error::malformed("a basket's length and its entries do not agree")
                        .wanted((entry_bytes * basket.entries as usize) as u64, basket.data_bytes() as u64));
                }
                if let (Prim::Plain(number), true) = (prim, want.len() == basket.entries as usize) {
                    basket.unseal_data(slot, scratch)?;
                    swap_in_place(number, slot);
                    return Ok(None);
                }
            }
            basket.unseal(memory, scratch)?
        }
        BasketBytes::Embedded(id) => embedded(job.tree, id)?,
    };
    match work {
        Work::Slot(slot) => {
            let (prim, count) = how.interpretation.program.single_run().unwrap_or((Prim::Plain(Number::U8), 0));
            let bytes = prim.bytes() * count;
            let from = unsealed.data.get(want.start * bytes..want.end * bytes).ok_or_else(|| {
                Error::malformed("a basket is too short for its entries")
                    .wanted((want.end * bytes) as u64, unsealed.data.len() as u64)
            })?;
            decode_numbers(prim, from, slot);
            Ok(None)
        }
        Work::Part(part) => {
            let mut objects = Objects::default();
            decode::decode(&how, &unsealed, first_entry, want.clone(), starts, part, &mut objects)?;
            Ok(None)
        }
        Work::Objects(part, objects) => {
            decode::decode(&how, &unsealed, first_entry, want.clone(), starts, part, objects)?;
            Ok(Some(std::mem::take(part)))
        }
    }
}

/// A basket that the tree's own record holds.
fn embedded(tree: &Tree, id: u32) -> Result<Unsealed<'_>> {
    let row = tree.object.table().get(id).ok_or_else(|| Error::malformed("an embedded basket was not decoded"))?;
    let find = |name: &str| crate::object::find(row.kind, name);
    let number = |name: &str| match find(name) {
        Some(Kind::Number { buffer, .. }) => {
            let bytes = row.part.bytes(*buffer).get(4 * row.row..);
            bytes.and_then(|bytes| bytes.first_chunk()).map_or(0, |chunk| i32::from_ne_bytes(*chunk))
        }
        _ => 0,
    };
    let buffer = match find("fBuffer") {
        Some(Kind::Text { offsets, bytes }) => {
            row.part.bytes(*bytes).get(crate::object::list_bounds(row.part, *offsets, row.row)).unwrap_or(&[])
        }
        _ => &[],
    };
    let offsets = match find("fEntryOffset") {
        Some(Kind::List { offsets, item, .. }) => match &**item {
            Kind::Number { buffer, .. } => {
                let bounds = crate::object::list_bounds(row.part, *offsets, row.row);
                row.part.bytes(*buffer).get(4 * bounds.start..4 * bounds.end).unwrap_or(&[])
            }
            _ => &[],
        },
        _ => &[],
    };
    Unsealed::embedded(
        buffer,
        number("fKeylen").max(0) as u32,
        number("fNevBuf").max(0) as usize,
        number("fNevBufSize").max(0) as usize,
        offsets,
    )
}
