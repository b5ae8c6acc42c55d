//! Clusters and baskets as options ask for them.

use sapwood::write::{Every, TreeOptions};

/// A tree in clusters of so many compressed bytes, or of so many entries, and baskets of so many bytes before
/// compression; what is not given is as usual.
pub(crate) fn clusters(bytes: Option<u64>, entries: Option<u64>, basket_bytes: Option<usize>) -> TreeOptions {
    let usual = TreeOptions::default();
    let auto_flush = match (bytes, entries) {
        (_, Some(entries)) => Every::Entries(entries),
        (Some(bytes), _) => Every::Bytes(bytes),
        _ => usual.auto_flush,
    };
    TreeOptions { auto_flush, basket_bytes: basket_bytes.unwrap_or(usual.basket_bytes), ..usual }
}
