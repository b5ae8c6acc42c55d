//! Streams of Arrow whose batches Python makes of columns.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sapwood::query::batch_of;
use sapwood::{Error, caught};

use crate::arrow::STREAM;
use crate::column::Column;
use crate::drop_in_thread::DropInThread;
use crate::errors::run;

/// Batches of columns that an iterator of Python's gives: pairs of a number of rows and a list of columns.
struct Given {
    schema: SchemaRef,
    steps: DropInThread<Py<PyAny>>,
}

impl Given {
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let Some(step) = self.steps.bind(py).try_iter()?.next().transpose()? else { return Ok(None) };
        let (rows, columns): (usize, Vec<Py<Column>>) = step.extract()?;
        let batch = run(py, || {
            let arrays = columns.iter().map(|column| column.get().0.followed()?.to_arrow());
            let arrays = arrays.collect::<sapwood::Result<Vec<_>>>()?;
            batch_of(&self.schema, arrays, rows).map_err(|error| Error::unsupported(error.to_string()))
        })?;
        Ok(Some(batch))
    }
}

impl Iterator for Given {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let cancelled = || Err(Error::new(sapwood::ErrorKind::Cancelled, "python is shutting down"));
        let batch = Python::try_attach(|py| caught(|| Ok(self.next_batch(py)))).unwrap_or_else(cancelled);
        // What Python raised keeps its class and words.
        let batch = batch.map_err(|error| ArrowError::ExternalError(Box::new(error)));
        batch.and_then(|batch| batch.map_err(|error| ArrowError::ExternalError(Box::new(error)))).transpose()
    }
}

impl RecordBatchReader for Given {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The schema of columns under names.
fn schema_of_columns(py: Python<'_>, names: &[String], columns: &[Py<Column>]) -> PyResult<Schema> {
    let fields = names.iter().zip(columns).map(|(name, column)| {
        let column = column.get().0.followed()?;
        Ok(column.kind.arrow_field(name)?.with_data_type(column.to_arrow()?.data_type().clone()))
    });
    Ok(Schema::new(run(py, || fields.collect::<sapwood::Result<Vec<_>>>())?))
}

/// Stream of columns that an iterator gives, for Arrow: `steps` gives pairs of a number of rows and a list of columns,
/// of the types that `columns` have.
#[pyfunction]
pub(crate) fn columns_stream(
    py: Python<'_>,
    names: Vec<String>,
    columns: Vec<Py<Column>>,
    steps: Py<PyAny>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = Arc::new(schema_of_columns(py, &names, &columns)?);
    let given = Given { schema, steps: DropInThread::new(steps) };
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(given)), STREAM)
}
