//! Cuts entries into new clusters and baskets. They are moved as opaque bytes, so any branch is supported.
//!
//! Source: `TTree::CloneTree` without `fast`, `TBasket::Streamer` (`fDisplacement`).

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use crate::codec::Scratch;
use crate::column::{Prim, decode_numbers};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::progress;
use crate::read::selection::Piece;
use crate::read::{Selection, embedded};
use crate::tree::{Basket, BasketBytes, Branch, Tree};
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::raw_entries::{EntryEncoding, RawEntries};
use crate::write::basket::recycle::Recycler;
use crate::write::basket::seal::{Sealing, cuts, seal};
use crate::write::basket::{PlacedBasket, SealedBasket};
use crate::write::file::state::{Output, State};
use crate::write::options::Order;
use crate::write::record::state::{BranchState, TreeState};
use crate::write::rewrite::sort::Sort;

/// Bytes before compression that are in memory at a time, unless one cluster has more.
const STEP_BYTES: u64 = 32 << 20;

/// The parameters of a reclustering.
pub(crate) struct Reseal<'a> {
    pub(crate) output: &'a Output,
    pub(crate) from: &'a File,
    pub(crate) tree: &'a Tree,
    /// The branches, in the order of the written tree.
    pub(crate) branches: &'a [&'a Branch],
    pub(crate) selection: &'a Selection,
    pub(crate) cluster_entries: u64,
    pub(crate) order: Order,
    pub(crate) sealing: Sealing<'a>,
    /// Offset of the record of the directory that holds the tree.
    pub(crate) directory: u64,
    /// The index at which its ProcessIDs begin in the written file.
    pub(crate) process_ids: u16,
}

/// Branches and clusters that are in memory together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    branches: Range<usize>,
    clusters: Range<u64>,
}

/// Rows of a branch that become a basket.
struct Job {
    branch: usize,
    /// Number of the first in the tree that is written.
    first_entry: u64,
    /// Which of those that are in memory.
    rows: Range<usize>,
}

