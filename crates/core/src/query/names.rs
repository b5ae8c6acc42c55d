//! The functions of expressions by their names, and those of mathematics that no library has.

use std::f64::consts;

use super::distributions as special;

use Kernel::{Bits, Constant, Contains, Fast, Is, Logic, Many, Not, One, Two, Where, WholeOne, WholeTwo};

/// How a function is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    Constant(f64),
    One(fn(f64) -> f64),
    /// The same for many at once: what a processor does in one instruction.
    Fast(fn(&[f64]) -> Vec<f64>),
    Two(fn(f64, f64) -> f64),
    /// A question, which gives a truth value.
    Is(fn(f64) -> bool),
    /// Whole numbers stay whole.
    WholeOne(fn(i64) -> i64, fn(f64) -> f64),
    WholeTwo(fn(i64, i64) -> i64, fn(f64, f64) -> f64),
    /// Truth values and bits: what it gives for two of them.
    Bits(fn(u64, u64) -> u64),
    /// Logic: of two truth values.
    Logic(fn(bool, bool) -> bool),
    Not,
    /// `where(condition, yes, no)`
    Where,
    /// Arguments that may be left out have the values that follow.
    Many(fn(&[f64]) -> f64, usize, &'static [f64]),
    /// Whether one text is in another.
    Contains,
}

/// Names of C and NumPy.
pub(super) const PLAIN: &[(&str, Kernel)] = &[
    ("abs", WholeOne(i64::wrapping_abs, f64::abs)),
    ("absolute", WholeOne(i64::wrapping_abs, f64::abs)),
    ("acos", One(f64::acos)),
    ("acosh", One(f64::acosh)),
    ("arccos", One(f64::acos)),
    ("arccosh", One(f64::acosh)),
    ("arcsin", One(f64::asin)),
    ("arcsinh", One(f64::asinh)),
    ("arctan", One(f64::atan)),
    ("arctan2", Two(f64::atan2)),
    ("arctanh", One(f64::atanh)),
    ("asin", One(f64::asin)),
    ("asinh", One(f64::asinh)),
    ("atan", One(f64::atan)),
    ("atan2", Two(f64::atan2)),
    ("atanh", One(f64::atanh)),
    ("bitwise_and", Bits(|a, b| a & b)),
    ("bitwise_or", Bits(|a, b| a | b)),
    ("bitwise_xor", Bits(|a, b| a ^ b)),
    ("cbrt", One(f64::cbrt)),
    ("ceil", One(f64::ceil)),
    ("conj", WholeOne(|a| a, |a| a)),
    ("conjugate", WholeOne(|a| a, |a| a)),
    ("copysign", Two(f64::copysign)),
    ("cos", One(f64::cos)),
    ("cosh", One(f64::cosh)),
    ("erf", One(libm::erf)),
    ("erfc", One(libm::erfc)),
    ("exp", One(f64::exp)),
    ("exp2", One(f64::exp2)),
    ("expm1", One(f64::exp_m1)),
    ("fabs", Fast(absolutes)),
    ("factorial", One(factorial)),
    ("float_power", Two(f64::powf)),
    ("floor", One(f64::floor)),
    ("fmax", Two(f64::max)),
    ("fmin", Two(f64::min)),
    ("fmod", Two(|a, b| a % b)),
    ("gamma", One(libm::tgamma)),
    ("hypot", Two(f64::hypot)),
    ("imag", WholeOne(|_| 0, |_| 0.0)),
    ("isfinite", Is(f64::is_finite)),
    ("isinf", Is(f64::is_infinite)),
    ("isnan", Is(f64::is_nan)),
    ("j0", One(libm::j0)),
    ("j1", One(libm::j1)),
    ("lgamma", One(libm::lgamma)),
    ("log", One(f64::ln)),
    ("log10", One(f64::log10)),
    ("log1p", One(f64::ln_1p)),
    ("log2", One(f64::log2)),
    ("logical_and", Logic(|a, b| a && b)),
    ("logical_not", Not),
    ("logical_or", Logic(|a, b| a || b)),
    ("logical_xor", Logic(|a, b| a != b)),
    ("max", WholeTwo(larger_whole, larger)),
    ("maximum", WholeTwo(larger_whole, larger)),
    ("min", WholeTwo(smaller_whole, smaller)),
    ("minimum", WholeTwo(smaller_whole, smaller)),
    ("neg", WholeOne(i64::wrapping_neg, |a| -a)),
    ("negative", WholeOne(i64::wrapping_neg, |a| -a)),
    ("nextafter", Two(libm::nextafter)),
    ("pi", Constant(consts::PI)),
    ("pow", Two(f64::powf)),
    ("power", Two(f64::powf)),
    ("real", WholeOne(|a| a, |a| a)),
    ("rint", One(f64::round_ties_even)),
    ("round", One(f64::round_ties_even)),
    ("sign", WholeOne(i64::signum, sign)),
    ("signbit", Is(f64::is_sign_negative)),
    ("sin", One(f64::sin)),
    ("sinh", One(f64::sinh)),
    ("sq", Fast(squares)),
    ("sqrt", Fast(roots)),
    ("square", WholeOne(|a| a.wrapping_mul(a), |a| a * a)),
    ("strstr", Contains),
    ("tan", One(f64::tan)),
    ("tanh", One(f64::tanh)),
    ("tgamma", One(libm::tgamma)),
    ("trunc", One(f64::trunc)),
    ("where", Where),
];

