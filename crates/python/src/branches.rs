//! The branches of a tree as rows for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::tree::{BasketBytes, Tree};

/// A basket, or a page: (first entry, one past the last, seek, bytes); `None` for a basket in the tree's record.
pub(crate) type BasketRow = (u64, u64, Option<u64>, u64);

/// Friends that are stored with a tree: name, name of the tree, path of the file.
pub(crate) fn friends(tree: &Tree) -> Vec<(&str, &str, &str)> {
    tree.friends.iter().map(|friend| (&*friend.name, &*friend.tree, &*friend.file)).collect()
}

/// The record of a branch as a dictionary.
pub(crate) fn branch<'py>(py: Python<'py>, tree: &Tree, id: usize) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    let Some(branch) = tree.branches().get(id) else { return Ok(row) };
    row.set_item("path", &*branch.path)?;
    row.set_item("title", &*branch.title)?;
    row.set_item("class", &*branch.class)?;
    row.set_item("children", branch.children.clone())?;
    row.set_item("entries", branch.entries)?;
    row.set_item("has_data", branch.has_data())?;
    row.set_item("tot_bytes", branch.tot_bytes)?;
    row.set_item("zip_bytes", branch.zip_bytes)?;
    row.set_item("compress", branch.compress)?;
    row.set_item("file_name", &*branch.file_name)?;
    let element = branch.element.as_ref();
    row.set_item("class_name", element.map(|element| &*element.class_name).or(branch.object_class.as_deref()))?;
    row.set_item("parent_name", element.map(|element| &*element.parent_name))?;
    row.set_item("clones_name", element.map(|element| &*element.clones_name))?;
    row.set_item("element_kind", element.map(|element| element.kind))?;
    row.set_item("element_id", element.map(|element| element.id))?;
    row.set_item("class_version", element.map(|element| element.class_version))?;
    let of_leaf = branch.leaves.first().and_then(|leaf| leaf.count).map(|(counter, _)| counter);
    let counter = element.and_then(|element| element.count_branch).or(of_leaf);
    row.set_item("count_branch", counter.filter(|&counter| counter != id))?;
    let leaves: Vec<_> = branch
        .leaves
        .iter()
        .map(|leaf| (&*leaf.name, &*leaf.class, &*leaf.title, leaf.len, leaf.is_unsigned, leaf.count.is_some()))
        .collect();
    row.set_item("leaves", leaves)?;
    Ok(row)
}

/// Baskets of a branch.
pub(crate) fn baskets(tree: &Tree, id: usize) -> Vec<BasketRow> {
    let Some(branch) = tree.branches().get(id) else { return Vec::new() };
    let rows = branch.baskets().iter().map(|basket| match basket.bytes {
        BasketBytes::Stored { seek, nbytes } => {
            (basket.entries.start, basket.entries.end, Some(sapwood::io::own_offset(seek)), u64::from(nbytes))
        }
        BasketBytes::Embedded(_) => (basket.entries.start, basket.entries.end, None, 0),
    });
    rows.collect()
}
