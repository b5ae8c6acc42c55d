//! Estimates the values of an expression in a range of entries before any of them is read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::bound::{Bound, Op};
use super::interval::{Interval, mixed, together, turns_of};
use super::interval_functions::{call, power};
use super::number::Wide;
use super::path::Path;
use super::reduce::Reduction;
use super::span::{Span, Truth, compare, real_arithmetic, whole_arithmetic};
use super::syntax::{Binary, Unary};
use super::value::{Of, Scalar};
use crate::column::Number;
use crate::statistics::Summary;

/// Returns the summary of a column in a range of entries, by its place and path, with its type and levels of lists.
pub(super) type OfColumn<'c> = &'c dyn Fn(usize, &Path) -> Option<(Summary, Number, usize)>;

/// A range of entries, and what is known of it.
pub(super) struct Known<'k> {
    pub(super) column: OfColumn<'k>,
    /// The first and the last entry.
    pub(super) entries: (u64, u64),
    /// Entries of the whole source.
    pub(super) total: u64,
    /// Intervals of values that several others are computed of, by their addresses.
    pub(super) remembered: RefCell<HashMap<usize, Interval>>,
}

impl Known<'_> {
    /// An interval that holds all values of an expression.
    pub(super) fn interval(&self, bound: &Bound) -> Interval {
        // The loop decides how many values it has.
        if bound.in_loop {
            return Interval::any(1);
        }
        match &bound.op {
            Op::Constant(scalar) => constant(scalar),
            Op::Column(place, path) => match (self.column)(*place, path) {
                Some((summary, number, depth)) if depth == bound.depth && bound.of == Of::Number(number) => {
                    Interval::of_summary(&summary, number, depth)
                }
                _ => Interval::any(bound.depth),
            },
            Op::Unary(operator, of) => unary(*operator, self.interval(of)),
            Op::Binary(operator, a, b) => self.binary(*operator, a, b),
            Op::Call(function, of) => {
                let values: Vec<Interval> = of.iter().map(|of| self.interval(of)).collect();
                let with_depths: Vec<_> = values.iter().copied().zip(of.iter().map(|of| of.depth)).collect();
                let (span, nan) = call(function, &values);
                let lacks = values.iter().any(|value| value.lacks);
                Interval { span, nan, lacks, turns: together(&with_depths) }
            }
            Op::Choice(condition, yes, no) => {
                let values = [self.interval(condition), self.interval(yes), self.interval(no)];
                let turns = together(&[(values[0], condition.depth), (values[1], yes.depth), (values[2], no.depth)]);
                let span = mixed(values[1].span, values[2].span);
                let nan = values[1].nan || values[2].nan;
                Interval { span, nan, lacks: values.iter().any(|value| value.lacks), turns }
            }
            Op::Pick { of, level, item, .. } => {
                let value = self.interval(of);
                // Lists that are all long enough have the item.
                let has_item =
                    of.depth == 1 && *level == 0 && u64::try_from(*item).is_ok_and(|item| item < value.turns.0);
                let never = of.depth == 1 && *level == 0 && u64::try_from(*item).is_ok_and(|at| at >= value.turns.1);
                let span = if never { Span::Nothing } else { value.span };
                Interval {
                    span,
                    nan: value.nan && !never,
                    lacks: value.lacks || !has_item,
                    turns: turns_of(bound.depth),
                }
            }
            Op::PickBy { of, .. } => {
                let value = self.interval(of);
                Interval { lacks: true, turns: turns_of(bound.depth), ..value }
            }
            Op::Slice { of, .. } | Op::Mask { of, .. } => {
                let value = self.interval(of);
                // An index may repeat lists of lists; lists of numbers only lose items.
                let turns = if of.depth == 1 && bound.depth == 1 { (0, value.turns.1) } else { turns_of(bound.depth) };
                Interval { lacks: true, turns, ..value }
            }
            Op::Size(of, level) => {
                let turns = self.interval(of).turns;
                let counts = if of.depth == 1 && *level == 0 { count_span(turns) } else { count_span((0, u64::MAX)) };
                Interval { span: counts, nan: false, lacks: false, turns: turns_of(bound.depth) }
            }
            Op::Length(_) => Interval { span: count_span((0, u64::MAX)), ..Interval::any(bound.depth) },
            Op::Count(of) => {
                let value = self.interval(of);
                let least = if value.lacks { 0 } else { value.turns.0 };
                Interval::single(count_span((least, value.turns.1)))
            }
            Op::ReduceAll(reduction, of, condition) => {
                let value = self.interval(of);
                let turns = match condition {
                    None => value.turns,
                    Some(condition) => {
                        let turns = together(&[(value, of.depth), (self.interval(condition), condition.depth)]);
                        (0, turns.1)
                    }
                };
                reduced(*reduction, Interval { turns, ..value }, (1, 1))
            }
            Op::ReduceInner(reduction, of) if of.depth == 1 => reduced(*reduction, self.interval(of), (1, 1)),
            Op::ReduceInner(reduction, of) => {
                let value = self.interval(of);
                // The lists inside may have any part of the items.
                let lists = Interval { turns: (0, value.turns.1), ..value };
                reduced(*reduction, lists, turns_of(bound.depth))
            }
            Op::Pairs(of, _) => Interval { lacks: true, turns: turns_of(bound.depth), ..self.interval(of) },
            Op::Entry => {
                let (first, last) = self.entries;
                Interval::single(Span::Whole(Wide::I64, first.into(), last.into()))
            }
            Op::Entries => Interval::single(Span::Whole(Wide::I64, self.total.into(), self.total.into())),
            Op::Shared(shared) => {
                let address = Arc::as_ptr(shared).addr();
                let known = self.remembered.borrow().get(&address).copied();
                known.unwrap_or_else(|| {
                    let interval = self.interval(&shared.bound);
                    self.remembered.borrow_mut().insert(address, interval);
                    interval
                })
            }
            Op::Joint(..) => Interval::any(bound.depth),
            Op::Alternative(..) | Op::Iteration | Op::LoopLength => Interval::any(1),
        }
    }

    fn binary(&self, operator: Binary, first: &Bound, second: &Bound) -> Interval {
        let a = self.interval(first);
        let b = self.interval(second);
        let turns = together(&[(a, first.depth), (b, second.depth)]);
        let lacks = a.lacks || b.lacks;
        let nan = a.nan || b.nan;
        let made = |span, nan| Interval { span, nan, lacks, turns };
        let are_bools = a.span.wide() == Some(Wide::Bool) && b.span.wide() == Some(Wide::Bool);
        match operator {
            Binary::And => made(and(a.truth(), b.truth()).span(), false),
            Binary::Or => made(or(a.truth(), b.truth()).span(), false),
            Binary::BitAnd if are_bools => made(and(a.truth(), b.truth()).span(), false),
            Binary::BitOr if are_bools => made(or(a.truth(), b.truth()).span(), false),
            _ if operator.is_comparison() => {
                let mut truth = compare(operator, a.span, b.span);
                // NaN differs from everything, and everything else is false.
                if nan {
                    truth.can_be_true |= operator == Binary::Unequal;
                    truth.can_be_false |= operator != Binary::Unequal;
                }
                made(truth.span(), false)
            }
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => {
                let (span, new_nan) = arithmetic(operator, (a, first), (b, second));
                made(span, nan || new_nan)
            }
            Binary::Power | Binary::Caret => {
                let (span, nan) = power(a.to_real(), b.to_real());
                made(span, nan)
            }
            Binary::Remainder | Binary::FloorDivide => {
                let divides_by_zero = b.span.wide().is_none_or(Wide::is_whole) && b.span.truth().can_be_false;
                let (span, nan) = divided(operator, a, b);
                Interval { lacks: lacks || divides_by_zero, ..made(span, nan) }
            }
            Binary::BitAnd => {
                let span = match (a.span, b.span) {
                    (Span::Whole(x, 0.., most), Span::Whole(y, 0.., other)) if x == y => {
                        Span::Whole(x, 0, most.min(other))
                    }
                    _ => Span::Any,
                };
                made(span, false)
            }
            Binary::ShiftRight => {
                let span = match (a.span, b.span) {
                    (Span::Whole(Wide::I64, least, largest), Span::Whole(_, by @ 0..=63, same)) if by == same => {
                        Span::Whole(Wide::I64, least >> by, largest >> by)
                    }
                    _ => Span::Any,
                };
                made(span, false)
            }
            _ => made(Span::Any, true),
        }
    }
}

