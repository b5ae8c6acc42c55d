//! Batches: some of the rows that are held, in their order.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::lists::{Lists, Padding, visit};
use super::numbers::Numbers;
use super::rows::{At, Bucket, Part, Rows};
use super::threads::{TOGETHER, chunk_rows, each, fetch, fetch_all};
use crate::error::{Error, Result};
use crate::session::Session;

/// Lists that one thread copies at a time.
const LISTS_OF_A_TASK: usize = 4096;

/// A field of the rows that were taken.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Numbers of all rows, or items of all lists, one after another.
    pub values: Bytes,
    /// Where each list begins and ends: `i64`, beginning with 0, one more than rows. None for numbers and padded lists.
    pub offsets: Option<Bytes>,
    /// A byte for each item: 1 for those of the lists, 0 for what fills up. None for fields that are not padded.
    pub mask: Option<Bytes>,
    /// Lists that were longer than what they are padded to.
    pub cut_lists: u64,
}

/// The rows that are taken.
enum Picked<'a> {
    /// Consecutive rows of some pieces.
    Runs(Vec<(usize, Range<usize>)>),
    /// Rows of a single piece, from anywhere.
    Single(&'a [u32]),
    /// The number of a piece and a row of it, for each row; and the buckets that have them one after another, if they
    /// come so.
    Pairs(Vec<(u32, u32)>, Vec<Bucket>),
}

/// Rows for one task.
#[derive(Clone)]
enum Chunk<'a> {
    Run(usize, Range<usize>),
    Single(&'a [u32]),
    Pairs(&'a [(u32, u32)]),
    /// Rows of a bucket, and all rows of it.
    Bucket(&'a [(u32, u32)], &'a [(u32, Range<usize>)]),
}

impl Chunk<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Run(_, rows) => rows.len(),
            Self::Single(rows) => rows.len(),
            Self::Pairs(pairs) | Self::Bucket(pairs, _) => pairs.len(),
        }
    }

    /// Reads the memory of its bucket from the beginning to the end: it is in the processor's cache when rows are
    /// copied. `memory` returns that of some rows of a piece.
    fn fetch<'a, const N: usize>(&self, memory: impl Fn(usize, &Range<usize>) -> Option<[&'a [u8]; N]>) {
        if let Self::Bucket(_, rows) = self {
            fetch(rows.iter().filter_map(|(piece, rows)| memory(*piece as usize, rows)).flatten());
        }
    }

    /// Whether the memory of its rows has to be asked for.
    fn is_scattered(&self) -> bool {
        matches!(self, Self::Single(_) | Self::Pairs(_))
    }
}