/// Names of ROOT's `TMath`.
pub(super) const TMATH: &[(&str, Kernel)] = &[
    ("Abs", WholeOne(i64::wrapping_abs, f64::abs)),
    ("ACos", One(f64::acos)),
    ("ACosH", One(f64::acosh)),
    ("AreEqualAbs", Many(|a| f64::from(a[0] == a[1] || (a[0] - a[1]).abs() < a[2]), 3, &[])),
    ("AreEqualRel", Many(|a| f64::from((a[0] - a[1]).abs() <= 0.5 * a[2] * (a[0].abs() + a[1].abs())), 3, &[])),
    ("ASin", One(f64::asin)),
    ("ASinH", One(f64::asinh)),
    ("ATan", One(f64::atan)),
    ("ATan2", Two(f64::atan2)),
    ("ATanH", One(f64::atanh)),
    ("BesselI", Two(special::bessel_i)),
    ("BesselI0", One(|x| special::bessel_i(0.0, x))),
    ("BesselI1", One(|x| special::bessel_i(1.0, x))),
    ("BesselJ0", One(libm::j0)),
    ("BesselJ1", One(libm::j1)),
    ("BesselK", Two(special::bessel_k)),
    ("BesselK0", One(|x| special::bessel_k(0.0, x))),
    ("BesselK1", One(|x| special::bessel_k(1.0, x))),
    ("BesselY0", One(libm::y0)),
    ("BesselY1", One(libm::y1)),
    ("Beta", Two(beta)),
    ("BetaDist", Many(special::beta_density, 3, &[])),
    ("BetaDistI", Many(special::beta_below, 3, &[])),
    ("BetaIncomplete", Many(special::beta_below, 3, &[])),
    ("Binomial", Two(binomial)),
    ("BinomialI", Many(special::binomial_above, 3, &[])),
    ("BreitWigner", Many(breit_wigner, 1, &[0.0, 1.0])),
    ("BreitWignerRelativistic", Many(special::breit_wigner_relativistic, 1, &[0.0, 1.0])),
    ("C", Constant(2.997_924_58e8)),
    ("CauchyDist", Many(cauchy, 1, &[0.0, 1.0])),
    ("Ceil", One(f64::ceil)),
    ("CeilNint", One(|a| (a.ceil()).round_ties_even())),
    ("ChisquareQuantile", Two(special::chisquare_quantile)),
    ("Cos", One(f64::cos)),
    ("CosH", One(f64::cosh)),
    ("DegToRad", Constant(consts::PI / 180.0)),
    ("DiLog", One(special::dilogarithm)),
    ("E", Constant(consts::E)),
    ("Erf", One(libm::erf)),
    ("Erfc", One(libm::erfc)),
    ("ErfcInverse", One(special::erfc_inverse)),
    ("ErfInverse", One(special::erf_inverse)),
    ("EulerGamma", Constant(0.577_215_664_901_532_9)),
    ("Even", Is(|a| a.trunc() % 2.0 == 0.0)),
    ("Exp", One(f64::exp)),
    ("Factorial", One(factorial)),
    ("FDist", Many(special::f_density, 3, &[])),
    ("FDistI", Many(special::f_below, 3, &[])),
    ("Finite", Is(f64::is_finite)),
    ("Floor", One(f64::floor)),
    ("FloorNint", One(|a| (a.floor()).round_ties_even())),
    ("Freq", One(|a| 0.5 * libm::erfc(-a / consts::SQRT_2))),
    ("Gamma", Many(special::gamma, 1, &[special::ABSENT])),
    ("GammaDist", Many(special::gamma_density, 2, &[0.0, 1.0])),
    ("Gaus", Many(gaus, 1, &[0.0, 1.0, 0.0])),
    ("Hypot", Two(f64::hypot)),
    ("Infinity", Constant(f64::INFINITY)),
    ("IsNaN", Is(f64::is_nan)),
    ("KolmogorovProb", One(special::kolmogorov)),
    ("Landau", Many(special::landau, 1, &[0.0, 1.0, 0.0])),
    ("LandauI", One(special::landau_below)),
    ("LaplaceDist", Many(laplace, 1, &[0.0, 1.0])),
    ("LaplaceDistI", Many(special::laplace_below, 1, &[0.0, 1.0])),
    ("Ln10", Constant(consts::LN_10)),
    ("LnGamma", One(libm::lgamma)),
    ("Log", One(f64::ln)),
    ("Log10", One(f64::log10)),
    ("Log2", One(f64::log2)),
    ("LogE", Constant(consts::LOG10_E)),
    ("LogNormal", Many(log_normal, 2, &[0.0, 1.0])),
    ("Max", WholeTwo(larger_whole, larger)),
    ("Min", WholeTwo(smaller_whole, smaller)),
    ("Nint", One(f64::round_ties_even)),
    ("NormQuantile", One(special::norm_quantile)),
    ("Odd", Is(|a| a.trunc() % 2.0 != 0.0)),
    ("Pi", Constant(consts::PI)),
    ("PiOver2", Constant(consts::FRAC_PI_2)),
    ("PiOver4", Constant(consts::FRAC_PI_4)),
    ("Poisson", Two(poisson)),
    ("PoissonI", Two(|x, mean| poisson(x.trunc(), mean))),
    ("Power", Two(f64::powf)),
    ("Prob", Two(special::prob)),
    ("QuietNaN", Constant(f64::NAN)),
    ("RadToDeg", Constant(180.0 / consts::PI)),
    ("Range", Many(|a| a[0].max(a[2].min(a[1])), 3, &[])),
    ("Sign", Two(f64::copysign)),
    ("SignBit", Is(f64::is_sign_negative)),
    ("Sin", One(f64::sin)),
    ("SinH", One(f64::sinh)),
    ("Sq", Fast(squares)),
    ("Sqrt", Fast(roots)),
    ("Sqrt2", Constant(consts::SQRT_2)),
    ("Student", Two(special::student)),
    ("StudentI", Two(special::student_below)),
    ("StudentQuantile", Many(special::student_quantile, 2, &[1.0])),
    ("StruveH0", One(|x| special::struve_h(0, x))),
    ("StruveH1", One(|x| special::struve_h(1, x))),
    ("StruveL0", One(|x| special::struve_l(0, x))),
    ("StruveL1", One(|x| special::struve_l(1, x))),
    ("Tan", One(f64::tan)),
    ("TanH", One(f64::tanh)),
    ("TwoPi", Constant(2.0 * consts::PI)),
    ("Voigt", Many(special::voigt, 3, &[4.0])),
];

