//! Puts units of work in the order of their numbers, no matter which finishes first.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::PoisonError;

use crate::error::{Error, ErrorKind, Result};
use crate::write::commit::sync::{Condvar, Mutex, MutexGuard};

/// Clusters of numbered units of work. A unit's clusters get their positions once all units before it have theirs;
/// until then they are queued, up to a bound on their bytes.
#[derive(Debug)]
pub(crate) struct OrderedUnits<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<C> {
    /// The unit whose clusters get positions now.
    next: u64,
    /// Units that were begun and are not finished.
    units: BTreeMap<u64, Unit<C>>,
    /// Bytes of queued clusters.
    queued_bytes: u64,
    most_bytes: u64,
    /// Open contexts: each may produce units.
    contexts: usize,
    /// Units whose threads are blocked, with the bytes that they want to submit. Some threads may have been woken and
    /// not have run yet.
    blocked: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Unit<C> {
    clusters: VecDeque<(C, u64)>,
    has_ended: bool,
}

/// The answer to a request for a position.
#[derive(Debug)]
pub(crate) enum Granted<R> {
    Place(R),
    /// No position before a save.
    SaveFirst,
}

/// The result of submitting a cluster.
#[derive(Debug)]
pub(crate) enum Submitted<C, R> {
    /// It has its position, or is queued for it.
    Taken(Drained<C, R>),
    /// Handed back: write the clusters that got positions, then submit it again.
    After(C, Drained<C, R>),
    /// Handed back: no open context can produce the unit that it depends on, or the tree was closed.
    Refused(C, Error),
}

/// A cluster that got its position, for the calling thread to write, and what follows it. One at a time: a thread with
/// an unwritten position must not wait for threads that wait until everything is written.
#[derive(Debug)]
pub(crate) struct Drained<C, R> {
    pub(crate) placed: Option<(C, R)>,
    /// Or why the next cluster got no position: it stays queued.
    pub(crate) next: Result<Next>,
}

/// What follows a cluster that got its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// No cluster may get a position now.
    Nothing,
    /// There may be another: call again.
    More,
    /// A cluster that needs a save first.
    AfterSave,
}

impl<C> State<C> {
    fn drain<R>(&mut self, mut place: impl FnMut(&C) -> Result<Granted<R>>) -> Drained<C, R> {
        while let Some(unit) = self.units.get_mut(&self.next) {
            if let Some((cluster, bytes)) = unit.clusters.pop_front() {
                let next = match place(&cluster) {
                    Ok(Granted::Place(room)) => {
                        self.queued_bytes -= bytes;
                        return Drained { placed: Some((cluster, room)), next: Ok(Next::More) };
                    }
                    Ok(Granted::SaveFirst) => Ok(Next::AfterSave),
                    Err(error) => Err(error),
                };
                unit.clusters.push_front((cluster, bytes));
                return Drained { placed: None, next };
            }
            if !unit.has_ended {
                break;
            }
            self.units.remove(&self.next);
            self.next += 1;
        }
        Drained { placed: None, next: Ok(Next::Nothing) }
    }
}