fn and(a: Truth, b: Truth) -> Truth {
    Truth { can_be_true: a.can_be_true && b.can_be_true, can_be_false: a.can_be_false || b.can_be_false }
}

fn or(a: Truth, b: Truth) -> Truth {
    Truth { can_be_true: a.can_be_true || b.can_be_true, can_be_false: a.can_be_false && b.can_be_false }
}

fn constant(scalar: &Scalar) -> Interval {
    let same = |wide, value| Interval::single(Span::Whole(wide, value, value));
    match scalar {
        Scalar::Bool(value) => same(Wide::Bool, i128::from(*value)),
        Scalar::I64(value) => same(Wide::I64, i128::from(*value)),
        Scalar::U64(value) => same(Wide::U64, i128::from(*value)),
        Scalar::F64(value) if value.is_nan() => Interval { nan: true, ..Interval::single(Span::Nothing) },
        Scalar::F64(value) => Interval::single(Span::Real(*value, *value)),
        Scalar::Text(_) => Interval::single(Span::Any),
    }
}

/// So many items, as a whole number.
fn count_span((least, most): (u64, u64)) -> Span {
    let most = i128::from(most).min(i64::MAX.into());
    Span::Whole(Wide::I64, i128::from(least).min(most), most)
}

fn unary(operator: Unary, of: Interval) -> Interval {
    match operator {
        Unary::Plus => match of.span {
            Span::Whole(Wide::Bool, least, largest) => Interval { span: Span::Whole(Wide::I64, least, largest), ..of },
            _ => of,
        },
        Unary::Minus => {
            let span = match of.span {
                Span::Whole(Wide::U64, ..) | Span::Real(..) => {
                    of.span.ends().map_or(Span::Any, |(least, largest)| Span::Real(-largest, -least))
                }
                Span::Whole(_, least, largest) => Span::whole(Wide::I64, Some(-largest), Some(-least)),
                other => other,
            };
            Interval { span, ..of }
        }
        Unary::Not => {
            let Truth { can_be_true, can_be_false } = of.truth();
            Interval { span: Truth { can_be_true: can_be_false, can_be_false: can_be_true }.span(), nan: false, ..of }
        }
        Unary::Invert => match of.span {
            Span::Whole(Wide::Bool, ..) => unary(Unary::Not, of),
            _ => Interval { span: Span::Any, nan: true, ..of },
        },
        Unary::Cast(cast) => casted(cast.0, of),
    }
}

