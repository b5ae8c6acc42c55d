//! Entries in ascending order of columns, in bounded memory: the source is read twice, whatever the order.
//!
//! 1. Keys alone are read. If they rise already, nothing is sorted. Otherwise they give bounds of buckets of entries,
//!    each of which fits into memory.
//! 2. Entries are read window by window, and go to a temporary file, by bucket.
//! 3. Each bucket is read from there, sorted, and written.
//!
//! Why so: `docs/decisions/sorting.md`.

mod keys;
mod quantiles;
mod spill;
pub(crate) mod stored_rows;

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::codec::Scratch;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress;
use crate::read::Selection;
use crate::session::Session;
use crate::table::Table;
use crate::write::basket::raw_entries::RawEntries;
use crate::write::rewrite::windows::{chosen, windows_of};
use keys::{KeyColumns, Keys};
use quantiles::{Quantiles, Survey};
use spill::{Chunk, Spill, pack};

/// Columns that entries are sorted by, and what sorting may use.
///
/// # Example
///
/// ```
/// # let output = sapwood_testkit::scratch("sort-by.root");
/// # let input = sapwood_testkit::example("nano.root");
/// use sapwood::write::{FileWriter, Rewrite, SortBy, WriteOptions};
/// let from = sapwood::File::open(input)?;
/// // Many jets first; events with as many jets keep their order.
/// let how = Rewrite { sort: Some(SortBy::new(["-nJet"])), ..Rewrite::default() };
/// let mut file = FileWriter::recreate(&output, WriteOptions::default())?;
/// file.rewrite(&from, "Events", "Events", &how)?;
/// file.close()?;
/// let table = sapwood::File::open(&output)?.table("Events")?;
/// let counts = table.read(&[table.find("nJet")?], 0..table.entries())?.remove(0).numbers::<u32>()?;
/// assert!(counts.is_sorted_by(|a, b| a >= b));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortBy {
    /// Columns with one number per entry. The first one decides; the next ones decide among equal numbers. A leading
    /// `-` sorts by falling numbers. NaN comes last in any case, and equal entries keep their order.
    pub columns: Vec<String>,
    /// Bytes of memory that sorting takes, about. A cluster that is written takes its memory in addition.
    pub memory_bytes: u64,
    /// The folder of the temporary file, which holds all entries with fast compression; none for
    /// the system's folder of temporary files.
    pub folder: Option<PathBuf>,
}

impl SortBy {
    /// Sorts by these columns, with 512 MiB of memory.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { columns, memory_bytes: 512 << 20, folder: None }
    }
}

/// A tree whose entries were in order.
pub(crate) const IN_ORDER: &str = "its entries were in this order already";

/// Entries that are to be sorted.
pub(crate) struct Sort<'a> {
    session: &'a Session,
    table: &'a Table,
    columns: KeyColumns,
    quantiles: Quantiles,
    selection: &'a Selection,
    spill: Spill,
    /// Bytes of the entries in memory.
    bytes: u64,
    part_bytes: u64,
}

/// Refuses to sort while entries are written in the other format.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) if they are to be sorted.
pub(crate) fn refuse(sort: Option<&SortBy>) -> Result<()> {
    match sort {
        None => Ok(()),
        Some(_) => {
            let words = "entries are sorted in the format they have: write the other format in a second step";
            Err(Error::mismatch(words))
        }
    }
}

/// Checks the columns that a table is to be sorted by.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) for a column that it lacks; [`Mismatch`](crate::ErrorKind::Mismatch) for
/// one without a number per entry.
pub(crate) fn check(table: &Table, by: &SortBy) -> Result<()> {
    KeyColumns::new(table, &by.columns).map(drop)
}

impl<'a> Sort<'a> {
    /// Reads the keys of the selected entries; `bytes` is what all of these take in memory. Returns nothing if they are
    /// in order.
    pub(crate) fn plan(
        session: &'a Session,
        table: &'a Table,
        by: &SortBy,
        selection: &'a Selection,
        bytes: u64,
    ) -> Result<Option<Self>> {
        /// With more buckets, pieces of the temporary file would be too small. A bucket that does not fit into memory
        /// is read several times.
        const MAX_BUCKETS: u64 = 4096;
        /// Rows of a window are counted in 32 bits, and take at least 8 bytes each.
        const MAX_PART_BYTES: u64 = 8 << 31;
        let columns = KeyColumns::new(table, &by.columns)?;
        // There are up to three copies of the entries of a part, and their keys.
        let part_bytes = (by.memory_bytes / 4).clamp(1, MAX_PART_BYTES);
        let survey = Survey::new(table, &columns, selection, part_bytes)?;
        if survey.is_sorted {
            return Ok(None);
        }
        let buckets = bytes.div_ceil(part_bytes).clamp(1, MAX_BUCKETS);
        let quantiles = survey.quantiles(buckets as usize)?;
        let temporary = std::env::temp_dir();
        let spill = Spill::new(by.folder.as_deref().unwrap_or(Path::new(&temporary)))?;
        Ok(Some(Self { session, table, columns, quantiles, selection, spill, bytes, part_bytes }))
    }

    /// Entries that are read at a time, of a table with these entries and clusters.
    pub(crate) fn windows(&self, entries: u64, clusters: &[Range<u64>]) -> Result<Vec<Selection>> {
        // Of sparse entries whole baskets are read: what is left out takes memory, too.
        let all = u128::from(self.bytes) * u128::from(entries) / u128::from(self.selection.len().max(1));
        let all = u64::try_from(all).unwrap_or(u64::MAX);
        chosen(windows_of(self.part_bytes, entries, clusters, all), self.selection)
    }