impl Reseal<'_> {
    /// Writes all baskets and adds them to the tree, sorted or in their order; releases their space on failure.
    pub(crate) fn write(&self, sort: Option<Sort<'_>>, into: &mut TreeState) -> Result<()> {
        /// With more clusters than this, the tree's record is wrong or the request unreasonable.
        const MOST: u64 = 10_000_000;
        if self.clusters() > MOST {
            return Err(Error::limit("the tree would have too many clusters", MOST, self.clusters()));
        }
        let recycler = Recycler::default();
        let outcome = match sort {
            Some(sort) => self.sorted(sort, into, &recycler),
            None => self.unsorted(into, &recycler),
        };
        if outcome.is_err() {
            let mut state = self.output.open_state()?;
            into.branches.iter().for_each(|branch| self.output.release_baskets(&mut state, &branch.baskets));
            return outcome;
        }
        let (entries, size) = (self.selection.len(), self.cluster_entries);
        into.entries = entries;
        into.measured = (entries > 0).then_some(size);
        into.clusters = (0..self.clusters()).map(|cluster| size.min(entries - cluster * size)).collect();
        Ok(())
    }

    fn unsorted(&self, into: &mut TreeState, recycler: &Recycler) -> Result<()> {
        let entries = u128::from(self.selection.len());
        let all = u128::from(self.tree.entries.max(1));
        let share = |branch: &&Branch| (u128::from(bytes_of(branch)) * entries / all) as u64;
        let bytes: Vec<u64> = self.branches.iter().map(share).collect();
        let steps = steps(&bytes, self.clusters(), self.order);
        steps.iter().enumerate().try_for_each(|(done, step)| {
            progress::at(done as u64, steps.len() as u64)?;
            self.step(step, into, recycler)
        })
    }

    /// Sorted entries come in parts; each cluster is written once it is complete.
    fn sorted(&self, sort: Sort<'_>, into: &mut TreeState, recycler: &Recycler) -> Result<()> {
        let branches = 0..self.branches.len();
        let mut waiting: Vec<RawEntries> = Vec::new();
        let mut cluster = 0;
        let mut rows = 0;
        let windows = sort.windows(self.tree.entries, &self.tree.clusters())?;
        let read = |window: &Selection| self.gather(&branches, window);
        sort.run(&windows, read, |part, more| {
            if waiting.is_empty() {
                waiting = part;
            } else {
                waiting.iter_mut().zip(part).try_for_each(|(waiting, part)| waiting.append(part))?;
            }
            rows += more;
            let is_last = cluster * self.cluster_entries + rows == self.selection.len();
            let end = if is_last { self.clusters() } else { cluster + rows / self.cluster_entries };
            if end == cluster {
                return Ok(());
            }
            let taken = self.entries_of(&(cluster..end));
            let taken = taken.end - taken.start;
            let rest = waiting.iter_mut().map(|branch| branch.split_off(taken as usize)).collect();
            let whole = std::mem::replace(&mut waiting, rest);
            let step = Step { branches: branches.clone(), clusters: cluster..end };
            cluster = end;
            rows -= taken;
            self.write_step(&step, whole, into, recycler)
        })
    }

    fn clusters(&self) -> u64 {
        self.selection.len().div_ceil(self.cluster_entries)
    }

    /// Entries of consecutive clusters, numbered as in the written tree.
    fn entries_of(&self, clusters: &Range<u64>) -> Range<u64> {
        let end = clusters.end.saturating_mul(self.cluster_entries).min(self.selection.len());
        clusters.start * self.cluster_entries..end
    }

    fn step(&self, step: &Step, into: &mut TreeState, recycler: &Recycler) -> Result<()> {
        let entries = self.entries_of(&step.clusters);
        let gathered = self.gather(&step.branches, &self.selection.part(entries))?;
        self.write_step(step, gathered, into, recycler)
    }

    /// Writes entries that are in memory.
    fn write_step(
        &self,
        step: &Step,
        gathered: Vec<RawEntries>,
        into: &mut TreeState,
        recycler: &Recycler,
    ) -> Result<()> {
        let entries = self.entries_of(&step.clusters);
        let pending: Vec<RowBuffer> = gathered.into_iter().map(RowBuffer::from).collect();
        for (index, rows) in step.branches.clone().zip(&pending) {
            if let (Some(branch), Some(state)) = (self.branches.get(index), into.branches.get_mut(index))
                && state.counts
            {
                // The record may know less than it should.
                state.most = state.most.max(largest_count(branch, rows.raw()));
            }
        }
        let mut jobs = Vec::new();
        let mut add = |branch: usize, cluster: u64| {
            let (Some(pending), Some(state)) = (pending.get(branch - step.branches.start), into.branches.get(branch))
            else {
                return;
            };
            if !state.layout.has_data() {
                return;
            }
            let cluster = self.entries_of(&(cluster..cluster + 1));
            let rows = (cluster.start - entries.start) as usize..(cluster.end - entries.start) as usize;
            let cuts = cuts(&state.layout, pending, &rows, self.sealing.basket_bytes);
            jobs.extend(cuts.rows.map(|rows| Job { branch, first_entry: entries.start + rows.start as u64, rows }));
        };
        match self.order {
            Order::Branch => {
                step.branches.clone().for_each(|branch| step.clusters.clone().for_each(|cluster| add(branch, cluster)));
            }
            _ => {
                step.clusters.clone().for_each(|cluster| step.branches.clone().for_each(|branch| add(branch, cluster)))
            }
        }
        let sealed = self.each(
            &jobs,
            || (),
            |(), job| {
                let missing = || Error::mismatch("a branch without rows");
                let pending = pending.get(job.branch - step.branches.start).ok_or_else(missing)?;
                let BranchState { layout, compression, .. } = into.branches.get(job.branch).ok_or_else(missing)?;
                recycler
                    .with(|work| seal(layout, pending, &job.rows, *compression, &self.sealing, recycler.record(), work))
            },
        )?;
        self.write_baskets(&jobs, sealed, into, recycler)
    }

    /// Writes baskets one after another at the end of the file.
    fn write_baskets(
        &self,
        jobs: &[Job],
        mut sealed: Vec<SealedBasket>,
        into: &mut TreeState,
        recycler: &Recycler,
    ) -> Result<()> {
        sealed.iter_mut().try_for_each(|basket| Key::shift_pid_offset(&mut basket.record, self.process_ids))?;
        let mut numbers: Vec<usize> = into.branches.iter().map(|branch| branch.baskets.len()).collect();
        let number = |_: &State, index: usize| {
            let number = &mut numbers[jobs[index].branch];
            *number += 1;
            *number - 1
        };
        let places = self.output.append(self.output.open_state()?, self.directory, &mut sealed, |_| None, number)?;
        for ((job, basket), seek) in jobs.iter().zip(&sealed).zip(places) {
            let branch = &mut into.branches[job.branch];
            let nbytes = basket.record.len() as u32;
            branch.add(PlacedBasket { seek, nbytes, first_entry: job.first_entry }, basket.unsealed_bytes);
        }
        recycler.give_back(sealed);
        Ok(())
    }

    /// Entries of some branches, read at once; each basket is read and inflated once.
    fn gather(&self, branches: &Range<usize>, part: &Selection) -> Result<Vec<RawEntries>> {
        let branches = &self.branches[branches.clone()];
        let mut jobs = Vec::new();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (index, branch) in branches.iter().enumerate().filter(|(_, branch)| branch.has_data()) {
            let baskets = branch.baskets();
            for piece in part.pieces(baskets).map_err(|error| error.in_object(&branch.path))? {
                if let Some(BasketBytes::Stored { seek, nbytes }) = baskets.get(piece.basket).map(|basket| basket.bytes)
                {
                    ranges.push(seek..seek.saturating_add(u64::from(nbytes)));
                }
                jobs.push((index, *branch, piece));
            }
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup();
        let records: HashMap<u64, Bytes> =
            ranges.iter().map(|range| range.start).zip(self.from.read_raw(&ranges)?).collect();
        let raws = self.each(&jobs, Bench::default, |bench, (_, branch, piece)| {
            self.inflate(branch, part, piece, &records, bench).map_err(|error| error.in_object(&branch.path))
        })?;
        let mut gathered: Vec<RawEntries> = branches.iter().map(|_| RawEntries::default()).collect();
        for ((index, branch, _), raw) in jobs.iter().zip(raws) {
            if let Some(before) = gathered.get_mut(*index) {
                before.append(raw).map_err(|error| error.in_object(&branch.path))?;
            }
        }
        Ok(gathered)
    }

    fn inflate(
        &self,
        branch: &Branch,
        part: &Selection,
        piece: &Piece,
        records: &HashMap<u64, Bytes>,
        bench: &mut Bench,
    ) -> Result<RawEntries> {
        let encoding = EntryEncoding::of(self.tree, branch);
        let missing = || Error::malformed("a basket was not read");
        let Some(basket) = branch.baskets().get(piece.basket) else { return Err(missing()) };
        let rows = part.rows(piece, &basket.entries);
        let outcome = match basket.bytes {
            BasketBytes::Stored { seek, .. } => {
                let record = records.get(&seek).cloned().ok_or_else(missing)?;
                let limits = &self.from.options().limits;
                let sealed = Basket::read(record, limits).and_then(refuse_other_processes);
                sealed.and_then(|sealed| encoding.take(&sealed.unseal(&mut bench.memory, &mut bench.scratch)?, rows))
            }
            BasketBytes::Embedded(id) => encoding.take(&embedded(self.tree, id)?, rows),
        };
        outcome.map_err(|error| error.in_basket(piece.basket as u32))
    }

    /// Maps each item, on the pool if there is one; results are in order.
    fn each<T: Sync, B: Send, R: Send>(
        &self,
        jobs: &[T],
        bench: impl Fn() -> B + Sync + Send,
        one: impl Fn(&mut B, &T) -> Result<R> + Sync + Send,
    ) -> Result<Vec<R>> {
        self.output.options.session.map(jobs, bench, one)
    }
}

