//! One value of many: sums, extremes, counts.

use std::sync::Arc;

use super::fault::no_number;
use super::number::Wide;
use super::value::{Data, Frame, Value};
use crate::error::Result;

/// How many values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Product,
    /// The least one; 0 where there is none, as in ROOT.
    Least,
    Largest,
    /// The least one; absent where there is none, as in Awkward Array.
    LeastOrNone,
    LargestOrNone,
    Mean,
    Any,
    All,
    CountTrue,
    /// Items that are there.
    Count,
    /// The position of the least one, absent where there is none.
    WhereLeast,
    WhereLargest,
}

impl Reduction {
    /// Whether a list has none of it where all of its items are absent.
    pub(super) fn may_have_none(self) -> bool {
        matches!(self, Self::LeastOrNone | Self::LargestOrNone | Self::WhereLeast | Self::WhereLargest)
    }

    pub(super) fn result(self, of: Wide) -> Wide {
        match self {
            Self::Any | Self::All => Wide::Bool,
            Self::CountTrue | Self::Count | Self::WhereLeast | Self::WhereLargest => Wide::I64,
            Self::Mean => Wide::F64,
            _ if of == Wide::Bool => Wide::I64,
            _ => of,
        }
    }
}

/// The sum of each run of items. Short runs of any length are summed alike: a loop that ends at random costs more than
/// its additions.
fn sums(items: &[f64], lens: &[usize]) -> Vec<f64> {
    const SHORT: usize = 6;
    /// All bits of the items of a run, and none of what follows.
    static MASKS: [u64; 2 * SHORT] = {
        let mut masks = [0; 2 * SHORT];
        let mut place = 0;
        while place < SHORT {
            masks[place] = u64::MAX;
            place += 1;
        }
        masks
    };
    let mut at = 0;
    let of = |&len: &usize| {
        let run = at..at + len;
        at += len;
        match items.get(run.start..run.start + SHORT) {
            Some(first) if len <= SHORT => {
                let masks = &MASKS[SHORT - len..2 * SHORT - len];
                let items = first.iter().zip(masks).map(|(item, mask)| f64::from_bits(item.to_bits() & mask));
                items.fold(0.0, |sum, item| sum + item)
            }
            _ => items[run].iter().fold(0.0, |sum, item| sum + item),
        }
    };
    lens.iter().map(of).collect()
}

