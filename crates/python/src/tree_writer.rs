//! Trees that are filled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;
use sapwood::column::Number;
use sapwood::write::{BranchKind, BranchSpec, Item, Type, Values};
use sapwood::{Error, ErrorKind};

use crate::errors::{raise, run};
use crate::model::{self, Model, Objects};
use crate::owner::Owner;

/// Takes rows of a tree.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct TreeWriter {
    filling: Mutex<Option<Filling>>,
    owner: Owner,
    /// Rows that were taken, known after the end too.
    taken: AtomicU64,
}

/// A tree that is filled.
struct Filling {
    writer: sapwood::write::TreeWriter,
    /// Values on their way: Python's memory may change as soon as others run. Kept, since fresh memory costs more than
    /// filling it.
    room: Vec<u8>,
}

/// Name, kind (`numbers`, `jagged`, `counter`, `text`, `vector`, `leaves`), type of the numbers or nothing for strings,
/// counter, extents or the depth of a vector, type of objects, range of packed numbers, compression where it is not
/// that of the tree.
pub(crate) type Spec = (
    PyBackedStr,
    PyBackedStr,
    PyBackedStr,
    PyBackedStr,
    Vec<u32>,
    Option<Model>,
    Option<PyBackedStr>,
    Option<PyBackedStr>,
);

/// Name, where the lists of each level end, memory of the values; or objects.
type Given = (PyBackedStr, Vec<PyBuffer<i64>>, PyBuffer<u8>, Option<Objects>);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of using what was closed.
pub(crate) fn closed(words: &'static str) -> PyErr {
    raise(Error::new(ErrorKind::Mismatch, words))
}

impl From<sapwood::write::TreeWriter> for TreeWriter {
    fn from(writer: sapwood::write::TreeWriter) -> Self {
        let filling = Filling { writer, room: Vec::new() };
        Self { filling: Mutex::new(Some(filling)), owner: Owner::default(), taken: AtomicU64::new(0) }
    }
}

#[pymethods]
impl TreeWriter {
    /// Its branches, as they were given, or as they would have been.
    fn branches<'py>(&self, py: Python<'py>) -> PyResult<Vec<SpecOut<'py>>> {
        self.owner.check()?;
        let locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let filling = locked.as_ref().ok_or_else(|| closed("the tree is closed"))?;
        filling.writer.branches().iter().map(|spec| spec_out(py, spec)).collect()
    }

    /// Rows that were taken so far, those that wait included.
    #[getter]
    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Adds rows.
    fn extend(&self, py: Python<'_>, values: Vec<Given>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let _at_work = self.owner.begin();
        let Filling { writer, room } = locked.as_mut().ok_or_else(|| closed("the tree is closed"))?;
        let ends: Vec<Vec<Vec<i64>>> = values
            .iter()
            .map(|(_, levels, ..)| levels.iter().map(|ends| ends.to_vec(py)).collect())
            .collect::<PyResult<_>>()?;
        let levels: Vec<Vec<&[i64]>> = ends.iter().map(|levels| levels.iter().map(Vec::as_slice).collect()).collect();
        room.resize(values.iter().map(|(_, _, memory, _)| memory.item_count()).sum(), 0);
        let mut free = &mut room[..];
        let mut given: Vec<(&str, Values<'_>)> = Vec::with_capacity(values.len());
        let numbers: HashMap<&str, Option<Number>> =
            writer.branches().iter().map(|spec| (&*spec.name, spec.number_type())).collect();
        for ((name, _, memory, objects), levels) in values.iter().zip(&levels) {
            let (bytes, rest) = std::mem::take(&mut free).split_at_mut(memory.item_count());
            free = rest;
            memory.copy_to_slice(py, bytes)?;
            let values = match objects {
                Some(Objects(column)) => Values::objects(column),
                None => Values::from_memory(numbers.get(&**name).copied().flatten(), levels, bytes),
            };
            given.push((&**name, values));
        }
        let done = run(py, || writer.extend(&given));
        self.taken.store(writer.taken(), Ordering::Relaxed);
        room.truncate(LARGEST_ROOM);
        room.shrink_to(LARGEST_ROOM);
        done
    }

    /// Writes the rows that are kept as a cluster of their own.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let filling = locked.as_mut().ok_or_else(|| closed("the tree is closed"))?;
        let _at_work = self.owner.begin();
        run(py, || filling.writer.flush())
    }

    /// Gives up the rows after the first `taken` that are not written.
    fn give_up(&self, py: Python<'_>, taken: u64) -> PyResult<()> {
        self.owner.check()?;
        let taken = py.detach(|| {
            locked(&self.filling).as_mut().map(|filling| {
                filling.writer.give_up(taken);
                filling.writer.taken()
            })
        });
        if let Some(taken) = taken {
            self.taken.store(taken, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Gives the tree up, with all its rows.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        py.detach(|| locked(&self.filling).take().map_or(Ok(()), |filling| filling.writer.discard())).map_err(raise)
    }

    /// Writes the rows that are kept, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        let filling = py.detach(|| locked(&self.filling).take());
        run(py, || filling.map_or(Ok(()), |filling| filling.writer.close()))
    }
}

