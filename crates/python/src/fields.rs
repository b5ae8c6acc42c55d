//! The fields of an RNTuple as rows for Python, like those of branches.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::ntuple::{NTuple, Role};

use crate::branches::BasketRow;
use crate::errors::{raise, run};

/// The fields of an RNTuple that users see, depth first: those that have a name. Late ones are last in the schema.
pub(crate) struct Shown {
    /// Their numbers in the engine.
    ids: Vec<usize>,
    /// For each of them the one above.
    above: Vec<Option<usize>>,
}

impl Shown {
    pub(crate) fn of(ntuple: &NTuple) -> Self {
        let mut shown = Self { ids: Vec::new(), above: Vec::new() };
        let mut todo: Vec<(usize, Option<usize>)> = ntuple.top().iter().rev().map(|&id| (id, None)).collect();
        while let Some((id, parent)) = todo.pop() {
            let Some(field) = ntuple.fields().get(id) else { continue };
            let mut here = parent;
            if field.is_named {
                here = Some(shown.ids.len());
                shown.ids.push(id);
                shown.above.push(parent);
            }
            // Not every entry has a value of a variant's types.
            if field.role != Role::Variant {
                todo.extend(field.children.iter().rev().map(|&child| (child, here)));
            }
        }
        shown
    }

    /// The engine's number of a field.
    pub(crate) fn id(&self, shown: usize) -> Option<usize> {
        self.ids.get(shown).copied()
    }

    /// The number that Python has for a field of the engine.
    pub(crate) fn shown(&self, id: usize) -> Option<usize> {
        self.ids.iter().position(|&known| known == id)
    }

    /// The names of all fields, and the field above each.
    pub(crate) fn outline(&self, ntuple: &NTuple) -> (Vec<String>, Vec<Option<usize>>) {
        let name = |&id: &usize| {
            let path = ntuple.fields().get(id).map_or("", |field| &field.path);
            path.rsplit('.').next().unwrap_or(path).to_owned()
        };
        (self.ids.iter().map(name).collect(), self.above.clone())
    }
}

/// The properties of a field as a dictionary, by the names for branches.
pub(crate) fn field<'py>(py: Python<'py>, ntuple: &NTuple, id: usize) -> PyResult<Bound<'py, PyDict>> {
    let field = ntuple.fields().get(id).ok_or_else(|| raise(sapwood::Error::not_found("no such field")))?;
    let bytes = run(py, || ntuple.field_bytes(id))?;
    let row = PyDict::new(py);
    row.set_item("path", &*field.path)?;
    row.set_item("title", &*field.description)?;
    row.set_item("class", "RField")?;
    row.set_item("type_name", &*field.type_name)?;
    row.set_item("entries", ntuple.entries)?;
    row.set_item("has_data", true)?;
    row.set_item("tot_bytes", bytes.inflated)?;
    row.set_item("zip_bytes", bytes.stored)?;
    row.set_item("compress", bytes.compression)?;
    row.set_item("file_name", "")?;
    row.set_item("class_name", (!field.type_name.is_empty()).then_some(&*field.type_name))?;
    for absent in ["parent_name", "clones_name", "element_kind", "element_id", "class_version", "count_branch"] {
        row.set_item(absent, py.None())?;
    }
    row.set_item("children", Vec::<usize>::new())?;
    row.set_item("leaves", Vec::<usize>::new())?;
    Ok(row)
}

/// Pages of a field's first column.
pub(crate) fn pages(ntuple: &NTuple, id: usize) -> sapwood::Result<Vec<BasketRow>> {
    let pages = ntuple.first_pages(id)?;
    Ok(pages.into_iter().map(|(entries, at, bytes)| (entries.start, entries.end, Some(at), bytes)).collect())
}
