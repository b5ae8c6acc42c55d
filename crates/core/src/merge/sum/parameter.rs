//! Named numbers, and statistics of numbers.
//!
//! Source: `TParameter::Merge`, `TStatistic::Merge`.

use crate::error::Result;
use crate::schema::draft_members::{float, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Bits of `fBits` that say how a parameter is merged; none of them: it is added.
const MULTIPLY: i64 = 1 << 16;
const MAXIMUM: i64 = 1 << 17;
const MINIMUM: i64 = 1 << 18;
const FIRST: i64 = 1 << 19;
const LAST: i64 = 1 << 20;
/// Bit of `fBits`: all values were the same so far.
const CONSTANT: i64 = 1 << 21;

/// Whether a class is one of the parameters that ROOT describes.
pub(super) fn is_parameter(class: &str) -> bool {
    ["double", "float", "int", "long", "Long64_t", "bool"].iter().any(|of| class == format!("TParameter<{of}>"))
}

/// Takes a parameter in, as the sum's own bits say.
pub(super) fn add(sum: &mut Draft, next: &Draft) -> Result<()> {
    let bits = whole(sum, "fBits")?;
    let has = |bit: i64| bits & bit != 0;
    let pair = (sum.member("fVal"), next.member("fVal"));
    let (same, value) = match pair {
        (Some(Datum::Float(a)), Some(Datum::Float(b))) => {
            let value = match () {
                () if has(MULTIPLY) => a * b,
                () if has(MAXIMUM) => {
                    if b > a {
                        *b
                    } else {
                        *a
                    }
                }
                () if has(MINIMUM) => {
                    if b < a {
                        *b
                    } else {
                        *a
                    }
                }
                () if has(LAST) => *b,
                () if has(FIRST) => *a,
                () => a + b,
            };
            let value = if sum.class() == "TParameter<float>" { f64::from(value as f32) } else { value };
            (a == b, Datum::Float(value))
        }
        (Some(Datum::Int(a)), Some(Datum::Int(b))) if sum.class() == "TParameter<bool>" => {
            let value = match () {
                () if has(MULTIPLY) || has(MINIMUM) => a & b,
                () if has(LAST) => *b,
                () if has(FIRST) && !has(MAXIMUM) => *a,
                () => a | b,
            };
            (a == b, Datum::Int(value))
        }
        (Some(Datum::Int(a)), Some(Datum::Int(b))) => {
            let value = match () {
                () if has(MULTIPLY) => a.wrapping_mul(*b),
                () if has(MAXIMUM) => *a.max(b),
                () if has(MINIMUM) => *a.min(b),
                () if has(LAST) => *b,
                () if has(FIRST) => *a,
                () => a.wrapping_add(*b),
            };
            let value = if sum.class() == "TParameter<int>" { i64::from(value as i32) } else { value };
            (a == b, Datum::Int(value))
        }
        _ => return Err(unfit(sum, "fVal")),
    };
    put(sum, "fVal", value);
    if !same {
        put(sum, "fBits", bits & !CONSTANT);
    }
    Ok(())
}

/// Adds what was filled into another statistic.
pub(super) fn add_statistic(sum: &mut Draft, next: &Draft) -> Result<()> {
    let count = (whole(sum, "fN")?, whole(next, "fN")?);
    if count.1 == 0 {
        return Ok(());
    }
    let read = |draft: &Draft| -> Result<[f64; 6]> {
        let [mut w, mut w2, mut m, mut m2, mut min, mut max] = [0.0; 6];
        let places = [
            (&mut w, "fW"),
            (&mut w2, "fW2"),
            (&mut m, "fM"),
            (&mut m2, "fM2"),
            (&mut min, "fMin"),
            (&mut max, "fMax"),
        ];
        for (place, name) in places {
            *place = float(draft, name)?;
        }
        Ok([w, w2, m, m2, min, max])
    };
    let other = read(next)?;
    let all = if count.0 == 0 {
        other
    } else {
        let ([w, w2, m, m2, min, max], [v, v2, n, n2, low, high]) = (read(sum)?, other);
        let apart = v / w * m - n;
        let least = if low < min { low } else { min };
        let most = if high > max { high } else { max };
        [w + v, w2 + v2, m + n, m2 + (n2 + w / (v * (v + w)) * apart * apart), least, most]
    };
    for (name, value) in ["fW", "fW2", "fM", "fM2", "fMin", "fMax"].into_iter().zip(all) {
        put(sum, name, value);
    }
    put(sum, "fN", count.0.wrapping_add(count.1));
    Ok(())
}
