//! Quantiles of the gamma distribution: limits of a Poisson distribution's mean.

/// A tail of a distribution: its probability, and how many standard deviations of a normal distribution it is away.
pub(super) struct Tail {
    pub(super) probability: f64,
    pub(super) deviations: f64,
}

/// Shapes from which on the expansion for large ones has all digits.
const LARGE: f64 = 1e5;

/// Where the lower tail of a gamma distribution begins, given its shape: `ROOT::Math::gamma_quantile` at scale 1.
pub(super) fn quantile(tail: &Tail, shape: f64) -> f64 {
    if shape >= LARGE {
        return expanded(-tail.deviations, shape);
    }
    solve(shape, |x| lower(shape, x) - tail.probability)
}

/// Where the upper tail begins: `ROOT::Math::gamma_quantile_c` at scale 1.
pub(super) fn quantile_above(tail: &Tail, shape: f64) -> f64 {
    if shape >= LARGE {
        return expanded(tail.deviations, shape);
    }
    solve(shape, |x| tail.probability - (1.0 - lower(shape, x)))
}

/// A quantile by that of the normal distribution (Cornish and Fisher).
fn expanded(z: f64, shape: f64) -> f64 {
    let root = shape.sqrt();
    let far = (z.powi(3) - 7.0 * z) / (36.0 * root) - (3.0 * z.powi(4) + 7.0 * z * z - 16.0) / (810.0 * shape);
    shape + root * z + (z * z - 1.0) / 3.0 + far
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
    /// Terms, of which a few times the root of the shape are needed.
    const MOST_TERMS: usize = 20_000;
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
