//! Sets of numbers that hold all values of a part of an expression: from the least to the largest one.
//!
//! Operations on them hold every result that the same operation on the numbers has. Whole numbers are computed exactly,
//! and what does not fit the type makes the set that of all numbers of the type. Fractions are rounded outward: by one
//! step for `+ - * /`, whose results are the nearest doubles, and by a part in 10^13 for functions, which no standard
//! promises to round like that.

use super::number::Wide;
use super::syntax::Binary;

/// Numbers from the least to the largest, NaN left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Span {
    /// No number.
    Nothing,
    /// Whole numbers, and the type that they are computed in.
    Whole(Wide, i128, i128),
    Real(f64, f64),
    /// Anything: numbers of an unknown type, or texts.
    Any,
}

/// Truth values that are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) can_be_true: bool,
    pub(super) can_be_false: bool,
}

impl Truth {
    /// The numbers of these truth values.
    pub(super) fn span(self) -> Span {
        match (self.can_be_true, self.can_be_false) {
            (false, false) => Span::Nothing,
            (is_true, is_false) => Span::Whole(Wide::Bool, i128::from(!is_false), i128::from(is_true)),
        }
    }
}

impl Span {
    /// All whole numbers of a type.
    pub(super) fn all_of(wide: Wide) -> Self {
        match wide {
            Wide::Bool => Self::Whole(wide, 0, 1),
            Wide::I64 => Self::Whole(wide, i64::MIN.into(), i64::MAX.into()),
            Wide::U64 => Self::Whole(wide, 0, u64::MAX.into()),
            Wide::F64 => Self::Real(f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Whole numbers of a type; all of them if the type does not hold these, since it wraps.
    pub(super) fn whole(wide: Wide, least: Option<i128>, largest: Option<i128>) -> Self {
        let all = Self::all_of(wide);
        match (all, least, largest) {
            (Self::Whole(_, first, last), Some(least), Some(largest)) if first <= least && largest <= last => {
                Self::Whole(wide, least, largest)
            }
            _ => all,
        }
    }

    /// Fractions. What is not a number at an end is unknown.
    pub(super) fn real(least: f64, largest: f64) -> Self {
        let or = |value: f64, other| if value.is_nan() { other } else { value };
        Self::Real(or(least, f64::NEG_INFINITY), or(largest, f64::INFINITY))
    }

    /// Fractions, with both ends moved outward by one step.
    fn stepped(least: f64, largest: f64) -> Self {
        Self::real(least.next_down(), largest.next_up())
    }

    /// Fractions, with both ends moved outward by more than the error of any function.
    pub(super) fn widened(least: f64, largest: f64) -> Self {
        const PART: f64 = 1e-13;
        const MIN: f64 = 1e-300;
        let room = |value: f64| value.abs() * PART + MIN;
        match (least.is_infinite(), largest.is_infinite()) {
            (false, false) => Self::real(least - room(least), largest + room(largest)),
            (true, false) => Self::real(least, largest + room(largest)),
            (false, true) => Self::real(least - room(least), largest),
            (true, true) => Self::real(least, largest),
        }
    }

    /// Both ends as doubles; none if there is nothing, or anything.
    pub(super) fn ends(self) -> Option<(f64, f64)> {
        match self {
            // The nearest doubles rise with the numbers.
            Self::Whole(_, least, largest) => Some((least as f64, largest as f64)),
            Self::Real(least, largest) => Some((least, largest)),
            Self::Nothing | Self::Any => None,
        }
    }

    /// Doubles from the nearest of the least number to that of the largest.
    pub(super) fn to_real(self) -> Self {
        self.ends().map_or(self, |(least, largest)| Self::Real(least, largest))
    }

    /// Truth values of its numbers: all but zero are true.
    pub(super) fn truth(self) -> Truth {
        let (can_be_true, can_be_false) = match self {
            Self::Nothing => (false, false),
            Self::Any => (true, true),
            Self::Whole(_, least, largest) => (least != 0 || largest != 0, least <= 0 && largest >= 0),
            Self::Real(least, largest) => (least != 0.0 || largest != 0.0, least <= 0.0 && largest >= 0.0),
        };
        Truth { can_be_true, can_be_false }
    }

    /// The numbers of both.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Whole(a, least, largest), Self::Whole(b, first, last)) if a == b => {
                Self::Whole(a, least.min(first), largest.max(last))
            }
            // Doubles do not hold all whole numbers.
            (Self::Any, _) | (_, Self::Any) | (Self::Whole(..), Self::Whole(..)) => Self::Any,
            (a, b) => match (a.ends(), b.ends()) {
                (Some(a), Some(b)) => Self::Real(a.0.min(b.0), a.1.max(b.1)),
                _ => Self::Any,
            },
        }
    }

    /// The type that they are computed in.
    pub(super) fn wide(self) -> Option<Wide> {
        match self {
            Self::Whole(wide, ..) => Some(wide),
            Self::Real(..) => Some(Wide::F64),
            Self::Nothing | Self::Any => None,
        }
    }
}

/// Results of a comparison of numbers of two sets.
pub(super) fn compare(operator: Binary, a: Span, b: Span) -> Truth {
    fn ordered<T: PartialOrd>(operator: Binary, (a, b): (T, T), (c, d): (T, T)) -> (bool, bool) {
        match operator {
            Binary::Less => (a < d, b >= c),
            Binary::LessEqual => (a <= d, b > c),
            Binary::Greater => (b > c, a <= d),
            Binary::GreaterEqual => (b >= c, a < d),
            Binary::Equal => (a <= d && c <= b, !(a == b && c == d && a == c)),
            Binary::Unequal => (!(a == b && c == d && a == c), a <= d && c <= b),
            _ => (true, true),
        }
    }
    let (can_be_true, can_be_false) = match (a, b) {
        (Span::Any, _) | (_, Span::Any) => (true, true),
        (Span::Nothing, _) | (_, Span::Nothing) => (false, false),
        (Span::Whole(_, a, b), Span::Whole(_, c, d)) => ordered(operator, (a, b), (c, d)),
        (a, b) => match (a.ends(), b.ends()) {
            (Some(a), Some(b)) => ordered(operator, a, b),
            _ => (true, true),
        },
    };
    Truth { can_be_true, can_be_false }
}

