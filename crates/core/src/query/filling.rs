//! Histograms while they are filled: some have bins from the beginning, others after the first values are known.

use super::bound::Bound;
use super::points::Points;
use crate::error::Result;
use crate::hist::{Axis, Histogram};

/// The histogram that values are filled into, before it is made.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Whether values of bins are means of the last expression.
    pub(crate) is_profile: bool,
    /// Whether squares of weights are summed in any case: weights of fills make a histogram do so, too.
    pub(crate) is_weighted: bool,
    pub(crate) bins: Vec<Bins>,
    /// The expression along each axis.
    pub(crate) along: Vec<Along>,
    /// How many values decide on automatic bins.
    pub(crate) estimate: usize,
}

/// The bins of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Bins {
    /// So many, around the values.
    Automatic(usize),
    Fixed(Box<Axis>),
}

/// An expression along an axis.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    pub(crate) text: String,
    /// Whether automatic bins are as wide as whole numbers.
    pub(crate) is_whole: bool,
}

impl Along {
    pub(super) fn of(text: &str, bound: &Bound) -> Self {
        Self { text: text.to_owned(), is_whole: bound.has_whole_bins() }
    }
}

impl Target {
    /// The histogram without fills, with bins for these values.
    fn empty(&self, points: &[Points]) -> Result<Histogram> {
        let mut axes = Vec::with_capacity(self.bins.len());
        for (place, (bins, along)) in self.bins.iter().zip(&self.along).enumerate() {
            let axis = match bins {
                Bins::Fixed(axis) => (**axis).clone(),
                Bins::Automatic(count) => {
                    let columns = points.iter().filter_map(|points| points.columns.get(place));
                    let finite = columns.flatten().copied().filter(|value| value.is_finite());
                    let (least, largest) = finite.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
                    let (least, largest) = if least > largest { (0.0, 1.0) } else { (least, largest) };
                    let mut axis = Axis::automatic(*count, least, largest, along.is_whole)?;
                    axis.set_can_extend(true);
                    axis
                }
            };
            axes.push(axis.with_title(along.text.clone()));
        }
        let class = match (self.is_profile, axes.len()) {
            (false, 1) => "TH1D",
            (false, 2) => "TH2D",
            (false, _) => "TH3D",
            (true, 1) => "TProfile",
            (true, _) => "TProfile2D",
        };
        let mut histogram = Histogram::new(class, axes)?.with_name(&self.name).with_title(&self.title);
        if self.is_weighted && !self.is_profile {
            histogram.sum_squares();
        }
        Ok(histogram)
    }

    fn is_automatic(&self) -> bool {
        self.bins.iter().any(|bins| matches!(bins, Bins::Automatic(_)))
    }
}

/// A histogram while it is filled: first, values that decide on its bins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filling {
    histogram: Option<Histogram>,
    waiting: Vec<Points>,
    count: usize,
}

impl Filling {
    /// Values that decide on automatic bins, unless the tree has another number (`TTree::SetEstimate`); the axes grow
    /// for what follows.
    pub(crate) const ESTIMATE: usize = 1_000_000;

    /// Goes on with a histogram.
    pub(crate) fn of(histogram: Histogram) -> Self {
        Self { histogram: Some(histogram), ..Self::default() }
    }

    /// Keeps values until there are enough, or fills them at once if the bins are given.
    pub(crate) fn take(&mut self, target: &Target, mut points: Points) -> Result<()> {
        if let Some(histogram) = &mut self.histogram {
            return fill(histogram, &points);
        }
        let is_automatic = target.is_automatic();
        // So many values decide, and no more of the part that they end in.
        let rest = points.split_off(if is_automatic { target.estimate - self.count } else { points.len() });
        self.count += points.len();
        self.waiting.push(points);
        if self.count >= target.estimate || !is_automatic {
            let mut histogram = self.made(target)?;
            fill(&mut histogram, &rest)?;
            self.histogram = Some(histogram);
        }
        Ok(())
    }

    /// The histogram of all that was taken.
    pub(crate) fn finish(mut self, target: &Target) -> Result<Histogram> {
        match self.histogram.take() {
            Some(histogram) => Ok(histogram),
            None => self.made(target),
        }
    }

    /// A histogram of what has waited for its bins.
    fn made(&mut self, target: &Target) -> Result<Histogram> {
        let mut histogram = target.empty(&self.waiting)?;
        self.waiting.drain(..).try_for_each(|points| fill(&mut histogram, &points))?;
        Ok(histogram)
    }
}

fn fill(histogram: &mut Histogram, points: &Points) -> Result<()> {
    let columns: Vec<&[f64]> = points.columns.iter().map(Vec::as_slice).collect();
    // Axes that can grow are filled row by row. They are fixed as long as all values lie inside.
    let grows: Vec<bool> = histogram.axes().iter().map(Axis::can_extend).collect();
    for (place, column) in columns.iter().enumerate().take(grows.len()).filter(|(place, _)| grows[*place]) {
        let axis = &histogram.axes()[place];
        let is_inside = column.iter().all(|value| *value >= axis.min() && *value < axis.max());
        if is_inside && let Some(axis) = histogram.axis_mut(place) {
            axis.set_can_extend(false);
        }
    }
    histogram.fill_many(&columns, points.weights.as_deref())?;
    for place in (0..grows.len()).filter(|place| grows[*place]) {
        if let Some(axis) = histogram.axis_mut(place) {
            axis.set_can_extend(true);
        }
    }
    Ok(())
}
