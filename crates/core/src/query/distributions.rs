//! Distributions and special functions of `TMath` that no library here has, from their definitions.
//!
//! Arguments are in the order of `TMath`; where these have no meaning, the results are those of `TMath`.

use std::f64::consts::{PI, SQRT_2};

use libm::{erf, erfc, lgamma, tgamma};

/// Terms of a series or continued fraction at which it is given up.
const MOST_TERMS: u32 = 100_000;

/// Stands for an argument that was not given: a NaN that no calculation gives.
pub(super) const ABSENT: f64 = f64::from_bits(0x7FF8_5A9D_0000_0001);

/// `TMath::Gamma(a, x)`: the part of the gamma function up to x; `TMath::Gamma(a)` where x is [`ABSENT`].
pub(super) fn gamma(of: &[f64]) -> f64 {
    let [a, x] = *of else { return f64::NAN };
    if x.to_bits() == ABSENT.to_bits() { tgamma(a) } else { gamma_below(a, x) }
}

fn gamma_below(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() {
        return f64::NAN;
    }
    if a <= 0.0 || x <= 0.0 {
        return 0.0;
    }
    if x > 1.0 && x > a { 1.0 - gamma_fraction(a, x) } else { gamma_series(a, x) }
}

fn gamma_above(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() {
        return f64::NAN;
    }
    if a <= 0.0 || x <= 0.0 {
        return 1.0;
    }
    if x > 1.0 && x > a { gamma_fraction(a, x) } else { 1.0 - gamma_series(a, x) }
}

fn gamma_height(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - lgamma(a)).exp()
}

fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..MOST_TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * 1e-17 {
            return gamma_height(a, x) * sum / a;
        }
    }
    // Not known to a double.
    f64::NAN
}

fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut at = 0_u32;
    let fraction = continued(x + 1.0 - a, || {
        at += 1;
        let n = f64::from(at);
        (-n * (n - a), x + 1.0 - a + 2.0 * n)
    });
    gamma_height(a, x) / fraction
}

/// A continued fraction, b0 + a1 / (b1 + a2 / (b2 + ...)), by the method of Lentz.
fn continued(first: f64, mut next: impl FnMut() -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut found = not_zero(first);
    let (mut above, mut below) = (found, 0.0);
    for _ in 0..MOST_TERMS {
        let (a, b) = next();
        below = 1.0 / not_zero(b + a * below);
        above = not_zero(b + a / above);
        let change = above * below;
        found *= change;
        if (change - 1.0).abs() < 1e-16 {
            return found;
        }
        if change.is_nan() {
            break;
        }
    }
    // Not known to a double.
    f64::NAN
}

/// `TMath::BetaIncomplete(x, a, b)` and `BetaDistI`.
pub(super) fn beta_below(of: &[f64]) -> f64 {
    let [x, a, b] = *of else { return f64::NAN };
    if x.is_nan() || !(a > 0.0 && b > 0.0) || x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on one side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) { 1.0 - beta_fraction(1.0 - x, b, a) } else { beta_fraction(x, a, b) }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let height = (a * x.ln() + b * (-x).ln_1p() + lgamma(a + b) - lgamma(a) - lgamma(b)).exp();
    let mut at = 0_u32;
    let fraction = continued(1.0, || {
        at += 1;
        let m = f64::from(at / 2);
        let of = if at.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (of, 1.0)
    });
    height / (a * fraction)
}

/// `TMath::BetaDist(x, p, q)`.
pub(super) fn beta_density(of: &[f64]) -> f64 {
    let [x, p, q] = *of else { return f64::NAN };
    if !(0.0..=1.0).contains(&x) || p <= 0.0 || q <= 0.0 {
        return 0.0;
    }
    x.powf(p - 1.0) * (1.0 - x).powf(q - 1.0) * (lgamma(p + q) - lgamma(p) - lgamma(q)).exp()
}

