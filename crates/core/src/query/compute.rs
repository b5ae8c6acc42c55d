//! Operators: what they give, and the loops that compute it.

use super::fault::no_number;
use super::number::{Numbers, Side, Wide};
use super::syntax::{Binary, Unary};
use super::value::{Data, Scalar};
use crate::column::{Native, Number};
use crate::error::{Error, ErrorKind, Result};

/// What an operator gives for numbers of two types; an error says what to write instead.
pub(super) fn result_of(operator: Binary, a: Wide, b: Wide) -> Result<Wide, &'static str> {
    use Binary::{
        Add, And, BitAnd, BitOr, Caret, Divide, Equal, FloorDivide, Greater, GreaterEqual, Less, LessEqual, Multiply,
        Or, Power, Remainder, ShiftLeft, ShiftRight, Subtract, Unequal,
    };
    Ok(match operator {
        Or | And | Equal | Unequal | Less | LessEqual | Greater | GreaterEqual => Wide::Bool,
        Divide | Power => Wide::F64,
        // What has no sign may become negative.
        Subtract if a == Wide::U64 || b == Wide::U64 => Wide::F64,
        Add | Multiply | FloorDivide if is_mixed(a, b) => Wide::F64,
        Remainder if is_mixed(a, b) => {
            return Err("'%' of a number without sign and one with it: write long(a) % b, or a % b of one kind");
        }
        Caret => match a.is_whole() && b.is_whole() {
            true => {
                return Err("'^' is a power in ROOT and an exclusive or in Python: write a**b, or bitwise_xor(a, b)");
            }
            false => Wide::F64,
        },
        BitOr | BitAnd => match (a, b) {
            (Wide::Bool, Wide::Bool) => Wide::Bool,
            _ if a.is_whole() && b.is_whole() => whole(a, b),
            _ => return Err("'&' and '|' join truth values or the bits of whole numbers: write && or ||, or compare"),
        },
        ShiftLeft | ShiftRight => match a.is_whole() && b.is_whole() {
            true => whole(a, Wide::I64),
            false => return Err("only bits of whole numbers can be moved"),
        },
        Remainder => match a.is_whole() && b.is_whole() {
            true => whole(a, b),
            false => {
                return Err("'%' of fractions cuts them off in ROOT, and does not in Python: write fmod(a, b), or \
                            long(a) % long(b)");
            }
        },
        Add | Subtract | Multiply | FloorDivide => match a.is_whole() && b.is_whole() {
            true => whole(a, b),
            false => Wide::F64,
        },
    })
}

/// The types that two sides are computed in: a constant that is not negative takes the lack of a sign from the other.
pub(super) fn sides(a: (Wide, Option<&Scalar>), b: (Wide, Option<&Scalar>)) -> (Wide, Wide) {
    let beside = |(own, constant): (Wide, Option<&Scalar>), other: Wide| match constant {
        Some(Scalar::I64(0..)) if other == Wide::U64 => Wide::U64,
        _ => own,
    };
    (beside(a, b.0), beside(b, a.0))
}

/// Whether only one of two whole numbers has a sign.
fn is_mixed(a: Wide, b: Wide) -> bool {
    (a == Wide::U64) != (b == Wide::U64) && a != Wide::Bool && b != Wide::Bool && a.is_whole() && b.is_whole()
}

fn whole(a: Wide, b: Wide) -> Wide {
    if a == Wide::U64 || b == Wide::U64 { Wide::U64 } else { Wide::I64 }
}

