//! Merges two histograms.
//!
//! Source: `TH1Merger`.

use crate::error::{Error, Result};
use crate::hist::{Axis, Histogram, Place};
use crate::schema::draft_members::{name_of, retain_items};
use crate::schema::{Datum, Draft};

/// What two histograms have in common, as far as their bins are concerned.
enum Common {
    /// All axes.
    Axes,
    /// Labels, on an axis that can grow; and axes where they differ.
    Labels([Option<Axis>; 3]),
    /// Neither has limits yet.
    Nothing,
    /// Axes that fit into these.
    Joined([Option<Axis>; 3]),
}

/// Adds a histogram to a sum, which is unchanged if that fails.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) where ROOT does not merge them, [`Limit`](crate::ErrorKind::Limit) where
/// the sum would have too many bins.
pub(super) fn add(sum: &mut Histogram, mut next: Histogram) -> Result<()> {
    if has_same_bins(sum, &next) {
        // Nothing can fail from here on.
        return sum.add_bins(&mut [next], None);
    }
    let mut new = sum.clone();
    match examine(&mut new, &mut next)? {
        Common::Axes => new.add_bins(&mut [next], None)?,
        Common::Labels(axes) if axes.iter().all(Option::is_none) => new.add_bins(&mut [next], Some(labelled_bin))?,
        Common::Labels(axes) => add_joined(&mut new, next, axes, labelled_bin)?,
        Common::Nothing => refill(&mut new, &next)?,
        Common::Joined(axes) => add_joined(&mut new, next, axes, central_bin)?,
    }
    *sum = new;
    Ok(())
}

/// Whether bins of equal numbers are the same, without labels and without entries that wait in a buffer: a histogram of
/// many bins is then not copied before it changes.
fn has_same_bins(sum: &Histogram, next: &Histogram) -> bool {
    let is_plain = |histogram: &Histogram| {
        let waits = histogram.buffer.first().is_some_and(|waiting| *waiting != 0.0);
        histogram.has_limits() && !waits && !histogram.axes().iter().any(Axis::has_labels)
    };
    sum.dimension == next.dimension
        && sum.profile == next.profile
        && sum.sums_squares() == next.sums_squares()
        && !sum.is_in_powers_of_two()
        && !next.is_in_powers_of_two()
        && is_plain(sum)
        && is_plain(next)
        && sum.axes().iter().zip(next.axes()).all(|(one, two)| one.same(two))
}

fn examine(sum: &mut Histogram, next: &mut Histogram) -> Result<Common> {
    if sum.dimension != next.dimension || sum.profile != next.profile {
        return Err(Error::mismatch(format!(
            "a {} cannot be added to a {}",
            next.draft().class(),
            sum.draft().class()
        )));
    }
    if sum.is_in_powers_of_two() || next.is_in_powers_of_two() {
        return Err(Error::unsupported("histograms with automatic bins in powers of two cannot be added"));
    }
    let dimension = sum.dimension;
    let limits = (sum.has_limits(), next.has_limits());
    for histogram in [&mut *sum, &mut *next] {
        if histogram.has_limits() {
            histogram.empty_buffer(false)?;
        }
    }
    let mut axes = [None, None, None];
    if limits.0 && limits.1 {
        for (place, joined) in axes[..dimension].iter_mut().enumerate() {
            let (one, two) = (&sum.axes[place], &next.axes[place]);
            if !one.same(two) {
                let all = one.joined(two).ok_or_else(|| {
                    let what =
                        if one.has_edges() || two.has_edges() { "edges differ" } else { "limits do not fit together" };
                    let words = format!("{what} on axis {}: {one}, and {two}", ["x", "y", "z"][place]);
                    Error::mismatch(words)
                })?;
                *joined = Some(all);
            }
        }
    }
    let labels = have_labels(sum, next);
    // ROOT does so for histograms, and forgets profiles: with their squares it loses their errors.
    if next.sums_squares() {
        sum.sum_squares();
    }
    Ok(match (labels, limits) {
        (true, _) => Common::Labels(axes),
        (false, (true, true)) if axes.iter().all(Option::is_none) => Common::Axes,
        (false, (false, false)) => Common::Nothing,
        (false, (true, true | false)) => Common::Joined(axes),
        (false, (false, true)) => {
            Common::Joined([0, 1, 2].map(|place| (place < dimension).then(|| next.axes[place].clone())))
        }
    })
}

