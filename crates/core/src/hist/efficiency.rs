//! Efficiencies: a histogram of all, and one of what passed.

use std::sync::Arc;

use super::axis::Axis;
use super::histogram::Histogram;
use crate::error::{Error, Result};
use crate::schema::draft_members::{float, put, unfit, whole};
use crate::schema::{Datum, Draft};

/// Members with the histograms: of all, and of what passed.
pub(crate) const HISTOGRAMS: [&str; 2] = ["fTotalHistogram", "fPassedHistogram"];
/// The names of the members of an efficiency that are its histograms: of all, and of what passed.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::hist::efficiency_members()[1], "fPassedHistogram");
/// ```
pub fn efficiency_members() -> [&'static str; 2] {
    HISTOGRAMS
}

/// Bit of `fBits`: entries have weights, which are summed in squares.
const USES_WEIGHTS: i64 = 1 << 18;
/// Part of cases that intervals cover, where nothing else is said: one standard deviation.
const ONE_SIGMA: f64 = 0.682689492137;

/// How intervals of an efficiency are computed: `TEfficiency::EStatOption`.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Efficiency, Interval};
/// assert_eq!(Efficiency::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?.interval(), Interval::ClopperPearson);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Interval {
    /// Frequentist, exact: ROOT's default.
    #[default]
    ClopperPearson,
    /// Frequentist, of a normal distribution.
    Normal,
    /// Frequentist, by Wilson.
    Wilson,
    /// Frequentist, by Agresti and Coull.
    AgrestiCoull,
    /// Frequentist, by Feldman and Cousins.
    FeldmanCousins,
    /// Bayesian, with Jeffreys' prior.
    Jeffreys,
    /// Bayesian, with a uniform prior.
    Uniform,
    /// Bayesian, with the prior that the efficiency gives.
    Bayesian,
}

impl Interval {
    /// Its name in lower case, with hyphens.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(sapwood::hist::Interval::ClopperPearson.as_str(), "clopper-pearson");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClopperPearson => "clopper-pearson",
            Self::Normal => "normal",
            Self::Wilson => "wilson",
            Self::AgrestiCoull => "agresti-coull",
            Self::FeldmanCousins => "feldman-cousins",
            Self::Jeffreys => "jeffreys",
            Self::Uniform => "uniform",
            Self::Bayesian => "bayesian",
        }
    }
}

/// All intervals, in the order of their numbers.
const INTERVALS: [Interval; 8] = [
    Interval::ClopperPearson,
    Interval::Normal,
    Interval::Wilson,
    Interval::AgrestiCoull,
    Interval::FeldmanCousins,
    Interval::Jeffreys,
    Interval::Uniform,
    Interval::Bayesian,
];

/// What `fStatisticOption` says.
fn interval_of(draft: &Draft) -> Result<Interval> {
    let number = usize::try_from(whole(draft, "fStatisticOption")?).ok();
    number.and_then(|number| INTERVALS.get(number)).copied().ok_or_else(|| unfit(draft, "fStatisticOption"))
}

/// An efficiency, as ROOT fills and stores it: `TEfficiency`.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Efficiency};
/// let mut trigger = Efficiency::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?;
/// trigger.fill(true, &[0.5], 1.0)?;
/// trigger.fill(false, &[0.5], 1.0)?;
/// assert_eq!(trigger.values(), [0.0, 0.5, 0.0, 0.0]);
/// assert_eq!(Efficiency::from_draft(trigger.into_draft())?.total().entries(), 2.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Efficiency {
    draft: Draft,
    total: Histogram,
    passed: Histogram,
    level: f64,
    interval: Interval,
    beta: (f64, f64),
}

