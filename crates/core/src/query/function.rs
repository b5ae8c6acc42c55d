//! Functions that an expression may call: names of C, of ROOT (`TMath`) and of NumPy.

use super::compute::text_items;
use super::names::{ANGLES, Kernel, PLAIN, TMATH};
use super::number::{Numbers, Side, Wide};
use super::shapes::SHAPES;
use super::value::{Data, Scalar};
use crate::error::{Error, Result};

/// A function of numbers, applied to each item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) kernel: Kernel,
    /// The last part of its name.
    pub(super) name: &'static str,
}

impl Function {
    /// The function of a name.
    pub(super) fn find(name: &str) -> Option<Self> {
        let name = name.strip_prefix("std::").unwrap_or(name);
        let root = name.strip_prefix("TMath::");
        let of = |table: &'static [(&'static str, Kernel)], name: &str| {
            table.iter().find(|(known, _)| *known == name).map(|&(name, kernel)| Self { kernel, name })
        };
        if let Some(found) = of(ANGLES, name) {
            return Some(found);
        }
        match (root, name.strip_prefix("ROOT::Math::")) {
            (Some(name), _) => of(TMATH, name),
            (None, Some(name)) => of(SHAPES, name),
            (None, None) => of(PLAIN, name),
        }
    }

    /// The names of all functions.
    pub(super) fn names() -> impl Iterator<Item = String> {
        let plain = PLAIN.iter().map(|(name, _)| (*name).to_owned());
        let shapes = SHAPES.iter().map(|(name, _)| format!("ROOT::Math::{name}"));
        let angles = ANGLES.iter().map(|(name, _)| (*name).to_owned());
        plain.chain(angles).chain(TMATH.iter().map(|(name, _)| format!("TMath::{name}"))).chain(shapes)
    }

    /// How many arguments it takes, at least and at most.
    pub(super) fn arity(&self) -> (usize, usize) {
        match self.kernel {
            Kernel::Constant(_) => (0, 0),
            Kernel::One(_) | Kernel::Fast(_) | Kernel::Is(_) | Kernel::WholeOne(..) | Kernel::Not => (1, 1),
            Kernel::Two(_) | Kernel::WholeTwo(..) | Kernel::Bits(_) | Kernel::Logic(_) | Kernel::Contains => (2, 2),
            Kernel::Where => (3, 3),
            Kernel::Many(_, least, defaults) => (least, least + defaults.len()),
        }
    }

    /// What it gives for numbers of these types; an error says what is wrong.
    pub(super) fn result(&self, of: &[Wide]) -> Result<Wide, &'static str> {
        let all_whole = of.iter().all(|wide| wide.is_whole());
        Ok(match self.kernel {
            Kernel::WholeOne(..) | Kernel::WholeTwo(..) if all_whole && !of.contains(&Wide::U64) => Wide::I64,
            Kernel::Is(_) | Kernel::Logic(_) | Kernel::Not | Kernel::Contains => Wide::Bool,
            Kernel::Bits(_) if all_whole => match of.iter().all(|wide| *wide == Wide::Bool) {
                true => Wide::Bool,
                false if of.contains(&Wide::U64) => Wide::U64,
                false => Wide::I64,
            },
            Kernel::Bits(_) => return Err("this function joins the bits of whole numbers"),
            Kernel::Where => match of {
                [_, yes, no] => chosen(*yes, *no),
                _ => Wide::F64,
            },
            _ => Wide::F64,
        })
    }

    /// Computes it for each item; `len` of them.
    pub(super) fn apply(&self, of: &[Data], len: usize) -> Result<Data> {
        let wides: Vec<Wide> = of.iter().filter_map(Data::wide).collect();
        let wide = self.result(&wides).map_err(Error::mismatch)?;
        let given = |at: usize| of.get(at).ok_or_else(|| Error::internal("a function lacks an argument"));
        macro_rules! numbers {
            ($values:expr) => {
                Data::Numbers(Numbers::of($values))
            };
        }
        let computed = match self.kernel {
            Kernel::Constant(value) => return Ok(Data::One(Scalar::F64(value))),
            Kernel::One(f) => numbers!(each(&given(0)?.f64s()?, f)),
            Kernel::Fast(f) => match given(0)?.f64s()? {
                Side::Each(each) => numbers!(f(&each)),
                Side::One(one) => numbers!(f(&[one])),
            },
            Kernel::Is(f) => numbers!(each(&given(0)?.f64s()?, f)),
            Kernel::Not => numbers!(each(&given(0)?.bools()?, |x: bool| !x)),
            Kernel::WholeOne(f, _) if wide == Wide::I64 => numbers!(each(&given(0)?.i64s()?, f)),
            Kernel::WholeOne(_, f) => numbers!(each(&given(0)?.f64s()?, f)),
            Kernel::Two(f) => numbers!(given(0)?.f64s()?.zip(&given(1)?.f64s()?, len, f)),
            Kernel::WholeTwo(f, _) if wide == Wide::I64 => {
                numbers!(given(0)?.i64s()?.zip(&given(1)?.i64s()?, len, f))
            }
            Kernel::WholeTwo(_, f) => numbers!(given(0)?.f64s()?.zip(&given(1)?.f64s()?, len, f)),
            Kernel::Logic(f) => numbers!(given(0)?.bools()?.zip(&given(1)?.bools()?, len, f)),
            Kernel::Bits(f) => {
                let bits = given(0)?.u64s()?.zip(&given(1)?.u64s()?, len, f);
                match wide {
                    Wide::Bool => numbers!(bits.iter().map(|&bits| bits & 1 == 1).collect::<Vec<bool>>()),
                    Wide::U64 => numbers!(bits),
                    _ => numbers!(bits.iter().map(|&bits| bits as i64).collect::<Vec<i64>>()),
                }
            }
            Kernel::Where => choose(given(0)?, given(1)?, given(2)?, len)?,
            Kernel::Contains => {
                let (texts, parts) = (text_items(given(0)?, len)?, text_items(given(1)?, len)?);
                let holds = |(text, part): (&&[u8], &&[u8])| {
                    part.is_empty() || text.windows(part.len()).any(|window| window == *part)
                };
                numbers!(texts.iter().zip(&parts).map(holds).collect::<Vec<bool>>())
            }
            Kernel::Many(f, least, defaults) => {
                let sides = of.iter().map(Data::f64s).collect::<Result<Vec<_>>>()?;
                let is_one = sides.iter().all(|side| matches!(side, Side::One(_)));
                let mut arguments: Vec<f64> = vec![0.0; least];
                arguments.extend(defaults);
                let mut values = Vec::with_capacity(len);
                for item in 0..if is_one { len.min(1) } else { len } {
                    for (argument, side) in arguments.iter_mut().zip(&sides) {
                        *argument = match side {
                            Side::One(one) => *one,
                            Side::Each(each) => each.get(item).copied().unwrap_or(f64::NAN),
                        };
                    }
                    values.push(f(&arguments));
                }
                numbers!(values)
            }
        };
        // Of constants only, the answer is one.
        let is_one = of.iter().all(|data| matches!(data, Data::One(_)));
        match computed {
            Data::Numbers(numbers) if is_one && numbers.len() > 0 => Ok(Data::One(Scalar::of(&numbers)?)),
            computed => Ok(computed),
        }
    }
}

