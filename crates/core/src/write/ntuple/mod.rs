//! The RNTuple being written: rows are buffered until their cluster is full, then sealed and committed.

pub(crate) mod layout;
pub(crate) mod numbered;
pub(crate) mod parallel;
pub(crate) mod units;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Algorithm, Compression};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ntuple::{AliasColumn, Descriptors, Header};
use crate::read::Column;
use crate::write::file::state::Output;
use crate::write::ntuple::layout::{Layout, Source};
use crate::write::ntuple::units::Unit;
use crate::write::options::{MAX_KEY_BYTES, NTupleOptions};
use crate::write::page::buffer::{ClusterBuffer, Mark};
use crate::write::page::field::{FieldSpec, Schema};
use crate::write::page::seal::{Recycler, Sealing, seal};
use crate::write::page::state::NTupleState;

/// Takes rows of an RNTuple.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("ntuple-writer.root");
/// use sapwood::column::{Kind, Number};
/// use sapwood::read::Column;
/// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
/// let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
/// ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
/// ntuple.close()?;
/// file.close()?;
///
/// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
/// let columns = sapwood::ntuple::columns(&ntuple, &[ntuple.field("x")?.id], 0..3)?;
/// assert_eq!(&columns[0].numbers::<i32>()?[..], [1, 2, 3]);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("ntuple-flush.root");
/// use sapwood::column::{Kind, Number};
/// use sapwood::read::Column;
/// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
/// let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
/// ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
/// ntuple.flush()?; // a cluster of its own
/// assert_eq!((ntuple.fields().len(), ntuple.taken()), (1, 3));
/// # ntuple.close()?;
/// # file.close()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct NTupleWriter {
    output: Arc<Output>,
    index: usize,
    layout: Arc<Layout>,
    buffer: ClusterBuffer,
    /// Where the rows of the last call begin in the buffer.
    call: Mark,
    sealing: Sealing,
    recycler: Recycler,
    options: NTupleOptions,
    /// Stored bytes, and bytes in memory, of the clusters so far.
    sizes: (u64, u64),
    unsaved: u64,
    taken: u64,
    is_closed: bool,
    /// Whether it is one of many threads that fill the RNTuple: then another one ends it.
    is_context: bool,
    /// The numbered unit of work that its rows are.
    unit: Option<Unit>,
}

impl NTupleWriter {
    /// Adds an RNTuple without entries to a file.
    pub(crate) fn begin(
        output: &Arc<Output>,
        path: &str,
        fields: Vec<FieldSpec>,
        options: NTupleOptions,
    ) -> Result<Self> {
        let compression = options.compression.unwrap_or(USUAL);
        let (schema, nodes) = Schema::new(&fields, compression)?;
        let schema_fields = schema.descriptors.fields.len();
        let projected = schema.descriptors.projected();
        let layout = Layout { name: "".into(), fields, nodes, plans: schema.columns, schema_fields, projected };
        Self::begin_with(output, path, schema.descriptors, layout, options)
    }

    /// Adds an RNTuple of a schema to a file, whose columns and values are laid out as said.
    pub(crate) fn begin_with(
        output: &Arc<Output>,
        path: &str,
        schema: Descriptors,
        mut layout: Layout,
        options: NTupleOptions,
    ) -> Result<Self> {
        let compression = options.compression.unwrap_or(USUAL);
        let mut state = output.open_state()?;
        let (folder, name) = output.folder_of(&mut state, path)?;
        let name: Arc<str> = name.into();
        if state.folders[folder].named(&name, None).any(|key| key.is_directory()) {
            return Err(output.in_file(Error::new(crate::ErrorKind::Exists, format!("{name:?} is a directory"))));
        }
        let columns = layout.plans.len();
        let header = Header {
            features: 0,
            name: Arc::clone(&name),
            description: Arc::clone(&options.description),
            writer: concat!("Sapwood ", env!("CARGO_PKG_VERSION")).into(),
            schema,
        };
        let header = header.seal()?;
        // Keys hold less than 2 GiB.
        let most = options.max_key_bytes.clamp(64, MAX_KEY_BYTES);
        let (link, _) = output.write_envelope(&mut state, &header, compression, most)?;
        let begun = NTupleState::new(folder, Arc::clone(&name), header, link, columns);
        state.ntuples.push(NTupleState { max_key_bytes: most, ..begun });
        let index = state.ntuples.len() - 1;
        output.save(&mut state)?;
        drop(state);
        layout.name = name;
        Ok(Self::over(Arc::clone(output), index, Arc::new(layout), options, false))
    }

