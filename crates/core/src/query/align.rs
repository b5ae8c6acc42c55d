//! Values of different depth and length as items of one loop.
//!
//! Lists are matched from the outside in: the first list of one value with the first list of another. What is less deep
//! is repeated. Where lengths differ, ROOT loops over the shortest (`TTreeFormulaManager`), and Awkward Array refuses.

use std::sync::Arc;

use super::value::{Data, Frame, Level, Offsets, Value};
use crate::error::{Error, ErrorKind, Result};

/// What happens where lists that are computed with each other have different lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths {
    /// An error, as in Awkward Array.
    #[default]
    Same,
    /// The shortest is looped over, as `TTree::Draw` does.
    Shortest,
}

/// Which items of a value belong to the items of a frame.
enum Items {
    /// The same ones.
    Same,
    At(Vec<usize>),
}

impl Items {
    fn at(&self, item: usize) -> usize {
        match self {
            Self::Same => item,
            Self::At(places) => places[item],
        }
    }
}

/// The loop of some values, and the values with an item for each turn of it. Single values stay single.
pub(super) fn align(values: Vec<Value>, rows: usize, lengths: Lengths) -> Result<(Frame, Vec<Value>)> {
    let deep = values.iter().map(Value::depth).max().unwrap_or(0);
    let mut frame = Frame::flat(rows);
    let mut items: Vec<Items> = values.iter().map(|_| Items::Same).collect();
    for depth in 0..deep {
        let lists = frame.items()?;
        next_level(&values, &mut items, depth, lists, &mut frame, lengths)?;
    }
    let aligned = values.into_iter().zip(items).map(|(value, items)| expanded(value, &items, &frame));
    let aligned = aligned.collect::<Result<_>>()?;
    Ok((frame, aligned))
}

/// Adds a level to the frame, and follows each value to its items.
fn next_level(
    values: &[Value],
    items: &mut [Items],
    depth: usize,
    lists: usize,
    frame: &mut Frame,
    lengths: Lengths,
) -> Result<()> {
    let mut deeper = values.iter().zip(&*items).filter(|(value, _)| value.depth() > depth);
    let Some((first, place)) = deeper.next() else { return Err(Error::internal("a loop has no list")) };
    let first_level = &first.frame.levels[depth];
    let mut is_same = matches!(place, Items::Same);
    for (value, place) in deeper {
        is_same = is_same && matches!(place, Items::Same) && first_level.same(&value.frame.levels[depth], lists)?;
    }
    if is_same {
        frame.levels.push(first_level.clone());
        let level = frame.levels[depth].clone();
        let offsets = level.offsets()?;
        for (value, items) in values.iter().zip(items).filter(|(value, _)| value.depth() <= depth) {
            if !matches!(value.data, Data::One(_)) {
                *items = Items::At(repeated(items, &level, offsets, lists)?);
            }
        }
        return Ok(());
    }
    // The length of each list, and where the values differ.
    let mut ends = Vec::with_capacity(lists + 1);
    let mut end = 0_i64;
    ends.push(end);
    let deeper: Vec<usize> = (0..values.len()).filter(|&at| values[at].depth() > depth).collect();
    let offsets: Vec<&[i64]> =
        deeper.iter().map(|&at| values[at].frame.levels[depth].offsets()).collect::<Result<_>>()?;
    for list in 0..lists {
        let mut shortest = usize::MAX;
        let mut longest = 0;
        for (&at, offsets) in deeper.iter().zip(&offsets) {
            let (_, len) = values[at].frame.levels[depth].bounds(offsets, items[at].at(list));
            (shortest, longest) = (shortest.min(len), longest.max(len));
        }
        if shortest != longest && lengths == Lengths::Same {
            return Err(unequal(frame, depth, list, shortest, longest)?);
        }
        end += shortest as i64;
        ends.push(end);
    }
    let level = Level::Lists(Offsets::of(ends));
    let common = level.offsets()?;
    for (at, value) in values.iter().enumerate() {
        if value.depth() > depth {
            let of = &value.frame.levels[depth];
            let offsets = of.offsets()?;
            let mut places = Vec::with_capacity(end as usize);
            for list in 0..lists {
                let (start, _) = of.bounds(offsets, items[at].at(list));
                let len = (common[list + 1] - common[list]) as usize;
                places.extend(start..start + len);
            }
            items[at] = Items::At(places);
        } else if !matches!(value.data, Data::One(_)) {
            items[at] = Items::At(repeated(&items[at], &level, common, lists)?);
        }
    }
    frame.levels.push(level);
    Ok(())
}

