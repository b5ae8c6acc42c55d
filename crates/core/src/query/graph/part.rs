//! A graph computed for some thousand rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::build::ONE_ANSWER;
use super::expression::Expression;
use super::intern::address;
use super::meter::{Clock, Spot};
use super::output::{Output, Want};
use super::plan::Graph;
use super::range::Ranged;
use crate::error::{Error, Result};
use crate::query::align::all_present;
use crate::query::bound::Bound;
use crate::query::evaluate::{Rows, SharedValues};
use crate::query::fault::no_number;
use crate::query::index;
use crate::query::points::{Points, Wholes, passing};
use crate::query::select::lacking;
use crate::query::value::{Data, Value};

/// Rows of a part by their numbers, in order; all of them if it is missing.
type Picked = Option<Arc<[usize]>>;

/// Positions of rows of one set among those of another.
type Positions = Arc<[usize]>;

/// The filters whose rows a part counts. A step may be computed more than once, and each row counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    None,
    All,
    /// Filters that a look at their columns has not counted.
    Rest,
}

impl Counted {
    fn has(self, graph: &Graph, place: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Rest => !graph.looks.finds(place),
        }
    }
}

/// Some rows of a step, and what was computed of them.
pub(super) struct Part<'p> {
    graph: &'p Graph,
    all: &'p Rows<'p>,
    /// By the number of the value and its set of rows.
    values: RefCell<HashMap<(usize, usize), Value>>,
    /// By set of rows.
    picked: RefCell<HashMap<usize, Picked>>,
    clock: Clock<'p>,
    counted: Counted,
    /// Positions of the rows of one set in another.
    positions: RefCell<HashMap<(usize, usize), Positions>>,
}

impl SharedValues for Part<'_> {
    fn value(&self, of: &Bound, rows: usize) -> Option<Result<Value>> {
        let (number, home) = self.graph.shared.get(&address(of))?;
        Some(self.shared(of, *number, self.graph.home(home, rows), rows))
    }
}

impl<'p> Part<'p> {
    pub(super) fn new(graph: &'p Graph, all: &'p Rows<'p>, counted: Counted) -> Self {
        Self {
            graph,
            all,
            values: RefCell::default(),
            picked: RefCell::default(),
            clock: Clock::new(&graph.meter),
            counted,
            positions: RefCell::default(),
        }
    }

    fn shared(&self, of: &Bound, number: usize, home: usize, set: usize) -> Result<Value> {
        if let Some(known) = self.values.borrow().get(&(number, set)) {
            return Ok(known.clone());
        }
        let value = if home == set {
            let compute = || self.rows(home)?.computed(of);
            if self.graph.named.contains(&number) {
                self.clock.within(Spot::Value(number), compute)?
            } else {
                compute()?
            }
        } else {
            self.narrowed(self.shared(of, number, home, home)?, home, set)?
        };
        self.values.borrow_mut().insert((number, set), value.clone());
        Ok(value)
    }