/// Differences of angles, by their whole names: methods and functions of ROOT's vectors.
pub(super) const ANGLES: &[(&str, Kernel)] = &[
    ("ROOT::Math::VectorUtil::Phi_0_2pi", One(|x| turned(x, 0.0))),
    ("ROOT::Math::VectorUtil::Phi_mpi_pi", One(phi_mpi_pi)),
    ("ROOT::VecOps::DeltaPhi", Many(delta_phi, 2, &[consts::PI])),
    ("ROOT::VecOps::DeltaR", Many(delta_r, 4, &[consts::PI])),
    ("TVector2::Phi_0_2pi", One(|x| turned(x, 0.0))),
    ("TVector2::Phi_mpi_pi", One(|x| turned(x, -consts::PI))),
];

/// The angle from `low` on, below a full turn more: `TVector2::Phi_mpi_pi`, `TVector2::Phi_0_2pi`.
fn turned(mut x: f64, low: f64) -> f64 {
    const TURN: f64 = 2.0 * consts::PI;
    if !x.is_finite() {
        return f64::NAN;
    }
    // ROOT takes off one turn after the other; of large angles that would take for ever.
    if x.abs() > 1e4 {
        x %= TURN;
    }
    while x >= low + TURN {
        x -= TURN;
    }
    while x < low {
        x += TURN;
    }
    x
}

