//! What histograms do while they are filled, and when a sum puts more into them: buffers that become bins, axes that grow.
//!
//! Source: `TH1::BufferEmpty`, `TH1::BufferFill`, `TH1::Fill`, `TH1::ExtendAxis`, `TH1::LabelsInflate`.

use std::sync::Arc;

use super::axis::Labelled;
use super::histogram::{Histogram, VALUE_SUMS};
use super::limits;
use crate::error::{Error, Result};

impl Histogram {
    /// Fills the bins with the buffered entries; removes the buffer if `release` is set and it was not empty.
    pub(crate) fn empty_buffer(&mut self, release: bool) -> Result<()> {
        let waiting = self.buffer.first().copied().unwrap_or(0.0);
        if waiting > 0.0 || (waiting < 0.0 && release) {
            let mut buffer = std::mem::take(&mut self.buffer);
            if waiting < 0.0 {
                self.reset()?;
            }
            let count = waiting.abs() as usize;
            let stride = self.stride();
            let all = buffer.get(1..).unwrap_or_default();
            let fills = all.chunks_exact(stride).take(count);
            self.fit_axes(fills.clone())?;
            fills.for_each(|fill| self.fill_bins(fill));
            if let Some(first) = buffer.first_mut() {
                *first = if count as f64 == self.entries { -(count as f64) } else { 0.0 };
            }
            self.buffer = buffer;
        }
        // An empty one stays, and is filled again.
        if release && waiting != 0.0 {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Axes that hold all that is to be filled, where they have no limits or can grow.
    fn fit_axes<'f>(&mut self, fills: impl Iterator<Item = &'f [f64]> + Clone) -> Result<()> {
        let automatic = !self.has_limits();
        let dimension = self.dimension;
        if !automatic && !self.axes[..dimension].iter().all(|axis| axis.can_extend()) {
            return Ok(());
        }
        let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 3];
        for fill in fills {
            for (bounds, x) in bounds[..dimension].iter_mut().zip(fill.get(1..).unwrap_or_default()) {
                if x.is_finite() {
                    *bounds = (bounds.0.min(*x), bounds.1.max(*x));
                }
            }
        }
        for (place, (low, high)) in bounds[..dimension].iter().enumerate() {
            if automatic {
                let axis = &mut self.axes[place];
                let (low, high) = match (low < high, axis.has_labels()) {
                    (true, _) => (*low, *high),
                    (false, true) => (0.0, axis.bins as f64),
                    (false, false) if low.is_finite() => (low - 1.0, high + 1.0),
                    (false, false) => (0.0, 1.0),
                };
                let (min, max, bins) = limits::good(axis.bins, low, high, axis.is_integer());
                axis.forget_range();
                axis.set(bins, min, max);
            } else {
                if *low < self.axes[place].min {
                    self.extend(place, *low)?;
                }
                if *high >= self.axes[place].max {
                    self.extend(place, *high)?;
                }
            }
        }
        if automatic { self.resize() } else { Ok(()) }
    }

