//! What errors of bins are.

/// What the error of a profile's bin is: `EErrorType`.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram, ProfileError};
/// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
/// profile.fill_many(&[&[0.5, 0.5], &[1.0, 3.0]], None)?;
/// assert_eq!(profile.profile_error(), ProfileError::Mean);
/// assert_eq!(profile.profile_errors(ProfileError::Spread)?[1], 1.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ProfileError {
    /// The error of the mean: the spread over the root of the effective entries.
    #[default]
    Mean,
    /// The spread of the values: their standard deviation.
    Spread,
    /// As the mean; for whole numbers that are all the same, as if they were spread over one unit.
    Integer,
    /// One over the root of the sum of weights: the error of a mean of values with an error of one each.
    Gaussian,
}

/// What the errors of a histogram's bins are: `TH1::EBinErrorOpt`.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, BinError, Histogram};
/// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
/// histogram.set_bin_error(BinError::Poisson);
/// let (low, high) = histogram.asymmetric_error(1);
/// assert!(low == 0.0 && (high - 1.841021644577).abs() < 1e-9);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BinError {
    /// The root of the sum of squared weights, or of the content.
    #[default]
    Normal,
    /// The interval of a Poisson distribution that holds 68.27 %.
    Poisson,
    /// The interval of a Poisson distribution that holds 95 %.
    Poisson2,
}