    /// Reads the entries window by window, each branch on its own, and hands them to `write` in their new order, part
    /// by part, with the number of entries of each part.
    pub(crate) fn run(
        mut self,
        windows: &[Selection],
        mut read: impl FnMut(&Selection) -> Result<Vec<RawEntries>>,
        mut write: impl FnMut(Vec<RawEntries>, u64) -> Result<()>,
    ) -> Result<()> {
        let mut buckets: Vec<Vec<Chunk>> = std::iter::repeat_with(Vec::new).take(self.quantiles.len()).collect();
        let all = 2 * windows.len() as u64;
        let mut branches = 0;
        let mut first = 0;
        for (done, window) in windows.iter().enumerate() {
            interrupt::check()?;
            progress::at(done as u64, all)?;
            let rows = read(window)?;
            branches = rows.len();
            self.distribute(window, first, &rows, &mut buckets)?;
            first += window.len();
        }
        if first != self.selection.len() {
            return Err(Error::internal("windows do not hold all entries that are sorted"));
        }
        let of = buckets.len() as u64;
        for (bucket, chunks) in buckets.into_iter().enumerate() {
            progress::at(all / 2 + all / 2 * bucket as u64 / of, all)?;
            self.gather(&chunks, branches, &mut write)?;
        }
        Ok(())
    }

    /// Adds the entries of a window to their buckets.
    fn distribute(
        &mut self,
        window: &Selection,
        first: u64,
        branches: &[RawEntries],
        buckets: &mut [Vec<Chunk>],
    ) -> Result<()> {
        let keys = self.columns.read(self.table, window)?;
        let rows = keys.len();
        if let Some(branch) =
            branches.iter().find(|branch| !branch.starts.is_empty() && branch.starts.len() != rows + 1)
        {
            let error = Error::malformed("a branch has another number of entries than the columns to sort by");
            return Err(error.wanted(rows as u64, branch.starts.len() as u64 - 1));
        }
        let size = |row: usize| {
            let bytes: usize = branches.iter().map(|branch| row_bytes(branch.entry(row))).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let sizes: Vec<u32> = (0..rows).map(size).collect();
        let mut of_bucket: Vec<Vec<u32>> = vec![Vec::new(); buckets.len()];
        for row in 0..rows {
            let bucket = self.quantiles.bucket(keys.row(row), first + row as u64);
            if let Some(of) = of_bucket.get_mut(bucket) {
                of.push(row as u32);
            }
        }
        let jobs: Vec<(usize, Vec<u32>)> = of_bucket.into_iter().enumerate().filter(|(_, of)| !of.is_empty()).collect();
        let packed = self.session.map(&jobs, || (), |(), (_, rows)| pack(&keys, &sizes, branches, rows))?;
        for ((bucket, _), packed) in jobs.iter().zip(&packed) {
            let chunk = self.spill.add(packed)?;
            if let Some(chunks) = buckets.get_mut(*bucket) {
                chunks.push(chunk);
            }
        }
        Ok(())
    }

    /// Sorts a bucket. If it is larger than a part, each part of it is read on its own.
    fn gather(
        &self,
        chunks: &[Chunk],
        branches: usize,
        write: &mut impl FnMut(Vec<RawEntries>, u64) -> Result<()>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        let mut keys = Keys { width: self.columns.width(), words: Vec::new() };
        let mut sizes = Vec::new();
        for chunk in chunks {
            self.spill.keys(chunk, &mut keys, &mut sizes, &mut scratch)?;
        }
        let order = keys.order()?;
        drop(keys);
        let mut places = vec![0_u32; order.len()];
        for part in parts(&order, &sizes, self.part_bytes) {
            let mut wanted = vec![false; order.len()];
            part.iter().for_each(|&row| wanted[row as usize] = true);
            let mut rows: Vec<RawEntries> = std::iter::repeat_with(RawEntries::default).take(branches).collect();
            let mut start = 0;
            for chunk in chunks {
                interrupt::check()?;
                let wanted = wanted.get(start..start + chunk.len).unwrap_or_default();
                start += chunk.len;
                if wanted.contains(&true) {
                    self.spill.rows(chunk, wanted, &mut rows, &mut scratch)?;
                }
            }
            // Where each row is among those that were read.
            let read = wanted.iter().zip(&mut places).filter(|(is_wanted, _)| **is_wanted);
            (0..).zip(read).for_each(|(at, (_, place))| *place = at);
            let sorted: Vec<u32> = part.iter().map(|&row| places[row as usize]).collect();
            let in_order = self.session.map(&rows, || (), |(), branch| branch.in_order(&sorted))?;
            drop(rows);
            write(in_order, sorted.len() as u64)?;
        }
        Ok(())
    }
}

/// Bytes of an entry of a branch in memory, with its start.
fn row_bytes(entry: Option<&[u8]>) -> usize {
    entry.map_or(0, |entry| entry.len() + size_of::<usize>())
}

/// Cuts rows into parts of at most `most` bytes, and of at least one row.
fn parts<'o>(order: &'o [u32], sizes: &[u32], most: u64) -> Vec<&'o [u32]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (at, &row) in order.iter().enumerate() {
        let size = sizes.get(row as usize).map_or(0, |&size| u64::from(size));
        if at > start && bytes + size > most {
            parts.push(&order[start..at]);
            start = at;
            bytes = 0;
        }
        bytes += size;
    }
    if start < order.len() {
        parts.push(&order[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_fits_and_at_least_one_row() {
        let parts =
            |most| parts(&[2, 0, 1, 3], &[10, 20, 30, 40], most).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(parts(100), [4]);
        assert_eq!(parts(60), [3, 1]);
        assert_eq!(parts(1), [1, 1, 1, 1]);
        assert!(super::parts(&[], &[], 5).is_empty());
    }
}
