//! Rows of numbers: of several columns side by side, or as they are.

use std::ops::Range;

use bytes::Bytes;

use super::convert::{not_finite, write_all};
use super::deal::{Deal, append};
use super::field::Source;
use super::threads::{chunk_rows, each};
use crate::error::{Error, Result};
use crate::session::Session;

/// Rows that are put side by side at a time: few enough for the processor's cache, and enough to read a page of memory
/// of each column.
const TILE: usize = 1024;

/// Rows of numbers.
#[derive(Debug)]
pub(super) enum Numbers {
    /// One row after another.
    Whole { bytes: Bytes, row_bytes: usize },
    /// Columns that are joined when rows are taken.
    Columns { sources: Vec<Source>, row_bytes: usize },
}

impl Numbers {
    /// The rows of some columns; of each column, how many numbers are not finite. With `is_mixed`, rows will be taken
    /// in any order, so that they are put side by side now, and dealt.
    pub(super) fn new(
        session: &Session,
        sources: Vec<Source>,
        is_mixed: bool,
        deal: Option<&Deal>,
    ) -> Result<(Self, Vec<u64>)> {
        let row_bytes = sources.iter().map(|source| source.bytes).sum();
        let rows = sources.first().map_or(0, Source::rows);
        if sources.iter().any(|source| source.rows() != rows) {
            return Err(Error::mismatch("columns of a matrix have different numbers of rows"));
        }
        if deal.is_none() {
            if let [source] = &sources[..]
                && let Some(bytes) = source.as_it_is()
            {
                return Ok((Self::Whole { bytes, row_bytes }, vec![source.not_finite()]));
            }
            if !is_mixed {
                let counts = each(session, sources.iter().collect(), Source::not_finite);
                return Ok((Self::Columns { sources, row_bytes }, counts));
            }
        }
        let size = rows.checked_mul(row_bytes).ok_or_else(|| Error::mismatch("a matrix is too large"))?;
        let mut out = session.memory().try_take(size)?;
        let counts = match deal {
            Some(deal) => deal.run(
                session,
                &mut out,
                |rows| rows * row_bytes,
                |first, buckets, mut parts| {
                    let mut counts = vec![0; sources.len()];
                    let mut tile = vec![0; TILE * row_bytes];
                    for (number, buckets) in buckets.chunks(TILE).enumerate() {
                        let start = first + number * TILE;
                        let tile = &mut tile[..buckets.len() * row_bytes];
                        join(&sources, start..start + buckets.len(), row_bytes, tile, Some(&mut counts));
                        for (row, &bucket) in tile.chunks_exact(row_bytes.max(1)).zip(buckets) {
                            append(&mut parts, bucket, row);
                        }
                    }
                    counts
                },
            ),
            None => {
                let step = chunk_rows(row_bytes);
                let chunks: Vec<_> = out.chunks_mut(step * row_bytes.max(1)).enumerate().collect();
                each(session, chunks, |(number, chunk)| {
                    let first = number * step;
                    let mut counts = vec![0; sources.len()];
                    join(&sources, first..(first + step).min(rows), row_bytes, chunk, Some(&mut counts));
                    counts
                })
            }
        };
        let sums = (0..sources.len()).map(|column| counts.iter().map(|one| one[column]).sum()).collect();
        Ok((Self::Whole { bytes: session.memory().lend(out), row_bytes }, sums))
    }

    pub(super) fn row_bytes(&self) -> usize {
        match self {
            Self::Whole { row_bytes, .. } | Self::Columns { row_bytes, .. } => *row_bytes,
        }
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Whole { bytes, .. } => bytes.len(),
            Self::Columns { sources, .. } => {
                sources.iter().flat_map(|source| &source.pieces).map(|piece| piece.bytes.len()).sum()
            }
        }
    }

    /// Copies consecutive rows.
    pub(super) fn copy(&self, rows: Range<usize>, out: &mut [u8]) {
        match self {
            Self::Whole { bytes, row_bytes } => {
                if let Some(found) = bytes.get(rows.start * row_bytes..rows.end * row_bytes)
                    && found.len() == out.len()
                {
                    out.copy_from_slice(found);
                }
            }
            Self::Columns { sources, row_bytes } => join(sources, rows, *row_bytes, out, None),
        }
    }
}

/// Puts rows of columns side by side, and counts numbers that are not finite.
fn join(sources: &[Source], rows: Range<usize>, row_bytes: usize, out: &mut [u8], mut counts: Option<&mut [u64]>) {
    if row_bytes == 0 {
        return;
    }
    for (number, tile) in out.chunks_mut(TILE * row_bytes).enumerate() {
        let start = rows.start + number * TILE;
        let stop = (start + TILE).min(rows.end);
        let mut at = 0;
        let mut whole = Vec::with_capacity(sources.len());
        for (column, source) in sources.iter().enumerate() {
            // Pieces are few: one for each file of a group.
            let first = source.pieces.partition_point(|piece| piece.first + piece.rows <= start);
            for piece in source.pieces.iter().skip(first).take_while(|piece| piece.first < stop) {
                let from = start.max(piece.first);
                let to = stop.min(piece.first + piece.rows);
                let wide = piece.row_bytes();
                let Some(numbers) = piece.bytes.get((from - piece.first) * wide..(to - piece.first) * wide) else {
                    continue;
                };
                if let Some(count) = counts.as_mut().and_then(|counts| counts.get_mut(column)) {
                    *count += not_finite(piece.number, numbers);
                }
                let cells = piece.cells(numbers, at, source.conversion);
                if from == start && to == stop {
                    whole.push(cells);
                } else if let Some(places) = tile.get_mut((from - start) * row_bytes..(to - start) * row_bytes) {
                    cells.write(places, row_bytes);
                }
            }
            at += source.bytes;
        }
        write_all(&whole, tile, row_bytes);
    }
}
