//! Columns of a source as a stream of Arrow: record batches of bounded memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::select::Query;
use crate::error::{Error, Result, caught};
use crate::read::Steps;
use crate::tree::Stepping;

/// Record batches of a query's columns, each read when it is asked for. Created by [`Query::record_batches`].
///
/// It is a [`RecordBatchReader`], so that Arrow's C stream interface can hand it on.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use arrow_array::RecordBatchReader;
/// use sapwood::query::Query;
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let query = Query::new(&tree).column(tree.branch("Jet_pt")?.id).cut("nJet > 2")?;
/// let steps = query.steps(0..tree.entries, 64 << 20)?;
/// let batches = query.record_batches(&["pt"], steps)?;
/// assert_eq!(batches.schema().field(0).name(), "pt");
/// let rows: usize = batches.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
/// assert!(rows > 0 && (rows as u64) < tree.entries);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordBatches {
    query: Query,
    schema: SchemaRef,
    steps: Steps,
    has_failed: bool,
    _stepping: Stepping,
}

impl Query {
    /// The Arrow schema of the columns that were asked for as they are, under `names`, one for each.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) naming a column whose type depends on the values.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let schema = Query::new(&tree).column(tree.branch("nJet")?.id).arrow_schema(&["n"])?;
    /// assert_eq!(schema.field(0).data_type().to_string(), "UInt32");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn arrow_schema(&self, names: &[impl AsRef<str>]) -> Result<Schema> {
        if names.len() != self.plain.len() {
            let error = Error::mismatch("a stream needs a name for each column");
            return Err(error.wanted(self.plain.len() as u64, names.len() as u64));
        }
        let fields = self.plain.iter().zip(names).map(|(&id, name)| {
            let kind = self.source.declared(id)?;
            kind.arrow_field(name.as_ref())
        });
        Ok(Schema::new(fields.collect::<Result<Vec<_>>>()?))
    }

    /// Steps over some entries, in which the columns take about so many bytes once inflated; at least one entry each.
    ///
    /// # Errors
    ///
    /// What reading the list of clusters reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let query = Query::new(&tree).column(tree.branch("nJet")?.id);
    /// assert_eq!(query.steps(0..tree.entries, 64 << 20)?.next(), Some(0..10));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn steps(&self, entries: Range<u64>, bytes: u64) -> Result<Steps> {
        let ids: Vec<usize> = self.plain.iter().chain(&self.needed).copied().collect();
        let borders = self.source.clusters()?.into_iter().map(|cluster| cluster.end).collect();
        Ok(Steps::new(entries, bytes / self.source.entry_bytes(&ids).max(1), borders))
    }

    /// The columns that were asked for as they are, under `names`, as record batches: one for each step in which
    /// entries pass the cut.
    ///
    /// # Errors
    ///
    /// Those of [`arrow_schema`](Self::arrow_schema).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let query = Query::new(&tree).column(tree.branch("nJet")?.id);
    /// let steps = query.steps(0..tree.entries, 64 << 20)?;
    /// let mut batches = query.record_batches(&["n"], steps)?;
    /// assert_eq!(batches.next().transpose()?.map(|batch| batch.num_rows()), Some(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_batches(self, names: &[impl AsRef<str>], steps: Steps) -> Result<RecordBatches> {
        let schema = Arc::new(self.arrow_schema(names)?);
        let _stepping = self.source.stepping();
        Ok(RecordBatches { query: self, schema, steps, has_failed: false, _stepping })
    }
}

impl RecordBatches {
    fn batch(&self, step: Range<u64>) -> Result<RecordBatch, ArrowError> {
        let external = |error: Error| ArrowError::ExternalError(Box::new(error));
        let answer = self.query.read(step).map_err(external)?;
        let arrays = answer.plain.iter().map(|column| column.to_arrow().map_err(external));
        batch_of(&self.schema, arrays.collect::<Result<_, _>>()?, answer.entries.len() as usize)
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_failed {
            let step = self.steps.next()?;
            // The caller may be C: no panic may cross it.
            let batch = caught(|| Ok(self.batch(step)));
            let batch = batch.unwrap_or_else(|fault| Err(ArrowError::ExternalError(Box::new(fault))));
            self.has_failed = batch.is_err();
            if batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0) {
                continue;
            }
            return Some(batch);
        }
        None
    }
}

impl RecordBatchReader for RecordBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Arrays as a batch, if they are of the types that the schema has.
///
/// # Errors
///
/// [`ArrowError::SchemaError`] naming the column that has another type.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array};
/// use arrow_schema::{DataType, Field, Schema};
/// let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
/// let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1]));
/// assert!(sapwood::query::batch_of(&schema, vec![narrow], 1).is_err());
/// ```
pub fn batch_of(schema: &SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
    for (array, field) in arrays.iter().zip(schema.fields()) {
        if array.data_type() != field.data_type() {
            let name = field.name();
            return Err(ArrowError::SchemaError(format!(
                "the values of {name:?} are of type {}, where {} was expected (text that is no UTF-8, or objects of \
                 another class than is declared): leave it out of the stream",
                array.data_type(),
                field.data_type()
            )));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
}
