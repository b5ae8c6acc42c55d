//! Axes of histograms: `TAxis`, its bins, and what it can become.

use std::fmt;
use std::ops::RangeInclusive;

use super::labels::Labels;
use super::limits;
use crate::error::{Error, Result};

/// The most bins that an axis has.
pub(super) const MOST_BINS: usize = i32::MAX as usize;
/// Bit of `fBits2`: the axis may grow.
pub(super) const CAN_EXTEND: i64 = 2;
/// Bit of `fBits`: statistics are those of a range.
const RANGE: i64 = 1 << 11;
/// Bit of `fBits`: edges of automatic bins are whole numbers.
const INTEGER: i64 = 1 << 22;

/// An axis of a histogram: `TAxis`.
///
/// Its bins have numbers from 1; 0 is the underflow, and the number after the last is the overflow.
///
/// # Example
///
/// ```
/// use sapwood::hist::Axis;
/// let even = Axis::regular(10, 0.0, 1.0)?.with_title("x [cm]");
/// let uneven = Axis::variable(&[0.0, 1.0, 10.0, 100.0])?;
/// let named = Axis::labelled(["all", "good"])?;
/// assert_eq!((even.find(0.3), even.find(-1.0), even.find(1.0)), (3, 0, 11));
/// assert_eq!((uneven.bins(), uneven.find(1.0)), (3, 2));
/// assert_eq!(named.label(2), "good");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Axis {
    pub(crate) bins: usize,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(super) title: String,
    /// How values are shown as times; none where they are numbers.
    pub(super) time_format: Option<String>,
    /// Edges of bins that are not of one width.
    pub(super) edges: Vec<f64>,
    /// The bins that statistics are of, where a range is set.
    pub(super) range: (i64, i64),
    pub(super) bits: i64,
    pub(super) bits2: i64,
    pub(super) labels: Option<Labels>,
}

