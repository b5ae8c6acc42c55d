//! Limits of axes: of automatic bins, of axes that grow, and of two axes together.

/// Limits that hold both of two axes, each given as its minimum, maximum and the width of its bins; and how many bins
/// they have. The wider bins are kept, if the others fit into them and some edges are common.
///
/// Source: `TH1::RecomputeAxisLimits`.
pub(crate) fn joined(one: (f64, f64, f64), two: (f64, f64, f64)) -> Option<(f64, f64, usize)> {
    let whole = |value: f64| {
        let rest = value - value.floor();
        rest < 1e-8 || (rest - 1.0).abs() < 1e-8
    };
    let width = one.2.max(two.2);
    if !(one.2 > 0.0 && two.2 > 0.0 && whole(width / one.2) && whole(width / two.2)) {
        return None;
    }
    let (mut min, mut max) = (one.0.min(two.0), one.1.max(two.1));
    let down = |from: f64, to: f64, width: f64| {
        let steps = (from - to) / width;
        if whole(steps) { 0.0 } else { (steps.ceil() - steps) * width }
    };
    min -= down(one.0, min, one.2);
    min -= down(two.0, min, two.2);
    if !whole((one.0 - min) / one.2) {
        return None;
    }
    max += down(max, one.1, one.2);
    max += down(max, two.1, two.2);
    if !whole((max - one.1) / one.2) {
        return None;
    }
    let bins = ((max - min) / width).round();
    (bins >= 1.0 && bins < f64::from(i32::MAX)).then_some((min, max, bins as usize))
}

/// Limits of an axis that grew until it holds a value: its range is doubled as often as that takes, up to 64 times.
///
/// Source: `TH1::FindNewAxisLimits`.
pub(crate) fn extended(min: f64, max: f64, point: f64) -> Option<(f64, f64)> {
    let (mut min, mut max) = (min, max);
    let mut range = max - min;
    let mut times = 0;
    while point < min || point >= max {
        if times > 64 {
            return None;
        }
        times += 1;
        if point < min {
            min -= range;
        } else {
            max += range;
        }
        range *= 2.0;
    }
    Some((min, max))
}

/// Limits of automatic bins for values between two numbers, and how many bins they become.
///
/// Source: `THLimitsFinder::OptimizeLimits`.
pub(crate) fn good(bins: usize, low: f64, high: f64, integer: bool) -> (f64, f64, usize) {
    let beyond = if integer { 5.0 * (high - low) / bins as f64 } else { 0.1 * (high - low) };
    let mut below = low - beyond;
    let mut above = high + beyond;
    if below < 0.0 && low >= 0.0 {
        below = 0.0;
    }
    if above > 0.0 && high <= 0.0 {
        above = 0.0;
    }
    let (mut min, mut max) = match round(below, above, bins) {
        (min, max, width) if width > 0.0 && width <= 1e39 => (min, max),
        _ => (-1.0, 1.0),
    };
    // Round limits may be narrower than what they are for.
    let margin = 0.01 * (high - low);
    min = min.min(low - margin);
    max = max.max(high + margin);
    if !integer {
        return (min, max, bins);
    }
    min = min.floor();
    max = match max {
        max if max > 0.0 => max.ceil(),
        0.0 => 1.0,
        max => max.trunc(),
    };
    if min >= max {
        max = min + 1.0;
    }
    let width = ((max - min) / bins as f64).trunc().max(1.0);
    let mut bins = ((max - min) / width).trunc();
    if min + bins * width < above {
        bins += 1.0;
        max = min + bins * width;
    }
    if min > below {
        bins += 1.0;
        min = max - bins * width;
    }
    (min, max, bins.clamp(1.0, f64::from(i32::MAX)) as usize)
}

/// Limits that are round in decimal digits, and the width that made them so.
///
/// Source: `THLimitsFinder::Optimize`.
fn round(low: f64, high: f64, bins: usize) -> (f64, f64, f64) {
    let high = if low == high { low + 1.0 } else { high };
    let old = bins as f64;
    let mut parts = old.max(2.0);
    loop {
        let width = (high - low) / parts;
        if width >= f64::from(f32::MAX) || width <= 0.0 {
            return (0.0, 0.0, 0.0);
        }
        let mut digits = width.log10().trunc();
        if digits.abs() > 200.0 {
            return (0.0, 1.0, 0.01);
        }
        if width <= 1.0 {
            digits -= 1.0;
        }
        let first = width * 10_f64.powf(-digits) - 1e-10;
        let rounded = match first {
            first if first <= 1.0 => 1.0,
            first if first <= 2.0 => 2.0,
            first if first <= 5.0 => 5.0,
            _ => {
                digits += 1.0;
                1.0
            }
        };
        let mut width = rounded * 10_f64.powf(digits);
        if (low / width).abs() > 1e9 {
            return (low, high, width);
        }
        let step = |value: f64| value.trunc() - if value < 0.0 { 1.0 } else { 0.0 };
        let (from, to) = (step(low / width), step(high / width + 1.00001));
        let (min, max, count) = (width * from, width * to, to - from);
        if old <= 5.0 {
            if old <= 1.0 && count != 1.0 {
                width *= 2.0;
            }
        } else if 2.0 * count == old {
            parts += 1.0;
            continue;
        }
        let (mut tight_min, mut tight_max) = (min, max);
        let test = width * 0.0001;
        if low - tight_min >= test {
            tight_min += width;
        }
        if tight_max - high >= test {
            tight_max -= width;
        }
        return if tight_min >= tight_max { (min, max, width) } else { (tight_min, tight_max, width) };
    }
}