fn each<T: Copy, R>(side: &Side<'_, T>, f: impl Fn(T) -> R) -> Vec<R> {
    match side {
        Side::Each(each) => each.iter().map(|&value| f(value)).collect(),
        Side::One(one) => vec![f(*one)],
    }
}

/// The type of a value that is one of two.
pub(super) fn chosen(yes: Wide, no: Wide) -> Wide {
    match (yes, no) {
        (a, b) if a == b => a,
        (Wide::F64, _) | (_, Wide::F64) => Wide::F64,
        // No whole number of 64 bits holds both.
        (Wide::U64, Wide::I64) | (Wide::I64, Wide::U64) => Wide::F64,
        (Wide::U64, _) | (_, Wide::U64) => Wide::U64,
        _ => Wide::I64,
    }
}

/// One of two values, by a condition.
pub(super) fn choose(condition: &Data, yes: &Data, no: &Data, len: usize) -> Result<Data> {
    fn pick<T: Copy>(condition: &Side<'_, bool>, yes: &Side<'_, T>, no: &Side<'_, T>, len: usize) -> Vec<T> {
        let one = |side: &Side<'_, T>, at: usize| match side {
            Side::One(one) => *one,
            Side::Each(each) => each[at],
        };
        match condition {
            Side::One(is_yes) => (0..len).map(|at| one(if *is_yes { yes } else { no }, at)).collect(),
            Side::Each(each) => {
                each.iter().enumerate().map(|(at, &is_yes)| one(if is_yes { yes } else { no }, at)).collect()
            }
        }
    }
    let if_numbers = (yes.wide(), no.wide());
    let condition = condition.bools()?;
    let check = |side: Option<usize>| side.is_none_or(|found| found == len);
    let lens = |data: &Data| match data {
        Data::Numbers(numbers) => Some(numbers.len()),
        _ => None,
    };
    if !check(lens(yes)) || !check(lens(no)) {
        return Err(Error::internal("the values of a choice are not as many as its conditions"));
    }
    let (Some(a), Some(b)) = if_numbers else {
        return Err(Error::mismatch("a choice between texts cannot be computed"));
    };
    Ok(Data::Numbers(match chosen(a, b) {
        Wide::F64 => Numbers::of(pick(&condition, &yes.f64s()?, &no.f64s()?, len)),
        Wide::I64 => Numbers::of(pick(&condition, &yes.i64s()?, &no.i64s()?, len)),
        Wide::U64 => Numbers::of(pick(&condition, &yes.u64s()?, &no.u64s()?, len)),
        Wide::Bool => Numbers::of(pick(&condition, &yes.bools()?, &no.bools()?, len)),
    }))
}
