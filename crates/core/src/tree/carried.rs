//! What one step of an iteration carries over to the next: payloads that it cut, inflated.
//!
//! A step of so many entries ends within baskets or pages, unless a cluster ends there. Without this, each of them is
//! read and inflated again for every step that it reaches into: all of them, where steps are smaller than clusters.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many times the budget of its cache a tree or RNTuple may carry over: payloads are larger once inflated.
const TIMES_BUDGET: u64 = 8;

/// What a payload is found by: the offset of its record, and for pages the column, since equal pages of several columns
/// may be stored once.
pub(crate) type PayloadKey = (u64, usize);

/// Inflated payloads: baskets of a tree, or pages of an RNTuple.
pub(crate) struct Carried<T>(Mutex<Held<T>>);

struct Held<T> {
    /// How many iterations there are: without one, nothing is carried over.
    iterations: usize,
    payloads: HashMap<PayloadKey, Payload<T>>,
    bytes: u64,
    /// The first entries of the last steps for which something was carried over: one more than there are iterations, as
    /// the payloads of a step wait until the next one was planned.
    nexts: VecDeque<u64>,
    /// The last of these for which room was made.
    swept: Option<u64>,
}

struct Payload<T> {
    of: T,
    bytes: u64,
    /// The first entry of the step for which it waits.
    next: u64,
}

/// While it lives, reads of its tree or RNTuple carry over what they cut: a basket or page that reaches beyond the last
/// entry that was read stays inflated for the read that goes on there.
///
/// [`Tree::scan`](super::Tree::scan) and other iterations of the engine have one; it is for loops that read step after
/// step by themselves. Each tree and RNTuple carries over at most eight times the budget of its cache (240 MB by
/// default), and nothing where that is 0; what does not fit is read again.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let id = tree.branch("nJet")?.id;
/// let stepping = tree.stepping();
/// let mut jets = 0;
/// for start in (0..tree.entries).step_by(4) {
///     // Its basket is inflated once, for all three steps.
///     let columns = sapwood::read::columns(&tree, &[id], start..tree.entries.min(start + 4))?;
///     jets += columns[0].as_slice::<u32>()?.iter().sum::<u32>();
/// }
/// assert_eq!(stepping.bytes(), 0, "it was read to its end");
/// drop(stepping);
/// assert_eq!(jets, 31);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[must_use = "what is cut is carried over as long as it lives"]
pub struct Stepping(Vec<Arc<dyn Carries>>);

/// What a [`Stepping`] ends.
trait Carries: Send + Sync {
    fn bytes(&self) -> u64;
    fn end(&self);
}

impl<T> Carried<T> {
    /// Whether a payload that is cut should be carried over.
    pub(crate) fn is_wanted(&self) -> bool {
        self.held().iterations > 0
    }

    /// A payload that was carried over.
    pub(crate) fn get(&self, key: PayloadKey) -> Option<T>
    where
        T: Clone,
    {
        self.held().payloads.get(&key).map(|payload| payload.of.clone())
    }

    /// Whether a payload was carried over.
    pub(crate) fn holds(&self, key: PayloadKey) -> bool {
        self.held().payloads.contains_key(&key)
    }

    /// Whether a payload of so many bytes fits, by the `budget` of the cache. `next` is the first entry of the step
    /// that needs it. Where there is no room, what waited for steps before is dropped: they left it out.
    pub(crate) fn has_room(&self, key: PayloadKey, bytes: u64, next: u64, budget: u64) -> bool {
        let mut held = self.held();
        if held.iterations == 0 {
            return false;
        }
        held.turn_to(next);
        let mut passed = Vec::new();
        let mut fits = held.fits(key, bytes, budget);
        if !fits && held.swept.replace(next) != Some(next) {
            passed = held.sweep();
            fits = held.fits(key, bytes, budget);
        }
        drop(held);
        // Memory is given back outside of the lock.
        drop(passed);
        fits
    }

    /// Carries over a payload for which there [is room](Self::has_room), unless other threads took it meanwhile.
    pub(crate) fn carry(&self, key: PayloadKey, of: T, bytes: u64, next: u64, budget: u64) {
        let mut held = self.held();
        if held.iterations == 0 || !held.fits(key, bytes, budget) {
            return;
        }
        let before = held.remove(key);
        held.bytes += bytes;
        held.payloads.insert(key, Payload { of, bytes, next });
        drop(held);
        drop(before);
    }

