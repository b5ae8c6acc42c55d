//! Arrow's C interface: columns as arrays, trees as streams of batches. The capsules share the memory.

use std::ffi::CStr;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sapwood::column::Kind;
use sapwood::query::{Query, RecordBatches, Source};
use sapwood::read::Steps;
use sapwood::{Error, ErrorKind, interrupt};

use crate::errors::{raise, run};
use crate::interrupt::{is_main_thread, is_stopped};

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

/// The columns of a tree or RNTuple.
pub(crate) fn plain(source: impl Into<Source>, ids: &[usize]) -> Query {
    ids.iter().fold(Query::new(source), |query, &id| query.column(id))
}

/// The schema of some branches or fields under names.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, query: &Query, names: &[String]) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = run(py, || query.arrow_schema(names))?;
    let schema = FFI_ArrowSchema::try_from(&schema).map_err(|error| refused(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Ends a wait once Ctrl-C was pressed, or the thread's work is not wanted any more. What reads the stream makes an
/// error of its own of that.
fn pressed() -> sapwood::Result<()> {
    if is_stopped() {
        return Err(Error::new(ErrorKind::Cancelled, "its result is not needed any more"));
    }
    // A thread that waits for another one than the main thread may hold Python's lock.
    let is_pressed = |py: Python<'_>| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            // The reader makes another error of this one: Python raises Ctrl-C as soon as it runs again.
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
            }
            true
        }
    };
    let heard = is_main_thread() && Python::try_attach(is_pressed).unwrap_or(true);
    if heard { Err(Error::new(ErrorKind::Cancelled, "ended by Ctrl-C")) } else { Ok(()) }
}

/// Batches of a tree or RNTuple that Python reads in threads of the engine: a batch must not be awaited while Python's
/// lock is held.
struct Unlocked(RecordBatches);

impl Iterator for Unlocked {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let closing =
            || ArrowError::ExternalError(Box::new(Error::new(ErrorKind::Cancelled, "python is shutting down")));
        Python::try_attach(|py| py.detach(|| self.0.next())).unwrap_or_else(|| Some(Err(closing())))
    }
}

/// Batches, the wait for which Ctrl-C ends.
struct Heeding<B>(B);

impl<B: Iterator> Iterator for Heeding<B> {
    type Item = B::Item;

    fn next(&mut self) -> Option<Self::Item> {
        interrupt::heeding(pressed, || self.0.next())
    }
}

impl<B: RecordBatchReader> RecordBatchReader for Heeding<B> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

impl RecordBatchReader for Unlocked {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

/// Some branches or fields under names as a stream capsule: a batch for each step. `by_python` says that Python reads
/// the file.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    query: Query,
    names: &[String],
    steps: Steps,
    by_python: bool,
) -> PyResult<Bound<'py, PyCapsule>> {
    let batches = run(py, || query.record_batches(names, steps))?;
    let batches: Box<dyn RecordBatchReader + Send> =
        if by_python { Box::new(Heeding(Unlocked(batches))) } else { Box::new(Heeding(batches)) };
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}