/// Takes rows of some [`Rows`]: those at some places of each, one after another, or in the order of `mix`, which counts
/// all of these places. Returns the fields. The threads of the session do the work.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for places that do not exist, and for rows of different fields.
///
/// # Example
///
/// ```
/// use sapwood::batch::{Field, Input, Rows, take};
/// use sapwood::column::{Kind, ListOf, Native, Number};
/// use sapwood::read::Column;
/// let session = sapwood::Session::with_threads(1);
/// let kind = Kind::List {
///     offsets: 0,
///     of: ListOf::Sequence,
///     item: Box::new(Kind::Number { buffer: 1, number: Number::U8 }),
/// };
/// let offsets: Vec<u8> = [0_i64, 3, 3, 5].iter().flat_map(|end| end.to_ne_bytes()).collect();
/// let lists = Column::from_buffers(kind, 3, vec![offsets.into(), vec![1, 2, 3, 4, 5].into()]);
/// let lists = Input { pieces: vec![lists], ..Input::default() };
///
/// let fields = [Field::Padded { lists: lists.clone(), width: 2, fill: vec![9] }, Field::Lists(lists)];
/// let rows = Rows::new(&session, &fields, Some(vec![2, 0, 1]))?;
/// let taken = take(&session, &[(&rows, 0..3)], None)?;
/// assert_eq!(taken[0].values[..], [4, 5, 1, 2, 9, 9]);
/// assert_eq!(taken[0].mask.as_deref(), Some(&[1, 1, 1, 1, 0, 0][..]));
/// assert_eq!((taken[0].cut_lists, &taken[1].values[..]), (1, &[4, 5, 1, 2, 3][..]));
/// assert_eq!(i64::read(taken[1].offsets.as_deref().unwrap_or_default()), [0, 2, 5, 5]);
///
/// let mixed = take(&session, &[(&rows, 0..1), (&rows, 2..3)], Some(&[1, 0]))?;
/// assert_eq!(mixed[0].values[..], [9, 9, 4, 5]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn take(session: &Session, pieces: &[(&Rows, Range<usize>)], mix: Option<&[u32]>) -> Result<Vec<Taken>> {
    let picked = picked(session, pieces, mix)?;
    let held: Vec<&Vec<Part>> = pieces.iter().flat_map(|(rows, _)| &rows.pieces).collect();
    let Some(first) = held.first() else { return Ok(Vec::new()) };
    (0..first.len())
        .map(|field| {
            let parts = held.iter().map(|parts| parts.get(field)).collect::<Option<Vec<_>>>();
            let parts = parts.ok_or_else(different)?;
            match parts.first() {
                Some(Part::Numbers(_)) => numbers(session, &all(&parts, Part::numbers)?, &picked),
                Some(Part::Lists(_)) => lists(session, &all(&parts, Part::lists)?, &picked),
                Some(Part::Padded(_, padding)) => padded(session, &all(&parts, Part::padded)?, padding, &picked),
                None => Ok(Taken::default()),
            }
        })
        .collect()
}

fn different() -> Error {
    Error::mismatch("rows of different fields are taken together")
}

/// One field of all pieces.
fn all<'a, T>(parts: &[&'a Part], of: impl Fn(&'a Part) -> Option<&'a T>) -> Result<Vec<&'a T>> {
    parts.iter().map(|part| of(part)).collect::<Option<Vec<_>>>().ok_or_else(different)
}

impl Part {
    fn numbers(&self) -> Option<&Numbers> {
        if let Self::Numbers(numbers) = self { Some(numbers) } else { None }
    }

    fn lists(&self) -> Option<&Lists> {
        if let Self::Lists(lists) = self { Some(lists) } else { None }
    }

    fn padded(&self) -> Option<&Lists> {
        if let Self::Padded(lists, _) = self { Some(lists) } else { None }
    }
}

/// The rows at some places.
fn picked<'a>(session: &Session, pieces: &[(&'a Rows, Range<usize>)], mix: Option<&[u32]>) -> Result<Picked<'a>> {
    if pieces.iter().any(|(rows, places)| places.start > places.end || places.end > rows.len()) {
        return Err(Error::mismatch("rows are taken from places that do not exist"));
    }
    let found: Vec<At<'a>> = pieces.iter().map(|(rows, places)| rows.at(session, places.clone())).collect();
    if mix.is_none() {
        let run =
            |(number, at): (usize, &At<'a>)| if let At::Run(rows) = at { Some((number, rows.clone())) } else { None };
        // Each has a single piece then.
        if let Some(runs) = found.iter().enumerate().map(run).collect() {
            return Ok(Picked::Runs(runs));
        }
        if let [At::Given(rows)] = &found[..] {
            return Ok(Picked::Single(rows));
        }
    }
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(pieces.iter().map(|(_, places)| places.len()).sum());
    let mut buckets = Vec::new();
    let mut number = 0;
    for ((rows, _), at) in pieces.iter().zip(found) {
        match at {
            At::Given(rows) => pairs.extend(rows.iter().map(|&row| (number, row))),
            // The number of rows was compared with this type.
            At::Run(rows) => pairs.extend(rows.map(|row| (number, row as u32))),
            At::Shuffled(rows, of) => {
                pairs.extend(rows.into_iter().map(|(piece, row)| (number + piece, row)));
                buckets.extend(of.into_iter().map(|mut bucket| {
                    bucket.rows.iter_mut().for_each(|(piece, _)| *piece += number);
                    bucket
                }));
            }
        }
        number += rows.pieces.len() as u32;
    }
    let Some(mix) = mix else {
        let is_all = buckets.iter().map(|bucket| bucket.taken).sum::<usize>() == pairs.len();
        return Ok(Picked::Pairs(pairs, if is_all { buckets } else { Vec::new() }));
    };
    let mixed: Option<Vec<_>> = mix.iter().map(|&place| pairs.get(place as usize).copied()).collect();
    let mixed = mixed.ok_or_else(|| Error::mismatch("rows are mixed from places that do not exist"))?;
    Ok(Picked::Pairs(mixed, Vec::new()))
}

