//! The tree that is written: rows wait for their cluster, clusters are sealed, placed and published.

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
        for (index, spec) in branches.iter().enumerate() {
            spec.check()?;
            if branches[..index].iter().any(|known| known.name == spec.name) {
                return Err(Error::new(ErrorKind::Exists, format!("two branches have the name {:?}", spec.name)));
            }
            if let BranchKind::Jagged(_, counter) = &spec.kind
                && !branches[..index].iter().any(|known| known.name == *counter && known.kind == BranchKind::Counter)
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
        let order = self.order(values).map_err(|error| error.in_object(&self.name))?;
        for (spec_index, source) in order {
            match source {
                Source::Given(values) => self.pending[spec_index].append(&values),
                Source::Lengths(ends) => self.pending[spec_index].append_lengths(ends),
            }
        }
        self.rows += values.first().map_or(Ok(0), |(name, values)| self.entries_of(name, values))?;
        let bytes: usize = self.pending.iter().map(Pending::bytes).sum();
        let entries = self.options.cluster_entries;
        if bytes >= self.options.cluster_bytes || entries > 0 && self.rows as u64 >= entries {
            self.flush()?;
        }
        Ok(())
    }

    fn entries_of(&self, name: &str, values: &Values<'_>) -> Result<usize> {
        let spec = self.specs.iter().find(|spec| &*spec.name == name);
        let spec = spec.ok_or_else(|| Error::not_found(format!("there is no branch {name:?}")))?;
        values.entries(spec)
    }

    /// Where the values of each branch come from; checked before anything is kept.
    fn order<'v>(&self, values: &[(&str, Values<'v>)]) -> Result<Vec<(usize, Source<'v>)>> {
        let mut rows: Option<(usize, &str)> = None;
        for (name, given) in values {
            let found = self.entries_of(name, given)?;
            match rows {
                Some((wanted, first)) if wanted != found => {
                    let message = format!("branch {name:?} was given another number of entries than {first:?}");
                    return Err(Error::mismatch(message).wanted(wanted as u64, found as u64));
                }
                _ => rows = Some((found, name)),
            }
        }
        let given = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, values)| *values);
        let mut order = Vec::with_capacity(self.specs.len());
        for (index, spec) in self.specs.iter().enumerate() {
            let source = match (&spec.kind, given(&spec.name)) {
                (BranchKind::Counter, None) => Source::Lengths(self.lengths(&spec.name, &given)?),
                (_, Some(values)) => Source::Given(values),
                (_, None) => return Err(Error::mismatch(format!("branch {:?} was given no values", spec.name))),
            };
            if let (BranchKind::Counter, Source::Given(_)) = (&spec.kind, &source) {
                return Err(Error::mismatch(format!("branch {:?} counts others: it is filled from them", spec.name)));
            }
            order.push((index, source));
        }
        Ok(order)
    }

    /// The lists that a branch counts: all that share it have the same lengths.
    fn lengths<'v>(&self, counter: &str, given: &impl Fn(&str) -> Option<Values<'v>>) -> Result<&'v [i64]> {
        let mut first: Option<(&str, &[i64])> = None;
        for spec in &self.specs {
            let BranchKind::Jagged(_, of) = &spec.kind else { continue };
            if &**of != counter {
                continue;
            }
            let Some(Values::Lists(ends, _)) = given(&spec.name) else { continue };
            match first {
                Some((name, known)) if known != ends => {
                    let message =
                        format!("branches {name:?} and {:?} share a counter, and their lists differ", spec.name);
                    return Err(Error::mismatch(message));
                }
                Some(_) => {}
                None => first = Some((&spec.name, ends)),
            }
        }
        first.map(|(_, ends)| ends).ok_or_else(|| Error::mismatch(format!("branch {counter:?} counts nothing")))
    }

    /// Writes the rows that are kept as a cluster of their own.
    ///
    /// # Errors
    ///
    /// What the sink reports. The rows are then not in the tree.
    pub fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let sealed = self.seal(rows).map_err(|error| error.in_object(&self.name));
        self.pending.iter_mut().for_each(Pending::clear);
        self.commit(rows as u64, sealed?)
    }

    fn seal(&self, rows: usize) -> Result<Vec<SealedBranch>> {
        let how = Sealing {
            tree: &self.name,
            compression: self.compression,
            datime: self.shared.now(),
            basket_bytes: self.options.basket_bytes,
        };
        let one =
            |scratch: &mut Scratch, (spec, pending): (&BranchSpec, &Pending)| seal(spec, pending, rows, &how, scratch);
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
