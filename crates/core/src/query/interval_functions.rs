//! Functions of sets of numbers: those that rise or fall, and a few others. Of all others nothing is known.

use super::function::Function;
use super::interval::{Interval, mixed};
use super::names::Kernel;
use super::number::Wide;
use super::span::{Span, Truth};

/// Results of a function of values of these sets, and whether they may be NaN.
pub(super) fn call(function: &Function, of: &[Interval]) -> (Span, bool) {
    const UNKNOWN: (Span, bool) = (Span::Any, true);
    if let Kernel::Constant(value) = function.kernel {
        return if value.is_nan() { (Span::Nothing, true) } else { (Span::Real(value, value), false) };
    }
    if of.iter().any(|value| value.span == Span::Any) {
        return UNKNOWN;
    }
    match *of {
        [x] => one(function, x),
        [x, y] => two(function, x, y),
        [_, yes, no] if matches!(function.kernel, Kernel::Where) => (mixed(yes.span, no.span), yes.nan || no.nan),
        _ => UNKNOWN,
    }
}

/// How a function changes numbers.
enum Shape {
    /// Rises, and is computed exactly or as the nearest double.
    Exact(fn(f64) -> f64),
    Rises(fn(f64) -> f64),
    Falls(fn(f64) -> f64),
}

/// The shape of a function of one number, and the numbers for which it is one.
fn shape(name: &str) -> Option<(Shape, (f64, f64))> {
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    Some(match name {
        "floor" | "Floor" => (Shape::Exact(f64::floor), all),
        "ceil" | "Ceil" => (Shape::Exact(f64::ceil), all),
        "trunc" => (Shape::Exact(f64::trunc), all),
        "rint" | "round" | "Nint" => (Shape::Exact(f64::round_ties_even), all),
        "sqrt" | "Sqrt" => (Shape::Exact(f64::sqrt), (0.0, f64::INFINITY)),
        "exp" | "Exp" => (Shape::Rises(f64::exp), all),
        "exp2" => (Shape::Rises(f64::exp2), all),
        "log" | "Log" => (Shape::Rises(f64::ln), (0.0, f64::INFINITY)),
        "log2" | "Log2" => (Shape::Rises(f64::log2), (0.0, f64::INFINITY)),
        "log10" | "Log10" => (Shape::Rises(f64::log10), (0.0, f64::INFINITY)),
        "cbrt" => (Shape::Rises(f64::cbrt), all),
        "atan" | "arctan" | "ATan" => (Shape::Rises(f64::atan), all),
        "sinh" | "SinH" => (Shape::Rises(f64::sinh), all),
        "tanh" | "TanH" => (Shape::Rises(f64::tanh), all),
        "asin" | "arcsin" | "ASin" => (Shape::Rises(f64::asin), (-1.0, 1.0)),
        "acos" | "arccos" | "ACos" => (Shape::Falls(f64::acos), (-1.0, 1.0)),
        _ => return None,
    })
}

fn one(function: &Function, of: Interval) -> (Span, bool) {
    let name = function.name;
    if matches!(function.kernel, Kernel::Not) {
        let Truth { can_be_true, can_be_false } = of.truth();
        return (Truth { can_be_true: can_be_false, can_be_false: can_be_true }.span(), false);
    }
    match name {
        "isnan" | "IsNaN" => {
            return (Truth { can_be_true: of.nan, can_be_false: of.span != Span::Nothing }.span(), false);
        }
        "abs" | "absolute" | "Abs" => return magnitude(of),
        "fabs" => return magnitude(of.to_real()),
        "sq" | "Sq" => return square(of.to_real()),
        "square" => return square(of),
        _ => {}
    }
    let Some((shape, (first, last))) = shape(name) else { return (Span::Any, true) };
    let Some((least, largest)) = of.span.ends() else { return (Span::Nothing, of.nan) };
    let nan = of.nan || least < first || largest > last;
    let least = least.max(first);
    let largest = largest.min(last);
    if least > largest {
        return (Span::Nothing, true);
    }
    let span = match shape {
        Shape::Exact(f) => Span::real(f(least), f(largest)),
        Shape::Rises(f) => Span::widened(f(least), f(largest)),
        Shape::Falls(f) => Span::widened(f(largest), f(least)),
    };
    (span, nan)
}

