//! Items of lists that are combined with each other, joined, put in order or counted: the operations of collections.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::fault::no_number;
use super::function::chosen;
use super::index::{MOST_PAIRS, level_of, taken};
use super::number::{Numbers, Side, Wide};
use super::value::{Data, Frame, Level, Offsets, Value};
use crate::error::{Error, Result};

/// How items become pairs or triples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Each set of two or three items of one list, once.
    Sets(usize),
    /// Each item of the first list with each of the second, in one list.
    Cross,
    /// All these pairs, in a list for each item of the first.
    Each,
}

/// An operation on the items of lists.
#[derive(Clone, Copy, Debug)]
pub(super) enum Joint {
    /// One part of each combination. Its values are those of the collections that are combined: the one at `part` is
    /// picked, the other one has the lengths. Sets need the picked one alone.
    Combine { how: How, part: usize, level: usize },
    /// The sum of the parts of each combination: of one value for sets, else of two.
    Sum { how: How, level: usize },
    /// The lists of several values one after another.
    Concat,
    /// Positions of the items of each innermost list in ascending order.
    Order,
    /// The positions of the items in the lists of a level.
    Positions { level: usize },
    /// For each of the first directions the distance to the nearest of the second: eta and phi of both.
    MinDeltaR,
    /// A value that may lack.
    Optional,
}

impl Joint {
    /// Whether its answers are counts.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Order | Self::Positions { .. })
    }

    /// The value whose items it answers with.
    pub(super) fn value<T>(self, of: &[T]) -> Option<&T> {
        match self {
            Self::Combine { how: How::Sets(_), .. } | Self::Concat | Self::Optional => of.first(),
            Self::Combine { part, .. } => of.get(part),
            Self::Sum { .. } | Self::Order | Self::Positions { .. } | Self::MinDeltaR => None,
        }
    }

    /// Computes it.
    pub(super) fn of(self, mut values: Vec<Value>) -> Result<Value> {
        let lacks = || Error::internal("an operation on lists lacks a value");
        match self {
            Self::Combine { how: How::Sets(count), part, level } => {
                sets(values.first().ok_or_else(lacks)?, count, part, level)
            }
            Self::Combine { how, part, level } => {
                let [a, b] = &values[..] else { return Err(lacks()) };
                crossed([a, b], how == How::Each, part, level)
            }
            Self::Sum { how, level } => summed(&values, how, level),
            Self::Concat => concat(&values),
            Self::Order => order(values.first().ok_or_else(lacks)?),
            Self::Positions { level } => positions(values.first().ok_or_else(lacks)?, level),
            Self::MinDeltaR => nearest(&values),
            Self::Optional => values.pop().ok_or_else(lacks),
        }
    }
}

/// Fails if there are too many combinations of some thousand rows.
fn checked(count: usize, more: usize) -> Result<()> {
    match count.saturating_add(more) {
        all if all > MOST_PAIRS => {
            Err(Error::limit("combinations of items of a few thousand rows", MOST_PAIRS as u64, all as u64))
        }
        _ => Ok(()),
    }
}

/// How many sets of two or three items there are.
fn count_of_sets(of: usize, len: usize) -> usize {
    let pairs = len.saturating_mul(len.saturating_sub(1)) / 2;
    if of == 2 { pairs } else { pairs.saturating_mul(len.saturating_sub(2)) / 3 }
}

