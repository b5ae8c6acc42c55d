//! Settings of histograms: which errors, which statistics, which values.

use super::bin_error::{BinError, ProfileError};
use super::class::{CONSIDER, IGNORE, POWERS_OF_TWO, VALUES};
use super::histogram::Histogram;
use crate::schema::draft_members::{put, whole};

impl Histogram {
    /// What the errors of its bins are.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, BinError, Histogram};
    /// assert_eq!(Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.bin_error(), BinError::Normal);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bin_error(&self) -> BinError {
        match whole(&self.draft, "fBinStatErrOpt") {
            Ok(1) => BinError::Poisson,
            Ok(2) => BinError::Poisson2,
            _ => BinError::Normal,
        }
    }

    /// Asks for other errors of its bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, BinError, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.set_bin_error(BinError::Poisson2);
    /// assert_eq!(histogram.bin_error(), BinError::Poisson2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_bin_error(&mut self, errors: BinError) {
        put(&mut self.draft, "fBinStatErrOpt", errors as i64 as i32);
    }

    /// What the errors of a profile's bins are.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram, ProfileError};
    /// let profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// assert_eq!(profile.profile_error(), ProfileError::Mean);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn profile_error(&self) -> ProfileError {
        match whole(&self.draft, "fErrorMode") {
            Ok(1) => ProfileError::Spread,
            Ok(2) => ProfileError::Integer,
            Ok(3) => ProfileError::Gaussian,
            _ => ProfileError::Mean,
        }
    }

    /// Asks for other errors of a profile's bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram, ProfileError};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.set_profile_error(ProfileError::Spread);
    /// assert_eq!(profile.profile_error(), ProfileError::Spread);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_profile_error(&mut self, errors: ProfileError) {
        put(&mut self.draft, "fErrorMode", errors as i64 as i32);
    }

    /// Restricts a profile to values between two limits, these included; others are not filled.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.set_value_limits(0.0, 10.0);
    /// profile.fill_many(&[&[0.5, 0.5], &[10.0, 10.5]], None)?;
    /// assert_eq!(profile.entries(), 1.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_value_limits(&mut self, min: f64, max: f64) {
        let letter = VALUES[self.dimension - 1];
        put(&mut self.draft, &format!("f{letter}min"), min);
        put(&mut self.draft, &format!("f{letter}max"), max);
        self.value_limits = (self.profile && min != max).then_some((min, max));
    }

    pub(crate) fn is_in_powers_of_two(&self) -> bool {
        self.bits() & POWERS_OF_TWO != 0
    }

    fn bits(&self) -> i64 {
        whole(&self.draft, "fBits").unwrap_or(0)
    }

    /// Whether underflow and overflow count in statistics.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// assert!(!Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.counts_overflows());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn counts_overflows(&self) -> bool {
        self.counts_overflows
    }

    /// Lets underflow and overflow count in statistics, or not: `TH1::SetStatOverflows`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.set_counts_overflows(true);
    /// histogram.fill(&[5.0], 1.0)?;
    /// assert_eq!(histogram.mean(0)?, 5.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_counts_overflows(&mut self, count: bool) {
        self.counts_overflows = count;
        put(&mut self.draft, "fStatOverflows", if count { CONSIDER } else { IGNORE });
    }
}
