//! Memory that one cluster leaves to the next: fresh memory costs more than filling it.

use crate::codec::Scratch;
use crate::write::basket::SealedBasket;
use std::sync::{Mutex, PoisonError};

/// Memory for records, and what threads that seal keep.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    records: Mutex<Vec<Vec<u8>>>,
    workspaces: Mutex<Vec<Workspace>>,
}

impl Recycler {
    /// Memory for a record: empty.
    pub(crate) fn record(&self) -> Vec<u8> {
        taken(&self.records)
    }

    /// Memory for so many records, as far as there is any: who asks once for all stands in nobody's way.
    pub(crate) fn records(&self, most: usize) -> Vec<Vec<u8>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let left = records.len().saturating_sub(most);
        records.split_off(left)
    }

    /// Takes back the memory of what was written.
    pub(crate) fn give_back(&self, sealed: Vec<SealedBasket>) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        for mut record in sealed.into_iter().map(|basket| basket.record).rev() {
            record.clear();
            records.push(record);
        }
    }

    /// Works with what a thread needs, which is made only where all that there is is in use.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = taken(&self.workspaces);
        let done = work(&mut workspace);
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        done
    }
}

fn taken<T: Default>(kept: &Mutex<Vec<T>>) -> T {
    kept.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
}

/// What a thread that seals keeps between baskets.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) codec: Scratch,
    /// Entries before compression.
    pub(crate) payload: Vec<u8>,
}
