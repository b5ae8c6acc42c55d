//! Row-wise reading: branches that are used are fetched ahead, and decoded basket by basket.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use super::basket_search::first_behind;
use super::row_prefetch::{Layout, Request, RowPrefetcher};
use super::row_source::{RowSource, Spot};
use super::{Column, Selection, columns};
use crate::column::Native;
use crate::error::{Error, Result};
use crate::file::File;
use crate::tree::{Basket, BasketBytes, BasketPlace, Branch, BranchId, Form, Needed, Tree, TreeCache};

/// Reads single entries, in any order. Created by [`Tree::reader`] and
/// [`NTuple::reader`](crate::ntuple::NTuple::reader), whose fields are its branches.
///
/// Branches need not be named in advance: those that are used are fetched window by window through the tree's
/// [`cache`](Tree::cache), and the next window is in flight while one is used. Sequential entries cost one request per
/// window; after a jump, all branches used before are fetched with one request.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let mut reader = tree.reader();
/// let mut sum = 0.0;
/// for entry in (0..tree.entries).rev() {
///     reader.go_to(entry)?;
///     let n: i32 = reader.number("n")?;
///     if n % 2 == 0 {
///         sum += reader.number::<f64>("d")?; // read where it is looked at
///     }
/// }
/// assert!(sum > 0.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let mut reader = sapwood::File::open(path)?.tree("Events")?.reader();
/// reader.go_to(2)?;
/// assert_eq!((reader.entry(), reader.number::<u32>("nJet")?), (2, 5));
/// assert_eq!(reader.numbers::<f32>("Jet_pt")?.len(), 5);
/// assert!(reader.text("nJet").is_err(), "it holds no strings");
/// // Without a copy: the column of a whole basket, and the row in it.
/// let (column, row) = reader.column("nJet")?;
/// assert_eq!(column.as_slice::<u32>()?[row], 5);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Reader {
    source: Arc<dyn RowSource>,
    prefetcher: RowPrefetcher,
    entry: u64,
    names: HashMap<String, BranchId>,
    /// The decoded values of each branch, by its number: they are looked up for each value.
    values: Vec<Option<Values>>,
    /// Where each branch that was used is being read.
    positions: HashMap<BranchId, Position>,
}

/// Decoded values of a branch.
struct Values {
    entries: Range<u64>,
    column: Column,
}

/// Where a branch is being read.
struct Position {
    /// Entries of the basket that was used last.
    basket: Range<u64>,
    /// The entries that were read together last.
    last: Option<Range<u64>>,
    /// How many entries can be inflated alone, once it was asked.
    block_entries: Option<Option<u64>>,
}

impl Tree {
    /// Reads single entries, in any order.
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader::new(Arc::clone(self) as Arc<dyn RowSource>)
    }

    /// Reads single entries in this order, which need not be that of the tree: events sorted by run and luminosity
    /// section, for instance. Windows follow the list.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for an entry that the tree does not have.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let mut reader = tree.reader_along(vec![40, 3, 20])?;
    /// for entry in [40, 3, 20] {
    ///     reader.go_to(entry)?;
    ///     println!("{}", reader.number::<i32>("n")?);
    /// }
    /// assert!(tree.reader_along(vec![1 << 40]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reader_along(self: &Arc<Self>, entries: Vec<u64>) -> Result<Reader> {
        Reader::along(Arc::clone(self) as Arc<dyn RowSource>, entries)
    }
}

impl Reader {
    /// For entries in an unknown order, usually sequential.
    pub(crate) fn new(source: Arc<dyn RowSource>) -> Self {
        Self::with(source, RowPrefetcher::sequential())
    }

    /// For these entries, in this order.
    pub(crate) fn along(source: Arc<dyn RowSource>, entries: Vec<u64>) -> Result<Self> {
        entries.iter().try_for_each(|&entry| check_entry(&*source, entry))?;
        Ok(Self::with(source, RowPrefetcher::from_list(entries)))
    }

    fn with(source: Arc<dyn RowSource>, prefetcher: RowPrefetcher) -> Self {
        Self { source, prefetcher, entry: 0, names: HashMap::new(), values: Vec::new(), positions: HashMap::new() }
    }

