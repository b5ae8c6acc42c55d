//! Rows for training: held, and taken as batches.

use std::sync::Mutex;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sapwood::batch::{self, Field, Input, NumberType};
use sapwood::column::{Kind, ListOf, Number};

use crate::buffer::Buffer;
use crate::column::Column;
use crate::errors::{raise, run};
use crate::sessions::shared;
use crate::tree_writer::locked;

/// Columns, one for each file; the name of a type, if they get another one; a mean and a width.
type Inputs = (Vec<Py<Column>>, Option<String>, Option<(f64, f64)>);
/// Columns side by side, whether these are lists, and how many items they are padded to, with which bytes.
type Fields = (Vec<Inputs>, bool, Option<(usize, Vec<u8>)>);
/// Values, offsets, mask, and how many lists were cut.
type Taken = (Buffer, Option<Buffer>, Option<Buffer>, u64);

/// Rows from which batches are taken.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct BatchRows(batch::Rows);

#[pymethods]
impl BatchRows {
    /// Rows of some fields, in an order if it is given, made on `threads`.
    #[new]
    #[pyo3(signature = (fields, order=None, threads=0))]
    fn new(py: Python<'_>, fields: Vec<Fields>, order: Option<PyBuffer<u32>>, threads: usize) -> PyResult<Self> {
        let fields = fields.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
        let order = order.map(|order| order.to_vec(py)).transpose()?;
        run(py, || batch::Rows::new(&shared(threads), &fields, order)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.memory_bytes()
    }

    /// How many numbers of each column of each field are infinite or none.
    #[getter]
    fn not_finite(&self) -> Vec<Vec<u64>> {
        self.0.not_finite().to_vec()
    }
}

/// Shuffled rows that come in several pieces.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct BatchMixing(Mutex<Option<batch::Mixing>>);

#[pymethods]
impl BatchMixing {
    /// So many rows, in the order of a seed.
    #[new]
    fn new(seed: u64, rows: usize) -> PyResult<Self> {
        batch::Mixing::new(seed, rows).map(|mixing| Self(Mutex::new(Some(mixing)))).map_err(raise)
    }

    /// Adds the next rows, on `threads`.
    #[pyo3(signature = (fields, threads=0))]
    fn add(&self, py: Python<'_>, fields: Vec<Fields>, threads: usize) -> PyResult<()> {
        let fields = fields.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
        run(py, || match locked(&self.0).as_mut() {
            Some(mixing) => mixing.add(&shared(threads), &fields),
            None => Err(ended()),
        })
    }

    /// All rows.
    fn finish(&self, py: Python<'_>) -> PyResult<BatchRows> {
        run(py, || locked(&self.0).take().ok_or_else(ended)?.finish()).map(BatchRows)
    }
}

fn ended() -> sapwood::Error {
    sapwood::Error::mismatch("the rows were handed out already")
}

/// The row at each place of the order of a seed: `uint32`.
#[pyfunction]
pub(crate) fn shuffled_order(py: Python<'_>, seed: u64, rows: u32) -> Buffer {
    let order = py.detach(|| batch::shuffled_order(seed, rows));
    Buffer::of_answer(order.iter().flat_map(|row| row.to_ne_bytes()).collect::<Vec<u8>>().into())
}

/// Takes rows from places `first..last` of each piece; in the order of `mix`, if it is given.
#[pyfunction]
#[pyo3(signature = (pieces, mix=None, threads=0))]
pub(crate) fn take_rows(
    py: Python<'_>,
    pieces: Vec<(Py<BatchRows>, usize, usize)>,
    mix: Option<PyBuffer<u32>>,
    threads: usize,
) -> PyResult<Vec<Taken>> {
    let mix = mix.map(|mix| mix.to_vec(py)).transpose()?;
    let pieces: Vec<_> = pieces.iter().map(|(rows, first, last)| (&rows.get().0, *first..*last)).collect();
    let taken = run(py, || batch::take(&shared(threads), &pieces, mix.as_deref()))?;
    let buffers = |one: batch::Taken| {
        let [offsets, mask] = [one.offsets, one.mask].map(|bytes| bytes.map(Buffer::of_answer));
        (Buffer::of_answer(one.values), offsets, mask, one.cut_lists)
    };
    Ok(taken.into_iter().map(buffers).collect())
}

/// A column of numbers, `width` a row, or of lists of these.
#[pyfunction]
#[pyo3(signature = (values, number, width=1, offsets=None))]
pub(crate) fn column_of(
    py: Python<'_>,
    values: PyBuffer<u8>,
    number: &str,
    width: usize,
    offsets: Option<PyBuffer<i64>>,
) -> PyResult<Column> {
    let number = Number::from_numpy_name(number)
        .ok_or_else(|| PyValueError::new_err(format!("no column holds numbers of the type {number:?}")))?;
    let values = values.to_vec(py)?;
    let items = values.len() / (number.bytes() * width).max(1);
    let mut kind = Kind::Number { buffer: 0, number };
    if width != 1 {
        kind = Kind::Fixed { len: width, item: Box::new(kind) };
    }
    let column = match offsets {
        None => sapwood::read::Column::from_buffers(kind, items, vec![values.into()]),
        Some(offsets) => {
            let offsets = offsets.to_vec(py)?;
            let rows = offsets.len().saturating_sub(1);
            let ends: Vec<u8> = offsets.iter().flat_map(|end| end.to_ne_bytes()).collect();
            let kind = Kind::List { offsets: 1, of: ListOf::Sequence, item: Box::new(kind) };
            sapwood::read::Column::from_buffers(kind, rows, vec![values.into(), ends.into()])
        }
    };
    Ok(Column(column))
}

fn field((inputs, are_lists, pad): Fields) -> PyResult<Field> {
    let inputs = inputs.into_iter().map(input).collect::<PyResult<Vec<_>>>()?;
    if !are_lists {
        return Ok(Field::Numbers(inputs));
    }
    let lists = inputs.into_iter().next().unwrap_or_default();
    Ok(match pad {
        None => Field::Lists(lists),
        Some((width, fill)) => Field::Padded { lists, width, fill },
    })
}

fn input((pieces, to, scale): Inputs) -> PyResult<Input> {
    let to = match to.as_deref() {
        None => NumberType::AsStored,
        Some("float16") => NumberType::F16,
        Some("bfloat16") => NumberType::BF16,
        Some("float32") => NumberType::F32,
        Some("float64") => NumberType::F64,
        Some(other) => return Err(PyValueError::new_err(format!("batches hold no numbers of the type {other:?}"))),
    };
    Ok(Input { pieces: pieces.iter().map(|column| column.get().0.clone()).collect(), to, scale })
}