/// Numbers in another type.
fn casted(to: Number, of: Interval) -> Interval {
    let wide = Wide::of(to);
    match (to, of.span) {
        (_, Span::Any) => Interval { lacks: true, nan: true, ..of },
        (Number::Bool, _) => Interval { span: of.truth().span(), nan: false, ..of },
        (Number::F64, span) => Interval { span: span.to_real(), ..of },
        (Number::F32, span) => {
            let span = span
                .ends()
                .map_or(span, |(least, largest)| Span::Real(f64::from(least as f32), f64::from(largest as f32)));
            Interval { span, ..of }
        }
        (_, Span::Nothing) => Interval { nan: false, lacks: true, ..of },
        (_, Span::Real(least, largest)) => {
            // A cast of infinities and of numbers beyond 64 bits gives nothing.
            let least = least.trunc();
            let largest = largest.trunc();
            let is_small = least >= -(2_f64.powi(63)) && largest <= 2_f64.powi(63);
            let ends = is_small.then_some((least as i128, largest as i128));
            let span = narrowed(to, wide, ends);
            Interval { span, nan: false, lacks: of.lacks || of.nan || !is_small, ..of }
        }
        (_, Span::Whole(_, least, largest)) => Interval { span: narrowed(to, wide, Some((least, largest))), ..of },
    }
}