/// An angle in (-pi, pi]: `ROOT::Math::VectorUtil` has +pi and not -pi.
fn phi_mpi_pi(x: f64) -> f64 {
    if x > -consts::PI && x <= consts::PI {
        return x;
    }
    let found = turned(x, -consts::PI);
    if found == -consts::PI { consts::PI } else { found }
}

/// The second angle minus the first, in half a turn `c` to both sides.
pub(super) fn delta_phi(of: &[f64]) -> f64 {
    let [first, second, c] = *of else { return f64::NAN };
    let found = (second - first) % (2.0 * c);
    if found < -c {
        found + 2.0 * c
    } else if found > c {
        found - 2.0 * c
    } else {
        found
    }
}

/// The distance of two directions: eta of both, then phi of both.
pub(super) fn delta_r(of: &[f64]) -> f64 {
    let [eta1, eta2, phi1, phi2, c] = *of else { return f64::NAN };
    ((eta1 - eta2).powi(2) + delta_phi(&[phi1, phi2, c]).powi(2)).sqrt()
}

/// The distance of two directions.
pub(super) fn distance(eta1: f64, eta2: f64, phi1: f64, phi2: f64) -> f64 {
    delta_r(&[eta1, eta2, phi1, phi2, consts::PI])
}

fn roots(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.sqrt()).collect()
}

fn absolutes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.abs()).collect()
}

fn squares(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value * value).collect()
}

fn larger_whole(a: i64, b: i64) -> i64 {
    a.max(b)
}

fn smaller_whole(a: i64, b: i64) -> i64 {
    a.min(b)
}

/// As `TMath::Max` and NumPy's `maximum`: NaN wins.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a <= b { a } else { b }
}

fn sign(a: f64) -> f64 {
    if a == 0.0 || a.is_nan() { a } else { a.signum() }
}

fn factorial(a: f64) -> f64 {
    let whole = a.round_ties_even();
    libm::tgamma(whole + 1.0).round()
}

fn beta(p: f64, q: f64) -> f64 {
    (libm::lgamma(p) + libm::lgamma(q) - libm::lgamma(p + q)).exp()
}

/// n over k, as `TMath::Binomial`.
fn binomial(n: f64, k: f64) -> f64 {
    let (n, mut k) = (n.trunc(), k.trunc());
    if n < 0.0 || k < 0.0 || n < k {
        return f64::NAN;
    }
    k = k.min(n - k);
    let mut found = 1.0;
    let mut at = 1.0;
    while at <= k && at < 10_000.0 {
        found *= (n - k + at) / at;
        at += 1.0;
    }
    found.round()
}

fn gaus(of: &[f64]) -> f64 {
    let [x, mean, sigma, normalized] = *of else { return f64::NAN };
    if sigma == 0.0 {
        return 1e30;
    }
    let distance = (x - mean) / sigma;
    if distance.abs() > 39.0 {
        return 0.0;
    }
    let height = (-0.5 * distance * distance).exp();
    if normalized == 0.0 { height } else { height / ((2.0 * consts::PI).sqrt() * sigma) }
}

fn breit_wigner(of: &[f64]) -> f64 {
    let [x, mean, gamma] = *of else { return f64::NAN };
    gamma / ((x - mean) * (x - mean) + gamma * gamma / 4.0) / (2.0 * consts::PI)
}

fn cauchy(of: &[f64]) -> f64 {
    let [x, t, s] = *of else { return f64::NAN };
    let distance = (x - t) * (x - t) / (s * s);
    1.0 / (s * consts::PI * (1.0 + distance))
}

fn laplace(of: &[f64]) -> f64 {
    let [x, alpha, beta] = *of else { return f64::NAN };
    (-((x - alpha) / beta).abs()).exp() / (2.0 * beta)
}

fn log_normal(of: &[f64]) -> f64 {
    let [x, sigma, theta, m] = *of else { return f64::NAN };
    if x < theta || sigma <= 0.0 || m <= 0.0 {
        return f64::NAN;
    }
    let distance = ((x - theta) / m).ln();
    (-distance * distance / (2.0 * sigma * sigma)).exp() / ((x - theta) * sigma * (2.0 * consts::PI).sqrt())
}

fn poisson(x: f64, mean: f64) -> f64 {
    if mean < 0.0 {
        f64::NAN
    } else if x < 0.0 {
        0.0
    } else if x == 0.0 {
        (-mean).exp()
    } else {
        (x * mean.ln() - libm::lgamma(x + 1.0) - mean).exp()
    }
}
