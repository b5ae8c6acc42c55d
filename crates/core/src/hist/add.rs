//! Adds histograms bin by bin.
//!
//! Source: `TH1::Add`, `TH1::Merge`.

use super::cells::Cells;
use super::histogram::Histogram;
use crate::error::{Error, Result};

/// Where the bin of another histogram goes.
pub(crate) type Place = fn(&mut Histogram, &Histogram, [usize; 3]) -> Result<[usize; 3]>;

impl Histogram {
    /// Adds the bins, statistics and entries of a histogram of the same axes. [`Sum`](crate::merge::Sum) adds others,
    /// too, as ROOT merges them: it extends axes, and finds bins by their labels.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another class, and for other axes or labels; this histogram is
    /// unchanged then.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut one = Histogram::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
    /// let mut two = one.clone();
    /// one.fill(&[0.5], 1.0)?;
    /// two.fill(&[1.5], 2.0)?;
    /// one.add(&two)?;
    /// assert_eq!((one.values(), one.entries()), (vec![0.0, 1.0, 2.0, 0.0], 2.0));
    /// assert!(one.add(&Histogram::new("TH1D", [Axis::regular(3, 0.0, 2.0)?])?).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add(&mut self, other: &Self) -> Result<()> {
        if self.class() != other.class() {
            return Err(Error::mismatch(format!("a {} cannot be added to a {}", other.class(), self.class())));
        }
        for (place, (one, two)) in self.axes().iter().zip(other.axes()).enumerate() {
            if !one.same(two) || !one.has_limits() || one.labels() != two.labels() {
                let words = format!("histograms differ on axis {}: {one}, and {two}", ["x", "y", "z"][place]);
                return Err(Error::mismatch(words));
            }
        }
        let (mut new, mut other) = (self.clone(), other.clone());
        new.empty_buffer(false)?;
        other.empty_buffer(false)?;
        if other.sums_squares() {
            new.sum_squares();
        }
        new.add_bins(&mut [other], None)?;
        *self = new;
        Ok(())
    }

    /// Adds bins, each where `place` says or to the one of the same number, and what was summed over all that was
    /// filled.
    pub(crate) fn add_bins(&mut self, others: &mut [Self], place: Option<Place>) -> Result<()> {
        let mut totals = self.flushed_statistics()?;
        let mut entries = self.entries();
        for other in others {
            if other.is_empty() {
                continue;
            }
            let more = other.flushed_statistics()?;
            totals.iter_mut().zip(more).for_each(|(total, more)| *total += more);
            entries += other.entries();
            let Some(place) = place else {
                self.add_same_bins(other);
                continue;
            };
            for bin in 0..other.cells.len() {
                if other.is_bin_empty(bin) {
                    continue;
                }
                let at = place(self, other, other.at(bin))?;
                let to = self.bin(at);
                self.add_bin(to, other, bin);
            }
        }
        self.sums = totals;
        self.entries = entries;
        Ok(())
    }

    /// Adds each bin to the one of the same number: [`add_bin`](Self::add_bin) for all, one array after the other.
    fn add_same_bins(&mut self, other: &Self) {
        // A histogram without such an array has unweighted entries.
        add_values(&mut self.sumw2, &other.sumw2, |bin| other.cells.get(bin));
        add_values(&mut self.bin_entries, &other.bin_entries, |_| 0.0);
        add_values(&mut self.bin_sumw2, &other.bin_sumw2, |bin| other.bin_entries.get(bin).copied().unwrap_or(0.0));
        match (&mut self.cells, &other.cells) {
            (Cells::Double(sums), Cells::Double(more)) => add_values(sums, more, |_| 0.0),
            (Cells::Float(sums), Cells::Float(more)) => {
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
            (cells, more) => (0..more.len()).for_each(|bin| cells.add(bin, more.get(bin))),
        }
    }
}

/// Adds numbers; beyond their end, those of `otherwise`.
fn add_values(sums: &mut [f64], more: &[f64], otherwise: impl Fn(usize) -> f64) {
    let (with, without) = sums.split_at_mut(more.len().min(sums.len()));
    with.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    without.iter_mut().zip(more.len()..).for_each(|(sum, bin)| *sum += otherwise(bin));
}
