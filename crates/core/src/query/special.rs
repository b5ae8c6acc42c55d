//! Functions of whole lists, and names that are no columns.

use super::bound::{Bound, Op, computed, number};
use super::collection::optional;
use super::fault::fault;
use super::function::chosen;
use super::number::Wide;
use super::reduce::Reduction;
use super::value::{Of, Scalar};
use crate::error::Result;

/// Names of functions that are no plain functions of numbers.
pub(super) const SPECIAL: [&str; 25] = [
    "Sum$",
    "Min$",
    "Max$",
    "MinIf$",
    "MaxIf$",
    "Length$",
    "Alt$",
    "sum",
    "prod",
    "any",
    "all",
    "argmin",
    "argmax",
    "count",
    "count_nonzero",
    "mean",
    "num",
    "first",
    "last",
    "pair_first",
    "pair_second",
    "get",
    "int",
    "float",
    "double",
];

/// Functions of whole lists.
pub(super) fn special(text: &str, name: &str, at: usize, of: &[Bound]) -> Result<Option<Bound>> {
    let arity = |count: usize| match of.len() == count {
        true => Ok(()),
        false => Err(fault(text, at, format!("{name}() takes {count} values, not {}", of.len()))),
    };
    let one = |nth: usize| Box::new(of[nth].clone());
    let made = |op, depth, of| Some(Bound { op, at, depth, of, in_loop: false });
    let all = |reduction: Reduction| {
        arity(1)?;
        let result = reduction.result(number(text, &of[0])?);
        Ok(made(Op::ReduceAll(reduction, one(0), None), 0, computed(result)))
    };
    let all_if = |reduction: Reduction| {
        arity(2)?;
        let result = reduction.result(number(text, &of[0])?);
        number(text, &of[1])?;
        Ok(made(Op::ReduceAll(reduction, one(0), Some(one(1))), 0, computed(result)))
    };
    let inner = |reduction: Reduction| {
        arity(1)?;
        let depth = of[0].depth.checked_sub(1).ok_or_else(|| {
            fault(text, of[0].at, format!("{name}() is over the items of lists, and this is one value an entry"))
        })?;
        let result = reduction.result(number(text, &of[0])?);
        Ok(Some(Bound {
            op: Op::ReduceInner(reduction, one(0)),
            at,
            depth,
            of: computed(result),
            in_loop: of[0].in_loop,
        }))
    };
    let item = |item: i64| {
        arity(1)?;
        let level = of[0].depth.checked_sub(1).ok_or_else(|| fault(text, of[0].at, "this is one value an entry"))?;
        let op = Op::Pick { of: one(0), level, item, from_end: true };
        Ok(Some(optional(Bound { op, at, depth: level, of: of[0].of, in_loop: of[0].in_loop })))
    };
    let pair = |second: bool| {
        arity(1)?;
        if of[0].depth == 0 {
            return Err(fault(text, of[0].at, "pairs are made of the items of lists, and this is one value an entry"));
        }
        let op = Op::Pairs(one(0), second);
        Ok(Some(Bound { op, at, depth: of[0].depth, of: of[0].of, in_loop: of[0].in_loop }))
    };
    match name {
        "Sum$" => all(Reduction::Sum),
        "Min$" => all(Reduction::Least),
        "Max$" => all(Reduction::Largest),
        "MinIf$" => all_if(Reduction::Least),
        "MaxIf$" => all_if(Reduction::Largest),
        "Length$" => {
            arity(1)?;
            Ok(made(Op::Count(one(0)), 0, computed(Wide::I64)))
        }
        "Alt$" => {
            arity(2)?;
            let wide = chosen(number(text, &of[0])?, number(text, &of[1])?);
            let op = Op::Alternative(one(0), one(1));
            Ok(Some(Bound { op, at, depth: of[1].depth, of: computed(wide), in_loop: true }))
        }
        "sum" => inner(Reduction::Sum),
        "prod" => inner(Reduction::Product),
        "any" => inner(Reduction::Any),
        "all" => inner(Reduction::All),
        "mean" => inner(Reduction::Mean),
        "count_nonzero" => inner(Reduction::CountTrue),
        "argmin" => inner(Reduction::WhereLeast),
        "argmax" => inner(Reduction::WhereLargest),
        "min" | "Min" | "max" | "Max" if of.len() == 1 => {
            inner(if name.starts_with("mi") { Reduction::LeastOrNone } else { Reduction::LargestOrNone })
        }
        // As in Awkward Array: absent items have a place in a list, and are not counted.
        "count" if of.len() == 1 && of[0].number().is_some() => inner(Reduction::Count),
        "count" | "num" | "len" => {
            arity(1)?;
            let level =
                of[0].depth.checked_sub(1).ok_or_else(|| fault(text, of[0].at, "this is one value an entry"))?;
            let in_loop = of[0].in_loop;
            let op = Op::Size(one(0), level);
            Ok(Some(Bound { op, at, depth: level, of: computed(Wide::I64), in_loop }))
        }
        "first" => item(0),
        "last" => item(-1),
        "pair_first" => pair(false),
        "pair_second" => pair(true),
        _ => Ok(None),
    }
}

pub(super) fn named_constant(name: &str, at: usize) -> Option<Bound> {
    let special = |op, wide, in_loop| Some(Bound { op, at, depth: 0, of: computed(wide), in_loop });
    match name {
        "Entry$" | "LocalEntry$" => special(Op::Entry, Wide::I64, false),
        "Entries$" | "LocalEntries$" => special(Op::Entries, Wide::I64, false),
        "Iteration$" => special(Op::Iteration, Wide::I64, true),
        "Length$" => special(Op::LoopLength, Wide::I64, true),
        "pi" => Some(constant(at, Scalar::F64(std::f64::consts::PI))),
        "true" | "True" | "kTRUE" => Some(constant(at, Scalar::Bool(true))),
        "false" | "False" | "kFALSE" => Some(constant(at, Scalar::Bool(false))),
        "nan" | "NaN" => Some(constant(at, Scalar::F64(f64::NAN))),
        "inf" => Some(constant(at, Scalar::F64(f64::INFINITY))),
        _ => None,
    }
}

pub(super) fn constant(at: usize, value: Scalar) -> Bound {
    let of = value.wide().map_or(Of::Text, computed);
    Bound { op: Op::Constant(value), at, depth: 0, of, in_loop: false }
}
