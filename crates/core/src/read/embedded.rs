//! Baskets that stand in the tree's own record.

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::object::{find, list_bounds};
use crate::tree::{Tree, Unsealed};

/// Whether entries of basket object `id` stood elsewhere when they were written: a circular tree moved them.
pub(crate) fn is_displaced(tree: &Tree, id: u32) -> bool {
    let Some(row) = tree.object.table().get(id) else { return false };
    match find(row.kind, "fDisplacement") {
        Some(Kind::List { offsets, .. }) => !list_bounds(row.part, *offsets, row.row).is_empty(),
        _ => false,
    }
}

/// Basket object `id` of the tree's record.
pub(crate) fn embedded(tree: &Tree, id: u32) -> Result<Unsealed<'_>> {
    let row = tree.object.table().get(id).ok_or_else(|| Error::malformed("an embedded basket was not decoded"))?;
    let number = |name: &str| match find(row.kind, name) {
        Some(Kind::Number { buffer, .. }) => {
            let bytes = row.part.bytes(*buffer).get(4 * row.row..);
            bytes.and_then(|bytes| bytes.first_chunk()).map_or(0, |chunk| i32::from_ne_bytes(*chunk))
        }
        _ => 0,
    };
    let ints = |name: &str| -> &[u8] {
        match find(row.kind, name) {
            Some(Kind::List { offsets, item, .. }) => match &**item {
                Kind::Number { buffer, .. } => {
                    let bounds = list_bounds(row.part, *offsets, row.row);
                    row.part.bytes(*buffer).get(4 * bounds.start..4 * bounds.end).unwrap_or(&[])
                }
                _ => &[],
            },
            _ => &[],
        }
    };
    let buffer = match find(row.kind, "fBuffer") {
        Some(Kind::Text { offsets, bytes }) => {
            row.part.bytes(*bytes).get(list_bounds(row.part, *offsets, row.row)).unwrap_or(&[])
        }
        _ => &[],
    };
    Unsealed::embedded(
        buffer,
        number("fKeylen").max(0) as u32,
        number("fNevBuf").max(0) as usize,
        number("fNevBufSize").max(0) as usize,
        ints("fEntryOffset"),
    )
}