fn magnitude(of: Interval) -> (Span, bool) {
    let span = match of.span {
        // The least number has no positive one of its type.
        Span::Whole(Wide::Bool | Wide::I64, least, largest) => {
            let ends = (least.abs().min(largest.abs()), least.abs().max(largest.abs()));
            let low = if least <= 0 && largest >= 0 { 0 } else { ends.0 };
            Span::whole(Wide::I64, Some(low), Some(ends.1))
        }
        span => match span.ends() {
            None => Span::Nothing,
            Some((least, largest)) => {
                let low = if least <= 0.0 && largest >= 0.0 { 0.0 } else { least.abs().min(largest.abs()) };
                Span::Real(low, least.abs().max(largest.abs()))
            }
        },
    };
    (span, of.nan)
}

fn square(of: Interval) -> (Span, bool) {
    let (magnitude, nan) = magnitude(of);
    let span = match magnitude {
        Span::Whole(wide, least @ 0.., largest) => {
            Span::whole(wide, least.checked_mul(least), largest.checked_mul(largest))
        }
        Span::Whole(wide, ..) => Span::all_of(wide),
        Span::Real(least, largest) => Span::widened(least * least, largest * largest),
        other => other,
    };
    (span, nan)
}

fn two(function: &Function, a: Interval, b: Interval) -> (Span, bool) {
    match function.name {
        "logical_and" => {
            let [a, b] = [a, b].map(|value| value.truth());
            let can_be_false = a.can_be_false || b.can_be_false;
            (Truth { can_be_true: a.can_be_true && b.can_be_true, can_be_false }.span(), false)
        }
        "logical_or" => {
            let [a, b] = [a, b].map(|value| value.truth());
            let can_be_false = a.can_be_false && b.can_be_false;
            (Truth { can_be_true: a.can_be_true || b.can_be_true, can_be_false }.span(), false)
        }
        "max" | "maximum" | "Max" => of_two(a, b, i128::max, f64::max),
        "min" | "minimum" | "Min" => of_two(a, b, i128::min, f64::min),
        "hypot" | "Hypot" => {
            let ((a, nan), (b, other)) = (magnitude(a.to_real()), magnitude(b.to_real()));
            match (a.ends(), b.ends()) {
                (Some(a), Some(b)) => (Span::widened(a.0.hypot(b.0), a.1.hypot(b.1)), nan || other),
                _ => (Span::Any, true),
            }
        }
        "pow" | "power" | "Power" | "float_power" => power(a.to_real(), b.to_real()),
        _ => (Span::Any, true),
    }
}

/// The larger or the smaller of two numbers; NaN if one is.
fn of_two(a: Interval, b: Interval, whole: fn(i128, i128) -> i128, real: fn(f64, f64) -> f64) -> (Span, bool) {
    let nan = a.nan || b.nan;
    match (a.span, b.span) {
        // Numbers without a sign are compared as doubles.
        (Span::Whole(Wide::Bool | Wide::I64, a, b), Span::Whole(Wide::Bool | Wide::I64, c, d)) => {
            (Span::Whole(Wide::I64, whole(a, c), whole(b, d)), nan)
        }
        (a, b) => match (a.ends(), b.ends()) {
            (Some(a), Some(b)) => (Span::real(real(a.0, b.0), real(a.1, b.1)), nan),
            _ => (Span::Any, true),
        },
    }
}

/// A number of one set to the power of another: squares, cubes, and positive numbers to a constant.
pub(super) fn power(a: Interval, b: Interval) -> (Span, bool) {
    let (Some((least, largest)), Some((by, same))) = (a.span.ends(), b.span.ends()) else { return (Span::Any, true) };
    if by != same || b.nan || !by.is_finite() {
        return (Span::Any, true);
    }
    if by == 2.0 {
        return square(a);
    }
    if by == 1.0 || by == 3.0 || (by > 0.0 && least >= 0.0) {
        return (Span::widened(least.powf(by), largest.powf(by)), a.nan);
    }
    (Span::Any, true)
}