/// Computes an operator for each pair of items; `len` of them.
pub(super) fn binary(operator: Binary, a: &Data, b: &Data, len: usize) -> Result<Data> {
    let (Some(of_a), Some(of_b)) = (a.wide(), b.wide()) else { return texts(operator, a, b, len) };
    let (of_a, of_b) = sides((of_a, a.constant()), (of_b, b.constant()));
    let wide = result_of(operator, of_a, of_b).map_err(|words| Error::new(ErrorKind::Expression, words))?;
    let both_whole = of_a.is_whole() && of_b.is_whole();
    let computes_whole = wide.is_whole() && both_whole;
    macro_rules! numbers {
        ($values:expr) => {
            Data::Numbers(Numbers::of($values))
        };
    }
    // Numbers of both sides in the type that the operator computes in.
    macro_rules! whole_or_not {
        ($f:expr, $i:expr, $u:expr) => {
            match (computes_whole, of_a == Wide::U64 || of_b == Wide::U64) {
                (false, _) => numbers!(a.f64s()?.zip(&b.f64s()?, len, $f)),
                (true, false) => numbers!(a.i64s()?.zip(&b.i64s()?, len, $i)),
                (true, true) => numbers!(a.u64s()?.zip(&b.u64s()?, len, $u)),
            }
        };
    }
    macro_rules! compare {
        ($op:tt) => {
            match (both_whole, of_a, of_b) {
                (false, ..) => numbers!(a.f64s()?.zip(&b.f64s()?, len, |x, y| x $op y)),
                (true, Wide::U64, Wide::U64) => numbers!(a.u64s()?.zip(&b.u64s()?, len, |x, y| x $op y)),
                // A negative number is less than all that have no sign.
                (true, Wide::U64, _) | (true, _, Wide::U64) => {
                    numbers!(wides(a)?.zip(&wides(b)?, len, |x, y| x $op y))
                }
                _ => numbers!(a.i64s()?.zip(&b.i64s()?, len, |x, y| x $op y)),
            }
        };
    }
    Ok(match operator {
        Binary::Or => numbers!(a.bools()?.zip(&b.bools()?, len, |x, y| x || y)),
        Binary::And => numbers!(a.bools()?.zip(&b.bools()?, len, |x, y| x && y)),
        Binary::BitOr if wide == Wide::Bool => numbers!(a.bools()?.zip(&b.bools()?, len, |x, y| x | y)),
        Binary::BitAnd if wide == Wide::Bool => numbers!(a.bools()?.zip(&b.bools()?, len, |x, y| x & y)),
        Binary::BitOr => whole_or_not!(|x, _| x, |x, y| x | y, |x, y| x | y),
        Binary::BitAnd => whole_or_not!(|x, _| x, |x, y| x & y, |x, y| x & y),
        Binary::Equal => compare!(==),
        Binary::Unequal => compare!(!=),
        Binary::Less => compare!(<),
        Binary::LessEqual => compare!(<=),
        Binary::Greater => compare!(>),
        Binary::GreaterEqual => compare!(>=),
        Binary::ShiftLeft if wide == Wide::U64 => numbers!(a.u64s()?.zip(&b.u64s()?, len, left_u)),
        Binary::ShiftRight if wide == Wide::U64 => numbers!(a.u64s()?.zip(&b.u64s()?, len, right_u)),
        Binary::ShiftLeft => numbers!(a.i64s()?.zip(&b.i64s()?, len, left)),
        Binary::ShiftRight => numbers!(a.i64s()?.zip(&b.i64s()?, len, right)),
        Binary::Add => whole_or_not!(|x, y| x + y, i64::wrapping_add, u64::wrapping_add),
        Binary::Subtract => whole_or_not!(|x, y| x - y, i64::wrapping_sub, u64::wrapping_sub),
        Binary::Multiply => whole_or_not!(|x, y| x * y, i64::wrapping_mul, u64::wrapping_mul),
        Binary::Divide => numbers!(a.f64s()?.zip(&b.f64s()?, len, |x, y| x / y)),
        Binary::FloorDivide => {
            whole_or_not!(|x: f64, y: f64| (x / y).floor(), floor_divide, |x, y| x.checked_div(y).unwrap_or(0))
        }
        Binary::Remainder => {
            whole_or_not!(|x, _| x, remainder, |x, y| x.checked_rem(y).unwrap_or(0))
        }
        Binary::Power | Binary::Caret => power(a, b, len)?,
    })
}

/// As numbers of 128 bits, which hold both signed and unsigned ones of 64.
fn wides(data: &Data) -> Result<Side<'static, i128>> {
    Ok(match data.wide() {
        Some(Wide::U64) => match data.u64s()? {
            Side::One(one) => Side::One(i128::from(one)),
            Side::Each(each) => Side::Each(each.iter().map(|&value| i128::from(value)).collect()),
        },
        _ => match data.i64s()? {
            Side::One(one) => Side::One(i128::from(one)),
            Side::Each(each) => Side::Each(each.iter().map(|&value| i128::from(value)).collect()),
        },
    })
}

/// Where whole numbers are divided by zero, if they are anywhere: such items have no value.
pub(super) fn zero_divisors(operator: Binary, a: &Data, b: &Data, len: usize) -> Result<Option<Vec<bool>>> {
    let both_whole = [a, b].into_iter().all(|data| data.wide().is_some_and(Wide::is_whole));
    if !both_whole || !matches!(operator, Binary::FloorDivide | Binary::Remainder) {
        return Ok(None);
    }
    Ok(match b.i64s()? {
        Side::Each(each) if each.contains(&0) => Some(each.iter().map(|&value| value == 0).collect()),
        Side::One(0) => Some(vec![true; len]),
        _ => None,
    })
}

/// Zero for a divisor of zero, which has no value: [`zero_divisors`] says where.
fn remainder(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_rem(b) }
}

fn floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient.wrapping_sub(1) } else { quotient }
}

fn left(a: i64, by: i64) -> i64 {
    u32::try_from(by).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0)
}