/// Whether all that are not empty have labels on an axis that can grow.
fn have_labels(sum: &mut Histogram, next: &Histogram) -> bool {
    let labelled = |histogram: &Histogram| {
        let labelled = |axis: &Axis| axis.has_labels();
        [0, 1, 2].map(|place| place < histogram.dimension && labelled(&histogram.axes[place]))
    };
    let mut common: Option<[bool; 3]> = None;
    let filled = [(!sum.is_empty()).then(|| labelled(sum)), (!next.is_empty()).then(|| labelled(next))];
    for labels in filled.into_iter().flatten() {
        let all = *common.get_or_insert(labels);
        if !labels.iter().zip(all).any(|(one, all)| *one && all) {
            return false;
        }
        let extends = [0, 1, 2].map(|place| place < sum.dimension && sum.axes[place].can_extend());
        if !extends.iter().zip(all).any(|(extends, all)| *extends && all) {
            if !sum.is_empty() {
                return false;
            }
            for (axis, all) in sum.axes.iter_mut().zip(all) {
                axis.set_can_extend(all);
            }
        }
    }
    common.is_some()
}

/// The bin into which the middle of another one falls. Contents outside of the other's limits must be outside of those
/// of the sum.
fn central_bin(sum: &mut Histogram, other: &Histogram, mut at: [usize; 3]) -> Result<[usize; 3]> {
    for (place, bin) in at.iter_mut().enumerate().take(sum.dimension) {
        let center = other.axes[place].center(*bin);
        let axis = &sum.axes[place];
        let outside = *bin == 0 || *bin > other.axes[place].bins;
        if outside && (axis.can_extend() || (center > axis.min && center < axis.max)) {
            let name = ["x", "y", "z"][place];
            return Err(Error::mismatch(format!(
                "limits differ on axis {name}, and one histogram holds underflow or overflow that may be within the sum"
            )));
        }
        sum.make_room(place, center)?;
        *bin = sum.axes[place].find(center);
    }
    Ok(at)
}

/// Whether bins of an axis are found by label.
fn by_label(sum: &Histogram, other: &Histogram, place: usize) -> bool {
    let axis = &other.axes[place];
    axis.has_labels() && axis.can_extend() && sum.axes[place].can_extend()
}

/// The bin that has the same label, or on axes without labels the one into which the middle of the other falls.
fn labelled_bin(sum: &mut Histogram, other: &Histogram, mut at: [usize; 3]) -> Result<[usize; 3]> {
    for (place, bin) in at.iter_mut().enumerate().take(sum.dimension) {
        let axis = &other.axes[place];
        *bin = if *bin == 0 {
            0
        } else if *bin > axis.bins {
            sum.axes[place].bins + 1
        } else if by_label(sum, other, place) {
            sum.bin_of_label(place, &axis.label_bytes(*bin))?
        } else {
            sum.axes[place].find(axis.center(*bin))
        };
    }
    Ok(at)
}

/// Fills a histogram with the buffered entries of another.
fn refill(sum: &mut Histogram, next: &Histogram) -> Result<()> {
    let waiting = next.buffer.first().copied().unwrap_or(0.0).max(0.0) as usize;
    let all = next.buffer.get(1..).unwrap_or_default();
    all.chunks_exact(next.stride()).take(waiting).try_for_each(|fill| sum.fill_one(fill))
}

fn add_joined(sum: &mut Histogram, next: Histogram, axes: [Option<Axis>; 3], place: Place) -> Result<()> {
    let mut inputs = Vec::new();
    if !sum.is_empty() {
        inputs.push(sum.clone());
        sum.empty_buffer(true)?;
        sum.reset()?;
        forget_functions(sum.draft_mut());
    }
    inputs.push(next);
    for (axis, new) in sum.axes.iter_mut().zip(&axes) {
        if let Some(new) = new {
            axis.forget_range();
            axis.set_bins_of(new);
        }
    }
    sum.resize()?;
    let mut with_bins = Vec::new();
    for input in inputs {
        if !input.has_limits() && !input.buffer.is_empty() {
            refill(sum, &input)?;
        } else {
            with_bins.push(input);
        }
    }
    if with_bins.is_empty() {
        return Ok(());
    }
    sum.empty_buffer(true)?;
    sum.add_bins(&mut with_bins, Some(place))
}

/// What was fitted or drawn for other bins does not hold for these; the box of statistics stays.
fn forget_functions(draft: &mut Draft) {
    crate::schema::draft_members::put(draft, "fContour", Vec::<f64>::new());
    let Some(list) = draft.member_mut("fFunctions").and_then(Datum::as_draft_mut) else { return };
    retain_items(list, |item| item.as_draft().is_some_and(|item| name_of(item) == "stats"));
}