/// Whole numbers in a type that may be narrow: all of its numbers if it does not hold these.
fn narrowed(to: Number, wide: Wide, ends: Option<(i128, i128)>) -> Span {
    let bits = 8 * to.bytes() as u32;
    let (first, last) = if to.is_unsigned() {
        (0, (1_i128 << bits) - 1)
    } else {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    };
    match ends {
        Some((least, largest)) if first <= least && largest <= last => Span::Whole(wide, least, largest),
        _ => Span::Whole(wide, first, last),
    }
}

/// `+ - * /`, and whether the result may be NaN although both sides are not.
fn arithmetic(operator: Binary, (a, first): (Interval, &Bound), (b, second): (Interval, &Bound)) -> (Span, bool) {
    if a.span == Span::Any || b.span == Span::Any {
        return (Span::Any, true);
    }
    if let (Span::Whole(x, least, largest), Span::Whole(y, from, to)) = (a.span, b.span)
        && operator != Binary::Divide
    {
        let has_u64 = x == Wide::U64 || y == Wide::U64;
        let is_subtraction = operator == Binary::Subtract;
        if !has_u64 {
            return (whole_arithmetic(operator, Wide::I64, (least, largest), (from, to)), false);
        }
        // A number that is written down takes the lack of a sign from the other; computed ones do so at times.
        let is_plain = |bound: &Bound, wide| wide != Wide::I64 || matches!(bound.constant(), Some(Scalar::I64(0..)));
        if !is_plain(first, x) || !is_plain(second, y) {
            return (Span::Any, false);
        }
        if !is_subtraction {
            return (whole_arithmetic(operator, Wide::U64, (least, largest), (from, to)), false);
        }
    }
    match (a.span.ends(), b.span.ends()) {
        (Some(a), Some(b)) => real_arithmetic(operator, a, b),
        // One side has nothing but NaN, or nothing at all.
        _ => (Span::Nothing, false),
    }
}

/// Results of `//` and `%`. The caller notes that a division of whole numbers by zero returns nothing.
fn divided(operator: Binary, a: Interval, b: Interval) -> (Span, bool) {
    let nan = a.nan || b.nan;
    match (operator, a.span, b.span) {
        (Binary::Remainder, Span::Whole(Wide::I64, least, largest), Span::Whole(Wide::I64, from, to)) => {
            let most = (from.abs().max(to.abs()) - 1).max(0);
            // The sign is that of the first number.
            let low = if least >= 0 { 0 } else { -most.min(-least) };
            let high = if largest <= 0 { 0 } else { most.min(largest) };
            (Span::Whole(Wide::I64, low, high), false)
        }
        (Binary::FloorDivide, Span::Whole(Wide::I64, least, largest), Span::Whole(Wide::I64, from @ 1.., to)) => {
            let quotients =
                [least.div_euclid(from), least.div_euclid(to), largest.div_euclid(from), largest.div_euclid(to)];
            let least = quotients.iter().copied().min();
            let largest = quotients.iter().copied().max();
            (Span::whole(Wide::I64, least, largest), false)
        }
        (Binary::FloorDivide, a @ Span::Real(..), b) | (Binary::FloorDivide, a, b @ Span::Real(..)) => {
            match (a.ends(), b.ends()) {
                (Some(a), Some(b)) => {
                    let (quotient, new) = real_arithmetic(Binary::Divide, a, b);
                    let floor =
                        quotient.ends().map_or(Span::Any, |(least, most)| Span::real(least.floor(), most.floor()));
                    (floor, nan || new)
                }
                _ => (Span::Any, true),
            }
        }
        _ => (Span::Any, true),
    }
}

