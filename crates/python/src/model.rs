//! Types and values of objects that are written.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sapwood::column::Number;
use sapwood::schema::{Mapping, Sequence};
use sapwood::write::{Class, Column, Type};

use crate::errors::run;

/// A type: the word for its kind, and what it is made of.
pub(crate) struct Model(pub(crate) Type);

/// Values of a type: `numbers`, `lists` or `record`, and what they are made of.
pub(crate) struct Objects(pub(crate) Column);

impl<'py> FromPyObject<'_, 'py> for Model {
    type Error = PyErr;

    fn extract(model: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        type_of(&model).map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for Objects {
    type Error = PyErr;

    fn extract(column: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        column_of(&column).map(Self)
    }
}

fn type_of(model: &Bound<'_, PyAny>) -> PyResult<Type> {
    let model = model.cast::<PyTuple>()?;
    let word: String = model.get_item(0)?.extract()?;
    let numbers = |index: usize| {
        let name: String = model.get_item(index)?.extract()?;
        Number::from_numpy_name(&name).ok_or_else(|| PyValueError::new_err(format!("no member holds {name:?}")))
    };
    Ok(match word.as_str() {
        "number" => Type::Number(numbers(1)?),
        "array" => Type::Array(numbers(1)?, model.get_item(2)?.extract()?),
        "text" => Type::Text,
        "TString" => Type::RootText,
        "counted" => Type::Counted(numbers(1)?, model.get_item(2)?.extract::<String>()?.into()),
        "TArray" => Type::RootArray(numbers(1)?),
        "TClonesArray" => Type::clones(class_of(&model.get_item(1)?)?),
        "object" => Type::Object(class_of(&model.get_item(1)?)?),
        "pointer" => Type::Pointer(class_of(&model.get_item(1)?)?),
        other => match (Sequence::from_name(other), Mapping::from_name(other)) {
            (Some(kind), _) => Type::sequence(kind, type_of(&model.get_item(1)?)?),
            (_, Some(kind)) => Type::mapping(kind, type_of(&model.get_item(1)?)?, type_of(&model.get_item(2)?)?),
            _ => return Err(PyValueError::new_err(format!("{other:?} is no type"))),
        },
    })
}

fn class_of(class: &Bound<'_, PyAny>) -> PyResult<Arc<Class>> {
    let (name, version, members): (String, Option<i16>, Bound<'_, PyList>) = class.extract()?;
    if let Some(known) = Class::of_root().into_iter().find(|known| *known.name == name) {
        return Ok(known);
    }
    let mut class = Class::new(name);
    class.version = version;
    for member in members {
        let (name, kind, is_base, was): (String, Bound<'_, PyAny>, bool, Vec<String>) = member.extract()?;
        class = match (type_of(&kind)?, is_base) {
            (Type::Object(base), true) => class.base(base),
            (kind, _) => class.member(name, kind),
        };
        class = was.iter().fold(class, |class, was| class.was(was));
    }
    Ok(Arc::new(class))
}

/// A type as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, kind: &Type) -> PyResult<Bound<'py, PyAny>> {
    let tuple = match kind {
        Type::Number(number) => ("number", number.numpy_name()).into_pyobject(py)?.into_any(),
        Type::Array(number, extents) => ("array", number.numpy_name(), extents.clone()).into_pyobject(py)?.into_any(),
        Type::Text => ("text",).into_pyobject(py)?.into_any(),
        Type::RootText => ("TString",).into_pyobject(py)?.into_any(),
        Type::Sequence(kind, item) => (kind.name(), to_python(py, item)?).into_pyobject(py)?.into_any(),
        Type::Mapping(kind, key, value) => {
            (kind.name(), to_python(py, key)?, to_python(py, value)?).into_pyobject(py)?.into_any()
        }
        Type::Object(class) => ("object", class_to_python(py, class)?).into_pyobject(py)?.into_any(),
        Type::Pointer(class) => ("pointer", class_to_python(py, class)?).into_pyobject(py)?.into_any(),
        Type::Counted(number, counter) => ("counted", number.numpy_name(), &**counter).into_pyobject(py)?.into_any(),
        Type::RootArray(number) => ("TArray", number.numpy_name()).into_pyobject(py)?.into_any(),
        Type::Clones(clones) => ("TClonesArray", class_to_python(py, &clones.class)?).into_pyobject(py)?.into_any(),
    };
    Ok(tuple)
}

/// The classes of ROOT that new classes can have as bases and members, by name.
pub(crate) fn root_classes(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let classes = PyDict::new(py);
    Class::of_root().iter().try_for_each(|class| classes.set_item(&*class.name, class_to_python(py, class)?))?;
    Ok(classes)
}

fn class_to_python<'py>(py: Python<'py>, class: &Class) -> PyResult<Bound<'py, PyAny>> {
    let members: Vec<_> = class
        .members
        .iter()
        .map(|member| {
            let was: Vec<&str> = member.was.iter().map(|was| &**was).collect();
            Ok((&*member.name, to_python(py, &member.kind)?, member.is_base, was))
        })
        .collect::<PyResult<_>>()?;
    Ok((&*class.name, class.version, members).into_pyobject(py)?.into_any())
}

