//! The tree that is written: rows wait for their cluster, clusters are sealed, placed and published.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::branch::{BranchKind, BranchSpec, Values};
use super::clustering::{Clustering, Every, Next, Waiting};
use super::pending::Pending;
use super::seal::{SealedBranch, Sealing, cuts, seal};
use super::shared::Shared;
use super::spare::Spare;
use super::state::{PlacedBasket, TreeState, What};
use crate::codec::Compression;
use crate::error::{Error, Result};

/// How a tree is written.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// `fTitle`.
    pub title: Arc<str>,
    /// Compression of its baskets; none for the file's.
    pub compression: Option<Compression>,
    /// When a cluster ends: after so many entries, or after the entries that the first so many compressed bytes hold
    /// (`TTree::SetAutoFlush`).
    pub auto_flush: Every,
    /// When all that was written is saved on the way (`TTree::SetAutoSave`).
    pub auto_save: Every,
    /// A cluster ends at the latest when its rows take so many bytes before compression: they are kept in memory until then.
    pub cluster_bytes: usize,
    /// Bytes that a basket holds before compression, unless one entry has more.
    pub basket_bytes: usize,
    /// Collections of objects are written member by member, as ROOT does, and not object by object.
    pub member_wise: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            title: "".into(),
            compression: None,
            auto_flush: Every::Bytes(30_000_000),
            auto_save: Every::Bytes(300_000_000),
            cluster_bytes: 128 << 20,
            basket_bytes: 512 << 10,
            member_wise: true,
        }
    }
}

/// Takes rows of a tree.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// let path = std::env::temp_dir().join("sapwood-tree-writer.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default())?;
/// let x: Vec<u8> = [1_i32, 2, 3].iter().flat_map(|x| x.to_ne_bytes()).collect();
/// tree.extend(&[("x", Values::Numbers(&x))])?;
/// tree.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 3);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeWriter {
    shared: Arc<Shared>,
    index: usize,
    name: Arc<str>,
    specs: Vec<BranchSpec>,
    /// What has baskets, and the value that it has or has a part of.
    parts: Vec<(usize, What)>,
    compression: Compression,
    basket_bytes: usize,
    clustering: Clustering,
    pub(super) pending: Vec<Pending>,
    pub(super) rows: usize,
    spare: Spare,
}

/// Rows of all branches that wait.
struct Rows<'a>(&'a TreeWriter);

impl Waiting for Rows<'_> {
    fn rows(&self) -> usize {
        self.0.rows
    }

    fn bytes(&self, rows: usize) -> usize {
        self.0.waiting_bytes(rows)
    }
}

impl TreeWriter {
    pub(super) fn new(
        shared: Arc<Shared>,
        index: usize,
        state: &TreeState,
        specs: Vec<BranchSpec>,
        options: TreeOptions,
    ) -> Self {
        let pending = specs.iter().map(Pending::of).collect();
        let parts = state.branches.iter().map(|branch| (branch.value, branch.what.clone())).collect();
        let compression = options.compression.unwrap_or(shared.compression);
        let clustering = Clustering::new(options.auto_flush, options.cluster_bytes);
        let (name, basket_bytes) = (Arc::clone(&state.name), options.basket_bytes);
        Self {
            shared,
            index,
            name,
            specs,
            parts,
            compression,
            basket_bytes,
            clustering,
            pending,
            rows: 0,
            spare: Spare::default(),
        }
    }

    /// The branches.
    pub fn branches(&self) -> &[BranchSpec] {
        &self.specs
    }

