//! Baskets that are embedded in the tree's own record.

use crate::column::Kind;
use crate::error::{Error, Result};
use crate::object::{find, list_bounds};
use crate::tree::{Tree, Unsealed};

/// Whether entries of basket object `id` had other offsets when they were written: a circular tree moved them.
pub(crate) fn is_displaced(tree: &Tree, id: u32) -> bool {
    let Some(row) = tree.object.table().get(id) else { return false };
    match find(row.kind, "fDisplacement") {
        Some(Kind::List { offsets, .. }) => !list_bounds(row.part, *offsets, row.row).is_empty(),
        _ => false,
    }
}

/// `fFlag` of baskets without offsets that depend on the values: these can be computed (`kGenerateOffsetMap`).
const LEFT_OUT: u32 = 80;

/// Basket object `id` of the tree's record.
pub(crate) fn embedded(tree: &Tree, id: u32) -> Result<Unsealed<'_>> {
    let row = tree.object.table().get(id).ok_or_else(|| Error::malformed("an embedded basket was not decoded"))?;
    let absent = |name: &str| Error::internal(format!("an embedded basket has no {name}"));
    let number = |name: &str| {
        let Some(Kind::Number { buffer, .. }) = find(row.kind, name) else { return Err(absent(name)) };
        let bytes = row.part.bytes(*buffer).get(4 * row.row..).and_then(|bytes| bytes.first_chunk());
        // A negative number means none, as in ROOT.
        Ok(i32::from_ne_bytes(*bytes.ok_or_else(|| absent(name))?).max(0) as u32)
    };
    let ints = |name: &str| match find(row.kind, name) {
        Some(Kind::List { offsets, item, .. }) => match &**item {
            Kind::Number { buffer, .. } => {
                let bounds = list_bounds(row.part, *offsets, row.row);
                row.part.bytes(*buffer).get(4 * bounds.start..4 * bounds.end).ok_or_else(|| absent(name))
            }
            _ => Err(absent(name)),
        },
        _ => Err(absent(name)),
    };
    let Some(Kind::Text { offsets, bytes }) = find(row.kind, "fBuffer") else { return Err(absent("fBuffer")) };
    let buffer = row.part.bytes(*bytes).get(list_bounds(row.part, *offsets, row.row));
    Unsealed::embedded(
        buffer.ok_or_else(|| absent("fBuffer"))?,
        number("fKeylen")?,
        number("fNevBuf")? as usize,
        number("fNevBufSize")? as usize,
        ints("fEntryOffset")?,
        number("fFlag")? >= LEFT_OUT,
    )
}