/// An item of each list, once for each item in it.
fn repeated(items: &Items, level: &Level, offsets: &[i64], lists: usize) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(level.items(lists)?);
    for list in 0..lists {
        let (_, len) = level.bounds(offsets, list);
        places.extend(std::iter::repeat_n(items.at(list), len));
    }
    Ok(places)
}

/// The error of lists of different lengths. Its offset is the row, which the caller replaces by the entry.
fn unequal(frame: &Frame, depth: usize, list: usize, shortest: usize, longest: usize) -> Result<Error> {
    // Back to the row of the list.
    let mut row = list;
    for above in (0..depth).rev() {
        let level = &frame.levels[above];
        row = match level {
            Level::Fixed(len) => row / (*len).max(1),
            Level::Lists(offsets) => {
                let offsets = offsets.all()?;
                let item = row as i64 + offsets[0];
                offsets.partition_point(|&offset| offset <= item).saturating_sub(1)
            }
        };
    }
    let words = format!("lists of {shortest} and of {longest} items are computed with each other");
    Ok(Error::new(ErrorKind::Mismatch, words).at(row as u64))
}

/// A value with an item for each of a frame's.
fn expanded(value: Value, items: &Items, frame: &Frame) -> Result<Value> {
    if matches!(value.data, Data::One(_)) && value.present.is_none() {
        return Ok(Value { frame: frame.clone(), ..value });
    }
    let Items::At(places) = items else { return Ok(Value { frame: frame.clone(), ..value }) };
    let present = value.present.as_ref().map(|present| {
        let of = |&at: &usize| present.get(at).copied().unwrap_or(false);
        places.iter().map(of).collect::<Arc<[bool]>>()
    });
    Ok(Value { frame: frame.clone(), data: value.data.gathered(places)?, present })
}

/// Which items all of some values have.
pub(super) fn all_present(values: &[Value]) -> Option<Arc<[bool]>> {
    let mut some = values.iter().filter_map(|value| value.present.as_ref());
    let first = Arc::clone(some.next()?);
    Some(some.fold(first, |all, more| all.iter().zip(more.iter()).map(|(&a, &b)| a && b).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(offsets: &[i64], values: &[f64]) -> Value {
        let level = Level::Lists(Offsets::of(offsets.to_vec()));
        Value::numbers(Frame { rows: offsets.len() - 1, levels: vec![level] }, values.to_vec())
    }

    fn aligned(values: Vec<Value>, rows: usize, lengths: Lengths) -> Vec<Vec<f64>> {
        let (_, values) = align(values, rows, lengths).expect("one loop");
        values.into_iter().map(|value| value.spread().expect("all").doubles().expect("numbers").into_owned()).collect()
    }

    #[test]
    fn what_is_less_deep_is_repeated() {
        let flat = Value::numbers(Frame::flat(3), vec![1.0, 2.0, 3.0]);
        let jagged = lists(&[5, 7, 7, 8], &[0.1, 0.2, 0.3]);
        let one = Value::constant(3, super::super::value::Scalar::F64(9.0));
        let found = aligned(vec![flat, jagged, one], 3, Lengths::Same);
        assert_eq!(found, [[1.0, 1.0, 3.0], [0.1, 0.2, 0.3], [9.0, 9.0, 9.0]]);
    }

    #[test]
    fn the_shortest_list_is_looped_over_on_request() {
        let (a, b) = (lists(&[0, 2, 3], &[1.0, 2.0, 3.0]), lists(&[0, 1, 3], &[10.0, 20.0, 30.0]));
        let error = align(vec![a.clone(), b.clone()], 2, Lengths::Same).expect_err("lengths");
        assert_eq!((error.kind(), error.place().offset), (ErrorKind::Mismatch, Some(0)));
        assert_eq!(aligned(vec![a, b], 2, Lengths::Shortest), [[1.0, 3.0], [10.0, 20.0]]);
    }

    #[test]
    fn arrays_of_arrays_meet_lists_from_the_outside_in() {
        let frame = Frame { rows: 1, levels: vec![Level::Fixed(2), Level::Fixed(3)] };
        let matrix = Value::numbers(frame, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let found = aligned(vec![matrix, lists(&[0, 2], &[10.0, 20.0])], 1, Lengths::Same);
        assert_eq!(found[1], [10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
    }
}
