//! Rows in random order, dealt into buckets: so that taking some of them touches little memory.
//!
//! To copy rows from anywhere in a large memory waits for that memory with each row. Instead rows are dealt once, one
//! after another: each bucket gets those of adjacent places of the order. It is small enough for the processor's
//! cache, and taking rows in their exact order stays inside of one.

use std::ops::Range;

use super::shuffle::Shuffle;
use super::threads::each;
use crate::error::{Error, Result};
use crate::session::Session;

/// Bytes of a bucket.
const BUCKET_BYTES: usize = 1 << 20;
/// More buckets than that are not filled at the same time: the processor knows the addresses of few pages.
const MAX_BUCKETS: usize = 64;
/// Rows that one thread deals at a time.
const TASK_ROWS: usize = 64 << 10;

/// The first row of a task, the buckets of its rows, and the part of each bucket that it fills.
type Task<'a> = (usize, &'a [u8], Vec<&'a mut [u8]>);

/// The bucket of each row.
#[derive(Debug)]
pub(super) struct Deal {
    /// By row, as they are.
    buckets: Vec<u8>,
    /// Rows of a task.
    step: usize,
    /// For each task, the rows of each bucket.
    counts: Vec<Vec<usize>>,
}

impl Deal {
    /// Deals some of the rows of a shuffle, from the first one on; returns the first row of each bucket, too.
    pub(super) fn of_shuffle(session: &Session, shuffle: Shuffle, rows: Range<usize>) -> (Self, Vec<usize>) {
        let step = if session.pool().is_some() { TASK_ROWS } else { rows.len().max(1) };
        let buckets = shuffle.buckets_of(rows);
        let number = shuffle.buckets();
        let count = |rows: &[u8]| {
            let mut counts = vec![0; number];
            for &bucket in rows {
                if let Some(count) = counts.get_mut(usize::from(bucket)) {
                    *count += 1;
                }
            }
            counts
        };
        let counts: Vec<Vec<usize>> = buckets.chunks(step).map(count).collect();
        let mut starts = vec![0];
        let mut end = 0;
        for bucket in 0..number {
            end += counts.iter().map(|counts| counts[bucket]).sum::<usize>();
            starts.push(end);
        }
        (Self { buckets, step, counts }, starts)
    }

    /// Deals rows, of `row_bytes` each, that come in an order; replaces the order by that of the dealt rows. None if
    /// all of them fit into a bucket.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the order lacks a row, or has one twice.
    pub(super) fn of_order(session: &Session, order: &mut [u32], row_bytes: usize) -> Result<Option<Self>> {
        let rows = order.len();
        let mut places = vec![u32::MAX; rows];
        for (place, &row) in (0..).zip(order.iter()) {
            if let Some(known) = places.get_mut(row as usize) {
                *known = place;
            }
        }
        if places.contains(&u32::MAX) {
            return Err(Error::mismatch("an order of rows lacks some of them, or has some twice"));
        }
        let fitting = (BUCKET_BYTES / row_bytes.max(1)).max(rows.div_ceil(MAX_BUCKETS));
        let bucket_rows = fitting.next_power_of_two();
        if rows <= bucket_rows {
            return Ok(None);
        }
        let shift = bucket_rows.trailing_zeros();
        let number = ((rows - 1) >> shift) + 1;
        let step = if session.pool().is_some() { TASK_ROWS } else { rows };
        let mut next: Vec<u32> = (0..number).map(|bucket| (bucket << shift) as u32).collect();
        let mut buckets = Vec::with_capacity(rows);
        let mut counts = Vec::with_capacity(rows.div_ceil(step));
        for places in places.chunks(step) {
            let before = next.clone();
            for &place in places {
                let bucket = place >> shift;
                if let (Some(next), Some(known)) = (next.get_mut(bucket as usize), order.get_mut(place as usize)) {
                    *known = *next;
                    *next += 1;
                }
                buckets.push(bucket as u8);
            }
            counts.push(next.iter().zip(before).map(|(now, before)| (*now - before) as usize).collect());
        }
        Ok(Some(Self { buckets, step, counts }))
    }

    /// The rows of each task, and the parts of a memory that it fills, one for each bucket. `size` returns the bytes of
    /// a number of rows.
    fn tasks<'a>(&'a self, mut memory: &'a mut [u8], mut size: impl FnMut(usize) -> usize) -> Vec<Task<'a>> {
        let mut parts: Vec<Vec<&mut [u8]>> = self.counts.iter().map(|_| Vec::new()).collect();
        for bucket in 0..self.counts.first().map_or(0, Vec::len) {
            for (counts, parts) in self.counts.iter().zip(&mut parts) {
                let (own, rest) = std::mem::take(&mut memory).split_at_mut(size(counts[bucket]));
                parts.push(own);
                memory = rest;
            }
        }
        let starts = (0..self.buckets.len()).step_by(self.step);
        starts
            .zip(self.buckets.chunks(self.step))
            .zip(parts)
            .map(|((first, rows), parts)| (first, rows, parts))
            .collect()
    }

    /// Appends rows to their buckets, task by task. `work` gets the first row of a task, its rows' buckets, and what
    /// each bucket takes.
    pub(super) fn run<'a, R: Send>(
        &'a self,
        session: &Session,
        memory: &'a mut [u8],
        size: impl FnMut(usize) -> usize,
        work: impl Fn(usize, &[u8], Vec<&mut [u8]>) -> R + Send + Sync,
    ) -> Vec<R> {
        each(session, self.tasks(memory, size), |(first, buckets, parts)| work(first, buckets, parts))
    }
}

/// Appends bytes to what a bucket takes.
#[inline]
pub(super) fn append(parts: &mut [&mut [u8]], bucket: u8, bytes: &[u8]) {
    if let Some(part) = parts.get_mut(bucket as usize) {
        let (own, rest) = std::mem::take(part).split_at_mut(bytes.len());
        own.copy_from_slice(bytes);
        *part = rest;
    }
}
