//! RNTuples that are filled.

use std::sync::{Mutex, PoisonError, RwLock};

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;
use pyo3::types::{PyList, PyTuple};
use sapwood::Error;
use sapwood::column::{Field, Kind, ListOf, Number};
use sapwood::memory::Memory;
use sapwood::read::Column;
use sapwood::write::FieldSpec;

use crate::column::kind;
use crate::errors::{raise, run};
use crate::model::{Model, Objects};
use crate::owner::Owner;
use crate::tree_writer::{closed, locked};

/// Takes rows of an RNTuple.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct NTupleWriter {
    writer: Mutex<Option<sapwood::write::NTupleWriter>>,
    owner: Owner,
}

/// Name, type as nested tuples, rows, buffers in the order of their numbers; of a field of a declared type `typed` and
/// its values instead.
pub(crate) type Given<'py> = (PyBackedStr, Bound<'py, PyTuple>, usize, Vec<PyBuffer<u8>>);

impl From<sapwood::write::NTupleWriter> for NTupleWriter {
    fn from(writer: sapwood::write::NTupleWriter) -> Self {
        Self { writer: Mutex::new(Some(writer)), owner: Owner::default() }
    }
}

#[pymethods]
impl NTupleWriter {
    /// Rows that were taken so far, those that wait included.
    fn taken(&self, py: Python<'_>) -> PyResult<u64> {
        self.owner.check()?;
        let locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        locked.as_ref().map(sapwood::write::NTupleWriter::taken).ok_or_else(|| closed("the RNTuple is closed"))
    }

    /// Adds rows.
    fn extend(&self, py: Python<'_>, values: Vec<Given<'_>>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let _at_work = self.owner.begin();
        let writer = locked.as_mut().ok_or_else(|| closed("the RNTuple is closed"))?;
        let given = taken_over(py, &values, writer.memory())?;
        run(py, || {
            let columns = columns_of(given, writer.fields())?;
            writer.extend(&columns)
        })
    }

    /// Names of the fields, and their types as nested tuples.
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        self.owner.check()?;
        let locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let writer = locked.as_ref().ok_or_else(|| closed("the RNTuple is closed"))?;
        writer.fields().iter().map(|field| Ok((field.name.to_string(), kind(py, &field.kind)?))).collect()
    }

    /// Adds fields, of which the rows so far have no values.
    fn add_fields(&self, py: Python<'_>, fields: Vec<GivenField<'_>>) -> PyResult<()> {
        let fields = fields.iter().map(spec_of).collect::<PyResult<Vec<_>>>()?;
        self.owner.check()?;
        let mut locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let _at_work = self.owner.begin();
        let writer = locked.as_mut().ok_or_else(|| closed("the RNTuple is closed"))?;
        run(py, || writer.add_fields(fields))
    }

    /// Writes what waits as a cluster of its own.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let _at_work = self.owner.begin();
        let writer = locked.as_mut().ok_or_else(|| closed("the RNTuple is closed"))?;
        run(py, || writer.flush())
    }

    /// Gives up the rows of the last call that are not written, and tells how many these are; `taken` were there before
    /// the call.
    fn give_up(&self, py: Python<'_>, taken: u64) -> PyResult<u64> {
        self.owner.check()?;
        Ok(py.detach(|| locked(&self.writer).as_mut().map_or(0, |writer| writer.give_up(taken))))
    }

    /// Gives up what waits, and ends.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        py.detach(|| locked(&self.writer).take().map_or(Ok(()), sapwood::write::NTupleWriter::discard)).map_err(raise)
    }

    /// Writes what waits, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        let writer = py.detach(|| locked(&self.writer).take());
        run(py, || writer.map_or(Ok(()), sapwood::write::NTupleWriter::close))
    }
}

/// A copy of Python's memory.
fn copied(py: Python<'_>, buffer: &PyBuffer<u8>, memory: &Memory) -> PyResult<Bytes> {
    let mut copy = memory.take(buffer.item_count());
    buffer.copy_to_slice(py, &mut copy)?;
    Ok(memory.lend(copy))
}

/// Values of some fields, in memory that Python does not change.
pub(crate) fn taken_over<'v>(
    py: Python<'_>,
    values: &'v [Given<'_>],
    memory: &Memory,
) -> PyResult<Vec<(&'v str, Values)>> {
    let one = |(name, kind, rows, buffers): &'v Given<'_>| {
        let buffers = buffers.iter().map(|buffer| copied(py, buffer, memory)).collect::<PyResult<Vec<_>>>()?;
        Ok(match typed(kind)? {
            Some(values) => (&**name, Values::Typed(values.extract::<Objects>()?.0)),
            None => (&**name, Values::Plain(Column::from_buffers(kind_of(kind)?, *rows, buffers))),
        })
    };
    values.iter().map(one).collect()
}

/// The values as columns.
pub(crate) fn columns_of<'v>(
    values: Vec<(&'v str, Values)>,
    fields: &[FieldSpec],
) -> sapwood::Result<Vec<(&'v str, Column)>> {
    let one = |(name, values): (&'v str, Values)| match values {
        Values::Plain(column) => Ok((name, column)),
        Values::Typed(values) => match fields.iter().find(|field| *field.name == *name) {
            Some(field) => Ok((name, field.values(values)?)),
            None => Err(Error::not_found(format!("there is no field {name:?}"))),
        },
    };
    values.into_iter().map(one).collect()
}

/// Values of a field.
pub(crate) enum Values {
    Plain(Column),
    /// Of the type that the field was declared with.
    Typed(sapwood::write::Column),
}

