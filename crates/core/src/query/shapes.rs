//! Functions of `ROOT::Math` that formulas of ROOT consist of: what `crystalball`, `breitwigner`, `bigaus` and `cheb4`
//! stand for.

use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

use super::names::Kernel::{self, Many};

/// Names of `ROOT::Math`.
pub(super) const SHAPES: &[(&str, Kernel)] = &[
    ("bigaussian_pdf", Many(bigaussian, 2, &[1.0, 1.0, 0.0, 0.0, 0.0])),
    ("breitwigner_pdf", Many(breit_wigner, 2, &[0.0])),
    ("Chebyshev0", Many(chebyshev, 2, &[])),
    ("Chebyshev1", Many(chebyshev, 3, &[])),
    ("Chebyshev2", Many(chebyshev, 4, &[])),
    ("Chebyshev3", Many(chebyshev, 5, &[])),
    ("Chebyshev4", Many(chebyshev, 6, &[])),
    ("Chebyshev5", Many(chebyshev, 7, &[])),
    ("Chebyshev6", Many(chebyshev, 8, &[])),
    ("Chebyshev7", Many(chebyshev, 9, &[])),
    ("Chebyshev8", Many(chebyshev, 10, &[])),
    ("Chebyshev9", Many(chebyshev, 11, &[])),
    ("Chebyshev10", Many(chebyshev, 12, &[])),
    ("crystalball_function", Many(crystal_ball, 4, &[0.0])),
    ("crystalball_pdf", Many(crystal_ball_density, 4, &[0.0])),
    ("exponential_pdf", Many(exponential, 2, &[0.0])),
    ("gaussian_pdf", Many(gaussian, 1, &[1.0, 0.0])),
    ("normal_pdf", Many(gaussian, 1, &[1.0, 0.0])),
];

fn gaussian(of: &[f64]) -> f64 {
    let [x, sigma, mean] = *of else { return f64::NAN };
    let distance = (x - mean) / sigma;
    (-0.5 * distance * distance).exp() / ((2.0 * PI).sqrt() * sigma.abs())
}

fn exponential(of: &[f64]) -> f64 {
    let [x, lambda, from] = *of else { return f64::NAN };
    if x < from { 0.0 } else { lambda * (-lambda * (x - from)).exp() }
}

fn breit_wigner(of: &[f64]) -> f64 {
    let [x, gamma, mean] = *of else { return f64::NAN };
    let half = gamma / 2.0;
    half / (PI * ((x - mean) * (x - mean) + half * half))
}

fn bigaussian(of: &[f64]) -> f64 {
    let [x, y, sigma_x, sigma_y, rho, mean_x, mean_y] = *of else { return f64::NAN };
    let (u, v) = ((x - mean_x) / sigma_x, (y - mean_y) / sigma_y);
    let rest = 1.0 - rho * rho;
    let distance = u * u - 2.0 * rho * u * v + v * v;
    (-distance / (2.0 * rest)).exp() / (2.0 * PI * sigma_x * sigma_y * rest.sqrt())
}

/// A gaussian with a tail that falls as a power.
fn crystal_ball(of: &[f64]) -> f64 {
    let [x, alpha, n, sigma, mean] = *of else { return f64::NAN };
    if sigma < 0.0 {
        return 0.0;
    }
    let z = (x - mean) / sigma * if alpha < 0.0 { -1.0 } else { 1.0 };
    let alpha = alpha.abs();
    if z > -alpha {
        return (-0.5 * z * z).exp();
    }
    let ratio = n / alpha;
    (-0.5 * alpha * alpha).exp() * (ratio / (ratio - alpha - z)).powf(n)
}

fn crystal_ball_density(of: &[f64]) -> f64 {
    let [_, alpha, n, sigma, _] = *of else { return f64::NAN };
    if sigma < 0.0 || n <= 1.0 {
        return if sigma < 0.0 { 0.0 } else { f64::NAN };
    }
    let alpha = alpha.abs();
    let tail = n / alpha / (n - 1.0) * (-alpha * alpha / 2.0).exp();
    let core = FRAC_PI_2.sqrt() * (1.0 + libm::erf(alpha / SQRT_2));
    crystal_ball(of) / (sigma * (tail + core))
}

/// A sum of Chebyshev polynomials, by Clenshaw's recurrence.
fn chebyshev(of: &[f64]) -> f64 {
    let Some((x, factors)) = of.split_first() else { return f64::NAN };
    let [mut one, mut two] = [0.0, 0.0];
    for factor in factors.iter().skip(1).rev() {
        (one, two) = (2.0 * x * one - two + factor, one);
    }
    x * one - two + factors.first().copied().unwrap_or(0.0)
}