    /// A value of the rows of one set, for those of a smaller one.
    fn narrowed(&self, value: Value, from: usize, to: usize) -> Result<Value> {
        let of = self.picked(from)?;
        let Some(wanted) = self.picked(to)? else { return Ok(value) };
        if of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &wanted)) {
            return Ok(value);
        }
        let Some(of) = of else { return index::rows(&value, &wanted) };
        let known = self.positions.borrow().get(&(from, to)).cloned();
        let positions = match known {
            Some(known) => known,
            None => {
                let mut at = 0;
                let places = wanted.iter().map(|row| {
                    at += of.get(at..).unwrap_or_default().iter().take_while(|one| *one < row).count();
                    at
                });
                let places: Positions = places.collect();
                self.positions.borrow_mut().insert((from, to), Arc::clone(&places));
                places
            }
        };
        index::rows(&value, &positions)
    }

    /// The rows of a set.
    fn rows(&self, set: usize) -> Result<Rows<'_>> {
        let picked = self.picked(set)?;
        Ok(Rows {
            rows: self.all.rows.clone(),
            picked,
            frame: None,
            remembered: Rc::default(),
            shared: Some((self, set)),
            ..*self.all
        })
    }

    /// The rows of the part that are in a set.
    pub(super) fn picked(&self, set: usize) -> Result<Picked> {
        if let Some(known) = self.picked.borrow().get(&set) {
            return Ok(known.clone());
        }
        let found = match self.graph.sets.sets.get(set).map(Vec::as_slice) {
            Some([place]) => self.passing(*place)?,
            Some(places) => self.any_of(places)?,
            None => return Err(Error::internal("a graph lacks a set of rows")),
        };
        self.picked.borrow_mut().insert(set, found.clone());
        Ok(found)
    }

    /// The rows of a place. Those of the places above it are found from the top, without a call for each in the last.
    fn passing(&self, place: usize) -> Result<Picked> {
        let mut unknown = vec![place];
        while let Some(last) = unknown.last().filter(|last| **last > 0)
            && let Some(above) = self.graph.places.get(*last).map(|place| place.parent)
            && !self.picked.borrow().contains_key(&above)
        {
            unknown.push(above);
        }
        let mut found = None;
        for place in unknown.into_iter().rev() {
            found = self.filtered(place)?;
            self.picked.borrow_mut().insert(place, found.clone());
        }
        Ok(found)
    }

    /// The rows of a place, when those of the place above it are known.
    fn filtered(&self, place: usize) -> Result<Picked> {
        let found = self.graph.places.get(place).ok_or_else(|| Error::internal("a graph lacks a place"))?;
        if let Some(ranged) = found.range.and_then(|range| self.graph.ranges.get(range)) {
            return self.ranged(place, ranged, self.picked(found.parent)?).map(Some);
        }
        let Some(filter) = &found.filter else { return Ok(None) };
        let above = self.picked(found.parent)?;
        let named = |error| self.graph.named(&filter.text, error);
        let spot = Spot::Place(place);
        let compute = || self.rows(found.parent)?.alone(&filter.bound).and_then(Value::spread);
        let value = self.clock.within(spot, compute).map_err(named)?;
        if value.depth() > 0 {
            // A loop that only its turns show, as that of Iteration$.
            return Err(self.graph.named(&filter.text, Error::mismatch(ONE_ANSWER)));
        }
        let Data::Numbers(numbers) = &value.data else { return Err(no_number()) };
        let is_true = numbers.as_bool()?;
        let passes = |row: &usize| is_true[*row] && value.is_there(*row);
        let count = (0..is_true.len()).filter(passes).count();
        if self.counted.has(self.graph, place) {
            self.clock.rows(spot, is_true.len(), count);
        }
        if count == is_true.len() {
            return Ok(above);
        }
        let rows = (0..is_true.len()).filter(passes);
        Ok(Some(match above {
            None => rows.collect(),
            Some(above) => rows.filter_map(|row| above.get(row).copied()).collect(),
        }))
    }

    /// The rows of a range, when those of the place above it are known.
    fn ranged(&self, place: usize, ranged: &Ranged, above: Picked) -> Result<Arc<[usize]>> {
        let part = self.all.entries.part(self.all.rows.start as u64..self.all.rows.end as u64);
        let found: Arc<[usize]> = ranged.picked(&part, above.as_deref()).into();
        if self.counted.has(self.graph, place) {
            self.clock.rows(Spot::Place(place), above.map_or(self.all.rows.len(), |above| above.len()), found.len());
        }
        Ok(found)
    }

    /// The rows that are in any of some places.
    fn any_of(&self, places: &[usize]) -> Result<Picked> {
        let mut is_in = vec![false; self.all.rows.len()];
        // All of them, so that each filter counts its rows.
        let picked = places.iter().map(|place| self.picked(*place)).collect::<Result<Vec<_>>>()?;
        for rows in picked {
            let Some(rows) = rows else { return Ok(None) };
            for row in rows.iter() {
                if let Some(is_in) = is_in.get_mut(*row) {
                    *is_in = true;
                }
            }
        }
        Ok(Some((0..is_in.len()).filter(|row| is_in[*row]).collect()))
    }

    /// How many rows an output has.
    pub(super) fn count(&self, output: &Output) -> Result<usize> {
        Ok(self.picked(output.place)?.map_or(self.all.rows.len(), |picked| picked.len()))
    }

    /// The numbers of an output with their weights, and what is exact of whole numbers if that is wanted.
    pub(super) fn points(&self, output: &Output) -> Result<(Points, Option<Wholes>)> {
        let all: Vec<&Bound> = output.values.iter().chain(&output.weight).map(|value| &*value.bound).collect();
        let found = || {
            let (_, values) = self.rows(output.place)?.together(&all)?;
            let wholes = match (output.want, &values[..]) {
                (Want::Statistics, [value]) => Wholes::of(value)?,
                _ => None,
            };
            let points = match (output.want, &output.weight) {
                (Want::Passing, Some(cut)) => passing(values, Some(&*cut.bound)),
                (_, weight) => points(values, weight.is_some()),
            };
            Ok((points?, wholes))
        };
        found().map_err(|error| self.graph.named(output.text(), error))
    }

    /// Computes something of an output, in its time.
    pub(super) fn for_output<T>(&self, number: usize, rows: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.clock.rows(Spot::Output(number), rows, rows);
        self.clock.within(Spot::Output(number), work)
    }

    /// The values of some expressions at a place.
    pub(super) fn values(&self, place: usize, of: &[Expression]) -> Result<Vec<Value>> {
        let rows = self.rows(place)?;
        let one = |Expression { text, bound }: &Expression| {
            let value = rows.alone(bound).and_then(Value::spread).map_err(|error| self.graph.named(text, error))?;
            if !bound.may_lack()
                && let Some(lacks) = value.present.as_ref().and_then(|present| present.iter().position(|there| !there))
            {
                return Err(self.graph.named(text, lacking(&rows, &value, lacks)?));
            }
            if value.depth() != bound.depth {
                let words = "Iteration$ has a value for each turn of its loop: multiply it with the list that is looped \
                             over";
                return Err(self.graph.named(text, Error::mismatch(words)));
            }
            Ok(value)
        };
        of.iter().map(one).collect()
    }
}

/// Numbers with their weights, of values that share a loop: the last one is the weight, if there is one.
fn points(values: Vec<Value>, has_weight: bool) -> Result<Points> {
    let present = all_present(&values);
    let kept = |value: Value| {
        let value = value.spread()?;
        let doubles = value.doubles()?;
        Ok(match &present {
            None => doubles.into_owned(),
            Some(present) => {
                let there = doubles.iter().zip(present.iter()).filter(|(_, is_there)| **is_there);
                there.map(|(value, _)| *value).collect()
            }
        })
    };
    let mut columns = values.into_iter().map(kept).collect::<Result<Vec<Vec<f64>>>>()?;
    let weights = if has_weight { columns.pop() } else { None };
    Ok(Points { columns, weights })
}
