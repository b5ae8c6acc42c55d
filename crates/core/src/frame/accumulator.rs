//! Results while they are gathered, and when they are complete.

use super::statistics::Statistics;
use crate::error::{Error, Result};
use crate::hist::{Histogram, SparseFill};
use crate::query::{Filling, Piece, Target};

/// A result that is complete.
///
/// # Example
///
/// ```
/// use sapwood::frame::Outcome;
/// assert_eq!(Outcome::Count(3).count()?, 3);
/// assert!(Outcome::Count(3).histogram().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A histogram or a profile.
    Histogram(Box<Histogram>),
    /// A sparse histogram.
    Sparse(Box<SparseFill>),
    /// Entries.
    Count(u64),
    /// Sum, mean, extremes and spread.
    Statistics(Statistics),
    /// The filters, the first one first.
    Report(Vec<Cut>),
    /// Columns were handed over while files were read.
    Columns,
}

/// A result as it is, and for each variation that changes it.
#[derive(Clone, Debug)]
pub struct Varied<T = Outcome> {
    /// The result for the columns as they are.
    pub nominal: T,
    /// By the names of variations, the first ones first.
    pub variations: Vec<(String, T)>,
}

impl<T> Varied<T> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.variations.iter().any(|(known, _)| known == name)
    }
}

/// How many entries met a filter, and how many passed it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// The name of the filter, or its expression.
    pub name: String,
    /// Entries that met it.
    pub all: u64,
    /// Entries that passed.
    pub passed: u64,
    /// The sums of their weights, of those that met it and of those that passed, if there is a weight.
    pub weights: Option<(f64, f64)>,
}

impl Outcome {
    fn is_not<T>(wanted: &str) -> Result<T> {
        Err(Error::mismatch(format!("this result is no {wanted}")))
    }

    /// The histogram.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    pub fn histogram(&self) -> Result<&Histogram> {
        match self {
            Self::Histogram(histogram) => Ok(histogram),
            _ => Self::is_not("histogram"),
        }
    }

    /// The sparse histogram.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::Outcome;
    /// assert!(Outcome::Count(3).sparse().is_err());
    /// ```
    pub fn sparse(&self) -> Result<&SparseFill> {
        match self {
            Self::Sparse(sparse) => Ok(sparse),
            _ => Self::is_not("sparse histogram"),
        }
    }

    /// The number of entries.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    pub fn count(&self) -> Result<u64> {
        match self {
            Self::Count(count) => Ok(*count),
            _ => Self::is_not("count"),
        }
    }

    /// The statistics.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::{Outcome, Statistics};
    /// let outcome = Outcome::Statistics(Statistics::default());
    /// let statistics = outcome.statistics()?;
    /// assert_eq!(statistics.count(), 0);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn statistics(&self) -> Result<&Statistics> {
        match self {
            Self::Statistics(statistics) => Ok(statistics),
            _ => Self::is_not("statistics"),
        }
    }

    /// The filters.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for other results.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::{Cut, Outcome};
    /// let outcome = Outcome::Report(vec![Cut { all: 10, passed: 4, ..Cut::default() }]);
    /// let cuts = outcome.report()?;
    /// assert_eq!(cuts[0].passed, 4);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn report(&self) -> Result<&[Cut]> {
        match self {
            Self::Report(cuts) => Ok(cuts),
            _ => Self::is_not("report"),
        }
    }
}

/// The role of a piece in the result that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Values,
    /// Entries on one side of a filter of a report.
    Cut(usize, Side),
    /// Their weights.
    CutWeights(usize, Side),
}

/// Entries that met a filter, or those that passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Met,
    Passed,
}

/// The sums of a report for one filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    met: u64,
    passed: u64,
    weights: Option<(Statistics, Statistics)>,
}

/// A result while it is gathered.
#[derive(Clone, Debug)]
pub(super) enum Accumulator {
    Histogram { target: Box<Target>, filling: Box<Filling> },
    Sparse(Box<SparseFill>),
    Count(u64),
    Statistics(Statistics),
    Report { names: Vec<String>, cuts: Vec<Counted> },
    Columns,
}

impl Accumulator {
    pub(super) fn report(names: Vec<String>, has_weight: bool) -> Self {
        let weights = has_weight.then(Default::default);
        let cuts = vec![Counted { weights, ..Counted::default() }; names.len()];
        Self::Report { names, cuts }
    }

    pub(super) fn take(&mut self, role: Role, piece: Piece) -> Result<()> {
        match (self, piece, role) {
            (Self::Histogram { target, filling }, Piece::Points(points), _) => filling.take(target, points)?,
            (Self::Sparse(sparse), Piece::Points(points), _) => {
                sparse.fill(&points.columns, points.weights.as_deref())?;
            }
            (Self::Count(count), Piece::Count(more), _) => *count += more,
            (Self::Statistics(all), Piece::Statistics(points, wholes), _) => {
                points.columns.iter().for_each(|of| all.add_with(of, wholes));
            }
            (Self::Report { cuts, .. }, Piece::Count(more), Role::Cut(number, side)) => {
                if let Some(cut) = cuts.get_mut(number) {
                    *(if side == Side::Met { &mut cut.met } else { &mut cut.passed }) += more;
                }
            }
            (Self::Report { cuts, .. }, Piece::Points(points), Role::CutWeights(number, side)) => {
                if let Some((met, passed)) = cuts.get_mut(number).and_then(|cut| cut.weights.as_mut()) {
                    let all = if side == Side::Met { met } else { passed };
                    points.columns.iter().for_each(|of| all.add(of));
                }
            }
            _ => return Err(Error::internal("a piece of a frame is of another result")),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Outcome> {
        Ok(match self {
            Self::Histogram { target, filling } => Outcome::Histogram(Box::new(filling.finish(&target)?)),
            Self::Sparse(sparse) => Outcome::Sparse(sparse),
            Self::Count(count) => Outcome::Count(count),
            Self::Statistics(statistics) => Outcome::Statistics(statistics),
            Self::Columns => Outcome::Columns,
            Self::Report { names, cuts } => {
                let cut = |(name, of): (String, Counted)| {
                    let weights = of.weights.map(|(met, passed)| (met.sum(), passed.sum()));
                    Cut { name, all: of.met, passed: of.passed, weights }
                };
                Outcome::Report(names.into_iter().zip(cuts).map(cut).collect())
            }
        })
    }
}