impl Picked<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Runs(runs) => runs.iter().map(|(_, rows)| rows.len()).sum(),
            Self::Single(rows) => rows.len(),
            Self::Pairs(pairs, _) => pairs.len(),
        }
    }

    /// From which row to which those of a single piece are, if they come in an order.
    fn span(&self) -> Option<Range<usize>> {
        let Self::Single(rows) = self else { return None };
        Some(*rows.iter().min()? as usize..*rows.iter().max()? as usize + 1)
    }

    /// Rows for tasks, each of at most `step`.
    fn chunks(&self, step: usize) -> Vec<Chunk<'_>> {
        match self {
            Self::Runs(runs) => {
                let cut = |(piece, rows): &(usize, Range<usize>)| {
                    let piece = *piece;
                    let stop = rows.end;
                    rows.clone().step_by(step).map(move |start| Chunk::Run(piece, start..(start + step).min(stop)))
                };
                runs.iter().flat_map(cut).collect()
            }
            Self::Single(rows) => rows.chunks(step).map(Chunk::Single).collect(),
            Self::Pairs(pairs, buckets) if buckets.is_empty() => pairs.chunks(step).map(Chunk::Pairs).collect(),
            Self::Pairs(pairs, buckets) => {
                let mut rest = &pairs[..];
                let mut chunks = Vec::with_capacity(buckets.len());
                for bucket in buckets {
                    let (rows, others) = rest.split_at(bucket.taken.min(rest.len()));
                    rest = others;
                    let all: usize = bucket.rows.iter().map(|(_, rows)| rows.len()).sum();
                    // To read all of a bucket for a few of its rows takes longer than to wait for these.
                    if all <= 4 * rows.len() {
                        chunks.push(Chunk::Bucket(rows, &bucket.rows));
                    } else {
                        chunks.extend(rows.chunks(step).map(Chunk::Pairs));
                    }
                }
                chunks
            }
        }
    }
}

/// Chunks, each with its part of the memory: `row_bytes` per row.
fn shared<'a, 'b>(chunks: &[Chunk<'a>], mut memory: &'b mut [u8], row_bytes: usize) -> Vec<(Chunk<'a>, &'b mut [u8])> {
    let split = |chunk: &Chunk<'a>| {
        let (own, rest) = std::mem::take(&mut memory).split_at_mut(chunk.rows() * row_bytes);
        memory = rest;
        (chunk.clone(), own)
    };
    chunks.iter().map(split).collect()
}

fn size(rows: usize, row_bytes: usize) -> Result<usize> {
    rows.checked_mul(row_bytes).ok_or_else(|| Error::mismatch("rows are too large"))
}

/// Memory that begins where others take it over without a copy: at a multiple of 64 bytes, as XLA wants it.
struct Answer {
    memory: BytesMut,
    place: Range<usize>,
}

impl Answer {
    const ALIGNMENT: usize = 64;

    fn new(session: &Session, bytes: usize) -> Result<Self> {
        let memory = session.memory().try_take(bytes.saturating_add(Self::ALIGNMENT))?;
        let start = memory.as_ptr().align_offset(Self::ALIGNMENT).min(Self::ALIGNMENT);
        Ok(Self { memory, place: start..start + bytes })
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.place.clone()).unwrap_or_default()
    }

    fn finish(self, session: &Session) -> Bytes {
        session.memory().lend(self.memory).slice(self.place)
    }
}

