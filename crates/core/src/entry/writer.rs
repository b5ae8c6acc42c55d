//! Trees of one typed branch.

use std::fmt;
use std::marker::PhantomData;

use super::{Entry, EntryClass};
use crate::error::{Error, Result};
use crate::write::{BranchKind, BranchSpec, FileWriter, TreeOptions, TreeWriter, Type};

/// Takes entries of one type, row by row. Created by [`FileWriter::entries`].
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::entry::EntryWriter;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, WriteOptions};
/// # use sapwood::entry::EntryClass;
/// #[derive(Entry, Default)]
/// struct Hit {
///     channel: u16,
///     charge: f32,
/// }
/// # let path = std::env::temp_dir().join("sapwood-entry-writer.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut hits: EntryWriter<Hit> = file.entries("hits", "hit", 99, TreeOptions::default())?;
/// for channel in 0..1000 {
///     hits.fill(&Hit { channel, charge: 0.5 })?;
/// }
/// hits.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("hits")?.entries, 1000);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("entries.root");
/// # use sapwood::Entry;
/// # use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
/// #[derive(Entry, Debug, PartialEq)]
/// struct Hit {
///     charge: f32,
/// }
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut hits = file.entries::<Hit>("hits", "hit", 99, TreeOptions::default())?;
/// hits.extend(&[Hit { charge: 0.5 }, Hit { charge: 1.5 }])?;
/// hits.flush()?; // a cluster of its own
/// hits.fill(&Hit { charge: 2.5 })?;
/// hits.close()?;
/// file.close()?;
/// let tree = sapwood::File::open(&path)?.tree("hits")?;
/// assert_eq!(tree.iter_entries::<Hit>("hit")?.count(), 3);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct EntryWriter<T> {
    tree: TreeWriter,
    kind: Type,
    /// Rows until the buffered bytes are counted again.
    until: usize,
    /// Buffered rows and bytes at the last check for full clusters.
    looked: (usize, usize),
    entry: PhantomData<fn(&T)>,
}

/// Full clusters are checked for after so many bytes or rows: a check costs as much as filling some rows.
const LOOK_BYTES: usize = 256 << 10;
const LOOK_ROWS: usize = 4096;
/// Bytes are counted after so many rows at the latest.
const COUNT_ROWS: usize = 32;

impl FileWriter {
    /// Begins a tree with one branch of objects, split down to a level: 99 for all that can be, as ROOT does, 0 for
    /// none.
    ///
    /// # Errors
    ///
    /// Those of [`tree`](Self::tree), and what C++ or ROOT cannot hold of the type.
    ///
    /// # Example
    ///
    /// See [`EntryWriter`].
    pub fn entries<T: EntryClass>(
        &mut self,
        path: &str,
        branch: &str,
        split_level: u32,
        options: TreeOptions,
    ) -> Result<EntryWriter<T>> {
        EntryWriter::new(self.tree(path, vec![BranchSpec::object(branch, T::class(), split_level)], options)?)
    }
}

impl<T: Entry> EntryWriter<T> {
    /// Fills a tree whose only branch holds such entries.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if it has other branches, or one of another type.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("entry-writer.root");
    /// # use sapwood::Entry;
    /// use sapwood::entry::{EntryClass, EntryWriter};
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     charge: f32,
    /// }
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.tree("hits", vec![BranchSpec::object("hit", Hit::class(), 99)], TreeOptions::default())?;
    /// let mut hits = EntryWriter::<Hit>::new(tree)?;
    /// hits.fill(&Hit { charge: 0.5 })?;
    /// hits.close()?;
    /// # file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new(tree: TreeWriter) -> Result<Self> {
        let kind = T::kind();
        match tree.branches() {
            [BranchSpec { kind: BranchKind::Object(known, _), .. }] if *known == kind => {
                Ok(Self { tree, kind, until: 1, looked: (0, 0), entry: PhantomData })
            }
            _ => Err(Error::mismatch(format!("the tree is not one branch of {}", kind.name()))),
        }
    }

    /// Adds an entry. Entries are kept until their cluster is whole.
    ///
    /// # Errors
    ///
    /// What sealing and writing a cluster report; see [`flush`](Self::flush).
    #[inline]
    pub fn fill(&mut self, entry: &T) -> Result<()> {
        self.tree.push(|column| entry.push_to(column));
        self.until -= 1;
        if self.until == 0 { self.count() } else { Ok(()) }
    }

    /// Adds entries.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub fn extend<'e>(&mut self, entries: impl IntoIterator<Item = &'e T>) -> Result<()>
    where
        T: 'e,
    {
        entries.into_iter().try_for_each(|entry| self.fill(entry))
    }

    /// Counts what is buffered, and writes full clusters once that is enough.
    #[cold]
    fn count(&mut self) -> Result<()> {
        let (rows, bytes) = self.tree.waiting();
        let (more_rows, more_bytes) = (rows.saturating_sub(self.looked.0), bytes.saturating_sub(self.looked.1));
        if more_bytes >= LOOK_BYTES || more_rows >= LOOK_ROWS {
            return self.look();
        }
        let row_bytes = more_bytes / more_rows.max(1) + 1;
        self.until = ((LOOK_BYTES - more_bytes) / row_bytes).clamp(1, COUNT_ROWS);
        Ok(())
    }

    /// Writes the clusters that are whole.
    fn look(&mut self) -> Result<()> {
        let done = self.tree.write_whole_clusters(&self.kind);
        self.looked = self.tree.waiting();
        let row_bytes = self.looked.1 / self.looked.0.max(1) + 1;
        self.until = (LOOK_BYTES / row_bytes).clamp(1, COUNT_ROWS);
        done
    }

    /// Writes the entries that are kept, the last of them as a cluster of their own.
    ///
    /// # Errors
    ///
    /// What the sink reports: the entries are still kept then. Entries that cannot be written at all are dropped.
    pub fn flush(&mut self) -> Result<()> {
        let looked = self.look();
        let done = self.tree.flush();
        (self.looked, self.until) = (self.tree.waiting(), 1);
        looked.and(done)
    }

    /// Writes the entries that are kept; the tree is visible to every reader once its file is saved or closed.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush), and those of [`TreeWriter::close`].
    pub fn close(mut self) -> Result<()> {
        let flushed = self.flush();
        flushed.and(self.tree.close())
    }
}

impl<T> fmt::Debug for EntryWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryWriter").field("tree", &self.tree).finish_non_exhaustive()
    }
}
