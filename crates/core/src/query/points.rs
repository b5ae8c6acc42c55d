//! Values that histograms are filled with.

use super::bound::Bound;
use super::fault::no_number;
use super::number::{Side, Wide};
use super::steps::Waits;
use super::value::{Data, Scalar, Value};
use crate::error::Result;

/// Values that a histogram would be filled with, one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// The values of each expression, along x first.
    pub columns: Vec<Vec<f64>>,
    /// Their weights; 1 each where there are none.
    pub weights: Option<Vec<f64>>,
}

/// Exact sum and extremes of whole numbers: doubles hold them up to 2^53 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wholes {
    pub(crate) sum: i128,
    pub(crate) least: i128,
    pub(crate) largest: i128,
}

impl Wholes {
    /// The sum and extremes of all items that exist; none for other numbers, and without items.
    pub(super) fn of(value: &Value) -> Result<Option<Self>> {
        let value = value.clone().spread()?;
        let Data::Numbers(numbers) = &value.data else { return Ok(None) };
        let is_there = |(item, _): &(usize, i128)| value.is_there(*item);
        Ok(match value.data.wide() {
            Some(Wide::I64) => {
                Self::of_items(numbers.as_i64()?.iter().map(|x| (*x).into()).enumerate().filter(is_there))
            }
            Some(Wide::U64) => {
                Self::of_items(numbers.as_u64()?.iter().map(|x| (*x).into()).enumerate().filter(is_there))
            }
            _ => None,
        })
    }

    fn of_items(items: impl Iterator<Item = (usize, i128)>) -> Option<Self> {
        items.map(|(_, item)| Self { sum: item, least: item, largest: item }).reduce(Self::plus)
    }

    /// The sum and extremes of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = self.sum.saturating_add(other.sum);
        Self { sum, least: self.least.min(other.least), largest: self.largest.max(other.largest) }
    }
}

impl Waits for Points {
    fn bytes(&self) -> usize {
        let numbers = self.columns.iter().chain(&self.weights).map(Vec::capacity).sum::<usize>();
        numbers * size_of::<f64>()
    }
}

impl Waits for (usize, Points) {
    fn bytes(&self) -> usize {
        self.1.bytes()
    }
}

impl Points {
    /// Adds those that follow.
    pub(super) fn append(&mut self, more: Self) {
        let count = self.len();
        if self.weights.is_some() || more.weights.is_some() {
            let added = more.len();
            let weights = self.weights.get_or_insert_with(|| vec![1.0; count]);
            weights.extend(more.weights.unwrap_or_else(|| vec![1.0; added]));
        }
        self.columns.resize(self.columns.len().max(more.columns.len()), Vec::new());
        for (column, more) in self.columns.iter_mut().zip(more.columns) {
            column.extend(more);
        }
    }

    /// Adds a weight for all points, besides their own weights.
    pub(super) fn weighted(mut self, weight: f64) -> Self {
        if weight.to_bits() != 1.0_f64.to_bits() {
            let count = self.len();
            let weights = self.weights.get_or_insert_with(|| vec![1.0; count]);
            weights.iter_mut().for_each(|own| *own *= weight);
        }
        self
    }

    /// Those from one on, without which this goes on.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.len());
        let columns = self.columns.iter_mut().map(|column| column.split_off(at)).collect();
        Self { columns, weights: self.weights.as_mut().map(|weights| weights.split_off(at)) }
    }

    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

/// What passes of some values that share a loop; the last of them is the cut, if there is one.
pub(super) fn passing(mut values: Vec<Value>, cut: Option<&Bound>) -> Result<Points> {
    let weight = if cut.is_some() { values.pop() } else { None };
    let nothing = |count: usize| Points { columns: vec![Vec::new(); count], weights: None };
    let mut weights = None;
    let mut chosen: Option<Vec<bool>> = None;
    if let Some(weight) = weight {
        let is_condition = cut.is_some_and(Bound::is_condition);
        match &weight.data {
            // The same for all.
            Data::One(_) => {
                let one = weight.data.f64s()?;
                let Side::One(one) = one else { return Err(no_number()) };
                if one == 0.0 {
                    return Ok(nothing(values.len()));
                }
                if one != 1.0 {
                    let items = weight.frame.items()?;
                    weights = Some(vec![one; items]);
                }
            }
            Data::Numbers(numbers) => {
                chosen = Some(numbers.as_bool()?.into_owned());
                if !is_condition {
                    weights = Some(numbers.as_f64()?.into_owned());
                }
            }
            Data::Texts(_) => return Err(no_number()),
        }
        values.push(Value { data: Data::One(Scalar::Bool(true)), ..weight });
    }
    if let Some(present) = super::align::all_present(&values) {
        chosen = Some(match chosen {
            None => present.to_vec(),
            Some(chosen) => chosen.iter().zip(present.iter()).map(|(&a, &b)| a && b).collect(),
        });
    }
    if cut.is_some() {
        values.pop();
    }
    let count = chosen.as_ref().map(|chosen| chosen.iter().filter(|is_chosen| **is_chosen).count());
    match (count, &chosen) {
        (Some(0), _) => return Ok(nothing(values.len())),
        (Some(count), Some(all)) if count == all.len() => chosen = None,
        _ => {}
    }
    let mut columns = Vec::with_capacity(values.len());
    for value in values {
        let value = value.spread()?;
        let doubles = value.doubles()?;
        columns.push(match &chosen {
            None => doubles.into_owned(),
            Some(chosen) => kept(&doubles, chosen),
        });
    }
    let weights = match (&chosen, weights) {
        (Some(chosen), Some(weights)) => Some(kept(&weights, chosen)),
        (_, weights) => weights,
    };
    Ok(Points { columns, weights })
}

/// The values that are chosen. Where these are at random, a branch for each would cost more than writing all.
fn kept(values: &[f64], chosen: &[bool]) -> Vec<f64> {
    let mut kept = vec![0.0; values.len()];
    let mut count = 0;
    for (value, is_chosen) in values.iter().zip(chosen) {
        kept[count] = *value;
        count += usize::from(*is_chosen);
    }
    kept.truncate(count);
    kept
}