/// The largest count of a branch with one leaf; 0 for others, whose largest count ROOT does not read by.
fn largest_count(branch: &Branch, entries: &RawEntries) -> u64 {
    let [leaf] = &branch.leaves[..] else { return 0 };
    let Some(number) = leaf.number().filter(|_| branch.element.is_none()) else { return 0 };
    let mut native = [0; 4 << 10];
    let largest_of = |counts: &[u8]| {
        decode_numbers(Prim::Plain(number), counts, &mut native[..counts.len()]);
        number.wholes(&native[..counts.len()]).max()
    };
    let whole = entries.data.len() / number.bytes() * number.bytes();
    entries.data[..whole].chunks(4 << 10).filter_map(largest_of).max().unwrap_or(0).max(0) as u64
}

/// References of merged baskets have different offsets: one basket can hold only references with the same offset.
fn refuse_other_processes(basket: Basket) -> Result<Basket> {
    match basket.key.pid_offset {
        0 => Ok(basket),
        _ => Err(Error::unsupported("references in its merged baskets count from several places")),
    }
}

/// What is in memory together, in write order, for branches of so many bytes in so many equal clusters.
fn steps(bytes: &[u64], clusters: u64, order: Order) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut cut = |branches: Range<usize>, bytes: u64| {
        let many = (STEP_BYTES / (bytes / clusters.max(1)).max(1)).clamp(1, clusters.max(1));
        let starts = (0..clusters).step_by(many as usize);
        steps.extend(
            starts.map(|start| Step { branches: branches.clone(), clusters: start..clusters.min(start + many) }),
        );
    };
    let (mut start, mut sum) = (0, 0_u64);
    for (index, &bytes) in bytes.iter().enumerate() {
        // Branches that fit in memory together are read together.
        if order == Order::Branch && index > start && sum.saturating_add(bytes) > STEP_BYTES {
            cut(start..index, sum);
            (start, sum) = (index, 0);
        }
        sum = sum.saturating_add(bytes);
    }
    cut(start..bytes.len(), sum);
    steps
}

