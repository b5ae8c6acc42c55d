//! Trees that are filled.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;
use pyo3::types::{PyMemoryView, PySlice};
use sapwood::column::Number;
use sapwood::write::{BranchKind, BranchSpec, Column, Foreign, Item, Type, Values};
use sapwood::{Error, ErrorKind};

use crate::errors::{lowered, raise, run};
use crate::model::{self, Model};
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
    /// Objects on their way.
    objects: Vec<Column>,
}

impl Filling {
    /// Bytes of memory that are kept from step to step.
    const LARGEST_ROOM: usize = 64 << 20;
}

/// Python's memory, which may change as soon as others run: it is copied while they do not.
struct Held<'py, 'c> {
    bytes: usize,
    view: Bound<'py, PyMemoryView>,
    /// The copy of a part, which stays in the L2 cache.
    copy: &'c RefCell<Vec<u8>>,
}

impl<'py, 'c> Held<'py, 'c> {
    /// The most bytes of a part: a whole number of all numbers.
    const PART: usize = 128 << 10;

    fn new(memory: &Bound<'py, PyAny>, copy: &'c RefCell<Vec<u8>>) -> PyResult<Self> {
        Ok(Self { bytes: memory.len()?, view: PyMemoryView::from(memory)?, copy })
    }

    /// Copies a range.
    fn copy(&self, range: &Range<usize>, into: &mut Vec<u8>) -> PyResult<()> {
        let py = self.view.py();
        let part = self.view.get_item(PySlice::new(py, range.start as isize, range.end as isize, 1))?;
        let part = PyBuffer::<u8>::get(&part)?;
        into.resize(part.item_count(), 0);
        part.copy_to_slice(py, into)
    }
}

impl fmt::Debug for Held<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Foreign for Held<'_, '_> {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read(&self, range: Range<usize>, into: &mut dyn FnMut(&[u8])) -> sapwood::Result<()> {
        let mut copy = self.copy.borrow_mut();
        for start in range.clone().step_by(Self::PART) {
            let part = start..range.end.min(start + Self::PART);
            self.copy(&part, &mut copy).map_err(|error| lowered(self.view.py(), error))?;
            into(&copy);
        }
        Ok(())
    }
}

/// An exception, of the engine or beside it.
struct Raised(PyErr);

impl From<Error> for Raised {
    fn from(error: Error) -> Self {
        Self(raise(error))
    }
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
type Given<'py> = (PyBackedStr, Vec<PyBuffer<i64>>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of using what was closed.
pub(crate) fn closed(words: &'static str) -> PyErr {
    raise(Error::new(ErrorKind::Mismatch, words))
}

impl From<sapwood::write::TreeWriter> for TreeWriter {
    fn from(writer: sapwood::write::TreeWriter) -> Self {
        let filling = Filling { writer, objects: Vec::new() };
        Self { filling: Mutex::new(Some(filling)), owner: Owner::default(), taken: AtomicU64::new(0) }
    }
}

#[pymethods]
impl TreeWriter {
    /// Its branches, as they were given, or as they would have been.
    fn branches<'py>(&self, py: Python<'py>) -> PyResult<Vec<SpecOut<'py>>> {
        self.owner.check()?;
        let locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Filling { writer, .. } = locked.as_ref().ok_or_else(|| closed("the tree is closed"))?;
        writer.branches().iter().map(|spec| spec_out(py, spec)).collect()
    }

    /// Rows that were taken so far, those that wait included.
    #[getter]
    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Adds rows.
    fn extend(&self, py: Python<'_>, values: Vec<Given<'_>>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let _at_work = self.owner.begin();
        let Filling { writer, objects } = locked.as_mut().ok_or_else(|| closed("the tree is closed"))?;
        // Lists of several branches may have their ends in common.
        let mut ends: HashMap<(*mut c_void, usize), Vec<i64>> = HashMap::new();
        let place = |ends: &PyBuffer<i64>| (ends.buf_ptr(), ends.item_count());
        for level in values.iter().flat_map(|(_, levels, ..)| levels) {
            if let Entry::Vacant(entry) = ends.entry(place(level)) {
                entry.insert(level.to_vec(py)?);
            }
        }
        let levels: Vec<Vec<&[i64]>> =
            values.iter().map(|(_, levels, ..)| levels.iter().map(|level| &*ends[&place(level)]).collect()).collect();
        let numbers: HashMap<&str, Option<Number>> =
            writer.branches().iter().map(|spec| (&*spec.name, spec.number_type())).collect();
        let number_of = |name: &str| numbers.get(name).copied().flatten();
        let copy = RefCell::default();
        let held: Vec<Held<'_, '_>> =
            values.iter().map(|(_, _, memory, _)| Held::new(memory, &copy)).collect::<PyResult<_>>()?;
        // Strings are looked at twice: what they are checked for must not change in between.
        let text = |(name, _, memory, _): &Given<'_>| match number_of(name) {
            Some(_) => Ok(Vec::new()),
            None => PyBuffer::get(memory)?.to_vec(py),
        };
        let texts: Vec<Vec<u8>> = values.iter().map(text).collect::<PyResult<_>>()?;
        let with_objects = values.iter().filter_map(|(_, _, _, objects)| objects.as_ref());
        objects.resize_with(with_objects.clone().count(), || Column::Record(0, Vec::new()));
        objects.iter_mut().zip(with_objects).try_for_each(|(column, values)| model::refill(column, values))?;
        let mut columns = objects.iter();
        let mut given: Vec<(&str, Values<'_>)> = Vec::with_capacity(values.len());
        for ((((name, _, _, has_objects), levels), held), text) in values.iter().zip(&levels).zip(&held).zip(&texts) {
            let values = match (has_objects.as_ref().and_then(|_| columns.next()), number_of(name)) {
                (Some(column), _) => Values::objects(column),
                (None, Some(number)) => Values::from_foreign(number, levels, held),
                (None, None) => Values::from_memory(None, levels, text),
            };
            given.push((&**name, values));
        }
        let done = writer.extend_with(&given, |writer| run(py, || writer.write_full()).map_err(Raised));
        self.taken.store(writer.taken(), Ordering::Relaxed);
        if objects.iter().map(model::memory_bytes).sum::<usize>() > Filling::LARGEST_ROOM {
            objects.clear();
        }
        done.map_err(|Raised(error)| error)
    }

    /// Writes the rows that are kept as a cluster of their own.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        let mut locked = self.filling.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Filling { writer, .. } = locked.as_mut().ok_or_else(|| closed("the tree is closed"))?;
        let _at_work = self.owner.begin();
        run(py, || writer.flush())
    }

    /// Gives up the rows after the first `taken` that are not written.
    fn give_up(&self, py: Python<'_>, taken: u64) -> PyResult<()> {
        self.owner.check()?;
        let taken = py.detach(|| {
            locked(&self.filling).as_mut().map(|Filling { writer, .. }| {
                writer.give_up(taken);
                writer.taken()
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