    /// As if nothing had been filled.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.resize()?;
        self.sums = [0.0; 13];
        self.entries = 0.0;
        Ok(())
    }

    /// Fills once: weight, coordinates, and the value of a profile.
    pub(crate) fn fill(&mut self, fill: &[f64]) -> Result<()> {
        let stride = self.stride();
        if !self.buffer.is_empty() {
            let mut waiting = self.buffer.first().copied().unwrap_or(0.0);
            if waiting < 0.0 {
                waiting = -waiting;
                if self.entries > 0.0 {
                    self.reset()?;
                }
                self.buffer[0] = waiting;
            }
            let start = waiting as usize * stride + 1;
            if start + stride - 1 < self.buffer.len() {
                self.buffer[start..start + stride].copy_from_slice(fill);
                self.buffer[0] = waiting + 1.0;
                return Ok(());
            }
            self.empty_buffer(true)?;
        }
        for place in 0..self.dimension {
            self.make_room(place, fill.get(1 + place).copied().unwrap_or(0.0))?;
        }
        self.fill_bins(fill);
        Ok(())
    }

    /// The axis grows where it can, and a value is not on it.
    pub(crate) fn make_room(&mut self, place: usize, x: f64) -> Result<()> {
        let axis = &self.axes[place];
        let outside = x < axis.min || x >= axis.max;
        if outside && axis.can_extend() && !axis.is_alphanumeric() { self.extend(place, x) } else { Ok(()) }
    }

    fn fill_bins(&mut self, fill: &[f64]) {
        let [w, at @ ..] = fill else { return };
        let (w, dimension) = (*w, self.dimension);
        let value = at.get(dimension).copied().unwrap_or(1.0);
        if self.profile && self.is_beyond(value) {
            return;
        }
        self.entries += 1.0;
        let mut bins = [0; 3];
        let mut x = [0.0; 3];
        let mut inside = true;
        for (place, axis) in self.axes[..dimension].iter().enumerate() {
            x[place] = at.get(place).copied().unwrap_or(0.0);
            bins[place] = axis.find(x[place]);
            inside &= (1..=axis.bins).contains(&bins[place]);
        }
        let bin = self.bin(bins);
        let unweighted = if self.profile { self.bin_sumw2.is_empty() } else { !self.is_weighted() };
        if unweighted && w != 1.0 && !self.never_weighted() {
            self.weigh();
        }
        let add = |sums: &mut Vec<f64>, more: f64| sums.get_mut(bin).into_iter().for_each(|sum| *sum += more);
        if self.profile {
            add(&mut self.sumw2, w * value * value);
            add(&mut self.bin_sumw2, w * w);
            add(&mut self.bin_entries, w);
        } else {
            add(&mut self.sumw2, w * w);
        }
        self.cells.add(bin, w * value);
        if !inside && !self.counts_overflows() {
            return;
        }
        let [x, y, z] = x;
        let terms = [w, w * w, w * x, w * x * x, w * y, w * y * y, w * x * y, w * z, w * z * z, w * x * z, w * y * z];
        self.sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        if self.profile {
            let (sum, squares) = VALUE_SUMS[dimension - 1];
            self.sums[sum] += w * value;
            self.sums[squares] += w * value * value;
        }
    }

    /// Whether a profile does not take a value.
    fn is_beyond(&self, value: f64) -> bool {
        let name = |end: &str| format!("f{}{end}", ["Y", "Z", "T"][self.dimension - 1]);
        let limit = |end: &str| crate::schema::draft_members::float(self.draft(), &name(end)).unwrap_or(0.0);
        let (min, max) = (limit("min"), limit("max"));
        min != max && !(value >= min && value <= max)
    }

    /// An axis grows until it includes a value. Underflow and overflow are lost.
    fn extend(&mut self, place: usize, x: f64) -> Result<()> {
        let axis = &self.axes[place];
        if !x.is_finite() || !axis.has_limits() || axis.bins == 0 {
            return Ok(());
        }
        let Some((min, max)) = limits::extended(axis.min, axis.max, x) else { return Ok(()) };
        self.redistribute(place, |axis| axis.set_limits(min, max), true)
    }

    /// An axis of labels doubles its bins. Underflow and overflow are lost.
    pub(crate) fn inflate(&mut self, place: usize) -> Result<()> {
        let axis = &self.axes[place];
        let (bins, min, max) = (axis.bins * 2, axis.min, axis.max);
        if bins > i32::MAX as usize || bins == 0 {
            return Err(Error::limit("an axis has too many labels", i32::MAX as u64, bins as u64));
        }
        let grown = |axis: &mut super::axis::Axis| {
            axis.forget_range();
            axis.set(bins, min, min + 2.0 * (max - min));
        };
        self.redistribute(place, grown, false)
    }

    /// Moves bins to a changed axis: by their centers or by their numbers.
    fn redistribute(
        &mut self,
        place: usize,
        change: impl FnOnce(&mut super::axis::Axis),
        by_center: bool,
    ) -> Result<()> {
        let old = self.clone();
        change(&mut self.axes[place]);
        self.resize()?;
        for bin in 0..old.cells.len() {
            let mut at = old.at(bin);
            if at[place] == 0 || at[place] > old.axes[place].bins || old.is_bin_empty(bin) {
                continue;
            }
            if by_center {
                at[place] = self.axes[place].find(old.axes[place].center(at[place]));
            }
            let to = self.bin(at);
            self.add_bin(to, &old, bin);
        }
        Ok(())
    }

    /// The bin of a label on an axis: the one that has it, or a new one. Where an axis takes no more of them, its underflow.
    pub(crate) fn bin_of_label(&mut self, place: usize, label: &Arc<[u8]>) -> Result<usize> {
        loop {
            match self.axes[place].find_label(label) {
                Labelled::Bin(bin) => return Ok(bin),
                Labelled::None => return Ok(0),
                Labelled::Full => self.inflate(place)?,
            }
        }
    }
}