/// One part of each set of two or three items of the lists of a level, in the order of `ak.combinations`.
fn sets(value: &Value, count: usize, part: usize, level: usize) -> Result<Value> {
    let lists = value.frame.items_above(level)?;
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    let mut ends = Vec::with_capacity(lists + 1);
    ends.push(0_i64);
    let mut items: Vec<usize> = Vec::new();
    for list in 0..lists {
        let (first, len) = of.bounds(offsets, list);
        checked(items.len(), count_of_sets(count, len))?;
        let end = first + len;
        for a in first..end {
            match (count, part) {
                (2, 0) => items.extend(std::iter::repeat_n(a, end - a - 1)),
                (2, _) => items.extend(a + 1..end),
                (_, 0) => items.extend(std::iter::repeat_n(a, count_of_sets(2, end - a - 1))),
                (_, 1) => (a + 1..end).for_each(|b| items.extend(std::iter::repeat_n(b, end - b - 1))),
                _ => (a + 1..end).for_each(|b| items.extend(b + 1..end)),
            }
        }
        ends.push(items.len() as i64);
    }
    under(value, level, &items, vec![Level::Lists(Offsets::of(ends))])
}

/// Calls something with each item of a list and the bounds of the list that it is combined with, and makes the levels
/// of the answer.
fn cross(
    of: [&Value; 2],
    each: bool,
    level: usize,
    mut take: impl FnMut(usize, Range<usize>) -> usize,
) -> Result<Vec<Level>> {
    let lists = of[0].frame.items_above(level)?;
    if of[1].frame.items_above(level)? != lists {
        return Err(Error::mismatch("collections of different lists are combined"));
    }
    let [one, two] = [level_of(of[0], level)?, level_of(of[1], level)?];
    let [from_one, from_two] = [one.offsets()?, two.offsets()?];
    let mut ends = vec![0_i64];
    let mut inner = vec![0_i64];
    let mut count = 0;
    for list in 0..lists {
        let (first, len) = one.bounds(from_one, list);
        let (second, others) = two.bounds(from_two, list);
        checked(count, len.saturating_mul(others))?;
        for a in first..first + len {
            count = take(a, second..second + others);
            inner.push(count as i64);
        }
        ends.push(if each { inner.len() as i64 - 1 } else { count as i64 });
    }
    let mut levels = of[0].frame.levels[..level].to_vec();
    levels.push(Level::Lists(Offsets::of(ends)));
    if each {
        levels.push(Level::Lists(Offsets::of(inner)));
    }
    Ok(levels)
}

/// One part of each pair of an item of one list with an item of another, which may form a list for each
/// item of the first.
fn crossed(of: [&Value; 2], each: bool, part: usize, level: usize) -> Result<Value> {
    let mut items: Vec<usize> = Vec::new();
    let mut levels = cross(of, each, level, |a, others| {
        match part {
            0 => items.extend(std::iter::repeat_n(a, others.len())),
            _ => items.extend(others),
        }
        items.len()
    })?;
    let new = levels.split_off(level);
    under(of[usize::from(part > 0)], level, &items, new)
}

/// Items of a level under new levels, which take its place.
fn under(value: &Value, level: usize, items: &[usize], new: Vec<Level>) -> Result<Value> {
    let mut levels = value.frame.levels[..level].to_vec();
    levels.extend(new);
    if value.depth() == level + 1 && value.present.is_none() && !items.is_empty() {
        let frame = Frame { rows: value.frame.rows, levels };
        return Ok(Value { frame, data: value.data.gathered(items)?, present: None });
    }
    taken(value, level, items.iter().copied().map(Some).collect(), levels)
}