/// `TMath::BinomialI(p, n, k)`: k or more of n.
pub(super) fn binomial_above(of: &[f64]) -> f64 {
    let [p, n, k] = *of else { return f64::NAN };
    let (n, k) = (n.trunc(), k.trunc());
    if k <= 0.0 {
        1.0
    } else if k > n {
        0.0
    } else if k == n {
        p.powf(n)
    } else {
        beta_below(&[p, k, n - k + 1.0])
    }
}

/// `TMath::Prob(chi2, ndf)`.
pub(super) fn prob(chi2: f64, ndf: f64) -> f64 {
    let ndf = ndf.trunc();
    if ndf <= 0.0 || chi2 < 0.0 {
        return 0.0;
    }
    gamma_above(ndf / 2.0, chi2 / 2.0)
}

/// `TMath::Student(t, ndf)`.
pub(super) fn student(t: f64, ndf: f64) -> f64 {
    if ndf < 1.0 {
        return 0.0;
    }
    let height = (lgamma((ndf + 1.0) / 2.0) - lgamma(ndf / 2.0)).exp() / (ndf * PI).sqrt();
    height * (-(ndf + 1.0) / 2.0 * (t * t / ndf).ln_1p()).exp()
}

/// `TMath::StudentI(t, ndf)`.
pub(super) fn student_below(t: f64, ndf: f64) -> f64 {
    if ndf < 1.0 {
        return 0.0;
    }
    let tail = 0.5 * beta_below(&[ndf / (ndf + t * t), ndf / 2.0, 0.5]);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// `TMath::FDist(f, n, m)`.
pub(super) fn f_density(of: &[f64]) -> f64 {
    let [f, n, m] = *of else { return f64::NAN };
    if f < 0.0 || n < 1.0 || m < 1.0 {
        return 0.0;
    }
    let height = n / 2.0 * n.ln() + m / 2.0 * m.ln() + lgamma((n + m) / 2.0) - lgamma(n / 2.0) - lgamma(m / 2.0);
    height.exp() * f.powf(n / 2.0 - 1.0) * (m + n * f).powf(-(n + m) / 2.0)
}

/// `TMath::FDistI(f, n, m)`.
pub(super) fn f_below(of: &[f64]) -> f64 {
    let [f, n, m] = *of else { return f64::NAN };
    if n < 0.0 || m < 0.0 {
        return f64::NAN;
    }
    beta_below(&[n * f / (m + n * f), n / 2.0, m / 2.0])
}

/// `TMath::GammaDist(x, gamma, mu, beta)`.
pub(super) fn gamma_density(of: &[f64]) -> f64 {
    let [x, gamma, mu, beta] = *of else { return f64::NAN };
    if x < mu || gamma <= 0.0 || beta <= 0.0 {
        return 0.0;
    }
    let distance = (x - mu) / beta;
    if distance == 0.0 {
        return if gamma == 1.0 { 1.0 / beta } else { 0.0 };
    }
    ((gamma - 1.0) * distance.ln() - distance - lgamma(gamma)).exp() / beta
}

/// `TMath::LaplaceDistI(x, alpha, beta)`.
pub(super) fn laplace_below(of: &[f64]) -> f64 {
    let [x, alpha, beta] = *of else { return f64::NAN };
    let half = 0.5 * (-((x - alpha) / beta).abs()).exp();
    if x <= alpha { half } else { 1.0 - half }
}

/// `TMath::BreitWignerRelativistic(x, median, gamma)`.
pub(super) fn breit_wigner_relativistic(of: &[f64]) -> f64 {
    let [x, mass, width] = *of else { return f64::NAN };
    let (mass2, both) = (mass * mass, mass * width);
    let y = (mass2 * (mass2 + width * width)).sqrt();
    let height = 2.0 * SQRT_2 / PI * both * y / (mass2 + y).sqrt();
    height / ((x * x - mass2).powi(2) + both * both)
}

/// `TMath::KolmogorovProb(z)`.
pub(super) fn kolmogorov(z: f64) -> f64 {
    let z = z.abs();
    if z < 0.2 {
        return 1.0;
    }
    if z < 0.755 {
        let sum: f64 = [1.0_f64, 9.0, 25.0].iter().map(|odd| (-odd * PI * PI / (8.0 * z * z)).exp()).sum();
        return 1.0 - (2.0 * PI).sqrt() * sum / z;
    }
    let terms = (1..20).map(|k| (2.0 * f64::from(k % 2) - 1.0) * (-2.0 * f64::from(k * k) * z * z).exp());
    2.0 * terms.sum::<f64>()
}

/// The x for which a rising function of it has a value: by halves.
fn inverse(wanted: f64, mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) < wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// `TMath::NormQuantile(p)`.
pub(super) fn norm_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return 0.0;
    }
    if (p - 0.5).abs() < 0.25 {
        let found = inverse((p - 0.5).abs(), 0.0, 1.0, |x| 0.5 * erf(x / SQRT_2));
        return found.copysign(p - 0.5);
    }
    // The tail keeps its digits.
    let tail = p.min(1.0 - p);
    let found = inverse(-tail, 0.0, 40.0, |x| -0.5 * erfc(x / SQRT_2));
    if p < 0.5 { -found } else { found }
}