fn numbers(session: &Session, held: &[&Numbers], picked: &Picked<'_>) -> Result<Taken> {
    let row_bytes = held.first().map_or(0, |one| one.row_bytes());
    if held.iter().any(|one| one.row_bytes() != row_bytes) {
        return Err(different());
    }
    if let (Picked::Runs(runs), [Numbers::Whole { bytes, .. }]) = (picked, held)
        && let [(_, rows)] = &runs[..]
    {
        // A part of memory that nobody changes: batches share it.
        let values = bytes.slice(rows.start * row_bytes..rows.end * row_bytes);
        return Ok(Taken { values, ..Taken::default() });
    }
    let mut answer = Answer::new(session, size(picked.rows(), row_bytes)?)?;
    let out = answer.bytes();
    if row_bytes > 0 {
        let memory = |piece: usize, rows: &Range<usize>| match held.get(piece) {
            Some(Numbers::Whole { bytes, .. }) => Some([bytes.get(rows.start * row_bytes..rows.end * row_bytes)?]),
            _ => None,
        };
        if let Some([used]) = picked.span().and_then(|rows| memory(0, &rows)) {
            fetch_all(session, used, out.len());
        }
        let tasks = shared(&picked.chunks(chunk_rows(row_bytes)), out, row_bytes);
        each(session, tasks, |(chunk, out)| {
            chunk.fetch(memory);
            let to = (row_bytes, out);
            match &chunk {
                Chunk::Run(piece, rows) => {
                    if let Some(one) = held.get(*piece) {
                        one.copy(rows.clone(), to.1);
                    }
                }
                Chunk::Single(rows) => scattered(held, rows, |&row| (0, row), true, to),
                Chunk::Pairs(pairs) => scattered(held, pairs, |pair| *pair, true, to),
                Chunk::Bucket(pairs, _) => scattered(held, pairs, |pair| *pair, false, to),
            }
        });
    }
    Ok(Taken { values: answer.finish(session), ..Taken::default() })
}

/// Copies rows from anywhere. With `is_far` their memory is not in the processor's cache yet.
fn scattered<T>(
    held: &[&Numbers],
    rows: &[T],
    of: impl Fn(&T) -> (u32, u32),
    is_far: bool,
    (row_bytes, out): (usize, &mut [u8]),
) {
    let whole = |item: &T| {
        let (piece, row) = of(item);
        match held.get(piece as usize) {
            Some(Numbers::Whole { bytes, .. }) => bytes.get(row as usize * row_bytes..(row as usize + 1) * row_bytes),
            _ => None,
        }
    };
    for (rows, out) in rows.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER * row_bytes)) {
        if is_far {
            fetch(rows.iter().filter_map(whole));
        }
        for (item, place) in rows.iter().zip(out.chunks_exact_mut(row_bytes)) {
            if let Some(row) = whole(item) {
                place.copy_from_slice(row);
            } else if let (piece, row) = of(item)
                && let Some(columns) = held.get(piece as usize)
            {
                columns.copy(row as usize..row as usize + 1, place);
            }
        }
    }
}

/// The lists of the rows of a chunk, and their rows there.
fn rows_of<'a>(held: &'a [&'a Lists], chunk: &'a Chunk<'_>) -> Box<dyn Iterator<Item = (&'a Lists, usize)> + 'a> {
    let of = |piece: usize, row: usize| held.get(piece).map(|lists| (*lists, row));
    match chunk {
        Chunk::Run(piece, rows) => Box::new(rows.clone().filter_map(move |row| of(*piece, row))),
        Chunk::Single(rows) => Box::new(rows.iter().filter_map(move |&row| of(0, row as usize))),
        Chunk::Pairs(pairs) | Chunk::Bucket(pairs, _) => {
            Box::new(pairs.iter().filter_map(move |&(piece, row)| of(piece as usize, row as usize)))
        }
    }
}

