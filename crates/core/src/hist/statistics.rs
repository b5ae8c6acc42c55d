//! Sums over what was filled, and what follows from them: entries, means, standard deviations, integrals.
//!
//! Source: `TH1::GetStats`, `TProfile::GetStats`, `TH1::GetMean`, `TH1::GetStdDev`, `TH1::GetEffectiveEntries`,
//! `TH1::Integral`.

use std::ops::RangeInclusive;

use super::axis::Axis;
use super::class::{SUMS_OF_DIMENSION, VALUE_SUMS};
use super::histogram::Histogram;
use crate::error::Result;

/// The index of the sum of each coordinate times the weight; the sum of its squares comes next.
const COORDINATE_SUMS: [usize; 3] = [2, 4, 7];

impl Histogram {
    /// How often it was filled, buffered entries included: `TH1::GetEntries`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.fill_many(&[&[0.5, 1.5, 7.0]], None)?;
    /// assert_eq!(histogram.entries(), 3.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entries(&self) -> f64 {
        match self.buffer.first() {
            Some(waiting) if *waiting > 0.0 => *waiting,
            _ => self.entries,
        }
    }

    /// Changes how often it was filled, where bins were filled elsewhere.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.set_entries(10.0);
    /// assert_eq!(histogram.entries(), 10.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_entries(&mut self, entries: f64) {
        self.entries = entries;
    }

    /// Sums over what was filled, in the order of `TH1::GetStats`: of weights w, w², then wx, wx², wy, wy², wxy, wz,
    /// wz², wxz, wyz, as far as there are axes; sums over a profile's value and its square are where the next
    /// coordinate's would be. They are those of bins, at their centers, where an axis has a range, or where bins were
    /// set and not filled.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) where buffered entries need too many bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.fill(&[1.5], 2.0)?;
    /// assert_eq!(histogram.statistics()?[..4], [2.0, 4.0, 3.0, 4.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn statistics(&self) -> Result<[f64; 13]> {
        if self.buffer.first().is_some_and(|waiting| *waiting > 0.0) {
            return self.clone().flushed_statistics();
        }
        Ok(self.sums_or_bins())
    }

    /// The same sums; buffered entries are in bins afterwards.
    pub(crate) fn flushed_statistics(&mut self) -> Result<[f64; 13]> {
        self.empty_buffer(false)?;
        Ok(self.sums_or_bins())
    }

    fn sums_or_bins(&self) -> [f64; 13] {
        let ranged = self.axes().iter().any(Axis::has_range);
        let set = self.sums[0] == 0.0 && (self.profile || self.entries > 0.0);
        if ranged || set { self.statistics_of_bins() } else { self.with_value_sums() }
    }

    /// The stored sums. Profiles of one axis that ROOT 3 wrote have none over their values: those of the bins count.
    fn with_value_sums(&self) -> [f64; 13] {
        let mut sums = self.sums;
        let (value, squares) = VALUE_SUMS[0];
        if self.profile && self.dimension == 1 && sums[value] == 0.0 && sums[squares] == 0.0 {
            for bin in 1..=self.axes[0].bins {
                sums[value] += self.cells.get(bin);
                sums[squares] += self.sumw2.get(bin).copied().unwrap_or(0.0);
            }
        }
        sums
    }

    /// Replaces the sums that [`statistics`](Self::statistics) gives. Those that the class does not have are ignored.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.set_statistics(&[2.0, 4.0, 3.0, 4.5]);
    /// assert_eq!(histogram.mean(0)?, 1.5);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_statistics(&mut self, sums: &[f64]) {
        self.sums = [0.0; 13];
        self.sums.iter_mut().zip(sums).for_each(|(all, sum)| *all = *sum);
    }

    /// The sums of bins, as if all entries were at the centers of their bins.
    pub(super) fn statistics_of_bins(&self) -> [f64; 13] {
        let mut sums = [0.0; 13];
        let overflows = self.counts_overflows;
        let range = |axis: usize| -> RangeInclusive<usize> {
            if axis < self.dimension { self.axes[axis].statistics_range(overflows) } else { 0..=0 }
        };
        let center = |axis: usize, bin: usize| {
            let labelled = self.axes[axis].has_labels() && self.axes[axis].can_extend();
            if axis >= self.dimension || labelled { 0.0 } else { self.axes[axis].center(bin) }
        };
        for iz in range(2) {
            let z = center(2, iz);
            for iy in range(1) {
                let y = center(1, iy);
                let row = self.bin([0, iy, iz]);
                for ix in range(0) {
                    let x = center(0, ix);
                    let bin = row + ix;
                    let content = self.cells.get(bin);
                    let one = |array: &[f64], otherwise: f64| array.get(bin).copied().unwrap_or(otherwise);
                    let (w, w2) = if self.profile {
                        let w = one(&self.bin_entries, 0.0);
                        (w, one(&self.bin_sumw2, w))
                    } else {
                        let error = one(&self.sumw2, content.abs()).sqrt();
                        (content, error * error)
                    };
                    add_terms(&mut sums, self.dimension, [w, w2], [x, y, z]);
                    if self.profile {
                        let (value, squares) = VALUE_SUMS[self.dimension - 1];
                        sums[value] += content;
                        sums[squares] += one(&self.sumw2, 0.0);
                    }
                }
            }
        }
        sums
    }

    /// The mean along an axis, numbered from 0; along the axis after the last, the mean of a profile's value:
    /// `TH1::GetMean`. Zero where nothing was filled, and for an axis that is not there.
    ///
    /// # Errors
    ///
    /// Those of [`statistics`](Self::statistics).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(2, 0.0, 2.0)?])?;
    /// profile.fill(&[0.5, 10.0], 1.0)?;
    /// profile.fill(&[1.5, 40.0], 2.0)?;
    /// assert_eq!((profile.mean(0)?, profile.mean(1)?), (3.5 / 3.0, 30.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn mean(&self, axis: usize) -> Result<f64> {
        let sums = self.statistics()?;
        Ok(self.sums_of(axis).filter(|_| sums[0] != 0.0).map_or(0.0, |(sum, _)| sums[sum] / sums[0]))
    }

    /// The standard deviation along an axis, numbered as for [`mean`](Self::mean): `TH1::GetStdDev`.
    ///
    /// # Errors
    ///
    /// Those of [`statistics`](Self::statistics).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(4, 0.0, 4.0)?])?;
    /// histogram.fill_many(&[&[1.0, 3.0]], None)?;
    /// assert_eq!(histogram.std_dev(0)?, 1.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn std_dev(&self, axis: usize) -> Result<f64> {
        let sums = self.statistics()?;
        Ok(self.sums_of(axis).filter(|_| sums[0] != 0.0).map_or(0.0, |(sum, squares)| {
            let mean = sums[sum] / sums[0];
            (sums[squares] / sums[0] - mean * mean).abs().sqrt()
        }))
    }

    /// Entries without weights that would have the same relative error: `TH1::GetEffectiveEntries`.
    ///
    /// # Errors
    ///
    /// Those of [`statistics`](Self::statistics).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(4, 0.0, 4.0)?])?;
    /// histogram.fill_many(&[&[1.0, 3.0]], Some(&[1.0, 3.0]))?;
    /// assert_eq!(histogram.effective_entries()?, 16.0 / 10.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn effective_entries(&self) -> Result<f64> {
        let [weights, squares, ..] = self.statistics()?;
        Ok(if squares == 0.0 { weights.abs() } else { weights * weights / squares })
    }

    /// The sum of the values of all bins without underflow and overflow, or of those in the ranges of its axes:
    /// `TH1::Integral`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(4, 0.0, 4.0)?])?;
    /// histogram.fill_many(&[&[1.0, 3.0, 5.0]], None)?;
    /// assert_eq!(histogram.integral(), 2.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn integral(&self) -> f64 {
        let range = |axis: usize| {
            if axis < self.dimension { self.axes[axis].statistics_range(false) } else { 0..=0 }
        };
        let mut sum = 0.0;
        for x in range(0) {
            for y in range(1) {
                for z in range(2) {
                    sum += self.value(self.bin([x, y, z]));
                }
            }
        }
        sum
    }

    /// The indices of the sums of a coordinate and of its squares.
    fn sums_of(&self, axis: usize) -> Option<(usize, usize)> {
        if self.profile && axis == self.dimension {
            return Some(VALUE_SUMS[self.dimension - 1]);
        }
        COORDINATE_SUMS.get(axis).filter(|_| axis < self.dimension).map(|sum| (*sum, sum + 1))
    }
}

/// Adds the terms of one entry, or of one bin, to all sums of a dimension but those of a profile's value.
#[inline]
pub(super) fn add_terms(sums: &mut [f64; 13], dimension: usize, [w, w2]: [f64; 2], [x, y, z]: [f64; 3]) {
    let terms = [w, w2, w * x, w * x * x, w * y, w * y * y, w * x * y, w * z, w * z * z, w * x * z, w * y * z];
    let count = SUMS_OF_DIMENSION[dimension - 1];
    sums[..count].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}
