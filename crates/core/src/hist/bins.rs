//! Numbers of bins, and what each bin says: its value, its error, its entries.
//!
//! Source: `TH1::GetBin`, `TH1::GetBinError`, `TProfileHelper::GetBinError`.

use super::axis::Axis;
use super::bin_error::{BinError, ProfileError};
use super::cells::Cells;
use super::gamma::{self, Tail};
use super::histogram::Histogram;
use crate::error::{Error, Result};

impl Histogram {
    /// The number of a bin by those on its axes; what is beyond an axis is its overflow.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let axes = [Axis::regular(2, 0.0, 1.0)?, Axis::regular(3, 0.0, 1.0)?];
    /// let histogram = Histogram::new("TH2D", axes)?;
    /// assert_eq!((histogram.bin([1, 2, 0]), histogram.at(9)), (9, [1, 2, 0]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bin(&self, at: [usize; 3]) -> usize {
        let mut bin = 0;
        for (axis, at) in self.axes().iter().zip(at).rev() {
            bin = bin * (axis.bins + 2) + at.min(axis.bins + 1);
        }
        bin
    }

    /// The numbers of a bin on its axes.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let histogram = Histogram::new("TH2D", [Axis::regular(2, 0.0, 1.0)?, Axis::regular(3, 0.0, 1.0)?])?;
    /// assert_eq!(histogram.at(0), [0, 0, 0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn at(&self, bin: usize) -> [usize; 3] {
        let mut rest = bin;
        let mut at = [0; 3];
        for (axis, at) in self.axes().iter().zip(&mut at) {
            *at = rest % (axis.bins + 2);
            rest /= axis.bins + 2;
        }
        at
    }

    /// The bin that coordinates fall into, one for each axis; a missing one is zero.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 1.0)?])?;
    /// assert_eq!(histogram.find(&[0.7]), 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn find(&self, x: &[f64]) -> usize {
        let mut at = [0; 3];
        for (place, axis) in self.axes().iter().enumerate() {
            at[place] = axis.find(x.get(place).copied().unwrap_or(0.0));
        }
        self.bin(at)
    }

    /// The value of a bin, flow bins included: its content; for profiles the mean, which is zero where nothing was
    /// filled.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.fill_many(&[&[0.5, 0.5], &[1.0, 3.0]], None)?;
    /// assert_eq!((profile.value(1), profile.value(2)), (2.0, 0.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn value(&self, bin: usize) -> f64 {
        let content = self.cells.get(bin);
        match self.bin_entries.get(bin) {
            Some(entries) if *entries == 0.0 => 0.0,
            Some(entries) => content / entries,
            None => content,
        }
    }

    /// The values of all bins, flow bins included; x runs fastest.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.fill_many(&[&[0.5, 1.5, 7.0]], None)?;
    /// assert_eq!(histogram.values(), [0.0, 1.0, 1.0, 1.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn values(&self) -> Vec<f64> {
        (0..self.cells.len()).map(|bin| self.value(bin)).collect()
    }

    /// The errors of all bins, flow bins included: of histograms the roots of summed squares, or of contents where
    /// there are none; of profiles those that it [asks for](Self::profile_error).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.fill_many(&[&[0.5, 0.5]], Some(&[3.0, 4.0]))?;
    /// assert_eq!(histogram.errors(), [0.0, 5.0, 0.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn errors(&self) -> Vec<f64> {
        (0..self.cells.len()).map(|bin| self.error(bin)).collect()
    }

    /// The error of a bin: `TH1::GetBinError`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1I", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.fill_many(&[&[0.5; 9]], None)?;
    /// assert_eq!(histogram.error(1), 3.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn error(&self, bin: usize) -> f64 {
        if self.profile {
            return self.error_of_mean(bin, self.profile_error());
        }
        match self.sumw2.get(bin) {
            Some(square) => square.sqrt(),
            None => self.cells.get(bin).abs().sqrt(),
        }
    }

    /// The errors below and above a bin's value: `TH1::GetBinErrorLow` and `GetBinErrorUp`. They differ where the
    /// histogram asks for those of a Poisson distribution.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.fill(&[0.5], 1.0)?;
    /// assert_eq!(histogram.asymmetric_error(1), (1.0, 1.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn asymmetric_error(&self, bin: usize) -> (f64, f64) {
        let tail = match self.bin_error() {
            BinError::Normal => None,
            BinError::Poisson => {
                Some(Tail { probability: (1.0 - 0.682689492) / 2.0, deviations: 0.999_999_999_716_730 })
            }
            BinError::Poisson2 => Some(Tail { probability: 0.05 / 2.0, deviations: 1.959_963_984_540_054 }),
        };
        let content = self.cells.get(bin);
        match tail.filter(|_| !self.profile && content >= 0.0) {
            Some(tail) => {
                let count = content.trunc();
                let low = if count == 0.0 { 0.0 } else { content - gamma::quantile(&tail, count) };
                (low, gamma::quantile_above(&tail, count + 1.0) - content)
            }
            None => (self.error(bin), self.error(bin)),
        }
    }

    /// Effective entries of all bins, flow bins included: for profiles the square of the summed weights over the sum of
    /// their squares, for histograms the same, or contents where no squares were summed.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// histogram.fill_many(&[&[0.5, 0.5]], Some(&[1.0, 3.0]))?;
    /// assert_eq!(histogram.counts(), [0.0, 1.6, 0.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn counts(&self) -> Vec<f64> {
        (0..self.cells.len()).map(|bin| self.count_in(bin)).collect()
    }

    fn count_in(&self, bin: usize) -> f64 {
        let (weights, squares) = match self.bin_entries.get(bin) {
            Some(weights) => (*weights, self.bin_sumw2.get(bin)),
            None => (self.cells.get(bin), self.sumw2.get(bin)),
        };
        match squares {
            Some(squares) if *squares > 0.0 => weights * weights / squares,
            Some(_) => 0.0,
            None => weights,
        }
    }

    /// The errors of a profile's bins, flow bins included; zero where nothing was filled.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a histogram.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram, ProfileError};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.fill_many(&[&[0.5; 4], &[1.0, 3.0, 1.0, 3.0]], None)?;
    /// assert_eq!(profile.profile_errors(ProfileError::Mean)?[1], 0.5);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn profile_errors(&self, of: ProfileError) -> Result<Vec<f64>> {
        if !self.profile {
            return Err(Error::mismatch(format!("a {} is no profile", self.class())));
        }
        Ok((0..self.cells.len()).map(|bin| self.error_of_mean(bin, of)).collect())
    }

    // As `TProfileHelper::GetBinError`, without its approximation for bins with few entries, which is off by default.
    fn error_of_mean(&self, bin: usize, of: ProfileError) -> f64 {
        let weights = self.bin_entries.get(bin).copied().unwrap_or(0.0);
        if weights == 0.0 {
            return 0.0;
        }
        if of == ProfileError::Gaussian {
            return 1.0 / weights.sqrt();
        }
        let mean = self.cells.get(bin) / weights;
        let squares = self.sumw2.get(bin).copied().unwrap_or(0.0);
        let spread = (squares / weights - mean * mean).abs().sqrt();
        let effective = self.count_in(bin);
        match of {
            ProfileError::Spread => spread,
            ProfileError::Integer if spread == 0.0 => 1.0 / (12.0 * effective).sqrt(),
            _ => spread / effective.sqrt(),
        }
    }

    /// Sets what bins hold, flow bins included: the contents of a histogram, and its sums of squared weights if they
    /// differ from them. Statistics become those of the bins, and entries the sum of contents; with squares, as many as
    /// have the same effect.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a profile, for numbers of another type than the class has, and for
    /// another number of bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Cells, Histogram};
    /// let mut histogram = Histogram::new("TH1F", [Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.set_cells(Cells::Float(vec![0.0, 1.0, 3.0, 0.0]), None)?;
    /// assert_eq!((histogram.entries(), histogram.mean(0)?), (4.0, 1.25));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_cells(&mut self, cells: Cells, sumw2: Option<Vec<f64>>) -> Result<()> {
        if self.profile {
            return Err(Error::mismatch("the bins of a profile are more than contents"));
        }
        self.check_new(&cells, sumw2.as_deref())?;
        self.cells = cells;
        self.sumw2 = sumw2.unwrap_or_default();
        let total = |sums: &[f64]| sums.iter().sum::<f64>();
        let weights: f64 = (0..self.cells.len()).map(|bin| self.cells.get(bin)).sum();
        self.set_from_bins(weights, self.sumw2().map(total));
        Ok(())
    }

    /// Sets the bins of a profile, flow bins included: the sums of weights, of weighted values, of their weighted
    /// squares, and of squared weights if they differ from weights. Statistics and entries become those of the bins.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a histogram, and for another number of bins.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut profile = Histogram::new("TProfile", [Axis::regular(1, 0.0, 1.0)?])?;
    /// profile.set_profile(vec![0.0, 2.0, 0.0], vec![0.0, 6.0, 0.0], vec![0.0, 34.0, 0.0], None)?;
    /// assert_eq!((profile.value(1), profile.error(1)), (3.0, 2.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_profile(
        &mut self,
        weights: Vec<f64>,
        values: Vec<f64>,
        squared_values: Vec<f64>,
        squared_weights: Option<Vec<f64>>,
    ) -> Result<()> {
        if !self.profile {
            return Err(Error::mismatch(format!("a {} is no profile", self.class())));
        }
        let cells = Cells::Double(values);
        for array in [Some(&weights), Some(&squared_values), squared_weights.as_ref()].into_iter().flatten() {
            self.check_new(&cells, Some(array))?;
        }
        (self.cells, self.bin_entries, self.sumw2) = (cells, weights, squared_values);
        self.bin_sumw2 = squared_weights.unwrap_or_default();
        let total = |sums: &[f64]| sums.iter().sum::<f64>();
        self.set_from_bins(total(&self.bin_entries), self.bin_sumw2().map(total));
        Ok(())
    }

    fn check_new(&self, cells: &Cells, array: Option<&[f64]>) -> Result<()> {
        if cells.number() != self.cells.number() {
            let words = format!("a {} holds numbers of type {}", self.class(), self.cells.number());
            return Err(Error::mismatch(format!("{words}, not {}", cells.number())));
        }
        for len in [Some(cells.len()), array.map(<[f64]>::len)].into_iter().flatten() {
            if len != self.cells.len() {
                let words = "bins of a histogram are those of its axes, flow bins included";
                return Err(Error::mismatch(words).wanted(self.cells.len() as u64, len as u64));
            }
        }
        Ok(())
    }

    /// Statistics of bins, and entries by the total of weights and that of their squares: `TH1::ResetStats`.
    fn set_from_bins(&mut self, weights: f64, squares: Option<f64>) {
        self.buffer = Vec::new();
        self.sums = self.statistics_of_bins();
        self.entries = match squares {
            Some(squares) if squares > 0.0 => weights * weights / squares,
            _ => weights.abs(),
        };
    }

    /// Checks that arrays fit the axes, and that no buffer holds more than it can.
    pub(super) fn check(&self) -> Result<()> {
        let cells = self.count()?;
        let fit = |name: &str, len: usize, optional: bool| {
            if len == cells || (optional && len == 0) {
                return Ok(());
            }
            Err(Error::malformed(format!("{name} does not fit the axes")).wanted(cells as u64, len as u64))
        };
        fit("the contents", self.cells.len(), false)?;
        fit("fSumw2", self.sumw2.len(), !self.profile)?;
        fit("fBinEntries", self.bin_entries.len(), !self.profile)?;
        fit("fBinSumw2", self.bin_sumw2.len(), true)?;
        let filled = self.buffer.first().copied().unwrap_or(0.0).abs();
        if self.buffer.is_empty() || filled * self.stride() as f64 + 1.0 <= self.buffer.len() as f64 {
            return Ok(());
        }
        Err(Error::malformed("more was filled into a buffer than it holds")
            .wanted(self.buffer.len() as u64, filled as u64))
    }

    /// How many bins its axes ask for, with underflow and overflow.
    pub(crate) fn count(&self) -> Result<usize> {
        let bins = self.axes().iter().try_fold(1_usize, |all, axis: &Axis| all.checked_mul(axis.bins + 2));
        bins.filter(|bins| *bins <= i32::MAX as usize).ok_or_else(|| Error::malformed("a histogram has too many bins"))
    }
}