/// The ends and the items of some lists.
fn memory_of<'a>(held: &[&'a Lists], piece: usize, rows: &Range<usize>) -> Option<[&'a [u8]; 2]> {
    let lists = held.get(piece).filter(|_| !rows.is_empty())?;
    Some([lists.offsets_of(rows), lists.items(lists.ends(rows.start).0, lists.ends(rows.end - 1).1)])
}

/// Reads all lists of a piece that are taken in an order, if it has no others between them.
fn fetch_lists(session: &Session, held: &[&Lists], picked: &Picked<'_>, bytes: usize) {
    if let Some([_, items]) = picked.span().and_then(|rows| memory_of(held, 0, &rows)) {
        fetch_all(session, items, bytes);
    }
}

fn padded(session: &Session, held: &[&Lists], padding: &Padding, picked: &Picked<'_>) -> Result<Taken> {
    let item_bytes = held.first().map_or(0, |lists| lists.item_bytes);
    if held.iter().any(|lists| lists.item_bytes != item_bytes) {
        return Err(different());
    }
    let rows = picked.rows();
    let width = padding.width;
    let row_bytes = size(width, item_bytes)?;
    let (mut values, mut masks) =
        (Answer::new(session, size(rows, row_bytes)?)?, Answer::new(session, size(rows, width)?)?);
    let (out, mask) = (values.bytes(), masks.bytes());
    fetch_lists(session, held, picked, out.len());
    let chunks = picked.chunks(chunk_rows(row_bytes + width));
    let mask = shared(&chunks, mask, width).into_iter().map(|(_, mask)| mask);
    let tasks = shared(&chunks, out, row_bytes).into_iter().zip(mask).collect();
    let cut = each(session, tasks, |((chunk, out), mask)| {
        chunk.fetch(|piece, rows| memory_of(held, piece, rows));
        padding.pad(rows_of(held, &chunk), chunk.is_scattered(), item_bytes, out, mask)
    });
    let (values, mask) = (values.finish(session), masks.finish(session));
    Ok(Taken { values, offsets: None, mask: Some(mask), cut_lists: cut.iter().sum() })
}

fn lists(session: &Session, held: &[&Lists], picked: &Picked<'_>) -> Result<Taken> {
    let item_bytes = held.first().map_or(0, |lists| lists.item_bytes);
    if held.iter().any(|lists| lists.item_bytes != item_bytes) {
        return Err(different());
    }
    let chunks = picked.chunks(LISTS_OF_A_TASK);
    let mut offsets = BytesMut::with_capacity(size(picked.rows() + 1, size_of::<i64>())?);
    offsets.extend_from_slice(&0_i64.to_ne_bytes());
    let mut items = 0;
    let mut ends = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        for (lists, row) in rows_of(held, chunk) {
            let (start, stop) = lists.ends(row);
            items += stop - start;
            offsets.extend_from_slice(&(items as i64).to_ne_bytes());
        }
        ends.push(items);
    }
    let mut answer = Answer::new(session, size(items, item_bytes)?)?;
    let out = answer.bytes();
    fetch_lists(session, held, picked, out.len());
    let mut tasks = Vec::with_capacity(chunks.len());
    let mut rest = out;
    let mut before = 0;
    for (chunk, end) in chunks.iter().zip(ends) {
        let (own, others) = rest.split_at_mut((end - before) * item_bytes);
        tasks.push((chunk, own));
        (rest, before) = (others, end);
    }
    each(session, tasks, |(chunk, out)| {
        let mut rest = out;
        if let Chunk::Run(piece, rows) = chunk
            && let Some(lists) = held.get(*piece)
        {
            rest.copy_from_slice(lists.items(lists.ends(rows.start).0, lists.ends(rows.end - 1).1));
            return;
        }
        chunk.fetch(|piece, rows| memory_of(held, piece, rows));
        visit(rows_of(held, chunk), chunk.is_scattered(), |lists, start, stop| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut((stop - start) * item_bytes);
            own.copy_from_slice(lists.items(start, stop));
            rest = others;
        });
    });
    Ok(Taken { values: answer.finish(session), offsets: Some(offsets.freeze()), ..Taken::default() })
}
