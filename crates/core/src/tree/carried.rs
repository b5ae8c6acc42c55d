//! What one step of an iteration carries over to the next: payloads that it cut, inflated.
//!
//! A step of so many entries ends within baskets or pages, unless a cluster ends there. Without this, each of them is
//! read and inflated again for every step that it reaches into: all of them, where steps are smaller than clusters.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
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
}

struct Payload<T> {
    of: T,
    bytes: u64,
    entries: Range<u64>,
}

/// While it lives, reads of its tree or RNTuple carry over what they cut: a basket or page that reaches beyond the last
/// entry that was read stays inflated for the read that goes on there.
///
/// [`Tree::scan`](super::Tree::scan) and other iterations of the engine have one; it is for loops that read step after
/// step by themselves. At most eight times the budget of the cache is carried over, and nothing where that is 0.
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
/// drop(stepping);
/// assert_eq!(jets, 32);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[must_use = "what is cut is carried over as long as it lives"]
pub struct Stepping(Arc<dyn Carries>);

/// What a [`Stepping`] ends.
trait Carries: Send + Sync {
    fn end(&self);
}

impl<T> Carried<T> {
    /// Whether a payload that is cut should be carried over.
    pub(crate) fn is_wanted(&self) -> bool {
        self.held().iterations > 0
    }

    /// A payload that was carried over.
    pub(crate) fn get(&self, at: PayloadKey) -> Option<T>
    where
        T: Clone,
    {
        self.held().payloads.get(&at).map(|payload| payload.of.clone())
    }

    /// Whether a payload was carried over.
    pub(crate) fn holds(&self, at: PayloadKey) -> bool {
        self.held().payloads.contains_key(&at)
    }

    /// Carries over a payload that has values of these entries, of which entry `next` is the first that was not read.
    /// Where it is more than `budget` of a cache allows, those that nothing goes on with are dropped; if that is not
    /// enough, this one is.
    pub(crate) fn carry(&self, at: PayloadKey, of: T, bytes: u64, entries: Range<u64>, next: u64, budget: u64) {
        let most = budget.saturating_mul(TIMES_BUDGET);
        let mut held = self.held();
        if held.iterations == 0 {
            return;
        }
        held.remove(at);
        if held.bytes.saturating_add(bytes) > most {
            held.payloads.retain(|_, payload| payload.entries.contains(&next));
            held.bytes = held.payloads.values().map(|payload| payload.bytes).sum();
        }
        if held.bytes.saturating_add(bytes) <= most {
            held.bytes += bytes;
            held.payloads.insert(at, Payload { of, bytes, entries });
        }
    }

    /// Drops a payload that was read to its end.
    pub(crate) fn finish(&self, at: PayloadKey) {
        self.held().remove(at);
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
        Stepping(Arc::clone(self) as Arc<dyn Carries>)
    }
}

impl<T> Held<T> {
    fn remove(&mut self, at: PayloadKey) {
        if let Some(gone) = self.payloads.remove(&at) {
            self.bytes -= gone.bytes;
        }
    }
}

impl<T: Send> Carries for Carried<T> {
    fn end(&self) {
        let mut held = self.held();
        held.iterations -= 1;
        if held.iterations == 0 {
            held.payloads = HashMap::new();
            held.bytes = 0;
        }
    }
}

impl<T> Default for Carried<T> {
    fn default() -> Self {
        Self(Mutex::new(Held { iterations: 0, payloads: HashMap::new(), bytes: 0 }))
    }
}

impl Drop for Stepping {
    fn drop(&mut self) {
        self.0.end();
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
    fn what_nothing_goes_on_with_makes_room_and_all_is_dropped_at_the_end() {
        let carried = Arc::new(Carried::default());
        carried.carry((1, 0), 'a', 10, 0..10, 5, 10);
        assert_eq!(carried.get((1, 0)), None, "without an iteration nothing is carried over");
        let (first, second) = (carried.begin(), carried.begin());
        carried.carry((1, 0), 'a', 50, 0..10, 5, 10);
        carried.carry((1, 0), 'b', 40, 0..10, 5, 10);
        carried.carry((2, 0), 'c', 40, 5..15, 9, 10);
        assert_eq!((carried.get((1, 0)), carried.get((2, 0))), (Some('b'), Some('c')), "80 bytes in a budget of 10");
        carried.carry((3, 0), 'd', 1, 5..15, 9, 10);
        assert_eq!(carried.get((3, 0)), None, "the others are needed next, too");
        carried.carry((3, 0), 'd', 1, 10..20, 12, 10);
        assert_eq!((carried.get((1, 0)), carried.get((2, 0)), carried.get((3, 0))), (None, Some('c'), Some('d')));
        carried.finish((2, 0));
        drop(second);
        assert_eq!((carried.get((2, 0)), carried.get((3, 0))), (None, Some('d')));
        drop(first);
        assert!(carried.get((3, 0)).is_none() && !carried.is_wanted());
    }
}