    /// A writer of an RNTuple that was begun.
    pub(crate) fn over(
        output: Arc<Output>,
        index: usize,
        layout: Arc<Layout>,
        options: NTupleOptions,
        is_context: bool,
    ) -> Self {
        let sealing = Sealing {
            compression: options.compression.unwrap_or(USUAL),
            page_bytes: options.page_bytes.clamp(64, 1 << 29),
            with_checksums: options.with_checksums,
        };
        let buffer = ClusterBuffer::new(&layout.plans, output.options.session.memory().clone());
        let (sizes, unsaved, taken, is_closed, unit) = ((0, 0), 0, 0, false, None);
        let recycler = Recycler::default();
        Self {
            output,
            index,
            layout,
            buffer,
            call: Mark::default(),
            sealing,
            recycler,
            options,
            sizes,
            unsaved,
            taken,
            is_closed,
            is_context,
            unit,
        }
    }

    /// The same, for a numbered unit of work.
    pub(crate) fn of_unit(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    /// The same RNTuple, to be filled by many threads. No row was taken yet.
    pub(crate) fn into_parts(mut self) -> (Arc<Output>, usize, Arc<Layout>, NTupleOptions) {
        self.is_closed = true;
        (Arc::clone(&self.output), self.index, Arc::clone(&self.layout), self.options.clone())
    }

    /// Its number among the RNTuples of its file.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The fields.
    pub fn fields(&self) -> &[FieldSpec] {
        &self.layout.fields
    }

    /// Recycled memory, for values on their way.
    #[doc(hidden)]
    pub fn memory(&self) -> &Memory {
        self.output.options.session.memory()
    }

    /// Rows taken so far, buffered ones included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Adds rows: a column for every field by name, of the field's type. Rows are buffered until their cluster is full.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if fields are missing, unknown or of another type, if lengths differ,
    /// and in a forked child: then no row was added. What the sink reports: then the rows of earlier clusters are
    /// there, and the others are buffered.
    pub fn extend(&mut self, values: &[(&str, Column)]) -> Result<()> {
        self.output.check_process()?;
        let name = Arc::clone(&self.layout.name);
        let output = Arc::clone(&self.output);
        let in_ntuple = |error: Error| output.in_file(error.in_object(&name));
        let (sources, rows) = self.layout.sources(values).map_err(in_ntuple)?;
        self.buffer.mark(&mut self.call);
        let (mut outcome, mut start) = (Ok(()), 0);
        while start < rows {
            let target = self.target_bytes();
            let left = target.saturating_sub(self.buffer.bytes());
            // Once storage has failed, no cluster ends any more.
            let most = if outcome.is_ok() { self.entries_left().max(1) } else { usize::MAX };
            let within = start..rows.min(start.saturating_add(most));
            let end = end_of_cluster(&sources, within, left).map_err(in_ntuple)?;
            for (node, column) in &sources {
                self.buffer.append(node, column, start..end, end < rows).map_err(in_ntuple)?;
            }
            self.buffer.rows += (end - start) as u64;
            start = end;
            // All rows are buffered, even if storage fails.
            if outcome.is_ok() && (self.buffer.bytes() >= target || self.entries_left() == 0) {
                outcome = self.flush();
            }
        }
        self.taken += rows as u64;
        outcome
    }

    /// Adds fields. Rows so far have zeros, empty lists and empty strings there; those that are buffered are written
    /// first. From now on rows have a value for each field, old and new.
    ///
    /// # Errors
    ///
    /// Those of [`FileWriter::ntuple`](crate::write::FileWriter::ntuple), and of [`flush`](Self::flush): then no field
    /// was added. [`Unsupported`](crate::ErrorKind::Unsupported) for one of many threads that fill an RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-add-fields.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let field = |name: &str| FieldSpec::new(name, Kind::Number { buffer: 0, number: Number::I32 });
    /// let mut ntuple = file.ntuple("numbers", vec![field("x")], NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[1, 2]))])?;
    /// ntuple.add_fields(vec![field("late")])?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[3])), ("late", Column::from_numbers(&[30]))])?;
    /// ntuple.close()?;
    /// file.close()?;
    ///
    /// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
    /// let late = sapwood::ntuple::columns(&ntuple, &[ntuple.field("late")?.id], 0..3)?;
    /// assert_eq!(&late[0].numbers::<i32>()?[..], [0, 0, 30]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add_fields(&mut self, fields: Vec<FieldSpec>) -> Result<()> {
        let in_ntuple = |error: Error| self.output.in_file(error.in_object(&self.layout.name));
        if self.is_context {
            let words = "fields cannot be added to an RNTuple that many threads fill";
            return Err(in_ntuple(Error::unsupported(words)));
        }
        let names = |field: &FieldSpec| [Some(Arc::clone(&field.name)), field.counter.clone()].into_iter().flatten();
        let own = self.layout.fields.iter().map(|field| &field.name);
        let known: HashSet<Arc<str>> = own.chain(&self.layout.projected).map(Arc::clone).collect();
        if let Some(twice) = fields.iter().flat_map(names).find(|name| known.contains(name)) {
            let words = format!("the RNTuple has a field {twice:?} already");
            return Err(in_ntuple(Error::new(crate::ErrorKind::Exists, words)));
        }
        let (mut schema, mut nodes) = Schema::new(&fields, self.sealing.compression).map_err(in_ntuple)?;
        // So that all clusters before have none of the new columns, and those after have all of their elements.
        self.flush()?;
        let (first_field, first_column) = (self.layout.schema_fields, self.layout.plans.len());
        let mut state = self.output.open_state()?;
        let ntuple = state.ntuples.get_mut(self.index).ok_or_else(|| Error::internal("an RNTuple has no state"))?;
        schema.descriptors.begin_at(ntuple.entries, first_field)?;
        let projected = schema.descriptors.projected();
        let Descriptors { fields: added, columns, aliases, .. } = schema.descriptors;
        let elements = columns.iter().map(|column| column.first_element.map_or(0, i64::unsigned_abs));
        ntuple.elements.extend(elements);
        ntuple.added.columns.extend(columns);
        let schema_fields = first_field + added.len();
        ntuple.added.fields.extend(added);
        let shifted = |alias: AliasColumn| AliasColumn { column: first_column + alias.column, ..alias };
        ntuple.added.aliases.extend(aliases.into_iter().map(shifted));
        ntuple.changed = true;
        let numbers = (0..schema.columns.len()).map(|column| (column, first_column + column)).collect();
        nodes.iter_mut().for_each(|node| node.renumber(&numbers));
        self.buffer.add_columns(&schema.columns);
        let before = &self.layout;
        self.layout = Arc::new(Layout {
            name: Arc::clone(&before.name),
            fields: before.fields.iter().cloned().chain(fields).collect(),
            nodes: before.nodes.iter().cloned().chain(nodes).collect(),
            plans: before.plans.iter().copied().chain(schema.columns).collect(),
            schema_fields,
            projected: before.projected.iter().cloned().chain(projected).collect(),
        });
        // Clusters are brought back after a crash by the schema that was saved.
        self.output.save(&mut state)
    }

