//! Sums, means, extremes and spreads of values.

use crate::query::Wholes;

/// Count, sum, mean, extremes and spread of numbers.
///
/// # Example
///
/// ```
/// use sapwood::frame::Statistics;
/// let mut first = Statistics::default();
/// first.add(&[1.0, 2.0]);
/// let mut all = Statistics::default();
/// all.add(&[3.0]);
/// all.merge(&first);
/// assert_eq!((all.count(), all.sum(), all.mean(), all.min(), all.max()), (3, 6.0, 2.0, 1.0, 3.0));
/// assert_eq!(all.standard_deviation(), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    count: u64,
    sum: f64,
    /// The part of the sum that rounding has lost (Kahan).
    lost: f64,
    mean: f64,
    /// Squares of distances from the mean (Welford).
    squares: f64,
    min: f64,
    max: f64,
    /// Exact ones, while all numbers are whole.
    wholes: Option<Wholes>,
}

/// All of some [`Statistics`], to be sent elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticsParts {
    /// How many numbers there are.
    pub count: u64,
    /// Their sum, the part of it that rounding has lost, their mean, squares of distances from it, and extremes.
    pub floats: [f64; 6],
    /// The exact sum, least and largest number, if all are whole.
    pub wholes: Option<[i128; 3]>,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            lost: 0.0,
            mean: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            wholes: None,
        }
    }
}

impl Statistics {
    /// Adds numbers.
    pub fn add(&mut self, values: &[f64]) {
        self.add_with(values, None);
    }

    /// Adds numbers, with their exact sum and extremes if all of them are whole.
    pub(super) fn add_with(&mut self, values: &[f64], wholes: Option<Wholes>) {
        if !values.is_empty() {
            self.wholes = self.joined(wholes);
        }
        for &value in values {
            self.count += 1;
            self.add_to_sum(value);
            let distance = value - self.mean;
            self.mean += distance / self.count as f64;
            self.squares += distance * (value - self.mean);
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        }
    }

    fn add_to_sum(&mut self, value: f64) {
        let corrected = value - self.lost;
        let sum = self.sum + corrected;
        self.lost = if sum.is_finite() { (sum - self.sum) - corrected } else { 0.0 };
        self.sum = sum;
    }

    fn joined(&self, wholes: Option<Wholes>) -> Option<Wholes> {
        if self.count == 0 { wholes } else { self.wholes.zip(wholes).map(|(own, others)| own.plus(others)) }
    }

    /// The exact sum, the least and the largest number, if all of them are whole.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().statistics("Entry$ + 9007199254740992")?]);
    /// run.add(&tree, 0..2)?;
    /// let found = run.finish()?;
    /// let wholes = found[0].nominal.statistics()?.wholes();
    /// assert_eq!(wholes, Some((18014398509481985, 9007199254740992, 9007199254740993)));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn wholes(&self) -> Option<(i128, i128, i128)> {
        self.wholes.map(|of| (of.sum, of.least, of.largest))
    }

    /// All of it, to be sent elsewhere.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::Statistics;
    /// let mut statistics = Statistics::default();
    /// statistics.add(&[1.0, 2.0]);
    /// assert_eq!(Statistics::from_parts(statistics.parts()).mean(), 1.5);
    /// ```
    pub fn parts(&self) -> StatisticsParts {
        StatisticsParts {
            count: self.count,
            floats: [self.sum, self.lost, self.mean, self.squares, self.min, self.max],
            wholes: self.wholes.map(|of| [of.sum, of.least, of.largest]),
        }
    }

    /// The statistics that were sent.
    pub fn from_parts(parts: StatisticsParts) -> Self {
        let [sum, lost, mean, squares, min, max] = parts.floats;
        let wholes = parts.wholes.map(|[sum, least, largest]| Wholes { sum, least, largest });
        Self { count: parts.count, sum, lost, mean, squares, min, max, wholes }
    }

    /// Adds the numbers that another one has.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.wholes = self.joined(other.wholes);
        let own = self.count as f64;
        let more = other.count as f64;
        let distance = other.mean - self.mean;
        self.squares += other.squares + distance * distance * own * more / (own + more);
        self.mean += distance * more / (own + more);
        self.count += other.count;
        self.add_to_sum(other.sum);
        self.add_to_sum(-other.lost);
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum; 0 for none.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean; NaN for none.
    pub fn mean(&self) -> f64 {
        let sum = self.wholes.map_or(self.sum, |of| of.sum as f64);
        if self.count == 0 { f64::NAN } else { sum / self.count as f64 }
    }

    /// The least one; infinite for none.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest one; infinite for none.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Their spread, by one less than their number (`RDataFrame::StdDev`); 0 for fewer than two.
    pub fn standard_deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}
