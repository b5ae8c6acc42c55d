//! The tree that is written: rows wait for their cluster, clusters are sealed, placed and published.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::branch::{BranchKind, BranchSpec, Values};
use super::file::Shared;
use super::seal::{Pending, SealedBranch, Sealing, seal};
use crate::codec::{Compression, Scratch};
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};

/// How a tree is written.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// `fTitle`.
    pub title: Arc<str>,
    /// Compression of its baskets; none for the file's.
    pub compression: Option<Compression>,
    /// A cluster ends when its rows take so many bytes before compression.
    pub cluster_bytes: usize,
    /// A cluster ends after so many entries; 0 for no such bound.
    pub cluster_entries: u64,
    /// Bytes that a basket holds before compression, unless one entry has more.
    pub basket_bytes: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            title: "".into(),
            compression: None,
            cluster_bytes: 64 << 20,
            cluster_entries: 0,
            basket_bytes: 512 << 10,
        }
    }
}

/// A tree as far as it was published.
#[derive(Debug)]
pub(super) struct TreeState {
    pub(super) folder: usize,
    pub(super) name: Arc<str>,
    pub(super) title: Arc<str>,
    pub(super) branches: Vec<BranchState>,
    pub(super) entries: u64,
    /// Entries of each cluster.
    pub(super) clusters: Vec<u64>,
    /// Key of its last record.
    pub(super) key: Option<Key>,
    pub(super) changed: bool,
}

/// A branch as far as it was published.
#[derive(Debug)]
pub(super) struct BranchState {
    pub(super) spec: BranchSpec,
    pub(super) compression: Compression,
    pub(super) baskets: Vec<PlacedBasket>,
    pub(super) tot_bytes: u64,
    pub(super) zip_bytes: u64,
    /// Bytes of the largest basket before compression.
    pub(super) largest_bytes: u64,
    /// Largest count, or bytes of the longest string.
    pub(super) most: u64,
}

/// Where a basket is, and its first entry.
#[derive(Debug)]
pub(super) struct PlacedBasket {
    pub(super) seek: u64,
    pub(super) nbytes: u32,
    pub(super) first_entry: u64,
}

impl TreeState {
    pub(super) fn new(
        folder: usize,
        name: Arc<str>,
        branches: Vec<BranchSpec>,
        compression: Compression,
        options: &TreeOptions,
    ) -> Result<Self> {
        let (mut names, mut counters) = (HashSet::new(), HashSet::new());
        for spec in &branches {
            spec.check()?;
            if !names.insert(&spec.name) {
                return Err(Error::new(ErrorKind::Exists, format!("two branches have the name {:?}", spec.name)));
            }
            if spec.kind == BranchKind::Counter {
                counters.insert(&spec.name);
            }
            if let BranchKind::Jagged(_, counter) = &spec.kind
                && !counters.contains(counter)
            {
                let message =
                    format!("branch {:?} is counted by {counter:?}, and no counter stands before it", spec.name);
                return Err(Error::mismatch(message));
            }
        }
        let branches = branches.into_iter().map(|spec| BranchState {
            spec,
            compression,
            baskets: Vec::new(),
            tot_bytes: 0,
            zip_bytes: 0,
            largest_bytes: 0,
            most: 0,
        });
        Ok(Self {
            folder,
            name,
            title: Arc::clone(&options.title),
            branches: branches.collect(),
            entries: 0,
            clusters: Vec::new(),
            key: None,
            changed: true,
        })
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
    compression: Compression,
    options: TreeOptions,
    pending: Vec<Pending>,
    rows: usize,
}

impl TreeWriter {
    pub(super) fn new(shared: Arc<Shared>, index: usize, state: &TreeState, options: TreeOptions) -> Self {
        let specs: Vec<_> = state.branches.iter().map(|branch| branch.spec.clone()).collect();
        let pending = specs.iter().map(|_| Pending::default()).collect();
        let compression = options.compression.unwrap_or(shared.options.compression);
        Self { shared, index, name: Arc::clone(&state.name), specs, compression, options, pending, rows: 0 }
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
        let Some(size) = self.cluster_rows() else { return Ok(()) };
        let mut done = 0;
        let mut outcome = Ok(());
        while outcome.is_ok() && self.rows - done >= size {
            outcome = self.cluster(done..done + size);
            done += size;
        }
        self.rows -= done;
        for (spec, pending) in self.specs.iter().zip(&mut self.pending) {
            pending.drop_front(spec, done);
        }
        outcome
    }

    /// Rows of a cluster, where there are enough for one.
    fn cluster_rows(&self) -> Option<usize> {
        let bytes: usize = self.pending.iter().map(Pending::bytes).sum();
        let by_entries = usize::try_from(self.options.cluster_entries).ok().filter(|&entries| entries > 0);
        let by_bytes = (bytes >= self.options.cluster_bytes)
            .then(|| (self.rows as u128 * self.options.cluster_bytes as u128 / (bytes as u128).max(1)).max(1) as usize);
        let size = by_entries.into_iter().chain(by_bytes).min()?;
        (self.rows >= size).then_some(size)
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
    /// What the sink reports. The rows are then not in the tree.
    pub fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let outcome = if rows > 0 { self.cluster(0..rows) } else { Ok(()) };
        self.pending.iter_mut().for_each(Pending::clear);
        outcome
    }

    /// Seals rows that are kept, and writes them.
    fn cluster(&self, rows: Range<usize>) -> Result<()> {
        let entries = rows.len() as u64;
        self.commit(entries, self.seal(rows).map_err(|error| error.in_object(&self.name))?)
    }

    fn seal(&self, rows: Range<usize>) -> Result<Vec<SealedBranch>> {
        let how = Sealing {
            tree: &self.name,
            compression: self.compression,
            datime: self.shared.now(),
            basket_bytes: self.options.basket_bytes,
        };
        let one = |scratch: &mut Scratch, (spec, pending): (&BranchSpec, &Pending)| {
            seal(spec, pending, rows.clone(), &how, scratch)
        };
        match self.shared.options.session.pool() {
            Some(pool) => {
                let all = || self.specs.par_iter().zip(&self.pending).map_init(Scratch::default, one).collect();
                pool.install(all)
            }
            None => {
                let mut scratch = Scratch::default();
                self.specs.iter().zip(&self.pending).map(|branch| one(&mut scratch, branch)).collect()
            }
        }
    }

    /// Reserves space, writes, and publishes.
    fn commit(&self, rows: u64, mut sealed: Vec<SealedBranch>) -> Result<()> {
        let bytes: u64 =
            sealed.iter().flat_map(|branch| &branch.baskets).map(|basket| basket.record.len() as u64).sum();
        let (start, directory, first_entry, numbers) = {
            let mut state = self.shared.open_state()?;
            let start = state.space.append(bytes);
            let directory = state.folder_seek(state.trees[self.index].folder);
            let tree = &state.trees[self.index];
            let numbers: Vec<usize> = tree.branches.iter().map(|branch| branch.baskets.len()).collect();
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
        self.shared.put(start, &records)?;
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
        tree.changed = true;
        Ok(())
    }

    /// Writes the rows that are kept; the tree is visible to every reader once its file is saved or closed.
    pub fn close(mut self) -> Result<()> {
        self.flush()
    }
}

/// Where the values of a branch come from.
enum Source<'v> {
    Given(Values<'v>),
    Lengths(&'v [i64]),
}