    /// Drops a payload that was read to its end.
    pub(crate) fn finish(&self, key: PayloadKey) {
        let gone = self.held().remove(key);
        drop(gone);
    }

    fn held(&self) -> MutexGuard<'_, Held<T>> {
        // No panic can leave it inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Carried<T> {
    /// Begins an iteration.
    pub(crate) fn begin(self: &Arc<Self>) -> Stepping {
        self.held().iterations += 1;
        Stepping(vec![Arc::clone(self) as Arc<dyn Carries>])
    }
}

impl<T> Held<T> {
    fn remove(&mut self, key: PayloadKey) -> Option<Payload<T>> {
        let gone = self.payloads.remove(&key)?;
        self.bytes -= gone.bytes;
        Some(gone)
    }

    /// Whether a payload of so many bytes fits, in place of what is there for its key.
    fn fits(&self, key: PayloadKey, bytes: u64, budget: u64) -> bool {
        let known = self.payloads.get(&key).map_or(0, |payload| payload.bytes);
        (self.bytes - known).saturating_add(bytes) <= budget.saturating_mul(TIMES_BUDGET)
    }

    /// Notes for which step payloads are carried over now.
    fn turn_to(&mut self, next: u64) {
        if self.nexts.contains(&next) {
            return;
        }
        self.nexts.push_back(next);
        while self.nexts.len() > self.iterations + 1 {
            self.nexts.pop_front();
        }
    }

    /// Takes out the payloads whose steps are over.
    fn sweep(&mut self) -> Vec<Payload<T>> {
        let nexts = &self.nexts;
        let passed: Vec<_> = self.payloads.extract_if(|_, payload| !nexts.contains(&payload.next)).collect();
        let passed: Vec<_> = passed.into_iter().map(|(_, payload)| payload).collect();
        self.bytes -= passed.iter().map(|payload| payload.bytes).sum::<u64>();
        passed
    }
}

impl<T: Send> Carries for Carried<T> {
    fn bytes(&self) -> u64 {
        self.held().bytes
    }

    fn end(&self) {
        let mut held = self.held();
        held.iterations -= 1;
        let gone = if held.iterations == 0 {
            held.bytes = 0;
            held.nexts.clear();
            held.swept = None;
            std::mem::take(&mut held.payloads)
        } else {
            HashMap::new()
        };
        drop(held);
        drop(gone);
    }
}

impl<T> Default for Carried<T> {
    fn default() -> Self {
        let (payloads, nexts) = (HashMap::new(), VecDeque::new());
        Self(Mutex::new(Held { iterations: 0, payloads, bytes: 0, nexts, swept: None }))
    }
}

impl Stepping {
    /// Bytes of memory that are carried over now.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|of| of.bytes()).sum()
    }

    /// One for all of several trees and RNTuples.
    pub(crate) fn joined(several: impl IntoIterator<Item = Self>) -> Self {
        Self(several.into_iter().flat_map(|mut one| std::mem::take(&mut one.0)).collect())
    }
}

impl Drop for Stepping {
    fn drop(&mut self) {
        self.0.iter().for_each(|of| of.end());
    }
}

impl fmt::Debug for Stepping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stepping")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_step_that_is_over_is_dropped_and_all_at_the_end() {
        let carried = Arc::new(Carried::default());
        let carry = |at, of, bytes, next| {
            let fits = carried.has_room((at, 0), bytes, next, 10);
            if fits {
                carried.carry((at, 0), of, bytes, next, 10);
            }
            fits
        };
        assert!(!carry(1, 'a', 10, 5), "without an iteration nothing is carried over");
        let (first, second) = (carried.begin(), carried.begin());
        assert!(carry(1, 'a', 50, 5) && carry(1, 'b', 40, 5) && carry(2, 'c', 40, 5), "80 bytes in a budget of 10");
        assert!(!carry(3, 'd', 1, 5), "the others are needed next, too");
        carried.finish((2, 0));
        assert!(carry(3, 'd', 1, 10) && carry(4, 'e', 1, 100));
        assert!(!carry(5, 'f', 60, 10), "two iterations, and one step: none is over");
        assert!(carry(5, 'f', 60, 15) && !carry(6, 'g', 60, 15));
        assert_eq!((carried.get((1, 0)), carried.get((3, 0)), carried.get((4, 0))), (None, Some('d'), Some('e')));
        drop(second);
        assert!(carried.holds((5, 0)) && carried.is_wanted());
        drop(Stepping::joined([first]));
        assert!(!carried.holds((5, 0)) && !carried.is_wanted());
    }
}