impl<C> OrderedUnits<C> {
    /// Units from 0 on, with at most `most_bytes` queued.
    pub(crate) fn new(most_bytes: u64) -> Self {
        let state = State {
            next: 0,
            units: BTreeMap::new(),
            queued_bytes: 0,
            most_bytes,
            contexts: 0,
            blocked: BTreeMap::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a context that may produce units.
    pub(crate) fn add_context(&self) {
        self.lock().contexts += 1;
    }

    /// Removes a context: it produces no more units.
    pub(crate) fn remove_context(&self) {
        self.lock().contexts -= 1;
        self.changed.notify_all();
    }

    /// Begins a unit.
    ///
    /// # Errors
    ///
    /// [`Exists`](ErrorKind::Exists) where it was begun before.
    pub(crate) fn begin(&self, number: u64) -> Result<()> {
        let mut state = self.lock();
        if number == u64::MAX {
            return Err(Error::limit("the number of a unit is too large", u64::MAX - 1, number));
        }
        if number < state.next || state.units.contains_key(&number) {
            return Err(Error::new(ErrorKind::Exists, format!("unit {number} was begun before")));
        }
        state.units.insert(number, Unit { clusters: VecDeque::new(), has_ended: false });
        Ok(())
    }

    /// Submits a cluster to a unit that was begun. Blocks while too many bytes are queued and other contexts can
    /// produce what they depend on.
    ///
    pub(crate) fn submit<R>(
        &self,
        number: u64,
        cluster: C,
        bytes: u64,
        mut place: impl FnMut(&C) -> Result<Granted<R>>,
    ) -> Submitted<C, R> {
        let mut state = self.lock();
        loop {
            if state.units.get(&number).is_none_or(|unit| unit.has_ended) {
                return Submitted::Refused(cluster, Error::mismatch("the tree is closed"));
            }
            let fits = state.queued_bytes == 0 || state.queued_bytes + bytes <= state.most_bytes;
            if state.next == number || fits {
                break;
            }
            // A cluster whose turn it was may have got no position because a save or storage failed: try it again.
            let before = state.next;
            let drained = state.drain(&mut place);
            if state.next != before {
                self.changed.notify_all();
            }
            if drained.placed.is_some() || !matches!(drained.next, Ok(Next::Nothing)) {
                drop(state);
                self.changed.notify_all();
                return Submitted::After(cluster, drained);
            }
            if state.next == number || state.queued_bytes == 0 {
                continue;
            }
            let goes_on = state
                .blocked
                .iter()
                .any(|(&unit, &bytes)| unit == state.next || state.queued_bytes + bytes <= state.most_bytes);
            if state.blocked.len() + 1 >= state.contexts && !goes_on {
                let words =
                    format!("unit {number} is blocked on unit {}, which no open context can produce", state.next);
                // Wake the others: this context may be closed.
                self.changed.notify_all();
                return Submitted::Refused(cluster, Error::mismatch(words));
            }
            state.blocked.insert(number, bytes);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.blocked.remove(&number);
        }
        state.queued_bytes += bytes;
        if let Some(unit) = state.units.get_mut(&number) {
            unit.clusters.push_back((cluster, bytes));
        }
        Submitted::Taken(self.drain_locked(state, place))
    }

    /// Ends a unit; clusters queued behind it get their positions.
    pub(crate) fn end<R>(&self, number: u64, place: impl FnMut(&C) -> Result<Granted<R>>) -> Drained<C, R> {
        let mut state = self.lock();
        if let Some(unit) = state.units.get_mut(&number) {
            unit.has_ended = true;
        }
        self.drain_locked(state, place)
    }

    /// Drops the queued clusters of a unit, which stays open.
    pub(crate) fn discard(&self, number: u64) {
        let mut state = self.lock();
        let Some(unit) = state.units.get_mut(&number) else { return };
        let bytes: u64 = unit.clusters.drain(..).map(|(_, bytes)| bytes).sum();
        state.queued_bytes -= bytes;
    }

    /// Gives positions to queued clusters that may have one.
    pub(crate) fn drain<R>(&self, place: impl FnMut(&C) -> Result<Granted<R>>) -> Drained<C, R> {
        self.drain_locked(self.lock(), place)
    }

    /// The number of queued clusters.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().units.values().map(|unit| unit.clusters.len()).sum()
    }

    /// Skips units that were never begun, once no context can produce them. Returns the skipped numbers; none if
    /// nothing is queued.
    pub(crate) fn skip_missing(&self) -> Option<Range<u64>> {
        let mut state = self.lock();
        let (&first, _) = state.units.first_key_value()?;
        state.units.values_mut().for_each(|unit| unit.has_ended = true);
        Some(std::mem::replace(&mut state.next, first)..first)
    }

    fn drain_locked<R>(
        &self,
        mut state: MutexGuard<'_, State<C>>,
        place: impl FnMut(&C) -> Result<Granted<R>>,
    ) -> Drained<C, R> {
        let drained = state.drain(place);
        drop(state);
        self.changed.notify_all();
        drained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All clusters that get positions now, with their positions.
    fn all(
        units: &OrderedUnits<u32>,
        mut drained: Drained<u32, u32>,
        mut place: impl FnMut(&u32) -> Result<Granted<u32>>,
    ) -> Vec<u32> {
        let mut found = Vec::new();
        loop {
            found.extend(drained.placed.map(|(cluster, place)| cluster * 100 + place));
            match drained.next.unwrap() {
                Next::More => drained = units.drain(&mut place),
                next => {
                    assert_eq!(next, Next::Nothing);
                    return found;
                }
            }
        }
    }

    fn taken<C: std::fmt::Debug, R: std::fmt::Debug>(submitted: Submitted<C, R>) -> Drained<C, R> {
        let Submitted::Taken(drained) = submitted else { panic!("{submitted:?}") };
        drained
    }

    /// Hands out positions 0, 1, 2...
    fn counter() -> impl FnMut(&u32) -> Result<Granted<u32>> {
        let mut next = 0;
        move |_| {
            next += 1;
            Ok(Granted::Place(next - 1))
        }
    }

    #[test]
    fn units_get_their_positions_in_order() {
        let (units, mut place) = (OrderedUnits::new(100), counter());
        units.add_context();
        for unit in 0..3 {
            units.begin(unit).unwrap();
        }
        assert_eq!(units.begin(2).unwrap_err().kind(), ErrorKind::Exists);
        assert!(all(&units, taken(units.submit(2, 7, 10, &mut place)), &mut place).is_empty());
        assert!(all(&units, taken(units.submit(1, 5, 10, &mut place)), &mut place).is_empty());
        assert_eq!(all(&units, taken(units.submit(0, 1, 10, &mut place)), &mut place), [100]);
        assert!(all(&units, units.end(1, &mut place), &mut place).is_empty());
        assert!(all(&units, taken(units.submit(2, 8, 10, &mut place)), &mut place).is_empty());
        assert_eq!(all(&units, units.end(0, &mut place), &mut place), [501, 702, 803]);
        assert_eq!(all(&units, taken(units.submit(2, 9, 10, &mut place)), &mut place), [904]);
        units.discard(2);
        assert!(all(&units, units.end(2, &mut place), &mut place).is_empty());
        assert_eq!(units.begin(1).unwrap_err().kind(), ErrorKind::Exists);
    }

    #[test]
    fn a_unit_blocked_on_one_that_no_context_produces_is_refused() {
        let (units, mut place) = (OrderedUnits::new(15), counter());
        units.add_context();
        units.begin(3).unwrap();
        assert!(all(&units, taken(units.submit(3, 1, 10, &mut place)), &mut place).is_empty());
        let refused = units.submit(3, 2, 10, &mut place);
        assert!(matches!(refused, Submitted::Refused(2, error) if error.kind() == ErrorKind::Mismatch));
        assert_eq!(units.skip_missing(), Some(0..3));
        assert_eq!(all(&units, units.drain(&mut place), &mut place), [100]);
        assert_eq!(units.skip_missing(), None);
    }

    #[test]
    fn a_failed_position_is_retried_by_a_blocked_context() {
        let (units, mut place) = (OrderedUnits::new(15), counter());
        units.add_context();
        (0..3).for_each(|unit| units.begin(unit).unwrap());
        assert!(all(&units, taken(units.submit(1, 1, 10, &mut place)), &mut place).is_empty());
        assert!(units.end(0, |_| Err::<Granted<u32>, _>(Error::mismatch("full"))).next.is_err());
        let Submitted::After(2, drained) = units.submit(2, 2, 10, &mut place) else {
            panic!("the cluster is handed back")
        };
        assert_eq!(all(&units, drained, &mut place), [100]);
        assert!(all(&units, taken(units.submit(2, 2, 10, &mut place)), &mut place).is_empty());
        units.skip_missing();
        assert!(matches!(units.submit(2, 3, 10, &mut place), Submitted::Refused(3, _)), "the tree is closed");
        assert_eq!(units.begin(u64::MAX).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn positions_are_granted_after_a_save() {
        let units = OrderedUnits::new(100);
        units.begin(0).unwrap();
        let drained = taken(units.submit(0, 1, 10, |_| Ok(Granted::<u32>::SaveFirst)));
        assert!(drained.placed.is_none() && drained.next.unwrap() == Next::AfterSave);
        let drained = taken(units.submit(0, 2, 10, |_| Err::<Granted<u32>, _>(Error::mismatch("full"))));
        assert!(drained.placed.is_none() && drained.next.is_err());
        let mut place = counter();
        assert_eq!(all(&units, units.drain(&mut place), &mut place), [100, 201]);
    }

    #[test]
    fn blocked_contexts_continue_when_their_unit_is_next() {
        for most_bytes in [1, 25, 1000] {
            let units = OrderedUnits::new(most_bytes);
            let (placed, next) = (Mutex::new(Vec::new()), Mutex::new(0..50_u64));
            for _ in 0..4 {
                units.add_context();
            }
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let place = |cluster: &u64| {
                            placed.lock().unwrap().push(*cluster);
                            Ok(Granted::Place(()))
                        };
                        loop {
                            let Some(unit) = next.lock().unwrap().next() else { break };
                            units.begin(unit).unwrap();
                            let go_on = |mut drained: Drained<u64, ()>| {
                                while drained.next.unwrap() == Next::More {
                                    drained = units.drain(place);
                                }
                            };
                            for part in 0..3 {
                                let mut cluster = 3 * unit + part;
                                loop {
                                    match units.submit(unit, cluster, 10, place) {
                                        Submitted::Taken(drained) => break go_on(drained),
                                        Submitted::After(back, drained) => {
                                            go_on(drained);
                                            cluster = back;
                                        }
                                        refused => panic!("{refused:?}"),
                                    }
                                }
                            }
                            go_on(units.end(unit, place));
                        }
                        units.remove_context();
                    });
                }
            });
            assert_eq!(*placed.lock().unwrap(), (0..150).collect::<Vec<_>>());
        }
    }
}