/// `TMath::ErfInverse(x)`.
pub(super) fn erf_inverse(x: f64) -> f64 {
    if x.abs() >= 1.0 {
        return if x.abs() == 1.0 { f64::INFINITY.copysign(x) } else { 0.0 };
    }
    let size = x.abs();
    let found = if size < 0.5 { inverse(size, 0.0, 1.0, erf) } else { inverse(size - 1.0, 0.0, 7.0, |y| -erfc(y)) };
    found.copysign(x)
}

/// `TMath::ErfcInverse(x)`.
pub(super) fn erfc_inverse(x: f64) -> f64 {
    if x <= 0.0 || x >= 2.0 {
        return if x == 0.0 || x == 2.0 { f64::INFINITY.copysign(1.0 - x) } else { 0.0 };
    }
    if x < 1.0 { inverse(-x, 0.0, 30.0, |y| -erfc(y)) } else { -inverse(x - 2.0, 0.0, 30.0, |y| -erfc(y)) }
}

/// `TMath::ChisquareQuantile(p, ndf)`.
pub(super) fn chisquare_quantile(p: f64, ndf: f64) -> f64 {
    if ndf <= 0.0 || !(p > 0.0 && p < 1.0) {
        return 0.0;
    }
    let mut high = ndf.max(1.0);
    while gamma_below(ndf / 2.0, high / 2.0) < p && high < 1e15 {
        high *= 2.0;
    }
    inverse(p, 0.0, high, |x| gamma_below(ndf / 2.0, x / 2.0))
}

/// `TMath::BesselI(n, x)`, by its series, whose terms have one sign.
pub(super) fn bessel_i(n: f64, x: f64) -> f64 {
    let n = n.trunc();
    if n < 0.0 {
        return 0.0;
    }
    let half = x / 2.0;
    let mut term = (n * half.abs().ln() - lgamma(n + 1.0)).exp();
    if n == 0.0 {
        term = 1.0;
    }
    let mut sum = term;
    for k in 1..MOST_TERMS {
        let k = f64::from(k);
        term *= half * half / (k * (k + n));
        sum += term;
        if term <= sum * 1e-17 || !sum.is_finite() {
            break;
        }
    }
    if x < 0.0 && n % 2.0 != 0.0 { -sum } else { sum }
}

/// `TMath::BesselK(n, x)`: the integral of exp(-x cosh t) cosh(n t), which steps of one length give to all digits.
pub(super) fn bessel_k(n: f64, x: f64) -> f64 {
    const STEP: f64 = 1.0 / 16.0;
    let n = n.trunc();
    if n < 0.0 || x <= 0.0 || x.is_nan() {
        return 0.0;
    }
    let mut sum = 0.5 * (-x).exp();
    for k in 1..MOST_TERMS {
        let t = STEP * f64::from(k);
        let term = 0.5 * ((n * t - x * t.cosh()).exp() + (-n * t - x * t.cosh()).exp());
        sum += term;
        if term <= sum * 1e-18 && x * t.sinh() > n {
            break;
        }
    }
    sum * STEP
}

