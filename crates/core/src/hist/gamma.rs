//! Quantiles of the gamma distribution: limits of a Poisson distribution's mean.

/// Where the lower tail of a gamma distribution holds a probability, given its shape: `ROOT::Math::gamma_quantile` at scale 1.
pub(super) fn quantile(probability: f64, shape: f64) -> f64 {
    solve(shape, |x| lower(shape, x) - probability)
}

/// Where the upper tail does: `ROOT::Math::gamma_quantile_c` at scale 1.
pub(super) fn quantile_above(probability: f64, shape: f64) -> f64 {
    solve(shape, |x| probability - (1.0 - lower(shape, x)))
}

/// Where a function that grows is zero, by halving what encloses it, until no number is between.
fn solve(shape: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, shape + 10.0 * shape.sqrt() + 20.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularized lower incomplete gamma function: a series below its mean, a continued fraction above.
fn lower(shape: f64, x: f64) -> f64 {
    /// Terms, of which about the root of the shape are needed.
    const MOST_TERMS: usize = 1_000_000;
    if x <= 0.0 {
        return 0.0;
    }
    let front = ln_front(shape, x).exp();
    if x < shape + 1.0 {
        let (mut term, mut sum, mut at) = (1.0 / shape, 1.0 / shape, shape);
        for _ in 0..MOST_TERMS {
            at += 1.0;
            term *= x / at;
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return sum * front;
    }
    let mut b = x + 1.0 - shape;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for term in 1..MOST_TERMS {
        let a = -(term as f64) * (term as f64 - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 - front * fraction
}

/// The logarithm of x<sup>shape</sup> e<sup>-x</sup> / Γ(shape), by Stirling's series.
fn ln_front(shape: f64, x: f64) -> f64 {
    let (mut shifted, mut product) = (shape, 1.0);
    while shifted < 15.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / shifted;
    let root = 0.5 * (2.0 * std::f64::consts::PI).ln();
    if shifted == shape {
        // Of large numbers that are almost equal only the difference is taken.
        let apart = (x - shape) / shape;
        return shape * (apart.ln_1p() - apart) + 0.5 * shape.ln() - root - series;
    }
    let ln_gamma = (shifted - 0.5) * shifted.ln() - shifted + root + series - product.ln();
    shape * x.ln() - x - ln_gamma
}
