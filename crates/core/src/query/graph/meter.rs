//! Rows and seconds of the parts of a graph while it is computed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A part of a graph that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    /// The filter of a place.
    Place(usize),
    Output(usize),
    /// A column that a function computes.
    Function(usize),
    /// A named value, by the number of its expression.
    Value(usize),
}

/// Rows that a part of a graph has met, those of them that it has kept, and the time that it took. The time of other
/// parts that it waited for is theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) met: u64,
    pub(crate) kept: u64,
    pub(crate) time: Duration,
}

impl Measure {
    pub(crate) fn add(&mut self, other: Self) {
        self.met += other.met;
        self.kept += other.kept;
        self.time += other.time;
    }
}

/// Measures of a graph.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    /// Entries that were asked for, and those that statistics did not rule out.
    pub(crate) entries: Measure,
    /// The time of reads, of all threads together.
    pub(crate) reading: Duration,
    spots: HashMap<Spot, Measure>,
}

impl Measures {
    /// The measure of a part; nothing for one that was not needed.
    pub(crate) fn of(&self, spot: Spot) -> Measure {
        self.spots.get(&spot).copied().unwrap_or_default()
    }
}

/// Measures that grow while threads compute.
#[derive(Debug, Default)]
pub(super) struct Meter(Mutex<Measures>);

impl Meter {
    fn with(&self, work: impl FnOnce(&mut Measures)) {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The measures so far, which begin again at nothing.
    pub(super) fn take(&self) -> Measures {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn entries(&self, met: u64, kept: u64) {
        self.with(|measures| measures.entries.add(Measure { met, kept, time: Duration::ZERO }));
    }

    pub(super) fn reading(&self, time: Duration) {
        self.with(|measures| measures.reading += time);
    }

    pub(super) fn add(&self, spot: Spot, measure: Measure) {
        self.with(|measures| measures.spots.entry(spot).or_default().add(measure));
    }
}

/// Measures of one thread, for some rows. They are added to those of the graph when this is dropped.
pub(super) struct Clock<'m> {
    meter: &'m Meter,
    state: RefCell<State>,
}

struct State {
    spots: HashMap<Spot, Measure>,
    /// Parts that are being computed, the innermost last: the time since `last` belongs to that one.
    stack: Vec<Spot>,
    last: Instant,
}

impl State {
    fn turn(&mut self) {
        let now = Instant::now();
        if let Some(spot) = self.stack.last() {
            self.spots.entry(*spot).or_default().time += now - self.last;
        }
        self.last = now;
    }
}

impl<'m> Clock<'m> {
    pub(super) fn new(meter: &'m Meter) -> Self {
        let state = State { spots: HashMap::new(), stack: Vec::new(), last: Instant::now() };
        Self { meter, state: RefCell::new(state) }
    }

    /// Computes something in the time of a part.
    pub(super) fn within<T>(&self, spot: Spot, work: impl FnOnce() -> T) -> T {
        let mut state = self.state.borrow_mut();
        state.turn();
        state.stack.push(spot);
        drop(state);
        let found = work();
        let mut state = self.state.borrow_mut();
        state.turn();
        state.stack.pop();
        found
    }

    /// Counts rows.
    pub(super) fn rows(&self, spot: Spot, met: usize, kept: usize) {
        let mut state = self.state.borrow_mut();
        state.spots.entry(spot).or_default().add(Measure { met: met as u64, kept: kept as u64, time: Duration::ZERO });
    }
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        let spots = std::mem::take(&mut self.state.get_mut().spots);
        self.meter.with(|measures| {
            for (spot, measure) in spots {
                measures.spots.entry(spot).or_default().add(measure);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_parts_take_no_time_of_outer_ones() {
        let meter = Meter::default();
        let clock = Clock::new(&meter);
        let (outer, inner) = (Spot::Place(1), Spot::Value(7));
        let slept = Duration::from_millis(20);
        clock.within(outer, || clock.within(inner, || std::thread::sleep(slept)));
        clock.rows(outer, 10, 4);
        drop(clock);
        let measures = meter.take();
        assert!(measures.of(inner).time >= slept);
        // The clock of the outer one stands still meanwhile, however slow the machine is.
        assert!(measures.of(outer).time < measures.of(inner).time);
        assert_eq!((measures.of(outer).met, measures.of(outer).kept), (10, 4));
        assert_eq!(meter.take().of(outer), Measure::default());
    }
}