    /// The current entry.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Goes to an entry. Nothing is read before a branch is used.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the tree does not have it.
    pub fn go_to(&mut self, entry: u64) -> Result<()> {
        check_entry(&*self.source, entry)?;
        self.entry = entry;
        Ok(())
    }

    /// The one number of a branch.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for unknown branch names, [`Mismatch`](crate::ErrorKind::Mismatch)
    /// where it holds another type, or not one number; what reading finds otherwise.
    pub fn number<T: Native>(&mut self, name: &str) -> Result<T> {
        match self.numbers(name)?[..] {
            [number] => Ok(number),
            ref others => {
                let message = format!("branch {name:?} has no single number an entry");
                Err(Error::mismatch(message).wanted(1, others.len() as u64))
            }
        }
    }

    /// The numbers of a branch: one, an array's, or those of a list.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number); lists of lists are no numbers.
    pub fn numbers<T: Native>(&mut self, name: &str) -> Result<Vec<T>> {
        let (column, row) = self.column(name)?;
        column.row_numbers(row)
    }

    /// The text of a branch.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number), where it holds no strings.
    pub fn text(&mut self, name: &str) -> Result<String> {
        let (column, row) = self.column(name)?;
        column.row_text(row)
    }

    /// The values of a branch for the whole basket that holds the entry, and the entry's row of them; after a jump, for
    /// the block of it, if it has several.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number).
    pub fn column(&mut self, name: &str) -> Result<(&Column, usize)> {
        let id = match self.names.get(name) {
            Some(&id) => id,
            None => {
                let id = self.source.id(name)?;
                self.names.insert(name.to_owned(), id);
                id
            }
        };
        self.column_of(id)
    }

