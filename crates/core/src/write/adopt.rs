//! Clusters that somebody else sealed, in another process perhaps: they join a tree that is filled, as they are.
//!
//! Source: `ROOT::TBufferMerger`, whose threads hand files in memory to one that merges them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::line::SealedCluster;
use super::parallel::{NumberedContext, ParallelWriter};
use super::seal::SealedBasket;
use super::state::{BranchState, TreeState, What};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::tree::{Basket, BasketBytes, Branch, Tree};

/// The clusters of a finished tree, in order.
#[derive(Debug)]
pub(super) struct Finished<'t> {
    tree: &'t Tree,
    /// In the order of their first entries.
    baskets: Vec<Stored>,
    next: usize,
    most: Vec<u64>,
    /// From which ProcessID on its references count.
    pub(super) process_ids: u16,
}

/// A basket of the finished tree.
#[derive(Debug)]
struct Stored {
    branch: u32,
    path: Arc<str>,
    entries: Range<u64>,
    room: Range<u64>,
}

impl ParallelWriter {
    /// Takes all entries of a finished tree, of a file in memory or wherever: its clusters follow those that were committed before. They are
    /// not inflated. Gives the number of entries.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming a branch that is not the same in both trees;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for baskets that have no record of their own, as real ROOT leaves the last ones. What the
    /// store and the sink report: clusters before the error are in the tree then.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::column::Number;
    /// use sapwood::io::{MemorySink, MemoryStore};
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-adopt.root");
    /// let x = || vec![BranchSpec::number("x", Number::U8)];
    /// // In another process:
    /// let sink = Arc::new(MemorySink::default());
    /// let mut part = FileWriter::to_sink(Arc::clone(&sink), "part.root", WriteOptions::default())?;
    /// let mut tree = part.tree("t", x(), TreeOptions::default())?;
    /// tree.extend(&[("x", Values::Numbers(&[1, 2, 3]))])?;
    /// tree.close()?;
    /// part.close()?;
    /// // In the one that writes:
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.parallel_tree("t", x(), TreeOptions::default())?;
    /// let part = sapwood::File::from_store(Arc::new(MemoryStore::new("part.root", sink.to_bytes())), Default::default())?;
    /// assert_eq!(tree.adopt(&*part.tree("t")?)?, 3);
    /// # tree.close()?;
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn adopt(&self, tree: &Tree) -> Result<u64> {
        self.group.adopt(tree, None)
    }
}

impl NumberedContext {
    /// The same as a unit of work of this number.
    ///
    /// # Errors
    ///
    /// Those of [`unit`](Self::unit) and [`ParallelWriter::adopt`]: the unit has no entries then, but for clusters that were committed before.
    pub fn adopt(&mut self, number: u64, tree: &Tree) -> Result<u64> {
        let lane = self.begin(number)?;
        let adopted = self.group().adopt(tree, Some(number));
        let ended = lane.give_back(adopted.is_err());
        adopted.and_then(|entries| ended.map(|()| entries))
    }
}

impl<'t> Finished<'t> {
    /// # Errors
    ///
    /// See [`ParallelWriter::adopt`].
    pub(super) fn new(tree: &'t Tree, ours: &TreeState) -> Result<Self> {
        let wrong = |name: &str, words: &'static str| tree.file().name(Error::mismatch(words).in_object(name));
        if tree.name != ours.name {
            // Baskets say which tree they are of: recovery would not find them.
            return Err(wrong(&tree.name, "a finished tree of another name cannot join"));
        }
        let theirs = tree.branches();
        if let Some(extra) = theirs.get(ours.branches.len()) {
            return Err(wrong(&extra.path, "the tree that is filled has no such branch"));
        }
        let (mut baskets, mut most) = (Vec::new(), Vec::new());
        for (index, branch) in ours.branches.iter().enumerate() {
            let found = theirs.get(index).filter(|found| is_same(branch, found));
            let found = found
                .ok_or_else(|| wrong(&branch.name, "the branch is missing or another one in the finished tree"))?;
            most.push(most_of(found));
            if branch.what.has_data() {
                add_baskets(tree, index as u32, found, &mut baskets)
                    .map_err(|error| tree.file().name(error.in_object(&found.path)))?;
            }
        }
        baskets.sort_by_key(|basket| (basket.entries.start, basket.branch));
        Ok(Self { tree, baskets, next: 0, most, process_ids: 0 })
    }