    /// Adds rows: values for every branch by name, those that count left out. Rows are kept until their cluster is whole.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where branches are missing, unknown or of another kind, or where lengths
    /// differ: then no row was added.
    pub fn extend(&mut self, values: &[(&str, Values<'_>)]) -> Result<()> {
        let (order, rows) = self.order(values).map_err(|error| error.in_object(&self.name))?;
        for (pending, source) in self.pending.iter_mut().zip(order) {
            match source {
                Source::Given(values) => pending.append(&values),
                Source::Lengths(ends) => pending.append_lengths(ends),
            }
        }
        self.rows += rows;
        self.write_whole()
    }

    /// Bytes in memory of the first rows that wait.
    pub(super) fn waiting_bytes(&self, rows: usize) -> usize {
        self.specs.iter().zip(&self.pending).map(|(spec, pending)| pending.bytes_of(spec, &(0..rows))).sum()
    }

    /// Writes the clusters that are whole.
    pub(super) fn write_whole(&mut self) -> Result<()> {
        loop {
            let mut clustering = self.clustering.clone();
            let next = clustering.next(&Rows(self));
            self.clustering = clustering;
            match next {
                Next::Wait => return Ok(()),
                // What is not compressed does not shrink.
                Next::Sample(_) if self.compression.level == 0 => self.clustering.sampled(1, 1),
                Next::Sample(rows) => {
                    let sealed = self.seal(rows)?;
                    let baskets = || sealed.iter().flat_map(|branch| &branch.baskets);
                    let before = baskets().map(|basket| basket.unsealed_bytes).sum();
                    self.clustering.sampled(before, baskets().map(|basket| basket.record.len() as u64).sum());
                    self.spare.give_back(sealed);
                }
                Next::Cluster(rows) => self.cluster(rows)?,
            }
        }
    }

    /// Where the values of each branch come from, and how many rows they are; checked before anything is kept.
    fn order<'v>(&self, values: &[(&str, Values<'v>)]) -> Result<(Vec<Source<'v>>, usize)> {
        let specs: HashMap<&str, &BranchSpec> = self.specs.iter().map(|spec| (&*spec.name, spec)).collect();
        let mut given: HashMap<&str, Values<'v>> = HashMap::with_capacity(values.len());
        let mut rows: Option<(usize, &str)> = None;
        for (name, values) in values {
            let spec = specs.get(name).ok_or_else(|| Error::not_found(format!("there is no branch {name:?}")))?;
            if spec.kind == BranchKind::Counter {
                return Err(Error::mismatch(format!("branch {name:?} counts others: it is filled from them")));
            }
            let found = values.entries(spec)?;
            match rows {
                Some((wanted, first)) if wanted != found => {
                    let message = format!("branch {name:?} was given another number of entries than {first:?}");
                    return Err(Error::mismatch(message).wanted(wanted as u64, found as u64));
                }
                _ => rows = Some((found, name)),
            }
            if given.insert(name, *values).is_some() {
                return Err(Error::mismatch(format!("branch {name:?} was given values twice")));
            }
        }
        let lengths = self.lengths(&given)?;
        let source = |spec: &BranchSpec| match spec.kind {
            BranchKind::Counter => lengths.get(&*spec.name).map(|&(_, ends)| Source::Lengths(ends)),
            _ => given.get(&*spec.name).map(|&values| Source::Given(values)),
        };
        let order = self.specs.iter().map(|spec| {
            source(spec).ok_or_else(|| Error::mismatch(format!("branch {:?} was given no values", spec.name)))
        });
        Ok((order.collect::<Result<_>>()?, rows.map_or(0, |(rows, _)| rows)))
    }

    /// For each branch that counts the lists that it counts, and whose they are: all that share it have the same lengths.
    fn lengths<'s, 'v>(&'s self, given: &HashMap<&str, Values<'v>>) -> Result<HashMap<&'s str, (&'s str, &'v [i64])>> {
        let mut lengths: HashMap<&str, (&str, &[i64])> = HashMap::new();
        for spec in &self.specs {
            let (BranchKind::Jagged(_, counter), Some(Values::Lists(ends, _))) = (&spec.kind, given.get(&*spec.name))
            else {
                continue;
            };
            let (first, known) = *lengths.entry(counter).or_insert((&spec.name, ends));
            if known != *ends {
                let message = format!("branches {first:?} and {:?} share a counter, and their lists differ", spec.name);
                return Err(Error::mismatch(message));
            }
        }
        Ok(lengths)
    }

    /// Writes the rows that are kept as a cluster of their own.
    ///
    /// # Errors
    ///
    /// What the sink reports: the rows are still kept then. Rows that cannot be written at all are dropped.
    pub fn flush(&mut self) -> Result<()> {
        if self.rows > 0 { self.cluster(self.rows) } else { Ok(()) }
    }

    /// Seals the first rows that are kept, and writes them.
    fn cluster(&mut self, rows: usize) -> Result<()> {
        let sealed = self.seal(0..rows);
        let written = match sealed {
            // The sink may take them another time.
            Ok(sealed) => self.commit(rows as u64, sealed)?,
            Err(error) => Err(error),
        };
        self.rows -= rows;
        for (spec, pending) in self.specs.iter().zip(&mut self.pending) {
            pending.drop_front(spec, rows);
        }
        written
    }

    fn seal(&self, rows: Range<usize>) -> Result<Vec<SealedBranch>> {
        self.sealed(rows).map_err(|error| error.in_object(&self.name))
    }

    fn sealed(&self, rows: Range<usize>) -> Result<Vec<SealedBranch>> {
        let how = Sealing {
            tree: &self.name,
            compression: self.compression,
            datime: self.shared.now(),
            basket_bytes: self.basket_bytes,
        };
        let mut sealed: Vec<SealedBranch> = Vec::with_capacity(self.parts.len());
        let mut jobs = Vec::new();
        for (index, (value, what)) in self.parts.iter().enumerate() {
            let Some(pending) = self.pending.get(*value).filter(|_| what.has_data()) else {
                sealed.push(SealedBranch::default());
                continue;
            };
            let (cuts, most) = cuts(what, pending, &rows, self.basket_bytes);
            jobs.extend(cuts.map(|rows| (index, what, pending, rows)));
            sealed.push(SealedBranch { baskets: Vec::new(), most });
        }
        let one = |(index, what, pending, rows): &(usize, &What, &Pending, Range<usize>)| {
            let basket = self.spare.with(|work| seal(what, pending, rows, &how, self.spare.record(), work))?;
            Ok((*index, basket))
        };
        let baskets: Vec<_> = match self.shared.options.session.pool() {
            Some(pool) => pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect::<Result<_>>())?,
            None => jobs.iter().map(one).collect::<Result<_>>()?,
        };
        for (index, basket) in baskets {
            sealed[index].baskets.push(basket);
        }
        Ok(sealed)
    }

    /// Reserves space, writes, and publishes; then saves, where it is time to. The outer result is that of the rows, the inner
    /// that of the save.
    fn commit(&self, rows: u64, mut sealed: Vec<SealedBranch>) -> Result<Result<()>> {
        let bytes: u64 =
            sealed.iter().flat_map(|branch| &branch.baskets).map(|basket| basket.record.len() as u64).sum();
        let (start, directory, first_entry, numbers) = {
            let mut state = self.shared.open_state()?;
            let start = state.space.append(bytes);
            let directory = state.folder_seek(state.trees[self.index].folder);
            let tree = &state.trees[self.index];
            let numbers: Vec<usize> = (0..tree.branches.len()).map(|index| tree.baskets_of(index)).collect();
            (start, directory, tree.entries, numbers)
        };
        let mut at = start;
        let mut places: Vec<Vec<PlacedBasket>> = Vec::with_capacity(sealed.len());
        let mut records: Vec<&[u8]> = Vec::new();
        for (branch, number) in sealed.iter_mut().zip(numbers) {
            let mut entry = first_entry;
            let placed = branch.baskets.iter_mut().enumerate().map(|(index, basket)| {
                basket.place(at, directory, (number + index) as u16);
                let place = PlacedBasket { seek: at, nbytes: basket.record.len() as u32, first_entry: entry };
                at += u64::from(place.nbytes);
                entry += u64::from(basket.entries);
                place
            });
            places.push(placed.collect());
        }
        records.extend(sealed.iter().flat_map(|branch| &branch.baskets).map(|basket| basket.record.as_slice()));
        if let Err(error) = self.shared.place(start, &records) {
            self.shared.open_state()?.space.give_up(start..start + bytes);
            return Err(error);
        }
        let mut state = self.shared.open_state()?;
        let tree = &mut state.trees[self.index];
        for ((branch, sealed), places) in tree.branches.iter_mut().zip(&sealed).zip(places) {
            branch.most = branch.most.max(sealed.most);
            for basket in &sealed.baskets {
                branch.tot_bytes += basket.unsealed_bytes;
                branch.zip_bytes += basket.record.len() as u64;
                branch.largest_bytes = branch.largest_bytes.max(basket.unsealed_bytes);
            }
            branch.baskets.extend(places);
        }
        tree.entries += rows;
        tree.clusters.push(rows);
        tree.changed = tree.is_whole();
        self.spare.give_back(sealed);
        let (saved_bytes, saved_entries) = tree.saved;
        let is_due = tree.auto_save.is_due(tree.zip_bytes() - saved_bytes, tree.entries - saved_entries);
        Ok(if is_due { self.shared.save(&mut state) } else { Ok(()) })
    }

    /// Writes the rows that are kept; the tree is visible to every reader once its file is saved or closed.
    ///
    /// # Errors
    ///
    /// Those of [`flush`](Self::flush); [`Mismatch`](crate::ErrorKind::Mismatch) where branches were added to a tree and were not
    /// given as many entries as it has: they are not in the tree then.
    pub fn close(mut self) -> Result<()> {
        self.flush()?;
        let mut state = self.shared.open_state()?;
        let tree = &state.trees[self.index];
        let outcome = match &tree.base {
            Some(base) if !tree.is_whole() => {
                let error = Error::mismatch("branches were added with another number of entries than the tree has");
                Err(error.wanted(base.entries, tree.entries).in_object(&self.name))
            }
            _ => Ok(()),
        };
        if outcome.is_err() {
            state.abandon(self.index);
        }
        outcome
    }
}

impl Drop for TreeWriter {
    fn drop(&mut self) {
        if let Ok(mut state) = self.shared.open_state() {
            state.trees[self.index].is_open = false;
            if !state.trees[self.index].is_whole() {
                state.abandon(self.index);
            }
        }
    }
}

/// Where the values of a branch come from.
enum Source<'v> {
    Given(Values<'v>),
    Lengths(&'v [i64]),
}