    /// Gives up the rows of the last call that are not written, where it has taken rows after the first `taken`; gives
    /// their number.
    #[doc(hidden)]
    pub fn give_up(&mut self, taken: u64) -> u64 {
        if self.taken <= taken {
            return 0; // what ended the call came before it took any: the mark is that of another one
        }
        let rows = self.buffer.truncate(&self.call);
        self.taken -= rows;
        rows
    }

    /// Writes the buffered rows as a cluster of their own.
    ///
    /// # Errors
    ///
    /// What the sink reports: the rows stay buffered then.
    pub fn flush(&mut self) -> Result<()> {
        if self.buffer.rows == 0 {
            return Ok(());
        }
        // A forked child has none of the pool's threads: it would wait for them forever.
        self.output.check_process()?;
        let in_memory = self.buffer.bytes() as u64;
        let session = &self.output.options.session;
        let sealed = seal(&self.layout.plans, &self.buffer, &self.sealing, session, &self.recycler)
            .map_err(|error| self.output.in_file(error.in_object(&self.layout.name)))?;
        let stored = sealed.stored;
        if let Some(unit) = &self.unit {
            let (is_taken, outcome) = unit.commit(self.buffer.rows, sealed.into_owned());
            if is_taken {
                self.buffer.clear();
                self.call.clear();
                self.sizes = (self.sizes.0 + stored, self.sizes.1 + in_memory);
            }
            return outcome.map_err(|error| self.output.in_file(error.in_object(&self.layout.name)));
        }
        let mut state = self.output.open_state()?;
        let (rows, compression) = (self.buffer.rows, self.sealing.compression);
        self.output.commit_cluster(&mut state, self.index, rows, &sealed, compression)?;
        self.recycler.give_back(sealed);
        self.buffer.clear();
        self.call.clear();
        self.sizes = (self.sizes.0 + stored, self.sizes.1 + in_memory);
        self.unsaved += stored;
        if self.unsaved >= self.options.auto_save_bytes {
            self.output.save(&mut state)?;
            self.unsaved = 0;
        }
        Ok(())
    }

