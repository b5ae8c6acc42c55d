//! Memory that is reused from cluster to cluster: fresh memory costs more than filling it.

use crate::codec::Scratch;
use crate::write::basket::SealedBasket;
use std::sync::{Mutex, PoisonError};

/// Memory for records, and the workspaces of sealing threads.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    records: Mutex<Vec<Vec<u8>>>,
    workspaces: Mutex<Vec<Workspace>>,
}

impl Recycler {
    /// Empty memory for a record.
    pub(crate) fn record(&self) -> Vec<u8> {
        take_or_new(&self.records)
    }

    /// Memory for up to so many records: asking once avoids contention on the lock.
    pub(crate) fn records(&self, most: usize) -> Vec<Vec<u8>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let left = records.len().saturating_sub(most);
        records.split_off(left)
    }

    /// Takes back the memory of written baskets.
    pub(crate) fn give_back(&self, sealed: Vec<SealedBasket>) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        for mut record in sealed.into_iter().map(|basket| basket.record).rev() {
            record.clear();
            records.push(record);
        }
    }

    /// Runs `work` with a workspace; creates one only if all are in use.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = take_or_new(&self.workspaces);
        let done = work(&mut workspace);
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        done
    }
}

fn take_or_new<T: Default>(kept: &Mutex<Vec<T>>) -> T {
    kept.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
}

/// The workspace that a sealing thread keeps between baskets.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) codec: Scratch,
    /// Entries before compression.
    pub(crate) payload: Vec<u8>,
}