/// What follows the word `typed`: a type, or its values.
fn typed<'py>(of: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let sort: PyBackedStr = of.get_item(0)?.extract()?;
    if &*sort == "typed" { of.get_item(1).map(Some) } else { Ok(None) }
}

/// Name of a field, its type as nested tuples, and its compression if that is not the one of the RNTuple.
pub(crate) type GivenField<'py> = (PyBackedStr, Bound<'py, PyTuple>, Option<PyBackedStr>);

/// The field that is meant.
pub(crate) fn spec_of((name, of, compression): &GivenField<'_>) -> PyResult<FieldSpec> {
    let mut field = match typed(of)? {
        Some(kind) => FieldSpec::of_type(&**name, &kind.extract::<Model>()?.0).map_err(raise)?,
        None => FieldSpec::new(&**name, kind_of(of)?),
    };
    field.compression = compression.as_deref().map(str::parse).transpose().map_err(raise)?;
    Ok(field)
}

/// An RNTuple that many threads fill.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct ParallelNTupleWriter(RwLock<Option<sapwood::write::ParallelNTupleWriter>>);

impl From<sapwood::write::ParallelNTupleWriter> for ParallelNTupleWriter {
    fn from(writer: sapwood::write::ParallelNTupleWriter) -> Self {
        Self(RwLock::new(Some(writer)))
    }
}

impl ParallelNTupleWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&sapwood::write::ParallelNTupleWriter) -> T + Send,
    ) -> PyResult<T> {
        py.detach(|| self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work))
            .ok_or_else(|| closed("the RNTuple is closed"))
    }
}

#[pymethods]
impl ParallelNTupleWriter {
    /// A writer for one thread.
    fn context(&self, py: Python<'_>) -> PyResult<NTupleWriter> {
        self.with(py, |writer| writer.context().into())
    }

    /// Brings numbered units of work.
    fn numbered(&self, py: Python<'_>) -> PyResult<NumberedNTupleContext> {
        self.with(py, |writer| NumberedNTupleContext(Mutex::new(Some(writer.numbered()))))
    }

    /// Entries of the committed clusters.
    fn entries(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, sapwood::write::ParallelNTupleWriter::entries)?.map_err(raise)
    }

    /// Makes what is committed visible; gives the entries that are there then.
    fn save(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, sapwood::write::ParallelNTupleWriter::save)?.map_err(raise)
    }

    /// Ends the RNTuple.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let close = || {
            let writer = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
            writer.map_or(Ok(()), sapwood::write::ParallelNTupleWriter::close)
        };
        py.detach(close).map_err(raise)
    }
}

/// Brings numbered units of work of an RNTuple.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct NumberedNTupleContext(Mutex<Option<sapwood::write::NumberedNTupleContext>>);

#[pymethods]
impl NumberedNTupleContext {
    /// Begins a unit.
    fn unit(&self, py: Python<'_>, number: u64) -> PyResult<NTupleWriter> {
        let unit = py.detach(|| locked(&self.0).as_mut().map(|context| context.unit(number)));
        unit.ok_or_else(|| closed("the context is closed"))?.map(Into::into).map_err(raise)
    }

    /// Brings no more.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(locked(&self.0).take()));
    }
}

/// A type from nested tuples, as `sapwood._read.layout` has them.
pub(crate) fn kind_of(of: &Bound<'_, PyTuple>) -> PyResult<Kind> {
    let sort: PyBackedStr = of.get_item(0)?.extract()?;
    let inner = |at: usize| -> PyResult<Box<Kind>> { kind_of(of.get_item(at)?.cast::<PyTuple>()?).map(Box::new) };
    let number = |at: usize| -> PyResult<u32> { of.get_item(at)?.extract() };
    Ok(match &*sort {
        "number" => {
            let name: PyBackedStr = of.get_item(2)?.extract()?;
            let found = Number::from_numpy_name(&name);
            let found = found.ok_or_else(|| raise(Error::unsupported(format!("there is no number type {name}"))))?;
            Kind::Number { buffer: number(1)?, number: found }
        }
        "text" => Kind::Text { offsets: number(1)?, bytes: number(2)? },
        "opaque" => {
            let class: String = of.get_item(3)?.extract()?;
            Kind::Opaque { offsets: number(1)?, bytes: number(2)?, class: class.into() }
        }
        "list" => {
            let means: PyBackedStr = of.get_item(2)?.extract()?;
            let means = match &*means {
                "set" => ListOf::Set,
                "map" => ListOf::Map,
                _ => ListOf::Sequence,
            };
            Kind::List { offsets: number(1)?, of: means, item: inner(3)? }
        }
        "fixed" => Kind::Fixed { len: of.get_item(1)?.extract()?, item: inner(2)? },
        "record" => {
            let class: PyBackedStr = of.get_item(1)?.extract()?;
            let listed = of.get_item(2)?;
            let mut fields = Vec::new();
            for row in listed.cast::<PyList>()?.iter() {
                let (name, base, kind): (PyBackedStr, bool, Bound<'_, PyTuple>) = row.extract()?;
                fields.push(Field { name: (&*name).into(), kind: kind_of(&kind)?, base });
            }
            Kind::Record { class: (&*class).into(), fields }
        }
        "oneof" => {
            let listed = of.get_item(2)?;
            let listed = listed.cast::<PyList>()?.iter();
            let kinds = listed.map(|kind| kind_of(kind.cast::<PyTuple>()?)).collect::<PyResult<Vec<_>>>()?;
            Kind::OneOf { tags: number(1)?, of: kinds }
        }
        other => return Err(raise(Error::unsupported(format!("values of sort {other} cannot be written")))),
    })
}
