//! Two runs side by side.

use super::PerfStats;

/// A figure of two runs. One that a run does not have is none.
///
/// # Example
///
/// ```
/// use sapwood::inspect::perf::Compared;
/// let calls = Compared { name: "ReadCalls", before: Some(8.0), after: Some(2.0), unit: "" };
/// assert_eq!(calls.ratio(), Some(0.25));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: &'static str,
    /// Of the one run.
    pub before: Option<f64>,
    /// Of the other.
    pub after: Option<f64>,
    /// Its unit; empty for counts.
    pub unit: &'static str,
}

impl Compared {
    /// How often the value before goes into that after; none where one of them is missing, or the one before is zero.
    pub fn ratio(&self) -> Option<f64> {
        let before = self.before.filter(|before| *before != 0.0)?;
        self.after.map(|after| after / before)
    }
}

/// The figures of two runs: those that one of them has.
///
/// # Example
///
/// ```
/// use sapwood::inspect::perf::{PerfStats, compare};
/// let before = PerfStats { calls: 40, ..PerfStats::default() };
/// let after = PerfStats { calls: 10, ..PerfStats::default() };
/// let calls = compare(&before, &after).into_iter().find(|figure| figure.name == "ReadCalls");
/// assert_eq!(calls.and_then(|calls| calls.ratio()), Some(0.25));
/// ```
pub fn compare(before: &PerfStats, after: &PerfStats) -> Vec<Compared> {
    let (before, after) = (before.figures(), after.figures());
    let mut all: Vec<Compared> =
        before.iter().map(|&(name, value, unit)| Compared { name, before: Some(value), after: None, unit }).collect();
    for (name, value, unit) in after {
        match all.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.after = Some(value),
            None => all.push(Compared { name, before: None, after: Some(value), unit }),
        }
    }
    all
}
