//! What histograms do while they are filled, and when a sum puts more into them: buffers that become bins, axes that
//! grow.
//!
//! Source: `TH1::BufferEmpty`, `TH1::BufferFill`, `TH1::Fill`, `TH1::ExtendAxis`, `TH1::LabelsInflate`.

use std::sync::Arc;

use super::class::VALUE_SUMS;
use super::fill_block::{BLOCK, Block};
use super::histogram::Histogram;
use super::label_axis::Labelled;
use super::limits;
use super::statistics::add_terms;
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

    /// Moves buffered entries to the bins, as ROOT does when it shows the histogram. They wait for limits of the axes,
    /// or for more entries.
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
    /// histogram.fill(&[0.5], 1.0)?;
    /// assert_eq!(histogram.finished()?.values(), [0.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn finished(mut self) -> Result<Self> {
        self.empty_buffer(false)?;
        Ok(self)
    }

    /// Axes that hold all that is to be filled, where they have no limits or can grow.
    fn fit_axes<'f>(&mut self, fills: impl Iterator<Item = &'f [f64]> + Clone) -> Result<()> {
        let automatic = !self.has_limits();
        if automatic && self.is_in_powers_of_two() {
            return Err(Error::unsupported("automatic bins in powers of two are not known before ROOT chose them"));
        }
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

    /// Fills once: one coordinate for each axis, then for profiles the value, as `TH1::Fill` does. Axes that can grow
    /// do so, and a weight other than one makes it [sum squared weights](Self::sum_squares).
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of coordinates, [`Limit`](crate::ErrorKind::Limit)
    /// where an axis would grow too far.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut histogram = Histogram::new("TH2D", [Axis::regular(2, 0.0, 2.0)?, Axis::regular(2, 0.0, 2.0)?])?;
    /// histogram.fill(&[0.5, 1.5], 2.0)?;
    /// assert_eq!(histogram.value(histogram.bin([1, 2, 0])), 2.0);
    /// assert!(histogram.fill(&[0.5], 1.0).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fill(&mut self, x: &[f64], weight: f64) -> Result<()> {
        self.check_coordinates(x.len())?;
        let mut fill = [weight; 5];
        fill[1..=x.len()].copy_from_slice(x);
        self.fill_one(&fill[..=x.len()])
    }

    /// Fills once for each row of slices: one slice of coordinates for each axis, then for profiles one of values.
    /// Without weights, they are one. The result is that of as many [fills](Self::fill).
    ///
    /// # Errors
    ///
    /// Those of [`fill`](Self::fill), and [`Mismatch`](crate::ErrorKind::Mismatch) for slices of different lengths,
    /// before anything is filled.
    ///
    /// # Example
    ///
    /// Threads fill histograms of their own, which are added in the end:
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let empty = Histogram::new("TH1D", [Axis::regular(4, 0.0, 4.0)?])?;
    /// let fill = |x: &[f64], weights: &[f64]| {
    ///     let mut part = empty.clone();
    ///     part.fill_many(&[x], Some(weights)).map(|()| part)
    /// };
    /// let (one, two) = std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| fill(&[2.5, 9.0], &[0.5, 0.5]));
    ///     (fill(&[0.5, 2.5], &[1.0, 2.0]), other.join().unwrap())
    /// });
    /// let mut sum = one?;
    /// sum.add(&two?)?;
    /// assert_eq!(sum.values(), [0.0, 1.0, 0.0, 2.5, 0.0, 0.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fill_many(&mut self, columns: &[&[f64]], weights: Option<&[f64]>) -> Result<()> {
        self.check_coordinates(columns.len())?;
        let rows = columns.first().map_or(0, |column| column.len());
        if let Some(other) = columns.iter().chain(&weights).map(|column| column.len()).find(|len| *len != rows) {
            let words = "slices to be filled are of different lengths";
            return Err(Error::mismatch(words).wanted(rows as u64, other as u64));
        }
        let mut block = Block::default();
        for start in (0..rows).step_by(BLOCK) {
            let end = rows.min(start + BLOCK);
            let mut part = [&[][..]; 4];
            part.iter_mut().zip(columns).for_each(|(part, column)| *part = &column[start..end]);
            let part = &part[..columns.len()];
            let weights = weights.map(|weights| &weights[start..end]);
            if !(self.fills_blocks() && self.fill_block(&mut block, part, weights)) {
                self.fill_rows(part, weights)?;
            }
        }
        Ok(())
    }

    /// Fills row by row.
    fn fill_rows(&mut self, columns: &[&[f64]], weights: Option<&[f64]>) -> Result<()> {
        let mut fill = [1.0; 5];
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            if let Some(weights) = weights {
                fill[0] = weights[row];
            }
            for (x, column) in fill[1..].iter_mut().zip(columns) {
                *x = column[row];
            }
            self.fill_one(&fill[..=columns.len()])?;
        }
        Ok(())
    }

    /// Fills the bin of a label, which is a new one where the axis can grow. Only histograms of one axis take labels.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other histograms, and for profiles;
    /// [`Limit`](crate::ErrorKind::Limit) where the axis would grow too far.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut cuts = Histogram::new("TH1D", [Axis::labelled(["all", "good"])?])?;
    /// cuts.fill_label("all", 1.0)?;
    /// cuts.fill_label("very good", 1.0)?;
    /// assert_eq!((cuts.value(1), cuts.axes()[0].label(3)), (1.0, "very good".into()));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fill_label(&mut self, label: &str, weight: f64) -> Result<()> {
        if self.dimension != 1 || self.profile {
            return Err(Error::mismatch(format!("a {} is not filled by label", self.class())));
        }
        self.empty_buffer(true)?;
        let bin = self.bin_of_label(0, &Arc::from(label.as_bytes()))?;
        self.entries += 1.0;
        self.add_weight(bin, weight, 1.0);
        let axis = &self.axes[0];
        if (1..=axis.bins).contains(&bin) {
            let x = if axis.can_extend() && axis.is_alphanumeric() { 0.0 } else { axis.center(bin) };
            add_terms(&mut self.sums, 1, [weight, weight * weight], [x, 0.0, 0.0]);
        }
        Ok(())
    }

    fn check_coordinates(&self, count: usize) -> Result<()> {
        let wanted = self.stride() - 1;
        if count == wanted {
            return Ok(());
        }
        let words = format!("a {} is filled with another number of coordinates", self.class());
        Err(Error::mismatch(words).wanted(wanted as u64, count as u64))
    }

    /// Fills once: weight, coordinates, and the value of a profile.
    pub(crate) fn fill_one(&mut self, fill: &[f64]) -> Result<()> {
        if !self.buffer.is_empty() && self.fill_buffer(fill)? {
            return Ok(());
        }
        for place in 0..self.dimension {
            self.make_room(place, fill.get(1 + place).copied().unwrap_or(0.0))?;
        }
        self.fill_bins(fill);
        Ok(())
    }

    /// Puts what is filled into the buffer; a full one is emptied into bins and removed.
    fn fill_buffer(&mut self, fill: &[f64]) -> Result<bool> {
        let stride = self.stride();
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
            return Ok(true);
        }
        self.empty_buffer(true)?;
        Ok(false)
    }

    /// The axis grows where it can, and a value is not on it. After NaN, no axis grows any more.
    pub(crate) fn make_room(&mut self, place: usize, x: f64) -> Result<()> {
        let axis = &self.axes[place];
        if (x >= axis.min && x < axis.max) || !axis.can_extend() || axis.is_alphanumeric() {
            return Ok(());
        }
        if x.is_nan() {
            self.axes[..self.dimension].iter_mut().for_each(|axis| axis.set_can_extend(false));
            return Ok(());
        }
        self.extend(place, x)
    }

    fn fill_bins(&mut self, fill: &[f64]) {
        let [w, at @ ..] = fill else { return };
        let (w, dimension) = (*w, self.dimension);
        let value = at.get(dimension).copied().unwrap_or(1.0);
        if self.value_limits.is_some_and(|(min, max)| !(value >= min && value <= max)) {
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
        self.add_weight(self.bin(bins), w, value);
        if !inside && !self.counts_overflows {
            return;
        }
        add_terms(&mut self.sums, dimension, [w, w * w], x);
        if self.profile {
            let (sum, squares) = VALUE_SUMS[dimension - 1];
            self.sums[sum] += w * value;
            self.sums[squares] += w * value * value;
        }
    }

    /// Adds a weight to what a bin sums; for profiles, that of a value.
    fn add_weight(&mut self, bin: usize, w: f64, value: f64) {
        if w != 1.0 && !self.sums_squares() && !self.never_weighted {
            self.sum_squares();
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

    /// The bin of a label on an axis: the one that has it, or a new one. Where an axis takes no more of them, its
    /// underflow.
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
