//! Which entries are in memory together while they are written again.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::read::Selection;

/// The most bytes of values that are read at a time, as what is read announces them.
const WINDOW_BYTES: u64 = 64 << 20;

/// The entries that are kept of so many; all without a list.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) where ranges do not rise, or end behind the last entry.
pub(crate) fn selection(wanted: Option<&[Range<u64>]>, entries: u64) -> Result<Selection> {
    let selection = match wanted {
        Some(ranges) => Selection::of_ranges(ranges.iter().cloned())?,
        None => Selection::try_from(0..entries)?,
    };
    if selection.span().end > entries {
        let words = "entries that are not there are to be kept";
        return Err(Error::mismatch(words).wanted(entries, selection.span().end));
    }
    Ok(selection)
}

/// Entries that are read at a time: clusters, or parts of them. `bytes` are those of all entries.
pub(crate) fn windows(entries: u64, clusters: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    windows_of(WINDOW_BYTES, entries, clusters, bytes)
}

/// [`windows`] of `window_bytes` each.
pub(crate) fn windows_of(window_bytes: u64, entries: u64, clusters: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    let most = u128::from(entries) * u128::from(window_bytes) / u128::from(bytes.max(1));
    let most = u64::try_from(most).unwrap_or(u64::MAX).max(1);
    let mut windows: Vec<Range<u64>> = Vec::new();
    let mut next = 0;
    for cluster in clusters {
        let end = cluster.end.min(entries);
        while next < end {
            // Small clusters are read together.
            match windows.last_mut().filter(|last| last.end == next && end - last.start <= most) {
                Some(last) => {
                    last.end = end;
                    next = end;
                }
                None => {
                    let stop = next.saturating_add(most).min(end);
                    windows.push(next..stop);
                    next = stop;
                }
            }
        }
    }
    while next < entries {
        let stop = next.saturating_add(most).min(entries);
        windows.push(next..stop);
        next = stop;
    }
    windows
}

/// What of a selection is in each window; windows without entries are left out.
pub(crate) fn chosen(windows: Vec<Range<u64>>, selection: &Selection) -> Result<Vec<Selection>> {
    let mut parts = Vec::with_capacity(windows.len());
    let mut ranges = selection.ranges().peekable();
    for window in windows {
        let mut inside = Vec::new();
        while let Some(range) = ranges.peek().filter(|range| range.start < window.end) {
            let part = range.start.max(window.start)..range.end.min(window.end);
            let goes_on = range.end > window.end;
            if !part.is_empty() {
                inside.push(part);
            }
            if goes_on {
                break;
            }
            ranges.next();
        }
        let part = Selection::of_ranges(inside)?;
        if !part.is_empty() {
            parts.push(part);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_all_chosen_entries_once() {
        let windows = windows(100, &[0..10, 10..20, 20..100], 5 * WINDOW_BYTES);
        assert_eq!(windows, [0..20, 20..40, 40..60, 60..80, 80..100]);
        let selection = Selection::of_ranges([5..25, 30..31, 59..81]).unwrap();
        let parts = chosen(windows, &selection).unwrap();
        let ranges: Vec<Vec<_>> = parts.iter().map(|part| part.ranges().collect()).collect();
        assert_eq!(ranges, [vec![5..20], vec![20..25, 30..31], vec![59..60], vec![60..80], vec![80..81]]);
    }
}