    /// The next cluster: the fewest baskets behind which all branches go on with the same entry.
    pub(super) fn next(&mut self) -> Result<Option<SealedCluster>> {
        let rest = self.baskets.get(self.next..).unwrap_or_default();
        let Some(first) = rest.first().map(|basket| basket.entries.start) else { return Ok(None) };
        let mut end = first;
        let belongs = |basket: &&Stored| {
            let belongs = basket.entries.start < end || basket.entries.start == first;
            end = end.max(if belongs { basket.entries.end } else { 0 });
            belongs
        };
        let mut cluster: Vec<&Stored> = rest.iter().take_while(belongs).collect();
        self.next += cluster.len();
        cluster.sort_by_key(|basket| (basket.branch, basket.entries.start));
        let rooms: Vec<_> = cluster.iter().map(|basket| basket.room.clone()).collect();
        let mut baskets = Vec::with_capacity(cluster.len());
        for (basket, record) in cluster.iter().zip(self.tree.file().read_raw(&rooms)?) {
            let sealed = self.own(basket, &record).and_then(|mut sealed| {
                sealed.shift_process_ids(self.process_ids)?;
                Ok(sealed)
            });
            let place = |error: Error| error.at(basket.room.start).in_object(&basket.path);
            baskets.push(sealed.map_err(|error| self.tree.file().name(place(error)))?);
        }
        let of = cluster.iter().map(|basket| (basket.branch, basket.entries.start - first)).collect();
        let bytes = baskets.iter().map(|basket| basket.record.len() as u64).sum();
        Ok(Some(SealedCluster { baskets, of, most: self.most.clone(), rows: end - first, bytes }))
    }
}

impl Finished<'_> {
    /// A record, as long as its branch says, with as many entries.
    fn own(&self, stored: &Stored, record: &Bytes) -> Result<SealedBasket> {
        let key = Key::read(record)?;
        if &*key.class != "TBasket" || record.len() as u64 != u64::from(key.nbytes) {
            let error = Error::malformed("a basket is not as long as its branch says");
            return Err(error.wanted(stored.room.end - stored.room.start, u64::from(key.nbytes)));
        }
        let (held, wanted) =
            (Basket::read(record.clone(), &self.tree.file().options().limits)?.entries, &stored.entries);
        if u64::from(held) != wanted.end - wanted.start {
            let error = Error::malformed("a basket has not as many entries as its branch says");
            return Err(error.wanted(wanted.end - wanted.start, u64::from(held)));
        }
        let unsealed_bytes = u64::from(key.keylen) + u64::from(key.objlen);
        Ok(SealedBasket { record: record.to_vec(), unsealed_bytes })
    }
}

/// The baskets of a branch, which have all entries of the tree.
fn add_baskets(tree: &Tree, index: u32, branch: &Branch, baskets: &mut Vec<Stored>) -> Result<()> {
    let mut entries = 0;
    for basket in branch.baskets() {
        match basket.bytes {
            BasketBytes::Stored { seek, nbytes } if nbytes > 0 && basket.entries.start == entries => {
                let room = seek..seek.saturating_add(u64::from(nbytes));
                let (path, held) = (Arc::clone(&branch.path), basket.entries.clone());
                baskets.push(Stored { branch: index, path, entries: held, room });
                entries = basket.entries.end;
            }
            _ => break,
        }
    }
    if entries != tree.entries || !branch.file_name.is_empty() {
        let words = "not all of its entries are in records of their own in this file";
        return Err(Error::unsupported(words).wanted(tree.entries, entries));
    }
    Ok(())
}

/// Whether baskets of one branch mean the same in another.
fn is_same(ours: &BranchState, theirs: &Branch) -> bool {
    let element = |class: &str, title: &str, kind: i32, code: i32, checksum: Option<u32>| {
        theirs.element.as_ref().is_some_and(|element| {
            &*element.class_name == class
                && &*theirs.title == title
                && (element.kind, element.streamer_type) == (kind, code)
                && checksum.is_none_or(|checksum| checksum == element.checksum)
        })
    };
    let same = match (&ours.what, ours.what.split()) {
        (What::Plain(spec), _) => match spec.class() {
            Some(class) => element(&class, &spec.title(), 0, -1, None),
            None => theirs.element.is_none() && *theirs.title == *spec.title(),
        },
        (_, Some(split)) => element(&split.class, &split.title, split.kind, split.code, Some(split.checksum)),
        _ => false,
    };
    same && ours.name == theirs.name
}

/// Largest count, or bytes of the longest string.
fn most_of(branch: &Branch) -> u64 {
    let element = branch.element.as_ref().map_or(0, |element| i64::from(element.maximum));
    let leaf = branch.leaves.first().map_or(0, |leaf| match &*leaf.class {
        "TLeafC" => i64::from(leaf.len) - 1,
        _ => leaf.maximum,
    });
    element.max(leaf).max(0) as u64
}
