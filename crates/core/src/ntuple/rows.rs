//! RNTuples entry by entry.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::elements::page_bytes;
use super::fetch::PageId;
use super::field::FieldId;
use super::node::{Node, Shape};
use super::payload::is_spread;
use super::read::columns;
use super::{NTuple, PageLists};
use crate::error::{Error, Result};
use crate::file::File;
use crate::read::{Column, Reader, RowSource, Spot};
use crate::tree::{Needed, TreeCache};

/// Entries that have about so many bytes are decoded together, as those of a page of ROOT's.
const BLOCK_BYTES: u64 = 1 << 20;
/// Fields and clusters whose pages are remembered.
const MOST_REMEMBERED: usize = 4096;

impl NTuple {
    /// Reads single entries, in any order: the pages of fields that are looked at are fetched ahead through the
    /// [`cache`](Self::cache), as [`Tree::reader`](crate::tree::Tree::reader) does with baskets.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-reader.root");
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// # let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// let mut reader = sapwood::File::open(&path)?.ntuple("numbers")?.reader()?;
    /// reader.go_to(2)?;
    /// assert_eq!(reader.number::<i32>("x")?, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reader(self: &Arc<Self>) -> Result<Reader> {
        Ok(Reader::new(Arc::new(Rows::new(Arc::clone(self))?)))
    }

    /// Reads single entries in this order, which need not be that of the RNTuple. Windows follow the list.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for an entry that is not there; what reading the page lists reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-reader-along.root");
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// # let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
    /// let mut reader = ntuple.reader_along(vec![2, 0])?;
    /// for (entry, x) in [(2, 3), (0, 1)] {
    ///     reader.go_to(entry)?;
    ///     assert_eq!(reader.number::<i32>("x")?, x);
    /// }
    /// assert!(ntuple.reader_along(vec![3]).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reader_along(self: &Arc<Self>, entries: Vec<u64>) -> Result<Reader> {
        Reader::along(Arc::new(Rows::new(Arc::clone(self))?), entries)
    }
}

/// The pages of a field in a cluster, of all its columns.
struct Pages {
    /// Entries of the cluster.
    entries: Range<u64>,
    /// Entries that are decoded together.
    block: u64,
    /// Pages with their entries. Of what is in collections only the lists tell these: the entries of the cluster are
    /// shared out by elements then. So a page that is needed may be missing here, and is fetched when it is needed.
    pages: Vec<Needed>,
}

struct Rows {
    ntuple: Arc<NTuple>,
    ends: Vec<u64>,
    pages: Mutex<HashMap<(FieldId, usize), Arc<Pages>>>,
}

impl Rows {
    fn new(ntuple: Arc<NTuple>) -> Result<Self> {
        let ends = ntuple.clusters()?.iter().map(|cluster| cluster.end).collect();
        Ok(Self { ntuple, ends, pages: Mutex::default() })
    }

    fn pages(&self, id: FieldId, cluster: usize) -> Result<Arc<Pages>> {
        // No panic can leave it inconsistent.
        let remembered = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered().get(&(id, cluster)) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(self.ntuple.pages_in(id, cluster).map_err(|error| self.ntuple.in_field(id, error))?);
        let mut remembered = remembered();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert((id, cluster), Arc::clone(&found));
        Ok(found)
    }
}

impl Pages {
    /// The entries that are decoded together with these.
    fn blocks(&self, entries: &Range<u64>) -> Range<u64> {
        let (start, block) = (self.entries.start, self.block);
        let first = (entries.start.max(start) - start) / block;
        let last = (entries.end.min(self.entries.end).max(start) - start).div_ceil(block);
        start + first * block..(start.saturating_add(last.saturating_mul(block))).min(self.entries.end)
    }

    /// The pages with values of blocks.
    fn of(&self, blocks: &Range<u64>) -> impl Iterator<Item = Needed> {
        let touches = |page: &&Needed| page.entries.start < blocks.end && blocks.start < page.entries.end;
        self.pages.iter().filter(touches).map(|page| {
            // It is kept as long as any entry of the blocks is.
            let entries = page.entries.start.min(blocks.start)..page.entries.end.max(blocks.end);
            Needed { entries, ..page.clone() }
        })
    }
}

impl NTuple {
    fn pages_in(&self, id: FieldId, cluster: usize) -> Result<Pages> {
        let (lists, model) = (self.lists()?, self.model(id)?);
        let entries = lists.cluster(cluster)?.entries.clone();
        let mut found = Found { ntuple: self, lists, cluster, entries: &entries, pages: Vec::new(), bytes: 0 };
        found.add(&model.node, Some(1))?;
        let count = entries.end - entries.start;
        let block = u128::from(count) * u128::from(BLOCK_BYTES) / u128::from(found.bytes.max(1));
        let block = u64::try_from(block).unwrap_or(u64::MAX).clamp(1, count.max(1));
        let pages = found.pages;
        Ok(Pages { entries, block, pages })
    }
}