/// Bytes of memory that are kept from step to step.
const LARGEST_ROOM: usize = 64 << 20;

/// What [`Spec`] is made from, but for the compression.
type SpecOut<'py> = (String, &'static str, &'static str, String, Vec<u32>, Option<Bound<'py, PyAny>>, Option<String>);

fn spec_out<'py>(py: Python<'py>, spec: &BranchSpec) -> PyResult<SpecOut<'py>> {
    let number = spec.number_type().map_or("", Number::numpy_name);
    let (kind, counter, dimensions, objects) = match &spec.kind {
        BranchKind::Numbers(_) => ("numbers", "", spec.dimensions.clone(), None),
        BranchKind::Jagged(_, counter) => ("jagged", &**counter, spec.dimensions.clone(), None),
        BranchKind::Counter(_) => ("counter", "", Vec::new(), None),
        BranchKind::Text => ("text", "", Vec::new(), None),
        BranchKind::Vector(_, depth) => ("vector", "", vec![*depth], None),
        BranchKind::Leaves(class) => {
            ("leaves", "", Vec::new(), Some(model::to_python(py, &Type::Object(Arc::clone(class)))?))
        }
        BranchKind::Object(kind, level) => ("object", "", vec![*level], Some(model::to_python(py, kind)?)),
    };
    let packing = spec.packing.as_deref().map(str::to_owned);
    Ok((spec.name.to_string(), kind, number, counter.to_owned(), dimensions, objects, packing))
}

pub(crate) fn spec(given: &Spec) -> sapwood::Result<BranchSpec> {
    let compression = given.7.as_deref().map(str::parse).transpose()?;
    Ok(BranchSpec { compression, ..kind_of(given)? })
}

fn kind_of((name, kind, number_name, counter, dimensions, objects, packing, _): &Spec) -> sapwood::Result<BranchSpec> {
    if let ("leaves", Some(Model(Type::Object(class)))) = (&**kind, objects) {
        return Ok(BranchSpec::leaves(&**name, Arc::clone(class)));
    }
    if let Some(Model(kind)) = objects {
        let split_level = dimensions.first().copied().unwrap_or(99);
        let kind = BranchKind::Object(kind.clone(), split_level);
        return Ok(BranchSpec::new(&**name, kind));
    }
    let number = || {
        let found = Number::from_numpy_name(number_name);
        found.ok_or_else(|| Error::unsupported(format!("branch {:?}: no leaf holds {:?}", &**name, &**number_name)))
    };
    let spec = match &**kind {
        "numbers" => BranchSpec::number(&**name, number()?),
        "jagged" => BranchSpec::jagged(&**name, number()?, &**counter),
        "counter" => BranchSpec::counter_of(&**name, number()?),
        "vector" => {
            let item = if number_name.is_empty() { Item::Text } else { Item::Number(number()?) };
            return Ok(BranchSpec::vector(&**name, item, dimensions.first().copied().unwrap_or(1)));
        }
        _ => BranchSpec::text(&**name),
    };
    let spec = spec.with_dimensions(dimensions.clone());
    Ok(match packing {
        Some(range) => spec.with_packing(&**range),
        None => spec,
    })
}
