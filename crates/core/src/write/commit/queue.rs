//! Clusters of a tree that many threads fill: in which order they are in it, and which of them are on storage.
//!
//! A cluster has space in the file and a position among the entries before its bytes are written. Only written clusters
//! with no unwritten one before them are part of the tree. Everything here runs under the file's lock in time
//! independent of the number of branches; work per branch is left to the save.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::file::File;
use crate::write::basket::{PlacedBasket, SealedBasket};

/// The finished records of a cluster; only the fields of its keys that depend on the offset are patched later.
#[derive(Debug)]
pub(crate) struct SealedCluster {
    /// Branch by branch.
    pub(crate) baskets: Vec<SealedBasket>,
    /// For each basket its branch, and its first row in the cluster.
    pub(crate) of: Arc<[(u32, u64)]>,
    /// Largest count, or bytes of the longest string, of each branch.
    pub(crate) most: Vec<u64>,
    pub(crate) rows: u64,
    /// Entries of a cluster, if they were measured by its bytes.
    pub(crate) measured: Option<u64>,
    /// Bytes of all baskets.
    pub(crate) bytes: u64,
    pub(crate) origin: Origin,
}

/// Where a cluster was sealed.
#[derive(Debug)]
pub(crate) enum Origin {
    /// By a context of its tree, which reuses the memory of its records.
    Own,
    /// Elsewhere, and all of it is in memory.
    Other,
    /// Elsewhere: its baskets are at these ranges of their file, and only their keys are in memory.
    Stored(File, Vec<Range<u64>>),
}

/// The number of baskets of each branch before a cluster. Computed on first use, by the thread that needs it, outside
/// of locks that others wait for.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The preceding cluster, until the sum is known.
    before: Mutex<Option<Arc<Numbers>>>,
    /// Its own baskets, as [`SealedCluster::of`] has them.
    own: Arc<[(u32, u64)]>,
    sum: OnceLock<Box<[u64]>>,
}

/// Reserved space for a cluster, and its position among the others.
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) slot: u64,
    pub(crate) room: Range<u64>,
    /// Offset of the record of the directory that holds the tree.
    pub(crate) directory: u64,
    numbers: Arc<Numbers>,
}

/// A cluster with reserved space.
#[derive(Debug)]
enum Slot {
    /// A thread is writing it.
    Reserved,
    Written(Written),
    /// Writing it failed.
    Failed(Box<(Reservation, SealedCluster)>),
    /// It was abandoned: it has no entries.
    Void,
}

/// A cluster on storage.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    pub(crate) measured: Option<u64>,
    pub(crate) baskets: Vec<WrittenBasket>,
    pub(crate) most: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct WrittenBasket {
    pub(crate) branch: u32,
    /// Its offset; its first entry counts from the start of its cluster.
    pub(crate) placed: PlacedBasket,
    pub(crate) unsealed_bytes: u64,
}

/// The clusters of one tree, in the order of their entries.
#[derive(Debug)]
pub(crate) struct ClusterQueue {
    slots: VecDeque<Slot>,
    /// Number of the first slot.
    first: u64,
    /// Of the last cluster.
    numbers: Arc<Numbers>,
    /// Clusters that are part of the tree, and not yet of its branches.
    pub(crate) ready: Vec<Written>,
    /// Bytes and entries of all clusters with reserved space.
    pub(crate) reserved: (u64, u64),
    /// Sealed clusters that got no space, to be retried; the first is at the back.
    pub(crate) parked: VecDeque<SealedCluster>,
}

impl Numbers {
    /// The counts before the first cluster of a tree with so many branches: zeros.
    fn start(branches: usize) -> Self {
        Self { sum: OnceLock::from(vec![0; branches].into_boxed_slice()), ..Self::default() }
    }

    fn behind(before: Arc<Self>, own: Arc<[(u32, u64)]>) -> Self {
        Self { before: Mutex::new(Some(before)), own, sum: OnceLock::new() }
    }

    fn before(&self) -> Option<Arc<Self>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Baskets of each branch before this cluster.
    fn sum(&self) -> &[u64] {
        if self.sum.get().is_none() {
            // Go back to a cluster whose sum is known; there are fewer in between than threads.
            let mut chain: Vec<Arc<Self>> = Vec::new();
            let mut at = self.before();
            while let Some(numbers) = at {
                at = if numbers.sum.get().is_some() { None } else { numbers.before() };
                chain.push(numbers);
            }
            let mut chain = chain.into_iter().rev();
            // There is no predecessor only if the sum has become known meanwhile.
            if let Some(known) = chain.next()
                && let Some(sum) = known.sum.get()
            {
                let mut sum = known.with_own(sum);
                for numbers in chain {
                    numbers.know(&sum);
                    sum = numbers.with_own(&sum);
                }
                self.know(&sum);
            }
        }
        self.sum.get().map_or(&[], |sum| sum)
    }

    fn with_own(&self, sum: &[u64]) -> Vec<u64> {
        let mut sum = sum.to_vec();
        for &(branch, _) in &*self.own {
            if let Some(count) = sum.get_mut(branch as usize) {
                *count += 1;
            }
        }
        sum
    }

