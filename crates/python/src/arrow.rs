//! Arrow's C interface: columns as arrays, trees as streams of batches. The capsules share the memory.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sapwood::Error;
use sapwood::column::Kind;

use crate::errors::{caught, raise, run};
use crate::steps::Steps;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

fn refused(error: &ArrowError) -> PyErr {
    raise(Error::unsupported(error.to_string()))
}

/// A type as a schema capsule.
pub(crate) fn schema_of<'py>(py: Python<'py>, kind: &Kind) -> PyResult<Bound<'py, PyCapsule>> {
    let field = kind.arrow_field("").map_err(raise)?;
    capsule_of(py, &field)
}

fn capsule_of<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(field).map_err(|error| refused(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A column as a schema capsule and an array capsule.
pub(crate) fn array_of<'py>(
    py: Python<'py>,
    column: &sapwood::read::Column,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let followed = run(py, || column.followed())?;
    let array = run(py, || followed.to_arrow())?;
    let named = followed.kind.arrow_field("").map_err(raise)?;
    let field = named.with_data_type(array.data_type().clone());
    let data = FFI_ArrowArray::new(&array.to_data());
    Ok((capsule_of(py, &field)?, PyCapsule::new_with_value(py, data, ARRAY)?))
}

/// What a stream of Arrow is read from.
pub(crate) enum Source {
    /// Branches.
    Tree(Arc<sapwood::tree::Tree>),
    /// Fields.
    NTuple(Arc<sapwood::ntuple::NTuple>),
}

impl Source {
    /// The schema of some branches or fields under names.
    pub(crate) fn schema(&self, ids: &[usize], names: &[String]) -> sapwood::Result<Schema> {
        let fields = ids.iter().zip(names).map(|(&id, name)| {
            let kind = match self {
                Self::Tree(tree) => sapwood::read::declared(&tree.interpretation(id)?.kind, tree.registry())?,
                Self::NTuple(ntuple) => {
                    let kind = ntuple.kind(id)?;
                    if kind.has_pointers() { sapwood::read::declared(&kind, &*ntuple.classes()?)? } else { kind }
                }
            };
            kind.arrow_field(name)
        });
        Ok(Schema::new(fields.collect::<sapwood::Result<Vec<_>>>()?))
    }

    fn columns(&self, ids: &[usize], entries: Range<u64>) -> sapwood::Result<Vec<sapwood::read::Column>> {
        match self {
            Self::Tree(tree) => sapwood::read::columns(tree, ids, entries),
            Self::NTuple(ntuple) => sapwood::ntuple::columns(ntuple, ids, entries),
        }
    }
}

/// A schema as a capsule.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| refused(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Batches of a tree or RNTuple, each read when it is asked for.
pub(crate) struct Batches {
    pub(crate) source: Source,
    pub(crate) ids: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) steps: Steps,
    /// Whether Python reads the file, in threads of the engine: then a batch must not be awaited while Python's lock is
    /// held.
    pub(crate) by_python: bool,
}

impl Batches {
    fn batch(&self, step: Range<u64>) -> Result<RecordBatch, ArrowError> {
        let rows = (step.end - step.start) as usize;
        let external = |error: Error| ArrowError::ExternalError(Box::new(error));
        let columns = self.source.columns(&self.ids, step).map_err(external)?;
        let arrays = columns.iter().map(|column| column.to_arrow().map_err(external)).collect::<Result<_, _>>()?;
        batch_of(&self.schema, arrays, rows)
    }
}

/// Arrays as a batch, if they are of the types that the schema has.
pub(crate) fn batch_of(schema: &SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
    for (array, field) in arrays.iter().zip(schema.fields()) {
        if array.data_type() != field.data_type() {
            let name = field.name();
            return Err(ArrowError::SchemaError(format!(
                "the values of {name:?} are of type {}, where {} was expected (text that is no UTF-8, or objects of another \
                 class than is declared): leave it out of the stream",
                array.data_type(),
                field.data_type()
            )));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.steps.next()?;
        // The caller is C: no panic may cross it.
        let batch = || caught(|| Ok(self.batch(step)));
        let batch = match self.by_python {
            true => Python::try_attach(|py| py.detach(batch))
                .unwrap_or_else(|| Err(Error::new(sapwood::ErrorKind::Cancelled, "python is shutting down"))),
            false => batch(),
        };
        Some(batch.unwrap_or_else(|fault| Err(ArrowError::ExternalError(Box::new(fault)))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Batches as a stream capsule.
pub(crate) fn stream_capsule(py: Python<'_>, batches: Batches) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
}
