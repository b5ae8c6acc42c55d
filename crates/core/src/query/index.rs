//! Items of lists: one of each, some of each, those where a condition holds.

use std::borrow::Cow;
use std::sync::Arc;

use super::number::Wide;
use super::value::{Data, Frame, Level, Offsets, Value};
use crate::error::{Error, Result};

/// A slice of lists, as in Python.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    pub(super) step: Option<i64>,
}

impl Slice {
    /// The positions in a list of so many items.
    fn positions(self, len: usize) -> impl Iterator<Item = usize> {
        let len = len as i64;
        let step = self.step.unwrap_or(1);
        let place =
            |at: i64, least: i64, most: i64| if at < 0 { (at.saturating_add(len)).max(least) } else { at.min(most) };
        let (start, stop) = match step > 0 {
            true => (self.from.map_or(0, |at| place(at, 0, len)), self.to.map_or(len, |at| place(at, 0, len))),
            false => (
                self.from.map_or(len - 1, |at| place(at, -1, len - 1)),
                self.to.map_or(-1, |at| place(at, -1, len - 1)),
            ),
        };
        let count = match step {
            0 => 0,
            1.. => (stop - start).max(0).div_euclid(step) + i64::from((stop - start).max(0) % step != 0),
            _ => (start - stop).max(0) / -step + i64::from((start - stop).max(0) % -step != 0),
        };
        (0..count).map(move |nth| (start + nth * step) as usize)
    }
}

/// One item of each list of a level, which goes. The item counts from the end where it is negative and `from_end`.
pub(super) fn pick(value: &Value, level: usize, at: i64, from_end: bool) -> Result<Value> {
    let lists = value.frame.items_above(level)?;
    let above = Frame { rows: value.frame.rows, levels: value.frame.levels[..level].to_vec() };
    pick_of(value, level, 0..lists, above, |len| place(at, len, from_end))
}

/// The same of the lists of some rows.
pub(super) fn pick_of_rows(value: &Value, rows: &[usize], at: i64, from_end: bool) -> Result<Value> {
    pick_of(value, 0, rows.iter().copied(), Frame::flat(rows.len()), |len| place(at, len, from_end))
}

/// One item of each of some lists of a level, of those that are long enough.
fn pick_of(
    value: &Value,
    level: usize,
    lists: impl ExactSizeIterator<Item = usize>,
    above: Frame,
    place: impl Fn(usize) -> Option<usize>,
) -> Result<Value> {
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    let has_more = value.depth() > level + 1 || value.present.is_some() || value.frame.items()? == 0;
    if has_more {
        let chosen = lists.map(|list| {
            let (first, len) = of.bounds(offsets, list);
            place(len).map(|at| first + at)
        });
        let (items, frame) = under(value, level + 1, chosen.collect(), above, Lacking::Absent)?;
        return chosen_items(value, frame, &items, Lacking::Absent);
    }
    // Nearly all picks are of one level of numbers that are all there.
    let (mut places, mut present) = (Vec::with_capacity(lists.len()), Vec::with_capacity(lists.len()));
    let mut all = true;
    for list in lists {
        let (first, len) = of.bounds(offsets, list);
        let found = place(len);
        all &= found.is_some();
        present.push(found.is_some());
        // Any item stands in for one that lacks.
        places.push(found.map_or(0, |at| first + at));
    }
    let present = (!all).then(|| present.into());
    Ok(Value { frame: above, data: value.data.gathered(&places)?, present })
}

/// A value of some of its rows.
pub(super) fn rows(value: &Value, picked: &[usize]) -> Result<Value> {
    let (mut levels, mut items) = (Vec::with_capacity(value.depth()), Cow::Borrowed(picked));
    for level in &value.frame.levels {
        let offsets = level.offsets()?;
        let mut below = Vec::with_capacity(items.len());
        let mut ends = Vec::with_capacity(items.len() + 1);
        ends.push(0_i64);
        for &list in &*items {
            let (first, len) = level.bounds(offsets, list);
            below.extend(first..first + len);
            ends.push(below.len() as i64);
        }
        levels.push(match level {
            Level::Fixed(_) => level.clone(),
            Level::Lists(_) => Level::Lists(Offsets::of(ends)),
        });
        items = Cow::Owned(below);
    }
    let is_there = |present: &Arc<[bool]>| items.iter().map(|&item| present.get(item) == Some(&true)).collect();
    let present = value.present.as_ref().map(is_there);
    Ok(Value { frame: Frame { rows: picked.len(), levels }, data: value.data.gathered(&items)?, present })
}