    fn know(&self, sum: &[u64]) {
        // Another thread may have been faster, with the same sum.
        let _ = self.sum.set(sum.into());
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Reservation {
    /// Patches the fields of the keys that depend on the offset.
    pub(crate) fn patch_locations(&self, cluster: &mut SealedCluster) -> Result<()> {
        let mut numbers = self.numbers.sum().to_vec();
        let mut at = self.room.start;
        for (basket, &(branch, _)) in cluster.baskets.iter_mut().zip(&*cluster.of) {
            let number =
                numbers.get_mut(branch as usize).ok_or_else(|| Error::mismatch("a basket without a branch"))?;
            basket.patch_location(at, self.directory, *number as usize)?;
            *number += 1;
            at += u64::from(basket.nbytes());
        }
        Ok(())
    }

    /// What the tree records about a cluster that was written to its space.
    pub(crate) fn written(&self, cluster: &mut SealedCluster) -> Written {
        let mut seek = self.room.start;
        let baskets = cluster.baskets.iter().zip(&*cluster.of).map(|(basket, &(branch, first_entry))| {
            let nbytes = basket.nbytes();
            let placed = PlacedBasket { seek, nbytes, first_entry };
            let written = WrittenBasket { branch, placed, unsealed_bytes: basket.unsealed_bytes };
            seek += u64::from(nbytes);
            written
        });
        let baskets = baskets.collect();
        Written { rows: cluster.rows, measured: cluster.measured, baskets, most: std::mem::take(&mut cluster.most) }
    }
}

impl ClusterQueue {
    /// No clusters of a tree with so many branches.
    pub(crate) fn new(branches: usize) -> Self {
        Self {
            slots: VecDeque::new(),
            first: 0,
            numbers: Arc::new(Numbers::start(branches)),
            ready: Vec::new(),
            reserved: (0, 0),
            parked: VecDeque::new(),
        }
    }

    /// Reserves a position after all other clusters.
    pub(crate) fn reserve(&mut self, cluster: &SealedCluster, room: Range<u64>, directory: u64) -> Reservation {
        self.numbers = Arc::new(Numbers::behind(Arc::clone(&self.numbers), Arc::clone(&cluster.of)));
        self.slots.push_back(Slot::Reserved);
        self.reserved.0 += cluster.bytes;
        self.reserved.1 += cluster.rows;
        let slot = self.first + self.slots.len() as u64 - 1;
        Reservation { slot, room, directory, numbers: Arc::clone(&self.numbers) }
    }

    /// Notes that a cluster was written.
    pub(crate) fn mark_written(&mut self, reservation: &Reservation, written: Written) {
        self.set_slot(reservation.slot, Slot::Written(written));
    }

    /// Notes that writing a cluster failed: it is kept for another try.
    pub(crate) fn mark_failed(&mut self, reservation: Reservation, cluster: SealedCluster) {
        self.set_slot(reservation.slot, Slot::Failed(Box::new((reservation, cluster))));
    }

    fn set_slot(&mut self, slot: u64, outcome: Slot) {
        if let Some(slot) = slot.checked_sub(self.first).and_then(|index| self.slots.get_mut(index as usize)) {
            *slot = outcome;
        }
    }

    /// Takes a cluster whose write failed, to write it again.
    pub(crate) fn take_failed(&mut self) -> Option<(Reservation, SealedCluster)> {
        let slot = self.slots.iter_mut().find(|slot| matches!(slot, Slot::Failed(_)))?;
        let Slot::Failed(failed) = std::mem::replace(slot, Slot::Reserved) else { return None };
        Some(*failed)
    }

    /// Notes that a cluster can never be written: it has no entries.
    pub(crate) fn mark_void(&mut self, slot: u64) {
        self.set_slot(slot, Slot::Void);
    }

    /// Abandons the clusters whose writes failed; returns their space.
    pub(crate) fn abandon_failed(&mut self) -> Vec<Range<u64>> {
        let mut rooms = Vec::new();
        for slot in &mut self.slots {
            if let Slot::Failed(failed) = slot {
                rooms.push(failed.0.room.clone());
                *slot = Slot::Void;
            }
        }
        rooms
    }

    /// Makes the written clusters with no unwritten one before them part of the tree; returns the rows of each, and
    /// the entries of a cluster, if they were measured.
    pub(crate) fn advance(&mut self) -> (Vec<u64>, Option<u64>) {
        let mut rows = Vec::new();
        let mut measured = None;
        while matches!(self.slots.front(), Some(Slot::Written(_) | Slot::Void)) {
            self.first += 1;
            if let Some(Slot::Written(written)) = self.slots.pop_front() {
                rows.push(written.rows);
                measured = written.measured.or(measured);
                self.ready.push(written);
            }
        }
        (rows, measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_depend_on_which_thread_asks_first() {
        let own: [&[u32]; 4] = [&[0, 0, 1], &[1], &[0, 1, 2], &[2]];
        let wanted = [[0, 0, 0], [2, 1, 0], [2, 2, 0], [3, 3, 1]];
        let made = || {
            let mut chain = vec![Arc::new(Numbers::start(3))];
            for own in own {
                chain.push(Arc::new(Numbers::behind(
                    Arc::clone(&chain[chain.len() - 1]),
                    own.iter().map(|&branch| (branch, 0)).collect(),
                )));
            }
            chain.split_off(1)
        };
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let chain = made();
            for index in order {
                assert_eq!(chain[index].sum(), wanted[index]);
                assert!(chain[index].before().is_none(), "what is known holds nothing");
            }
        }
        let chain = made();
        std::thread::scope(|scope| {
            for (numbers, wanted) in chain.iter().zip(wanted).rev() {
                scope.spawn(move || assert_eq!(numbers.sum(), wanted));
            }
        });
    }
}