/// The workspace that an inflating thread keeps between baskets.
#[derive(Default)]
struct Bench {
    scratch: Scratch,
    memory: Vec<u8>,
}

/// Bytes of a branch before compression, as recorded; at least the stored bytes.
pub(crate) fn bytes_of(branch: &Branch) -> u64 {
    branch.tot_bytes.max(stored_bytes(branch))
}

/// Bytes of a branch's baskets.
pub(crate) fn stored_bytes(branch: &Branch) -> u64 {
    let bytes = branch.baskets().iter().map(|basket| match basket.bytes {
        BasketBytes::Stored { nbytes, .. } => u64::from(nbytes),
        BasketBytes::Embedded(_) => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_holds_all_clusters_that_fit_and_at_least_one() {
        let lengths = |bytes: &[u64], clusters, order| -> Vec<(usize, u64)> {
            let steps = steps(bytes, clusters, order);
            let covered: u64 =
                steps.iter().map(|s| s.branches.len() as u64 * (s.clusters.end - s.clusters.start)).sum();
            assert_eq!(covered, bytes.len() as u64 * clusters);
            steps.iter().map(|step| (step.branches.len(), step.clusters.end - step.clusters.start)).collect()
        };
        let third = STEP_BYTES / 3;
        assert_eq!(lengths(&[third, third], 10, Order::Entry), [(2, 10)]);
        assert_eq!(lengths(&[10 * third, 10 * third], 10, Order::Entry), [(2, 1); 10]);
        assert_eq!(lengths(&[5 * third, 5 * third], 10, Order::Entry), [(2, 3), (2, 3), (2, 3), (2, 1)]);
        assert_eq!(
            lengths(&[9 * third, third, third, third, third], 3, Order::Branch),
            [(1, 1), (1, 1), (1, 1), (3, 3), (1, 3)]
        );
        assert_eq!(lengths(&[9 * third], 2, Order::Branch), [(1, 1); 2]);
        assert_eq!(lengths(&[0, 0], 5, Order::Branch), [(2, 5)]);
        assert!(lengths(&[1], 0, Order::Entry).is_empty());
    }
}
