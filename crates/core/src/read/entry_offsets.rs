//! Whether the baskets of a branch hold the offsets of their entries.
//!
//! ROOT asks the branch (`fEntryOffsetLen`) and not the basket. Source: `TBasket::ReadBasketBuffers`.

use super::embedded;
use crate::tree::{Basket, BasketBytes, Branch, Form, Leaf, Tree};

/// Whether baskets of this branch need the offsets of their entries, by its type; `None` if that is unknown.
pub(crate) fn needs_offsets(tree: &Tree, branch: &Branch) -> Option<bool> {
    if is_of_numbers(branch) {
        return Some(false);
    }
    let found = tree.interpretation(branch.id).ok()?;
    let is_fixed = matches!(found.form, Form::Rows | Form::RowsOrNothing) && found.program.fixed_bytes().is_some();
    // Objects of one length have offsets, too, if their branch declares them.
    Some(!is_fixed || branch.entry_offset_len > 0)
}

/// Whether the baskets of this branch hold the offsets of their entries; `None` without entries, and if they cannot
/// be read.
pub(crate) fn has_offsets(tree: &Tree, branch: &Branch) -> Option<bool> {
    let first = branch.baskets().iter().find(|basket| !basket.entries.is_empty())?;
    // Then ROOT reads them.
    if branch.entry_offset_len > 0 {
        return Some(true);
    }
    if needs_offsets(tree, branch) == Some(false) {
        return Some(false);
    }
    match first.bytes {
        BasketBytes::Stored { seek, nbytes } => {
            let head = tree.file().read_raw(&[seek..seek.saturating_add(u64::from(nbytes.min(HEAD_BYTES)))]).ok()?;
            let basket = Basket::read_head(head.first()?, nbytes.into(), &tree.file().options().limits).ok()?;
            Some(basket.has_offsets() || basket.offsets_left_out)
        }
        BasketBytes::Embedded(id) => Some(embedded(tree, id).ok()?.fixed_bytes().is_none()),
    }
}

/// Bytes that hold the header of a basket.
const HEAD_BYTES: u32 = 1024;

/// Whether a branch has plain leaves alone, of numbers that nothing counts.
fn is_of_numbers(branch: &Branch) -> bool {
    let is_number = |leaf: &Leaf| leaf.count.is_none() && (leaf.number().is_some() || is_packed(leaf));
    branch.element.is_none()
        && branch.object_class.is_none()
        && !branch.leaves.is_empty()
        && branch.leaves.iter().all(is_number)
}

fn is_packed(leaf: &Leaf) -> bool {
    matches!(&*leaf.class, "TLeafF16" | "TLeafD32")
}
