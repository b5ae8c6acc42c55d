//! Summaries of runs as bytes: one plane per number, as wide as its values need.

use super::bytes::Reader;
use super::column::ColumnStatistics;
use super::summary::{Extremes, Summary};
use crate::column::Number;
use crate::error::{Error, Result};

/// The bytes of the runs of a column, without the first entry and the number of runs.
pub(super) fn encode(column: &ColumnStatistics) -> Vec<u8> {
    let runs = column.summaries();
    let mut into = Vec::new();
    push_entries(&mut into, runs);
    if column.depth > 0 {
        push(&mut into, runs, |run| run.items);
        push(&mut into, runs, |run| run.empty);
        push(&mut into, runs, |run| run.shortest);
        push(&mut into, runs, |run| run.longest);
    }
    push(&mut into, runs, |run| run.nans);
    push(&mut into, runs, |run| run.absent);
    for is_largest in [false, true] {
        // The counts show which runs have no numbers.
        let bits = |run: &Summary| run.extremes.map_or(0, |extremes| bits_of(column.number, extremes, is_largest));
        push_in(&mut into, runs, column.number.bytes(), bits);
    }
    into
}

/// The statistics of `runs` runs from entry `first` on.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) for bytes that do not hold them.
pub(super) fn decode(bytes: &[u8], number: Number, depth: usize, first: u64, runs: usize) -> Result<ColumnStatistics> {
    // Before memory is taken for them.
    if runs > bytes.len() / ENTRIES_BYTES {
        return Err(Error::malformed("a column has fewer bytes than runs").wanted(runs as u64, bytes.len() as u64));
    }
    let mut reader = Reader::new(bytes);
    let mut summaries = vec![Summary { shortest: 1, longest: 1, ..Summary::default() }; runs];
    if !matches!(bytes.first(), Some(4 | 8)) {
        return Err(Error::malformed("the entries of runs have 4 or 8 bytes each"));
    }
    pull(&mut reader, &mut summaries, |run| &mut run.entries)?;
    if depth > 0 {
        pull(&mut reader, &mut summaries, |run| &mut run.items)?;
        pull(&mut reader, &mut summaries, |run| &mut run.empty)?;
        pull(&mut reader, &mut summaries, |run| &mut run.shortest)?;
        pull(&mut reader, &mut summaries, |run| &mut run.longest)?;
    } else {
        summaries.iter_mut().for_each(|run| run.items = run.entries);
    }
    pull(&mut reader, &mut summaries, |run| &mut run.nans)?;
    pull(&mut reader, &mut summaries, |run| &mut run.absent)?;
    let mut bits = vec![(0, 0); runs];
    pull(&mut reader, &mut bits, |(least, _)| least)?;
    pull(&mut reader, &mut bits, |(_, largest)| largest)?;
    if reader.left() > 0 {
        return Err(Error::malformed("a column has bytes after its runs").wanted(0, reader.left() as u64));
    }
    for (run, (least, largest)) in summaries.iter_mut().zip(bits) {
        if run.items > run.nans.saturating_add(run.absent) {
            run.extremes = Some(extremes_of(number, least, largest));
        }
    }
    ColumnStatistics::new(number, depth, first, summaries)
}

/// Little-endian bytes as a number, zeros above them.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

fn bits_of(number: Number, extremes: Extremes, is_largest: bool) -> u64 {
    match extremes {
        Extremes::Signed(least, largest) => (if is_largest { largest } else { least }) as u64,
        Extremes::Unsigned(least, largest) => {
            if is_largest {
                largest
            } else {
                least
            }
        }
        Extremes::Real(least, largest) => {
            let value = if is_largest { largest } else { least };
            match number {
                // They are values of the column, which this type holds.
                Number::F32 => u64::from((value as f32).to_bits()),
                _ => value.to_bits(),
            }
        }
    }
}

fn extremes_of(number: Number, least: u64, largest: u64) -> Extremes {
    let signed = |bits: u64| match number {
        Number::I8 => i64::from(bits as i8),
        Number::I16 => i64::from(bits as i16),
        Number::I32 => i64::from(bits as i32),
        _ => bits as i64,
    };
    match number {
        Number::F32 => {
            Extremes::Real(f64::from(f32::from_bits(least as u32)), f64::from(f32::from_bits(largest as u32)))
        }
        Number::F64 => Extremes::Real(f64::from_bits(least), f64::from_bits(largest)),
        Number::Bool | Number::U8 | Number::U16 | Number::U32 | Number::U64 => Extremes::Unsigned(least, largest),
        Number::I8 | Number::I16 | Number::I32 | Number::I64 => Extremes::Signed(signed(least), signed(largest)),
    }
}

/// The width of a plane of one number, which all runs have.
const SAME: u8 = 9;

/// Bytes that the entries of a run take at least. A small file then cannot claim many runs.
const ENTRIES_BYTES: usize = 4;

fn push_entries(into: &mut Vec<u8>, runs: &[Summary]) {
    let is_small = runs.iter().all(|run| u32::try_from(run.entries).is_ok());
    push_plane(into, runs, if is_small { ENTRIES_BYTES } else { 8 }, |run| run.entries);
}

fn push(into: &mut Vec<u8>, runs: &[Summary], of: impl Fn(&Summary) -> u64) {
    let width = match runs.iter().map(&of).max().unwrap_or(0) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    push_in(into, runs, width, of);
}

/// A plane of numbers of `width` bytes, or the one number of all runs.
fn push_in(into: &mut Vec<u8>, runs: &[Summary], width: usize, of: impl Fn(&Summary) -> u64) {
    let first = runs.first().map_or(0, &of);
    if runs.iter().all(|run| of(run) == first) {
        into.push(SAME);
        into.extend_from_slice(&first.to_le_bytes());
        return;
    }
    push_plane(into, runs, width, of);
}

fn push_plane(into: &mut Vec<u8>, runs: &[Summary], width: usize, of: impl Fn(&Summary) -> u64) {
    into.push(width as u8);
    for run in runs {
        into.extend_from_slice(of(run).to_le_bytes().get(..width).unwrap_or_default());
    }
}

fn pull<T>(reader: &mut Reader<'_>, runs: &mut [T], to: impl Fn(&mut T) -> &mut u64) -> Result<()> {
    match reader.u8()? {
        SAME => {
            let value = reader.u64()?;
            runs.iter_mut().for_each(|run| *to(run) = value);
        }
        width @ (1 | 2 | 4 | 8) => {
            let width = usize::from(width);
            let plane = reader.take(runs.len().saturating_mul(width))?;
            for (run, bytes) in runs.iter_mut().zip(plane.chunks_exact(width)) {
                *to(run) = word(bytes);
            }
        }
        other => return Err(Error::malformed(format!("numbers cannot have {other} bytes"))),
    }
    Ok(())
}