/// `TMath::Voigt(x, sigma, lg)`: the fourth argument, ROOT's digits, is of no use here.
pub(super) fn voigt(of: &[f64]) -> f64 {
    let [x, sigma, lg, _] = *of else { return f64::NAN };
    if sigma < 0.0 || lg < 0.0 || (sigma == 0.0 && lg == 0.0) {
        return 0.0;
    }
    if sigma == 0.0 {
        return lg / (2.0 * PI) / (x * x + lg * lg / 4.0);
    }
    let gaus = |of: f64| of / ((2.0 * PI).sqrt() * sigma);
    if lg == 0.0 {
        return gaus((-0.5 * (x / sigma).powi(2)).exp());
    }
    gaus(faddeeva(x.abs() / (sigma * SQRT_2), lg / (2.0 * sigma * SQRT_2)))
}

/// The real part of w(x + iy) for x and y from 0 on: the trapezium and midpoint rules with their poles, after Al Azah
/// and Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules" (2021).
fn faddeeva(x: f64, y: f64) -> f64 {
    const N: i32 = 11;
    let h = (PI / f64::from(N + 1)).sqrt();
    let square = (x * x - y * y, 2.0 * x * y);
    let divide = |(a, b): (f64, f64), (c, d): (f64, f64)| {
        let size = c * c + d * d;
        ((a * c + b * d) / size, (b * c - a * d) / size)
    };
    let sum = |shift: f64, first: i32| {
        let terms = (first..=N).map(|k| {
            let t = (f64::from(k) + shift) * h;
            divide(((-t * t).exp(), 0.0), (square.0 - t * t, square.1))
        });
        let (re, im) = terms.fold((0.0, 0.0), |(a, b), (re, im)| (a + re, b + im));
        // The real part of 2ihz/pi times the sum.
        -2.0 * h / PI * (x * im + y * re)
    };
    if y >= x.max(PI / h) {
        return sum(0.5, 0);
    }
    let turns = x / h;
    let is_midpoint = y >= x || !(0.25..=0.75).contains(&(turns - turns.floor()));
    // 2 exp(-z^2) / (1 -+ exp(-2 pi i z / h))
    let height = 2.0 * (-square.0).exp();
    let (angle, grown) = (2.0 * PI * turns, (2.0 * PI * y / h).exp());
    let sign = if is_midpoint { 1.0 } else { -1.0 };
    let pole = (1.0 + sign * grown * angle.cos(), -sign * grown * angle.sin());
    let (pole, _) = divide((height * square.1.cos(), -height * square.1.sin()), pole);
    match is_midpoint {
        true => pole + sum(0.5, 0),
        // The real part of ih / (pi z).
        false => pole + h / PI * y / (x * x + y * y) + sum(0.0, 1),
    }
}

/// `TMath::Landau(x, mu, sigma, norm)`, to all digits, by integrals; ROOT's approximation has nine.
pub(super) fn landau(of: &[f64]) -> f64 {
    let [x, mu, sigma, is_normed] = *of else { return f64::NAN };
    if sigma <= 0.0 {
        return 0.0;
    }
    let lambda = (x - mu) / sigma;
    let density = if lambda.is_nan() {
        f64::NAN
    } else if lambda < 0.0 {
        landau_by_saddle(lambda, false)
    } else {
        landau_by_sine(lambda, false)
    };
    if is_normed == 0.0 { density } else { density / sigma }
}

/// `TMath::LandauI(x)`: the part of the distribution below x, to all digits.
pub(super) fn landau_below(x: f64) -> f64 {
    if x.is_nan() {
        f64::NAN
    } else if x < 0.0 {
        landau_by_saddle(x, true)
    } else {
        1.0 - landau_by_sine(x, true)
    }
}

