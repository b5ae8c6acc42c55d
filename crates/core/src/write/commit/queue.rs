//! Clusters of a tree that many threads fill: in which order they are in it, and which of them are on storage.
//!
//! A cluster has room in the file, and a place among the entries, before its bytes are written. Of what is written only the clusters
//! without a gap before them are part of the tree. What is done here is done under the file's lock, and takes the same time for any
//! number of branches; what is in proportion to branches waits for a save.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::file::File;
use crate::write::basket::{PlacedBasket, SealedBasket};

/// A cluster as on storage, but for the words in its keys that its place decides.
#[derive(Debug)]
pub(crate) struct SealedCluster {
    /// Branch by branch.
    pub(crate) baskets: Vec<SealedBasket>,
    /// For each basket its branch, and its first row in the cluster.
    pub(crate) of: Arc<[(u32, u64)]>,
    /// Largest count, or bytes of the longest string, of each branch.
    pub(crate) most: Vec<u64>,
    pub(crate) rows: u64,
    /// Bytes of all baskets.
    pub(crate) bytes: u64,
    pub(crate) origin: Origin,
}

/// Who sealed a cluster.
#[derive(Debug)]
pub(crate) enum Origin {
    /// A context of its tree, which uses the memory of its records again.
    Own,
    /// Somebody else.
    Other,
    /// Somebody else: its baskets stand here in their file, and only their keys are in memory.
    Stored(File, Vec<Range<u64>>),
}

/// How many baskets of each branch stand before a cluster. The sum is made when somebody asks, by whoever does, without a lock that
/// others wait for.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The cluster before, until the sum is known.
    before: Mutex<Option<Arc<Numbers>>>,
    /// Its own baskets, as [`SealedCluster::of`] has them.
    own: Arc<[(u32, u64)]>,
    sum: OnceLock<Box<[u64]>>,
}

/// Room for a cluster, and its place among the others.
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) slot: u64,
    pub(crate) room: Range<u64>,
    /// Place of the record of the directory that holds the tree.
    pub(crate) directory: u64,
    numbers: Arc<Numbers>,
}

/// A cluster that has room.
#[derive(Debug)]
enum Slot {
    /// Somebody writes it.
    Reserved,
    Written(Written),
    /// Storage did not take it.
    Failed(Box<(Reservation, SealedCluster)>),
    /// It was given up: it has no entries.
    Void,
}

/// A cluster on storage.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    pub(crate) baskets: Vec<WrittenBasket>,
    pub(crate) most: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct WrittenBasket {
    pub(crate) branch: u32,
    /// Where it is; its first entry counts from the start of its cluster.
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
    /// Bytes and entries of all that have room.
    pub(crate) reserved: (u64, u64),
}

impl Numbers {
    /// What the first cluster of a tree with so many branches stands behind.
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
            // Back to a cluster whose sum is known; those between are fewer than there are threads.
            let mut chain: Vec<Arc<Self>> = Vec::new();
            let mut at = self.before();
            while let Some(numbers) = at {
                at = if numbers.sum.get().is_some() { None } else { numbers.before() };
                chain.push(numbers);
            }
            let mut chain = chain.into_iter().rev();
            // Nothing stands before only where the sum has become known meanwhile.
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
    /// Writes the words that the place decides into the keys.
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

    /// What the tree has to know of a cluster that stands in its room.
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
        Written { rows: cluster.rows, baskets, most: std::mem::take(&mut cluster.most) }
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
        }
    }

    /// A place for a cluster behind all others.
    pub(crate) fn reserve(&mut self, cluster: &SealedCluster, room: Range<u64>, directory: u64) -> Reservation {
        self.numbers = Arc::new(Numbers::behind(Arc::clone(&self.numbers), Arc::clone(&cluster.of)));
        self.slots.push_back(Slot::Reserved);
        self.reserved.0 += cluster.bytes;
        self.reserved.1 += cluster.rows;
        let slot = self.first + self.slots.len() as u64 - 1;
        Reservation { slot, room, directory, numbers: Arc::clone(&self.numbers) }
    }

    /// A cluster stands where it should.
    pub(crate) fn mark_written(&mut self, reservation: &Reservation, written: Written) {
        self.set_slot(reservation.slot, Slot::Written(written));
    }

    /// Storage did not take a cluster: it waits for another try.
    pub(crate) fn mark_failed(&mut self, reservation: Reservation, cluster: SealedCluster) {
        self.set_slot(reservation.slot, Slot::Failed(Box::new((reservation, cluster))));
    }

    fn set_slot(&mut self, slot: u64, outcome: Slot) {
        if let Some(slot) = slot.checked_sub(self.first).and_then(|index| self.slots.get_mut(index as usize)) {
            *slot = outcome;
        }
    }

    /// A cluster that storage did not take before, to be written again.
    pub(crate) fn take_failed(&mut self) -> Option<(Reservation, SealedCluster)> {
        let slot = self.slots.iter_mut().find(|slot| matches!(slot, Slot::Failed(_)))?;
        let Slot::Failed(failed) = std::mem::replace(slot, Slot::Reserved) else { return None };
        Some(*failed)
    }

    /// A cluster can never be written: it has no entries.
    pub(crate) fn mark_void(&mut self, slot: u64) {
        self.set_slot(slot, Slot::Void);
    }

    /// Gives up what storage did not take; gives its rooms.
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

    /// Clusters that nothing stands before any more become part of the tree: gives the rows of each.
    pub(crate) fn advance(&mut self) -> Vec<u64> {
        let mut rows = Vec::new();
        while matches!(self.slots.front(), Some(Slot::Written(_) | Slot::Void)) {
            self.first += 1;
            if let Some(Slot::Written(written)) = self.slots.pop_front() {
                rows.push(written.rows);
                self.ready.push(written);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_whoever_asks_first() {
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
