//! Columns of a table in steps, and rows.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;

use super::Table;
use crate::column::Native;
use crate::error::{Error, Result};
use crate::ntuple::NTuple;
use crate::read::{Column, Selection, is_ahead, needed};
use crate::tree::{Needed, Stepping, Tree};

/// Default inflated bytes of a step.
const STEP_BYTES: u64 = 100_000_000;

/// Columns of some entries.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let batch = tree.scan(&["nJet", "Jet_pt"])?.next().expect("a step")?;
/// assert_eq!(batch.column("nJet")?.as_slice::<u32>()?[..3], [2, 3, 5]);
/// assert_eq!(batch.columns().len(), 2);
/// // The same memory for Arrow.
/// assert_eq!(batch.to_arrow()?.num_rows(), 10);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    /// The table's entries that it holds, a row each.
    pub entries: Selection,
    names: Arc<[Arc<str>]>,
    columns: Vec<Column>,
}

/// Reads branches step by step, each of bounded memory: an iterator of [`Batch`]es. Created by [`Table::scan`].
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let mut steps = tree.scan(&["nJet"])?.entries(2..10)?.step_bytes(1);
/// let first = steps.next().expect("a step")?;
/// assert_eq!(first.entries.span(), 2..3);
/// assert_eq!(steps.map(|step| step.map(|step| step.columns()[0].len)).sum::<sapwood::Result<usize>>()?, 7);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let rows = tree.scan(&["nJet"])?.rows();
/// let counts = rows.map(|row| row?.number::<u32>("nJet")).collect::<sapwood::Result<Vec<_>>>()?;
/// assert_eq!(counts[..3], [2, 3, 5]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batches {
    table: Table,
    names: Arc<[Arc<str>]>,
    ids: Vec<usize>,
    entries: Selection,
    /// Rows of them that were read.
    done: u64,
    step_bytes: u64,
    borders: Vec<u64>,
    _stepping: Arc<Stepping>,
}

/// An iterator over the rows of [`Batches`].
#[derive(Clone, Debug)]
pub struct Rows {
    batches: Batches,
    batch: Option<Arc<Batch>>,
    next: usize,
}

/// One entry. It keeps its batch alive.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("row.root");
/// # use sapwood::column::Number;
/// # use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// # let specs = vec![BranchSpec::number("x", Number::F64), BranchSpec::text("name")];
/// # let mut tree = file.tree("t", specs, TreeOptions::default())?;
/// # tree.extend(&[("x", Values::from(&[0.5, 1.5])), ("name", Values::strings(["mu", "e"]))])?;
/// # tree.close()?;
/// # file.close()?;
/// let tree = sapwood::File::open(&path)?.tree("t")?;
/// let row = tree.scan(&["x", "name"])?.rows().nth(1).expect("a row")?;
/// assert_eq!((row.entry(), row.number::<f64>("x")?, row.text("name")?.as_str()), (1, 1.5, "e"));
/// assert_eq!(row.numbers::<f64>("x")?, [1.5]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Row {
    batch: Arc<Batch>,
    index: usize,
    entry: u64,
}

impl Table {
    /// Reads columns by name, step by step.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for unknown names, and what [`kind`](Self::kind) reports for columns
    /// that cannot be decoded.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// for batch in table.scan(&["nJet", "Jet_pt"])?.step_bytes(10 << 20) {
    ///     let batch = batch?;
    ///     println!("{:?}: {} jets", batch.entries, batch.column("Jet_pt")?.as_slice::<f32>()?.len());
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn scan(&self, names: &[&str]) -> Result<Batches> {
        let ids = names.iter().map(|name| self.find(name)).collect::<Result<Vec<_>>>()?;
        ids.iter().try_for_each(|&id| self.stored_kind(id).map(drop))?;
        Ok(Batches {
            table: self.clone(),
            names: names.iter().map(|&name| name.into()).collect(),
            ids,
            entries: Selection::try_from(0..self.entries())?,
            done: 0,
            step_bytes: STEP_BYTES,
            borders: self.clusters()?.iter().map(|cluster| cluster.end).collect(),
            _stepping: Arc::new(self.stepping()),
        })
    }
}

impl NTuple {
    /// Reads fields by name, step by step: [`Table::scan`].
    ///
    /// # Errors
    ///
    /// As [`Table::scan`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("scan-of-ntuple.root");
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
    /// let rows = ntuple.scan(&["x"])?.entries(1..3)?.step_bytes(1).rows();
    /// let found = rows.map(|row| row?.number::<i32>("x")).collect::<sapwood::Result<Vec<_>>>()?;
    /// assert_eq!(found, [2, 3]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn scan(self: &Arc<Self>, names: &[&str]) -> Result<Batches> {
        Table::from(self).scan(names)
    }
}

impl Tree {
    /// Reads branches by name, step by step: [`Table::scan`].
    ///
    /// # Errors
    ///
    /// As [`Table::scan`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// for batch in tree.scan(&["nJet", "Jet_pt"])?.step_bytes(10 << 20) {
    ///     let batch = batch?;
    ///     let pt: &[f32] = batch.column("Jet_pt")?.as_slice()?;
    ///     println!("{:?}: {} jets", batch.entries, pt.len());
    /// }
    /// for row in tree.scan(&["nJet", "Jet_pt"])?.rows() {
    ///     let row = row?;
    ///     let (count, pt): (u32, Vec<f32>) = (row.number("nJet")?, row.numbers("Jet_pt")?);
    ///     assert_eq!(count as usize, pt.len());
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn scan(self: &Arc<Self>, names: &[&str]) -> Result<Batches> {
        Table::from(self).scan(names)
    }
}

