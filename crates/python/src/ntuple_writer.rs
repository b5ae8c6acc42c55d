//! RNTuples that are filled.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;
use pyo3::types::{PyList, PyTuple};
use sapwood::Error;
use sapwood::column::{Field, Kind, ListOf, Number};
use sapwood::read::Column;

use crate::errors::{raise, run};
use crate::tree_writer::{closed, locked};

/// Takes rows of an RNTuple.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct NTupleWriter {
    writer: Mutex<Option<sapwood::write::NTupleWriter>>,
}

/// Name, type as nested tuples, rows, buffers in the order of their numbers.
type Given<'py> = (PyBackedStr, Bound<'py, PyTuple>, usize, Vec<PyBuffer<u8>>);

impl From<sapwood::write::NTupleWriter> for NTupleWriter {
    fn from(writer: sapwood::write::NTupleWriter) -> Self {
        Self { writer: Mutex::new(Some(writer)) }
    }
}

#[pymethods]
impl NTupleWriter {
    /// Rows that were taken so far, those that wait included.
    fn taken(&self, py: Python<'_>) -> PyResult<u64> {
        let locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        locked.as_ref().map(sapwood::write::NTupleWriter::taken).ok_or_else(|| closed("the RNTuple is closed"))
    }

    /// Adds rows.
    fn extend(&self, py: Python<'_>, values: Vec<Given<'_>>) -> PyResult<()> {
        let mut given = Vec::with_capacity(values.len());
        for (name, kind, rows, buffers) in &values {
            // Python's memory may change as soon as others run.
            let buffers =
                buffers.iter().map(|buffer| buffer.to_vec(py).map(Bytes::from)).collect::<PyResult<Vec<_>>>()?;
            given.push((&**name, Column::from_buffers(kind_of(kind)?, *rows, buffers)));
        }
        let mut locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let writer = locked.as_mut().ok_or_else(|| closed("the RNTuple is closed"))?;
        run(py, || writer.extend(&given))
    }

    /// Writes what waits as a cluster of its own.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let mut locked = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let writer = locked.as_mut().ok_or_else(|| closed("the RNTuple is closed"))?;
        run(py, || writer.flush())
    }

    /// Writes what waits, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| locked(&self.writer).take().map_or(Ok(()), sapwood::write::NTupleWriter::close)).map_err(raise)
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