/// The sum of the parts of each combination.
fn summed(values: &[Value], how: How, level: usize) -> Result<Value> {
    let lacks = || Error::internal("a sum of combinations lacks a value");
    let one = values.first().ok_or_else(lacks)?;
    let two = values.get(1).unwrap_or(one);
    let [x, y] = [one.doubles()?, two.doubles()?];
    let has_all = values.iter().all(|value| value.present.is_none());
    let mut sums: Vec<f64> = Vec::new();
    let mut present: Vec<bool> = Vec::new();
    let levels = match how {
        How::Sets(count) => {
            let lists = one.frame.items_above(level)?;
            let of = level_of(one, level)?;
            let offsets = of.offsets()?;
            let mut ends = Vec::with_capacity(lists + 1);
            ends.push(0_i64);
            for list in 0..lists {
                let (first, len) = of.bounds(offsets, list);
                checked(sums.len(), count_of_sets(count, len))?;
                let items = x.get(first..first + len).ok_or_else(super::fault::outside)?;
                for (a, x) in items.iter().enumerate() {
                    for (b, y) in items.iter().enumerate().skip(a + 1) {
                        if count == 2 {
                            sums.push(x + y);
                        } else {
                            sums.extend(items[b + 1..].iter().map(|z| x + y + z));
                        }
                    }
                }
                if !has_all {
                    let is = |at: usize| one.is_there(first + at);
                    for a in 0..len {
                        for b in a + 1..len {
                            match count {
                                2 => present.push(is(a) && is(b)),
                                _ => present.extend((b + 1..len).map(|c| is(a) && is(b) && is(c))),
                            }
                        }
                    }
                }
                ends.push(sums.len() as i64);
            }
            let mut levels = one.frame.levels[..level].to_vec();
            levels.push(Level::Lists(Offsets::of(ends)));
            levels
        }
        How::Cross | How::Each => cross([one, two], how == How::Each, level, |a, others| {
            if !has_all {
                present.extend(others.clone().map(|b| one.is_there(a) && two.is_there(b)));
            }
            let first = x.get(a).copied().unwrap_or(f64::NAN);
            sums.extend(y.get(others).unwrap_or_default().iter().map(|second| first + second));
            sums.len()
        })?,
    };
    let value = Value::numbers(Frame { rows: one.frame.rows, levels }, sums);
    Ok(if has_all { value } else { Value { present: Some(present.into()), ..value } })
}

/// The lists of several values one after another, in a type that holds all.
fn concat(values: &[Value]) -> Result<Value> {
    let rows = values.first().map_or(0, |value| value.frame.rows);
    let levels = values.iter().map(|value| level_of(value, 0)).collect::<Result<Vec<_>>>()?;
    let offsets = levels.iter().map(Level::offsets).collect::<Result<Vec<_>>>()?;
    // The value and the item there, in the order of the answer.
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0_i64);
    for row in 0..rows {
        for (at, (level, offsets)) in levels.iter().zip(&offsets).enumerate() {
            let (first, len) = level.bounds(offsets, row);
            places.extend((first..first + len).map(|item| (at, item)));
        }
        ends.push(places.len() as i64);
    }
    fn gathered<'v, T: Copy + 'v>(
        values: &'v [Value],
        places: &[(usize, usize)],
        of: impl Fn(&'v Data) -> Result<Side<'v, T>>,
    ) -> Result<Vec<T>> {
        let sides = values.iter().map(|value| of(&value.data)).collect::<Result<Vec<_>>>()?;
        let item = |&(at, item): &(usize, usize)| match sides.get(at) {
            Some(Side::Each(each)) => each.get(item).copied().ok_or_else(super::fault::outside),
            Some(Side::One(one)) => Ok(*one),
            None => Err(super::fault::outside()),
        };
        places.iter().map(item).collect()
    }
    let wides = values.iter().map(|value| value.data.wide().ok_or_else(no_number)).collect::<Result<Vec<_>>>()?;
    let numbers = match wides.into_iter().reduce(chosen) {
        Some(Wide::Bool) => Numbers::of(gathered(values, &places, Data::bools)?),
        Some(Wide::I64) => Numbers::of(gathered(values, &places, Data::i64s)?),
        Some(Wide::U64) => Numbers::of(gathered(values, &places, Data::u64s)?),
        Some(Wide::F64) | None => Numbers::of(gathered(values, &places, Data::f64s)?),
    };
    let present = values
        .iter()
        .any(|value| value.present.is_some())
        .then(|| places.iter().map(|&(at, item)| values[at].is_there(item)).collect::<Arc<[bool]>>());
    let frame = Frame { rows, levels: vec![Level::Lists(Offsets::of(ends))] };
    Ok(Value { frame, data: Data::Numbers(numbers), present })
}

