//! Results that are wanted of a frame.

use super::node::Frame;
use crate::error::{Error, Result};
use crate::hist::Axis;
use crate::query::check_expression;

/// Something that is wanted of a [`Frame`].
#[derive(Clone, Debug)]
pub struct Wanted {
    pub(super) frame: Frame,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Histogram(Box<HistogramOf>),
    Sparse(Box<HistogramOf>),
    Count,
    Statistics(String),
    Columns(Vec<String>),
    Report(Option<String>),
}

impl Frame {
    /// A histogram of one to three expressions, along x first.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of expressions.
    pub fn histogram<'t>(&self, of: impl IntoIterator<Item = &'t str>) -> Result<Wanted> {
        Wanted::histogram(self.clone(), of.into_iter().map(str::to_owned).collect())
    }

    /// A sparse histogram of any number of expressions: it takes memory for bins that were filled alone. Its axes have
    /// to be [set](Wanted::axes).
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and
    /// [`Mismatch`](crate::ErrorKind::Mismatch) without expressions.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// use sapwood::hist::Axis;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let axes = vec![Axis::regular(100, 0.0, 1000.0)?; 4];
    /// let of = ["Sum$(Jet_pt)", "Max$(Jet_pt)", "Min$(Jet_pt)", "nJet"];
    /// let mut run = Run::new([Frame::new().filter("nJet > 0", "")?.sparse(of)?.axes(axes)?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// assert!(run.finish()?[0].nominal.sparse()?.bins() > 0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn sparse<'t>(&self, of: impl IntoIterator<Item = &'t str>) -> Result<Wanted> {
        Wanted::sparse(self.clone(), of.into_iter().map(str::to_owned).collect())
    }

    /// How many entries there are.
    pub fn count(&self) -> Wanted {
        Wanted::count(self.clone())
    }

    /// Sum, mean, extremes and spread of an expression, over all items of lists.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    pub fn statistics(&self, of: &str) -> Result<Wanted> {
        Wanted::statistics(self.clone(), of)
    }

    /// The values of expressions, as columns that are handed over step by step.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    pub fn columns<'t>(&self, of: impl IntoIterator<Item = &'t str>) -> Result<Wanted> {
        Wanted::columns(self.clone(), of.into_iter().map(str::to_owned).collect())
    }

    /// How many entries each filter met, and how many passed it: by weight, too, if there is one.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for a weight that cannot be understood.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let frame = Frame::new().filter("nJet > 0", "a jet")?.filter("nJet > 2", "three jets")?;
    /// let mut run = Run::new([frame.report(None)?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// let found = run.finish()?;
    /// let cuts = found[0].nominal.report()?;
    /// assert_eq!((cuts.len(), &*cuts[1].name, cuts[0].all), (2, "three jets", 10));
    /// assert_eq!(cuts[1].all, cuts[0].passed);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn report(&self, weight: Option<&str>) -> Result<Wanted> {
        Wanted::report(self.clone(), weight)
    }
}

/// A histogram before any file is known.
#[derive(Clone, Debug)]
pub(super) struct HistogramOf {
    pub(super) of: Vec<String>,
    pub(super) weight: Option<String>,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) is_profile: bool,
    pub(super) axes: Axes,
}

impl HistogramOf {
    fn new(of: Vec<String>) -> Self {
        Self {
            title: of.join(", "),
            name: "h".to_owned(),
            of,
            weight: None,
            is_profile: false,
            axes: Axes::Automatic(None),
        }
    }
}

/// The axes of a histogram.
#[derive(Clone, Debug)]
pub(super) enum Axes {
    /// So many bins around the values; none for ROOT's numbers of bins.
    Automatic(Option<usize>),
    Given(Vec<Axis>),
}