    /// [`column`](Self::column) of a branch by its number.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let (n, mut reader) = (tree.branch("n")?.id, tree.reader());
    /// reader.go_to(3)?;
    /// let (column, row) = reader.column_of(n)?;
    /// assert_eq!(column.as_slice::<i32>()?.get(row), Some(&3));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn column_of(&mut self, id: BranchId) -> Result<(&Column, usize)> {
        let entry = self.entry;
        if !matches!(self.values.get(id), Some(Some(values)) if values.entries.contains(&entry)) {
            let entries = self.touch(&[id])?;
            let column = self.source.column(id, entries.clone())?;
            // The branch exists: there are no more numbers than branches.
            if id >= self.values.len() {
                self.values.resize_with(id + 1, || None);
            }
            self.values[id] = Some(Values { entries, column });
        }
        match self.values.get(id) {
            Some(Some(Values { entries, column })) => Ok((column, (entry - entries.start) as usize)),
            _ => Err(Error::internal("a branch was decoded and has no values")),
        }
    }

    /// Prefetches branches, for callers that decode themselves or know which branches they will use: marks all of them
    /// as used, and fetches what is missing with one request. Returns the entries around the current one that are read
    /// together: those in one basket of each; after a jump, those in one block of it, if it has several, and more of
    /// them where reading goes on.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is no such branch, [`Mismatch`](crate::ErrorKind::Mismatch)
    /// where one does not have the entry.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let mut reader = tree.reader();
    /// let both = reader.touch(&[tree.branch("n")?.id, tree.branch("d")?.id])?;
    /// assert!(both.contains(&0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn touch(&mut self, branches: &[BranchId]) -> Result<Range<u64>> {
        let mut asked = Vec::new();
        let mut common = 0..u64::MAX;
        self.keep_what_is_used();
        self.prefetcher.join(branches, self.entry);
        let looked: Result<()> = branches.iter().try_for_each(|&id| {
            let basket = self.look(id, &mut asked)?;
            common = common.start.max(basket.start)..common.end.min(basket.end);
            Ok(())
        });
        // Fetch even if one of them fails: the prefetcher counts the others as fetched. One entry of a local file is
        // read where it is decoded: handing it over would take longer.
        let is_scattered = self.prefetcher.is_scattered();
        let reads_itself = is_scattered && self.source.file().store().as_file().is_some();
        if !asked.is_empty() && !reads_itself {
            self.turn(&asked);
        }
        looked?;
        for &id in branches {
            if let Some(block) = self.block_of(id, is_scattered)? {
                common = common.start.max(block.start)..common.end.min(block.end);
            }
        }
        for id in branches {
            if let Some(position) = self.positions.get_mut(id) {
                position.last = Some(common.clone());
            }
        }
        Ok(common)
    }

    /// Entries of a branch around the current one that are inflated together, where they are less than a basket: one
    /// block after a jump, twice as many as before where reading goes on behind them.
    fn block_of(&mut self, id: BranchId, is_scattered: bool) -> Result<Option<Range<u64>>> {
        let entry = self.entry;
        let Some(position) = self.positions.get_mut(&id) else { return Ok(None) };
        if position.last.is_none() && !is_scattered {
            return Ok(None); // reading begins where a cluster does, and is expected to go on
        }
        let known = match position.block_entries {
            Some(known) => known,
            None => *position.block_entries.insert(self.source.block_entries(id, entry)?),
        };
        let Some(entries) = known.map(|entries| entries.max(1)) else { return Ok(None) };
        let first = entry - (entry - position.basket.start) % entries;
        let length = match &position.last {
            Some(last) if (last.end..last.end + (last.end - last.start)).contains(&entry) => {
                (last.end - last.start).saturating_mul(2).next_multiple_of(entries)
            }
            _ => entries,
        };
        Ok(Some(first..first.saturating_add(length)))
    }

    /// Before a new window: branches whose decoded basket reaches into the last window count as used in it.
    fn keep_what_is_used(&mut self) {
        if self.prefetcher.has_left(self.entry) {
            self.positions.iter().for_each(|(&id, position)| self.prefetcher.keep(id, &position.basket));
        }
    }

    /// Marks a branch as used; returns what has to be fetched for it.
    fn look(&mut self, id: BranchId, asked: &mut Vec<Request>) -> Result<Range<u64>> {
        let source = Arc::clone(&self.source);
        let spot = source.spot(id, self.entry)?;
        if !spot.is_there {
            source.cache().count_miss();
            source.file().perf().note_hits(0, 1);
        }
        for id in spot.counter.filter(|&counter| counter != id).into_iter().chain([id]) {
            asked.extend(self.prefetcher.touch(id, self.entry, &Map { source: &*source, held: &self.positions }));
        }
        let basket = spot.entries.clone();
        match self.positions.entry(id) {
            Entry::Occupied(mut known) => known.get_mut().basket = basket,
            Entry::Vacant(new) => drop(new.insert(Position { basket, last: None, block_entries: None })),
        }
        Ok(spot.entries)
    }

    /// Requests the baskets from the store.
    fn turn(&self, asked: &[Request]) {
        let (mut needed, windows) = (Vec::new(), self.prefetcher.windows().cloned().collect::<Vec<_>>());
        asked.iter().for_each(|ask| self.source.each_needed(ask.branch, &ask.entries, &mut |one| needed.push(one)));
        let file = self.source.file();
        self.source.cache().turn_to(&windows, &needed, file.store(), file.options().session.fetcher());
    }
}

fn check_entry(source: &dyn RowSource, entry: u64) -> Result<()> {
    if entry < source.entries() {
        return Ok(());
    }
    Err(source.place(Error::mismatch("there is no such entry").wanted(source.entries(), entry)))
}

impl RowSource for Tree {
    fn file(&self) -> &File {
        self.file()
    }

