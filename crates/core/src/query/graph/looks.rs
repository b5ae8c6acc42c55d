//! Looks: outputs that are computed before other columns of a step are read.
//!
//! A look reads the columns of the filters, and of outputs that need all entries anyway. It computes these outputs, and
//! counts entries. If few entries are left for the other outputs, only the baskets that hold these are read of the
//! other columns.

use std::collections::{BTreeSet, HashSet};

use super::computed::Computed;
use super::output::{Output, Place, Want};
use super::rowsets::RowSets;
use crate::query::bound::Bound;
use crate::query::defined::FIRST_COMPUTED;

/// The part of a graph that is computed of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// All of it at once.
    Whole,
    /// Outputs and functions of a look.
    Look,
    /// Outputs and functions that a look has left.
    Rest,
}

/// The parts of a graph that a look computes.
#[derive(Debug)]
pub(super) struct Looks {
    /// The places of columns that a look reads, those that functions compute included, and whether pointers of the
    /// columns are followed.
    pub(super) columns: Vec<(usize, bool)>,
    /// Of each output, whether a look computes it.
    pub(super) has_output: Vec<bool>,
    /// Of each function, whether a look calls it.
    pub(super) has_function: Vec<bool>,
    /// The rows that other outputs and functions need.
    pub(super) others: usize,
    /// Places whose rows a look finds.
    places: HashSet<usize>,
}

impl Looks {
    pub(super) fn new(
        places: &[Place],
        outputs: &[Output],
        computed: &[Computed],
        needed: &[usize],
        used: &BTreeSet<usize>,
        sets: &mut RowSets,
    ) -> Self {
        let mut found = Columns { computed, needed, places: BTreeSet::new(), followed: BTreeSet::new() };
        for place in used {
            if let Some(filter) = places.get(*place).and_then(|place| place.filter.as_ref()) {
                found.add(&filter.bound);
            }
        }
        let all_of = |output: &Output| output.values.iter().chain(&output.weight).cloned().collect::<Vec<_>>();
        for output in outputs.iter().filter(|output| output.place == 0) {
            all_of(output).iter().for_each(|value| found.add(&value.bound));
        }
        let is_ready = |output: &Output| {
            let ready = |value: &Bound| {
                let mut columns = Vec::new();
                value.columns(&mut columns);
                columns.iter().all(|column| found.places.contains(column))
            };
            output.want == Want::Count || all_of(output).iter().all(|value| ready(&value.bound))
        };
        let has_output: Vec<bool> = outputs.iter().map(is_ready).collect();
        let has_function: Vec<bool> =
            (0..computed.len()).map(|number| found.has_function(number) || !computed[number].is_used).collect();
        let functions = computed.iter().zip(&has_function).filter(|(_, has)| !**has).map(|(of, _)| of.place);
        let late = outputs.iter().zip(&has_output).filter(|(_, has)| !**has).map(|(output, _)| output.place);
        let late: BTreeSet<usize> = late.chain(functions).collect();
        let others = sets.union(&late);
        let early = outputs.iter().zip(&has_output).filter(|(_, has)| **has).map(|(output, _)| output.place);
        let outermost = sets.sets.get(others).cloned().unwrap_or_default();
        let mut looked = HashSet::new();
        for place in early.chain(outermost) {
            let mut at = place;
            while looked.insert(at) && at > 0 {
                at = places.get(at).map_or(0, |place| place.parent);
            }
        }
        let followed = found.followed;
        let columns = found.places.into_iter().map(|place| (place, followed.contains(&place))).collect();
        Self { columns, has_output, has_function, others, places: looked }
    }

    /// Whether a look can spare anything: no other output needs all rows.
    pub(super) fn is_useful(&self, sets: &RowSets) -> bool {
        sets.sets.get(self.others).is_some_and(|places| !places.is_empty() && !places.contains(&0))
    }

    /// Whether a phase computes an output.
    pub(super) fn has(&self, phase: Phase, output: usize) -> bool {
        let in_look = self.has_output.get(output).copied().unwrap_or(false);
        match phase {
            Phase::Whole => true,
            Phase::Look => in_look,
            Phase::Rest => !in_look,
        }
    }

    /// Whether a look finds the rows of a place.
    pub(super) fn finds(&self, place: usize) -> bool {
        self.places.contains(&place)
    }
}

/// Places of columns, with those of the inputs of functions.
struct Columns<'c> {
    computed: &'c [Computed],
    needed: &'c [usize],
    places: BTreeSet<usize>,
    followed: BTreeSet<usize>,
}

impl Columns<'_> {
    fn add(&mut self, value: &Bound) {
        let mut columns = Vec::new();
        let mut followed = Vec::new();
        value.columns(&mut columns);
        value.followed(&mut followed);
        self.followed.extend(followed);
        for column in columns {
            if !self.places.insert(column) {
                continue;
            }
            let number = self.needed.get(column).and_then(|id| id.checked_sub(FIRST_COMPUTED));
            if let Some(function) = number.and_then(|number| self.computed.get(number)) {
                function.inputs.iter().for_each(|input| self.add(&input.bound));
            }
        }
    }

    fn has_function(&self, number: usize) -> bool {
        self.places.iter().any(|place| self.needed.get(*place) == Some(&(FIRST_COMPUTED + number)))
    }
}