impl Wanted {
    /// The names of the variations of its frame, the first ones first. Those that change nothing of this result are
    /// not in its [`Varied`](super::Varied).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::{Frame, Variation};
    /// let up = Variation { name: "jes:up".into(), of: vec![("Jet_pt".into(), "Jet_pt * 2".into())] };
    /// assert_eq!(Frame::new().vary([up])?.count().variations(), ["jes:up"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn variations(&self) -> Vec<&str> {
        self.frame.variations()
    }

    pub(super) fn histogram(frame: Frame, of: Vec<String>) -> Result<Self> {
        if of.is_empty() || of.len() > 3 {
            return Err(Error::mismatch(format!("a histogram has one to three axes, not {}", of.len())));
        }
        of.iter().try_for_each(|text| check_expression(text))?;
        Ok(Self { frame, kind: Kind::Histogram(Box::new(HistogramOf::new(of))) })
    }

    fn sparse(frame: Frame, of: Vec<String>) -> Result<Self> {
        if of.is_empty() {
            return Err(Error::mismatch("a sparse histogram has one axis or more"));
        }
        of.iter().try_for_each(|text| check_expression(text))?;
        Ok(Self { frame, kind: Kind::Sparse(Box::new(HistogramOf::new(of))) })
    }

    pub(super) fn count(frame: Frame) -> Self {
        Self { frame, kind: Kind::Count }
    }

    pub(super) fn statistics(frame: Frame, of: &str) -> Result<Self> {
        check_expression(of)?;
        Ok(Self { frame, kind: Kind::Statistics(of.to_owned()) })
    }

    pub(super) fn columns(frame: Frame, of: Vec<String>) -> Result<Self> {
        of.iter().try_for_each(|text| check_expression(text))?;
        Ok(Self { frame, kind: Kind::Columns(of) })
    }

    pub(super) fn report(frame: Frame, weight: Option<&str>) -> Result<Self> {
        weight.map_or(Ok(()), check_expression)?;
        Ok(Self { frame, kind: Kind::Report(weight.map(str::to_owned)) })
    }

    /// Its name, if it has one, and what it is of.
    pub(super) fn words(&self) -> (String, String) {
        let (what, of) = match &self.kind {
            Kind::Histogram(of) => (if of.is_profile { "profile" } else { "histogram" }, of.of.join(", ")),
            Kind::Sparse(of) => ("sparse histogram", of.of.join(", ")),
            Kind::Count => ("count", String::new()),
            Kind::Statistics(text) => ("statistics", text.clone()),
            Kind::Columns(texts) => ("columns", texts.join(", ")),
            Kind::Report(_) => ("report", String::new()),
        };
        (what.to_owned(), of)
    }

    /// The histogram that it is, unless it is sparse.
    fn of_dense(&mut self, what: &str) -> Result<&mut HistogramOf> {
        match &mut self.kind {
            Kind::Sparse(_) => Err(Error::mismatch(format!("a sparse histogram does not have {what}"))),
            _ => self.of_histogram(),
        }
    }

    /// The histogram that it is.
    fn of_histogram(&mut self) -> Result<&mut HistogramOf> {
        match &mut self.kind {
            Kind::Histogram(of) | Kind::Sparse(of) => Ok(of),
            _ => Err(Error::mismatch("this result is not a histogram")),
        }
    }

    /// Sets the axes of a histogram, along x first.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of axes than of expressions, and for other
    /// results.
    pub fn axes(mut self, axes: impl IntoIterator<Item = Axis>) -> Result<Self> {
        let axes: Vec<Axis> = axes.into_iter().collect();
        let of = self.of_histogram()?;
        let wanted = of.of.len() - usize::from(of.is_profile);
        if axes.len() != wanted {
            let words = "a histogram has an axis for each expression";
            return Err(Error::mismatch(words).wanted(wanted as u64, axes.len() as u64));
        }
        of.axes = Axes::Given(axes);
        Ok(self)
    }

    /// Sets the number of bins of each axis. They lie around the values of the first entries, as in ROOT.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for 0 bins, and for other results.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().histogram(["Jet_pt"])?.automatic_bins(20)?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// assert_eq!(run.finish()?[0].nominal.histogram()?.axes()[0].bins(), 20);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn automatic_bins(mut self, bins: usize) -> Result<Self> {
        if !(1..=100_000_000).contains(&bins) {
            return Err(Error::mismatch("the number of bins is a whole number from 1 to 100,000,000"));
        }
        self.of_dense("automatic bins")?.axes = Axes::Automatic(Some(bins));
        Ok(self)
    }

    /// Weights each entry, or each item, of a histogram with the value of an expression.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().histogram(["nJet"])?.weight("0.5")?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// assert_eq!(run.finish()?[0].nominal.histogram()?.statistics()?[0], 5.0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn weight(mut self, weight: &str) -> Result<Self> {
        check_expression(weight)?;
        self.of_histogram()?.weight = Some(weight.to_owned());
        Ok(self)
    }

    /// Makes a profile: means of the last expression in bins of those before it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for one expression only, for axes that were set before, and for what is
    /// no histogram.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().histogram(["Jet_eta", "Jet_pt"])?.profile()?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// assert_eq!(run.finish()?[0].nominal.histogram()?.class(), "TProfile");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn profile(mut self) -> Result<Self> {
        let of = self.of_dense("a mean in each bin")?;
        if of.of.len() < 2 {
            return Err(Error::mismatch("a profile has bins along x and means along y: name two expressions"));
        }
        if matches!(of.axes, Axes::Given(_)) {
            return Err(Error::mismatch("say that it is a profile before its axes are set"));
        }
        of.is_profile = true;
        Ok(self)
    }

    /// Names a histogram.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::Frame;
    /// assert!(Frame::new().histogram(["MET_pt"])?.named("met", "Missing momentum").is_ok());
    /// assert!(Frame::new().count().named("n", "").is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn named(mut self, name: &str, title: &str) -> Result<Self> {
        let of = self.of_histogram()?;
        name.clone_into(&mut of.name);
        title.clone_into(&mut of.title);
        Ok(self)
    }
}
