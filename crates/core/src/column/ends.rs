//! Ends of lists: where each list of a buffer ends, in items. A list begins where the one before ends, the first at 0.

/// Where a list begins.
///
/// # Panics
///
/// If there are fewer lists: these are ends that the engine made or checked, so that it is a bug, and must not become
/// an empty list.
#[inline]
#[track_caller]
pub(crate) fn start<T: Copy + Default>(ends: &[T], list: usize) -> T {
    match list {
        0 => T::default(),
        _ => ends[list - 1],
    }
}

/// How many items all lists have; none if there are no lists.
#[inline]
pub(crate) fn total<T: Copy + Default>(ends: &[T]) -> T {
    ends.last().copied().unwrap_or_default()
}
