//! Row-wise reading: branches that are used are fetched ahead, and decoded basket by basket.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::row_prefetch::{Layout, Request, RowPrefetcher};
use super::{Column, Selection, columns};
use crate::column::Native;
use crate::error::{Error, Result};
use crate::tree::{BasketBytes, BasketPlace, Branch, BranchId, Form, Needed, Tree};

/// Reads single entries, in any order. Created by [`Tree::reader`].
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
    tree: Arc<Tree>,
    prefetcher: RowPrefetcher,
    entry: u64,
    names: HashMap<String, BranchId>,
    /// The decoded basket of each branch, and its entries.
    columns: HashMap<BranchId, (Range<u64>, Column)>,
    /// Entries of the last used basket of each branch.
    baskets: HashMap<BranchId, Range<u64>>,
}

impl Tree {
    /// Reads single entries, in any order.
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader::new(Arc::clone(self), RowPrefetcher::sequential())
    }

    /// Reads single entries in this order, which need not be that of the tree: events sorted by run and luminosity section, for
    /// instance. Windows follow the list.
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
        entries.iter().try_for_each(|&entry| self.check_entry(entry))?;
        Ok(Reader::new(Arc::clone(self), RowPrefetcher::from_list(entries)))
    }

    fn check_entry(&self, entry: u64) -> Result<()> {
        if entry < self.entries {
            return Ok(());
        }
        let error = Error::mismatch("the tree has no such entry").wanted(self.entries, entry);
        Err(self.place(error).in_object(&self.name))
    }
}

impl Reader {
    fn new(tree: Arc<Tree>, prefetcher: RowPrefetcher) -> Self {
        Self { tree, prefetcher, entry: 0, names: HashMap::new(), columns: HashMap::new(), baskets: HashMap::new() }
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
        self.tree.check_entry(entry)?;
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

    /// The values of a branch for the whole basket that holds the entry, and the entry's row of them.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number).
    pub fn column(&mut self, name: &str) -> Result<(&Column, usize)> {
        let id = match self.names.get(name) {
            Some(&id) => id,
            None => {
                let id = self.tree.branch(name)?.id;
                self.names.insert(name.to_owned(), id);
                id
            }
        };
        let entry = self.entry;
        if !self.columns.get(&id).is_some_and(|(range, _)| range.contains(&entry)) {
            let range = self.touch(&[id])?;
            let column = columns(&self.tree, &[id], range.clone())?.pop();
            let column = column.ok_or_else(|| Error::mismatch("a branch without a column"))?;
            self.columns.insert(id, (range, column));
        }
        let (range, column) = self.columns.get(&id).ok_or_else(|| Error::not_found("no such branch"))?;
        Ok((column, (entry - range.start) as usize))
    }

    /// Prefetches branches, for callers that decode themselves or know which branches they will use: marks all of them
    /// as used, and fetches what is missing with one request. Returns the entries around the current one that are in
    /// one basket of each.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is no such branch, [`Mismatch`](crate::ErrorKind::Mismatch) where one does
    /// not have the entry.
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
        let looked = branches.iter().try_for_each(|&id| {
            let basket = self.look(id, &mut asked)?;
            common = common.start.max(basket.start)..common.end.min(basket.end);
            Ok(())
        });
        // Fetch even if one of them fails: the prefetcher counts the others as fetched.
        if !asked.is_empty() {
            self.turn(&asked);
        }
        looked.map(|()| common)
    }

    /// Before a new window: branches whose decoded basket reaches into the last window count as used in it.
    fn keep_what_is_used(&mut self) {
        if !self.prefetcher.is_here(self.entry) {
            self.baskets.iter().for_each(|(&id, basket)| self.prefetcher.keep(id, basket));
        }
    }

    /// Marks a branch as used; returns what has to be fetched for it.
    fn look(&mut self, id: BranchId, asked: &mut Vec<Request>) -> Result<Range<u64>> {
        let tree = Arc::clone(&self.tree);
        let branch = tree.branches().get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        // If offsets were left out, they are computed from the counts.
        let counter = match tree.interpretation(id)?.form {
            Form::CountedBy { counter, .. } => Some(counter),
            _ => {
                branch.leaves.first().and_then(|leaf| leaf.count).filter(|_| branch.io_bits & 1 != 0).map(|(id, _)| id)
            }
        };
        let place = touched(branch, &(self.entry..self.entry + 1)).first().ok_or_else(|| {
            let error = Error::mismatch("the branch does not have the entry").in_object(&branch.path);
            tree.place(error.wanted(branch.entry_range().end, self.entry))
        })?;
        let is_there = match place.bytes {
            BasketBytes::Stored { seek, .. } => tree.cache().holds(seek),
            BasketBytes::Embedded(_) => true,
        };
        if !is_there {
            tree.cache().count_miss();
            tree.file().perf().note_hits(0, 1);
        }
        for id in counter.filter(|&counter| counter != id).into_iter().chain([id]) {
            asked.extend(self.prefetcher.touch(id, self.entry, &Map { tree: &tree, held: &self.baskets }));
        }
        self.baskets.insert(id, place.entries.clone());
        Ok(place.entries.clone())
    }

    /// Requests the baskets from the store.
    fn turn(&self, asked: &[Request]) {
        let of = |ask: &Request| needed_of(&self.tree, ask.branch, &ask.entries);
        let (needed, windows): (Vec<Needed>, Vec<_>) =
            (asked.iter().flat_map(of).collect(), self.prefetcher.windows().cloned().collect());
        let file = self.tree.file();
        self.tree.cache().turn_to(&windows, &needed, file.store(), file.options().session.fetcher());
    }
}

/// The baskets of a branch with any of these entries, each once, as requests to the cache.
pub(super) fn needed(tree: &Tree, branch: BranchId, entries: &Selection) -> Vec<Needed> {
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
    let first = baskets.partition_point(|basket| basket.entries.end <= entries.start);
    let last = baskets.partition_point(|basket| basket.entries.start < entries.end).max(first);
    baskets.get(first..last).unwrap_or_default()
}

/// What the prefetcher needs to know about a tree.
struct Map<'r> {
    tree: &'r Tree,
    /// The baskets that were used last.
    held: &'r HashMap<BranchId, Range<u64>>,
}

impl Layout for Map<'_> {
    fn cluster_ends(&self) -> &[u64] {
        self.tree.cluster_borders()
    }

    fn baskets(&self, branch: BranchId, entries: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)> {
        let branch = self.tree.branches().get(branch);
        let baskets = branch.map_or(&[][..], |branch| touched(branch, &entries));
        baskets.iter().filter_map(|basket| match basket.bytes {
            BasketBytes::Stored { nbytes, .. } => Some((basket.entries.clone(), u64::from(nbytes))),
            BasketBytes::Embedded(_) => None,
        })
    }

    fn budget(&self) -> u64 {
        self.tree.cache().budget()
    }

    fn held(&self, branch: BranchId) -> Option<Range<u64>> {
        self.held.get(&branch).cloned()
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
