//! READING: which baskets, in which order, and from their bytes to columns.
//!
//! A scan is cut into windows of baskets that belong to the same entries. While one window is decoded, the bytes of the
//! next are in flight. Sizes are determined in order (from entries, from headers, or by decoding); any free thread
//! fills each piece of the result in its final position.

pub mod arrow;
mod basket_search;
mod cell;
mod column;
mod declared;
mod decode;
mod embedded;
mod entry_offsets;
mod follow;
mod groups;
mod in_flight;
mod joined;
mod largest_count;
mod reader;
mod row_prefetch;
mod row_source;
pub(crate) use embedded::{embedded, is_displaced};
pub(crate) use entry_offsets::{has_offsets, needs_offsets};
pub(crate) use largest_count::{counters, largest_count};
mod pipeline;
mod plan;
mod raw_basket;
mod scan;
pub(crate) mod selection;
mod steps;
mod task;
mod windows;
mod workspaces;

use crate::error::{Error, Result};
pub use crate::progress::Progress;
use crate::tree::{BranchId, Tree};
pub use cell::{Cell, Cells};
pub use column::Column;
pub use declared::declared;
pub(crate) use follow::items;
pub(crate) use groups::{GROUP_UNPACKED_BYTES, Groups, group_bytes, pool_for};
pub(crate) use in_flight::{InFlight, Origin};
pub(crate) use joined::Joined;
pub use plan::Plan;
pub use raw_basket::RawBasket;
pub use reader::Reader;
pub(crate) use reader::needed;
pub(crate) use row_source::{RowSource, Spot};
pub use selection::Selection;
pub use steps::Steps;
pub(crate) use windows::{Windows, is_ahead};
pub(crate) use workspaces::Workspaces;

/// Reads columns of a tree: branches `ids`, for the entries of a range or of a [`Selection`].
///
/// Only baskets that hold wanted entries are read, each once. This is a [`Plan`] that is carried out at once.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) if a branch lacks some of the entries; what decoding reports otherwise.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let ids = [tree.branch("Jet_pt")?.id, tree.branch("Jet_eta")?.id];
/// let columns = sapwood::read::columns(&tree, &ids, 0..tree.entries)?;
/// let (pt, eta): (&[f32], &[f32]) = (columns[0].as_slice()?, columns[1].as_slice()?);
/// assert_eq!(pt.len(), eta.len());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn columns(
    tree: &Tree,
    ids: &[BranchId],
    entries: impl TryInto<Selection, Error: Into<Error>>,
) -> Result<Vec<Column>> {
    Plan::new(tree, ids, entries)?.columns()
}