/// Results of `+ - *` for whole numbers of two sets, computed in a type.
pub(super) fn whole_arithmetic(operator: Binary, wide: Wide, (a, b): (i128, i128), (c, d): (i128, i128)) -> Span {
    match operator {
        Binary::Add => Span::whole(wide, a.checked_add(c), b.checked_add(d)),
        Binary::Subtract => Span::whole(wide, a.checked_sub(d), b.checked_sub(c)),
        Binary::Multiply => {
            let products = [a.checked_mul(c), a.checked_mul(d), b.checked_mul(c), b.checked_mul(d)];
            if products.contains(&None) {
                return Span::all_of(wide);
            }
            Span::whole(wide, products.into_iter().flatten().min(), products.into_iter().flatten().max())
        }
        _ => Span::all_of(wide),
    }
}

/// Results of `+ - * /` for fractions of two sets, and whether they may be NaN.
pub(super) fn real_arithmetic(operator: Binary, (a, b): (f64, f64), (c, d): (f64, f64)) -> (Span, bool) {
    let low = f64::NEG_INFINITY;
    let high = f64::INFINITY;
    let is_infinite = |(least, largest): (f64, f64)| least == low || largest == high;
    let has_zero = |(least, largest): (f64, f64)| least <= 0.0 && largest >= 0.0;
    match operator {
        Binary::Add => {
            let nan = (b == high && c == low) || (a == low && d == high);
            (Span::stepped(a + c, b + d), nan)
        }
        Binary::Subtract => real_arithmetic(Binary::Add, (a, b), (-d, -c)),
        Binary::Multiply => {
            // Zero times infinity is NaN; products near it are anything from zero on, which the other ends have.
            let products = [a * c, a * d, b * c, b * d].map(|product| if product.is_nan() { 0.0 } else { product });
            let nan = (has_zero((a, b)) && is_infinite((c, d))) || (has_zero((c, d)) && is_infinite((a, b)));
            let least = products.into_iter().fold(high, f64::min);
            let largest = products.into_iter().fold(low, f64::max);
            (Span::stepped(least, largest), nan)
        }
        Binary::Divide if has_zero((c, d)) || (is_infinite((a, b)) && is_infinite((c, d))) => {
            (Span::Real(low, high), true)
        }
        Binary::Divide => {
            let quotients = [a / c, a / d, b / c, b / d];
            let least = quotients.into_iter().fold(high, f64::min);
            let largest = quotients.into_iter().fold(low, f64::max);
            (Span::stepped(least, largest), false)
        }
        _ => (Span::Real(low, high), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_sets_hold_those_of_their_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.0, -0.0, 0.0, 1.5, f64::INFINITY];
        let operators = [
            Binary::Less,
            Binary::LessEqual,
            Binary::Greater,
            Binary::GreaterEqual,
            Binary::Equal,
            Binary::Unequal,
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
        ];
        let pairs = || numbers.iter().flat_map(|a| numbers.iter().filter(move |b| a <= *b).map(move |b| (*a, *b)));
        let is_in = |value: f64, (least, largest): (f64, f64)| least <= value && value <= largest;
        for (first, second) in pairs().flat_map(|a| pairs().map(move |b| (a, b))) {
            let inside = |set: (f64, f64)| numbers.into_iter().filter(move |value| is_in(*value, set));
            for operator in operators {
                for (x, y) in inside(first).flat_map(|x| inside(second).map(move |y| (x, y))) {
                    let is = match operator {
                        Binary::Less => x < y,
                        Binary::LessEqual => x <= y,
                        Binary::Greater => x > y,
                        Binary::GreaterEqual => x >= y,
                        Binary::Equal => x == y,
                        Binary::Unequal => x != y,
                        _ => {
                            let value = match operator {
                                Binary::Add => x + y,
                                Binary::Subtract => x - y,
                                Binary::Multiply => x * y,
                                _ => x / y,
                            };
                            let (span, nan) = real_arithmetic(operator, first, second);
                            let holds = if value.is_nan() { nan } else { is_in(value, span.ends().unwrap()) };
                            assert!(holds, "{x} {operator:?} {y} in {first:?}, {second:?}: {span:?}");
                            continue;
                        }
                    };
                    let truth = compare(operator, Span::Real(first.0, first.1), Span::Real(second.0, second.1));
                    assert!(if is { truth.can_be_true } else { truth.can_be_false }, "{x} {operator:?} {y}");
                }
            }
        }
    }

    #[test]
    fn whole_numbers_that_wrap_are_any_of_their_type() {
        let max = i128::from(i64::MAX);
        let add = |a, b| whole_arithmetic(Binary::Add, Wide::I64, a, b);
        assert_eq!(add((1, 2), (3, 5)), Span::Whole(Wide::I64, 4, 7));
        assert_eq!(add((1, max), (0, 1)), Span::all_of(Wide::I64));
        let most = i128::from(u64::MAX);
        let product = whole_arithmetic(Binary::Multiply, Wide::U64, (2, most), (2, most));
        assert_eq!(product, Span::all_of(Wide::U64));
        let product = whole_arithmetic(Binary::Multiply, Wide::I64, (-3, 2), (-5, 7));
        assert_eq!(product, Span::Whole(Wide::I64, -21, 15));
    }
}