impl Axis {
    /// An axis with bins of one width.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) without bins, and for limits that are infinite or not in order.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// assert_eq!(Axis::regular(4, 0.0, 2.0)?.edges(), [0.0, 0.5, 1.0, 1.5, 2.0]);
    /// assert!(Axis::regular(4, 2.0, 0.0).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn regular(bins: usize, min: f64, max: f64) -> Result<Self> {
        if !(min.is_finite() && max.is_finite()) {
            return Err(Error::mismatch("bins of one width have finite limits: flow bins hold what is outside"));
        }
        check_edges(&[min, max])?;
        Self::within(bins, min, max)
    }

    /// An axis between limits that are in order.
    fn within(bins: usize, min: f64, max: f64) -> Result<Self> {
        if bins == 0 || bins > MOST_BINS {
            return Err(Error::mismatch("an axis has at least one bin, and fewer than 2^31")
                .wanted(MOST_BINS as u64, bins as u64));
        }
        Ok(Self {
            bins,
            min,
            max,
            title: String::new(),
            time_format: None,
            edges: Vec::new(),
            range: (0, 0),
            bits: 0,
            bits2: 0,
            labels: None,
        })
    }

    /// An axis for values between two numbers, with round limits around them: the automatic bins of ROOT. For `whole`
    /// numbers the bins are as wide as whole numbers, and may be a few more or less than asked for.
    ///
    /// Source: `THLimitsFinder::FindGoodLimits`.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) without bins, and for infinite numbers.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// let axis = Axis::automatic(100, 0.3, 9.7, false)?;
    /// assert!(axis.bins() == 100 && axis.min() == 0.0 && (axis.max() - 10.6).abs() < 1e-9);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn automatic(bins: usize, least: f64, largest: f64, whole: bool) -> Result<Self> {
        let (least, largest) = if least >= largest { (least - 1.0, largest + 1.0) } else { (least, largest) };
        if !(least.is_finite() && largest.is_finite()) {
            return Err(Error::mismatch("automatic bins are for finite numbers"));
        }
        let (min, max, bins) = limits::good(bins.max(1), least, largest, whole);
        let mut axis = Self::regular(bins, min, max)?;
        if whole {
            axis.bits |= INTEGER;
        }
        Ok(axis)
    }

    /// An axis with any edges: one more than bins. The first may be minus infinity and the last infinity, so that the
    /// bins at the ends hold what would be underflow and overflow.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for fewer than two edges, and for edges that do not grow.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// let axis = Axis::variable(&[0.0, 1.0, 10.0])?;
    /// assert!(axis.has_edges() && axis.center(2) == 5.5);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn variable(edges: &[f64]) -> Result<Self> {
        check_edges(edges)?;
        let mut axis = Self::within(edges.len() - 1, edges[0], edges[edges.len() - 1])?;
        axis.edges = edges.to_vec();
        Ok(axis)
    }

    /// An axis with these edges: one [with bins of one width](Self::regular) where they differ by no more than
    /// rounding, else one [with edges](Self::variable).
    ///
    /// # Errors
    ///
    /// Those of [`variable`](Self::variable).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// assert!(!Axis::from_edges(&[0.0, 0.1, 0.2, 0.3])?.has_edges());
    /// assert!(Axis::from_edges(&[0.0, 0.1, 0.3])?.has_edges());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_edges(edges: &[f64]) -> Result<Self> {
        let mut axis = Self::variable(edges)?;
        let step = (axis.max - axis.min) / axis.bins as f64;
        let largest = edges.iter().fold(0.0, |most: f64, edge| most.max(edge.abs()));
        let even = |(bin, edge): (usize, &f64)| {
            let expected = if bin == axis.bins { axis.max } else { axis.min + bin as f64 * step };
            (edge - expected).abs() <= 1e-13 * largest
        };
        if edges.iter().enumerate().all(even) {
            axis.edges.clear();
        }
        Ok(axis)
    }

    /// The same with a title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// assert_eq!(Axis::regular(1, 0.0, 1.0)?.with_title("x [cm]").title(), "x [cm]");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The same with values that ROOT shows as times, in a format like `"%d/%m/%y %F1995-01-01 00:00:00s0"`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// let axis = Axis::regular(24, 0.0, 86400.0)?.with_time_format("%H:%M");
    /// assert_eq!(axis.time_format(), Some("%H:%M"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_time_format(mut self, format: impl Into<String>) -> Self {
        self.time_format = Some(format.into());
        self
    }

    /// Its title.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(1, 0.0, 1.0)?.title(), "");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How ROOT shows its values as times; none where it shows numbers.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(1, 0.0, 1.0)?.time_format(), None);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn time_format(&self) -> Option<&str> {
        self.time_format.as_deref()
    }

    /// How many bins it has, without underflow and overflow.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(5, 0.0, 1.0)?.bins(), 5);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Where its first bin begins.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(5, -1.0, 1.0)?.min(), -1.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Where its last bin ends.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(5, -1.0, 1.0)?.max(), 1.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Edges of its bins: one more than bins.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(2, -1.0, 1.0)?.edges(), [-1.0, 0.0, 1.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn edges(&self) -> Vec<f64> {
        match self.edges.as_slice() {
            [] => (1..=self.bins).map(|bin| self.low_edge(bin)).chain([self.max]).collect(),
            edges => edges.to_vec(),
        }
    }

    /// Where a bin begins: `TAxis::GetBinLowEdge`.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::regular(2, -1.0, 1.0)?.low_edge(2), 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn low_edge(&self, bin: usize) -> f64 {
        match bin.checked_sub(1).and_then(|before| self.edges.get(before)) {
            Some(low) if bin <= self.bins => *low,
            _ => self.min + (bin as f64 - 1.0) * ((self.max - self.min) / self.bins as f64),
        }
    }

    /// The bins that statistics and integrals are restricted to (`TAxis::SetRange`); none where all count.
    ///
    /// # Example
    ///
    /// ```
    /// let mut axis = sapwood::hist::Axis::regular(5, 0.0, 1.0)?;
    /// axis.set_range(Some(2..=3));
    /// assert_eq!(axis.range(), Some(2..=3));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn range(&self) -> Option<RangeInclusive<usize>> {
        self.has_range().then(|| self.statistics_range(false))
    }

    /// Restricts statistics and integrals to some bins, or to none but underflow and overflow.
    ///
    /// # Example
    ///
    /// ```
    /// let mut axis = sapwood::hist::Axis::regular(5, 0.0, 1.0)?;
    /// axis.set_range(Some(1..=1));
    /// axis.set_range(None);
    /// assert_eq!(axis.range(), None);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_range(&mut self, bins: Option<RangeInclusive<usize>>) {
        match bins {
            Some(bins) => {
                let bounded = |bin: usize| bin.min(self.bins + 1) as i64;
                self.range = (bounded(*bins.start()), bounded(*bins.end()));
                self.bits |= RANGE;
            }
            None => self.forget_range(),
        }
    }

    /// Whether it has limits: one without them finds them in what is filled.
    pub(crate) fn has_limits(&self) -> bool {
        self.min < self.max
    }

    /// Whether it has edges of its own, so that bins may differ in width.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(!sapwood::hist::Axis::regular(5, 0.0, 1.0)?.has_edges());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn has_edges(&self) -> bool {
        !self.edges.is_empty()
    }

    /// Whether it grows when values outside of its limits, or further labels, are filled.
    ///
    /// # Example
    ///
    /// ```
    /// let mut axis = sapwood::hist::Axis::regular(5, 0.0, 1.0)?;
    /// axis.set_can_extend(true);
    /// assert!(axis.can_extend());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn can_extend(&self) -> bool {
        self.bits2 & CAN_EXTEND != 0
    }

    /// Lets it grow, or not.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Histogram};
    /// let mut axis = Axis::regular(5, 0.0, 1.0)?;
    /// axis.set_can_extend(true);
    /// let mut histogram = Histogram::new("TH1D", [axis])?;
    /// histogram.fill(&[1.5], 1.0)?;
    /// assert_eq!(histogram.axes()[0].max(), 2.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn set_can_extend(&mut self, can: bool) {
        self.bits2 = if can { self.bits2 | CAN_EXTEND } else { self.bits2 & !CAN_EXTEND };
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.bits & INTEGER != 0
    }

    pub(crate) fn has_range(&self) -> bool {
        self.bits & RANGE != 0
    }

    /// The bins that statistics are of; with underflow and overflow where they count and no range is set.
    pub(crate) fn statistics_range(&self, overflows: bool) -> RangeInclusive<usize> {
        let most = self.bins as i64 + 1;
        let bounded = |bin: i64| bin.clamp(0, most) as usize;
        match (self.has_range(), overflows) {
            (true, _) => bounded(self.range.0)..=bounded(self.range.1),
            (false, true) => 0..=self.bins + 1,
            (false, false) => 1..=self.bins,
        }
    }

    /// All bins as the range, which is none.
    pub(crate) fn forget_range(&mut self) {
        self.range = (1, self.bins as i64);
        self.bits &= !RANGE;
    }

    /// Bins of one width.
    pub(crate) fn set(&mut self, bins: usize, min: f64, max: f64) {
        (self.bins, self.min, self.max) = (bins, min, max);
        self.edges.clear();
    }

    /// The bins of another axis.
    pub(crate) fn set_bins_of(&mut self, other: &Self) {
        self.set(other.bins, other.min, other.max);
        self.edges.clone_from(&other.edges);
    }

    /// Other limits for the same number of bins.
    pub(crate) fn set_limits(&mut self, min: f64, max: f64) {
        (self.min, self.max) = (min, max);
    }

    /// The middle of a bin: `TAxis::GetBinCenter`. For a bin that ends at infinity, where ROOT returns infinity or NaN,
    /// it is the value in the bin that is nearest to its other edge, and 0 if both edges are infinite.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::Axis;
    /// assert_eq!(Axis::regular(2, -1.0, 1.0)?.center(2), 0.5);
    /// assert_eq!(Axis::variable(&[0.0, 1.0, f64::INFINITY])?.center(2), 1.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn center(&self, bin: usize) -> f64 {
        match (bin.checked_sub(1).and_then(|before| self.edges.get(before)), self.edges.get(bin)) {
            (Some(low), Some(high)) if !(high - low).is_finite() => match (low.is_finite(), high.is_finite()) {
                (true, true) => low + (0.5 * high - 0.5 * low),
                (true, false) => *low,
                (false, true) => high.next_down(),
                (false, false) => 0.0,
            },
            (Some(low), Some(high)) => low + 0.5 * (high - low),
            _ => {
                let width = (self.max - self.min) / self.bins as f64;
                self.min + (bin as f64 - 1.0) * width + 0.5 * width
            }
        }
    }

    /// The axis as drawings show it: a bin that ends at infinity is as wide as its neighbour.
    ///
    /// # Example
    ///
    /// ```
    /// let axis = sapwood::hist::Axis::variable(&[0.0, 1.0, 3.0, f64::INFINITY])?;
    /// assert_eq!(axis.with_finite_ends().edges(), [0.0, 1.0, 3.0, 5.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_finite_ends(&self) -> Self {
        let mut axis = self.clone();
        let finite: Vec<f64> = axis.edges.iter().copied().filter(|edge| edge.is_finite()).collect();
        let width = |low: usize| finite.get(low..low + 2).map_or(1.0, |pair| pair[1] - pair[0]);
        let low_width = width(0);
        let high_width = width(finite.len().saturating_sub(2));
        // Files have axes on which several edges are at infinity, which ROOT complains about and writes.
        let mut next = finite.first().copied().unwrap_or(0.0);
        let below = axis.edges.iter().take_while(|edge| **edge == f64::NEG_INFINITY).count();
        for edge in axis.edges[..below].iter_mut().rev() {
            next -= low_width;
            (*edge, axis.min) = (next, next);
        }
        let mut next = finite.last().copied().unwrap_or(0.0);
        for edge in axis.edges.iter_mut().filter(|edge| **edge == f64::INFINITY) {
            next += high_width;
            (*edge, axis.max) = (next, next);
        }
        axis
    }

    /// The width of a bin. Underflow is as wide as the first bin, overflow as the last.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Axis::variable(&[0.0, 1.0, 5.0])?.width(2), 4.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn width(&self, bin: usize) -> f64 {
        let bin = bin.clamp(1, self.bins.max(1));
        match (self.edges.get(bin - 1), self.edges.get(bin)) {
            (Some(low), Some(high)) => high - low,
            _ if self.bins == 0 => 0.0,
            _ => (self.max - self.min) / self.bins as f64,
        }
    }

    /// The number of the bin that a value falls into, as `TAxis::FindBin` finds it. NaN falls into the overflow.
    ///
    /// # Example
    ///
    /// ```
    /// let axis = sapwood::hist::Axis::regular(10, 0.0, 1.0)?;
    /// // The fourth bin begins at 3 * 0.1, which is a little more than 0.3.
    /// assert_eq!((axis.find(0.3), axis.find(3.0 * 0.1), axis.find(f64::NAN)), (3, 4, 11));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[inline]
    pub fn find(&self, x: f64) -> usize {
        if x < self.min {
            0
        } else if x.is_nan() || x >= self.max {
            self.bins + 1
        } else if self.edges.is_empty() {
            let range = self.max - self.min;
            let bin = 1 + (self.bins as f64 * (x - self.min) / range) as usize;
            // The quotient is rounded; a bin holds what is between its edges.
            let width = range / self.bins as f64;
            let edge = |bin: usize| self.min + (bin as f64 - 1.0) * width;
            let bin = if x < edge(bin) {
                bin - 1
            } else if x >= edge(bin + 1) {
                bin + 1
            } else {
                bin
            };
            // Bins may be narrower than numbers tell apart.
            bin.min(self.bins + 1)
        } else {
            self.edges.partition_point(|edge| *edge <= x)
        }
    }

    /// Whether both have the same limits and as many bins.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let close =
            |one: f64, two: f64, width: f64| one == two || (width.is_finite() && (one - two).abs() < width * 1e-10);
        self.bins == other.bins
            && close(self.min, other.min, self.width(1))
            && close(self.max, other.max, self.width(self.bins))
            && self.edges.is_empty() == other.edges.is_empty()
            && self
                .edges
                .iter()
                .zip(&other.edges)
                .enumerate()
                .all(|(bin, (one, two))| close(*one, *two, self.width(bin)))
    }

    /// The axis that holds the bins of both: bins as wide as the wider ones, which are a multiple of the others, with a
    /// common edge.
    pub(crate) fn joined(&self, other: &Self) -> Option<Self> {
        if self.same(other) {
            return Some(self.clone());
        }
        let mut all = self.clone();
        (all.min, all.max, all.bins) =
            limits::joined((self.min, self.max, self.width(0)), (other.min, other.max, other.width(0)))
                .filter(|_| self.edges.is_empty() && other.edges.is_empty())?;
        Some(all)
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bins from {} to {}", self.bins, self.min, self.max)
    }
}

/// Checks that edges are at least two numbers, each larger than the one before.
fn check_edges(edges: &[f64]) -> Result<()> {
    let words = if edges.len() < 2 {
        "an axis needs at least two edges"
    } else if !edges.windows(2).all(|pair| pair[0] < pair[1]) {
        "the edges of an axis must grow: each is larger than the one before"
    } else {
        return Ok(());
    };
    Err(Error::mismatch(words))
}