    fn cache(&self) -> &TreeCache {
        self.cache()
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn cluster_ends(&self) -> &[u64] {
        self.cluster_borders()
    }

    fn place(&self, error: Error) -> Error {
        self.place(error).in_object(&self.name)
    }

    fn id(&self, name: &str) -> Result<BranchId> {
        Ok(self.branch(name)?.id)
    }

    fn spot(&self, id: BranchId, entry: u64) -> Result<Spot> {
        let branch = self.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        // If offsets were left out, they are computed from the counts.
        let counter = match self.interpretation(id)?.form {
            Form::CountedBy { counter, .. } => Some(counter),
            _ => {
                branch.leaves.first().and_then(|leaf| leaf.count).filter(|_| branch.io_bits & 1 != 0).map(|(id, _)| id)
            }
        };
        let place = self.basket_with(id, entry)?;
        let is_there = match place.bytes {
            BasketBytes::Stored { seek, .. } => self.cache().holds(seek),
            BasketBytes::Embedded(_) => true,
        };
        Ok(Spot { entries: place.entries.clone(), counter, is_there })
    }

    fn each_needed(&self, id: BranchId, entries: &Range<u64>, each: &mut dyn FnMut(Needed)) {
        needed_of(self, id, entries).for_each(each);
    }

    fn block_entries(&self, id: BranchId, entry: u64) -> Result<Option<u64>> {
        let BasketBytes::Stored { seek, nbytes } = self.basket_with(id, entry)?.bytes else { return Ok(None) };
        // A request of its own pays only where it costs next to nothing.
        let record = match self.cache().peek(seek) {
            Some(coming) => coming.wait()?,
            None if self.file().store().as_file().is_some() => {
                self.file().read_one(seek..seek.saturating_add(u64::from(nbytes)))?
            }
            None => return Ok(None),
        };
        // What is wrong with it is told when it is decoded.
        Ok(Basket::read(record, &self.file().options().limits).ok().and_then(|basket| basket.block_entries()))
    }

    fn column(&self, id: BranchId, entries: Range<u64>) -> Result<Column> {
        columns(self, &[id], entries)?.pop().ok_or_else(|| Error::mismatch("a branch without a column"))
    }
}

impl Tree {
    /// The basket of a branch that holds an entry.
    fn basket_with(&self, id: BranchId, entry: u64) -> Result<&BasketPlace> {
        let branch = self.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        touched(branch, &(entry..entry + 1)).first().ok_or_else(|| {
            let error = Error::mismatch("the branch does not have the entry").in_object(&branch.path);
            self.place(error.wanted(branch.entry_range().end, entry))
        })
    }
}

/// The baskets of a branch with any of these entries, each once, as requests to the cache.
pub(crate) fn needed(tree: &Tree, branch: BranchId, entries: &Selection) -> Vec<Needed> {
    let mut needed: Vec<Needed> = entries.ranges().flat_map(|range| needed_of(tree, branch, &range)).collect();
    needed.dedup();
    needed
}

/// The baskets of a branch with any of the entries of one range.
fn needed_of<'t>(tree: &'t Tree, branch: BranchId, entries: &Range<u64>) -> impl Iterator<Item = Needed> + use<'t> {
    let baskets = tree.branches().get(branch).map_or(&[][..], |branch| touched(branch, entries));
    baskets.iter().filter_map(|basket| match basket.bytes {
        BasketBytes::Stored { seek, nbytes: nbytes @ 1.. } => {
            Some(Needed { seek, nbytes, entries: basket.entries.clone() })
        }
        _ => None,
    })
}

/// The baskets of a branch that hold any of these entries.
fn touched<'b>(branch: &'b Branch, entries: &Range<u64>) -> &'b [BasketPlace] {
    let baskets = branch.baskets();
    let first = first_behind(baskets, entries.start, |basket| basket.entries.end);
    let behind = &baskets[first..];
    let count = behind.iter().take_while(|basket| basket.entries.start < entries.end).count();
    &behind[..count]
}

/// What the prefetcher needs to know.
struct Map<'r> {
    source: &'r dyn RowSource,
    held: &'r HashMap<BranchId, Position>,
}

impl Layout for Map<'_> {
    fn cluster_ends(&self) -> &[u64] {
        self.source.cluster_ends()
    }

    fn each_basket(&self, branch: BranchId, entries: &Range<u64>, mut each: impl FnMut(Range<u64>, u64)) {
        self.source.each_needed(branch, entries, &mut |needed| each(needed.entries, u64::from(needed.nbytes)));
    }

    fn budget(&self) -> u64 {
        self.source.cache().budget()
    }

    fn held(&self, branch: BranchId) -> Option<Range<u64>> {
        self.held.get(&branch).map(|position| position.basket.clone())
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("entry", &self.entry)
            .field("prefetcher", &self.prefetcher)
            .finish_non_exhaustive()
    }
}