impl Batches {
    /// Only these entries: a range, or a [`Selection`].
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a range that ends before it starts.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Selection;
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let mut entries = Vec::new();
    /// for row in tree.scan(&["d"])?.entries(Selection::of_ranges([3..5, 41..42])?)?.rows() {
    ///     entries.push(row?.entry());
    /// }
    /// assert_eq!(entries, [3, 4, 41]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entries(mut self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Self> {
        (self.entries, self.done) = (entries.try_into().map_err(Into::into)?, 0);
        Ok(self)
    }

    /// Sets the approximate inflated bytes of a step, which has at least one entry. Steps end at a cluster boundary if
    /// one fits; a basket that is cut is [carried over](Stepping).
    #[must_use]
    pub fn step_bytes(mut self, bytes: u64) -> Self {
        self.step_bytes = bytes.max(1);
        self
    }

    /// Iterates row by row.
    pub fn rows(self) -> Rows {
        Rows { batches: self, batch: None, next: 0 }
    }

    /// Prefetches the beginning of the next step while this one is used, up to half of the cache's budget. Reads of
    /// RNTuples do not look into the cache.
    fn ask(&self) {
        let Table::Tree(tree) = &self.table else { return };
        let (file, cache) = (tree.file(), tree.cache());
        let next = self.entries.part(self.done..self.step_end());
        if next.is_empty() {
            // Release what no later step uses.
            return cache.turn_to(&[], &[], file.store(), file.options().session.fetcher());
        }
        if !is_ahead(file, cache) {
            return;
        }
        let mut coming: Vec<Needed> = self.ids.iter().flat_map(|&id| needed(tree, id, &next)).collect();
        coming.retain(|basket| !tree.carried().holds((basket.seek, 0)));
        coming.sort_by_key(|basket| basket.entries.start);
        let mut left = cache.budget() / 2;
        let fits = coming.iter().take_while(|basket| {
            let bytes = u64::from(basket.nbytes);
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        coming.truncate(fits.count());
        let windows: Vec<_> = next.ranges().collect();
        cache.turn_to(&windows, &coming, file.store(), file.options().session.fetcher());
    }

    /// One past the last row of the step that begins with the next one.
    fn step_end(&self) -> u64 {
        let entry_bytes = self.table.entry_bytes(&self.ids);
        let rows = self.entries.len();
        let end = self.done.saturating_add((self.step_bytes / entry_bytes.max(1)).max(1));
        let Some(entry) = self.entries.entry(end) else { return rows };
        // The last cluster that ends there or before, if it holds wanted entries of this step.
        let border = self.borders.partition_point(|&border| border <= entry).checked_sub(1);
        let border = border.and_then(|at| self.borders.get(at)).map(|&border| self.entries.before(border));
        border.filter(|&border| border > self.done).unwrap_or(end)
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done >= self.entries.len() {
            return None;
        }
        let end = self.step_end();
        let step = self.entries.part(self.done..end);
        self.done = end;
        let read = self.table.read(&self.ids, &step);
        match read {
            Ok(_) => self.ask(),
            Err(_) => self.done = self.entries.len(),
        }
        Some(read.map(|columns| Batch { entries: step, names: Arc::clone(&self.names), columns }))
    }
}

impl Batch {
    /// A column by its requested name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn column(&self, name: &str) -> Result<&Column> {
        let at = self.names.iter().position(|known| &**known == name);
        at.and_then(|at| self.columns.get(at))
            .ok_or_else(|| Error::not_found(format!("no column {name:?} was asked for")))
    }

    /// All columns, in the requested order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same memory as an Arrow record batch.
    ///
    /// # Errors
    ///
    /// Those of [`followed`](Column::followed) for columns that point to other objects.
    pub fn to_arrow(&self) -> Result<RecordBatch> {
        let columns = self.columns.iter().map(Column::followed).collect::<Result<Vec<_>>>()?;
        let arrays = columns.iter().map(Column::to_arrow).collect::<Result<Vec<_>>>()?;
        let fields = self.names.iter().zip(&columns).zip(&arrays).map(|((name, column), array)| {
            Ok(column.kind.arrow_field(name)?.with_data_type(array.data_type().clone()))
        });
        let schema = Schema::new(fields.collect::<Result<Vec<_>>>()?);
        RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(|error| Error::mismatch("columns are of different lengths").because(error))
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = &self.batch
                && (self.next as u64) < batch.entries.len()
            {
                let index = self.next;
                let entry = batch.entries.entry(index as u64);
                let Some(entry) = entry else { return Some(Err(Error::internal("a row is of no entry"))) };
                self.next += 1;
                return Some(Ok(Row { batch: Arc::clone(batch), index, entry }));
            }
            self.next = 0;
            match self.batches.next()? {
                Ok(batch) => self.batch = Some(Arc::new(batch)),
                Err(error) => {
                    self.batch = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Row {
    /// The table's entry.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The number of a branch with one per entry.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where it holds another type, or not one number.
    pub fn number<T: Native>(&self, name: &str) -> Result<T> {
        match self.numbers(name)?[..] {
            [number] => Ok(number),
            ref others => {
                let message = format!("column {name:?} has no single number an entry");
                Err(Error::mismatch(message).wanted(1, others.len() as u64))
            }
        }
    }

    /// The numbers of a branch: one, an array's, or those of a list.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number); lists of lists are no rows of numbers.
    pub fn numbers<T: Native>(&self, name: &str) -> Result<Vec<T>> {
        self.batch.column(name)?.row_numbers(self.index)
    }

    /// The text of a branch.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where it holds no strings.
    pub fn text(&self, name: &str) -> Result<String> {
        self.batch.column(name)?.row_text(self.index).map_err(|error| error.in_object(name))
    }
}