impl Efficiency {
    /// An empty efficiency, whose histograms are of a class.
    ///
    /// # Errors
    ///
    /// Those of [`Histogram::new`].
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(2, 0.0, 2.0)?])?.total().class(), "TH1D");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new(class: &str, axes: impl IntoIterator<Item = Axis>) -> Result<Self> {
        let total = Histogram::new(class, axes)?;
        Self::from_histograms(total.clone(), total)
    }

    /// An efficiency of two histograms with the same axes: what passed, and all.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for profiles, for other axes, and where more passed than there are.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency, Histogram};
    /// let mut total = Histogram::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// let passed = total.clone();
    /// total.fill(&[0.5], 1.0)?;
    /// assert_eq!(Efficiency::from_histograms(passed.clone(), total.clone())?.values(), [0.0; 3]);
    /// assert!(Efficiency::from_histograms(total, passed).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_histograms(passed: Histogram, total: Histogram) -> Result<Self> {
        if passed.profile || total.profile {
            return Err(Error::mismatch("an efficiency is of histograms, not of profiles"));
        }
        let same = passed.dimension == total.dimension
            && passed.axes().iter().zip(total.axes()).all(|(one, two)| one.same(two));
        if !same {
            return Err(Error::mismatch("what passed and all have different axes"));
        }
        if (0..total.cells.len()).any(|bin| passed.cells.get(bin) > total.cells.get(bin)) {
            return Err(Error::mismatch("a bin has more that passed than there are"));
        }
        let bits = 8 | if total.is_weighted() { USES_WEIGHTS } else { 0 };
        let draft = Draft::new("TEfficiency")
            .with("fBits", bits)
            .with("fName", "")
            .with("fTitle", "")
            .with("fLineColor", 1)
            .with("fLineStyle", 1)
            .with("fLineWidth", 1)
            .with("fFillColor", 19)
            .with("fFillStyle", 1001)
            .with("fMarkerColor", 1)
            .with("fMarkerStyle", 1)
            .with("fMarkerSize", 1.0)
            .with("fBeta_alpha", 1.0)
            .with("fBeta_beta", 1.0)
            .with("fConfLevel", ONE_SIGMA)
            .with("fFunctions", Arc::new(Draft::new("TList")))
            .with("fPassedHistogram", Datum::Null)
            .with("fStatisticOption", 0)
            .with("fTotalHistogram", Datum::Null)
            .with("fWeight", 1.0);
        Ok(Self { draft, total, passed, level: ONE_SIGMA, interval: Interval::default(), beta: (1.0, 1.0) })
    }

    /// The same with a name, after which its histograms are named, and a title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// let trigger = Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.with_name("trigger", "mu24");
    /// assert_eq!(trigger.passed().name(), "trigger_passed");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_name(mut self, name: &str, title: &str) -> Self {
        self.draft.set("fName", name);
        self.draft.set("fTitle", title);
        self.total = self.total.with_name(&format!("{name}_total")).with_title(&format!("{title} (total)"));
        self.passed = self.passed.with_name(&format!("{name}_passed")).with_title(&format!("{title} (passed)"));
        self
    }

    /// The histogram of all.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.total().entries(), 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn total(&self) -> &Histogram {
        &self.total
    }

    /// The histogram of what passed.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.passed().entries(), 0.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn passed(&self) -> &Histogram {
        &self.passed
    }

    /// Fills once: whether it passed, and one coordinate for each axis. A weight other than one makes both histograms
    /// [sum squared weights](Histogram::sum_squares).
    ///
    /// # Errors
    ///
    /// Those of [`Histogram::fill`].
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// let mut trigger = Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// trigger.fill(true, &[0.5], 3.0)?;
    /// trigger.fill(false, &[0.5], 1.0)?;
    /// assert_eq!(trigger.values()[1], 0.75);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn fill(&mut self, passed: bool, x: &[f64], weight: f64) -> Result<()> {
        if weight != 1.0 {
            let bits = whole(&self.draft, "fBits")? | USES_WEIGHTS;
            put(&mut self.draft, "fBits", bits);
            self.total.sum_squares();
            self.passed.sum_squares();
        }
        self.total.fill(x, weight)?;
        if passed { self.passed.fill(x, weight) } else { Ok(()) }
    }

    /// The part that passed in each bin, flow bins included; zero where there is nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.values(), [0.0; 3]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn values(&self) -> Vec<f64> {
        let part = |bin| match self.total.cells.get(bin) {
            0.0 => 0.0,
            all => self.passed.cells.get(bin) / all,
        };
        (0..self.total.cells.len()).map(part).collect()
    }

    /// Part of cases that its intervals are to cover.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.confidence_level() > 0.68);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn confidence_level(&self) -> f64 {
        self.level
    }

    /// How its intervals are to be computed.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency, Interval};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.interval(), Interval::ClopperPearson);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Whether its counts are sums of weights.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// let mut efficiency = Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?;
    /// efficiency.fill(true, &[0.5], 1.0)?;
    /// assert!(!efficiency.is_weighted());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_weighted(&self) -> bool {
        whole(&self.draft, "fBits").is_ok_and(|bits| bits & USES_WEIGHTS != 0)
    }

    /// The two parameters of the beta distribution that Bayesian intervals take as their prior.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.prior(), (1.0, 1.0));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn prior(&self) -> (f64, f64) {
        match self.interval() {
            Interval::Jeffreys => (0.5, 0.5),
            Interval::Uniform => (1.0, 1.0),
            _ => self.beta,
        }
    }

    /// The efficiency that a draft is.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where it has not both histograms, and those of
    /// [`Histogram::from_draft`].
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// let draft = Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.into_draft();
    /// assert_eq!(Efficiency::from_draft(draft)?.values(), [0.0; 3]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_draft(draft: Draft) -> Result<Self> {
        let histogram = |name: &str| {
            let found = draft.member(name).and_then(Datum::as_draft).ok_or_else(|| unfit(&draft, name))?;
            Histogram::from_draft(found.clone()).map_err(|error| error.in_object(name))
        };
        let (level, interval) = (float(&draft, "fConfLevel")?, interval_of(&draft)?);
        let beta = (float(&draft, "fBeta_alpha")?, float(&draft, "fBeta_beta")?);
        let [total, passed] = [histogram(HISTOGRAMS[0])?, histogram(HISTOGRAMS[1])?];
        if total.cells.len() != passed.cells.len() {
            return Err(Error::malformed("histograms of an efficiency have different bins")
                .wanted(total.cells.len() as u64, passed.cells.len() as u64));
        }
        Ok(Self { draft, total, passed, level, interval, beta })
    }

    /// The object to be [written](crate::write::FileWriter::write).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::hist::{Axis, Efficiency};
    /// assert_eq!(Efficiency::new("TH1D", [Axis::regular(1, 0.0, 1.0)?])?.into_draft().class(), "TEfficiency");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn into_draft(mut self) -> Draft {
        for (name, histogram) in HISTOGRAMS.into_iter().zip([self.total, self.passed]) {
            let histogram = histogram.into_draft();
            match self.draft.member_mut(name).and_then(Datum::as_draft_mut) {
                Some(old) => *old = histogram,
                None => put(&mut self.draft, name, Arc::new(histogram)),
            }
        }
        self.draft
    }
}