fn place(at: i64, len: usize, from_end: bool) -> Option<usize> {
    let at = if at < 0 && from_end { at.checked_add(len as i64)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// Positions in lists; none where they are absent, or not finite.
fn positions(by: &Value) -> Result<Vec<Option<i64>>> {
    let Data::Numbers(numbers) = &by.data else { return Err(super::fault::no_number()) };
    let wholes = numbers.as_i64()?;
    let floats = if by.data.wide() == Some(Wide::F64) { Some(numbers.as_f64()?) } else { None };
    let is_finite =
        |item: usize| floats.as_ref().is_none_or(|floats| floats.get(item).is_some_and(|at| at.is_finite()));
    let position = |(item, &at): (usize, &i64)| (by.is_there(item) && is_finite(item)).then_some(at);
    Ok(wholes.iter().enumerate().map(position).collect())
}

/// The item of each list that another value names; `align` makes one loop of both. The levels of the answer are those
/// of the loop, then those below the picked one.
pub(super) fn pick_by(
    value: &Value,
    level: usize,
    by: Value,
    align: impl FnOnce(Vec<Value>) -> Result<(Frame, Vec<Value>)>,
) -> Result<Value> {
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    // The number of each list: where lengths differ, the loop leaves some out.
    let lists = value.frame.items_above(level)?;
    let lists = Value::numbers(value.frame.outer(level), (0..lists as i64).collect());
    let (frame, aligned) = align(vec![lists, by])?;
    let Ok([lists, by]) = <[Value; 2]>::try_from(aligned) else { return Err(Error::internal("an index is lost")) };
    let Data::Numbers(lists) = &lists.data else { return Err(super::fault::no_number()) };
    let by = by.spread()?;
    let places = positions(&by)?;
    let lists = lists.as_i64()?;
    let chosen = lists.iter().zip(places).map(|(&list, at)| {
        let (first, len) = of.bounds(offsets, list as usize);
        place(at?, len, false).map(|at| first + at)
    });
    taken(value, level, chosen.collect(), frame.levels)
}

/// Some items of each list of a level.
pub(super) fn slice(value: &Value, level: usize, slice: Slice) -> Result<Value> {
    let lists = value.frame.items_above(level)?;
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    let (mut ends, mut chosen) = (Vec::with_capacity(lists + 1), Vec::new());
    ends.push(0_i64);
    for list in 0..lists {
        let (first, len) = of.bounds(offsets, list);
        chosen.extend(slice.positions(len).map(|at| Some(first + at)));
        ends.push(chosen.len() as i64);
    }
    let mut levels = value.frame.levels[..level].to_vec();
    levels.push(Level::Lists(Offsets::of(ends)));
    taken(value, level, chosen, levels)
}

/// The items of each list of a level for which a mask of the same form is true.
pub(super) fn masked(value: &Value, level: usize, mask: &Value) -> Result<Value> {
    let of = level_of(value, level)?;
    let mut is_same = mask.depth() == level + 1;
    for depth in 0..=level {
        let lists = value.frame.items_above(depth)?;
        is_same = is_same && value.frame.levels[depth].same(&mask.frame.levels[depth], lists)?;
    }
    if !is_same {
        return Err(Error::mismatch("a mask has other lists than what it is a mask of"));
    }
    let Data::Numbers(numbers) = &mask.data else { return Err(super::fault::no_number()) };
    let is_true = numbers.as_bool()?;
    let lists = value.frame.items_above(level)?;
    let offsets = of.offsets()?;
    let (mut ends, mut chosen) = (Vec::with_capacity(lists + 1), Vec::new());
    ends.push(0_i64);
    for list in 0..lists {
        let (first, len) = of.bounds(offsets, list);
        let passes = |at: &usize| is_true[*at] && mask.is_there(*at);
        chosen.extend((first..first + len).filter(passes).map(Some));
        ends.push(chosen.len() as i64);
    }
    let mut levels = value.frame.levels[..level].to_vec();
    levels.push(Level::Lists(Offsets::of(ends)));
    taken(value, level, chosen, levels)
}

/// The number of items in each list of a level, which goes with all below it.
pub(super) fn sizes(frame: &Frame, level: usize) -> Result<Value> {
    let of = frame.levels.get(level).ok_or_else(|| Error::internal("a value has no such list"))?;
    let offsets = of.offsets()?;
    let sizes: Vec<i64> = (0..frame.items_above(level)?).map(|list| of.bounds(offsets, list).1 as i64).collect();
    Ok(Value::numbers(frame.outer(level), sizes))
}

/// Pairs of items of each list (`ak.combinations`): the first or the second item of each.
pub(super) fn pairs(value: &Value, second: bool) -> Result<Value> {
    let level = value.depth().checked_sub(1).ok_or_else(|| Error::internal("pairs of a value without lists"))?;
    let lists = value.frame.items_above(level)?;
    let of = level_of(value, level)?;
    let offsets = of.offsets()?;
    let (mut ends, mut chosen) = (Vec::with_capacity(lists + 1), Vec::new());
    ends.push(0_i64);
    for list in 0..lists {
        let (first, len) = of.bounds(offsets, list);
        if chosen.len().saturating_add(len.saturating_mul(len.saturating_sub(1)) / 2) > MOST_PAIRS {
            return Err(Error::limit(
                "pairs of items of a few thousand rows",
                MOST_PAIRS as u64,
                (len * (len - 1) / 2) as u64,
            ));
        }
        for a in 0..len {
            chosen.extend((a + 1..len).map(|b| Some(first + if second { b } else { a })));
        }
        ends.push(chosen.len() as i64);
    }
    let mut levels = value.frame.levels[..level].to_vec();
    levels.push(Level::Lists(Offsets::of(ends)));
    taken(value, level, chosen, levels)
}

/// The most pairs of the rows that are computed together: with their positions some 500 MB.
pub(super) const MOST_PAIRS: usize = 10_000_000;

pub(super) fn level_of(value: &Value, level: usize) -> Result<Level> {
    value.frame.levels.get(level).cloned().ok_or_else(|| Error::internal("an index is deeper than its value"))
}

/// The chosen items of a level, under other levels above them; those below stay. An item that lacks is an empty list,
/// or is marked as absent.
pub(super) fn taken(value: &Value, level: usize, chosen: Vec<Option<usize>>, above: Vec<Level>) -> Result<Value> {
    let above = Frame { rows: value.frame.rows, levels: above };
    let (items, frame) = under(value, level + 1, chosen, above, Lacking::Absent)?;
    chosen_items(value, frame, &items, Lacking::Absent)
}

/// The form of an item that lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lacking {
    /// An empty list, or an item that is marked as absent.
    Absent,
    /// Any value of the same type.
    StandIn,
}

/// A row for each of some rows of a value; one that lacks has no items, or is marked as absent.
pub(super) fn rows_or_none(value: &Value, chosen: Vec<Option<usize>>) -> Result<Value> {
    let above = Frame::flat(chosen.len());
    let (items, frame) = under(value, 0, chosen, above, Lacking::Absent)?;
    chosen_items(value, frame, &items, Lacking::Absent)
}

/// A row for each of some rows of a value. Those that lack have values of the same type, for which nobody may ask.
pub(super) fn rows_or_stand_ins(value: &Value, chosen: Vec<Option<usize>>) -> Result<Value> {
    let above = Frame::flat(chosen.len());
    let (items, frame) = under(value, 0, chosen, above, Lacking::StandIn)?;
    chosen_items(value, frame, &items, Lacking::StandIn)
}

/// Follows what is chosen of one level down to the innermost items, and adds the levels on the way to a frame.
fn under(
    value: &Value,
    level: usize,
    chosen: Vec<Option<usize>>,
    mut frame: Frame,
    lacking: Lacking,
) -> Result<(Vec<Option<usize>>, Frame)> {
    let mut lists = chosen;
    for below in &value.frame.levels[level..] {
        let offsets = below.offsets()?;
        let len = if let Level::Fixed(len) = below { Some(*len) } else { None };
        let has_all = lacking == Lacking::StandIn || lists.iter().all(Option::is_some);
        let is_fixed = len.is_some() && has_all;
        let (mut ends, mut items) = (Vec::with_capacity(lists.len() + 1), Vec::new());
        ends.push(0_i64);
        for list in &lists {
            if let Some(list) = list {
                let (first, len) = below.bounds(offsets, *list);
                items.extend((first..first + len).map(Some));
            } else if let Some(len) = len.filter(|_| is_fixed) {
                items.extend(std::iter::repeat_n(None, len));
            }
            ends.push(items.len() as i64);
        }
        frame.levels.push(if is_fixed { below.clone() } else { Level::Lists(Offsets::of(ends)) });
        lists = items;
    }
    Ok((lists, frame))
}

/// Innermost items of a value in another frame; those that lack may be marked as absent.
fn chosen_items(value: &Value, frame: Frame, lists: &[Option<usize>], lacking: Lacking) -> Result<Value> {
    let was_there = |item: &Option<usize>| item.map_or(lacking == Lacking::StandIn, |item| value.is_there(item));
    let present = match lists.iter().all(was_there) {
        true => None,
        false => Some(lists.iter().map(was_there).collect::<Arc<[bool]>>()),
    };
    if value.frame.items()? == 0 {
        // No item can stand in for those that lack.
        let data = match &value.data {
            Data::Numbers(numbers) => Data::Numbers(super::number::Numbers::zeros(numbers.number, lists.len())),
            Data::Texts(_) => Data::Texts(super::value::Texts {
                offsets: Offsets::of(vec![0; lists.len() + 1]),
                bytes: bytes::Bytes::new(),
            }),
            one => one.clone(),
        };
        return Ok(Value { frame, data, present });
    }
    let places: Vec<usize> = lists.iter().map(|item| item.unwrap_or(0)).collect();
    Ok(Value { frame, data: value.data.gathered(&places)?, present })
}