/// Positions of the items of each innermost list in ascending order; equal ones keep theirs. NaN comes last, and absent
/// items after it.
fn order(value: &Value) -> Result<Value> {
    let outer = value.depth().checked_sub(1).ok_or_else(|| Error::internal("an order of a value without lists"))?;
    let Data::Numbers(numbers) = &value.data else { return Err(no_number()) };
    fn sorted<T: Copy>(value: &Value, outer: usize, items: &[T], compare: fn(T, T) -> Ordering) -> Result<Vec<i64>> {
        let level = level_of(value, outer)?;
        let offsets = level.offsets()?;
        let mut places = Vec::with_capacity(items.len());
        for list in 0..value.frame.items_above(outer)? {
            let (first, len) = level.bounds(offsets, list);
            let start = places.len();
            places.extend(0..len as i64);
            places[start..].sort_by(|&a, &b| {
                let [a, b] = [first + a as usize, first + b as usize];
                value.is_there(b).cmp(&value.is_there(a)).then_with(|| compare(items[a], items[b]))
            });
        }
        Ok(places)
    }
    let last = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let places = match Wide::of(numbers.number) {
        Wide::F64 => sorted(value, outer, &numbers.as_f64()?, last)?,
        Wide::U64 => sorted(value, outer, &numbers.as_u64()?, |a, b| a.cmp(&b))?,
        Wide::I64 | Wide::Bool => sorted(value, outer, &numbers.as_i64()?, |a, b| a.cmp(&b))?,
    };
    Ok(Value::numbers(value.frame.clone(), places))
}

/// The position of each item in its list of a level.
fn positions(value: &Value, level: usize) -> Result<Value> {
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    let lens = (0..value.frame.items_above(level)?).map(|list| of.bounds(offsets, list).1 as i64);
    let places = lens.flat_map(|len| 0..len).collect::<Vec<i64>>();
    Ok(Value::numbers(value.frame.outer(level + 1), places))
}

/// The distance of each direction to the nearest of a list of others; infinite without any.
fn nearest(values: &[Value]) -> Result<Value> {
    let [eta, phi, other_eta, other_phi] = values else { return Err(Error::internal("a direction lacks an angle")) };
    let rows = eta.frame.rows;
    let level = level_of(other_eta, 0)?;
    let offsets = level.offsets()?;
    let counts = eta.frame.row_items()?;
    let [etas, phis, other_etas, other_phis] =
        [eta.doubles()?, phi.doubles()?, other_eta.doubles()?, other_phi.doubles()?];
    if etas.len() != phis.len() || other_etas.len() != other_phis.len() || other_eta.frame.rows != rows {
        return Err(Error::mismatch("the angles of a direction belong to different lists"));
    }
    let mut found = Vec::with_capacity(etas.len());
    let mut item = 0;
    for (row, count) in counts.into_iter().enumerate() {
        let (first, len) = level.bounds(offsets, row);
        for at in item..item + count {
            let there = |other: &usize| other_eta.is_there(*other) && other_phi.is_there(*other);
            let distances = (first..first + len)
                .filter(there)
                .map(|other| super::names::distance(etas[at], other_etas[other], phis[at], other_phis[other]));
            // A direction that is NaN has no neighbours, and is not a neighbour.
            let is_nan = etas[at].is_nan() || phis[at].is_nan();
            found.push(if is_nan { f64::NAN } else { distances.fold(f64::INFINITY, f64::min) });
        }
        item += count;
    }
    let present = match (&eta.present, &phi.present) {
        (None, None) => None,
        _ => Some((0..found.len()).map(|item| eta.is_there(item) && phi.is_there(item)).collect::<Arc<[bool]>>()),
    };
    Ok(Value { present, ..Value::numbers(eta.frame.clone(), found) })
}
