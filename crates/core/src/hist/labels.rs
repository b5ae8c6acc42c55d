//! Labels of bins.

use std::collections::HashMap;
use std::sync::Arc;

/// Labels in the order in which they came, each with its bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) list: Vec<(Arc<[u8]>, i64)>,
    pub(super) bins: HashMap<Arc<[u8]>, i64>,
    pub(super) names: HashMap<i64, usize>,
}

impl Labels {
    pub(super) fn push(&mut self, label: Arc<[u8]>, bin: i64) {
        self.bins.entry(Arc::clone(&label)).or_insert(bin);
        self.names.entry(bin).or_insert(self.list.len());
        self.list.push((label, bin));
    }
}