/// The inverse Laplace transform of s^s, or of s^s / s (what is below lambda), along the line through the saddle point,
/// where nothing cancels.
fn landau_by_saddle(lambda: f64, is_below: bool) -> f64 {
    let c = (-1.0 - lambda).exp();
    if c > 750.0 {
        return 0.0;
    }
    // The width of the peak, and the distance of the singularity at 0, bound the steps.
    let step = (c / 6.0).min(c.sqrt() / 6.0);
    let mut sum = if is_below { 0.5 / c } else { 0.5 };
    for k in 1..MOST_TERMS {
        let y = step * f64::from(k);
        let (ln, arg) = (0.5 * (c * c + y * y).ln(), y.atan2(c));
        // s ln s + lambda s, less its value at the saddle point, -c.
        let size = (c * ln - y * arg + lambda * c + c).exp();
        let (sin, cos) = (c * arg + y * ln + lambda * y).sin_cos();
        sum += size * if is_below { (c * cos + y * sin) / (c * c + y * y) } else { cos };
        if size < 1e-18 {
            break;
        }
    }
    sum * step * (-c).exp() / PI
}

/// The integral of exp(-lambda t - t ln t) sin(pi t) / pi, or of that divided by t (what is above lambda).
fn landau_by_sine(lambda: f64, is_above: bool) -> f64 {
    let height = |t: f64| (-lambda * t - t * t.ln()).exp() * (PI * t).sin() / if is_above { t } else { 1.0 };
    integral(1.0 / (1.0 + lambda), height) / PI
}

/// The integral from 0 on of what falls exponentially on a scale, in a variable in which it does so doubly.
fn integral(scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1.0 / 32.0;
    let mut sum = 0.0;
    for k in -130..=130 {
        let u = STEP * f64::from(k);
        let t = scale * (u - (-u).exp()).exp();
        let weight = t * (1.0 + (-u).exp());
        if weight > 0.0 {
            sum += weight * f(t);
        }
    }
    sum * STEP
}

/// `TMath::StruveH0(x)` and `StruveH1(x)`: the series where it does not cancel, and behind it the difference to the
/// Bessel function Y, which is an integral of one sign.
pub(super) fn struve_h(order: u8, x: f64) -> f64 {
    let (size, is_odd) = (x.abs(), order == 0);
    let found = if size < 3.0 {
        struve_series(order, size, -1.0)
    } else if is_odd {
        libm::y0(size) + 2.0 / PI * integral(1.0 / size, |t| (-size * t).exp() / (1.0 + t * t).sqrt())
    } else {
        libm::y1(size) + 2.0 / PI * size * integral(1.0 / size, |t| (-size * t).exp() * (1.0 + t * t).sqrt())
    };
    if is_odd { found.copysign(x * found) } else { found }
}

/// `TMath::StruveL0(x)` and `StruveL1(x)`, by their series, whose terms have one sign.
pub(super) fn struve_l(order: u8, x: f64) -> f64 {
    let found = struve_series(order, x.abs(), 1.0);
    if order == 0 { found.copysign(x) } else { found }
}

/// The series of a Struve function of a positive number, whose terms have this sign to each other.
fn struve_series(order: u8, x: f64, sign: f64) -> f64 {
    let shift = 2.0 * f64::from(order);
    let mut term = if order == 0 { x } else { x * x / 3.0 };
    let mut sum = term;
    for k in 1..MOST_TERMS {
        let odd = f64::from(2 * k + 1);
        term *= sign * x * x / (odd * (odd + shift));
        sum += term;
        if term.abs() <= sum.abs() * 1e-17 || !sum.is_finite() {
            break;
        }
    }
    2.0 / PI * sum
}

