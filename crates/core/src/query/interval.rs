//! Intervals that hold all values of an expression, and the decision of a cut on them.

use super::function::chosen;
use super::number::Wide;
use super::span::{Span, Truth};
use crate::column::Number;
use crate::statistics::{Extremes, Summary};

/// An interval of values: every value of an expression that may occur is in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// Their numbers.
    pub(super) span: Span,
    /// Whether some may be NaN.
    pub(super) nan: bool,
    /// Whether some items may be absent: indices out of range, options, whole numbers divided by zero.
    pub(super) lacks: bool,
    /// Innermost items per entry, at least and at most: one for single values.
    pub(super) turns: (u64, u64),
}

/// The decision of a cut on a range of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// No entry passes.
    Nothing,
    /// All entries pass.
    All,
    /// It has to be computed.
    Look,
}

impl Interval {
    /// Anything, in lists of any length if they are deep.
    pub(super) fn any(depth: usize) -> Self {
        Self { span: Span::Any, nan: true, lacks: true, turns: turns_of(depth) }
    }

    /// One number per entry.
    pub(super) fn single(span: Span) -> Self {
        Self { span, nan: false, lacks: false, turns: (1, 1) }
    }

    /// Truth values of its items: NaN is true.
    pub(super) fn truth(&self) -> Truth {
        let truth = self.span.truth();
        Truth { can_be_true: truth.can_be_true || self.nan, ..truth }
    }

    /// The decision of a cut with these values.
    pub(super) fn decide(&self) -> Decision {
        let truth = self.truth();
        if !truth.can_be_true || self.turns.1 == 0 {
            Decision::Nothing
        } else if !truth.can_be_false && !self.lacks && self.turns.0 > 0 {
            Decision::All
        } else {
            Decision::Look
        }
    }

    pub(super) fn of_summary(summary: &Summary, number: Number, depth: usize) -> Self {
        let span = match summary.extremes {
            None => Span::Nothing,
            Some(Extremes::Real(least, largest)) => Span::real(least, largest),
            Some(Extremes::Signed(least, largest)) => Span::Whole(Wide::of(number), least.into(), largest.into()),
            Some(Extremes::Unsigned(least, largest)) => Span::Whole(Wide::of(number), least.into(), largest.into()),
        };
        Self {
            span,
            nan: summary.nans > 0,
            lacks: summary.absent > 0,
            turns: if depth == 0 { (1, 1) } else { (summary.shortest.min(summary.longest), summary.longest) },
        }
    }

    /// The doubles that it holds. NaN stays apart.
    pub(super) fn to_real(self) -> Self {
        Self { span: self.span.to_real(), ..self }
    }
}

pub(super) fn turns_of(depth: usize) -> (u64, u64) {
    if depth == 0 { (1, 1) } else { (0, u64::MAX) }
}

/// The turns of a loop over several values, each with its levels of lists: the shortest list counts.
pub(super) fn together(values: &[(Interval, usize)]) -> (u64, u64) {
    let mut lists = values.iter().filter(|(_, depth)| *depth > 0);
    let Some((first, depth)) = lists.next() else { return (1, 1) };
    let mut turns = first.turns;
    for (value, other) in lists {
        if other != depth {
            return (0, u64::MAX);
        }
        turns = (turns.0.min(value.turns.0), turns.1.min(value.turns.1));
    }
    // Lists of lists may be shortened level by level, to less than the shortest has in all.
    if *depth > 1 && values.iter().filter(|(_, depth)| *depth > 0).count() > 1 {
        turns.0 = 0;
    }
    turns
}

/// The numbers of either of two values, which become numbers of one type.
pub(super) fn mixed(a: Span, b: Span) -> Span {
    match (a, b) {
        (Span::Whole(x, least, largest), Span::Whole(y, first, last)) => match chosen(x, y) {
            Wide::F64 => a.to_real().or(b.to_real()),
            wide => Span::Whole(wide, least.min(first), largest.max(last)),
        },
        // The type of an empty side is unknown.
        (Span::Nothing, Span::Whole(..)) | (Span::Whole(..), Span::Nothing) => Span::Any,
        _ => a.to_real().or(b.to_real()),
    }
}