/// Result of a reduction of lists of such items. `turns` are those of the result.
fn reduced(reduction: Reduction, of: Interval, turns: (u64, u64)) -> Interval {
    let least = if of.lacks { 0 } else { of.turns.0 };
    let most = of.turns.1;
    let truth = of.truth();
    let has_items = most > 0;
    let may_be_empty = least == 0;
    let made = |span, nan| Interval { span, nan, lacks: false, turns };
    // Truth values are reduced as whole numbers.
    let widened = |span: Span| match span {
        Span::Whole(Wide::Bool, least, largest) => Span::Whole(Wide::I64, least, largest),
        span => span,
    };
    let or_zero = |span: Span| match span.wide() {
        Some(wide) if may_be_empty && wide.is_whole() => span.or(Span::Whole(wide, 0, 0)),
        Some(_) if may_be_empty => span.or(Span::Real(0.0, 0.0)),
        None if may_be_empty => Span::Any,
        _ => span,
    };
    match reduction {
        Reduction::Any => {
            let truth =
                Truth { can_be_true: truth.can_be_true && has_items, can_be_false: truth.can_be_false || may_be_empty };
            made(truth.span(), false)
        }
        Reduction::All => {
            let truth =
                Truth { can_be_true: truth.can_be_true || may_be_empty, can_be_false: truth.can_be_false && has_items };
            made(truth.span(), false)
        }
        Reduction::CountTrue => {
            let low = if truth.can_be_false { 0 } else { least };
            made(count_span((low, if truth.can_be_true { most } else { 0 })), false)
        }
        Reduction::Count => made(count_span((least, most)), false),
        Reduction::WhereLeast | Reduction::WhereLargest => {
            Interval { lacks: may_be_empty, ..made(count_span((0, most.saturating_sub(1))), false) }
        }
        Reduction::LeastOrNone | Reduction::LargestOrNone => {
            Interval { lacks: may_be_empty, ..made(widened(of.span), of.nan) }
        }
        Reduction::Least | Reduction::Largest => made(or_zero(widened(of.span)), of.nan || of.span == Span::Any),
        Reduction::Sum => {
            let (span, nan) = sum(of, least, most);
            made(span, nan)
        }
        Reduction::Mean => {
            let (span, nan) = mean(of, least, most);
            made(span, nan)
        }
        Reduction::Product => made(Span::Any, true),
    }
}

/// The sum of `least` to `most` numbers of a set.
fn sum(of: Interval, least: u64, most: u64) -> (Span, bool) {
    match of.span {
        Span::Any => (Span::Any, true),
        // A sum of nothing is zero of an unknown type.
        Span::Nothing => (Span::Any, true),
        Span::Whole(wide, low, high) => {
            let wide = if wide == Wide::Bool { Wide::I64 } else { wide };
            let times = |value: i128, count: u64| value.checked_mul(i128::from(count));
            let low = times(low, if low < 0 { most } else { least });
            let high = times(high, if high > 0 { most } else { least });
            (Span::whole(wide, low, high), false)
        }
        Span::Real(low, high) => {
            let times = |value: f64, count: u64| if count == 0 || value == 0.0 { 0.0 } else { value * count as f64 };
            let from = times(low, if low < 0.0 { most } else { least });
            let to = times(high, if high > 0.0 { most } else { least });
            // Each addition rounds by a part in 2^53 of what there is so far.
            let largest = times(low.abs().max(high.abs()), most);
            let error = largest * (most as f64) * f64::EPSILON;
            let is_infinite = !error.is_finite() || largest > f64::MAX / 4.0;
            let nan = of.nan || (is_infinite && low < 0.0 && high > 0.0);
            if !is_infinite {
                return (Span::widened(from - error, to + error), nan);
            }
            // Sums of numbers of one sign keep it.
            let from = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
            let to = if high <= 0.0 { 0.0 } else { f64::INFINITY };
            (Span::Real(from, to), nan)
        }
    }
}

/// The mean of `least` to `most` numbers of a set; NaN for an empty list.
fn mean(of: Interval, least: u64, most: u64) -> (Span, bool) {
    let Some((low, high)) = of.span.ends() else { return (Span::Any, true) };
    let size = low.abs().max(high.abs());
    let error = size * (most as f64) * f64::EPSILON;
    if !error.is_finite() || size * most as f64 > f64::MAX / 4.0 {
        return (Span::Any, true);
    }
    (Span::widened(low - error, high + error), of.nan || least == 0)
}