/// `TMath::DiLog(x)`: the real part of the dilogarithm.
pub(super) fn dilogarithm(x: f64) -> f64 {
    const SIXTH: f64 = PI * PI / 6.0;
    // From anywhere to between -1 and 1/2, where the series in -ln(1 - x) converges fast.
    if x > 2.0 {
        2.0 * SIXTH - 0.5 * x.ln() * x.ln() - dilogarithm(1.0 / x)
    } else if x == 1.0 {
        SIXTH
    } else if x > 0.5 {
        SIXTH - x.ln() * (x - 1.0).abs().ln() - dilogarithm(1.0 - x)
    } else if x < -1.0 {
        -SIXTH - 0.5 * (-x).ln() * (-x).ln() - dilogarithm(1.0 / x)
    } else {
        // Bernoulli numbers from the second on, each by the factorial of the next number.
        const TERMS: [f64; 10] = [
            1.0 / 36.0,
            -1.0 / 3_600.0,
            1.0 / 211_680.0,
            -1.0 / 10_886_400.0,
            1.0 / 526_901_760.0,
            -691.0 / 16_999_766_784_000.0,
            1.0 / 1_120_863_744_000.0,
            -3_617.0 / 181_400_588_328_960_000.0,
            43_867.0 / 97_072_790_126_247_936_000.0,
            -174_611.0 / 16_860_010_916_664_115_200_000.0,
        ];
        let u = -(-x).ln_1p();
        let sum = TERMS.iter().rev().fold(0.0, |sum, term| sum * u * u + term);
        u - 0.25 * u * u + u * u * u * sum
    }
}

/// `TMath::StudentQuantile(p, ndf, lower_tail)`.
pub(super) fn student_quantile(of: &[f64]) -> f64 {
    let [p, ndf, is_lower] = *of else { return f64::NAN };
    if ndf < 1.0 || !(p > 0.0 && p < 1.0) {
        return 0.0;
    }
    // The smaller tail keeps its digits.
    let tail = p.min(1.0 - p);
    let mut high = 1.0;
    while student_below(-high, ndf) > tail && high < 1e300 {
        high *= 2.0;
    }
    let found = if tail == 0.5 { 0.0 } else { inverse(-tail, 0.0, high, |t| -student_below(-t, ndf)) };
    if (p < 0.5) == (is_lower != 0.0) { -found } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 2e-13 * b.abs()
    }

    #[test]
    fn values_of_tables_come_out_to_thirteen_digits() {
        // By mpmath with fifty digits.
        let pairs = include_str!("../../tests/data/distributions.txt");
        for line in pairs.lines().filter(|line| !line.starts_with('#')) {
            let (call, value) = line.split_once(" = ").unwrap();
            let (name, arguments) = call.split_once(' ').unwrap();
            let of: Vec<f64> = arguments.split(' ').map(|one| one.parse().unwrap()).collect();
            let value: f64 = value.parse().unwrap();
            let found = match name {
                "gamma" => gamma(&of),
                "prob" => prob(of[0], of[1]),
                "beta" => beta_below(&of),
                "i" => bessel_i(of[0], of[1]),
                "k" => bessel_k(of[0], of[1]),
                "voigt" => voigt(&of),
                "landau" => landau(&of),
                "erfinv" => erf_inverse(of[0]),
                "normq" => norm_quantile(of[0]),
                "student" => student_below(of[0], of[1]),
                "studentq" => student_quantile(&[of[0], of[1], 1.0]),
                "landaui" => landau_below(of[0]),
                "h" => struve_h(of[0] as u8, of[1]),
                "l" => struve_l(of[0] as u8, of[1]),
                "dilog" => dilogarithm(of[0]),
                other => panic!("no such function: {other}"),
            };
            assert!(near(found, value), "{call}: {found:e} and not {value:e}");
        }
    }

    #[test]
    fn pieces_of_a_density_join() {
        for at in [0.0_f64, 0.5, -0.5] {
            let (one, other) = (landau_by_saddle(at, false), landau_by_sine(at, false));
            assert!((one - other).abs() < 1e-13, "{at}: {one} and {other}");
            let (one, other) = (landau_by_saddle(at, true), 1.0 - landau_by_sine(at, true));
            assert!((one - other).abs() < 1e-13, "{at}: {one} and {other}");
        }
    }
}
