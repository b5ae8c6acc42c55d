//! RNTuples of typed entries.

use std::fmt;
use std::marker::PhantomData;

use super::{Entry, EntryClass};
use crate::error::Result;
use crate::write::{Column, FieldSpec, FileWriter, NTupleOptions, NTupleWriter, Type, members_of};

/// Takes entries of one type, row by row, for an RNTuple. Created by [`FileWriter::ntuple_entries`].
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("ntuple-entries.root");
/// use sapwood::Entry;
/// use sapwood::entry::NTupleEntryWriter;
/// use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
/// # use sapwood::entry::EntryClass;
/// #[derive(Entry)]
/// struct Hit {
///     channel: u16,
///     charges: Vec<f32>,
/// }
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut hits: NTupleEntryWriter<Hit> = file.ntuple_entries("hits", "", NTupleOptions::default())?;
/// hits.extend(&[Hit { channel: 1, charges: vec![0.5] }, Hit { channel: 2, charges: vec![] }])?;
/// hits.flush()?; // a cluster of its own
/// hits.fill(&Hit { channel: 3, charges: vec![1.5, 2.5] })?;
/// hits.close()?;
/// file.close()?;
/// let ntuple = sapwood::File::open(&path)?.ntuple("hits")?;
/// assert_eq!((ntuple.entries, ntuple.field("charges")?.type_name.as_ref()), (3, "std::vector<float>"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct NTupleEntryWriter<T> {
    ntuple: NTupleWriter,
    kind: Type,
    /// Entries that were not handed on yet.
    waiting: Column,
    /// Entries until their bytes are counted again.
    until: usize,
    /// Whether the members are fields, and not the object.
    are_members: bool,
    entry: PhantomData<fn(&T)>,
}

/// Entries are handed on once they have so many bytes.
const HAND_ON_BYTES: usize = 1 << 20;
/// Bytes are counted after so many rows at the latest.
const COUNT_ROWS: usize = 1024;

impl FileWriter {
    /// Begins an RNTuple of typed entries: one field of the class, or without a name of it a field for each member,
    /// which any program reads without the class.
    ///
    /// # Errors
    ///
    /// Those of [`ntuple`](Self::ntuple), and [`Unsupported`](crate::ErrorKind::Unsupported) for members that no
    /// RNTuple holds.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-entries-begin.root");
    /// use sapwood::Entry;
    /// use sapwood::entry::NTupleEntryWriter;
    /// use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
    /// #[derive(Entry)]
    /// struct Hit {
    ///     x: f32,
    /// }
    /// let mut file = FileWriter::create(&path, WriteOptions::default())?;
    /// let mut hits: NTupleEntryWriter<Hit> = file.ntuple_entries("hits", "", NTupleOptions::default())?;
    /// hits.fill(&Hit { x: 0.5 })?;
    /// hits.close()?;
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn ntuple_entries<T: EntryClass>(
        &mut self,
        path: &str,
        field: &str,
        options: NTupleOptions,
    ) -> Result<NTupleEntryWriter<T>> {
        let (kind, are_members) = (T::kind(), field.is_empty());
        let fields = match are_members {
            true => FieldSpec::members_of(&T::class())?,
            false => vec![FieldSpec::of_type(field, &kind)?],
        };
        let ntuple = self.ntuple(path, fields, options)?;
        let waiting = Column::of(&kind);
        Ok(NTupleEntryWriter { ntuple, kind, waiting, until: 1, are_members, entry: PhantomData })
    }
}

impl<T: Entry> NTupleEntryWriter<T> {
    /// Adds an entry. Entries are kept until their cluster is full.
    ///
    /// # Errors
    ///
    /// What the sink reports; see [`flush`](Self::flush).
    #[inline]
    pub fn fill(&mut self, entry: &T) -> Result<()> {
        entry.push_to(&mut self.waiting);
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

    /// Hands entries on once they have enough bytes.
    #[cold]
    fn count(&mut self) -> Result<()> {
        let rows = self.waiting.len();
        let bytes = self.waiting.bytes_of(&(0..rows));
        if bytes >= HAND_ON_BYTES {
            return self.hand_on();
        }
        let row_bytes = bytes / rows.max(1) + 1;
        self.until = ((HAND_ON_BYTES - bytes) / row_bytes).clamp(1, COUNT_ROWS);
        Ok(())
    }

    fn hand_on(&mut self) -> Result<()> {
        self.until = 1;
        let values = std::mem::replace(&mut self.waiting, Column::of(&self.kind));
        let columns = match (&self.kind, self.are_members) {
            (Type::Object(class), true) => members_of(class, values)?,
            _ => vec![values],
        };
        let named = self
            .ntuple
            .fields()
            .iter()
            .zip(columns)
            .map(|(field, values)| Ok((field.name.clone(), field.values(values)?)));
        let named = named.collect::<Result<Vec<_>>>()?;
        let given: Vec<_> = named.iter().map(|(name, column)| (&**name, column.clone())).collect();
        self.ntuple.extend(&given)
    }

    /// Writes the entries that are kept as a cluster of their own.
    ///
    /// # Errors
    ///
    /// What the sink reports: the entries are still kept then.
    pub fn flush(&mut self) -> Result<()> {
        self.hand_on()?;
        self.ntuple.flush()
    }

    /// Writes the entries that are kept; the RNTuple is visible to every reader once its file is saved or closed.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush), and those of [`NTupleWriter::close`].
    pub fn close(mut self) -> Result<()> {
        let handed = self.hand_on();
        handed.and(self.ntuple.close())
    }
}

impl<T> fmt::Debug for NTupleEntryWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NTupleEntryWriter").field("ntuple", &self.ntuple).finish_non_exhaustive()
    }
}