    /// Writes the buffered rows, and one page list for all clusters. The file's next save shows them.
    ///
    /// # Errors
    ///
    /// Those of [`flush`](Self::flush): what was committed stays. What ends the wait ([`interrupt`](crate::interrupt)):
    /// then the rows that wait are given up.
    pub fn close(mut self) -> Result<()> {
        self.finish()
    }

    /// Gives up the buffered rows, and ends. Clusters that were written stay.
    ///
    /// # Errors
    ///
    /// Those of [`close`](Self::close).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-discard.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// ntuple.flush()?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[4]))])?;
    /// ntuple.discard()?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.ntuple("numbers")?.entries, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn discard(mut self) -> Result<()> {
        self.buffer.clear();
        self.call.clear();
        if let Some(unit) = &self.unit {
            unit.discard();
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        self.output.check_process()?;
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        let outcome = self.flush();
        if let Some(unit) = self.unit.take() {
            return outcome.and(unit.end());
        }
        if self.is_context {
            return outcome;
        }
        let mut state = self.output.open_state()?;
        outcome.and(self.output.end_ntuple(&mut state, self.index, self.sealing.compression))
    }

    /// Entries that the cluster may still have.
    fn entries_left(&self) -> usize {
        let most = self.options.cluster_entries.map_or(u64::MAX, |most| most.max(1));
        usize::try_from(most.saturating_sub(self.buffer.rows)).unwrap_or(usize::MAX)
    }

    /// Bytes in memory with which a cluster is full, by the compression of those before.
    fn target_bytes(&self) -> usize {
        let (most, cluster) = (self.options.most_cluster_bytes.max(1), self.options.cluster_bytes.max(1));
        let target = match self.sizes {
            _ if self.options.cluster_entries.is_some() => most as u128,
            _ if self.sealing.compression.level == 0 => cluster as u128,
            (0, _) => 2 * cluster as u128,
            (stored, in_memory) => cluster as u128 * u128::from(in_memory) / u128::from(stored),
        };
        usize::try_from(target).map_or(most, |target| target.clamp(1, most))
    }
}

impl Drop for NTupleWriter {
    fn drop(&mut self) {
        // Call `close` to get the error.
        let _ = self.finish();
    }
}

/// The row after the first with which a cluster has at least `left` bytes more, or the last.
fn end_of_cluster(sources: &[Source<'_>], rows: Range<usize>, left: usize) -> Result<usize> {
    let bytes = |end: usize| -> Result<usize> {
        let mut sum = 0;
        for (node, column) in sources {
            sum += ClusterBuffer::bytes_of(node, column, rows.start..end)?;
        }
        Ok(sum)
    };
    if bytes(rows.end)? < left {
        return Ok(rows.end);
    }
    let (mut low, mut high) = (rows.start + 1, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if bytes(middle)? >= left {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

/// ROOT's setting for RNTuples: ZSTD, level 5.
pub(crate) const USUAL: Compression = Compression { algorithm: Algorithm::Zstd, level: 5 };