fn column_of(column: &Bound<'_, PyAny>) -> PyResult<Column> {
    let mut new = nothing();
    refill(&mut new, column)?;
    Ok(new)
}

/// A column of nothing, with no memory.
fn nothing() -> Column {
    Column::Record(0, Vec::new())
}

/// Makes a column one of other values, in the memory that it has: fresh memory costs more than filling it.
pub(crate) fn refill(into: &mut Column, column: &Bound<'_, PyAny>) -> PyResult<()> {
    let column = column.cast::<PyTuple>()?;
    let word: PyBackedStr = column.get_item(0)?.extract()?;
    let old = std::mem::replace(into, nothing());
    *into = match &*word {
        "numbers" => {
            let mut bytes = if let Column::Numbers(_, bytes) = old { bytes } else { Vec::new() };
            fill(&mut bytes, &column.get_item(2)?)?;
            Column::Numbers(column.get_item(1)?.extract()?, bytes)
        }
        "lists" => {
            let (mut ends, mut items) =
                if let Column::Lists(ends, items) = old { (ends, items) } else { (Vec::new(), Box::new(nothing())) };
            fill(&mut ends, &column.get_item(1)?)?;
            refill(&mut items, &column.get_item(2)?)?;
            Column::Lists(ends, items)
        }
        "record" => {
            let mut columns = if let Column::Record(_, columns) = old { columns } else { Vec::new() };
            let members = column.get_item(2)?;
            let members = members.cast::<PyList>()?;
            columns.resize_with(members.len(), nothing);
            columns.iter_mut().zip(members).try_for_each(|(column, member)| refill(column, &member))?;
            Column::Record(column.get_item(1)?.extract()?, columns)
        }
        other => return Err(PyValueError::new_err(format!("{other:?} is no column"))),
    };
    Ok(())
}

fn fill<T: Element + Copy + Default>(into: &mut Vec<T>, memory: &Bound<'_, PyAny>) -> PyResult<()> {
    let buffer = PyBuffer::<T>::get(memory)?;
    into.resize(buffer.item_count(), T::default());
    buffer.copy_to_slice(memory.py(), into)
}

/// Bytes of memory of a column.
pub(crate) fn memory_bytes(column: &Column) -> usize {
    match column {
        Column::Numbers(_, bytes) => bytes.capacity(),
        Column::Lists(ends, items) => 8 * ends.capacity() + memory_bytes(items),
        Column::Record(_, columns) => columns.iter().map(memory_bytes).sum(),
    }
}

/// A column as Python has it.
fn column_to_python<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    let tuple = match column {
        Column::Numbers(width, bytes) => ("numbers", *width, PyBytes::new(py, bytes)).into_pyobject(py)?,
        Column::Lists(ends, items) => {
            let ends: Vec<u8> = ends.iter().flat_map(|end| end.to_ne_bytes()).collect();
            ("lists", PyBytes::new(py, &ends), column_to_python(py, items)?).into_pyobject(py)?
        }
        Column::Record(len, columns) => {
            let columns = columns.iter().map(|column| column_to_python(py, column)).collect::<PyResult<Vec<_>>>()?;
            ("record", *len, columns).into_pyobject(py)?
        }
    };
    Ok(tuple.into_any())
}

/// Entries of a branch as columns of a type, cluster by cluster.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Columns(pub(crate) Mutex<sapwood::entry::Columns>);

#[pymethods]
impl Columns {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = || self.0.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        run(py, next)?.map(|column| column_to_python(py, &column)).transpose()
    }
}
