//! Sums, means, extremes and spreads of values.

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
}

impl Default for Statistics {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, lost: 0.0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Statistics {
    /// Adds numbers.
    pub fn add(&mut self, values: &[f64]) {
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

    /// Adds the numbers that another one has.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
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
        if self.count == 0 { f64::NAN } else { self.sum / self.count as f64 }
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
