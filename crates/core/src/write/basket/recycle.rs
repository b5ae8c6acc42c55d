//! Memory that is reused from cluster to cluster.

use crate::codec::Scratch;
use crate::column::Part;
use crate::idle::Idle;
use crate::write::basket::SealedBasket;

/// Memory for records, and the workspaces of sealing threads.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    records: Idle<Vec<u8>>,
    workspaces: Idle<Workspace>,
}

impl Recycler {
    /// Empty memory for a record.
    pub(crate) fn record(&self) -> Vec<u8> {
        self.records.take().unwrap_or_default()
    }

    /// Memory for up to so many records.
    pub(crate) fn records(&self, most: usize) -> Vec<Vec<u8>> {
        self.records.take_up_to(most)
    }

    /// Takes back the memory of written baskets.
    pub(crate) fn give_back(&self, sealed: Vec<SealedBasket>) {
        let emptied = |basket: SealedBasket| {
            let mut record = basket.record;
            record.clear();
            record
        };
        self.records.put(sealed.into_iter().rev().map(emptied));
    }

    /// Runs `work` with a workspace.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        self.workspaces.with(Workspace::default, work)
    }
}

/// The workspace that a sealing thread keeps between baskets.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) codec: Scratch,
    /// Entries before compression.
    pub(crate) payload: Vec<u8>,
    /// Values on their way to entries.
    pub(crate) part: Part,
}