fn right(a: i64, by: i64) -> i64 {
    a >> u32::try_from(by).map_or(63, |by| by.min(63))
}

fn left_u(a: u64, by: u64) -> u64 {
    u32::try_from(by).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0)
}

fn right_u(a: u64, by: u64) -> u64 {
    u32::try_from(by).ok().and_then(|by| a.checked_shr(by)).unwrap_or(0)
}

fn power(a: &Data, b: &Data, len: usize) -> Result<Data> {
    let (x, y) = (a.f64s()?, b.f64s()?);
    let values = match y {
        // Exact, and much faster.
        Side::One(2.0) => x.zip(&y, len, |x, _| x * x),
        Side::One(by) if by.fract() == 0.0 && by.abs() <= 3.0 => x.zip(&y, len, |x, _| x.powi(by as i32)),
        _ => x.zip(&y, len, f64::powf),
    };
    Ok(Data::Numbers(Numbers::of(values)))
}

/// Texts can be compared, and nothing else.
fn texts(operator: Binary, a: &Data, b: &Data, len: usize) -> Result<Data> {
    let (a, b) = (text_items(a, len)?, text_items(b, len)?);
    let pairs = a.iter().zip(&b);
    let values: Vec<bool> = match operator {
        Binary::Equal => pairs.map(|(a, b)| a == b).collect(),
        Binary::Unequal => pairs.map(|(a, b)| a != b).collect(),
        Binary::Less => pairs.map(|(a, b)| a < b).collect(),
        Binary::LessEqual => pairs.map(|(a, b)| a <= b).collect(),
        Binary::Greater => pairs.map(|(a, b)| a > b).collect(),
        Binary::GreaterEqual => pairs.map(|(a, b)| a >= b).collect(),
        _ => return Err(no_number()),
    };
    Ok(Data::Numbers(Numbers::of(values)))
}

/// The bytes of each text.
pub(super) fn text_items(data: &Data, len: usize) -> Result<Vec<&[u8]>> {
    match data {
        Data::One(Scalar::Text(text)) => Ok(vec![text.as_bytes(); len]),
        Data::Texts(texts) => Ok(texts.iter()?.collect()),
        _ => Err(Error::internal("a text of an expression is a number")),
    }
}

/// What a sign before a number gives.
pub(super) fn unary_result(operator: Unary, of: Wide) -> Result<Wide, &'static str> {
    Ok(match operator {
        Unary::Plus | Unary::Minus if of == Wide::Bool => Wide::I64,
        Unary::Minus if of == Wide::U64 => Wide::F64,
        Unary::Plus | Unary::Minus => of,
        Unary::Not => Wide::Bool,
        Unary::Invert if of.is_whole() => of,
        Unary::Invert => return Err("'~' turns truth values or the bits of whole numbers: compare, or write !"),
        Unary::Cast(cast) => Wide::of(cast.0),
    })
}

/// Applies a sign to each item.
pub(super) fn unary(operator: Unary, of: &Data) -> Result<Data> {
    fn each<T: Copy, R: Native + Send + Sync>(side: &Side<'_, T>, change: impl Fn(T) -> R) -> Data {
        Data::Numbers(Numbers::of(match side {
            Side::Each(each) => each.iter().map(|&value| change(value)).collect(),
            Side::One(one) => vec![change(*one)],
        }))
    }
    let wide = of.wide().ok_or_else(no_number)?;
    let changed = match (operator, wide) {
        (Unary::Plus, Wide::Bool) => each(&of.i64s()?, |x| x),
        (Unary::Plus, _) => return Ok(of.clone()),
        (Unary::Minus, Wide::F64 | Wide::U64) => each(&of.f64s()?, |x: f64| -x),
        (Unary::Minus, _) => each(&of.i64s()?, i64::wrapping_neg),
        (Unary::Not, _) | (Unary::Invert, Wide::Bool) => each(&of.bools()?, |x: bool| !x),
        (Unary::Invert, Wide::U64) => each(&of.u64s()?, |x: u64| !x),
        (Unary::Invert, _) => each(&of.i64s()?, |x: i64| !x),
        (Unary::Cast(_), _) => return Err(Error::internal("a cast is computed elsewhere")),
    };
    match (of, changed) {
        (Data::One(_), Data::Numbers(numbers)) => Ok(Data::One(Scalar::of(&numbers)?)),
        (_, changed) => Ok(changed),
    }
}

/// The type of columns that hold such numbers.
pub(super) fn number_of(wide: Wide) -> Number {
    match wide {
        Wide::Bool => Number::Bool,
        Wide::I64 => Number::I64,
        Wide::U64 => Number::U64,
        Wide::F64 => Number::F64,
    }
}