/// The pages of the nodes of a field.
struct Found<'n> {
    ntuple: &'n NTuple,
    lists: &'n PageLists,
    cluster: usize,
    entries: &'n Range<u64>,
    pages: Vec<Needed>,
    /// Bytes of all elements.
    bytes: u64,
}

impl Found<'_> {
    fn add(&mut self, node: &Node, per_entry: Option<u64>) -> Result<()> {
        self.columns(node, per_entry)?;
        match &node.shape {
            Shape::Numbers { .. } | Shape::Text { .. } | Shape::Counts { .. } | Shape::Streamed { .. } => Ok(()),
            Shape::List { item, .. } | Shape::Optional { item, .. } => self.add(item, None),
            Shape::Fixed { len, item } => self.add(item, per_entry.map(|count| count.saturating_mul(*len))),
            Shape::Variant { items, .. } => items.iter().try_for_each(|item| self.add(item, None)),
            Shape::Record { members } => members.iter().try_for_each(|member| self.add(member, per_entry)),
        }
    }

    fn columns(&mut self, node: &Node, per_entry: Option<u64>) -> Result<()> {
        let of_values = matches!(
            node.shape,
            Shape::Numbers { .. }
                | Shape::Text { .. }
                | Shape::List { .. }
                | Shape::Optional { .. }
                | Shape::Counts { .. }
                | Shape::Variant { .. }
                | Shape::Streamed { .. }
        );
        if !of_values {
            return Ok(());
        }
        let live = self.lists.live(self.ntuple, &node.columns, self.cluster, per_entry)?;
        for elements in &live.columns {
            let bits = self.ntuple.column(elements.column)?.bits;
            let all = u128::from(elements.count.max(1));
            let count = u128::from(self.entries.end - self.entries.start);
            let at = |element: u64| self.entries.start + (count * u128::from(element) / all) as u64;
            let mut next = elements.missing;
            for (number, page) in elements.pages.pages.iter().enumerate() {
                let first = next;
                next = next.saturating_add(u64::from(page.elements));
                self.bytes = self.bytes.saturating_add(page_bytes(bits, u64::from(page.elements)));
                let id = PageId { node: 0, cluster: self.cluster, column: elements.column, number, page: *page };
                let (seek, bytes) = id.place()?;
                let Ok(nbytes) = u32::try_from(bytes) else { continue };
                if is_spread(bytes, self.ntuple.anchor.max_key_bytes)
                    || seek.saturating_add(bytes) > self.ntuple.file.identity().len
                {
                    // It is fetched, or refused, when it is needed.
                    continue;
                }
                // What begins within an entry belongs to it, too.
                let entries = at(first)..at(next).max(at(first) + 1).min(self.entries.end);
                self.pages.push(Needed { seek, nbytes, entries });
            }
        }
        Ok(())
    }
}

impl RowSource for Rows {
    fn file(&self) -> &File {
        &self.ntuple.file
    }

    fn cache(&self) -> &TreeCache {
        &self.ntuple.cache
    }

    fn entries(&self) -> u64 {
        self.ntuple.entries
    }

    fn cluster_ends(&self) -> &[u64] {
        &self.ends
    }

    fn place(&self, error: Error) -> Error {
        self.ntuple.place(error)
    }

    fn id(&self, name: &str) -> Result<FieldId> {
        Ok(self.ntuple.field(name)?.id)
    }

    fn spot(&self, id: FieldId, entry: u64) -> Result<Spot> {
        let pages = self.pages(id, self.ends.partition_point(|&end| end <= entry))?;
        let entries = pages.blocks(&(entry..entry + 1));
        let is_there = pages.of(&entries).all(|page| self.ntuple.cache.holds(page.seek));
        Ok(Spot { entries, counter: None, is_there })
    }

    fn each_needed(&self, id: FieldId, entries: &Range<u64>, each: &mut dyn FnMut(Needed)) {
        let first = self.ends.partition_point(|&end| end <= entries.start);
        let last = self.ends.partition_point(|&end| end < entries.end);
        for cluster in (first..=last).filter(|_| !entries.is_empty()) {
            // What cannot be found is reported when it is read.
            let Ok(pages) = self.pages(id, cluster) else { continue };
            pages.of(&pages.blocks(entries)).for_each(&mut *each);
        }
    }

    fn column(&self, id: FieldId, entries: Range<u64>) -> Result<Column> {
        columns(&self.ntuple, &[id], entries)?.pop().ok_or_else(|| Error::internal("a field gave no column"))
    }
}