/// Reduces runs of items: one for each of `ends`, which count items.
pub(super) fn reduce(reduction: Reduction, value: &Value, frame: Frame, lens: &[usize]) -> Result<Value> {
    let Data::Numbers(numbers) = &value.data else { return Err(no_number()) };
    let present = value.present.as_deref();
    let is_there = |item: usize| present.is_none_or(|present| present[item]);
    let mut none = Vec::new();
    macro_rules! fold {
        ($items:expr, $start:expr, $join:expr) => {{
            let items = $items;
            let mut at = 0;
            let of = |&len: &usize| {
                let range = at..at + len;
                at += len;
                match present {
                    None => items[range].iter().copied().fold($start, $join),
                    Some(_) => range.filter(|&item| is_there(item)).map(|item| items[item]).fold($start, $join),
                }
            };
            lens.iter().map(of).collect()
        }};
    }
    // The position of the best item of each run, if there is one.
    macro_rules! best {
        ($items:expr, $better:expr) => {{
            let items = $items;
            let mut at = 0;
            let of = |&len: &usize| {
                let range = at..at + len;
                at += len;
                let mut best: Option<usize> = None;
                for item in range.filter(|&item| is_there(item)) {
                    if best.is_none_or(|best| $better(items[item], items[best])) {
                        best = Some(item);
                    }
                }
                best
            };
            lens.iter().map(of).collect::<Vec<Option<usize>>>()
        }};
    }
    let whole = Wide::of(numbers.number).is_whole();
    let unsigned = Wide::of(numbers.number) == Wide::U64;
    // Awkward Array takes NaN only where there is nothing else; `Max$` goes on from the first item, as in ROOT.
    let skips_nan = !matches!(reduction, Reduction::Least | Reduction::Largest);
    let extreme = |largest: bool| -> Result<Vec<Option<usize>>> {
        Ok(match (whole, unsigned, largest) {
            (false, _, true) => {
                best!(numbers.as_f64()?, |a: f64, b: f64| a > b || (skips_nan && b.is_nan() && !a.is_nan()))
            }
            (false, _, false) => {
                best!(numbers.as_f64()?, |a: f64, b: f64| a < b || (skips_nan && b.is_nan() && !a.is_nan()))
            }
            (true, false, true) => best!(numbers.as_i64()?, |a, b| a > b),
            (true, false, false) => best!(numbers.as_i64()?, |a, b| a < b),
            (true, true, true) => best!(numbers.as_u64()?, |a, b| a > b),
            (true, true, false) => best!(numbers.as_u64()?, |a, b| a < b),
        })
    };
    let made = |values: Value, none: Vec<bool>| match none.iter().any(|none| *none) {
        true => Value { present: Some(none.iter().map(|none| !none).collect::<Arc<[bool]>>()), ..values },
        false => values,
    };
    Ok(match reduction {
        Reduction::Sum if unsigned => Value::numbers::<u64>(frame, fold!(numbers.as_u64()?, 0, u64::wrapping_add)),
        Reduction::Sum if whole => Value::numbers::<i64>(frame, fold!(numbers.as_i64()?, 0, i64::wrapping_add)),
        Reduction::Sum if present.is_none() => Value::numbers(frame, sums(&numbers.as_f64()?, lens)),
        Reduction::Sum => Value::numbers::<f64>(frame, fold!(numbers.as_f64()?, 0.0, |a, b| a + b)),
        Reduction::Product if unsigned => Value::numbers::<u64>(frame, fold!(numbers.as_u64()?, 1, u64::wrapping_mul)),
        Reduction::Product if whole => Value::numbers::<i64>(frame, fold!(numbers.as_i64()?, 1, i64::wrapping_mul)),
        Reduction::Product => Value::numbers::<f64>(frame, fold!(numbers.as_f64()?, 1.0, |a, b| a * b)),
        Reduction::Any => Value::numbers::<bool>(frame, fold!(numbers.as_bool()?, false, |a, b| a || b)),
        Reduction::All => Value::numbers::<bool>(frame, fold!(numbers.as_bool()?, true, |a, b| a && b)),
        Reduction::CountTrue => {
            Value::numbers::<i64>(frame, fold!(numbers.as_bool()?, 0_i64, |count, is: bool| count + i64::from(is)))
        }
        Reduction::Count => Value::numbers::<i64>(frame, fold!(numbers.as_bool()?, 0_i64, |count, _: bool| count + 1)),
        Reduction::Mean => {
            let sums: Vec<f64> = fold!(numbers.as_f64()?, 0.0, |a, b| a + b);
            let mut at = 0;
            let mut counts = Vec::with_capacity(lens.len());
            for len in lens {
                counts.push((at..at + len).filter(|&item| is_there(item)).count());
                at += len;
            }
            Value::numbers(frame, sums.iter().zip(counts).map(|(sum, count)| sum / count as f64).collect())
        }
        Reduction::Least | Reduction::Largest | Reduction::LeastOrNone | Reduction::LargestOrNone => {
            let found = extreme(matches!(reduction, Reduction::Largest | Reduction::LargestOrNone))?;
            if matches!(reduction, Reduction::LeastOrNone | Reduction::LargestOrNone) {
                none = found.iter().map(Option::is_none).collect();
            }
            let values = match (whole, unsigned) {
                (false, _) => {
                    let items = numbers.as_f64()?;
                    Value::numbers(frame, found.iter().map(|at| at.map_or(0.0, |at| items[at])).collect::<Vec<f64>>())
                }
                (true, false) => {
                    let items = numbers.as_i64()?;
                    Value::numbers(frame, found.iter().map(|at| at.map_or(0, |at| items[at])).collect::<Vec<i64>>())
                }
                (true, true) => {
                    let items = numbers.as_u64()?;
                    Value::numbers(frame, found.iter().map(|at| at.map_or(0, |at| items[at])).collect::<Vec<u64>>())
                }
            };
            made(values, none)
        }
        Reduction::WhereLeast | Reduction::WhereLargest => {
            let found = extreme(reduction == Reduction::WhereLargest)?;
            none = found.iter().map(Option::is_none).collect();
            let mut first = 0;
            let mut places = Vec::with_capacity(lens.len());
            for (at, len) in found.iter().zip(lens) {
                places.push(at.map_or(0, |at| (at - first) as i64));
                first += len;
            }
            made(Value::numbers(frame, places), none)
        }
    })
}
